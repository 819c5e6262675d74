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
import { linkIfAbsent, partialName, removeLeftovers, writtenFileCheck } from './files.js'
import {
  type Connection,
  copyNotice,
  type DatabaseKind,
  migrate,
  reason,
  removeDatabase,
  schemaOf,
  withFile,
} from './migrations.js'

/** Opens an existing database for questions. Nothing in it is written. Throws StorageError. */
export function openForReading(path: string, kind: DatabaseKind): Connection {
  if (!existsSync(path)) throw new StorageError(`there is no database at ${path}`, { remedy: kind.createCommand })
  try {
    return checked(connect(path, { readonly: true }), path, kind)
  } catch (cause) {
    return recovered(path, kind, cause)
  }
}

/**
 * Opens a database for writing; creates it if it is missing, and upgrades its schema. Throws StorageError, or Busy if
 * an upgrade waits too long for another process.
 * @param notice gets a sentence about the copy made before an upgrade
 * @param guarded runs the upgrade, skips it, or throws if another process is writing
 */
export function openForWriting(
  path: string,
  kind: DatabaseKind,
  notice: Notice = () => {},
  guarded: Guard = (_db, steps) => steps(),
): Connection {
  if (!existsSync(path)) create(path, kind)
  try {
    removeLeftovers(path)
    const check = writtenFileCheck(path)
    return closedOnFailure(checked(connect(path, {}), path, kind), db => {
      db.pragma('foreign_keys = ON')
      // better-sqlite3 syncs a WAL only at checkpoints by default: a power cut would lose committed data.
      db.pragma('synchronous = FULL')
      if (db.pragma('synchronous', { simple: true }) !== 2)
        throw new StorageError(`${path}: cannot be set to sync every commit`)
      const isCurrent = schemaOf(db) === kind.migrations.length
      const copy = isCurrent ? null : guarded(db, () => migrate(db, path, kind, connect))
      if (copy !== null) notice(copyNotice(path, copy))
      check()
    })
  } catch (cause) {
    if (!(cause instanceof StorageError)) checkIsSqlite(path)
    throw translated(path, cause, kind.mend)
  }
}

/** Runs the steps and returns the path of the copy made before them. */
type Guard = (db: Connection, steps: () => string | null) => string | null

/** Receives a sentence about what happened to a file. */
export type Notice = (sentence: string) => void

/**
 * A half-made database must never appear under its name: it is created under another and then renamed. By then all its
 * data are in that one file: data left in the -wal would not be renamed with it.
 */
function create(path: string, kind: DatabaseKind): void {
  const partial = partialName(path)
  try {
    createPartial(path, partial, kind, checkpoint).close()
    checkComplete(partial, kind)
    linkIfAbsent(partial, path)
  } catch (cause) {
    throw notMade(path, cause)
  } finally {
    removeDatabase(partial)
  }
}

/** Creates a database under its temporary name. @param finish last work before it is returned */
export function createPartial(
  path: string,
  partial: string,
  kind: DatabaseKind,
  finish: (db: Connection) => void,
): Connection {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // Created here and not by SQLite, so that no other user can ever read it; its -wal gets the same mode.
  closeSync(openSync(partial, 'wx', kind.mode))
  return closedOnFailure(connect(partial, {}), db => {
    migrate(db, partial, kind, connect)
    finish(db)
  })
}

/** The error of a database that cannot be made, unless the cause says so itself. */
export function notMade(path: string, cause: unknown): BandsError {
  if (cause instanceof BandsError) return cause
  return new StorageError(`cannot make a database at ${path}: ${failureReason(path, cause)}`, { cause })
}

/** Moves committed data from the WAL into the file. Throws if some remain. */
export function checkpoint(db: Connection): void {
  const [found] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number; log: number }[]
  if (found?.busy !== 0 || found.log !== 0) throw new Error('what was committed could not be moved into the file')
}

/** Throws if the bytes of the file alone are not the complete database. */
function checkComplete(partial: string, { migrations }: DatabaseKind): void {
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
  return isFull(path, cause) ? 'the disk is full' : isErofs(cause) ? `it ${READ_ONLY}` : reason(cause)
}

