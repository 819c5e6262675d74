import type { Session } from '../../../data/store/sqlite/connection.js'
import {
  type Charge,
  type ChargeResult,
  DAY_MS,
  dayStart,
  HOUR_MS,
  hourStart,
  MINUTE_MS,
  REPEAT_MS,
  type Reconciliation,
  type RollUpResult,
  retentionStarts,
  type UsedCredits,
} from '../accounts.js'
import { type CounterComparison, discrepanciesIn } from '../rows.js'

/** Credits used in the day and the hour of a time. One statement, because it runs at every request. */
export function readUsedCredits(db: Session, account: number, at: number): UsedCredits {
  return db.get<UsedCredits>(USED_CREDITS, account, dayStart(at), account, hourStart(at))!
}

const USED_CREDITS = `SELECT
  coalesce((SELECT credits FROM counters WHERE account = ? AND period = 'day' AND start = ?), 0) AS day,
  coalesce((SELECT credits FROM counters WHERE account = ? AND period = 'hour' AND start = ?), 0) AS hour`

/**
 * Writes charges one after the other. Must run inside a transaction that has the write lock.
 * @param counters of this connection; to be cleared if the transaction fails
 * @param lastUsedMinutes the minute that is stored as the last use of each key
 * @returns the result of each charge, and the new minute of each key whose minute changed
 */
export function chargeAll(
  db: Session,
  counters: Counters,
  charges: readonly Charge[],
  lastUsedMinutes: ReadonlyMap<string, number>,
): { results: ChargeResult[]; newMinutes: Map<string, number> } {
  counters.clearOutdated()
  const results = charges.map(charge => chargeOne(db, counters, charge))
  const written = charges.filter((_, i) => results[i]!.outcome === 'charged')
  counters.write(new Set(written.map(({ account }) => account)))
  const newMinutes = markKeysUsed(db, written, lastUsedMinutes)
  deleteExpiredRequestNames(db, written)
  return { results, newMinutes }
}

/**
 * Writes one charge to the ledger and to `counters`, or returns why it is free or refused. Under the idempotency key of
 * an earlier charge, the same answer is free, and another question is refused. A new answer to its question is charged.
 */
function chargeOne(db: Session, counters: Counters, charge: Charge): ChargeResult {
  const { account, limits, credits, at } = charge
  const accountCounters = counters.find(account, at)
  const { used } = accountCounters
  const result = (outcome: ChargeResult['outcome']): ChargeResult => ({ outcome, usedCredits: { ...used } })
  const earlier = chargeOfSameName(db, charge)
  if (earlier !== undefined && !earlier.question.equals(charge.question)) return result('conflict')
  if (earlier?.answer.equals(charge.answer)) return result('repeated')
  if (used.day + credits > limits.day || used.hour + credits > limits.hour) return result('limited')
  db.run(INTO_LEDGER, charge.requestId, account, charge.key, charge.endpoint, credits, at)
  if (charge.idempotency !== null) db.run(INTO_NAMED, account, charge.idempotency, charge.question, charge.answer, at)
  used.day += credits
  used.hour += credits
  accountCounters.addedCredits += credits
  accountCounters.addedRequests += 1
  return result('charged')
}

const INTO_LEDGER = 'INSERT INTO ledger (request, account, key, endpoint, credits, at) VALUES (?, ?, ?, ?, ?, ?)'
// Replaces a row of the same name: it has expired, or has another answer. The new row gets the highest id.
const INTO_NAMED = 'INSERT OR REPLACE INTO named (account, name, question, answer, at) VALUES (?, ?, ?, ?, ?)'

type QuestionAndAnswer = Pick<Charge, 'question' | 'answer'>

/** The unexpired charge with the idempotency key (name) of this one; undefined if there is none, or this has no key. */
function chargeOfSameName(db: Session, { account, idempotency, at }: Charge): QuestionAndAnswer | undefined {
  if (idempotency === null) return undefined
  return db.get<QuestionAndAnswer>(CHARGE_OF_NAME, account, idempotency, at - REPEAT_MS)
}

const CHARGE_OF_NAME = 'SELECT question, answer FROM named WHERE account = ? AND name = ? AND at > ?'

/** The counters of an account's day and hour, and what the running batch adds to both of them. */
interface AccountCounters {
  readonly account: number
  readonly dayStart: number
  readonly hourStart: number
  readonly used: UsedCredits
  addedCredits: number
  addedRequests: number
}

/**
 * The counters of the accounts that were charged last. They are read once, until another connection writes. Each batch
 * of charges writes what it added.
 */
export class Counters {
  readonly #db: Session
  readonly #byAccount = new Map<number, AccountCounters>()
  #dataVersion = -1

