import { createHash } from 'node:crypto'
import {
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { FileLost } from '../../errors.js'
import { withFile } from './migrations.js'
import { isAlive, processTable } from './processes.js'

/** Files and their names: which file lies under a name, how one gets its name, and what killed processes left beside it. */

/** Throws FileLost once another file lies where this one was: what is open is then no longer what others write. */
export function fileLostCheck(path: string): () => void {
  const changeOf = watched(path)
  return () => {
    const change = changeOf()
    if (change !== null) throw new FileLost(`${path} ${change.what} while it was open; start the server again`)
  }
}

/** The same for who writes. @param file the one that was written, unless it has this name already */
export function writtenFileCheck(path: string, file: FileNumbers = statSync(path)): () => void {
  const changeOf = watched(path, file)
  return () => {
    const change = changeOf()
    if (change !== null) throw new FileLost(`${path} ${change.what} while it was written; ${change.written}`)
  }
}

/** Which file of the machine it is, whatever its name. */
type FileNumbers = Pick<Stats, 'ino' | 'dev'>

/** What happened to a file under its name, and where the bytes that were written are now; null while it is there. */
function watched(path: string, { ino, dev }: FileNumbers = statSync(path)) {
  return (): { what: string; written: string } | null => {
    const now = statSync(path, { throwIfNoEntry: false })
    if (now?.ino === ino && now.dev === dev) return null
    const name = nameOf({ ino, dev })
    const written = name ? `what was written is in ${name}` : 'what was written is lost'
    if (now !== undefined) return { what: 'was replaced by another file', written }
    if (name) return { what: `was moved to ${name}`, written }
    if (name === null) return { what: 'was deleted', written }
    return { what: 'was moved or deleted', written: 'what was written is not in it' }
  }
}

/** The name of a file that this process has open; null: it was deleted, undefined: the system does not tell. */
function nameOf({ ino, dev }: FileNumbers): string | null | undefined {
  const folder = '/proc/self/fd'
  try {
    for (const number of readdirSync(folder)) {
      const found = statSync(join(folder, number), { throwIfNoEntry: false })
      if (found?.ino !== ino || found.dev !== dev) continue
      return found.nlink === 0 ? null : readlinkSync(join(folder, number))
    }
  } catch {
    // Only Linux has this folder.
  }
  return undefined
}

/** Beside a file that a restore is putting another one in the place of; the next who writes finishes that first (restore.ts). */
export function restoreNote(path: string): string {
  return `${path}.restore`
}

/** Under which a database is made: it tells of which process, so that another can see whether that one has died. */
export function partialName(path: string): string {
  return `${path}.${process.pid}-${processTable()}-${Math.random().toString(36).slice(2)}.new`
}

/** After the name of the database and a dot. A bands of before did not tell the table of processes. */
const PARTIAL = /^(\d+)-(?:([0-9a-f]{12})-)?[a-z\d]+\.new(?:-wal|-shm|-journal)?$/

/** Whether a file beside a database has a name that one gets while it is made to take its place. */
export function isPartialName(name: string, path: string): boolean {
  const own = `${basename(path)}.`
  return name.startsWith(own) && name.endsWith('.new') && PARTIAL.test(name.slice(own.length))
}

/** To make a database takes a moment: what is older is nobody's, in milliseconds. */
const LONG_AGO = 600_000

/** Takes away what processes left that were killed while they made this file, but for what a restore is yet to put here. */
export function removeLeftovers(path: string): void {
  const own = `${basename(path)}.`
  try {
    const note = existsSync(restoreNote(path)) ? readFileSync(restoreNote(path), 'utf8') : ''
    for (const name of readdirSync(dirname(path)).filter(name => name.startsWith(own))) {
      const file = join(dirname(path), name)
      if (note.includes(JSON.stringify(name).slice(1))) continue
      if (isLeftover(file, name.slice(own.length))) rmSync(file, { force: true, recursive: true })
    }
  } catch {
    // They only take room.
  }
}

function isLeftover(file: string, ending: string): boolean {
  const [, pid, table] = PARTIAL.exec(ending) ?? []
  if (pid === undefined) return false
  // To copy a whole market may take longer than any time that is set here.
  if (table === processTable()) return !isAlive(Number(pid))
  // Of another container or machine the number of a process says nothing.
  const changed = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
  return Date.now() - changed > LONG_AGO
}

/**
 * A second name and not another one: what a process beside this one has just made there must not be replaced.
 * @returns false where there is something already
 */
export function linkIfAbsent(file: string, path: string): boolean {
  try {
    linkSync(file, path)
  } catch {
    if (existsSync(path)) return false
    // Some file systems have no second names, and each says so in its own way.
    renameSync(file, path)
  }
  return true
}

/** Bytes that are read at once. */
const CHUNK = 2 ** 20

/** Of the bytes of a file. @param each takes them on the way */
export function sha256Of(path: string, each: (chunk: Buffer) => void = () => {}): string {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(CHUNK)
  withFile(path, 'r', file => {
    for (;;) {
      const chunk = buffer.subarray(0, readSync(file, buffer, 0, CHUNK, null))
      if (chunk.length === 0) return
      hash.update(chunk)
      each(chunk)
    }
  })
  return hash.digest('hex')
}
