import { countUpTo, type Day, isWeekend } from './day.js'
import type { Timeframe } from './terms.js'

/** One ticker's price bars at one timeframe, as columns of equal length, dates ascending. */
export interface Series {
  timeframe: Timeframe
  /** Date of each bar; of a weekly bar the date of its last session. */
  days: Int32Array
  /**
   * The first day on which each bar is final. Daily: the bar's own date. Weekly: the date of the last session when that
   * closes the week, otherwise the day after the week's last trading day, when nothing can be added any more.
   */
  known: Int32Array
  open: Float64Array
  high: Float64Array
  low: Float64Array
  close: Float64Array
  /** Shares or units; NaN where unknown. */
  volume: Float64Array
  /**
   * The close before it was adjusted for dividends, NaN on bars whose source did not tell it; absent where the close
   * itself is that, or nothing else is known of any bar.
   */
  unadjustedClose?: Float64Array
}

/** A series of so many bars, to be filled. */
export function emptySeries(timeframe: Timeframe, length: number): Series {
  // One piece of memory: to ask for seven, and have them collected, takes longer than to fill them.
  const memory = new ArrayBuffer(5 * 8 * length + 2 * 4 * length)
  const numbers = (column: number) => new Float64Array(memory, 8 * length * column, length)
  const days = (column: number) => new Int32Array(memory, 5 * 8 * length + 4 * length * column, length)
  return {
    ...{ timeframe, days: days(0), known: days(1) },
    ...{ open: numbers(0), high: numbers(1), low: numbers(2), close: numbers(3), volume: numbers(4) },
  }
}

/** The close that was paid, apart from splits: what earnings a share are compared with. */
export function tradedClose(series: Pick<Series, 'close' | 'unadjustedClose'>): Float64Array {
  return series.unadjustedClose ?? series.close
}

/** Whether prices are as traded (apart from splits) or adjusted for dividends too. Belongs to a whole series. */
export type Adjustment = 'raw' | 'adjusted'

export type AssetClass = 'stock' | 'crypto' | 'etf'

/** How many bars of the series are final on a day. */
export function barsKnownBy(series: Pick<Series, 'known'>, day: Day): number {
  return countUpTo(series.known, day)
}

type Dates = Pick<Series, 'days' | 'known'>

/**
 * How many bars of a series count on bar `t` of another: those dated not after it, and final by the day on which it is.
 * @param lag days by which they must be dated before it
 */
export function barsCountingOn(series: Dates, other: Dates, t: number, lag = 0): number {
  const { days, known } = series
  return countUpTo(known, other.known[t]!, 0, countUpTo(days, other.days[t]! - lag))
}

/** The first `count` bars, as views on the same columns. */
export function head(series: Series, count: number): Series {
  return part(series, 0, count)
}

