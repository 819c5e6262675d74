import { didYouMean, InvalidParameter, NotFound, quoted, remedy, StorageError, suggest } from '../../core/errors.js'
import { TIER_NAMES, type Tier } from '../../core/model/terms.js'
import {
  ACCOUNT_TABLE_NAMES,
  ACCOUNT_TABLES,
  type Account,
  type AccountTable,
  type ColumnValue,
  type Discrepancy,
  type KeyEntry,
  keyState,
  type NewKey,
  ROWS_PER_BATCH,
  type TakeRows,
  type WatchChange,
} from './accounts.js'

/** Rows of accounts and keys as every database stores them, and as callers see them. Times: milliseconds since 1970. */
export interface AccountRow {
  id: number
  name: string
  tier: Tier
  created: number
}

export interface KeyRow {
  identity: string
  /** SHA-256 in hexadecimal digits. */
  hash: string
  name: string
  created: number
  expires: number | null
  last_used: number | null
  revoked: number | null
  account: number
  account_name: string
  tier: Tier
  account_created: number
}

/** Throws StorageError for a row that no account has. */
export function accountFromRow({ id, name, tier, created }: AccountRow): Account {
  if (!TIER_NAMES.includes(tier)) throw damagedRowError(`the account ${quoted(name)} has the tier ${quoted(tier)}`)
  return { id, name, tier, created: isoTime(created, `the account ${quoted(name)}`) }
}

/** The content of such a row cannot be recovered. */
function damagedRowError(what: string): StorageError {
  return new StorageError(`the accounts are damaged: ${what}; put a backup in their place`, {
    remedy: remedy('verify'),
  })
}

/** Throws StorageError for a row that no key has. */
export function keyFromRow(row: KeyRow): KeyEntry {
  const { identity, account: id, account_name: name, tier, account_created: created } = row
  const timeOrNull = (at: number | null): string | null => (at === null ? null : isoTime(at, `the key ${identity}`))
  return {
    identity,
    account: accountFromRow({ id, name, tier, created }),
    name: row.name,
    created: isoTime(row.created, `the key ${identity}`),
    expires: timeOrNull(row.expires),
    lastUsed: timeOrNull(row.last_used),
    revoked: timeOrNull(row.revoked),
  }
}

export function keyAndHashFromRow(row: KeyRow): KeyEntry & { hash: Buffer } {
  return { ...keyFromRow(row), hash: Buffer.from(row.hash, 'hex') }
}

/** Names are compared as people read them: case aside, and however a letter with an accent was typed. */
export const foldName = (name: string): string => name.normalize('NFC').toLowerCase()

/** @param what names the thing that has the time, for messages */
function isoTime(at: number, what: string): string {
  if (!isStorableTime(at)) throw damagedRowError(`${what} has a time that is none (${at})`)
  return new Date(at).toISOString()
}

/** Whether a time is a date with a year of four digits. */
export const isStorableTime = (at: number): boolean => at >= 0 && at < 253_402_300_800_000

/** @param taken the name of the account that there is */
export function accountTakenError(taken: string, name: string): InvalidParameter {
  const message = `there is an account ${quoted(taken)} already; choose another name (case does not count).`
  return new InvalidParameter(message, { param: 'name', value: name })
}

/** @param known the names that there are */
export function missingError(kind: 'account' | 'key', name: string, known: readonly string[]): NotFound {
  const suggestions = suggest(name, known)
  const message = `there is no ${kind} ${quoted(name)}.${didYouMean(suggestions)}`
  return new NotFound(message, suggestions, { missing: { kind, name } })
}

/**
 * Throws InvalidParameter if an active key already has this name.
 * @param named the keys of the account with that name
 * @param besides the key that is being replaced
 */
export function refuseNameOfActiveKey(named: readonly KeyRow[], key: NewKey, besides = ''): void {
  const made = Date.parse(key.created)
  const rival = named.find(row => row.identity !== besides && keyState(keyFromRow(row), made) === 'active')
  if (rival === undefined) return
  const message = `${quoted(rival.account_name)} has a key ${quoted(key.name)} already, ${rival.identity}; choose another name.`
  throw new InvalidParameter(message, { param: 'name', value: key.name })
}

/** When the replaced key ends. Throws InvalidParameter if it is no longer active. */
export function endOfReplacedKey(old: KeyRow, key: NewKey, until: string): number {
  if (keyState(keyFromRow(old), Date.parse(key.created)) !== 'active') {
    const message = `the key ${quoted(old.identity)} counts no more, so none can take its place; make a new one.`
    throw new InvalidParameter(message, { param: 'identity', value: old.identity })
  }
  return Math.min(Date.parse(until), old.expires ?? Number.POSITIVE_INFINITY)
}

/** A counter and the ledger rows of its time; a side that is missing counts as 0. */
export interface CounterComparison {
  name: string
  period: 'day' | 'hour'
  start: number
  counter_credits: number
  ledger_credits: number
  counter_requests: number
  ledger_requests: number
}

export function discrepanciesIn(found: CounterComparison): Discrepancy[] {
  const { name: account, period, start } = found
  const at = { account, period, start: isStorableTime(start) ? new Date(start).toISOString() : String(start) }
  const both: Discrepancy[] = [
    { ...at, of: 'credits', counter: found.counter_credits, ledger: found.ledger_credits },
    { ...at, of: 'requests', counter: found.counter_requests, ledger: found.ledger_requests },
  ]
  return both.filter(({ counter, ledger }) => counter !== ledger)
}

/** A watch list that would get too long. */
export function watchListTooLongError({ maxTickers }: WatchChange): InvalidParameter {
  return new InvalidParameter(`a watch list has at most ${maxTickers} tickers; take some out first.`, {
    param: 'tickers',
  })
}

/** The list after a change: added ones last, each once. */
export function applyWatchChange(before: readonly string[], { add, remove }: WatchChange): string[] {
  return [...new Set([...before, ...add])].filter(ticker => !remove.includes(ticker))
}

/** A row as it is read to be moved, with `key_0` and so on: what the table is read on by. */
export type KeyedRow = Record<string, ColumnValue>

/**
 * Passes every row of every table to `each`, in groups. @param read reads the rows after a key; null for the first of
 * a table
 */
export async function readTablesInBatches(
  each: TakeRows,
  read: (book: AccountTable, after: readonly ColumnValue[] | null) => Promise<KeyedRow[]> | KeyedRow[],
): Promise<void> {
  for (const book of ACCOUNT_TABLE_NAMES) {
    let after: readonly ColumnValue[] | null = null
    do {
      const rows: KeyedRow[] = await read(book, after)
      const values = rows.map(row => ACCOUNT_TABLES[book].map(column => row[column]!))
      await each(book, values)
      const last = rows.length < ROWS_PER_BATCH ? {} : rows.at(-1)!
      const key = Object.entries(last).filter(([name]) => name.startsWith('key_'))
      after = key.length === 0 ? null : key.map(([, value]) => value)
    } while (after !== null)
  }
}
