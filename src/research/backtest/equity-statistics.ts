import { drawdowns } from '../../statistics/drawdown.js'
import { deviation, kurtosis, mean, skewness } from '../../statistics/moments.js'
import { minTrackRecord, probabilisticSharpe, sharpe, sortino } from '../../statistics/sharpe.js'
import type { EquityStatistics } from './result.js'

/** An equity curve and what is needed to judge it. */
export interface Curve {
  /** At each close. */
  equity: Float64Array
  /** What it began with, before anything was bought on the first bar. */
  start: number
  barsAYear: number
  /** Risk-free rate a year, a fraction. */
  riskFree: number
  /** Bars on which a position was on between open and close. */
  exposed: number
  /** Money that went through entries and exits. */
  traded: number
}

/** Returns from close to close, the first from what the curve began with: one fewer than bars. */
export function returnsOf({ equity, start }: Pick<Curve, 'equity' | 'start'>): Float64Array {
  const returns = new Float64Array(Math.max(0, equity.length - 1))
  for (let i = 0; i < returns.length; i++) returns[i] = equity[i + 1]! / (i === 0 ? start : equity[i]!) - 1
  return returns
}

/** The statistics of a curve; each null has its reason. */
export function equityStatistics(curve: Curve): EquityStatistics {
  const returns = returnsOf(curve)
  const why = reasonAgainst(curve, returns)
  const statistics = why === null ? measured(curve, returns) : { ...NOTHING, bars: returns.length }
  const one = returns.length < 2 ? REASONS.volatility : undefined
  const reasons: Record<string, string> = {}
  for (const [name, value] of Object.entries(statistics))
    if (value === null) reasons[name] = why ?? REASONS[name] ?? one ?? reasonOf(name, statistics)
  return { ...statistics, reasons }
}

/** The same of returns that were put one after the other: parts of a calendar that need not touch. */
export function chained(
  parts: readonly { returns: Float64Array; curve: Curve }[],
  { barsAYear, riskFree }: Pick<Curve, 'barsAYear' | 'riskFree'>,
): EquityStatistics {
  const returns = parts.flatMap(part => [...part.returns])
  const equity = new Float64Array(returns.length + 1).fill(1)
  for (const [i, value] of returns.entries()) equity[i + 1] = equity[i]! * (1 + value)
  const bars = parts.reduce((sum, { curve }) => sum + curve.equity.length, 0)
  const exposed = parts.reduce((sum, { curve }) => sum + curve.exposed, 0)
  const traded = parts.reduce((sum, { curve }) => sum + curve.traded / (mean(curve.equity) ?? 1), 0)
  const chain = { equity, start: 1, barsAYear, riskFree }
  // Exposure and turnover are shares of the parts' own bars and money.
  return equityStatistics({
    ...chain,
    exposed: bars === 0 ? 0 : (exposed / bars) * equity.length,
    traded: traded * (mean(equity) ?? 0),
  })
}

function measured(curve: Curve, returns: Float64Array): Omit<EquityStatistics, 'reasons'> {
  const { equity, start, barsAYear, riskFree } = curve
  const total = equity.at(-1)! / start
  const cagr = total ** (barsAYear / returns.length) - 1
  const fall = drawdowns(Float64Array.from(equity, (value, i) => (i === 0 ? start : value)))
  const ratio = sharpe(returns, barsAYear, riskFree)
  const sample = sampleOf(ratio, returns, barsAYear)
  return {
    bars: returns.length,
    total_return: total - 1,
    cagr: Number.isFinite(cagr) ? cagr : null,
    volatility: returns.length < 2 ? null : deviation(returns)! * Math.sqrt(barsAYear),
    sharpe: ratio,
    sortino: sortino(returns, barsAYear),
    calmar: fall.maximum! < 0 && Number.isFinite(cagr) ? cagr / -fall.maximum! : null,
    max_drawdown: fall.maximum,
    average_drawdown: fall.average,
    longest_drawdown_bars: fall.longest,
    ulcer_index: fall.ulcer,
    skewness: skewness(returns),
    kurtosis: kurtosis(returns),
    best_bar: Math.max(...extremes(returns)),
    worst_bar: Math.min(...extremes(returns)),
    exposure: curve.exposed / equity.length,
    turnover: (curve.traded / mean(equity)!) * (barsAYear / returns.length),
    probabilistic_sharpe: sample && probabilisticSharpe(sample),
    min_track_record_bars: sample && minTrackRecord(sample),
  }
}

/** What the Sharpe ratio a bar is judged by; null without one. */
export function sampleOf(
  yearly: number | null,
  returns: Float64Array,
  barsAYear: number,
): { sharpe: number; n: number; skewness: number; kurtosis: number } | null {
  const [lean, tails] = [skewness(returns), kurtosis(returns)]
  if (yearly === null || lean === null || tails === null) return null
  return { sharpe: yearly / Math.sqrt(barsAYear), n: returns.length, skewness: lean, kurtosis: tails }
}

function reasonAgainst({ equity, start }: Curve, returns: Float64Array): string | null {
  if (returns.length === 0) return 'there are fewer than two bars'
  return start > 0 && equity.every(value => value > 0) ? null : 'the equity fell to 0 or below'
}

function extremes(values: Float64Array): [number, number] {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) {
    if (value < least) least = value
    if (value > most) most = value
  }
  return [least, most]
}

/** Of a statistic that a few equal returns, or returns of an impossible shape, leave without a value. */
function reasonOf(name: string, { sharpe }: Pick<EquityStatistics, 'sharpe'>): string {
  const judges = name === 'probabilistic_sharpe' || name === 'min_track_record_bars'
  if (!judges || sharpe === null) return 'the returns do not vary'
  return name === 'min_track_record_bars' && sharpe <= 0
    ? 'the Sharpe ratio is not above 0'
    : 'the moments of the returns allow for none'
}

const REASONS: Readonly<Record<string, string>> = {
  cagr: 'it is beyond what a number holds, over so few bars',
  volatility: 'there are fewer than two returns',
  sortino: 'no return is below 0',
  calmar: 'the equity never fell',
  average_drawdown: 'the equity never fell',
}

const NOTHING: Omit<EquityStatistics, 'reasons' | 'bars'> = {
  total_return: null,
  cagr: null,
  volatility: null,
  sharpe: null,
  sortino: null,
  calmar: null,
  max_drawdown: null,
  average_drawdown: null,
  longest_drawdown_bars: null,
  ulcer_index: null,
  skewness: null,
  kurtosis: null,
  best_bar: null,
  worst_bar: null,
  exposure: null,
  turnover: null,
  probabilistic_sharpe: null,
  min_track_record_bars: null,
}
