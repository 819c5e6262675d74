import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { StorageError } from '../errors.js'
import { type Connection, checkIsSqlite, closedOnFailure, connect, reason, schemaOf } from './driver.js'
import { translated } from './failure.js'

/** What tells one kind of database from the other, and both from those of other programs. */
export interface DatabaseKind {
  /** The steps of its schema; `PRAGMA user_version` says how many a file has taken. */
  readonly migrations: readonly string[]
  /** A table that each of this kind has from the first step on. */
  readonly table: string
  /** The command that makes one. */
  readonly made: string
  /** What to do when one is damaged. */
  readonly remedy: string
  /** Who may read and write a file that is made. */
  readonly mode: number
}

/** Opens an existing database for questions. Nothing in it is written. Throws StorageError. */
export function openForReading(path: string, kind: DatabaseKind): Connection {
  if (!existsSync(path)) throw new StorageError(`there is no database at ${path}; ${kind.made} makes one`)
  try {
    return checked(connect(path, { readonly: true }), path, kind)
  } catch (cause) {
    return recovered(path, kind, cause)
  }
}

/**
 * Opens a database for writing, made first if it is missing; schema steps that it lacks are taken. Throws StorageError,
 * Busy when such a step has to wait too long for another process.
 */
export function openForWriting(path: string, kind: DatabaseKind): Connection {
  if (!existsSync(path)) create(path, kind)
  try {
    return closedOnFailure(checked(connect(path, {}), path, kind), db => {
      db.pragma('foreign_keys = ON')
      // better-sqlite3 is compiled to sync a WAL only at checkpoints: a power cut would lose what was committed.
      db.pragma('synchronous = FULL')
      if (db.pragma('synchronous', { simple: true }) !== 2)
        throw new StorageError(`${path}: cannot be set to sync every commit`)
      migrate(db, kind)
    })
  } catch (cause) {
    if (!(cause instanceof StorageError)) checkIsSqlite(path)
    throw translated(path, cause, kind.remedy)
  }
}

/** A half-made database must never be seen under its name: it is made under another, which is then changed. */
function create(path: string, kind: DatabaseKind): void {
  // The process alone does not tell: in containers that share a folder, each may be number 1.
  const partial = `${path}.${process.pid}-${Math.random().toString(36).slice(2)}.new`
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // Made here and not by SQLite, so that nobody else can read it at any time; its -wal gets the same mode.
    closeSync(openSync(partial, 'wx', kind.mode))
    closedOnFailure(connect(partial, {}), db => migrate(db, kind)).close()
    putInPlace(partial, path)
  } catch (cause) {
    throw new StorageError(`cannot make a database at ${path}: ${reason(cause)}`, { cause })
  } finally {
    rmSync(partial, { force: true })
  }
}

/** A second name and not another one: what a process beside this one has just made there must not be replaced. */
function putInPlace(partial: string, path: string): void {
  try {
    linkSync(partial, path)
  } catch {
    if (existsSync(path)) return
    // Some file systems have no second names, and each says so in its own way.
    renameSync(partial, path)
  }
}

function migrate(db: Connection, { migrations }: DatabaseKind): void {
  // One that is up to date is not locked: that would wait for an import that another process has under way.
  if (schemaOf(db) === migrations.length) return
  // Lasts, and cannot be switched on inside a transaction.
  if (schemaOf(db) === 0) db.pragma('journal_mode = WAL')
  db.transaction(() => {
    for (const step of migrations.slice(schemaOf(db))) db.exec(step)
    db.pragma(`user_version = ${migrations.length}`)
  }).immediate()
}

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
 * Two ways in which a sound file refuses to be read: its folder is read-only, so that WAL's shared memory has no place
 * (then a copy in memory serves); or its writer was killed before WAL was on (then opening it once for writing mends it).
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
