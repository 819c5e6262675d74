import * as z from 'zod'
import { BadData } from '../errors.js'
import type { Format } from './feed.js'
import type { Path } from './json-text.js'
import { type Columns, layoutOf, missingFrom, type Role } from './layout.js'
import { refuseJson } from './refusals.js'
import { shown } from './values.js'

/** Finds the bars in a document; throws BadData that says what it is when there are none. */
export async function tableIn(file: string, root: unknown): Promise<JsonTable> {
  if (isObject(root) && 'chart' in root) {
    return yahooTable(file, root)
  }
  const series = isObject(root) ? Object.keys(root).find(key => key.includes('Time Series')) : undefined
  if (series !== undefined) {
    return alphaTable(file, root, series)
  }
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
    if (table.format === 'json rows' && key === 'results') return polygon(table, symbol)
    return { ...table, symbol }
  }
  const table = columnTable(file, root) ?? singleTable(file, root)
  return table === null ? null : { ...table, symbol }
}

/** An object that is one bar itself, such as the only line of a file of rejects. */
function singleTable(file: string, root: Names): JsonTable | null {
  const table = objectTable(file, [root], [])
  return table === null ? null : { ...table, path: (row, role) => table.path(row, role).slice(1) }
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
  const format = names.includes('divCash') && names.includes('adjClose') ? 'tiingo' : 'json rows'
  const key = (role: Role) => names[columns[role]!]!
  return {
    ...table(format, columns, list.length),
    value: (row, role) => (isObject(list[row]) && columns[role] !== undefined ? list[row][key(role)] : undefined),
    path: (row, role) => (role === undefined || columns[role] === undefined ? [...at, row] : [...at, row, key(role)]),
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
  if (names.length !== first.length || names.length < 6) return null
  const columns = barColumns(file, names)
  if (columns === null) return null
  const skip = named ? 1 : 0
  return {
    ...table(hqchart ? 'hqchart' : 'json rows', columns, list.length - skip),
    value: (row, role) => {
      const fields = list[row + skip]
      return Array.isArray(fields) && columns[role] !== undefined ? fields[columns[role]] : undefined
    },
    path: (row, role) => [...at, row + skip, ...(role === undefined ? [] : [columns[role] ?? 0])],
  }
}

/** An object of lists, one a column. */
function columnTable(file: string, root: Names): JsonTable | null {
  const names = Object.keys(root).filter(name => Array.isArray(root[name]))
  const columns = barColumns(file, names)
  if (columns === null) return null
  const list = (role: Role) => (columns[role] === undefined ? [] : (root[names[columns[role]]!] as unknown[]))
  return {
    ...table('json rows', columns, list('date').length),
    value: (row, role) => list(role)[row],
    path: (row, role) => [names[columns[role ?? 'date'] ?? columns.date!]!, row],
  }
}

/** Polygon stamps bars of stocks with midnight in New York, those of crypto and currencies with midnight UTC. */
function polygon(table: JsonTable, symbol: string | null): JsonTable {
  const utc = symbol !== null && /^[XC]:/.test(symbol)
  return { ...table, format: 'polygon', symbol, zone: utc ? 'UTC' : 'America/New_York' }
}

function table(format: Format, columns: Columns, rows: number) {
  const roles: ReadonlySet<Role> = new Set(Object.keys(columns) as Role[])
  return { format, roles, rows, symbol: null, zone: null, stamped: false, keyed: false }
}

function symbolOf(root: Names): string | null {
  const meta = isObject(root.meta) ? root.meta : {}
  const symbols = [root.symbol, root.ticker, meta.symbol, meta.ticker]
  return symbols.find((symbol): symbol is string => typeof symbol === 'string') ?? null
}

/** Rows of bars inside a JSON document, whatever its shape. */
export interface JsonTable {
  format: Format
  /** The symbol that the document itself names. */
  symbol: string | null
  roles: ReadonlySet<Role>
  rows: number
  /** Time zone of the exchange, where dates are epochs that need one. */
  zone: string | null
  /** Whether a time of day is no part of the date: a vendor's stamp on a daily bar. */
  stamped: boolean
  value(row: number, role: Role): unknown
  /** Where a value stands; where the row does, without a role. */
  path(row: number, role?: Role): Path
  /** Whether the date is a key, not a value. */
  keyed: boolean
}

export type Names = Record<string, unknown>

/** The columns that names mean, null when they are not those of bars. */
function barColumns(file: string, names: readonly string[]): Columns | null {
  if (names.length < 5) return null
  const { columns } = layoutOf(file, 1, names)
  return missingFrom(columns).length === 0 ? columns : null
}

export function isObject(value: unknown): value is Names {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Shapes of the vendors' envelopes. The values inside are judged one by one, with their places, like those of a row. */
const Values = z.array(z.unknown())
const Chart = z.object({
  chart: z.object({
    result: z
      .array(
        z.object({
          meta: z.object({
            symbol: z.string(),
            exchangeTimezoneName: z.string().optional(),
            dataGranularity: z.string().optional(),
          }),
          timestamp: Values,
          indicators: z.object({
            quote: z
              .array(z.object({ open: Values, high: Values, low: Values, close: Values, volume: Values.optional() }))
              .min(1),
            adjclose: z.array(z.object({ adjclose: Values.optional() })).optional(),
          }),
        }),
      )
      .length(1),
  }),
})
const Failed = z.object({ chart: z.object({ error: z.object({ description: z.string() }) }) })
const Daily = z.record(z.string(), z.record(z.string(), z.unknown()))
const Meta = z.object({ 'Meta Data': z.record(z.string(), z.unknown()) })

/** A chart of Yahoo: columns beside a list of epochs. */
function yahooTable(file: string, root: unknown): JsonTable {
  const failed = Failed.safeParse(root)
  if (failed.success)
    throw new BadData(
      { file },
      `there are no bars in it, only a message of Yahoo: ${shown(failed.data.chart.error.description)}`,
    )
  const chart = parsed(file, Chart, root, 'a chart of Yahoo')
  const { meta, timestamp, indicators } = chart.chart.result[0]!
  const { dataGranularity: step = '1d', exchangeTimezoneName: zone = 'UTC', symbol } = meta
  if (step !== '1d') throw new BadData({ file }, `these are bars of ${step}; only daily bars are imported`)
  const quote = indicators.quote[0]!
  const adjusted = indicators.adjclose?.[0]?.adjclose
  const columns: Partial<Record<Role, unknown[] | undefined>> = { ...quote, date: timestamp, adj_close: adjusted }
  const places: Partial<Record<Role, string[]>> = {
    date: ['timestamp'],
    adj_close: ['indicators', 'adjclose', '0', 'adjclose'],
  }
  const at = ['chart', 'result', 0]
  const index = (text: string) => (text === '0' ? 0 : text)
  return {
    format: 'yahoo chart json',
    symbol,
    roles: new Set((Object.keys(columns) as Role[]).filter(role => columns[role] !== undefined)),
    rows: timestamp.length,
    zone,
    stamped: true,
    keyed: false,
    value: (row, role) => columns[role]?.[row],
    path: (row, role = 'date') => [...at, ...(places[role] ?? ['indicators', 'quote', '0', role]).map(index), row],
  }
}

/** A daily time series of Alpha Vantage: an object of bars by date. */
function alphaTable(file: string, root: unknown, series: string): JsonTable {
  const span = /weekly|monthly|intraday|\d+min/i.exec(series)?.[0]
  if (span !== undefined) {
    const what = /weekly|monthly/i.test(span) ? `${span.toLowerCase()} bars` : 'intraday bars'
    throw new BadData({ file }, `these are ${what} (${shown(series)}); only daily bars are imported`)
  }
  const meta = Meta.safeParse(root).data?.['Meta Data'] ?? {}
  const bars = parsed(file, Daily, (root as Record<string, unknown>)[series], 'a daily series of Alpha Vantage')
  const dates = Object.keys(bars)
  const names = ['date', ...new Set(dates.flatMap(date => Object.keys(bars[date]!)))]
  const columns = barColumns(file, names)
  if (columns === null)
    throw new BadData({ file }, `its bars lack open, high, low or close (${names.slice(1).join(', ')})`)
  const symbol = meta['2. Symbol'] ?? meta['2. Digital Currency Code']
  const key = (role: Role) => names[columns[role] ?? -1]
  return {
    format: 'alpha vantage json',
    symbol: typeof symbol === 'string' ? symbol : null,
    roles: new Set(Object.keys(columns) as Role[]),
    rows: dates.length,
    zone: null,
    stamped: false,
    keyed: true,
    value: (row, role) => (role === 'date' ? dates[row] : bars[dates[row]!]![key(role) ?? '']),
    path: (row, role = 'date') => [series, dates[row]!, ...(role === 'date' ? [] : [key(role) ?? ''])],
  }
}

function parsed<T extends z.ZodType>(file: string, shape: T, value: unknown, what: string): z.infer<T> {
  const result = shape.safeParse(value)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  throw new BadData(
    { file },
    `this looks like ${what}, but ${path.join('.') || 'it'} is not as it should be (${message})`,
  )
}
