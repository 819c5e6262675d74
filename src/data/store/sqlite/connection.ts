import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import type Database from 'better-sqlite3'
import type { Options, Statement } from 'better-sqlite3'
import { builtPath } from '../../../core/built.js'
import { BandsError, NotWritten, StorageError, WriterBusy } from '../../../core/errors.js'
import { contentHash } from '../content.js'
import { linkIfAbsent, partialName, refuseDanglingLink, removeFilesOfKilledRuns, writtenFileCheck } from './files.js'
import {
  type Connection,
  copyNotice,
  type DatabaseKind,
  errorMessage,
  removeDatabase,
  schemaOf,
  upgradeSchema,
  withFile,
} from './migrations.js'

/** Opens an existing database for questions. Nothing in it is written. Throws StorageError. */
export function openForReading(path: string, kind: DatabaseKind): Connection {
  if (!existsSync(path)) throw new StorageError(`there is no database at ${path}`, { remedy: kind.createCommand })
  try {
    const db = refuseForeignDatabase(connect(path, { readonly: true }), path, kind)
    // 2,000 KiB, SQLite's own default. The 16 MB of better-sqlite3 are slower to fill: a question reads each page once.
    db.pragma('cache_size = -2000')
    return db
  } catch (cause) {
    return openAfterFailure(path, kind, cause)
  }
}

/**
 * Opens a database for writing; creates it if it is missing, and upgrades its schema. Throws StorageError, or Busy if
 * an upgrade waits too long for another process.
 * @param notice gets a sentence about the copy made before an upgrade
 * @param runUpgrade takes the steps of the upgrade, skips them, or throws if another process is writing
 */
export function openForWriting(
  path: string,
  kind: DatabaseKind,
  notice: Notice = () => {},
  runUpgrade: UpgradeRunner = (_db, steps) => steps(),
): Connection {
  if (!existsSync(path)) createDatabase(path, kind)
  try {
    removeFilesOfKilledRuns(path)
    // By the end the name may lead to another file than the one that was opened.
    const refuseIfReplaced = writtenFileCheck(path)
    return closeOnFailure(refuseForeignDatabase(connect(path, {}), path, kind), db => {
      db.pragma('foreign_keys = ON')
      // better-sqlite3 syncs a WAL only at checkpoints by default: a power cut would lose committed data.
      db.pragma('synchronous = FULL')
      if (db.pragma('synchronous', { simple: true }) !== 2)
        throw new StorageError(`${path}: cannot be set to sync every commit`)
      const isCurrent = schemaOf(db) === kind.migrations.length
      const copy = isCurrent ? null : runUpgrade(db, () => upgradeSchema(db, path, kind, connect))
      if (copy !== null) notice(copyNotice(path, copy))
      refuseIfReplaced()
    })
  } catch (cause) {
    if (!(cause instanceof StorageError)) refuseUnlessSqlite(path)
    throw translateError(path, cause, kind.mend)
  }
}

/** Returns the path of the copy made before the steps; null if there is none. */
type UpgradeRunner = (db: Connection, steps: () => string | null) => string | null

/** Receives a sentence about what happened to a file. */
export type Notice = (sentence: string) => void

/**
 * Creates an empty database under a temporary name, then gives it its own: a half-made one must never have that name.
 * All data are moved into that one file first, because the -wal would not be renamed with it.
 */
function createDatabase(path: string, kind: DatabaseKind): void {
  const partial = partialName(path)
  try {
    createPartial(path, partial, kind, checkpoint).close()
    refuseIncomplete(partial, kind)
    linkIfAbsent(partial, path)
  } catch (cause) {
    throw creationError(path, cause)
  } finally {
    removeDatabase(partial)
  }
}

/** Creates a database that will be named `path` under its temporary name. @param finish the last work on it */
export function createPartial(
  path: string,
  partial: string,
  kind: DatabaseKind,
  finish: (db: Connection) => void,
): Connection {
  refuseDanglingLink(path, kind)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // Created here and not by SQLite, so that no other user can ever read it; its -wal gets the same mode.
  closeSync(openSync(partial, 'wx', kind.mode))
  return closeOnFailure(connect(partial, {}), db => {
    upgradeSchema(db, partial, kind, connect)
    finish(db)
  })
}

