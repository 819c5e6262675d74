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

/** The account of a row. Throws StorageError if the row is damaged: its tier is unknown, or its time is impossible. */
export function accountFromRow({ id, name, tier, created }: AccountRow): Account {
  if (!TIER_NAMES.includes(tier)) throw damagedRowError(`the account ${quoted(name)} has the tier ${quoted(tier)}`)
  return { id, name, tier, created: isoTime(created, `the account ${quoted(name)}`) }
}

/** The error for a damaged row. @param what the damage, as a clause */
function damagedRowError(what: string): StorageError {
  return new StorageError(`the accounts are damaged: ${what}; put a backup in their place`, {
    remedy: remedy('verify'),
  })
}

/** The key of a row. Throws StorageError for a damaged row: its account's tier is unknown, or a time impossible. */
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

/** A name in the form in which names are compared: lower case, each accented letter as one character. */
export const foldName = (name: string): string => name.normalize('NFC').toLowerCase()

/** An ISO time. Throws StorageError for an impossible time, in milliseconds since 1970. @param owner for the message */
function isoTime(at: number, owner: string): string {
  if (!isStorableTime(at)) throw damagedRowError(`${owner} has an impossible time (${at})`)
  return new Date(at).toISOString()
}

/** Whether a time, in milliseconds since 1970, has a year of four digits. */
export const isStorableTime = (at: number): boolean => at >= 0 && at < 253_402_300_800_000

/** The error for a name that another account has. @param existingName that account's name, which may differ in case */
export function accountTakenError(existingName: string, name: string): InvalidParameter {
  const message = `there is an account ${quoted(existingName)} already; choose another name (case does not count).`
  return new InvalidParameter(message, { param: 'name', value: name })
}

/** The error for an unknown account or key. @param known all existing names, to suggest similar ones */
export function missingError(kind: 'account' | 'key', name: string, known: readonly string[]): NotFound {
  const suggestions = suggest(name, known)
  const message = `there is no ${kind} ${quoted(name)}.${didYouMean(suggestions)}`
  const command = kind === 'key' ? remedy('keys list') : remedy('accounts create', [name], { tier: 'free' })
  return new NotFound(message, suggestions, { missing: { kind, name }, remedy: command })
}

/**
 * Throws InvalidParameter if the account already has an active key with the name of the new key.
 * @param namesakes the account's keys with that name
 * @param replaced identity of the key that the new one replaces, and that may have the same name
 */
export function refuseNameOfActiveKey(namesakes: readonly KeyRow[], key: NewKey, replaced: string | null): void {
  const now = Date.parse(key.created)
  const rival = namesakes.find(row => row.identity !== replaced && keyState(keyFromRow(row), now) === 'active')
  if (rival === undefined) return
  const message = `${quoted(rival.account_name)} has a key ${quoted(key.name)} already, ${rival.identity}; choose another name.`
  throw new InvalidParameter(message, { param: 'name', value: key.name })
}

/**
 * When a replaced key ends, in milliseconds since 1970: at `until`, an ISO time, or at its own earlier end. Throws
 * InvalidParameter if it is no longer active.
 */
export function endOfReplacedKey(old: KeyRow, key: NewKey, until: string): number {
  if (keyState(keyFromRow(old), Date.parse(key.created)) !== 'active') {
    const message = `the key ${quoted(old.identity)} is no longer valid, so it cannot be replaced; make a new one.`
    throw new InvalidParameter(message, { param: 'identity', value: old.identity })
  }
  return Math.min(Date.parse(until), old.expires ?? Number.POSITIVE_INFINITY)
}

/** A counter, and the sums of the ledger rows of its period; a missing side counts as 0. */
export interface CounterComparison {
  name: string
  period: 'day' | 'hour'
  start: number
  counter_credits: number
  ledger_credits: number
  counter_requests: number
  ledger_requests: number
}

/** A discrepancy for each number of a counter, credits and requests, that differs from the ledger. */
export function discrepanciesIn(row: CounterComparison): Discrepancy[] {
  const { name: account, period, start } = row
  const common = { account, period, start: isStorableTime(start) ? new Date(start).toISOString() : String(start) }
  const comparisons: Discrepancy[] = [
    { ...common, of: 'credits', counter: row.counter_credits, ledger: row.ledger_credits },
    { ...common, of: 'requests', counter: row.counter_requests, ledger: row.ledger_requests },
  ]
  return comparisons.filter(({ counter, ledger }) => counter !== ledger)
}

export function watchListTooLongError({ maxTickers }: WatchChange): InvalidParameter {
  return new InvalidParameter(`a watch list has at most ${maxTickers} tickers; take some out first.`, {
    param: 'tickers',
  })
}

/** The watch list after a change: added tickers come last, and each ticker once. */
export function applyWatchChange(before: readonly string[], { add, remove }: WatchChange): string[] {
  return [...new Set([...before, ...add])].filter(ticker => !remove.includes(ticker))
}

/** A row with the columns of ACCOUNT_TABLES, and its sort key in the columns `key_0`, `key_1` and so on. */
export type KeyedRow = Record<string, ColumnValue>

/**
 * Passes every row of every table to `take`, in batches of ROWS_PER_BATCH.
 * @param readBatch reads the rows after a sort key; null: the first rows of a table
 */
export async function readTablesInBatches(
  take: TakeRows,
  readBatch: (table: AccountTable, after: readonly ColumnValue[] | null) => Promise<KeyedRow[]> | KeyedRow[],
): Promise<void> {
  for (const table of ACCOUNT_TABLE_NAMES) {
    let after: readonly ColumnValue[] | null = null
    for (;;) {
      const rows: KeyedRow[] = await readBatch(table, after)
      await take(
        table,
        rows.map(row => ACCOUNT_TABLES[table].map(column => row[column]!)),
      )
      if (rows.length < ROWS_PER_BATCH) break
      const sortKey = Object.entries(rows.at(-1)!).filter(([column]) => column.startsWith('key_'))
      after = sortKey.map(([, value]) => value)
    }
  }
}
