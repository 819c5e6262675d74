import { quantile } from '../../core/statistics/moments.js'
import { Random } from '../../core/statistics/random.js'
import { drawdowns, sharpe } from '../../core/statistics/sharpe.js'
import { type CalendarPart, planOf, runOf, type Simulation } from './portfolio.js'
import type { DrawPoints, DrawsSummary } from './result.js'
import { barsAYearOf, returnsOf } from './statistics.js'
import type { Ready } from './trade.js'

/** Number of random choices among equal signals, for one strategy and for each combination of a grid. */
export const DRAWS = 200
export const CELL_DRAWS = 25

/** A verdict holds where this share of the draws agrees. */
export const AGREEMENT = 0.95

/** The verdict where fewer draws agree. */
export const DEPENDS = 'depends on which signals got a place'

/** The results of all draws, in their order; NaN where a draw has no value. */
export interface Draws {
  /** The draw shown in the result, counted from 1. */
  shown: number
  returns: Float64Array
  sharpes: Float64Array
  drawdowns: Float64Array
}

/** One run of a strategy, and the draws it was chosen from; null where the order of signals is never open. */
export interface DrawnRun extends Simulation {
  draws: Draws | null
}

export interface DrawOptions {
  draws?: number
  /** Called after each draw, counted from 0; never where the order is not open. */
  each?: (simulation: Simulation, draw: number) => void
}

/**
 * Runs a strategy. Where equal signals compete for positions, the choice among them is random, so it is made `draws`
 * times: draw d shuffles the equal signals of each day by the stream d of the seed. The run shown is the draw with the
 * lower median of the total return. `shuffle` makes draw 1 only, and `order: ticker` none.
 */
export function simulate(
  ready: Ready,
  calendar?: Int32Array,
  part?: CalendarPart,
  options: DrawOptions = {},
): DrawnRun {
  const { shown, drawn } = drawnRuns(ready, calendar, part, options)
  return drawn === null ? { ...shown(1), draws: null } : { ...shown(drawn.shown), draws: drawn }
}

/** The draws of a strategy and one of its runs; all runs are equal where the order is never open. */
function drawnRuns(
  { strategy, members }: Ready,
  calendar?: Int32Array,
  part?: CalendarPart,
  { draws = DRAWS, each }: DrawOptions = {},
): { drawn: Draws | null; shown: (draw: number) => Simulation } {
  const plan = planOf({ strategy, members }, calendar, part)
  const run = (draw: number, isBrief = false): Simulation => runOf(plan, Random.stream(strategy.seed, draw), isBrief)
  const { shuffle, order } = strategy.portfolio
  if (shuffle) return { drawn: null, shown: () => run(1) }
  const first = runOf(plan, null)
  if (first.tied === 0 || order === 'ticker') return { drawn: null, shown: () => first }
  const [returns, sharpes, falls] = [new Float64Array(draws), new Float64Array(draws), new Float64Array(draws)]
  for (let draw = 0; draw < draws; draw++) {
    const simulation = run(draw + 1, true)
    const figures = figuresOfDraw(simulation)
    returns[draw] = figures.total
    sharpes[draw] = figures.sharpe ?? Number.NaN
    falls[draw] = figures.fall ?? Number.NaN
    each?.(simulation, draw)
  }
  return { drawn: { shown: lowerMedian(returns) + 1, returns, sharpes, drawdowns: falls }, shown: draw => run(draw) }
}

/** Index of the lower median; ties go to the first. */
function lowerMedian(values: Float64Array): number {
  const ascending = [...values.keys()].sort((a, b) => values[a]! - values[b]! || a - b)
  return ascending[Math.floor((values.length - 1) / 2)]!
}

function figuresOfDraw({ strategy, members, days, equity }: Simulation) {
  const { capital } = strategy.portfolio
  const returns = returnsOf({ equity, start: capital })
  const isSound = equity.every(value => value > 0)
  const fromStart = equity.slice()
  if (fromStart.length > 0) fromStart[0] = capital
  return {
    total: (equity.at(-1) ?? capital) / capital - 1,
    sharpe: isSound ? sharpe(returns, barsAYearOf(members, days), strategy.risk_free) : null,
    fall: isSound ? drawdowns(fromStart).maximum : null,
  }
}

/** The 5 %, 50 % and 95 % points of the known values. */
export function pointsOf(values: Float64Array): DrawPoints {
  const ascending = values.filter(value => !Number.isNaN(value)).sort()
  return { p05: quantile(ascending, 0.05), p50: quantile(ascending, 0.5), p95: quantile(ascending, 0.95) }
}

/** The draws as a result shows them; null without any. */
export function drawsOf(draws: Draws | null): DrawsSummary | null {
  if (draws === null) return null
  const { returns, sharpes, drawdowns, shown } = draws
  return {
    n: returns.length,
    shown,
    return: pointsOf(returns),
    sharpe: pointsOf(sharpes),
    max_drawdown: pointsOf(drawdowns),
  }
}
