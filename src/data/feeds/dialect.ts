import { BadData, type FilePosition, invalid, parameter, quoted, remedy, sentence } from '../../core/errors.js'
import { formatDay } from '../../core/model/day.js'
import { parseTicker } from '../../core/model/terms.js'
import { isFactName } from './facts/sink.js'
import { FORMATS, type Format, type Hints } from './feed.js'
import { spells, vendorOrder } from './layout.js'
import { PRICES } from './names.js'
import { isDated, refuseHeaderless } from './refusals.js'
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
  above: number
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

const OWN = ['date', 'open', 'high', 'low', 'close', 'volume', 'adj_close']
const MAX_SAMPLES = 500

/** Throws BadData when the text is no table, has no rows, or is of a kind that is neither daily bars nor facts. */
export function detectDialect(file: string, head: Buffer, whole: boolean, hints: FormatHints): Dialect {
  const bom = head.subarray(0, 3).toString('latin1') === '\xef\xbb\xbf'
  const eol = head.includes(10) || !head.includes(13) ? '\n' : '\r'
  const lines = linesOf(head, bom ? 3 : 0, eol, whole)
  const separator = /^sep=(.)$/i.exec(lines[0]?.text ?? '')?.[1]
  if (separator !== undefined) lines.shift()
  if (lines.length === 0) throw new BadData({ file }, 'the file is empty')
  const above = lines.splice(0, linesAbove(lines)).length
  const delimiter = hints.delimiter ?? separator ?? delimiterOf(lines.map(line => line.text))
  const top = headerOf(file, lines, delimiter, hints)
  const rows = lines.slice(top.lines)
  const samples = rows.slice(0, MAX_SAMPLES).map(line => splitLine(line.text, delimiter))
  if (samples.length === 0) throw withoutRows(file, top)
  const texts = lines.map(line => line.text)
  const header = texts.slice(0, top.lines).join('\n')
  return {
    bom,
    eol,
    above,
    crlf: head.includes('\r\n'),
    quoted: texts.some(text => text.includes('"')),
    delimiter,
    header: top.lines === 0 ? null : header,
    headerLine: lines[0]!.number,
    names: top.tickers === null ? withRowNames(top.names, samples) : top.names,
    tickers: top.tickers,
    samples,
    firstRow: rows[0]!.text,
    offset: rows[0]!.from,
    line: rows[0]!.number,
  }
}

/** The lines that are not blank; the last one only when it is known to be whole. */
function linesOf(head: Buffer, start: number, eol: string, whole: boolean): Line[] {
  const lines: Line[] = []
  let number = 0
  for (let from = start; from < head.length; ) {
    const end = head.indexOf(eol, from)
    if (end < 0 && !whole && lines.length > 0) break
    const stop = end < 0 ? head.length : end
    const text = head.toString('utf8', from, stop).replace(/\r$/, '')
    number++
    if (text.trim() !== '') lines.push({ text, number, from })
    from = stop + 1
  }
  return lines
}

const DELIMITED = [',', ';', '\t', '|']

const MOST_ABOVE = 20

/** How many lines of text are above a header of prices: a title, an address, the name of a security. */
function linesAbove(lines: readonly Line[]): number {
  const read = (line: Line) => DELIMITED.map(delimiter => splitLine(line.text, delimiter))
  const isTable = (fields: readonly string[]) =>
    fields.filter(isColumnName).length > 1 || fields.filter(isNumber).length > 1
  if (lines.length === 0 || read(lines[0]!).some(isTable)) return 0
  const hasPrices = (fields: readonly string[]) => PRICES.every(role => fields.some(name => spells(name, [role])))
  const found = lines.slice(0, MOST_ABOVE + 1).findIndex(line => read(line).some(hasPrices))
  const isText = (line: Line) => read(line).every(fields => fields.filter(field => field !== '').length < PRICES.length)
  return found > 0 && lines.slice(0, found).every(isText) ? found : 0
}

function isNumber(field: string): boolean {
  return !isNullWord(field) && !Number.isNaN(readNumber(field))
}

function withoutRows(file: string, top: Top): BadData {
  if (top.names.some(isColumnName)) return new BadData({ file }, 'the file has a header and no rows')
  return new BadData({ file }, `the file has no table, only ${quoted(top.names.join(' '))}`)
}