/** The error for a database that cannot be made; the cause itself if it is a BandsError. */
export function creationError(path: string, cause: unknown): BandsError {
  if (cause instanceof BandsError) return cause
  return new StorageError(`cannot make a database at ${path}: ${failureReason(path, cause)}`, { cause })
}

/** Moves committed data from the WAL into the file. Throws if some remain. */
export function checkpoint(db: Connection): void {
  const [result] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number; log: number }[]
  if (result?.busy !== 0 || result.log !== 0) throw new Error('what was committed could not be moved into the file')
}

/** Throws if the bytes of the file alone are not the complete database. */
function refuseIncomplete(partial: string, { migrations }: DatabaseKind): void {
  const image = copyInMemory(partial)
  try {
    const [check] = image.pragma('quick_check(1)') as { quick_check: string }[]
    if (check?.quick_check !== 'ok') throw new Error(`it was not written whole: ${check?.quick_check}`)
    if (schemaOf(image) !== migrations.length) throw new Error('it was not written whole')
  } finally {
    image.close()
  }
}

/** Why nothing could be made at a path, in words. */
export function failureReason(path: string, cause: unknown): string {
  if (isDiskFull(path, cause)) return 'the disk is full'
  return isErofs(cause) ? `it ${READ_ONLY}` : errorMessage(cause)
}

/** Whether an error came from a full disk. SQLite reports some of them only as a failed call. */
function isDiskFull(path: string, cause: unknown): boolean {
  const code = (cause as { code?: string }).code ?? ''
  if (code === 'ENOSPC' || code.startsWith('SQLITE_FULL')) return true
  if (!/^SQLITE_(IOERR|CANTOPEN)/.test(code)) return false
  return isDiskNearlyFull(path)
}

/** Whether the disk is nearly full. Only root may use the blocks reserved for root. */
export function isDiskNearlyFull(path: string): boolean {
  const { bavail, bfree, bsize, blocks } = statfsSync(dirname(path))
  const free = process.getuid?.() === 0 ? bfree : bavail
  // Some file systems report no sizes.
  return blocks > 0 && free * bsize < LOW_DISK_BYTES
}

/** The most bytes that creating an empty database needs; far more than a commit of charges. */
const LOW_DISK_BYTES = 2 ** 19

/** Returns the database unless another program or a newer version made it; then closes it and throws StorageError. */
function refuseForeignDatabase(db: Connection, path: string, { table, migrations }: DatabaseKind): Connection {
  return closeOnFailure(db, () => {
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all()
    if (tables.length > 0 && !tables.includes(table))
      throw new StorageError(`${path} is a database of another program; choose another file`)
    const schemas = `schema ${schemaOf(db)}, this one knows ${migrations.length}`
    if (schemaOf(db) > migrations.length)
      throw new StorageError(`${path} was made by a newer bands (${schemas}); update bands`)
  })
}

/**
 * Opens for reading a database that could not be opened at first. A sound file can be unreadable for two reasons. Its
 * folder is read-only, so WAL's shared memory cannot be created: then a copy in memory is read. Or its writer was
 * killed before WAL was on: then opening it once for writing repairs it. Throws StorageError for any other cause.
 */
function openAfterFailure(path: string, kind: DatabaseKind, cause: unknown): Connection {
  const code = (cause as { code?: string }).code ?? ''
  if (cause instanceof StorageError) throw cause
  refuseUnlessSqlite(path)
  if (code === 'SQLITE_CANTOPEN' || code === 'SQLITE_READONLY_DIRECTORY')
    return refuseForeignDatabase(copyInMemory(path), path, kind)
  if (code === 'SQLITE_READONLY_ROLLBACK' || code === 'SQLITE_READONLY_RECOVERY') {
    connect(path, {}).close()
    return refuseForeignDatabase(connect(path, { readonly: true }), path, kind)
  }
  if (code.startsWith('SQLITE_')) throw translateError(path, cause, kind.mend)
  throw new StorageError(`cannot open ${path}: ${errorMessage(cause)}`, { cause })
}

