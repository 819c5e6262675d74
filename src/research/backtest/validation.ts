import { wrong } from '../../core/errors.js'
import { unionCalendar } from '../../core/model/calendar.js'
import { countUpTo, dateOf, formatDay } from '../../core/model/day.js'
import type { RunOptions, Strategy } from '../../core/params/strategy.js'
import type { WalkForward } from '../../core/params/studies.js'
import { expandedInterval, politisWhite, stationaryIndices } from '../../core/statistics/bootstrap.js'
import { quantile } from '../../core/statistics/moments.js'
import { Random } from '../../core/statistics/random.js'
import { naiveT } from '../../core/statistics/robust.js'
import { drawdowns, drawnSharpe } from '../../core/statistics/sharpe.js'
import { LEVEL } from '../../core/statistics/verdict.js'
import { type Choice, choiceOf, type Score, splitIndex, walkForwardFolds } from '../parts.js'
import type { CalendarPart } from './candidates.js'
import { buyAndHold } from './comparison.js'
import { AGREEMENT, COMBINATION_DRAWS, type DrawnRun, percentilesOf, simulate } from './draws.js'
import type { LoadedStrategy } from './members.js'
import type { Simulation } from './portfolio.js'
import { DRAW_MOVES, entryRank, randomEntryOf, type StrategyTrades } from './random-entry.js'
import type { FanPoint, Interval, MonteCarlo, Tests, Validation } from './result.js'
import {
  barsAYearOf,
  type Curve,
  closedInExitOrder,
  curveOf,
  figuresOf,
  joinedStatistics,
  returnsOf,
  tradeResults,
  tradeStatistics,
} from './statistics.js'
import type { TakenTrade, TradeResult } from './trade.js'
import type { EntryRank, Evidence } from './verdict.js'

/** A training part and its test part. */
export interface Fold {
  name: string
  train: CalendarPart
  test: CalendarPart
}

interface PartRun {
  simulation: DrawnRun
  closed: TradeResult[]
  /** Trades of each draw; empty where the order is not open. */
  drawn: Simulation['trades'][]
}

/** A validation before its verdict: the trial log needs its p first. */
export interface Validated extends Omit<Validation, 'test'> {
  test: Omit<Tests, 'verdict'> | null
  /** null without tests. */
  evidence: Evidence | null
}

/** The calendar, and the last day of any strategy's run over it. */
interface Days {
  calendar: Int32Array
  last: number
}

/** The strategies that each training part chooses from, and what a result calls them. */
interface Candidates {
  strategies: readonly LoadedStrategy[]
  names: readonly string[]
  /** What each training part chooses, where already computed. */
  choices?: readonly Choice[] | undefined
}

/**
 * Runs the strategy in parts of its calendar. Each part starts with the capital, without trades that reach beyond it.
 * With several candidates, each training part chooses the one with the highest t statistic of the mean net return a
 * trade. Where no candidate has a score, the first is traded, and that part does not count in the joined test. The
 * agreement of a choice is the share of random draws that choose the same candidate.
 * Null without parts; `test` and `evidence` are null if no part chose anything. Throws InvalidParameter for a date or
 * lengths that leave a part empty.
 * @param choices made before; without them the training parts choose
 */
export function validate(
  mainStrategy: LoadedStrategy,
  { strategies, names, choices }: Candidates,
  { calendar, last }: Days,
  run: RunOptions,
): Validated | null {
  const days = countUpTo(calendar, last)
  const folds = foldsOf(calendar.subarray(0, days), run)
  if (folds === null) return null
  const candidates = strategies.length > 0 ? strategies : [mainStrategy]
  const parts: Validation['folds'] = []
  const tests: PartRun[] = []
  let purged = 0
  for (const [i, { name, train, test }] of folds.entries()) {
    // All candidates are run on the training part only if they are not chosen yet.
    const training = choices === undefined ? candidates.map(strategy => runPart(strategy, calendar, train)) : null
    const { candidate, agreement } = choices?.[i] ?? choiceOf(trainingScores(training!))
    const tradedIndex = candidate ?? 0
    const trained = training?.[tradedIndex] ?? runPart(candidates[tradedIndex]!, calendar, train)
    // The last part continues until its own trades are closed.
    const testPart = test.to === days ? { ...test, to: calendar.length } : test
    const tested = runPart(candidates[tradedIndex]!, calendar, testPart)
    const chosen = candidate === null ? null : (names[candidate] ?? null)
    parts.push({ name, role: 'train', chosen, agreement, ...partStatistics(trained) })
    parts.push({ name, role: 'test', chosen, agreement, ...partStatistics(tested) })
    purged += trained.simulation.purged + tested.simulation.purged
    if (candidate !== null) tests.push(tested)
  }
  const kind: Validation['kind'] = run.split === null ? 'walk_forward' : 'split'
  const head = { kind, purged, candidates: [...names], folds: parts }
  if (tests.length === 0) return { ...head, test: null, evidence: null }
  const { test, evidence } = joinTests(tests, mainStrategy, run.reps)
  const isChoiceOpen = parts.some(({ agreement }) => agreement !== null && agreement < AGREEMENT)
  return { ...head, test, evidence: { ...evidence, isChoiceOpen } }
}

