import { BadData, type FilePosition, parameter, sentence, type Words } from '../../core/errors.js'
import { type Day, formatDay, weekdayOf } from '../../core/model/day.js'
import {
  type Adjustment,
  DAILY,
  gapBetween,
  jumpBetween,
  middleSpacing,
  type Series,
  usualGap,
} from '../../core/model/series.js'
import { ODDITIES, type ReadResult, type Rejected, type TickerBars, type Warning, type WarningKind } from './feed.js'
import { type Bar, GrowingBars, type Order } from './growing-bars.js'
import type { Role } from './names.js'
import { onlyUnfinishedError, Rejections, Remarks } from './refusals.js'
import { Spill } from './spill.js'

/** Why a row is no bar, and which of its fields is at fault. */
export interface Fault {
  role: Role
  reason: Words
  /** The number of the field, where it has no role. */
  field?: number
}

/** Positions of rows in the file: by line, or by ordinal for rows without lines. */
export interface RowPositions {
  lineOf(row: number): number
  /** The bad row with the position of its fault; called while the row is current. */
  describeRejected(row: number, fault: Fault): Rejected
}

type Collected = Pick<
  ReadResult,
  'rows' | 'tickers' | 'withoutVolume' | 'rejected' | 'remarks' | 'warnings' | 'release'
>

const UNTRADED_DAYS = 'a day without a trade, whose open, high, low and close are empty, is left out'

const MAX_BYTES_IN_MEMORY = 80 * 1024 * 1024

/**
 * Collects the rows of a file, good and bad, and returns clean columns: all of them, or an error. Bars beyond the
 * memory limit go to a temporary file; tickers may come in any order.
 */
export class Collector {
  rows = 0
  readonly remarks = new Remarks()
  readonly #spill = new Spill()
  readonly #maxBytes: number
  #bytes = 0
  #untradedRows = 0
  #lastRejectedRow = -1
  #isLarge = false
  readonly #file: string
  readonly positions: RowPositions
  readonly #tickers = new Map<string, GrowingBars>()
  readonly #rejections: Rejections
  readonly #warnings = new Map<WarningKind, Warning>()

  /** @param maxBytes bars in memory beyond which they go to a temporary file */
  constructor(file: string, positions: RowPositions, skipBadRows: boolean, maxBytes = MAX_BYTES_IN_MEMORY) {
    this.#file = file
    this.#maxBytes = maxBytes
    this.positions = positions
    this.#rejections = new Rejections(file, skipBadRows)
  }

