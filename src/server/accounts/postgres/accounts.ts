// For: accounts in PostgreSQL, for several servers at once.
// In: the address of a database.
// Out: accounts; one statement charges many answers.

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
import { CHARGE_FUNCTION, chargeBatch } from './charging.js'
import { Database, errorCode, type Queries, type TransactionOptions } from './connection.js'
import { clearTables, insertRows, readTables } from './copy-tables.js'
import { accountsSchema, WATCH_LIST_TOO_LONG } from './schema.js'
import { prepareSchema } from './steps.js'

/** How long a batch of charges with an unknown result is sent again; the longest first pause, doubled up to a limit. */
const MAX_RESEND_MS = 5_000
const FIRST_PAUSE_MS = 10
const MAX_PAUSE_MS = 200
/** How long to wait for the result of one batch; the database itself waits less long for an account. */
const CHARGE_TIMEOUT_MS = 12_000
const MAX_REMEMBERED_NAMES = 100_000
/** The database's clock is read again after this time. */
const CLOCK_MAX_AGE_MS = 60_000

export interface OpenPostgresAccounts {
  /** Create the tables if there are none. */
  create?: boolean
  /** The command that creates the accounts, for the error if there are none. */
  createCommand?: Remedy
  /** How many partitions, by account, the growing tables get when they are created (default 1: whole tables). */
  partitions?: number
}