/** A validation with the verdict on its tests; null without one. */
export function withVerdict(validated: Validated | null, verdict: Tests['verdict']): Validation | null {
  if (validated === null) return null
  const { evidence: _, test, ...others } = validated
  return { ...others, test: test === null ? null : { ...test, verdict } }
}

/**
 * The training and test parts of a split or a walk-forward; null where a run asks for neither.
 * @param calendar up to the last day of any run
 */
export function foldsOf(calendar: Int32Array, { split, embargo, walk_forward }: RunOptions): Fold[] | null {
  if (split !== null) {
    const embargoBars = embargo ?? 0
    const index = splitIndex(calendar, split, embargoBars)
    // Signals of the embargo count in neither part.
    const train = { from: 0, to: index, signalsTo: index - embargoBars }
    return [{ name: split, train, test: { from: index, to: calendar.length } }]
  }
  if (walk_forward === null) return null
  refuseOverlap(walk_forward)
  return walkForwardFolds(calendar.length, walk_forward).map((fold, i) => {
    const train = fold.train[0]!
    const test = fold.test[0]!
    // The embargo before the test lets training trades end, and has no signals.
    return { name: `${i + 1}`, train: { from: train.from, to: test.from, signalsTo: train.to }, test }
  })
}

/** Throws InvalidParameter where test parts share bars, because they could not be joined. */
function refuseOverlap({ test, step }: WalkForward): void {
  if (step >= test) return
  const allowed = `at least the ${test} bars of a test`
  const message = `walk_forward: a step of ${step} bars lets tests overlap; it must be ${allowed}.`
  throw wrong('walk_forward', message, { value: step, allowed })
}

/** The t statistic of the mean net return of closed trades; -∞ without one, so that others are chosen first. */
export function tOfTrades(trades: readonly TakenTrade[]): number {
  const closed = trades.filter(({ end }) => end.why !== 'open')
  return naiveT(closed.map(({ net }) => net))?.t ?? Number.NEGATIVE_INFINITY
}

/** The scores of candidates on a training part. A single candidate needs no scores of its draws. */
function trainingScores(candidates: readonly PartRun[]): Score[] {
  return candidates.map(({ simulation, drawn }) => {
    const values = candidates.length > 1 ? drawn.map(tOfTrades) : []
    return { value: tOfTrades(simulation.trades), values }
  })
}

/** Trades a strategy in a part of the calendar, started with its capital. */
function runPart(loaded: LoadedStrategy, calendar: Int32Array, part: CalendarPart): PartRun {
  const drawn: PartRun['drawn'] = []
  const simulation = simulate(loaded, calendar, part, {
    draws: COMBINATION_DRAWS,
    each: ({ trades }, draw) => {
      drawn[draw] = trades
    },
  })
  return { simulation, closed: closedInExitOrder(tradeResults(simulation)), drawn }
}

/** The dates and figures of a part as a result lists them. */
function partStatistics({ simulation, closed }: PartRun) {
  const { days } = simulation
  const { statistics, trade_statistics } = figuresOf(simulation, closed)
  return {
    from: formatDay(days[0]!),
    to: formatDay(days.at(-1)!),
    trades: closed.length,
    statistics,
    trade_statistics,
  }
}

