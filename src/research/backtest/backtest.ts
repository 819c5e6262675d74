// For: trade a strategy over all bars of a market.
// In: a strategy, and a source with prices.
// Out: trades, the equity curve, baselines and a verdict.

import { daysAt, rangeOf } from '../../core/model/calendar.js'
import { countUpTo, type Day, dateOf, formatDay } from '../../core/model/day.js'
import { percent } from '../../core/numbers.js'
import { eventsFilter, type RunOptions, type Strategy } from '../../core/params/strategy.js'
import type { EventFilter } from '../../core/params/studies.js'
import { type MarketBars, type PricedSource, type RunContext, tickerBars, vocabulariesOf } from '../../core/source.js'
import { sampleOf } from '../../core/statistics/sharpe.js'
import { bySeverity, type Warning } from '../study/result.js'
import { signalsOf } from '../study/signals.js'
import { contextCoverage } from '../study/words.js'
import { checkFamily } from '../trials.js'
import { portfolioCalendar } from './candidates.js'
import { benchmarkOf, buyAndHold, type ComparedCurve, heldAtExposure, holdTicker } from './comparison.js'
import { COMBINATION_DRAWS, drawsOf, pointsOf, simulate } from './draws.js'
import { candidateChoices } from './grid.js'
import type { Simulation } from './portfolio.js'
import { randomEntry } from './random-entry.js'
import { type Backtest, type Benchmark, SAME_EXPOSURE, type Trade } from './result.js'
import {
  averageExposure,
  closedInExitOrder,
  compareText,
  curveOf,
  deepestDrawdowns,
  equityPoints,
  figuresOf,
  monthlyReturns,
  returnsOf,
  sortByDay,
  tradeResults,
  yearsOf,
} from './statistics.js'
import { testedRun } from './tested-run.js'
import { loadStrategies, type Member, openValue, type Ready, type TradeResult } from './trade.js'
import { logAndDeflate, strategyTrial, testsTrial } from './trial-log.js'
import { foldsOf, monteCarlo, validate, withVerdict } from './validation.js'
import { verdictOn } from './verdict.js'
import { barsAYearIn, refuseShareCostsOnAdjusted, signalsFound, warningsOf } from './warnings.js'
import { costsInWords, differences, exitsInWords, FILLS_IN_WORDS, rankInWords, slotsInWords } from './words.js'

/**
 * Trades a strategy over all bars of a market and gives a verdict. Throws InvalidParameter for contradictory rules, and
 * NotFound, TierRestricted and Busy as the source does.
 */