interface Top {
  /** How many of the lines are header. */
  lines: number
  names: string[]
  tickers: Dialect['tickers']
}

function headerOf(file: string, lines: readonly Line[], delimiter: string, hints: FormatHints): Top {
  const fieldsOf = (line: number) => splitLine(lines[line]?.text ?? '', delimiter)
  const first = fieldsOf(0)
  const second = fieldsOf(1)
  const third = fieldsOf(2)
  const stacked = stackedHeader(first, second, third)
  if (hints.header !== undefined) {
    const replaced = stacked?.lines ?? (isHeader(first, second) ? 1 : 0)
    return { lines: replaced, names: splitLine(hints.header, ','), tickers: null }
  }
  if (stacked !== null) return stacked
  // Two numbers or more make a row of data; a header has names.
  const isRow = first.filter(isNumber).length >= 2
  return { lines: isRow ? 0 : 1, names: isRow ? ownNames(file, first) : first, tickers: null }
}

/** The texts that pandas writes before the names of prices and before tickers. */
const STACKED = /^(|price|ticker|attributes|symbols)$/i

/** The header of pandas: a line of prices and one of tickers, in either order, and mostly one with the name of the dates. */
function stackedHeader(first: readonly string[], second: readonly string[], third: readonly string[]): Top | null {
  const [prices, symbols] = isPrices(first.slice(1)) ? [first, second] : [second, first]
  if (!isPrices(prices.slice(1)) || symbols.length !== prices.length) return null
  if (!STACKED.test(prices[0]!) || !STACKED.test(symbols[0]!)) return null
  const tickers = symbols.slice(1).map(parseTicker)
  if (tickers.includes(null)) return null
  const isNamed = spells(third[0] ?? '', ['date']) && third.slice(1).every(field => field === '')
  return { lines: isNamed ? 3 : 2, names: ['Date', ...prices.slice(1)], tickers: [null, ...tickers] }
}

/** Whether names are those of prices and of yfinance's further columns. */
function isPrices(names: readonly string[]): boolean {
  const isPriceName = (name: string) => spells(name, [...PRICES, 'volume', 'adj_close']) || WITH_PRICES.test(name)
  return PRICES.every(role => names.some(name => spells(name, [role]))) && names.every(isPriceName)
}

const WITH_PRICES = /^(dividends|stock splits|capital gains|repaired\?)$/i

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
 * Names for rows without a header: a vendor's order, or the project's own, with or without a ticker first; bars have
 * one date.
 */
function ownNames(file: string, first: readonly string[]): string[] {
  const theirs = vendorOrder(first)
  if (theirs !== null) return [...theirs]
  const dates = first.filter(isDated).length
  const isTimed = isDate(first[0]) && /^\d{1,2}:\d{2}(:\d{2})?$/.test(first[1] ?? '')
  const own = isTimed ? ['date', 'time', ...OWN.slice(1)] : OWN
  const names = dates > 1 ? [] : isDate(first[0]) ? own : isDate(first[1]) ? ['ticker', ...OWN] : []
  const least = names.length - 1
  if (names.length > 0 && (first.length === least || first.length === least + 1)) return names.slice(0, first.length)
  throw refuseHeaderless(file, first)
}

/** Eight digits may also be a time in milliseconds, so they must be a real date; other forms are unambiguous. */
function isDate(text = ''): boolean {
  const guess = guessDateFormat([text])
  if ('format' in guess && guess.format === 'Excel serial') return false
  if ('format' in guess && guess.format === 'YYYYMMDD') return new DateReader('YYYYMMDD').read(text) !== null
  return !('unknown' in guess)
}

/** R writes the names of rows without a name above them: each row then has one field more, before its date or as it. */
function withRowNames(names: string[], samples: readonly string[][]): string[] {
  const [first] = samples
  const wider = samples.every(fields => fields.length === names.length + 1)
  const date = names.findIndex(name => spells(name, ['date']))
  const shifted =
    date < 0 ? !isFactName(names[0]!) && isDate(first![0]) : !isDate(first![date]) && isDate(first![date + 1])
  return wider && shifted ? ['', ...names] : names
}

