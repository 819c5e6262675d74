// For: accounts in a file, for one server.
// In: a path.
// Out: accounts, and a ledger that its counters are checked against.

import { setTimeout as sleep } from 'node:timers/promises'
import { Busy, remedy, StorageError } from '../../../core/errors.js'
import type { Tier } from '../../../core/model/terms.js'
import { isDiskNearlyFull, type Notice, openForWriting, Session } from '../../../data/store/sqlite/connection.js'
import { fileLostCheck } from '../../../data/store/sqlite/files.js'
import type { DatabaseKind } from '../../../data/store/sqlite/migrations.js'
import { addRowHashesSql, hashWrittenRows, JUST_WRITTEN, markWrittenSql } from '../../../data/store/sqlite/row-hash.js'
import {
  ACCOUNT_TABLE_NAMES,
  ACCOUNT_TABLES,
  type Account,
  type Accounts,
  type AccountTable,
  type Charge,
  type ChargeResult,
  type ColumnValue,
  type DayUsage,
  dayStart,
  type KeyEntry,
  type NewKey,
  type Reconciliation,
  ROWS_PER_BATCH,
  type RollUpResult,
  type TakeRows,
  type UsedCredits,
  type WatchChange,
} from '../accounts.js'
import {
  type AccountRow,
  accountFromRow,
  accountTakenError,
  applyWatchChange,
  endOfReplacedKey,
  foldName,
  type KeyedRow,
  type KeyRow,
  keyAndHashFromRow,
  keyFromRow,
  missingError,
  readTablesInBatches,
  refuseNameOfActiveKey,
  watchListTooLongError,
} from '../rows.js'
import { Counters, chargeAll, readUsedCredits, reconcileLedger, rollUpOldestRows } from './charging.js'

/** How long to wait for the commits of other processes, and the longest pause between two attempts. */
const MAX_WAIT_MS = 5_000
const MAX_PAUSE_MS = 20
const MAX_REMEMBERED_KEYS = 10_000

/** Tables whose rows have a hash. */
const HASHED_TABLES = ['accounts', 'keys'] as const

/** Opens the accounts in a SQLite file, and creates the file if it is missing. Throws StorageError, Busy. */
export function openSqliteAccounts(path: string, notice?: Notice): Accounts {
  const db = openForWriting(path, ACCOUNTS, notice)
  // SQLite's own waiting would block the process; retryWhileBusy lets other requests continue.
  db.pragma('busy_timeout = 0')
  return new SqliteAccounts(new Session(path, db, ACCOUNTS))
}

class SqliteAccounts implements Accounts {
  readonly location: string
  readonly now = Date.now
  readonly #db: Session
  readonly #counters: Counters
  /** Throws StorageError if the file was moved: in the old file revoked keys are active, and charges would be lost. */
  readonly #refuseLostFile: () => void
  /** The minute that is stored as the last use of each recently used key. */
  readonly #lastUsedMinutes = new Map<string, number>()
  /** Changes to accounts and keys through this connection; SQLite counts only those of other connections. */
  #ownChanges = 0
  /** Whether the last transaction could not be written. */
  #hasFailed = false

  constructor(db: Session) {
    this.location = db.location
    this.#db = db
    this.#counters = new Counters(db)
    this.#refuseLostFile = fileLostCheck(db.location)
  }

