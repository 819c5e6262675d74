import type { Statement } from 'better-sqlite3'
import { Busy, StorageError } from '../errors.js'
import type { Connection } from './connection.js'

type Value = string | number | Buffer | null

/** A connection whose statements are prepared once, and whose failures speak of the file and what to do. */
export class Session {
  readonly location: string
  readonly #db: Connection
  readonly #prepared = new Map<string, Statement<Value[]>>()

  constructor(location: string, db: Connection) {
    this.location = location
    this.#db = db
  }

  get<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.#guard(() => this.#statement(sql).get(...values)) as Row | undefined
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.#guard(() => this.#statement(sql).all(...values)) as Row[]
  }

  /** How many rows it changed. */
  run(sql: string, ...values: Value[]): number {
    return this.#guard(() => this.#statement(sql).run(...values).changes)
  }

  pragma(text: string): unknown {
    return this.#guard(() => this.#db.pragma(text))
  }

  /** All or nothing. Takes the write lock at once: a read transaction that turns into a write fails instead of waiting. */
  transaction<T>(work: () => T): T {
    return this.#guard(() => this.#db.transaction(work).immediate())
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
      throw translated(this.location, cause)
    }
  }
}

function translated(location: string, cause: unknown): unknown {
  const code = (cause as { code?: unknown }).code
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return cause
  const message = (cause as Error).message
  if (code.startsWith('SQLITE_BUSY'))
    return new Busy(`${location} is busy: another process is writing; try again`, { cause })
  if (code.startsWith('SQLITE_FULL'))
    return new StorageError(`${location}: the disk is full; nothing was changed`, { cause })
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') {
    return new StorageError(`${location} is damaged (${message}); import the files again into a new database`, {
      cause,
    })
  }
  if (code.startsWith('SQLITE_READONLY'))
    return new StorageError(`${location} cannot be written: ${message}`, { cause })
  return new StorageError(`${location}: ${message} (${code})`, { cause })
}
