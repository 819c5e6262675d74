// For: keys, accounts and credits of the server's customers.
// In: a key and the cost of an answer.
// Out: whether the answer may be sent, or the reason why not.

import { setTimeout as sleep } from 'node:timers/promises'
import { invalid } from '../../core/errors.js'
import type { Tier } from '../../core/model/terms.js'

/** The customer: credits and tier belong to the account, regardless of the number of its keys. */
export interface Account {
  id: number
  name: string
  tier: Tier
  /** ISO time, UTC. */
  created: string
}

/** A stored key: never the key itself, which is shown once, when it is created. */
export interface KeyEntry {
  /** The eight characters that identify it. */
  identity: string
  account: Account
  /** Chosen by its owner. */
  name: string
  created: string
  /** ISO time from which the key is refused; null: never. */
  expires: string | null
  /** ISO time, to the minute; null until the key is used. */
  lastUsed: string | null
  revoked: string | null
}

export interface NewKey {
  identity: string
  /** SHA-256 of the whole key. */
  hash: Buffer
  name: string
  created: string
  expires: string | null
}

/** The cost of one answer, recorded before the answer is sent. */
export interface Charge {
  account: number
  /** Identity of the caller's key. */
  key: string
  /** The server's own number of the request; one row of the ledger has it. */
  requestId: string
  /** SHA-256 of the caller's name for this request, so that a retry is free; null without a name. */
  idempotency: Buffer | null
  /** SHA-256 of the question: reusing the name for another question is refused. */
  question: Buffer
  /** SHA-256 of the answer: a retry with another answer is charged. */
  answer: Buffer
  endpoint: string
  credits: number
  limits: { day: number; hour: number }
  /** Milliseconds since 1970, UTC. */
  at: number
}

/** Credits that an account has used in one day and in one hour. */
export interface UsedCredits {
  day: number
  hour: number
}

/**
 * - charged: it was recorded.
 * - repeated: free. The same answer to the same question was charged under the same name within 48 hours.
 * - limited: refused, because it would exceed a limit.
 * - conflict: refused, because the name belongs to another question.
 */
export interface ChargeResult {
  outcome: 'charged' | 'repeated' | 'limited' | 'conflict'
  /** After this charge. */
  usedCredits: UsedCredits
}

export interface WatchChange {
  add: readonly string[]
  remove: readonly string[]
  /** The most tickers that the list may have. */
  maxTickers: number
}

/** What an account used in one day. */
export interface DayUsage {
  /** YYYY-MM-DD */
  date: string
  credits: number
  requests: number
}

/** A counter that is not the sum of its ledger rows. */
export interface Discrepancy {
  account: string
  of: 'credits' | 'requests'
  period: 'day' | 'hour'
  /** Start of the day or the hour, ISO time, UTC. */
  start: string
  counter: number
  ledger: number
}

/** The sums of the retained ledger. A rolled-up day counts as its original rows. */
export interface Reconciliation {
  rows: number
  requests: number
  credits: number
  discrepancies: Discrepancy[]
}

/** The result of one step of rolling up the ledger. */
export interface RollUpResult {
  /** Ledger rows that were added to the sum of their day, and deleted. */
  rows: number
  /** Sums of days that were deleted, because they are older than the retention. */
  days: number
  /** Nothing is left to do, or another process is doing it. */
  isOver: boolean
}

/** A value as every database has it; times are milliseconds since 1970. */
export type ColumnValue = string | number | Buffer | null

/** The tables in the order of writing, with the columns that a copy has. The folded name identifies an account. */
export const ACCOUNT_TABLES = {
  accounts: ['account', 'name', 'tier', 'created'],
  keys: ['account', 'identity', 'hash', 'name', 'created', 'expires', 'last_used', 'revoked'],
  secrets: ['use', 'secret'],
  ledger: ['account', 'request', 'key', 'endpoint', 'credits', 'at'],
  days: ['account', 'start', 'credits', 'requests'],
  counters: ['account', 'period', 'start', 'credits', 'requests'],
  named: ['account', 'name', 'question', 'answer', 'at'],
  watched: ['account', 'place', 'ticker'],
} as const

