import { TierRestricted } from '../../core/errors.js'
import { TRUE } from '../../core/language/as-field.js'
import { isConsecutive, SharedColumns } from '../../core/model/calendar.js'
import { countBelow, countUpTo, type Day, parseDay } from '../../core/model/day.js'
import {
  barsCountingOn,
  numbersBetween,
  returnOver,
  forwardReturns as returnsOver,
  type Series,
  STABILITIES,
  UNDEFINED,
} from '../../core/model/series.js'
import type { ContextFilter, EventFilter } from '../../core/params/studies.js'
import { firstItem, type MarketBars, type PricedSource, type States, type StatesQuery } from '../../core/source.js'
import { type Column, ColumnMemory } from '../../data/threads.js'

/** The events of one ticker that pass a filter, as columns; oldest first. */
export interface Signals {
  /** Bar numbers of the events, as in the prices. */
  bars: Int32Array
  /** Codes of the band entered and of the band left: indices into `states.bands`. */
  entered: Uint8Array
  left: Uint8Array
  /** Index into STABILITIES, and the number of flips; 255 where unknown. */
  stability: Uint8Array
  flips: Uint8Array
  /** Band of the context ticker at each event, null before its first band; null without a context. */
  contextBands: (string | null)[] | null
}

/** The signals of one ticker. Their bars are indices of `prices`, their bands those of `states`. */
export interface TickerSignals {
  prices: MarketBars
  states: States
  signals: Signals
}

/**
 * The signals of each ticker, in the order of the query.
 * Throws NotFound, TierRestricted and Busy as the source does. Throws TierRestricted, too, where a filter needs
 * stability or flips and the tier hides them. @param options as in `StatesQuery`
 */
export async function* signalsOf(
  source: PricedSource,
  tickers: readonly string[],
  filter: EventFilter,
  { copiesBars = false }: Pick<StatesQuery, 'copiesBars'> = {},
): AsyncGenerator<TickerSignals> {
  const { field, timeframe, when, lag } = filter
  const fields = when === undefined ? [field] : [field, when]
  let context: ContextBands | null = null
  for await (const { prices, states } of source.states({ tickers, fields, timeframe, lag, copiesBars })) {
    // Read with the first ticker, so that an error of the ticker itself is reported first.
    if (context === null && filter.context !== null) context = await contextBandsOf(source, filter.context, timeframe)
    const [fieldStates, truths] = states
    yield { prices, states: fieldStates!, signals: signalsIn(prices, fieldStates!, filter, context, truths?.codes) }
  }
}

/**
 * The events of one field that pass a filter.
 * @param context bands of the filter's second ticker; null skips that part of the filter
 * @param truths by bar, TRUE where the filter's condition `when` holds; null without a condition
 */
export function signalsIn(
  prices: MarketBars,
  states: States,
  filter: EventFilter,
  context: ContextBands | null = null,
  truths: Uint8Array | null = null,
): Signals {
  const passes = eventPredicate(states, filter)
  const [firstBar, endBar] = allowedBars(prices, states, filter)
  const indices: number[] = []
  for (let i = countBelow(states.bars, firstBar); i < states.bars.length; i++) {
    const bar = states.bars[i]!
    if (bar >= endBar) break
    if (passes(i) && (truths === null || truths[bar] === TRUE)) indices.push(i)
  }
  const signals = signalsAt(states, indices, null)
  if (filter.context === null || context === null) return signals
  const { bands } = filter.context
  const contextBands = context(prices.series, signals.bars)
  return filterSignals({ ...signals, contextBands }, signal => isChosen(contextBands[signal]!, bands))
}

/** Whether a context's band is one of the chosen ones. Without a choice (null) every bar passes, even without band. */
export function isChosen(band: string | null, chosen: readonly string[] | null): boolean {
  return chosen === null || (band !== null && chosen.includes(band))
}

/** The signals that pass; the same object if all do. @param passes takes the index of a signal */
export function filterSignals(signals: Signals, passes: (i: number) => boolean): Signals {
  const { bars, contextBands } = signals
  const indices: number[] = []
  for (let i = 0; i < bars.length; i++) if (passes(i)) indices.push(i)
  if (indices.length === bars.length) return signals
  return signalsAt(signals, indices, contextBands === null ? null : indices.map(i => contextBands[i]!))
}

/** Returns the band of a second ticker on some bars of another ticker; null before its first band. */
export type ContextBands = (series: Series, bars: ArrayLike<number>) => (string | null)[]

/** `contextOn` with the names of the bands in place of their codes. */
export async function contextBandsOf(...args: Parameters<typeof contextOn>): Promise<ContextBands> {
  const { bands, codesOn } = await contextOn(...args)
  return (series, bars) => Array.from(codesOn(series, bars), code => (code === UNDEFINED ? null : bands[code]!))
}

