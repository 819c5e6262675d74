import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient, QueryConfig } from 'pg'
import { BandsError, Busy, ConfigError, NotWritten, StorageError } from '../../../core/errors.js'
import type { PoolState } from '../accounts.js'
import type { Address } from './address.js'

/** The oldest supported version of PostgreSQL. */
const OLDEST_VERSION = 14

/** How long a statement may take, a statement may wait for a row, and a transaction may be idle. */
const STATEMENT_MS = 60_000
const LOCK_MS = 5_000
const IDLE_MS = 60_000

/** How often a transaction is tried if others conflict with it. */
const MAX_TRIES = 8

export interface DatabaseOptions {
  /** Maximum number of connections (default: from the address). */
  maxConnections?: number
  /** How long a statement may take. */
  statementMs?: number
}

/** Runs queries: on the database, or in one transaction or session. */
export interface Queries {
  /** One statement with its values as $1, $2, …; bigint comes back as number, bytea as Buffer. */
  query<T = unknown>(text: string, values?: readonly unknown[]): Promise<T[]>
}

export interface TransactionOptions {
  /** The transaction reads one state, regardless of other commits, and writes nothing. */
  snapshot?: boolean
  /** How long a statement may wait for a row or an advisory lock. */
  lockMs?: number
  /** How long a statement may take. */
  statementMs?: number
}

/** Text of a frequent statement → its name on a connection. */
const PREPARED_NAMES = new Map<string, string>()

/**
 * Returns the text of a statement, and makes connections keep it prepared. Its name is a hash of the text, so that two
 * versions of bands can share a connection.
 */
export function keepPrepared(text: string): string {
  PREPARED_NAMES.set(text, `bands_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`)
  return text
}

/** SQLSTATE if a prepared statement is missing, its name is taken, or its tables were changed. */
const STATEMENT_LOST = ['26000', '42P05', '0A000']

/**
 * A PostgreSQL database with a pool of connections. Connections open on demand, and again after a loss. A pooler, such
 * as PgBouncer, may give a connection for only one transaction. So behind a pooler statements have no names, and
 * settings always last one transaction.
 */
export class Database implements Queries {
  readonly location: string
  readonly #pool: Pool
  readonly #statementMs: number
  /** Whether PostgreSQL itself answers, so that a connection keeps prepared statements. */
  #isDirect = false
  #waitedSeconds = 0

  private constructor(pool: Pool, location: string, statementMs: number) {
    this.#pool = pool
    this.location = location
    this.#statementMs = statementMs
  }

  /** Opens a database. Throws Busy if not reached, ConfigError if it refuses the user, StorageError if too old. */
  static async open(
    { config, location, maxConnections: usualMax }: Address,
    { maxConnections = usualMax, statementMs = STATEMENT_MS }: DatabaseOptions = {},
  ): Promise<Database> {
    // Loaded here, so that users of a file need not load it.
    const { default: pg } = await import('pg')
    const types = {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === INT8_OID ? parseBigint : pg.types.getTypeParser(oid, format),
    } as typeof pg.types
    const pool = new pg.Pool({
      ...config,
      types,
      max: maxConnections,
      keepAlive: true,
      query_timeout: answerTimeout(statementMs),
      allowExitOnIdle: true,
    })
    // Ignore error events, which would otherwise end the process: a broken connection also rejects its next query. The
    // pool itself listens only to idle connections.
    pool.on('connect', client => client.on('error', () => {}))
    pool.on('error', () => {})
    const database = new Database(pool, location, statementMs)
    try {
      const version = await database.#readVersionAndPooler()
      if (Number.parseInt(version, 10) >= OLDEST_VERSION) return database
      throw new StorageError(`${location} is PostgreSQL ${version}; bands needs ${OLDEST_VERSION} or newer`)
    } catch (error) {
      await pool.end()
      throw error
    }
  }

