import { countUpTo, type Day, isWeekend } from './day.js'
import type { Timeframe } from './terms.js'

/** One ticker's price bars at one timeframe, as columns of equal length, dates ascending. */
export interface Series {
  timeframe: Timeframe
  /** Date of each bar; for a weekly bar the date of its last session. */
  days: Int32Array
  /**
   * The first day on which each bar is final. Daily: the bar's own date. Weekly: the date of the last session when that
   * closes the week, otherwise the day after the week's last trading day.
   */
  known: Int32Array
  open: Float64Array
  high: Float64Array
  low: Float64Array
  close: Float64Array
  /** Shares or units; NaN where unknown. */
  volume: Float64Array
  /**
   * The close without adjustment for dividends, NaN on bars where unknown. Absent where `close` itself is unadjusted,
   * or where it is unknown on all bars.
   */
  unadjustedClose?: Float64Array
}

/** Memory for one series after another: each overwrites the one before, which must not be used any more. */
export class SeriesMemory {
  #buffer = new ArrayBuffer()

  /** At least `bytes` bytes, with arbitrary content. */
  take(bytes: number): ArrayBuffer {
    // Twice the bytes, so that a somewhat longer series needs no new memory.
    if (this.#buffer.byteLength < bytes) this.#buffer = new ArrayBuffer(2 * bytes)
    return this.#buffer
  }
}

/** A series of `length` bars, for the caller to fill: all zero in new memory, arbitrary in reused memory. */
export function emptySeries(timeframe: Timeframe, length: number, reusedMemory?: SeriesMemory): Series {
  // One buffer, because allocating and collecting seven takes longer than filling them. A bar takes five numbers of 8
  // bytes and two days of 4 bytes; the columns of numbers come first.
  const bytes = 5 * 8 * length + 2 * 4 * length
  const memory = reusedMemory?.take(bytes) ?? new ArrayBuffer(bytes)
  const numbers = (column: number) => new Float64Array(memory, 8 * length * column, length)
  const days = (column: number) => new Int32Array(memory, 5 * 8 * length + 4 * length * column, length)
  return {
    timeframe,
    days: days(0),
    known: days(1),
    open: numbers(0),
    high: numbers(1),
    low: numbers(2),
    close: numbers(3),
    volume: numbers(4),
  }
}

/** The traded close, apart from splits: earnings a share are compared with it. */
export function tradedClose(series: Pick<Series, 'close' | 'unadjustedClose'>): Float64Array {
  return series.unadjustedClose ?? series.close
}

/** Whether prices are as traded (apart from splits) or adjusted for dividends, too. It applies to a whole series. */
export type Adjustment = 'raw' | 'adjusted'

export type AssetClass = 'stock' | 'crypto' | 'etf'

/** Number of bars of the series that are final on a day. */
export function barsKnownBy(series: Pick<Series, 'known'>, day: Day): number {
  return countUpTo(series.known, day)
}

type Dates = Pick<Series, 'days' | 'known'>

/**
 * Number of bars of a series that count on bar `t` of another: they are dated not after it, and final by the day on
 * which it is.
 * @param lag least number of days between the dates
 */
export function barsCountingOn(series: Dates, other: Dates, t: number, lag = 0): number {
  const { days, known } = series
  return countUpTo(known, other.known[t]!, 0, countUpTo(days, other.days[t]! - lag))
}

/** The first `count` bars, as views on the same columns. */
export function firstBars(series: Series, count: number): Series {
  return sliceBars(series, 0, count)
}

/** The bars from `from` up to, but not including, `to`, as views on the same columns. */
export function sliceBars({ timeframe, unadjustedClose, ...columns }: Series, from: number, to?: number): Series {
  return {
    timeframe,
    days: columns.days.subarray(from, to),
    known: columns.known.subarray(from, to),
    open: columns.open.subarray(from, to),
    high: columns.high.subarray(from, to),
    low: columns.low.subarray(from, to),
    close: columns.close.subarray(from, to),
    volume: columns.volume.subarray(from, to),
    ...(unadjustedClose === undefined ? {} : { unadjustedClose: unadjustedClose.subarray(from, to) }),
  }
}

/** 0, 1, 2, … up to the greatest requested number, in shared memory: a whole market has ten thousands of such lists. */
let numbers: Int32Array = new Int32Array(0)

/** The numbers from `from` up to, but not including, `to`, as a read-only view on a shared column. */
export function numbersBetween(from: number, to: number): Int32Array {
  if (to > numbers.length) {
    numbers = new Int32Array(new SharedArrayBuffer(2 * to * numbers.BYTES_PER_ELEMENT))
    for (let i = 0; i < numbers.length; i++) numbers[i] = i
  }
  return numbers.subarray(from, Math.max(from, to))
}

export const BAR_FIGURES = ['open', 'high', 'low', 'close', 'volume'] as const

/** Prices and volume of one bar, as in JSON. */
export interface Bar {
  open: number
  high: number
  low: number
  close: number
  /** null where unknown */
  volume: number | null
}

export function barOf({ open, high, low, close, volume }: Series, t: number): Bar {
  const traded = volume[t]!
  return {
    open: open[t]!,
    high: high[t]!,
    low: low[t]!,
    close: close[t]!,
    volume: Number.isNaN(traded) ? null : traded,
  }
}

/** The code of no band; a band's code is its index in the field's vocabulary. */
export const UNDEFINED = 255

/** The changes of one field's band; columns with one row an event, oldest first. */
export interface Transitions {
  /** The first bar with a band, and that band: the state before any event. -1 and UNDEFINED without one. */
  initialBar: number
  initialBand: number
  /** Bar on which a band was entered. */
  bars: Int32Array
  /** Code of the band entered. */
  bands: Uint8Array
  /** Runs of bars without a band after the first band, in order: the first bar of each, and the one after its last. */
  gaps: Int32Array
}

/** The band of each of the first `bars` bars, restored from its transitions; UNDEFINED without one. */
export function bandsByBar(
  { initialBar, initialBand, bars: entered, bands, gaps }: Transitions,
  bars: number,
): Uint8Array {
  const codes = new Uint8Array(bars).fill(UNDEFINED)
  if (initialBar < 0) return codes
  codes.fill(initialBand, initialBar)
  for (let i = 0; i < entered.length; i++) codes.fill(bands[i]!, entered[i]!, entered[i + 1])
  for (let g = 0; g < gaps.length; g += 2) codes.fill(UNDEFINED, gaps[g]!, gaps[g + 1]!)
  return codes
}

/** Data of each event that were known when it happened. */
export interface Entries {
  /** Events on the last bars of the lookback, the entry itself included. */
  flips: Uint8Array
  /** Index into STABILITIES. */
  stability: Uint8Array
}

/** Everything recorded about one field of one ticker at one timeframe. */
export interface FieldRecord extends Transitions, Entries {}

/** The end of such a record. */
export interface FieldTail extends FieldRecord {
  /** Number of events before these. */
  earlier: number
}

/**
 * Records of some fields of one series in shared columns, field after field. A whole market has ten thousands of
 * records, and an object for each costs more than its data.
 */
export interface FieldColumns extends Entries {
  names: readonly string[]
  /** By field, as in a record. */
  initialBar: Int32Array
  initialBand: Uint8Array
  gaps: readonly Int32Array[]
  /** The events of field `f` are the rows of the columns below from `first[f]` up to and without `first[f + 1]`. */
  first: Int32Array
  bars: Int32Array
  bands: Uint8Array
}

/** The record of the field `name`, as views on the shared columns; null for an unknown name. */
export function recordIn(columns: FieldColumns, name: string): FieldRecord | null {
  const f = columns.names.indexOf(name)
  if (f === -1) return null
  const from = columns.first[f]
  const to = columns.first[f + 1]
  return {
    initialBar: columns.initialBar[f]!,
    initialBand: columns.initialBand[f]!,
    bars: columns.bars.subarray(from, to),
    bands: columns.bands.subarray(from, to),
    gaps: columns.gaps[f]!,
    flips: columns.flips.subarray(from, to),
    stability: columns.stability.subarray(from, to),
  }
}

export function recordsIn(columns: FieldColumns): Map<string, FieldRecord> {
  return new Map(columns.names.map(name => [name, recordIn(columns, name)!]))
}

/** Copies the records of fields, by name, into shared columns. */
export function columnsOf(records: ReadonlyMap<string, FieldRecord>): FieldColumns {
  const recordList = [...records.values()]
  const first = new Int32Array(recordList.length + 1)
  for (const [f, { bars }] of recordList.entries()) first[f + 1] = first[f]! + bars.length
  const events = first[recordList.length]!
  const columns = {
    bars: new Int32Array(events),
    bands: new Uint8Array(events),
    flips: new Uint8Array(events),
    stability: new Uint8Array(events),
  }
  for (const [f, record] of recordList.entries())
    for (const name of ['bars', 'bands', 'flips', 'stability'] as const) columns[name].set(record[name], first[f])
  return {
    names: [...records.keys()],
    initialBar: Int32Array.from(recordList, ({ initialBar }) => initialBar),
    initialBand: Uint8Array.from(recordList, ({ initialBand }) => initialBand),
    gaps: recordList.map(({ gaps }) => gaps),
    first,
    ...columns,
  }
}

/** Outcomes after each bar: one pair of columns for every window of the timeframe, as long as the series. */
export interface Outcomes {
  /** The closes; `returnOver` computes a return from them on demand. */
  close: Float64Array
  /** 2 · less + equal of that return among those that had ended by the bar; -1 without a return, or with too few. */
  ranks: Int32Array[]
}

/** Close-to-close return from a bar over a window that has ended, as a fraction. */
export function returnOver(close: Float64Array, t: number, window: number): number {
  return close[t + window]! / close[t]! - 1
}

/** Each bar's return over the next `window` bars; NaN where the series ends before. @param returns is filled */
export function forwardReturns(
  close: Float64Array,
  window: number,
  returns: Float64Array = new Float64Array(close.length),
): Float64Array {
  const elapsed = Math.max(0, close.length - window)
  for (let t = 0; t < elapsed; t++) returns[t] = returnOver(close, t, window)
  returns.fill(Number.NaN, elapsed)
  return returns
}

/**
 * Prices of a ticker in half the memory, where all have few decimals: price = numerator / denominator. Others stay as
 * they are, over a denominator of 1. No digit is lost.
 */
export interface PackedPrices {
  numerators: Int32Array | Float64Array
  denominator: number
}

/** Two decimals are usual; prices of small companies and adjusted ones have up to four. */
const DENOMINATORS = [100, 10_000]

/** Packs prices over the first denominator that changes none of them. */
export function packPrices(prices: Float64Array): PackedPrices {
  const numerators = new Int32Array(prices.length)
  for (const denominator of DENOMINATORS)
    if (setNumerators(numerators, prices, denominator)) return { numerators, denominator }
  return { numerators: prices, denominator: 1 }
}

/** Sets each numerator to its price · `denominator`, rounded. Returns false at once if one does not give its price. */
function setNumerators(numerators: Int32Array, prices: Float64Array, denominator: number): boolean {
  for (let i = 0; i < prices.length; i++) {
    numerators[i] = Math.round(prices[i]! * denominator)
    // Also where the numerator is too large for its column.
    if (numerators[i]! / denominator !== prices[i]!) return false
  }
  return true
}

/** Close-to-close return from a bar over a window that has ended, as `returnOver`, to the same digit. */
export function packedReturnOver({ numerators, denominator }: PackedPrices, t: number, window: number): number {
  return numerators[t + window]! / denominator / (numerators[t]! / denominator) - 1
}

/** Everything derived from one series: outcomes after its bars, and each field's events. */
export interface SeriesRecord {
  series: Series
  outcomes: Outcomes
  fields: ReadonlyMap<string, FieldRecord>
}

/** The end of the data derived from a series; columns by bar only contain what new bars have changed. */
export interface SeriesTail {
  series: Series
  outcomes: Pick<Outcomes, 'ranks'>
  /** The ends of records, and some complete ones. */
  fields: ReadonlyMap<string, FieldRecord | FieldTail>
}

/** How settled the previous band of an event was, as known at the event. */
export const STABILITIES = ['fresh', 'holding', 'established', 'volatile'] as const
export type Stability = (typeof STABILITIES)[number]

/** How a return ranks in the ticker's own past, from worst to best. */
export const PERFORMANCES = [
  'sharp_decline',
  'moderate_decline',
  'slight_decline',
  'flat',
  'slight_gain',
  'moderate_gain',
  'sharp_gain',
] as const
export type Performance = (typeof PERFORMANCES)[number]

/** Usual and unusual steps from one daily bar to the next, for every check of neighbouring bars. */

/** The longest closure that holidays explain. */
const USUAL_CLOSURE = 5

/** A close this far from the previous one is a split, an error, or a rare day. */
const JUMP = 0.3

/** Whether a close is more than JUMP above or below the one before, as a fraction. */
export function isJump(before: number, after: number): boolean {
  return Math.abs(after / before - 1) > JUMP
}

/** Describes a jump from one close to the next; null where there is none. */
export function jumpBetween(before: number, after: number): string | null {
  if (!isJump(before, after)) return null
  const move = after / before - 1
  return `close ${move > 0 ? '+' : '-'}${(Math.abs(move) * 100).toFixed(0)} % from the bar before`
}

/** Describes a gap of more than `maxDays` days between the dates of two bars; null where there is none. */
export function gapBetween(before: Day, after: Day, maxDays: number): string | null {
  return after - before > maxDays ? `${after - before} days after the bar before` : null
}

/** Remarks on a ticker's bars. */
export interface BarMarks {
  /** Two consecutive bars with more days between them than holidays explain. */
  gaps: readonly (readonly [after: Day, before: Day])[]
  /** Days of the bars that open or close outside their high and low. */
  outside: readonly Day[]
}

/**
 * Finds the gaps between bars, and the bars that open or close outside their high and low. A store keeps them: after a
 * change of these rules it must be migrated.
 */
export function marksOf({ days, open, high, low, close }: Series): BarMarks {
  const gaps: [Day, Day][] = []
  const outside: Day[] = []
  for (let t = 0; t < days.length; t++) {
    if (t > 0 && days[t]! - days[t - 1]! > USUAL_CLOSURE) gaps.push([days[t - 1]!, days[t]!])
    const isAboveHigh = Math.max(open[t]!, close[t]!) > high[t]! * (1 + ROUNDING)
    const isBelowLow = Math.min(open[t]!, close[t]!) < low[t]! * (1 - ROUNDING)
    if (isAboveHigh || isBelowLow) outside.push(days[t]!)
  }
  return { gaps, outside }
}

/** A price up to this share of itself above the high, or below the low, is only rounded. */
const ROUNDING = 0.001

/** The median number of days from one bar to the next; 1 for fewer than 11 bars. */
export function middleSpacing(days: Int32Array): number {
  if (days.length < 11) return 1
  // Nearly all are small: counting each is much faster than sorting.
  const counts = new Int32Array(SPACINGS)
  // How many spacings are still to pass, from the smallest on, before the median.
  let spacingsBelowMedian = (days.length - 1) >> 1
  for (let i = 1; i < days.length; i++) counts[Math.min(days[i]! - days[i - 1]!, SPACINGS - 1)]!++
  for (let spacing = 0; spacing < SPACINGS - 1; spacing++) {
    spacingsBelowMedian -= counts[spacing]!
    if (spacingsBelowMedian < 0) return spacing
  }
  const spacings = days.subarray(1).map((day, i) => day - days[i]!)
  return spacings.sort()[spacings.length >> 1]!
}

/** Spacings from here on are counted together; where the median is one of them, all are sorted. */
const SPACINGS = 64

/** Most daily bars are at most this number of days apart. */
export const DAILY = 4

/**
 * The longest usual number of days between two bars; where there are more, bars are missing. Infinite for bars that are
 * not daily; 1 for a ticker that trades at weekends, which has no holidays.
 */
export function usualGap(days: Int32Array, spacing = middleSpacing(days)): number {
  if (spacing > DAILY) return Number.POSITIVE_INFINITY
  let weekends = 0
  for (const day of days) if (isWeekend(day)) weekends++
  return weekends > days.length / 7 ? 1 : USUAL_CLOSURE
}
