import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { parameter, remedy, StorageError, sentence, WriterBusy } from '../../../core/errors.js'
import { describeWriter, type Writer, writerBusyError } from '../store.js'
import { connect, LOCK_TIMEOUT_MS, type Session, translateError } from './connection.js'
import { bootIn, deleteDamagedMeta, putMeta, writerMark } from './meta.js'
import { type Connection, schemaOf } from './migrations.js'
import { isAlive, thisBoot } from './processes.js'
import { DATA } from './schema.js'

/**
 * Only one process may write.
 * 1. The kernel locks an empty file next to the database. The lock ends with its process, however that ends. It does
 * not depend on process number, container or boot.
 * 2. A row in the database names the process: for people, and for other machines that share the folder but perhaps
 * not its locks.
 */
export class WriterLock {
  readonly #db: Session
  /** Held from take() until leave(). */
  #lock: Connection | null

  /** @param lock a lock that is held already, if any */
  constructor(db: Session, lock: Connection | null = null) {
    this.#db = db
    this.#lock = lock
  }

  /** Takes the lock, and writes the row of the writer. Throws Busy naming the holder; StorageError without locks. */
  take(writer: Writer): void {
    this.#changeUnderLock(() => {
      refuseIfHeld(this.#db.location, this.#holder())
      const { pid, host, started } = writer
      this.#db.run('INSERT OR REPLACE INTO writer (place, pid, host, started) VALUES (1, ?, ?, ?)', pid, host, started)
      // First those that an earlier process left damaged.
      deleteDamagedMeta(this.#db)
      // The mark also has the boot: after a restart, the same number may belong to another process.
      putMeta(this.#db, 'writer', writerMark(writer, thisBoot()))
    })
  }

  /** Deletes the row of the writer, and releases the lock. */
  leave({ pid, host, started }: Writer): void {
    try {
      this.#db.run('DELETE FROM writer WHERE pid = ? AND host = ? AND started = ?', pid, host, started)
    } finally {
      this.close()
    }
  }

  /**
   * Deletes the row of a dead holder; null if there is none. Throws Busy while a process holds the lock. Older versions
   * took no lock; so only the caller knows whether such a process, or one on another machine, is gone.
   */
  clearDeadHolder(): Writer | null {
    const holder = this.#changeUnderLock(() => {
      const found = this.#holder()
      this.#db.run('DELETE FROM writer')
      return found
    })
    this.close()
    if (holder === undefined) return null
    const { pid, host, started } = holder
    return { pid, host, started }
  }

  /** Releases the lock, as the end of the process does. */
  close(): void {
    this.#lock?.close()
    this.#lock = null
  }

  /** Changes the row under the lock, and keeps the lock unless the work fails. */
  #changeUnderLock<T>(work: () => T): T {
    const wasHeld = this.#lock !== null
    this.#lock ??= tryLock(this.#db.location)
    if (this.#lock === null) throw writerBusyError(this.#db.location, this.#holder())
    try {
      return this.#db.transaction(work)
    } catch (error) {
      if (!wasHeld) this.close()
      throw error
    }
  }

  /** The process that the row names; undefined without a row. */
  #holder(): Holder | undefined {
    const row = this.#db.get<HolderRow>(SELECT_HOLDER)
    return row === undefined ? undefined : holderOfRow(row)
  }
}

/**
 * Takes schema steps under the writer lock. Throws Busy while another process writes: an older bands would continue in
 * its own schema, without what the steps add. After the steps an older bands refuses the file.
 */
export function withWriterLock<T>(path: string, db: Connection, steps: () => T): T {
  const lock = tryLock(path)
  try {
    const row = schemaOf(db) === 0 ? undefined : db.prepare<[], HolderRow>(SELECT_HOLDER).get()
    const holder = row === undefined ? undefined : holderOfRow(row)
    if (lock === null) throw writerBusyError(path, holder)
    // An older bands, or a process on another machine, may hold only the row.
    refuseIfHeld(path, holder)
    return steps()
  } finally {
    lock?.close()
  }
}

/**
 * Throws Busy if a holder may still write although its lock is free: on another machine, or an older bands without
 * locks.
 */
function refuseIfHeld(path: string, holder: Holder | undefined): void {
  if (holder === undefined || isGone(holder)) return
  throw new WriterBusy(
    sentence`${path} is being written by ${describeWriter(holder)}; try again later, wait (${parameter('wait')}), or free it if that process is gone for good`,
    { remedy: remedy('unlock', [], { db: path }) },
  )
}

