import { quoted } from '../../../core/errors.js'
import type { Day } from '../../../core/model/day.js'
import type { FactValue, Report, Session } from '../../../core/model/facts.js'
import type { AssetClass } from '../../../core/model/series.js'
import { parseTicker } from '../../../core/model/terms.js'
import type { Rejected } from '../feed.js'
import { normalizedColumnName } from '../names.js'
import { futureDateReason, severalTickersError, tickerReason } from '../price-rows.js'
import type { Row, RowFault } from '../row.js'
import { type DateReader, type Decimal, dateReason, emptyWord, isNullWord, readNumber } from '../values.js'

/** The columns that a format reads, and what each holds; with `!` every row needs it. */
export type Columns = Readonly<Record<string, FactValue | `${FactValue}!`>>

/** The kind of value that a column holds, without the mark `!` of a required one. */
export function valueKind(column: Columns[string]): FactValue {
  return column.replace('!', '') as FactValue
}

export interface FactsPlan {
  file: string
  delimiter: string
  columnIndexes: ReadonlyMap<string, number>
  /** Index of the ticker column; undefined if there is none. */
  tickerColumn: number | undefined
  /** The ticker that the user gave. */
  tickerHint: string | null
  /** A reader for each column of dates that the file has, by the name of the column. */
  dates: Readonly<Record<string, DateReader>>
  /** The last day on which anything can be known: tomorrow. */
  latest: Day
  decimal: Decimal
}

/** A row by the names of its columns. An empty or missing one is null; a bad one throws BadCell. */
export type FactRow<Reads extends Columns = Columns> = {
  readonly ticker: string
  /** `file:line`. */
  readonly place: string
} & {
  readonly [Name in keyof Reads]: Reads[Name] extends `${infer Holds extends FactValue}!`
    ? FactValues[Holds]
    : FactValues[Extract<Reads[Name], FactValue>] | null
}

/** Reads the current row of a table of facts; one object for a whole file. */
export class RowReader {
  /** The current row for a format: each property reads its column when it is used. */
  readonly columns: FactRow
  readonly #plan: FactsPlan
  #row: Row | null = null
  #firstTicker: string | null = null

