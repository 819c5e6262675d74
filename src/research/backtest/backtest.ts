import { InvalidParameter } from '../../errors.js'
import type { Market, MarketBars } from '../../market.js'
import { formatDay } from '../../model/day.js'
import type { Trials } from '../../model/trials.js'
import { sharpe } from '../../statistics/sharpe.js'
import { benchmarkOf, buyAndHold, heldAlone, type Judged } from './benchmark.js'
import { portfolioCalendar } from './candidates.js'
import { contextWarnings } from './context.js'
import { curveOf, deepestFalls, equityPoints, monthlyReturns } from './curve.js'
import { documentOf } from './document.js'
import { equityStatistics, returnsOf, sampleOf } from './equity-statistics.js'
import { checkFamily, deflated, type Look } from './looks.js'
import { membersOf } from './member.js'
import { type Simulation, simulate } from './portfolio.js'
import { randomEntry } from './random-entry.js'
import { assumptionsOf } from './remarks.js'
import type { Backtest, Benchmark } from './result.js'
import { checkRules } from './rules.js'
import type { RunOptions, Strategy } from './strategy.js'
import { countsOf, toldSkipped, toldTrades } from './told.js'
import { closedOf, tradeStatistics } from './trade-statistics.js'
import { type Ready, validate } from './validation.js'
import { warningsOf } from './warnings.js'
import { barsAYearOf } from './years.js'

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
  checkFamily(run, trials)
  // What is not there is refused before the work, not after it.
  const benchmark = strategy.benchmark === null ? null : await market.bars(strategy.benchmark, strategy.timeframe)
  const [members, ...others] = await membersOf(market, [strategy, ...candidates], step)
  const own: Ready = { strategy, members: members! }
  const rivals: Ready[] = candidates.map((candidate, i) => ({ strategy: candidate, members: others[i]! }))
  step?.(() => 'trades')
  const simulation = simulate(own.members, strategy, portfolioCalendar(own.members))
  const { days, trades } = simulation
  const barsAYear = barsAYearOf(own.members, days)
  const curve = curveOf(simulation, strategy, barsAYear)
  const statistics = equityStatistics(curve)
  const signals = countsOf(simulation)
  const benchmarks = benchmarksOf(own, benchmark, { timeframe: strategy.timeframe, days, curve })
  step?.(() => 'random entries')
  const random_entry = randomEntry(strategy, trades, run.reps)
  const validation = validate(own, rivals, portfolioCalendar([...own.members, ...others.flat()]), run)
  const sample = sampleOf(statistics.sharpe, returnsOf(curve), barsAYear)
  const looks = [lookOf(strategy, simulation), ...rivals.map(lookAt)]
  const interest = { money: simulation.interest, of_capital: simulation.interest / strategy.portfolio.capital }
  const found = { signals, statistics, benchmarks, interest, validation }
  return {
    ...headOf(strategy, days, await market.asOf()),
    bars_a_year: barsAYear,
    ...found,
    trade_statistics: tradeStatistics(strategy.costs, closedOf(strategy, trades)),
    trades: toldTrades(strategy, trades),
    skipped: toldSkipped(simulation),
    equity: equityPoints(simulation),
    months: monthlyReturns(simulation, strategy.portfolio.capital),
    drawdowns: deepestFalls(simulation),
    random_entry,
    trials: await deflated(looks, sample, trials, run.family ?? 'run'),
    assumptions: assumptionsOf(strategy, own.members, barsAYear, run, random_entry),
    warnings: [
      ...warningsOf(strategy, own.members, simulation, found, run),
      ...(await contextWarnings(market, strategy, own.members)),
      ...market.remarks(),
    ],
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

function lookAt({ strategy, members }: Ready): Look {
  return lookOf(strategy, simulate(members, strategy, portfolioCalendar(members)))
}

/** A ruined strategy has no ratio. */
function lookOf(strategy: Strategy, { days, equity }: Pick<Simulation, 'days' | 'equity'>): Look {
  const returns = returnsOf({ equity, start: strategy.portfolio.capital })
  return { strategy, days, sharpe: equity.every(value => value > 0) ? sharpe(returns, 1) : null }
}

function benchmarksOf({ members }: Ready, other: MarketBars | null, judged: Judged): Benchmark[] {
  const { days, curve } = judged
  const held = buyAndHold(
    members.map(({ prices }) => prices),
    days,
    curve.barsAYear,
  )
  const own = benchmarkOf('buy and hold', held, judged)
  return other === null ? [own] : [own, benchmarkOf(other.ticker, heldAlone(other, days), judged)]
}

function headOf(strategy: Strategy, days: Int32Array, asOf: number | null) {
  const { tickers, timeframe, seed } = strategy
  return {
    schema: 'bands.backtest/1' as const,
    strategy: documentOf(strategy),
    tickers: [...tickers],
    timeframe,
    first: dateOf(days[0]),
    last: dateOf(days.at(-1)),
    as_of: dateOf(asOf ?? undefined),
    seed,
  }
}

function dateOf(day: number | undefined): string | null {
  return day === undefined ? null : formatDay(day)
}
