import { BadData, type Place, parameter, sentence } from '../errors.js'
import type { Adjustment } from '../model/series.js'
import { parseTicker } from '../model/terms.js'
import type { Bars, Collector, Places } from './bars.js'
import {
  adjustBy,
  type Bar,
  type Cells,
  columnOf,
  type Fault,
  isFault,
  isPrice,
  isVolume,
  judge,
  type Reading,
  tickerReason,
  timeValue,
} from './judge.js'
import { type Columns, ROLES, type Row, surplusField, surplusReason } from './layout.js'
import { isNullWord, numberAt, shown } from './values.js'

export interface TablePlan extends Reading {
  file: string
  delimiter: string
  columns: Columns
  /** How many fields a row has at most. */
  width: number
  /** The ticker of all rows; null when each names its own. */
  ticker: string | null
}

/** Reads the rows of a table, one after the other, into a collector. */
export class TableRows {
  /** Whether every price and volume so far was a whole number. */
  whole = true
  readonly #plan: TablePlan
  readonly #collector: Collector
  readonly #bar: Bar = { day: 0, seconds: 0, open: 0, high: 0, low: 0, close: 0, volume: 0, unadjusted: Number.NaN }
  readonly #tickerText = Buffer.alloc(64)
  #tickerLength = -1
  #bars: Bars | null = null

  constructor(plan: TablePlan, collector: Collector) {
    this.#plan = plan
    this.#collector = collector
  }

  visit(row: Row): void {
    this.#collector.rows++
    const verdict = this.#judge(row)
    if (isFault(verdict)) this.#collector.reject(row.line, verdict)
    else {
      this.#collector.add(this.#bars!, verdict, row.line)
      if (this.whole) this.whole = isWhole(verdict)
    }
  }

  #judge(row: Row): Bar | TableFault {
    const { width, columns } = this.#plan
    const surplus = row.count > width ? surplusField(row, width) : -1
    if (surplus >= 0) return { role: 'close', field: surplus, reason: surplusReason(row, width) }
    if (!this.#findBars(row)) return tickerFault(row, columns)
    return this.#quick(row) ? this.#bar : judge(cellsOf(row, columns), this.#plan)
  }

  /** Fills the bar straight from the bytes; false when anything about the row needs a closer look. */
  #quick(row: Row): boolean {
    const { columns, dates } = this.#plan
    const bar = this.#bar
    const date = columns.date!
    if (row.count <= date) return false
    bar.day = dates.at(row.bytes, row.starts[date]!, row.ends[date]!)
    bar.seconds = dates.seconds
    bar.open = this.#number(row, columns.open!)
    bar.high = this.#number(row, columns.high!)
    bar.low = this.#number(row, columns.low!)
    bar.close = this.#number(row, columns.close!)
    if (Number.isNaN(bar.day) || !(isPrice(bar.open) && isPrice(bar.low) && isPrice(bar.close))) return false
    if (!isPrice(bar.high) || bar.high < bar.low) return false
    if (columns.time !== undefined) bar.seconds = timeValue(row.field(columns.time) ?? '')
    if (!this.#quickVolume(row)) return false
    if (!this.#plan.adjust) return true
    const adjusted = this.#number(row, columns.adj_close!)
    return isPrice(adjusted) && adjustBy(bar, adjusted)
  }

  #quickVolume(row: Row): boolean {
    const { volume } = this.#plan.columns
    this.#bar.volume = Number.NaN
    if (volume === undefined || row.count <= volume || row.starts[volume] === row.ends[volume]) return true
    this.#bar.volume = this.#number(row, volume)
    return isVolume(this.#bar.volume) || isNullWord(row.field(volume)!)
  }

  #number(row: Row, column: number): number {
    if (row.count <= column) return Number.NaN
    return numberAt(row.bytes, row.starts[column]!, row.ends[column]!, this.#plan.decimal)
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
    if (ticker !== null && this.#bars !== null) throw this.#severalTickers(row, column)
    const text = row.field(column) ?? ''
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

  #severalTickers(row: Row, column: number): BadData {
    const { file, delimiter, ticker } = this.#plan
    const first = this.#tickerText.toString('utf8', 0, this.#tickerLength)
    const place = { file, line: row.line, column: columnOf(row.text(), delimiter, column) }
    return severalTickers(place, ticker!, first, row.field(column) ?? '')
  }
}

/** The refusal of a ticker that was given for a file whose rows name more than one. */
export function severalTickers(place: Place, given: string, first: string, second: string): BadData {
  const some = `${shown(first)}, ${shown(second)}`
  const say = sentence`leave ${parameter('ticker', given)} away to import each under its own name`
  return new BadData(place, sentence`the file has several tickers (${some}); ${say}`)
}

/** A fault of a field that has no role. */
interface TableFault extends Fault {
  field?: number
}

/** Places in a table, for the row at hand. */
export class TablePlaces implements Places {
  readonly #plan: TablePlan
  #row: Row | null = null

  constructor(plan: TablePlan) {
    this.#plan = plan
  }

  at(row: Row): Row {
    this.#row = row
    return row
  }

  lineOf(row: number): number {
    return row
  }

  reject(line: number, fault: TableFault) {
    const text = this.#row!.text()
    const field = fault.field ?? this.#plan.columns[fault.role] ?? 0
    return { line, column: columnOf(text, this.#plan.delimiter, field), reason: fault.reason, text }
  }
}

function cellsOf(row: Row, columns: Columns): Cells {
  const cells: Cells = {}
  for (const role of ROLES) if (columns[role] !== undefined) cells[role] = row.field(columns[role])
  return cells
}

function tickerFault(row: Row, columns: Columns): Fault {
  return { role: 'ticker', reason: tickerReason(row.field(columns.ticker!) ?? '') }
}

function isWhole(bar: Bar): boolean {
  return (
    Number.isInteger(bar.open) &&
    Number.isInteger(bar.high) &&
    Number.isInteger(bar.low) &&
    Number.isInteger(bar.close) &&
    (Number.isNaN(bar.volume) || Number.isInteger(bar.volume))
  )
}

interface AdjustmentPlan {
  prices: Adjustment
  /** Whether prices are to be multiplied by adjusted close over close. */
  adjust: boolean
  /** What is done, in words for people. */
  note: string
}

/** What becomes of prices: adjusted wherever the file has an adjusted close, unless raw ones are wanted. */
export function adjustmentOf(hasAdjustedClose: boolean, wanted: Adjustment | undefined): AdjustmentPlan {
  if (hasAdjustedClose && wanted !== 'raw') return { prices: 'adjusted', adjust: true, note: 'adjusted by adj_close' }
  if (hasAdjustedClose) return { prices: 'raw', adjust: false, note: 'prices as they are; adj_close is not used' }
  if (wanted === 'adjusted')
    return { prices: 'adjusted', adjust: false, note: 'no adjusted close in the file: taken as adjusted, as you say' }
  return { prices: 'raw', adjust: false, note: 'no adjusted close in the file: prices as they are' }
}
