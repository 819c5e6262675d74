import { isCondition, TRUTHS } from '../language/as-field.js'
import { formatDay } from '../model/day.js'
import type { RunOptions, Strategy } from '../params/strategy.js'
import type { Trial, Trials } from '../source.js'
import { variance } from '../statistics/moments.js'
import { deflatedSharpe, type SharpeSample, sharpe } from '../statistics/sharpe.js'
import { hashOf, noteAndCompare, RANDOM_ENTRY } from '../trials.js'
import type { Simulation } from './portfolio.js'
import type { Backtest, LookedOn } from './result.js'
import { returnsOf } from './statistics.js'
import { fieldsOf } from './trade.js'
import { capitalMatters, inWords } from './words.js'

/** A ruined strategy has no ratio. */
export function lookOf({ strategy, days, equity }: Simulation): Look {
  const returns = returnsOf({ equity, start: strategy.portfolio.capital })
  return { strategy, days, sharpe: equity.every(value => value > 0) ? sharpe(returns, 1) : null }
}

/** What strategies look at, each once, in order. */
export function lookedOn(strategies: readonly Strategy[]): LookedOn {
  const lags = [...new Set(strategies.map(({ lag = 0 }) => lag))].sort((a, b) => a - b)
  const contexts = new Map<string, LookedOn['contexts'][number]>()
  for (const { context } of strategies.map(({ entry }) => entry))
    if (context !== null)
      contexts.set(`${context.ticker} ${context.field}`, { ticker: context.ticker, field: context.field })
  return {
    fields: [...new Set(strategies.flatMap(fieldsOf))].sort(),
    contexts: [...contexts.keys()].sort().map(name => contexts.get(name)!),
    ...(lags.at(-1)! > 0 && { lags }),
  }
}

interface Judging {
  family: RunOptions['family']
  vocabularies: Vocabularies
  /** The p of random entry of the first look, which the trial log keeps; absent where none is tested. */
  p?: number | null
}

/** The bands of each field, by its name. */
type Vocabularies = ReadonlyMap<string, readonly string[]>

/** One strategy that was looked at, with the Sharpe ratio a bar that it showed at a risk-free rate of 0. */
export interface Look {
  strategy: Strategy
  days: Int32Array
  sharpe: number | null
}

/**
 * Notes the strategies of a run in the ledger and deflates the first one's Sharpe ratio by how many there were: N are all
 * distinct strategies of the run, or with family `ledger` all that the ledger knows; the variance is that of those among
 * them that have a ratio (Bailey & López de Prado, "The deflated Sharpe ratio", 2014). The variance is of ratios without a
 * risk-free rate, which would move all of them alike.
 */
export async function deflated(
  looks: readonly Look[],
  sample: SharpeSample | null,
  trials: Trials | null,
  { family: asked, vocabularies, p = null }: Judging,
): Promise<Backtest['trials']> {
  const family = asked ?? 'run'
  const tested = p === null ? {} : { p, test: RANDOM_ENTRY }
  const own = looks.map((look, i) => ({ ...trialOf(look, vocabularies), ...(i === 0 ? tested : {}) }))
  const noted = [...new Map(own.map(trial => [trial.hash, trial])).values()]
  const ledger = trials === null ? null : (await trials.note('strategy', noted)).ofKind
  const known = family === 'ledger' && trials !== null ? await trials.of('strategy') : noted
  const ratios = known.flatMap(({ sharpe }) => (sharpe === null ? [] : [sharpe]))
  const spread = variance(ratios)
  const standing = p === null ? null : await noteAndCompare(trials, 'strategy', own.slice(0, 1), asked ?? 'ledger')
  const log_q = standing?.q.get(own[0]!.hash) ?? null
  const told = {
    run: noted.length,
    ledger,
    family,
    n: known.length,
    variance: spread,
    log: standing?.log ?? null,
    log_q,
  }
  const none = (reason: string) => ({ ...told, deflated_sharpe: null, reason })
  if (sample === null) return none('the strategy has no Sharpe ratio')
  if (spread === null) return none(tooFew(told))
  const value = deflatedSharpe({ ...sample, trials: known.length, variance: spread })
  return value === null
    ? none('the moments of the returns allow for none')
    : { ...told, deflated_sharpe: value, reason: null }
}

function tooFew({ family, n, ledger }: Pick<Backtest['trials'], 'family' | 'n' | 'ledger'>): string {
  const one = n === 1 ? 'one strategy alone has no variance' : `the ${n} strategies show fewer than two ratios`
  if (family === 'ledger' || ledger === null || ledger < 2) return `${one}, by which a Sharpe ratio is deflated`
  return `${one}; the ledger knows ${ledger}, and family "ledger" deflates by them`
}

/** A strategy as the ledger keeps it: those that cannot trade differently on the same data have the same hash. */
export function trialOf({ strategy, days, sharpe }: Look, vocabularies: Vocabularies = new Map()): Trial {
  const [first, last] = [days[0], days.at(-1)]
  const range = first === undefined || last === undefined ? null : [formatDay(first), formatDay(last)]
  const hash = hashOf({ kind: 'strategy', ...tradingRules(strategy, vocabularies), range })
  return {
    hash,
    spec: `${inWords(strategy)}; ${range === null ? 'no bars' : range.join(' to ')}`,
    p: null,
    test: null,
    sharpe,
    asked: { question: hash, timeframe: strategy.timeframe, first: first ?? null, last: last ?? null },
  }
}

/** What the returns of a strategy stand on, written in one way. */
function tradingRules(strategy: Strategy, vocabularies: Vocabularies): Record<string, unknown> {
  const { entry, side, exit, overlap, costs, portfolio, seed } = strategy
  const { bps, slippage_bps, per_share, fixed, borrow } = costs
  const all = isCondition(entry.field) ? TRUTHS : vocabularies.get(entry.field)
  const plain: Strategy = {
    ...strategy,
    entry: { ...entry, bands: chosen(entry.bands, all), prev_bands: chosen(entry.prev_bands, all) },
    // Without a hold there is nothing to extend.
    overlap: overlap === 'extend' && exit.hold === null ? 'skip' : overlap,
    costs: { bps: bps + slippage_bps, slippage_bps: 0, per_share, fixed, borrow: side === 'long' ? 0 : borrow },
    portfolio: { ...portfolio, capital: capitalMatters(strategy) ? portfolio.capital : 1 },
  }
  const { name: _, benchmark: __, risk_free: ___, seed: ____, ...rules } = plain
  // Trades stand on the seed only where it draws lots among signals.
  return portfolio.shuffle ? { ...rules, seed } : rules
}

/** null: any band. */
function chosen(bands: readonly string[] | null, all: readonly string[] | undefined): readonly string[] | null {
  return bands?.length === all?.length ? null : bands
}
