import { indicesIn } from '../../core/model/calendar.js'
import { type PackedPrices, packPrices, type Series } from '../../core/model/series.js'
import type { StudyQuery } from '../../core/params/studies.js'
import type { MarketBars, PricedSource, States, Step } from '../../core/source.js'
import {
  allowedCodes,
  contextBandsOf,
  eligibleBars,
  filterSignals,
  isChosen,
  MarketColumns,
  type Signals,
  signalsOf,
} from './signals.js'

/** One ticker of a study, about ten bytes a bar: a market study stores nothing else. */
export interface Subject {
  ticker: string
  prices: StudyPrices
  states: Pick<States, 'bands'>
  /** The base bars. */
  eligible: Int32Array
  /** The events of the query. */
  signals: Signals
  /** The highest and the lowest price after each event, by horizon of the query and then by event. */
  extremes: PackedPrices
  /** Bars of the events that pass the other filters, by the code of the entered band. */
  byBand: readonly Int32Array[]
  /** Events that enter a chosen band, regardless of the context's band. The same as `signals` without a context. */
  anyContext: Signals
  /** 1 on each bar where the context ticker was in a chosen band; null without such a choice. */
  inContext: Uint8Array | null
}

export interface StudyPrices extends Omit<MarketBars, 'series'> {
  series: Pick<Series, 'timeframe' | 'days' | 'close'>
}

/** The subjects of a study, ascending by ticker, each once, so that the order of the query does not matter. */
export async function subjectsOf(
  source: PricedSource,
  { tickers, filter, horizons }: Pick<StudyQuery, 'tickers' | 'filter' | 'horizons'>,
  step: Step,
): Promise<Subject[]> {
  const subjects: Subject[] = []
  const columns = new MarketColumns()
  const names = [...new Set(tickers)].sort()
  const { context, bands } = filter
  const contextBandsOn = context?.bands == null ? null : await contextBandsOf(source, context, filter.timeframe)
  // All bands are read, because results also show the other bands of the field, and the events in other contexts.
  const anyBandFilter = { ...filter, bands: null, context: context && { ...context, bands: null } }
  for await (const { prices, states, signals: allEvents } of signalsOf(source, names, anyBandFilter, {
    copiesBars: true,
  })) {
    const { ticker, series } = prices
    step(() => `read  ${ticker}  ${subjects.length + 1}/${names.length}`)
    const isChosenCode = allowedCodes(states.bands, bands)
    const isChosenContext = (band: string | null): boolean => isChosen(band, context?.bands ?? null)
    const enteringChosen = (events: Signals): Signals =>
      filterSignals(events, i => isChosenCode[events.entered[i]!] === 1)
    // The events of all bands in a chosen context, and of these the events of the query.
    const contextSignals = filterSignals(allEvents, i => isChosenContext(allEvents.contextBands?.[i] ?? null))
    const signals = enteringChosen(contextSignals)
    const sharedSignals = packSignals(signals, columns)
    const { timeframe, days, close } = series
    const contextByBar = contextBandsOn === null ? null : contextBandsOn(series, [...days.keys()])
    subjects.push({
      ticker,
      prices: { ...prices, series: { timeframe, days: columns.ascending(days), close: columns.copy(close) } },
      states: { bands: states.bands },
      eligible: columns.ascending(eligibleBars(prices, states, filter)),
      signals: sharedSignals,
      extremes: packExtremes(prices, signals.bars, horizons, columns),
      byBand: barsByCode(contextSignals, states.bands.length).map(bars => columns.copy(bars)),
      anyContext: contextSignals === allEvents ? sharedSignals : packSignals(enteringChosen(allEvents), columns),
      inContext: contextByBar && Uint8Array.from(contextByBar, band => Number(isChosenContext(band))),
    })
  }
  return subjects
}

/** The bars of the signals, in a list for each code of the entered band. */
function barsByCode({ bars, entered }: Signals, codes: number): Int32Array[] {
  const groups = Array.from({ length: codes }, (): number[] => [])
  for (let i = 0; i < bars.length; i++) groups[entered[i]!]!.push(bars[i]!)
  return groups.map(group => new Int32Array(group))
}

/** Copies the columns into memory that all tickers share: many small arrays would take more than their values. */
function packSignals(signals: Signals, columns: MarketColumns): Signals {
  const { bars, entered, left, stability, flips } = signals
  return {
    bars: columns.copy(bars),
    entered: columns.copy(entered),
    left: columns.copy(left),
    stability: columns.copy(stability),
    flips: columns.copy(flips),
    contextBands: signals.contextBands,
  }
}

