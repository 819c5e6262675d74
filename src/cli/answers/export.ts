import type { Sink } from '../../export/sink.js'
import { writeRows } from '../../export/write.js'
import { type ExportFilter, exportBars, exportEvents } from '../../local/export.js'
import { BAR_COLUMNS, eventColumns, seriesColumns } from '../../local/export-columns.js'
import { exportSeries } from '../../local/export-series.js'
import type { Column } from '../../model/export.js'
import type { Context } from '../context.js'
import type { Format } from '../format.js'
import { count } from '../render/amounts.js'
import { intoFile } from '../whole-file.js'

/** The format that the ending of a file name stands for. */
export function formatNamed(file: string | undefined): Format | null {
  const ending = /\.(\w+)$/.exec(file ?? '')?.[1]?.toLowerCase()
  if (ending === 'jsonl') return 'ndjson'
  return (['ndjson', 'csv', 'parquet', 'json'] as const).find(format => format === ending) ?? null
}

/** Rows go out as they are made, so memory stays flat however many there are. */
export async function runExport(
  context: Context,
  what: 'events' | 'series' | 'bars',
  filter: ExportFilter,
  format: Format,
  out: string | undefined,
): Promise<void> {
  const { cache } = await context.local()
  const send = <Row extends object>(rows: AsyncIterable<Row>, columns: readonly Column<Row>[]): Promise<void> =>
    out === undefined
      ? sendRows(context, rows, columns, format, context.out)
      : intoFile(out, sink => sendRows(context, rows, columns, format, sink, out))
  if (what === 'events') await send(exportEvents(cache, filter), eventColumns(filter))
  else if (what === 'series') await send(exportSeries(cache, filter), seriesColumns(filter))
  else await send(exportBars(cache, filter), BAR_COLUMNS)
}

async function sendRows<Row extends object>(
  context: Context,
  rows: AsyncIterable<Row>,
  columns: readonly Column<Row>[],
  format: Format,
  sink: Sink,
  file?: string,
): Promise<void> {
  let done = 0
  context.endTidily()
  const seen = async function* (): AsyncGenerator<Row> {
    for await (const row of rows) {
      done++
      yield row
      // Rows that run down the terminal are progress enough.
      if (done % 1000 === 0 && (file !== undefined || !context.out.terminal))
        context.step(() => `export  ${count(done, 'row')}`)
    }
  }
  if (format === 'json') await writeArray(seen(), sink)
  else if (format !== 'table') await writeRows(format, seen(), columns, sink)
  if (file !== undefined && !context.config.quiet) await context.notice(`wrote ${count(done, 'row')} to ${file}`)
}

/** One JSON document that is never whole in memory; nothing is written before the first row is there. */
async function writeArray(rows: AsyncIterable<object>, sink: Sink): Promise<void> {
  let text = '['
  let between = ''
  for await (const row of rows) {
    text += between + JSON.stringify(row)
    between = ',\n'
    if (text.length < 65_536) continue
    await sink.write(text)
    text = ''
  }
  await sink.write(`${text}]\n`)
}
