import { BadData, type FilePosition, invalid, parameter, quoted, sentence, typedLineWith } from '../../core/errors.js'
import { formatDay } from '../../core/model/day.js'
import { parseTicker } from '../../core/model/terms.js'
import { isFactName } from './facts/sink.js'
import { FORMATS, type Format, type Hints } from './feed.js'
import { isNameOfRole, vendorOrder } from './layout.js'
import { PRICES, USUAL_ORDER } from './names.js'
import { headerlessError, startsWithDate } from './refusals.js'
import { type Cut, splitLine } from './row.js'
import {
  type Calendar,
  calendarOption,
  DATE_FORMATS,
  type DateFormat,
  DateReader,
  type Decimal,
  guessDateFormat,
  isNullWord,
  readNumber,
} from './values.js'

/** The dialect of a text table, judged by its first lines; `offset` and `line` are those of the first row of data. */
export interface Dialect extends Cut {
  bom: boolean
  crlf: boolean
  quoted: boolean
  /** The header's raw text, without its line end; null when there is none. */
  header: string | null
  headerLine: number
  /** How many lines of text are above the header. */
  linesAbove: number
  names: string[]
  /** The ticker of each column, where a second line of the header has them (yfinance); null for the date. */
  tickers: readonly (string | null)[] | null
  /** The fields of the first rows of data. */
  samples: string[][]
  firstRow: string
}

interface Line {
  text: string
  /** Line number from 1, and the byte at which the line starts. */
  number: number
  from: number
}

const MAX_SAMPLE_ROWS = 500

/**
 * The dialect of a text table, by its first bytes. Throws BadData for text that is no table, or has no rows.
 * @param isWholeFile whether `head` is the whole file
 */
export function detectDialect(file: string, head: Buffer, isWholeFile: boolean, hints: CheckedHints): Dialect {
  const bom = head.subarray(0, 3).toString('latin1') === '\xef\xbb\xbf'
  const eol = head.includes(10) || !head.includes(13) ? '\n' : '\r'
  const lines = linesOf(head, bom ? 3 : 0, eol, isWholeFile)
  const separator = /^sep=(.)$/i.exec(lines[0]?.text ?? '')?.[1]
  if (separator !== undefined) lines.shift()
  if (lines.length === 0) throw new BadData({ file }, 'the file is empty')
  const linesAbove = lines.splice(0, countLinesAbove(lines)).length
  const delimiter = hints.delimiter ?? separator ?? guessDelimiter(lines.map(line => line.text))
  const header = findHeader(file, lines, delimiter, hints)
  const rows = lines.slice(header.lineCount)
  const samples = rows.slice(0, MAX_SAMPLE_ROWS).map(line => splitLine(line.text, delimiter))
  if (samples.length === 0) throw noRowsError(file, header)
  const texts = lines.map(line => line.text)
  return {
    bom,
    eol,
    linesAbove,
    crlf: head.includes('\r\n'),
    quoted: texts.some(text => text.includes('"')),
    delimiter,
    header: header.lineCount === 0 ? null : texts.slice(0, header.lineCount).join('\n'),
    headerLine: lines[0]!.number,
    names: header.tickers === null ? addUnnamedColumn(header.names, samples) : header.names,
    tickers: header.tickers,
    samples,
    firstRow: rows[0]!.text,
    offset: rows[0]!.from,
    line: rows[0]!.number,
  }
}

/**
 * The lines of the head that are not blank. A last line without an end may be cut off if the head is not the whole
 * file. Then it is dropped, unless it is the only one.
 */
function linesOf(head: Buffer, start: number, eol: string, isWholeFile: boolean): Line[] {
  const lines: Line[] = []
  let number = 0
  for (let from = start; from < head.length; ) {
    const end = head.indexOf(eol, from)
    if (end < 0 && !isWholeFile && lines.length > 0) break
    const stop = end < 0 ? head.length : end
    const text = head.toString('utf8', from, stop).replace(/\r$/, '')
    number++
    if (text.trim() !== '') lines.push({ text, number, from })
    from = stop + 1
  }
  return lines
}