/** A row and its boot: empty if the system did not say, null if an older bands wrote it. */
interface Holder extends Writer {
  boot: string | null
}

export type HolderRow = Writer & { mark: string | null }

export const SELECT_HOLDER =
  "SELECT pid, host, started, (SELECT value FROM meta WHERE key = 'writer') AS mark FROM writer"

/** The holder that a row and its mark name. */
export function holderOfRow({ mark, ...writer }: HolderRow): Holder {
  return { ...writer, boot: mark?.startsWith(`${writer.started} `) ? bootIn(mark) : null }
}

/** Whether the holder may still write; takes no lock. */
export function mayStillWrite(path: string, holder: Holder): boolean {
  return isLocked(path) || !isGone(holder)
}

/** Whether a holder whose lock is free has ended. A machine can only check its own processes. */
function isGone({ pid, host, boot }: Holder): boolean {
  // A holder of this machine that took a lock and has it no longer has ended.
  if (boot !== null) return host === hostname() || (boot !== '' && boot === thisBoot())
  // An older bands took no lock.
  return host === hostname() && (pid === process.pid || !isAlive(pid))
}

/** Takes the lock of a database; null if another process has it. Throws StorageError if the file cannot be locked. */
export function tryLock(path: string): Connection | null {
  const file = lockFilePath(path)
  makeLockFile(path, file)
  refuseWithoutAccess(path, file)
  try {
    return openLocked(file)
  } catch (cause) {
    if (!isBusy(cause)) throw translateError(path, cause, DATA.mend)
    refuseWithoutLockSupport(path, file)
    return null
  }
}

/** Opens a file and locks it exclusively. Throws SQLite's own SQLITE_BUSY if another process has it. */
function openLocked(file: string): Connection {
  const lock = connect(file, { timeout: LOCK_TIMEOUT_MS })
  try {
    // Neither this file nor a companion file is ever written.
    lock.pragma('journal_mode = OFF')
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (cause) {
    lock.close()
    throw cause
  }
}

/**
 * Creates the lock file with the mode of the database. An existing one is not opened: closing it would release a lock
 * of this process.
 */
function makeLockFile(path: string, file: string): void {
  if (existsSync(file)) return
  try {
    closeSync(openSync(file, 'wx', DATA.mode))
    // A new database has no file of its name yet.
    const database = statSync(path, { throwIfNoEntry: false })
    if (database !== undefined) chmodSync(file, database.mode & 0o777)
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    throw new StorageError(`${file}, the lock of ${path}, cannot be made: ${message}`, { cause })
  }
}

/** Throws StorageError if this user may not write the file: SQLite would open it for reading, and lock nothing. */
function refuseWithoutAccess(path: string, file: string): void {
  try {
    accessSync(file, constants.R_OK | constants.W_OK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const words = `this user may not read and write ${file}, the lock of ${path} (${code}); give the user both rights`
    throw new StorageError(words, { cause })
  }
}

/**
 * Throws StorageError if the file system has no locks (ENOLCK), which SQLite reports as busy. There, even a lock of a
 * new file fails.
 */
function refuseWithoutLockSupport(path: string, file: string): void {
  const trial = `${file}.${process.pid}.trial`
  try {
    openLocked(trial).close()
  } catch (cause) {
    if (!isBusy(cause)) return
    const words = `the file system of ${file}, the lock of ${path}, has no locks (ENOLCK); move the database to a local disk, or start the lock service of the file system`
    throw new StorageError(words, { cause })
  } finally {
    rmSync(trial, { force: true })
  }
}

/** Whether another process has the lock; takes none. `connect` reads the file, and fails while it is locked. */
export function isLocked(path: string): boolean {
  const file = lockFilePath(path)
  if (!existsSync(file)) return false
  try {
    connect(file, { readonly: true, timeout: 0 }).close()
    return false
  } catch (cause) {
    return isBusy(cause)
  }
}

/** The path of a database's lock file, the same for all names of the database, which may not exist yet. */
function lockFilePath(path: string): string {
  const real = existsSync(path) ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path))
  return `${real}-writer`
}

function isBusy(cause: unknown): boolean {
  return String((cause as { code?: unknown }).code).startsWith('SQLITE_BUSY')
}
