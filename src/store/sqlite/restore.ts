import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  BadData,
  BandsError,
  Busy,
  FileLost,
  InvalidParameter,
  parameter,
  StorageError,
  sentence,
} from '../../errors.js'
import { chunksOf } from '../tar.js'
import {
  type BackedUp,
  type FileKind,
  type Files,
  KINDS,
  type Manifest,
  type OpenArchive,
  withArchive,
} from './backup.js'
import { checkpoint, connect, openAlone, whyNot } from './connection.js'
import { partialName, removeLeftovers, restoreNote, writtenInPlace } from './files.js'
import { type Connection, removeDatabase, synced, withFile } from './migrations.js'
import { lockOf } from './place.js'
import { damagesOf } from './verify.js'

/**
 * A backup takes the place of what there is: all of its files, or none.
 *  1. each file is written beside the one whose place it takes, and looked at
 *  2. the files that go are taken, so that nobody reads or writes them
 *  3. beside each a note is left that says what goes where; the one beside the data is written last, and counts for all
 *  4. the files get their names, and the notes go
 * A run that is killed before the last note leaves everything as it was; after it, whoever opens one of the files first
 * finishes it.
 */

/** What was restored. */
export interface Restored {
  manifest: Manifest
  files: { kind: FileKind; path: string; replaced: boolean }[]
  /** Files that are not in the backup, and stay as they are. */
  kept: string[]
}

/**
 * Throws NotFound, BadData for a file that is no sound backup, InvalidParameter where there is something already that may
 * not be replaced, Busy where another process has it open, StorageError.
 */
export async function restore(from: string, files: Files, { replace = false } = {}): Promise<Restored> {
  return withArchive(from, archive => {
    const { manifest } = archive
    finishBefore(manifest, files, replace)
    const there = manifest.files.map(({ kind }) => files[kind]).filter(path => existsSync(path))
    if (there.length > 0 && !replace) {
      const words = sentence`${there.join(', ')}: there already; ${parameter('replace')} puts the backup in its place.`
      throw new InvalidParameter(words, { param: 'replace' })
    }
    const plan: Plan = { commit: restoreNote(files.data), moves: [] }
    let counts = false
    try {
      for (const file of manifest.files) plan.moves.push(prepared(archive, file, files[file.kind], from))
      replaceAll(plan, files.data, () => {
        counts = true
      })
    } catch (cause) {
      if (counts) throw cause instanceof FileLost ? cause : unfinished(from, plan, cause)
      for (const move of plan.moves) removeDatabase(move.from)
      if (cause instanceof BandsError) throw cause
      throw new StorageError(`cannot restore ${from}: ${whyNot(files.data, cause)}; nothing was changed`, { cause })
    }
    const restored = manifest.files.map(({ kind }) => ({
      kind,
      path: files[kind],
      replaced: there.includes(files[kind]),
    }))
    const others = Object.values(files).filter(path => !restored.some(file => file.path === path))
    return { manifest, files: restored, kept: others.filter(path => existsSync(path)) }
  })
}

/** Finishes what was stopped before; where that is not possible, a restore of the same files may take its place. */
function finishBefore({ files: backedUp }: Manifest, files: Files, replace: boolean): void {
  const notes = backedUp.map(({ kind }) => restoreNote(files[kind]))
  for (const path of Object.values(files).filter(path => existsSync(restoreNote(path)))) {
    try {
      finishRestore(path)
    } catch (cause) {
      if (cause instanceof Busy || !replace) throw cause
      if (!planIn(restoreNote(path)).moves.every(({ note }) => notes.includes(note))) throw cause
    }
  }
}

/** After the last note it counts. */
function unfinished(from: string, { commit }: Plan, cause: unknown): StorageError {
  const why = whyNot(commit, cause)
  return new StorageError(`${from} is restored, but for names: ${why}; the next command finishes it`, { cause })
}

/** Everything that one restore moves. */
interface Plan {
  /** The note that counts for all. */
  commit: string
  moves: Move[]
}

interface Move {
  note: string
  from: string
  to: string
  /** Of its bytes, so that what has got its name already is told from what is lost. */
  sha256: string
}

/** A file of a backup beside the one whose place it is to take, checked. */
function prepared(archive: OpenArchive, file: BackedUp, target: string, backup: string): Move {
  const { kind, schema, name } = file
  const known = KINDS[kind].migrations.length
  if (schema > known) {
    const words = `its ${name} was made by a newer bands (schema ${schema}, this one knows ${known}); update bands`
    throw new BadData({ file: backup }, words)
  }
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  // What a name only leads to is replaced, and not the name.
  const to = existsSync(target) ? realpathSync(target) : target
  removeLeftovers(to)
  const from = partialName(to)
  try {
    const write = (into: number): void => {
      for (const chunk of archive.read(file)) writeFileSync(into, chunk)
    }
    withFile(from, 'wx', write, KINDS[kind].mode)
    const [damage] = damagesOf(kind, from)
    if (damage !== undefined) throw new BadData({ file: backup }, `its ${name} is damaged: ${damage.what}`)
    if (kind === 'data') freeWritingPlace(from)
    // To be looked at, it was opened.
    for (const ending of ['-wal', '-shm']) rmSync(from + ending, { force: true })
    synced(from)
    return { note: restoreNote(target), from, to, sha256: sha256Of(from) }
  } catch (cause) {
    removeDatabase(from)
    throw cause
  }
}