/** Opens a copy of a database in memory. Throws StorageError if it cannot be read, or has commits in its -wal file. */
function copyInMemory(path: string): Connection {
  if (existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0) {
    throw new StorageError(
      `${path} has commits in its -wal file that cannot be read here; open it once where its folder is writable`,
    )
  }
  try {
    const image = readFileSync(path)
    // Bytes 18 and 19 of the header request WAL, which memory cannot have (sqlite.org/fileformat2.html, 1.3.3).
    image[18] = 1
    image[19] = 1
    return connect(image, { readonly: true })
  } catch (cause) {
    throw new StorageError(`cannot read ${path}: ${errorMessage(cause)}`, { cause })
  }
}

/** A value of a statement; or one object with all its values, by their names in it. */
type Value = string | number | Uint8Array | null | Readonly<Record<string, string>>

/**
 * A connection with prepared statements; its errors name the file and the repair. After each commit it checks that the
 * file still has its name, so that no success is reported for a file deleted meanwhile.
 */
export class Session {
  readonly location: string
  /** Whether any statement of this session has failed. */
  hasFailed = false
  readonly #repair: string
  readonly #prepared = new Map<string, Statement<Value[]>>()
  #db: Connection
  #checkFile: () => void
  #transaction: ((work: () => unknown) => unknown) | null = null

  /**
   * @param kind gives the words on how to repair a damaged file
   * @param file the name that the file has now, if it is a temporary one
   */
  constructor(location: string, db: Connection, { mend }: Pick<DatabaseKind, 'mend'>, file = location) {
    this.location = location
    this.#db = db
    this.#repair = mend
    this.#checkFile = db.readonly || db.memory ? () => {} : writtenFileCheck(file)
  }

  /** Continues with another connection; the file now has its final name. */
  continueWith(db: Connection): void {
    this.#prepared.clear()
    this.#transaction = null
    this.#db = db
    this.#checkFile = writtenFileCheck(this.location)
  }

  get<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.#runTranslated(() => this.#statement(sql).get(...values)) as Row | undefined
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.#runTranslated(() => this.#statement(sql).all(...values)) as Row[]
  }

  /** Runs a statement and returns the number of rows it changed. */
  run(sql: string, ...values: Value[]): number {
    const { changes } = this.#runTranslated(() => this.#statement(sql).run(...values))
    if (!this.#db.inTransaction) this.#checkFile()
    return changes
  }

  /** The number of schema steps that the file has taken. */
  get schema(): number {
    return this.#runTranslated(() => schemaOf(this.#db))
  }

  pragma(text: string): unknown {
    return this.#runTranslated(() => this.#db.pragma(text))
  }

  /** Runs several reads that all see one state, regardless of other commits. */
  readAtOneMoment<T>(work: () => T): T {
    return this.#runTranslated(() => {
      if (this.#db.inTransaction) return work()
      // Plain statements: better-sqlite3's transaction wrapper costs more than the reads.
      this.#statement('BEGIN').run()
      try {
        return work()
      } finally {
        // Some disk failures end the transaction; then the original error is reported.
        if (this.#db.inTransaction) this.#statement('COMMIT').run()
      }
    })
  }

  /** Runs asynchronous work in one read transaction; no other query may use this connection meanwhile. */
  readAtOneMomentAsync<T>(work: () => Promise<T>): Promise<T> {
    this.run('BEGIN')
    return this.finishTransaction(work)
  }

  /** Runs work in a transaction that has begun; commits it, or rolls back if the work fails. */
  async finishTransaction<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work()
      this.run('COMMIT')
      return result
    } finally {
      // Some disk failures end the transaction; then the original error is reported.
      if (this.#db.inTransaction) this.run('ROLLBACK')
    }
  }

  /**
   * Runs work in a write transaction: all or nothing. It takes the write lock at once, because a read transaction that
   * turns into a write fails instead of waiting.
   */
  transaction<T>(work: () => T): T {
    // Made once, because better-sqlite3 makes four functions for each.
    this.#transaction ??= this.#db.transaction((run: () => unknown) => run()).immediate
    const result = this.#runTranslated(() => this.#transaction!(work)) as T
    if (!this.#db.inTransaction) this.#checkFile()
    return result
  }

  close(): void {
    this.#db.close()
  }

  #statement(sql: string): Statement<Value[]> {
    let statement = this.#prepared.get(sql)
    if (statement === undefined) {
      statement = this.#db.prepare<Value[]>(sql)
      this.#prepared.set(sql, statement)
    }
    return statement
  }

  /** Runs work; its SQLite errors are translated. */
  #runTranslated<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      this.hasFailed = true
      throw translateError(this.location, cause, this.#repair)
    }
  }
}

