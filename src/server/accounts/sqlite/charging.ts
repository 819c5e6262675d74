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

/** Credits of the day and the hour of a moment, in one statement: it runs at every request. */
export function readUsedCredits(db: Session, account: number, at: number): UsedCredits {
  return db.get<UsedCredits>(USED_CREDITS, account, dayStart(at), account, hourStart(at))!
}

const USED_CREDITS = `SELECT
  coalesce((SELECT credits FROM counters WHERE account = ? AND period = 'day' AND start = ?), 0) AS day,
  coalesce((SELECT credits FROM counters WHERE account = ? AND period = 'hour' AND start = ?), 0) AS hour`

/**
 * Writes charges one after the other. Must run inside a transaction that has the write lock.
 * @param lastUsed the minute that is stored as the last use of each key
 * @returns the result of each charge, and the keys with a new minute
 */
export function chargeAll(
  db: Session,
  charges: readonly Charge[],
  lastUsed: ReadonlyMap<string, number>,
): { charged: ChargeResult[]; used: Map<string, number> } {
  const counters = new Counters(db)
  const outcomes = charges.map(charge => chargeOne(db, counters, charge))
  const written = charges.filter((_, i) => outcomes[i]!.outcome === 'charged')
  counters.write()
  const used = markKeysUsed(db, written, lastUsed)
  deleteExpiredNames(db, written)
  return { charged: outcomes, used }
}

function chargeOne(db: Session, counters: Counters, charge: Charge): ChargeResult {
  const { account, limits, credits, at } = charge
  const day = counters.counter(account, 'day', dayStart(at))
  const hour = counters.counter(account, 'hour', hourStart(at))
  const result = (outcome: ChargeResult['outcome']): ChargeResult => ({
    outcome,
    usedCredits: { day: day.credits, hour: hour.credits },
  })
  const before = chargeOfSameName(db, charge)
  if (before?.question.equals(charge.question) === false) return result('conflict')
  if (before?.answer.equals(charge.answer) === true) return result('repeated')
  if (day.credits + credits > limits.day || hour.credits + credits > limits.hour) return result('limited')
  db.run(INTO_LEDGER, charge.requestId, account, charge.key, charge.endpoint, credits, at)
  if (charge.idempotency !== null) db.run(INTO_NAMED, account, charge.idempotency, charge.question, charge.answer, at)
  for (const counter of [day, hour]) {
    counter.credits += credits
    counter.added += credits
    counter.requests += 1
  }
  return result('charged')
}

const INTO_LEDGER = 'INSERT INTO ledger (request, account, key, endpoint, credits, at) VALUES (?, ?, ?, ?, ?, ?)'
// Replaces a row of the same name that has expired or has another answer; the new one gets the highest id.
const INTO_NAMED = 'INSERT OR REPLACE INTO named (account, name, question, answer, at) VALUES (?, ?, ?, ?, ?)'

type QuestionAndAnswer = Pick<Charge, 'question' | 'answer'>

/** The last charge under this name; undefined when the name is free. */
function chargeOfSameName(db: Session, { account, idempotency, at }: Charge): QuestionAndAnswer | undefined {
  return idempotency === null
    ? undefined
    : db.get<QuestionAndAnswer>(CHARGE_OF_NAME, account, idempotency, at - REPEAT_MS)
}

const CHARGE_OF_NAME = 'SELECT question, answer FROM named WHERE account = ? AND name = ? AND at > ?'

/** One day or hour of an account: its credits by now, and how much of that this batch has added. */
interface Counter {
  account: number
  period: 'day' | 'hour'
  start: number
  credits: number
  added: number
  requests: number
}

/** The counters that a batch touches; each is read and written once, however many charges fall on it. */
class Counters {
  readonly #db: Session
  readonly #touched = new Map<string, Counter>()

  constructor(db: Session) {
    this.#db = db
  }

  counter(account: number, period: Counter['period'], start: number): Counter {
    const name = `${account} ${period} ${start}`
    let counter = this.#touched.get(name)
    if (counter === undefined) {
      const credits = this.#db.get<{ credits: number }>(COUNTER_CREDITS, account, period, start)?.credits ?? 0
      counter = { account, period, start, credits, added: 0, requests: 0 }
      this.#touched.set(name, counter)
    }
    return counter
  }