/** The results of all test parts as one, compared with holding and with `reps` random entries. */
function joinTests(
  tests: readonly PartRun[],
  { strategy, members }: LoadedStrategy,
  reps: number,
): { test: Omit<Tests, 'verdict'>; evidence: Omit<Evidence, 'isChoiceOpen'> } {
  const { costs, risk_free: riskFree } = strategy
  const barsAYear = barsAYearOf(members, ...tests.map(({ simulation }) => simulation.days))
  const curves = tests.map(({ simulation }) => curveOf(simulation, barsAYear))
  const closed = tests.flatMap(test => test.closed)
  const prices = members.map(member => member.prices)
  const holdingCurves = tests.map(({ simulation: { days } }) => {
    return { ...buyAndHold(prices, days, barsAYear), start: 1, riskFree }
  })
  const statistics = joinedStatistics(curves, { barsAYear, riskFree })
  const holding = joinedStatistics(holdingCurves, { barsAYear, riskFree })
  const { random_entry, ...entryEvidence } = testsAgainstChance(tests, reps)
  // One for each random order of equal signals; empty where their order is never open.
  const returns = testReturnsByDraw(tests)
  const test = {
    statistics,
    trade_statistics: tradeStatistics(costs, closed),
    holding,
    equity: testCurve(tests, curves, holdingCurves),
    random_entry,
    draws: returns.length === 0 ? null : { n: returns.length, return: percentilesOf(Float64Array.from(returns)) },
  }
  const evidence = {
    ...entryEvidence,
    random_entry,
    total: statistics.total_return,
    holding: holding.total_return,
    isRuined: curves.some(({ equity }) => equity.some(value => value <= 0)),
    returns,
  }
  return { test, evidence }
}

/** The days of all tests in one curve; each test continues from the end of the one before. */
function testCurve(tests: readonly PartRun[], curves: readonly Curve[], holdings: readonly Curve[]): Tests['equity'] {
  const dates = tests.flatMap(({ simulation }) => Array.from(simulation.days, formatDay))
  const equity = joinCurves(curves)
  const holding = joinCurves(holdings)
  const { series } = drawdowns(equity)
  return dates.map((date, i) => ({ date, equity: equity[i]!, holding: holding[i]!, drawdown: series[i]! }))
}

/** The curves one after the other, from 1; each continues from the last value of the one before. */
function joinCurves(parts: readonly Curve[]): Float64Array {
  const joined: number[] = []
  let before = 1
  for (const { equity, start } of parts) {
    // A curve's first return is from its start to its second value: its first value does not count.
    for (const [i, value] of equity.entries()) joined.push(i === 0 ? before : (before * value) / start)
    before = joined.at(-1) ?? before
  }
  return Float64Array.from(joined)
}

/** Compares the trades of all tests, and those of each draw, with random entry on the days of the tests. */
function testsAgainstChance(
  tests: readonly PartRun[],
  reps: number,
): Pick<Evidence, 'random_entry' | 'trades' | 'ranks'> {
  const days = unionCalendar(tests.map(({ simulation }) => simulation.days))
  const shownTrades = tradesByStrategy(tests)
  const trades = shownTrades.flatMap(({ trades }) =>
    trades.map(({ member, entryBar, end }) => ({
      exit: end.why,
      entry_date: formatDay(member.bars.days[entryBar]!),
      exit_date: formatDay(end.day),
    })),
  )
  const random_entry = randomEntryOf(shownTrades, reps, days)
  const isSignificant = random_entry.p !== null && random_entry.p < LEVEL
  const ranks: (EntryRank | null)[] = []
  // The draws only show whether a significant result depends on a random choice.
  if (isSignificant && tests.some(({ drawn }) => drawn.length > 0))
    for (let draw = 0; draw < COMBINATION_DRAWS; draw++)
      ranks.push(entryRank(randomEntryOf(tradesByStrategy(tests, draw), Math.min(reps, DRAW_MOVES), days)))
  return { random_entry, trades, ranks }
}

/**
 * The trades of all tests by the strategy that made them.
 * @param draw takes the trades of this draw where a test has draws (default: those of the run shown)
 */
function tradesByStrategy(tests: readonly PartRun[], draw?: number): StrategyTrades[] {
  const byStrategy = new Map<Strategy, TakenTrade[]>()
  for (const { simulation, drawn } of tests) {
    const { strategy } = simulation
    const trades = (draw === undefined ? undefined : drawn[draw]) ?? simulation.trades
    byStrategy.set(strategy, [...(byStrategy.get(strategy) ?? []), ...trades])
  }
  return [...byStrategy].map(([strategy, trades]) => ({ strategy, trades }))
}

/** The total return of each draw over all tests; empty if no test has draws. A test without draws returns the same. */
function testReturnsByDraw(tests: readonly PartRun[]): number[] {
  if (tests.every(({ simulation }) => simulation.draws === null)) return []
  return Array.from({ length: COMBINATION_DRAWS }, (_, draw) => {
    let growth = 1
    for (const { simulation } of tests) {
      const { draws, equity, strategy } = simulation
      const { capital } = strategy.portfolio
      const shownReturn = (equity.at(-1) ?? capital) / capital - 1
      growth *= 1 + (draws?.returns[draw] ?? shownReturn)
    }
    return growth - 1
  })
}

