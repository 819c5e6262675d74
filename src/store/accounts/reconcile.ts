import type { Discrepancy, Reconciliation } from '../../accounts/accounts.js'
import { DAY_MS, HOUR_MS } from '../../accounts/periods.js'
import type { Session } from '../session.js'

/** Adds the whole ledger up; a ledger of millions of rows takes seconds. */
export function reconciled(db: Session, account: number | null): Reconciliation {
  // One state, whatever is charged meanwhile.
  return db.reading(() => {
    const total = db.get<Omit<Reconciliation, 'discrepancies'>>(TOTAL, account, account)!
    const found = db.all<Found>(DISCREPANCIES, account, account, account, account, account, account)
    return { ...total, discrepancies: found.flatMap(discrepanciesIn) }
  })
}

const TOTAL = `SELECT count(*) AS rows, count(DISTINCT request) AS requests, coalesce(sum(credits), 0) AS credits
  FROM ledger WHERE ? IS NULL OR account = ?`

interface Found {
  name: string
  period: 'day' | 'hour'
  start: number
  counter_credits: number
  ledger_credits: number
  counter_requests: number
  ledger_requests: number
}

/** A side that is missing counts as 0. */
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

function discrepanciesIn(found: Found): Discrepancy[] {
  const { name: account, period, start } = found
  const at = { account, period, start: new Date(start).toISOString() }
  const both: Discrepancy[] = [
    { ...at, of: 'credits', counter: found.counter_credits, ledger: found.ledger_credits },
    { ...at, of: 'requests', counter: found.counter_requests, ledger: found.ledger_requests },
  ]
  return both.filter(({ counter, ledger }) => counter !== ledger)
}
