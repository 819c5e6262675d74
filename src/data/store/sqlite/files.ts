import { createHash } from 'node:crypto'
import {
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { FileLost, StorageError, typedLineWith } from '../../../core/errors.js'
import { type DatabaseKind, withFile } from './migrations.js'
import { isAlive, processTable } from './processes.js'

/** Files and their names: the file under a name, how a file gets its name, and leftovers of killed processes. */

/** The paths of a user's databases, whether or not the files exist. */
export type Files = Readonly<Record<FileKind, string>>
export type FileKind = 'data' | 'accounts' | 'trials' | 'lists'

/** Returns a check that throws FileLost if `path` now names another file than at first: others write that one. */
export function fileLostCheck(path: string): () => void {
  const currentChange = watchFile(path)
  return () => {
    const change = currentChange()
    if (change !== null) throw new FileLost(`${path} ${change.what} while it was open; start the server again`)
  }
}

/** Returns a check that throws FileLost if `path` names no file any more. Another file may have taken the name. */
export function fileGoneCheck(path: string): () => void {
  const check = fileLostCheck(path)
  return () => {
    if (!existsSync(path)) check()
  }
}

/** The device and inode of the file under a name; null if there is none. */
export function fileNumbers(path: string): FileNumbers | null {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? null : { dev: found.dev, ino: found.ino }
}

export function isSameFile(first: FileNumbers | null, second: FileNumbers | null): boolean {
  return first?.ino === second?.ino && first?.dev === second?.dev
}

/**
 * Returns a check that throws FileLost if `path` no longer names the written file.
 * @param file the written file (default: the one that has the name now)
 */
export function writtenFileCheck(path: string, file: FileNumbers = statSync(path)): () => void {
  const changeOf = watchFile(path, file)
  return () => {
    const change = changeOf()
    if (change !== null) throw new FileLost(`${path} ${change.what} while it was written; ${change.written}`)
  }
}

/** Identifies a file on this machine, regardless of its name. */
export type FileNumbers = Pick<Stats, 'ino' | 'dev'>

/** Returns a function that says what happened to a file and where the written bytes are; null while it is unchanged. */
function watchFile(path: string, { ino, dev }: FileNumbers = statSync(path)) {
  return (): { what: string; written: string } | null => {
    const now = statSync(path, { throwIfNoEntry: false })
    if (now?.ino === ino && now.dev === dev) return null
    // Null if the file was deleted, undefined if the system does not say.
    const newName = openFileName({ ino, dev })
    const written = newName ? `what was written is in ${newName}` : 'what was written is lost'
    if (now !== undefined) return { what: 'was replaced by another file', written }
    if (newName) return { what: `was moved to ${newName}`, written }
    if (newName === null) return { what: 'was deleted', written }
    return { what: 'was moved or deleted', written: 'what was written is not in it' }
  }
}

/** The name of a file that this process has open; null if it was deleted, undefined if the system does not say. */
function openFileName({ ino, dev }: FileNumbers): string | null | undefined {
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
export function restoreNotePath(path: string): string {
  return `${path}.restore`
}

/**
 * The name of a database while it is created. It names the process, so that others can see whether that process died.
 */
export function partialName(path: string): string {
  return `${path}.${process.pid}-${processTable()}-${Math.random().toString(36).slice(2)}.new`
}

/** The part after the name of the database and a dot. Older versions did not name the process table. */
const PARTIAL_ENDING = /^(\d+)-(?:([0-9a-f]{12})-)?[a-z\d]+\.new(?:-wal|-shm|-journal)?$/

/** Whether a file has the name of a database that is still being created. */
export function isPartialName(name: string, path: string): boolean {
  const prefix = `${basename(path)}.`
  return name.startsWith(prefix) && name.endsWith('.new') && PARTIAL_ENDING.test(name.slice(prefix.length))
}

/** The age, in milliseconds, from which a file is a leftover: creating a database takes only a moment. */
const LEFTOVER_AGE_MS = 600_000

/** Deletes files left by processes killed while making this file, except those that a pending restore still needs. */
export function removeFilesOfKilledRuns(path: string): void {
  const prefix = `${basename(path)}.`
  try {
    const note = existsSync(restoreNotePath(path)) ? readFileSync(restoreNotePath(path), 'utf8') : ''
    for (const name of readdirSync(dirname(path)).filter(name => name.startsWith(prefix))) {
      const file = join(dirname(path), name)
      // The note is JSON: a path in it ends with the name and a quote.
      const isNeeded = note.includes(JSON.stringify(name).slice(1))
      if (isNeeded) continue
      if (isLeftover(file, name.slice(prefix.length))) rmSync(file, { force: true, recursive: true })
    }
  } catch {
    // They only take up space.
  }
}

/** Whether the process that created a file is gone. @param ending the part of its name after the database's name */
function isLeftover(file: string, ending: string): boolean {
  const [, pid, table] = PARTIAL_ENDING.exec(ending) ?? []
  if (pid === undefined) return false
  // A living process is still at work, regardless of time: copying a whole market takes long.
  if (table === processTable()) return !isAlive(Number(pid))
  // The process number of another container or machine means nothing here.
  const changed = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
  return Date.now() - changed > LEFTOVER_AGE_MS
}

/** Where a file can be made for a path: the target of a link to a missing file, otherwise the path itself. */
export function creatablePath(path: string): string {
  const isLink = !existsSync(path) && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
  return isLink ? resolve(dirname(path), readlinkSync(path)) : path
}

/** Throws StorageError if a path is a link to a missing file: the new file would replace the link. */
export function refuseDanglingLink(path: string, { option, createCommand }: DatabaseKind): void {
  const target = creatablePath(path)
  if (target === path) return
  const about = option && { remedy: typedLineWith(createCommand.command, [], { [option]: target }) }
  const advice = option ? 'name that path itself' : 'remove the link'
  throw new StorageError(
    `cannot make a database at ${path}: it is a link to ${target}, where no file is; ${advice}`,
    about,
  )
}

/**
 * Gives a file the name `path`; false if the name is taken. It makes a hard link, because a rename would replace a file
 * that another process has just created.
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

/** The number of bytes to read at once. */
const READ_BYTES = 2 ** 20

/** The SHA-256 of a file in hexadecimal digits. @param onChunk gets the bytes of the file, chunk by chunk */
export function sha256Of(path: string, onChunk: (chunk: Buffer) => void = () => {}): string {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(READ_BYTES)
  withFile(path, 'r', file => {
    for (;;) {
      const chunk = buffer.subarray(0, readSync(file, buffer, 0, READ_BYTES, null))
      if (chunk.length === 0) return
      hash.update(chunk)
      onChunk(chunk)
    }
  })
  return hash.digest('hex')
}
