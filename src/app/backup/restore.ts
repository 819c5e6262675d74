import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import {
  BadData,
  BandsError,
  Busy,
  FileLost,
  InvalidParameter,
  parameter,
  quoted,
  StorageError,
  sentence,
  type Words,
} from '../../core/errors.js'
import { checkpoint, connect, failureReason, type Notice, openExclusive } from '../../data/store/sqlite/connection.js'
import type { FileKind, Files } from '../../data/store/sqlite/files.js'
import {
  isPartialName,
  partialName,
  removeLeftovers,
  restoreNote,
  sha256Of,
  writtenFileCheck,
} from '../../data/store/sqlite/files.js'
import { type Connection, removeDatabase, syncToDisk } from '../../data/store/sqlite/migrations.js'
import { tryLock } from '../../data/store/sqlite/writer-lock.js'
import {
  type BackedUp,
  copyOut,
  damagesOf,
  jsonOfShape,
  KIND,
  KINDS,
  type Manifest,
  manifestOf,
  SHA256,
} from './backup.js'

/**
 * A backup replaces the user's databases: all of its files, or none.
 * 1. copy each file next to the one that it replaces; compare the hash of the copy and verify it
 * 2. lock the files that are replaced against reads and writes
 * 3. leave a note next to each that names source and target; the note next to the data is last and commits
 * 4. rename the files, and delete the notes
 *
 * A run killed before the last note leaves everything unchanged; after it, the next restore or writer finishes. A note
 * holds only base names and hashes: the paths come from the user, never from the note.
 */

/** The result of a restore. */
export interface Restored {
  manifest: Manifest
  files: { kind: FileKind; path: string; replaced: boolean }[]
  /** Files that are not in the backup, and stay as they are. */
  kept: string[]
}

/**
 * Throws NotFound, BadData for an unsound backup, InvalidParameter for an existing target that must not be replaced,
 * Busy while another process has it open, StorageError.
 */
export async function restore(
  from: string,
  files: Files,
  { replace = false, notice }: { replace?: boolean; notice?: Notice | undefined } = {},
): Promise<Restored> {
  const manifest = manifestOf(from)
  const moves: Move[] = []
  let there: string[] = []
  let counts = false
  try {
    const finished = finishBefore(manifest, files, replace)
    if (finished !== null) notice?.(finished)
    there = manifest.files.map(({ kind }) => files[kind]).filter(path => existsSync(path))
    if (there.length > 0 && !replace) {
      const words = sentence`${there.join(', ')}: there already; ${parameter('replace')} puts the backup in its place.`
      throw new InvalidParameter(words, { param: 'replace' })
    }
    for (const file of manifest.files) moves.push(prepared(from, file, files[file.kind]))
    replaceAll(moves, files.data, () => {
      counts = true
    })
  } catch (cause) {
    if (counts) throw cause instanceof FileLost ? cause : unfinished(from, files, cause)
    for (const move of moves) removeDatabase(move.from)
    if (cause instanceof BandsError) throw cause
    throw new StorageError(`cannot restore ${from}: ${failureReason(files.data, cause)}; nothing was changed`, {
      cause,
    })
  }
  const restored = manifest.files.map(({ kind }) => {
    return { kind, path: files[kind], replaced: there.includes(files[kind]) }
  })
  const others = Object.values(files).filter(path => !restored.some(file => file.path === path))
  return { manifest, files: restored, kept: others.filter(path => existsSync(path)) }
}

/** Finishes a stopped restore; if that is impossible, a restore of the same files may replace it. */
function finishBefore({ files: backedUp }: Manifest, files: Files, replace: boolean): string | null {
  const note = restoreNote(files.data)
  try {
    return finishRestore(files)
  } catch (cause) {
    if (cause instanceof Busy || !replace || !existsSync(note)) throw cause
    const kinds = backedUp.map(({ kind }) => kind)
    if (!noteAt(note).moves.every(({ kind }) => kinds.includes(kind))) throw cause
    return null
  }
}

/** After the last note it counts. */
function unfinished(from: string, { data }: Files, cause: unknown): StorageError {
  const why = failureReason(data, cause)
  return new StorageError(`${from} is restored, but for names: ${why}; the next command that writes finishes it`, {
    cause,
  })
}

