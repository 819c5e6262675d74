import { sortedColumn } from '../../core/indicators/rank.js'
import { countUpTo } from '../../core/model/day.js'
import type { Baseline } from '../../core/model/event.js'
import { type PackedPrices, PERFORMANCES, type Performance, packedReturnOver } from '../../core/model/series.js'
import type { Pool } from '../../core/statistics/mixtures.js'
import { quantile } from '../../core/statistics/moments.js'

/** A window of the aftermath. */
export interface OutcomeWindow {
  /** Index in the windows of the timeframe. */
  windowIndex: number
  /** Length. */
  bars: number
}

/** Outcomes after any bar of a ticker, in less memory: a tally of a market holds those of every ticker. */
export interface PackedBaseline extends Omit<Baseline, 'closes' | 'performances'> {
  closes: PackedPrices
  /** The number of bars in each performance band, window after window. */
  performances: Int32Array
}

/** Outcomes after any bar over one window, by ticker. */
export interface WindowBases {
  /** The number of bars whose window has ended. */
  ended: Int32Array
  /** The number of those bars that have a performance band, and the number in each band, ticker after ticker. */
  ranked: Int32Array
  counts: Int32Array
  /** The mean of the returns, and the share of those above 0. */
  means: Float64Array
  rises: Float64Array
  /** The share of the ranked bars whose return is among the best 40 %; the theoretical one without prices. */
  topShares: Float64Array
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

/** The tickers with events in a group, ascending by index. Their numbers of events weight their outcomes. */
export interface GroupPool {
  tickerIndexes: Int32Array
  /** By ticker of the pool: the number of its events with a return, and with a performance band. */
  ended: Int32Array
  ranked: Int32Array
}

/** The shares for which the percentiles of the performance bands were cut, worst to best. */
const THEORETICAL = [0.05, 0.15, 0.2, 0.2, 0.2, 0.15, 0.05]

/** The best three of them together. */
const TOP_SHARE = 0.4

/**
 * The returns after the bars of a ticker over one window, for all bars whose window has ended, oldest first.
 * @param into is overwritten: at least as long as `ended[windowIndex]`
 */
export function baselineReturns(
  { closes, indexes, ended }: PackedBaseline,
  { windowIndex, bars }: OutcomeWindow,
  into: Float64Array,
): Float64Array {
  const returns = into.subarray(0, ended[windowIndex])
  for (let i = 0; i < returns.length; i++) returns[i] = packedReturnOver(closes, indexes[i]!, bars)
  return returns
}

/** Summarises the outcomes after any bar over one window, ticker by ticker. @param baselines null without prices */
export function windowBases(
  baselines: readonly (PackedBaseline | null)[],
  { windowIndex, bars }: OutcomeWindow,
): WindowBases {
  const tickers = baselines.length
  const bases = {
    ended: new Int32Array(tickers),
    ranked: new Int32Array(tickers),
    counts: new Int32Array(PERFORMANCES.length * tickers),
    means: new Float64Array(tickers),
    rises: new Float64Array(tickers),
    topShares: new Float64Array(tickers).fill(TOP_SHARE),
  }
  for (const [ticker, baseline] of baselines.entries()) {
    if (baseline === null) continue
    const { closes, indexes, ended, performances } = baseline
    bases.ended[ticker] = ended[windowIndex]!
    setMeanAndRises(bases, ticker, closes, indexes, bars)
    let barsAmongTop = 0
    for (let code = 0; code < PERFORMANCES.length; code++) {
      const count = performances[PERFORMANCES.length * windowIndex + code]!
      bases.counts[PERFORMANCES.length * ticker + code] = count
      bases.ranked[ticker]! += count
      if (isAmongTop(code)) barsAmongTop += count
    }
    bases.topShares[ticker] = barsAmongTop / bases.ranked[ticker]!
  }
  return bases
}

/** Sets the mean of the returns after a ticker's bars, and the share above 0. @param bars length of the window */
function setMeanAndRises(
  { ended, means, rises }: WindowBases,
  ticker: number,
  closes: PackedPrices,
  indexes: Int32Array,
  bars: number,
): void {
  const n = ended[ticker]!
  let sum = 0
  let risen = 0
  for (let i = 0; i < n; i++) {
    const value = packedReturnOver(closes, indexes[i]!, bars)
    sum += value
    risen += Number(value > 0)
  }
  means[ticker] = sum / n
  rises[ticker] = risen / n
}

/**
 * The weight of the returns of a pool's ticker: its number of events with a return. The only ticker of a pool has the
 * weight 1, also without events. The weight is 0 if no bar of the ticker has a return. @param member index in the pool
 */
function returnWeight({ tickerIndexes, ended }: GroupPool, member: number, bases: WindowBases): number {
  if (bases.ended[tickerIndexes[member]!] === 0) return 0
  return tickerIndexes.length === 1 ? 1 : ended[member]!
}

/** The tickers of a pool whose returns have a weight above 0, with these weights, as `pooledQuantiles` takes them. */
export function weightedColumns(pool: GroupPool, bases: WindowBases): Pool {
  const weights = Float64Array.from(pool.tickerIndexes, (_, member) => returnWeight(pool, member, bases))
  return {
    columns: pool.tickerIndexes.filter((_, member) => weights[member]! > 0),
    weights: weights.filter(weight => weight > 0),
  }
}

/**
 * The outcomes after any bar of a group's tickers, each weighted by its number of events. Quantiles are those of the
 * mixture with these weights (mixtures.ts). One ticker has its own values, also without any event.
 * @param quantiles those of BASE_QUANTILES
 */
export function measuredBase(pool: GroupPool, bases: WindowBases, quantiles: readonly (number | null)[]): Base {
  const { tickerIndexes, ranked } = pool
  const weightedShares = new Float64Array(PERFORMANCES.length)
  let weightedTop = 0
  let totalWeight = 0
  let totalBars = 0
  for (let member = 0; member < tickerIndexes.length; member++) {
    const ticker = tickerIndexes[member]!
    const bars = bases.ranked[ticker]!
    const weight = tickerIndexes.length === 1 ? 1 : ranked[member]!
    if (weight === 0 || bars === 0) continue
    totalWeight += weight
    totalBars += bars
    for (let code = 0; code < PERFORMANCES.length; code++)
      weightedShares[code]! += (weight * bases.counts[PERFORMANCES.length * ticker + code]!) / bars
    weightedTop += weight * bases.topShares[ticker]!
  }
  const weightedMean = (sum: number): number | null => (totalWeight === 0 ? null : sum / totalWeight)
  return {
    kind: 'measured',
    n: totalBars,
    shares: byPerformance(code => weightedMean(weightedShares[code]!)),
    returns: baseReturns(pool, bases, quantiles),
    top_share: weightedMean(weightedTop),
    reason: totalWeight === 0 ? noWeightReason(pool) : null,
  }
}

/** The base where prices are unknown: the shares for which the performance bands were cut. */
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

/** The returns after any bar of a pool's tickers, weighted by events; nulls with a reason if no ticker has a weight. */
function baseReturns(
  pool: GroupPool,
  bases: WindowBases,
  [median = null, p10 = null, p90 = null]: readonly (number | null)[],
): ReturnFigures {
  let n = 0
  let totalWeight = 0
  let weightedRises = 0
  let weightedMeans = 0
  for (let member = 0; member < pool.tickerIndexes.length; member++) {
    const ticker = pool.tickerIndexes[member]!
    const weight = returnWeight(pool, member, bases)
    if (weight === 0) continue
    n += bases.ended[ticker]!
    totalWeight += weight
    weightedRises += weight * bases.rises[ticker]!
    weightedMeans += weight * bases.means[ticker]!
  }
  if (totalWeight === 0) return { ...noReturns(noWeightReason(pool)), n, median, p10, p90 }
  const hit_rate = weightedRises / totalWeight
  return { n, hit_rate, mean: weightedMeans / totalWeight, median, p10, p90, reason: null }
}

function noWeightReason({ tickerIndexes }: GroupPool): string {
  return tickerIndexes.length === 1 ? 'no bar in range has such an outcome' : 'no event to weight the tickers by'
}

export type Shares = Record<Performance, number | null>

/** Figures of unrounded returns, as fractions; quantiles are linear between order statistics. */
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

/** Share above 0, mean and quantiles of returns, which are sorted in place; nulls with the reason without returns. */
export function returnFigures(returns: Float64Array, reason: string): ReturnFigures {
  const n = returns.length
  if (n === 0) return noReturns(reason)
  const ascending = sortedColumn(returns, returns)
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

/** Whether a performance band means a return among the best 40 %. @param code index into PERFORMANCES */
export function isAmongTop(code: number): boolean {
  return code >= FIRST_OF_TOP
}