  /** The bars of a ticker so far. A new ticker gets an empty entry. */
  barsOf(ticker: string): GrowingBars {
    const existing = this.#tickers.get(ticker)
    if (existing !== undefined) return existing
    const bars = new GrowingBars(ticker, this.#spill)
    this.#tickers.set(ticker, bars)
    return bars
  }

  /**
   * Adds the bar of a row to those of its ticker. If the day has a bar already, an identical one makes a warning, and
   * another one rejects the row. Throws BadData for bars of several times of one day, which are intraday bars.
   */
  add(bars: GrowingBars, bar: Bar, row: number): void {
    const bytesBefore = bars.bytes
    const earlier = bars.add(bar, row)
    this.#bytes += bars.bytes - bytesBefore
    if (this.#bytes > this.#maxBytes) this.#spillBars()
    if (earlier === null) return
    const line = this.positions.lineOf(earlier.row)
    if (earlier.isSame) {
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
    throw new BadData(this.positionOf(row, 'date'), what)
  }

  #spillBars(): void {
    this.#isLarge = true
    for (const bars of this.#tickers.values()) bars.spill()
    this.#bytes = 0
  }

  /** Reads a whole file; if that fails, the temporary file is deleted. */
  async deleteSpillOnError<T>(read: () => T | Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      this.#spill.close()
      throw error
    }
  }

  positionOf(row: number, role: Role): FilePosition {
    const { line, column } = this.positions.describeRejected(row, { role, reason: '' })
    return { file: this.#file, line, column }
  }

  /** Rejects a row; a second fault of the same row is ignored. */
  reject(row: number, fault: Fault): void {
    if (row === this.#lastRejectedRow) return
    this.#lastRejectedRow = row
    this.#rejections.add(() => this.positions.describeRejected(row, fault))
  }

  rejectAll(rows: readonly Rejected[]): void {
    for (const row of rows) this.#rejections.add(() => row)
  }

  /** Counts and remarks a row of a day without a trade, which is left out. */
  skipUntraded(row: number): void {
    this.#untradedRows++
    this.remark(UNTRADED_DAYS, row)
  }

  /** Adds a remark about the file, with the line of a row. */
  remark(what: Words, row: number): void {
    this.remarks.add(what, `${this.#file}:${this.positions.lineOf(row)}`)
  }

  /** The order of the days in the file: unsorted where it differs by ticker, ascending where no ticker has two bars. */
  get order(): Order {
    const orders = new Set([...this.#tickers.values()].filter(bars => bars.count > 1).map(bars => bars.order))
    if (orders.size > 1) return 'unsorted'
    return [...orders][0] ?? 'ascending'
  }

  /**
   * Returns the sorted bars of each ticker, and the notes about the file. Throws BadData for bad rows unless they are
   * skipped, and if no row is good. Bars in the temporary file are read from there on each use; `release` deletes it.
   * @param divisor prices in the file are divided by it, such as 10,000
   */
  finish(prices: Adjustment, divisor = 1): Collected {
    this.#rejections.throwIfBad(this.rows)
    // For a large file memory is freed: the consumer of its bars needs it.
    if (this.#isLarge) this.#spillBars()
    const tickers: TickerBars[] = []
    const withoutVolume: string[] = []
    for (const ticker of [...this.#tickers.keys()].sort()) {
      const collected = this.#tickers.get(ticker)!
      // Raw bars are freed ticker by ticker, so that memory never holds a large file twice.
      this.#tickers.delete(ticker)
      if (collected.count === 0) {
        this.remarks.add('a ticker has no bars', ticker)
        continue
      }
      const { bars, rows } = collected.sorted(divisor)
      if (!collected.hasVolume) withoutVolume.push(ticker)
      tickers.push(collected.isInMemory ? { ticker, bars, prices } : spilledTicker(collected, prices, divisor))
      if (collected.areDatedDayBefore)
        for (const [i, day] of bars.days.entries())
          if (weekdayOf(day) === SUNDAY) this.#warn('sundays', ticker, day, rows[i]!, DATED_DAY_BEFORE)
      reportOddities(bars, (kind, i, detail) => this.#warn(kind, ticker, bars.days[i]!, rows[i]!, detail))
    }
    if (tickers.length === 0 && this.#untradedRows > 0)
      throw new BadData({ file: this.#file }, `there are no bars in it: ${UNTRADED_DAYS}`)
    if (tickers.length === 0) throw onlyUnfinishedError(this.#file)
    const warnings = ODDITIES.flatMap(kind => this.#warnings.get(kind) ?? [])
    const release = this.#isLarge ? closerOf(this.#spill) : null
    return {
      rows: this.rows,
      tickers,
      withoutVolume,
      rejected: this.#rejections.rows,
      remarks: this.remarks.all,
      warnings,
      release,
    }
  }

  #warn(kind: WarningKind, ticker: string, day: Day, row: number, detail: Words): void {
    const warning = this.#warnings.get(kind) ?? { kind, count: 0, first: [] }
    this.#warnings.set(kind, warning)
    if (warning.count++ >= MAX_WARNINGS_SHOWN) return
    const place = `${this.#file}:${this.positions.lineOf(row)}`
    warning.first.push({ ticker, date: formatDay(day), place, detail })
  }
}

/** Returns a function that closes a temporary file. Made inside `finish` it would keep the read data in memory. */
function closerOf(spill: Spill): () => void {
  return () => spill.close()
}

/** The bars of a ticker in the temporary file, which are read again on each use. */
function spilledTicker(collected: GrowingBars, prices: Adjustment, divisor: number): TickerBars {
  const { ticker } = collected
  return {
    ticker,
    prices,
    spilled: true,
    get bars() {
      return collected.sorted(divisor).bars
    },
  }
}

const SUNDAY = 6

const DATED_DAY_BEFORE = sentence`a Sunday, and hardly a bar is on a Friday: days of Asia begin on the day before in UTC; ${parameter('time_zone', 'Asia/Tokyo')}, or where the exchange is, dates them as there`

/** Number of odd bars per kind that are listed one by one. */
export const MAX_WARNINGS_SHOWN = 3

/** Calls `report` for each odd bar of a ticker, with the kind, the number of the bar, and a short text. */
function reportOddities(bars: Series, report: (kind: WarningKind, bar: number, detail: string) => void): void {
  const { days, close, volume } = bars
  const spacing = middleSpacing(days)
  if (spacing > DAILY) report('not_daily', 0, `bars are mostly ${spacing} days apart: not daily bars?`)
  const longestUsualGap = usualGap(days, spacing)
  for (let i = 0; i < days.length; i++) {
    const outside = openOrCloseOutside(bars, i)
    if (outside !== null) report('outside_range', i, outside)
    if (volume[i] === 0) report('zero_volume', i, 'volume 0')
    if (i === 0) continue
    const gap = gapBetween(days[i - 1]!, days[i]!, longestUsualGap)
    if (gap !== null) report('gap', i, gap)
    const jump = jumpBetween(close[i - 1]!, close[i]!)
    if (jump !== null) report('jump', i, jump)
  }
}

/** Text that says that the open or close of bar `i` is outside its high and low; null for a sound bar. */
function openOrCloseOutside({ open, high, low, close }: Series, i: number): string | null {
  return outsideHighLow('open', open[i]!, high[i]!, low[i]!) ?? outsideHighLow('close', close[i]!, high[i]!, low[i]!)
}

function outsideHighLow(name: string, price: number, high: number, low: number): string | null {
  if (price > high) return `${name} ${price} is above high ${high}`
  return price < low ? `${name} ${price} is below low ${low}` : null
}
