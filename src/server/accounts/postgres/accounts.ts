// For: accounts in PostgreSQL, for several servers at once.
// In: the address of a database.
// Out: accounts, charged in one statement for many answers.

import { setTimeout as sleep } from 'node:timers/promises'
import { Busy, ConfigError, type Remedy, StorageError } from '../../../core/errors.js'
import type { Tier } from '../../../core/model/terms.js'
import {
  type Account,
  type Accounts,
  type Charge,
  type ChargeResult,
  clockFault,
  DAY_MS,
  type DayUsage,
  dayStart,
  HOUR_MS,
  hourStart,
  type KeyEntry,
  type NewKey,
  type PoolState,
  type Reconciliation,
  type RollUpResult,
  retentionStarts,
  type TakeRows,
  type UsedCredits,
  type WatchChange,
} from '../accounts.js'
import {
  type AccountRow,
  accountFromRow,
  accountTakenError,
  type CounterComparison,
  discrepanciesIn,
  endOfReplacedKey,
  foldName,
  type KeyRow,
  keyAndHashFromRow,
  keyFromRow,
  missingError,
  refuseNameOfActiveKey,
  watchListTooLongError,
} from '../rows.js'
import type { Address } from './address.js'
import { booksIn, TOO_LONG } from './books.js'
import { clearBooks, putBooks, readBooks } from './books-copy.js'
import { CHARGE_FUNCTION, chargeBatch } from './charging.js'
import { codeOf, Database, type Queries, type TransactionOptions } from './connection.js'
import { prepareSchema } from './steps.js'

/** How long a batch of charges is sent again whose fate is not known, and the longest sleep between, in milliseconds. */
const PATIENCE = 5_000
const LONGEST_SLEEP = 200
/** How long the answer to one batch is waited for: longer than the database waits for an account, and no minute. */
const CHARGE_MS = 12_000
const MOST_NAMES = 100_000
/** The database's clock is read this often, in milliseconds. */
const CLOCK_MS = 60_000

export interface OpenPostgresAccounts {
  /** Create the tables where there are none. */
  create?: boolean
  /** The command that creates the accounts, for the error where there are none. */
  createCommand?: Remedy
  /** Number of partitions, by account, of the growing tables when they are created. */
  partitions?: number
}

/**
 * Accounts in a PostgreSQL database. Throws NotFound if they do not exist and shall not be created; otherwise like
 * Database.open.
 */
export async function openPostgresAccounts(
  address: Address,
  { create = false, createCommand, partitions = 0 }: OpenPostgresAccounts = {},
): Promise<PostgresAccounts> {
  const database = await Database.open(address)
  try {
    await prepareSchema(database, { ...booksIn(partitions), ...(createCommand && { createCommand }) }, { create })
    return new PostgresAccounts(database, await readClock(database))
  } catch (error) {
    await database.close()
    throw error
  }
}

