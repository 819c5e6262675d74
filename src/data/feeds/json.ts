import * as z from 'zod'
import { BadData, type FilePosition, quoted } from '../../core/errors.js'
import { isMapping } from '../../core/params/arguments.js'
import { Collector, type RowPositions } from './bars.js'
import { parseHints, unknownDateFormatError } from './dialect.js'
import type { FactsResult, ReadOptions, ReadResult } from './feed.js'
import {
  barColumns,
  type JsonTable,
  joinLists,
  listsIn,
  listTable,
  noteOnTickersWithoutBars,
  rowsTable,
  symbolOf,
  tableOfShape,
} from './json-tables.js'
import { type JsonObject, JsonText, type Path, parseShape } from './json-text.js'
import { parseTickerOption, tickerOfFile } from './layout.js'
import { ROLES } from './names.js'
import { adjustmentOf, latestBar, PriceRows, severalTickersError } from './price-rows.js'
import { onlyUnfinishedError, unreadableJsonError } from './refusals.js'
import { Row } from './row.js'
import { type Source, textOf } from './source.js'
import { type Calendar, calendarOf, type DateFormat, DateReader, guessDateFormat } from './values.js'

/** Reads a whole JSON document, or one per line: facts, or bars whose rows are checked like those of a table. */
export async function readJson(source: Source, options: ReadOptions): Promise<ReadResult | FactsResult> {
  const text = new JsonText(source.file, await textOf(source))
  const { readFactsJson } = await import('./facts/json.js')
  return readFactsJson(source, text, options) ?? readBarsJson(source, text, options)
}

/** Reads the bars of a document. Throws BadData where it has none, and for a bad row unless such rows are skipped. */
async function readBarsJson(source: Source, text: JsonText, options: ReadOptions): Promise<ReadResult> {
  const hints = parseHints(options.hints)
  const { file, compression, encoding } = source
  const table = tableIn(file, text.root)
  if (hints.format !== undefined && hints.format !== table.format)
    throw new BadData({ file }, `this is not ${hints.format}; it looks like ${table.format}`)
  const { prices, adjust, note } = adjustmentOf(table.columns.adj_close !== undefined, options.prices)
  const dateTexts = dateCells(table, hints.calendar)
  const format = hints.dateFormat ?? dateFormatOf({ file }, dateTexts)
  const ticker = fixedTicker(source, table, options)
  const collector = new Collector(file, rowPositions(text, table, ticker, dateTexts), options.skipBadRows ?? false)
  // `visitRows` puts the fields of each row in the order of ROLES.
  const columns = Object.fromEntries(ROLES.map((role, i) => [role, i]))
  if (ticker !== null) delete columns.ticker
  if (dateTexts[0]?.time === undefined) delete columns.time
  const rows = new PriceRows(
    {
      format: table.format,
      dates: new DateReader(format, hints.calendar),
      latest: latestBar(options.today),
      decimal: hints.decimal ?? '.',
      adjust,
      columns,
      ticker,
    },
    collector,
  )
  return collector.deleteSpillOnError(() => {
    visitRows(table, dateTexts, rows)
    options.onProgress?.({ bytes: source.bytesTaken(), total: source.total, rows: collector.rows })
    const { order } = collector
    const collected = collector.finish(prices)
    const dialect = {
      encoding,
      compression,
      ...text.notes,
      ...dateNotes(table, format, hints.calendar),
      order,
      ...rows.unfinishedNote,
      ...table.remarks,
    }
    return { holds: 'bars', file, format: table.format, dialect, header: null, ...collected, adjustmentNote: note }
  })
}

/** Calls `rows.visit` for each row of a table, with its fields in the order of ROLES. */
function visitRows(table: JsonTable, dateTexts: readonly DateCell[], rows: PriceRows): void {
  const columns = ROLES.map(role => table.columns[role])
  const dateField = ROLES.indexOf('date')
  const timeField = ROLES.indexOf('time')
  const row = new Row()
  for (const [index, cells] of table.rows.entries()) {
    const fields = columns.map(column => (column === undefined ? '' : asText(cells[column])))
    const { date, time } = dateTexts[index]!
    fields[dateField] = date
    if (time !== undefined) fields[timeField] = time
    // Rows of JSON may share a line: the index replaces it, and `rowPositions` finds the place.
    row.line = index
    row.fill(fields)
    rows.visit(row)
  }
}

/** How the dates of a table are written, for the description of a file. */
function dateNotes({ zone: zoneOfTable }: JsonTable, format: DateFormat, hint: Calendar | undefined) {
  const dates = zoneOfTable === undefined ? format : 'epoch'
  const zone = hint?.zone ?? zoneOfTable
  return zone === undefined ? { dates } : { dates, 'time zone': zone }
}

