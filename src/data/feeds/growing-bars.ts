import { type Day, weekdayOf } from '../../core/model/day.js'
import type { Series } from '../../core/model/series.js'
import type { Spill } from './spill.js'

export interface Bar {
  day: Day
  /** Time of day, if the row has one: distinguishes bars of minutes from a repeated date. */
  seconds: number
  /** Whether that time is UTC, and the day a UTC day. */
  inUtc: boolean
  open: number
  high: number
  low: number
  close: number
  volume: number
  /** The close before it was adjusted; NaN where nothing is adjusted. */
  unadjusted: number
}

/** The stored bar of a day: its row and time of day, and whether all its values equal those of a new bar. */
interface EarlierBar {
  row: number
  seconds: number
  isSame: boolean
}

export type Order = 'ascending' | 'descending' | 'unsorted'

/** Bars as columns, in the order of the file: the day, row and time of day of each, its prices and volume. */
type Columns = [
  ...[days: Int32Array, rows: Int32Array, seconds: Int32Array],
  ...[open: Float64Array, high: Float64Array, low: Float64Array, close: Float64Array, volume: Float64Array],
  unadjusted: Float64Array,
]

interface SpilledPiece {
  offset: number
  count: number
  /** The earliest and latest of its days, in any order of rows. */
  earliestDay: Day
  latestDay: Day
}

/** The growing bars of one ticker, in the order of the file; bars beyond the memory limit are stored elsewhere. */
export class GrowingBars {
  readonly ticker: string
  count = 0
  hasVolume = false
  readonly #spill: Spill
  readonly #spilledPieces: SpilledPiece[] = []
  /** The bars in memory, with spare capacity, and their number. */
  #columns: Columns | null = null
  #countInMemory = 0
  #isAdjusted = false
  #earliestDay: Day = Number.POSITIVE_INFINITY
  #latestDay: Day = Number.NEGATIVE_INFINITY
  /** Which days are there; only from the first row on that does not continue the order. */
  #days: DaySet | null = null
  #ascending = true
  #descending = true
  /** How many bars are dated by a time in UTC from 10:00 on, by weekday: shows days that begin the evening before. */
  readonly #utcAfternoonsByWeekday = [0, 0, 0, 0, 0, 0, 0]

  constructor(ticker: string, spill: Spill) {
    this.ticker = ticker
    this.#spill = spill
  }

  /** The approximate number of bytes that the bars take in memory. */
  get bytes(): number {
    return this.#columns === null ? 0 : OVERHEAD_BYTES + this.#columns[0].length * BYTES_PER_BAR
  }

  get isInMemory(): boolean {
    return this.#spilledPieces.length === 0
  }

