import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { createRequire } from 'node:module'
import Database from 'better-sqlite3'
import { StorageError } from '../errors.js'

export type Connection = Database.Database

/** Waiting for another process's short commit, in milliseconds. */
const BUSY_TIMEOUT = 5_000

/** A connection to a file, or to the image of one. Throws what SQLite throws; StorageError when it does not load. */
export function connect(path: string | Buffer, options: Database.Options): Connection {
  // Touches the file, so that what is wrong with it is said here and not in the middle of a question.
  return closedOnFailure(opened(path, options), schemaOf)
}

/** An empty database that goes with the connection: shows that the driver works. Throws StorageError. */
export function openInMemory(): Connection {
  return connect(':memory:', {})
}

/** How many steps of its schema a database has taken; 0: none, an empty file. */
export function schemaOf(db: Connection): number {
  return db.pragma('user_version', { simple: true }) as number
}

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
 * Throws StorageError for a file that is no database; an empty one may become one. For a file that could not be opened:
 * closing one that SQLite has open in this process would take its locks away (sqlite.org/howtocorrupt.html, 2.2).
 */
export function checkIsSqlite(path: string): void {
  const head = Buffer.alloc(16)
  let size: number
  try {
    const file = openSync(path, 'r')
    try {
      size = readSync(file, head, 0, 16, 0)
    } finally {
      closeSync(file)
    }
  } catch (cause) {
    throw new StorageError(`cannot read ${path}: ${reason(cause)}`, { cause })
  }
  if (size > 0 && head.toString('latin1') !== 'SQLite format 3\0')
    throw new StorageError(`${path} is not a SQLite database`)
}

export function reason(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
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