/** The bands of a second ticker, and a function for their codes on some bars of another ticker (`bandEnteredBy`). */
export async function contextOn(
  source: PricedSource,
  { ticker, field, lag }: Pick<ContextFilter, 'ticker' | 'field' | 'lag'>,
  timeframe: EventFilter['timeframe'],
): Promise<{ bands: readonly string[]; codesOn: (series: Series, bars: ArrayLike<number>) => Uint8Array }> {
  const contextData = await firstItem(source.states({ tickers: [ticker], fields: [field], timeframe }))
  const states = contextData.states[0]!
  const { series } = contextData.prices
  return {
    bands: states.bands,
    codesOn: (other, bars) => Uint8Array.from(bars, bar => bandEnteredBy(states, series, other, bar, lag)),
  }
}

/** The base bars, ascending: the field has a band on each, and all lie within the filter's dates. */
export function eligibleBars(
  prices: { series: Pick<Series, 'days'> },
  states: Pick<States, 'codes' | 'from' | 'to'>,
  filter: Pick<EventFilter, 'after' | 'before'>,
): Int32Array {
  const [firstBar, endBar] = allowedBars(prices, states, filter)
  const bars = new Int32Array(Math.max(0, endBar - firstBar))
  let n = 0
  for (let bar = firstBar; bar < endBar; bar++) if (states.codes[bar] !== UNDEFINED) bars[n++] = bar
  return bars.subarray(0, n)
}

/**
 * Code of the band that a ticker was in on a bar of another ticker. It is the band entered by the latest transition on
 * or before the bar's date (lag 0), or strictly before it (lag 1). Its bar must be final when the other bar is final.
 * Before the first transition it is the band known from earlier data, if any. UNDEFINED without one, and after the last
 * day whose bands are known (`states.upTo`).
 * @param series the ticker's own bars; `states.bars` are indexes of them
 */
function bandEnteredBy(states: States, series: Series, other: Series, bar: number, lag: 0 | 1): number {
  const day = other.days[bar]! - lag
  if (states.upTo !== undefined && day > states.upTo) return UNDEFINED
  const transitions = countBelow(states.bars, barsCountingOn(series, other, bar, lag))
  if (transitions > 0) return states.entered[transitions - 1]!
  const { earlier } = states
  const isKnown = earlier !== undefined && day >= earlier.since && other.known[bar]! >= earlier.known
  return isKnown ? earlier.band : UNDEFINED
}

/** The bars within the filter's dates and the range of the states: from `firstBar` to before `endBar`, maybe none. */
function allowedBars(
  { series: { days } }: { series: Pick<Series, 'days'> },
  { from, to }: Pick<States, 'from' | 'to'>,
  { after, before }: Pick<EventFilter, 'after' | 'before'>,
): [firstBar: number, endBar: number] {
  const firstByDate = after === null ? 0 : countUpTo(days, parseDay(after)!)
  const endByDate = before === null ? days.length : countBelow(days, parseDay(before)!)
  return [Math.max(firstByDate, from), Math.min(endByDate, to)]
}

/** Returns a function of an event's index: whether the event passes the filter, apart from context and dates. */
function eventPredicate(states: States, filter: EventFilter): (i: number) => boolean {
  const { stability, max_flips } = filter
  const mayEnter = allowedCodes(states.bands, filter.bands)
  const mayLeave = allowedCodes(states.bands, filter.prev_bands)
  const mayBeStable = stability === null ? null : allowedCodes(STABILITIES, stability)
  return i => {
    if (mayEnter[states.entered[i]!] === 0 || mayLeave[states.left[i]!] === 0) return false
    if (mayBeStable !== null && mayBeStable[requireKnown(states.stability[i]!, 'stability_at_entry')] === 0)
      return false
    return max_flips === null || requireKnown(states.flips[i]!, 'flips_recent_at_entry') <= max_flips
  }
}

/** For each word: 1 if it is chosen, otherwise 0; all are 1 without a choice (null). */
export function allowedCodes(words: readonly string[], chosen: readonly string[] | null): Uint8Array {
  return Uint8Array.from(words, word => Number(chosen === null || chosen.includes(word)))
}

/** Returns a known value. Throws TierRestricted for UNDEFINED: only the answers to a Free key omit the value. */
function requireKnown(value: number, what: string): number {
  if (value === UNDEFINED) throw new TierRestricted(what, 'free', 'plus')
  return value
}

