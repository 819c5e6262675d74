import { BadData, quoted } from '../../core/errors.js'
import { parseTicker, TICKER_SHAPE } from '../../core/model/terms.js'
import { firstNames } from '../../core/numbers.js'
import { isMapping } from '../../core/params/arguments.js'
import type { Format } from './feed.js'
import type { JsonObject, Path } from './json-text.js'
import { type Columns, layoutOf, missingBarRoles, refuseNonDailyBars, vendorOrder } from './layout.js'
import { ROLES, USUAL_ORDER } from './names.js'
import { MAX_FIELDS } from './row.js'

/** Rows of bars inside a JSON document of any shape. */
export interface JsonTable {
  format: Format
  /** The symbol that the document itself names. */
  symbol: string | null
  columns: Columns
  rows: readonly (readonly unknown[])[]
  /** The path of a value in the document; without a column that of the row. */
  pathOf(row: number, column?: number): Path
  /** Time zone of the exchange, where dates are epochs that need one. */
  zone?: string
  /** Whether the time of day of an epoch means nothing, as on a daily bar of Yahoo. */
  timeIgnored?: true
  /** Whether dates are keys of the document, not values. */
  dateIsKey?: true
  remarks?: Record<string, string>
}

/** Bars of no known vendor: a list of them, or the first object of lists or columns; null where there are none. */
export function tableOfShape(file: string, root: unknown): JsonTable | null {
  return listTable(file, root, []) ?? (isMapping(root) ? nestedTable(file, root) : null)
}

/** The bars in an object: lists among its properties, a list for each column, or itself as one bar; null for others. */
function nestedTable(file: string, root: JsonObject): JsonTable | null {
  const symbol = symbolOf(root)
  const lists = listsIn(file, root, [])
  const isByTicker = lists.length > 0 && lists.every(hasTickerKey)
  const remarks = isByTicker ? noteOnTickersWithoutBars(file, root, lists, hasTickerKey) : {}
  if (lists.length > 1) return { ...joinLists(file, lists), remarks }
  const table = lists[0]?.table ?? columnTable(file, root) ?? singleTable(file, root)
  return table === null ? null : { ...table, symbol, remarks }
}

/** The lists of bars among the values of an object. @param path of the object in the document */
export function listsIn(file: string, root: JsonObject, path: Path): { key: string; table: JsonTable }[] {
  return Object.entries(root).flatMap(([key, value]) => {
    const table = listTable(file, value, [...path, key])
    return table === null ? [] : [{ key, table }]
  })
}

/** Whether the key of an entry is a ticker in upper case. */
function hasTickerKey({ key }: { key: string }): boolean {
  return parseTicker(key) === key
}

/**
 * The note that names the tickers of the document without bars; an empty object without any. Throws BadData if one has
 * another list, which would be lost silently.
 * @param isTicker whether the key of an entry is a ticker (default: each one is)
 */
export function noteOnTickersWithoutBars(
  file: string,
  root: JsonObject,
  lists: readonly { key: string }[],
  isTicker: (entry: { key: string }) => boolean = () => true,
): Record<string, string> {
  const keysWithBars = new Set(lists.map(({ key }) => key))
  const others = Object.entries(root)
    .map(([key, value]) => ({ key, value }))
    .filter(entry => !keysWithBars.has(entry.key) && isTicker(entry))
  const listWithoutBars = others.find(({ value }) => Array.isArray(value) && value.length > 0)
  if (listWithoutBars !== undefined)
    throw new BadData(
      { file },
      `the value of ${quoted(listWithoutBars.key)} is no list of bars: date, open, high, low and close are needed; mend it or take it out`,
    )
  const empty = others.filter(({ value }) => value === null || Array.isArray(value)).map(({ key }) => key)
  return empty.length === 0 ? {} : { 'no bars of': firstNames(empty, MAX_TICKERS_SHOWN) }
}

const MAX_TICKERS_SHOWN = 10

