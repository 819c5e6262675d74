import { countBelow, countUpTo, type Day, dateOf, mondayOf } from '../../core/model/day.js'
import type { Timeframe } from '../../core/model/terms.js'
import type { MarketBars } from '../../core/source.js'
import { deviation, mean } from '../../core/statistics/moments.js'
import { automaticLag, neweyWestAlpha, regression } from '../../core/statistics/robust.js'
import { freeRate } from '../../core/statistics/sharpe.js'
import type { Benchmark } from './result.js'
import {
  type Curve,
  equityAt,
  equityStatistics,
  investedShare,
  returnsOf,
  sharedBarsAYear,
  yearsOf,
} from './statistics.js'

/** A holding: bought at a close and sold only at the end of its trading; start 1. */
interface Holding extends Omit<Curve, 'start' | 'riskFree'> {
  /** The days of its bars. */
  days: Int32Array
}

export interface ComparedCurve {
  timeframe: Timeframe
  days: Int32Array
  curve: Curve
}

type Tickers = readonly Pick<MarketBars, 'series' | 'delisting'>[]

/**
 * Buy and hold over a calendar, without costs, start 1. Each ticker gets equal money at the close of its first bar in
 * the calendar; before that, and after a delisting, it is cash. `exposed` counts the days with any ticker held.
 */
export function buyAndHold(tickers: Tickers, calendar: Int32Array, barsAYear: number): Holding {
  const equity = new Float64Array(calendar.length)
  const invested = new Float64Array(calendar.length)
  const isExposed = new Uint8Array(calendar.length)
  const moneyPerTicker = 1 / tickers.length
  let traded = 0
  for (const { series, delisting } of tickers) {
    const { days, close } = series
    let bar = countBelow(days, calendar[0] ?? 0)
    const hasBars = bar < days.length
    const firstClose = close[bar] ?? Number.NaN
    const valueAt = (price: number): number => (moneyPerTicker * price) / firstClose
    const endDay = delisting?.day ?? Number.POSITIVE_INFINITY
    if (hasBars) traded += moneyPerTicker
    if (hasBars && endDay <= calendar.at(-1)!) traded += valueAt(delisting!.price)
    for (let index = 0; index < calendar.length; index++) {
      const day = calendar[index]!
      if (!hasBars || day < days[bar]!) {
        equity[index]! += moneyPerTicker
        continue
      }
      while (bar + 1 < days.length && days[bar + 1]! <= day) bar++
      const value = valueAt(day < endDay ? close[bar]! : delisting!.price)
      equity[index]! += value
      if (day >= endDay) continue
      isExposed[index] = 1
      invested[index]! += value
    }
  }
  const investedShares = invested.map((value, index) => value / equity[index]!)
  const exposed = isExposed.reduce((sum, flag) => sum + flag, 0)
  return { days: calendar, equity, traded, exposed, invested: investedShare(investedShares), barsAYear }
}

/**
 * A holding with only a part of the equity in it, rebalanced at each close; the rest is cash. It shows the return of a
 * strategy's average exposure.
 * @param full the holding with all of the equity
 * @param exposure the part, a fraction; negative for a short position
 * @param cashRate interest on cash a year, a fraction
 */
export function holdAtExposure(full: Holding, exposure: number, cashRate: number): Holding {
  const equity = full.equity.slice()
  let traded = equity.length === 0 ? 0 : Math.abs(exposure)
  for (let i = 1; i < equity.length; i++) {
    const before = equity[i - 1]!
    // Shares of the equity before: the position after the bar, and the interest of the bar.
    const grownPosition = exposure * (full.equity[i]! / full.equity[i - 1]!)
    const interest = ((1 - Math.abs(exposure)) * cashRate * (full.days[i]! - full.days[i - 1]!)) / 365
    equity[i] = before * (1 + grownPosition - exposure + interest)
    // What is bought or sold so that the position has its part again.
    traded += Math.abs(exposure * equity[i]! - before * grownPosition)
  }
  return {
    ...full,
    equity,
    traded,
    exposed: exposure === 0 ? 0 : full.exposed,
    invested: Math.abs(exposure) * full.invested,
  }
}

/** One ticker held over its own bars within a calendar, to the end of its trading; without costs, start 1. */
export function holdTicker(ticker: MarketBars, calendar: Int32Array): Holding {
  const { series, delisting, barsAYear } = ticker
  const end = calendar.at(-1) ?? -1
  const barDays = series.days.subarray(countBelow(series.days, calendar[0] ?? 0), countUpTo(series.days, end))
  const lastBarDay = barDays.at(-1) ?? end
  const isDelistedLater = delisting !== null && delisting.day > lastBarDay && delisting.day <= end
  const days = isDelistedLater ? Int32Array.from([...barDays, delisting.day]) : barDays
  return { ...buyAndHold([ticker], days, barsAYear), exposed: barDays.length }
}

