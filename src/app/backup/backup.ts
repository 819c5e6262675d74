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
  creatablePath,
  type FileKind,
  type Files,
  partialName,
  removeFilesOfKilledRuns,
  restoreNotePath,
  sha256Of,
  writtenFileCheck,
} from '../../data/store/sqlite/files.js'
import { LISTS, TRIALS } from '../../data/store/sqlite/lists.js'
import {
  type Connection,
  type DatabaseKind,
  firstDifference,
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

export const DATABASE_KINDS: Readonly<Record<FileKind, DatabaseKind>> = {
  data: DATA,
  accounts: ACCOUNTS,
  trials: TRIALS,
  lists: LISTS,
}

export const KIND_SHAPE = z.enum(['data', 'accounts', 'trials', 'lists']) satisfies z.ZodType<FileKind>

export const SHA256_SHAPE = z.string().regex(/^[0-9a-f]{64}$/)

const BACKED_UP_SHAPE = z
  .strictObject({
    kind: KIND_SHAPE,
    /** In the folder of the backup. */
    name: z.string(),
    /** The file that was copied. */
    path: z.string().min(1),
    schema: z.int().min(1),
    bytes: z.int().min(1),
    sha256: SHA256_SHAPE,
  })
  .refine(({ kind, name }) => name === backupFileName(kind))

const MANIFEST_SHAPE = z.strictObject({
  schema: z.literal('bands.backup-file/1'),
  /** The version that made the backup. */
  bands: z.string(),
  made: z.iso.datetime(),
  files: z
    .array(BACKED_UP_SHAPE)
    .min(1)
    .refine(files => new Set(files.map(({ kind }) => kind)).size === files.length),
})

export type Manifest = z.infer<typeof MANIFEST_SHAPE>
export type BackedUp = z.infer<typeof BACKED_UP_SHAPE>

const MANIFEST = 'manifest.json'

const MAX_MANIFEST_BYTES = 2 ** 20

/**
 * Copies the existing files into a new folder. Throws NotFound where there is no file, InvalidParameter where the name
 * is taken, BadData for a damaged database, StorageError.
 */
export async function backUp(files: Files, target: string, now = new Date()): Promise<Manifest> {
  const kinds = existingKinds(files)
  if (existsSync(target)) throw nameTakenError(target)
  const stem = partialStem(files, dirname(target))
  const partial = partialName(stem)
  try {
    removeFilesOfKilledRuns(stem)
    mkdirSync(partial, { recursive: true, mode: 0o700 })
    const manifest: Manifest = {
      schema: 'bands.backup-file/1',
      bands: version(),
      made: now.toISOString(),
      files: await copyFiles(files, kinds, partial),
    }
    writeFileSync(join(partial, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { flag: 'wx', mode: 0o600 })
    syncToDisk(join(partial, MANIFEST))
    syncToDisk(partial)
    const refuseIfReplaced = writtenFileCheck(target, statSync(partial))
    renameToTarget(partial, target)
    syncToDisk(dirname(target))
    refuseIfReplaced()
    return manifest
  } catch (cause) {
    if (cause instanceof BandsError) throw cause
    const words = `cannot back up to ${target}: ${failureReason(target, cause)}; nothing was changed`
    throw new StorageError(words, { cause })
  } finally {
    removeFolder(partial)
  }
}

function nameTakenError(target: string): InvalidParameter {
  const words = `${target} is there already, and a backup replaces nothing; choose another name.`
  return new InvalidParameter(words, { param: 'folder', value: target })
}

/** The beginning of the paths of temporary folders. It is the same for all backups, so that the next one finds them. */
function partialStem(files: Files, folder: string): string {
  return join(folder, `${databaseStem(files)}.backup`)
}

function renameToTarget(partial: string, target: string): void {
  try {
    renameSync(partial, target)
  } catch (cause) {
    throw existsSync(target) ? nameTakenError(target) : cause
  }
}

function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // It only takes space, and the next backup removes it.
  }
}

/** The kinds of files that exist, at least one. Throws NotFound if there is none. */
function existingKinds(files: Files): FileKind[] {
  const kinds = (Object.keys(DATABASE_KINDS) as FileKind[]).filter(kind => existsSync(files[kind]))
  if (kinds.length > 0) return kinds
  const message = `there is nothing to back up: no database at ${files.data}.`
  throw new NotFound(message, [], { remedy: remedy('import', ['FILE'], { db: creatablePath(files.data) }) })
}

