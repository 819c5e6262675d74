import { readFile } from 'node:fs/promises'
import { NotFound, StorageError } from '../errors.js'

/** A text file that was named on the command line. Throws NotFound for a missing one, StorageError for an unreadable one. */
export async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') throw new NotFound(`there is no file ${file}.`)
    throw new StorageError(`cannot read ${file}: ${(cause as Error).message}`, { cause })
  }
}
