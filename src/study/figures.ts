import { PERFORMANCES, type Performance } from '../model/record.js'
import { quantile } from '../statistics/quantile.js'

export type Shares = Record<Performance, number | null>

/** Raw returns in five figures, fractions; quantiles are linear between order statistics (quantile.ts). */
export interface ReturnFigures {
  n: number
  /** Share of returns above 0. */
  hit_rate: number | null
  mean: number | null
  median: number | null
  p10: number | null
  p90: number | null
  /** Why the figures are null; null when they are not. */
  reason: string | null
}

export const NO_PRICES = 'no prices are known here'

const FIRST_GAIN = PERFORMANCES.indexOf('slight_gain')

/** @param reason why there is nothing, for when there is nothing */
export function returnFigures(returns: readonly number[], reason: string): ReturnFigures {
  const n = returns.length
  if (n === 0) return noReturns(reason)
  const ascending = Float64Array.from(returns).sort()
  return {
    n,
    hit_rate: returns.filter(value => value > 0).length / n,
    // Added in ascending order, so that the order of the events leaves no trace in the last digit.
    mean: ascending.reduce((sum, value) => sum + value, 0) / n,
    median: quantile(ascending, 0.5),
    p10: quantile(ascending, 0.1),
    p90: quantile(ascending, 0.9),
    reason: null,
  }
}

export function noReturns(reason: string): ReturnFigures {
  return { n: 0, hit_rate: null, mean: null, median: null, p10: null, p90: null, reason }
}

/** A value for each performance band, worst to best. */
export function byPerformance<Value>(value: (index: number) => Value): Record<Performance, Value> {
  return Object.fromEntries(PERFORMANCES.map((name, i) => [name, value(i)])) as Record<Performance, Value>
}

/** How many of the counts by performance band are gains of any size. */
export function gainCount(counts: readonly number[]): number {
  return counts.slice(FIRST_GAIN).reduce((sum, count) => sum + count, 0)
}
