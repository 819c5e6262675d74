import { dateOf, formatDay } from '../../core/model/day.js'
import type { CompareQuery } from '../../core/params/grid.js'
import type { Strategy } from '../../core/params/strategy.js'
import { DEFAULT_REPS } from '../../core/params/studies.js'
import { type PricedSource, type RunContext, type Step, vocabulariesOf } from '../../core/source.js'
import { expandedInterval, expandedTail, politisWhite, stationaryIndices } from '../../core/statistics/bootstrap.js'
import { normalQuantile } from '../../core/statistics/distributions.js'
import { deviation, mean } from '../../core/statistics/moments.js'
import { Random } from '../../core/statistics/random.js'
import { regression } from '../../core/statistics/robust.js'
import { drawnSharpe, sampleOf, sharpe } from '../../core/statistics/sharpe.js'
import { LEVEL } from '../../core/statistics/verdict.js'
import { indexOfGreatest } from '../parts.js'
import { bySeverity, type Warning, type WarningKind } from '../study/result.js'
import { checkFamily } from '../trials.js'
import { sharedBarIndices } from './comparison.js'
import { AGREEMENT, DEPENDS_ON_DRAW, type DrawnRun, simulate, summaryOfDraws } from './draws.js'
import { type LoadedStrategy, loadStrategies } from './members.js'
import type { Simulation } from './portfolio.js'
import { randomEntry } from './random-entry.js'
import type { ComparedStrategy, Comparison, SharpeDifference } from './result.js'
import {
  barsAYearOf,
  type Curve,
  closedInExitOrder,
  curveOf,
  equityAt,
  equityStatistics,
  investedShare,
  returnsOf,
  sharedBarsAYear,
  tradeResults,
  tradeStatistics,
  yearsOf,
} from './statistics.js'
import type { TakenTrade } from './trade.js'
import { dataUsed, logAndDeflate, strategyTrial } from './trial-log.js'
import { refuseShareCostsOnAdjusted, warningsOfOne } from './warnings.js'

/** A strategy traded over all its days. */
interface TradedRival extends DrawnRun {
  /** One equity curve a draw; empty where the order of signals was never open. */
  equities: readonly Float64Array[]
}

/** A strategy on the days that all have in common. */
interface Rival extends TradedRival {
  name: string
  barsAYear: number
  /** Its bars of these days, as indexes of `days`; `from` and `to` are the first and the last of these days. */
  commonIndexes: readonly number[]
  from: number
  to: number
}

/**
 * Compares strategies over their common days: statistics, years, correlations, and intervals of the differences of
 * their Sharpe ratios. Each strategy is first traded over all its own days, so that it enters the common days with its
 * positions. Each is logged as a trial.
 * Throws InvalidParameter for an unknown family, and everything that backtest() throws.
 */
