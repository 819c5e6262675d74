import type { Format } from '../feed.js'
import { type Columns, layoutOf, missingFrom, type Role } from '../layout.js'
import type { Path } from './text.js'

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
export function barColumns(file: string, names: readonly string[]): Columns | null {
  if (names.length < 5) return null
  const { columns } = layoutOf(file, 1, names)
  return missingFrom(columns).length === 0 ? columns : null
}

export function isObject(value: unknown): value is Names {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
