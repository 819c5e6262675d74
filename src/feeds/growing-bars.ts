import { type Day, weekdayOf } from '../model/day.js'
import type { Series } from '../model/series.js'
import type { Spill } from './spill.js'

/** A row of daily bars. */
export interface Bar {
  day: Day
  /** Time of day, where the row has one: tells bars of minutes from a date given twice. */
  seconds: number
  /** Whether that is a time in UTC, and the day one of UTC. */
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

/** Bars as columns, in the order of the file. */
interface Columns {
  days: Int32Array
  rows: Int32Array
  values: [open: Float64Array, high: Float64Array, low: Float64Array, close: Float64Array, volume: Float64Array]
  /** Times of day; only where a row has one. */
  seconds: Int32Array | null
  /** Closes before adjustment; only where prices are adjusted. */
  unadjusted: Float64Array | null
}

type Kinds = Pick<Columns, 'seconds' | 'unadjusted'>

/** Bars that wait in a temporary file. */
interface Piece {
  at: number
  count: number
  hasSeconds: boolean
  hasUnadjusted: boolean
  /** The first and the last of its days, in whatever order they are. */
  least: Day
  most: Day
}

/** The bars of one ticker while they come in, in the order of the file; those that memory is not to hold wait elsewhere. */
export class GrowingBars {
  readonly ticker: string
  count = 0
  readonly #spill: Spill
  readonly #waiting: Piece[] = []
  /** Those that are held, with room for more, and how many they are. */
  #columns: Columns | null = null
  #held = 0
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
    return this.#columns === null ? 0 : OVERHEAD + this.#columns.days.length * BYTES
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
      this.#days ??= new DaySet(this.#gathered().days)
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
   * Whether these are days of Asia on the dates of UTC, on which they begin in the afternoon of the day before: there are
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

  /** Has them wait in the temporary file. */
  letGo(): void {
    if (this.#columns === null) return
    const columns = cut(this.#columns, this.#held)
    const { days, seconds, unadjusted } = columns
    const at = this.#spill.put(listOf(columns))
    this.#waiting.push({
      ...{ at, count: this.#held, hasSeconds: seconds !== null, hasUnadjusted: unadjusted !== null },
      ...{ least: days.reduce((a, b) => Math.min(a, b)), most: days.reduce((a, b) => Math.max(a, b)) },
    })
    this.#columns = null
    this.#held = 0
  }

  /** The bars in order of their dates, each value divided by `divisor` except volume, and the row of each. */
  sorted(divisor: number): { bars: Series; rows: Int32Array } {
    const columns = this.#gathered()
    const order = this.#sortedPlaces(columns.days)
    // Held columns go on growing, so that what is given away is another.
    const pick = <T extends Int32Array | Float64Array>(column: T): T =>
      order === null ? ((this.isHeld ? column.slice() : column) as T) : (column.map((_, i) => column[order[i]!]!) as T)
    const days = pick(columns.days)
    const [open, high, low, close, volume] = columns.values.map(pick) as Columns['values']
    if (divisor !== 1)
      for (const column of [open, high, low, close])
        for (let i = 0; i < column.length; i++) column[i] = column[i]! / divisor
    const bars: Series = { timeframe: 'daily', days, known: days, open, high, low, close, volume }
    if (columns.unadjusted !== null) bars.unadjustedClose = pick(columns.unadjusted).map(value => value / divisor)
    return { bars, rows: pick(columns.rows) }
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
    const bar = this.#barOf(day)
    const values = [open, high, low, close, volume]
    const found = bar.seconds?.[0] ?? 0
    const same =
      found === seconds &&
      bar.values.every(([value], i) => Object.is(value, values[i])) &&
      Object.is(bar.unadjusted?.[0] ?? Number.NaN, unadjusted)
    return { row: bar.rows[0]!, seconds: found, same }
  }

  /** Columns of the one bar that is there of a day. What waits stays where it is: a file may have many days twice. */
  #barOf(day: Day): Columns {
    if (this.#columns !== null) {
      const place = this.#columns.days.subarray(0, this.#held).indexOf(day)
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
    this.#spill.take(at + 5 * 8 * count, [days])
    return days
  }

  #waitingBar({ at, count, hasSeconds, hasUnadjusted }: Piece, place: number): Columns {
    const bar = columnsOf(1, { seconds: hasSeconds ? NONE : null, unadjusted: hasUnadjusted ? NO_CLOSES : null })
    let from = at
    for (const column of listOf(bar)) {
      this.#spill.take(from + place * column.BYTES_PER_ELEMENT, [column])
      from += count * column.BYTES_PER_ELEMENT
    }
    return bar
  }