/** Opens accounts in PostgreSQL. Throws as Database.open does, and NotFound for missing tables without `create`. */
export async function openPostgresAccounts(
  address: Address,
  { create = false, createCommand, partitions }: OpenPostgresAccounts = {},
): Promise<PostgresAccounts> {
  const database = await Database.open(address)
  try {
    await prepareSchema(database, accountsSchema(partitions, createCommand), { create })
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
  #hasFailed = false
  #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.location = database.location
    this.#db = database
    this.#clock = clock
  }

  /** The time of the database's clock. Setting this machine's clock does not change it. */
  now(): number {
    const { time, readAt } = this.#clock
    return Math.round(time + (performance.now() - readAt))
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
    return this.#changeAccounts(async ({ query }) => {
      const account = foldName(name)
      const [created] = await query<AccountRow>(INTO_ACCOUNTS, [account, name, tier, Date.parse(at)])
      if (created === undefined) throw accountTakenError((await existingAccount({ query }, name)).name, name)
      // The row that charges of the account lock.
      await query('INSERT INTO bands_accounts.books (account) VALUES ($1)', [account])
      return accountFromRow(created)
    })
  }

  async accounts(): Promise<Account[]> {
    const rows = await this.#db.query<AccountRow>(`${ACCOUNTS} ORDER BY account`)
    return rows.map(accountFromRow)
  }

  async account(name: string): Promise<Account> {
    return accountFromRow(await existingAccount(this.#db, name))
  }

  setTier(name: string, tier: Tier): Promise<Account> {
    return this.#changeAccounts(async ({ query }) => {
      const { id } = await existingAccount({ query }, name)
      await query('UPDATE bands_accounts.accounts SET tier = $1 WHERE id = $2', [tier, id])
      return accountFromRow(await existingAccount({ query }, name))
    })
  }

  addKey(account: number, key: NewKey): Promise<void> {
    return this.#changeAccounts(session => insertKey(session, account, key))
  }

  async keys(account?: number): Promise<KeyEntry[]> {
    const sql = `${KEYS} WHERE $1::bigint IS NULL OR a.id = $1 ORDER BY k.made`
    const rows = await this.#db.query<KeyRow>(sql, [account ?? null])
    return rows.map(keyFromRow)
  }

  async key(identity: string): Promise<(KeyEntry & { hash: Buffer }) | null> {
    const [row] = await this.#db.query<KeyRow>(KEY_BY_IDENTITY, [identity])
    return row === undefined ? null : keyAndHashFromRow(row)
  }

  revoke(identity: string, at: string): Promise<void> {
    return this.#changeAccounts(async session => {
      await existingKey(session, identity)
      const sql = 'UPDATE bands_accounts.keys SET revoked = $1 WHERE identity = $2 AND revoked IS NULL'
      await session.query(sql, [Date.parse(at), identity])
    })
  }

  /** Replaces a key; the old one ends at the ISO time `until`, or at its own earlier end. */
  roll(identity: string, key: NewKey, until: string): Promise<void> {
    return this.#changeAccounts(async session => {
      const old = await existingKey(session, identity)
      const end = endOfReplacedKey(old, key, until)
      await session.query('UPDATE bands_accounts.keys SET expires = $1 WHERE identity = $2', [end, identity])
      await insertKey(session, old.account, key, identity)
    })
  }

  async usedCredits(account: number, at: number): Promise<UsedCredits> {
    const [row] = await this.#db.query<UsedCredits>(USED_CREDITS, [account, dayStart(at), hourStart(at)])
    return row!
  }

  /**
   * Writes a batch of charges in one call. If the connection is lost before the answer, it sends the batch again;
   * request numbers prevent double charges. If it then throws Busy, the charges may have been written or not: only a
   * caller's idempotency key prevents a second charge.
   */
  async charge(charges: readonly Charge[]): Promise<ChargeResult[]> {
    if (charges.length === 0) return []
    if (performance.now() - this.#clock.readAt > CLOCK_MAX_AGE_MS) await this.#readClock().catch(() => {})
    // After a failure there is one attempt only: the database is probably still away.
    const deadline = performance.now() + (this.#hasFailed ? 0 : MAX_RESEND_MS)
    for (let attempt = 1; ; attempt++) {
      const wasSent = attempt > 1
      try {
        const names = await this.#accountNames(charges.map(({ account }) => account))
        const results = await chargeBatch(this.#db, charges, names, { wasSent, timeoutMs: CHARGE_TIMEOUT_MS })
        this.#hasFailed = false
        return results
      } catch (error) {
        if (!isStorageFailure(error)) throw error
        const isBusy = error instanceof Busy
        // Other errors at the first attempt, such as a refused login, mean that nothing was written.
        const mayRetry = (wasSent || isBusy) && performance.now() < deadline
        if (!mayRetry) {
          this.#hasFailed = true
          // A batch that was sent before may have been written, so the caller gets Busy.
          throw wasSent && !isBusy ? new Busy(error.message, { cause: error }) : error
        }
      }
      await sleep(Math.random() * Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS))
    }
  }

  async watchedTickers(account: number): Promise<string[]> {
    const rows = await this.#db.query<{ ticker: string }>(WATCHED_TICKERS, [account])
    return rows.map(({ ticker }) => ticker)
  }

  /** Returns the whole list after the change. Throws InvalidParameter if it would be too long. */
  async changeWatchList(account: number, change: WatchChange): Promise<string[]> {
    const { add, remove, maxTickers } = change
    const [name] = await this.#accountNames([account]) // the tables identify an account by its name
    try {
      const sql = 'SELECT bands_accounts.watch($1, $2, $3, $4) AS tickers'
      const [row] = await this.#db.query<{ tickers: string[] }>(sql, [name, add, remove, maxTickers])
      return row!.tickers
    } catch (error) {
      throw errorCode(error) === WATCH_LIST_TOO_LONG ? watchListTooLongError(change) : error
    }
  }

  usage(account: number, from: number): Promise<DayUsage[]> {
    return this.#db.query<DayUsage>(DAY_USAGE, [account, dayStart(from)])
  }

  reconcile(account?: number): Promise<Reconciliation> {
    // null: all accounts
    const accountOrAll = [account ?? null]
    const work = async ({ query }: Queries): Promise<Reconciliation> => {
      const [totals] = await query<Omit<Reconciliation, 'discrepancies'>>(LEDGER_TOTALS, accountOrAll)
      const comparisons = await query<CounterComparison>(DISCREPANCIES, accountOrAll)
      return { ...totals!, discrepancies: comparisons.flatMap(discrepanciesIn) }
    }
    return this.#ledgerTransaction(work, { snapshot: true })
  }

  async rollUp(now: number): Promise<RollUpResult> {
    const { rowsFrom, daysFrom } = retentionStarts(now)
    const [result] = await this.#ledgerTransaction(({ query }) => query<RollUpResult>(ROLL_UP, [rowsFrom, daysFrom]))
    return result!
  }

  readTables(take: TakeRows): Promise<void> {
    return this.#ledgerTransaction(session => readTables(session, take), { snapshot: true })
  }

  /** Replaces all rows by those that `work` inserts, in one transaction; `work` can read them before the commit. */
  replaceTables<T>(work: (insert: TakeRows, readBack: (take: TakeRows) => Promise<void>) => Promise<T>): Promise<T> {
    this.#names.clear()
    return this.#ledgerTransaction(async session => {
      await clearTables(session)
      const result = await work(
        (table, rows) => insertRows(session, table, rows),
        take => readTables(session, take),
      )
      await session.query(COUNT_CHANGE)
      return result
    })
  }

  /**
   * Throws StorageError if charges cannot be written, and Busy if the database is a standby. Throws Busy, too, if this
   * machine's clock is off by more than a minute: its logs would be wrong, and it would misjudge certificates.
   */
  async check(): Promise<void> {
    await this.#readClock()
    const fault = clockFault(this.clockAhead, this.location)
    if (fault !== null) throw new Busy(`${fault}; set it, by NTP for instance`)
    const [state] = await this.#db.query<{ standby: boolean; fsync: string }>(STATE)
    if (state!.standby) throw new Busy(`${this.location} cannot be written just now: it is a standby`)
    if (state!.fsync !== 'on') throw new StorageError(`${this.location} does not sync its commits (fsync is off)`)
    // A server that is not ready gets no requests, so no charge would show that writing works again.
    if (this.#hasFailed) {
      await this.#db.query('SELECT bands_accounts.try_writing()')
      this.#hasFailed = false
    }
  }

  close(): Promise<void> {
    return this.#db.close()
  }

  async #readClock(): Promise<void> {
    this.#clock = await readClock(this.#db)
  }

  /** Runs a transaction that may read the whole ledger: with a long time limit, and without compiling its queries. */
  #ledgerTransaction<T>(work: (session: Queries) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const workWithoutJit = async (session: Queries): Promise<T> => {
      await session.query('SET LOCAL jit = off')
      return work(session)
    }
    return this.#db.transaction(workWithoutJit, { ...options, statementMs: LEDGER_TIMEOUT_MS })
  }

  /** Changes accounts or keys, and then their version; that comes last, because all writers lock its row. */
  #changeAccounts<T>(work: (session: Queries) => Promise<T>): Promise<T> {
    return this.#db.transaction(async session => {
      const result = await work(session)
      await session.query(COUNT_CHANGE)
      return result
    })
  }

  /** The stored names of accounts. @param ids may repeat */
  async #accountNames(ids: readonly number[]): Promise<string[]> {
    if (!ids.every(id => this.#names.has(id))) {
      if (this.#names.size > MAX_REMEMBERED_NAMES) this.#names.clear()
      const sql = 'SELECT id, account FROM bands_accounts.accounts WHERE id = ANY ($1)'
      const rows = await this.#db.query<{ id: number; account: string }>(sql, [[...new Set(ids)]], CHARGE_TIMEOUT_MS)
      for (const { id, account } of rows) this.#names.set(id, account)
    }
    return ids.map(id => {
      const name = this.#names.get(id)
      if (name === undefined) throw new StorageError(`${this.location} has no account of the number ${id}`)
      return name
    })
  }
}

