import { BadData, parameter, quoted, remedy, sentence } from '../../core/errors.js'
import {
  checkHints,
  type Dialect,
  delimiterName,
  detectDialect,
  type FormatHints,
  serial1904,
  unknownDateFormat,
} from './dialect.js'
import type { ReadOptions } from './feed.js'
import { type Cut, columnOf, MAX_FIELDS, MAX_LINE, Row, RowChecker, type RowFault, tooMany } from './row.js'
import type { Source } from './source.js'
import {
  type DateFormat,
  DateReader,
  type Decimal,
  decimalOf,
  guessDateFormat,
  maybe1904,
  orderProof,
} from './values.js'

/** A text table: its source, its dialect, and the user's hints. */
export class TextTable {
  readonly source: Source
  readonly dialect: Dialect
  readonly hints: FormatHints
  readonly options: ReadOptions
  readonly file: string
  readonly top: { file: string; line: number }

  /** Throws BadData when the text is no table, has no rows, or is of a kind that is neither daily bars nor facts. */
  constructor(source: Source, head: { bytes: Buffer; whole: boolean }, options: ReadOptions) {
    this.source = source
    this.hints = checkHints(options.hints)
    this.dialect = detectDialect(source.file, head.bytes, head.whole, this.hints)
    this.options = options
    this.file = source.file
    this.top = { file: source.file, line: this.dialect.headerLine }
  }

  /** Calls `visit` for every row that is not blank, with its fault if it is incomplete, and reports progress. */
  async eachRow(visit: (row: Row, rowFault: RowFault | null) => void): Promise<void> {
    const { source, options } = this
    const checker = new RowChecker(this.dialect.names)
    let rows = 0
    const counted = (row: Row) => {
      rows++
      visit(row, checker.faultOf(row))
    }
    const tick = () => options.onProgress?.({ bytes: source.taken(), total: source.total, rows })
    await eachRow(this.file, source.chunks(), this.dialect, counted, tick)
  }

  /**
   * The date format of a column, judged by the first rows. If these do not distinguish month and day, the whole file
   * and its other date columns decide. Throws BadData for an unknown or ambiguous format.
   */
  async dates(column: { name: string; index: number }, otherIndexes: readonly number[] = []): Promise<DateReader> {
    const { dateFormat, calendar } = this.hints
    return new DateReader(dateFormat ?? (await this.#dateFormat(column, otherIndexes)), calendar)
  }

  async #dateFormat(
    { name, index }: { name: string; index: number },
    otherIndexes: readonly number[],
  ): Promise<DateFormat> {
    const { file, source, dialect } = this
    const texts = this.#textsIn([index]).filter(text => text !== '')
    const guess = guessDateFormat(texts)
    const place = { file, line: dialect.line, column: columnOf(dialect.firstRow, dialect.delimiter, index) }
    if ('format' in guess && guess.format === 'Excel serial' && maybe1904(texts))
      throw serial1904(place, name, texts[0]!)
    if ('format' in guess) return guess.format
    if ('unknown' in guess) throw unknownDateFormat(place, name, texts[0], guess)
    let balance = 0
    await eachRow(file, source.chunks(), dialect, row => {
      for (const other of [index, ...otherIndexes]) balance += orderProof(row.field(other) ?? '')
    })
    if (balance !== 0) return balance > 0 ? 'DD/MM/YYYY' : 'MM/DD/YYYY'
    throw unknownDateFormat(place, name, texts[0], guess)
  }

  /**
   * The decimal separator, judged by the first rows of some columns. Columns of `whole` numbers can only prove it.
   * Throws BadData when the numbers are ambiguous.
   */
  decimal(fractions: readonly number[], whole: readonly number[]): Decimal {
    const { hints, dialect, file } = this
    if (hints.decimal !== undefined) return hints.decimal
    if (dialect.delimiter === ',' && !dialect.quoted) return '.'
    const texts = this.#textsIn(fractions)
    const volumes = this.#textsIn(whole)
    const sign = decimalOf(texts, volumes, dialect.delimiter)
    if (sign !== null) return sign
    const example = [...texts, ...volumes].find(text => /[.,]/.test(text))!
    const signs = sentence`${parameter('decimal', ',')} or ${parameter('decimal', '.')}`
    throw new BadData({ file }, sentence`${quoted(example)} can be a decimal or thousands; give ${signs}`, {
      remedy: remedy('import', [file], { decimal: ',' }, true),
    })
  }

  #textsIn(columns: readonly number[]): string[] {
    return this.dialect.samples.flatMap(fields => columns.flatMap(index => fields[index] ?? []))
  }

