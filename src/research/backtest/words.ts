import { counted } from '../../core/errors.js'
import { lagInWords } from '../../core/language/as-field.js'
import { rankedText, readRank } from '../../core/language/rank.js'
import { percent, plainDigits } from '../../core/numbers.js'
import type { Distance } from '../../core/params/figures.js'
import {
  type Costs,
  defaultMaxPositions,
  type Exit,
  type Fill,
  type RunOptions,
  STRATEGY,
  type Strategy,
} from '../../core/params/strategy.js'
import type { WalkForward } from '../../core/params/studies.js'
import { filterWords, tickerWords } from '../trials.js'

/**
 * A strategy in one line, without the values that are defaults:
 * `long rsi_zone = oversold at next-open; hold 20; 10 bp a side; at most 1 position; SPY`.
 */
export function strategyInWords(strategy: Strategy): string {
  const { side, entry, timeframe, fill, exit, overlap, tickers, lag } = strategy
  const conditions = filterWords({ ...entry, timeframe }).join(' ')
  return [
    `${timeframe === 'daily' ? side : `${side} ${timeframe}`} ${conditions} at ${fill}`,
    entry.after === null ? '' : `after ${entry.after}`,
    entry.before === null ? '' : `before ${entry.before}`,
    exitsInWords(strategy),
    ...lagInWords(lag),
    overlap === 'skip' || (overlap === 'extend' && exit.hold === null) ? '' : `overlap ${overlap}`,
    ...costWords(strategy),
    ...portfolioWords(strategy),
    tickerWords(tickers),
  ]
    .filter(part => part !== '')
    .join('; ')
}

/** The costs, unless they are the defaults. */
function costWords({ costs, side }: Strategy): string[] {
  const { bps, slippage_bps, per_share, fixed, borrow } = costs
  const hasOwnFillCosts = bps !== STRATEGY.costs.rows.bps.fallback || slippage_bps + per_share + fixed > 0
  const paysBorrow = side === 'short' && borrow > 0
  return hasOwnFillCosts || paysBorrow ? [costsInWords(costs, side)] : []
}

/** The settings of the portfolio; an empty text for each default. */
function portfolioWords(strategy: Strategy): string[] {
  const { costs, portfolio, rank, seed } = strategy
  const { capital, max_positions, size, whole_shares, cash_rate, shuffle, order } = portfolio
  const positions = max_positions === 1 ? 'position' : 'positions'
  return [
    max_positions === defaultMaxPositions(strategy) ? '' : `at most ${max_positions} ${positions}`,
    size.method === 'equal' ? '' : `each ${sizingInWords(portfolio)}`,
    whole_shares ? 'whole shares' : '',
    capital !== STRATEGY.portfolio.rows.capital.fallback && capitalMatters({ costs, portfolio })
      ? `capital ${plainDigits(capital)}`
      : '',
    cash_rate === 0 ? '' : `cash at ${percent(cash_rate)} a year`,
    rank === undefined ? '' : `rank ${rank}`,
    shuffle ? `one random choice by seed ${seed}` : '',
    order === undefined ? '' : `in order of ${order}`,
  ]
}

/** The order of a day's signals: `the highest rsi_zone first …`. */
export function rankInWords({ rank, portfolio, seed }: Pick<Strategy, 'rank' | 'portfolio' | 'seed'>): string {
  const { shuffle, order } = portfolio
  let ties = 'at random'
  if (shuffle) ties = `at random by seed ${seed}`
  else if (order === 'ticker') ties = 'in order of ticker'
  if (rank === undefined) return ties
  const parsed = readRank(rank)
  const which = parsed.isLowestFirst ? 'lowest' : 'highest'
  return `of a day's signals those with the ${which} ${rankedText(parsed)} on their own bar come first, those without one last, equal ones ${ties}`
}

/** Whether returns depend on the amount of money. */
export function capitalMatters({ costs, portfolio }: Pick<Strategy, 'costs' | 'portfolio'>): boolean {
  return portfolio.whole_shares || costs.per_share > 0 || costs.fixed > 0
}

/** The values of each strategy that are not common to all: `hold 5`. */
export function differingValues(strategies: readonly Strategy[]): string[] {
  const valuesOfEach = strategies.map(strategy => new Map(valuesByPath(strategy)))
  const keys = [...new Set(valuesOfEach.flatMap(values => [...values.keys()]))]
  const differing = keys.filter(key => new Set(valuesOfEach.map(values => values.get(key))).size > 1)
  return strategies.map((strategy, i) => {
    const parts = differing.map(key => valueInWords(key, valuesOfEach[i]!.get(key)))
    return parts.length === 0 ? strategyInWords(strategy) : parts.join(', ')
  })
}

