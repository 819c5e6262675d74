// For: trade a strategy over all bars of a market.
// In: a strategy, and a source with prices.
// Out: trades, the equity curve, baselines and a verdict.

import { daysAt, rangeOf } from '../../core/model/calendar.js'
import { countUpTo, type Day, dateOf, formatDay } from '../../core/model/day.js'
import { percent } from '../../core/numbers.js'
import { eventsFilter, type RunOptions, type Strategy } from '../../core/params/strategy.js'
import type { EventFilter } from '../../core/params/studies.js'
import {
  type MarketBars,
  type PricedSource,
  type RunContext,
  type Step,
  tickerBars,
  vocabulariesOf,
} from '../../core/source.js'
import { sampleOf } from '../../core/statistics/sharpe.js'
import { bySeverity, type Warning } from '../study/result.js'
import { signalsOf } from '../study/signals.js'
import { contextCoverage } from '../study/words.js'
import { checkFamily } from '../trials.js'
import { portfolioCalendar } from './candidates.js'
import { benchmarkOf, buyAndHold, type ComparedCurve, holdAtExposure, holdTicker } from './comparison.js'
import { COMBINATION_DRAWS, type DrawnRun, percentilesOf, simulate, summaryOfDraws } from './draws.js'
import { candidateChoices } from './grid.js'
import { type LoadedStrategy, loadStrategies, type Member } from './members.js'
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
import { runAndTestDraws } from './tested-run.js'
import { openValue, type TradeResult } from './trade.js'
import { logAndDeflate, type StrategyTrial, strategyTrial, testsTrial } from './trial-log.js'
import { foldsOf, monteCarlo, type Validated, validate, withVerdict } from './validation.js'
import { type EntryRank, type Evidence, verdictOn } from './verdict.js'
import { barsAYearIn, refuseShareCostsOnAdjusted, signalOutcomes, warningsOf } from './warnings.js'
import { costsInWords, differingValues, exitsInWords, FILLS_IN_WORDS, rankInWords, slotsInWords } from './words.js'

/**
 * Trades a strategy over all bars of a market and gives a verdict. Where equal signals compete for position slots, it
 * is traded again with random choices (draws). The strategy and the run's candidates are noted in the trial log, which
 * deflates the Sharpe ratio. Throws InvalidParameter for contradictory rules, and what the source throws.
 */