  get pool(): PoolState {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return { total: totalCount, idle: idleCount, waiting: waitingCount, waitedSeconds: this.#waitedSeconds }
  }

  /**
   * Runs one statement. An arrow function, so that callers can pass it on by itself.
   * @param timeoutMs how long to wait for the answer (default: the limit of a statement)
   */
  readonly query = <T = unknown>(text: string, values: readonly unknown[] = [], timeoutMs?: number): Promise<T[]> =>
    this.#withClient(async client => {
      const query = { text, values: [...values], query_timeout: timeoutMs }
      const name = this.#isDirect ? PREPARED_NAMES.get(text) : undefined
      if (name === undefined) return runQuery<T>(this.location, client, query)
      try {
        return await runQuery<T>(this.location, client, { ...query, name })
      } catch (error) {
        if (!STATEMENT_LOST.includes(errorCode(error))) throw error
        // The statement has not run: a pooler was put in between, or tables were changed. Run it without a name.
        this.#isDirect = false
        return runQuery<T>(this.location, client, query)
      }
    })

  /**
   * Runs `work` in a transaction: all of it takes effect, or nothing. After a conflict with another transaction it runs
   * `work` again. So `work` must do nothing but query. Throws Busy after MAX_TRIES conflicts.
   */
  async transaction<T>(work: (session: Queries) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#withClient(client =>
          runTransaction(this.location, client, work, { statementMs: this.#statementMs, ...options }),
        )
      } catch (error) {
        if (attempt === MAX_TRIES || !isConflict(error)) throw error
      }
      // Random, so that two conflicting transactions do not conflict again.
      await sleep(Math.random() * 2 ** attempt * 5)
    }
  }

  /** Returns PostgreSQL's version, and sets #isDirect: a pooler in between invents its own session numbers. */
  #readVersionAndPooler(): Promise<string> {
    const text = `SELECT current_setting('server_version') AS version, pg_backend_pid() AS pid`
    return this.#withClient(async client => {
      const query = { text, values: [], query_timeout: undefined }
      const [row] = await runQuery<{ version: string; pid: number }>(this.location, client, query)
      this.#isDirect = row!.pid === sessionNumber(client)
      return row!.version
    })
  }

  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end()
  }

  /** Runs `work` on a connection of the pool. Drops the connection if it may be broken. */
  async #withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    let client: PoolClient
    const started = performance.now()
    try {
      client = await this.#pool.connect()
    } catch (error) {
      throw translateError(this.location, error)
    } finally {
      this.#waitedSeconds += (performance.now() - started) / 1000
    }
    let isBroken = false
    try {
      return await work(client)
    } catch (error) {
      // An error answered by the database, or raised by bands, leaves the connection usable.
      const isRaisedByBands = error instanceof BandsError && error.cause === undefined
      isBroken = !leavesConnectionUsable(errorCode(error)) && !isRaisedByBands
      throw error
    } finally {
      client.release(isBroken)
    }
  }
}

/** Runs `work` once in a transaction on a connection. Rolls it back, and throws the error of `work`, if that fails. */
async function runTransaction<T>(
  location: string,
  client: PoolClient,
  work: (session: Queries) => Promise<T>,
  { snapshot = false, lockMs = LOCK_MS, statementMs = STATEMENT_MS }: TransactionOptions = {},
): Promise<T> {
  const query = <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    runQuery<Row>(location, client, { text, values: [...values], query_timeout: answerTimeout(statementMs) })
  const mode = snapshot ? ' ISOLATION LEVEL REPEATABLE READ READ ONLY' : ''
  // One message, so that the limits cost no extra round trip.
  await query(
    `BEGIN${mode};
     SET LOCAL statement_timeout = ${statementMs}; SET LOCAL lock_timeout = ${lockMs};
     SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`,
  )
  try {
    const result = await work({ query })
    await query('COMMIT')
    return result
  } catch (error) {
    // If this fails, the connection is lost, and the transaction with it.
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** The session number that the server sent on connecting. */
function sessionNumber(client: PoolClient): number | undefined {
  return (client as { processID?: number }).processID
}

/** How long to wait for an answer. The database enforces the limit of a statement; this one is for a lost answer. */
function answerTimeout(statementMs: number): number {
  return statementMs + 5_000
}

/** A statement and the time limit for its answer (default: the pool's). */
interface TimedQuery extends QueryConfig {
  query_timeout: number | undefined
}

/** The rows of a query. Throws the errors of `translateError`. */
async function runQuery<T>(location: string, client: PoolClient, query: TimedQuery): Promise<T[]> {
  try {
    return (await client.query(query)).rows as T[]
  } catch (error) {
    throw translateError(location, error)
  }
}

const INT8_OID = 20

/** A bigint of the database as a number. Throws StorageError if it is too large. */
function parseBigint(text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value)) return value
  throw new StorageError(`${text} in a database of PostgreSQL is no number that can be counted with`)
}

