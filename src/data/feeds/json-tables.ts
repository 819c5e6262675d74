import { BadData, quoted } from '../../core/errors.js'
import { parseTicker, TICKER_SHAPE } from '../../core/model/terms.js'
import { firstOf } from '../../core/numbers.js'
import { isMapping } from '../../core/params/arguments.js'
import type { Format } from './feed.js'
import type { Names, Path } from './json-text.js'
import { type Columns, checkSpan, layoutOf, missingFrom, vendorOrder } from './layout.js'
import { ROLES } from './names.js'
import { MAX_FIELDS } from './row.js'

/** Rows of bars inside a JSON document of any shape. */
export interface JsonTable {
  format: Format
  /** The symbol that the document itself names. */
  symbol: string | null
  columns: Columns
  /** The values of each row, by column. */
  rows: readonly (readonly unknown[])[]
  /** The path of a value; of the row without a column. */
  path(row: number, column?: number): Path
  /** Time zone of the exchange, where dates are epochs that need one. */
  zone?: string
  /** Whether a time of day is not part of the date: a vendor's stamp on a daily bar. */
  stamped?: true
  /** Whether the date is a key, not a value. */
  keyed?: true
  /** Notes about it besides its format. */
  words?: Record<string, string>
}

/** Bars of no known vendor: a list of them, or the first object of lists or columns; null where there are none. */
export function tableOfShape(file: string, root: unknown): JsonTable | null {
  return listTable(file, root, []) ?? (isMapping(root) ? nestedTable(file, root) : null)
}

/** The list of bars among the properties of an object, one for each of several tickers, or the object's own columns. */
function nestedTable(file: string, root: Names): JsonTable | null {
  const symbol = symbolOf(root)
  const lists = listsIn(file, root, [])
  const words = lists.length > 0 && lists.every(isOfTicker) ? otherTickersNote(file, root, lists, isOfTicker) : {}
  if (lists.length > 1) return { ...joinLists(file, lists), words }
  const table = lists[0]?.table ?? columnTable(file, root) ?? singleTable(file, root)
  return table === null ? null : { ...table, symbol, words }
}

/** Lists of bars under the keys of an object. */
export function listsIn(file: string, root: Names, at: Path): { key: string; table: JsonTable }[] {
  return Object.entries(root).flatMap(([key, value]) => {
    const table = listTable(file, value, [...at, key])
    return table === null ? [] : [{ key, table }]
  })
}

function isOfTicker({ key }: { key: string }): boolean {
  return parseTicker(key) === key
}

/**
 * The note about further tickers of the document that have no bars. Throws BadData if one has another list, which would
 * be lost silently.
 */
export function otherTickersNote(
  file: string,
  root: Names,
  lists: readonly { key: string }[],
  isTicker: (entry: { key: string }) => boolean = () => true,
): Record<string, string> {
  const found = new Set(lists.map(({ key }) => key))
  const others = Object.entries(root)
    .map(([key, value]) => ({ key, value }))
    .filter(entry => !found.has(entry.key) && isTicker(entry))
  const other = others.find(({ value }) => Array.isArray(value) && value.length > 0)
  if (other !== undefined)
    throw new BadData(
      { file },
      `the value of ${quoted(other.key)} is no list of bars: date, open, high, low and close are needed; mend it or take it out`,
    )
  const empty = others.filter(({ value }) => value === null || Array.isArray(value)).map(({ key }) => key)
  return empty.length === 0 ? {} : { 'no bars of': firstOf(empty, NAMED) }
}

const NAMED = 10

/** Lists under the names of their tickers, as one table. Throws BadData for invalid names. */
export function joinLists(file: string, lists: readonly { key: string; table: JsonTable }[]): JsonTable {
  const other = lists.find(list => !isOfTicker(list))
  if (other !== undefined) {
    const keys = `there are bars under ${lists.map(({ key }) => quoted(key)).join(', ')}`
    throw new BadData({ file }, `${keys}, and ${quoted(other.key)} is not ${TICKER_SHAPE}; import them one by one`)
  }
  const rows = lists.flatMap(({ key, table }) => table.rows.map((cells, row) => ({ key, table, cells, row })))
  const roles = ROLES.filter(role => role === 'ticker' || lists.some(({ table }) => table.columns[role] !== undefined))
  return {
    format: lists[0]!.table.format,
    symbol: null,
    columns: Object.fromEntries(roles.map((role, column) => [role, column])),
    rows: rows.map(({ key, table: { columns }, cells }) =>
      roles.map(role => (role === 'ticker' ? key : cells[columns[role] ?? -1])),
    ),
    path(at, column) {
      const { table, row } = rows[at]!
      return table.path(row, column === undefined ? undefined : table.columns[roles[column]!])
    },
  }
}

export function symbolOf(root: Names): string | null {
  const meta = isMapping(root.meta) ? root.meta : {}
  const symbols = [root.symbol, root.ticker, meta.symbol, meta.ticker]
  return symbols.find((symbol): symbol is string => typeof symbol === 'string') ?? null
}