  version(): Promise<string> {
    return this.#retryWhileBusy(db => {
      const { data_version } = db.get<{ data_version: number }>('PRAGMA data_version')!
      return `${data_version}.${this.#ownChanges}`
    })
  }

  secret(): Promise<Buffer> {
    return this.#retryWhileBusy(db => db.get<{ secret: Buffer }>(SECRET)!.secret)
  }

  create(name: string, tier: Tier, at: string): Promise<Account> {
    return this.#changeAccounts(db => {
      const taken = accountRow(db, name)
      if (taken !== undefined) throw accountTakenError(taken.name, name)
      db.run(INTO_ACCOUNTS, name, foldName(name), tier, Date.parse(at))
      return accountFromRow(accountRow(db, name)!)
    })
  }

  accounts(): Promise<Account[]> {
    return this.#retryWhileBusy(db => db.all<AccountRow>(`${ALL_ACCOUNTS} ORDER BY folded`).map(accountFromRow))
  }

  account(name: string): Promise<Account> {
    return this.#retryWhileBusy(db => accountFromRow(existingAccount(db, name)))
  }

  setTier(name: string, tier: Tier): Promise<Account> {
    return this.#changeAccounts(db => {
      db.run(SET_TIER, tier, existingAccount(db, name).id)
      return accountFromRow(existingAccount(db, name))
    })
  }

  addKey(account: number, key: NewKey): Promise<void> {
    return this.#changeAccounts(db => insertKey(db, account, key))
  }

  keys(account: number | null = null): Promise<KeyEntry[]> {
    return this.#retryWhileBusy(db => db.all<KeyRow>(KEYS_OF, account, account).map(keyFromRow))
  }

  key(identity: string): Promise<(KeyEntry & { hash: Buffer }) | null> {
    return this.#retryWhileBusy(db => {
      const row = db.get<KeyRow>(KEY_BY_IDENTITY, identity)
      return row === undefined ? null : keyAndHashFromRow(row)
    })
  }

  revoke(identity: string, at: string): Promise<void> {
    return this.#changeAccounts(db => {
      existingKey(db, identity)
      db.run(REVOKE, Date.parse(at), identity)
    })
  }

  roll(identity: string, key: NewKey, until: string): Promise<void> {
    return this.#changeAccounts(db => {
      const replaced = existingKey(db, identity)
      db.run(SET_END, endOfReplacedKey(replaced, key, until), identity)
      insertKey(db, replaced.account, key, identity)
    })
  }

  usedCredits(account: number, at: number): Promise<UsedCredits> {
    return this.#retryWhileBusy(db => readUsedCredits(db, account, at))
  }

  /** Writes charges in one transaction, and remembers the minute that is now stored as the last use of their keys. */
  async charge(charges: readonly Charge[]): Promise<ChargeResult[]> {
    if (charges.length === 0) return []
    const lastUsedMinutes = this.#lastUsedMinutes
    const { results, newMinutes } = await this.#transaction(db =>
      chargeAll(db, this.#counters, charges, lastUsedMinutes),
    )
    if (lastUsedMinutes.size > MAX_REMEMBERED_KEYS) lastUsedMinutes.clear()
    for (const [key, minute] of newMinutes) lastUsedMinutes.set(key, minute)
    return results
  }

  watchedTickers(account: number): Promise<string[]> {
    return this.#retryWhileBusy(db => watchedTickers(db, account))
  }

  changeWatchList(account: number, change: WatchChange): Promise<string[]> {
    return this.#transaction(db => changeWatchList(db, account, change))
  }

  usage(account: number, from: number): Promise<DayUsage[]> {
    return this.#retryWhileBusy(db => db.all<DayUsage>(DAY_USAGE, account, dayStart(from)))
  }

  reconcile(account: number | null = null): Promise<Reconciliation> {
    return this.#retryWhileBusy(db => reconcileLedger(db, account))
  }

  rollUp(at: number): Promise<RollUpResult> {
    return this.#transaction(db => {
      this.#counters.clear()
      return rollUpOldestRows(db, at)
    })
  }

  readTables(take: TakeRows): Promise<void> {
    return this.#db.readAtOneMomentAsync(() => readTables(this.#db, take))
  }

  /** Replaces all rows by those that `work` inserts, in one transaction; `work` can read them before the commit. */
  async replaceTables<T>(
    work: (insert: TakeRows, readBack: (take: TakeRows) => Promise<void>) => Promise<T>,
  ): Promise<T> {
    const db = this.#db
    await this.#retryWhileBusy(() => db.run('BEGIN IMMEDIATE'))
    const result = await db.finishTransaction(async () => {
      for (const table of ACCOUNT_TABLE_NAMES.toReversed()) db.run(`DELETE FROM ${table}`)
      this.#counters.clear()
      const insert: TakeRows = (table, rows) => insertRows(db, table, rows)
      const workResult = await work(insert, take => readTables(db, take))
      hashWrittenRows(db, HASHED_TABLES)
      return workResult
    })
    this.#ownChanges += 1 // changes `version()`
    return result
  }

  /**
   * Checks whether accounts can be read, and after a failed write whether they can be written. Throws StorageError if
   * not. A server that is not ready gets no requests, so no other write would show that it is ready again.
   */
  check(): Promise<void> {
    return this.#retryWhileBusy(db => {
      // Any row will do.
      db.get(SECRET)
      if (isDiskNearlyFull(this.location)) throw new StorageError(`${this.location}: the disk is full`)
      if (this.#hasFailed) this.#tryTransaction(tryWriting)
    })
  }

  async close(): Promise<void> {
    this.#db.close()
  }

  /** Runs the work, again until no other process holds the lock. Throws Busy after MAX_WAIT_MS, and StorageError. */
  async #retryWhileBusy<T>(work: (db: Session) => T): Promise<T> {
    const deadline = performance.now() + MAX_WAIT_MS
    for (let maxPause = 1; ; maxPause = Math.min(2 * maxPause, MAX_PAUSE_MS)) {
      try {
        this.#refuseLostFile()
        return work(this.#db)
      } catch (error) {
        if (!(error instanceof Busy) || performance.now() >= deadline) throw error
      }
      // Random, so that two waiting processes do not always wake together.
      await sleep(Math.random() * maxPause)
    }
  }

  /** Runs the work in a transaction, as #retryWhileBusy does. */
  #transaction<T>(work: (db: Session) => T): Promise<T> {
    return this.#retryWhileBusy(() => this.#tryTransaction(work))
  }

  /** Runs the work once in a transaction, and notes whether that could be written. Throws Busy, StorageError. */
  #tryTransaction<T>(work: (db: Session) => T): T {
    try {
      const result = this.#db.transaction(() => work(this.#db))
      this.#hasFailed = false
      return result
    } catch (error) {
      this.#counters.clear()
      this.#hasFailed ||= error instanceof StorageError
      throw error
    }
  }

  /** Changes accounts or keys. `version()` changes after the commit, so that no reader caches old rows under it. */
  #changeAccounts<T>(work: (db: Session) => T): Promise<T> {
    return this.#retryWhileBusy(db => {
      const result = this.#tryTransaction(() => {
        const workResult = work(db)
        hashWrittenRows(db, HASHED_TABLES) // so that later damage shows
        return workResult
      })
      this.#ownChanges += 1 // part of `version()`
      return result
    })
  }
}