const NOTE = z.strictObject({
  schema: z.literal('bands.restore-note/1'),
  moves: z
    .array(z.strictObject({ kind: KIND, from: z.string(), sha256: SHA256 }))
    .min(1)
    .max(4)
    .refine(moves => new Set(moves.map(({ kind }) => kind)).size === moves.length),
})
type Note = z.infer<typeof NOTE>

/** More than any note has. */
const MOST_NOTE = 2 ** 16

interface Move {
  kind: FileKind
  note: string
  from: string
  to: string
  /** SHA-256 of its bytes: only files that the restore wrote are moved. */
  sha256: string
}

/** Throws StorageError for a file that no restore of this user has left. */
function noteAt(path: string): Note {
  const about = lstatSync(path)
  if (!about.isFile() || about.size > MOST_NOTE) throw strangeNote(path, 'it is not what a restore writes')
  const user = process.getuid?.()
  if (user !== undefined && about.uid !== user) throw strangeNote(path, 'it belongs to another user')
  const note = jsonOfShape(readFileSync(path, 'utf8'), NOTE)
  if (note === null) throw strangeNote(path, 'it is not what a restore writes')
  return note
}

function strangeNote(path: string, why: Words): StorageError {
  return new StorageError(
    sentence`${path}: this restore cannot be finished: ${why}; nothing was moved. Look at that file, and delete it`,
  )
}

/** The files of a note, next to the user's files. Throws StorageError for names that no restore gives. */
function movesIn(path: string, files: Files): Move[] {
  return noteAt(path).moves.map(({ kind, from, sha256 }) => {
    const to = linkTarget(files[kind])
    if (isPartialName(from, to))
      return { kind, note: restoreNote(files[kind]), from: join(dirname(to), from), to, sha256 }
    const hint = kind === 'accounts' ? sentence` (accounts elsewhere: restore with ${parameter('accounts')})` : ''
    throw strangeNote(path, sentence`a restore gives no file next to ${to} the name ${quoted(from)}${hint}`)
  })
}

/** The target of a link: the link itself stays. */
function linkTarget(target: string): string {
  return existsSync(target) ? realpathSync(target) : target
}

/** Copies a file of a backup next to the one that it replaces, and checks the copy. */
function prepared(backup: string, file: BackedUp, target: string): Move {
  const { kind, schema, name } = file
  const known = KINDS[kind].migrations.length
  if (schema > known) {
    const words = `its ${name} was made by a newer bands (schema ${schema}, this one knows ${known}); update bands`
    throw new BadData({ file: backup }, words)
  }
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  const to = linkTarget(target)
  removeLeftovers(to)
  const from = partialName(to)
  try {
    copyOut(backup, file, from, KINDS[kind].mode)
    const [damage] = damagesOf(kind, from)
    if (damage !== undefined) throw new BadData({ file: backup }, `its ${name} is damaged: ${damage.what}`)
    if (kind === 'data') clearWriter(from)
    // The checks have opened the copy, and SQLite leaves these.
    for (const ending of ['-wal', '-shm']) rmSync(from + ending, { force: true })
    syncToDisk(from)
    return { kind, note: restoreNote(target), from, to, sha256: sha256Of(from) }
  } catch (cause) {
    removeDatabase(from)
    throw cause
  }
}

/** Clears the writer recorded in the backup, which never writes into the restored file. */
function clearWriter(path: string): void {
  const db = connect(path, {})
  try {
    db.exec("DELETE FROM writer; DELETE FROM meta WHERE key = 'writer'")
    checkpoint(db)
  } finally {
    db.close()
  }
}

/** @param committed is called once the restore counts */
function replaceAll(moves: readonly Move[], data: string, committed: () => void): void {
  underLock(data, () => {
    const opened: (Connection | null)[] = []
    try {
      for (const { to } of moves) if (existsSync(to)) opened.push(openExclusively(to))
      leaveNotes(moves, restoreNote(data))
      committed()
    } finally {
      // Committed data in a -wal are in the file by then.
      for (const connection of opened) connection?.close()
    }
    finish(moves, restoreNote(data))
  })
}