export async function compare(
  source: PricedSource,
  { names, strategies, resamples, seed, family, min_trades }: CompareQuery,
  { step, trials = null }: RunContext = {},
): Promise<Comparison> {
  checkFamily(family, trials)
  const rivals = alignToCommonDays(names, await tradeEach(source, strategies, step))
  const [firstRival] = rivals as [Rival]
  // A weekly bar may have another date in another strategy; that of the first one is shown.
  const days = Int32Array.from(firstRival.commonIndexes, i => firstRival.days[i]!)
  const calendars = rivals.map(({ days, commonIndexes, barsAYear }) => {
    return { days: days.subarray(commonIndexes[0], commonIndexes.at(-1)! + 1), barsAYear }
  })
  const barsAYear = sharedBarsAYear(days, calendars)
  const curves = rivals.map(rival => commonCurve(rival, barsAYear))
  const returns = curves.map(returnsOf)
  step?.(() => 'resamples of the joint days')
  const results = rivals.map((rival, i) => resultOf(rival, curves[i]!, days))
  const estimates = sharpeDifferences(names, curves, returns, { resamples, seed })
  const differences = addVerdicts(estimates, rivals, curves, { names, seed })
  const best = indexOfGreatest(results.map(({ statistics }) => statistics.sharpe))
  // The trial log is about the first trial, so the best strategy comes first.
  const others = [...rivals.keys()].filter(i => i !== best)
  const bestFirst = best === null ? others : [best, ...others]
  const tried = bestFirst.map(i => ({ ...strategyTrial(rivals[i]!), p: results[i]!.p }))
  const sample = best === null ? null : sampleOf(results[best]!.statistics.sharpe, returns[best]!, barsAYear)
  return {
    schema: 'bands.comparison/3',
    tickers: [...new Set(strategies.flatMap(({ tickers }) => tickers))].sort(),
    ...dataUsed(strategies),
    timeframe: firstRival.strategy.timeframe,
    first: dateOf(days[0]),
    last: dateOf(days.at(-1)),
    as_of: dateOf(await source.asOfDay()),
    bars_a_year: barsAYear,
    seed,
    strategies: results,
    dates: Array.from(days, formatDay),
    correlations: returns.map(a => returns.map(b => (a === b ? 1 : (regression(a, b)?.r ?? null)))),
    sharpe_differences: differences,
    best: best === null ? null : names[best]!,
    verdict: verdictOn(differences, best === null ? null : names[best]!),
    trials: await logAndDeflate(tried, sample, trials, { family, vocabularies: await vocabulariesOf(source) }),
    assumptions: ASSUMPTIONS,
    warnings: [
      ...bySeverity([...warningsOf(rivals, results, days, min_trades), ...warningsOfEach(rivals)]),
      ...source.remarks(),
    ],
  }
}

const ASSUMPTIONS = [
  'days: those that all strategies have, each traded over all its own days before; returns from one common day to the next',
  'trades: those that begin and end within the common days',
  'equal signals that compete for positions are chosen at random 200 times. Draw d of one strategy is compared with draw d of the other. A strategy is ahead if 95 % of the draws agree',
  'difference of Sharpe ratios: the common days redrawn together in blocks (stationary bootstrap, Politis and Romano 1994), so that what the strategies have in common stays in common; expanded percentiles (Hesterberg 2015); the level of each interval is 1 - .05 / pairs',
  'survivorship: tickers are those in the store',
]

/** Trades each strategy over all its days, and keeps the equity curve of each draw. */
async function tradeEach(source: PricedSource, strategies: readonly Strategy[], step?: Step): Promise<TradedRival[]> {
  const traded: TradedRival[] = []
  for (const strategy of strategies) {
    const [loaded] = (await loadStrategies(source, [strategy], step)) as [LoadedStrategy]
    refuseShareCostsOnAdjusted(loaded)
    const equities: Float64Array[] = []
    const each = ({ equity }: Simulation): void => {
      equities.push(equity)
    }
    traded.push({ ...simulate(loaded, undefined, undefined, { each }), equities })
  }
  return traded
}

/** Adds to each simulation its name and the days that all share; `from` is 0 and `to` -1 if there are none. */
function alignToCommonDays(names: readonly string[], simulations: readonly TradedRival[]): Rival[] {
  const calendars = simulations.map(({ days }) => days)
  const indices = sharedBarIndices(calendars, simulations[0]!.strategy.timeframe)
  return simulations.map((simulation, i) => {
    const { days, members } = simulation
    const commonIndexes = indices[i]!
    const commonDays = commonIndexes.map(index => days[index]!)
    return {
      ...simulation,
      name: names[i]!,
      barsAYear: barsAYearOf(members, days),
      commonIndexes,
      from: commonDays[0] ?? 0,
      to: commonDays.at(-1) ?? -1,
    }
  })
}

