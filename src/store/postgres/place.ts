import type { PoolClient } from 'pg'
import { StorageError } from '../../errors.js'
import { placeTaken, type Writer } from '../store.js'
import {
  codeOf,
  type Database,
  inTransaction,
  type Queries,
  type TransactionOptions,
  translated,
} from './connection.js'

/** How long a statement of a writer may take, in milliseconds: a batch of an import is large, and so is what it replaces. */
export const STATEMENT_MS = 600_000

/** SQLSTATE of a row or a table that another has locked. */
const LOCKED = '55P03'

/** Writing places have this number among the locks of a database; beside it stands that of the table. */
const PLACES = 0x62616e64

export const PLACE_LOCK = `${PLACES}, 'bands_data.writer'::regclass::oid::int`

/**
 * Settings with which the server ends the session of a machine that has fallen silent for so many seconds; otherwise it
 * would have the place, or its job, for hours. One that thinks keeps it, however soon the database ends idle sessions.
 */
export function endsWhenSilent(seconds: number): string {
  const every = 15
  const count = Math.floor(seconds / 2 / every)
  return `SET tcp_keepalives_idle = ${seconds - count * every}; SET tcp_keepalives_interval = ${every};
    SET tcp_keepalives_count = ${count}; SET idle_session_timeout = 0`
}

/** Who is allowed to write, and in which session; a job of the queue has a place of another kind. */
export interface Place {
  /** Whether nobody else writes. */
  readonly isAlone: boolean
  take(writer: Writer): Promise<void>
  leave(writer: Writer): Promise<void>
  close(): Promise<void>
  transaction<T>(work: (session: Queries) => Promise<T>): Promise<T>
}

/** Says who it is. */
export const NOTE = `INSERT INTO bands_data.writer VALUES (1, pg_backend_pid(), $1, $2, $3) ON CONFLICT (place)
  DO UPDATE SET session = excluded.session, pid = excluded.pid, host = excluded.host, started = excluded.started`

/**
 * Who may write: one at a time.
 *  1. An advisory lock of a session. It goes with the session, and that with its process, however that ends.
 *  2. A row that says who it is, for people.
 * Whoever has the place writes in the session that holds it: with the lock goes the transaction, and nothing is written
 * after another has begun.
 */
export class WritingPlace implements Place {
  readonly isAlone = true
  readonly #database: Database
  #held: Session | null = null
  #writer: Writer | null = null

  constructor(database: Database) {
    this.#database = database
  }

  /** Throws Busy naming the holder. */
  async take({ pid, host, started }: Writer): Promise<void> {
    this.#held ??= await this.#locked()
    this.#writer = { pid, host, started }
    // Whoever holds the row up, as the last writer does whose end is not through, is waited for as a writer is.
    await this.#held.query(NOTE, [pid, host, started]).catch(error => {
      throw codeOf(error) === LOCKED ? placeTaken(this.#database.location, undefined) : error
    })
  }

  async leave({ pid, host, started }: Writer): Promise<void> {
    const own = 'DELETE FROM bands_data.writer WHERE pid = $1 AND host = $2 AND started = $3'
    try {
      await this.#held?.query(own, [pid, host, started])
    } finally {
      await this.close()
    }
  }

  /** Gives the lock back, as the end of the process does. */
  async close(): Promise<void> {
    const held = this.#held
    this.#held = null
    await held?.close()
  }

  /** All or nothing; in the session that has the place, where it was taken. */
  async transaction<T>(work: (session: Queries) => Promise<T>): Promise<T> {
    const options = { statement: STATEMENT_MS }
    const held = this.#held
    if (held === null) return this.#database.transaction(work, options)
    const own = async (session: Queries): Promise<T> => {
      await this.#checkOwn(session)
      return work(session)
    }
    return held.transaction(own, options)
  }

  /**
   * A pooler may lend another connection for this transaction than for the lock, or the same to another who writes, for
   * whom the lock is free then.
   */
  async #checkOwn({ query }: Queries): Promise<void> {
    const { pid, host, started } = this.#writer!
    const [found] = await query<{ own: boolean }>(IS_OWN, [pid, host, started])
    if (found!.own) return
    const { location } = this.#database
    throw new StorageError(
      `${location} has lost the writing place: an import needs a connection of its own, and not one lent for a transaction`,
    )
  }

  async #locked(): Promise<Session> {
    const session = await Session.begin(this.#database)
    try {
      await session.query(endsWhenSilent(120))
      const [lock] = await session.query<{ got: boolean }>(`SELECT pg_try_advisory_lock(${PLACE_LOCK}) AS got`)
      if (lock!.got) return session
      throw placeTaken(this.#database.location, (await holderIn(this.#database)) ?? undefined)
    } catch (error) {
      await session.close()
      throw error
    }
  }
}

/** Who has the place; null: nobody, or one that has not said yet who it is. */
export async function holderIn(db: Queries): Promise<Writer | null> {
  const [holder] = await db.query<Writer>(HOLDER)
  return holder ?? null
}

/** The sessions that have advisory locks in this database, to be narrowed to one of these. */
export const LOCKED_BY = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

/** The row of one that is gone stays, and counts for nothing. */
const HOLDER = `SELECT pid, host, started FROM bands_data.writer
  WHERE session IN (${LOCKED_BY} AND classid = ${PLACES} AND objid = 'bands_data.writer'::regclass::oid)`

/** Whether this very session has the lock, and is the one that was noted by a writer. */
const IS_OWN = `SELECT EXISTS (
  ${HOLDER} AND session = pg_backend_pid() AND pid = $1 AND host = $2 AND started = $3) AS own`

/** A connection that is kept. One that has broken off is not made anew: what it held is gone. */
export class Session implements Queries {
  readonly #location: string
  readonly #client: PoolClient
  readonly #end: () => Promise<void>

  private constructor(location: string, client: PoolClient, end: () => Promise<void>) {
    this.#location = location
    this.#client = client
    this.#end = end
  }

  static begin(database: Database): Promise<Session> {
    return new Promise((resolve, reject) => {
      const ended: Promise<void> = database.session(
        client =>
          new Promise<void>(end => {
            const close = (): Promise<void> => {
              end()
              return ended
            }
            resolve(new Session(database.location, client, close))
          }),
      )
      ended.catch(reject)
    })
  }

  /** @param within milliseconds the answer is waited for; as the pool says unless given */
  readonly query = async <T = unknown>(
    text: string,
    values: readonly unknown[] = [],
    within?: number,
  ): Promise<T[]> => {
    const asked = { text, values: [...values], query_timeout: within }
    try {
      return (await this.#client.query(asked)).rows
    } catch (error) {
      throw translated(this.#location, error)
    }
  }

  /** All or nothing. */
  transaction<T>(work: (session: Queries) => Promise<T>, options?: TransactionOptions): Promise<T> {
    return inTransaction(this.#location, this.#client, work, options)
  }

  /** The lock is given back before: who asks next must not find it taken by a connection that is being closed. */
  async close(): Promise<void> {
    await this.#client.query('SELECT pg_advisory_unlock_all()').catch(() => {})
    await this.#end().catch((error: unknown) => {
      // It has broken off by itself.
      if (!(error instanceof StorageError)) throw error
    })
  }
}