/** The tickers on the watch list of an account, first added first. */
function watchedTickers(db: Session, account: number): string[] {
  return db.all<{ ticker: string }>(WATCHED_TICKERS, account).map(({ ticker }) => ticker)
}

/** Returns the new watch list of an account. Throws InvalidParameter if it would be too long. */
function changeWatchList(db: Session, account: number, change: WatchChange): string[] {
  const before = watchedTickers(db, account)
  const tickers = applyWatchChange(before, change)
  if (tickers.length > change.maxTickers) throw watchListTooLongError(change)
  for (const ticker of before) if (!tickers.includes(ticker)) db.run(UNWATCH, account, ticker)
  // The second `account` finds the end of its list.
  for (const ticker of tickers) if (!before.includes(ticker)) db.run(INTO_WATCHED, account, account, ticker)
  return tickers
}

/** Inserts a row and deletes it, because SQLite writes nothing for an update that changes nothing. */
function tryWriting(db: Session): void {
  db.run("INSERT INTO secrets VALUES ('try', x'')")
  db.run("DELETE FROM secrets WHERE use = 'try'")
}

/** The row of an account; undefined for an unknown name. */
function accountRow(db: Session, name: string): AccountRow | undefined {
  return db.get<AccountRow>(`${ALL_ACCOUNTS} WHERE folded = ?`, foldName(name))
}

/** The row of an account. Throws NotFound with the nearest names. */
function existingAccount(db: Session, name: string): AccountRow {
  const row = accountRow(db, name)
  if (row !== undefined) return row
  throw missingError('account', name, selectNames(db, 'SELECT name FROM accounts'))
}

function existingKey(db: Session, identity: string): KeyRow {
  const row = db.get<KeyRow>(KEY_BY_IDENTITY, identity)
  if (row !== undefined) return row
  throw missingError('key', identity, selectNames(db, 'SELECT identity AS name FROM keys'))
}

function selectNames(db: Session, sql: string): string[] {
  return db.all<{ name: string }>(sql).map(row => row.name)
}

/** Inserts a key. Throws InvalidParameter if another active key has this name. @param replaced the old identity */
function insertKey(db: Session, account: number, key: NewKey, replaced: string | null = null): void {
  const created = Date.parse(key.created)
  refuseNameOfActiveKey(db.all<KeyRow>(KEYS_OF_NAME, account, key.name), key, replaced)
  const expires = key.expires === null ? null : Date.parse(key.expires)
  db.run(INTO_KEYS, key.identity, key.hash.toString('hex'), account, key.name, created, expires)
}