/** Waiting for another process's short commit, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000

/** Connects to a file or to the image of one. Throws SQLite's own errors; StorageError if SQLite does not load. */
export function connect(path: string | Buffer, options: Options): Connection {
  // Reads the file, so that its errors are reported here and not in the middle of a question.
  return closeOnFailure(openConnection(path, options), schemaOf)
}

/** Opens a database exclusively. Throws SQLite's own SQLITE_BUSY if another process has it open. */
export function openExclusive(path: string): Connection {
  return closeOnFailure(openConnection(path, { timeout: LOCK_TIMEOUT_MS }), db => {
    // Before the first read: in WAL mode, every reader keeps a lock on the file.
    db.pragma('locking_mode = EXCLUSIVE')
    db.exec('BEGIN EXCLUSIVE')
  })
}

/** How long to wait for a lock, in milliseconds: a mere check holds it only briefly. */
export const LOCK_TIMEOUT_MS = 200

/** Returns the database after the work on it; closes it if the work fails. */
function closeOnFailure(db: Connection, work: (db: Connection) => void): Connection {
  try {
    work(db)
    return db
  } catch (cause) {
    db.close()
    throw cause
  }
}

/**
 * Throws StorageError for a file that is no database; an empty file may become one. Only for a file that could not be
 * opened: closing an open one would release its locks in this process (sqlite.org/howtocorrupt.html, 2.2).
 */
function refuseUnlessSqlite(path: string): void {
  const head = Buffer.alloc(16)
  let size: number
  try {
    size = withFile(path, 'r', file => readSync(file, head, 0, 16, 0))
  } catch (cause) {
    const isFolder = (cause as NodeJS.ErrnoException).code === 'EISDIR'
    const what = isFolder
      ? `${path} is a folder, and a database is a file`
      : `cannot read ${path}: ${errorMessage(cause)}`
    throw new StorageError(what, { cause })
  }
  if (size > 0 && head.toString('latin1') !== 'SQLite format 3\0')
    throw new StorageError(`${path} is not a SQLite database`)
}

/** Opens a connection that has the SQL function `row_hash`. Throws StorageError if SQLite does not load. */
function openConnection(path: string | Buffer, options: Options): Connection {
  try {
    const db = new (sqliteDriver())(path, { timeout: BUSY_TIMEOUT_MS, ...options })
    return db.function('row_hash', { varargs: true, deterministic: true }, rowHash)
  } catch (cause) {
    const code = (cause as { code?: string }).code
    if (code === 'ERR_DLOPEN_FAILED' || code === 'MODULE_NOT_FOUND') throw driverError(cause)
    throw cause
  }
}

const requireModule = createRequire(import.meta.url)
let database: typeof Database | undefined

/** better-sqlite3: the build's copy, which has its compiled modules next to it, or else the package. @internal */
export function sqliteDriver(): typeof Database {
  database ??= requireModule(builtPath('better-sqlite3/lib/index.js') ?? 'better-sqlite3') as typeof Database
  return database
}