/** Joins lists of bars, each under its ticker as a key, into one table. Throws BadData for a key that is no ticker. */
export function joinLists(file: string, lists: readonly { key: string; table: JsonTable }[]): JsonTable {
  const withoutTicker = lists.find(list => !hasTickerKey(list))
  if (withoutTicker !== undefined) {
    const keys = `there are bars under ${lists.map(({ key }) => quoted(key)).join(', ')}`
    throw new BadData(
      { file },
      `${keys}, and ${quoted(withoutTicker.key)} is not ${TICKER_SHAPE}; import them one by one`,
    )
  }
  const rowsOfAll = lists.flatMap(({ key, table }) => table.rows.map((cells, row) => ({ key, table, cells, row })))
  const roles = ROLES.filter(role => role === 'ticker' || lists.some(({ table }) => table.columns[role] !== undefined))
  return {
    format: lists[0]!.table.format,
    symbol: null,
    columns: Object.fromEntries(roles.map((role, column) => [role, column])),
    rows: rowsOfAll.map(({ key, table: { columns }, cells }) =>
      roles.map(role => {
        if (role === 'ticker') return key
        const column = columns[role]
        return column === undefined ? undefined : cells[column]
      }),
    ),
    pathOf(index, column) {
      const { table, row } = rowsOfAll[index]!
      return table.pathOf(row, column === undefined ? undefined : table.columns[roles[column]!])
    },
  }
}

/** The symbol that a document names, at its top or in `meta`; null where it names none. */
export function symbolOf(root: JsonObject): string | null {
  const meta = isMapping(root.meta) ? root.meta : {}
  const symbols = [root.symbol, root.ticker, meta.symbol, meta.ticker]
  return symbols.find((symbol): symbol is string => typeof symbol === 'string') ?? null
}

/** The table of an object that is itself one bar, such as the only line of a file of rejects; null for others. */
function singleTable(file: string, root: JsonObject): JsonTable | null {
  const table = objectTable(file, [root], [])
  // The document has no list, so the index of the row is not part of a path.
  return table === null ? null : { ...table, pathOf: (row, column) => table.pathOf(row, column).slice(1) }
}

/** The bars of a list of objects or lists; null where it is none. */
export function listTable(file: string, value: unknown, path: Path): JsonTable | null {
  if (!Array.isArray(value) || value.length === 0) return null
  return Array.isArray(value[0]) ? arrayTable(file, value, path) : objectTable(file, value, path)
}

const VENDOR_KEYS: readonly (readonly [format: Format, keys: readonly string[]])[] = [
  ['tiingo', ['divCash', 'adjClose']],
  ['eodhd', ['code', 'exchange_short_name']],
]

/** The bars of a list of objects; null where their keys are not those of bars. */
function objectTable(file: string, list: readonly unknown[], path: Path): JsonTable | null {
  const names = [...new Set(list.flatMap(row => (isMapping(row) ? Object.keys(row) : [])))]
  // Polygon, now Massive, distinguishes tickers and times only by a capital letter.
  const isPolygon = names.includes('t') && !names.includes('ticker')
  const columnNames = isPolygon ? names.map(name => (name === 'T' ? 'ticker' : name)) : names
  const columns = barColumns(file, columnNames)
  if (columns === null) return null
  // Only needed keys are read: a few million rows may have hundreds of others.
  const roles = Object.keys(columns) as (keyof typeof columns)[]
  const keysRead = roles.map(role => names[columns[role]!]!)
  const vendor = VENDOR_KEYS.find(([, keys]) => keys.every(key => names.includes(key)))
  return {
    format: vendor?.[0] ?? 'json rows',
    symbol: null,
    columns: Object.fromEntries(roles.map((role, i) => [role, i])),
    rows: list.map(row => (isMapping(row) ? keysRead.map(name => row[name]) : [])),
    pathOf: (row, column) => (column === undefined ? [...path, row] : [...path, row, keysRead[column]!]),
  }
}

/** Minimum number of values in a row of unnamed columns: date, prices and volume. */
const MIN_UNNAMED_COLUMNS = 6
const HQCHART_ORDER = ['date', 'prevclose', 'open', 'high', 'low', 'close', 'volume', 'amount']

