import { BadData, type Place, parameter, sentence, type Words } from '../errors.js'
import { type Day, formatDay, weekdayOf } from '../model/day.js'
import { DAILY, gapBetween, jumpBetween, middleSpacing, usualGap } from '../model/neighbours.js'
import type { Adjustment, Series } from '../model/series.js'
import type { Rejected, TickerBars, Warning, WarningKind } from './feed.js'
import type { Role } from './layout.js'
import { Rejections, refuseUnfinished } from './refusals.js'

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

/** Why a row is no bar, and which of its fields is at fault. */
export interface Fault {
  role: Role
  reason: Words
  /** The number of the field, where it has no role. */
  field?: number
}

/** Where in the file a row stands; a row is known by its line, or by its ordinal where rows have no lines. */
export interface Places {
  /** The line on which a row starts. */
  lineOf(row: number): number
  /** The bad row with the place of its fault; asked at once, while the row is at hand. */
  reject(row: number, fault: Fault): Rejected
}

/** Takes the rows of a file, good and bad, and gives back clean columns: all of them, or an error. */
export class Collector {
  rows = 0
  readonly #file: string
  readonly #places: Places
  readonly #tickers = new Map<string, Bars>()
  readonly #rejections: Rejections
  readonly #warnings = new Map<WarningKind, Warning>()

  constructor(file: string, places: Places, skipBadRows: boolean) {
    this.#file = file
    this.#places = places
    this.#rejections = new Rejections(file, skipBadRows)
  }

  barsOf(ticker: string): Bars {
    const known = this.#tickers.get(ticker)
    if (known !== undefined) return known
    const bars = new Bars(ticker)
    this.#tickers.set(ticker, bars)
    return bars
  }

  /**
   * Adds a bar; the date of an earlier bar makes it a bad row, unless it is the same bar, which is taken once, or the times
   * tell that these are intraday bars.
   */
  add(bars: Bars, bar: Bar, row: number): void {
    const place = bars.add(bar, row)
    if (place === null) return
    if (bars.holds(bar, place)) {
      const detail = `the same bar as in line ${this.#places.lineOf(bars.at(place).row)}, taken once`
      this.#warn('doubled', bars.ticker, bar.day, row, detail)
      return
    }
    const earlier = bars.at(place)
    const date = formatDay(bar.day)
    const reason = `${date} is given twice for ${bars.ticker}, first in line ${this.#places.lineOf(earlier.row)}`
    const fault: Fault = { role: 'date', reason }
    if (earlier.seconds === bar.seconds) {
      this.reject(row, fault)
      return
    }
    const what = `${date} has bars at several times of the day: these are intraday bars, and only daily bars are imported`
    throw new BadData(this.placeOf(row, 'date'), what)
  }

