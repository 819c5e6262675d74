import { openForWriting } from '../../src/data/store/sqlite/connection.js'
import { slowNotes } from './notes.js'

/** Opens a database of notes for writing, which takes the step that repacks it; that step takes so many milliseconds. */
const [path, milliseconds] = process.argv.slice(2)
openForWriting(path!, slowNotes(Number(milliseconds)), sentence => process.stdout.write(`${sentence}\n`)).close()
