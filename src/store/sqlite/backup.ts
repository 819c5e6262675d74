import { createHash } from 'node:crypto'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import { version } from '../../built.js'
import {
  BadData,
  BandsError,
  InvalidParameter,
  NotFound,
  parameter,
  remedy,
  StorageError,
  sentence,
} from '../../errors.js'
import { chunksOf, type Member, membersOf, notWhole, writeEnd, writeMember } from '../tar.js'
import { ACCOUNTS } from './accounts.js'
import { connect, openForReading, whyNot } from './connection.js'
import { partialName, putInPlace, removeLeftovers, restoreNote, writtenInPlace } from './files.js'
import { LISTS, TRIALS } from './lists.js'
import { type Connection, type DatabaseKind, differenceOf, schemaOf, synced, withFile } from './migrations.js'
import { DATA } from './schema.js'
import { damagesOf } from './verify.js'

/**
 * A backup is one file: a tar archive of the data, the accounts, the ledger of trials and the lists, each as it stood at one moment,
 * whatever is written meanwhile, and of a list of them with their hashes.
 *  1. begin to read all of them: what is committed from now on is not in it
 *  2. copy each, compare the copy row by row, and look whether it is what was written
 *  3. put the copies into an archive and read that again
 *  4. give it its name
 * What fails on the way leaves nothing behind; a run that was killed, what the next takes away.
 */

/** Where a user's databases are, or are to be. */
export type Files = Readonly<Record<FileKind, string>>
export type FileKind = z.infer<typeof KIND>

export const KINDS: Readonly<Record<FileKind, DatabaseKind>> = {
  data: DATA,
  accounts: ACCOUNTS,
  trials: TRIALS,
  lists: LISTS,
}

export const KIND = z.enum(['data', 'accounts', 'trials', 'lists'])

export const SHA256 = z.string().regex(/^[0-9a-f]{64}$/)

const BACKED_UP = z
  .strictObject({
    kind: KIND,
    /** In the archive. */
    name: z.string(),
    /** Where it was. */
    path: z.string().min(1),
    schema: z.int().min(1),
    bytes: z.int().min(1),
    sha256: SHA256,
  })
  .refine(({ kind, name }) => name === nameOf(kind))

