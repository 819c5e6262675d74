import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { StorageError } from '../errors.js'
import { translated } from './failure.js'
import { MIGRATIONS } from './migrations.js'

export type Connection = Database.Database

/** Waiting for another process's short commit, in milliseconds. */
const BUSY_TIMEOUT = 5_000

/** Opens an existing database for questions. Nothing in it is written. Throws StorageError. */
export function openForReading(path: string): Connection {
  if (!existsSync(path)) throw new StorageError(`there is no database at ${path}; bands import FILE makes one`)
  checkIsSqlite(path)
  try {
    return checked(connect(path, { readonly: true }), path)
  } catch (cause) {
    return recovered(path, cause)
  }
}

/**
 * Opens a database for writing, made first if it is missing; schema steps that it lacks are taken. Throws StorageError,
 * Busy when such a step has to wait too long for another process.
 */
export function openForWriting(path: string): Connection {
  if (existsSync(path)) checkIsSqlite(path)
  else create(path)
  try {
    return closedOnFailure(checked(connect(path, {}), path), db => {
      db.pragma('foreign_keys = ON')
      // better-sqlite3 is compiled to sync a WAL only at checkpoints: a power cut would lose committed imports.
      db.pragma('synchronous = FULL')
      if (db.pragma('synchronous', { simple: true }) !== 2)
        throw new StorageError(`${path}: cannot be set to sync every commit`)
      migrate(db)
    })
  } catch (cause) {
    throw translated(path, cause)
  }
}

/** An empty database that goes with the connection: shows that the driver works. Throws StorageError. */
export function openInMemory(): Connection {
  return connect(':memory:', {})
}

/** A half-made database must never be seen under its name: it is made under another and renamed. */
function create(path: string): void {
  const partial = `${path}.${process.pid}.new`
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    rmSync(partial, { force: true })
    const made = closedOnFailure(connect(partial, {}), db => {
      db.pragma('journal_mode = WAL')
      migrate(db)
    })
    made.close()
    renameSync(partial, path)
  } catch (cause) {
    rmSync(partial, { force: true })
    throw new StorageError(`cannot make a database at ${path}: ${reason(cause)}`, { cause })
  }
}

function migrate(db: Connection): void {
  // One that is up to date is not locked: that would wait for an import that another process has under way.
  if (schemaOf(db) === MIGRATIONS.length) return
  db.transaction(() => {
    for (const step of MIGRATIONS.slice(schemaOf(db))) db.exec(step)
    db.pragma(`user_version = ${MIGRATIONS.length}`)
  }).immediate()
}

/** How many steps of the schema a database has taken; 0: none, an empty file. */
export function schemaOf(db: Connection): number {
  return db.pragma('user_version', { simple: true }) as number
}

/** Refuses databases of other programs and of a later version, so that nothing is read from them or put into them. */
function checked(db: Connection, path: string): Connection {
  return closedOnFailure(db, () => {
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all()
    if (tables.length > 0 && !tables.includes('tickers'))
      throw new StorageError(`${path} is a database of another program; choose another file`)
    const version = schemaOf(db)
    if (version > MIGRATIONS.length) {
      throw new StorageError(
        `${path} was made by a newer bands (schema ${version}, this one knows ${MIGRATIONS.length}); update bands`,
      )
    }
  })
}

function closedOnFailure(db: Connection, work: (db: Connection) => void): Connection {
  try {
    work(db)
    return db
  } catch (cause) {
    db.close()
    throw cause
  }
}

/**
 * Two ways in which a sound file refuses to be read: its folder is read-only, so that WAL's shared memory has no place
 * (then a copy in memory serves); or its writer was killed before WAL was on (then opening it once for writing mends it).
 */
function recovered(path: string, cause: unknown): Connection {
  const code = (cause as { code?: string }).code ?? ''
  if (cause instanceof StorageError) throw cause
  if (code === 'SQLITE_CANTOPEN' || code === 'SQLITE_READONLY_DIRECTORY') return checked(copyInMemory(path), path)
  if (code === 'SQLITE_READONLY_ROLLBACK' || code === 'SQLITE_READONLY_RECOVERY') {
    connect(path, {}).close()
    return checked(connect(path, { readonly: true }), path)
  }
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

function connect(path: string | Buffer, options: Database.Options): Connection {
  // Touches the file, so that what is wrong with it is said here and not in the middle of a question.
  return closedOnFailure(opened(path, options), schemaOf)
}

function opened(path: string | Buffer, options: Database.Options): Connection {
  try {
    return new Database(path, { ...options, timeout: BUSY_TIMEOUT, nativeBinding: nativeBinding() })
  } catch (cause) {
    const code = (cause as { code?: string }).code
    if (code === 'ERR_DLOPEN_FAILED' || code === 'MODULE_NOT_FOUND') throw nativeFailure(reason(cause), cause)
    throw cause
  }
}

/** The compiled module by its path: looking it up through `bindings` costs more than opening the database. */
function nativeBinding(): string {
  const entry = createRequire(import.meta.url).resolve('better-sqlite3')
  const path = entry.replace(/lib[\\/]index\.js$/, 'build/Release/better_sqlite3.node')
  if (!existsSync(path)) throw nativeFailure('its compiled module is missing')
  return path
}

function nativeFailure(what: string, cause?: unknown): StorageError {
  const sentence = `better-sqlite3 does not load in Node ${process.versions.node}: ${what.split('\n')[0]}`
  return new StorageError(`${sentence}\n  try:   npm rebuild better-sqlite3`, { cause })
}

function checkIsSqlite(path: string): void {
  const head = Buffer.alloc(16)
  let size: number
  try {
    const file = openSync(path, 'r')
    size = readSync(file, head, 0, 16, 0)
    closeSync(file)
  } catch (cause) {
    throw new StorageError(`cannot read ${path}: ${reason(cause)}`, { cause })
  }
  if (size > 0 && head.toString('latin1') !== 'SQLite format 3\0')
    throw new StorageError(`${path} is not a SQLite database`)
}

function reason(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
