import { BadData, counted, type FilePosition, parameter, quoted, sentence } from '../../core/errors.js'
import { type Day, dayOf, formatDay, utcToday } from '../../core/model/day.js'
import type { Adjustment } from '../../core/model/series.js'
import { parseTicker, TICKER_SHAPE } from '../../core/model/terms.js'
import type { Collector, Fault } from './bars.js'
import type { Format, Rejected } from './feed.js'
import type { Bar, GrowingBars } from './growing-bars.js'
import type { Columns } from './layout.js'
import { PRICES, type Role } from './names.js'
import type { Row, RowFault } from './row.js'
import {
  type DateReader,
  type Decimal,
  dateReason,
  emptyWord,
  isNullWord,
  readNumber,
  readNumberBytes,
  readVolume,
} from './values.js'

export interface PricePlan {
  format: Format
  columns: Columns
  /** Tickers side by side, with columns of their own; `columns` and `ticker` are those of the first. */
  parallelTickers?: readonly { ticker: string; columns: Columns }[]
  /** The ticker of all rows; null when each names its own. */
  ticker: string | null
  dates: DateReader
  /** The last day that can have a bar. */
  latest: Day
  decimal: Decimal
  /** Whether to adjust prices by the file's adjusted close. */
  adjust: boolean
}

/** No exchange has prices that are older. */
const EARLIEST: Day = dayOf(1800, 1, 1)!
/** A ticker's text is compared with that of the last row up to this length; a longer one counts as different. */
const MAX_COMPARED_BYTES = 64

/** The last day that can have a bar: tomorrow, which has already begun somewhere on earth. */
export function latestBar(today: Day = utcToday()): Day {
  return today + 1
}

/** The text for a future day in a column of past events. */
export function futureDateReason(name: string, date: string): string {
  return `${name} ${date} is yet to come, and nothing is known before its day`
}

