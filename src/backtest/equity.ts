import { dateOf, formatDay, monthOf, yearOf } from '../model/day.js'
import type { Strategy } from '../params/strategy.js'
import { mean } from '../statistics/moments.js'
import { drawdowns, sharpe } from '../statistics/sharpe.js'
import type { Simulation } from './portfolio.js'
import type { Backtest, EquityPoint, Year } from './result.js'
import { type Curve, returnsOf } from './statistics.js'

/** As many of the deepest falls are told. */
const MOST_FALLS = 5

/** What the statistics of a simulation are made of. */
export function curveOf(
  { equity, exposed, traded }: Simulation,
  { portfolio, risk_free: riskFree }: Strategy,
  barsAYear: number,
): Curve {
  return { equity, start: portfolio.capital, barsAYear, riskFree, exposed, traded }
}

/** Mean share of the equity that was in positions between open and close, negative of shorts; 0 without any. */
export function averageExposure({ exposure }: Simulation, side: Strategy['side']): number {
  return (mean(exposure.filter(share => !Number.isNaN(share))) ?? 0) * (side === 'long' ? 1 : -1)
}

export function equityPoints({ days, equity, value, positions }: Simulation, curve: Curve): EquityPoint[] {
  const { series } = drawdowns(equity)
  const rolling = rollingSharpe(curve)
  return Array.from(days, (day, i) => ({
    date: formatDay(day),
    equity: equity[i]!,
    gross: equity[i]! > 0 ? value[i]! / equity[i]! : null,
    positions: positions[i]!,
    drawdown: series[i]!,
    rolling_sharpe: rolling[i]!,
  }))
}

/** Of each bar the Sharpe ratio of as many returns up to it as make a year. */
function rollingSharpe(curve: Curve): (number | null)[] {
  const { equity, barsAYear, riskFree } = curve
  const returns = returnsOf(curve)
  const year = Math.round(barsAYear)
  const ruin = equity.findIndex(value => value <= 0)
  return Array.from(equity, (_, bar) =>
    bar < year || (ruin >= 0 && bar >= ruin) ? null : sharpe(returns.subarray(bar - year, bar), barsAYear, riskFree),
  )
}

/** Each calendar year of a curve by itself: what the close before it has become, and how deep it fell from its own high. */
export function yearsOf({ days, equity, start }: { days: Int32Array } & Pick<Curve, 'equity' | 'start'>): Year[] {
  const firsts = Array.from(days.keys()).filter(bar => bar === 0 || yearOf(days[bar]!) !== yearOf(days[bar - 1]!))
  return firsts.map((first, i) => {
    const before = first === 0 ? start : equity[first - 1]!
    const own = Float64Array.from([before, ...equity.subarray(first, firsts[i + 1])])
    const isSound = own.every(value => value > 0)
    return {
      year: yearOf(days[first]!),
      return: before > 0 ? own.at(-1)! / before - 1 : null,
      max_drawdown: isSound ? drawdowns(own).maximum : null,
    }
  })
}

/** The return of each calendar month, from the close before it to its last. */
export function monthlyReturns({ days, equity }: Simulation, start: number): Backtest['months'] {
  const months: Backtest['months'] = []
  let before = start
  for (let i = 0; i < days.length; i++) {
    const [year, month] = [yearOf(days[i]!), monthOf(days[i]!)]
    const next = i + 1 < days.length ? days[i + 1]! : null
    if (next !== null && yearOf(next) === year && monthOf(next) === month) continue
    months.push({ year, month, return: before > 0 ? equity[i]! / before - 1 : null })
    before = equity[i]!
  }
  return months
}

/** The deepest falls from a high, the deepest first. */
export function deepestFalls({ days, equity }: Simulation): Backtest['drawdowns'] {
  return drawdowns(equity)
    .spells.toSorted((a, b) => a.depth - b.depth || a.from - b.from)
    .slice(0, MOST_FALLS)
    .map(({ from, low, to, depth }) => ({
      from: formatDay(days[from]!),
      low: formatDay(days[low]!),
      to: dateOf(to === null ? null : days[to]),
      depth,
      bars: (to ?? days.length - 1) - from,
    }))
}
