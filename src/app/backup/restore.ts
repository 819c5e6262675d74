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
  typedLineWith,
  type Words,
} from '../../core/errors.js'
import { checkpoint, connect, failureReason, type Notice, openExclusive } from '../../data/store/sqlite/connection.js'
import type { FileKind, Files } from '../../data/store/sqlite/files.js'
import {
  isPartialName,
  partialName,
  removeFilesOfKilledRuns,
  restoreNotePath,
  sha256Of,
  writtenFileCheck,
} from '../../data/store/sqlite/files.js'
import { type Connection, removeDatabase, syncToDisk } from '../../data/store/sqlite/migrations.js'
import { tryLock } from '../../data/store/sqlite/writer-lock.js'
import {
  type BackedUp,
  copyOut,
  DATABASE_KINDS,
  KIND_SHAPE,
  type Manifest,
  parseShape,
  readManifest,
  SHA256_SHAPE,
  verifyFile,
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
 * Replaces the user's files by those of a backup: all of them, or none. Throws NotFound, BadData for an unsound backup,
 * InvalidParameter for an existing target without `replace`, Busy while another process has it open, StorageError.
 */
export async function restore(
  from: string,
  files: Files,
  { replace = false, notice }: { replace?: boolean; notice?: Notice | undefined } = {},
): Promise<Restored> {
  const manifest = readManifest(from)
  const moves: Move[] = []
  let existing: string[] = []
  let isCommitted = false
  try {
    const finished = finishEarlierRestore(manifest, files, replace)
    if (finished !== null) notice?.(finished)
    existing = manifest.files.map(({ kind }) => files[kind]).filter(path => existsSync(path))
    if (existing.length > 0 && !replace) {
      const words = sentence`${existing.join(', ')}: there already; ${parameter('replace')} puts the backup in its place.`
      const again = { remedy: typedLineWith('restore', [from], { replace: true }) }
      throw new InvalidParameter(words, { param: 'replace' }, again)
    }
    for (const file of manifest.files) moves.push(prepareFile(from, file, files[file.kind]))
    replaceAll(moves, files.data, () => {
      isCommitted = true
    })
  } catch (cause) {
    // FileLost: all files have their names, but another program has replaced one since.
    if (isCommitted) throw cause instanceof FileLost ? cause : unfinishedError(from, files, cause)
    for (const move of moves) removeDatabase(move.from)
    if (cause instanceof BandsError) throw cause
    const words = `cannot restore ${from}: ${failureReason(files.data, cause)}; nothing was changed`
    throw new StorageError(words, { cause })
  }
  const restored = manifest.files.map(({ kind }) => {
    return { kind, path: files[kind], replaced: existing.includes(files[kind]) }
  })
  const others = Object.values(files).filter(path => !restored.some(file => file.path === path))
  return { manifest, files: restored, kept: others.filter(path => existsSync(path)) }
}

/**
 * Finishes a restore that was stopped earlier. If that fails, throws, unless this restore replaces all files of the
 * earlier one. @param replace whether this restore may replace files
 * @returns a sentence about the finished restore; null if none was finished
 */
function finishEarlierRestore({ files: backedUp }: Manifest, files: Files, replace: boolean): string | null {
  const note = restoreNotePath(files.data)
  try {
    return finishRestore(files)
  } catch (cause) {
    const mayReplace = replace && existsSync(note) && !(cause instanceof Busy)
    const kinds = backedUp.map(({ kind }) => kind)
    const replacesAll = mayReplace && readNote(note).moves.every(({ kind }) => kinds.includes(kind))
    if (replacesAll) return null
    throw cause
  }
}

/** The error for a restore that is committed, but whose files could not all be renamed. */
function unfinishedError(from: string, { data }: Files, cause: unknown): StorageError {
  const why = failureReason(data, cause)
  const state = `${from} is restored, but not all of its files have their names yet`
  return new StorageError(`${state}: ${why}; the next command that writes finishes it`, { cause })
}

const NOTE_SHAPE = z.strictObject({
  schema: z.literal('bands.restore-note/1'),
  moves: z
    .array(z.strictObject({ kind: KIND_SHAPE, from: z.string(), sha256: SHA256_SHAPE }))
    .min(1)
    .max(4)
    .refine(moves => new Set(moves.map(({ kind }) => kind)).size === moves.length),
})
type Note = z.infer<typeof NOTE_SHAPE>

const MAX_NOTE_BYTES = 2 ** 16

interface Move {
  kind: FileKind
  /** The path of the note next to the file that is replaced. A writer of that file finds the restore by it. */
  note: string
  /** The path of the checked copy, and the path of the file that it replaces. */
  from: string
  to: string
  /** SHA-256 of the copy: only files that the restore wrote are moved. */
  sha256: string
}

/** Reads the note of a restore. Throws StorageError for a file that no restore of this user has left. */
function readNote(path: string): Note {
  const stats = lstatSync(path)
  if (!stats.isFile() || stats.size > MAX_NOTE_BYTES) throw invalidNoteError(path, 'it is not what a restore writes')
  const user = process.getuid?.()
  if (user !== undefined && stats.uid !== user) throw invalidNoteError(path, 'it belongs to another user')
  const note = parseShape(readFileSync(path, 'utf8'), NOTE_SHAPE)
  if (note === null) throw invalidNoteError(path, 'it is not what a restore writes')
  return note
}

function invalidNoteError(path: string, why: Words): StorageError {
  return new StorageError(
    sentence`${path}: this restore cannot be finished: ${why}; nothing was moved. Look at that file, and delete it`,
  )
}

/** The moves that a note lists, with full paths. Throws StorageError where a name is not formed like that of a copy. */
function readMoves(path: string, files: Files): Move[] {
  return readNote(path).moves.map(({ kind, from: name, sha256 }) => {
    const to = linkTarget(files[kind])
    if (isPartialName(name, to))
      return { kind, note: restoreNotePath(files[kind]), from: join(dirname(to), name), to, sha256 }
    const hint = kind === 'accounts' ? sentence` (accounts elsewhere: restore with ${parameter('accounts')})` : ''
    throw invalidNoteError(path, sentence`a restore gives no file next to ${to} the name ${quoted(name)}${hint}`)
  })
}

/** The target of a link, which is replaced instead of the link; another path unchanged. */
function linkTarget(target: string): string {
  return existsSync(target) ? realpathSync(target) : target
}

/** Copies a file of a backup next to the one that it replaces, and checks the copy. */
function prepareFile(backup: string, file: BackedUp, target: string): Move {
  const { kind, schema, name } = file
  const newestSchema = DATABASE_KINDS[kind].migrations.length
  if (schema > newestSchema) {
    const words = `its ${name} was made by a newer bands (schema ${schema}, this one knows ${newestSchema}); update bands`
    throw new BadData({ file: backup }, words)
  }
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  const to = linkTarget(target)
  removeFilesOfKilledRuns(to)
  const from = partialName(to)
  try {
    copyOut(backup, file, from, DATABASE_KINDS[kind].mode)
    const [damage] = verifyFile(kind, from)
    if (damage !== undefined) throw new BadData({ file: backup }, `its ${name} is damaged: ${damage.what}`)
    if (kind === 'data') clearWriter(from)
    // The checks have opened the copy, and SQLite leaves these.
    for (const ending of ['-wal', '-shm']) rmSync(from + ending, { force: true })
    syncToDisk(from)
    return { kind, note: restoreNotePath(target), from, to, sha256: sha256Of(from) }
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

/** Locks the files, writes the notes and renames the files. @param onCommitted called once the restore is committed */
function replaceAll(moves: readonly Move[], data: string, onCommitted: () => void): void {
  withWriterLock(data, () => {
    const opened: (Connection | null)[] = []
    try {
      for (const { to } of moves) if (existsSync(to)) opened.push(openExclusiveOrNull(to))
      leaveNotes(moves, restoreNotePath(data))
      onCommitted()
    } finally {
      // Closing moves the commits in a -wal into the file.
      for (const connection of opened) connection?.close()
    }
    finishMoves(moves, restoreNotePath(data))
  })
}

/** Runs work under the writer lock of the data, if they exist. Throws Busy if another process has it. */
function withWriterLock<Result>(data: string, work: () => Result): Result {
  const lock = existsSync(data) ? tryLock(data) : undefined
  if (lock === null) throw new Busy(`${data} is being written by another process; wait for it, then restore`)
  try {
    return work()
  } finally {
    lock?.close()
  }
}

/** Opens a database for this process only; null if it is too damaged to be opened. Throws Busy. */
function openExclusiveOrNull(path: string): Connection | null {
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

/**
 * Writes a note next to each file, and removes all of them if one cannot be written.
 * @param commit path of the note next to the data, which commits the restore: it is written last
 */
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
    // The note that commits goes first.
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
function finishMoves(moves: readonly Move[], commit: string): void {
  const remaining = moves.filter(({ from }) => existsSync(from))
  for (const move of moves) {
    if (!remaining.includes(move)) refuseLostFile(move)
    else if (!lstatSync(move.from).isFile() || sha256Of(move.from) !== move.sha256)
      throw invalidNoteError(commit, `${move.from} is not what the restore wrote`)
  }
  const replacedFileChecks = remaining.map(({ from, to }) => writtenFileCheck(to, statSync(from)))
  for (const { from, to } of remaining) {
    // These belong to the file that is replaced.
    for (const ending of ['-wal', '-shm', '-journal']) rmSync(to + ending, { force: true })
    renameSync(from, to)
    syncToDisk(dirname(to))
  }
  for (const { note } of moves) if (note !== commit) rmSync(note, { force: true })
  rmSync(commit, { force: true })
  for (const refuseIfReplaced of replacedFileChecks) refuseIfReplaced()
}

/** Throws StorageError for a file that is neither waiting nor moved. */
function refuseLostFile({ from, to, sha256 }: Move): void {
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
  const commit = restoreNotePath(data)
  const existingNotes = (): string[] => Object.values(files).map(restoreNotePath).filter(existsSync)
  if (existingNotes().length === 0) return null
  try {
    return withWriterLock(data, () => {
      // The previous lock holder may have finished it, or left another.
      if (existsSync(commit)) {
        finishMoves(readMoves(commit, files), commit)
        return `the restore of ${data} that was stopped is finished now.`
      }
      for (const note of existingNotes()) {
        // Throws for a file that no restore left.
        readNote(note)
        rmSync(note, { force: true })
      }
      return null
    })
  } catch (cause) {
    if (cause instanceof BandsError) throw cause
    // Another process has finished it meanwhile.
    if (existingNotes().length === 0) return null
    const words = `a restore of ${data} was stopped before its end, and cannot be finished: ${failureReason(data, cause)}`
    throw new StorageError(words, { cause })
  }
}
