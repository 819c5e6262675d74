import { countBelow, countUpTo } from '../ascending.js'
import { TierRestricted } from '../errors.js'
import type { Market, MarketBars, States } from '../market.js'
import type { Day } from '../model/day.js'
import { STABILITIES, UNDEFINED } from '../model/record.js'
import type { ContextFilter, EventFilter } from './filter.js'

/** The events of one ticker that pass a filter, in columns; oldest first. */
export interface Signals {
  /** Bars on which they happened, as numbered in the prices. */
  bars: Int32Array
  /** Codes of the band entered and of the band left; places in `states.bands`. */
  entered: Uint8Array
  left: Uint8Array
  /** Index into STABILITIES, and flips in the lookback; 255 where nobody told. */
  stability: Uint8Array
  flips: Uint8Array
  /** The band that the context ticker was in, null where it was in none yet; null without a context. */
  contextBands: (string | null)[] | null
}

/**
 * What of one ticker is a signal, with the prices and bands it is numbered by. Throws NotFound, TierRestricted and Busy as
 * the market does, TierRestricted too where stability or flips are asked for and whoever has the events does not tell them.
 */
export async function signalsOf(
  market: Market,
  ticker: string,
  filter: EventFilter,
): Promise<{ prices: MarketBars; states: States; signals: Signals }> {
  // What a tier does not have is refused before what is not there.
  const states = await market.states(ticker, filter.field, filter.timeframe)
  const prices = await market.bars(ticker, filter.timeframe)
  const { days } = prices.series
  const passes = passing(states, filter)
  const found: number[] = []
  const [first, last] = boundsOf(days, filter)
  for (let i = countBelow(states.bars, Math.max(first, states.from)); i < states.bars.length; i++) {
    if (states.bars[i]! >= Math.min(last, states.to)) break
    if (passes(i)) found.push(i)
  }
  if (filter.context === null) return { prices, states, signals: signalsAt(states, found, null) }
  const { kept, bands } = await inContext(market, filter.context, filter.timeframe, found, i => days[states.bars[i]!]!)
  return { prices, states, signals: signalsAt(states, kept, bands) }
}

/** The bars that events are held against: those within the filter's dates and the range on which the field has a band. */
export function eligibleBars(
  prices: MarketBars,
  { codes, from, to }: Pick<States, 'codes' | 'from' | 'to'>,
  filter: Pick<EventFilter, 'after' | 'before'>,
): Int32Array {
  const [first, last] = boundsOf(prices.series.days, filter)
  const found: number[] = []
  for (let t = Math.max(first, from); t < Math.min(last, to); t++) if (codes[t] !== UNDEFINED) found.push(t)
  return Int32Array.from(found)
}

/**
 * Code of the band that a ticker was in on each of some dates: the one entered by its most recent transition on or before
 * the date (lag 0) or strictly before it (lag 1); UNDEFINED before its first.
 *
 * @param days dates of the ticker's own bars, by which `states` is numbered
 */
export function bandsEnteredBy(states: States, days: Int32Array, dates: readonly Day[], lag: 0 | 1): Uint8Array {
  return Uint8Array.from(dates, date => {
    const day = date - lag
    if (states.upTo !== undefined && day > states.upTo) return UNDEFINED
    const events = countBelow(states.bars, countUpTo(days, day))
    if (events > 0) return states.entered[events - 1]!
    const { earlier } = states
    return earlier !== undefined && day >= earlier.since ? earlier.band : UNDEFINED
  })
}

/** First bar within the filter's dates, and the one after the last. */
function boundsOf(days: Int32Array, { after, before }: Pick<EventFilter, 'after' | 'before'>): [number, number] {
  return [after === null ? 0 : countUpTo(days, after), before === null ? days.length : countBelow(days, before)]
}

/** Whether an event passes what is asked of itself; its context and its date apart. */
function passing(states: States, filter: EventFilter): (i: number) => boolean {
  const entered = allowed(states.bands, filter.bands)
  const left = allowed(states.bands, filter.prevBands)
  const { stability, maxFlips } = filter
  const stable = stability === null ? null : allowed(STABILITIES, stability)
  return i => {
    if (entered[states.entered[i]!] === 0 || left[states.left[i]!] === 0) return false
    if (stable !== null && stable[told(states.stability[i]!, 'stability_at_entry')] === 0) return false
    return maxFlips === null || told(states.flips[i]!, 'flips_recent_at_entry') <= maxFlips
  }
}

/** 1 for the code of each allowed word; codes of all words without a choice. */
function allowed(words: readonly string[], chosen: readonly string[] | null): Uint8Array {
  return Uint8Array.from(words, word => Number(chosen === null || chosen.includes(word)))
}

/** The answers of a Free key are the only ones without it. */
function told(value: number, what: string): number {
  if (value === UNDEFINED) throw new TierRestricted(what, 'free', 'plus')
  return value
}

async function inContext(
  market: Market,
  { ticker, field, bands: chosen, lag }: ContextFilter,
  timeframe: EventFilter['timeframe'],
  found: readonly number[],
  dayOf: (event: number) => Day,
): Promise<{ kept: number[]; bands: (string | null)[] }> {
  const states = await market.states(ticker, field, timeframe)
  const { days } = (await market.bars(ticker, timeframe)).series
  const codes = bandsEnteredBy(states, days, found.map(dayOf), lag)
  const bands = Array.from(codes, code => (code === UNDEFINED ? null : states.bands[code]!))
  const matches = (band: string | null): boolean => chosen === null || (band !== null && chosen.includes(band))
  return { kept: found.filter((_, n) => matches(bands[n]!)), bands: bands.filter(matches) }
}

function signalsAt(states: States, found: readonly number[], contextBands: (string | null)[] | null): Signals {
  return {
    bars: Int32Array.from(found, i => states.bars[i]!),
    entered: Uint8Array.from(found, i => states.entered[i]!),
    left: Uint8Array.from(found, i => states.left[i]!),
    stability: Uint8Array.from(found, i => states.stability[i]!),
    flips: Uint8Array.from(found, i => states.flips[i]!),
    contextBands,
  }
}
