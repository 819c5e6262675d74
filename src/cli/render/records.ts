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

export function csvValue(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
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
