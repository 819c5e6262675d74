import { type Sink, writeLines } from './sink.js'

/** One JSON object a line, ended by a line feed. */
export function writeNdjson(rows: AsyncIterable<object>, sink: Sink): Promise<void> {
  return writeLines(rows, sink, row => `${JSON.stringify(row)}\n`)
}
