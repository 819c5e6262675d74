import { countBelow, countUpTo, dateOf, formatDay, monthOf, yearOf } from '../../core/model/day.js'
import type { Costs } from '../../core/params/strategy.js'
import { wilson } from '../../core/statistics/counts.js'
import { deviation, kurtosis, mean, median, reasonsFor, skewness, sum } from '../../core/statistics/moments.js'
import {
  drawdowns,
  expectedShortfall,
  minTrackRecord,
  probabilisticSharpe,
  sampleOf,
  sharpe,
  sortino,
  valueAtRisk,
} from '../../core/statistics/sharpe.js'
import type { Member } from './members.js'
import type { Simulation } from './portfolio.js'
import type { Backtest, EquityPoint, EquityStatistics, TradeStatistics, Year } from './result.js'
import { breakEvenCost, type TakenTrade, type TradeResult, tradeResult } from './trade.js'

/** An equity curve and the data for its statistics. */
export interface Curve {
  /** At each close. */
  equity: Float64Array
  /** Equity before the first entry. */
  start: number
  barsAYear: number
  /** Risk-free rate a year, a fraction. */
  riskFree: number
  /** Bars with an open position between open and close. */
  exposed: number
  /** Mean share of the equity in positions, per bar. */
  invested: number
  /** Money traded in entries and exits. */
  traded: number
}

/** Returns from close to close. The first return starts from the starting capital. */
export function returnsOf({ equity, start }: Pick<Curve, 'equity' | 'start'>): Float64Array {
  const returns = new Float64Array(Math.max(0, equity.length - 1))
  for (let i = 0; i < returns.length; i++) returns[i] = equity[i + 1]! / (i === 0 ? start : equity[i]!) - 1
  return returns
}

/**
 * The part of a curve at some bars only. Its start is the starting capital if the first of them is the curve's first
 * bar, as in returnsOf; otherwise the equity at that bar.
 */
export function equityAt({ equity, start }: Pick<Curve, 'equity' | 'start'>, bars: readonly number[]) {
  const first = bars[0] ?? 0
  return { equity: Float64Array.from(bars, bar => equity[bar]!), start: first === 0 ? start : equity[first]! }
}

/** The statistics of a curve; each null has its reason. */
export function equityStatistics(curve: Curve): EquityStatistics {
  const returns = returnsOf(curve)
  const { bars, ...values } = statisticsByName(curve, returns)
  const fault = curveFault(curve, returns)
  if (fault !== null) {
    const nulls = Object.fromEntries(Object.keys(values).map(name => [name, null])) as Record<keyof typeof values, null>
    return { ...nulls, bars, reasons: reasonsFor(nulls, () => fault) }
  }
  const fewReturns = returns.length < 2 ? REASONS.volatility : undefined
  const reasons = reasonsFor(values, name => REASONS[name] ?? fewReturns ?? varianceReason(name, values))
  return { bars, ...values, reasons }
}

/** The statistics of curves as one: each continues from the end of the one before. Their days need not touch. */
export function joinedStatistics(
  parts: readonly Curve[],
  { barsAYear, riskFree }: Pick<Curve, 'barsAYear' | 'riskFree'>,
): EquityStatistics {
  const returns = parts.flatMap(part => [...returnsOf(part)])
  const equity = new Float64Array(returns.length + 1).fill(1)
  for (const [i, value] of returns.entries()) equity[i + 1] = equity[i]! * (1 + value)
  const bars = parts.reduce((sum, part) => sum + part.equity.length, 0)
  const exposedBars = parts.reduce((sum, part) => sum + part.exposed, 0)
  const investedBars = parts.reduce((sum, part) => sum + part.invested * part.equity.length, 0)
  const turnover = parts.reduce((sum, part) => sum + part.traded / (mean(part.equity) ?? 1), 0)
  // Exposure and turnover are shares of the parts' own bars and money. `equityStatistics` divides by those of the
  // joined curve, so they are multiplied by these here.
  return equityStatistics({
    equity,
    start: 1,
    barsAYear,
    riskFree,
    exposed: bars === 0 ? 0 : (exposedBars / bars) * equity.length,
    invested: bars === 0 ? 0 : investedBars / bars,
    traded: turnover * (mean(equity) ?? 0),
  })
}

