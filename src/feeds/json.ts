import { BadData, parameter, sentence } from '../errors.js'
import { parseTicker, TICKER_SHAPE } from '../model/terms.js'
import { Collector, type Places } from './bars.js'
import { checkHints } from './dialect.js'
import type { ReadOptions, ReadResult, Rejected } from './feed.js'
import { type JsonTable, tableIn } from './json-tables.js'
import { type JsonText, parseJson } from './json-text.js'
import { type Cells, type Fault, isFault, judge, lengthOf, type Reading } from './judge.js'
import { givenTicker, tickerOfFile } from './layout.js'
import { adjustmentOf } from './price-rows.js'
import { allOf, type Source } from './source.js'
import { DATE_FORMATS, type DateFormat, DateReader, guessDateFormat, shown } from './values.js'

const CELLS = ['open', 'high', 'low', 'close', 'volume', 'adj_close'] as const

/** Reads a JSON document, or JSON a line, as a whole: its rows become cells of text and are judged like those of a table. */
export async function readJson(source: Source, options: ReadOptions): Promise<ReadResult> {
  const given = checkHints(options.hints)
  const { file } = source
  const content = (await allOf(source)).toString('utf8').replace(/^\ufeff/, '')
  const { root, text, lines } = await parseJson(file, content)
  const table = await tableIn(file, root)
  if (given.format !== undefined && given.format !== table.format)
    throw new BadData({ file }, `this is not ${given.format}; it looks like ${table.format}`)
  if (table.keyed) refuseRepeated(file, content)
  const adjustment = adjustmentOf(table.roles.has('adj_close'), options.prices)
  const dates = dateCells(table)
  const format = given.dateFormat ?? dateFormat(file, dates)
  const reading = { dates: new DateReader(format), decimal: given.decimal ?? '.', adjust: adjustment.adjust } as const
  const ticker = fixedTicker(source, table, options)
  const places = new JsonPlaces(text, table, ticker, dates)
  const collector = new Collector(file, places, options.skipBadRows ?? false)
  collect(table, dates, ticker, reading, collector)
  options.onProgress?.({ bytes: source.taken(), total: source.total, rows: collector.rows })
  const { order, rejected } = collector
  const { tickers, warnings } = collector.finish(adjustment.prices)
  const words = {
    encoding: 'UTF-8',
    compression: source.compression,
    lines: lines ? 'one document a line' : 'one document',
  }
  const zone = table.zone === null ? {} : { 'time zone': table.zone }
  const dialect = { ...words, dates: table.zone === null ? format : 'epoch', ...zone, order }
  const counts = { rows: collector.rows, tickers, rejected, warnings }
  return {
    holds: 'bars',
    file,
    format: table.format,
    dialect,
    header: null,
    ...counts,
    adjustmentNote: adjustment.note,
  }
}

function collect(
  table: JsonTable,
  dates: readonly DateCell[],
  ticker: string | null,
  reading: Reading,
  collector: Collector,
): void {
  for (let row = 0; row < table.rows; row++) {
    collector.rows++
    const symbol = ticker ?? parseTicker(text(table.value(row, 'ticker')))
    const verdict = symbol === null ? tickerFault(table, row) : judge(cellsOf(table, row, dates[row]!), reading)
    if (isFault(verdict)) collector.reject(row, verdict)
    else collector.add(collector.barsOf(symbol!), verdict, row)
  }
}

/** The ticker of all rows, null when each names its own. */
function fixedTicker(source: Source, table: JsonTable, options: ReadOptions): string | null {
  const given = givenTicker(options.ticker)
  if (!table.roles.has('ticker')) return given ?? tickerOfFile(source, table.symbol)
  if (given === null) return null
  const symbols = new Set(Array.from({ length: table.rows }, (_, row) => text(table.value(row, 'ticker'))))
  if (symbols.size < 2) return given
  const some = [...symbols].slice(0, 2).map(shown).join(', ')
  const say = sentence`leave ${parameter('ticker', given)} away to import each under its own name`
  throw new BadData({ file: source.file }, sentence`the file has several tickers (${some}); ${say}`)
}

