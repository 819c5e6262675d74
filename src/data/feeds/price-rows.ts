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
  numberAt,
  readNumber,
  readVolume,
} from './values.js'

export interface PricePlan {
  format: Format
  columns: Columns
  /** Several tickers in parallel columns; `columns` and `ticker` are those of the first. */
  parts?: readonly { ticker: string; columns: Columns }[]
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

/** The last day that can have a bar: tomorrow, which has already begun somewhere on earth. */
export function latestBar(today: Day = utcToday()): Day {
  return today + 1
}

/** Why a day on which something is said to have happened is none. */
export function futureDateReason(name: string, date: string): string {
  return `${name} ${date} is yet to come, and nothing is known before its day`
}

/** Reads the rows of a file, one after the other, into a collector. */
export class PriceRows {
  /** Whether every price and volume so far was a whole number. */
  whole = true
  /** How many bars were left out because their day is not over. */
  #unfinished = 0
  /** The last day that is over: Binance gives the candle that is still being traded, too. */
  readonly #over: Day
  /** Investing.com writes a volume that is not known so. */
  readonly #noVolume: string
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
  readonly #tickerText = Buffer.alloc(64)
  #tickerLength = -1
  #bars: GrowingBars | null = null
  /** Rows of text that may be the end of the file. */
  #prose: Rejected[] = []

  /** Other tickers side by side with this one. */
  readonly #others: readonly PriceRows[]
  readonly #isPart: boolean

  constructor(plan: PricePlan, collector: Collector, isPart = (plan.parts ?? []).length > 0) {
    this.#plan = plan
    this.#isPart = isPart
    this.#others = (plan.parts ?? [])
      .slice(1)
      .map(part => new PriceRows({ ...plan, ...part, parts: [] }, collector, true))
    this.#collector = collector
    this.#over = plan.format === 'binance' ? plan.latest - 2 : Number.POSITIVE_INFINITY
    this.#noVolume = plan.format === 'investing' ? '-' : ''
  }

  /** Rows left out, in words. */
  get words(): Record<string, string> {
    return this.#unfinished === 0 ? {} : { unfinished: `${counted(this.#unfinished, 'candle')} of today, left out` }
  }

