import { InvalidParameter } from '../errors.js'
import { formatDay } from '../model/day.js'
import {
  type Costs,
  type Distance,
  type EventFilter,
  type Exit,
  type Fill,
  type RunOptions,
  type Sizing,
  type Strategy,
  type StrategyDocument,
  UNLESS_GIVEN,
  type WalkForward,
} from '../params/strategy.js'
import { filterWords, tickerWords } from '../study/signals.js'

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

/** A strategy as a file spells it, with everything in it that was left at its default. */
export function documentOf(strategy: Strategy): StrategyDocument {
  const { costs, portfolio } = strategy
  return {
    name: strategy.name,
    tickers: [...strategy.tickers],
    timeframe: strategy.timeframe,
    side: strategy.side,
    entry: entryOf(strategy.entry),
    fill: strategy.fill,
    exit: exitOf(strategy.exit),
    overlap: strategy.overlap,
    costs: {
      bps: costs.bps,
      slippage_bps: costs.slippageBps,
      per_share: costs.perShare,
      fixed: costs.fixed,
      borrow: costs.borrow,
    },
    portfolio: {
      capital: portfolio.capital,
      max_positions: portfolio.maxPositions,
      sizing: sizingOf(portfolio.sizing),
      whole_shares: portfolio.wholeShares,
      cash_rate: portfolio.cashRate,
      shuffle: portfolio.shuffle,
    },
    benchmark: strategy.benchmark,
    risk_free: strategy.riskFree,
    seed: strategy.seed,
  }
}

function entryOf({ field, bands, prevBands, stability, maxFlips, context, after, before }: EventFilter): unknown {
  return {
    field,
    bands: bands && [...bands],
    prev_bands: prevBands && [...prevBands],
    stability: stability && [...stability],
    max_flips: maxFlips,
    context: context && { ...context, bands: context.bands && [...context.bands] },
    after: after === null ? null : formatDay(after),
    before: before === null ? null : formatDay(before),
  }
}

function exitOf({ hold, leave, on, stop, target, trailing }: Exit): unknown {
  return {
    hold,
    leave,
    on: on && { field: on.field, bands: [...on.bands] },
    stop: distanceOf(stop),
    target: distanceOf(target),
    trailing: distanceOf(trailing),
  }
}

function distanceOf(distance: Distance | null): unknown {
  if (distance === null) return null
  return 'fraction' in distance ? distance.fraction : { atr: distance.atr }
}

function sizingOf(sizing: Sizing): unknown {
  return { ...sizing }
}

/** The bars after the signal at which a hold can end at the earliest: after the entry, at a close. */
const LEAST_HOLD: Record<Fill, number> = { 'next-open': 1, 'next-close': 2, close: 1 }

/** What parts of a strategy ask of each other, apart from their own shape. Throws InvalidParameter for the first fault. */
export function checkRules(strategy: Strategy): void {
  const { exit, fill, side, entry, costs } = strategy
  const ends = [exit.hold, exit.on, exit.stop, exit.target, exit.trailing].some(rule => rule !== null) || exit.leave
  if (!ends) fault('exit', 'nothing ends a trade; give one of hold, leave, on, stop, target, trailing')
  if (exit.hold !== null && !(Number.isInteger(exit.hold) && exit.hold >= LEAST_HOLD[fill]))
    fault('exit.hold', `${exit.hold} is not a whole number from ${LEAST_HOLD[fill]}, which entry at ${fill} needs`)
  if (entry.timeframe !== strategy.timeframe)
    fault('timeframe', `${strategy.timeframe} is not that of the entry, ${entry.timeframe}`)
  if (strategy.tickers.length === 0) fault('tickers', 'there is none; name at least one')
  if (costs.bps + costs.slippageBps >= 10_000)
    fault('costs', `${costs.bps + costs.slippageBps} basis points a side are the whole price; they must be below 10000`)
  checkDistance('exit.stop', exit.stop, side === 'long')
  checkDistance('exit.target', exit.target, side === 'short')
  checkDistance('exit.trailing', exit.trailing, side === 'long')
  if (entry.after !== null && entry.before !== null && entry.after >= entry.before - 1)
    fault('entry.after', 'leaves no day before entry.before; both are exclusive')
}

/** @param below whether the price is left downwards, where nothing lies below 0 */
function checkDistance(name: string, distance: Distance | null, below: boolean): void {
  if (distance === null) return
  const size = 'fraction' in distance ? distance.fraction : distance.atr
  if (!(size > 0 && Number.isFinite(size))) fault(name, `${size} is not above 0`)
  if (below && 'fraction' in distance && distance.fraction >= 1)
    throw new InvalidParameter(
      `${name} is ${percent(distance.fraction)} of the entry price, which leaves no price; it must be below 100 %.`,
      { param: name, value: distance.fraction },
    )
}

function fault(param: string, what: string): never {
  throw new InvalidParameter(`${param}: ${what}.`, { param })
}