export async function backtest(
  source: PricedSource,
  strategy: Strategy,
  run: RunOptions,
  { step, trials = null }: RunContext = {},
): Promise<Backtest> {
  const { candidates = [], family } = run
  checkFamily(family, trials)
  // A missing ticker is refused before the work, not after it.
  const benchmark =
    strategy.benchmark === null ? null : await tickerBars(source, strategy.benchmark, strategy.timeframe)
  const [own, ...rivals] = (await loadStrategies(source, [strategy, ...candidates], step)) as [Ready, ...Ready[]]
  refuseShareCostsOnAdjusted(own)
  step?.(() => 'trades')
  const { simulation, ranks } = await testedRun(own, run.reps, source, step)
  const { days } = simulation
  const trades = tradeResults(simulation)
  const { barsAYear, statistics, trade_statistics } = figuresOf(simulation, closedInExitOrder(trades))
  const curve = curveOf(simulation, barsAYear)
  const exposure = averageExposure(simulation)
  const benchmarks = benchmarksOf(own, benchmark, exposure, { timeframe: strategy.timeframe, days, curve })
  step?.(() => 'random entries')
  const random_entry = randomEntry(strategy, simulation.trades, run.reps)
  if (run.monte_carlo !== null) step?.(() => 'Monte Carlo')
  const monte_carlo = run.monte_carlo === null ? null : monteCarlo(days, curve, run.monte_carlo, strategy.seed)
  const candidateTrials = rivals.map(rival =>
    strategyTrial(simulate(rival, undefined, undefined, { draws: COMBINATION_DRAWS })),
  )
  const last = [{ days }, ...candidateTrials].reduce((most, trial) => Math.max(most, trial.days.at(-1) ?? most), -1)
  const calendar = portfolioCalendar([own, ...rivals].flatMap(({ members }) => members))
  const names = differences(rivals.map(rival => rival.strategy))
  const isShared = source.cluster !== undefined && rivals.length > 1
  const folds = isShared ? foldsOf(calendar.subarray(0, countUpTo(calendar, last)), run) : null
  const choices = folds === null ? undefined : await candidateChoices(rivals, folds, calendar, source, step)
  const validated = validate(own, { ready: rivals, names, choices }, { calendar, last }, run)
  const sample = sampleOf(statistics.sharpe, returnsOf(curve), barsAYear)
  const tried = [{ ...strategyTrial(simulation), p: random_entry.p }, ...candidateTrials]
  const { interest, ...signals } = signalsFound(simulation)
  const ofDraws = drawsOf(simulation.draws)
  const draws = ofDraws && { ...ofDraws, p: pointsOf(Float64Array.from(ranks, rank => rank?.p ?? Number.NaN)) }
  const rows = tradeRows(strategy, trades)
  const deflated = await logAndDeflate(tried, sample, trials, {
    family,
    tests: testsTrial(validated, run),
    vocabularies: await vocabulariesOf(source),
  })
  const evidence = validated?.evidence ?? {
    trades: rows,
    random_entry,
    ranks: ofDraws === null ? [] : ranks,
    isChoiceOpen: false,
    total: statistics.total_return,
    holding: benchmarks[0]!.statistics.total_return,
    isRuined: simulation.equity.some(value => value <= 0),
    returns: [...(simulation.draws?.returns ?? [])],
  }
  const verdict = verdictOn(evidence, deflated)
  const validation = withVerdict(validated, verdict)
  const found = { ...signals, draws, statistics, benchmarks, random_entry, interest, monte_carlo, validation }
  return {
    ...headOf(strategy, days, await source.asOfDay()),
    bars_a_year: barsAYear,
    ...found,
    trade_statistics,
    trades: rows,
    verdict,
    skipped: skippedRows(simulation),
    equity: equityPoints(simulation, curve),
    months: monthlyReturns(simulation),
    years: yearsOf({ days, ...curve }),
    drawdowns: deepestDrawdowns(simulation),
    trials: deflated,
    assumptions: assumptionsOf(own, barsAYear, run, random_entry, exposure),
    warnings: [
      ...bySeverity([
        ...warningsOf(simulation, found, run),
        ...(await contextWarnings(source, own)).map((sentence): Warning => ['partial', sentence]),
      ]),
      ...source.remarks(),
    ],
  }
}

function benchmarksOf(
  { strategy, members }: Ready,
  other: MarketBars | null,
  part: number,
  judged: ComparedCurve,
): Benchmark[] {
  const { days, curve } = judged
  const prices = members.map(member => member.prices)
  const held = buyAndHold(prices, days, curve.barsAYear)
  const own = [
    benchmarkOf('buy and hold', held, judged),
    benchmarkOf(SAME_EXPOSURE, heldAtExposure(held, part, strategy.portfolio.cash_rate), judged),
  ]
  return other === null ? own : [...own, benchmarkOf(other.ticker, holdTicker(other, days), judged)]
}

function headOf(strategy: Strategy, days: Int32Array, asOf: number | null) {
  const { tickers, timeframe, seed } = strategy
  return {
    schema: 'bands.backtest/3' as const,
    strategy,
    tickers: [...tickers],
    timeframe,
    first: dateOf(days[0]),
    last: dateOf(days.at(-1)),
    as_of: dateOf(asOf),
    seed,
  }
}

/** Warnings about a context ticker that ends early, or begins after the first signals. */
async function contextWarnings(source: PricedSource, { strategy, members }: Ready): Promise<string[]> {
  const { entry, timeframe } = strategy
  const { context } = entry
  if (context === null) return []
  const { days } = (await tickerBars(source, context.ticker, timeframe)).series
  const events = members.flatMap(({ bars, signals }) => [...daysAt(bars.days, signals.bars)])
  const { first } = rangeOf(members.map(({ bars, eligible }) => daysAt(bars.days, eligible)))
  const isLate = first !== null && first < (days[0] ?? 0)
  // Without early bars of the context ticker, the signals that it excluded must be loaded.
  const all = isLate ? await eventsWithoutContext(source, eventsFilter(strategy), members) : events
  return contextCoverage(context.ticker, days, events, all)
}

async function eventsWithoutContext(
  source: PricedSource,
  entry: EventFilter,
  members: readonly Member[],
): Promise<Day[]> {
  const all: Day[] = []
  const tickers = members.map(({ ticker }) => ticker)
  for await (const { prices, signals } of signalsOf(source, tickers, { ...entry, context: null }))
    all.push(...daysAt(prices.series.days, signals.bars))
  return all
}

