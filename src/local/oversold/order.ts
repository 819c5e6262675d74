import type { OversoldQuery } from '../../model/oversold.js'
import type { Listed } from './listed.js'
import type { Low } from './standing.js'
import { lengthOf } from './streaks.js'

/** A ticker that matches. */
export interface Match {
  listed: Listed
  rsi: number
  low: Low
}

/** What comes first, ties by ticker. */
export function inOrder(matches: readonly Match[], sortBy: OversoldQuery['sortBy']): Match[] {
  const order = ORDERS[sortBy]
  return matches.toSorted((a, b) => order(a, b) || (a.listed.entry.ticker < b.listed.entry.ticker ? -1 : 1))
}

const ORDERS: Readonly<Record<OversoldQuery['sortBy'], (a: Match, b: Match) => number>> = {
  // The deeper band has the lower RSI.
  severity: (a, b) => inSteps(a.rsi) - inSteps(b.rsi),
  days_oversold: (a, b) => daysOversold(b) - daysOversold(a),
  condition_percentile: byPercentile,
}

/** To eight decimals: two that differ only by rounding follow each other by their tickers. */
function inSteps(rsi: number): number {
  return Math.round(rsi * 1e8)
}

function daysOversold({ low }: Match): number {
  return lengthOf(low.streaks.at(-1)!)
}

/** Lowest first, compared in integers; without one last. */
function byPercentile({ low: { rarity: a } }: Match, { low: { rarity: b } }: Match): number {
  if (a.rank < 0 || b.rank < 0) return Number(a.rank < 0) - Number(b.rank < 0)
  return a.rank * b.size - b.rank * a.size
}