  /**
   * How the file is written, for people: what is described, and how. @param more about its columns @param decimal the
   * separator found in its numbers
   */
  words(more: Record<string, string>, decimal: Decimal): Record<string, string> {
    const { bom, delimiter, quoted, eol, crlf, header, above } = this.dialect
    const { calendar } = this.hints
    return {
      encoding: bom ? 'UTF-8 with BOM' : this.source.encoding,
      compression: this.source.compression,
      delimiter: delimiterName(delimiter),
      quotes: quoted ? 'yes' : 'no',
      'line ends': eol === '\r' ? 'CR' : crlf ? 'CRLF' : 'LF',
      header: header === null ? 'no' : this.hints.header === undefined ? 'yes' : 'replaced',
      ...(above === 0 ? {} : { 'lines above it': `${above}, left out` }),
      ...more,
      ...(calendar === undefined ? {} : { 'time zone': calendar.zone }),
      decimal: decimal === '.' ? 'point' : 'comma',
    }
  }
}

const QUOTE = 34
const SPACE = 32
const TAB = 9
const RETURN = 13

/**
 * Calls `visit` for every row that is not blank, `tick` after every chunk. A scanner of our own, several times as fast as
 * csv-parse, with the raw text that rejects need.
 */
async function eachRow(
  file: string,
  chunks: AsyncIterable<Buffer>,
  cut: Cut,
  visit: (row: Row) => void,
  tick: () => void = () => {},
): Promise<void> {
  const scanner = new Scanner(file, cut, visit)
  let skip = cut.offset
  for await (const whole of chunks) {
    const chunk = whole.subarray(Math.min(skip, whole.length))
    skip -= whole.length - chunk.length
    scanner.take(chunk)
    tick()
  }
  scanner.finish()
}

class Scanner {
  /** The line at which the row at hand starts. */
  #line: number
  #bytes: Buffer = Buffer.alloc(0)
  readonly #file: string
  readonly #delimiter: number
  readonly #eol: number
  readonly #visit: (row: Row) => void
  readonly #row = new Row()

  constructor(file: string, cut: Cut, visit: (row: Row) => void) {
    this.#line = cut.line
    this.#file = file
    this.#delimiter = cut.delimiter.charCodeAt(0)
    this.#eol = cut.eol.charCodeAt(0)
    this.#visit = visit
  }

