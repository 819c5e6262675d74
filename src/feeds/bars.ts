import { BadData, type Place, parameter, sentence, type Words } from '../errors.js'
import { type Day, formatDay, weekdayOf } from '../model/day.js'
import {
  type Adjustment,
  DAILY,
  gapBetween,
  jumpBetween,
  middleSpacing,
  type Series,
  usualGap,
} from '../model/series.js'
import { ODDITIES, type ReadResult, type Rejected, type TickerBars, type Warning, type WarningKind } from './feed.js'
import { type Bar, GrowingBars, type Order } from './growing-bars.js'
import type { Role } from './names.js'
import { Rejections, Remarks, refuseUnfinished } from './refusals.js'
import { Spill } from './spill.js'

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

/** The bars of a whole file, and what is said about them. */
type Collected = Pick<
  ReadResult,
  'rows' | 'tickers' | 'withoutVolume' | 'rejected' | 'remarks' | 'warnings' | 'release'
>

const UNTRADED = 'a day without a trade, whose open, high, low and close are empty, is left out'

/** So many bytes of bars are held while a file is read. */
const MOST_HELD = 80 * 1024 * 1024

/**
 * Takes the rows of a file, good and bad, and gives back clean columns: all of them, or an error. What memory is not to
 * hold waits in a temporary file, in whatever order its tickers come.
 */
export class Collector {
  rows = 0
  readonly remarks = new Remarks()
  readonly #spill = new Spill()
  readonly #mostHeld: number
  #held = 0
  #untraded = 0
  #rejected = -1
  #isLarge = false
  readonly #file: string
  readonly #places: Places
  readonly #tickers = new Map<string, GrowingBars>()
  readonly #rejections: Rejections
  readonly #warnings = new Map<WarningKind, Warning>()

  constructor(file: string, places: Places, skipBadRows: boolean, mostHeld = MOST_HELD) {
    this.#file = file
    this.#mostHeld = mostHeld
    this.#places = places
    this.#rejections = new Rejections(file, skipBadRows)
  }