/** The statistics of a curve; null where one is not defined. @param returns of the curve, at least one */
function statisticsByName(curve: Curve, returns: Float64Array): Omit<EquityStatistics, 'reasons'> {
  const { equity, start, barsAYear, riskFree } = curve
  const total = equity.at(-1)! / start
  const cagr = total ** (barsAYear / returns.length) - 1
  // The first return is from `start` to the second value: the equity at the first close does not count.
  const fall = drawdowns(Float64Array.from(equity, (value, i) => (i === 0 ? start : value)))
  const ratio = sharpe(returns, barsAYear, riskFree)
  const sample = sampleOf(ratio, returns, barsAYear)
  return {
    bars: returns.length,
    total_return: total - 1,
    cagr: Number.isFinite(cagr) ? cagr : null,
    volatility: returns.length < 2 ? null : deviation(returns)! * Math.sqrt(barsAYear),
    sharpe: ratio,
    sortino: sortino(returns, barsAYear, riskFree),
    calmar: fall.maximum! < 0 && Number.isFinite(cagr) ? cagr / -fall.maximum! : null,
    max_drawdown: fall.maximum,
    average_drawdown: fall.average,
    longest_drawdown_bars: fall.longest,
    ulcer_index: fall.ulcer,
    skewness: skewness(returns),
    kurtosis: kurtosis(returns),
    best_bar: returns.reduce((most, value) => (value > most ? value : most), Number.NEGATIVE_INFINITY),
    worst_bar: returns.reduce((least, value) => (value < least ? value : least), Number.POSITIVE_INFINITY),
    value_at_risk: valueAtRisk(returns),
    conditional_value_at_risk: expectedShortfall(returns),
    exposure: curve.exposed / equity.length,
    invested: curve.invested,
    turnover: (curve.traded / mean(equity)!) * (barsAYear / returns.length),
    probabilistic_sharpe: sample && probabilisticSharpe(sample),
    min_track_record_bars: sample && minTrackRecord(sample),
  }
}

/** Why a curve has no statistics; null if it has. */
function curveFault({ equity, start }: Curve, returns: Float64Array): string | null {
  if (returns.length === 0) return 'there are fewer than two bars'
  return start > 0 && equity.every(value => value > 0) ? null : 'the equity fell to 0 or below'
}

/** Why a statistic is null: the returns do not vary, or they allow for no test of the Sharpe ratio. */
function varianceReason(name: string, { sharpe }: Pick<EquityStatistics, 'sharpe'>): string {
  const testsSharpe = name === 'probabilistic_sharpe' || name === 'min_track_record_bars'
  if (!testsSharpe || sharpe === null) return 'the returns do not vary'
  return name === 'min_track_record_bars' && sharpe <= 0
    ? 'the Sharpe ratio is not above 0'
    : 'the moments of the returns allow for none'
}

const REASONS: Readonly<Record<string, string>> = {
  cagr: 'it is beyond what a number holds, over so few bars',
  volatility: 'there are fewer than two returns',
  sortino: 'no return is below the risk-free rate',
  calmar: 'the equity never fell',
  average_drawdown: 'the equity never fell',
  value_at_risk: 'there are fewer than 20 returns',
  conditional_value_at_risk: 'there are fewer than 20 returns',
}

/** The statistics of a simulation, annualised by its own days. */
export interface Figures {
  barsAYear: number
  statistics: EquityStatistics
  trade_statistics: TradeStatistics
}

