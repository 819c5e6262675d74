import { createHash } from 'node:crypto'
import { InvalidParameter } from '../../errors.js'
import { fieldNamed } from '../../fields/index.js'
import { formatDay } from '../../model/day.js'
import type { Trial, Trials } from '../../model/trials.js'
import { variance } from '../../statistics/moments.js'
import { deflatedSharpe } from '../../statistics/sharpe.js'
import { canonical } from '../cell/trial.js'
import { documentOf } from './document.js'
import type { Backtest } from './result.js'
import type { RunOptions, Strategy } from './strategy.js'
import { capitalMatters, inWords } from './words.js'

/** One strategy that was looked at, with the Sharpe ratio a bar that it showed at a risk-free rate of 0. */
export interface Look {
  strategy: Strategy
  days: Int32Array
  sharpe: number | null
}

/** What a Sharpe ratio a bar is judged by. */
export type Sample = { sharpe: number; n: number; skewness: number; kurtosis: number } | null

/** Throws InvalidParameter where the ledger is to be deflated by and there is none. */
export function checkFamily({ family = 'run' }: Pick<RunOptions, 'family'>, trials: Trials | null): void {
  if (family === 'run' || trials !== null) return
  const message =
    'family "ledger" cannot be: there is no trial ledger beside the bundled sample; use family "run", or a database of your own.'
  throw new InvalidParameter(message, { param: 'family', value: family, allowed: ['run'] })
}

/**
 * Notes the strategies of a run in the ledger and deflates the first one's Sharpe ratio by how many there were: N are all
 * distinct strategies of the run, or with family `ledger` all that the ledger knows; the variance is that of those among
 * them that have a ratio (Bailey & López de Prado, "The deflated Sharpe ratio", 2014). The variance is of ratios without a
 * risk-free rate, which would move all of them alike.
 */
export async function deflated(
  looks: readonly Look[],
  sample: Sample,
  trials: Trials | null,
  family: NonNullable<RunOptions['family']>,
): Promise<Backtest['trials']> {
  const noted = [...new Map(looks.map(trialOf).map(trial => [trial.hash, trial])).values()]
  const ledger = trials === null ? null : (await trials.note('strategy', noted)).ofKind
  const known = family === 'ledger' && trials !== null ? await trials.of('strategy') : noted
  const ratios = known.flatMap(({ sharpe }) => (sharpe === null ? [] : [sharpe]))
  const spread = variance(ratios)
  const told = { run: noted.length, ledger, family, n: known.length, variance: spread }
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
  return `${one}; the ledger knows ${ledger}, by which --family ledger deflates`
}

/** A strategy as the ledger keeps it: those that cannot trade differently on the same data have the same hash. */
export function trialOf({ strategy, days, sharpe }: Look): Trial {
  const [first, last] = [days[0], days.at(-1)]
  const range = first === undefined || last === undefined ? null : [formatDay(first), formatDay(last)]
  const hash = createHash('sha256')
    .update(canonical({ kind: 'strategy', ...tradingRules(strategy), range }))
    .digest('hex')
  return { hash, spec: `${inWords(strategy)}; ${range === null ? 'no bars' : range.join(' to ')}`, p: null, sharpe }
}

/** What the returns of a strategy stand on, written in one way. */
function tradingRules(strategy: Strategy): Record<string, unknown> {
  const { entry, side, exit, overlap, costs, portfolio, seed } = strategy
  const { bps, slippageBps, perShare, fixed, borrow } = costs
  const plain: Strategy = {
    ...strategy,
    entry: { ...entry, bands: chosen(entry.field, entry.bands), prevBands: chosen(entry.field, entry.prevBands) },
    // Without a hold there is nothing to extend.
    overlap: overlap === 'extend' && exit.hold === null ? 'skip' : overlap,
    costs: { bps: bps + slippageBps, slippageBps: 0, perShare, fixed, borrow: side === 'long' ? 0 : borrow },
    portfolio: { ...portfolio, capital: capitalMatters(strategy) ? portfolio.capital : 1 },
  }
  const { name: _, benchmark: __, risk_free: ___, seed: ____, ...rules } = documentOf(plain)
  // Trades stand on the seed only where it draws lots among signals.
  return portfolio.shuffle ? { ...rules, seed } : rules
}

/** null: any band. */
function chosen(field: string, bands: readonly string[] | null): readonly string[] | null {
  return bands?.length === fieldNamed(field)?.bands.length ? null : bands
}