/** Copies the files of some kinds as of one moment. Throws BadData for a damaged one. */
async function copyFiles(files: Files, kinds: readonly FileKind[], folder: string): Promise<BackedUp[]> {
  const opened: { kind: FileKind; db: Connection }[] = []
  try {
    for (const kind of kinds) opened.push({ kind, db: openForReading(files[kind], DATABASE_KINDS[kind]) })
    for (const { db } of opened) {
      db.exec('BEGIN')
      // The first read sets the moment.
      schemaOf(db)
    }
    refuseDuringRestore(files)
    const backedUp: BackedUp[] = []
    for (const { kind, db } of opened) backedUp.push(await copyAndVerify(db, kind, files[kind], folder))
    return backedUp
  } finally {
    for (const { db } of opened) db.close()
  }
}

/** Throws StorageError while a restore is unfinished, because then only some of the files are those of a backup. */
function refuseDuringRestore(files: Files): void {
  const path = Object.values(files).find(path => existsSync(restoreNotePath(path)))
  if (path !== undefined) throw new StorageError(`a restore of ${path} is not finished, and no backup was made`)
}

function backupFileName(kind: FileKind): string {
  return kind === 'data' ? 'bands.db' : `bands.${kind}.db`
}

/** The number of database pages that SQLite copies in one step. */
const PAGES_PER_STEP = 5_000

/** Copies a database into a folder, compares the copy row by row, and verifies it. Throws BadData if it is damaged. */
async function copyAndVerify(db: Connection, kind: FileKind, path: string, folder: string): Promise<BackedUp> {
  const name = backupFileName(kind)
  const copy = join(folder, name)
  // SQLite would make the file readable for others.
  closeSync(openSync(copy, 'wx', 0o600))
  await db.backup(copy, { progress: () => PAGES_PER_STEP })
  const difference = firstDifference(db, copy, connect)
  if (difference !== null) throw new Error(`the copy is not the same: ${difference}`)
  const [damage, ...more] = verifyFile(kind, copy)
  if (damage !== undefined) {
    const damageText = damage.ticker === '' ? damage.what : `${damage.ticker}: ${damage.what}`
    const others = more.length === 0 ? '' : `, and ${more.length} more`
    const message = `it is damaged (${damageText}${others}), and no backup was made`
    throw new BadData({ file: path }, message, { remedy: remedy('verify') })
  }
  // The checks have opened the copy, and SQLite leaves these.
  for (const ending of COMPANION_ENDINGS) rmSync(copy + ending, { force: true })
  syncToDisk(copy)
  return { kind, name, path, schema: schemaOf(db), bytes: statSync(copy).size, sha256: sha256Of(copy) }
}

/** Endings of the files that SQLite adds while a database in WAL mode is open. */
const COMPANION_ENDINGS = ['-wal', '-shm']

/** Whether a folder has the manifest of a backup. A half-made backup has none. */
export function isBackup(folder: string): boolean {
  return existsSync(join(folder, MANIFEST))
}

/**
 * Reads and checks the manifest of a backup. Throws NotFound, BadData for anything that is not a backup, StorageError
 * where it cannot be read.
 */
export function readManifest(folder: string): Manifest {
  try {
    if (!existsSync(folder))
      throw new NotFound(`there is no folder ${folder}.`, [], { missing: { kind: 'file', name: folder } })
    const stats = statSync(folder)
    if (!stats.isDirectory()) throw notAFolderError(folder, stats)
    if (!isBackup(folder)) throw noManifestError(folder)
    const { size } = statBackupFile(folder, MANIFEST)
    const text = size > MAX_MANIFEST_BYTES ? '' : readFileSync(join(folder, MANIFEST), 'utf8')
    const manifest = parseShape(text, MANIFEST_SHAPE)
    if (manifest === null) throw notABackupError(folder)
    return manifest
  } catch (cause) {
    if (cause instanceof BandsError) throw cause
    throw new StorageError(`cannot read ${folder}: ${failureReason(folder, cause)}`, { cause })
  }
}

function notABackupError(path: string): BadData {
  return new BadData({ file: path }, 'this is no backup of bands, or not a whole one')
}

/** The error for a path that is not a folder: a file may be a tar archive, as builds before the first release made. */
function notAFolderError(path: string, stats: Stats): BadData {
  if (!stats.isFile()) return notABackupError(path)
  const words = 'a backup is a folder; a tar archive is unpacked by mkdir DIR && tar -xf FILE -C DIR, then restore DIR'
  return new BadData({ file: path }, words, { remedy: remedy('restore', ['DIR']) })
}

/** The error for a folder without a manifest, which may be a folder of backups: it names the newest one then. */
function noManifestError(folder: string): BadData {
  const backups = readdirSync(folder).filter(name => isBackup(join(folder, name)))
  const newest = backups.sort().at(-1)
  if (newest === undefined) return notABackupError(folder)
  const count = backups.length === 1 ? 'a backup' : `${backups.length} backups`
  const words = `this folder holds ${count}; restore one of them`
  return new BadData({ file: folder }, words, { remedy: remedy('restore', [join(folder, newest)]) })
}