/** The statistics of a simulation and of its trades. @param closed its closed trades, in the order of their exits */
export function figuresOf(
  simulation: Simulation,
  closed: readonly TradeResult[] = closedInExitOrder(tradeResults(simulation)),
): Figures {
  const { strategy, members, days } = simulation
  const barsAYear = barsAYearOf(members, days)
  return {
    barsAYear,
    statistics: equityStatistics(curveOf(simulation, barsAYear)),
    trade_statistics: tradeStatistics(strategy.costs, closed),
  }
}

/** All trades of a simulation with their lengths and excursions, in the order of their entries. */
export function tradeResults({ strategy, trades }: Simulation): TradeResult[] {
  return trades.map(trade => tradeResult(strategy.fill, trade))
}

/** The closed trades in the order of their exits. */
export function closedInExitOrder(trades: readonly TradeResult[]): TradeResult[] {
  const closed = trades.filter(({ taken }) => taken.end.why !== 'open')
  return sortByDay(closed, ({ end }) => end.day)
}

/** Sorts trades by a day of theirs, then by ticker, then by signal. */
export function sortByDay(trades: readonly TradeResult[], dayOf: (taken: TakenTrade) => number): TradeResult[] {
  const order = (a: TakenTrade, b: TakenTrade): number =>
    dayOf(a) - dayOf(b) || compareText(a.member.ticker, b.member.ticker) || a.signal - b.signal
  return trades.toSorted((a, b) => order(a.taken, b.taken))
}

/** Compares two texts by their code units: negative where `a` comes first, 0 where they are equal. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** Statistics of closed trades. Returns are net of costs unless the name says otherwise; each null has its reason. */
export function tradeStatistics(costs: Costs, trades: readonly TradeResult[]): TradeStatistics {
  const taken = trades.map(trade => trade.taken)
  const net = taken.map(trade => trade.net)
  const n = net.length
  const gains = net.filter(value => value > 0)
  const losses = net.filter(value => value < 0)
  const hit = wilson(gains.length, n)
  const average = mean(net)
  const spread = deviation(net)
  const statistics = {
    n,
    wins: gains.length,
    hit_rate: n === 0 ? null : gains.length / n,
    hit_low: hit?.low ?? null,
    hit_high: hit?.high ?? null,
    mean: average,
    mean_gross: mean(taken.map(trade => trade.gross)),
    median: median(net),
    best: n === 0 ? null : net.reduce((most, value) => Math.max(most, value)),
    worst: n === 0 ? null : net.reduce((least, value) => Math.min(least, value)),
    deviation: spread,
    profit_factor: losses.length === 0 ? null : sum(gains) / -sum(losses),
    // Share of gains times their mean, minus the share of losses times theirs.
    expectancy: n === 0 ? null : (sum(gains) + sum(losses)) / n,
    // Tharp, "Super trader" (2009), with returns in place of multiples of the risk.
    sqn: average === null || !spread || areEqual(net, average) ? null : (Math.sqrt(n) * average) / spread,
    longest_losing_run: n === 0 ? null : longestLosingStreak(net),
    average_bars: mean(trades.map(trade => trade.bars)),
    mean_mfe: mean(trades.map(trade => trade.mfe)),
    mean_mae: mean(trades.map(trade => trade.mae)),
    break_even_cost: n === 0 ? null : breakEvenCost(costs, taken),
  }
  return { ...statistics, reasons: reasonsFor(statistics, name => reasonForNull(name, n)) }
}

/** Why a statistic of a number of closed trades is null. */
function reasonForNull(name: string, trades: number): string {
  if (trades === 0) return 'there is no closed trade'
  return trades === 1 && name === 'sqn' ? ONE_TRADE_ONLY : (TRADE_REASONS[name] ?? 'it is not defined')
}

const ONE_TRADE_ONLY = 'there is one trade only'