const DELIMITERS_TRIED = [',', ';', '\t', '|']

const MAX_LINES_ABOVE = 20

/**
 * The number of lines of text above a header of prices, such as a title; 0 where no such header follows. A first line
 * with two names of columns or two numbers is a header or a row, and has nothing above it.
 */
function countLinesAbove(lines: readonly Line[]): number {
  const splitByEach = (line: Line) => DELIMITERS_TRIED.map(delimiter => splitLine(line.text, delimiter))
  const isHeaderOrRow = (fields: readonly string[]) =>
    fields.filter(isColumnName).length > 1 || fields.filter(isNumber).length > 1
  if (lines.length === 0 || splitByEach(lines[0]!).some(isHeaderOrRow)) return 0
  const hasPrices = (fields: readonly string[]) => PRICES.every(role => fields.some(name => isNameOfRole(name, [role])))
  const headerIndex = lines.slice(0, MAX_LINES_ABOVE + 1).findIndex(line => splitByEach(line).some(hasPrices))
  const isText = (line: Line) =>
    splitByEach(line).every(fields => fields.filter(field => field !== '').length < PRICES.length)
  return headerIndex > 0 && lines.slice(0, headerIndex).every(isText) ? headerIndex : 0
}

function isNumber(field: string): boolean {
  return !isNullWord(field) && !Number.isNaN(readNumber(field))
}

function noRowsError(file: string, { names }: Header): BadData {
  if (names.some(isColumnName)) return new BadData({ file }, 'the file has a header and no rows')
  return new BadData({ file }, `the file has no table, only ${quoted(names.join(' '))}`)
}

interface Header {
  /** The number of lines that the header takes; 0 where the first line is a row of data. */
  lineCount: number
  names: string[]
  tickers: Dialect['tickers']
}

/** The header in the first lines: names from the user's hint, two or three lines of pandas, one line, or none. */
function findHeader(file: string, lines: readonly Line[], delimiter: string, hints: CheckedHints): Header {
  const fieldsOf = (line: number) => splitLine(lines[line]?.text ?? '', delimiter)
  const first = fieldsOf(0)
  const second = fieldsOf(1)
  const third = fieldsOf(2)
  const pandas = pandasHeader(first, second, third)
  if (hints.header !== undefined) {
    const replacedLines = pandas?.lineCount ?? (isHeader(first, second) ? 1 : 0)
    return { lineCount: replacedLines, names: splitLine(hints.header, ','), tickers: null }
  }
  if (pandas !== null) return pandas
  // Two numbers or more make a row of data; a header has names.
  const isRow = first.filter(isNumber).length >= 2
  if (isRow) return { lineCount: 0, names: namesWithoutHeader(file, first), tickers: null }
  return { lineCount: 1, names: first, tickers: null }
}

/** The texts that pandas writes before the names of prices and before tickers. */
const PANDAS_CORNER = /^(|price|ticker|attributes|symbols)$/i

/**
 * The header of pandas; null for others. It has a line of prices and one of tickers, in either order, and mostly a
 * third one that names only the dates.
 */
function pandasHeader(first: readonly string[], second: readonly string[], third: readonly string[]): Header | null {
  const [prices, symbols] = arePriceNames(first.slice(1)) ? [first, second] : [second, first]
  if (!arePriceNames(prices.slice(1)) || symbols.length !== prices.length) return null
  if (!PANDAS_CORNER.test(prices[0]!) || !PANDAS_CORNER.test(symbols[0]!)) return null
  const tickers = symbols.slice(1).map(parseTicker)
  if (tickers.includes(null)) return null
  const hasDateLine = isNameOfRole(third[0] ?? '', ['date']) && third.slice(1).every(field => field === '')
  return { lineCount: hasDateLine ? 3 : 2, names: ['Date', ...prices.slice(1)], tickers: [null, ...tickers] }
}