  barsOf(ticker: string): GrowingBars {
    const known = this.#tickers.get(ticker)
    if (known !== undefined) return known
    const bars = new GrowingBars(ticker, this.#spill)
    this.#tickers.set(ticker, bars)
    return bars
  }

  /**
   * Adds a bar; the date of an earlier bar makes it a bad row, unless it is the same bar, which is taken once, or the times
   * tell that these are intraday bars.
   */
  add(bars: GrowingBars, bar: Bar, row: number): void {
    const before = bars.bytes
    const earlier = bars.add(bar, row)
    this.#held += bars.bytes - before
    if (this.#held > this.#mostHeld) this.#letGo()
    if (earlier === null) return
    const line = this.#places.lineOf(earlier.row)
    if (earlier.same) {
      this.#warn('doubled', bars.ticker, bar.day, row, `the same bar as in line ${line}, taken once`)
      return
    }
    const date = formatDay(bar.day)
    const fault: Fault = { role: 'date', reason: `${date} is given twice for ${bars.ticker}, first in line ${line}` }
    if (earlier.seconds === bar.seconds) {
      this.reject(row, fault)
      return
    }
    const what = `${date} has bars at several times of the day: these are intraday bars, and only daily bars are imported`
    throw new BadData(this.placeOf(row, 'date'), what)
  }

  #letGo(): void {
    this.#isLarge = true
    for (const bars of this.#tickers.values()) bars.letGo()
    this.#held = 0
  }

  /** What is read of a whole file; where reading fails, the temporary file goes. */
  async whole<T>(read: () => T | Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      this.#spill.close()
      throw error
    }
  }

  /** Where a field of the row at hand stands. */
  placeOf(row: number, role: Role): Place {
    const { line, column } = this.#places.reject(row, { role, reason: '' })
    return { file: this.#file, line, column }
  }

  /** Rejects a row, once. */
  reject(row: number, fault: Fault): void {
    if (row === this.#rejected) return
    this.#rejected = row
    this.#rejections.add(() => this.#places.reject(row, fault))
  }

  /** The row at hand as a bad one, which may turn out to be no row at all. */
  describe(row: number, fault: Fault): Rejected {
    return this.#places.reject(row, fault)
  }

  /** Rejects rows that were described. */
  rejectAll(rows: readonly Rejected[]): void {
    for (const row of rows) this.#rejections.add(() => row)
  }

  /** Leaves out a row without prices. */
  leaveOut(row: number): void {
    this.#untraded++
    this.remark(UNTRADED, row)
  }

  /** Says something about the file, with the line of a row. */
  remark(what: Words, row: number): void {
    this.remarks.add(what, `${this.#file}:${this.#places.lineOf(row)}`)
  }

  /** How rows follow each other in the file. */
  get order(): Order {
    const orders = new Set([...this.#tickers.values()].filter(bars => bars.count > 1).map(bars => bars.order))
    if (orders.size > 1) return 'unsorted'
    return [...orders][0] ?? 'ascending'
  }

  /**
   * The clean columns; throws BadData when bad rows are not to be skipped, or no row is good. Those of a ticker that waits
   * in the temporary file are read from there whenever they are asked for.
   */
  finish(prices: Adjustment, divisor = 1): Collected {
    this.#rejections.refuse(this.rows)
    // Of a large file nothing is held: whoever looks at its bars needs the room.
    if (this.#isLarge) this.#letGo()
    const tickers: TickerBars[] = []
    const withoutVolume: string[] = []
    for (const ticker of [...this.#tickers.keys()].sort()) {
      const collected = this.#tickers.get(ticker)!
      // What came in is let go ticker by ticker, so that a large file is not held twice.
      this.#tickers.delete(ticker)
      if (collected.count === 0) {
        this.remarks.add('a ticker has no bars', ticker)
        continue
      }
      const { bars, rows } = collected.sorted(divisor)
      if (!collected.hasVolume) withoutVolume.push(ticker)
      tickers.push(collected.isHeld ? { ticker, bars, prices } : waiting(collected, prices, divisor))
      if (collected.areDayBefore)
        for (const [i, day] of bars.days.entries())
          if (weekdayOf(day) === SUNDAY) this.#warn('sundays', ticker, day, rows[i]!, DAY_BEFORE)
      eachOddity(bars, (kind, i, detail) => this.#warn(kind, ticker, bars.days[i]!, rows[i]!, detail))
    }
    if (tickers.length === 0)
      throw this.#untraded > 0
        ? new BadData({ file: this.#file }, `there are no bars in it: ${UNTRADED}`)
        : refuseUnfinished(this.#file)
    const warnings = ODDITIES.flatMap(kind => this.#warnings.get(kind) ?? [])
    const release = this.#isLarge ? closing(this.#spill) : null
    const said = { rejected: this.#rejections.rows, remarks: this.remarks.all, warnings }
    return { rows: this.rows, tickers, withoutVolume, ...said, release }
  }

  #warn(kind: WarningKind, ticker: string, day: Day, row: number, detail: Words): void {
    const warning = this.#warnings.get(kind) ?? { kind, count: 0, first: [] }
    this.#warnings.set(kind, warning)
    if (warning.count++ >= SHOWN) return
    const place = `${this.#file}:${this.#places.lineOf(row)}`
    warning.first.push({ ticker, date: formatDay(day), place, detail })
  }
}

/** A function of its own: one beside all that was read would hold that as long as the run lasts. */
function closing(spill: Spill): () => void {
  return () => spill.close()
}

function waiting(collected: GrowingBars, prices: Adjustment, divisor: number): TickerBars {
  const { ticker } = collected
  return {
    ticker,
    prices,
    waits: true,
    get bars() {
      return collected.sorted(divisor).bars
    },
  }
}

const SUNDAY = 6

const DAY_BEFORE = sentence`a Sunday, and hardly a bar is on a Friday: days of Asia begin on the day before in UTC; ${parameter('time_zone', 'Asia/Tokyo')}, or where the exchange is, dates them as there`

/** So many odd bars of a kind are told one by one. */
export const SHOWN = 3

/** Tells what looks odd in the bars of one ticker and stays: its kind, the bar, and a word about it. */
function eachOddity(bars: Series, tell: (kind: WarningKind, bar: number, detail: string) => void): void {
  const { days, close, volume } = bars
  const spacing = middleSpacing(days)
  if (spacing > DAILY) tell('not_daily', 0, `bars are mostly ${spacing} days apart: not daily bars?`)
  const most = usualGap(days, spacing)
  for (let i = 0; i < days.length; i++) {
    const outside = outsideRange(bars, i)
    if (outside !== null) tell('outside_range', i, outside)
    if (volume[i] === 0) tell('zero_volume', i, 'volume 0')
    if (i === 0) continue
    const gap = gapBetween(days[i - 1]!, days[i]!, most)
    if (gap !== null) tell('gap', i, gap)
    const jump = jumpBetween(close[i - 1]!, close[i]!)
    if (jump !== null) tell('jump', i, jump)
  }
}

function outsideRange({ open, high, low, close }: Series, i: number): string | null {
  return besideRange('open', open[i]!, high[i]!, low[i]!) ?? besideRange('close', close[i]!, high[i]!, low[i]!)
}

function besideRange(name: string, price: number, high: number, low: number): string | null {
  if (price > high) return `${name} ${price} is above high ${high}`
  return price < low ? `${name} ${price} is below low ${low}` : null
}