/** The bars from `from` on, up to `to`, as views on the same columns. */
export function part({ timeframe, unadjustedClose, ...columns }: Series, from: number, to?: number): Series {
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

/** 0, 1, 2, … as far as they were asked for, where threads reach them. Nobody changes them. */
let numbers: Int32Array = new Int32Array(0)

/** Of bars or events in a row, as a view on what all share: of a whole market there are ten thousands of such lists. */
export function numbersBetween(from: number, to: number): Int32Array {
  if (to > numbers.length) {
    numbers = new Int32Array(new SharedArrayBuffer(2 * to * numbers.BYTES_PER_ELEMENT))
    for (let i = 0; i < numbers.length; i++) numbers[i] = i
  }
  return numbers.subarray(from, Math.max(from, to))
}

/** The columns of prices and volume. */
export const BAR_FIGURES = ['open', 'high', 'low', 'close', 'volume'] as const

/** Prices and volume of one bar as JSON has them. */
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

/** The code of no band; a band's code is its place in the field's vocabulary. */
export const UNDEFINED = 255

/** Where the band of one field changes; columns of one row an event, oldest first. */
export interface Transitions {
  /** The first defined bar and its band: the state before any event. -1 and UNDEFINED when no bar is defined. */
  initialBar: number
  initialBand: number
  /** Bar on which a band was entered. */
  bars: Int32Array
  /** Code of the band entered. */
  bands: Uint8Array
  /** Runs of bars without a band after the first defined one, in their order: of each the first bar, and the one after its last. */
  gaps: Int32Array
}

/** The band of each of the first `bars` bars, which its transitions were made of: UNDEFINED where it has none. */
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

/** What was known of each event when it happened. */
export interface Entries {
  /** Events on the last bars of the lookback, the entry's own included. */
  flips: Uint8Array
  /** Index into STABILITIES. */
  stability: Uint8Array
}

/** Everything recorded about one field of one ticker at one timeframe. */
export interface FieldRecord extends Transitions, Entries {}

/** The end of such a record. */
export interface FieldTail extends FieldRecord {
  /** How many events come before these. */
  earlier: number
}

/**
 * Records of some fields of one series in columns that they share, field after field: of a whole market there are ten
 * thousands of records, and each would cost more than what is in it.
 */
export interface FieldColumns extends Entries {
  names: readonly string[]
  /** By field, as a record has them. */
  initialBar: Int32Array
  initialBand: Uint8Array
  gaps: readonly Int32Array[]
  /** The events of field `f` are the rows from `first[f]` up to and without `first[f + 1]` of the columns below. */
  first: Int32Array
  bars: Int32Array
  bands: Uint8Array
}

/** One of them by itself; null where there is none of that name. */
export function recordIn(columns: FieldColumns, name: string): FieldRecord | null {
  const f = columns.names.indexOf(name)
  if (f === -1) return null
  const [from, to] = [columns.first[f], columns.first[f + 1]]
  return {
    ...{ initialBar: columns.initialBar[f]!, initialBand: columns.initialBand[f]! },
    ...{ bars: columns.bars.subarray(from, to), bands: columns.bands.subarray(from, to), gaps: columns.gaps[f]! },
    ...{ flips: columns.flips.subarray(from, to), stability: columns.stability.subarray(from, to) },
  }
}

/** All of them, by name. */
export function recordsIn(columns: FieldColumns): Map<string, FieldRecord> {
  return new Map(columns.names.map(name => [name, recordIn(columns, name)!]))
}

/** Records in columns that they share. */
export function columnsOf(records: ReadonlyMap<string, FieldRecord>): FieldColumns {
  const all = [...records.values()]
  const first = new Int32Array(all.length + 1)
  for (const [f, { bars }] of all.entries()) first[f + 1] = first[f]! + bars.length
  const rows = first[all.length]!
  const columns = { bars: new Int32Array(rows), bands: bytes(rows), flips: bytes(rows), stability: bytes(rows) }
  for (const [f, record] of all.entries())
    for (const name of ['bars', 'bands', 'flips', 'stability'] as const) columns[name].set(record[name], first[f])
  return {
    names: [...records.keys()],
    initialBar: Int32Array.from(all, ({ initialBar }) => initialBar),
    initialBand: Uint8Array.from(all, ({ initialBand }) => initialBand),
    gaps: all.map(({ gaps }) => gaps),
    first,
    ...columns,
  }
}

function bytes(length: number): Uint8Array {
  return new Uint8Array(length)
}

/** What followed each bar, one pair of columns for every window of the timeframe, as long as the series. */
export interface Outcomes {
  /** The closes, of which the return over a window is made where it is asked for (returnOver). */
  close: Float64Array
  /** 2 · less + equal of that return among those that had ended by the bar; -1 where there is none to rank, or too few. */
  ranks: Int32Array[]
}

/** Close-to-close return from a bar over a window that has ended, as a fraction. */
export function returnOver(close: Float64Array, t: number, window: number): number {
  return close[t + window]! / close[t]! - 1
}

/** That of each bar; NaN while the last bar of its window does not exist. */
export function forwardReturns(close: Float64Array, window: number): Float64Array {
  const returns = new Float64Array(close.length)
  const elapsed = Math.max(0, close.length - window)
  for (let t = 0; t < elapsed; t++) returns[t] = returnOver(close, t, window)
  returns.fill(Number.NaN, elapsed)
  return returns
}

/** Everything derived from one series: what followed its bars, and each field's events. */
export interface SeriesRecord {
  series: Series
  outcomes: Outcomes
  fields: ReadonlyMap<string, FieldRecord>
}

/** The end of what is derived from a series: of the columns by bar only what a bar or those after it have changed. */
export interface SeriesTail {
  series: Series
  outcomes: Pick<Outcomes, 'ranks'>
  /** The ends of records, and some whole ones. */
  fields: ReadonlyMap<string, FieldRecord | FieldTail>
}

/** How settled the band was that an event leaves, as known at the event. */
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

/** From one daily bar to the next: what is usual, and what is worth a word wherever two bars come to stand side by side. */

/** The longest closure that holidays explain. */
const USUAL_CLOSURE = 5

/** A close this far from the one before is a split, a slip or a day to remember. */
const JUMP = 0.3

export function isJump(before: number, after: number): boolean {
  return Math.abs(after / before - 1) > JUMP
}

/** A word about the close after another; null where it is near enough. */
export function jumpBetween(before: number, after: number): string | null {
  if (!isJump(before, after)) return null
  const move = after / before - 1
  return `close ${move > 0 ? '+' : '-'}${(Math.abs(move) * 100).toFixed(0)} % from the bar before`
}

/** A word about the date after another; null where no more days than `most` lie between. */
export function gapBetween(before: Day, after: Day, most: number): string | null {
  return after - before > most ? `${after - before} days after the bar before` : null
}

/** What stays odd about a ticker's bars. */
export interface BarMarks {
  /** Two bars in a row, between which lie more days than holidays explain. */
  gaps: readonly (readonly [after: Day, before: Day])[]
  /** Days of the bars that open or close outside their high and low. */
  outside: readonly Day[]
}

/** Kept with the bars, so a store has to be brought up to date where a rule changes. */
export function marksOf(series: Series): BarMarks {
  const { days } = series
  const gaps: [Day, Day][] = []
  const outside: Day[] = []
  for (let t = 0; t < days.length; t++) {
    if (t > 0 && days[t]! - days[t - 1]! > USUAL_CLOSURE) gaps.push([days[t - 1]!, days[t]!])
    if (isOutside(series, t)) outside.push(days[t]!)
  }
  return { gaps, outside }
}

/** Beyond this share of the price it is no rounding. */
const ROUNDING = 0.001

function isOutside({ open, high, low, close }: Series, t: number): boolean {
  const most = Math.max(open[t]!, close[t]!)
  const least = Math.min(open[t]!, close[t]!)
  return most > high[t]! * (1 + ROUNDING) || least < low[t]! * (1 - ROUNDING)
}

/** The middle number of days from bar to bar; 1 when there are too few to tell. */
export function middleSpacing(days: Int32Array): number {
  if (days.length < 11) return 1
  // Nearly all are small: counted, which costs far less than sorting them.
  const counts = new Int32Array(SPACINGS)
  let left = (days.length - 1) >> 1
  for (let i = 1; i < days.length; i++) counts[Math.min(days[i]! - days[i - 1]!, SPACINGS - 1)]!++
  for (let spacing = 0; spacing < SPACINGS - 1; spacing++) {
    left -= counts[spacing]!
    if (left < 0) return spacing
  }
  const spacings = days.subarray(1).map((day, i) => day - days[i]!)
  return spacings.sort()[spacings.length >> 1]!
}

const SPACINGS = 64

/** Most bars of daily ones are at most this many days apart. */
export const DAILY = 4

/** From how many days on bars are missing; a ticker that trades at weekends knows no holiday. */
export function usualGap(days: Int32Array, spacing = middleSpacing(days)): number {
  if (spacing > DAILY) return Number.POSITIVE_INFINITY
  let weekends = 0
  for (const day of days) if (isWeekend(day)) weekends++
  return weekends > days.length / 7 ? 1 : USUAL_CLOSURE
}