/** Whether a name is that of a column of bars or facts. */
function isColumnName(name: string): boolean {
  return spells(name) || isFactName(name)
}

/** The delimiter under which the first line has the most known names, or under which rows without a header agree. */
function delimiterOf(lines: readonly string[]): string {
  const known = DELIMITED.map(delimiter => splitLine(lines[0]!, delimiter).filter(isColumnName).length)
  const most = Math.max(...known)
  if (most >= 2) return DELIMITED[known.indexOf(most)]!
  // The comma comes last here: it may be the decimal sign of rows that another delimiter cuts.
  const agreed = [';', '\t', '|'].find(delimiter => {
    const counts = lines.slice(0, 20).map(line => splitLine(line, delimiter).length)
    return counts[0]! >= 4 && counts.every(count => count === counts[0])
  })
  return agreed ?? ','
}

export function unknownDateFormat(place: FilePosition, name: string, text: string | undefined, guess: object): BadData {
  const first = quoted(text ?? '')
  if ('unknown' in guess)
    return new BadData(place, `${name} ${first} is in no known form; dates may be ${DATE_FORMATS.join(', ')}`)
  const forms = sentence`give ${parameter('date_format', 'MM/DD/YYYY')} or DD/MM/YYYY`
  return new BadData(
    place,
    sentence`no date of the file shows whether ${first} has the month or the day first; ${forms}`,
    { remedy: remedy('import', [place.file], { date_format: 'MM/DD/YYYY' }, true) },
  )
}

/** The refusal of Excel's serial numbers that may count from 1900 or from 1904. */
export function serial1904(place: FilePosition, name: string, text: string): BadData {
  const dateAs = (format: DateFormat) => formatDay(new DateReader(format).read(text)!)
  const both = `${dateAs('Excel serial 1904')} counted from 1904 or ${dateAs('Excel serial')} counted from 1900`
  const what = `${name} ${quoted(text)} is a serial number of Excel, ${both}; the latter gives bars on weekends`
  const give = sentence`give ${parameter('date_format', 'Excel serial 1904')} or Excel serial`
  return new BadData(place, sentence`${what}; ${give}`, {
    remedy: remedy('import', [place.file], { date_format: 'Excel serial 1904' }, true),
  })
}

/** Hints that were found to be allowed. */
export interface FormatHints {
  format?: Format
  delimiter?: string
  dateFormat?: DateFormat
  decimal?: Decimal
  header?: string
  /** That of the exchange. */
  calendar?: Calendar
}

const DELIMITERS: Record<string, string> = { comma: ',', semicolon: ';', tab: '\t', '\\t': '\t', pipe: '|' }

/** Checks the user's hints; throws InvalidParameter, which names the option, the value and the allowed values. */
export function checkHints(hints: Hints = {}): FormatHints {
  const checked: FormatHints = {}
  if (hints.format !== undefined) checked.format = oneOf('format', hints.format, FORMATS)
  if (hints.dateFormat !== undefined) checked.dateFormat = oneOf('date_format', hints.dateFormat, DATE_FORMATS)
  if (hints.decimal !== undefined) checked.decimal = oneOf('decimal', hints.decimal, ['.', ','] as const)
  if (hints.header !== undefined) checked.header = hints.header
  if (hints.timeZone !== undefined) checked.calendar = calendarOption(hints.timeZone)
  if (hints.delimiter !== undefined) checked.delimiter = delimiter(hints.delimiter)
  return checked
}

export function delimiterName(character: string): string {
  return Object.keys(DELIMITERS).find(word => DELIMITERS[word] === character) ?? character
}

function oneOf<T extends string>(param: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find(name => name.toLowerCase() === value.toLowerCase())
  if (found !== undefined) return found
  throw invalid('not_allowed', { param, value, allowed })
}

function delimiter(text: string): string {
  const character = DELIMITERS[text.toLowerCase()] ?? text
  if (/^[\x20-\x7e\t]$/.test(character) && !/[\w".-]/.test(character)) return character
  const allowed = 'one character such as , ; | or one of the words comma, semicolon, tab, pipe'
  throw invalid('not_allowed', { param: 'delimiter', value: text, allowed })
}
