import type { Column } from '../model/export.js'
import { type Sink, writeLines } from './sink.js'

/** RFC 4180 with line feeds: a header always, null empty, numbers in full precision. */
export function writeCsv<Row>(rows: AsyncIterable<Row>, columns: readonly Column<Row>[], sink: Sink): Promise<void> {
  const header = `${columns.map(column => cell(column.name)).join(',')}\n`
  return writeLines(rows, sink, row => lineOf(row, columns), header)
}

function lineOf<Row>(row: Row, columns: readonly Column<Row>[]): string {
  let line = ''
  for (let i = 0; i < columns.length; i++) line += (i === 0 ? '' : ',') + cell(columns[i]!.of(row))
  return `${line}\n`
}

/** One value: null is empty, and what would break the line stands in quotes. */
export function cell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}
