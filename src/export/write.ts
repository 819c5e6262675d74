import type { Column } from '../model/export.js'
import type { Sink } from './sink.js'

export const EXPORT_OUTPUTS = ['ndjson', 'csv', 'parquet'] as const
export type ExportOutput = (typeof EXPORT_OUTPUTS)[number]

/** Writes rows as they come. Memory stays flat in NDJSON and CSV, and within one row group in Parquet. */
export async function writeRows<Row extends object>(
  output: ExportOutput,
  rows: AsyncIterable<Row>,
  columns: readonly Column<Row>[],
  sink: Sink,
): Promise<void> {
  if (output === 'ndjson') return (await import('./ndjson.js')).writeNdjson(rows, sink)
  if (output === 'csv') return (await import('./csv.js')).writeCsv(rows, columns, sink)
  return (await import('./parquet.js')).writeParquet(rows, columns, sink)
}