/** Reads the rows of a file, one after the other, into a collector. */
export class PriceRows {
  /** Whether every price and volume so far was a whole number. */
  hasOnlyWholeNumbers = true
  /** How many bars were left out because their day is not finished. */
  #unfinishedCount = 0
  /** The last day whose bars count: Binance also gives the candle that is still being traded. */
  readonly #lastFinishedDay: Day
  /** How the vendor writes a volume that is not known. */
  readonly #unknownVolumeText: string
  readonly #plan: PricePlan
  readonly #collector: Collector
  readonly #bar: Bar = {
    day: 0,
    seconds: 0,
    inUtc: false,
    open: 0,
    high: 0,
    low: 0,
    close: 0,
    volume: 0,
    unadjusted: Number.NaN,
  }
  readonly #lastTickerText = Buffer.alloc(MAX_COMPARED_BYTES)
  #lastTickerLength = -1
  #bars: GrowingBars | null = null
  /** Rows of text that may be the footer of the file. */
  #textRows: Rejected[] = []

  /** Readers of the other tickers, where several are side by side; whether this reads one of several. */
  readonly #otherTickers: readonly PriceRows[]
  readonly #isParallel: boolean

  constructor(plan: PricePlan, collector: Collector, isParallel = (plan.parallelTickers ?? []).length > 0) {
    this.#plan = plan
    this.#isParallel = isParallel
    this.#otherTickers = (plan.parallelTickers ?? [])
      .slice(1)
      .map(tickerAndColumns => new PriceRows({ ...plan, ...tickerAndColumns, parallelTickers: [] }, collector, true))
    this.#collector = collector
    // `latest` is tomorrow, and Binance's candle of today is not finished.
    this.#lastFinishedDay = plan.format === 'binance' ? plan.latest - 2 : Number.POSITIVE_INFINITY
    this.#unknownVolumeText = plan.format === 'investing' ? '-' : ''
  }

  /** The note about bars left out because their day is not finished; empty if there are none. */
  get unfinishedNote(): Record<string, string> {
    return this.#unfinishedCount === 0
      ? {}
      : { unfinished: `${counted(this.#unfinishedCount, 'candle')} of today, left out` }
  }

  /** Adds the bars of a row to the collector, or rejects the row. @param rowFault the fault of an incomplete row */
  visit(row: Row, rowFault: RowFault | null = null): void {
    if (rowFault !== null && this.#isOnlyText(row)) {
      this.#textRows.push(this.#collector.positions.describeRejected(row.line, faultOf(rowFault)))
      return
    }
    // Rows of text are a footer only if no other row follows.
    if (this.#textRows.length > 0) this.#rejectTextRows()
    this.#collector.rows++
    let fault = this.#addBar(row, rowFault)
    for (const reader of this.#otherTickers) {
      const otherFault = reader.#addBar(row, rowFault)
      fault ??= otherFault
    }
    if (fault !== null) this.#collector.reject(row.line, fault)
  }

  /** Adds the bar of a row, or skips an unfinished or untraded day. Returns the fault of a bad row, otherwise null. */
  #addBar(row: Row, rowFault: RowFault | null): Fault | null {
    let fault = this.#findFaultBeforeReading(row, rowFault)
    if (fault === null && !this.#readBar(row)) fault = this.#explainFault(row)
    if (fault === null) {
      if (this.#bar.day > this.#lastFinishedDay) this.#unfinishedCount++
      else {
        this.#collector.add(this.#bars!, this.#bar, row.line)
        this.hasOnlyWholeNumbers &&= isWhole(this.#bar)
      }
      return null
    }
    if (rowFault === null && this.#isUntraded(row)) {
      if (this.#isParallel) this.#collector.remarks.add(NO_BAR_FOR_TICKER, this.#plan.ticker!)
      else this.#collector.skipUntraded(row.line)
      return null
    }
    // With tickers side by side, the role alone does not say which column is at fault.
    return this.#isParallel ? { field: this.#plan.columns[fault.role]!, ...fault } : fault
  }

  /** Ends the file: remarks that rows of text at its end were left out as a footer. */
  finish(): void {
    for (const { line } of this.#textRows) this.#collector.remark(FOOTER_LEFT_OUT, line)
  }

  /** Rejects the rows of text read so far: another row follows, so they are no footer. */
  #rejectTextRows(): void {
    this.#collector.rows += this.#textRows.length
    this.#collector.rejectAll(this.#textRows)
    this.#textRows = []
  }

  /** Whether a row has only one field, with several words, in the column of dates or tickers. */
  #isOnlyText(row: Row): boolean {
    const { ticker, date } = this.#plan.columns
    if (ticker !== 0 && date !== 0) return false
    for (let i = 1; i < row.count; i++) if (row.starts[i] !== row.ends[i]) return false
    return (row.field(0)!.match(/\p{L}{2,}/gu)?.length ?? 0) > 1
  }

  /** Whether a row has a ticker and a date, but no price and no volume. */
  #isUntraded(row: Row): boolean {
    const { columns, latest } = this.#plan
    const isEmpty = (role: Role) => isNullWord(row.field(columns[role]!) ?? '')
    if (!PRICES.every(isEmpty) || this.#bars === null) return false
    const { day } = this.#bar
    if (!(day >= EARLIEST && day <= latest)) return false
    return columns.volume === undefined || isEmpty('volume') || Number(row.field(columns.volume)) === 0
  }

  /** The fault of an incomplete row, or of one whose ticker is invalid; null for others. Selects the ticker's bars. */
  #findFaultBeforeReading(row: Row, rowFault: RowFault | null): Fault | null {
    if (rowFault !== null) return faultOf(rowFault)
    if (this.#selectBars(row)) return null
    return { role: 'ticker', reason: tickerReason(row.field(this.#plan.columns.ticker!) ?? '') }
  }

  /** Fills `#bar` from the bytes of a row; returns false when the row is no valid bar. */
  #readBar(row: Row): boolean {
    const { columns, dates } = this.#plan
    const bar = this.#bar
    const date = columns.date!
    if (row.count <= date) return false
    bar.day = dates.readBytes(row.bytes, row.starts[date]!, row.ends[date]!)
    bar.seconds = dates.seconds
    bar.inUtc = dates.inUtc
    bar.unadjusted = Number.NaN
    bar.open = this.#number(row, columns.open!)
    bar.high = this.#number(row, columns.high!)
    bar.low = this.#number(row, columns.low!)
    bar.close = this.#number(row, columns.close!)
    if (!(bar.day >= EARLIEST && bar.day <= this.#plan.latest)) return false
    if (!(isPrice(bar.open) && isPrice(bar.low) && isPrice(bar.close))) return false
    if (!isPrice(bar.high) || bar.high < bar.low) return false
    // A time in a column of its own is only compared, so any digits will do.
    if (columns.time !== undefined) {
      bar.seconds = Number((row.field(columns.time) ?? '').replace(/\D/g, '')) || 0
      bar.inUtc = false
    }
    if (!this.#readVolume(row)) return false
    if (!this.#plan.adjust) return true
    const adjusted = this.#number(row, columns.adj_close!)
    return isPrice(adjusted) && adjustBy(bar, adjusted)
  }

  /** Fills the bar's volume, NaN where it is not known; returns false when the field is no volume. */
  #readVolume(row: Row): boolean {
    const { volume: volumeColumn } = this.#plan.columns
    this.#bar.volume = Number.NaN
    if (volumeColumn === undefined || row.count <= volumeColumn || row.starts[volumeColumn] === row.ends[volumeColumn])
      return true
    this.#bar.volume = this.#number(row, volumeColumn)
    if (isVolume(this.#bar.volume)) return true
    const text = row.field(volumeColumn)!
    this.#bar.volume = readVolume(text, this.#plan.decimal)
    return isVolume(this.#bar.volume) || isNullWord(text) || text === this.#unknownVolumeText
  }

  /** The number in a column of a row; NaN when there is none. */
  #number(row: Row, column: number): number {
    if (row.count <= column) return Number.NaN
    return readNumberBytes(row.bytes, row.starts[column]!, row.ends[column]!, this.#plan.decimal)
  }

  /** The first fault of a row that `#readBar` refused, from the texts of its fields. */
  #explainFault(row: Row): Fault {
    const { columns, dates, decimal, latest } = this.#plan
    const text = (role: Role) => row.field(columns[role] ?? row.count) ?? ''
    const value = (role: Role) => (role === 'volume' ? readVolume : readNumber)(text(role), decimal)
    const day = dates.read(text('date'))
    if (day === null) return { role: 'date', reason: dateReason('date', text('date'), dates.format) }
    const fault = barFault(day, latest, value, text)
    if (fault !== null) return fault
    const reason = priceReason('adj_close', text('adj_close'), value('adj_close'))
    return { role: 'adj_close', reason: sentence`${reason}; ${parameter('prices', 'raw')} loads the prices without it` }
  }

  /** Sets `#bars` by the row's ticker; false if it is invalid. Throws BadData if it changes and the user gave one. */
  #selectBars(row: Row): boolean {
    const { ticker, columns } = this.#plan
    const { ticker: column } = columns
    if (column === undefined) {
      this.#bars ??= this.#collector.barsOf(ticker!)
      return true
    }
    if (this.#isLastTicker(row, column)) return this.#bars !== null
    const text = row.field(column) ?? ''
    if (ticker !== null && this.#bars !== null) {
      const lastText = this.#lastTickerText.toString('utf8', 0, this.#lastTickerLength)
      throw severalTickersError(this.#collector.positionOf(row.line, 'ticker'), ticker, lastText, text)
    }
    const symbol = ticker ?? parseTicker(text)
    // A longer text, which is cut here, never counts as equal.
    this.#lastTickerLength = Math.min(Buffer.byteLength(text), MAX_COMPARED_BYTES + 1)
    this.#lastTickerText.write(text)
    this.#bars = symbol === null ? null : this.#collector.barsOf(symbol)
    return this.#bars !== null
  }

  /** Whether the field of a column has the same bytes as the ticker that was selected last. */
  #isLastTicker(row: Row, column: number): boolean {
    if (row.count <= column) return false
    const start = row.starts[column]!
    const length = row.ends[column]! - start
    if (length !== this.#lastTickerLength || length > MAX_COMPARED_BYTES) return false
    for (let i = 0; i < length; i++) if (row.bytes[start + i] !== this.#lastTickerText[i]) return false
    return true
  }
}

/** The first fault of a bar's values; null for a valid bar. @param text the value of a role as the file has it */
export function barFault(
  day: Day,
  latest: Day,
  value: (role: Role) => number,
  text: (role: Role) => string,
): Fault | null {
  if (day < EARLIEST || day > latest) return { role: 'date', reason: dateRangeReason(day, latest) }
  const badRole = PRICES.find(role => !isPrice(value(role)))
  if (badRole !== undefined) return { role: badRole, reason: priceReason(badRole, text(badRole), value(badRole)) }
  if (value('high') < value('low')) return { role: 'high', reason: `high ${text('high')} is below low ${text('low')}` }
  if (isVolume(value('volume')) || isNullWord(text('volume'))) return null
  return { role: 'volume', reason: volumeReason(text('volume'), value('volume')) }
}

/** The error for a ticker hint when the rows name several tickers. */
export function severalTickersError(place: FilePosition, tickerHint: string, first: string, second: string): BadData {
  const tickers = `${quoted(first)}, ${quoted(second)}`
  const advice = sentence`leave ${parameter('ticker', tickerHint)} away to import each under its own name`
  return new BadData(place, sentence`the file has several tickers (${tickers}); ${advice}`)
}

const NO_BAR_FOR_TICKER = 'cells of a ticker are empty on a day on which others have a bar'
const FOOTER_LEFT_OUT = 'text at the end of the file, which is no row, is left out'
const WHY_PRICE_NEEDED = 'a bar needs open, high, low and close'
const WHY_ADJ_CLOSE_NEEDED = 'adjusted prices need it'

function dateRangeReason(day: Day, latest: Day): string {
  const date = formatDay(day)
  if (day > latest) return `date ${date} is yet to come: the last day that can have a bar is ${formatDay(latest)}`
  return `date ${date} is before 1800, and no bars are that old`
}

function priceReason(role: Role, text: string, value: number): string {
  if (isNullWord(text))
    return `${role} is ${emptyWord(text)}; ${role === 'adj_close' ? WHY_ADJ_CLOSE_NEEDED : WHY_PRICE_NEEDED}`
  if (Number.isNaN(value)) return `${role} ${quoted(text)} is no number; a price is a decimal number above 0`
  if (value <= 0) return `${role} ${quoted(text)} is not above 0, as a price must be`
  return `${role} ${quoted(text)} is too large or too small for a price`
}

function volumeReason(text: string, value: number): string {
  if (Number.isNaN(value)) return `volume ${quoted(text)} is no number; it may be 0 or more, or empty where unknown`
  if (value < 0) return `volume ${quoted(text)} is below 0; it may be 0 or more, or empty where unknown`
  return `volume ${quoted(text)} is too large for a volume`
}

export function tickerReason(text: string): string {
  return isNullWord(text) ? 'ticker is empty' : `ticker ${quoted(text)} is not ${TICKER_SHAPE}`
}

/** Finite and above 0; NaN is not. */
export function isPrice(value: number): boolean {
  return value > 0 && value < Number.POSITIVE_INFINITY
}

function isVolume(value: number): boolean {
  return value >= 0 && value < Number.POSITIVE_INFINITY
}

/** Whether all prices and the volume, if known, are whole numbers. */
function isWhole({ open, high, low, close, volume }: Bar): boolean {
  return [open, high, low, close].every(Number.isInteger) && (Number.isNaN(volume) || Number.isInteger(volume))
}

/**
 * Multiplies the four prices by adjusted close over close; false when one is then beyond what a double can hold. The
 * close becomes the adjusted close itself, and so does every price that equals it.
 */
function adjustBy(bar: Bar, adjustedClose: number): boolean {
  const { close } = bar
  const factor = adjustedClose / close
  bar.unadjusted = close
  for (const role of PRICES) bar[role] = bar[role] === close ? adjustedClose : bar[role] * factor
  return isPrice(bar.low) && isPrice(bar.open) && isPrice(bar.high)
}

interface AdjustmentPlan {
  prices: Adjustment
  /** Whether to multiply prices by adjusted close over close. */
  adjust: boolean
  /** The adjustment in words. */
  note: string
}

/** How prices are adjusted: whenever the file has an adjusted close, unless the user wants raw ones. */
export function adjustmentOf(hasAdjustedClose: boolean, wanted: Adjustment | undefined): AdjustmentPlan {
  if (hasAdjustedClose && wanted !== 'raw') return { prices: 'adjusted', adjust: true, note: 'adjusted by adj_close' }
  if (hasAdjustedClose) return { prices: 'raw', adjust: false, note: 'prices as they are; adj_close is not used' }
  if (wanted === 'adjusted')
    return { prices: 'adjusted', adjust: false, note: 'no adjusted close in the file: taken as adjusted, as you say' }
  return { prices: 'raw', adjust: false, note: 'no adjusted close in the file: prices as they are' }
}

/** The fault of an incomplete row. It is found by its field, so its role, which each fault must have, has no effect. */
function faultOf(rowFault: RowFault): Fault {
  return { role: 'close', ...rowFault }
}
