import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient, QueryConfig } from 'pg'
import { BandsError, Busy, ConfigError, NotWritten, StorageError } from '../../../core/errors.js'
import type { PoolState } from '../accounts.js'
import type { Address } from './address.js'

/** The oldest version that has all that is used here. */
const OLDEST = 14

/** How long a statement may take, how long one waits for a row, and how long a transaction may lie idle, in milliseconds. */
const STATEMENT_MS = 60_000
const LOCK_MS = 5_000
const IDLE_MS = 60_000

/** How often a transaction is tried that others get in the way of. */
const TRIES = 8

export interface DatabaseOptions {
  /** Maximum number of connections (default: from the address). */
  most?: number
  /** How long a statement may take, in milliseconds. */
  statement?: number
}

/** Runs queries: on the database, or in one transaction or session. */
export interface Queries {
  /** One statement with its values as $1, $2, …; bigint comes back as number, bytea as Buffer. */
  query<T = unknown>(text: string, values?: readonly unknown[]): Promise<T[]>
}

export interface TransactionOptions {
  /** Reads one state, regardless of other commits; writes nothing. */
  snapshot?: boolean
  /** How long one waits for a row or an advisory lock, in milliseconds. */
  lock?: number
  /** How long a statement may take, in milliseconds. */
  statement?: number
}

const NAMES = new Map<string, string>()

/**
 * A frequent statement that a connection keeps prepared. Its name is a hash of its text, so versions of bands can share
 * a connection without confusion.
 */
export function prepared(text: string): string {
  NAMES.set(text, `bands_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`)
  return text
}

/** SQLSTATE if a prepared statement is missing, its name is taken, or its tables were changed. */
const STATEMENT_LOST = ['26000', '42P05', '0A000']

/**
 * A PostgreSQL database with a pool of connections. Connections open on demand, and again after a loss. A pooler may
 * lend a connection for only one transaction. So statements have no names behind one, and settings last one transaction
 * (T13); except the following.
 */
export class Database implements Queries {
  readonly location: string
  readonly #pool: Pool
  readonly #statement: number
  /** Whether PostgreSQL itself answers, so that a connection keeps prepared statements. */
  #isDirect = false
  #waited = 0

  private constructor(pool: Pool, location: string, statement: number) {
    this.#pool = pool
    this.location = location
    this.#statement = statement
  }

  /** Throws Busy where it cannot be reached, ConfigError where one is not let in, StorageError for one that is too old. */
  static async open(
    { config, location, most: usual }: Address,
    { most = usual, statement = STATEMENT_MS }: DatabaseOptions = {},
  ): Promise<Database> {
    // Loaded here: users of a file need not wait for it.
    const { default: pg } = await import('pg')
    const types = {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === INT8 ? integer : pg.types.getTypeParser(oid, format),
    } as typeof pg.types
    const pool = new pg.Pool({
      ...config,
      types,
      max: most,
      keepAlive: true,
      query_timeout: cutOff(statement),
      allowExitOnIdle: true,
    })
    // A broken connection rejects its next query, and an idle one is replaced. The pool listens only while a
    // connection is
    // idle: between two users its error event would end the process.
    pool.on('connect', client => client.on('error', () => {}))
    pool.on('error', () => {})
    const database = new Database(pool, location, statement)
    try {
      const version = await database.#detectPooler()
      if (Number.parseInt(version, 10) >= OLDEST) return database
      throw new StorageError(`${location} is PostgreSQL ${version}; bands needs ${OLDEST} or newer`)
    } catch (error) {
      await pool.end()
      throw error
    }
  }

