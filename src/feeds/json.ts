import { BadData, type Place } from '../errors.js'
import { Collector, type Places } from './bars.js'
import { checkHints, undatable } from './dialect.js'
import type { FactsResult, ReadOptions, ReadResult } from './feed.js'
import type { JsonTable } from './json-tables.js'
import { type JsonText, readJsonText } from './json-text.js'
import { tableIn } from './json-vendors.js'
import { givenTicker, ROLES, type Role, tickerOfFile } from './layout.js'
import { adjustmentOf, latestBar, PriceRows, severalTickers } from './price-rows.js'
import { Row } from './row.js'
import type { Source } from './source.js'
import { type Calendar, calendarOf } from './time-zone.js'
import { type DateFormat, DateReader, guessDateFormat } from './values.js'

/** Reads a JSON document, or JSON a line, as a whole: facts, or bars whose rows are judged like those of a table. */
export async function readJson(source: Source, options: ReadOptions): Promise<ReadResult | FactsResult> {
  const text = await readJsonText(source)
  const { readFactsJson } = await import('./facts/json.js')
  return readFactsJson(source, text, options) ?? readBarsJson(source, text, options)
}

async function readBarsJson(source: Source, text: JsonText, options: ReadOptions): Promise<ReadResult> {
  const given = checkHints(options.hints)
  const { file, compression } = source
  const table = tableIn(file, text.root)
  if (given.format !== undefined && given.format !== table.format)
    throw new BadData({ file }, `this is not ${given.format}; it looks like ${table.format}`)
  const { prices, adjust, note } = adjustmentOf(table.columns.adj_close !== undefined, options.prices)
  const dates = dateCells(table, given.calendar)
  const format = given.dateFormat ?? dateFormat({ file }, dates)
  const ticker = fixedTicker(source, table, options)
  const collector = new Collector(file, placesIn(text, table, ticker, dates), options.skipBadRows ?? false)
  const columns = Object.fromEntries(ROLES.map((role, i) => [role, i]))
  if (ticker !== null) delete columns.ticker
  if (dates[0]?.time === undefined) delete columns.time
  const latest = latestBar(options.today)
  const reading = {
    format: table.format,
    dates: new DateReader(format, given.calendar),
    latest,
    decimal: given.decimal ?? '.',
    adjust,
  } as const
  const rows = new PriceRows({ ...reading, columns, ticker }, collector)
  const row = new Row()
  return collector.whole(() => {
    for (row.line = 0; row.line < table.rows; row.line++) {
      row.fill(ROLES.map(role => dates[row.line]![role as keyof DateCell] ?? textAt(table, row.line, role)))
      rows.visit(row)
    }
    options.onProgress?.({ bytes: source.taken(), total: source.total, rows: collector.rows })
    const { order } = collector
    const found = collector.finish(prices)
    const zone = given.calendar?.zone ?? table.zone
    const dated = {
      dates: table.zone === undefined ? format : 'epoch',
      ...(zone === undefined ? {} : { 'time zone': zone }),
    }
    const dialect = { encoding: 'UTF-8', compression, ...text.words, ...dated, order, ...rows.words, ...table.words }
    return { holds: 'bars', file, format: table.format, dialect, header: null, ...found, adjustmentNote: note }
  })
}

/** The ticker of all rows, null when each names its own. */
function fixedTicker(source: Source, table: JsonTable, options: ReadOptions): string | null {
  const given = givenTicker(options.ticker)
  if (table.columns.ticker === undefined) return given ?? tickerOfFile(source, table.symbol, table.format)
  if (given === null) return null
  const symbols = Array.from({ length: table.rows }, (_, row) => textAt(table, row, 'ticker'))
  const other = symbols.find(symbol => symbol !== symbols[0])
  if (other === undefined) return given
  throw severalTickers({ file: source.file }, given, symbols[0]!, other)
}

interface DateCell {
  date: string
  /** Time of day, where the date is an epoch. */
  time?: string
}

/** The dates as text; epochs that need a time zone become the date on the exchange's calendar. */
function dateCells(table: JsonTable, given: Calendar | undefined): DateCell[] {
  const rows = Array.from({ length: table.rows }, (_, row) => table.value(row, table.columns.date!))
  if (table.zone === undefined) return rows.map(value => ({ date: asText(value) }))
  const calendar = given ?? calendarOf(table.zone)
  return rows.map(value => {
    if (typeof value !== 'number' || !(Math.abs(value) < 1e14)) return { date: asText(value) }
    const milliseconds = Math.abs(value) < 1e11 ? value * 1000 : value
    const date = calendar.dateAt(milliseconds)
    return table.stamped ? { date } : { date, time: new Date(milliseconds).toISOString().slice(11, 19) }
  })
}

function dateFormat(place: Place, cells: readonly DateCell[]): DateFormat {
  const dates = cells.map(({ date }) => date).filter(date => date !== '')
  const guess = guessDateFormat(dates)
  if ('format' in guess) return guess.format
  throw undatable(place, 'date', dates[0], guess)
}

/** The value of a role as the field of a table would be. */
function textAt({ columns, value }: JsonTable, row: number, role: Role): string {
  return columns[role] === undefined ? '' : asText(value(row, columns[role]))
}

function asText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : JSON.stringify(value)
}

/** Places in a JSON document; a rejected row is written as a row that `json rows` reads again. */
function placesIn(text: JsonText, table: JsonTable, ticker: string | null, dates: readonly DateCell[]): Places {
  const { columns, keyed = false, path, value } = table
  return {
    lineOf: row => text.locate(path(row)).line,
    reject(row, { role, reason }) {
      const place = text.locate(path(row, columns[role]), role === 'date' && keyed)
      const values: Record<string, unknown> = { ticker: ticker ?? value(row, columns.ticker!), date: dates[row]!.date }
      for (const cell of ROLES.slice(ROLES.indexOf('open')))
        if (columns[cell] !== undefined) values[cell] = value(row, columns[cell]) ?? null
      return { ...place, reason, text: JSON.stringify(values) }
    },
  }
}
