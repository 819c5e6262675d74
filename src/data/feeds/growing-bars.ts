import { type Day, weekdayOf } from '../../core/model/day.js'
import type { Series } from '../../core/model/series.js'
import type { Column, Spill } from './spill.js'

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

/** An earlier bar of the same day: its row and time of day, and whether it is the same to that. */
interface Earlier {
  row: number
  seconds: number
  same: boolean
}

export type Order = 'ascending' | 'descending' | 'unsorted'

/** Bars as columns, in the order of the file: the day, row and time of day of each, its prices and volume. */
type Columns = [
  ...[days: Int32Array, rows: Int32Array, seconds: Int32Array],
  ...[open: Float64Array, high: Float64Array, low: Float64Array, close: Float64Array, volume: Float64Array],
  /** The close before it was adjusted. */
  unadjusted: Float64Array,
]

interface Piece {
  at: number
  count: number
  /** The earliest and latest of its days, in any order of rows. */
  least: Day
  most: Day
}

/** The growing bars of one ticker, in the order of the file; bars beyond the memory limit are stored elsewhere. */
export class GrowingBars {
  readonly ticker: string
  count = 0
  hasVolume = false
  readonly #spill: Spill
  readonly #waiting: Piece[] = []
  /** The bars in memory, with spare capacity, and their number. */
  #columns: Columns | null = null
  #held = 0
  #isAdjusted = false
  #least: Day = Number.POSITIVE_INFINITY
  #most: Day = Number.NEGATIVE_INFINITY
  /** Which days are there; only from the first row on that does not continue the order. */
  #days: DaySet | null = null
  #ascending = true
  #descending = true
  /** How many bars are dated by a time in UTC from 10:00 on, by weekday. */
  readonly #afternoons = [0, 0, 0, 0, 0, 0, 0]

  constructor(ticker: string, spill: Spill) {
    this.ticker = ticker
    this.#spill = spill
  }

  /** How much memory they take, about. */
  get bytes(): number {
    return this.#columns === null ? 0 : OVERHEAD + this.#columns[0].length * BYTES
  }

  /** Whether all of them are in memory. */
  get isHeld(): boolean {
    return this.#waiting.length === 0
  }

