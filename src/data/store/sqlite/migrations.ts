import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type Database from 'better-sqlite3'
import { type Remedy, StorageError } from '../../../core/errors.js'

/**
 * Schema steps of any kind of file. A step that removes or repacks a table may lose data stored nowhere else. So the
 * file is copied first, and the copy stays:
 * 1. take the write lock: the file cannot change until all steps are done
 * 2. copy the committed file under a temporary name
 * 3. check the copy, row by row, and rename it
 * 4. take the steps and commit
 *
 * A process that is killed in between leaves the file unchanged, and the next one starts again.
 */

/** SQL or code that only adds; or a step that removes or repacks tables. */
export type Step = string | { add(db: Connection): void } | { repack(db: Connection): void }

/** Identifies a kind of database, also against files of other programs. */
export interface DatabaseKind {
  /** The steps of its schema; `PRAGMA user_version` says how many a file has taken. */
  readonly migrations: readonly Step[]
  /** A table that each database of this kind has from the first step on. */
  readonly table: string
  readonly createCommand: Remedy
  /** The parameter that names its file; absent if the name follows from that of the data. */
  readonly option?: 'db' | 'accounts'
  /** What to do with a damaged one, in words. */
  readonly mend: string
  /** File mode of a new file. */
  readonly mode: number
}

export type Connection = Database.Database

/** How many steps of its schema a database has taken; 0: none, an empty file. */
export function schemaOf(db: Connection): number {
  return db.pragma('user_version', { simple: true }) as number
}

/** How another connection to the same file, or to a copy of it, is opened. */
type Connect = (path: string, options: Database.Options) => Connection

/**
 * Takes the missing steps of a schema, all or none. Before a step that repacks tables the file is copied. Throws
 * StorageError if that fails. @returns the path of the copy; null if none was needed
 */
export function upgradeSchema(
  db: Connection,
  path: string,
  { migrations }: DatabaseKind,
  connect: Connect,
): string | null {
  // An up-to-date file is not locked: that would wait for a running import.
  if (schemaOf(db) === migrations.length) return null
  // Stays on in the file, and cannot be switched on inside a transaction.
  if (schemaOf(db) === 0) db.pragma('journal_mode = WAL')
  return db
    .transaction(() => {
      const taken = schemaOf(db)
      const steps = migrations.slice(taken)
      const firstRepack = steps.findIndex(step => typeof step !== 'string' && 'repack' in step)
      let copy: string | null = null
      if (taken > 0 && firstRepack >= 0)
        copy = copyBeforeUpgrade(db, path, `${path}.before-schema-${taken + firstRepack + 1}`, connect)
      for (const step of steps) {
        if (typeof step === 'string') db.exec(step)
        else if ('add' in step) step.add(db)
        else step.repack(db)
      }
      db.pragma(`user_version = ${migrations.length}`)
      return copy
    })
    .immediate()
}

export function copyNotice(path: string, copy: string): string {
  return `${path} has a new schema; as it was before, it is kept as ${copy}, which may be deleted.`
}

/**
 * Copies the file before its schema changes, and returns the path of the copy. A name that another copy has gets a
 * number. The caller holds the write lock.
 */
function copyBeforeUpgrade(db: Connection, path: string, name: string, connect: Connect): string {
  for (let number = 1; ; number++) {
    const copy = number === 1 ? name : `${name}-${number}`
    if (!existsSync(copy)) {
      makeCopy(db, path, copy, connect)
      return copy
    }
    // A killed run may have left this copy: the same file need not be copied twice.
    if (firstDifference(db, copy, connect) === null) return copy
  }
}