  constructor(plan: FactsPlan, reads: Columns) {
    this.#plan = plan
    const columns = Object.entries(reads).map(([name, column]) => [name, { get: () => this.#value(name, column) }])
    const place = { get: () => `${plan.file}:${this.#row!.line}` }
    const getters = { ticker: { get: () => this.#ticker() }, place, ...Object.fromEntries(columns) }
    this.columns = Object.defineProperties({}, getters) as FactRow
  }

  /** Moves on to a row; throws BadCell when it is incomplete. */
  moveTo(row: Row, rowFault: RowFault | null): void {
    this.#row = row
    if (rowFault !== null) throw new BadCell(rowFault.field, rowFault.reason)
  }

  /** The ticker, upper case. Throws BadCell for an invalid one, BadData for several where the user gave one. */
  #ticker(): string {
    const { tickerColumn: column, tickerHint, file, delimiter } = this.#plan
    if (column === undefined) return tickerHint!
    const text = this.#row!.field(column) ?? ''
    if (tickerHint !== null) {
      this.#firstTicker ??= text
      if (this.#firstTicker === text) return tickerHint
      const { line, column: textColumn } = this.#row!.rejected(delimiter, column, '')
      throw severalTickersError({ file, line, column: textColumn }, tickerHint, this.#firstTicker, text)
    }
    const ticker = parseTicker(text)
    if (ticker === null) throw new BadCell('ticker', tickerReason(text))
    return ticker
  }

  /** The current row as a rejected one, with the position of the bad cell. */
  rejected({ column, message }: BadCell): Rejected {
    return this.#row!.rejected(this.#plan.delimiter, this.#columnIndex(column), message)
  }

  /** A column's value in the current row; null if empty or an unknown session. BadCell for a bad or missing one. */
  #value(name: string, declaration: Columns[string]): unknown {
    const { columnIndexes, dates, decimal, latest } = this.#plan
    const index = columnIndexes.get(normalizedColumnName(name))
    const text = index === undefined ? '' : (this.#row!.field(index) ?? '')
    const kind = valueKind(declaration)
    if (isNullWord(text) || isUnknownSession(kind, text)) {
      const isRequired = declaration.endsWith('!')
      if (!isRequired) return null
      throw new BadCell(name, `${name} is ${emptyWord(text)}; every row needs it`)
    }
    const value = READERS[kind]({ name, text, dates: dates[name], decimal })
    refuseFutureDay(name, value, () => text, latest)
    return value
  }

  /** Index of a column; 0 if the file does not have it. */
  #columnIndex(column: string | number): number {
    if (typeof column === 'number') return column
    const { tickerColumn, columnIndexes } = this.#plan
    const index = column === 'ticker' ? tickerColumn : columnIndexes.get(normalizedColumnName(column))
    return index ?? 0
  }
}

interface FactValues {
  date: Day
  session: Exclude<Session, null>
  number: number
  count: number
  positive: number
  amount: number
  return: number
  text: string
  side: 'buy' | 'sell'
  basis: Report['basis']
  asset_class: AssetClass
}

/** A field that is not empty, and the formats of its file. */
interface Cell {
  name: string
  text: string
  dates: DateReader | undefined
  decimal: Decimal
}

/** Columns with dates of past events; other dates may be announced ones. */
const PAST_EVENT_COLUMNS: ReadonlySet<string> = new Set(['known', 'filed', 'snapshot', 'date', 'transaction_date'])

/** Throws BadCell for a future day in a column of past events. @param text the value as written, for the message */
export function refuseFutureDay(name: string, value: unknown, text: () => string, latest: Day): void {
  if (PAST_EVENT_COLUMNS.has(name) && Number(value) > latest)
    throw new BadCell(name, futureDateReason(name, quoted(text())))
}

/** The fault of a row, and its field: by the name of the column, or by number without one. */
export class BadCell extends Error {
  readonly column: string | number

  constructor(column: string | number, reason: string) {
    super(reason)
    this.column = column
  }
}

/** Whether a text is a usual word for an unknown session. */
function isUnknownSession(holds: FactValue, text: string): boolean {
  return holds === 'session' && /^(unknown|unspecified|-)$/i.test(text.trim())
}

/** More than any number of analysts who follow a share, and any split in the books of an exchange. */
export const MAX_ANALYSTS = 1_000
const MAX_SPLIT_RATIO = 10_000

export function refuseImpossibleRatio(ratio: number, column: string): void {
  if (ratio <= MAX_SPLIT_RATIO && ratio >= 1 / MAX_SPLIT_RATIO) return
  throw new BadCell(
    column,
    `a split of ${ratio} to 1 is beyond reason: it lies between 1/${MAX_SPLIT_RATIO} and ${MAX_SPLIT_RATIO}`,
  )
}

const SESSIONS = { pre: 'pre', bmo: 'pre', before: 'pre', post: 'post', amc: 'post', after: 'post' } as const
const SIDES = { buy: 'buy', purchase: 'buy', sell: 'sell', sale: 'sell' } as const
const BASES = { bars: 'bars', filed: 'filed' } as const
const ASSET_CLASSES = { stock: 'stock', crypto: 'crypto', etf: 'etf' } as const

const READERS: { readonly [Holds in FactValue]: (cell: Cell) => FactValues[Holds] } = {
  date: cell => {
    const dates = cell.dates!
    return dates.read(cell.text) ?? refuse(cell, dateReason(cell.name, cell.text, dates.format))
  },
  session: wordReader(SESSIONS, 'pre or post (or bmo, before, amc, after), or empty where it is unknown'),
  number: readFiniteNumber,
  count: numberReader(
    [value => Number.isInteger(value) && value >= 0, 'is not a whole number, 0 or more'],
    [value => value <= MAX_ANALYSTS, `is beyond reason: at most ${MAX_ANALYSTS} analysts`],
  ),
  positive: numberReader([value => value > 0, 'is not above 0']),
  amount: numberReader([value => value >= 0, 'is below 0; it is money paid or received, as side says']),
  return: numberReader([value => value >= -1, 'is below -1; it is a fraction, and -1 is a total loss']),
  // A line break inside a name would break every table that shows it.
  text: cell => cell.text.replace(/\s+/g, ' ').trim(),
  side: wordReader(SIDES, 'buy or sell (or purchase, sale)'),
  basis: wordReader(BASES, 'bars or filed'),
  asset_class: wordReader(ASSET_CLASSES, 'stock, crypto or etf'),
}

/** The finite number in a cell; -0 becomes 0. Throws BadCell for anything else. */
function readFiniteNumber(cell: Cell): number {
  const value = readNumber(cell.text, cell.decimal)
  if (Number.isNaN(value)) return refuse(cell, aboutCell(cell, 'is no number; it may be written as 1234.5 or 1.2345e3'))
  return Number.isFinite(value) ? value + 0 : refuse(cell, aboutCell(cell, 'is too large for a number'))
}

/** Returns a reader of numbers that throws BadCell if a rule refuses one; each rule has the text for its violation. */
function numberReader(...rules: readonly (readonly [allows: (value: number) => boolean, violation: string])[]) {
  return (cell: Cell): number => {
    const value = readFiniteNumber(cell)
    const brokenRule = rules.find(([allows]) => !allows(value))
    return brokenRule === undefined ? value : refuse(cell, aboutCell(cell, brokenRule[1]))
  }
}

/**
 * Returns a reader that looks a word up, regardless of case, and returns its meaning. It throws BadCell for other
 * words.
 * @param words the meaning of each word
 * @param allowed the allowed words, for the error
 */
function wordReader<Meaning extends string>(words: Readonly<Record<string, Meaning>>, allowed: string) {
  return (cell: Cell): Meaning => {
    const lowerCase = cell.text.toLowerCase()
    return Object.hasOwn(words, lowerCase) ? words[lowerCase]! : refuse(cell, aboutCell(cell, `is not ${allowed}`))
  }
}

function aboutCell({ name, text }: Cell, what: string): string {
  return `${name} ${quoted(text)} ${what}`
}

function refuse({ name }: Cell, reason: string): never {
  throw new BadCell(name, reason)
}
