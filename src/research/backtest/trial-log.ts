import { isCondition, TRUTHS } from '../../core/language/as-field.js'
import { formatDay, parseDay } from '../../core/model/day.js'
import type { RunOptions, Strategy } from '../../core/params/strategy.js'
import type { Trial, Trials } from '../../core/source.js'
import { variance } from '../../core/statistics/moments.js'
import { deflatedSharpe, type SharpeSample, sharpe } from '../../core/statistics/sharpe.js'
import { hashOf, isStrategy, noteAndCompare, RANDOM_ENTRY } from '../trials.js'
import type { Simulation } from './portfolio.js'
import type { Backtest, DataUsed } from './result.js'
import { returnsOf } from './statistics.js'
import { fieldsOf } from './trade.js'
import type { Validated } from './validation.js'
import { capitalMatters, inWords } from './words.js'

/** A strategy as a trial; a ruined one has no Sharpe ratio. */
export function strategyTrial({ strategy, days, equity }: Simulation): StrategyTrial {
  const returns = returnsOf({ equity, start: strategy.portfolio.capital })
  return { strategy, days, sharpe: equity.every(value => value > 0) ? sharpe(returns, 1) : null }
}

/** The fields, contexts and lags that strategies use, each once, in order. */
export function dataUsed(strategies: readonly Strategy[]): DataUsed {
  const lags = [...new Set(strategies.map(({ lag = 0 }) => lag))].sort((a, b) => a - b)
  const contexts = new Map<string, DataUsed['contexts'][number]>()
  for (const { context } of strategies.map(({ entry }) => entry))
    if (context !== null)
      contexts.set(`${context.ticker} ${context.field}`, { ticker: context.ticker, field: context.field })
  return {
    fields: [...new Set(strategies.flatMap(fieldsOf))].sort(),
    contexts: [...contexts.keys()].sort().map(name => contexts.get(name)!),
    ...(lags.at(-1)! > 0 && { lags }),
  }
}

interface LogOptions {
  family: RunOptions['family']
  vocabularies: Vocabularies
  /**
   * The tests of a split or a walk-forward. They are a trial of their own, and the headline is about them; null without
   * tests.
   */
  tests?: TestsTrial | null
}

/** The tests of a validation as the trial log stores them. */
export interface TestsTrial {
  /** The parts of the data, as typed. */
  parts: Pick<RunOptions, 'split' | 'embargo' | 'walk_forward'>
  /** First and last date of the tests. */
  first: string
  last: string
  p: number | null
}

/** null without tests. */
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
 */
export async function logAndDeflate(
  tried: readonly StrategyTrial[],
  sample: SharpeSample | null,
  trials: Trials | null,
  { family: asked, vocabularies, tests = null }: LogOptions,
): Promise<Backtest['trials']> {
  const family = asked ?? 'run'
  const own = tried.map(look => trialOf(look, vocabularies))
  const distinct = own.filter(({ hash }, i) => own.findIndex(other => other.hash === hash) === i)
  const headline = tests === null ? own[0]! : trialOfTests(tests, own)
  const all = tests === null || tests.p === null ? distinct : [...distinct, headline]
  await trials?.note('strategy', all)
  const inLog = (await trials?.of('strategy'))?.filter(isStrategy) ?? null
  const pool = family === 'ledger' && inLog !== null ? inLog : distinct
  const ratios = pool.flatMap(({ sharpe }) => (sharpe === null ? [] : [sharpe]))
  const spread = variance(ratios)
  const tested = all.filter(({ p }) => p !== null)
  const inLogNow = headline.p === null ? null : await noteAndCompare(trials, 'strategy', tested, asked ?? 'ledger')
  const log_q = inLogNow?.q.get(headline.hash) ?? null
  const figures = {
    run: distinct.length,
    ledger: inLog?.length ?? null,
    family,
    n: pool.length,
    variance: spread,
    log: inLogNow?.log ?? null,
    log_q,
  }
  const none = (reason: string) => ({ ...figures, deflated_sharpe: null, reason })
  if (sample === null) return none('the strategy has no Sharpe ratio')
  if (spread === null) return none(tooFew(figures))
  const value = deflatedSharpe({ ...sample, trials: pool.length, variance: spread })
  return value === null
    ? none('the moments of the returns allow for none')
    : { ...figures, deflated_sharpe: value, reason: null }
}