export async function backtest(
  source: PricedSource,
  strategy: Strategy,
  run: RunOptions,
  { step, trials = null }: RunContext = {},
): Promise<Backtest> {
  checkFamily(run.family, trials)
  // A missing ticker is refused before the work, not after it.
  const benchmark =
    strategy.benchmark === null ? null : await tickerBars(source, strategy.benchmark, strategy.timeframe)
  const allLoaded = await loadStrategies(source, [strategy, ...(run.candidates ?? [])], step)
  const [loaded, ...candidates] = allLoaded as [LoadedStrategy, ...LoadedStrategy[]]
  refuseShareCostsOnAdjusted(loaded)
  step?.(() => 'trades')
  const { simulation, ranks: entryRanks } = await runAndTestDraws(loaded, run.reps, source, step)
  const { days } = simulation
  const trades = tradeResults(simulation)
  const { barsAYear, statistics, trade_statistics } = figuresOf(simulation, closedInExitOrder(trades))
  const curve = curveOf(simulation, barsAYear)
  const exposure = averageExposure(simulation)
  const benchmarks = benchmarksOf(loaded, benchmark, exposure, { timeframe: strategy.timeframe, days, curve })
  step?.(() => 'random entries')
  const random_entry = randomEntry(strategy, simulation.trades, run.reps)
  if (run.monte_carlo !== null) step?.(() => 'Monte Carlo')
  const monte_carlo = run.monte_carlo === null ? null : monteCarlo(days, curve, run.monte_carlo, strategy.seed)
  const tried = [{ ...strategyTrial(simulation), p: random_entry.p }, ...candidates.map(candidateTrial)]
  const validated = await validateRun(source, loaded, candidates, tried, run, step)
  const inEntryOrder = sortByDay(trades, ({ member, entryBar }) => member.bars.days[entryBar]!)
  const rows = inEntryOrder.map(trade => tradeRow(strategy, trade))
  const deflated = await logAndDeflate(tried, sampleOf(statistics.sharpe, returnsOf(curve), barsAYear), trials, {
    family: run.family,
    tests: testsTrial(validated, run),
    vocabularies: await vocabulariesOf(source),
  })
  const total = statistics.total_return
  const holding = benchmarks[0]!.statistics.total_return
  const evidenceOnAllDays = { trades: rows, random_entry, total, holding, ...evidenceOfDraws(simulation, entryRanks) }
  const verdict = verdictOn(validated?.evidence ?? evidenceOnAllDays, deflated)
  const validation = withVerdict(validated, verdict)
  const draws = testedDraws(simulation, entryRanks)
  const { interest, ...signals } = signalOutcomes(simulation)
  const results = { ...signals, draws, statistics, benchmarks, random_entry, interest, monte_carlo, validation }
  return {
    ...resultHead(strategy, days, await source.asOfDay()),
    bars_a_year: barsAYear,
    ...results,
    trade_statistics,
    trades: rows,
    verdict,
    skipped: skippedRows(simulation),
    equity: equityPoints(simulation, curve),
    months: monthlyReturns(simulation),
    years: yearsOf({ days, ...curve }),
    drawdowns: deepestDrawdowns(simulation),
    trials: deflated,
    assumptions: assumptionsOf(loaded, barsAYear, run, random_entry, exposure),
    warnings: [
      ...bySeverity([...warningsOf(simulation, results, run), ...(await contextWarnings(source, loaded))]),
      ...source.remarks(),
    ],
  }
}

/** The evidence of a simulation and its draws, over all its days; no part chooses. @param ranks of each draw */
function evidenceOfDraws(
  { draws, equity }: DrawnRun,
  ranks: readonly (EntryRank | null)[],
): Pick<Evidence, 'ranks' | 'returns' | 'isRuined' | 'isChoiceOpen'> {
  return {
    ranks: draws === null ? [] : ranks,
    returns: [...(draws?.returns ?? [])],
    isRuined: equity.some(value => value <= 0),
    isChoiceOpen: false,
  }
}

/** Trades a candidate over all its days, with fewer draws than the strategy itself. */
function candidateTrial(candidate: LoadedStrategy): StrategyTrial {
  return strategyTrial(simulate(candidate, undefined, undefined, { draws: COMBINATION_DRAWS }))
}

/**
 * Validates a strategy, or the choice among its candidates, on the parts of the data that a run asks for; null without
 * parts.
 * @param tried the strategy and its candidates as traded over all their days
 */
async function validateRun(
  source: PricedSource,
  loaded: LoadedStrategy,
  candidates: readonly LoadedStrategy[],
  tried: readonly StrategyTrial[],
  run: RunOptions,
  step?: Step,
): Promise<Validated | null> {
  const lastDay = tried.reduce((latest, { days }) => Math.max(latest, days.at(-1) ?? latest), -1)
  const calendar = portfolioCalendar([loaded, ...candidates].flatMap(({ members }) => members))
  const candidateNames = differingValues(candidates.map(({ strategy }) => strategy))
  // Other machines, if the source has any, make the choices in parallel; otherwise validate() makes them.
  const usesCluster = source.cluster !== undefined && candidates.length > 1
  const folds = usesCluster ? foldsOf(calendar.subarray(0, countUpTo(calendar, lastDay)), run) : null
  const choices = folds === null ? undefined : await candidateChoices(candidates, folds, calendar, source, step)
  return validate(loaded, { strategies: candidates, names: candidateNames, choices }, { calendar, last: lastDay }, run)
}

