import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Account,
  type Accounts,
  type Charge,
  type Charged,
  type DayUsage,
  dayStart,
  type EachRows,
  type KeyEntry,
  type NewKey,
  type Reconciliation,
  type RolledUp,
  type Used,
} from '../../accounts/accounts.js'
import { Busy, remedy, StorageError } from '../../errors.js'
import type { Tier } from '../../model/terms.js'
import {
  type AccountRow,
  accountOf,
  accountTaken,
  checkKeyName,
  endOf,
  folded,
  type KeyRow,
  keyOf,
  keyWithHash,
  missing,
} from '../account-rows.js'
import { clearBooks, putBooks, readBooks } from './books-copy.js'
import { chargeAll, reconciled, rollUp, usedIn } from './charging.js'
import { hasLittleRoom, inItsPlace, type Notice, openForWriting, Session } from './connection.js'
import type { DatabaseKind } from './migrations.js'

/** How long another process's commits are waited for, and the longest sleep between two looks, in milliseconds. */
const PATIENCE = 5_000
const LONGEST_SLEEP = 20
const MOST_MARKS = 10_000

/** Accounts in one SQLite file, made first if it is missing. Throws StorageError, Busy. */
export function openSqliteAccounts(path: string, notice?: Notice): Accounts {
  const db = openForWriting(path, ACCOUNTS, notice)
  // SQLite would wait with the whole process standing still; here a request that has to wait lets the others go on.
  db.pragma('busy_timeout = 0')
  return new SqliteAccounts(new Session(path, db, ACCOUNTS))
}

class SqliteAccounts implements Accounts {
  readonly location: string
  readonly #db: Session
  readonly #checkPlace: () => void
  /** The minute in which a key was last marked as used, of those that were used lately. */
  readonly #marks = new Map<string, number>()
  /** Of accounts and keys, through this connection: what SQLite counts are the changes of others. */
  #changes = 0
  /** The last transaction could not be written. */
  #failed = false

  constructor(db: Session) {
    this.location = db.location
    this.#db = db
    this.#checkPlace = inItsPlace(db.location)
  }

