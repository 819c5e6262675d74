// For: keys, accounts and credits of the server's customers.
// In: a key and the cost of an answer.
// Out: leave to answer, or the reason why not.

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
  /** What its owner calls it. */
  name: string
  created: string
  /** ISO time from which it counts no more; null: never. */
  expires: string | null
  /** To the minute; null until it has been used. */
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
  /** Identity of the key that was used. */
  key: string
  /** The server's own number of the request; one row of the ledger bears it. */
  requestId: string
  /** SHA-256 of what the caller named this request, so that a retry is free; null when nothing was named. */
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

/** Credits used in the day and the hour of a moment. */
export interface UsedCredits {
  day: number
  hour: number
}

/**
 * The result of a charge. It was recorded. Or it was free: the same answer to the same question was charged under the
 * same name within 48 hours. Or it was refused: it would exceed a limit, or the name belongs to another question.
 */
export interface ChargeResult {
  outcome: 'charged' | 'repeated' | 'limited' | 'conflict'
  /** After it. */
  usedCredits: UsedCredits
}

/** A change of a watch list. */
export interface WatchChange {
  add: readonly string[]
  remove: readonly string[]
  /** How many tickers the list may have. */
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

/** All retained data. A rolled-up day counts as its original rows. */
export interface Reconciliation {
  rows: number
  requests: number
  credits: number
  discrepancies: Discrepancy[]
}

/** The result of one step of rolling up the ledger. */
export interface RollUpResult {
  /** That became a part of their day. */
  rows: number
  /** Deleted days of accounts, older than the retention. */
  days: number
  /** There is nothing left to do, or another one is doing it. */
  isOver: boolean
}

/** A value as every database has it; times are milliseconds since 1970. */
export type ColumnValue = string | number | Buffer | null

/** Tables in the order of writing, with the columns that are copied. An account is identified by its folded name. */
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

/** Some rows of a table, each with the columns of BOOKS. */
export type TakeRows = (book: AccountTable, rows: readonly (readonly ColumnValue[])[]) => Promise<void> | void

/** Rows that are read, sent or written together. */
export const ROWS_PER_BATCH = 2_000

/** How many connections there are, how many of them have nothing to do, and how many questions wait for one. */
export interface PoolState {
  total: number
  idle: number
  waiting: number
  /** How long questions have waited for one, all together, in seconds. */
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
  /** Milliseconds that this machine's clock is ahead of that one; absent where it is the same clock. */
  readonly clockAhead?: number
  /** Stays the same as long as no account and no key is changed, by whomever; it may change without that as well. */
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
  /** Throws InvalidParameter when the account has a key of that name which still counts. */
  addKey(account: number, key: NewKey): Promise<void>
  /** In the order of creation; of one account (default: of all). */
  keys(account?: number): Promise<KeyEntry[]>
  /** null: unknown identity */
  key(identity: string): Promise<(KeyEntry & { hash: Buffer }) | null>
  /** The key counts no more from this moment on. Throws NotFound. */
  revoke(identity: string, at: string): Promise<void>
  /** Replaces a key; the old one stays active until `until`. Both changes or none. */
  roll(identity: string, key: NewKey, until: string): Promise<void>
  usedCredits(account: number, at: number): Promise<UsedCredits>
  /** All or none are written, synced to the disk when the promise settles; one outcome a charge, in their order. */
  charge(charges: readonly Charge[]): Promise<ChargeResult[]>
  /** The tickers on the watch list of an account, first added first. */
  watchedTickers(account: number): Promise<string[]>
  /**
   * Adds tickers to the end of that list, then takes others out of it, in one transaction. It returns the list. Throws
   * InvalidParameter where the list would get longer than `most`; then nothing is changed.
   */
  changeWatchList(account: number, change: WatchChange): Promise<string[]>
  /** Days with usage, from the UTC day of a moment on, newest first. */
  usage(account: number, from: number): Promise<DayUsage[]>
  /** Sums the ledger and compares it with the counters; of one account (default: of all). */
  reconcile(account?: number): Promise<Reconciliation>
  /**
   * A short step of rolling up the ledger, in one transaction; see retention. It adds to existing rows, because other
   * servers may run it too and it may stop at any time.
   */
  rollUp(at: number): Promise<RollUpResult>
  /** All data as of one moment, in batches. */
  readTables(each: TakeRows): Promise<void>
  /**
   * Replaces all books by those that the work writes, or changes nothing.
   * @param work gets a function that writes rows, and one that reads them back before the commit
   */
  replaceTables<T>(work: (put: TakeRows, readBack: (each: TakeRows) => Promise<void>) => Promise<T>): Promise<T>
  /** Throws StorageError where a charge could not be written down: without room, and from a failed one on until one works. */
  check(): Promise<void>
  close(): Promise<void>
}

/** A machine's clock may differ from that of its accounts by this much, in milliseconds. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000

/** Says how far a machine's clock is off; null where it is right. @param ahead of the accounts' clock, in milliseconds */
export function clockFault(ahead: number, location: string): string | null {
  if (Math.abs(ahead) <= MAX_CLOCK_DIFFERENCE_MS) return null
  const seconds = Math.round(Math.abs(ahead) / 1000)
  return `the clock of this machine is ${seconds} seconds ${ahead > 0 ? 'ahead of' : 'behind'} that of ${location}`
}

/** Only an active key counts. */
type KeyState = 'active' | 'expired' | 'revoked'

/** The state of a key at a time, in milliseconds since 1970. */
export function keyState({ expires, revoked }: Pick<KeyEntry, 'expires' | 'revoked'>, now: number): KeyState {
  if (revoked !== null) return 'revoked'
  return expires !== null && Date.parse(expires) <= now ? 'expired' : 'active'
}

/** The stored name of an account or a key. Throws InvalidParameter naming the parameter. */
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

/** How long a named request can be repeated free of charge while its answer is the same. */
export const REPEAT_MS = 48 * HOUR_MS

/** Number of days before today with usage data. */
export const RETENTION_DAYS = 400

/** Start of the day or the hour of a moment; all in milliseconds since 1970. */
export const dayStart = (at: number): number => at - (at % DAY_MS)
export const hourStart = (at: number): number => at - (at % HOUR_MS)

/**
 * Retention of the ledger. A day keeps one row per answer as long as requests can be repeated free of charge. Then it
 * has one row per account. Days older than RETENTION_DAYS are deleted, also from the counters. Hourly credits are retained
 * as long as the rows that they sum up. All in milliseconds since 1970.
 */
export function retentionStarts(at: number): { rowsFrom: number; daysFrom: number } {
  return { rowsFrom: dayStart(at - REPEAT_MS), daysFrom: dayStart(at) - RETENTION_DAYS * DAY_MS }
}

/** Pause between two steps, in milliseconds, so that charges can run in between. */
const PAUSE_MS = 20

/** Rolls up all due days step by step, each committed to disk. Throws AbortError when aborted. */
export async function rollUpLedger(
  accounts: Pick<Accounts, 'rollUp'>,
  at: number,
  signal?: AbortSignal,
): Promise<Omit<RollUpResult, 'isOver'>> {
  const all = { rows: 0, days: 0 }
  for (;;) {
    const { rows, days, isOver } = await accounts.rollUp(at)
    all.rows += rows
    all.days += days
    if (isOver) return all
    await sleep(PAUSE_MS, undefined, { ...(signal && { signal }) })
  }
}