/** The bars of a list of lists, by names in the first list, a vendor's order or the usual one; null for short lists. */
function arrayTable(file: string, list: readonly unknown[], path: Path): JsonTable | null {
  const first = list[0] as unknown[]
  const hasNames = first.every(name => typeof name === 'string') && barColumns(file, first) !== null
  if (hasNames) return rowsTable(file, first as string[], list, path, 1)
  if (path[0] === 'data' && first.length === HQCHART_ORDER.length) return rowsTable(file, HQCHART_ORDER, list, path)
  if (first.length < MIN_UNNAMED_COLUMNS) return null
  const order = isCoinbaseOrder(list) ? COINBASE_ORDER : USUAL_ORDER.slice(0, first.length)
  return rowsTable(file, vendorOrder(first.map(String)) ?? order, list, path)
}

/** Coinbase writes the low before the high, and both before the open. */
const COINBASE_ORDER = ['date', 'low', 'high', 'open', 'close', 'volume']

/** Whether rows have Coinbase's order: the lowest price first, the highest second, which the usual order rules out. */
function isCoinbaseOrder(list: readonly unknown[]): boolean {
  const rows = list.map(row => (Array.isArray(row) ? row.map(Number) : []))
  const isOrdered = rows.every(
    ([, low, high, open, close]) => low! <= Math.min(open!, close!) && high! >= Math.max(open!, close!),
  )
  const isNotUsualOrder = rows.some(([, open, , low]) => low! > open!)
  return isOrdered && isNotUsualOrder && rows.every(row => row.length === COINBASE_ORDER.length)
}

/** The bars of a list of lists, after `skippedRows`, by the names of their columns; null if those are not of bars. */
export function rowsTable(
  file: string,
  names: readonly string[],
  list: readonly unknown[],
  path: Path,
  skippedRows = 0,
): JsonTable | null {
  const first: unknown = list[skippedRows]
  const isSameLength = !Array.isArray(first) || names.length === first.length
  const columns = isSameLength ? barColumns(file, names) : null
  if (columns === null) return null
  const { format } = layoutOf(file, 1, names)
  if (format === 'binance' && Array.isArray(first)) refuseNonDailyBars(file, names, first.map(String))
  let shownFormat: Format = 'json rows'
  if (names === HQCHART_ORDER) shownFormat = 'hqchart'
  else if (format === 'binance' || format === 'kraken') shownFormat = format
  return {
    format: shownFormat,
    symbol: null,
    columns,
    rows: list.slice(skippedRows).map(row => (Array.isArray(row) ? row : [])),
    pathOf: (row, column) =>
      column === undefined ? [...path, row + skippedRows] : [...path, row + skippedRows, column],
  }
}

/** The bars of an object with a list for each column; null for others. */
function columnTable(file: string, root: JsonObject): JsonTable | null {
  const lists = Object.entries(root).filter((entry): entry is [string, unknown[]] => Array.isArray(entry[1]))
  const names = lists.map(([name]) => name)
  const columns = barColumns(file, names)
  if (columns === null) return null
  const dateColumn = columns.date!
  return {
    format: 'json rows',
    symbol: null,
    columns,
    rows: lists[dateColumn]![1].map((_, row) => lists.map(([, list]) => list[row])),
    pathOf: (row, column = dateColumn) => [lists[column]![0], row],
  }
}

/** The column of each role, judged by names; null when a bar needs others. Throws BadData for tickers side by side. */
export function barColumns(file: string, names: readonly string[]): Columns | null {
  // A bar has at least a date and four prices.
  if (names.length < 5 || names.length > MAX_FIELDS) return null
  const { columns, parallelTickers } = layoutOf(file, 1, names)
  if (parallelTickers.length > 0) {
    const tickers = parallelTickers.map(({ ticker }) => ticker).join(', ')
    throw new BadData({ file }, `has ${tickers} side by side; import one document for each ticker, or a CSV`)
  }
  return missingBarRoles(columns).length === 0 ? columns : null
}
