import { BadData, parameter, quoted, sentence, typedLineWith } from '../../core/errors.js'
import {
  type CheckedHints,
  type Dialect,
  delimiterName,
  detectDialect,
  parseHints,
  serialStartError,
  unknownDateFormatError,
} from './dialect.js'
import type { ReadOptions } from './feed.js'
import { type Cut, columnOf, MAX_FIELDS, MAX_LINE, Row, RowChecker, type RowFault, tooManyFields } from './row.js'
import type { Head, Source } from './source.js'
import {
  type DateFormat,
  DateReader,
  type Decimal,
  dayFirstProof,
  guessDateFormat,
  guessDecimal,
  maySerialsCountFrom1904,
} from './values.js'

/** A text table: its source, its dialect, and the user's hints. */
export class TextTable {
  readonly source: Source
  readonly dialect: Dialect
  readonly hints: CheckedHints
  readonly options: ReadOptions
  readonly file: string
  readonly top: { file: string; line: number }

  /** Throws BadData when the text is no table, has no rows, or is of a kind that is neither daily bars nor facts. */
  constructor(source: Source, head: Head, options: ReadOptions) {
    this.source = source
    this.hints = parseHints(options.hints)
    this.dialect = detectDialect(source.file, head.bytes, head.isComplete, this.hints)
    this.options = options
    this.file = source.file
    this.top = { file: source.file, line: this.dialect.headerLine }
  }

  /** Calls `visit` for every row that is not blank, with its fault if it is incomplete, and reports progress. */
  async eachRow(visit: (row: Row, rowFault: RowFault | null) => void): Promise<void> {
    const { source, options } = this
    const checker = new RowChecker(this.dialect.names)
    let rows = 0
    const countAndVisit = (row: Row) => {
      rows++
      visit(row, checker.checkRow(row))
    }
    const reportProgress = () => options.onProgress?.({ bytes: source.bytesTaken(), total: source.total, rows })
    await scanRows(this.file, source.chunks(), this.dialect, countAndVisit, reportProgress)
  }

  /**
   * The date format of a column, judged by the first rows. If these do not distinguish month and day, the whole file
   * and its other date columns decide. Throws BadData for an unknown or ambiguous format.
   */
  async dateReader(
    column: { name: string; index: number },
    otherDateColumns: readonly number[] = [],
  ): Promise<DateReader> {
    const { dateFormat, calendar } = this.hints
    return new DateReader(dateFormat ?? (await this.#detectDateFormat(column, otherDateColumns)), calendar)
  }

  /** The format for `dateReader`. The whole file is read only if its first rows fit both orders of day and month. */
  async #detectDateFormat(
    { name, index }: { name: string; index: number },
    otherDateColumns: readonly number[],
  ): Promise<DateFormat> {
    const { file, source, dialect } = this
    const texts = this.#samplesOf([index]).filter(text => text !== '')
    const guess = guessDateFormat(texts)
    const place = { file, line: dialect.line, column: columnOf(dialect.firstRow, dialect.delimiter, index) }
    if ('format' in guess && guess.format === 'Excel serial' && maySerialsCountFrom1904(texts))
      throw serialStartError(place, name, texts[0]!)
    if ('format' in guess) return guess.format
    if ('unknown' in guess) throw unknownDateFormatError(place, name, texts[0], guess)
    let dayFirstProofs = 0
    await scanRows(file, source.chunks(), dialect, row => {
      for (const column of [index, ...otherDateColumns]) dayFirstProofs += dayFirstProof(row.field(column) ?? '')
    })
    if (dayFirstProofs !== 0) return dayFirstProofs > 0 ? 'DD/MM/YYYY' : 'MM/DD/YYYY'
    throw unknownDateFormatError(place, name, texts[0], guess)
  }

  /**
   * The decimal separator, judged by the first rows of some columns. Throws BadData when the numbers are ambiguous.
   * @param fractionColumns columns of numbers such as prices
   * @param wholeColumns columns of whole numbers, whose separators count only where they are unambiguous
   */
  decimalSeparator(fractionColumns: readonly number[], wholeColumns: readonly number[]): Decimal {
    const { hints, dialect, file } = this
    if (hints.decimal !== undefined) return hints.decimal
    if (dialect.delimiter === ',' && !dialect.quoted) return '.'
    const fractions = this.#samplesOf(fractionColumns)
    const wholeNumbers = this.#samplesOf(wholeColumns)
    const separator = guessDecimal(fractions, wholeNumbers, dialect.delimiter)
    if (separator !== null) return separator
    const example = [...fractions, ...wholeNumbers].find(text => /[.,]/.test(text))!
    const signs = sentence`${parameter('decimal', ',')} or ${parameter('decimal', '.')}`
    throw new BadData({ file }, sentence`${quoted(example)} can be a decimal or thousands; give ${signs}`, {
      remedy: typedLineWith('import', [file], { decimal: ',' }),
    })
  }

  /** The fields of some columns in the first rows. */
  #samplesOf(columns: readonly number[]): string[] {
    return this.dialect.samples.flatMap(fields => columns.flatMap(index => fields[index] ?? []))
  }

