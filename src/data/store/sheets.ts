import { formatDay, parseDay } from '../../core/model/day.js'
import {
  FACT_COLUMNS,
  type FactColumn,
  type FactKind,
  type FactSheet,
  type FactSheets,
  type FactSource,
  type Security,
  securityOf,
} from '../../core/model/facts.js'
import { type EntryRow, entryHash, type Hashed, sheetHash } from './content.js'
import type { SheetRow, TickerSheet } from './store.js'

// Facts of a ticker as stored: one text per kind.

export function sheetRowOf({ ticker, kind, sheet }: TickerSheet): Hashed<SheetRow> {
  const row = { ticker, kind, records: sheet.rows.length, sheet: encodeSheet(kind, sheet) }
  return { ...row, hash: sheetHash(row) }
}

export function decodeSheets(rows: readonly SheetRow[]): FactSheets {
  return Object.fromEntries(rows.map(({ kind, sheet }) => [kind, decodeSheet(kind, sheet)]))
}

export function decodeSecurity(row: SheetRow): Security {
  return securityOf(decodeSheets([row]))!
}

/** The columns of a ticker's row that change with its security: the asset class, and the row's hash. */
export function assetClassChange(
  entry: EntryRow,
  { sheet }: TickerSheet,
): Pick<Hashed<EntryRow>, 'assetClass' | 'hash'> {
  const { asset_class: assetClass } = securityOf({ securities: sheet as FactSheet<'securities'> })!
  return { assetClass, hash: entryHash({ ...entry, assetClass }) }
}

/** Records as text that a SQL tool can read: columns by name, dates as `YYYY-MM-DD`. */
interface SheetText {
  sources: readonly FactSource[]
  columns: readonly string[]
  /** The number of the source, then a value for each column. */
  rows: readonly (readonly (string | number | null)[])[]
}

/** Records of one kind as the text that is stored (SheetText). */
function encodeSheet(kind: FactKind, { sources, rows }: FactSheet): string {
  const records = rows.map(({ record }) => record as unknown as Readonly<Record<string, string | number | null>>)
  // A rare column is written only if a record has a value for it.
  const columns = FACT_COLUMNS[kind]
    .filter(({ name, rare }) => rare !== true || records.some(record => record[name] !== undefined))
    .map(({ name, holds }) => ({ name, isDate: holds === 'date' }))
  const encodeValue = (value: string | number | null | undefined, isDate: boolean): string | number | null =>
    isDate && value != null ? formatDay(value as number) : (value ?? null)
  const text: SheetText = {
    sources,
    columns: columns.map(({ name }) => name),
    rows: records.map((record, i) => [
      rows[i]!.source,
      ...columns.map(({ name, isDate }) => encodeValue(record[name], isDate)),
    ]),
  }
  return JSON.stringify(text)
}

/** Records of one kind from their stored text. */
function decodeSheet(kind: FactKind, json: string): FactSheet {
  const { sources, columns, rows } = JSON.parse(json) as SheetText
  const columnNames = (test: (column: FactColumn) => boolean): ReadonlySet<string> =>
    new Set(FACT_COLUMNS[kind].filter(test).map(({ name }) => name))
  const dateColumns = columnNames(({ holds }) => holds === 'date')
  const rareColumns = columnNames(column => column.rare === true)
  const valueReaders = columns.map((name, i) => ({
    name,
    column: i + 1,
    isDate: dateColumns.has(name),
    isRare: rareColumns.has(name),
  }))
  // Value by value into one object: an import reads tens of thousands of records.
  const recordOf = (row: SheetText['rows'][number]): Record<string, string | number | null> => {
    const record: Record<string, string | number | null> = {}
    for (const { name, column, isDate, isRare } of valueReaders) {
      const value = row[column]!
      if (value === null && isRare) continue
      record[name] = isDate && value !== null ? parseDay(value as string) : value
    }
    return record
  }
  const records = rows.map(row => ({ source: row[0] as number, record: recordOf(row) }))
  return { sources, rows: records as unknown as FactSheet['rows'] }
}
