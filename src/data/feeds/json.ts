import * as z from 'zod'
import { BadData, type FilePosition, quoted } from '../../core/errors.js'
import { isMapping } from '../../core/params/arguments.js'
import { Collector, type RowPositions } from './bars.js'
import { checkHints, unknownDateFormat } from './dialect.js'
import type { FactsResult, ReadOptions, ReadResult } from './feed.js'
import {
  barColumns,
  type JsonTable,
  joinLists,
  listsIn,
  listTable,
  otherTickersNote,
  rowsTable,
  symbolOf,
  tableOfShape,
} from './json-tables.js'
import { JsonText, type Names, type Path, shaped } from './json-text.js'
import { tickerOfFile, tickerOption } from './layout.js'
import { ROLES } from './names.js'
import { adjustmentOf, latestBar, PriceRows, severalTickersError } from './price-rows.js'
import { refuseJson, refuseUnfinished } from './refusals.js'
import { Row } from './row.js'
import { type Source, textOf } from './source.js'
import { type Calendar, calendarOf, type DateFormat, DateReader, guessDateFormat } from './values.js'

/** Reads a whole JSON document, or one per line: facts, or bars whose rows are checked like those of a table. */
export async function readJson(source: Source, options: ReadOptions): Promise<ReadResult | FactsResult> {
  const text = new JsonText(source.file, await textOf(source))
  const { readFactsJson } = await import('./facts/json.js')
  return readFactsJson(source, text, options) ?? readBarsJson(source, text, options)
}

async function readBarsJson(source: Source, text: JsonText, options: ReadOptions): Promise<ReadResult> {
  const hints = checkHints(options.hints)
  const { file, compression, encoding } = source
  const table = tableIn(file, text.root)
  if (hints.format !== undefined && hints.format !== table.format)
    throw new BadData({ file }, `this is not ${hints.format}; it looks like ${table.format}`)
  const { prices, adjust, note } = adjustmentOf(table.columns.adj_close !== undefined, options.prices)
  const dates = dateCells(table, hints.calendar)
  const format = hints.dateFormat ?? dateFormat({ file }, dates)
  const ticker = fixedTicker(source, table, options)
  const collector = new Collector(file, rowPositions(text, table, ticker, dates), options.skipBadRows ?? false)
  const columns = Object.fromEntries(ROLES.map((role, i) => [role, i]))
  if (ticker !== null) delete columns.ticker
  if (dates[0]?.time === undefined) delete columns.time
  const latest = latestBar(options.today)
  const reading = {
    format: table.format,
    dates: new DateReader(format, hints.calendar),
    latest,
    decimal: hints.decimal ?? '.',
    adjust,
  } as const
  const rows = new PriceRows({ ...reading, columns, ticker }, collector)
  const row = new Row()
  return collector.whole(() => {
    const places = ROLES.map(role => table.columns[role] ?? -1)
    const dateAt = ROLES.indexOf('date')
    const timeAt = ROLES.indexOf('time')
    for (let line = 0; line < table.rows.length; line++) {
      const cells = table.rows[line]!
      const fields = places.map(place => asText(cells[place]))
      const { date, time } = dates[line]!
      fields[dateAt] = date
      if (time !== undefined) fields[timeAt] = time
      row.line = line
      row.fill(fields)
      rows.visit(row)
    }
    options.onProgress?.({ bytes: source.taken(), total: source.total, rows: collector.rows })
    const { order } = collector
    const found = collector.finish(prices)
    const zone = hints.calendar?.zone ?? table.zone
    const dated = {
      dates: table.zone === undefined ? format : 'epoch',
      ...(zone === undefined ? {} : { 'time zone': zone }),
    }
    const dialect = { encoding, compression, ...text.words, ...dated, order, ...rows.words, ...table.words }
    return { holds: 'bars', file, format: table.format, dialect, header: null, ...found, adjustmentNote: note }
  })
}

/** The ticker of all rows, null when each names its own. */
function fixedTicker(source: Source, table: JsonTable, options: ReadOptions): string | null {
  const typedTicker = tickerOption(options.ticker)
  if (table.columns.ticker === undefined) return typedTicker ?? tickerOfFile(source, table.symbol, table.format).ticker
  if (typedTicker === null) return null
  const symbols = table.rows.map(cells => asText(cells[table.columns.ticker!]))
  const other = symbols.find(symbol => symbol !== symbols[0])
  if (other === undefined) return typedTicker
  throw severalTickersError({ file: source.file }, typedTicker, symbols[0]!, other)
}

interface DateCell {
  date: string
  /** Time of day, where the date is an epoch. */
  time?: string
}

/** The dates as text; epochs that need a time zone become the date on the exchange's calendar. */
function dateCells(table: JsonTable, hint: Calendar | undefined): DateCell[] {
  const values = table.rows.map(cells => cells[table.columns.date!])
  if (table.zone === undefined) return values.map(value => ({ date: asText(value) }))
  const calendar = hint ?? calendarOf(table.zone)
  return values.map(value => {
    if (typeof value !== 'number' || !(Math.abs(value) < 1e14)) return { date: asText(value) }
    const milliseconds = Math.abs(value) < 1e11 ? value * 1000 : value
    const date = calendar.dateAt(milliseconds)
    return table.stamped ? { date } : { date, time: new Date(milliseconds).toISOString().slice(11, 19) }
  })
}

