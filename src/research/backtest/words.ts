import type { Costs, Distance, Fill, Sizing, Strategy } from './strategy.js'

/** As many tickers as a line names. */
const NAMED = 3

/** The rules of a strategy in one line: `long rsi_zone = oversold at next-open; hold 20; SPY`. */
export function inWords(strategy: Strategy): string {
  const { tickers, overlap } = strategy
  return [
    `${strategy.side} ${entryInWords(strategy)} at ${strategy.fill}`,
    exitsInWords(strategy),
    overlap === 'skip' ? '' : `overlap ${overlap}`,
    tickers.length <= NAMED ? tickers.join(', ') : `${tickers.length} tickers`,
  ]
    .filter(part => part !== '')
    .join('; ')
}

export function entryInWords({ entry }: Pick<Strategy, 'entry'>): string {
  const { field, bands, prevBands, stability, maxFlips, context } = entry
  return [
    `${field} = ${bands?.join(', ') ?? 'any'}`,
    prevBands === null ? '' : `from ${prevBands.join(', ')}`,
    stability === null ? '' : `stability ${stability.join(', ')}`,
    maxFlips === null ? '' : `at most ${maxFlips} flips`,
    context === null ? '' : `while ${context.ticker} ${context.field} = ${context.bands?.join(', ') ?? 'any'}`,
    context?.lag === 1 ? 'a bar before' : '',
  ]
    .filter(part => part !== '')
    .join(' ')
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