/** The most dates of the fan after the first. More would not be visible, and each stores a value of every draw. */
const MAX_FAN_STEPS = 120

/**
 * Monte Carlo of the same returns in other orders: the stationary bootstrap (Politis & Romano, "The stationary
 * bootstrap", 1994) with the mean block of Politis and White. Each draw is as long as the strategy's own curve.
 * Intervals of 95 % are Hesterberg's expanded percentiles for the number of blocks. The fan holds percentiles of the
 * drawn equities, at some dates.
 * @param days of the curve
 */
export function monteCarlo(days: Int32Array, curve: Curve, draws: number, seed: number): MonteCarlo {
  const returns = returnsOf(curve)
  const reason = monteCarloFault(curve, returns)
  if (reason !== null) return { draws: 0, block: null, ...NO_INTERVALS, fan: [], reason }
  const returnCount = returns.length
  const block = politisWhite(returns)
  // A word of the seed, not the seed itself: neighbouring seeds would share streams.
  const random = Random.stream(new Random(seed).word(), MONTE_CARLO_STREAM)
  const fanSteps = Math.min(MAX_FAN_STEPS, returnCount)
  const fanBars = Array.from({ length: fanSteps + 1 }, (_, i) => Math.round((i * returnCount) / fanSteps))
  // Each draw fills it anew.
  const indices = new Int32Array(returnCount)
  const drawnCurves = Array.from({ length: draws }, () =>
    drawnCurve(curve, returns, stationaryIndices(random, returnCount, block, indices), fanBars),
  )
  const interval = (figure: 'cagr' | 'sharpe' | 'maxDrawdown'): Interval => {
    const values = Float64Array.from(drawnCurves, drawn => drawn[figure])
    const knownValues = values.filter(value => !Number.isNaN(value))
    return expandedInterval(knownValues, returnCount / block)
  }
  return {
    draws,
    block,
    cagr: interval('cagr'),
    sharpe: interval('sharpe'),
    max_drawdown: interval('maxDrawdown'),
    lost: drawnCurves.filter(({ cagr }) => cagr < 0).length / draws,
    fan: fanBars.map((bar, i) => {
      const values = Float64Array.from(drawnCurves, drawn => drawn.values[i]!)
      return fanPoint(dateOf(days[bar]) ?? '', curve.start, values.sort())
    }),
    reason: null,
  }
}

/** Each purpose has a random stream of its own number. */
const MONTE_CARLO_STREAM = 3

const NO_INTERVAL: Interval = { low: null, median: null, high: null }
const NO_INTERVALS = { cagr: NO_INTERVAL, sharpe: NO_INTERVAL, max_drawdown: NO_INTERVAL, lost: null }

/** Why a curve allows no Monte Carlo; null if it does. */
function monteCarloFault({ equity, start }: Curve, returns: Float64Array): string | null {
  if (returns.length < 2) return 'there are fewer than two returns'
  if (start <= 0 || equity.some(value => value <= 0)) return 'the equity fell to 0 or below'
  return returns.every(value => value === returns[0]) ? 'the returns do not vary' : null
}

/**
 * Statistics of a curve of drawn returns that starts at 1.
 * @param drawn indices of the drawn returns
 * @param bars numbers of bars after which the curve's values are kept, ascending; the first is 0
 */
function drawnCurve({ barsAYear, riskFree }: Curve, returns: Float64Array, drawn: Int32Array, bars: readonly number[]) {
  const values = new Float64Array(bars.length).fill(1)
  let value = 1
  let high = 1
  // As a return, at most 0.
  let maxDrawdown = 0
  let nextKept = 1
  for (let i = 0; i < drawn.length; i++) {
    value *= 1 + returns[drawn[i]!]!
    if (value > high) high = value
    else if (value / high - 1 < maxDrawdown) maxDrawdown = value / high - 1
    if (i + 1 === bars[nextKept]) values[nextKept++] = value
  }
  const cagr = value ** (barsAYear / drawn.length) - 1
  return { values, maxDrawdown, cagr, sharpe: drawnSharpe(returns, drawn, barsAYear, riskFree) }
}

/** The percentiles of the drawn equities at a date. @param ascending equities relative to `start` */
function fanPoint(date: string, start: number, ascending: Float64Array): FanPoint {
  const at = (p: number): number => start * quantile(ascending, p)!
  return { date, p5: at(0.05), p25: at(0.25), median: at(0.5), p75: at(0.75), p95: at(0.95) }
}
