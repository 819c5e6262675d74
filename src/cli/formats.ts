import type { Column } from '../model/event.js'

/** Where an export goes. `write` resolves when the chunk is handed over, so a slow reader slows the export. */
export interface Sink {
  write(chunk: string | Uint8Array): Promise<void>
}

/** Text is handed over in pieces of about this many characters. */
const CHUNK = 65_536

/** Rows as lines of text; nothing is written before the first row is there, so a refused export leaves no header behind. */
async function writeLines<Row>(
  rows: AsyncIterable<Row>,
  sink: Sink,
  line: (row: Row) => string,
  header = '',
): Promise<void> {
  let text = header
  for await (const row of rows) {
    text += line(row)
    if (text.length < CHUNK) continue
    await sink.write(text)
    text = ''
  }
  if (text !== '') await sink.write(text)
}

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

/** One JSON object a line, ended by a line feed. */
export function writeNdjson(rows: AsyncIterable<object>, sink: Sink): Promise<void> {
  return writeLines(rows, sink, row => `${JSON.stringify(row)}\n`)
}