/** The stats of a file in the folder of a backup. Throws BadData if it is missing or no file. */
function statBackupFile(folder: string, name: string): Stats {
  const stats = statSync(join(folder, name), { throwIfNoEntry: false })
  if (stats === undefined) throw new BadData({ file: folder }, `its ${name} is missing; take another backup`)
  if (!stats.isFile()) throw damagedFileError(folder, name)
  return stats
}

function damagedFileError(folder: string, name: string): BadData {
  return new BadData({ file: folder }, `its ${name} is damaged; take another backup`)
}

/** Copies a file out of a backup into a new one. Throws BadData where it is not the file of the manifest. */
export function copyOut(folder: string, { name, bytes, sha256 }: BackedUp, target: string, mode: number): void {
  if (statBackupFile(folder, name).size !== bytes) throw damagedFileError(folder, name)
  const write = (into: number): string => sha256Of(join(folder, name), chunk => writeFileSync(into, chunk))
  if (withFile(target, 'wx', write, mode) !== sha256) throw damagedFileError(folder, name)
}

/** Parses JSON of a shape; null if the text is not JSON, or has another shape. */
export function parseShape<T>(text: string, shape: z.ZodType<T>): T | null {
  try {
    return shape.parse(JSON.parse(text))
  } catch {
    return null
  }
}

/** Makes a backup in a folder of backups, named by database and time. @param keep only the newest N; null: all */
export async function backUpInto(
  files: Files,
  parent: string,
  { keep = null, now = new Date() }: { keep?: number | null; now?: Date } = {},
): Promise<{ folder: string; manifest: Manifest; removed: string[] }> {
  // To the millisecond: two may be made in one second.
  const time = now.toISOString().replace(/[-:]/g, '')
  const folder = join(parent, `${databaseStem(files)}-${time}`)
  const manifest = await backUp(files, folder, now)
  // Only now: the new backup may be the only good one.
  return { folder, manifest, removed: keep === null ? [] : removeOlder(files, parent, keep) }
}

function databaseStem({ data }: Files): string {
  return basename(data).replace(/\.db$/, '')
}

/** Removes all but the newest backups, and returns the removed ones. Backups of other databases and folders stay. */
function removeOlder(files: Files, parent: string, keep: number): string[] {
  const timeEnding = /-\d{8}T\d{6}(?:\.\d{3})?Z$/
  const stem = databaseStem(files)
  const namedLikeBackups = readdirSync(parent).filter(
    name => timeEnding.test(name) && name.replace(timeEnding, '') === stem,
  )
  const backups = namedLikeBackups.filter(name => isBackupOf(files, join(parent, name))).sort()
  const oldBackups = backups.slice(0, Math.max(0, backups.length - keep)).map(name => join(parent, name))
  try {
    for (const folder of oldBackups) {
      // A removal that is killed must not leave half a backup under its name.
      const partial = partialName(partialStem(files, parent))
      renameSync(folder, partial)
      rmSync(partial, { recursive: true })
    }
  } catch (cause) {
    const words = `the backup is made, and an older one cannot be removed: ${failureReason(parent, cause)}`
    throw new StorageError(words, { cause })
  }
  return oldBackups
}

/**
 * Whether a folder is a backup of these files and holds nothing else. The data file decides, because databases may
 * share accounts; without data any other file does.
 */
function isBackupOf(files: Files, folder: string): boolean {
  try {
    const { files: backedUp } = readManifest(folder)
    const fileNames = backedUp.flatMap(({ name }) => ['', ...COMPANION_ENDINGS].map(ending => name + ending))
    const expectedNames = [MANIFEST, ...fileNames]
    if (!readdirSync(folder).every(name => expectedNames.includes(name))) return false
    const data = backedUp.filter(({ kind }) => kind === 'data')
    return (data.length > 0 ? data : backedUp).some(({ kind, path }) => path === files[kind])
  } catch {
    return false
  }
}

/** The kinds of files next to the data, each with the function that verifies it. */
export const COMPANION_FILES: readonly (readonly [VerifiedFile['kind'], (file: string) => VerifiedFile])[] = [
  ['accounts', verifyAccounts],
  ['trials', verifyTrials],
  ['lists', verifyLists],
]

/** Verifies a file, and returns its damages; empty if it is sound. */
export function verifyFile(kind: FileKind, file: string): Damage[] {
  const [, verifyCompanion] = COMPANION_FILES.find(([name]) => name === kind) ?? []
  if (verifyCompanion !== undefined) return verifyCompanion(file).damages
  const db = new Session(file, openForReading(file, DATA), DATA)
  try {
    // Data of an older bands are checked when they are upgraded.
    return db.schema === DATA.migrations.length ? verifySession(db) : structureDamages(db)
  } finally {
    db.close()
  }
}