  /**
   * How the file is written, in words by topic. @param columnTopics topics about its columns @param decimal the
   * separator in its numbers
   */
  describe(columnTopics: Record<string, string>, decimal: Decimal): Record<string, string> {
    const { bom, delimiter, quoted, eol, crlf, header, linesAbove } = this.dialect
    const { calendar } = this.hints
    const newline = crlf ? 'CRLF' : 'LF'
    const headerUse = this.hints.header === undefined ? 'yes' : 'replaced'
    const topics: Record<string, string> = {
      encoding: bom ? 'UTF-8 with BOM' : this.source.encoding,
      compression: this.source.compression,
      delimiter: delimiterName(delimiter),
      quotes: quoted ? 'yes' : 'no',
      'line ends': eol === '\r' ? 'CR' : newline,
      header: header === null ? 'no' : headerUse,
    }
    if (linesAbove > 0) topics['lines above it'] = `${linesAbove}, left out`
    Object.assign(topics, columnTopics)
    if (calendar !== undefined) topics['time zone'] = calendar.zone
    topics.decimal = decimal === '.' ? 'point' : 'comma'
    return topics
  }
}

const QUOTE = 34
const SPACE = 32
const TAB = 9
const CARRIAGE_RETURN = 13
/** Returned instead of the start of the next row, where a quoted field goes on beyond the bytes read so far. */
const NEEDS_MORE = -1
/** Returned instead of the number of fields, for a row with doubled quotes or line breaks in quotes. */
const HAS_QUOTES = -1

/**
 * Calls `visit` for every row that is not blank, and `afterChunk` after every chunk. It is several times as fast as
 * csv-parse, and gives the raw text that rejected rows need.
 */
async function scanRows(
  file: string,
  chunks: AsyncIterable<Buffer>,
  cut: Cut,
  visit: (row: Row) => void,
  afterChunk: () => void = () => {},
): Promise<void> {
  const scanner = new Scanner(file, cut, visit)
  let bytesToSkip = cut.offset
  for await (const chunk of chunks) {
    const skipped = Math.min(bytesToSkip, chunk.length)
    bytesToSkip -= skipped
    scanner.visitRowsIn(chunk.subarray(skipped))
    afterChunk()
  }
  scanner.finish()
}

/** Cuts the chunks of a text table into rows, and calls `visit` for each that is not blank. */
class Scanner {
  /** The line at which the row at hand starts. */
  #line: number
  #bytes: Buffer = Buffer.alloc(0)
  readonly #file: string
  readonly #delimiter: number
  readonly #eol: number
  readonly #visit: (row: Row) => void
  readonly #row = new Row()
  #isAllRead = false

  constructor(file: string, cut: Cut, visit: (row: Row) => void) {
    this.#line = cut.line
    this.#file = file
    this.#delimiter = cut.delimiter.charCodeAt(0)
    this.#eol = cut.eol.charCodeAt(0)
    this.#visit = visit
  }