/** Copies the committed file to `copy`, and checks the copy. Throws StorageError, and then leaves no file. */
function makeCopy(db: Connection, path: string, copy: string, connect: Connect): void {
  const partial = `${copy}.partial`
  refuseWithoutRoom(db, path, copy)
  try {
    // A killed run may have left one.
    removeDatabase(partial)
    // Created here and not by SQLite, so that no other user can ever read it.
    closeSync(openSync(partial, 'wx', 0o600))
    const reading = connect(path, { readonly: true })
    try {
      reading.prepare('VACUUM INTO ?').run(partial)
    } finally {
      reading.close()
    }
    const difference = firstDifference(db, partial, connect)
    if (difference !== null) throw new Error(`the copy is not the same: ${difference}`)
    chmodSync(partial, statSync(path).mode & 0o777)
    syncToDisk(partial)
    renameSync(partial, copy)
    syncToDisk(dirname(copy))
  } catch (cause) {
    removeDatabase(partial)
    throw copyError(db, path, copy, cause)
  }
}

/** Deletes a database and SQLite's companion files, if they exist. */
export function removeDatabase(path: string): void {
  for (const ending of ['', '-journal', '-wal', '-shm']) rmSync(path + ending, { force: true })
}

function refuseWithoutRoom(db: Connection, path: string, copy: string): void {
  const { bavail, bsize } = statfsSync(dirname(path))
  if (bavail * bsize < databaseBytes(db))
    throw copyError(db, path, copy, new Error(`${formatMegabytes(bavail * bsize)} are free`))
}

function copyError(db: Connection, path: string, copy: string, cause: unknown): StorageError {
  const needed = `the copy needs ${formatMegabytes(databaseBytes(db))} in ${dirname(path)}`
  return new StorageError(
    `${path} has to be copied to ${copy} before its schema changes, and cannot be (${errorMessage(cause)}); ${needed}. Nothing was changed.`,
    { cause },
  )
}

export function errorMessage(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

/** The size of the database, which is the most that its copy takes. */
function databaseBytes(db: Connection): number {
  return (db.pragma('page_count', { simple: true }) as number) * (db.pragma('page_size', { simple: true }) as number)
}

export function formatMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

/** Writes a file or folder through to the disk, so that it survives a power cut. */
export function syncToDisk(path: string): void {
  const isFolder = statSync(path).isDirectory()
  try {
    // Windows syncs only files open for writing; other systems open a folder only for reading.
    withFile(path, isFolder ? 'r' : 'r+', fsyncSync)
  } catch (cause) {
    // Some systems have no way to sync a folder, or to open one.
    if (!isFolder) throw cause
  }
}

/** Opens a file for some work, and closes it. @param mode the file mode of a new file */
export function withFile<T>(path: string, flags: string, work: (file: number) => T, mode?: number): T {
  const file = openSync(path, flags, mode)
  try {
    return work(file)
  } finally {
    closeSync(file)
  }
}

/** The first difference between a file and a database, in words; null if the file is sound and has the same content. */
export function firstDifference(db: Connection, file: string, connect: Connect): string | null {
  const other = connect(file, { readonly: true })
  try {
    const [check] = other.pragma('quick_check(1)') as { quick_check: string }[]
    if (check?.quick_check !== 'ok') return String(check?.quick_check)
    if (schemaOf(other) !== schemaOf(db)) return 'the number of the schema'
    const schema = 'SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name'
    if (!isSameResult(db, other, schema)) return 'the schema'
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all() as string[]
    // A copy has the rows of each table in their order.
    return tables.find(table => !isSameResult(db, other, `SELECT * FROM "${table}"`)) ?? null
  } finally {
    other.close()
  }
}

/** Whether a query gives the same rows in the same order in two databases. */
function isSameResult(db: Connection, other: Connection, sql: string): boolean {
  const rows = db.prepare(sql).raw().iterate() as IterableIterator<Value[]>
  const otherRows = other.prepare(sql).raw().iterate() as IterableIterator<Value[]>
  try {
    for (const row of rows) {
      const next = otherRows.next()
      if (next.done === true || !row.every((value, i) => isSameValue(value, next.value[i]!))) return false
    }
    return otherRows.next().done === true
  } finally {
    rows.return?.()
    otherRows.return?.()
  }
}

type Value = string | number | Buffer | null

function isSameValue(value: Value, other: Value): boolean {
  return Buffer.isBuffer(value) ? Buffer.isBuffer(other) && value.equals(other) : Object.is(value, other)
}