/**
 * The ticker of all rows: the user's, or the one that the document or the file's name gives. null when each row has its
 * own. Throws BadData if the user gave one ticker and the rows have several.
 */
function fixedTicker(source: Source, table: JsonTable, options: ReadOptions): string | null {
  const typedTicker = parseTickerOption(options.ticker)
  if (table.columns.ticker === undefined) return typedTicker ?? tickerOfFile(source, table.symbol, table.format).ticker
  if (typedTicker === null) return null
  const symbols = table.rows.map(cells => asText(cells[table.columns.ticker!]))
  const otherSymbol = symbols.find(symbol => symbol !== symbols[0])
  if (otherSymbol === undefined) return typedTicker
  throw severalTickersError({ file: source.file }, typedTicker, symbols[0]!, otherSymbol)
}

interface DateCell {
  date: string
  /** Time of day, where the date is an epoch. */
  time?: string
}

/** The date of each row as text. An epoch becomes a date on the exchange's calendar if the table names a time zone. */
function dateCells(table: JsonTable, typedCalendar: Calendar | undefined): DateCell[] {
  const values = table.rows.map(cells => cells[table.columns.date!])
  if (table.zone === undefined) return values.map(value => ({ date: asText(value) }))
  const calendar = typedCalendar ?? calendarOf(table.zone)
  return values.map(value => {
    if (typeof value !== 'number' || !(Math.abs(value) < 1e14)) return { date: asText(value) }
    // Seconds stay below 1e11 until the year 5138; greater numbers are milliseconds.
    const milliseconds = Math.abs(value) < 1e11 ? value * 1000 : value
    const date = calendar.dateAt(milliseconds)
    // The time, in UTC, only shows whether a day has several bars.
    return table.timeIgnored ? { date } : { date, time: new Date(milliseconds).toISOString().slice(11, 19) }
  })
}

/** The format of most dates. Throws BadData where none fits, or several do. */
function dateFormatOf(place: FilePosition, cells: readonly DateCell[]): DateFormat {
  const dates = cells.map(({ date }) => date).filter(date => date !== '')
  const guess = guessDateFormat(dates)
  if ('format' in guess) return guess.format
  throw unknownDateFormatError(place, 'date', dates[0], guess)
}

/** A JSON value as the text of a table's field; empty for null and for a missing value. */
function asText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : JSON.stringify(value)
}

/**
 * Finds positions of rows in a JSON document. A rejected row is written as an object that can be imported again.
 * @param ticker of all rows; null: each row has its own
 */
function rowPositions(
  text: JsonText,
  table: JsonTable,
  ticker: string | null,
  dates: readonly DateCell[],
): RowPositions {
  const { columns, dateIsKey = false, pathOf, rows } = table
  return {
    lineOf: row => text.lineOf(pathOf(row)),
    describeRejected(row, { role, reason }) {
      const position = text.locate(pathOf(row, columns[role]), role === 'date' && dateIsKey)
      const cells = rows[row]!
      const values: Record<string, unknown> = { ticker: ticker ?? cells[columns.ticker!], date: dates[row]!.date }
      for (const priceRole of ROLES.slice(ROLES.indexOf('open')))
        if (columns[priceRole] !== undefined) values[priceRole] = cells[columns[priceRole]] ?? null
      return { ...position, reason, text: JSON.stringify(values) }
    },
  }
}

/** Finds the bars in a document; if there are none, throws BadData that says what it is. */
function tableIn(file: string, root: unknown): JsonTable {
  const ofVendor = isMapping(root) ? vendorTable(file, root) : null
  const table = ofVendor ?? tableOfShape(file, root)
  if (table === null) throw unreadableJsonError(file, root)
  return isMapping(root) ? { ...table, remarks: { ...table.remarks, ...pagesNote(root) } } : table
}

/** The bars of a vendor's envelope, recognised by its keys; null for other documents. */
function vendorTable(file: string, root: JsonObject): JsonTable | null {
  if ('chart' in root) return yahooTable(file, root)
  const series = Object.keys(root).find(key => key.includes('Time Series'))
  if (series !== undefined) return alphaTable(file, root, series)
  if (isMapping(root.result)) return krakenTable(file, root.result)
  for (const key of ['dataset_data', 'dataset', 'datatable'])
    if (isMapping(root[key])) return dataLinkTable(file, key, root[key])
  if (isMapping(root.bars)) return alpacaTable(file, root.bars)
  return polygonTable(file, root)
}