/** JSON itself lets a later key of the same name replace an earlier one without a word. */
function refuseRepeated(file: string, content: string): void {
  const seen = new Set<string>()
  for (const match of content.matchAll(/"(\d{4}-\d{2}-\d{2})"\s*:/g)) {
    const date = match[1]!
    if (!seen.has(date)) seen.add(date)
    else {
      const before = content.slice(0, match.index).split('\n')
      const place = { file, line: before.length, column: lengthOf(before.at(-1)!) + 1 }
      throw new BadData(place, `${date} is given twice`)
    }
  }
}

interface DateCell {
  date: string
  /** Time of day, where the date is an epoch. */
  time?: string
}

/** The dates as text; epochs that need a time zone become the date on the exchange's calendar. */
function dateCells(table: JsonTable): DateCell[] {
  const rows = Array.from({ length: table.rows }, (_, row) => table.value(row, 'date'))
  if (table.zone === null) return rows.map(value => ({ date: text(value) }))
  const calendar = calendarOf(table.zone)
  return rows.map(value => {
    if (typeof value !== 'number' || !(Math.abs(value) < 1e14)) return { date: text(value) }
    const milliseconds = Math.abs(value) < 1e11 ? value * 1000 : value
    const date = calendar.format(milliseconds)
    return table.stamped ? { date } : { date, time: new Date(milliseconds).toISOString().slice(11, 19) }
  })
}

function calendarOf(timeZone: string): Intl.DateTimeFormat {
  const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
  try {
    return new Intl.DateTimeFormat('en-CA', { timeZone, ...parts })
  } catch {
    return new Intl.DateTimeFormat('en-CA', { timeZone: 'UTC', ...parts })
  }
}

function dateFormat(file: string, cells: readonly DateCell[]): DateFormat {
  const dates = cells.map(({ date }) => date).filter(date => date !== '')
  const guess = guessDateFormat(dates)
  if ('format' in guess) return guess.format
  const first = shown(dates[0] ?? '')
  if ('unknown' in guess)
    throw new BadData({ file }, `date ${first} is in no known form; dates may be ${DATE_FORMATS.join(', ')}`)
  const forms = sentence`give ${parameter('date_format', 'MM/DD/YYYY')} or DD/MM/YYYY`
  throw new BadData(
    { file },
    sentence`no date of the file tells whether ${first} has the month or the day first; ${forms}`,
  )
}

function cellsOf(table: JsonTable, row: number, date: DateCell): Cells {
  const cells: Cells = { ...date }
  for (const role of CELLS) cells[role] = text(table.value(row, role))
  return cells
}

/** A JSON value as the field of a table would be. */
function text(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : JSON.stringify(value)
}

function tickerFault(table: JsonTable, row: number): Fault {
  const symbol = text(table.value(row, 'ticker'))
  return {
    role: 'ticker',
    reason: symbol === '' ? 'ticker is empty' : `ticker ${shown(symbol)} is not ${TICKER_SHAPE}`,
  }
}

/** Places in a JSON document; a rejected row is written as a row that `json rows` reads again. */
class JsonPlaces implements Places {
  readonly #text: JsonText
  readonly #table: JsonTable
  readonly #ticker: string | null
  readonly #dates: readonly DateCell[]

  constructor(text: JsonText, table: JsonTable, ticker: string | null, dates: readonly DateCell[]) {
    this.#text = text
    this.#table = table
    this.#ticker = ticker
    this.#dates = dates
  }

  lineOf(row: number): number {
    return this.#text.locate(this.#table.path(row)).line
  }

  reject(row: number, { role, reason }: Fault): Rejected {
    const table = this.#table
    const place = this.#text.locate(table.path(row, role), role === 'date' && table.keyed)
    const values: Record<string, unknown> = { ticker: this.#ticker ?? table.value(row, 'ticker') }
    values.date = this.#dates[row]!.date
    for (const cell of CELLS) if (table.roles.has(cell)) values[cell] = table.value(row, cell) ?? null
    return { ...place, reason, text: JSON.stringify(values) }
  }
}