  /** Visits the rows that end in this chunk. */
  take(chunk: Buffer): void {
    if (this.#bytes.length > 0) this.#bytes = Buffer.concat([this.#bytes, chunk])
    else this.#bytes = chunk
    let from = 0
    for (let end = this.#bytes.indexOf(this.#eol); end >= 0; end = this.#bytes.indexOf(this.#eol, from)) {
      const next = this.#take(from, end, false)
      if (next < 0) break
      from = next
    }
    this.#bytes = this.#bytes.subarray(from)
    if (this.#bytes.length > MAX_LINE) throw this.#bad('a line of more than a megabyte; this is no table of bars')
  }

  /** Visits the remaining rows; the last one has no line end. */
  finish(): void {
    for (let from = 0; from < this.#bytes.length; ) {
      const end = this.#bytes.indexOf(this.#eol, from)
      from = this.#take(from, end < 0 ? this.#bytes.length : end, true)
    }
  }

  /** Cuts and visits one row; where the next one starts, -1 when its quotes run on beyond the bytes there are. */
  #take(from: number, to: number, last: boolean): number {
    const row = this.#row
    row.bytes = this.#bytes
    row.line = this.#line
    const end = to > from && row.bytes[to - 1] === RETURN ? to - 1 : to
    const count = this.#cut(from, end)
    if (count < 0) return this.#takeQuoted(from, last)
    this.#line++
    if (count === 1 && row.starts[0] === row.ends[0]) return to + 1
    row.count = count
    row.from = from
    row.to = end
    row.ended = to < row.bytes.length
    this.#visit(row)
    return to + 1
  }

  /** Finds the fields of a row; returns their number, or -1 for quotes that need the slow way. */
  #cut(from: number, end: number): number {
    const { bytes } = this.#row
    const delimiter = this.#delimiter
    let count = 0
    let start = from
    let blank = true
    for (let i = from; i <= end; i++) {
      const byte = i === end ? delimiter : bytes[i]!
      if (byte === delimiter) {
        this.#mark(count++, start, i)
        start = i + 1
        blank = true
      } else if (byte === QUOTE && blank) {
        const close = bytes.indexOf(QUOTE, i + 1)
        if (close < 0 || close >= end || (close + 1 < end && bytes[close + 1] !== delimiter)) return -1
        this.#mark(count++, i + 1, close)
        i = close + 1
        start = i + 1
      } else if (byte !== SPACE) blank = false
    }
    return count
  }

  #mark(field: number, from: number, to: number): void {
    if (field === MAX_FIELDS) throw tooMany(this.#file, this.#line)
    const { bytes, starts, ends } = this.#row
    let start = from
    let end = to
    while (start < end && bytes[start] === SPACE) start++
    while (end > start && bytes[end - 1] === SPACE) end--
    starts[field] = start
    ends[field] = end
  }

  /** Takes a row that doubles quotes or breaks lines inside them, field by field. */
  #takeQuoted(from: number, last: boolean): number {
    const bytes = this.#bytes
    const row = this.#row
    const fields: string[] = []
    let at = from - 1
    do {
      const field = this.#quotedField(at + 1)
      if (field === null && (last || bytes.length - from > MAX_LINE))
        throw this.#bad('a quoted field opens here and is never closed')
      if (field === null || (field.end === bytes.length && !last)) return -1
      if (fields.length === MAX_FIELDS) throw tooMany(this.#file, this.#line)
      fields.push(field.text.trim())
      at = field.end
    } while (at < bytes.length && bytes[at] !== this.#eol)
    row.raw = bytes.toString('utf8', from, bytes[at - 1] === RETURN ? at - 1 : at)
    row.fill(fields)
    row.ended = at < bytes.length
    this.#visit(row)
    this.#line += row.raw.split(String.fromCharCode(this.#eol)).length
    row.raw = null
    return at + 1
  }

  /** The field that starts at a byte and the byte that ends it; null when its quote is not closed. */
  #quotedField(from: number): { text: string; end: number } | null {
    const bytes = this.#bytes
    const start = this.#afterBlanks(from)
    if (bytes[start] !== QUOTE) {
      let end = start
      while (end < bytes.length && bytes[end] !== this.#delimiter && bytes[end] !== this.#eol) end++
      return { text: bytes.toString('utf8', start, end), end }
    }
    let close = bytes.indexOf(QUOTE, start + 1)
    while (close >= 0 && bytes[close + 1] === QUOTE) close = bytes.indexOf(QUOTE, close + 2)
    if (close < 0) return null
    const end = this.#afterBlanks(close + 1)
    if (end < bytes.length && bytes[end] !== this.#delimiter && bytes[end] !== this.#eol)
      throw this.#bad('a quoted field is followed by more text before the next delimiter')
    return { text: bytes.toString('utf8', start + 1, close).replaceAll('""', '"'), end }
  }

  #afterBlanks(from: number): number {
    let at = from
    for (let byte = this.#bytes[at]; byte === SPACE || byte === TAB || byte === RETURN; byte = this.#bytes[++at])
      if (byte === this.#delimiter || byte === this.#eol) break
    return at
  }

  #bad(what: string): BadData {
    return new BadData({ file: this.#file, line: this.#line }, what)
  }
}
