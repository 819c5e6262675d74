import { setTimeout as sleep } from 'node:timers/promises'
import { invalid } from '../errors.js'
import type { Tier } from '../model/terms.js'

/** Who pays: credits and tier belong to the account, whatever the number of its keys. */
export interface Account {
  id: number
  name: string
  tier: Tier
  /** ISO time, UTC. */
  created: string
}

/** A key as it is kept: never the key itself, which is shown once, when it is made. */
export interface KeyEntry {
  /** The eight characters by which it is found. */
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

/** What one answer costs, to be written down before it leaves. */
export interface Charge {
  account: number
  /** Identity of the key that asked. */
  key: string
  /** The server's own number of the request; one row of the ledger bears it. */
  requestId: string
  /** SHA-256 of what the caller named this request, so that a retry is free; null when nothing was named. */
  idempotency: Buffer | null
  /** SHA-256 of what is asked: the same name for another question is refused. */
  question: Buffer
  /** SHA-256 of what is answered: a retry that would get another answer is charged. */
  answer: Buffer
  endpoint: string
  credits: number
  limits: { day: number; hour: number }
  /** Milliseconds since 1970, UTC. */
  at: number
}

/** Credits used in the day and the hour of a moment. */
export interface Used {
  day: number
  hour: number
}

/**
 * What became of a charge: written down; free, because the same answer to the same question was charged under the same
 * name within 48 hours; refused, as it would pass a limit; or the name already belongs to another question.
 */
export interface Charged {
  outcome: 'charged' | 'repeated' | 'limited' | 'conflict'
  /** After it. */
  used: Used
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

/** Of all that is kept. A day that was rolled up counts as the rows that it was made of. */
export interface Reconciliation {
  rows: number
  requests: number
  credits: number
  discrepancies: Discrepancy[]
}

/** What one step of rolling the ledger up has done. */
export interface RolledUp {
  /** That became a part of their day. */
  rows: number
  /** Of accounts, that were older than what is kept. */
  days: number
  /** There is nothing left to do, or another one is doing it. */
  isOver: boolean
}

/** A value as every database has it; times are milliseconds since 1970. */
export type BookValue = string | number | Buffer | null

/** Tables, in the order in which they are written, and what is moved of their rows. An account is named as it is filed. */
export const BOOKS = {
  accounts: ['account', 'name', 'tier', 'created'],
  keys: ['account', 'identity', 'hash', 'name', 'created', 'expires', 'last_used', 'revoked'],
  secrets: ['use', 'secret'],
  ledger: ['account', 'request', 'key', 'endpoint', 'credits', 'at'],
  days: ['account', 'start', 'credits', 'requests'],
  counters: ['account', 'period', 'start', 'credits', 'requests'],
  named: ['account', 'name', 'question', 'answer', 'at'],
} as const

export type Book = keyof typeof BOOKS
export const BOOK_NAMES = Object.keys(BOOKS) as Book[]

/** Some rows of a table, each with the columns of BOOKS. */
export type EachRows = (book: Book, rows: readonly (readonly BookValue[])[]) => Promise<void> | void

/** Rows that are read, sent or written together. */
export const ROWS_TOGETHER = 2_000

/** How many connections there are, how many of them have nothing to do, and how many questions wait for one. */
export interface PoolState {
  total: number
  idle: number
  waiting: number
  /** How long questions have waited for one, all together, in seconds. */
  waited: number
}

/**
 * Accounts, keys and the ledger. Coarse, so that a database over a network can answer as well as a file; decides nothing
 * but what must be decided in one transaction: that a limit is not passed, and that nothing is charged twice.
 */
export interface Accounts {
  /** Where they are kept, for messages. */
  readonly location: string
  /** Of a database that is asked over a network: its connections. A file has none. */
  readonly pool?: PoolState
  /** Milliseconds since 1970 by the clock of whatever keeps them: every server on these accounts counts by it. */
  now(): number
  /** Milliseconds that this machine's clock is ahead of that one; absent where it is the same clock. */
  readonly clockAhead?: number
  /** Stays the same as long as no account and no key is changed, by whomever; it may change without that as well. */
  version(): Promise<string>
  /** What tags of answers are keyed with: the same for every server on these accounts, and told to nobody. */
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
  /** In the order in which they were made; of all accounts unless one is given. */
  keys(account?: number): Promise<KeyEntry[]>
  /** null: unknown identity */
  key(identity: string): Promise<(KeyEntry & { hash: Buffer }) | null>
  /** The key counts no more from this moment on. Throws NotFound. */
  revoke(identity: string, at: string): Promise<void>
  /** Puts a key in place of another, which counts until `until`; one or none of both. */
  roll(identity: string, key: NewKey, until: string): Promise<void>
  used(account: number, at: number): Promise<Used>
  /** All or none are written, synced to the disk when the promise settles; one outcome a charge, in their order. */
  charge(charges: readonly Charge[]): Promise<Charged[]>
  /** Days with usage, from the UTC day of a moment on, newest first. */
  usage(account: number, from: number): Promise<DayUsage[]>
  /** Adds the ledger up and holds it against the counters; of all accounts unless one is given. */
  reconcile(account?: number): Promise<Reconciliation>
  /**
   * A short step of rolling the ledger up, in one transaction; see keptFrom. As others may be at it, and as it may be stopped
   * at any time, it adds to what it finds.
   */
  rollUp(at: number): Promise<RolledUp>
  /** All that is kept, of one moment, some rows at a time. */
  readBooks(each: EachRows): Promise<void>
  /**
   * Puts other books in the place of what is kept: all that the work puts, or nothing.
   * @param work is given what takes rows, and what reads all of them again before they count
   */
  replaceBooks<T>(work: (put: EachRows, look: (each: EachRows) => Promise<void>) => Promise<T>): Promise<T>
  /** Throws StorageError where a charge could not be written down: without room, and from a failed one on until one works. */
  check(): Promise<void>
  close(): Promise<void>
}

/** A machine's clock may differ from that of its accounts by this much, in milliseconds. */
const MOST_AHEAD = 60_000

/** Says how far a machine's clock is off; null where it is right. @param ahead of the accounts' clock, in milliseconds */
export function clockFault(ahead: number, location: string): string | null {
  if (Math.abs(ahead) <= MOST_AHEAD) return null
  const seconds = Math.round(Math.abs(ahead) / 1000)
  return `the clock of this machine is ${seconds} seconds ${ahead > 0 ? 'ahead of' : 'behind'} that of ${location}`
}

/** Only an active key counts. */
type KeyState = 'active' | 'expired' | 'revoked'

/** What a key is at a moment, in milliseconds since 1970. */
export function stateOf({ expires, revoked }: Pick<KeyEntry, 'expires' | 'revoked'>, now: number): KeyState {
  if (revoked !== null) return 'revoked'
  return expires !== null && Date.parse(expires) <= now ? 'expired' : 'active'
}

/** A name of an account or a key as it is kept. Throws InvalidParameter naming the parameter. */
export function nameValue(param: string, text: string): string {
  const name = text.normalize('NFC')
  const length = [...name].length
  // Signs that are not seen, or that turn the text around them, would let two names look alike.
  if (length >= 1 && length <= LONGEST && name.trim() === name && !/[\p{C}\p{Zl}\p{Zp}]/u.test(name)) return name
  const allowed = `a name of 1 to ${LONGEST} printable characters, without blanks at its ends`
  throw invalid('not_allowed', { param, value: text, allowed })
}

const LONGEST = 64

/** Credits are counted in days and hours of UTC, so that everyone everywhere starts anew at the same moment. */
export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** Writing each use of a key would double what is written; a minute is near enough. */
export const MINUTE_MS = 60_000

/** How long a request that its caller named may be asked again at no cost, as long as its answer is the same. */
export const REPEAT_MS = 48 * HOUR_MS

/** How many days before today have their usage told. */
export const DAYS_KEPT = 400

/** Start of the day or the hour of a moment; all in milliseconds since 1970. */
export const dayStart = (at: number): number => at - (at % DAY_MS)
export const hourStart = (at: number): number => at - (at % HOUR_MS)

/**
 * What is kept of the ledger at a moment. A row an answer, as long as it may be asked again at no cost; of a day that ended
 * before that, what each account used in it, one row an account; of a day longer ago than DAYS_KEPT, nothing, nor in the
 * counters. Credits of hours are kept as long as the rows that they are the sums of. All in milliseconds since 1970.
 */
export function keptFrom(at: number): { singleFrom: number; daysFrom: number } {
  return { singleFrom: dayStart(at - REPEAT_MS), daysFrom: dayStart(at) - DAYS_KEPT * DAY_MS }
}

/** Between two steps, in milliseconds: whoever charges comes in between. */
const BETWEEN = 20

/**
 * Rolls up what is to be at a moment, step by step, each on the disk once it is done. Throws AbortError once it is told to
 * stop.
 */
export async function rollUpLedger(
  accounts: Pick<Accounts, 'rollUp'>,
  at: number,
  signal?: AbortSignal,
): Promise<Omit<RolledUp, 'isOver'>> {
  const all = { rows: 0, days: 0 }
  for (;;) {
    const { rows, days, isOver } = await accounts.rollUp(at)
    all.rows += rows
    all.days += days
    if (isOver) return all
    await sleep(BETWEEN, undefined, { ...(signal && { signal }) })
  }
}