  /** Where a field of the row at hand stands. */
  placeOf(row: number, role: Role): Place {
    const { line, column } = this.#places.reject(row, { role, reason: '' })
    return { file: this.#file, line, column }
  }

  reject(row: number, fault: Fault): void {
    this.#rejections.add(() => this.#places.reject(row, fault))
  }

  get rejected(): Rejected[] {
    return this.#rejections.rows
  }

  /** How rows follow each other in the file. */
  get order(): Order {
    const orders = new Set([...this.#tickers.values()].filter(bars => bars.count > 1).map(bars => bars.order))
    if (orders.size > 1) return 'unsorted'
    return [...orders][0] ?? 'ascending'
  }

  /** The clean columns; throws BadData when bad rows are not to be skipped, or no row is good. */
  finish(prices: Adjustment, divisor = 1): { tickers: TickerBars[]; warnings: Warning[] } {
    this.#rejections.refuse(this.rows)
    const tickers: TickerBars[] = []
    for (const ticker of [...this.#tickers.keys()].sort()) {
      const collected = this.#tickers.get(ticker)!
      // What came in is let go ticker by ticker, so that a large file is not held twice.
      this.#tickers.delete(ticker)
      if (collected.count === 0) continue
      const { bars, rows } = collected.sorted(divisor)
      tickers.push({ ticker, bars, prices })
      if (collected.areDayBefore)
        for (const [i, day] of bars.days.entries())
          if (weekdayOf(day) === SUNDAY) this.#warn('sundays', ticker, day, rows[i]!, DAY_BEFORE)
      for (const [kind, i, detail] of odditiesOf(bars)) this.#warn(kind, ticker, bars.days[i]!, rows[i]!, detail)
    }
    if (tickers.length === 0) throw refuseUnfinished(this.#file)
    return { tickers, warnings: KINDS.flatMap(kind => this.#warnings.get(kind) ?? []) }
  }

  #warn(kind: WarningKind, ticker: string, day: Day, row: number, detail: Words): void {
    const warning = this.#warnings.get(kind) ?? { kind, count: 0, first: [] }
    this.#warnings.set(kind, warning)
    if (warning.count++ >= SHOWN) return
    const place = `${this.#file}:${this.#places.lineOf(row)}`
    warning.first.push({ ticker, date: formatDay(day), place, detail })
  }
}

type Order = 'ascending' | 'descending' | 'unsorted'

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
  /** How many bars are dated by a time in UTC from 10:00 on, by weekday. */
  readonly #afternoons = [0, 0, 0, 0, 0, 0, 0]

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
    this.#ascending &&= later
    this.#descending &&= earlier
    if (later) this.#most = day
    if (earlier) this.#least = day
    this.#places?.set(day, this.count)
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

  /** The row and the time of day of the bar at a place. */
  at(place: number): { row: number; seconds: number } {
    return { row: this.#rows[place]!, seconds: this.#seconds?.[place] ?? 0 }
  }

  /** Whether the bar at a place is this one, to its time of day. */
  holds(bar: Bar, place: number): boolean {
    const { open, high, low, close, volume, unadjusted, seconds } = bar
    const values = [open, high, low, close, volume]
    return (
      this.at(place).seconds === seconds &&
      this.#values.every((column, i) => Object.is(column[place], values[i])) &&
      Object.is(this.#unadjusted?.[place] ?? Number.NaN, unadjusted)
    )
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
const SUNDAY = 6
/** Where the clocks are furthest ahead, midnight is 10:00 UTC of the day before. */
const AFTERNOON = 10 * 3600

const DAY_BEFORE = sentence`a Sunday, and hardly a bar is on a Friday: days of Asia begin on the day before in UTC; ${parameter('time_zone', 'Asia/Tokyo')}, or where the exchange is, dates them as there`

type Values = [open: Float64Array, high: Float64Array, low: Float64Array, close: Float64Array, volume: Float64Array]

function grown<T extends Int32Array | Float64Array>(old: T, larger: T): T {
  larger.set(old)
  return larger
}

/** So many odd bars of a kind are told one by one. */
export const SHOWN = 3
const KINDS: readonly WarningKind[] = ['sundays', 'not_daily', 'doubled', 'outside_range', 'zero_volume', 'gap', 'jump']

/** What looks odd in the bars of one ticker and stays: its kind, the bar, and a word about it. */
function* odditiesOf(bars: Series): Generator<[kind: WarningKind, bar: number, detail: string]> {
  const spacing = middleSpacing(bars.days)
  if (spacing > DAILY) yield ['not_daily', 0, `bars are mostly ${spacing} days apart: not daily bars?`]
  const most = usualGap(bars.days, spacing)
  for (let i = 0; i < bars.days.length; i++) {
    const outside = outsideRange(bars, i)
    if (outside !== null) yield ['outside_range', i, outside]
    if (bars.volume[i] === 0) yield ['zero_volume', i, 'volume 0']
    if (i === 0) continue
    const gap = gapBetween(bars.days[i - 1]!, bars.days[i]!, most)
    if (gap !== null) yield ['gap', i, gap]
    const jump = jumpBetween(bars.close[i - 1]!, bars.close[i]!)
    if (jump !== null) yield ['jump', i, jump]
  }
}

function outsideRange({ open, high, low, close }: Series, i: number): string | null {
  for (const [name, price] of [
    ['open', open[i]!],
    ['close', close[i]!],
  ] as const) {
    if (price > high[i]!) return `${name} ${price} is above high ${high[i]}`
    if (price < low[i]!) return `${name} ${price} is below low ${low[i]}`
  }
  return null
}
