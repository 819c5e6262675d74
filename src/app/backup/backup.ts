// For: keep a copy of everything a user has, and put it back.
// In: the files of the data, the accounts, the trials and the lists.
// Out: a folder with their copies and a manifest, or the files as they were.

import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import { version } from '../../core/built.js'
import { BadData, BandsError, InvalidParameter, NotFound, remedy, StorageError } from '../../core/errors.js'
import { connect, failureReason, openForReading, Session } from '../../data/store/sqlite/connection.js'
import {
  type FileKind,
  type Files,
  partialName,
  removeLeftovers,
  restoreNote,
  sha256Of,
  writtenFileCheck,
} from '../../data/store/sqlite/files.js'
import { LISTS, TRIALS } from '../../data/store/sqlite/lists.js'
import {
  type Connection,
  type DatabaseKind,
  differenceOf,
  schemaOf,
  syncToDisk,
  withFile,
} from '../../data/store/sqlite/migrations.js'
import { DATA } from '../../data/store/sqlite/schema.js'
import {
  structureDamages,
  type VerifiedFile,
  verifyLists,
  verifySession,
  verifyTrials,
} from '../../data/store/sqlite/verify.js'
import type { Damage } from '../../data/store/store.js'
import { ACCOUNTS } from '../../server/accounts/sqlite/accounts.js'
import { verifyAccounts } from '../../server/accounts/sqlite/verify.js'

/**
 * A backup is a folder: copies of the data, the accounts, the trial log and the watch lists, all as of one moment, and
 * a manifest with their hashes.
 * 1. begin to read all of them: later commits are not copied
 * 2. copy each into a folder with a temporary name, compare the copy row by row, and verify it
 * 3. write the manifest
 * 4. rename the folder
 *
 * A failed backup leaves nothing. The next backup removes the temporary folder of a killed one.
 */

export const KINDS: Readonly<Record<FileKind, DatabaseKind>> = {
  data: DATA,
  accounts: ACCOUNTS,
  trials: TRIALS,
  lists: LISTS,
}

export const KIND = z.enum(['data', 'accounts', 'trials', 'lists']) satisfies z.ZodType<FileKind>

export const SHA256 = z.string().regex(/^[0-9a-f]{64}$/)

const BACKED_UP = z
  .strictObject({
    kind: KIND,
    /** In the folder of the backup. */
    name: z.string(),
    /** The file that was copied. */
    path: z.string().min(1),
    schema: z.int().min(1),
    bytes: z.int().min(1),
    sha256: SHA256,
  })
  .refine(({ kind, name }) => name === nameOf(kind))

const MANIFEST_SHAPE = z.strictObject({
  /** Older versions wrote tar archives with the same manifest; the first of them called it by the second name. */
  schema: z.enum(['bands.backup-file/1', 'bands.backup/1']),
  /** The version that made the backup. */
  bands: z.string(),
  made: z.iso.datetime(),
  files: z
    .array(BACKED_UP)
    .min(1)
    .refine(files => new Set(files.map(({ kind }) => kind)).size === files.length),
})

export type Manifest = z.infer<typeof MANIFEST_SHAPE>
export type BackedUp = z.infer<typeof BACKED_UP>

const MANIFEST = 'manifest.json'
/** More bytes than any manifest has. */
const MAX_MANIFEST = 2 ** 20

/**
 * Copies the existing files into a new folder. Throws NotFound where there is no file, InvalidParameter where the name is
 * taken, BadData for a damaged database, StorageError.
 */
export async function backUp(files: Files, target: string, now = new Date()): Promise<Manifest> {
  const kinds = kindsIn(files)
  if (existsSync(target)) throw nameTaken(target)
  const temporary = temporaryIn(files, dirname(target))
  const partial = partialName(temporary)
  try {
    removeLeftovers(temporary)
    mkdirSync(partial, { recursive: true, mode: 0o700 })
    const manifest: Manifest = {
      schema: 'bands.backup-file/1',
      bands: version(),
      made: now.toISOString(),
      files: await copies(files, kinds, partial),
    }
    writeFileSync(join(partial, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { flag: 'wx', mode: 0o600 })
    syncToDisk(join(partial, MANIFEST))
    syncToDisk(partial)
    const check = writtenFileCheck(target, statSync(partial))
    nameFolder(partial, target)
    syncToDisk(dirname(target))
    check()
    return manifest
  } catch (cause) {
    if (cause instanceof BandsError) throw cause
    throw new StorageError(`cannot back up to ${target}: ${failureReason(target, cause)}; nothing was changed`, {
      cause,
    })
  } finally {
    removeFolder(partial)
  }
}

function nameTaken(target: string): InvalidParameter {
  const words = `${target} is there already, and a backup replaces nothing; choose another name.`
  return new InvalidParameter(words, { param: 'folder', value: target })
}

/** The name that temporary folders begin with: the same for every backup, so that the next one finds them. */
function temporaryIn(files: Files, folder: string): string {
  return join(folder, `${stemOf(files)}.backup`)
}

function nameFolder(partial: string, target: string): void {
  try {
    renameSync(partial, target)
  } catch (cause) {
    throw existsSync(target) ? nameTaken(target) : cause
  }
}

function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // It only takes space, and the next backup removes it.
  }
}