  write(): void {
    for (const { account, period, start, added, requests } of this.#touched.values())
      if (requests > 0) this.#db.run(INTO_COUNTERS, account, period, start, added, requests)
  }
}

const COUNTER_CREDITS = 'SELECT credits FROM counters WHERE account = ? AND period = ? AND start = ?'
const INTO_COUNTERS = `INSERT INTO counters (account, period, start, credits, requests) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET credits = credits + excluded.credits, requests = requests + excluded.requests`

function markKeysUsed(
  db: Session,
  charges: readonly Charge[],
  lastUsed: ReadonlyMap<string, number>,
): Map<string, number> {
  const last = new Map(charges.map(({ key, at }) => [key, at - (at % MINUTE_MS)]))
  for (const [key, minute] of last)
    if (lastUsed.get(key) === minute) last.delete(key)
    else db.run(SET_LAST_USED, minute, key, minute)
  return last
}

const SET_LAST_USED = 'UPDATE keys SET last_used = ? WHERE identity = ? AND coalesce(last_used, 0) < ?'

/** A few at a time, and more than come in, so that no request waits for a great sweep. */
function deleteExpiredNames(db: Session, charges: readonly Charge[]): void {
  const expired = Math.max(...charges.map(({ at }) => at)) - REPEAT_MS
  for (let left = charges.length; left > 0; left -= 8) if (db.run(DELETE_EXPIRED_NAMES, expired) === 0) return
}

const DELETE_EXPIRED_NAMES = 'DELETE FROM named WHERE id IN (SELECT id FROM named ORDER BY id LIMIT 16) AND at <= ?'

/**
 * Rolls up the oldest rows, a few at a time, so that no charge waits long. If none are left, it deletes rows beyond the
 * retention. Must run inside a transaction that has the write lock.
 */
export function rollUpOldestRows(db: Session, at: number): RollUpResult {
  const { rowsFrom, daysFrom } = retentionStarts(at)
  const rows = db.all<LedgerRow>(OLDEST_LEDGER_ROWS).filter(row => row.at < rowsFrom)
  const sums = new Map<string, { account: number; start: number; credits: number; requests: number }>()
  for (const { request, account, credits, at } of rows) {
    const start = dayStart(at)
    const sum = sums.get(`${account} ${start}`) ?? { account, start, credits: 0, requests: 0 }
    sums.set(`${account} ${start}`, { ...sum, credits: sum.credits + credits, requests: sum.requests + 1 })
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

/** Later ones have higher numbers; one that has not, of a clock that went wrong, comes to the front in its time. */
const OLDEST_LEDGER_ROWS = 'SELECT request, account, credits, at FROM ledger ORDER BY request LIMIT 500'
const INTO_DAYS = `INSERT INTO days (account, start, credits, requests) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET credits = credits + excluded.credits, requests = requests + excluded.requests`
// By account, as both tables are sorted, so that no other rows are read.
const DELETE_OLD_DAYS = 'DELETE FROM days WHERE account IN (SELECT id FROM accounts) AND start < ?'
const DELETE_OLD_DAY_COUNTERS = `DELETE FROM counters
  WHERE account IN (SELECT id FROM accounts) AND period = 'day' AND start < ?`
const DELETE_HOUR_COUNTERS = "DELETE FROM counters WHERE account = ? AND period = 'hour' AND start >= ? AND start < ?"

/** Adds the whole ledger up; a ledger of millions of rows takes seconds. */
export function reconcileLedger(db: Session, account: number | null): Reconciliation {
  // Reads one consistent state.
  return db.readAtOneMoment(() => {
    const total = db.get<Omit<Reconciliation, 'discrepancies'>>(LEDGER_TOTALS, ...Array(4).fill(account))!
    const found = db.all<CounterComparison>(DISCREPANCIES, ...Array(8).fill(account))
    return { ...total, discrepancies: found.flatMap(discrepanciesIn) }
  })
}

const LEDGER_TOTALS = `SELECT l.rows + d.requests AS rows, l.requests + d.requests AS requests, l.credits + d.credits AS credits
  FROM (SELECT count(*) AS rows, count(DISTINCT request) AS requests, coalesce(sum(credits), 0) AS credits
      FROM ledger WHERE ? IS NULL OR account = ?) AS l,
    (SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(credits), 0) AS credits
      FROM days WHERE ? IS NULL OR account = ?) AS d`

/** A rolled-up day has no hourly rows. */
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

function ledgerSumsSql(period: string, length: number): string {
  return `SELECT account, '${period}' AS period, at - at % ${length} AS start,
    sum(credits) AS credits, count(*) AS requests
    FROM ledger WHERE ? IS NULL OR account = ? GROUP BY account, at - at % ${length}`
}
