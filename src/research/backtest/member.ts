import { countUpTo } from '../../ascending.js'
import { atr } from '../../indicators/atr.js'
import type { Market, MarketBars, States } from '../../market.js'
import { eligibleBars, type Signals, signalsOf } from '../signals.js'
import { type ExitEvent, exitNeedsAtr, needsAtr, type PathBars } from './path.js'
import type { Exit, Strategy } from './strategy.js'

/** Wilder's length, as everywhere in the definitions. */
const ATR_LENGTH = 14

/** All that a strategy needs to know of one ticker. */
export interface Member {
  ticker: string
  prices: MarketBars
  bars: PathBars
  states: States
  signals: Signals
  /** Bars on which a signal could have been: those in the filter's dates on which the field has a band. */
  eligible: Int32Array
  /** Bars of the events that end a trade, ascending; null where the rule is not used. */
  leave: Int32Array | null
  on: Int32Array | null
}

/**
 * The tickers of strategies that have the same ones, in their order; of each ticker everything is read at once. Throws
 * NotFound, TierRestricted and Busy as the market does.
 */
export async function membersOf(
  market: Market,
  strategies: readonly Strategy[],
  step: (text: () => string) => void = () => {},
): Promise<Member[][]> {
  const members: Member[][] = strategies.map(() => [])
  const { tickers } = strategies[0]!
  for (const [i, ticker] of tickers.entries()) {
    step(() => `${ticker}  ${i + 1}/${tickers.length}`)
    for (const [n, strategy] of strategies.entries()) members[n]!.push(await memberOf(market, ticker, strategy))
  }
  return members
}

/** The first event after a bar that ends a trade: of leave and on the earlier one, leave where they are the same. */
export function exitEventAfter({ leave, on }: Pick<Member, 'leave' | 'on'>, bar: number): ExitEvent {
  const left = leave?.[countUpTo(leave, bar)] ?? -1
  const entered = on?.[countUpTo(on, bar)] ?? -1
  return entered >= 0 && (left < 0 || entered < left) ? { bar: entered, why: 'on' } : { bar: left, why: 'leave' }
}

/** Whether the rules of a strategy have a value at a signal: the ATR does not for the first bars of a ticker. */
export function hasDistances({ bars }: Member, exit: Exit, signal: number): boolean {
  return !exitNeedsAtr(exit) || !Number.isNaN(bars.atr![signal]!)
}

async function memberOf(market: Market, ticker: string, strategy: Strategy): Promise<Member> {
  const { entry, exit } = strategy
  const { prices, states, signals } = await signalsOf(market, ticker, entry)
  const { days, open, high, low, close } = prices.series
  const range = needsAtr(strategy) ? atr(high, low, close, ATR_LENGTH) : null
  return {
    ticker,
    prices,
    bars: { days, open, high, low, close, atr: range, delisting: prices.delisting },
    states,
    signals,
    eligible: eligibleBars(prices, states, entry),
    leave: exit.leave ? states.bars : null,
    on: exit.on === null ? null : await entriesInto(market, states, exit.on),
  }
}

/** Bars on which a field of the ticker enters one of some bands. */
async function entriesInto(
  market: Market,
  { ticker, field, timeframe, ...own }: States,
  on: NonNullable<Exit['on']>,
): Promise<Int32Array> {
  const { bars, entered, bands } = on.field === field ? own : await market.states(ticker, on.field, timeframe)
  const wanted = Uint8Array.from(bands, band => Number(on.bands.includes(band)))
  return bars.filter((_, i) => wanted[entered[i]!] === 1)
}