/** The columns of some events, selected by index. @param contextBands those of the selected events */
function signalsAt(
  { bars, ...codes }: Omit<Signals, 'contextBands'>,
  indices: readonly number[],
  contextBands: Signals['contextBands'],
): Signals {
  // Loops: `from` with a function takes ten times as long.
  const selectedBars = new Int32Array(indices.length)
  for (let i = 0; i < selectedBars.length; i++) selectedBars[i] = bars[indices[i]!]!
  const select = (column: Uint8Array): Uint8Array => {
    const selected = new Uint8Array(indices.length)
    for (let i = 0; i < selected.length; i++) selected[i] = column[indices[i]!]!
    return selected
  }
  return {
    bars: selectedBars,
    entered: select(codes.entered),
    left: select(codes.left),
    stability: select(codes.stability),
    flips: select(codes.flips),
    contextBands,
  }
}

/**
 * Close-to-close return from each bar over the next `horizon` bars, C(t+h)/C(t) - 1; NaN while the window has not
 * elapsed.
 *
 * A known delisting ends the windows that reach it: the return to the final price, then 0. That is (1 + return to the
 * last close) (1 + delisting return) - 1 (Shumway 1997; OpenSourceAP/CrossSection#49).
 */
export function forwardReturns(
  { series: { close }, delisting }: { series: Pick<Series, 'close'>; delisting: MarketBars['delisting'] },
  horizon: number,
  into?: Float64Array,
): Float64Array {
  const returns = returnsOver(close, horizon, into)
  if (delisting === null) return returns
  for (let t = Math.max(0, close.length - horizon); t < close.length; t++) returns[t] = delisting.price / close[t]! - 1
  return returns
}

/** Close-to-close return from one bar over the next `horizon` bars, with the rules of `forwardReturns`. */
export function returnAfter(
  { series: { close }, delisting }: { series: Pick<Series, 'close'>; delisting: MarketBars['delisting'] },
  bar: number,
  horizon: number,
): number {
  if (bar + horizon < close.length) return returnOver(close, bar, horizon)
  return delisting === null ? Number.NaN : delisting.price / close[bar]! - 1
}

/** How many windows reach beyond a ticker's last bar, and why. */
interface LostWindows {
  /** The window's last bar is in the future. */
  notElapsed: number
  /** The ticker's bars end before the market's, and the final value of a share is unknown. */
  delisted: number
  /** Not lost: these windows end with the final price of a delisting. */
  settled: number
}

/**
 * Counts the windows after some bars that reach beyond the ticker's last bar. Only the `settled` ones have a return, by
 * the final price of a delisting.
 * @param asOf the market's day
 */
export function lostWindowsOf(
  { series, delisting }: { series: Pick<Series, 'days'>; delisting: MarketBars['delisting'] },
  horizon: number,
  bars: ArrayLike<number>,
  asOf: Day | null,
): LostWindows {
  const count = series.days.length
  let beyondEnd = 0
  for (let i = 0; i < bars.length; i++) if (bars[i]! + horizon >= count) beyondEnd++
  const lost: LostWindows = { notElapsed: 0, delisted: 0, settled: 0 }
  const last = series.days.at(-1)
  if (delisting !== null) lost.settled = beyondEnd
  else if (last !== undefined && asOf !== null && asOf - last > LONGEST_PAUSE) lost.delisted = beyondEnd
  else lost.notElapsed = beyondEnd
  return lost
}

/** Calendar days without a bar that end the trading of a ticker: more than any closing of an exchange since 1914. */
const LONGEST_PAUSE = 14

const DAYS_A_YEAR = 365

/** Whether returns exclude dividends. Crypto pays none; an unknown class that trades at weekends counts as crypto. */
export function excludesDividends({
  adjustment,
  assetClass,
  barsAYear,
}: Pick<MarketBars, 'adjustment' | 'assetClass' | 'barsAYear'>): boolean {
  const isCrypto = assetClass === 'crypto' || (assetClass === null && barsAYear === DAYS_A_YEAR)
  return adjustment === 'raw' && !isCrypto
}

/**
 * Columns of a market that stay in memory for long, shared by threads. They are copied, because a ticker's columns are
 * views of a larger buffer. Equal columns of many tickers are stored once.
 */
export class MarketColumns {
  readonly #memory = new ColumnMemory()
  readonly #shared = new SharedColumns()

  /** Returns a copy in shared memory. */
  copy<Kind extends Column>(column: Kind): Kind {
    return this.#memory.put(column)
  }

  /** A copy of ascending days or bars. Columns of consecutive numbers, and equal columns, share memory. */
  ascending(column: Int32Array): Int32Array {
    const [first] = column
    if (first !== undefined && first >= 0 && isConsecutive(column)) return numbersBetween(first, first + column.length)
    return this.#shared.firstEqual(column, original => this.#memory.put(original))
  }
}