export type AccountTable = keyof typeof ACCOUNT_TABLES
export const ACCOUNT_TABLE_NAMES = Object.keys(ACCOUNT_TABLES) as AccountTable[]

/** Receives some rows of a table, each with the columns of ACCOUNT_TABLES. */
export type TakeRows = (table: AccountTable, rows: readonly (readonly ColumnValue[])[]) => Promise<void> | void

/** Rows that are read, sent or written together. */
export const ROWS_PER_BATCH = 2_000

/** The number of connections to a database, of idle ones among them, and of queries that wait for one. */
export interface PoolState {
  total: number
  idle: number
  waiting: number
  /** How long all queries together have waited for a connection. */
  waitedSeconds: number
}

/**
 * Accounts, keys and the ledger. The interface is coarse, so that a database over a network works as well as a file. It
 * decides only what needs one transaction: no limit is exceeded, and nothing is charged twice.
 */
export interface Accounts {
  /** Where they are stored, for messages. */
  readonly location: string
  /** The connections to a database server. A file has none. */
  readonly pool?: PoolState
  /** Milliseconds since 1970 by the database's clock, which all servers on these accounts use. */
  now(): number
  /** Milliseconds that this machine's clock is ahead of the database's; absent if it is the same clock. */
  readonly clockAhead?: number
  /** Changes whenever any process changes an account or a key; it may also change without that. */
  version(): Promise<string>
  /** The secret key for answer tags: the same for every server on these accounts. */
  secret(): Promise<Buffer>
  /** Throws InvalidParameter when the name is taken. */
  create(name: string, tier: Tier, at: string): Promise<Account>
  /** By name, ascending. */
  accounts(): Promise<Account[]>
  /** Throws NotFound with the nearest names. */
  account(name: string): Promise<Account>
  /** Throws NotFound. */
  setTier(name: string, tier: Tier): Promise<Account>
  /** Throws InvalidParameter if the account has an active key of the same name. */
  addKey(account: number, key: NewKey): Promise<void>
  /** Keys in the order of creation, of one account (default: of all). */
  keys(account?: number): Promise<KeyEntry[]>
  /** null: unknown identity */
  key(identity: string): Promise<(KeyEntry & { hash: Buffer }) | null>
  /** Makes the key invalid from this ISO time on. Throws NotFound. */
  revoke(identity: string, at: string): Promise<void>
  /** Replaces a key; the old one stays active until the ISO time `until`. Makes both changes or none. */
  roll(identity: string, key: NewKey, until: string): Promise<void>
  /** @param at milliseconds since 1970 */
  usedCredits(account: number, at: number): Promise<UsedCredits>
  /** Writes all charges or none, and syncs them to the disk. Resolves to one result per charge, in their order. */
  charge(charges: readonly Charge[]): Promise<ChargeResult[]>
  /** The tickers on the watch list of an account, first added first. */
  watchedTickers(account: number): Promise<string[]>
  /**
   * Adds tickers to the end of the watch list, then removes others, in one transaction. Returns the list. Throws
   * InvalidParameter, and changes nothing, if the list would exceed `maxTickers`.
   */
  changeWatchList(account: number, change: WatchChange): Promise<string[]>
  /** Days with usage, newest first. @param from milliseconds since 1970; its UTC day is the first one */
  usage(account: number, from: number): Promise<DayUsage[]>
  /** Sums the ledger of one account (default: of all), and compares it with the counters. */
  reconcile(account?: number): Promise<Reconciliation>
  /**
   * Runs one short step of rolling up the ledger, in one transaction; see retentionStarts. It adds to existing sums,
   * because other servers may run it too and it may stop at any time.
   */
  rollUp(at: number): Promise<RollUpResult>
  /** Passes all rows, as of one moment, to `take`, in batches. */
  readTables(take: TakeRows): Promise<void>
  /**
   * Replaces all rows by those that `work` inserts, or changes nothing.
   * @param work gets a function that inserts rows, and one that reads them back before the commit
   */
  replaceTables<T>(work: (insert: TakeRows, readBack: (take: TakeRows) => Promise<void>) => Promise<T>): Promise<T>
  /** Throws StorageError if charges cannot be written: the disk is full, or the last write failed. */
  check(): Promise<void>
  close(): Promise<void>
}

