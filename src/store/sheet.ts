import { formatDay, parseDay } from '../model/day.js'
import type { FactSheet, FactSource } from '../model/fact-sheet.js'
import { FACT_COLUMNS, type FactKind } from '../model/facts.js'

/** Records as text that a SQL tool can read: columns by name, dates as `YYYY-MM-DD`. */
interface SheetText {
  sources: readonly FactSource[]
  columns: readonly string[]
  /** The number of the source, then a value for each column. */
  rows: readonly (readonly (string | number | null)[])[]
}

export function encodeSheet(kind: FactKind, { sources, rows }: FactSheet): string {
  const columns = FACT_COLUMNS[kind].map(({ name, holds }) => ({ name, isDate: holds === 'date' }))
  const text: SheetText = {
    sources,
    columns: columns.map(({ name }) => name),
    rows: rows.map(({ source, record }) => {
      const values = record as unknown as Record<string, string | number | null>
      return [
        source,
        ...columns.map(({ name, isDate }) => (isDate ? formatDay(values[name] as number) : values[name]!)),
      ]
    }),
  }
  return JSON.stringify(text)
}

export function decodeSheet(kind: FactKind, json: string): FactSheet {
  const { sources, columns, rows } = JSON.parse(json) as SheetText
  const dates = new Set(FACT_COLUMNS[kind].filter(({ holds }) => holds === 'date').map(({ name }) => name))
  return {
    sources,
    rows: rows.map(([source, ...values]) => {
      const pairs = columns.map((name, i) => [name, dates.has(name) ? parseDay(values[i] as string) : values[i]])
      return { source: source as number, record: Object.fromEntries(pairs) }
    }),
  }
}