/** What an archive says of itself. */
const MANIFEST_SHAPE = z.strictObject({
  schema: z.literal('bands.backup-file/1'),
  /** The version that made it. */
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
/** A larger one is none. */
const MOST_MANIFEST = 2 ** 20

/**
 * Backs up what there is of some files. Throws NotFound where there is nothing, InvalidParameter where there is a file of
 * that name already and it may not be replaced, BadData for a damaged database, StorageError.
 */
export async function backUp(
  files: Files,
  target: string,
  { replace = false, now = new Date() } = {},
): Promise<Manifest> {
  const kinds = kindsIn(files)
  if (existsSync(target) && !replace) throw thereAlready(target)
  // Whatever the backup is called, so that the next finds what a killed one has left.
  const place = join(dirname(target), `${stemOf(files)}.backup`)
  const room = partialName(place)
  try {
    removeLeftovers(place)
    mkdirSync(room, { recursive: true, mode: 0o700 })
    const archive = join(room, 'archive')
    const manifest = { schema: 'bands.backup-file/1' as const, bands: version(), made: now.toISOString() }
    const copies = await snapshots(files, kinds, room)
    const whole = archived(copies, archive, manifest)
    checkArchive(archive)
    const check = writtenInPlace(target, statSync(archive))
    if (replace) renameSync(archive, target)
    else if (!putInPlace(archive, target)) throw thereAlready(target)
    synced(dirname(target))
    check()
    return whole
  } catch (cause) {
    if (cause instanceof BandsError) throw cause
    throw new StorageError(`cannot back up to ${target}: ${whyNot(target, cause)}; nothing was changed`, { cause })
  } finally {
    cleared(room)
  }
}

function thereAlready(target: string): InvalidParameter {
  const words = sentence`there is a file ${target} already; choose another name, or ${parameter('replace')} it.`
  return new InvalidParameter(words, { param: 'file', value: target })
}

function cleared(room: string): void {
  try {
    rmSync(room, { recursive: true, force: true })
  } catch {
    // It only takes room, and the next backup takes it away.
  }
}

function kindsIn(files: Files): FileKind[] {
  const kinds = (Object.keys(KINDS) as FileKind[]).filter(kind => existsSync(files[kind]))
  if (kinds.length > 0) return kinds
  const message = `there is nothing to back up: no database at ${files.data}.`
  throw new NotFound(message, [], { remedy: remedy('import', ['FILE'], { db: files.data }) })
}

/** A database as it stood, in a file of its own. */
interface Copy extends Pick<BackedUp, 'kind' | 'path' | 'schema'> {
  file: string
}

async function snapshots(files: Files, kinds: readonly FileKind[], room: string): Promise<Copy[]> {
  const open: { kind: FileKind; db: Connection }[] = []
  try {
    for (const kind of kinds) open.push({ kind, db: openForReading(files[kind], KINDS[kind]) })
    for (const { db } of open) {
      db.exec('BEGIN')
      // What is read first says which moment it is.
      schemaOf(db)
    }
    checkNoRestore(files)
    const copies: Copy[] = []
    for (const { kind, db } of open) copies.push(await copyOf(db, kind, files[kind], join(room, nameOf(kind))))
    return copies
  } finally {
    for (const { db } of open) db.close()
  }
}

/** Throws StorageError while some of the files are of a backup, and others not yet. */
function checkNoRestore(files: Files): void {
  const path = Object.values(files).find(path => existsSync(restoreNote(path)))
  if (path !== undefined) throw new StorageError(`a restore of ${path} is not finished, and no backup was made`)
}

/** In the archive. */
function nameOf(kind: FileKind): string {
  return kind === 'data' ? 'bands.db' : `bands.${kind}.db`
}

/** Pages that are copied at once. */
const STEP = 5_000

async function copyOf(db: Connection, kind: FileKind, path: string, file: string): Promise<Copy> {
  // Made here and not by SQLite, so that nobody else can read it at any time.
  closeSync(openSync(file, 'wx', 0o600))
  await db.backup(file, { progress: () => STEP })
  const difference = differenceOf(db, file, connect)
  if (difference !== null) throw new Error(`the copy is not the same: ${difference}`)
  const [damage, ...more] = damagesOf(kind, file)
  if (damage !== undefined) {
    const others = more.length === 0 ? '' : `, and ${more.length} more`
    const words = `it is damaged (${damage.ticker === '' ? '' : `${damage.ticker}: `}${damage.what}${others}), and no backup was made`
    throw new BadData({ file: path }, words, { remedy: remedy('verify') })
  }
  return { kind, file, path, schema: schemaOf(db) }
}

function archived(copies: readonly Copy[], archive: string, about: Omit<Manifest, 'files'>): Manifest {
  const made = new Date(about.made)
  const write = (into: number): Manifest => {
    const files = copies.map(({ kind, file, path, schema }): BackedUp => {
      const { size: bytes } = statSync(file)
      const hash = createHash('sha256')
      withFile(file, 'r', from => writeMember(into, nameOf(kind), made, bytes, hashed(chunksOf(from, 0, bytes), hash)))
      return { kind, name: nameOf(kind), path, schema, bytes, sha256: hash.digest('hex') }
    })
    const manifest: Manifest = { ...about, files }
    // Last, so that an archive which ends too early has none.
    const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
    writeMember(into, MANIFEST, made, text.length, [text])
    writeEnd(into)
    return manifest
  }
  return withFile(archive, 'wx', write, 0o600)
}

function* hashed(chunks: Iterable<Buffer>, hash: ReturnType<typeof createHash>): Generator<Buffer> {
  for (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
}

/** What is on the disk is there after a power cut, and what was written. */
function checkArchive(archive: string): void {
  synced(archive)
  withArchive(archive, ({ manifest, read }) => {
    for (const file of manifest.files) for (const _ of read(file));
  })
}

/** An archive that is open. */
export interface OpenArchive {
  manifest: Manifest
  /** The bytes of one of its files. Throws BadData at their end where they are not those that were put in. */
  read(file: BackedUp): Generator<Buffer>
}

/** Lends an archive to some work. Throws NotFound, BadData, StorageError where it cannot be read. */
export function withArchive<T>(path: string, work: (archive: OpenArchive) => T): T {
  if (!existsSync(path)) throw new NotFound(`there is no file ${path}.`, [], { missing: { kind: 'file', name: path } })
  const archive = openSync(path, 'r')
  try {
    const members = membersOf(archive, path)
    const manifest = manifestIn(archive, members, path)
    return work({ manifest, read: file => checkedChunks(archive, memberOf(members, file, path), file, path) })
  } catch (cause) {
    if (cause instanceof BandsError) throw cause
    throw new StorageError(`cannot read ${path}: ${whyNot(path, cause)}`, { cause })
  } finally {
    closeSync(archive)
  }
}

function manifestIn(archive: number, members: readonly Member[], path: string): Manifest {
  const member = members.find(({ name }) => name === MANIFEST)
  if (member === undefined || member.bytes > MOST_MANIFEST) throw notWhole(path)
  const manifest = parsed(Buffer.concat([...chunksOf(archive, member.from, member.bytes)]), MANIFEST_SHAPE)
  if (manifest === null) throw notWhole(path)
  return manifest
}

/** JSON of some shape; null for anything else. */
export function parsed<T>(text: Buffer, shape: z.ZodType<T>): T | null {
  try {
    return shape.parse(JSON.parse(text.toString()))
  } catch {
    return null
  }
}

function memberOf(members: readonly Member[], { name, bytes }: BackedUp, path: string): Member {
  const member = members.find(found => found.name === name)
  if (member?.bytes !== bytes) throw changedBytes(path, name)
  return member
}

function* checkedChunks(archive: number, { from, bytes }: Member, file: BackedUp, path: string): Generator<Buffer> {
  const hash = createHash('sha256')
  yield* hashed(chunksOf(archive, from, bytes), hash)
  if (hash.digest('hex') !== file.sha256) throw changedBytes(path, file.name)
}

function changedBytes(path: string, name: string): BadData {
  return new BadData({ file: path }, `its ${name} is not what was put into it; take another backup`)
}

/** A backup among others in a folder, made now; where a number is given, only so many of the same database stay. */
export async function backUpInto(
  files: Files,
  folder: string,
  { keep = null, now = new Date() }: { keep?: number | null; now?: Date } = {},
): Promise<{ file: string; manifest: Manifest; removed: string[] }> {
  // To the millisecond: two may be made in one second.
  const time = now.toISOString().replace(/[-:]/g, '')
  const file = join(folder, `${stemOf(files)}-${time}.tar`)
  const manifest = await backUp(files, file, { now })
  // Only now: the one that was made may be the only good one.
  return { file, manifest, removed: keep === null ? [] : removeOlder(files, folder, keep) }
}

function stemOf({ data }: Files): string {
  return basename(data).replace(/\.db$/, '')
}

/**
 * Removes the oldest backups of a database in a folder, but for so many. What only looks like one by its name, or is one
 * of another database, stays. Returns those that went.
 */
function removeOlder(files: Files, folder: string, keep: number): string[] {
  const shape = /-\d{8}T\d{6}(?:\.\d{3})?Z\.tar$/
  const stem = stemOf(files)
  const named = readdirSync(folder).filter(name => shape.test(name) && name.replace(shape, '') === stem)
  const own = named.filter(name => isOf(files, join(folder, name))).sort()
  const old = own.slice(0, Math.max(0, own.length - keep))
  const paths = old.map(name => join(folder, name))
  try {
    for (const path of paths) rmSync(path)
  } catch (cause) {
    throw new StorageError(`the backup is made, and an older one cannot be removed: ${whyNot(folder, cause)}`, {
      cause,
    })
  }
  return paths
}

/** Two databases may share the accounts: those tell only where a backup has no data. */
function isOf(files: Files, path: string): boolean {
  try {
    return withArchive(path, ({ manifest: { files: all } }) => {
      const data = all.filter(({ kind }) => kind === 'data')
      return (data.length > 0 ? data : all).some(({ kind, path: from }) => from === files[kind])
    })
  } catch {
    return false
  }
}