/** A reading of the database's clock, in milliseconds since 1970, and of performance.now() at the same moment. */
interface Clock {
  time: number
  readAt: number
}

/** Reads the database's clock. It adds half of the query's duration, because the answer took about that long. */
async function readClock({ query }: Database): Promise<Clock> {
  const started = performance.now()
  const sql = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time'
  const [row] = await query<{ time: number }>(sql, [], CHARGE_TIMEOUT_MS)
  const readAt = performance.now()
  return { time: row!.time + (readAt - started) / 2, readAt }
}

/** Whether the failure may pass, or can be repaired while a server runs. */
function isStorageFailure(error: unknown): error is Busy | ConfigError | StorageError {
  return error instanceof Busy || error instanceof ConfigError || error instanceof StorageError
}

/** The row of an account. Throws NotFound with the nearest names. */
async function existingAccount({ query }: Queries, name: string): Promise<AccountRow> {
  const [row] = await query<AccountRow>(`${ACCOUNTS} WHERE account = $1`, [foldName(name)])
  if (row !== undefined) return row
  const names = (await query<{ name: string }>('SELECT name FROM bands_accounts.accounts')).map(row => row.name)
  throw missingError('account', name, names)
}

/** The row of a key, locked until the transaction ends. Throws NotFound. */
async function existingKey({ query }: Queries, identity: string): Promise<KeyRow> {
  const [row] = await query<KeyRow>(`${KEY_BY_IDENTITY} FOR UPDATE OF k`, [identity])
  if (row !== undefined) return row
  const keys = await query<{ identity: string }>('SELECT identity FROM bands_accounts.keys')
  const identities = keys.map(row => row.identity)
  throw missingError('key', identity, identities)
}