/**
 * The schema of accounts, keys and their usage. They have their own file, because an import locks the data for seconds,
 * and because a server only reads the data. Released steps are never edited. All times are milliseconds since 1970.
 */
export const ACCOUNTS: DatabaseKind = {
  table: 'ledger',
  createCommand: remedy('accounts create', ['NAME'], { tier: 'free' }),
  option: 'accounts',
  // Charges are stored nowhere else.
  mend: 'put a copy from before in its place',
  mode: 0o600,
  migrations: [
    `
    -- folded: the name as it is compared
    CREATE TABLE accounts (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL,
      folded TEXT NOT NULL UNIQUE,
      tier TEXT NOT NULL CHECK (tier IN ('free', 'plus', 'pro')),
      created INTEGER NOT NULL
    ) STRICT;

    -- hash: SHA-256 of the whole key, which itself is nowhere; in hexadecimal digits, which are read faster than a blob
    CREATE TABLE keys (
      id INTEGER PRIMARY KEY,
      identity TEXT NOT NULL UNIQUE,
      hash TEXT NOT NULL CHECK (length(hash) = 64),
      account INTEGER NOT NULL REFERENCES accounts (id),
      name TEXT NOT NULL,
      created INTEGER NOT NULL,
      expires INTEGER,
      last_used INTEGER,
      revoked INTEGER
    ) STRICT;
    CREATE INDEX keys_by_account ON keys (account);

    -- One row an answer that was charged, for ever; request: the server's own number of it, later ones higher
    CREATE TABLE ledger (
      request TEXT PRIMARY KEY,
      account INTEGER NOT NULL REFERENCES accounts (id),
      key TEXT NOT NULL,
      endpoint TEXT NOT NULL,
      credits INTEGER NOT NULL CHECK (credits > 0),
      at INTEGER NOT NULL CHECK (at >= 0)
    ) STRICT, WITHOUT ROWID;

    -- The sums of the ledger by day and by hour, kept with it in one transaction
    CREATE TABLE counters (
      account INTEGER NOT NULL REFERENCES accounts (id),
      period TEXT NOT NULL CHECK (period IN ('day', 'hour')),
      start INTEGER NOT NULL,
      credits INTEGER NOT NULL,
      requests INTEGER NOT NULL,
      PRIMARY KEY (account, period, start)
    ) STRICT, WITHOUT ROWID;

    -- Requests that their callers named. Both hashes are SHA-256; the lowest ids are the oldest.
    CREATE TABLE named (
      id INTEGER PRIMARY KEY,
      account INTEGER NOT NULL REFERENCES accounts (id),
      name BLOB NOT NULL,
      question BLOB NOT NULL,
      at INTEGER NOT NULL,
      UNIQUE (account, name)
    ) STRICT;
    `,
    `
    -- What tags of answers are keyed with. SQLite seeds its generator (ChaCha20) from the system's.
    CREATE TABLE secrets (
      use TEXT PRIMARY KEY,
      secret BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    INSERT INTO secrets VALUES ('tags', randomblob(32));

    -- SHA-256 of what was answered; that of requests named before this step is not known, and equals none
    ALTER TABLE named ADD COLUMN answer BLOB NOT NULL DEFAULT x'';
    `,
    `
    -- One row an account and a day whose rows of the ledger were added up and removed
    CREATE TABLE days (
      account INTEGER NOT NULL REFERENCES accounts (id),
      start INTEGER NOT NULL,
      credits INTEGER NOT NULL,
      requests INTEGER NOT NULL,
      PRIMARY KEY (account, start)
    ) STRICT, WITHOUT ROWID;
    `,
    addRowHashesSql(HASHED_TABLES),
    `
    -- The watch list of each account, in the order of place
    CREATE TABLE watched (
      account INTEGER NOT NULL REFERENCES accounts (id),
      place INTEGER NOT NULL,
      ticker TEXT NOT NULL,
      PRIMARY KEY (account, place),
      UNIQUE (account, ticker)
    ) STRICT, WITHOUT ROWID;
    `,
  ],
}

const ALL_ACCOUNTS = 'SELECT id, name, tier, created FROM accounts'
const DAY_USAGE = `SELECT strftime('%F', start / 1000, 'unixepoch') AS date, credits, requests FROM counters
  WHERE account = ? AND period = 'day' AND start >= ? ORDER BY start DESC`

