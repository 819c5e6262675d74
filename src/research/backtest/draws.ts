import { quantile } from '../../core/statistics/moments.js'
import { Random } from '../../core/statistics/random.js'
import { drawdowns, sharpe } from '../../core/statistics/sharpe.js'
import type { CalendarPart } from './candidates.js'
import type { LoadedStrategy } from './members.js'
import { planRuns, runPlan, type Simulation } from './portfolio.js'
import type { DrawPoints, DrawsSummary } from './result.js'
import { barsAYearOf, returnsOf } from './statistics.js'

/** Number of random choices among equal signals, for one strategy and for each combination of a grid. */
export const DRAWS = 200
export const COMBINATION_DRAWS = 25

/** A verdict holds where this share of the draws agrees. */
export const AGREEMENT = 0.95

/** The verdict where fewer draws agree. */
export const DEPENDS_ON_DRAW = 'depends on which signals got a place'

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
  loaded: LoadedStrategy,
  calendar?: Int32Array,
  part?: CalendarPart,
  options: DrawOptions = {},
): DrawnRun {
  const { draws = DRAWS, each } = options
  const { singleRun, run } = prepareRuns(loaded, calendar, part)
  if (singleRun !== null) return { ...singleRun, draws: null }
  const figures: DrawFigures[] = []
  for (let draw = 0; draw < draws; draw++) {
    const simulation = run(draw + 1, { isBrief: true })
    figures.push(figuresOfDraw(simulation))
    each?.(simulation, draw)
  }
  const drawn = drawsFrom(figures)
  return { ...run(drawn.shown), draws: drawn }
}

export interface Runs {
  /** The run of a strategy that needs no draws: no equal signals compete, or their order is set. Otherwise null. */
  singleRun: Simulation | null
  /** Makes a draw, counted from 1. `isBrief` leaves out the skipped signals. */
  run(draw: number, options?: { isBrief: boolean }): Simulation
}

/** Prepares the draws of a strategy. If it needs no draws, makes its single run at once. */
export function prepareRuns({ strategy, members }: LoadedStrategy, calendar?: Int32Array, part?: CalendarPart): Runs {
  const plan = planRuns({ strategy, members }, calendar, part)
  const run: Runs['run'] = (draw, options) => runPlan(plan, Random.stream(strategy.seed, draw), options)
  const { shuffle, order } = strategy.portfolio
  if (shuffle) return { singleRun: run(1), run }
  const unshuffled = runPlan(plan, null)
  // `tied` counts the days on which equal signals competed.
  return { singleRun: unshuffled.tied === 0 || order === 'ticker' ? unshuffled : null, run }
}

/** The figures of all draws as columns, and the draw that a result shows. */
export function drawsFrom(figures: readonly DrawFigures[]): Draws {
  const returns = Float64Array.from(figures, ({ total }) => total)
  return {
    shown: lowerMedianIndex(returns) + 1,
    returns,
    sharpes: Float64Array.from(figures, ({ sharpe }) => sharpe ?? Number.NaN),
    drawdowns: Float64Array.from(figures, ({ fall }) => fall ?? Number.NaN),
  }
}

/** Index of the lower median: of an even number of values, the lower of the two in the middle. Ties go to the first. */
function lowerMedianIndex(values: Float64Array): number {
  const ascending = [...values.keys()].sort((a, b) => values[a]! - values[b]! || a - b)
  return ascending[Math.floor((values.length - 1) / 2)]!
}

export type DrawFigures = ReturnType<typeof figuresOfDraw>

/** The total return of a run, its Sharpe ratio and deepest fall; the last two are null where its equity reached 0. */
export function figuresOfDraw({ strategy, members, days, equity }: Simulation) {
  const { capital } = strategy.portfolio
  const returns = returnsOf({ equity, start: capital })
  const isSound = equity.every(value => value > 0)
  // The first return is from the capital to the second value: the equity at the first close does not count.
  const fromStart = equity.slice()
  if (fromStart.length > 0) fromStart[0] = capital
  return {
    total: (equity.at(-1) ?? capital) / capital - 1,
    sharpe: isSound ? sharpe(returns, barsAYearOf(members, days), strategy.risk_free) : null,
    fall: isSound ? drawdowns(fromStart).maximum : null,
  }
}

/** The 5 %, 50 % and 95 % points of values; NaN values are left out. */
export function percentilesOf(values: Float64Array): DrawPoints {
  const ascending = values.filter(value => !Number.isNaN(value)).sort()
  return { p05: quantile(ascending, 0.05), p50: quantile(ascending, 0.5), p95: quantile(ascending, 0.95) }
}

/** The draws as a result shows them; null without any. */
export function summaryOfDraws(draws: Draws | null): DrawsSummary | null {
  if (draws === null) return null
  const { returns, sharpes, drawdowns, shown } = draws
  return {
    n: returns.length,
    shown,
    return: percentilesOf(returns),
    sharpe: percentilesOf(sharpes),
    max_drawdown: percentilesOf(drawdowns),
  }
}
