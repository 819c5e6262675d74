import { WORKS } from './works.js'

/** Does one work once, to be killed at some call (faults.c). Words: its name, and the folder. */
const [name, folder = ''] = process.argv.slice(2)

void WORKS.find(work => work.name === name)!.run(folder)
