import { createHash } from 'node:crypto'
import { formatDay } from '../../model/day.js'
import type { Trial, Trials } from '../../model/trials.js'
import { variance } from '../../statistics/moments.js'
import { deflatedSharpe } from '../../statistics/sharpe.js'
import { canonical } from '../cell/trial.js'
import { documentOf } from './document.js'
import type { Backtest } from './result.js'
import type { Strategy } from './strategy.js'
import { inWords } from './words.js'

/** One strategy that was looked at, with the Sharpe ratio a bar that it showed. */
export interface Look {
  strategy: Strategy
  days: Int32Array
  sharpe: number | null
}

/** What a Sharpe ratio a bar is judged by. */
export type Sample = { sharpe: number; n: number; skewness: number; kurtosis: number } | null

/**
 * Notes the strategies of a run in the ledger and deflates the first one's Sharpe ratio by how many there were: N and the
 * variance are those of all strategies in the ledger that have a ratio, or of the run where there is no ledger (Bailey &
 * López de Prado, "The deflated Sharpe ratio", 2014).
 */
export async function deflated(
  looks: readonly Look[],
  sample: Sample,
  trials: Trials | null,
): Promise<Backtest['trials']> {
  const noted = [...new Map(looks.map(trialOf).map(trial => [trial.hash, trial])).values()]
  const ledger = trials === null ? null : (await trials.note('strategy', noted)).ofKind
  const known = trials === null ? noted : await trials.of('strategy')
  const ratios = known.flatMap(({ sharpe }) => (sharpe === null ? [] : [sharpe]))
  const told = { run: noted.length, ledger }
  const none = (reason: string) => ({ ...told, deflated_sharpe: null, reason })
  if (sample === null) return none('the strategy has no Sharpe ratio')
  if (ratios.length < 2) return none('a variance of Sharpe ratios needs two strategies or more')
  const value = deflatedSharpe({ ...sample, trials: ratios.length, variance: variance(ratios)! })
  return value === null
    ? none('the moments of the returns allow for none')
    : { ...told, deflated_sharpe: value, reason: null }
}

/** A strategy as the ledger keeps it: the same rules on the same data have the same hash, whatever they are called. */
export function trialOf({ strategy, days, sharpe }: Look): Trial {
  const [first, last] = [days[0], days.at(-1)]
  const { name: _, seed, ...document } = documentOf(strategy)
  // Trades stand on the seed only where it draws lots among signals.
  const lots = strategy.portfolio.shuffle ? { seed } : {}
  const range = first === undefined || last === undefined ? null : [formatDay(first), formatDay(last)]
  const hash = createHash('sha256')
    .update(canonical({ kind: 'strategy', ...document, ...lots, range }))
    .digest('hex')
  return { hash, spec: `${inWords(strategy)}; ${range === null ? 'no bars' : range.join(' to ')}`, p: null, sharpe }
}