/** Inserts a key. Throws InvalidParameter if another active key has this name. @param replaced the old identity */
async function insertKey(
  { query }: Queries,
  account: number,
  key: NewKey,
  replaced: string | null = null,
): Promise<void> {
  // Lock the account, so that the second of two keys with one name finds the first.
  await query('SELECT FROM bands_accounts.accounts WHERE id = $1 FOR UPDATE', [account])
  const namesakes = await query<KeyRow>(`${KEYS} WHERE a.id = $1 AND k.name = $2`, [account, key.name])
  refuseNameOfActiveKey(namesakes, key, replaced)
  const created = Date.parse(key.created)
  const expires = key.expires === null ? null : Date.parse(key.expires)
  await query(INTO_KEYS, [account, key.identity, key.hash.toString('hex'), key.name, created, expires])
}

/** Changes the result of `version()`. */
const COUNT_CHANGE = 'UPDATE bands_accounts.changes SET count = count + 1'

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

/** SQL: whether a row belongs to the account with the id $1. Uses its name, because the tables are indexed by it. */
const IS_OF_ACCOUNT = 'account = (SELECT account FROM bands_accounts.accounts WHERE id = $1)'

const USED_CREDITS = `SELECT
  coalesce(sum(credits) FILTER (WHERE period = 'day'), 0)::bigint AS day,
  coalesce(sum(credits) FILTER (WHERE period = 'hour'), 0)::bigint AS hour
  FROM bands_accounts.counters
  WHERE ${IS_OF_ACCOUNT} AND (period, start) IN (('day', $2::bigint), ('hour', $3::bigint))`

const WATCHED_TICKERS = `SELECT w.ticker FROM bands_accounts.watched w
  JOIN bands_accounts.accounts a ON a.account = w.account WHERE a.id = $1 ORDER BY w.place`
const DAY_USAGE = `SELECT to_char(to_timestamp(start / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS date, credits, requests
  FROM bands_accounts.counters WHERE ${IS_OF_ACCOUNT} AND period = 'day' AND start >= $2 ORDER BY start DESC`

/** Enough to sum a ledger of many millions of rows. */
const LEDGER_TIMEOUT_MS = 3_600_000

const IS_OF_ACCOUNT_OR_ALL = `($1::bigint IS NULL OR ${IS_OF_ACCOUNT})`

const LEDGER_TOTALS = `SELECT l.rows + d.requests AS rows, l.requests + d.requests AS requests, l.credits + d.credits AS credits
  FROM (SELECT count(*) AS rows, count(DISTINCT (account, request)) AS requests,
      coalesce(sum(credits), 0)::bigint AS credits FROM bands_accounts.ledger WHERE ${IS_OF_ACCOUNT_OR_ALL}) AS l,
    (SELECT coalesce(sum(requests), 0)::bigint AS requests, coalesce(sum(credits), 0)::bigint AS credits
      FROM bands_accounts.days WHERE ${IS_OF_ACCOUNT_OR_ALL}) AS d`

/** SQL: whether a counter or a sum, `row`, is hourly and its day was rolled up, so that it cannot be compared. */
const isRolledUpSql = (row: string): string => `${row}.period = 'hour' AND EXISTS (
  SELECT FROM bands_accounts.days d WHERE d.account = ${row}.account AND d.start = ${row}.start - ${row}.start % ${DAY_MS})`

const DISCREPANCIES = `WITH hours AS (
    SELECT account, at - at % ${HOUR_MS} AS start, sum(credits) AS credits, count(*) AS requests
    FROM bands_accounts.ledger WHERE ${IS_OF_ACCOUNT_OR_ALL} GROUP BY 1, 2
  ), sums AS (
    SELECT account, period, start, sum(credits)::bigint AS credits, sum(requests)::bigint AS requests FROM (
      SELECT account, period, start - start % length AS start, credits, requests
      FROM hours, (VALUES ('day', ${DAY_MS}), ('hour', ${HOUR_MS})) AS p(period, length)
      UNION ALL SELECT account, 'day', start, credits, requests FROM bands_accounts.days WHERE ${IS_OF_ACCOUNT_OR_ALL}
    ) AS s WHERE NOT (${isRolledUpSql('s')}) GROUP BY 1, 2, 3
  ), kept AS (
    SELECT * FROM bands_accounts.counters c WHERE ${IS_OF_ACCOUNT_OR_ALL} AND NOT (${isRolledUpSql('c')})
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