function dateFormat(place: FilePosition, cells: readonly DateCell[]): DateFormat {
  const dates = cells.map(({ date }) => date).filter(date => date !== '')
  const guess = guessDateFormat(dates)
  if ('format' in guess) return guess.format
  throw unknownDateFormat(place, 'date', dates[0], guess)
}

/** A value as the field of a table would be. */
function asText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : JSON.stringify(value)
}

/** Places in a JSON document; a rejected row is written as a row that `json rows` reads again. */
function rowPositions(
  text: JsonText,
  table: JsonTable,
  ticker: string | null,
  dates: readonly DateCell[],
): RowPositions {
  const { columns, keyed = false, path, rows } = table
  return {
    lineOf: row => text.lineOf(path(row)),
    reject(row, { role, reason }) {
      const place = text.locate(path(row, columns[role]), role === 'date' && keyed)
      const cells = rows[row]!
      const values: Record<string, unknown> = { ticker: ticker ?? cells[columns.ticker!], date: dates[row]!.date }
      for (const cell of ROLES.slice(ROLES.indexOf('open')))
        if (columns[cell] !== undefined) values[cell] = cells[columns[cell]] ?? null
      return { ...place, reason, text: JSON.stringify(values) }
    },
  }
}

/** Finds the bars in a document; if there are none, throws BadData that says what it is. */
function tableIn(file: string, root: unknown): JsonTable {
  const table = (isMapping(root) ? vendorTable(file, root) : null) ?? tableOfShape(file, root)
  if (table === null) throw refuseJson(file, root)
  return isMapping(root) ? { ...table, words: { ...table.words, ...pageWords(root) } } : table
}

/** The bars of a vendor's envelope, recognised by its keys; null for other documents. */
function vendorTable(file: string, root: Names): JsonTable | null {
  if ('chart' in root) return yahooTable(file, root)
  const series = Object.keys(root).find(key => key.includes('Time Series'))
  if (series !== undefined) return alphaTable(file, root, series)
  if (isMapping(root.result)) return krakenTable(file, root.result)
  for (const key of ['dataset_data', 'dataset', 'datatable'])
    if (isMapping(root[key])) return dataLinkTable(file, key, root[key])
  if (isMapping(root.bars)) return alpacaTable(file, root.bars)
  return polygonTable(file, root)
}

/** Vendors give long answers in pages, and say where the next one is. */
function pageWords(root: Names): Record<string, string> {
  const meta = isMapping(root.meta) ? root.meta : {}
  const next = [root.next_page_token, root.next_url, meta.next_cursor_id].find(mark => typeof mark === 'string')
  return next === undefined || next === '' ? {} : { pages: 'more follow, which are not in this file' }
}

/** Shapes of the vendors' envelopes. The values inside are checked one by one, with positions, like those of a row. */
const Values = z.array(z.unknown())
const Quote = z.object({ open: Values, high: Values, low: Values, close: Values, volume: Values.optional() })
const Result = z.object({
  meta: z.object({
    symbol: z.string(),
    exchangeTimezoneName: z.string().optional(),
    dataGranularity: z.string().optional(),
  }),
  timestamp: Values,
  indicators: z.object({
    quote: z.array(Quote).min(1),
    adjclose: z.array(z.object({ adjclose: Values.optional() })).optional(),
  }),
})
const Chart = z.object({ chart: z.object({ result: z.array(Result).length(1) }) })
const Failed = z.object({ chart: z.object({ error: z.object({ description: z.string() }) }) })
const Daily = z.record(z.string(), z.record(z.string(), z.unknown()))
const Meta = z.object({ 'Meta Data': z.record(z.string(), z.unknown()) })

/** A Yahoo chart: columns, and a list of epochs. */
function yahooTable(file: string, root: Names): JsonTable {
  const failed = Failed.safeParse(root).data?.chart.error.description
  if (failed !== undefined)
    throw new BadData({ file }, `there are no bars in it, only a message of Yahoo: ${quoted(failed)}`)
  const { meta, timestamp, indicators } = shaped(file, Chart, root, 'a chart of Yahoo').chart.result[0]!
  const { dataGranularity: step = '1d', exchangeTimezoneName: zone = 'UTC', symbol } = meta
  if (step !== '1d') throw new BadData({ file }, `these are bars of ${step}; only daily bars are imported`)
  const adjusted = indicators.adjclose?.[0]?.adjclose
  const lists: [name: string, path: Path, values: unknown[]][] = [
    ['date', ['timestamp'], timestamp],
    ...Object.entries(indicators.quote[0]!).map(
      ([name, values]) => [name, ['indicators', 'quote', 0, name], values] as [string, Path, unknown[]],
    ),
  ]
  if (adjusted !== undefined) lists.push(['adj_close', ['indicators', 'adjclose', 0, 'adjclose'], adjusted])
  return {
    format: 'yahoo chart json',
    symbol,
    columns: Object.fromEntries(lists.map(([name], column) => [name, column])),
    rows: timestamp.map((_, row) => lists.map(([, , values]) => values[row])),
    path: (row, column = 0) => ['chart', 'result', 0, ...lists[column]![1], row],
    zone,
    stamped: true,
  }
}

