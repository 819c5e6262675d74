import { InvalidParameter } from '../../errors.js'
import type { Market } from '../../market.js'
import { formatDay } from '../../model/day.js'
import type { Trials } from '../../model/trials.js'
import { benchmarkOf, buyAndHold } from './benchmark.js'
import { portfolioCalendar } from './candidates.js'
import { curveOf, deepestFalls, equityPoints, monthlyReturns } from './curve.js'
import { documentOf } from './document.js'
import { type Curve, equityStatistics, returnsOf, sampleOf } from './equity-statistics.js'
import { deflated, type Look } from './looks.js'
import { membersOf } from './member.js'
import { simulate } from './portfolio.js'
import { randomEntry } from './random-entry.js'
import { assumptionsOf, warningsOf } from './remarks.js'
import type { Backtest, Benchmark } from './result.js'
import { checkRules } from './rules.js'
import type { RunOptions, Strategy } from './strategy.js'
import { countsOf, toldSkipped, toldTrades } from './told.js'
import { closedOf, tradeStatistics } from './trade-statistics.js'
import { type Ready, validate } from './validation.js'

/** Beside the question: how progress is told, and the ledger that counts what was looked at. */
export interface BacktestWays {
  step?: (text: () => string) => void
  trials?: Trials | null
}

/**
 * Trades a strategy over all bars that a market has, and judges what came of it. Throws InvalidParameter for rules that
 * contradict each other; NotFound, TierRestricted and Busy as the market does.
 */
export async function backtest(
  market: Market,
  strategy: Strategy,
  run: RunOptions,
  { step, trials = null }: BacktestWays = {},
): Promise<Backtest> {
  const candidates = checked(strategy, run)
  const [members, ...others] = await membersOf(market, [strategy, ...candidates], step)
  const own: Ready = { strategy, members: members! }
  const rivals: Ready[] = candidates.map((candidate, i) => ({ strategy: candidate, members: others[i]! }))
  const barsAYear = Math.max(...own.members.map(({ prices }) => prices.barsAYear))
  step?.(() => 'trades')
  const simulation = simulate(own.members, strategy, portfolioCalendar(own.members))
  const { days, trades } = simulation
  const curve = curveOf(simulation, strategy, barsAYear)
  const statistics = equityStatistics(curve)
  const signals = countsOf(simulation)
  step?.(() => 'random entries')
  const random_entry = randomEntry(strategy, trades, run.reps)
  const validation = validate(own, rivals, portfolioCalendar([...own.members, ...others.flat()]), barsAYear, run)
  const sample = sampleOf(statistics.sharpe, returnsOf(curve), barsAYear)
  const looks = [{ strategy, days, sharpe: sample?.sharpe ?? null }, ...rivals.map(ready => lookAt(ready, barsAYear))]
  return {
    schema: 'bands.backtest/1',
    strategy: documentOf(strategy),
    tickers: [...strategy.tickers],
    timeframe: strategy.timeframe,
    bars_a_year: barsAYear,
    first: dateOf(days[0]),
    last: dateOf(days.at(-1)),
    as_of: dateOf((await market.asOf()) ?? undefined),
    seed: strategy.seed,
    signals,
    statistics,
    benchmarks: await benchmarksOf(market, own, days, curve),
    trade_statistics: tradeStatistics(strategy.costs, closedOf(strategy, trades)),
    trades: toldTrades(strategy, trades),
    skipped: toldSkipped(simulation),
    equity: equityPoints(simulation),
    months: monthlyReturns(simulation, strategy.portfolio.capital),
    drawdowns: deepestFalls(simulation),
    random_entry,
    trials: await deflated(looks, sample, trials),
    validation,
    assumptions: assumptionsOf(strategy, own.members, barsAYear, run, random_entry),
    warnings: [...warningsOf(strategy, own.members, simulation, { signals }, run), ...market.remarks()],
  }
}

/** The candidates of a run, each of which must be comparable with the strategy. */
function checked(strategy: Strategy, run: RunOptions): readonly Strategy[] {
  const { candidates = [], split, walkForward } = run
  for (const one of [strategy, ...candidates]) checkRules(one)
  if (candidates.length > 0 && split === null && walkForward === null)
    throw new InvalidParameter('candidates need split or walk_forward: one of them is chosen on a training part.', {
      param: 'candidates',
    })
  const isOther = ({ tickers, timeframe }: Strategy): boolean =>
    timeframe !== strategy.timeframe || tickers.join() !== strategy.tickers.join()
  if (candidates.some(isOther))
    throw new InvalidParameter('candidates must have the tickers and the timeframe of the strategy.', {
      param: 'candidates',
    })
  return candidates
}

function lookAt({ strategy, members }: Ready, barsAYear: number): Look {
  const simulation = simulate(members, strategy, portfolioCalendar(members))
  const curve = curveOf(simulation, strategy, barsAYear)
  const { sharpe } = equityStatistics(curve)
  return { strategy, days: simulation.days, sharpe: sharpe === null ? null : sharpe / Math.sqrt(barsAYear) }
}

async function benchmarksOf(
  market: Market,
  { strategy, members }: Ready,
  days: Int32Array,
  curve: Curve,
): Promise<Benchmark[]> {
  const own = benchmarkOf(
    'buy and hold',
    buyAndHold(
      members.map(({ prices }) => prices),
      days,
    ),
    curve,
  )
  if (strategy.benchmark === null) return [own]
  const other = await market.bars(strategy.benchmark, strategy.timeframe)
  return [own, benchmarkOf(strategy.benchmark, buyAndHold([other], days), curve)]
}

function dateOf(day: number | undefined): string | null {
  return day === undefined ? null : formatDay(day)
}