/** The equity curve of a strategy on the common days. */
function commonCurve({ strategy, equity, exposure, trades, commonIndexes, from, to }: Rival, barsAYear: number): Curve {
  const isCommon = (day: number): boolean => day >= from && day <= to
  let traded = 0
  for (const { member, entryBar, entry, shares, end } of trades) {
    if (isCommon(member.bars.days[entryBar]!)) traded += shares * entry
    if (end.why !== 'open' && isCommon(end.day)) traded += shares * end.price
  }
  return {
    ...equityAt({ equity, start: strategy.portfolio.capital }, commonIndexes),
    barsAYear,
    riskFree: strategy.risk_free,
    exposed: commonIndexes.filter(i => exposure[i]! > 0).length,
    invested: investedShare(Float64Array.from(commonIndexes, i => exposure[i]!)),
    traded,
  }
}

/** The result of one strategy. @param days the common days */
function resultOf(rival: Rival, curve: Curve, days: Int32Array): ComparedStrategy {
  const { name, strategy, from, to } = rival
  const isWithin = ({ member, entryBar, end }: TakenTrade): boolean =>
    member.bars.days[entryBar]! >= from && end.day <= to
  const trades = tradeResults(rival).filter(({ taken }) => isWithin(taken))
  return {
    name,
    strategy,
    first: dateOf(rival.days[0]),
    last: dateOf(rival.days.at(-1)),
    statistics: equityStatistics(curve),
    trade_statistics: tradeStatistics(strategy.costs, closedInExitOrder(trades)),
    p: randomEntry(strategy, rival.trades, DEFAULT_REPS).p,
    draws: summaryOfDraws(rival.draws),
    years: yearsOf({ days, equity: curve.equity, start: curve.start }),
    equity: Array.from(curve.equity, value => value / curve.start),
  }
}

/** Each purpose has a random stream of its own number. */
const RESAMPLE_STREAM = 4

/** A difference of Sharpe ratios before the draws. */
type Difference = Omit<SharpeDifference, 'verdict' | 'agreement'>

/**
 * The difference of the Sharpe ratios of each pair of strategies, and its interval from resamples that all pairs share.
 * Nulls with a reason for a pair without two ratios, or without a difference.
 */
export function sharpeDifferences(
  names: readonly string[],
  curves: readonly Curve[],
  returns: readonly Float64Array[],
  { resamples, seed }: Pick<CompareQuery, 'resamples' | 'seed'>,
): Difference[] {
  const ratios = curves.map(({ equity, barsAYear, riskFree }, i) =>
    equity.every(value => value > 0) ? sharpe(returns[i]!, barsAYear, riskFree) : null,
  )
  const pairs = indexPairs(names.length)
  const withRatio = [...ratios.keys()].filter(i => ratios[i] !== null)
  const days = returns[0]!.length
  const block = withRatio.reduce((most, i) => Math.max(most, politisWhite(influenceOf(returns[i]!))), 1)
  // By strategy, then by resample. All strategies have the same resampled days.
  const drawnRatios = curves.map(() => new Float64Array(withRatio.length < 2 ? 0 : resamples))
  const random = Random.stream(new Random(seed).word(), RESAMPLE_STREAM)
  const drawnDays = new Int32Array(days)
  for (let draw = 0; draw < resamples && withRatio.length > 1; draw++) {
    stationaryIndices(random, days, block, drawnDays)
    for (const i of withRatio) {
      const { barsAYear, riskFree } = curves[i]!
      drawnRatios[i]![draw] = drawnSharpe(returns[i]!, drawnDays, barsAYear, riskFree)
    }
  }
  // The pairs share the level (Bonferroni).
  const outsideShare = LEVEL / pairs.length
  return pairs.map(([a, b]) => {
    const figures = { a: names[a]!, b: names[b]!, level: 1 - outsideShare, draws: resamples, block }
    const unknown = (reason: string) => ({ ...figures, draws: 0, difference: null, low: null, high: null, reason })
    const ratioA = ratios[a] ?? null
    const ratioB = ratios[b] ?? null
    if (ratioA === null || ratioB === null) return unknown('one of the two has no Sharpe ratio')
    const allDifferences = drawnRatios[a]!.map((ratio, draw) => ratio - drawnRatios[b]![draw]!)
    const differences = allDifferences.filter(value => !Number.isNaN(value))
    if (differences.every(value => value === differences[0])) return unknown('the two do not differ')
    const { low, high } = expandedInterval(differences, days / block, outsideShare)
    return { ...figures, difference: ratioA - ratioB, low, high, reason: null }
  })
}

