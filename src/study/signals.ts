import { TierRestricted } from '../errors.js'
import { TRUE } from '../language/as-field.js'
import { isConsecutive, SharedColumns } from '../model/calendar.js'
import { countBelow, countUpTo, type Day, parseDay } from '../model/day.js'
import {
  barsCountingOn,
  numbersBetween,
  forwardReturns as returnsOver,
  type Series,
  STABILITIES,
  UNDEFINED,
} from '../model/series.js'
import type { ContextFilter, EventFilter } from '../params/studies.js'
import { first, type MarketBars, type PricedSource, type States } from '../source.js'
import { ColumnRoom } from '../threads.js'

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

/** What of one ticker is a signal, with the prices and bands it is numbered by. */
export interface TickerSignals {
  prices: MarketBars
  states: States
  signals: Signals
}

/**
 * The signals of each ticker, in the order asked. Throws NotFound, TierRestricted and Busy as the source does,
 * TierRestricted too where stability or flips are asked for and whoever has the events does not tell them.
 */
export async function* signalsOf(
  source: PricedSource,
  tickers: readonly string[],
  filter: EventFilter,
): AsyncGenerator<TickerSignals> {
  const { field, timeframe, when, lag } = filter
  const fields = when === undefined ? [field] : [field, when]
  let context: ContextBands | null = null
  for await (const { prices, states } of source.states({ tickers, fields, timeframe, lag })) {
    // Only now: what is wrong with the ticker itself is told first.
    context ??= filter.context && (await contextBandsOf(source, filter.context, timeframe))
    yield {
      prices,
      states: states[0]!,
      signals: signalsIn(prices, states[0]!, filter, context, states[1]?.codes ?? null),
    }
  }
}

/**
 * The events of one field that pass a filter.
 * @param context told by whoever asks; it must be there where the filter has one
 * @param truths of the filter's condition on each bar; null without one
 */
export function signalsIn(
  prices: MarketBars,
  states: States,
  filter: EventFilter,
  context: ContextBands | null = null,
  truths: Uint8Array | null = null,
): Signals {
  const { days } = prices.series
  const passes = passing(states, filter)
  const found: number[] = []
  const [first, last] = boundsOf(days, filter)
  for (let i = countBelow(states.bars, Math.max(first, states.from)); i < states.bars.length; i++) {
    if (states.bars[i]! >= Math.min(last, states.to)) break
    if (passes(i) && (truths === null || truths[states.bars[i]!] === TRUE)) found.push(i)
  }
  const signals = signalsAt(states, found, null)
  if (filter.context === null || context === null) return signals
  const { bands } = filter.context
  const contextBands = context(prices.series, signals.bars)
  return filterSignals({ ...signals, contextBands }, i => isChosen(contextBands[i]!, bands))
}

/** Whether a band of a context is one of those asked for; any is without a choice. */
export function isChosen(band: string | null, chosen: readonly string[] | null): boolean {
  return chosen === null || (band !== null && chosen.includes(band))
}

/** Some signals; the same where they are all. */
export function filterSignals(signals: Signals, keeps: (i: number) => boolean): Signals {
  const indices = [...signals.bars.keys()].filter(keeps)
  if (indices.length === signals.bars.length) return signals
  return signalsAt(signals, indices, signals.contextBands && indices.map(i => signals.contextBands![i]!))
}

/** Tells the band of a second ticker on each of some bars of another; null where it was in none yet. */
export type ContextBands = (series: Series, bars: ArrayLike<number>) => (string | null)[]

export async function contextBandsOf(...args: Parameters<typeof contextOn>): Promise<ContextBands> {
  const { bands, codesOn } = await contextOn(...args)
  return (...where) => Array.from(codesOn(...where), code => (code === UNDEFINED ? null : bands[code]!))
}

/** The same as codes, with the vocabulary that they are places of. */
export async function contextOn(
  source: PricedSource,
  { ticker, field, lag }: Pick<ContextFilter, 'ticker' | 'field' | 'lag'>,
  timeframe: EventFilter['timeframe'],
): Promise<{ bands: readonly string[]; codesOn: (series: Series, bars: ArrayLike<number>) => Uint8Array }> {
  const { prices, states: found } = await first(source.states({ tickers: [ticker], fields: [field], timeframe }))
  const states = found[0]!
  return {
    bands: states.bands,
    codesOn: (other, bars) => Uint8Array.from(bars, bar => bandEnteredBy(states, prices.series, other, bar, lag)),
  }
}

/** The bars that events are held against: those within the filter's dates and the range on which the field has a band. */
export function eligibleBars(
  prices: { series: Pick<Series, 'days'> },
  { codes, from, to }: Pick<States, 'codes' | 'from' | 'to'>,
  filter: Pick<EventFilter, 'after' | 'before'>,
): Int32Array {
  const [first, last] = boundsOf(prices.series.days, filter)
  const [begin, end] = [Math.max(first, from), Math.min(last, to)]
  const found = new Int32Array(Math.max(0, end - begin))
  let n = 0
  for (let t = begin; t < end; t++) if (codes[t] !== UNDEFINED) found[n++] = t
  return found.subarray(0, n)
}

/**
 * Code of the band that a ticker was in on a bar of another: the one entered by its most recent transition on or before the
 * bar's date (lag 0) or strictly before it (lag 1), of those whose bar is final by the day on which that bar is; UNDEFINED
 * before its first.
 *
 * @param series the ticker's own bars, by which `states` is numbered
 */
