import { type Html, html, type Piece } from '../html.js'

/** One column of a table that people sort: how a row is told, and by what it is ordered. */
export interface Column<Row> {
  title: string
  /** What it means, for whoever rests on it. */
  hint?: string
  /** Broken into lines where it is long. */
  wrap?: boolean
  /** Aligned right, with figures of one width. */
  numeric?: boolean
  text(row: Row): Piece
  /** By what rows are ordered; null comes last either way. Without it the column cannot be sorted by. */
  order?(row: Row): number | string | null
  /** Whether a row has something to tell in it; without such a row the column is left out. */
  shown?(row: Row): boolean
  /** Of a cell; undefined for none. */
  tone?(row: Row): 'gain' | 'loss' | 'quiet' | 'strong' | undefined
}

/** At most so many rows stand in the page; all of them are in its JSON. */
export const MOST_ROWS = 500

/** A column of one number, that rows can be ordered by. */
export function numbers<Row>(
  title: string,
  value: (row: Row) => number | null,
  text: (value: number | null) => string,
  more: Partial<Column<Row>> = {},
): Column<Row> {
  return { title, numeric: true, text: row => text(value(row)), order: value, ...more }
}

/** The rows of a table's body. The first column names the row. */
export function tableRows<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Html {
  return html`${rows.map(row => html`<tr>${columns.map((column, i) => cell(column, row, i === 0))}</tr>\n`)}`
}

/** Rows in the order of a column; rows that are equal in it keep theirs, rows without a value come last. */
export function sorted<Row>(rows: readonly Row[], column: Column<Row>, descending: boolean): Row[] {
  const keyed = rows.map((row, i) => ({ row, i, key: column.order?.(row) ?? null }))
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null) || a.i - b.i
    const order = a.key < b.key ? -1 : a.key > b.key ? 1 : 0
    return (descending ? -order : order) || a.i - b.i
  })
  return keyed.map(({ row }) => row)
}

/** The tone of a return. */
export function signTone(value: number | null): 'gain' | 'loss' | undefined {
  return value === null || value === 0 ? undefined : value > 0 ? 'gain' : 'loss'
}

function cell<Row>(column: Column<Row>, row: Row, names: boolean): Html {
  const classes = [column.numeric && 'num', column.wrap && 'wrap', column.tone?.(row)].filter(Boolean).join(' ')
  const attribute = classes === '' ? '' : html` class="${classes}"`
  return names
    ? html`<th scope="row"${attribute}>${column.text(row)}</th>`
    : html`<td${attribute}>${column.text(row)}</td>`
}