/** A machine's clock may differ from that of its accounts by this much, in milliseconds. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000

/** Says how far this machine's clock is off; null if it is right. @param aheadMs of the clock of the accounts */
export function clockFault(aheadMs: number, location: string): string | null {
  if (Math.abs(aheadMs) <= MAX_CLOCK_DIFFERENCE_MS) return null
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  const direction = aheadMs > 0 ? 'ahead of' : 'behind'
  return `the clock of this machine is ${seconds} seconds ${direction} that of ${location}`
}

type KeyState = 'active' | 'expired' | 'revoked'

/** Whether a key can be used. @param now milliseconds since 1970 */
export function keyState({ expires, revoked }: Pick<KeyEntry, 'expires' | 'revoked'>, now: number): KeyState {
  if (revoked !== null) return 'revoked'
  return expires !== null && Date.parse(expires) <= now ? 'expired' : 'active'
}

/** The name of an account or a key in the form that is stored. Throws InvalidParameter. @param param for the message */
export function parseName(param: string, text: string): string {
  const name = text.normalize('NFC')
  const length = [...name].length
  // Invisible or direction-changing characters would make two names look alike.
  if (length >= 1 && length <= MAX_NAME_LENGTH && name.trim() === name && !/[\p{C}\p{Zl}\p{Zp}]/u.test(name))
    return name
  const allowed = `a name of 1 to ${MAX_NAME_LENGTH} printable characters, without blanks at its ends`
  throw invalid('not_allowed', { param, value: text, allowed })
}

const MAX_NAME_LENGTH = 64

/** Credits count per UTC day and hour, so that they reset for everyone at the same moment. */
export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** Recording every use of a key would double the writes; one per minute is enough. */
export const MINUTE_MS = 60_000

/** How long repeating a named request with the same answer is free. */
export const REPEAT_MS = 48 * HOUR_MS

/** Number of days before today with usage data. */
export const RETENTION_DAYS = 400

/** The start of the UTC day or hour that contains a time. All are milliseconds since 1970. */
export const dayStart = (at: number): number => at - (at % DAY_MS)
export const hourStart = (at: number): number => at - (at % HOUR_MS)

/**
 * The times from which the ledger keeps its rows, and its sums of days. All are milliseconds since 1970. A row per
 * answer and the hourly counters are kept while requests can be repeated free of charge. After that only the sum of
 * each day is kept, for RETENTION_DAYS.
 */
export function retentionStarts(now: number): { rowsFrom: number; daysFrom: number } {
  return { rowsFrom: dayStart(now - REPEAT_MS), daysFrom: dayStart(now) - RETENTION_DAYS * DAY_MS }
}

/** Pause between two steps of a roll-up, so that charges can be written in between. */
const STEP_PAUSE_MS = 20

/**
 * Replaces the ledger rows of older days by one sum per account and day, and deletes sums beyond the retention. Runs in
 * short steps until nothing is left, each committed to disk. Returns the totals of all steps.
 * @param now milliseconds since 1970
 * @param signal stops the work between two steps, with an AbortError
 */
export async function rollUpLedger(
  accounts: Pick<Accounts, 'rollUp'>,
  now: number,
  signal?: AbortSignal,
): Promise<Omit<RollUpResult, 'isOver'>> {
  const totals = { rows: 0, days: 0 }
  for (;;) {
    const { rows, days, isOver } = await accounts.rollUp(now)
    totals.rows += rows
    totals.days += days
    if (isOver) return totals
    await sleep(STEP_PAUSE_MS, undefined, signal === undefined ? {} : { signal })
  }
}