function bandEnteredBy(states: States, series: Series, other: Series, bar: number, lag: 0 | 1): number {
  const day = other.days[bar]! - lag
  if (states.upTo !== undefined && day > states.upTo) return UNDEFINED
  const events = countBelow(states.bars, barsCountingOn(series, other, bar, lag))
  if (events > 0) return states.entered[events - 1]!
  const { earlier } = states
  const isKnown = earlier !== undefined && day >= earlier.since && other.known[bar]! >= earlier.known
  return isKnown ? earlier.band : UNDEFINED
}

/** First bar within the filter's dates, and the one after the last. */
function boundsOf(days: Int32Array, { after, before }: Pick<EventFilter, 'after' | 'before'>): [number, number] {
  return [
    after === null ? 0 : countUpTo(days, parseDay(after)!),
    before === null ? days.length : countBelow(days, parseDay(before)!),
  ]
}

/** Whether an event passes what is asked of itself; its context and its date apart. */
function passing(states: States, filter: EventFilter): (i: number) => boolean {
  const entered = allowedCodes(states.bands, filter.bands)
  const left = allowedCodes(states.bands, filter.prev_bands)
  const { stability, max_flips } = filter
  const stable = stability === null ? null : allowedCodes(STABILITIES, stability)
  return i => {
    if (entered[states.entered[i]!] === 0 || left[states.left[i]!] === 0) return false
    if (stable !== null && stable[requireKnown(states.stability[i]!, 'stability_at_entry')] === 0) return false
    return max_flips === null || requireKnown(states.flips[i]!, 'flips_recent_at_entry') <= max_flips
  }
}

/** 1 for the code of each allowed word; codes of all words without a choice. */
export function allowedCodes(words: readonly string[], chosen: readonly string[] | null): Uint8Array {
  return Uint8Array.from(words, word => Number(chosen === null || chosen.includes(word)))
}

/** The answers of a Free key are the only ones without it. */
function requireKnown(value: number, what: string): number {
  if (value === UNDEFINED) throw new TierRestricted(what, 'free', 'plus')
  return value
}

/** Some events of those in columns, by their places. */
function signalsAt(
  { bars, ...of }: Omit<Signals, 'contextBands'>,
  indices: readonly number[],
  contextBands: Signals['contextBands'],
): Signals {
  const bytes = (column: Uint8Array): Uint8Array => Uint8Array.from(indices, i => column[i]!)
  return {
    bars: Int32Array.from(indices, i => bars[i]!),
    entered: bytes(of.entered),
    left: bytes(of.left),
    stability: bytes(of.stability),
    flips: bytes(of.flips),
    contextBands,
  }
}

/**
 * Close-to-close return from each bar over the next `horizon` bars, C(t+h)/C(t) - 1, one a bar; NaN while the window has
 * not elapsed.
 *
 * A delisting that is known ends the windows that reach it: the return to the final price, then 0, that is
 * (1 + return to the last close) (1 + delisting return) - 1 (Shumway 1997; OpenSourceAP/CrossSection#49).
 */
export function forwardReturns(
  { series: { close }, delisting }: { series: Pick<Series, 'close'>; delisting: MarketBars['delisting'] },
  horizon: number,
): Float64Array {
  const returns = returnsOver(close, horizon)
  if (delisting === null) return returns
  for (let t = Math.max(0, close.length - horizon); t < close.length; t++) returns[t] = delisting.price / close[t]! - 1
  return returns
}

/** Of some bars, how many have no return over a horizon and why, and how many have one that ends in a delisting. */
interface LostWindows {
  /** The window's last bar is yet to come. */
  notElapsed: number
  /** The bars of the ticker end before the market's do, and what a share was worth in the end is not known. */
  delisted: number
  /** Not lost: they end with the final price of a delisting. */
  settled: number
}

/** @param asOf the market's day, against which bars that end early are told from the newest ones */
export function lostWindowsOf(
  { series, delisting }: { series: Pick<Series, 'days'>; delisting: MarketBars['delisting'] },
  horizon: number,
  bars: ArrayLike<number>,
  asOf: Day | null,
): LostWindows {
  const count = series.days.length
  let reaching = 0
  for (let i = 0; i < bars.length; i++) if (bars[i]! + horizon >= count) reaching++
  const lost: LostWindows = { notElapsed: 0, delisted: 0, settled: 0 }
  const last = series.days.at(-1)
  if (delisting !== null) lost.settled = reaching
  else if (last !== undefined && asOf !== null && asOf - last > LONGEST_PAUSE) lost.delisted = reaching
  else lost.notElapsed = reaching
  return lost
}

/**
 * Calendar days without a bar after which a ticker counts as no longer traded: longer than any closing of an exchange
 * since 1914, a weekly bar included.
 */
const LONGEST_PAUSE = 14

const EVERY_DAY = 365

/** Whether returns lack dividends; crypto pays none, and what trades at weekends is taken for crypto where nobody told. */
export function excludesDividends({
  adjustment,
  assetClass,
  barsAYear,
}: Pick<MarketBars, 'adjustment' | 'assetClass' | 'barsAYear'>): boolean {
  return adjustment === 'raw' && assetClass !== 'crypto' && !(assetClass === null && barsAYear === EVERY_DAY)
}

/**
 * Columns of a market that is looked at for long, in memory that threads share: copied, because a ticker's lie in one piece
 * with those that nobody needs. What many tickers have alike is kept once.
 */
export class MarketColumns {
  readonly #room = new ColumnRoom()
  readonly #shared = new SharedColumns()

  floats(column: Float64Array): Float64Array {
    return this.#room.put(column)
  }

  /** Days or bars, ascending. */
  ascending(column: Int32Array): Int32Array {
    const [first] = column
    if (first !== undefined && first >= 0 && isConsecutive(column)) return numbersBetween(first, first + column.length)
    return this.#shared.of(column, own => this.#room.put(own))
  }
}