  /** Adds the bar of a row (its line or ordinal) and returns null. If its day has a bar, returns that one instead. */
  add(bar: Bar, row: number): EarlierBar | null {
    const { day } = bar
    const isAfterAll = day > this.#latestDay
    const isBeforeAll = day < this.#earliestDay
    if (!isAfterAll && !isBeforeAll) {
      // Only bars out of order need the set of all days so far.
      this.#days ??= new DaySet(this.#allColumns()[0])
      if (this.#days.has(day)) return this.#earlierBar(bar)
    }
    this.#ascending &&= isAfterAll
    this.#descending &&= isBeforeAll
    if (isAfterAll) this.#latestDay = day
    if (isBeforeAll) this.#earliestDay = day
    this.#days?.add(day)
    // For `areDatedDayBefore`.
    if (bar.inUtc && bar.seconds >= TEN_O_CLOCK_UTC) this.#utcAfternoonsByWeekday[weekdayOf(day)]!++
    this.#append(bar, row)
    return null
  }

  /**
   * Whether the bars are dated a day early: days of Asia, which begin in the afternoon of the day before in UTC. Such
   * bars have Sundays, and hardly a Friday or a Saturday.
   */
  get areDatedDayBefore(): boolean {
    const [friday, saturday, sunday] = this.#utcAfternoonsByWeekday.slice(4) as [number, number, number]
    const count = this.#utcAfternoonsByWeekday.reduce((sum, bars) => sum + bars, 0)
    return count >= 5 && 5 * Math.max(friday, saturday) < sunday
  }

  get order(): Order {
    if (this.#ascending) return 'ascending'
    return this.#descending ? 'descending' : 'unsorted'
  }

  /** Moves the bars in memory to the temporary file. */
  spill(): void {
    if (this.#columns === null) return
    const columns = sliceColumns(this.#columns, this.#countInMemory)
    const [days] = columns
    const earliestDay = days.reduce((a, b) => Math.min(a, b))
    const latestDay = days.reduce((a, b) => Math.max(a, b))
    const offset = this.#spill.append(columns)
    this.#spilledPieces.push({ offset, count: this.#countInMemory, earliestDay, latestDay })
    this.#columns = null
    this.#countInMemory = 0
  }

  /** The bars in order of their dates, each value divided by `divisor` except volume, and the row of each. */
  sorted(divisor: number): { bars: Series; rows: Int32Array } {
    const [days, rows, , open, high, low, close, volume, unadjusted] = this.#copyColumnsByDay()
    if (divisor !== 1)
      for (const column of [open, high, low, close, unadjusted])
        for (let i = 0; i < column.length; i++) column[i] = column[i]! / divisor
    // A daily bar is known on its own day.
    const bars: Series = { timeframe: 'daily', days, known: days, open, high, low, close, volume }
    if (this.#isAdjusted) bars.unadjustedClose = unadjusted
    return { bars, rows }
  }

  /** All columns in the order of their days; a copy, because columns in memory keep growing. */
  #copyColumnsByDay(): Columns {
    const columns = this.#allColumns()
    const indexes = this.#indexesByDay(columns[0])
    if (indexes === null && !this.isInMemory) return columns
    const copies = newColumns(this.count)
    if (indexes === null) {
      copyColumns(columns, copies, 0)
      return copies
    }
    for (const [c, copy] of copies.entries()) {
      const column = columns[c]!
      for (let i = 0; i < copy.length; i++) copy[i] = column[indexes[i]!]!
    }
    return copies
  }

  /** The indexes of the bars in the order of their days; null when the bars are in that order already. */
  #indexesByDay(days: Int32Array): Int32Array | null {
    if (this.#ascending) return null
    const indexes = Int32Array.from({ length: this.count }, (_, i) => i)
    if (this.#descending) return indexes.reverse()
    return indexes.sort((a, b) => days[a]! - days[b]!)
  }

  /** The stored bar of the same day as a new bar, compared with that. Throws RangeError if there is none. */
  #earlierBar({ day, seconds, open, high, low, close, volume, unadjusted }: Bar): EarlierBar {
    const [, storedRows, storedSeconds, ...storedValues] = this.#storedBar(day)
    const values = [open, high, low, close, volume, unadjusted]
    const hasSameValues = storedValues.every(([value], i) => Object.is(value, values[i]))
    return { row: storedRows[0]!, seconds: storedSeconds[0]!, isSame: storedSeconds[0] === seconds && hasSameValues }
  }

  /** Columns with the one stored bar of a day. Bars in the temporary file stay there: files may repeat many days. */
  #storedBar(day: Day): Columns {
    if (this.#columns !== null) {
      const index = this.#columns[0].subarray(0, this.#countInMemory).indexOf(day)
      if (index >= 0) return sliceColumns(this.#columns, index + 1, index)
    }
    for (const piece of this.#spilledPieces) {
      const index = day < piece.earliestDay || day > piece.latestDay ? -1 : this.#spilledDays(piece).indexOf(day)
      if (index >= 0) return this.#spilledBar(piece, index)
    }
    throw new RangeError(`there is no bar of the day ${day}`)
  }

  #spilledDays({ offset, count }: SpilledPiece): Int32Array {
    const days = new Int32Array(count)
    this.#spill.readInto(offset, [days])
    return days
  }

  /** The bar at an index of a piece of the temporary file, whose columns follow each other there. */
  #spilledBar({ offset, count }: SpilledPiece, index: number): Columns {
    const bar = newColumns(1)
    let columnOffset = offset
    for (const column of bar) {
      this.#spill.readInto(columnOffset + index * column.BYTES_PER_ELEMENT, [column])
      columnOffset += count * column.BYTES_PER_ELEMENT
    }
    return bar
  }

  /** The columns of all bars, also those in the temporary file, without spare capacity. */
  #allColumns(): Columns {
    const inMemory = sliceColumns(this.#columns ?? newColumns(0), this.#countInMemory)
    if (this.isInMemory) return inMemory
    const all = newColumns(this.count)
    let from = 0
    for (const { offset, count } of this.#spilledPieces) {
      this.#spill.readInto(offset, sliceColumns(all, from + count, from))
      from += count
    }
    copyColumns(inMemory, all, from)
    return all
  }

  /** Writes a bar behind those in memory; columns that are full are replaced by twice as long ones. */
  #append(bar: Bar, row: number): void {
    const index = this.#countInMemory++
    this.count++
    this.#columns ??= newColumns(INITIAL_CAPACITY)
    if (index === this.#columns[0].length) {
      const larger = newColumns(index * 2)
      copyColumns(this.#columns, larger, 0)
      this.#columns = larger
    }
    const [days, rows, seconds, open, high, low, close, volume, unadjusted] = this.#columns
    days[index] = bar.day
    rows[index] = row
    seconds[index] = bar.seconds
    open[index] = bar.open
    high[index] = bar.high
    low[index] = bar.low
    close[index] = bar.close
    volume[index] = bar.volume
    unadjusted[index] = bar.unadjusted
    if (!Number.isNaN(bar.unadjusted)) this.#isAdjusted = true
    if (!Number.isNaN(bar.volume)) this.hasVolume = true
  }
}

const INITIAL_CAPACITY = 32
/** Bytes of a bar, and of columns, even with few bars. */
const BYTES_PER_BAR = 3 * 4 + 6 * 8
const OVERHEAD_BYTES = 1_500
/** 10:00 UTC in seconds: midnight of the next day, where clocks are furthest ahead. */
const TEN_O_CLOCK_UTC = 10 * 3600

/**
 * Columns of zeros in one buffer, because allocating nine takes longer than filling them. The six columns of 8-byte
 * numbers come first, then the three of 4-byte integers.
 */
function newColumns(capacity: number): Columns {
  const memory = new ArrayBuffer(BYTES_PER_BAR * capacity)
  const numbers = (column: number) => new Float64Array(memory, 8 * capacity * column, capacity)
  const integers = (column: number) => new Int32Array(memory, (6 * 8 + 4 * column) * capacity, capacity)
  const [days, rows, seconds] = [integers(0), integers(1), integers(2)]
  return [days, rows, seconds, numbers(0), numbers(1), numbers(2), numbers(3), numbers(4), numbers(5)]
}

/** Views on the bars from `from` up to `to`. */
function sliceColumns(columns: Columns, to: number, from = 0): Columns {
  return columns.map(column => column.subarray(from, to)) as Columns
}

function copyColumns(from: Columns, to: Columns, at: number): void {
  for (const [i, column] of from.entries()) to[i]!.set(column, at)
}

/** A set of days, as bits: it takes little memory even for the bars of a whole market. */
class DaySet {
  /** A bit for each of 32 days, by the day divided by 32. */
  readonly #bitsByBlock = new Map<number, number>()

  constructor(days: Int32Array) {
    for (const day of days) this.add(day)
  }

  has(day: Day): boolean {
    return ((this.#bitsByBlock.get(day >> 5) ?? 0) & (1 << (day & 31))) !== 0
  }

  add(day: Day): void {
    this.#bitsByBlock.set(day >> 5, (this.#bitsByBlock.get(day >> 5) ?? 0) | (1 << (day & 31)))
  }
}