const WATCHED_TICKERS = 'SELECT ticker FROM watched WHERE account = ? ORDER BY place'
const INTO_WATCHED = `INSERT INTO watched (account, place, ticker)
  VALUES (?, (SELECT coalesce(max(place), 0) + 1 FROM watched WHERE account = ?), ?)`
const UNWATCH = 'DELETE FROM watched WHERE account = ? AND ticker = ?'

const KEYS = `SELECT k.identity, k.hash, k.name, k.created, k.expires, k.last_used, k.revoked,
  k.account, a.name AS account_name, a.tier, a.created AS account_created
  FROM keys k JOIN accounts a ON a.id = k.account`

const SECRET = "SELECT secret FROM secrets WHERE use = 'tags'"

const KEY_BY_IDENTITY = `${KEYS} WHERE k.identity = ?`
const KEYS_OF = `${KEYS} WHERE ? IS NULL OR k.account = ? ORDER BY k.id`
const INTO_ACCOUNTS = `INSERT INTO accounts (name, folded, tier, created, row_hash) VALUES (?, ?, ?, ?, ${JUST_WRITTEN})`
const INTO_KEYS = `INSERT INTO keys (identity, hash, account, name, created, expires, row_hash)
  VALUES (?, ?, ?, ?, ?, ?, ${JUST_WRITTEN})`
const SET_TIER = `UPDATE accounts SET tier = ?, ${markWrittenSql('accounts')} WHERE id = ?`
const REVOKE = `UPDATE keys SET revoked = ?, ${markWrittenSql('keys')} WHERE identity = ? AND revoked IS NULL`
const SET_END = `UPDATE keys SET expires = ?, ${markWrittenSql('keys')} WHERE identity = ?`
const KEYS_OF_NAME = `${KEYS} WHERE k.account = ? AND k.name = ?`

/** The columns that sort a table when it is read in batches. */
const BATCH_KEYS: Record<AccountTable, readonly string[]> = {
  accounts: ['id'],
  keys: ['id'],
  secrets: ['use'],
  ledger: ['request'],
  days: ['account', 'start'],
  counters: ['account', 'period', 'start'],
  named: ['id'],
  watched: ['account', 'place'],
}

/** Passes all rows of all tables to `take`, in batches. Must run inside a transaction. */
function readTables(db: Session, take: TakeRows): Promise<void> {
  return readTablesInBatches(take, (table, after) => {
    const columns = ACCOUNT_TABLES[table].map(column => `${selectedColumnSql(table, column)} AS ${column}`)
    const sortColumns = BATCH_KEYS[table].map(name => `t.${name}`)
    const selection = [...columns, ...sortColumns.map((column, i) => `${column} AS key_${i}`)].join(', ')
    const placeholders = sortColumns.map(() => '?').join(', ')
    const sortKey = sortColumns.join(', ')
    const where = after === null ? '' : `WHERE (${sortKey}) > (${placeholders})`
    const sql = `SELECT ${selection} FROM ${table} t ${where} ORDER BY ${sortKey} LIMIT ${ROWS_PER_BATCH}`
    return db.all<KeyedRow>(sql, ...(after ?? []))
  })
}

/** SQL of a column that is copied. The tables have the id of an account; a copy has its folded name. */
function selectedColumnSql(table: AccountTable, column: string): string {
  if (column !== 'account') return `t.${column}`
  return table === 'accounts' ? 't.folded' : '(SELECT folded FROM accounts WHERE id = t.account)'
}

/** Inserts rows of a copy. Their column `account` is a folded name; the tables have `folded`, or the account's id. */
function insertRows(db: Session, table: AccountTable, rows: readonly (readonly ColumnValue[])[]): void {
  const columns: string[] = [...ACCOUNT_TABLES[table]]
  const valuesSql = columns.map(() => '?')
  const accountIndex = columns.indexOf('account')
  if (table === 'accounts') columns[accountIndex] = 'folded'
  else if (accountIndex !== -1) valuesSql[accountIndex] = '(SELECT id FROM accounts WHERE folded = ?)'
  if (HASHED_TABLES.some(hashed => hashed === table)) {
    columns.push('row_hash')
    valuesSql.push(JUST_WRITTEN) // until hashWrittenRows replaces it by the hash
  }
  const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${valuesSql.join(', ')})`
  for (const row of rows) db.run(sql, ...row)
}
