import type { Statement } from 'better-sqlite3'
import type { DatabaseKind } from './connection.js'
import type { Connection } from './driver.js'
import { translated } from './failure.js'

type Value = string | number | Buffer | null

/** A connection whose statements are prepared once, and whose failures speak of the file and what to do. */
export class Session {
  readonly location: string
  readonly #db: Connection
  readonly #remedy: string
  readonly #prepared = new Map<string, Statement<Value[]>>()

  /** @param kind says what to do when the file turns out to be damaged */
  constructor(location: string, db: Connection, { remedy }: Pick<DatabaseKind, 'remedy'>) {
    this.location = location
    this.#db = db
    this.#remedy = remedy
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

  /** Several reads of one state, whatever is written meanwhile. */
  reading<T>(work: () => T): T {
    return this.#guard(() => {
      // By hand: what better-sqlite3 makes of a function for this costs more than the reads.
      this.#statement('BEGIN').run()
      try {
        return work()
      } finally {
        // Some failures of the disk end it by themselves, and are what is to be told then.
        if (this.#db.inTransaction) this.#statement('COMMIT').run()
      }
    })
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
      throw translated(this.location, cause, this.#remedy)
    }
  }
}