/** An object that is one bar itself, such as the only line of a file of rejects. */
function singleTable(file: string, root: Names): JsonTable | null {
  const table = objectTable(file, [root], [])
  return table === null ? null : { ...table, path: (row, column) => table.path(row, column).slice(1) }
}

export function listTable(file: string, value: unknown, path: Path): JsonTable | null {
  if (!Array.isArray(value) || value.length === 0) return null
  return Array.isArray(value[0]) ? arrayTable(file, value, path) : objectTable(file, value, path)
}

/** Vendors whose bars have keys of their own. */
const VENDORS: readonly (readonly [format: Format, telling: readonly string[]])[] = [
  ['tiingo', ['divCash', 'adjClose']],
  ['eodhd', ['code', 'exchange_short_name']],
]

/** A list of objects, one a bar. */
function objectTable(file: string, list: readonly unknown[], at: Path): JsonTable | null {
  const names = [...new Set(list.flatMap(row => (isMapping(row) ? Object.keys(row) : [])))]
  // Polygon, now Massive, distinguishes tickers and times only by a capital letter.
  const meant =
    names.includes('t') && !names.includes('ticker') ? names.map(name => (name === 'T' ? 'ticker' : name)) : names
  const columns = barColumns(file, meant)
  if (columns === null) return null
  // Only needed keys are read: a few million rows may have hundreds of others.
  const roles = Object.keys(columns) as (keyof typeof columns)[]
  const read = roles.map(role => names[columns[role]!]!)
  return {
    format: VENDORS.find(([, telling]) => telling.every(name => names.includes(name)))?.[0] ?? 'json rows',
    symbol: null,
    columns: Object.fromEntries(roles.map((role, place) => [role, place])),
    rows: list.map(row => (isMapping(row) ? read.map(name => row[name]) : [])),
    path: (row, column) => [...at, row, ...(column === undefined ? [] : [read[column]!])],
  }
}

const OWN = ['date', 'open', 'high', 'low', 'close', 'volume', 'adj_close']
/** Minimum number of values in a row of unnamed columns: date, prices and volume. */
const GUESSED = 6
const HQCHART = ['date', 'prevclose', 'open', 'high', 'low', 'close', 'volume', 'amount']

/** A list of lists, one a bar: in the order that a first list of names gives, in a vendor's, or in the project's own. */
function arrayTable(file: string, list: readonly unknown[], at: Path): JsonTable | null {
  const first = list[0] as unknown[]
  const named = first.every(name => typeof name === 'string') && barColumns(file, first) !== null
  if (named) return rowsTable(file, first as string[], list, at, 1)
  if (at[0] === 'data' && first.length === HQCHART.length) return rowsTable(file, HQCHART, list, at)
  if (first.length < GUESSED) return null
  const order = isLowFirst(list) ? LOW_FIRST : OWN.slice(0, first.length)
  return rowsTable(file, vendorOrder(first.map(String)) ?? order, list, at)
}

/** Coinbase writes the low before the high, and both before the open. */
const LOW_FIRST = ['date', 'low', 'high', 'open', 'close', 'volume']

/** Whether every row has its lowest price first and its highest second, which bars in the usual order would not have. */
function isLowFirst(list: readonly unknown[]): boolean {
  const rows = list.map(row => (Array.isArray(row) ? row.map(Number) : []))
  const isOrdered = rows.every(
    ([, low, high, open, close]) => low! <= Math.min(open!, close!) && high! >= Math.max(open!, close!),
  )
  const isImpossible = rows.some(([, open, , low]) => low! > open!)
  return isOrdered && isImpossible && rows.every(row => row.length === LOW_FIRST.length)
}

/** Lists in a known order, without leading lists that are no bars; null if the order is not one of bars. */
export function rowsTable(
  file: string,
  names: readonly string[],
  list: readonly unknown[],
  at: Path,
  skip = 0,
): JsonTable | null {
  const first: unknown = list[skip]
  const fits = !Array.isArray(first) || names.length === first.length
  const columns = fits ? barColumns(file, names) : null
  if (columns === null) return null
  const { format } = layoutOf(file, 1, names)
  if (format === 'binance' && Array.isArray(first)) checkSpan(file, names, first.map(String))
  return {
    format: names === HQCHART ? 'hqchart' : format === 'binance' || format === 'kraken' ? format : 'json rows',
    symbol: null,
    columns,
    rows: list.slice(skip).map(row => (Array.isArray(row) ? row : [])),
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
    rows: lists[date]![1].map((_, row) => lists.map(([, list]) => list[row])),
    path: (row, column = date) => [lists[column]![0], row],
  }
}

/** The columns of some names, null when they are not those of bars. */
export function barColumns(file: string, names: readonly string[]): Columns | null {
  if (names.length < 5 || names.length > MAX_FIELDS) return null
  const { columns, parts } = layoutOf(file, 1, names)
  if (parts.length > 0) {
    const tickers = parts.map(({ ticker }) => ticker).join(', ')
    throw new BadData({ file }, `has ${tickers} side by side; import one document for each ticker, or a CSV`)
  }
  return missingFrom(columns).length === 0 ? columns : null
}