/** Trades as the result lists them, in the order of their entries. */
function tradeRows(strategy: Strategy, trades: readonly TradeResult[]): Trade[] {
  const ordered = sortByDay(trades, ({ member, entryBar }) => member.bars.days[entryBar]!)
  return ordered.map(trade => tradeRow(strategy, trade))
}

function skippedRows({ skipped }: Simulation): Backtest['skipped'] {
  return skipped
    .map(({ member, index, reason }) => ({
      ticker: member.ticker,
      date: formatDay(member.bars.days[member.signals.bars[index]!]!),
      reason,
      rank: rankOf(member, index),
    }))
    .sort((a, b) => compareText(a.date, b.date) || compareText(a.ticker, b.ticker))
}

/** The rank of a signal: a number, or the band; null without one. */
function rankOf({ ranks, rankBands }: Member, index: number): number | string | null {
  const value = ranks?.[index] ?? Number.NaN
  return Number.isNaN(value) ? null : (rankBands?.[value] ?? value)
}

function tradeRow(strategy: Strategy, { taken, bars: held, mfe, mae }: TradeResult): Trade {
  const { member, index, signal, left, invested, gross, net } = taken
  const { bars, states, signals } = member
  return {
    ticker: member.ticker,
    side: strategy.side,
    signal_date: formatDay(bars.days[signal]!),
    band: states.bands[signals.entered[index]!]!,
    prev_band: states.bands[signals.left[index]!]!,
    context_band: signals.contextBands?.[index] ?? null,
    rank: rankOf(member, index),
    entry_date: formatDay(bars.days[taken.entryBar]!),
    entry_price: taken.entry,
    exit_date: formatDay(left.day),
    exit_price: left.price,
    exit: left.why,
    bars: held,
    shares: taken.shares,
    invested,
    gross,
    net,
    pnl: left.why === 'open' ? openValue(strategy, taken, left.price, left.day) - invested : invested * net,
    mfe,
    mae,
  }
}

/** Assumptions of a run, one a line. */
function assumptionsOf(
  { strategy, members }: Ready,
  barsAYear: number,
  run: RunOptions,
  { draws }: Backtest['random_entry'],
  part: number,
): string[] {
  const { costs, portfolio, rank, overlap, risk_free, seed } = strategy
  return [
    `fills: ${FILLS_IN_WORDS[strategy.fill]}; exits: ${exitsInWords(strategy)}`,
    'within a bar: a gap fills at the open, the stop comes before the target, and both before the close',
    `costs: ${costsInWords(costs, strategy.side)}; gross is before them, net after`,
    `positions: at most ${slotsInWords(portfolio)} at the close before, never more than ` +
      `the cash, which earns ${percent(portfolio.cash_rate)} a year`,
    ...(rank === undefined ? [] : [`places: ${rankInWords(strategy)}`]),
    OVERLAPS[overlap],
    `prices: ${pricesOf(members)}`,
    `statistics: ${yearInWords(members, barsAYear)}, standard deviations with n - 1, risk-free rate ${percent(risk_free)} a year`,
    `reference: buy and hold of the same tickers, equal money in each${members.length > 1 ? ' (cash before its first bar)' : ''}, without costs; ${SAME_EXPOSURE}: ${percent(Number(part.toFixed(4)))} of the equity in it, the strategy's average, renewed at each close`,
    draws === 0
      ? `null: no random entries; seed ${seed}`
      : `null: ${MOVED_SIGNALS_WORDS}, ${draws} times; seed ${seed}`,
    'survivorship: tickers are those in the store',
    ...(run.tier === null ? [] : [`data: as the ${run.tier} tier sees them`]),
  ]
}

const MOVED_SIGNALS_WORDS =
  'the signals of all trades moved to other dates together, same exits and costs, each mean by its Newey-West error'

const OVERLAPS: Readonly<Record<Strategy['overlap'], string>> = {
  skip: 'overlap: one position a ticker; signals while it is on are skipped, the next may come on the exit bar',
  allow: 'overlap: every signal is a position of its own',
  extend: 'overlap: one position a ticker; signals while it is on restart its hold',
}

/** Where calendars differ, the number comes from the days themselves. */
function yearInWords(members: readonly Member[], barsAYear: number): string {
  if (members.every(({ prices }) => prices.barsAYear === barsAYear)) return `${barsAYear} bars a year`
  const own = `the tickers have ${barsAYearIn(members).join(' and ')}`
  return `${barsAYear.toFixed(1)} bars a year (as many as there are; ${own})`
}

function pricesOf(members: readonly Member[]): string {
  const kinds = [...new Set(members.map(({ prices }) => prices.adjustment))].sort()
  return kinds.length === 1 ? kinds[0]! : `some ${kinds.join(', some ')}`
}