const TRADE_REASONS: Readonly<Record<string, string>> = {
  deviation: ONE_TRADE_ONLY,
  sqn: 'all trades end alike',
  profit_factor: 'no trade lost',
  break_even_cost: 'the mean net return is not above 0 even at no cost',
}

/** Rounding error of equal returns: a ratio to it would be arbitrary. */
const ROUNDING = 1e-12

/** Whether all values equal their average, apart from rounding. */
function areEqual(values: readonly number[], average: number): boolean {
  return values.every(value => Math.abs(value - average) <= ROUNDING)
}

/** The greatest number of losing trades in a row. @param net net returns in the order of the exits */
function longestLosingStreak(net: readonly number[]): number {
  let longest = 0
  let streak = 0
  for (const value of net) {
    streak = value < 0 ? streak + 1 : 0
    if (streak > longest) longest = streak
  }
  return longest
}

/** Of the Gregorian calendar. */
const DAYS_A_YEAR = 365.25
/** More missing days, or more bars a year, than this share mean another calendar, not holidays or gaps. */
const TOLERANCE = 0.05

/**
 * The number of bars in a year, which annualises returns. Tickers of one calendar use its nominal number, also where no
 * return can be counted. Two cases use the number counted on the portfolio's days (returns / years). In the first, the
 * nominal numbers differ. In the second, they are over 5 % too low, and some ticker has no bar on over 5 % of the days.
 * @param parts days of the portfolio, in one piece or in several
 */
export function barsAYearOf(members: readonly Pick<Member, 'prices'>[], ...parts: readonly Int32Array[]): number {
  const nominal = Math.max(...members.map(({ prices }) => prices.barsAYear))
  const counted = countedBarsAYear(...parts)
  if (counted === null) return nominal
  if (members.some(({ prices }) => prices.barsAYear !== nominal)) return counted
  // Weeks of two markets may end on different days, which doubles the days with a bar.
  const isCrowded = counted > nominal * (1 + TOLERANCE)
  return isCrowded && parts.some(part => members.some(member => lacksManyDays(member, part))) ? counted : nominal
}

/** The number of returns / the years that they cover; null without any. */
function countedBarsAYear(...parts: readonly Int32Array[]): number | null {
  let returns = 0
  let days = 0
  for (const part of parts) {
    if (part.length < 2) continue
    returns += part.length - 1
    days += part.at(-1)! - part[0]!
  }
  return days === 0 ? null : (returns * DAYS_A_YEAR) / days
}

/** Bars a year on the days that several calendars share. A calendar with only these days keeps its own number. */
export function sharedBarsAYear(
  shared: Int32Array,
  calendars: readonly { days: Int32Array; barsAYear: number }[],
): number {
  const same = calendars.find(({ days }) => days.length === shared.length)
  return same?.barsAYear ?? countedBarsAYear(shared) ?? calendars[0]!.barsAYear
}

/** Whether a ticker has no bar on many days of a calendar between its own first and last bar. */
function lacksManyDays({ prices }: Pick<Member, 'prices'>, calendar: Int32Array): boolean {
  const barDays = prices.series.days
  const first = Math.max(barDays[0]!, calendar[0]!)
  const last = Math.min(barDays.at(-1)!, calendar.at(-1)!)
  const countWithin = (days: Int32Array): number => Math.max(0, countUpTo(days, last) - countBelow(days, first))
  return countWithin(barDays) < countWithin(calendar) * (1 - TOLERANCE)
}

/** Number of the deepest falls that are listed. */
const LISTED_DRAWDOWNS = 5

export function curveOf({ strategy, equity, exposed, exposure, traded }: Simulation, barsAYear: number): Curve {
  const { portfolio, risk_free: riskFree } = strategy
  return { equity, start: portfolio.capital, barsAYear, riskFree, exposed, invested: investedShare(exposure), traded }
}

/** Mean share of the equity in positions between open and close; 0 without any. NaN bars are left out. */
export function investedShare(exposure: Float64Array): number {
  return mean(exposure.filter(share => !Number.isNaN(share))) ?? 0
}