/** A daily time series of Alpha Vantage: an object of bars by date. */
function alphaTable(file: string, root: Names, series: string): JsonTable {
  const span = /weekly|monthly|intraday|\d+min/i.exec(series)?.[0]
  if (span !== undefined) {
    const what = /weekly|monthly/i.test(span) ? `${span.toLowerCase()} bars` : 'intraday bars'
    throw new BadData({ file }, `these are ${what} (${quoted(series)}); only daily bars are imported`)
  }
  const meta = Meta.safeParse(root).data?.['Meta Data'] ?? {}
  const bars = Object.entries(shaped(file, Daily, root[series], 'a daily series of Alpha Vantage'))
  const names = ['date', ...new Set(bars.flatMap(([, bar]) => Object.keys(bar)))]
  const columns = barColumns(file, names)
  if (columns === null)
    throw new BadData({ file }, `its bars lack open, high, low or close (${names.slice(1).join(', ')})`)
  const symbol = meta['2. Symbol'] ?? meta['2. Digital Currency Code']
  return {
    format: 'alpha vantage json',
    symbol: typeof symbol === 'string' ? symbol : null,
    columns,
    rows: bars.map(([date, bar]) => [date, ...names.slice(1).map(name => bar[name])]),
    path: (row, column = 0) => [series, bars[row]![0], ...(column === 0 ? [] : [names[column]!])],
    keyed: true,
  }
}

/**
 * Candles of Kraken: a list under the name of the pair, and the time of the last complete one. Later candles are still
 * being traded, and left out.
 */
function krakenTable(file: string, result: Names): JsonTable | null {
  const [found] = Object.entries(result).filter(([, list]) => Array.isArray(list))
  if (found === undefined) return null
  const [pair, list] = found as [string, unknown[]]
  const table = listTable(file, list, ['result', pair])
  if (table === null) return null
  const { last } = result
  const over =
    typeof last === 'number' ? list.findLastIndex(row => Array.isArray(row) && row[0] <= last) + 1 : list.length
  if (over === 0) throw refuseUnfinished(file)
  const words = over < list.length ? { unfinished: `the last of ${list.length} candles, which is left out` } : {}
  return { ...table, symbol: pair, rows: table.rows.slice(0, over), words }
}

/** Data of Nasdaq Data Link, once Quandl: rows, and a list of their columns. */
function dataLinkTable(file: string, key: string, data: Names): JsonTable {
  const names =
    data.column_names ??
    (Array.isArray(data.columns) ? data.columns.map(column => (isMapping(column) ? column.name : column)) : undefined)
  const { column_names, data: rows } = shaped(file, Dataset, { ...data, column_names: names }, DATA_LINK, [key])
  const table = rowsTable(file, column_names, rows, [key, 'data'])
  if (table === null)
    throw new BadData(
      { file },
      `${DATA_LINK} without open, high, low and close (its columns are ${column_names.join(', ')})`,
    )
  const symbol = typeof data.dataset_code === 'string' ? data.dataset_code : null
  return { ...table, format: 'nasdaq data link', symbol }
}

const DATA_LINK = 'data of Nasdaq Data Link'
const Dataset = z.object({ column_names: z.array(z.string()), data: Values })

/** Bars of Alpaca: a list for each symbol. */
function alpacaTable(file: string, bars: Names): JsonTable | null {
  const lists = listsIn(file, bars, ['bars'])
  const [first] = lists
  if (first === undefined) return null
  const words = otherTickersNote(file, bars, lists)
  const table = lists.length > 1 ? joinLists(file, lists) : { ...first.table, symbol: first.key }
  return { ...table, format: 'alpaca', words }
}

/**
 * Polygon, now Massive, stamps bars of stocks with New York time, those of crypto and currencies with UTC and a ticker
 * prefix. A day of a whole market names the ticker of each bar.
 */
function polygonTable(file: string, root: Names): JsonTable | null {
  const table = listTable(file, root.results, ['results'])
  if (table?.format !== 'json rows') return null
  const { ticker } = table.columns
  const symbol = ticker === undefined ? symbolOf(root) : String(table.rows[0]?.[ticker])
  const zone = symbol !== null && /^[XC]:/.test(symbol) ? 'UTC' : 'America/New_York'
  const unmarked = (cell: unknown) => (typeof cell === 'string' ? cell.replace(/^[XC]:/, '') : cell)
  const rows = table.rows.map(cells => cells.map((cell, column) => (column === ticker ? unmarked(cell) : cell)))
  return { ...table, format: 'polygon', symbol, zone, rows }
}
