// For: accounts in a file, for one server.
// In: a path.
// Out: accounts; a ledger that proves its counters.

import { setTimeout as sleep } from 'node:timers/promises'
import { Busy, remedy, StorageError } from '../../../core/errors.js'
import { isDiskNearlyFull, type Notice, openForWriting, Session } from '../../../data/store/sqlite/connection.js'
import { fileLostCheck } from '../../../data/store/sqlite/files.js'
import type { DatabaseKind } from '../../../data/store/sqlite/migrations.js'
import { addHashesSql, hashWrittenRows, JUST_WRITTEN, markWrittenSql } from '../../../data/store/sqlite/row-hash.js'
import {
  ACCOUNT_TABLE_NAMES,
  ACCOUNT_TABLES,
  type Accounts,
  type AccountTable,
  type ColumnValue,
  type DayUsage,
  dayStart,
  type NewKey,
  ROWS_PER_BATCH,
  type TakeRows,
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
import { chargeAll, readUsedCredits, reconcileLedger, rollUpOldestRows } from './charging.js'

/** How long to wait for another process's commits, and the longest pause between two attempts, in milliseconds. */
const MAX_WAIT_MS = 5_000
const MAX_PAUSE_MS = 20
const MAX_REMEMBERED_KEYS = 10_000

/** Tables whose rows have a hash. */
const HASHED_TABLES = ['accounts', 'keys'] as const

/** Accounts in one SQLite file, made first if it is missing. Throws StorageError, Busy. */
export function openSqliteAccounts(path: string, notice?: Notice): Accounts {
  const db = openForWriting(path, ACCOUNTS, notice)
  // SQLite's own waiting would block the process; waiting here lets other requests continue.
  db.pragma('busy_timeout = 0')
  return accountsIn(new Session(path, db, ACCOUNTS))
}

function accountsIn(db: Session): Accounts {
  const { location } = db
  const checkPlace = fileLostCheck(location)
  /** The minute in which each recently used key was last marked as used. */
  const lastUsed = new Map<string, number>()
  /** Changes to accounts and keys through this connection; SQLite counts only those of other connections. */
  let changes = 0
  /** The last transaction could not be written. */
  let failed = false

  /**
   * Runs now, or retries until another process releases its lock. Throws Busy when that takes too long. Throws
   * StorageError once the file was moved: revoked keys would count in it, and charges to it would be lost.
   */
  const patiently = async <T>(work: () => T): Promise<T> => {
    const deadline = performance.now() + MAX_WAIT_MS
    for (let longest = 1; ; longest = Math.min(2 * longest, MAX_PAUSE_MS)) {
      try {
        checkPlace()
        return work()
      } catch (error) {
        if (!(error instanceof Busy) || performance.now() >= deadline) throw error
      }
      // Random, so that two waiting processes do not wake together for ever.
      await sleep(Math.random() * longest)
    }
  }
  const transaction = <T>(work: () => T): T => {
    try {
      const result = db.transaction(work)
      failed = false
      return result
    } catch (error) {
      failed ||= error instanceof StorageError
      throw error
    }
  }
  /** Changes accounts or keys. Counted after the change, so that readers meanwhile do not cache old rows as new. */
  const writing = <T>(work: () => T): Promise<T> =>
    patiently(() => {
      const result = transaction(() => {
        const done = work()
        hashWrittenRows(db, HASHED_TABLES)
        return done
      })
      changes += 1
      return result
    })

  return {
    location,
    now: Date.now,
    version: () =>
      patiently(() => `${db.get<{ data_version: number }>('PRAGMA data_version')!.data_version}.${changes}`),
    secret: () => patiently(() => db.get<{ secret: Buffer }>(SECRET)!.secret),
    create: (name, tier, at) =>
      writing(() => {
        const taken = accountRow(db, name)
        if (taken !== undefined) throw accountTakenError(taken.name, name)
        db.run(INTO_ACCOUNTS, name, foldName(name), tier, Date.parse(at))
        return accountFromRow(accountRow(db, name)!)
      }),
    accounts: () => patiently(() => db.all<AccountRow>(`${ALL_ACCOUNTS} ORDER BY folded`).map(accountFromRow)),
    account: name => patiently(() => accountFromRow(existingAccount(db, name))),
    setTier: (name, tier) =>
      writing(() => {
        db.run(SET_TIER, tier, existingAccount(db, name).id)
        return accountFromRow(existingAccount(db, name))
      }),
    addKey: (account, key) => writing(() => insertKey(db, account, key)),
    keys: account => patiently(() => db.all<KeyRow>(KEYS_OF, account ?? null, account ?? null).map(keyFromRow)),
    key: identity =>
      patiently(() => {
        const row = db.get<KeyRow>(KEY_BY_IDENTITY, identity)
        return row === undefined ? null : keyAndHashFromRow(row)
      }),
    revoke: (identity, at) =>
      writing(() => {
        existingKey(db, identity)
        db.run(REVOKE, Date.parse(at), identity)
      }),
    roll: (identity, key, until) =>
      writing(() => {
        const old = existingKey(db, identity)
        db.run(SET_END, endOfReplacedKey(old, key, until), identity)
        insertKey(db, old.account, key, identity)
      }),
    usedCredits: (account, at) => patiently(() => readUsedCredits(db, account, at)),
    async charge(charges) {
      if (charges.length === 0) return []
      const { charged, used } = await patiently(() => transaction(() => chargeAll(db, charges, lastUsed)))
      if (lastUsed.size > MAX_REMEMBERED_KEYS) lastUsed.clear()
      for (const [key, minute] of used) lastUsed.set(key, minute)
      return charged
    },
    watchedTickers: account => patiently(() => watchedTickers(db, account)),
    changeWatchList: (account, change) => patiently(() => transaction(() => changeWatchList(db, account, change))),
    usage: (account, from) => patiently(() => db.all<DayUsage>(DAY_USAGE, account, dayStart(from))),
    reconcile: account => patiently(() => reconcileLedger(db, account ?? null)),
    rollUp: at => patiently(() => transaction(() => rollUpOldestRows(db, at))),
    readTables: each => db.readAtOneMomentAsync(() => readTables(db, each)),
    async replaceTables(work) {
      await patiently(() => db.run('BEGIN IMMEDIATE'))
      const result = await db.finishTransaction(async () => {
        clearTables(db)
        const done = await work(
          (book, rows) => insertRows(db, book, rows),
          each => readTables(db, each),
        )
        hashWrittenRows(db, HASHED_TABLES)
        return done
      })
      changes += 1
      return result
    },
    check: () =>
      patiently(() => {
        db.get(SECRET)
        if (isDiskNearlyFull(location)) throw new StorageError(`${location}: the disk is full`)
        // A server that is not ready gets no requests: only a write of its own shows that writing works again.
        if (failed) transaction(() => tryWriting(db))
      }),
    close: async () => db.close(),
  }
}

function watchedTickers(db: Session, account: number): string[] {
  return db.all<{ ticker: string }>(WATCHED_TICKERS, account).map(({ ticker }) => ticker)
}

function changeWatchList(db: Session, account: number, change: WatchChange): string[] {
  const before = watchedTickers(db, account)
  const tickers = applyWatchChange(before, change)
  if (tickers.length > change.maxTickers) throw watchListTooLongError(change)
  for (const ticker of before) if (!tickers.includes(ticker)) db.run(UNWATCH, account, ticker)
  for (const ticker of tickers) if (!before.includes(ticker)) db.run(INTO_WATCHED, account, account, ticker)
  return tickers
}

/** SQLite writes nothing where a row stays as it was. */
function tryWriting(db: Session): void {
  db.run("INSERT INTO secrets VALUES ('try', x'')")
  db.run("DELETE FROM secrets WHERE use = 'try'")
}

function accountRow(db: Session, name: string): AccountRow | undefined {
  return db.get<AccountRow>(`${ALL_ACCOUNTS} WHERE folded = ?`, foldName(name))
}

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

/** @param besides the key that is being replaced; it may stay active for a while */
function insertKey(db: Session, account: number, key: NewKey, besides = ''): void {
  const made = Date.parse(key.created)
  refuseNameOfActiveKey(db.all<KeyRow>(KEYS_NAMED, account, key.name), key, besides)
  const expires = key.expires === null ? null : Date.parse(key.expires)
  db.run(INTO_KEYS, key.identity, key.hash.toString('hex'), account, key.name, made, expires)
}

/**
 * Accounts, keys and their usage, in a file of their own. An import holds the data's write lock for seconds, and a
 * server
 * only reads the data. Released steps are never edited. All times are milliseconds since 1970.
 */
export const ACCOUNTS: DatabaseKind = {
  table: 'ledger',
  createCommand: remedy('accounts create', ['NAME'], { tier: 'free' }),
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
    addHashesSql(HASHED_TABLES),
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

/** Runs at every request, so its text is put together once. */
const KEY_BY_IDENTITY = `${KEYS} WHERE k.identity = ?`
const KEYS_OF = `${KEYS} WHERE ? IS NULL OR k.account = ? ORDER BY k.id`
const INTO_ACCOUNTS = `INSERT INTO accounts (name, folded, tier, created, row_hash) VALUES (?, ?, ?, ?, ${JUST_WRITTEN})`
const INTO_KEYS = `INSERT INTO keys (identity, hash, account, name, created, expires, row_hash)
  VALUES (?, ?, ?, ?, ?, ?, ${JUST_WRITTEN})`
const SET_TIER = `UPDATE accounts SET tier = ?, ${markWrittenSql('accounts')} WHERE id = ?`
const REVOKE = `UPDATE keys SET revoked = ?, ${markWrittenSql('keys')} WHERE identity = ? AND revoked IS NULL`
const SET_END = `UPDATE keys SET expires = ?, ${markWrittenSql('keys')} WHERE identity = ?`
const KEYS_NAMED = `${KEYS} WHERE k.account = ? AND k.name = ?`

/** The key for reading a table in batches. Here an account has a number; elsewhere its name identifies it. */
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

/** All rows, inside a transaction. */
function readTables(db: Session, each: TakeRows): Promise<void> {
  return readTablesInBatches(each, (book, last) => {
    const keys = BATCH_KEYS[book].map(name => `t.${name}`)
    const columns = ACCOUNT_TABLES[book].map(column => `${portableColumnSql(book, column)} AS ${column}`)
    const selected = [...columns, ...keys.map((key, i) => `${key} AS key_${i}`)].join(', ')
    const after = last === null ? '' : `WHERE (${keys.join(', ')}) > (${keys.map(() => '?').join(', ')})`
    const sql = `SELECT ${selected} FROM ${book} t ${after} ORDER BY ${keys.join(', ')} LIMIT ${ROWS_PER_BATCH}`
    return db.all<KeyedRow>(sql, ...(last ?? []))
  })
}

function portableColumnSql(book: AccountTable, column: string): string {
  if (column !== 'account') return `t.${column}`
  return book === 'accounts' ? 't.folded' : '(SELECT folded FROM accounts WHERE id = t.account)'
}

function clearTables(db: Session): void {
  for (const table of ACCOUNT_TABLE_NAMES.toReversed()) db.run(`DELETE FROM ${table}`)
}

function insertRows(db: Session, book: AccountTable, rows: readonly (readonly ColumnValue[])[]): void {
  const columns: string[] = ACCOUNT_TABLES[book].map(column =>
    book === 'accounts' && column === 'account' ? 'folded' : column,
  )
  const values: string[] = columns.map(column =>
    column === 'account' ? '(SELECT id FROM accounts WHERE folded = ?)' : '?',
  )
  if (HASHED_TABLES.some(table => table === book)) {
    columns.push('row_hash')
    values.push(JUST_WRITTEN)
  }
  const sql = `INSERT INTO ${book} (${columns.join(', ')}) VALUES (${values.join(', ')})`
  for (const row of rows) db.run(sql, ...row)
}