  /** @param rowFault the fault of an incomplete row */
  visit(row: Row, rowFault: RowFault | null = null): void {
    if (rowFault !== null && this.#isProse(row)) {
      this.#prose.push(this.#collector.describe(row.line, { role: 'close', ...rowFault }))
      return
    }
    if (this.#prose.length > 0) this.#rejectProse()
    this.#collector.rows++
    let fault = this.#take(row, rowFault)
    for (const other of this.#others) {
      const found = other.#take(row, rowFault)
      fault ??= found
    }
    if (fault !== null) this.#collector.reject(row.line, fault)
  }

  /** Adds the bar of a row; the fault where it has none, null where it is left out. */
  #take(row: Row, rowFault: RowFault | null): Fault | null {
    const fault = this.#placeFault(row, rowFault) ?? (this.#read(row) ? null : this.#fault(row))
    if (fault === null && this.#bar.day > this.#over) this.#unfinished++
    else if (fault === null) {
      this.#collector.add(this.#bars!, this.#bar, row.line)
      if (this.whole) this.whole = isWhole(this.#bar)
    } else if (rowFault === null && this.#isUntraded(row)) {
      if (this.#isPart) this.#collector.remarks.add(NO_BAR, this.#plan.ticker!)
      else this.#collector.leaveOut(row.line)
      return null
    }
    // Each of several tickers has columns of its own.
    return fault !== null && this.#isPart ? { field: this.#plan.columns[fault.role]!, ...fault } : fault
  }

  /** Takes rows of text at the end of the file for a footer. */
  finish(): void {
    for (const { line } of this.#prose) this.#collector.remark(FOOTER, line)
  }

  /** Rows of text that other rows follow are bad rows. */
  #rejectProse(): void {
    this.#collector.rows += this.#prose.length
    this.#collector.rejectAll(this.#prose)
    this.#prose = []
  }

  /** Whether a row is one field of several words where others have their date or ticker. */
  #isProse(row: Row): boolean {
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

  /** Why a row is not whole, or belongs to no ticker. */
  #placeFault(row: Row, rowFault: RowFault | null): Fault | null {
    if (rowFault !== null) return { role: 'close', ...rowFault }
    if (this.#findBars(row)) return null
    return { role: 'ticker', reason: tickerReason(row.field(this.#plan.columns.ticker!) ?? '') }
  }

  /** Fills the bar from the bytes of a row; false when the row is none. */
  #read(row: Row): boolean {
    const { columns, dates } = this.#plan
    const bar = this.#bar
    const date = columns.date!
    if (row.count <= date) return false
    bar.day = dates.at(row.bytes, row.starts[date]!, row.ends[date]!)
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

  #readVolume(row: Row): boolean {
    const { volume } = this.#plan.columns
    this.#bar.volume = Number.NaN
    if (volume === undefined || row.count <= volume || row.starts[volume] === row.ends[volume]) return true
    this.#bar.volume = this.#number(row, volume)
    if (isVolume(this.#bar.volume)) return true
    const text = row.field(volume)!
    this.#bar.volume = readVolume(text, this.#plan.decimal)
    return isVolume(this.#bar.volume) || isNullWord(text) || text === this.#noVolume
  }

  #number(row: Row, column: number): number {
    if (row.count <= column) return Number.NaN
    return numberAt(row.bytes, row.starts[column]!, row.ends[column]!, this.#plan.decimal)
  }

  /** The first fault of a row that is no bar. */
  #fault(row: Row): Fault {
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

  /** Finds the bars that a row belongs to; false when its ticker is none. Mostly it is the ticker of the row before. */
  #findBars(row: Row): boolean {
    const { ticker, columns } = this.#plan
    const { ticker: column } = columns
    if (column === undefined) {
      this.#bars ??= this.#collector.barsOf(ticker!)
      return true
    }
    if (this.#isTickerBefore(row, column)) return this.#bars !== null
    const text = row.field(column) ?? ''
    if (ticker !== null && this.#bars !== null) {
      const first = this.#tickerText.toString('utf8', 0, this.#tickerLength)
      throw severalTickersError(this.#collector.placeOf(row.line, 'ticker'), ticker, first, text)
    }
    const symbol = ticker ?? parseTicker(text)
    this.#tickerLength = Math.min(Buffer.byteLength(text), 65)
    this.#tickerText.write(text)
    this.#bars = symbol === null ? null : this.#collector.barsOf(symbol)
    return this.#bars !== null
  }

  #isTickerBefore(row: Row, column: number): boolean {
    if (row.count <= column) return false
    const start = row.starts[column]!
    const length = row.ends[column]! - start
    if (length !== this.#tickerLength || length > 64) return false
    for (let i = 0; i < length; i++) if (row.bytes[start + i] !== this.#tickerText[i]) return false
    return true
  }
}

/** The first fault of a bar by its values; null for one that can be. @param text a value as its giver wrote it */
export function barFault(
  day: Day,
  latest: Day,
  value: (role: Role) => number,
  text: (role: Role) => string,
): Fault | null {
  if (day < EARLIEST || day > latest) return { role: 'date', reason: outOfTime(day, latest) }
  const bad = PRICES.find(role => !isPrice(value(role)))
  if (bad !== undefined) return { role: bad, reason: priceReason(bad, text(bad), value(bad)) }
  if (value('high') < value('low')) return { role: 'high', reason: `high ${text('high')} is below low ${text('low')}` }
  if (isVolume(value('volume')) || isNullWord(text('volume'))) return null
  return { role: 'volume', reason: volumeReason(text('volume'), value('volume')) }
}

/** The error for a ticker hint when the rows name several tickers. */
export function severalTickersError(place: FilePosition, tickerHint: string, first: string, second: string): BadData {
  const some = `${quoted(first)}, ${quoted(second)}`
  const say = sentence`leave ${parameter('ticker', tickerHint)} away to import each under its own name`
  return new BadData(place, sentence`the file has several tickers (${some}); ${say}`)
}

const NO_BAR = 'cells of a ticker are empty on a day on which others have a bar'
const FOOTER = 'text at the end of the file, which is no row, is left out'

const NEEDS = 'a bar needs open, high, low and close'
const ADJUSTING_NEEDS = 'adjusted prices need it'

function outOfTime(day: Day, latest: Day): string {
  const date = formatDay(day)
  if (day > latest) return `date ${date} is yet to come: the last day that can have a bar is ${formatDay(latest)}`
  return `date ${date} is before 1800, and no bars are that old`
}

function priceReason(role: Role, text: string, value: number): string {
  if (isNullWord(text)) return `${role} is ${emptyWord(text)}; ${role === 'adj_close' ? ADJUSTING_NEEDS : NEEDS}`
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