function kindsIn(files: Files): FileKind[] {
  const kinds = (Object.keys(KINDS) as FileKind[]).filter(kind => existsSync(files[kind]))
  if (kinds.length > 0) return kinds
  const message = `there is nothing to back up: no database at ${files.data}.`
  throw new NotFound(message, [], { remedy: remedy('import', ['FILE'], { db: files.data }) })
}

async function copies(files: Files, kinds: readonly FileKind[], folder: string): Promise<BackedUp[]> {
  const open: { kind: FileKind; db: Connection }[] = []
  try {
    for (const kind of kinds) open.push({ kind, db: openForReading(files[kind], KINDS[kind]) })
    for (const { db } of open) {
      db.exec('BEGIN')
      // The first read sets the moment.
      schemaOf(db)
    }
    checkNoRestore(files)
    const backedUp: BackedUp[] = []
    for (const { kind, db } of open) backedUp.push(await copied(db, kind, files[kind], folder))
    return backedUp
  } finally {
    for (const { db } of open) db.close()
  }
}

/** Throws StorageError while some of the files are of a backup, and others not yet. */
function checkNoRestore(files: Files): void {
  const path = Object.values(files).find(path => existsSync(restoreNote(path)))
  if (path !== undefined) throw new StorageError(`a restore of ${path} is not finished, and no backup was made`)
}

/** In the folder of the backup. */
function nameOf(kind: FileKind): string {
  return kind === 'data' ? 'bands.db' : `bands.${kind}.db`
}

/** Pages that are copied at once. */
const STEP = 5_000

async function copied(db: Connection, kind: FileKind, path: string, folder: string): Promise<BackedUp> {
  const name = nameOf(kind)
  const copy = join(folder, name)
  // SQLite would make the file readable for others.
  closeSync(openSync(copy, 'wx', 0o600))
  await db.backup(copy, { progress: () => STEP })
  const difference = differenceOf(db, copy, connect)
  if (difference !== null) throw new Error(`the copy is not the same: ${difference}`)
  const [damage, ...more] = damagesOf(kind, copy)
  if (damage !== undefined) {
    const others = more.length === 0 ? '' : `, and ${more.length} more`
    const words = `it is damaged (${damage.ticker === '' ? '' : `${damage.ticker}: `}${damage.what}${others}), and no backup was made`
    throw new BadData({ file: path }, words, { remedy: remedy('verify') })
  }
  // The checks have opened the copy, and SQLite leaves these.
  for (const ending of SQLITE_ENDINGS) rmSync(copy + ending, { force: true })
  syncToDisk(copy)
  return { kind, name, path, schema: schemaOf(db), bytes: statSync(copy).size, sha256: sha256Of(copy) }
}

/** Endings of the files that SQLite adds while a database in WAL mode is open. */
const SQLITE_ENDINGS = ['-wal', '-shm']

/** Whether a folder looks like a backup: a half-made one has no manifest. */
export function isBackup(folder: string): boolean {
  return existsSync(join(folder, MANIFEST))
}

/**
 * Reads and checks the manifest of a backup. Throws NotFound, BadData for anything that is not a backup, StorageError
 * where it cannot be read.
 */
export function manifestOf(folder: string): Manifest {
  try {
    if (!existsSync(folder))
      throw new NotFound(`there is no folder ${folder}.`, [], { missing: { kind: 'file', name: folder } })
    const stats = statSync(folder)
    if (!stats.isDirectory()) throw notAFolder(folder, stats)
    if (!isBackup(folder)) throw noManifest(folder)
    const { size } = fileIn(folder, MANIFEST)
    const text = size > MAX_MANIFEST ? '' : readFileSync(join(folder, MANIFEST), 'utf8')
    const manifest = jsonOfShape(text, MANIFEST_SHAPE)
    if (manifest === null) throw noBackup(folder)
    return manifest
  } catch (cause) {
    if (cause instanceof BandsError) throw cause
    throw new StorageError(`cannot read ${folder}: ${failureReason(folder, cause)}`, { cause })
  }
}

function noBackup(path: string): BadData {
  return new BadData({ file: path }, 'this is no backup of bands, or not a whole one')
}

function notAFolder(path: string, stats: Stats): BadData {
  if (!stats.isFile() || !isTar(path)) return noBackup(path)
  const line = 'mkdir DIR && tar -xf FILE -C DIR'
  const words = `it is a tar archive, as older versions made them; unpack it (${line}), then restore DIR`
  return new BadData({ file: path }, words, { remedy: remedy('restore', ['DIR']) })
}

