import { BadData, parameter, sentence } from '../errors.js'
import { checkHints, type Dialect, delimiterName, detectDialect, type Given, undatable } from './dialect.js'
import type { ReadOptions } from './feed.js'
import { columnOf, type Misfit, type Row, Wholeness } from './row.js'
import { eachRow } from './rows.js'
import type { Source } from './source.js'
import { type DateFormat, DateReader, type Decimal, decimalOf, guessDateFormat, orderProof, shown } from './values.js'

/** A table of text: where it lies, how it is written, and what the user said about it. */
export class TextTable {
  readonly source: Source
  readonly dialect: Dialect
  readonly given: Given
  readonly options: ReadOptions
  readonly file: string
  /** Where the header stands. */
  readonly top: { file: string; line: number }

  /** Throws BadData when the text is no table, has no rows, or is of a kind that is neither daily bars nor facts. */
  constructor(source: Source, head: { bytes: Buffer; whole: boolean }, options: ReadOptions) {
    this.source = source
    this.given = checkHints(options.hints)
    this.dialect = detectDialect(source.file, head.bytes, head.whole, this.given)
    this.options = options
    this.file = source.file
    this.top = { file: source.file, line: this.dialect.headerLine }
  }

  /** Calls `visit` for every row that is not blank, with why it is not whole, and tells how far it is. */
  async eachRow(visit: (row: Row, misfit: Misfit | null) => void): Promise<void> {
    const { source, options } = this
    const wholeness = new Wholeness(this.dialect.names)
    let rows = 0
    const counted = (row: Row) => {
      rows++
      visit(row, wholeness.misfit(row))
    }
    const tick = () => options.onProgress?.({ bytes: source.taken(), total: source.total, rows })
    await eachRow(this.file, source.chunks(), this.dialect, counted, tick)
  }

  /**
   * How the dates of a column are read, judged by the first rows; by the whole file, and the columns of dates beside it,
   * when those do not tell the month from the day. Throws BadData when they are in no known form, or nothing tells.
   */
  async dates(column: { name: string; index: number }, beside: readonly number[] = []): Promise<DateReader> {
    const { dateFormat, calendar } = this.given
    return new DateReader(dateFormat ?? (await this.#dateFormat(column, beside)), calendar)
  }

  async #dateFormat({ name, index }: { name: string; index: number }, beside: readonly number[]): Promise<DateFormat> {
    const { file, source, dialect } = this
    const texts = this.#textsIn([index]).filter(text => text !== '')
    const guess = guessDateFormat(texts)
    if ('format' in guess) return guess.format
    const place = { file, line: dialect.line, column: columnOf(dialect.firstRow, dialect.delimiter, index) }
    if ('unknown' in guess) throw undatable(place, name, texts[0], guess)
    let balance = 0
    await eachRow(file, source.chunks(), dialect, row => {
      for (const other of [index, ...beside]) balance += orderProof(row.field(other) ?? '')
    })
    if (balance !== 0) return balance > 0 ? 'DD/MM/YYYY' : 'MM/DD/YYYY'
    throw undatable(place, name, texts[0], guess)
  }

  /**
   * Which sign separates decimals, judged by the first rows of some columns; those of `whole` numbers prove it, and cast no
   * doubt. Throws BadData when the numbers can be read both ways.
   */
  decimal(fractions: readonly number[], whole: readonly number[]): Decimal {
    const { given, dialect, file } = this
    if (given.decimal !== undefined) return given.decimal
    if (dialect.delimiter === ',' && !dialect.quoted) return '.'
    const texts = this.#textsIn(fractions)
    const volumes = this.#textsIn(whole)
    const sign = decimalOf(texts, volumes, dialect.delimiter)
    if (sign !== null) return sign
    const example = [...texts, ...volumes].find(text => /[.,]/.test(text))!
    const signs = sentence`${parameter('decimal', ',')} or ${parameter('decimal', '.')}`
    throw new BadData({ file }, sentence`${shown(example)} can be a decimal or thousands; give ${signs}`)
  }

  #textsIn(columns: readonly number[]): string[] {
    return this.dialect.samples.flatMap(fields => columns.flatMap(index => fields[index] ?? []))
  }

  /** How it is written, in words for people; `more` is said of its columns. */
  words(more: Record<string, string>, decimal: Decimal): Record<string, string> {
    const { bom, delimiter, quoted, eol, crlf, header } = this.dialect
    const { calendar } = this.given
    return {
      encoding: bom ? 'UTF-8 with BOM' : 'UTF-8',
      compression: this.source.compression,
      delimiter: delimiterName(delimiter),
      quotes: quoted ? 'yes' : 'no',
      'line ends': eol === '\r' ? 'CR' : crlf ? 'CRLF' : 'LF',
      header: header === null ? 'no' : this.given.header === undefined ? 'yes' : 'replaced',
      ...more,
      ...(calendar === undefined ? {} : { 'time zone': calendar.zone }),
      decimal: decimal === '.' ? 'point' : 'comma',
    }
  }
}