  get pool(): PoolState {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return { total: totalCount, idle: idleCount, waiting: waitingCount, waitedSeconds: this.#waited }
  }

  /**
   * A bound function, for callers that need nothing else.
   * @param within milliseconds to wait for the answer (default: the statement limit)
   */
  readonly query = <T = unknown>(text: string, values: readonly unknown[] = [], within?: number): Promise<T[]> =>
    this.#lent(async client => {
      const query = { text, values: [...values], query_timeout: within }
      const name = this.#isDirect ? NAMES.get(text) : undefined
      if (name === undefined) return rowsOf<T>(this.location, client, query)
      try {
        return await rowsOf<T>(this.location, client, { ...query, name })
      } catch (error) {
        if (!STATEMENT_LOST.includes(codeOf(error))) throw error
        // A pooler was put in between, or tables were changed: nothing has run yet, and without a name nothing needs
        // preparing.
        this.#isDirect = false
        return rowsOf<T>(this.location, client, query)
      }
    })

  /**
   * All or nothing; done again from its start where others got in the way, so that it must do nothing else. Throws Busy
   * where they go on doing so.
   */
  async transaction<T>(work: (session: Queries) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#lent(client =>
          inTransaction(this.location, client, work, { statement: this.#statement, ...options }),
        )
      } catch (error) {
        if (attempt === TRIES || !isConflict(error)) throw error
      }
      // Random, so that two conflicting transactions do not conflict again.
      await sleep(Math.random() * 2 ** attempt * 5)
    }
  }

  /** Reads the version, and whether a pooler is in between: a pooler invents its own session numbers. */
  #detectPooler(): Promise<string> {
    const text = `SELECT current_setting('server_version') AS version, pg_backend_pid() AS pid`
    return this.#lent(async client => {
      const query = { text, values: [], query_timeout: undefined }
      const [found] = await rowsOf<{ version: string; pid: number }>(this.location, client, query)
      this.#isDirect = found!.pid === numberOf(client)
      return found!.version
    })
  }

  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end()
  }

  async #lent<T>(work: (client: PoolClient) => Promise<T>, closed = false): Promise<T> {
    let client: PoolClient
    const started = performance.now()
    try {
      client = await this.#pool.connect()
    } catch (error) {
      throw translated(this.location, error)
    } finally {
      this.#waited += (performance.now() - started) / 1000
    }
    let broken = closed
    try {
      return await work(client)
    } catch (error) {
      // An error answered by the database, or raised by bands, leaves the connection usable.
      broken ||= !(isAnswer(codeOf(error)) || (error instanceof BandsError && error.cause === undefined))
      throw error
    } finally {
      client.release(broken)
    }
  }
}

/** All or nothing, once, on its own connection. Errors of the work itself are passed on unchanged. */
async function inTransaction<T>(
  location: string,
  client: PoolClient,
  work: (session: Queries) => Promise<T>,
  { snapshot = false, lock = LOCK_MS, statement = STATEMENT_MS }: TransactionOptions = {},
): Promise<T> {
  // One message: setting the limits costs no extra round trip.
  const query = <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    rowsOf<Row>(location, client, { text, values: [...values], query_timeout: cutOff(statement) })
  await query(
    `BEGIN${snapshot ? ' ISOLATION LEVEL REPEATABLE READ READ ONLY' : ''};
     SET LOCAL statement_timeout = ${statement}; SET LOCAL lock_timeout = ${lock};
     SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`,
  )
  try {
    const result = await work({ query })
    await query('COMMIT')
    return result
  } catch (error) {
    // If the connection is lost, so is the transaction.
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** The session number that the server sent on connecting. */
function numberOf(client: PoolClient): number | undefined {
  return (client as { processID?: number }).processID
}

/** A last resort if no answer comes at all: the database enforces the limit itself. */
function cutOff(statement: number): number {
  return statement + 5_000
}

/** A statement and the time limit for its answer (default: the pool's). */
interface TimedQuery extends QueryConfig {
  query_timeout: number | undefined
}

async function rowsOf<T>(location: string, client: PoolClient, query: TimedQuery): Promise<T[]> {
  try {
    return (await client.query(query)).rows as T[]
  } catch (error) {
    throw translated(location, error)
  }
}

const INT8 = 20

function integer(text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value)) return value
  throw new StorageError(`${text} in a database of PostgreSQL is no number that can be counted with`)
}

