import { isCondition, TRUTHS } from '../../core/language/as-field.js'
import { formatDay, parseDay } from '../../core/model/day.js'
import type { RunOptions, Strategy } from '../../core/params/strategy.js'
import type { Trial, Trials } from '../../core/source.js'
import { variance } from '../../core/statistics/moments.js'
import { deflatedSharpe, type SharpeSample, sharpe } from '../../core/statistics/sharpe.js'
import { hashOf, isStrategy, noteAndCompare, RANDOM_ENTRY } from '../trials.js'
import { fieldsOf } from './members.js'
import type { Simulation } from './portfolio.js'
import type { Backtest, DataUsed } from './result.js'
import { returnsOf } from './statistics.js'
import type { Validated } from './validation.js'
import { capitalMatters, strategyInWords } from './words.js'

/** A strategy as a trial; a ruined one has no Sharpe ratio. */
export function strategyTrial({ strategy, days, equity }: Simulation): StrategyTrial {
  const returns = returnsOf({ equity, start: strategy.portfolio.capital })
  return { strategy, days, sharpe: equity.every(value => value > 0) ? sharpe(returns, 1) : null }
}

/** The fields, contexts and lags that strategies use, each once, ascending; `lags` is absent if all are 0. */
export function dataUsed(strategies: readonly Strategy[]): DataUsed {
  const lags = [...new Set(strategies.map(({ lag = 0 }) => lag))].sort((a, b) => a - b)
  const contexts = new Map<string, DataUsed['contexts'][number]>()
  for (const { entry } of strategies) {
    if (entry.context === null) continue
    const { ticker, field } = entry.context
    contexts.set(`${ticker} ${field}`, { ticker, field })
  }
  const used: DataUsed = {
    fields: [...new Set(strategies.flatMap(fieldsOf))].sort(),
    contexts: [...contexts.keys()].sort().map(name => contexts.get(name)!),
  }
  if (lags.at(-1)! > 0) used.lags = lags
  return used
}

interface LogOptions {
  family: RunOptions['family']
  vocabularies: Vocabularies
  /** The tests of a split or a walk-forward, a trial of their own for the headline; null without tests. */
  tests?: TestsTrial | null
}

/** The tests of a validation as the trial log stores them. */
export interface TestsTrial {
  parts: Pick<RunOptions, 'split' | 'embargo' | 'walk_forward'>
  first: string
  last: string
  p: number | null
}

/** A validation's test parts for the trial log: how they were cut, their dates, p of random entry. Null without any. */
export function testsTrial(validated: Validated | null, run: RunOptions): TestsTrial | null {
  const test = validated?.test ?? null
  if (test === null) return null
  const { split, embargo, walk_forward } = run
  const first = test.equity[0]!.date
  const last = test.equity.at(-1)!.date
  return { parts: { split, embargo, walk_forward }, first, last, p: test.random_entry.p }
}

/** The bands of each field, by its name. */
type Vocabularies = ReadonlyMap<string, readonly string[]>

/** One tried strategy, with its Sharpe ratio a bar at a risk-free rate of 0. */
export interface StrategyTrial {
  strategy: Strategy
  days: Int32Array
  sharpe: number | null
  /** The p of random entry; absent or null without a test. */
  p?: number | null
}

/**
 * Logs the strategies of a run, each with its p, and corrects the p of the headline for the whole trial log. The
 * headline is about the tests, or else the first strategy.
 * Its Sharpe ratio is deflated by N strategies: those of the run, or of the log with family `ledger`. The variance is
 * that of the known ratios (Bailey & López de Prado, "The deflated Sharpe ratio", 2014). The risk-free rate is left
 * out, because it would move all of them equally.
 * @param sample of the headline's Sharpe ratio; null without a ratio
 */
export async function logAndDeflate(
  tried: readonly StrategyTrial[],
  sample: SharpeSample | null,
  trials: Trials | null,
  { family, vocabularies, tests = null }: LogOptions,
): Promise<Backtest['trials']> {
  const runTrials = tried.map(strategy => trialOf(strategy, vocabularies))
  // Each strategy once; the same rules on the same data have the same hash.
  const distinct = runTrials.filter(({ hash }, i) => runTrials.findIndex(trial => trial.hash === hash) === i)
  const headline = tests === null ? runTrials[0]! : trialOfTests(tests, runTrials)
  const trialsToLog = tests === null || tests.p === null ? distinct : [...distinct, headline]
  await trials?.note('strategy', trialsToLog)
  const loggedStrategies = trials === null ? null : (await trials.of('strategy')).filter(isStrategy)
  const deflatingTrials = family === 'ledger' && loggedStrategies !== null ? loggedStrategies : distinct
  const ratios = deflatingTrials.map(({ sharpe }) => sharpe).filter(sharpe => sharpe !== null)
  // Only trials with a p are compared. Without `family` the log corrects p, but the run deflates the ratio.
  const tested = trialsToLog.filter(({ p }) => p !== null)
  const comparison = headline.p === null ? null : await noteAndCompare(trials, 'strategy', tested, family ?? 'ledger')
  const figures = {
    run: distinct.length,
    ledger: loggedStrategies?.length ?? null,
    family: family ?? 'run',
    n: deflatingTrials.length,
    variance: variance(ratios),
    log: comparison?.log ?? null,
    log_q: comparison?.q.get(headline.hash) ?? null,
  }
  const withoutRatio = (reason: string) => ({ ...figures, deflated_sharpe: null, reason })
  if (sample === null) return withoutRatio('the strategy has no Sharpe ratio')
  if (figures.variance === null) return withoutRatio(noVarianceReason(figures))
  const deflated_sharpe = deflatedSharpe({ ...sample, trials: figures.n, variance: figures.variance })
  if (deflated_sharpe === null) return withoutRatio('the moments of the returns allow for none')
  return { ...figures, deflated_sharpe, reason: null }
}

