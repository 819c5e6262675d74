import { realpathSync, rmSync, statSync } from 'node:fs'
import { StorageError } from '../../../core/errors.js'
import { type FileNumbers, fileNumbers, isSameFile } from './files.js'

/**
 * SQLite keeps commits in `-wal` and an index of them in `-shm`, both found by the name of the database. If a database
 * is replaced while it is open, the two files of the old one stay. SQLite would apply them to the new one
 * (sqlite.org/howtocorrupt.html, 1.4). So they are removed first, unless they are of the new file already.
 */

const ENDINGS = ['-wal', '-shm'] as const

export interface Companions {
  path: string
  /** Which files they are, in the order of ENDINGS; null for a missing one. */
  numbers: readonly (FileNumbers | null)[]
}

/** The companions of a database, which must be open. SQLite names them after the real path. */
export function companionsOf(name: string): Companions {
  const path = realpathSync(name)
  return { path, numbers: ENDINGS.map(ending => fileNumbers(path + ending)) }
}

/**
 * Removes the companions (-wal and -shm) that a replaced database left, if they are still the same files. Does nothing
 * if `name` leads to another path by now. Processes that have it open keep reading it. Throws StorageError if they were
 * written after the new file came: their commits may be of either file.
 */
export function removeStaleCompanions(name: string, { path, numbers }: Companions): void {
  if (realpathSync(name) !== path) return
  const stale = ENDINGS.filter(
    (ending, i) => numbers[i] !== null && isSameFile(numbers[i]!, fileNumbers(path + ending)),
  )
  if (stale.includes('-wal')) refuseLaterWrites(path)
  for (const ending of stale) rmSync(path + ending, { force: true })
}

/** Throws StorageError if the -wal was written after the database was replaced: a rename sets a file's change time. */
function refuseLaterWrites(path: string): void {
  const { size, mtimeMs } = statSync(`${path}-wal`)
  if (size === 0 || mtimeMs <= statSync(path).ctimeMs) return
  throw new StorageError(
    `another program wrote to ${path}-wal after ${path} was replaced; end that program, and put the file in its place again`,
  )
}