  /** All of them, without room for more. */
  #gathered(): Columns {
    const held = this.#columns === null ? null : cut(this.#columns, this.#held)
    if (this.isHeld) return held ?? columnsOf(0, { seconds: null, unadjusted: null })
    const kinds = {
      seconds: this.#waiting.some(({ hasSeconds }) => hasSeconds) || held?.seconds ? NONE : null,
      unadjusted: this.#waiting.some(({ hasUnadjusted }) => hasUnadjusted) || held?.unadjusted ? NO_CLOSES : null,
    }
    const all = columnsOf(this.count, kinds)
    let from = 0
    for (const { at, count, hasSeconds, hasUnadjusted } of this.#waiting) {
      const { seconds, unadjusted, ...columns } = cut(all, from + count, from)
      const kinds = { seconds: hasSeconds ? seconds : null, unadjusted: hasUnadjusted ? unadjusted : null }
      this.#spill.take(at, listOf({ ...columns, ...kinds }))
      from += count
    }
    if (held !== null) copy(held, all, from)
    return all
  }

  #append(bar: Bar, row: number): void {
    const place = this.#held++
    this.count++
    this.#columns ??= columnsOf(START, { seconds: null, unadjusted: null })
    if (place === this.#columns.days.length) {
      const larger = columnsOf(Math.max(START, place * 2), this.#columns)
      copy(this.#columns, larger, 0)
      this.#columns = larger
    }
    const columns = this.#columns
    columns.days[place] = bar.day
    columns.rows[place] = row
    const [open, high, low, close, volume] = columns.values
    open[place] = bar.open
    high[place] = bar.high
    low[place] = bar.low
    close[place] = bar.close
    volume[place] = bar.volume
    if (bar.seconds !== 0) columns.seconds ??= new Int32Array(columns.days.length)
    if (columns.seconds !== null) columns.seconds[place] = bar.seconds
    if (!Number.isNaN(bar.unadjusted)) columns.unadjusted ??= new Float64Array(columns.days.length)
    if (columns.unadjusted !== null) columns.unadjusted[place] = bar.unadjusted
  }
}

const START = 32
/** Of a bar, and of columns however few bars they hold. */
const BYTES = 5 * 8 + 2 * 4
const OVERHEAD = 1_500
/** Where the clocks are furthest ahead, midnight is 10:00 UTC of the day before. */
const AFTERNOON = 10 * 3600
const NONE = new Int32Array()
const NO_CLOSES = new Float64Array()

function columnsOf(room: number, { seconds, unadjusted }: Kinds): Columns {
  return {
    days: new Int32Array(room),
    rows: new Int32Array(room),
    values: Array.from({ length: 5 }, () => new Float64Array(room)) as Columns['values'],
    seconds: seconds === null ? null : new Int32Array(room),
    unadjusted: unadjusted === null ? null : new Float64Array(room),
  }
}

/** Views on the bars from `from` up to `to`. */
function cut({ days, rows, values, seconds, unadjusted }: Columns, to: number, from = 0): Columns {
  return {
    days: days.subarray(from, to),
    rows: rows.subarray(from, to),
    values: values.map(column => column.subarray(from, to)) as Columns['values'],
    seconds: seconds === null ? null : seconds.subarray(from, to),
    unadjusted: unadjusted === null ? null : unadjusted.subarray(from, to),
  }
}

function copy(from: Columns, to: Columns, at: number): void {
  to.days.set(from.days, at)
  to.rows.set(from.rows, at)
  for (const [i, column] of from.values.entries()) to.values[i]!.set(column, at)
  if (from.seconds !== null) to.seconds!.set(from.seconds, at)
  if (from.unadjusted !== null) to.unadjusted!.set(from.unadjusted, at)
}

function listOf({ days, rows, values, seconds, unadjusted }: Columns): (Int32Array | Float64Array)[] {
  return [...values, days, rows, ...(seconds === null ? [] : [seconds]), ...(unadjusted === null ? [] : [unadjusted])]
}

/** Days as bits, which take little room even for the bars of a whole market in any order. */
class DaySet {
  #bits = new Uint32Array()
  /** The first day that has a bit. */
  #from = 0

  constructor(days: Int32Array) {
    for (const day of days) this.add(day)
  }

  has(day: Day): boolean {
    const bit = day - this.#from
    return bit >= 0 && ((this.#bits[bit >> 5] ?? 0) & (1 << (bit & 31))) !== 0
  }

  add(day: Day): void {
    if (this.#bits.length === 0) this.#from = day
    const bit = day - this.#from
    if (bit < 0 || bit >= this.#bits.length * 32) this.#reach(day)
    this.#bits[(day - this.#from) >> 5]! |= 1 << ((day - this.#from) & 31)
  }

  /** Makes room for a day before or after all others, and for some beside it. */
  #reach(day: Day): void {
    const before = Math.max(0, Math.ceil((this.#from - day) / 32))
    const after = Math.max(0, ((day - this.#from) >> 5) + 1 - this.#bits.length)
    const [more, further] = [before && before + SOME, after && after + SOME]
    const bits = new Uint32Array(more + this.#bits.length + further)
    bits.set(this.#bits, more)
    this.#bits = bits
    this.#from -= more * 32
  }
}

/** Words of bits. */
const SOME = 8
