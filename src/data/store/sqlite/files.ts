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
import { FileLost } from '../../../core/errors.js'
import { withFile } from './migrations.js'
import { isAlive, processTable } from './processes.js'

/** Files and their names: the file under a name, how a file gets its name, and leftovers of killed processes. */

/** The paths of a user's databases, whether or not the files exist. */
export type Files = Readonly<Record<FileKind, string>>
export type FileKind = 'data' | 'accounts' | 'trials' | 'lists'

/** The check throws FileLost if the name now leads to another file: the open one is no longer what others write. */
export function fileLostCheck(path: string): () => void {
  const changeOf = watched(path)
  return () => {
    const change = changeOf()
    if (change !== null) throw new FileLost(`${path} ${change.what} while it was open; start the server again`)
  }
}

/** The check throws FileLost if no file has the name any more; another file may have it. */
export function fileGoneCheck(path: string): () => void {
  const check = fileLostCheck(path)
  return () => {
    if (!existsSync(path)) check()
  }
}

/** The numbers of the file under a name; null if there is none. */
export function fileNumbers(path: string): FileNumbers | null {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? null : { dev: found.dev, ino: found.ino }
}

export function isSameFile(one: FileNumbers | null, other: FileNumbers | null): boolean {
  return one?.ino === other?.ino && one?.dev === other?.dev
}

/** A check that a writer's file is still the one it opened. @param file the written file, unless it already has this name */
export function writtenFileCheck(path: string, file: FileNumbers = statSync(path)): () => void {
  const changeOf = watched(path, file)
  return () => {
    const change = changeOf()
    if (change !== null) throw new FileLost(`${path} ${change.what} while it was written; ${change.written}`)
  }
}

/** Identifies a file on this machine, regardless of its name. */
export type FileNumbers = Pick<Stats, 'ino' | 'dev'>

/** What happened to a file, and where the written bytes are now; null if it is unchanged. */
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

/** The name of a file that this process has open; null: it was deleted, undefined: the system does not say. */
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

/** A note next to a file that a restore is replacing; the next writer finishes the restore first (restore.ts). */
export function restoreNote(path: string): string {
  return `${path}.restore`
}

/**
 * The name of a database while it is created. It names the process, so that others can see whether that process died.
 */
export function partialName(path: string): string {
  return `${path}.${process.pid}-${processTable()}-${Math.random().toString(36).slice(2)}.new`
}

/** The part after the name of the database and a dot. Older versions did not name the process table. */
const PARTIAL = /^(\d+)-(?:([0-9a-f]{12})-)?[a-z\d]+\.new(?:-wal|-shm|-journal)?$/

/** Whether a file has the name of a database that is still being created. */
export function isPartialName(name: string, path: string): boolean {
  const own = `${basename(path)}.`
  return name.startsWith(own) && name.endsWith('.new') && PARTIAL.test(name.slice(own.length))
}

/** Creating a database takes a moment: an older file is a leftover. In milliseconds. */
const LONG_AGO = 600_000

/** Deletes files left by processes killed while making this file, except those that a pending restore still needs. */
export function removeLeftovers(path: string): void {
  const own = `${basename(path)}.`
  try {
    const note = existsSync(restoreNote(path)) ? readFileSync(restoreNote(path), 'utf8') : ''
    for (const name of readdirSync(dirname(path)).filter(name => name.startsWith(own))) {
      const file = join(dirname(path), name)
      // The note is JSON: a path in it ends with the name and a quote.
      const isNeeded = note.includes(JSON.stringify(name).slice(1))
      if (isNeeded) continue
      if (isLeftover(file, name.slice(own.length))) rmSync(file, { force: true, recursive: true })
    }
  } catch {
    // They only take up space.
  }
}

function isLeftover(file: string, ending: string): boolean {
  const [, pid, table] = PARTIAL.exec(ending) ?? []
  if (pid === undefined) return false
  // To copy a whole market may take longer than any time that is set here.
  if (table === processTable()) return !isAlive(Number(pid))
  // The process number of another container or machine means nothing here.
  const changed = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
  return Date.now() - changed > LONG_AGO
}

/**
 * A hard link and not a rename: a file that another process has just created must not be replaced.
 * @returns false if the name is taken
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