  version(): Promise<string> {
    return this.#patiently(() => {
      const { data_version } = this.#db.get<{ data_version: number }>('PRAGMA data_version')!
      return `${data_version}.${this.#changes}`
    })
  }

  secret(): Promise<Buffer> {
    return this.#patiently(() => this.#db.get<{ secret: Buffer }>(SECRET)!.secret)
  }

  create(name: string, tier: Tier, at: string): Promise<Account> {
    return this.#writing(() => {
      const taken = this.#row(name)
      if (taken !== undefined) throw accountTaken(taken.name, name)
      this.#db.run(INTO_ACCOUNTS, name, folded(name), tier, Date.parse(at))
      return accountOf(this.#row(name)!)
    })
  }

  accounts(): Promise<Account[]> {
    return this.#patiently(() =>
      this.#db.all<AccountRow>('SELECT id, name, tier, created FROM accounts ORDER BY folded').map(accountOf),
    )
  }

  account(name: string): Promise<Account> {
    return this.#patiently(() => accountOf(this.#existing(name)))
  }

  setTier(name: string, tier: Tier): Promise<Account> {
    return this.#writing(() => {
      this.#db.run('UPDATE accounts SET tier = ? WHERE id = ?', tier, this.#existing(name).id)
      return accountOf(this.#existing(name))
    })
  }

  addKey(account: number, key: NewKey): Promise<void> {
    return this.#writing(() => this.#insertKey(account, key))
  }

  keys(account?: number): Promise<KeyEntry[]> {
    const only = account ?? null
    return this.#patiently(() => this.#db.all<KeyRow>(KEYS_OF, only, only).map(keyOf))
  }

  key(identity: string): Promise<(KeyEntry & { hash: Buffer }) | null> {
    return this.#patiently(() => {
      const row = this.#keyRow(identity)
      return row === undefined ? null : keyWithHash(row)
    })
  }

  revoke(identity: string, at: string): Promise<void> {
    return this.#writing(() => {
      this.#existingKey(identity)
      this.#db.run('UPDATE keys SET revoked = ? WHERE identity = ? AND revoked IS NULL', Date.parse(at), identity)
    })
  }

  roll(identity: string, key: NewKey, until: string): Promise<void> {
    return this.#writing(() => {
      const old = this.#existingKey(identity)
      this.#db.run('UPDATE keys SET expires = ? WHERE identity = ?', endOf(old, key, until), identity)
      this.#insertKey(old.account, key, identity)
    })
  }

  used(account: number, at: number): Promise<Used> {
    return this.#patiently(() => usedIn(this.#db, account, at))
  }

  async charge(charges: readonly Charge[]): Promise<Charged[]> {
    if (charges.length === 0) return []
    const write = () => chargeAll(this.#db, charges, this.#marks)
    const { charged, marked } = await this.#patiently(() => this.#transaction(write))
    if (this.#marks.size > MOST_MARKS) this.#marks.clear()
    for (const [key, minute] of marked) this.#marks.set(key, minute)
    return charged
  }

  usage(account: number, from: number): Promise<DayUsage[]> {
    const sql = `SELECT strftime('%F', start / 1000, 'unixepoch') AS date, credits, requests FROM counters
      WHERE account = ? AND period = 'day' AND start >= ? ORDER BY start DESC`
    return this.#patiently(() => this.#db.all<DayUsage>(sql, account, dayStart(from)))
  }

  reconcile(account?: number): Promise<Reconciliation> {
    return this.#patiently(() => reconciled(this.#db, account ?? null))
  }

  rollUp(at: number): Promise<RolledUp> {
    return this.#patiently(() => this.#transaction(() => rollUp(this.#db, at)))
  }

  readBooks(each: EachRows): Promise<void> {
    return this.#db.readingOn(() => readBooks(this.#db, each))
  }

  async replaceBooks<T>(work: (put: EachRows, look: (each: EachRows) => Promise<void>) => Promise<T>): Promise<T> {
    await this.#patiently(() => this.#db.run('BEGIN IMMEDIATE'))
    try {
      clearBooks(this.#db)
      const result = await work(
        (book, rows) => putBooks(this.#db, book, rows),
        each => readBooks(this.#db, each),
      )
      this.#db.run('COMMIT')
      this.#changes += 1
      return result
    } catch (error) {
      try {
        this.#db.run('ROLLBACK')
      } catch {
        // Some failures of the disk end it by themselves, and are what is to be told then.
      }
      throw error
    }
  }

  check(): Promise<void> {
    return this.#patiently(() => {
      this.#db.get(SECRET)
      if (hasLittleRoom(this.location)) throw new StorageError(`${this.location}: the disk is full`)
      // Where nobody is sent to a server that is not ready, only a write of its own can tell that writing works again.
      if (this.#failed) this.#transaction(() => this.#tryWriting())
    })
  }

  async close(): Promise<void> {
    this.#db.close()
  }

  /** SQLite writes nothing where a row stays as it was. */
  #tryWriting(): void {
    this.#db.run("INSERT INTO secrets VALUES ('try', x'')")
    this.#db.run("DELETE FROM secrets WHERE use = 'try'")
  }

  /** Changes accounts or keys. Counted once that is done: who asks meanwhile must not take the old for the new. */
  #writing<T>(work: () => T): Promise<T> {
    return this.#patiently(() => {
      const result = this.#transaction(work)
      this.#changes += 1
      return result
    })
  }

  #transaction<T>(work: () => T): T {
    try {
      const result = this.#db.transaction(work)
      this.#failed = false
      return result
    } catch (error) {
      this.#failed ||= error instanceof StorageError
      throw error
    }
  }

  /**
   * At once, or again and again until another process lets go. Throws Busy when that takes too long, and StorageError once
   * the file is no longer in its place: keys that were revoked would count in it, and what is charged to it be lost.
   */
  async #patiently<T>(work: () => T): Promise<T> {
    const deadline = performance.now() + PATIENCE
    for (let longest = 1; ; longest = Math.min(2 * longest, LONGEST_SLEEP)) {
      try {
        this.#checkPlace()
        return work()
      } catch (error) {
        if (!(error instanceof Busy) || performance.now() >= deadline) throw error
      }
      // By chance, so that two that wait do not wake together for ever.
      await sleep(Math.random() * longest)
    }
  }

  #row(name: string): AccountRow | undefined {
    return this.#db.get<AccountRow>('SELECT id, name, tier, created FROM accounts WHERE folded = ?', folded(name))
  }

  #existing(name: string): AccountRow {
    const row = this.#row(name)
    if (row !== undefined) return row
    throw missing('account', name, this.#names('SELECT name FROM accounts'))
  }

  #keyRow(identity: string): KeyRow | undefined {
    return this.#db.get<KeyRow>(KEY_BY_IDENTITY, identity)
  }

  #existingKey(identity: string): KeyRow {
    const row = this.#keyRow(identity)
    if (row !== undefined) return row
    throw missing('key', identity, this.#names('SELECT identity AS name FROM keys'))
  }

  #names(sql: string): string[] {
    return this.#db.all<{ name: string }>(sql).map(row => row.name)
  }

  /** @param besides the key whose place it takes, which may count for a while yet */
  #insertKey(account: number, key: NewKey, besides = ''): void {
    const made = Date.parse(key.created)
    checkKeyName(this.#db.all<KeyRow>(KEYS_NAMED, account, key.name), key, besides)
    const expires = key.expires === null ? null : Date.parse(key.expires)
    this.#db.run(INTO_KEYS, key.identity, key.hash.toString('hex'), account, key.name, made, expires)
  }
}

/**
 * Accounts, keys and what they used, in a file of their own: an import holds the data's write lock for seconds, and a
 * server only reads the data. Steps are never edited once released. All times are milliseconds since 1970.
 */
export const ACCOUNTS: DatabaseKind = {
  table: 'ledger',
  made: remedy('accounts create', ['NAME'], { tier: 'free' }),
  // What was charged stands nowhere else.
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
  ],
}

const KEYS = `SELECT k.identity, k.hash, k.name, k.created, k.expires, k.last_used, k.revoked,
  k.account, a.name AS account_name, a.tier, a.created AS account_created
  FROM keys k JOIN accounts a ON a.id = k.account`

const SECRET = "SELECT secret FROM secrets WHERE use = 'tags'"

/** Runs at every request, so its text is put together once. */
const KEY_BY_IDENTITY = `${KEYS} WHERE k.identity = ?`
const KEYS_OF = `${KEYS} WHERE ? IS NULL OR k.account = ? ORDER BY k.id`
const INTO_ACCOUNTS = 'INSERT INTO accounts (name, folded, tier, created) VALUES (?, ?, ?, ?)'
const INTO_KEYS = 'INSERT INTO keys (identity, hash, account, name, created, expires) VALUES (?, ?, ?, ?, ?, ?)'
const KEYS_NAMED = `${KEYS} WHERE k.account = ? AND k.name = ?`
