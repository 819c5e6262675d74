import type { Format } from '../feed.js'
import type { Columns, Role } from '../layout.js'
import { refuseJson } from '../refusals.js'
import { barColumns, isObject, type JsonTable, type Names } from './table.js'
import type { Path } from './text.js'

/** Finds the bars in a document; throws BadData that says what it is when there are none. */
export async function tableIn(file: string, root: unknown): Promise<JsonTable> {
  if (isObject(root) && 'chart' in root) {
    const { yahooTable } = await import('./vendors.js')
    return yahooTable(file, root)
  }
  const series = isObject(root) ? Object.keys(root).find(key => key.includes('Time Series')) : undefined
  if (series !== undefined) {
    const { alphaTable } = await import('./vendors.js')
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