  /** Visits the rows that end in the next chunk, and keeps its remaining bytes. */
  visitRowsIn(chunk: Buffer): void {
    if (this.#bytes.length > 0) this.#bytes = Buffer.concat([this.#bytes, chunk])
    else this.#bytes = chunk
    let from = 0
    for (let end = this.#bytes.indexOf(this.#eol); end >= 0; end = this.#bytes.indexOf(this.#eol, from)) {
      const next = this.#visitRow(from, end)
      if (next === NEEDS_MORE) break
      from = next
    }
    this.#bytes = this.#bytes.subarray(from)
    if (this.#bytes.length > MAX_LINE)
      throw this.#errorAtRow('a line of more than a megabyte; this is no table of bars')
  }

  /** Visits the remaining rows; the last one has no line end. */
  finish(): void {
    this.#isAllRead = true
    for (let from = 0; from < this.#bytes.length; ) {
      const end = this.#bytes.indexOf(this.#eol, from)
      from = this.#visitRow(from, end < 0 ? this.#bytes.length : end)
    }
  }

  /** Visits the row in bytes from..to; returns where the next row starts, or NEEDS_MORE. */
  #visitRow(from: number, to: number): number {
    const row = this.#row
    row.bytes = this.#bytes
    row.line = this.#line
    const end = to > from && row.bytes[to - 1] === CARRIAGE_RETURN ? to - 1 : to
    const count = this.#findFields(from, end)
    if (count === HAS_QUOTES) return this.#visitQuotedRow(from)
    this.#line++
    if (count === 1 && row.starts[0] === row.ends[0]) return to + 1
    row.count = count
    row.rawStart = from
    row.rawEnd = end
    row.hasLineEnd = to < row.bytes.length
    this.#visit(row)
    return to + 1
  }

  /** Finds the fields of a row; returns their number, or HAS_QUOTES. */
  #findFields(from: number, end: number): number {
    const { bytes } = this.#row
    const delimiter = this.#delimiter
    // Most bytes are digits, which are above these: one comparison finds that they are no signs.
    const highestSign = Math.max(delimiter, QUOTE, SPACE)
    let count = 0
    let start = from
    /** Whether the field at hand has only blanks so far: a quote after them opens a quoted field. */
    let isBlank = true
    for (let i = from; i < end; i++) {
      const byte = bytes[i]!
      if (byte > highestSign) isBlank = false
      else if (byte === delimiter) {
        this.#setField(count++, start, i)
        start = i + 1
        isBlank = true
      } else if (byte === QUOTE && isBlank) {
        const close = bytes.indexOf(QUOTE, i + 1)
        if (close < 0 || close >= end || (close + 1 < end && bytes[close + 1] !== delimiter)) return HAS_QUOTES
        this.#setField(count++, i + 1, close)
        i = close + 1
        start = i + 1
      } else if (byte !== SPACE) isBlank = false
    }
    // A quote that closes at the end leaves no field after it.
    if (start <= end) this.#setField(count++, start, end)
    return count
  }

  /** Sets start and end of a field, without blanks around it. */
  #setField(field: number, from: number, to: number): void {
    if (field === MAX_FIELDS) throw tooManyFields(this.#file, this.#line)
    const { bytes, starts, ends } = this.#row
    let start = from
    let end = to
    while (start < end && bytes[start] === SPACE) start++
    while (end > start && bytes[end - 1] === SPACE) end--
    starts[field] = start
    ends[field] = end
  }

  /**
   * Visits the row at `from`, which has doubled quotes or line breaks inside quotes. Returns where the next row starts,
   * or NEEDS_MORE.
   */
  #visitQuotedRow(from: number): number {
    const bytes = this.#bytes
    const row = this.#row
    const fields: string[] = []
    let fieldEnd = from - 1
    do {
      const field = this.#fieldAt(fieldEnd + 1)
      if (field === null && (this.#isAllRead || bytes.length - from > MAX_LINE))
        throw this.#errorAtRow('a quoted field opens here and is never closed')
      if (field === null || (field.end === bytes.length && !this.#isAllRead)) return NEEDS_MORE
      if (fields.length === MAX_FIELDS) throw tooManyFields(this.#file, this.#line)
      fields.push(field.text.trim())
      fieldEnd = field.end
    } while (fieldEnd < bytes.length && bytes[fieldEnd] !== this.#eol)
    row.rawText = bytes.toString('utf8', from, bytes[fieldEnd - 1] === CARRIAGE_RETURN ? fieldEnd - 1 : fieldEnd)
    row.fill(fields)
    row.hasLineEnd = fieldEnd < bytes.length
    this.#visit(row)
    this.#line += row.rawText.split(String.fromCharCode(this.#eol)).length
    row.rawText = null
    return fieldEnd + 1
  }

  /** The text of the field that starts at a byte, and the index of the byte after; null if its quote is not closed. */
  #fieldAt(from: number): { text: string; end: number } | null {
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
      throw this.#errorAtRow('a quoted field is followed by more text before the next delimiter')
    return { text: bytes.toString('utf8', start + 1, close).replaceAll('""', '"'), end }
  }

  /** The index of the first byte from `from` on that is no blank, or that is a delimiter or line end. */
  #afterBlanks(from: number): number {
    let at = from
    for (
      let byte = this.#bytes[at];
      byte === SPACE || byte === TAB || byte === CARRIAGE_RETURN;
      byte = this.#bytes[++at]
    )
      if (byte === this.#delimiter || byte === this.#eol) break
    return at
  }

  #errorAtRow(what: string): BadData {
    return new BadData({ file: this.#file, line: this.#line }, what)
  }
}