/** Why fewer than two known Sharpe ratios give no variance, and how the log could. */
function noVarianceReason({ family, n, ledger }: Pick<Backtest['trials'], 'family' | 'n' | 'ledger'>): string {
  const reason = n === 1 ? 'a single strategy has no variance' : `the ${n} strategies show fewer than two ratios`
  if (family === 'ledger' || ledger === null || ledger < 2) return `${reason} to deflate a Sharpe ratio by`
  return `${reason}; the ledger knows ${ledger}, and family "ledger" deflates by them`
}

/**
 * A strategy as the trial log stores it. Strategies that must trade alike on the same data have the same hash.
 * @param vocabularies the bands of each field: a filter that lists all bands then hashes like one without a list
 */
export function trialOf(
  { strategy, days, sharpe, p = null }: StrategyTrial,
  vocabularies: Vocabularies = new Map(),
): Trial {
  const first = days[0]
  const last = days.at(-1)
  const range = first === undefined || last === undefined ? null : [formatDay(first), formatDay(last)]
  const hash = hashOf({ kind: 'strategy', ...tradingRules(strategy, vocabularies), range })
  return {
    hash,
    spec: `${strategyInWords(strategy)}; ${range === null ? 'no bars' : range.join(' to ')}`,
    p,
    test: p === null ? null : RANDOM_ENTRY,
    sharpe,
    // Each strategy is a question of its own.
    asked: { question: hash, timeframe: strategy.timeframe, first: first ?? null, last: last ?? null },
  }
}

/** The tests of a validation as a trial of the log. The log counts them with the first strategy, as one question. */
function trialOfTests({ parts, first, last, p }: TestsTrial, strategies: readonly Trial[]): Trial {
  const firstStrategy = strategies[0]!
  const range = [first, last]
  const choice = strategies.length === 1 ? '' : ` of ${strategies.length} strategies`
  // Without the dates at the end: they are of all days, not of the tests.
  const rules = firstStrategy.spec.replace(/; [^;]*$/, '')
  return {
    hash: hashOf({ kind: 'tests', parts, strategies: strategies.map(({ hash }) => hash).sort(), range }),
    spec: `${partsInWords(parts)}${choice}: ${rules}; ${range.join(' to ')}`,
    p,
    test: RANDOM_ENTRY,
    sharpe: null,
    asked: { ...firstStrategy.asked!, first: parseDay(first), last: parseDay(last) },
  }
}

/** `split at 2015-01-01, embargo 20` or `walk-forward of 1000, 250 and 250 bars`. */
function partsInWords({ split, embargo, walk_forward }: TestsTrial['parts']): string {
  if (walk_forward !== null)
    return `walk-forward of ${walk_forward.train}, ${walk_forward.test} and ${walk_forward.step} bars`
  return embargo ? `split at ${split}, embargo ${embargo}` : `split at ${split}`
}

/** The rules that decide the returns of a strategy, in a canonical form. */
function tradingRules(strategy: Strategy, vocabularies: Vocabularies): Record<string, unknown> {
  const { entry, side, exit, overlap, costs, portfolio, seed } = strategy
  const { bps, slippage_bps, per_share, fixed, borrow } = costs
  const { size, ...otherSettings } = portfolio
  const vocabulary = isCondition(entry.field) ? TRUTHS : vocabularies.get(entry.field)
  const bands = nullIfAll(entry.bands, vocabulary)
  const prev_bands = nullIfAll(entry.prev_bands, vocabulary)
  const canonical: Strategy = {
    ...strategy,
    entry: { ...entry, bands, prev_bands },
    // Without a hold there is nothing to extend.
    overlap: overlap === 'extend' && exit.hold === null ? 'skip' : overlap,
    costs: { bps: bps + slippage_bps, slippage_bps: 0, per_share, fixed, borrow: side === 'long' ? 0 : borrow },
  }
  // These four change no trade.
  const { name: _, benchmark: __, risk_free: ___, seed: ____, ...traded } = canonical
  const capital = capitalMatters(strategy) ? portfolio.capital : 1
  // The key is still `sizing`, because other keys would give other hashes than those in existing logs.
  const rules = { ...traded, portfolio: { ...otherSettings, sizing: size, capital } }
  // The seed changes trades only where it shuffles signals.
  return portfolio.shuffle ? { ...rules, seed } : rules
}

/** The bands, or null (any band) where they are the whole vocabulary of the field. */
function nullIfAll(
  bands: readonly string[] | null,
  vocabulary: readonly string[] | undefined,
): readonly string[] | null {
  return bands?.length === vocabulary?.length ? null : bands
}