export class PostgresAccounts implements Accounts {
  readonly location: string
  readonly #db: Database
  /** The stored name of each account, by its number. Neither ever changes. */
  readonly #names = new Map<number, string>()
  /** The last batch of charges could not be written. */
  #failed = false
  #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.location = database.location
    this.#db = database
    this.#clock = clock
  }

  /** The database's clock, independent of this machine's clock. */
  now(): number {
    const { at, monotonic } = this.#clock
    return Math.round(at + (performance.now() - monotonic))
  }

  get clockAhead(): number {
    return Date.now() - this.now()
  }

  get pool(): PoolState {
    return this.#db.pool
  }

  async version(): Promise<string> {
    const [row] = await this.#db.query<{ count: number }>('SELECT count FROM bands_accounts.changes')
    return String(row!.count)
  }

  async secret(): Promise<Buffer> {
    const [row] = await this.#db.query<{ secret: Buffer }>(SECRET)
    return row!.secret
  }

  create(name: string, tier: Tier, at: string): Promise<Account> {
    return this.#changing(async ({ query }) => {
      const account = foldName(name)
      const made = await query<AccountRow>(INTO_ACCOUNTS, [account, name, tier, Date.parse(at)])
      if (made[0] === undefined) throw accountTakenError((await existing({ query }, name)).name, name)
      await query('INSERT INTO bands_accounts.books (account) VALUES ($1)', [account])
      return accountFromRow(made[0])
    })
  }

  async accounts(): Promise<Account[]> {
    const rows = await this.#db.query<AccountRow>(`${ACCOUNTS} ORDER BY account`)
    return rows.map(accountFromRow)
  }

  async account(name: string): Promise<Account> {
    return accountFromRow(await existing(this.#db, name))
  }

  setTier(name: string, tier: Tier): Promise<Account> {
    return this.#changing(async ({ query }) => {
      const { id } = await existing({ query }, name)
      await query('UPDATE bands_accounts.accounts SET tier = $1 WHERE id = $2', [tier, id])
      return accountFromRow(await existing({ query }, name))
    })
  }

  addKey(account: number, key: NewKey): Promise<void> {
    return this.#changing(session => insertKey(session, account, key))
  }

  async keys(account?: number): Promise<KeyEntry[]> {
    const rows = await this.#db.query<KeyRow>(`${KEYS} WHERE $1::bigint IS NULL OR a.id = $1 ORDER BY k.made`, [
      account ?? null,
    ])
    return rows.map(keyFromRow)
  }

  async key(identity: string): Promise<(KeyEntry & { hash: Buffer }) | null> {
    const [row] = await this.#db.query<KeyRow>(KEY_BY_IDENTITY, [identity])
    return row === undefined ? null : keyAndHashFromRow(row)
  }

  revoke(identity: string, at: string): Promise<void> {
    return this.#changing(async session => {
      await existingKey(session, identity)
      const sql = 'UPDATE bands_accounts.keys SET revoked = $1 WHERE identity = $2 AND revoked IS NULL'
      await session.query(sql, [Date.parse(at), identity])
    })
  }

  roll(identity: string, key: NewKey, until: string): Promise<void> {
    return this.#changing(async session => {
      const old = await existingKey(session, identity)
      const end = endOfReplacedKey(old, key, until)
      await session.query('UPDATE bands_accounts.keys SET expires = $1 WHERE identity = $2', [end, identity])
      await insertKey(session, old.account, key, identity)
    })
  }

  async usedCredits(account: number, at: number): Promise<UsedCredits> {
    const [row] = await this.#db.query<UsedCredits>(USED, [account, dayStart(at), hourStart(at)])
    return row!
  }

  /**
   * One call. If the connection is lost before the answer, the batch is sent again; request numbers prevent double
   * charges. Throws Busy; afterwards only the callers' idempotency keys show which charges were written.
   */
  async charge(charges: readonly Charge[]): Promise<ChargeResult[]> {
    if (charges.length === 0) return []
    if (performance.now() - this.#clock.monotonic > CLOCK_MS) await this.#readClock().catch(() => {})
    // Do not wait for a database that is known to be away.
    const deadline = performance.now() + (this.#failed ? 0 : PATIENCE)
    for (let again = false, longest = 10; ; again = true, longest = Math.min(2 * longest, LONGEST_SLEEP)) {
      try {
        const names = await this.#namesOf(charges)
        const charged = await chargeBatch(this.#db, charges, names, { again, within: CHARGE_MS })
        this.#failed = false
        return charged
      } catch (error) {
        if (!isOfStorage(error)) throw error
        const isLastTry = !(again || error instanceof Busy) || performance.now() >= deadline
        if (isLastTry) this.#failed = true
        if (isLastTry && again && !(error instanceof Busy)) throw new Busy(error.message, { cause: error })
        if (isLastTry) throw error
      }
      await sleep(Math.random() * longest)
    }
  }

  async watchedTickers(account: number): Promise<string[]> {
    const rows = await this.#db.query<{ ticker: string }>(WATCHED, [account])
    return rows.map(({ ticker }) => ticker)
  }

  async changeWatchList(account: number, change: WatchChange): Promise<string[]> {
    const { add, remove, maxTickers } = change
    const [name] = await this.#namesOf([{ account }])
    try {
      const sql = 'SELECT bands_accounts.watch($1, $2, $3, $4) AS tickers'
      const [row] = await this.#db.query<{ tickers: string[] }>(sql, [name, add, remove, maxTickers])
      return row!.tickers
    } catch (error) {
      throw codeOf(error) === TOO_LONG ? watchListTooLongError(change) : error
    }
  }

  usage(account: number, from: number): Promise<DayUsage[]> {
    return this.#db.query<DayUsage>(USAGE, [account, dayStart(from)])
  }

  /** Reads one consistent state. */
  reconcile(account?: number): Promise<Reconciliation> {
    const only = [account ?? null]
    const work = async ({ query }: Queries): Promise<Reconciliation> => {
      const [total] = await query<Omit<Reconciliation, 'discrepancies'>>(TOTAL, only)
      const found = await query<CounterComparison>(DISCREPANCIES, only)
      return { ...total!, discrepancies: found.flatMap(discrepanciesIn) }
    }
    return this.#onLedger(work, { snapshot: true })
  }

  /** Rolls up one day, or deletes what is too old. */
  async rollUp(at: number): Promise<RollUpResult> {
    const { rowsFrom, daysFrom } = retentionStarts(at)
    const work = ({ query }: Queries) => query<RollUpResult>(ROLL_UP, [rowsFrom, daysFrom])
    return (await this.#onLedger(work))[0]!
  }

  readTables(each: TakeRows): Promise<void> {
    return this.#onLedger(session => readBooks(session, each), { snapshot: true })
  }

  replaceTables<T>(work: (put: TakeRows, readBack: (each: TakeRows) => Promise<void>) => Promise<T>): Promise<T> {
    this.#names.clear()
    const replaced = async (session: Queries): Promise<T> => {
      await clearBooks(session)
      const result = await work(
        (book, rows) => putBooks(session, book, rows),
        each => readBooks(session, each),
      )
      await session.query('UPDATE bands_accounts.changes SET count = count + 1')
      return result
    }
    return this.#onLedger(replaced)
  }

  /** Throws Busy where this machine's clock is more than a minute off: its answers, certificates and logs would be wrong. */
  async check(): Promise<void> {
    await this.#readClock()
    const fault = clockFault(this.clockAhead, this.location)
    if (fault !== null) throw new Busy(`${fault}; set it, by NTP for instance`)
    const [state] = await this.#db.query<{ standby: boolean; fsync: string }>(STATE)
    if (state!.standby) throw new Busy(`${this.location} cannot be written just now: it is a standby`)
    if (state!.fsync !== 'on') throw new StorageError(`${this.location} does not sync its commits (fsync is off)`)
    // A server that is not ready gets no requests: only a write of its own shows that writing works again.
    if (this.#failed) {
      await this.#db.query('SELECT bands_accounts.try_writing()')
      this.#failed = false
    }
  }

  close(): Promise<void> {
    return this.#db.close()
  }

  async #readClock(): Promise<void> {
    this.#clock = await readClock(this.#db)
  }

  /** All of the ledger may be looked at. How many lines its rows have is not known: code would be compiled for a few. */
  #onLedger<T>(work: (session: Queries) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const own = async (session: Queries): Promise<T> => {
      await session.query('SET LOCAL jit = off')
      return work(session)
    }
    return this.#db.transaction(own, { ...options, statement: LEDGER_MS })
  }

  /**
   * Changes accounts or keys and notifies all servers. The notification comes last, because all writers lock its row.
   */
  #changing<T>(work: (session: Queries) => Promise<T>): Promise<T> {
    return this.#db.transaction(async session => {
      const result = await work(session)
      await session.query('UPDATE bands_accounts.changes SET count = count + 1')
      return result
    })
  }

  /** The stored names of some accounts. */
  async #namesOf(charges: readonly Pick<Charge, 'account'>[]): Promise<string[]> {
    const unknown = [...new Set(charges.map(({ account }) => account).filter(id => !this.#names.has(id)))]
    if (unknown.length > 0) {
      if (this.#names.size > MOST_NAMES) this.#names.clear()
      const sql = 'SELECT id, account FROM bands_accounts.accounts WHERE id = ANY ($1)'
      const wanted = [...new Set([...unknown, ...charges.map(({ account }) => account)])]
      const found = await this.#db.query<{ id: number; account: string }>(sql, [wanted], CHARGE_MS)
      for (const { id, account } of found) this.#names.set(id, account)
    }
    return charges.map(({ account }) => {
      const name = this.#names.get(account)
      if (name === undefined) throw new StorageError(`${this.location} has no account of the number ${account}`)
      return name
    })
  }
}

/** A time of the database, in milliseconds since 1970, and the moment of this process at which it was read. */
interface Clock {
  at: number
  monotonic: number
}

/** Half of the way there and back is added to what the database says. */
async function readClock({ query }: Database): Promise<Clock> {
  const started = performance.now()
  const [row] = await query<{ at: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at',
    [],
    CHARGE_MS,
  )
  const monotonic = performance.now()
  return { at: row!.at + (monotonic - started) / 2, monotonic }
}

/** Whether the failure may pass, or can be repaired while a server runs. */
function isOfStorage(error: unknown): error is Busy | ConfigError | StorageError {
  return error instanceof Busy || error instanceof ConfigError || error instanceof StorageError
}

async function existing({ query }: Queries, name: string): Promise<AccountRow> {
  const [row] = await query<AccountRow>(`${ACCOUNTS} WHERE account = $1`, [foldName(name)])
  if (row !== undefined) return row
  const known = await query<{ name: string }>('SELECT name FROM bands_accounts.accounts')
  throw missingError(
    'account',
    name,
    known.map(other => other.name),
  )
}

async function existingKey({ query }: Queries, identity: string): Promise<KeyRow> {
  const [row] = await query<KeyRow>(`${KEY_BY_IDENTITY} FOR UPDATE OF k`, [identity])
  if (row !== undefined) return row
  const known = await query<{ identity: string }>('SELECT identity FROM bands_accounts.keys')
  throw missingError(
    'key',
    identity,
    known.map(other => other.identity),
  )
}

/** @param besides the key that is being replaced; it may stay active for a while */
async function insertKey({ query }: Queries, account: number, key: NewKey, besides = ''): Promise<void> {
  // One at a time an account, so that of two of one name the second finds the first.
  await query('SELECT FROM bands_accounts.accounts WHERE id = $1 FOR UPDATE', [account])
  refuseNameOfActiveKey(
    await query<KeyRow>(`${KEYS} WHERE a.id = $1 AND k.name = $2`, [account, key.name]),
    key,
    besides,
  )
  const made = Date.parse(key.created)
  const expires = key.expires === null ? null : Date.parse(key.expires)
  await query(INTO_KEYS, [account, key.identity, key.hash.toString('hex'), key.name, made, expires])
}

const ACCOUNTS = 'SELECT id, name, tier, created FROM bands_accounts.accounts'

const INTO_ACCOUNTS = `INSERT INTO bands_accounts.accounts (account, name, tier, created) VALUES ($1, $2, $3, $4)
  ON CONFLICT DO NOTHING RETURNING id, name, tier, created`

const KEYS = `SELECT k.identity, k.hash, k.name, k.created, k.expires, k.last_used, k.revoked,
  a.id AS account, a.name AS account_name, a.tier, a.created AS account_created
  FROM bands_accounts.keys k JOIN bands_accounts.accounts a USING (account)`

const KEY_BY_IDENTITY = `${KEYS} WHERE k.identity = $1`

const INTO_KEYS = `INSERT INTO bands_accounts.keys (account, identity, hash, name, created, expires)
  SELECT account, $2, $3, $4, $5, $6 FROM bands_accounts.accounts WHERE id = $1`

const ROLL_UP = 'SELECT rows, days, is_over AS "isOver" FROM bands_accounts.roll_up($1, $2)'

const SECRET = "SELECT secret FROM bands_accounts.secrets WHERE use = 'tags'"

/** Fails if a newer bands has removed the charging function. */
const STATE = `SELECT pg_is_in_recovery() AS standby, current_setting('fsync') AS fsync, (${SECRET}) IS NOT NULL AS whole,
  'bands_accounts.${CHARGE_FUNCTION}'::regproc`

/** By name: the counters are indexed by it. */
const OF_ACCOUNT = 'account = (SELECT account FROM bands_accounts.accounts WHERE id = $1)'

const USED = `SELECT
  coalesce(sum(credits) FILTER (WHERE period = 'day'), 0)::bigint AS day,
  coalesce(sum(credits) FILTER (WHERE period = 'hour'), 0)::bigint AS hour
  FROM bands_accounts.counters
  WHERE ${OF_ACCOUNT} AND (period, start) IN (('day', $2::bigint), ('hour', $3::bigint))`

const WATCHED = `SELECT w.ticker FROM bands_accounts.watched w
  JOIN bands_accounts.accounts a ON a.account = w.account WHERE a.id = $1 ORDER BY w.place`
const USAGE = `SELECT to_char(to_timestamp(start / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS date, credits, requests
  FROM bands_accounts.counters WHERE ${OF_ACCOUNT} AND period = 'day' AND start >= $2 ORDER BY start DESC`

/** To add up a ledger of many millions of rows, in milliseconds. */
const LEDGER_MS = 3_600_000

const CHOSEN = `($1::bigint IS NULL OR ${OF_ACCOUNT})`

const TOTAL = `SELECT l.rows + d.requests AS rows, l.requests + d.requests AS requests, l.credits + d.credits AS credits
  FROM (SELECT count(*) AS rows, count(DISTINCT (account, request)) AS requests,
      coalesce(sum(credits), 0)::bigint AS credits FROM bands_accounts.ledger WHERE ${CHOSEN}) AS l,
    (SELECT coalesce(sum(requests), 0)::bigint AS requests, coalesce(sum(credits), 0)::bigint AS credits
      FROM bands_accounts.days WHERE ${CHOSEN}) AS d`

/** A rolled-up day has no hourly rows. */
const ROLLED = (row: string): string => `${row}.period = 'hour' AND EXISTS (
  SELECT FROM bands_accounts.days d WHERE d.account = ${row}.account AND d.start = ${row}.start - ${row}.start % ${DAY_MS})`

const DISCREPANCIES = `WITH hours AS (
    SELECT account, at - at % ${HOUR_MS} AS start, sum(credits) AS credits, count(*) AS requests
    FROM bands_accounts.ledger WHERE ${CHOSEN} GROUP BY 1, 2
  ), sums AS (
    SELECT account, period, start, sum(credits)::bigint AS credits, sum(requests)::bigint AS requests FROM (
      SELECT account, period, start - start % length AS start, credits, requests
      FROM hours, (VALUES ('day', ${DAY_MS}), ('hour', ${HOUR_MS})) AS p(period, length)
      UNION ALL SELECT account, 'day', start, credits, requests FROM bands_accounts.days WHERE ${CHOSEN}
    ) AS s WHERE NOT (${ROLLED('s')}) GROUP BY 1, 2, 3
  ), kept AS (
    SELECT * FROM bands_accounts.counters c WHERE ${CHOSEN} AND NOT (${ROLLED('c')})
  ), compared AS (
    SELECT account, period, start,
      coalesce(kept.credits, 0) AS counter_credits, coalesce(sums.credits, 0) AS ledger_credits,
      coalesce(kept.requests, 0) AS counter_requests, coalesce(sums.requests, 0) AS ledger_requests
    FROM kept FULL JOIN sums USING (account, period, start)
  )
  SELECT name, period, start, counter_credits, ledger_credits, counter_requests, ledger_requests
  FROM compared JOIN bands_accounts.accounts USING (account)
  WHERE counter_credits <> ledger_credits OR counter_requests <> ledger_requests
  ORDER BY account, start, period`
