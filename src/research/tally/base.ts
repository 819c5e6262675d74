import { inOrder } from '../../core/indicators/rank.js'
import { countUpTo } from '../../core/model/day.js'
import { PERFORMANCES, type Performance } from '../../core/model/series.js'
import type { Pool } from '../../core/statistics/mixtures.js'
import { quantile } from '../../core/statistics/moments.js'

/** Outcomes after any bar of one ticker, over one window. */
export interface TickerBase {
  /** The days of all bars whose window has ended. */
  days: Int32Array
  mean: number
  /** Share of returns above 0. */
  rises: number
  /** Number of bars in each performance band. */
  counts: readonly number[]
  ranked: number
}

/** The usual outcome, to compare a tally with. */
export interface Base {
  /**
   * `measured` on the tickers' own bars; or `theoretical`, the shares for which the bands were cut, where prices are
   * unknown.
   */
  kind: 'measured' | 'theoretical'
  /** Bars that have a performance band; null where theoretical. */
  n: number | null
  shares: Shares
  returns: ReturnFigures
  /** Share of the bars whose return is among the best 40 % of the ticker's own past. */
  top_share: number | null
  /** Why the shares are null; null when they are not. */
  reason: string | null
}

/** A ticker's base and the events by which a pool weights it: those with a band, and those with a return. */
export interface BaseShare {
  base: TickerBase
  /** The number of the ticker. */
  column: number
  ranked: number
  ended: number
}

/** The shares for which the percentiles of the performance bands were cut, worst to best. */
const THEORETICAL = [0.05, 0.15, 0.2, 0.2, 0.2, 0.15, 0.05]

/** The best three of them together. */
export const TOP_SHARE = 0.4

/** @param returns of all bars whose window has ended @param days of these bars */
export function tickerBase(returns: Float64Array, days: Int32Array, counts: readonly number[]): TickerBase {
  let sum = 0
  let rises = 0
  for (let i = 0; i < returns.length; i++) {
    const value = returns[i]!
    sum += value
    rises += Number(value > 0)
  }
  const ranked = counts.reduce((total, count) => total + count, 0)
  return { days, mean: sum / returns.length, rises: rises / returns.length, counts, ranked }
}

/** The weight of a ticker's returns in its pool; 0 without a return. */
function weightIn(pool: readonly BaseShare[], { base, ended }: BaseShare): number {
  if (base.days.length === 0) return 0
  return pool.length === 1 ? 1 : ended
}

/** The tickers by whose returns the quantiles of a pool are computed. */
export function weightedColumns(pool: readonly BaseShare[]): Pool {
  const members = pool.filter(share => weightIn(pool, share) > 0)
  return {
    columns: Int32Array.from(members, ({ column }) => column),
    weights: Float64Array.from(members, share => weightIn(pool, share)),
  }
}

/**
 * The base of a pool: each ticker's values weighted by its number of events, as in the tally. Quantiles are those of
 * the mixture with these weights (mixtures.ts). One ticker has its own values, also without any event.
 * @param quantiles those of BASE_QUANTILES
 */
export function measuredBase(pool: readonly BaseShare[], quantiles: readonly (number | null)[]): Base {
  const alone = pool.length === 1
  const sums = PERFORMANCES.map(() => 0)
  let weights = 0
  let top = 0
  let n = 0
  for (const { base, ranked } of pool) {
    const weight = alone ? 1 : ranked
    if (weight === 0 || base.ranked === 0) continue
    weights += weight
    n += base.ranked
    for (let i = 0; i < sums.length; i++) sums[i]! += (weight * base.counts[i]!) / base.ranked
    top += weight * topShare(base)
  }
  const share = (sum: number): number | null => (weights === 0 ? null : sum / weights)
  return {
    kind: 'measured',
    n,
    shares: byPerformance(i => share(sums[i]!)),
    returns: baseReturns(pool, quantiles),
    top_share: share(top),
    reason: weights === 0 ? noWeight(pool) : null,
  }
}

export function theoreticalBase(): Base {
  return {
    kind: 'theoretical',
    n: null,
    shares: byPerformance(i => THEORETICAL[i]!),
    returns: noReturns(NO_PRICES),
    top_share: TOP_SHARE,
    reason: null,
  }
}

/** Median, p10, p90. */
export const BASE_QUANTILES = [0.5, 0.1, 0.9]

function baseReturns(pool: readonly BaseShare[], [median = null, p10 = null, p90 = null]: readonly (number | null)[]) {
  const ended = pool.map(share => ({ base: share.base, weight: weightIn(pool, share) })).filter(of => of.weight > 0)
  const weights = ended.reduce((sum, { weight }) => sum + weight, 0)
  const mean = (of: (base: TickerBase) => number): number | null =>
    weights === 0 ? null : ended.reduce((sum, { base, weight }) => sum + weight * of(base), 0) / weights
  return {
    n: ended.reduce((sum, { base }) => sum + base.days.length, 0),
    hit_rate: mean(base => base.rises),
    mean: mean(base => base.mean),
    median,
    p10,
    p90,
    reason: weights === 0 ? noWeight(pool) : null,
  }
}

function noWeight(pool: readonly BaseShare[]): string {
  return pool.length === 1 ? 'no bar in range has such an outcome' : 'no event to weight the tickers by'
}

export type Shares = Record<Performance, number | null>

/** Five numbers of raw returns, as fractions; quantiles are linear between order statistics. */
export interface ReturnFigures {
  n: number
  /** Share of returns above 0. */
  hit_rate: number | null
  mean: number | null
  median: number | null
  p10: number | null
  p90: number | null
  /** Why the values are null; null when they are not. */
  reason: string | null
}

export const NO_PRICES = 'no prices are known here'

/** The first of the three bands that hold the best 40 %. */
const FIRST_OF_TOP = PERFORMANCES.indexOf('slight_gain')

/** Sorts the returns. @param reason for an empty list of returns */
export function returnFigures(returns: Float64Array, reason: string): ReturnFigures {
  const n = returns.length
  if (n === 0) return noReturns(reason)
  const ascending = inOrder(returns, returns)
  // Added in ascending order, so that the order of the events does not change the last digit.
  let sum = 0
  for (let i = 0; i < n; i++) sum += ascending[i]!
  return {
    n,
    hit_rate: (n - countUpTo(ascending, 0)) / n,
    mean: sum / n,
    median: quantile(ascending, 0.5),
    p10: quantile(ascending, 0.1),
    p90: quantile(ascending, 0.9),
    reason: null,
  }
}

function noReturns(reason: string): ReturnFigures {
  return { n: 0, hit_rate: null, mean: null, median: null, p10: null, p90: null, reason }
}

/** A value for each performance band, worst to best. */
export function byPerformance<Value>(value: (index: number) => Value): Record<Performance, Value> {
  return Object.fromEntries(PERFORMANCES.map((name, i) => [name, value(i)])) as Record<Performance, Value>
}

/** Whether a performance band is among the best 40 %. @param code index into PERFORMANCES */
export function isAmongTop(code: number): boolean {
  return code >= FIRST_OF_TOP
}

/** The share of the best 40 % of the bars that have a performance band. */
export function topShare({ counts, ranked }: Pick<TickerBase, 'counts' | 'ranked'>): number {
  return counts.reduce((sum, count, code) => sum + (isAmongTop(code) ? count : 0), 0) / ranked
}