/** All pairs a < b of the indices below n, in order of a, then of b. */
function indexPairs(n: number): (readonly [a: number, b: number])[] {
  const pairs: [a: number, b: number][] = []
  for (let a = 0; a < n; a++) for (let b = a + 1; b < n; b++) pairs.push([a, b])
  return pairs
}

/** Resamples of each draw: their deviation is the standard error of a difference. */
const RESAMPLES_A_DRAW = 99

/** Adds the verdict to each difference. A strategy is ahead where the interval and 95 % of the draws agree. */
function addVerdicts(
  differences: readonly Difference[],
  rivals: readonly Rival[],
  curves: readonly Curve[],
  { names, seed }: { names: readonly string[]; seed: number },
): SharpeDifference[] {
  const pairs = indexPairs(names.length)
  const draws = Math.max(...rivals.map(({ equities }) => equities.length))
  const signsByDraw = draws === 0 ? null : signsOfDraws(rivals, curves, { draws, seed, pairs })
  return differences.map((difference, pair) => {
    const { low, high } = difference
    if (low === null || high === null) return { ...difference, verdict: null, agreement: null }
    // 1: `a` is ahead, -1: `b` is, 0: the interval contains 0.
    const intervalSign = Number(low > 0) - Number(high < 0)
    if (intervalSign === 0) return { ...difference, verdict: 'not told apart', agreement: null }
    const agreement = signsByDraw === null ? null : mean(signsByDraw.map(signs => Number(signs[pair] === intervalSign)))
    if (agreement !== null && agreement < AGREEMENT) return { ...difference, verdict: DEPENDS_ON_DRAW, agreement }
    return { ...difference, verdict: intervalSign > 0 ? 'a is ahead' : 'b is ahead', agreement }
  })
}

/** Whether the best strategy is ahead of all others; the weakest comparison decides. @param best its name, or null */
function verdictOn(differences: readonly SharpeDifference[], best: string | null): Comparison['verdict'] {
  const withBest = differences.filter(({ a, b }) => a === best || b === best)
  const verdicts = withBest.map(({ verdict }) => verdict).filter(verdict => verdict !== null)
  if (verdicts.length === 0) return 'not tested'
  if (verdicts.includes('not told apart')) return 'not told apart'
  return verdicts.includes(DEPENDS_ON_DRAW) ? DEPENDS_ON_DRAW : 'is ahead'
}

/**
 * For each draw and each pair of strategies: 1 if the first has a significantly higher Sharpe ratio, -1 if the second
 * has, otherwise 0. A draw is one random choice among signals that competed; a strategy without draws keeps its
 * only curve.
 */
function signsOfDraws(
  rivals: readonly Rival[],
  curves: readonly Curve[],
  { draws, seed, pairs }: { draws: number; seed: number; pairs: readonly (readonly [number, number])[] },
): number[][] {
  const days = curves[0]!.equity.length - 1
  const shownReturns = curves.map(returnsOf)
  const block = shownReturns.reduce((most, returns) => Math.max(most, politisWhite(influenceOf(returns))), 1)
  const random = Random.stream(new Random(seed).word(), RESAMPLE_STREAM)
  const resamples = Array.from({ length: RESAMPLES_A_DRAW }, () =>
    stationaryIndices(random, days, block, new Int32Array(days)),
  )
  // The pairs share the level (Bonferroni); the tail beyond each end is moved out for few blocks (Hesterberg 2015).
  const tail = expandedTail(Math.max(2, days / block), LEVEL / pairs.length)
  const criticalZ = -normalQuantile(tail)
  return Array.from({ length: draws }, (_, draw) => {
    const ratios = rivals.map((rival, i) => {
      const equity = rival.equities[draw]
      const { barsAYear, riskFree } = curves[i]!
      const returns = equity === undefined ? shownReturns[i]! : returnsOf(equityOnCommonDays(rival, equity))
      const resampled = resamples.map(drawnDays => drawnSharpe(returns, drawnDays, barsAYear, riskFree))
      return { ratio: sharpe(returns, barsAYear, riskFree), resampled }
    })
    return pairs.map(([a, b]) => {
      const { ratio: ratioA, resampled: resampledA } = ratios[a]!
      const { ratio: ratioB, resampled: resampledB } = ratios[b]!
      const standardError = deviation(resampledA.map((value, i) => value - resampledB[i]!))
      if (ratioA === null || ratioB === null || standardError === null) return 0
      const difference = ratioA - ratioB
      return Math.abs(difference) > criticalZ * standardError ? Math.sign(difference) : 0
    })
  })
}

