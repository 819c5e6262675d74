import { setTimeout as sleep } from 'node:timers/promises'
import type {
  Account,
  Accounts,
  Charge,
  Charged,
  DayUsage,
  KeyEntry,
  NewKey,
  Reconciliation,
  Used,
} from '../../accounts/accounts.js'
import { dayStart } from '../../accounts/periods.js'
import { stateOf } from '../../accounts/state.js'
import { Busy, InvalidParameter, NotFound, quoted } from '../../errors.js'
import type { Tier } from '../../model/tier.js'
import { didYouMean, suggest } from '../../suggest.js'
import { openForWriting } from '../connection.js'
import { Session } from '../session.js'
import { chargeAll, usedIn } from './charging.js'
import {
  type AccountRow,
  accountOf,
  folded,
  INTO_ACCOUNTS,
  INTO_KEYS,
  KEY_BY_IDENTITY,
  KEYS_NAMED,
  KEYS_OF,
  type KeyRow,
  keyOf,
} from './entries.js'
import { reconciled } from './reconcile.js'
import { ACCOUNTS } from './schema.js'

/** How long another process's commits are waited for, and the longest sleep between two looks, in milliseconds. */
const PATIENCE = 5_000
const LONGEST_SLEEP = 20
const MOST_MARKS = 10_000

/** Accounts in one SQLite file, made first if it is missing. Throws StorageError, Busy. */
export function openSqliteAccounts(path: string): Accounts {
  const db = openForWriting(path, ACCOUNTS)
  // SQLite would wait with the whole process standing still; here a request that has to wait lets the others go on.
  db.pragma('busy_timeout = 0')
  return new SqliteAccounts(new Session(path, db, ACCOUNTS))
}

class SqliteAccounts implements Accounts {
  readonly location: string
  readonly #db: Session
  /** The minute in which a key was last marked as used, of those that were used lately. */
  readonly #marks = new Map<string, number>()
  /** Of accounts and keys, through this connection: what SQLite counts are the changes of others. */
  #changes = 0

  constructor(db: Session) {
    this.location = db.location
    this.#db = db
  }

  version(): Promise<string> {
    return this.#patiently(() => {
      const { data_version } = this.#db.get<{ data_version: number }>('PRAGMA data_version')!
      return `${data_version}.${this.#changes}`
    })
  }

  create(name: string, tier: Tier, at: string): Promise<Account> {
    return this.#writing(() => {
      const taken = this.#row(name)
      if (taken !== undefined) {
        const message = `there is an account ${quoted(taken.name)} already; choose another name (case does not count).`
        throw new InvalidParameter(message, { param: 'name', value: name })
      }
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
      return row === undefined ? null : { ...keyOf(row), hash: Buffer.from(row.hash, 'hex') }
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
      if (stateOf(keyOf(old), Date.parse(key.created)) !== 'active') {
        const message = `the key ${quoted(identity)} counts no more, so none can take its place; make a new one.`
        throw new InvalidParameter(message, { param: 'identity', value: identity })
      }
      const end = Math.min(Date.parse(until), old.expires ?? Number.POSITIVE_INFINITY)
      this.#db.run('UPDATE keys SET expires = ? WHERE identity = ?', end, identity)
      this.#insertKey(old.account, key, identity)
    })
  }

  used(account: number, at: number): Promise<Used> {
    return this.#patiently(() => usedIn(this.#db, account, at))
  }

  async charge(charges: readonly Charge[]): Promise<Charged[]> {
    if (charges.length === 0) return []
    const write = () => chargeAll(this.#db, charges, this.#marks)
    const { charged, marked } = await this.#patiently(() => this.#db.transaction(write))
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

  async close(): Promise<void> {
    this.#db.close()
  }

  /** Changes accounts or keys. Counted once that is done: who asks meanwhile must not take the old for the new. */
  #writing<T>(work: () => T): Promise<T> {
    return this.#patiently(() => {
      const result = this.#db.transaction(work)
      this.#changes += 1
      return result
    })
  }

  /** At once, or again and again until another process lets go. Throws Busy when that takes too long. */
  async #patiently<T>(work: () => T): Promise<T> {
    const deadline = performance.now() + PATIENCE
    for (let longest = 1; ; longest = Math.min(2 * longest, LONGEST_SLEEP)) {
      try {
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
    const names = this.#db.all<{ name: string }>('SELECT name FROM accounts').map(row => row.name)
    const suggestions = suggest(name, names)
    throw new NotFound(`there is no account ${quoted(name)}.${didYouMean(suggestions)}`, suggestions)
  }

  #keyRow(identity: string): KeyRow | undefined {
    return this.#db.get<KeyRow>(KEY_BY_IDENTITY, identity)
  }

  #existingKey(identity: string): KeyRow {
    const row = this.#keyRow(identity)
    if (row !== undefined) return row
    const identities = this.#db.all<{ identity: string }>('SELECT identity FROM keys').map(row => row.identity)
    const suggestions = suggest(identity, identities)
    throw new NotFound(`there is no key ${quoted(identity)}.${didYouMean(suggestions)}`, suggestions)
  }

  /** @param besides the key whose place it takes, which may count for a while yet */
  #insertKey(account: number, key: NewKey, besides = ''): void {
    const made = Date.parse(key.created)
    const named = this.#db.all<KeyRow>(KEYS_NAMED, account, key.name)
    const rival = named.find(row => row.identity !== besides && stateOf(keyOf(row), made) === 'active')
    if (rival !== undefined) {
      const message = `${quoted(rival.account_name)} has a key ${quoted(key.name)} already, ${rival.identity}; choose another name.`
      throw new InvalidParameter(message, { param: 'name', value: key.name })
    }
    const expires = key.expires === null ? null : Date.parse(key.expires)
    this.#db.run(INTO_KEYS, key.identity, key.hash.toString('hex'), account, key.name, made, expires)
  }
}