function tooFew({ family, n, ledger }: Pick<Backtest['trials'], 'family' | 'n' | 'ledger'>): string {
  const one = n === 1 ? 'a single strategy has no variance' : `the ${n} strategies show fewer than two ratios`
  if (family === 'ledger' || ledger === null || ledger < 2) return `${one} to deflate a Sharpe ratio by`
  return `${one}; the ledger knows ${ledger}, and family "ledger" deflates by them`
}

/**
 * A strategy as the trial log stores it. Strategies that cannot trade differently on the same data have the same hash.
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
    spec: `${inWords(strategy)}; ${range === null ? 'no bars' : range.join(' to ')}`,
    p,
    test: p === null ? null : RANDOM_ENTRY,
    sharpe,
    asked: { question: hash, timeframe: strategy.timeframe, first: first ?? null, last: last ?? null },
  }
}

/** The tests share the question of the first strategy: one command is one question. */
function trialOfTests({ parts, first, last, p }: TestsTrial, own: readonly Trial[]): Trial {
  const [lead, ...others] = own as [Trial, ...Trial[]]
  const { split, embargo, walk_forward } = parts
  const kind =
    walk_forward === null
      ? `split at ${split}${embargo ? `, embargo ${embargo}` : ''}`
      : `walk-forward of ${walk_forward.train}, ${walk_forward.test} and ${walk_forward.step} bars`
  const range = [first, last]
  const chosen = others.length === 0 ? '' : ` of ${own.length} strategies`
  return {
    hash: hashOf({ kind: 'tests', parts, strategies: own.map(({ hash }) => hash).sort(), range }),
    spec: `${kind}${chosen}: ${lead.spec.replace(/; [^;]*$/, '')}; ${range.join(' to ')}`,
    p,
    test: RANDOM_ENTRY,
    sharpe: null,
    asked: { ...lead.asked!, first: parseDay(first), last: parseDay(last) },
  }
}

/** The rules that decide the returns of a strategy, in a canonical form. */
function tradingRules(strategy: Strategy, vocabularies: Vocabularies): Record<string, unknown> {
  const { entry, side, exit, overlap, costs, portfolio, seed } = strategy
  const { bps, slippage_bps, per_share, fixed, borrow } = costs
  const { size, ...others } = portfolio
  const all = isCondition(entry.field) ? TRUTHS : vocabularies.get(entry.field)
  const plain: Strategy = {
    ...strategy,
    entry: { ...entry, bands: nullIfAll(entry.bands, all), prev_bands: nullIfAll(entry.prev_bands, all) },
    // Without a hold there is nothing to extend.
    overlap: overlap === 'extend' && exit.hold === null ? 'skip' : overlap,
    costs: { bps: bps + slippage_bps, slippage_bps: 0, per_share, fixed, borrow: side === 'long' ? 0 : borrow },
  }
  const { name: _, benchmark: __, risk_free: ___, seed: ____, ...traded } = plain
  const capital = capitalMatters(strategy) ? portfolio.capital : 1
  // By the keys that the log has had from its first day on.
  const rules = { ...traded, portfolio: { ...others, sizing: size, capital } }
  // The seed changes trades only where it shuffles signals.
  return portfolio.shuffle ? { ...rules, seed } : rules
}

/** The bands, or null where they are all bands of the field: any band. */
function nullIfAll(bands: readonly string[] | null, all: readonly string[] | undefined): readonly string[] | null {
  return bands?.length === all?.length ? null : bands
}
