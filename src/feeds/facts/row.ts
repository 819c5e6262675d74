import type { FactValue } from '../../model/facts.js'
import { parseTicker } from '../../model/ticker.js'
import type { Rejected } from '../feed.js'
import { severalTickers } from '../table/read-rows.js'
import { type Row, surplusField, surplusReason } from '../table/row.js'
import type { DateReader } from '../value/dates.js'
import { columnOf } from '../value/fields.js'
import { emptyWord, tickerReason } from '../value/judge.js'
import { type Decimal, isNullWord } from '../value/numbers.js'
import { plainName } from './names.js'
import { BadCell, type FactValues, isUnknown, readValue } from './values.js'

/** The columns that a format reads, and what each holds. */
export type Columns = Readonly<Record<string, FactValue>>

/** How the rows of a table of facts are to be read. */
export interface FactsPlan {
  file: string
  delimiter: string
  /** How many fields a row has at most. */
  width: number
  /** Where each column stands, by its plain name. */
  places: ReadonlyMap<string, number>
  /** Where the ticker stands; undefined when no column names it. */
  tickerColumn: number | undefined
  /** The ticker that the user gave. */
  given: string | null
  /** A reader for each column of dates that the file has, by the name of the column. */
  dates: Readonly<Record<string, DateReader>>
  decimal: Decimal
}

/** The row at hand of a table of facts, by the names of its columns; one object for a whole file. */
export class FactRow<Reads extends Columns = Columns> {
  readonly #plan: FactsPlan
  readonly #reads: Reads
  #row: Row | null = null
  #firstTicker: string | null = null

  constructor(plan: FactsPlan, reads: Reads) {
    this.#plan = plan
    this.#reads = reads
  }

  /** Moves on to a row; throws BadCell when it has more fields than its header. The last may be left out, as empty. */
  set(row: Row): void {
    this.#row = row
    const surplus = row.count > this.#plan.width ? surplusField(row, this.#plan.width) : -1
    if (surplus >= 0) throw new BadCell(surplus, surplusReason(row, this.#plan.width))
  }

  /** Whether the file has a column. */
  has(name: string): boolean {
    return this.#plan.places.has(plainName(name))
  }

  /** `file:line`. */
  get place(): string {
    return `${this.#plan.file}:${this.#row!.line}`
  }

  /** The ticker, upper case. Throws BadCell when it is none, BadData when one was given and the file has several. */
  get ticker(): string {
    const { tickerColumn: column, given, file, delimiter } = this.#plan
    if (column === undefined) return given!
    const text = this.#row!.field(column) ?? ''
    if (given !== null) {
      this.#firstTicker ??= text
      if (this.#firstTicker === text) return given
      const at = { file, line: this.#row!.line, column: columnOf(this.#row!.text(), delimiter, column) }
      throw severalTickers(at, given, this.#firstTicker, text)
    }
    const ticker = parseTicker(text)
    if (ticker === null) throw new BadCell('ticker', tickerReason(text))
    return ticker
  }

  /** The value of a column, null where it is empty or the file has no such column; throws BadCell. */
  optional<Name extends keyof Reads & string>(name: Name): FactValues[Reads[Name]] | null {
    const text = this.#text(name)
    if (isNullWord(text) || isUnknown(this.#reads[name]!, text)) return null
    const { dates, decimal } = this.#plan
    return readValue(this.#reads[name]!, { name, text, dates: dates[name], decimal })
  }

  /** The value of a column without which the row says nothing; throws BadCell. */
  required<Name extends keyof Reads & string>(name: Name): FactValues[Reads[Name]] {
    const value = this.optional(name)
    if (value === null) throw new BadCell(name, `${name} is ${emptyWord(this.#text(name))}; every row needs it`)
    return value
  }

  /** The row as one that is not loaded. */
  rejected({ column, message }: BadCell): Rejected {
    const { delimiter } = this.#plan
    const row = this.#row!
    const text = row.text()
    return { line: row.line, column: columnOf(text, delimiter, this.#fieldOf(column)), reason: message, text }
  }

  #text(name: string): string {
    const place = this.#plan.places.get(plainName(name))
    return place === undefined ? '' : (this.#row!.field(place) ?? '')
  }

  #fieldOf(column: string | number): number {
    if (typeof column === 'number') return column
    return (column === 'ticker' ? this.#plan.tickerColumn : this.#plan.places.get(plainName(column))) ?? 0
  }
}
