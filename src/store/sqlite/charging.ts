import {
  type Charge,
  type Charged,
  DAY_MS,
  dayStart,
  HOUR_MS,
  hourStart,
  REPEAT_MS,
  type Reconciliation,
  type Used,
} from '../../accounts/accounts.js'
import { type ComparedRow, discrepanciesIn } from '../account-rows.js'
import type { Session } from './connection.js'

/** Credits of the day and the hour of a moment, in one statement: it runs at every request. */
export function usedIn(db: Session, account: number, at: number): Used {
  return db.get<Used>(USED, account, dayStart(at), account, hourStart(at))!
}

const USED = `SELECT
  coalesce((SELECT credits FROM counters WHERE account = ? AND period = 'day' AND start = ?), 0) AS day,
  coalesce((SELECT credits FROM counters WHERE account = ? AND period = 'hour' AND start = ?), 0) AS hour`

/**
 * Writes charges down, one after the other. Must run inside a transaction that has the write lock.
 * @param marks the minute in which keys are known to be marked as used
 * @returns what became of each charge, and the marks that were made
 */
export function chargeAll(
  db: Session,
  charges: readonly Charge[],
  marks: ReadonlyMap<string, number>,
): { charged: Charged[]; marked: Map<string, number> } {
  const counters = new Counters(db)
  const outcomes = charges.map(charge => chargeOne(db, counters, charge))
  const written = charges.filter((_, i) => outcomes[i]!.outcome === 'charged')
  counters.write()
  const marked = touchKeys(db, written, marks)
  forgetExpired(db, written)
  return { charged: outcomes, marked }
}

function chargeOne(db: Session, counters: Counters, charge: Charge): Charged {
  const { account, limits, credits, at } = charge
  const day = counters.counter(account, 'day', dayStart(at))
  const hour = counters.counter(account, 'hour', hourStart(at))
  const told = (outcome: Charged['outcome']): Charged => ({ outcome, used: { day: day.credits, hour: hour.credits } })
  const before = namedBefore(db, charge)
  if (before?.question.equals(charge.question) === false) return told('conflict')
  if (before?.answer.equals(charge.answer) === true) return told('repeated')
  if (day.credits + credits > limits.day || hour.credits + credits > limits.hour) return told('limited')
  db.run(INTO_LEDGER, charge.requestId, account, charge.key, charge.endpoint, credits, at)
  if (charge.idempotency !== null) db.run(INTO_NAMED, account, charge.idempotency, charge.question, charge.answer, at)
  for (const counter of [day, hour]) {
    counter.credits += credits
    counter.added += credits
    counter.requests += 1
  }
  return told('charged')
}

const INTO_LEDGER = 'INSERT INTO ledger (request, account, key, endpoint, credits, at) VALUES (?, ?, ?, ?, ?, ?)'
// A row of the same name that has expired, or had another answer, makes place; the new one has the highest id again.
const INTO_NAMED = 'INSERT OR REPLACE INTO named (account, name, question, answer, at) VALUES (?, ?, ?, ?, ?)'

type Named = Pick<Charge, 'question' | 'answer'>

/** What was charged last under this name; undefined when the name is free. */
function namedBefore(db: Session, { account, idempotency, at }: Charge): Named | undefined {
  return idempotency === null ? undefined : db.get<Named>(NAMED, account, idempotency, at - REPEAT_MS)
}

const NAMED = 'SELECT question, answer FROM named WHERE account = ? AND name = ? AND at > ?'

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
      const credits = this.#db.get<{ credits: number }>(COUNTER, account, period, start)?.credits ?? 0
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

const COUNTER = 'SELECT credits FROM counters WHERE account = ? AND period = ? AND start = ?'
const INTO_COUNTERS = `INSERT INTO counters (account, period, start, credits, requests) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET credits = credits + excluded.credits, requests = requests + excluded.requests`

/** Writing each use of a key would double what is written; a minute is near enough. */
function touchKeys(db: Session, charges: readonly Charge[], marks: ReadonlyMap<string, number>): Map<string, number> {
  const last = new Map(charges.map(({ key, at }) => [key, at - (at % MINUTE_MS)]))
  for (const [key, minute] of last)
    if (marks.get(key) === minute) last.delete(key)
    else db.run(TOUCH, minute, key, minute)
  return last
}

const MINUTE_MS = 60_000
const TOUCH = 'UPDATE keys SET last_used = ? WHERE identity = ? AND coalesce(last_used, 0) < ?'

/** A few at a time, and more than come in, so that no request waits for a great sweep. */
function forgetExpired(db: Session, charges: readonly Charge[]): void {
  const expired = Math.max(...charges.map(({ at }) => at)) - REPEAT_MS
  for (let left = charges.length; left > 0; left -= 8) if (db.run(FORGET, expired) === 0) return
}

const FORGET = 'DELETE FROM named WHERE id IN (SELECT id FROM named ORDER BY id LIMIT 16) AND at <= ?'

/** Adds the whole ledger up; a ledger of millions of rows takes seconds. */
export function reconciled(db: Session, account: number | null): Reconciliation {
  // One state, whatever is charged meanwhile.
  return db.reading(() => {
    const total = db.get<Omit<Reconciliation, 'discrepancies'>>(TOTAL, account, account)!
    const found = db.all<ComparedRow>(DISCREPANCIES, account, account, account, account, account, account)
    return { ...total, discrepancies: found.flatMap(discrepanciesIn) }
  })
}

const TOTAL = `SELECT count(*) AS rows, count(DISTINCT request) AS requests, coalesce(sum(credits), 0) AS credits
  FROM ledger WHERE ? IS NULL OR account = ?`

const DISCREPANCIES = `WITH sums AS (
    ${sumsBy('day', DAY_MS)} UNION ALL ${sumsBy('hour', HOUR_MS)}
  ), kept AS (
    SELECT * FROM counters WHERE ? IS NULL OR account = ?
  ), compared AS (
    SELECT account, period, start,
      coalesce(kept.credits, 0) AS counter_credits, coalesce(sums.credits, 0) AS ledger_credits,
      coalesce(kept.requests, 0) AS counter_requests, coalesce(sums.requests, 0) AS ledger_requests
    FROM kept FULL JOIN sums USING (account, period, start)
  )
  SELECT name, compared.* FROM compared JOIN accounts ON accounts.id = account
  WHERE counter_credits <> ledger_credits OR counter_requests <> ledger_requests
  ORDER BY folded, start, period`

function sumsBy(period: string, length: number): string {
  return `SELECT account, '${period}' AS period, at - at % ${length} AS start,
    sum(credits) AS credits, count(*) AS requests
    FROM ledger WHERE ? IS NULL OR account = ? GROUP BY account, at - at % ${length}`
}