/** The highest, then the lowest price after each bar; all bars of the first horizon, then those of the next. */
function packExtremes(
  prices: MarketBars,
  bars: Int32Array,
  horizons: readonly number[],
  columns: MarketColumns,
): PackedPrices {
  const extremes = new Float64Array(2 * horizons.length * bars.length)
  let at = 0
  for (const horizon of horizons) {
    for (const bar of bars) {
      const { highest, lowest } = extremesWithin(prices, bar, horizon)
      extremes[at++] = highest
      extremes[at++] = lowest
    }
  }
  const { numerators, denominator } = packPrices(extremes)
  return { numerators: columns.copy(numerators), denominator }
}

/**
 * The greatest gain after an event, highest price / close - 1 (`mfe`, at least 0). The greatest loss is the same of the
 * lowest price (`mae`).
 * @param event index of the event in `signals`
 * @param horizonIndex index of the horizon in the query's list
 */
export function extremesAfter({ prices, signals, extremes }: Subject, event: number, horizonIndex: number) {
  const highest = 2 * (horizonIndex * signals.bars.length + event)
  const close = prices.series.close[signals.bars[event]!]!
  const moveTo = (numerator: number): number => numerator / extremes.denominator / close - 1
  return { mfe: moveTo(extremes.numerators[highest]!), mae: moveTo(extremes.numerators[highest + 1]!) }
}

/**
 * The highest and the lowest price from the close of `bar` over the next `horizon` bars, or up to the last bar. The
 * final price counts, too, where a delisting cuts the bars short.
 */
function extremesWithin({ series, delisting }: MarketBars, bar: number, horizon: number) {
  const { close, high, low } = series
  const last = bar + horizon
  let highest = close[bar]!
  let lowest = close[bar]!
  for (let t = bar + 1; t <= last && t < close.length; t++) {
    if (high[t]! > highest) highest = high[t]!
    if (low[t]! < lowest) lowest = low[t]!
  }
  if (last >= close.length && delisting !== null) {
    highest = Math.max(highest, delisting.price)
    lowest = Math.min(lowest, delisting.price)
  }
  return { highest, lowest }
}

/** The positions of one ticker's events. */
interface Holder {
  /** Days and closes of all bars of the ticker. */
  days: Int32Array
  close: Float64Array
  /** Bars of the events. Each is held from its close to the close `horizon` bars later. */
  events: ArrayLike<number>
  /** Mean return of any bar of the ticker, subtracted for the excess; null: no excess is needed. */
  base: number | null
  /** Calendar index of each bar, where already known. */
  indices?: Int32Array
}

/** Mean return of all open positions, by day of a calendar (Jaffe 1974; Fama 1998). */
export interface CalendarTime {
  /** Number of open positions; 0 on days without any, whose returns are 0. */
  open: Float64Array
  /** Sum of their returns, and sum of their excess over their tickers' base; 0 without a base. */
  sum: Float64Array
  excess: Float64Array
}

/** The open positions and their returns on each day of a calendar. @param calendar union of the days of all holders */
export function calendarTime(calendar: Int32Array, holders: readonly Holder[], horizon: number): CalendarTime {
  const portfolio = {
    open: new Float64Array(calendar.length),
    sum: new Float64Array(calendar.length),
    excess: new Float64Array(calendar.length),
  }
  // By bar of one holder. Each holder leaves only zeros behind.
  const positionChanges = new Int32Array(holders.reduce((most, { days }) => Math.max(most, days.length), 0))
  const indicesOfDays = new Map<Int32Array, Int32Array>()
  for (const holder of holders) {
    const { days, close, events, base } = holder
    const indices = holder.indices ?? indicesOfDays.get(days) ?? indicesIn(calendar, days)
    indicesOfDays.set(days, indices)
    addPositionChanges(positionChanges, events, horizon, days.length)
    let positions = 0
    // From the first event to the end of the last window: a short part of a long series.
    const end = Math.min(days.length, (events[events.length - 1] ?? 0) + horizon + 2)
    for (let bar = (events[0] ?? 0) + 1; bar < end; bar++) {
      positions += positionChanges[bar]!
      positionChanges[bar] = 0
      if (positions === 0) continue
      const barReturn = close[bar]! / close[bar - 1]! - 1
      const day = indices[bar]!
      portfolio.open[day]! += positions
      portfolio.sum[day]! += positions * barReturn
      if (base !== null) portfolio.excess[day]! += positions * (barReturn - base)
    }
  }
  return portfolio
}

/** Daily return of the portfolio that holds every event for the horizon, in equal parts; cash earns nothing. */
export function dailyReturns({ open, sum }: CalendarTime): Float64Array {
  return sum.map((total, day) => (open[day] === 0 ? 0 : total / open[day]!))
}

/** Adds, for each bar, the change in the number of positions held over it, compared with the bar before. */
function addPositionChanges(changes: Int32Array, events: ArrayLike<number>, horizon: number, bars: number): void {
  for (let i = 0; i < events.length; i++) {
    const firstHeld = events[i]! + 1
    if (firstHeld < bars) changes[firstHeld]! += 1
    if (firstHeld + horizon < bars) changes[firstHeld + horizon]! -= 1
  }
}