/** Mean share of the equity in positions, negative for shorts. */
export function averageExposure({ exposure, strategy }: Simulation): number {
  return investedShare(exposure) * (strategy.side === 'long' ? 1 : -1)
}

/** The equity at each close as the result lists it. */
export function equityPoints({ days, equity, value, positions }: Simulation, curve: Curve): EquityPoint[] {
  const { series } = drawdowns(equity)
  const rolling = rollingYear(curve)
  return Array.from(days, (day, i) => ({
    date: formatDay(day),
    equity: equity[i]!,
    gross: equity[i]! > 0 ? value[i]! / equity[i]! : null,
    positions: positions[i]!,
    drawdown: series[i]!,
    ...rolling[i]!,
  }))
}

/** Sharpe ratio and volatility of the last year of returns at each bar. */
function rollingYear(curve: Curve): Pick<EquityPoint, 'rolling_sharpe' | 'rolling_volatility'>[] {
  const { equity, barsAYear, riskFree } = curve
  const returns = returnsOf(curve)
  const barsInYear = Math.round(barsAYear)
  const ruinBar = equity.findIndex(value => value <= 0)
  return Array.from(equity, (_, bar) => {
    if (bar < barsInYear || (ruinBar >= 0 && bar >= ruinBar)) return { rolling_sharpe: null, rolling_volatility: null }
    const lastYear = returns.subarray(bar - barsInYear, bar)
    const spread = deviation(lastYear)
    return {
      rolling_sharpe: sharpe(lastYear, barsAYear, riskFree),
      rolling_volatility: spread === null ? null : spread * Math.sqrt(barsAYear),
    }
  })
}

/** Return of each calendar year of a curve, from the previous close, and its deepest fall from a high of the year. */
export function yearsOf({ days, equity, start }: { days: Int32Array } & Pick<Curve, 'equity' | 'start'>): Year[] {
  const isFirstOfYear = (bar: number): boolean => bar === 0 || yearOf(days[bar]!) !== yearOf(days[bar - 1]!)
  const firstBars = Array.from(days.keys()).filter(isFirstOfYear)
  return firstBars.map((firstBar, i) => {
    const before = firstBar === 0 ? start : equity[firstBar - 1]!
    const values = Float64Array.from([before, ...equity.subarray(firstBar, firstBars[i + 1])])
    const isSound = values.every(value => value > 0)
    return {
      year: yearOf(days[firstBar]!),
      return: before > 0 ? values.at(-1)! / before - 1 : null,
      max_drawdown: isSound ? drawdowns(values).maximum : null,
    }
  })
}

/** Return of each calendar month, from the close before it to its last close. */
export function monthlyReturns({ days, equity, strategy }: Simulation): Backtest['months'] {
  const months: Backtest['months'] = []
  let before = strategy.portfolio.capital
  for (let i = 0; i < days.length; i++) {
    const year = yearOf(days[i]!)
    const month = monthOf(days[i]!)
    const next = days[i + 1]
    const isLastOfMonth = next === undefined || yearOf(next) !== year || monthOf(next) !== month
    if (!isLastOfMonth) continue
    months.push({ year, month, return: before > 0 ? equity[i]! / before - 1 : null })
    before = equity[i]!
  }
  return months
}

/** The deepest falls from a high, the deepest first. */
export function deepestDrawdowns({ days, equity }: Simulation): Backtest['drawdowns'] {
  const deepestFirst = drawdowns(equity).spells.toSorted((a, b) => a.depth - b.depth || a.from - b.from)
  return deepestFirst.slice(0, LISTED_DRAWDOWNS).map(({ from, low, to, depth }) => ({
    from: formatDay(days[from]!),
    low: formatDay(days[low]!),
    to: dateOf(to === null ? null : days[to]),
    depth,
    bars: (to ?? days.length - 1) - from,
  }))
}