  constructor(db: Session) {
    this.#db = db
  }

  /** Forgets all counters. Must be called after a transaction that failed or that wrote other counters. */
  clear(): void {
    this.#byAccount.clear()
  }

  /**
   * Forgets all counters if another connection has written, or if they are many. Must be called first in each
   * transaction: then no other connection can write.
   */
  clearOutdated(): void {
    const { data_version } = this.#db.get<{ data_version: number }>('PRAGMA data_version')!
    if (data_version !== this.#dataVersion || this.#byAccount.size >= MAX_ACCOUNTS) this.clear()
    this.#dataVersion = data_version
  }

  /** The counters of an account for the day and the hour of a time. Those of earlier ones are written first. */
  find(account: number, at: number): AccountCounters {
    const day = dayStart(at)
    const hour = hourStart(at)
    const remembered = this.#byAccount.get(account)
    if (remembered?.dayStart === day && remembered.hourStart === hour) return remembered
    if (remembered !== undefined) this.#write(remembered)
    const used = readUsedCredits(this.#db, account, at)
    const counters = { account, dayStart: day, hourStart: hour, used, addedCredits: 0, addedRequests: 0 }
    this.#byAccount.set(account, counters)
    return counters
  }

  /** Writes what was added for these accounts. */
  write(accounts: Iterable<number>): void {
    for (const account of accounts) this.#write(this.#byAccount.get(account)!)
  }

  /** Adds to the stored counters of an account what this batch added, which is then 0. */
  #write(counters: AccountCounters): void {
    const { account, dayStart, hourStart, addedCredits, addedRequests } = counters
    if (addedRequests === 0) return
    const added = [addedCredits, addedRequests]
    this.#db.run(INTO_COUNTERS, account, dayStart, ...added, account, hourStart, ...added)
    counters.addedCredits = 0
    counters.addedRequests = 0
  }
}

/** The counters of more accounts are not kept. */
const MAX_ACCOUNTS = 10_000

const INTO_COUNTERS = `INSERT INTO counters (account, period, start, credits, requests)
  VALUES (?, 'day', ?, ?, ?), (?, 'hour', ?, ?, ?)
  ON CONFLICT DO UPDATE SET credits = credits + excluded.credits, requests = requests + excluded.requests`

/** Stores the minute of the last charge of each key, and returns the minutes that differ from `lastUsedMinutes`. */
function markKeysUsed(
  db: Session,
  charges: readonly Charge[],
  lastUsedMinutes: ReadonlyMap<string, number>,
): Map<string, number> {
  const lastMinutes = new Map(charges.map(({ key, at }) => [key, at - (at % MINUTE_MS)]))
  const newMinutes = new Map([...lastMinutes].filter(([key, minute]) => lastUsedMinutes.get(key) !== minute))
  for (const [key, minute] of newMinutes) db.run(SET_LAST_USED, minute, key, minute)
  return newMinutes
}

const SET_LAST_USED = 'UPDATE keys SET last_used = ? WHERE identity = ? AND coalesce(last_used, 0) < ?'

/** Deletes at least two expired request names per charge, if there are any: more than were added, never very many. */
function deleteExpiredRequestNames(db: Session, charges: readonly Charge[]): void {
  const expiredAt = Math.max(...charges.map(({ at }) => at)) - REPEAT_MS
  for (let i = 0; i < charges.length; i += 8) {
    const deleted = db.run(DELETE_16_EXPIRED_NAMES, expiredAt)
    if (deleted === 0) return
  }
}

const DELETE_16_EXPIRED_NAMES = 'DELETE FROM named WHERE id IN (SELECT id FROM named ORDER BY id LIMIT 16) AND at <= ?'

/**
 * Replaces ledger rows that are old enough by one sum per account and day: at most 500 rows, so that no charge waits
 * long. If no row is old enough, it deletes the sums of days beyond the retention, and the work is over. Must run
 * inside a transaction that has the write lock.
 * @param now milliseconds since 1970
 */
export function rollUpOldestRows(db: Session, now: number): RollUpResult {
  const { rowsFrom, daysFrom } = retentionStarts(now)
  const rows = db.all<LedgerRow>(OLDEST_LEDGER_ROWS).filter(({ at }) => at < rowsFrom)
  const sums = new Map<string, { account: number; start: number; credits: number; requests: number }>()
  for (const { request, account, credits, at } of rows) {
    const start = dayStart(at)
    const sum = sums.get(`${account} ${start}`) ?? { account, start, credits: 0, requests: 0 }
    sum.credits += credits
    sum.requests += 1
    sums.set(`${account} ${start}`, sum)
    db.run('DELETE FROM ledger WHERE request = ?', request)
  }
  for (const { account, start, credits, requests } of sums.values()) {
    db.run(INTO_DAYS, account, start, credits, requests)
    db.run(DELETE_HOUR_COUNTERS, account, start, start + DAY_MS)
  }
  if (rows.length > 0) return { rows: rows.length, days: 0, isOver: false }
  const days = db.run(DELETE_OLD_DAYS, daysFrom)
  db.run(DELETE_OLD_DAY_COUNTERS, daysFrom)
  return { rows: 0, days, isOver: true }
}

interface LedgerRow {
  request: string
  account: number
  credits: number
  at: number
}

/** Later requests have higher numbers, except after a clock error; such a row is rolled up once it is the first. */
const OLDEST_LEDGER_ROWS = 'SELECT request, account, credits, at FROM ledger ORDER BY request LIMIT 500'
const INTO_DAYS = `INSERT INTO days (account, start, credits, requests) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET credits = credits + excluded.credits, requests = requests + excluded.requests`
// Both tables are sorted by account, so the subquery avoids a scan of all rows.
const DELETE_OLD_DAYS = 'DELETE FROM days WHERE account IN (SELECT id FROM accounts) AND start < ?'
const DELETE_OLD_DAY_COUNTERS = `DELETE FROM counters
  WHERE account IN (SELECT id FROM accounts) AND period = 'day' AND start < ?`
const DELETE_HOUR_COUNTERS = "DELETE FROM counters WHERE account = ? AND period = 'hour' AND start >= ? AND start < ?"

/** Sums the ledger, and compares it with the counters. Millions of rows take seconds. @param account null: all */
export function reconcileLedger(db: Session, account: number | null): Reconciliation {
  return db.readAtOneMoment(() => {
    // Each `?` of the two queries is the account.
    const totals = db.get<Omit<Reconciliation, 'discrepancies'>>(LEDGER_TOTALS, ...Array(4).fill(account))!
    const comparisons = db.all<CounterComparison>(DISCREPANCIES, ...Array(8).fill(account))
    return { ...totals, discrepancies: comparisons.flatMap(discrepanciesIn) }
  })
}

const LEDGER_TOTALS = `SELECT l.rows + d.requests AS rows, l.requests + d.requests AS requests, l.credits + d.credits AS credits
  FROM (SELECT count(*) AS rows, count(DISTINCT request) AS requests, coalesce(sum(credits), 0) AS credits
      FROM ledger WHERE ? IS NULL OR account = ?) AS l,
    (SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(credits), 0) AS credits
      FROM days WHERE ? IS NULL OR account = ?) AS d`

/** SQL: whether a counter or a sum, `row`, is hourly and its day was rolled up, so that it cannot be compared. */
const isRolledUpSql = (row: string): string => `${row}.period = 'hour' AND EXISTS (
  SELECT 1 FROM days d WHERE d.account = ${row}.account AND d.start = ${row}.start - ${row}.start % ${DAY_MS})`

const DISCREPANCIES = `WITH sums AS (
    SELECT account, period, start, sum(credits) AS credits, sum(requests) AS requests FROM (
      ${ledgerSumsSql('day', DAY_MS)} UNION ALL ${ledgerSumsSql('hour', HOUR_MS)}
      UNION ALL SELECT account, 'day', start, credits, requests FROM days WHERE ? IS NULL OR account = ?
    ) AS s WHERE NOT (${isRolledUpSql('s')}) GROUP BY account, period, start
  ), kept AS (
    SELECT * FROM counters AS c WHERE (? IS NULL OR account = ?) AND NOT (${isRolledUpSql('c')})
  ), compared AS (
    SELECT account, period, start,
      coalesce(kept.credits, 0) AS counter_credits, coalesce(sums.credits, 0) AS ledger_credits,
      coalesce(kept.requests, 0) AS counter_requests, coalesce(sums.requests, 0) AS ledger_requests
    FROM kept FULL JOIN sums USING (account, period, start)
  )
  SELECT name, compared.* FROM compared JOIN accounts ON accounts.id = account
  WHERE counter_credits <> ledger_credits OR counter_requests <> ledger_requests
  ORDER BY folded, start, period`

/** SQL: the sums of the ledger by account and period. @param length of the period, in milliseconds */
function ledgerSumsSql(period: 'day' | 'hour', length: number): string {
  return `SELECT account, '${period}' AS period, at - at % ${length} AS start,
    sum(credits) AS credits, count(*) AS requests
    FROM ledger WHERE ? IS NULL OR account = ? GROUP BY account, at - at % ${length}`
}
