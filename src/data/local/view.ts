import { outcomePercentile, performanceIndex } from '../../core/engine/outcomes.js'
import { remedy, sentence, type Words } from '../../core/errors.js'
import { TRUE } from '../../core/language/as-field.js'
import { countBelow, countUpTo, type Day, formatDay } from '../../core/model/day.js'
import type { EventHistory, HistoricEvent, HistoryQuery } from '../../core/model/event.js'
import { type FactSheets, type Facts, factsOf, type Security, securityOf } from '../../core/model/facts.js'
import { eventsOf, NOT_ENDED, type WindowOutcomes } from '../../core/model/history.js'
import {
  bandsByBar,
  barsCountingOn,
  type FieldRecord,
  numbersBetween,
  PERFORMANCES,
  returnOver,
  UNDEFINED,
} from '../../core/model/series.js'
import { TIMEFRAMES, type Timeframe, windowNames } from '../../core/model/terms.js'
import type { Recorded, RecordedSeries } from '../store/store.js'

/**
 * One field's record as of a day. Everything is recorded point in time, so counts select the data known then: the first
 * `bars` bars were final, and the first `events` events had happened. Later ones are never read.
 */
export interface View {
  ticker: string
  /** Another after each import that changes the ticker. */
  importedAt: string
  timeframe: Timeframe
  bands: readonly string[]
  /** Final bars, and the date of each of them. */
  bars: number
  days: Int32Array
  /** The first day on which each bar is final. */
  known: Int32Array
  events: number
  record: FieldRecord | null
  /** null: not requested */
  outcomes: RecordedSeries['outcomes']
}

type RecordedParts = Pick<Recorded, 'entry' | 'calendar' | 'field'> & Pick<View, 'outcomes'>

/**
 * A field's record as of a day.
 * @param bars the number of bars that were final on the day: a finished week counts, even if the ticker stopped within
 * it
 */
export function viewOf(
  { entry: { ticker, importedAt }, calendar: { days, known }, outcomes, field: record }: RecordedParts,
  timeframe: Timeframe,
  bands: readonly string[],
  bars: number,
): View {
  const events = record === null ? 0 : countBelow(record.bars, bars)
  return { ticker, importedAt, timeframe, bands, bars, days, known, events, record, outcomes }
}

/** The number of the view's events on or before a day. */
export function eventsUpTo(view: View, day: Day): number {
  const { record, days, events } = view
  return record === null ? 0 : countBelow(record.bars, countUpTo(days, day), events)
}

/** The band that a second ticker entered last, as known on bar `t` of another; null before its first event. */
export function bandEnteredBy(context: View, other: Pick<View, 'days' | 'known'>, t: number): string | null {
  const { record, events, bands } = context
  const eventCount = record === null ? 0 : countBelow(record.bars, barsCountingOn(context, other, t), events)
  return eventCount === 0 ? null : bands[record!.bands[eventCount - 1]!]!
}

interface BandPeriod {
  band: string
  /** Its first bar. */
  since: number
  /** Whether it is the first period, which no event entered. */
  initial: boolean
}

/** The period that event `i` ends. */
export function periodBefore({ record, bands }: View, i: number): BandPeriod {
  const initial = i === 0
  const code = initial ? record!.initialBand : record!.bands[i - 1]!
  return { band: bands[code]!, since: initial ? record!.initialBar : record!.bars[i - 1]!, initial }
}

/** The period in force on bar `t`; null before the first defined bar. */
export function periodAt(view: View, t: number): BandPeriod | null {
  const { record, events } = view
  if (record === null || record.initialBar < 0 || record.initialBar > t) return null
  return periodBefore(view, countUpTo(record.bars, t, 0, events))
}

/** The band in force at the end of the view; null before the first defined bar. */
export function lastBand(view: View): string | null {
  return periodAt(view, view.bars - 1)?.band ?? null
}

/**
 * Events of the view as the specification spells them, with all figures, oldest first.
 * @param indexes by number (default: all)
 */
export function historicEvents(view: View, indexes: Int32Array = eventIndexes(view)): HistoricEvent[] {
  return eventsOf({ ...eventColumnsOf(view, indexes), contexts: null, outcomes: outcomesAfter(view, indexes) })
}

/** The numbers of the view's events, from `from` on. */
export function eventIndexes({ events }: View, from = 0): Int32Array {
  return numbersBetween(from, events)
}