/** The equity of a draw on the common days, and its start. It stays constant after the draw's last day. */
function equityOnCommonDays({ commonIndexes, strategy }: Rival, equity: Float64Array): Pick<Curve, 'equity' | 'start'> {
  const equityOn = (index: number): number => equity[Math.min(index, equity.length - 1)]!
  const { capital } = strategy.portfolio
  return {
    equity: Float64Array.from(commonIndexes, equityOn),
    start: commonIndexes[0] === 0 ? capital : equityOn(commonIndexes[0] ?? 0),
  }
}

/** The influence of each return on the Sharpe ratio S: z - S (z² - 1) / 2. It sets the length of the blocks. */
function influenceOf(returns: Float64Array): Float64Array {
  const centre = mean(returns)!
  const spread = deviation(returns)!
  return returns.map(value => {
    const z = (value - centre) / spread
    return z - ((centre / spread) * (z * z - 1)) / 2
  })
}

const NO_COMMON_DAY = 'The strategies have no day in common, so there is nothing to compare.'

/** Warnings about the comparison itself. @param least the least number of closed trades that gets no warning */
function warningsOf(
  rivals: readonly Rival[],
  figures: readonly Pick<ComparedStrategy, 'name' | 'trade_statistics'>[],
  days: Int32Array,
  least: number,
): Warning[] {
  const few = figures.filter(({ trade_statistics: { n } }) => n < least).map(({ name }) => name)
  const shortened = rivals.filter(rival => days.length < rival.days.length).map(({ name }) => name)
  const judged = rivals.filter(({ strategy }) => strategy.benchmark !== null).map(({ name }) => name)
  // Otherwise each strategy has a warning of its own.
  const hasDays = rivals.some(rival => rival.days.length > 0)
  const rates = new Set(rivals.map(({ strategy }) => strategy.risk_free))
  return [
    ['nothing', hasDays && days.length === 0 && NO_COMMON_DAY],
    ['nothing', days.length > 0 && days.length < 3 && 'the strategies have fewer than three days in common'],
    ['few', few.length > 0 && `fewer than ${least} closed trades say little: ${few.join(', ')}`],
    ['left_out', shortened.length > 0 && `days that not all of them have are left out of ${shortened.join(', ')}`],
    ['settings', judged.length > 0 && `a benchmark is of one strategy, and is not used here: ${judged.join(', ')}`],
    ['settings', rates.size > 1 && 'the risk-free rates of the strategies differ: each Sharpe ratio is above its own'],
  ]
}

/** The warnings of a backtest of each strategy; a warning that all share is listed once. */
function warningsOfEach(rivals: readonly Rival[]): Warning[] {
  const bySentence = new Map<string, { kind: WarningKind; names: string[] }>()
  for (const rival of rivals) {
    const statistics = equityStatistics(curveOf(rival, rival.barsAYear))
    for (const [kind, sentence] of warningsOfOne(rival, statistics)) {
      if (!sentence) continue
      const shared = bySentence.get(sentence) ?? { kind, names: [] }
      shared.names.push(rival.name)
      bySentence.set(sentence, shared)
    }
  }
  return [...bySentence].map(([sentence, { kind, names }]) => {
    return [kind, names.length === rivals.length ? sentence : `${sentence} (${names.join(', ')})`]
  })
}