/** POSIX archives have this word at byte 257. */
function isTar(path: string): boolean {
  const word = Buffer.alloc(5)
  withFile(path, 'r', file => readSync(file, word, 0, word.length, 257))
  return word.toString('latin1') === 'ustar'
}

function noManifest(folder: string): BadData {
  const backups = readdirSync(folder).filter(name => isBackup(join(folder, name)))
  const last = backups.sort().at(-1)
  if (last === undefined) return noBackup(folder)
  const words = `this folder holds ${backups.length === 1 ? 'a backup' : `${backups.length} backups`}; restore one of them`
  return new BadData({ file: folder }, words, { remedy: remedy('restore', [join(folder, last)]) })
}

/** Throws BadData for a file that is missing or is something else. */
function fileIn(folder: string, name: string): Stats {
  const stats = statSync(join(folder, name), { throwIfNoEntry: false })
  if (stats === undefined) throw new BadData({ file: folder }, `its ${name} is missing; take another backup`)
  if (!stats.isFile()) throw changed(folder, name)
  return stats
}

function changed(folder: string, name: string): BadData {
  return new BadData({ file: folder }, `its ${name} is damaged; take another backup`)
}

/** Copies a file out of a backup into a new one. Throws BadData where it is not the file of the manifest. */
export function copyOut(folder: string, { name, bytes, sha256 }: BackedUp, target: string, mode: number): void {
  if (fileIn(folder, name).size !== bytes) throw changed(folder, name)
  const write = (into: number): string => sha256Of(join(folder, name), chunk => writeFileSync(into, chunk))
  if (withFile(target, 'wx', write, mode) !== sha256) throw changed(folder, name)
}

/** null if the text is not JSON, or has another shape. */
export function jsonOfShape<T>(text: string, shape: z.ZodType<T>): T | null {
  try {
    return shape.parse(JSON.parse(text))
  } catch {
    return null
  }
}

/** Makes a backup named by database and time. With `keep` the oldest of more than that number are removed. */
export async function backUpInto(
  files: Files,
  parent: string,
  { keep = null, now = new Date() }: { keep?: number | null; now?: Date } = {},
): Promise<{ folder: string; manifest: Manifest; removed: string[] }> {
  // To the millisecond: two may be made in one second.
  const time = now.toISOString().replace(/[-:]/g, '')
  const folder = join(parent, `${stemOf(files)}-${time}`)
  const manifest = await backUp(files, folder, now)
  // Only now: the new backup may be the only good one.
  return { folder, manifest, removed: keep === null ? [] : removeOlder(files, parent, keep) }
}

function stemOf({ data }: Files): string {
  return basename(data).replace(/\.db$/, '')
}

/** Returns the removed backups. Backups of other databases, and folders with other files in them, stay. */
function removeOlder(files: Files, parent: string, keep: number): string[] {
  const shape = /-\d{8}T\d{6}(?:\.\d{3})?Z$/
  const stem = stemOf(files)
  const named = readdirSync(parent).filter(name => shape.test(name) && name.replace(shape, '') === stem)
  const own = named.filter(name => isOf(files, join(parent, name))).sort()
  const old = own.slice(0, Math.max(0, own.length - keep)).map(name => join(parent, name))
  try {
    for (const folder of old) {
      // A removal that is killed must not leave half a backup under its name.
      const partial = partialName(temporaryIn(files, parent))
      renameSync(folder, partial)
      rmSync(partial, { recursive: true })
    }
  } catch (cause) {
    const words = `the backup is made, and an older one cannot be removed: ${failureReason(parent, cause)}`
    throw new StorageError(words, { cause })
  }
  return old
}

/** Whether it is a backup of this data file, and nothing else. Databases may share accounts: without data those decide. */
function isOf(files: Files, folder: string): boolean {
  try {
    const { files: all } = manifestOf(folder)
    const own = [MANIFEST, ...all.flatMap(({ name }) => ['', ...SQLITE_ENDINGS].map(ending => name + ending))]
    if (!readdirSync(folder).every(name => own.includes(name))) return false
    const data = all.filter(({ kind }) => kind === 'data')
    return (data.length > 0 ? data : all).some(({ kind, path }) => path === files[kind])
  } catch {
    return false
  }
}

/** The files next to the data, and the check of each. */
export const COMPANION_FILES: readonly (readonly [VerifiedFile['kind'], (file: string) => VerifiedFile])[] = [
  ['accounts', verifyAccounts],
  ['trials', verifyTrials],
  ['lists', verifyLists],
]

/** The damages of a file of some kind. */
export function damagesOf(kind: FileKind, file: string): Damage[] {
  const beside = COMPANION_FILES.find(([name]) => name === kind)
  if (beside !== undefined) return beside[1](file).damages
  const db = new Session(file, openForReading(file, DATA), DATA)
  try {
    // Data of an older bands are checked when they are upgraded.
    return db.schema === DATA.migrations.length ? verifySession(db) : structureDamages(db)
  } finally {
    db.close()
  }
}