/** Columns of the events `indexes`. @param showsStability whether the tier shows stability and flips */
export function eventColumnsOf(view: View, indexes: Int32Array, showsStability = true) {
  const { timeframe, record, days, bands, events } = view
  const rows = indexes.length
  // One buffer for all: a whole market has tens of thousands of columns, each costing more than its content. Per row it
  // has 12 bytes: two integers of four bytes, and four codes of one.
  const buffer = new ArrayBuffer(12 * rows)
  const byteColumn = (column: number): Uint8Array => new Uint8Array(buffer, (8 + column) * rows, rows)
  const columns = {
    timeframe,
    bands,
    days: new Int32Array(buffer, 0, rows),
    entered: byteColumn(0),
    left: byteColumn(1),
    stability: byteColumn(2),
    flips: byteColumn(3),
    lasted: new Int32Array(buffer, 4 * rows, rows),
  }
  if (record === null) return columns
  const { bars, bands: entered, stability, flips } = record
  // A loop, because `Int32Array.from` takes ten times as long, which is most of a question about a whole market.
  for (let row = 0; row < rows; row++) {
    const i = indexes[row]!
    const bar = bars[i]!
    columns.days[row] = days[bar]!
    columns.entered[row] = entered[i]!
    columns.left[row] = i === 0 ? record.initialBand : entered[i - 1]!
    columns.stability[row] = showsStability ? stability[i]! : UNDEFINED
    columns.flips[row] = showsStability ? flips[i]! : UNDEFINED
    columns.lasted[row] = i + 1 < events ? bars[i + 1]! - bar : NOT_ENDED
  }
  return columns
}

/** The outcomes after some events in each window, as known at the end of the view, with unrounded figures. */
export function outcomesAfter(view: View, indexes: Int32Array): UnroundedOutcomes[] {
  const bars = indexes.map(i => view.record!.bars[i]!)
  return outcomesAfterBars(view, bars)
}

/** The outcomes after some bars in each window, as known at the end of the view, with unrounded figures. */
export function outcomesAfterBars(view: View, bars: Int32Array): UnroundedOutcomes[] {
  return windowNames(view.timeframe).map((_, w) => outcomesAt(view, w, bars))
}

/** The outcomes after some events in each window, without unrounded figures. */
export function performancesAfter(view: View, indexes: Int32Array): WindowOutcomes[] {
  const bars = indexes.map(i => view.record!.bars[i]!)
  return windowNames(view.timeframe).map((_, w) => ({ ...performancesAt(view, w, bars), unrounded: null }))
}

type UnroundedOutcomes = WindowOutcomes & { unrounded: NonNullable<WindowOutcomes['unrounded']> }

/** The outcomes after some bars over one window: whether it has ended, the performance band, return and percentile. */
function outcomesAt(view: View, windowIndex: number, barIndexes: Int32Array): UnroundedOutcomes {
  const window = TIMEFRAMES[view.timeframe].windows[windowIndex]!
  const { close, ranks } = view.outcomes!
  const performanceColumns = performancesAt(view, windowIndex, barIndexes)
  let returns: Float64Array | undefined
  let percentiles: Float64Array | undefined
  // Made on demand: callers that count outcomes need neither.
  const unrounded = {
    get returns(): Float64Array {
      if (returns !== undefined) return returns
      returns = new Float64Array(barIndexes.length)
      for (let row = 0; row < barIndexes.length; row++)
        returns[row] = performanceColumns.ended[row] === 1 ? returnOver(close, barIndexes[row]!, window) : Number.NaN
      return returns
    },
    get percentiles(): Float64Array {
      if (percentiles !== undefined) return percentiles
      percentiles = new Float64Array(barIndexes.length)
      for (let row = 0; row < barIndexes.length; row++) {
        const bar = barIndexes[row]!
        const isRanked = performanceColumns.performances[row] !== UNDEFINED
        percentiles[row] = isRanked ? outcomePercentile(ranks[windowIndex]![bar]!, bar, window) : Number.NaN
      }
      return percentiles
    },
  }
  return { ...performanceColumns, unrounded }
}

/** For each of some bars, whether one window after it has ended (1 or 0), and the performance band of its return. */
function performancesAt({ timeframe, bars, outcomes }: View, windowIndex: number, barIndexes: Int32Array) {
  // One buffer for both columns: a whole market has hundreds of thousands of them.
  const buffer = new Uint8Array(2 * barIndexes.length)
  const window = TIMEFRAMES[timeframe].windows[windowIndex]!
  const ranks = outcomes!.ranks[windowIndex]!
  const ended = buffer.subarray(0, barIndexes.length)
  const performances = buffer.subarray(barIndexes.length).fill(UNDEFINED)
  for (let row = 0; row < barIndexes.length; row++) {
    const bar = barIndexes[row]!
    if (bar + window >= bars) continue
    ended[row] = 1
    const rank = ranks[bar]!
    if (rank >= 0) performances[row] = performanceIndex(rank, bar, window)
  }
  return { ended, performances }
}