/** SQLite calls a disk without room full at some of its calls, and at others it says no more than that one failed. */
function isFull(path: string, cause: unknown): boolean {
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

/** The most that creating an empty database needs, and far more than a commit of charges. */
const LOW_DISK_BYTES = 2 ** 19

/** Refuses databases of other programs and of a later version, so that nothing is read from them or put into them. */
function checked(db: Connection, path: string, { table, migrations }: DatabaseKind): Connection {
  return closedOnFailure(db, () => {
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all()
    if (tables.length > 0 && !tables.includes(table))
      throw new StorageError(`${path} is a database of another program; choose another file`)
    const version = schemaOf(db)
    if (version > migrations.length) {
      throw new StorageError(
        `${path} was made by a newer bands (schema ${version}, this one knows ${migrations.length}); update bands`,
      )
    }
  })
}

/**
 * A sound file can be unreadable for two reasons. Its folder is read-only, so WAL's shared memory cannot be created:
 * then a copy in memory is read. Or its writer was killed before WAL was on: then opening it once for writing repairs
 * it.
 */
function recovered(path: string, kind: DatabaseKind, cause: unknown): Connection {
  const code = (cause as { code?: string }).code ?? ''
  if (cause instanceof StorageError) throw cause
  checkIsSqlite(path)
  if (code === 'SQLITE_CANTOPEN' || code === 'SQLITE_READONLY_DIRECTORY') return checked(copyInMemory(path), path, kind)
  if (code === 'SQLITE_READONLY_ROLLBACK' || code === 'SQLITE_READONLY_RECOVERY') {
    connect(path, {}).close()
    return checked(connect(path, { readonly: true }), path, kind)
  }
  if (code.startsWith('SQLITE_')) throw translated(path, cause, kind.mend)
  throw new StorageError(`cannot open ${path}: ${reason(cause)}`, { cause })
}

function copyInMemory(path: string): Connection {
  if (existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0) {
    throw new StorageError(
      `${path} has commits in its -wal file that cannot be read here; open it once where its folder is writable`,
    )
  }
  try {
    const image = readFileSync(path)
    // Bytes 18 and 19 of the header ask for WAL, which memory cannot have (sqlite.org/fileformat2.html, 1.3.3).
    image[18] = 1
    image[19] = 1
    return connect(image, { readonly: true })
  } catch (cause) {
    throw new StorageError(`cannot read ${path}: ${reason(cause)}`, { cause })
  }
}

/** Or all values of a statement, by their names in it. */
type Value = string | number | Buffer | null | Readonly<Record<string, string>>

/**
 * A connection with prepared statements; its errors name the file and the repair. After each commit it checks that the
 * file still has its name, so that no success is reported for a file deleted meanwhile.
 */
export class Session {
  readonly location: string
  readonly #mend: string
  readonly #prepared = new Map<string, Statement<Value[]>>()
  #db: Connection
  #checkFile: () => void
  #hasFailed = false

  /**
   * @param kind says what to do when the file turns out to be damaged
   * @param file the name that the file has now
   */
  constructor(location: string, db: Connection, { mend }: Pick<DatabaseKind, 'mend'>, file = location) {
    this.location = location
    this.#db = db
    this.#mend = mend
    this.#checkFile = db.readonly || db.memory ? () => {} : writtenFileCheck(file)
  }

  /** Whether a statement has failed. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** Continues with another connection, to a file of its own name. */
  continueWith(db: Connection): void {
    this.#prepared.clear()
    this.#db = db
    this.#checkFile = writtenFileCheck(this.location)
  }

  get<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.#guard(() => this.#statement(sql).get(...values)) as Row | undefined
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.#guard(() => this.#statement(sql).all(...values)) as Row[]
  }

  /** How many rows it changed. */
  run(sql: string, ...values: Value[]): number {
    const { changes } = this.#guard(() => this.#statement(sql).run(...values))
    if (!this.#db.inTransaction) this.#checkFile()
    return changes
  }

  /** How many steps of its schema it has taken. */
  get schema(): number {
    return this.#guard(() => schemaOf(this.#db))
  }

  pragma(text: string): unknown {
    return this.#guard(() => this.#db.pragma(text))
  }

  /** Several reads of one state, regardless of other commits. */
  reading<T>(work: () => T): T {
    return this.#guard(() => {
      if (this.#db.inTransaction) return work()
      // By hand: better-sqlite3's transaction wrapper costs more than the reads.
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
  readingOn<T>(work: () => Promise<T>): Promise<T> {
    this.run('BEGIN')
    return this.toEnd(work)
  }

  /** Ends a transaction that was begun as the work in it ends. */
  async toEnd<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work()
      this.run('COMMIT')
      return result
    } finally {
      // Some disk failures end the transaction; then the original error is reported.
      if (this.#db.inTransaction) this.run('ROLLBACK')
    }
  }

  /** All or nothing. Takes the write lock at once: a read transaction that turns into a write fails instead of waiting. */
  transaction<T>(work: () => T): T {
    const result = this.#guard(() => this.#db.transaction(work).immediate())
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

  #guard<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      this.#hasFailed = true
      throw translated(this.location, cause, this.#mend)
    }
  }
}

/** Waiting for another process's short commit, in milliseconds. */
const BUSY_TIMEOUT = 5_000

/** A connection to a file, or to the image of one. Throws what SQLite throws; StorageError when it does not load. */
export function connect(path: string | Buffer, options: Options): Connection {
  // Reads the file, so that its errors are reported here and not in the middle of a question.
  return closedOnFailure(opened(path, options), schemaOf)
}

/** Opens a database exclusively. Throws SQLite's own SQLITE_BUSY if another process has it open. */
export function openExclusive(path: string): Connection {
  return closedOnFailure(opened(path, { timeout: LOCK_TIMEOUT_MS }), db => {
    // Before the first read: in WAL mode, every reader keeps a lock on the file.
    db.pragma('locking_mode = EXCLUSIVE')
    db.exec('BEGIN EXCLUSIVE')
  })
}

/** How long to wait for a lock, in milliseconds: a mere check holds it only briefly. */
export const LOCK_TIMEOUT_MS = 200

/** Closes the database if the work on it fails. */
export function closedOnFailure(db: Connection, work: (db: Connection) => void): Connection {
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
function checkIsSqlite(path: string): void {
  const head = Buffer.alloc(16)
  let size: number
  try {
    size = withFile(path, 'r', file => readSync(file, head, 0, 16, 0))
  } catch (cause) {
    throw new StorageError(`cannot read ${path}: ${reason(cause)}`, { cause })
  }
  if (size > 0 && head.toString('latin1') !== 'SQLite format 3\0')
    throw new StorageError(`${path} is not a SQLite database`)
}

function opened(path: string | Buffer, options: Options): Connection {
  try {
    const db = new (driver())(path, { timeout: BUSY_TIMEOUT, ...options })
    return db.function('row_hash', { varargs: true, deterministic: true }, rowHash)
  } catch (cause) {
    const code = (cause as { code?: string }).code
    if (code === 'ERR_DLOPEN_FAILED' || code === 'MODULE_NOT_FOUND') throw driverFailure(cause)
    throw cause
  }
}

const load = createRequire(import.meta.url)
let database: typeof Database | undefined

/**
 * better-sqlite3: the build's copy, which has its compiled modules next to it, or else the package.
 * @internal
 */
export function driver(): typeof Database {
  database ??= load(builtPath('better-sqlite3/lib/index.js') ?? 'better-sqlite3') as typeof Database
  return database
}

function driverFailure(cause: unknown): StorageError {
  const { platform, arch, versions } = process
  const why = `${reason(cause).split('\n')[0]} (Node ${versions.node}, ${platform} ${arch})`
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
export function translated(location: string, cause: unknown, mend: string): unknown {
  const code = (cause as { code?: unknown }).code
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return cause
  const message = (cause as Error).message
  if (code.startsWith('SQLITE_BUSY'))
    return new WriterBusy(`${location} is busy: another process is writing; try again`, { cause })
  if (code.startsWith('SQLITE_FULL')) return new NotWritten(`${location}: the disk is full; ${LEFT_OUT}`, { cause })
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB')
    return new StorageError(`${location} is damaged (${message}); ${mend}`, { cause })
  if (code.startsWith('SQLITE_IOERR')) return ioFailure(location, code, cause)
  if (/^SQLITE_(READONLY|CANTOPEN)/.test(code) && isOnReadOnlySystem(location))
    return new StorageError(`${location} ${READ_ONLY}: it can be asked, and not be written`, { cause })
  if (code.startsWith('SQLITE_READONLY'))
    return new StorageError(`${location} cannot be written: ${message}`, { cause })
  return new StorageError(`${location}: ${message} (${code})`, { cause })
}

/** The damage that SQLite found in a file; null: the error has another cause. */
export function faultOf(error: unknown): string | null {
  const { code, message } = ((error as Error).cause ?? {}) as { code?: unknown; message?: string }
  const isFault = typeof code === 'string' && (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB')
  return isFault ? (message ?? code) : null
}

/** Says only what happened to this transaction: earlier ones of the same command may be committed. */
const LEFT_OUT = 'what was being written is not in it'

/** A failed read says nothing about the stored data. */
function ioFailure(location: string, code: string, cause: unknown): StorageError {
  const [Failure, what, calm] = /WRITE|FSYNC|TRUNCATE|DELETE|SHM/.test(code)
    ? [NotWritten, 'written', LEFT_OUT]
    : [StorageError, 'read', 'this does not mean that it is damaged']
  const words = `${location} could not be ${what} (${code}): the disk, or the way to it, failed; ${calm}; look into the log of the system, and try again`
  return new Failure(words, { cause })
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

/**
 * The line of an integrity check for a page that could not be read. SQLITE_IOERR is 10; upper bits hold the details.
 */
const UNREAD = /unable to get the page\. error code=(\d+)/

/** Throws StorageError if a check could not read the file: its findings are then no damage. */
export function checkWasRead(location: string, lines: readonly string[]): void {
  const failed = lines.find(line => Number(UNREAD.exec(line)?.[1] ?? 0) % 256 === 10)
  if (failed === undefined) return
  throw translated(location, Object.assign(new Error(failed), { code: 'SQLITE_IOERR_READ' }), '')
}
