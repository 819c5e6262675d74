import * as z from 'zod'
import { BadData } from '../errors.js'
import type { Format } from './feed.js'
import { isObject, type Names, type Path, shaped } from './json-text.js'
import { type Columns, layoutOf, missingFrom } from './layout.js'
import { refuseJson } from './refusals.js'
import { shown } from './values.js'

/** Rows of bars inside a JSON document, whatever its shape. */
export interface JsonTable {
  format: Format
  /** The symbol that the document itself names. */
  symbol: string | null
  columns: Columns
  rows: number
  value(row: number, column: number): unknown
  /** Where a value stands; where the row does, without a column. */
  path(row: number, column?: number): Path
  /** Time zone of the exchange, where dates are epochs that need one. */
  zone?: string
  /** Whether a time of day is no part of the date: a vendor's stamp on a daily bar. */
  stamped?: true
  /** Whether the date is a key, not a value. */
  keyed?: true
}

/** Finds the bars in a document; throws BadData that says what it is when there are none. */
export function tableIn(file: string, root: unknown): JsonTable {
  if (isObject(root) && 'chart' in root) return yahooTable(file, root)
  const series = isObject(root) ? Object.keys(root).find(key => key.includes('Time Series')) : undefined
  if (isObject(root) && series !== undefined) return alphaTable(file, root, series)
  const table = listTable(file, root, []) ?? (isObject(root) ? nestedTable(file, root) : null)
  if (table === null) throw refuseJson(file, root)
  return table
}

/** The first list of bars among the properties of an object, or the object's own columns. */
function nestedTable(file: string, root: Names): JsonTable | null {
  const symbol = symbolOf(root)
  for (const [key, value] of Object.entries(root)) {
    const table = listTable(file, value, [key])
    if (table === null) continue
    return table.format === 'json rows' && key === 'results' ? polygon(table, symbol) : { ...table, symbol }
  }
  const table = columnTable(file, root) ?? singleTable(file, root)
  return table === null ? null : { ...table, symbol }
}

function symbolOf(root: Names): string | null {
  const meta = isObject(root.meta) ? root.meta : {}
  const symbols = [root.symbol, root.ticker, meta.symbol, meta.ticker]
  return symbols.find((symbol): symbol is string => typeof symbol === 'string') ?? null
}

/** Polygon stamps bars of stocks with midnight in New York, those of crypto and currencies with midnight UTC. */
function polygon(table: JsonTable, symbol: string | null): JsonTable {
  const utc = symbol !== null && /^[XC]:/.test(symbol)
  return { ...table, format: 'polygon', symbol, zone: utc ? 'UTC' : 'America/New_York' }
}

/** An object that is one bar itself, such as the only line of a file of rejects. */
function singleTable(file: string, root: Names): JsonTable | null {
  const table = objectTable(file, [root], [])
  return table === null ? null : { ...table, path: (row, column) => table.path(row, column).slice(1) }
}

function listTable(file: string, value: unknown, path: Path): JsonTable | null {
  if (!Array.isArray(value) || value.length === 0) return null
  return Array.isArray(value[0]) ? arrayTable(file, value, path) : objectTable(file, value, path)
}

/** A list of objects, one a bar. */
function objectTable(file: string, list: readonly unknown[], at: Path): JsonTable | null {
  const names = [...new Set(list.flatMap(row => (isObject(row) ? Object.keys(row) : [])))]
  const columns = barColumns(file, names)
  if (columns === null) return null
  if (names[columns.ticker ?? -1] === 'name') delete columns.ticker
  const cellOf = (row: unknown, column: number) => (isObject(row) ? row[names[column]!] : undefined)
  return {
    format: names.includes('divCash') && names.includes('adjClose') ? 'tiingo' : 'json rows',
    symbol: null,
    columns,
    rows: list.length,
    value: (row, column) => cellOf(list[row], column),
    path: (row, column) => [...at, row, ...(column === undefined ? [] : [names[column]!])],
  }
}

const OWN = ['date', 'open', 'high', 'low', 'close', 'volume', 'adj_close']
const HQCHART = ['date', 'prevclose', 'open', 'high', 'low', 'close', 'volume', 'amount']

/** A list of lists, one a bar: in the order that a first list of names gives, or in the project's own. */
function arrayTable(file: string, list: readonly unknown[], at: Path): JsonTable | null {
  const first = list[0] as unknown[]
  const named = first.every(name => typeof name === 'string') && barColumns(file, first) !== null
  const hqchart = at[0] === 'data' && first.length === HQCHART.length
  const names = named ? (first as string[]) : hqchart ? HQCHART : OWN.slice(0, first.length)
  const columns = names.length !== first.length || names.length < 6 ? null : barColumns(file, names)
  if (columns === null) return null
  const skip = named ? 1 : 0
  const cellOf = (row: unknown, column: number) => (Array.isArray(row) ? row[column] : undefined)
  return {
    format: hqchart ? 'hqchart' : 'json rows',
    symbol: null,
    columns,
    rows: list.length - skip,
    value: (row, column) => cellOf(list[row + skip], column),
    path: (row, column) => [...at, row + skip, ...(column === undefined ? [] : [column])],
  }
}

/** An object of lists, one a column. */
function columnTable(file: string, root: Names): JsonTable | null {
  const lists = Object.entries(root).filter((entry): entry is [string, unknown[]] => Array.isArray(entry[1]))
  const columns = barColumns(
    file,
    lists.map(([name]) => name),
  )
  if (columns === null) return null
  const date = columns.date!
  return {
    format: 'json rows',
    symbol: null,
    columns,
    rows: lists[date]![1].length,
    value: (row, column) => lists[column]![1][row],
    path: (row, column = date) => [lists[column]![0], row],
  }
}

/** The columns that names mean, null when they are not those of bars. */
function barColumns(file: string, names: readonly string[]): Columns | null {
  if (names.length < 5) return null
  const { columns } = layoutOf(file, 1, names)
  return missingFrom(columns).length === 0 ? columns : null
}

/** Shapes of the vendors' envelopes. The values inside are judged one by one, with their places, like those of a row. */
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

/** A chart of Yahoo: columns beside a list of epochs. */
function yahooTable(file: string, root: Names): JsonTable {
  const failed = Failed.safeParse(root).data?.chart.error.description
  if (failed !== undefined)
    throw new BadData({ file }, `there are no bars in it, only a message of Yahoo: ${shown(failed)}`)
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
    rows: timestamp.length,
    value: (row, column) => lists[column]![2][row],
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
    throw new BadData({ file }, `these are ${what} (${shown(series)}); only daily bars are imported`)
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
    rows: bars.length,
    value: (row, column) => (column === 0 ? bars[row]![0] : bars[row]![1][names[column]!]),
    path: (row, column = 0) => [series, bars[row]![0], ...(column === 0 ? [] : [names[column]!])],
    keyed: true,
  }
}