/** Whether names are those of prices and of yfinance's further columns. */
function arePriceNames(names: readonly string[]): boolean {
  const isPriceName = (name: string) =>
    isNameOfRole(name, [...PRICES, 'volume', 'adj_close']) || YFINANCE_EXTRA.test(name)
  return PRICES.every(role => names.some(name => isNameOfRole(name, [role]))) && names.every(isPriceName)
}

const YFINANCE_EXTRA = /^(dividends|stock splits|capital gains|repaired\?)$/i

/**
 * Whether a first line is a header in any language, and not a row. Either it has no date and no number while the second
 * line has some. Or neither has any, and the first has two names of columns.
 */
function isHeader(first: readonly string[], second: readonly string[]): boolean {
  const isValue = (field: string) => /^[-+$]?[\d.,]*\d$/.test(field) || isDate(field)
  if (first.some(isValue)) return false
  return second.some(isValue) || first.filter(isColumnName).length >= 2
}

/**
 * Names for rows without a header, judged by the first row: a vendor's order, or the project's own, with or without a
 * ticker first. Throws BadData for other rows.
 */
function namesWithoutHeader(file: string, first: readonly string[]): string[] {
  const vendorNames = vendorOrder(first)
  if (vendorNames !== null) return [...vendorNames]
  // A row with two dates is no bar.
  const hasSeveralDates = first.filter(startsWithDate).length > 1
  const isTimed = isDate(first[0]) && /^\d{1,2}:\d{2}(:\d{2})?$/.test(first[1] ?? '')
  const usualNames = isTimed ? ['date', 'time', ...USUAL_ORDER.slice(1)] : USUAL_ORDER
  let names: readonly string[] = []
  if (!hasSeveralDates && isDate(first[0])) names = usualNames
  else if (!hasSeveralDates && isDate(first[1])) names = ['ticker', ...USUAL_ORDER]
  // The last field, an adjusted close, may be missing.
  const missingFields = names.length - first.length
  if (names.length > 0 && (missingFields === 0 || missingFields === 1)) return names.slice(0, first.length)
  throw headerlessError(file, first)
}

/** Whether a text has the form of a date. Eight digits, which may be a time in milliseconds, must be a real date. */
function isDate(text = ''): boolean {
  const guess = guessDateFormat([text])
  if ('format' in guess && guess.format === 'Excel serial') return false
  if ('format' in guess && guess.format === 'YYYYMMDD') return new DateReader('YYYYMMDD').read(text) !== null
  return !('unknown' in guess)
}

/**
 * The names with an unnamed first column where R wrote names of rows: each row then has one field more than the header.
 * Other names are returned unchanged.
 */
function addUnnamedColumn(names: string[], samples: readonly string[][]): string[] {
  if (samples.some(fields => fields.length !== names.length + 1)) return names
  const first = samples[0]!
  const dateColumn = names.findIndex(name => isNameOfRole(name, ['date']))
  const isRowNameDate = dateColumn < 0 && !isFactName(names[0]!) && isDate(first[0])
  const isDateShifted = dateColumn >= 0 && !isDate(first[dateColumn]) && isDate(first[dateColumn + 1])
  return isRowNameDate || isDateShifted ? ['', ...names] : names
}

function isColumnName(name: string): boolean {
  return isNameOfRole(name) || isFactName(name)
}

/**
 * The delimiter that gives the first line most names of columns. For rows without a header, it is the one that cuts the
 * first 20 into equally many fields, at least four; otherwise a comma.
 */
function guessDelimiter(lines: readonly string[]): string {
  const knownNames = DELIMITERS_TRIED.map(delimiter => splitLine(lines[0]!, delimiter).filter(isColumnName).length)
  const mostNames = Math.max(...knownNames)
  if (mostNames >= 2) return DELIMITERS_TRIED[knownNames.indexOf(mostNames)]!
  // The comma is only the fallback: it may be the decimal sign of rows that another delimiter cuts.
  const evenDelimiter = [';', '\t', '|'].find(delimiter => {
    const fieldCounts = lines.slice(0, 20).map(line => splitLine(line, delimiter).length)
    return fieldCounts[0]! >= 4 && fieldCounts.every(count => count === fieldCounts[0])
  })
  return evenDelimiter ?? ','
}