/**
 * The draws as a result shows them, with the p of random entry; null where the order of signals is never open.
 * @param ranks of each draw
 */
function testedDraws({ draws }: DrawnRun, ranks: readonly (EntryRank | null)[]): Backtest['draws'] {
  const summary = summaryOfDraws(draws)
  return summary && { ...summary, p: percentilesOf(Float64Array.from(ranks, rank => rank?.p ?? Number.NaN)) }
}

/** Compares a strategy with holding its tickers, with holding them at the same exposure, and with a benchmark. */
function benchmarksOf(
  { strategy, members }: LoadedStrategy,
  benchmark: MarketBars | null,
  exposure: number,
  compared: ComparedCurve,
): Benchmark[] {
  const { days, curve } = compared
  const prices = members.map(member => member.prices)
  const holding = buyAndHold(prices, days, curve.barsAYear)
  const benchmarks = [
    benchmarkOf('buy and hold', holding, compared),
    benchmarkOf(SAME_EXPOSURE, holdAtExposure(holding, exposure, strategy.portfolio.cash_rate), compared),
  ]
  if (benchmark !== null) benchmarks.push(benchmarkOf(benchmark.ticker, holdTicker(benchmark, days), compared))
  return benchmarks
}

/** The first keys of a result: the query, and the dates of the bars. */
function resultHead(strategy: Strategy, days: Int32Array, asOf: number | null) {
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

/** Warnings about a context ticker that ends early, or begins after the first day on which a signal could count. */
async function contextWarnings(source: PricedSource, { strategy, members }: LoadedStrategy): Promise<Warning[]> {
  const { entry, timeframe } = strategy
  const { context } = entry
  if (context === null) return []
  const { days } = (await tickerBars(source, context.ticker, timeframe)).series
  const signalDays = members.flatMap(({ bars, signals }) => [...daysAt(bars.days, signals.bars)])
  const { first: firstDay } = rangeOf(members.map(({ bars, eligible }) => daysAt(bars.days, eligible)))
  const isLate = firstDay !== null && firstDay < (days[0] ?? 0)
  // A day without a bar of the context ticker excluded its signals, so they are loaded again without the context.
  const allDays = isLate ? await signalDaysWithoutContext(source, eventsFilter(strategy), members) : signalDays
  return contextCoverage(context.ticker, days, signalDays, allDays).map(sentence => ['partial', sentence])
}

/** The days of all signals, those that the context excludes included. */
async function signalDaysWithoutContext(
  source: PricedSource,
  filter: EventFilter,
  members: readonly Member[],
): Promise<Day[]> {
  const signalDays: Day[] = []
  const tickers = members.map(({ ticker }) => ticker)
  for await (const { prices, signals } of signalsOf(source, tickers, { ...filter, context: null }))
    signalDays.push(...daysAt(prices.series.days, signals.bars))
  return signalDays
}

/** The skipped signals as the result lists them, by date and then by ticker. */
function skippedRows({ skipped }: Simulation): Backtest['skipped'] {
  return skipped
    .map(({ member, index, reason }) => ({
      ticker: member.ticker,
      date: formatDay(member.bars.days[member.signals.bars[index]!]!),
      reason,
      rank: signalRank(member, index),
    }))
    .sort((a, b) => compareText(a.date, b.date) || compareText(a.ticker, b.ticker))
}

/** The rank of a signal: a number, or its band for a rank by field; null without one. */
function signalRank({ ranks, rankBands }: Member, index: number): number | string | null {
  const value = ranks?.[index] ?? Number.NaN
  return Number.isNaN(value) ? null : (rankBands?.[value] ?? value)
}

/** A trade as the result lists it. */
function tradeRow(strategy: Strategy, { taken, bars: barsHeld, mfe, mae }: TradeResult): Trade {
  const { member, index, signal, end, invested, gross, net } = taken
  const { bars, states, signals } = member
  return {
    ticker: member.ticker,
    side: strategy.side,
    signal_date: formatDay(bars.days[signal]!),
    band: states.bands[signals.entered[index]!]!,
    prev_band: states.bands[signals.left[index]!]!,
    context_band: signals.contextBands?.[index] ?? null,
    rank: signalRank(member, index),
    entry_date: formatDay(bars.days[taken.entryBar]!),
    entry_price: taken.entry,
    exit_date: formatDay(end.day),
    exit_price: end.price,
    exit: end.why,
    bars: barsHeld,
    shares: taken.shares,
    invested,
    gross,
    net,
    pnl: end.why === 'open' ? openValue(strategy, taken, end.price, end.day) - invested : invested * net,
    mfe,
    mae,
  }
}

/** What the figures of a backtest assume, one a line. @param exposure the average one, a fraction */
function assumptionsOf(
  { strategy, members }: LoadedStrategy,
  barsAYear: number,
  run: RunOptions,
  { draws }: Backtest['random_entry'],
  exposure: number,
): string[] {
  const { costs, portfolio, rank, overlap, risk_free, seed } = strategy
  const cashBefore = members.length > 1 ? ' (cash before its first bar)' : ''
  const moves = draws === 0 ? 'no random entries' : `${MOVED_SIGNALS_WORDS}, ${draws} times`
  return [
    `fills: ${FILLS_IN_WORDS[strategy.fill]}; exits: ${exitsInWords(strategy)}`,
    'within a bar: a gap fills at the open, the stop comes before the target, and both before the close',
    `costs: ${costsInWords(costs, strategy.side)}; gross is before them, net after`,
    `positions: at most ${slotsInWords(portfolio)} at the close before, never more than ` +
      `the cash, which earns ${percent(portfolio.cash_rate)} a year`,
    ...(rank === undefined ? [] : [`places: ${rankInWords(strategy)}`]),
    OVERLAP_WORDS[overlap],
    `prices: ${adjustmentsInWords(members)}`,
    `statistics: ${annualisationInWords(members, barsAYear)}, standard deviations with n - 1, risk-free rate ${percent(risk_free)} a year`,
    `reference: buy and hold of the same tickers, equal money in each${cashBefore}, without costs; ${SAME_EXPOSURE}: ${percent(Number(exposure.toFixed(4)))} of the equity in it, the strategy's average, renewed at each close`,
    `null: ${moves}; seed ${seed}`,
    'survivorship: tickers are those in the store',
    ...(run.tier === null ? [] : [`data: as the ${run.tier} tier sees them`]),
  ]
}

const MOVED_SIGNALS_WORDS =
  'the signals of all trades moved to other dates together, same exits and costs, each mean by its Newey-West error'

const OVERLAP_WORDS: Readonly<Record<Strategy['overlap'], string>> = {
  skip: 'overlap: one position a ticker; signals while it is on are skipped, the next may come on the exit bar',
  allow: 'overlap: every signal is a position of its own',
  extend: 'overlap: one position a ticker; signals while it is on restart its hold',
}

/** The bars a year of a portfolio: those of its tickers, or a count where their calendars differ. */
function annualisationInWords(members: readonly Member[], barsAYear: number): string {
  if (members.every(({ prices }) => prices.barsAYear === barsAYear)) return `${barsAYear} bars a year`
  const perTicker = `the tickers have ${barsAYearIn(members).join(' and ')}`
  return `${barsAYear.toFixed(1)} bars a year (as many as there are; ${perTicker})`
}

/** How the prices of the tickers are adjusted: `adjusted`, or `some adjusted, some raw`. */
function adjustmentsInWords(members: readonly Member[]): string {
  const kinds = [...new Set(members.map(({ prices }) => prices.adjustment))].sort()
  return kinds.length === 1 ? kinds[0]! : `some ${kinds.join(', some ')}`
}