  /** Adds the bar of a row (its line or ordinal); when its day is there already, gives back that bar instead. */
  add(bar: Bar, row: number): Earlier | null {
    const { day } = bar
    const later = day > this.#most
    const earlier = day < this.#least
    if (!later && !earlier) {
      this.#days ??= new DaySet(this.#gathered()[0])
      if (this.#days.has(day)) return this.#earlier(bar)
    }
    this.#ascending &&= later
    this.#descending &&= earlier
    if (later) this.#most = day
    if (earlier) this.#least = day
    this.#days?.add(day)
    if (bar.inUtc && bar.seconds >= AFTERNOON) this.#afternoons[weekdayOf(day)]!++
    this.#append(bar, row)
    return null
  }

  /**
   * Whether these are Asian days with UTC dates, which begin in the afternoon of the day before. Then there are
   * Sundays, and hardly a Friday or a Saturday.
   */
  get areDayBefore(): boolean {
    const [friday, saturday, sunday] = this.#afternoons.slice(4) as [number, number, number]
    const count = this.#afternoons.reduce((sum, bars) => sum + bars, 0)
    return count >= 5 && 5 * Math.max(friday, saturday) < sunday
  }

  get order(): Order {
    return this.#ascending ? 'ascending' : this.#descending ? 'descending' : 'unsorted'
  }

  letGo(): void {
    if (this.#columns === null) return
    const columns = cut(this.#columns, this.#held)
    const [days] = columns
    const least = days.reduce((a, b) => Math.min(a, b))
    const most = days.reduce((a, b) => Math.max(a, b))
    this.#waiting.push({ at: this.#spill.put(columns), count: this.#held, least, most })
    this.#columns = null
    this.#held = 0
  }

  /** The bars in order of their dates, each value divided by `divisor` except volume, and the row of each. */
  sorted(divisor: number): { bars: Series; rows: Int32Array } {
    const gathered = this.#gathered()
    const order = this.#sortedPlaces(gathered[0])
    // Columns in memory keep growing, so the result must be a copy.
    const pick = (column: Column): Column =>
      order === null ? (this.isHeld ? column.slice() : column) : column.map((_, i) => column[order[i]!]!)
    const [days, rows, , open, high, low, close, volume, unadjusted] = gathered.map(pick) as Columns
    if (divisor !== 1)
      for (const column of [open, high, low, close, unadjusted])
        for (let i = 0; i < column.length; i++) column[i] = column[i]! / divisor
    const bars: Series = { timeframe: 'daily', days, known: days, open, high, low, close, volume }
    if (this.#isAdjusted) bars.unadjustedClose = unadjusted
    return { bars, rows }
  }

  /** The places in order of their dates; null when they are in order. */
  #sortedPlaces(days: Int32Array): Int32Array | null {
    if (this.#ascending) return null
    const places = Int32Array.from({ length: this.count }, (_, i) => i)
    if (this.#descending) return places.reverse()
    return places.sort((a, b) => days[a]! - days[b]!)
  }

  /** The bar that is there of a day, as one of a row. */
  #earlier({ day, seconds, open, high, low, close, volume, unadjusted }: Bar): Earlier {
    const [, [row], ...found] = this.#barOf(day)
    const values = [seconds, open, high, low, close, volume, unadjusted]
    return { row: row!, seconds: found[0][0]!, same: found.every(([value], i) => Object.is(value, values[i])) }
  }

  /** Columns with the one stored bar of a day. Bars in the temporary file stay there: a file may repeat many days. */
  #barOf(day: Day): Columns {
    if (this.#columns !== null) {
      const place = this.#columns[0].subarray(0, this.#held).indexOf(day)
      if (place >= 0) return cut(this.#columns, place + 1, place)
    }
    for (const piece of this.#waiting) {
      const place = day < piece.least || day > piece.most ? -1 : this.#daysOf(piece).indexOf(day)
      if (place >= 0) return this.#waitingBar(piece, place)
    }
    throw new RangeError(`there is no bar of the day ${day}`)
  }

  #daysOf({ at, count }: Piece): Int32Array {
    const days = new Int32Array(count)
    this.#spill.take(at, [days])
    return days
  }

  #waitingBar({ at, count }: Piece, place: number): Columns {
    const bar = columnsOf(1)
    let from = at
    for (const column of bar) {
      this.#spill.take(from + place * column.BYTES_PER_ELEMENT, [column])
      from += count * column.BYTES_PER_ELEMENT
    }
    return bar
  }

  /** All of them, without room for more. */
  #gathered(): Columns {
    const held = cut(this.#columns ?? columnsOf(0), this.#held)
    if (this.isHeld) return held
    const all = columnsOf(this.count)
    let from = 0
    for (const { at, count } of this.#waiting) {
      this.#spill.take(at, cut(all, from + count, from))
      from += count
    }
    copy(held, all, from)
    return all
  }

  #append(bar: Bar, row: number): void {
    const place = this.#held++
    this.count++
    this.#columns ??= columnsOf(START)
    if (place === this.#columns[0].length) {
      const larger = columnsOf(place * 2)
      copy(this.#columns, larger, 0)
      this.#columns = larger
    }
    const [days, rows, seconds, open, high, low, close, volume, unadjusted] = this.#columns
    days[place] = bar.day
    rows[place] = row
    seconds[place] = bar.seconds
    open[place] = bar.open
    high[place] = bar.high
    low[place] = bar.low
    close[place] = bar.close
    volume[place] = bar.volume
    unadjusted[place] = bar.unadjusted
    if (!Number.isNaN(bar.unadjusted)) this.#isAdjusted = true
    if (!Number.isNaN(bar.volume)) this.hasVolume = true
  }
}

const START = 32
/** Bytes of a bar, and of columns, even with few bars. */
const BYTES = 3 * 4 + 6 * 8
const OVERHEAD = 1_500
/** Where clocks are furthest ahead, midnight is 10:00 UTC of the day before. */
const AFTERNOON = 10 * 3600

function columnsOf(room: number): Columns {
  const whole = Array.from({ length: 3 }, () => new Int32Array(room))
  return [...whole, ...Array.from({ length: 6 }, () => new Float64Array(room))] as Columns
}

/** Views on the bars from `from` up to `to`. */
function cut(columns: Columns, to: number, from = 0): Columns {
  return columns.map(column => column.subarray(from, to)) as Columns
}

function copy(from: Columns, to: Columns, at: number): void {
  for (const [i, column] of from.entries()) to[i]!.set(column, at)
}

/** Days as bits, which take little room even for the bars of a whole market in any order. */
class DaySet {
  /** Of 32 days each. */
  readonly #words = new Map<number, number>()

  constructor(days: Int32Array) {
    for (const day of days) this.add(day)
  }

  has(day: Day): boolean {
    return ((this.#words.get(day >> 5) ?? 0) & (1 << (day & 31))) !== 0
  }

  add(day: Day): void {
    this.#words.set(day >> 5, (this.#words.get(day >> 5) ?? 0) | (1 << (day & 31)))
  }
}