/** Works under the writer lock of existing data. Throws Busy. */
function underLock<Result>(data: string, work: () => Result): Result {
  const lock = existsSync(data) ? tryLock(data) : undefined
  if (lock === null) throw new Busy(`${data} is being written by another process; wait for it, then restore`)
  try {
    return work()
  } finally {
    lock?.close()
  }
}

/** Has a database to itself; null where it is too damaged to be opened at all. Throws Busy. */
function openExclusively(path: string): Connection | null {
  try {
    return openExclusive(path)
  } catch (cause) {
    const { code = '' } = cause as { code?: string }
    if (code.startsWith('SQLITE_BUSY'))
      throw new Busy(`${path} is open in another process, such as a server; stop that, then restore`, { cause })
    if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return null
    throw cause
  }
}

/** The note next to the data is last and commits the restore. */
function leaveNotes(moves: readonly Move[], commit: string): void {
  const others = moves.map(({ note }) => note).filter(note => note !== commit)
  const notes = [...others, commit]
  const text: Note = {
    schema: 'bands.restore-note/1',
    moves: moves.map(({ kind, from, sha256 }) => ({ kind, from: basename(from), sha256 })),
  }
  const written: string[] = []
  try {
    for (const note of notes) {
      rmSync(`${note}.new`, { force: true })
      writeFileSync(`${note}.new`, JSON.stringify(text), { flag: 'wx', mode: 0o600 })
      syncToDisk(`${note}.new`)
      renameSync(`${note}.new`, note)
      written.push(note)
      syncToDisk(dirname(note))
    }
  } catch (cause) {
    // The one that counts goes first.
    for (const note of written.reverse()) rmSync(note, { force: true })
    for (const note of notes) rmSync(`${note}.new`, { force: true })
    throw cause
  }
}

/**
 * Renames the restored files to their places, except those done already, and then removes the notes. Throws
 * StorageError before the first move if a file is lost or was not written by the restore.
 * @param commit path of the note that commits the restore: it goes last
 */
function finish(moves: readonly Move[], commit: string): void {
  const left = moves.filter(({ from }) => existsSync(from))
  for (const move of moves) {
    if (!left.includes(move)) checkMoved(move)
    else if (!lstatSync(move.from).isFile() || sha256Of(move.from) !== move.sha256)
      throw strangeNote(commit, `${move.from} is not what the restore wrote`)
  }
  const checks = left.map(({ from, to }) => writtenFileCheck(to, statSync(from)))
  for (const { from, to } of left) {
    // These belong to the file that is replaced.
    for (const ending of ['-wal', '-shm', '-journal']) rmSync(to + ending, { force: true })
    renameSync(from, to)
    syncToDisk(dirname(to))
  }
  for (const { note } of moves) if (note !== commit) rmSync(note, { force: true })
  rmSync(commit, { force: true })
  for (const check of checks) check()
}

function checkMoved({ from, to, sha256 }: Move): void {
  if (existsSync(to) && sha256Of(to) === sha256) return
  const words = `a restore of ${to} was stopped before its end, and cannot be finished: ${from} is missing; restore it again`
  throw new StorageError(words)
}

/**
 * Finishes a stopped restore, or undoes one that was not committed. Throws Busy while the restore is running. Throws
 * StorageError if it cannot be finished, or if a note is not from a restore.
 * @returns a sentence about the result; null if there was nothing to do
 */
export function finishRestore(files: Files): string | null {
  const { data } = files
  const commit = restoreNote(data)
  const notes = (): string[] => Object.values(files).map(restoreNote).filter(existsSync)
  if (notes().length === 0) return null
  try {
    return underLock(data, () => {
      // The previous lock holder may have finished it, or left another.
      if (existsSync(commit)) {
        finish(movesIn(commit, files), commit)
        return `the restore of ${data} that was stopped is finished now.`
      }
      for (const note of notes()) if (noteAt(note)) rmSync(note, { force: true })
      return null
    })
  } catch (cause) {
    if (cause instanceof BandsError) throw cause
    // Another has finished it meanwhile.
    if (notes().length === 0) return null
    const words = `a restore of ${data} was stopped before its end, and cannot be finished: ${failureReason(data, cause)}`
    throw new StorageError(words, { cause })
  }
}
