import { BadData } from '../errors.js'
import { formatDay } from '../model/day.js'
import type { Adjustment } from '../model/series.js'
import { Bars, type Order } from './bars.js'
import type { Rejected, TickerBars, Warning } from './feed.js'
import { Rejections } from './rejections.js'
import type { Bar, Fault } from './value/judge.js'
import { Oddities } from './warnings.js'

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

  /** Adds a bar; the date of an earlier bar makes it a bad row, unless the times tell that these are intraday bars. */
  add(bars: Bars, bar: Bar, row: number): void {
    const place = bars.add(bar, row)
    if (place === null) return
    const earlier = bars.at(place)
    const date = formatDay(bar.day)
    const reason = `${date} is given twice for ${bars.ticker}, first in line ${this.#places.lineOf(earlier.row)}`
    const fault: Fault = { role: 'date', reason }
    if (earlier.seconds === bar.seconds) {
      this.reject(row, fault)
      return
    }
    const { line, column } = this.#places.reject(row, fault)
    const what = `${date} has bars at several times of the day: these are intraday bars, and only daily bars are imported`
    throw new BadData({ file: this.#file, line, column }, what)
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
    const oddities = new Oddities(row => `${this.#file}:${this.#places.lineOf(row)}`)
    const tickers: TickerBars[] = []
    for (const ticker of [...this.#tickers.keys()].sort()) {
      const collected = this.#tickers.get(ticker)!
      // What came in is let go ticker by ticker, so that a large file is not held twice.
      this.#tickers.delete(ticker)
      if (collected.count === 0) continue
      const { bars, rows } = collected.sorted(divisor)
      oddities.inspect(ticker, bars, rows)
      tickers.push({ ticker, bars, prices })
    }
    return { tickers, warnings: oddities.warnings }
  }
}
