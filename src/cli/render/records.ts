import { cell } from '../../export/csv.js'

/** A row of an answer, as one object. */
export type Row = Readonly<Record<string, unknown>>

/** Text is handed on in pieces of about this many characters. */
const CHUNK = 65_536

/** One JSON object a line. */
export function* ndjson(rows: Iterable<Row>): Generator<string> {
  yield* chunks(rows, row => `${JSON.stringify(row)}\n`)
}

/** RFC 4180 with line feeds: a header always, null empty, nested keys joined by `_`. */
export function* csv(columns: readonly string[], rows: Iterable<Row>): Generator<string> {
  yield `${columns.join(',')}\n`
  yield* chunks(rows, row => {
    const flat = flattened(row)
    return `${columns.map(column => csvValue(flat[column])).join(',')}\n`
  })
}

/** Any value of an answer as a cell. */
export function csvValue(value: unknown): string {
  return cell(value === null || value === undefined ? null : typeof value === 'number' ? value : String(value))
}

/** `{ aftermath: { '5d': { performance: 'flat' } } }` → `{ aftermath_5d: 'flat' }`. */
function flattened(row: Row, prefix = ''): Record<string, unknown> {
  const flat: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(row)) {
    const name = prefix === '' ? key : key === 'performance' ? prefix : `${prefix}_${key}`
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      Object.assign(flat, flattened(value as Row, name))
    else flat[name] = Array.isArray(value) ? value.join(' ') : value
  }
  return flat
}

function* chunks<T>(rows: Iterable<T>, write: (row: T) => string): Generator<string> {
  let text = ''
  for (const row of rows) {
    text += write(row)
    if (text.length < CHUNK) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}