/**
 * The error for dates whose form is unknown, or that may have the day or the month first.
 * @param text the first date; undefined without any
 */
export function unknownDateFormatError(
  place: FilePosition,
  name: string,
  text: string | undefined,
  guess: object,
): BadData {
  const first = quoted(text ?? '')
  if ('unknown' in guess)
    return new BadData(place, `${name} ${first} is in no known form; dates may be ${DATE_FORMATS.join(', ')}`)
  const advice = sentence`give ${parameter('date_format', 'MM/DD/YYYY')} or DD/MM/YYYY`
  return new BadData(
    place,
    sentence`no date of the file shows whether ${first} has the month or the day first; ${advice}`,
    { remedy: typedLineWith('import', [place.file], { date_format: 'MM/DD/YYYY' }) },
  )
}

/** The error for Excel's serial numbers that may count from 1900 or from 1904. */
export function serialStartError(place: FilePosition, name: string, text: string): BadData {
  const dateAs = (format: DateFormat) => formatDay(new DateReader(format).read(text)!)
  const dates = `${dateAs('Excel serial 1904')} counted from 1904 or ${dateAs('Excel serial')} counted from 1900`
  const what = `${name} ${quoted(text)} is a serial number of Excel, ${dates}; the latter gives bars on weekends`
  const advice = sentence`give ${parameter('date_format', 'Excel serial 1904')} or Excel serial`
  return new BadData(place, sentence`${what}; ${advice}`, {
    remedy: typedLineWith('import', [place.file], { date_format: 'Excel serial 1904' }),
  })
}

/** Valid hints, their values parsed. */
export interface CheckedHints {
  format?: Format
  delimiter?: string
  dateFormat?: DateFormat
  decimal?: Decimal
  header?: string
  /** The calendar in the time zone of the exchange. */
  calendar?: Calendar
}

const DELIMITERS: Record<string, string> = { comma: ',', semicolon: ';', tab: '\t', '\\t': '\t', pipe: '|' }

/** Parses the user's hints; throws InvalidParameter for a value that is not allowed. */
export function parseHints(hints: Hints = {}): CheckedHints {
  const checked: CheckedHints = {}
  if (hints.format !== undefined) checked.format = allowedName('format', hints.format, FORMATS)
  if (hints.dateFormat !== undefined) checked.dateFormat = allowedName('date_format', hints.dateFormat, DATE_FORMATS)
  if (hints.decimal !== undefined) checked.decimal = allowedName('decimal', hints.decimal, ['.', ','] as const)
  if (hints.header !== undefined) checked.header = hints.header
  if (hints.timeZone !== undefined) checked.calendar = calendarOption(hints.timeZone)
  if (hints.delimiter !== undefined) checked.delimiter = parseDelimiter(hints.delimiter)
  return checked
}

export function delimiterName(character: string): string {
  return Object.keys(DELIMITERS).find(word => DELIMITERS[word] === character) ?? character
}

/** The allowed name that equals a value, regardless of case; throws InvalidParameter if there is none. */
function allowedName<T extends string>(param: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find(name => name.toLowerCase() === value.toLowerCase())
  if (found !== undefined) return found
  throw invalid('not_allowed', { param, value, allowed })
}

function parseDelimiter(text: string): string {
  const character = DELIMITERS[text.toLowerCase()] ?? text
  if (/^[\x20-\x7e\t]$/.test(character) && !/[\w".-]/.test(character)) return character
  const allowed = 'one character such as , ; | or one of the words comma, semicolon, tab, pipe'
  throw invalid('not_allowed', { param: 'delimiter', value: text, allowed })
}