/** Who was writing while it was backed up writes nothing into what is restored. */
function freeWritingPlace(path: string): void {
  const db = connect(path, {})
  try {
    db.exec("DELETE FROM writer; DELETE FROM meta WHERE key = 'writer'")
    checkpoint(db)
  } finally {
    db.close()
  }
}

function sha256Of(path: string): string {
  const hash = createHash('sha256')
  withFile(path, 'r', file => {
    for (const chunk of chunksOf(file, 0, statSync(path).size)) hash.update(chunk)
  })
  return hash.digest('hex')
}

/** @param committed is told when it counts */
function replaceAll(plan: Plan, data: string, committed: () => void): void {
  const lock = existsSync(data) ? locked(data) : null
  try {
    const held: (Connection | null)[] = []
    try {
      for (const { to } of plan.moves) if (existsSync(to)) held.push(alone(to))
      leaveNotes(plan)
      committed()
    } finally {
      // What was committed in a -wal is by then in its file.
      for (const connection of held) connection?.close()
    }
    finish(plan)
  } finally {
    lock?.close()
  }
}

/** Takes the writing place. Throws Busy. */
function locked(data: string): Connection {
  const lock = lockOf(data)
  if (lock !== null) return lock
  throw new Busy(`${data} is being written by another process; wait for it, then restore`)
}

/** Has a database to itself; null where it is too damaged to be opened at all. Throws Busy. */
function alone(path: string): Connection | null {
  try {
    return openAlone(path)
  } catch (cause) {
    const { code = '' } = cause as { code?: string }
    if (code.startsWith('SQLITE_BUSY'))
      throw new Busy(`${path} is open in another process, such as a server; stop that, then restore`, { cause })
    if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return null
    throw cause
  }
}

/** That of the data is the last; from then on it counts. */
function leaveNotes(plan: Plan): void {
  const others = plan.moves.map(({ note }) => note).filter(note => note !== plan.commit)
  const notes = [...others, plan.commit]
  const written: string[] = []
  try {
    for (const note of notes) {
      writeFileSync(`${note}.new`, JSON.stringify(plan))
      synced(`${note}.new`)
      renameSync(`${note}.new`, note)
      written.push(note)
      synced(dirname(note))
    }
  } catch (cause) {
    // The one that counts goes first.
    for (const note of written.reverse()) rmSync(note, { force: true })
    for (const note of notes) rmSync(`${note}.new`, { force: true })
    throw cause
  }
}

/** Gives the files their names; what was done already is left out. Throws StorageError where one is lost, before any is moved. */
function finish({ commit, moves }: Plan): void {
  const left = moves.filter(({ from }) => existsSync(from))
  for (const move of moves) if (!left.includes(move)) checkInPlace(move)
  const checks = left.map(({ from, to }) => writtenInPlace(to, statSync(from)))
  for (const { from, to } of left) {
    for (const ending of ['-wal', '-shm', '-journal']) rmSync(to + ending, { force: true })
    renameSync(from, to)
    synced(dirname(to))
  }
  for (const { note } of moves) if (note !== commit) rmSync(note, { force: true })
  rmSync(commit, { force: true })
  for (const check of checks) check()
}

function checkInPlace({ from, to, sha256 }: Move): void {
  if (existsSync(to) && sha256Of(to) === sha256) return
  const words = `a restore of ${to} was stopped before its end, and cannot be finished: ${from} is missing; restore it again`
  throw new StorageError(words)
}

/** Finishes a restore that has left a note, or takes back one that was not committed. Throws Busy while it is at work, StorageError. */
export function finishRestore(path: string): void {
  const note = restoreNote(path)
  try {
    const data = planIn(note).commit.slice(0, -restoreNote('').length)
    const lock = existsSync(data) ? locked(data) : null
    try {
      // Who had the place until now may have finished it, or left another.
      const plan = planIn(note)
      if (existsSync(plan.commit)) finish(plan)
      else rmSync(note, { force: true })
    } finally {
      lock?.close()
    }
  } catch (cause) {
    if (cause instanceof BandsError) throw cause
    // Another has finished it meanwhile.
    if (!existsSync(note)) return
    const words = `a restore of ${path} was stopped before its end, and cannot be finished: ${whyNot(path, cause)}`
    throw new StorageError(words, { cause })
  }
}

function planIn(note: string): Plan {
  return JSON.parse(readFileSync(note, 'utf8')) as Plan
}