/** SQLSTATE of a database error, or the code of a network failure; empty for anything else. */
export function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  if (typeof code === 'string' && !(error instanceof BandsError)) return code
  return cause instanceof Error ? codeOf(cause) : ''
}

/** Whether another transaction interfered, so that a retry may succeed. */
function isConflict(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error))
}

/** Whether the database answered and the connection can still be used for writing. */
function isAnswer(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code) && !/^(08|57P|25006|25P03)/.test(code) && !code.startsWith('E')
}

/** An error of the driver or the database in words of bands, without any secret. */
export function translated(location: string, error: unknown): BandsError {
  if (error instanceof BandsError) return error
  const code = codeOf(error)
  // To several addresses of one name nothing is said but the code.
  const message = (error instanceof Error ? error.message : String(error)) || code
  const options = { cause: error }
  const text = code === OF_POOLER ? `${code} ${message}` : code || message
  const [, sentence, Kind] = KINDS.find(([form]) => form.test(text)) ?? [null, message, StorageError]
  return new Kind(`${location} ${typeof sentence === 'function' ? sentence(message) : sentence}`.trim(), options)
}

type Kind = typeof Busy | typeof ConfigError | typeof StorageError

/** PgBouncer has this one code for all that it says itself. */
const OF_POOLER = '08P01'

/** The meaning of a code, or of a message without one. Temporary failures are Busy: try later. */
const KINDS: readonly [form: RegExp, sentence: string | ((message: string) => string), kind: Kind][] = [
  [
    /^08P01 transaction blocks not allowed/,
    'is a pooler that lends a connection for one statement, and this takes a transaction: pool_mode must be transaction or session',
    ConfigError,
  ],
  [/^08P01 unsupported startup/, message => `has ${message}; its ignore_startup_parameters may name that`, ConfigError],
  [
    /^08P01 .*(authentication failed|no such (user|database))/,
    message => `does not let one in: ${message}`,
    ConfigError,
  ],
  [/^(28000|28P01)$/, message => `does not let one in: ${message}`, ConfigError],
  [
    /password must be a (non-empty )?string/,
    'asks for a password: PGPASSWORD, a service file or .pgpass has none',
    ConfigError,
  ],
  [/does not support SSL/, 'has no encryption; what else would do is sslmode=disable', ConfigError],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    message => `has a certificate of another name: ${message}; the URL must name it as the certificate does`,
    ConfigError,
  ],
  [/^CERT_HAS_EXPIRED$/, 'has a certificate that has expired', ConfigError],
  [/^ERR_OSSL_/, message => `cannot be asked with these files of sslcert and sslkey: ${message}`, ConfigError],
  [/^ERR_SSL_\w+_ALERT_/, message => `does not take the certificate of sslcert: ${message}`, ConfigError],
  [
    /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_)/,
    message => `has a certificate that is not trusted: ${message}; sslrootcert names the root to be trusted`,
    ConfigError,
  ],
  [/^3D000$/, message => `is not there: ${message}; createdb makes a database`, StorageError],
  [/^42501$/, message => `does not let this user do that: ${message}`, StorageError],
  [/^42883$/, message => `has the tables of a newer bands: ${message}; update bands`, StorageError],
  [/^53100$/, 'has no room left on its disk', NotWritten],
  [/^53300$/, 'has no connection left for one more', Busy],
  [/^25006$/, 'cannot be written just now: it is a standby, or set to read only', Busy],
  [/^(55P03|57014|40001|40P01)$/, 'is held up by others who write to it', Busy],
  [/^57P/, 'is being started or stopped', Busy],
  [/^(XX|58)/, message => `is damaged or cannot be read: ${message}`, StorageError],
  [/^(08|25P03|E[A-Z_]+$)/, message => `cannot be reached: ${message}`, Busy],
  [/terminated|timeout|not queryable|SSL connection/i, 'does not answer, or has broken off', Busy],
]