/**
 * A key of a strategy without its section, and its value: `max positions 5`. The lag of conditions belongs to the whole
 * strategy, not to the context.
 */
function valueInWords(key: string, text = 'none'): string {
  if (key === 'lag') return lagInWords(text === 'none' ? undefined : Number(text))[0] ?? 'other tickers on the same day'
  const name = key === 'entry.context.lag' ? 'context lag' : key.split('.').at(-1)!.replaceAll('_', ' ')
  return `${name} ${text}`
}

/** The run options that a strategy file does not contain, so that the file alone does not repeat the run; or null. */
export function describeRunOptions({ candidates = [], split, walk_forward }: RunOptions): string | null {
  const parts = [
    ...(candidates.length === 0 ? [] : [`the candidates (${differingValues(candidates).join('; ')})`]),
    ...(split === null ? [] : [`the split at ${split}`]),
    ...(walk_forward === null ? [] : [`the walk-forward (${pairsOf(walk_forward)})`]),
  ]
  return parts.length === 0 ? null : parts.join(' and ')
}

/** A walk-forward as its parameter spells it: `train=756,test=252,step=252`. */
function pairsOf({ train, test, step, embargo, anchored }: WalkForward): string {
  const pairs = [`train=${train}`, `test=${test}`, `step=${step}`]
  if (embargo > 0) pairs.push(`embargo=${embargo}`)
  if (anchored) pairs.push('anchored')
  return pairs.join(',')
}

/** Each single value of a document that is not null, as text, with its path: `['entry.field', 'rsi_zone']`. */
function valuesByPath(value: unknown, path = ''): [path: string, text: string][] {
  if (value === null) return []
  if (typeof value !== 'object') return [[path, String(value)]]
  if (Array.isArray(value)) return [[path, value.join(', ')]]
  return Object.entries(value).flatMap(([key, inner]) => valuesByPath(inner, path === '' ? key : `${path}.${key}`))
}

/** For example `hold 20, stop 5 %`. */
export function exitsInWords({ exit }: { exit: Exit }): string {
  const { hold, leave, on, when, stop, target, trailing } = exit
  return [
    hold === null ? '' : `hold ${hold}`,
    leave ? 'leave' : '',
    on === null ? '' : `on ${on.field} = ${on.bands.join(', ')}`,
    when === undefined ? '' : `when ${when}`,
    stop === null ? '' : `stop ${distanceInWords(stop)}`,
    target === null ? '' : `target ${distanceInWords(target)}`,
    trailing === null ? '' : `trailing ${distanceInWords(trailing)}`,
  ]
    .filter(part => part !== '')
    .join(', ')
}

export const FILLS_IN_WORDS: Readonly<Record<Fill, string>> = {
  'next-open': 'a signal at a close is filled at the next open',
  'next-close': 'a signal at a close is filled at the next close',
  close: 'a signal is filled at its own close (same close: not tradable on end-of-day data)',
}

/** For example `10 bp a side and 1 a fill`. */
export function costsInWords({ bps, slippage_bps, per_share, fixed, borrow }: Costs, side: Strategy['side']): string {
  return [
    `${plainDigits(bps + slippage_bps)} bp a side`,
    slippage_bps === 0 ? '' : `(${plainDigits(slippage_bps)} bp of it slippage)`,
    per_share === 0 ? '' : `and ${plainDigits(per_share)} a share`,
    fixed === 0 ? '' : `and ${plainDigits(fixed)} a fill`,
    side === 'long' ? '' : `and ${percent(borrow)} a year for borrowed shares`,
  ]
    .filter(part => part !== '')
    .join(' ')
}

/** `2 positions, each 1/2 of the equity` */
export function positionsInWords(portfolio: Strategy['portfolio']): string {
  const { max_positions, size } = portfolio
  const isAll = size.method === 'equal' && max_positions === 1
  return `${counted(max_positions, 'position')}, ${isAll ? 'all of the equity' : `each ${sizingInWords(portfolio)}`}`
}

/** `2, each 1/2 of the equity`, after the word positions. */
export function slotsInWords(portfolio: Strategy['portfolio']): string {
  return `${portfolio.max_positions}, each ${sizingInWords(portfolio)}`
}

/** The size of one position, such as `1/2 of the equity`. */
function sizingInWords({ size, max_positions }: Strategy['portfolio']): string {
  if (size.method === 'equal') return `1/${max_positions} of the equity`
  if (size.method === 'fixed-fraction') return `${percent(size.fraction)} of the equity`
  return `a share of the equity for a volatility of ${percent(size.target)} a year, at most ${percent(size.cap)}`
}

function distanceInWords(distance: Distance): string {
  return typeof distance === 'number' ? percent(distance) : `${plainDigits(distance.atr)} ATR`
}