/** Compares a strategy with a holding: the statistics of the holding, and of the two on their common bars. */
export function benchmarkOf(name: string, holding: Holding, compared: ComparedCurve): Benchmark {
  const { riskFree } = compared.curve
  const { strategyReturns, holdingReturns, bars, barsAYear } = returnsOnSharedBars(holding, compared)
  const freeReturn = freeRate(barsAYear, riskFree)
  // Above the risk-free rate.
  const excess = strategyReturns.map(value => value - freeReturn)
  const market = holdingReturns.map(value => value - freeReturn)
  const areFinite = strategyReturns.every(Number.isFinite) && holdingReturns.every(Number.isFinite)
  const fit = areFinite ? regression(excess, market) : null
  const tOfAlpha = fit === null ? null : alphaT(excess, market)
  const differences = strategyReturns.map((value, i) => value - holdingReturns[i]!)
  const trackingError = deviation(differences)
  const information = areFinite && trackingError ? (mean(differences)! / trackingError) * Math.sqrt(barsAYear) : null
  const reasons: Record<string, string> = {}
  let dataFault: string | null = null
  if (!areFinite) dataFault = 'one of the two fell to 0'
  else if (excess.length < 3) dataFault = 'the two have fewer than three returns in common'
  if (fit === null)
    for (const key of ['alpha', 'beta', 'correlation']) reasons[key] = dataFault ?? 'one of the two does not vary'
  if (tOfAlpha === null) reasons.alpha_t = reasons.alpha ?? 'nothing is left that varies'
  if (information === null) reasons.information_ratio = dataFault ?? 'the two do not differ'
  return {
    name,
    first: dateOf(holding.days[0]),
    last: dateOf(holding.days.at(-1)),
    statistics: equityStatistics({ ...holding, start: 1, riskFree }),
    alpha: fit === null ? null : fit.alpha * barsAYear,
    alpha_t: tOfAlpha,
    beta: fit?.beta ?? null,
    correlation: fit?.r ?? null,
    information_ratio: information,
    years: yearsOf({ ...holding, start: 1 }),
    equity: equityOnDays(holding, compared.days),
    rolling_beta: rollingBeta(excess, market, Math.round(barsAYear), { shared: bars, bars: compared.days.length }),
    reasons,
  }
}

/**
 * Beta of the last year of returns at each bar of a strategy. It is null on bars that the market (a holding) does not
 * have, and in the first year.
 * @param year number of returns in a year
 * @param shared indices of the strategy's bars that both have; there is one more than returns
 * @param bars number of the strategy's bars
 */
function rollingBeta(
  excess: Float64Array,
  market: Float64Array,
  year: number,
  { shared, bars }: { shared: readonly number[]; bars: number },
): (number | null)[] {
  const betas = new Array<number | null>(bars).fill(null)
  for (let end = year; end <= excess.length; end++) {
    const excessOfYear = excess.subarray(end - year, end)
    const marketOfYear = market.subarray(end - year, end)
    if (excessOfYear.every(Number.isFinite) && marketOfYear.every(Number.isFinite))
      betas[shared[end]!] = regression(excessOfYear, marketOfYear)?.beta ?? null
  }
  return betas
}

/** A smaller error relative to the mean is rounding, and so is a smaller difference of two values. */
export const ROUNDING = 1e-9

/** Newey-West t of the alpha; null where only rounding is left of the returns. */
function alphaT(excess: Float64Array, market: Float64Array): number | null {
  const alpha = neweyWestAlpha(excess, market, automaticLag(excess.length))
  return alpha === null || alpha.se <= ROUNDING * (deviation(excess) ?? 0) ? null : alpha.t
}

/** The returns of strategy and holding between shared bars, the strategy's indices of these, and their count a year. */
function returnsOnSharedBars(holding: Holding, { timeframe, days, curve }: ComparedCurve) {
  const [bars, holdingBars] = sharedBarIndices([days, holding.days], timeframe) as [number[], number[]]
  const shared = Int32Array.from(bars, bar => days[bar]!)
  return {
    strategyReturns: returnsOf(equityAt(curve, bars)),
    holdingReturns: returnsOf(equityAt({ equity: holding.equity, start: holding.equity[0]! }, holdingBars)),
    barsAYear: sharedBarsAYear(shared, [{ days, barsAYear: curve.barsAYear }, holding]),
    bars,
  }
}

/** For each calendar, the indices of the bars that all share. Weekly bars of one week are shared, on any day. */
export function sharedBarIndices(calendars: readonly Int32Array[], timeframe: Timeframe): number[][] {
  const keyOf = timeframe === 'weekly' ? mondayOf : (day: Day): Day => day
  const indexByKey = calendars.map(days => new Map(Array.from(days, (day, i) => [keyOf(day), i])))
  const [firstIndices, ...others] = indexByKey
  const sharedKeys = [...(firstIndices?.keys() ?? [])].filter(key => others.every(indices => indices.has(key)))
  return indexByKey.map(indices => sharedKeys.map(key => indices.get(key)!))
}

/** The equity at the last bar up to each day; null before the first bar and after the last. */
function equityOnDays(holding: Holding, days: Int32Array): (number | null)[] {
  const last = holding.days.at(-1) ?? Number.NEGATIVE_INFINITY
  return Array.from(days, day => (day > last ? null : (holding.equity[countUpTo(holding.days, day) - 1] ?? null)))
}