/** SQLSTATE of a database error, or the code of a network failure; empty for anything else. */
export function errorCode(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  if (typeof code === 'string' && !(error instanceof BandsError)) return code
  return cause instanceof Error ? errorCode(cause) : ''
}

/** Whether another transaction interfered (a serialization failure or a deadlock), so that a retry may succeed. */
function isConflict(error: unknown): boolean {
  return ['40001', '40P01'].includes(errorCode(error))
}

/**
 * Whether an error code shows that the database answered, and the connection can still be used for writing. Codes of
 * Node.js begin with E. The others are a lost connection, a stopping server, a standby and an idle transaction.
 */
function leavesConnectionUsable(code: string): boolean {
  const isSqlState = /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E')
  return isSqlState && !/^(08|57P|25006|25P03)/.test(code)
}

/** An error of the driver or the database as one of bands, with a message that contains no secret. */
export function translateError(location: string, error: unknown): BandsError {
  if (error instanceof BandsError) return error
  const code = errorCode(error)
  // If all addresses of a host name fail, the error has no message.
  const message = (error instanceof Error ? error.message : String(error)) || code
  // A code says what failed, except the one that PgBouncer uses for all of its errors.
  const text = code === POOLER_CODE ? `${code} ${message}` : code || message
  const translation = TRANSLATIONS.find(([pattern]) => pattern.test(text))
  if (translation === undefined) return new StorageError(`${location} ${message}`.trim(), { cause: error })
  const [, wording, ErrorType] = translation
  const words = typeof wording === 'function' ? wording(message) : wording
  return new ErrorType(`${location} ${words}`.trim(), { cause: error })
}

type ErrorClass = typeof Busy | typeof ConfigError | typeof StorageError

const POOLER_CODE = '08P01'

/** Pattern of a code or message → the words after the location. The first match counts. Temporary failures are Busy. */
const TRANSLATIONS: readonly [pattern: RegExp, words: string | ((message: string) => string), type: ErrorClass][] = [
  [
    /^08P01 transaction blocks not allowed/,
    'is a pooler that lends a connection for one statement, and this takes a transaction: pool_mode must be transaction or session',
    ConfigError,
  ],
  [/^08P01 unsupported startup/, message => `has ${message}; its ignore_startup_parameters may name that`, ConfigError],
  [/^08P01 .*(authentication failed|no such (user|database))/, message => `refuses this user: ${message}`, ConfigError],
  [/^(28000|28P01)$/, message => `refuses this user: ${message}`, ConfigError],
  [
    /password must be a (non-empty )?string/,
    'asks for a password: PGPASSWORD, a service file or .pgpass has none',
    ConfigError,
  ],
  [/does not support SSL/, 'offers no encryption; sslmode=disable connects without it', ConfigError],
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
  [/^42501$/, message => `does not allow this user to do that: ${message}`, StorageError],
  [/^42883$/, message => `has the tables of a newer bands: ${message}; update bands`, StorageError],
  [/^53100$/, 'has no room left on its disk', NotWritten],
  [/^53300$/, 'has no free connection', Busy],
  [/^25006$/, 'cannot be written just now: it is a standby, or set to read only', Busy],
  [/^(55P03|57014|40001|40P01)$/, 'is locked by other writers', Busy],
  [/^57P/, 'is being started or stopped', Busy],
  [/^(XX|58)/, message => `is damaged or cannot be read: ${message}`, StorageError],
  [/^(08|25P03|E[A-Z_]+$)/, message => `cannot be reached: ${message}`, Busy],
  [/terminated|timeout|not queryable|SSL connection/i, 'does not answer, or the connection broke', Busy],
]
