import { formatDay } from '../../model/day.js'
import { filterWords, tickerWords } from '../filter-words.js'
import { documentOf } from './document.js'
import {
  type Costs,
  type Distance,
  type Fill,
  type RunOptions,
  type Sizing,
  type Strategy,
  UNLESS_GIVEN,
  type WalkForward,
} from './strategy.js'

/**
 * A strategy in one line, with all that it was given beyond what holds anyway:
 * `long rsi_zone = oversold at next-open; hold 20; 10 bp a side; at most 1 position; SPY`.
 */
export function inWords(strategy: Strategy): string {
  const { side, entry, fill, exit, overlap, tickers } = strategy
  return [
    `${side} ${entry.timeframe === 'daily' ? '' : `${entry.timeframe} `}${filterWords(entry).join(' ')} at ${fill}`,
    entry.after === null ? '' : `after ${formatDay(entry.after)}`,
    entry.before === null ? '' : `before ${formatDay(entry.before)}`,
    exitsInWords(strategy),
    overlap === 'skip' || (overlap === 'extend' && exit.hold === null) ? '' : `overlap ${overlap}`,
    ...givenCosts(strategy),
    ...givenPortfolio(strategy),
    tickerWords(tickers),
  ]
    .filter(part => part !== '')
    .join('; ')
}

function givenCosts({ costs, side }: Strategy): string[] {
  const { bps, slippageBps, perShare, fixed, borrow } = costs
  const ofFills = bps !== UNLESS_GIVEN.bps || slippageBps + perShare + fixed > 0
  return ofFills || (side === 'short' && borrow > 0) ? [costsInWords(costs, side)] : []
}

function givenPortfolio({ costs, portfolio, seed }: Strategy): string[] {
  const { capital, maxPositions, sizing, wholeShares, cashRate, shuffle } = portfolio
  return [
    maxPositions === UNLESS_GIVEN.maxPositions
      ? ''
      : `at most ${maxPositions} position${maxPositions === 1 ? '' : 's'}`,
    sizing.method === 'equal' ? '' : `each ${sizingInWords(sizing, maxPositions)}`,
    wholeShares ? 'whole shares' : '',
    capital !== UNLESS_GIVEN.capital && capitalMatters({ costs, portfolio }) ? `capital ${plain(capital)}` : '',
    cashRate === 0 ? '' : `cash at ${percent(cashRate)} a year`,
    shuffle ? `drawn by seed ${seed}` : '',
  ]
}

/** Whether returns depend on how much money there is. */
export function capitalMatters({ costs, portfolio }: Pick<Strategy, 'costs' | 'portfolio'>): boolean {
  return portfolio.wholeShares || costs.perShare > 0 || costs.fixed > 0
}

/** What each of some strategies has that is not the same in all of them: `hold 5`. */
export function differences(strategies: readonly Strategy[]): string[] {
  const all = strategies.map(strategy => new Map(leavesOf(documentOf(strategy))))
  const keys = [...new Set(all.flatMap(leaves => [...leaves.keys()]))]
  const told = keys.filter(key => new Set(all.map(leaves => leaves.get(key))).size > 1)
  return strategies.map((strategy, i) => {
    const parts = told.map(key => `${key.split('.').at(-1)!.replaceAll('_', ' ')} ${all[i]!.get(key) ?? 'none'}`)
    return parts.length === 0 ? inWords(strategy) : parts.join(', ')
  })
}

/** What a run was asked for that a strategy file does not hold, so that it alone does not make the run again; or null. */
export function besideStrategy({ candidates = [], split, walkForward }: RunOptions): string | null {
  const parts = [
    ...(candidates.length === 0 ? [] : [`the candidates (${differences(candidates).join('; ')})`]),
    ...(split === null ? [] : [`the split at ${split}`]),
    ...(walkForward === null ? [] : [`the walk-forward (${pairsOf(walkForward)})`]),
  ]
  return parts.length === 0 ? null : parts.join(' and ')
}

function pairsOf({ train, test, step, embargo, anchored }: WalkForward): string {
  return `train=${train},test=${test},step=${step}${embargo > 0 ? `,embargo=${embargo}` : ''}${anchored ? ',anchored' : ''}`
}

/** Each value of a document that is no section, by its place, as text. */
function leavesOf(value: unknown, place = ''): [place: string, text: string][] {
  if (typeof value !== 'object' || value === null) return value === null ? [] : [[place, String(value)]]
  if (Array.isArray(value)) return [[place, value.join(', ')]]
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, place === '' ? key : `${place}.${key}`))
}

export function exitsInWords({ exit }: Pick<Strategy, 'exit'>): string {
  const { hold, leave, on, stop, target, trailing } = exit
  return [
    hold === null ? '' : `hold ${hold}`,
    leave ? 'leave' : '',
    on === null ? '' : `on ${on.field} = ${on.bands.join(', ')}`,
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

export function costsInWords({ bps, slippageBps, perShare, fixed, borrow }: Costs, side: Strategy['side']): string {
  return [
    `${plain(bps + slippageBps)} bp a side`,
    slippageBps === 0 ? '' : `(${plain(slippageBps)} bp of it slippage)`,
    perShare === 0 ? '' : `and ${plain(perShare)} a share`,
    fixed === 0 ? '' : `and ${plain(fixed)} a fill`,
    side === 'long' ? '' : `and ${percent(borrow)} a year for borrowed shares`,
  ]
    .filter(part => part !== '')
    .join(' ')
}

export function sizingInWords(sizing: Sizing, maxPositions: number): string {
  if (sizing.method === 'equal') return `1/${maxPositions} of the equity`
  if (sizing.method === 'fixed-fraction') return `${percent(sizing.fraction)} of the equity`
  return `a share of the equity for a volatility of ${percent(sizing.target)} a year, at most ${percent(sizing.cap)}`
}

export function percent(share: number): string {
  return `${plain(share * 100)} %`
}

function distanceInWords(distance: Distance): string {
  return 'fraction' in distance ? percent(distance.fraction) : `${plain(distance.atr)} ATR`
}

/** Without the digits that binary fractions add. */
function plain(value: number): string {
  return String(Number(value.toPrecision(12)))
}
