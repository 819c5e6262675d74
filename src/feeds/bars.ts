import type { Day } from '../model/day.js'
import type { Series } from '../model/series.js'
import type { Bar } from './value/judge.js'

export type Order = 'ascending' | 'descending' | 'unsorted'

/** The bars of one ticker while they come in, in the order of the file, as columns that grow. */
export class Bars {
  readonly ticker: string
  count = 0
  #days = new Int32Array(START)
  #rows = new Int32Array(START)
  #values = Array.from({ length: 5 }, () => new Float64Array(START)) as Values
  /** Times of day; only from the first row on that has one. */
  #seconds: Int32Array | null = null
  /** Closes before adjustment; only when prices are adjusted. */
  #unadjusted: Float64Array | null = null
  #least: Day = Number.POSITIVE_INFINITY
  #most: Day = Number.NEGATIVE_INFINITY
  /** Where each day stands; only from the first row on that does not continue the order. */
  #places: Map<Day, number> | null = null
  #ascending = true
  #descending = true

  constructor(ticker: string) {
    this.ticker = ticker
  }

  /** Adds the bar of a row (its line or ordinal); when its day is there already, gives back the place of that bar. */
  add(bar: Bar, row: number): number | null {
    const { day } = bar
    const later = day > this.#most
    const earlier = day < this.#least
    if (!later && !earlier) {
      this.#places ??= new Map(Array.from(this.#days.subarray(0, this.count), (known, place) => [known, place]))
      const place = this.#places.get(day)
      if (place !== undefined) return place
    }
    if (this.count > 0) this.#turn(later, earlier)
    if (later) this.#most = day
    if (earlier) this.#least = day
    this.#places?.set(day, this.count)
    this.#append(bar, row)
    return null
  }

  /** The row and the time of day of the bar at a place. */
  at(place: number): { row: number; seconds: number } {
    return { row: this.#rows[place]!, seconds: this.#seconds?.[place] ?? 0 }
  }

  get order(): Order {
    return this.#ascending ? 'ascending' : this.#descending ? 'descending' : 'unsorted'
  }

  /** The bars in order of their dates, each value multiplied by `scale` except volume, and the row of each. */
  sorted(divisor: number): { bars: Series; rows: Int32Array } {
    const order = this.#sortedPlaces()
    const pick = <T extends Int32Array | Float64Array>(column: T): T =>
      order === null
        ? (column.slice(0, this.count) as T)
        : (column.slice(0, this.count).map((_, i) => column[order[i]!]!) as T)
    const days = pick(this.#days)
    const [open, high, low, close, volume] = this.#values.map(pick) as Values
    if (divisor !== 1)
      for (const column of [open, high, low, close])
        for (let i = 0; i < column.length; i++) column[i] = column[i]! / divisor
    const bars: Series = { timeframe: 'daily', days, known: days, open, high, low, close, volume }
    if (this.#unadjusted !== null) bars.unadjustedClose = pick(this.#unadjusted).map(value => value / divisor)
    return { bars, rows: pick(this.#rows) }
  }

  /** The places in order of their dates; null when they are in order. */
  #sortedPlaces(): Int32Array | null {
    if (this.#ascending) return null
    const places = Int32Array.from({ length: this.count }, (_, i) => i)
    if (this.#descending) return places.reverse()
    return places.sort((a, b) => this.#days[a]! - this.#days[b]!)
  }

  #turn(later: boolean, earlier: boolean): void {
    if (!later) this.#ascending = false
    if (!earlier) this.#descending = false
  }

  #append(bar: Bar, row: number): void {
    const place = this.count++
    if (place === this.#days.length) this.#grow()
    this.#days[place] = bar.day
    this.#rows[place] = row
    const [open, high, low, close, volume] = this.#values
    open[place] = bar.open
    high[place] = bar.high
    low[place] = bar.low
    close[place] = bar.close
    volume[place] = bar.volume
    if (bar.seconds !== 0) this.#seconds ??= new Int32Array(this.#days.length)
    if (this.#seconds !== null) this.#seconds[place] = bar.seconds
    if (!Number.isNaN(bar.unadjusted)) this.#unadjusted ??= new Float64Array(this.#days.length)
    if (this.#unadjusted !== null) this.#unadjusted[place] = bar.unadjusted
  }

  #grow(): void {
    const room = this.#days.length * 2
    this.#days = grown(this.#days, new Int32Array(room))
    this.#rows = grown(this.#rows, new Int32Array(room))
    this.#values = this.#values.map(column => grown(column, new Float64Array(room))) as Values
    if (this.#seconds !== null) this.#seconds = grown(this.#seconds, new Int32Array(room))
    if (this.#unadjusted !== null) this.#unadjusted = grown(this.#unadjusted, new Float64Array(room))
  }
}

const START = 256

type Values = [open: Float64Array, high: Float64Array, low: Float64Array, close: Float64Array, volume: Float64Array]

function grown<T extends Int32Array | Float64Array>(old: T, larger: T): T {
  larger.set(old)
  return larger
}