/** The note that a document is one page of several; empty where no next page is named. */
function pagesNote(root: JsonObject): Record<string, string> {
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

/** The bars of a Yahoo chart, which has a list for each column, and one of epochs. */
function yahooTable(file: string, root: JsonObject): JsonTable {
  const failed = Failed.safeParse(root).data?.chart.error.description
  if (failed !== undefined)
    throw new BadData({ file }, `there are no bars in it, only a message of Yahoo: ${quoted(failed)}`)
  const { meta, timestamp, indicators } = parseShape(file, Chart, root, 'a chart of Yahoo').chart.result[0]!
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
    pathOf: (row, column = 0) => ['chart', 'result', 0, ...lists[column]![1], row],
    zone,
    timeIgnored: true,
  }
}

/** The bars of a daily time series of Alpha Vantage, an object by date. @param series the key of that object */
function alphaTable(file: string, root: JsonObject, series: string): JsonTable {
  const span = /weekly|monthly|intraday|\d+min/i.exec(series)?.[0]
  if (span !== undefined) {
    const what = /weekly|monthly/i.test(span) ? `${span.toLowerCase()} bars` : 'intraday bars'
    throw new BadData({ file }, `these are ${what} (${quoted(series)}); only daily bars are imported`)
  }
  const meta = Meta.safeParse(root).data?.['Meta Data'] ?? {}
  const bars = Object.entries(parseShape(file, Daily, root[series], 'a daily series of Alpha Vantage'))
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
    pathOf: (row, column = 0) => {
      const [date] = bars[row]!
      return column === 0 ? [series, date] : [series, date, names[column]!]
    },
    dateIsKey: true,
  }
}

/**
 * The candles of Kraken: a list under the name of the pair, and the time `last` of the last finished one. Later candles
 * are still being traded, and left out. Null where there is no list of bars.
 */
function krakenTable(file: string, result: JsonObject): JsonTable | null {
  const pair = Object.keys(result).find(key => Array.isArray(result[key]))
  if (pair === undefined) return null
  const candles = result[pair] as unknown[]
  const table = listTable(file, candles, ['result', pair])
  if (table === null) return null
  const { last } = result
  let finishedCount = candles.length
  if (typeof last === 'number')
    finishedCount = candles.findLastIndex(candle => Array.isArray(candle) && candle[0] <= last) + 1
  if (finishedCount === 0) throw onlyUnfinishedError(file)
  const isLastLeftOut = finishedCount < candles.length
  const remarks = isLastLeftOut ? { unfinished: `the last of ${candles.length} candles, which is left out` } : {}
  return { ...table, symbol: pair, rows: table.rows.slice(0, finishedCount), remarks }
}

/** The bars of Nasdaq Data Link, once Quandl: rows, and the list of columns. @param key of `data` in the document */
function dataLinkTable(file: string, key: string, data: JsonObject): JsonTable {
  let names = data.column_names
  if (Array.isArray(data.columns)) names ??= data.columns.map(column => (isMapping(column) ? column.name : column))
  const { column_names, data: rows } = parseShape(file, Dataset, { ...data, column_names: names }, DATA_LINK, [key])
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

/** The bars of Alpaca, a list for each symbol; null where there are none. Remarks name the symbols without bars. */
function alpacaTable(file: string, bars: JsonObject): JsonTable | null {
  const lists = listsIn(file, bars, ['bars'])
  const [first] = lists
  if (first === undefined) return null
  const remarks = noteOnTickersWithoutBars(file, bars, lists)
  const table = lists.length > 1 ? joinLists(file, lists) : { ...first.table, symbol: first.key }
  return { ...table, format: 'alpaca', remarks }
}

/**
 * The bars of Polygon, now Massive. Those of stocks have times of New York, those of crypto and currencies times in UTC
 * and a ticker prefix (`X:`, `C:`). A day of a whole market names the ticker of each bar. Null for other documents.
 */
function polygonTable(file: string, root: JsonObject): JsonTable | null {
  const table = listTable(file, root.results, ['results'])
  if (table?.format !== 'json rows') return null
  const { ticker } = table.columns
  // With a ticker in each row, the first one shows the market of all; callers ignore `symbol` then.
  const symbol = ticker === undefined ? symbolOf(root) : String(table.rows[0]?.[ticker])
  const zone = symbol !== null && /^[XC]:/.test(symbol) ? 'UTC' : 'America/New_York'
  const withoutPrefix = (cell: unknown) => (typeof cell === 'string' ? cell.replace(/^[XC]:/, '') : cell)
  const rows = table.rows.map(cells => cells.map((cell, column) => (column === ticker ? withoutPrefix(cell) : cell)))
  return { ...table, format: 'polygon', symbol, zone, rows }
}