function driverError(cause: unknown): StorageError {
  const { platform, arch, versions } = process
  const why = `${errorMessage(cause).split('\n')[0]} (Node ${versions.node}, ${platform} ${arch})`
  return new StorageError(`SQLite does not load: ${why}; install bands again`, { cause })
}

/** The SQL function `row_hash(table, column, value, …)`: SHA-256 in hexadecimal digits. */
function rowHash(table: unknown, ...pairs: unknown[]): string {
  const content: Record<string, string | number | null> = { table: table as string }
  for (let i = 0; i < pairs.length; i += 2) content[pairs[i] as string] = pairs[i + 1] as string | number | null
  return contentHash(content)
}

/**
 * Turns an SQLite error into one that names the file and the repair; other errors stay unchanged.
 *
 * @param mend what to do when the file is damaged
 */
export function translateError(location: string, cause: unknown, mend: string): unknown {
  const code = (cause as { code?: unknown }).code
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return cause
  const message = (cause as Error).message
  if (code.startsWith('SQLITE_BUSY'))
    return new WriterBusy(`${location} is busy: another process is writing; try again`, { cause })
  if (code.startsWith('SQLITE_FULL')) return new NotWritten(`${location}: the disk is full; ${NOT_IN_FILE}`, { cause })
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB')
    return new StorageError(`${location} is damaged (${message}); ${mend}`, { cause })
  if (code.startsWith('SQLITE_IOERR')) return ioError(location, code, cause)
  if (/^SQLITE_(READONLY|CANTOPEN)/.test(code) && isOnReadOnlySystem(location))
    return new StorageError(`${location} ${READ_ONLY}: it can be asked, and not be written`, { cause })
  if (code.startsWith('SQLITE_READONLY'))
    return new StorageError(`${location} cannot be written: ${message}`, { cause })
  return new StorageError(`${location}: ${message} (${code})`, { cause })
}

/** SQLite's words on the damage that caused an error; null if the error has another cause. */
export function corruptionMessage(error: unknown): string | null {
  const { code, message } = ((error as Error).cause ?? {}) as { code?: unknown; message?: string }
  const isCorrupt = typeof code === 'string' && (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB')
  return isCorrupt ? (message ?? code) : null
}

/** Speaks only of this transaction: earlier ones of the same command may be committed. */
const NOT_IN_FILE = 'what was being written is not in it'

/** The error for a failed read or write of the disk. */
function ioError(location: string, code: string, cause: unknown): StorageError {
  const isWrite = /WRITE|FSYNC|TRUNCATE|DELETE|SHM/.test(code)
  const what = isWrite ? 'written' : 'read'
  const consequence = isWrite ? NOT_IN_FILE : 'this does not mean that it is damaged'
  const message = `${location} could not be ${what} (${code}): the disk, or the way to it, failed; ${consequence}; look into the log of the system, and try again`
  return isWrite ? new NotWritten(message, { cause }) : new StorageError(message, { cause })
}

const READ_ONLY = 'is on a read-only file system'

/** Whether no user can write next to the file. */
export function isOnReadOnlySystem(path: string): boolean {
  try {
    accessSync(dirname(path), constants.W_OK)
    return false
  } catch (cause) {
    return isErofs(cause)
  }
}

const isErofs = (cause: unknown): boolean => (cause as { code?: string }).code === 'EROFS'

/** The low byte of SQLite's error codes for failed reads and writes; upper bits hold the details. */
const SQLITE_IOERR = 10

/** The line of an integrity check for a page that could not be read, with the error code. */
const UNREAD_PAGE = /unable to get the page\. error code=(\d+)/

/** Throws StorageError if a check could not read the file: its findings are then no damage. */
export function refuseUnreadPages(location: string, lines: readonly string[]): void {
  const unread = lines.find(line => Number(UNREAD_PAGE.exec(line)?.[1] ?? 0) % 256 === SQLITE_IOERR)
  if (unread === undefined) return
  throw translateError(location, Object.assign(new Error(unread), { code: 'SQLITE_IOERR_READ' }), '')
}