/** The number of bars with each performance band over one window, which has ended for each of them. */
export function performanceCounts(
  { timeframe, outcomes }: View,
  windowIndex: number,
  barIndexes: Int32Array,
): number[] {
  const window = TIMEFRAMES[timeframe].windows[windowIndex]!
  const counts = PERFORMANCES.map(() => 0)
  const ranks = outcomes!.ranks[windowIndex]!
  for (let i = 0; i < barIndexes.length; i++) {
    // The rank of the bar's return among the earlier ones over the window; negative if those are too few.
    const rank = ranks[barIndexes[i]!]!
    if (rank >= 0) counts[performanceIndex(rank, barIndexes[i]!, window)]!++
  }
  return counts
}

/** The band in force at the end of the view, or null. Its day of entry is reported only within the tier's range. */
export function presentBand(view: View, rangeStart: Day): EventHistory['present'] {
  const last = view.bars - 1
  const period = periodAt(view, last)
  if (period === null) return null
  const { band, since, initial } = period
  const day = view.days[since]!
  return day > rangeStart
    ? { band, since: formatDay(day), bars: last - since, initial }
    : { band, since: null, bars: null, initial }
}

/** Further views that a query tests at an event. */
export interface ExtraViews {
  context: View | null
  when: View | null
}

export const NO_EXTRA_VIEWS: ExtraViews = { context: null, when: null }

/**
 * Numbers of the matching events, oldest first. `rangeStart` and the query's `after` and `before` are not included.
 * @param rangeStart the tier's range: events lie after this day
 * @param extraViews the views of the second ticker and of the condition, if the query has them
 */
export function matchingEvents(
  view: View,
  query: HistoryQuery,
  rangeStart: Day,
  { context, when }: ExtraViews,
): Int32Array {
  const { record } = view
  if (record === null) return new Int32Array()
  const from = eventsUpTo(view, Math.max(rangeStart, query.after ?? rangeStart))
  const to = query.before === undefined ? view.events : eventsUpTo(view, query.before - 1)
  const bands = query.bands?.map(band => view.bands.indexOf(band)) ?? null
  const contextBand = query.context?.band ?? null
  const truths = when === null ? null : bandsByBar(when.record!, when.bars)
  if (bands === null && contextBand === null && truths === null) return numbersBetween(from, to)
  const matching: number[] = []
  for (let i = from; i < to; i++) {
    if (bands !== null && !bands.includes(record.bands[i]!)) continue
    if (truths !== null && truths[record.bars[i]!] !== TRUE) continue
    if (contextBand !== null && bandEnteredBy(context!, view, record.bars[i]!) !== contextBand) continue
    matching.push(i)
  }
  return Int32Array.from(matching)
}

/** The numbers of the bars between the query's dates, which are excluded. @param rangeStart bars lie after this day */
export function barsBetween({ days, bars }: View, { after, before }: HistoryQuery, rangeStart: Day): Int32Array {
  const from = countUpTo(days, Math.max(rangeStart, after ?? rangeStart))
  return numbersBetween(from, Math.min(bars, before === undefined ? bars : countBelow(days, before)))
}

/**
 * The facts that fields may use, which are those of stocks: null without facts, and for crypto and funds, whose loaded
 * facts are ignored. A ticker without an asset class counts as a stock when it has facts.
 */
export function usableFacts(sheets: FactSheets): Facts | null {
  if (!mayBeStock(securityOf(sheets))) return null
  const facts = factsOf(sheets)
  return Object.values(facts).some(records => records.length > 0) ? facts : null
}

/** Why no fundamental field can have data for a ticker. */
export function missingFactsReason(field: string, ticker: string, sheets: FactSheets): Words {
  const assetClass = securityOf(sheets)?.asset_class ?? 'stock'
  if (assetClass !== 'stock') return `${field} is a field of stocks, and ${ticker} is of class ${assetClass}`
  const reason = `${field} uses dated facts, and none are loaded for ${ticker}`
  return sentence`${reason}; ${remedy('import', ['FILE'])} loads them`
}

/** Whether a security is a stock, or of unknown class. */
function mayBeStock(security: Security | null): boolean {
  return security?.asset_class == null || security.asset_class === 'stock'
}

/** The key of a stock's sector, regardless of case and outer blanks; null if it is unknown, or for crypto and funds. */
export function sectorKey(security: Security | null | undefined): string | null {
  if (security?.sector == null || !mayBeStock(security)) return null
  return security.sector.trim().toLowerCase()
}
