import { InvalidParameter } from '../../errors.js'
import {
  BAR_COLUMNS,
  type ExportFilter,
  eventColumns,
  exportBars,
  exportEvents,
  exportSeries,
  seriesColumns,
} from '../../local/export.js'
import type { Column } from '../../model/event.js'
import { TIMEFRAME_NAMES } from '../../model/terms.js'
import { choice } from '../../params/row.js'
import { timeframeValue, wordValue } from '../../params/values.js'
import { count } from '../../present/numbers.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import type { Sink } from '../formats.js'
import type { Given } from '../given.js'
import type { Format } from '../output.js'
import { intoFile } from '../output-files.js'
import { namedTickers } from '../questions.js'

const WHATS = ['events', 'series', 'bars'] as const

export const command: Command = {
  arguments: [['<WHAT>', 'events (with returns and percentiles), series (bars, indicators, bands) or bars', WHATS]],
  options: [
    ['--ticker <TICKERS>', 'only these: A,B, @FILE, or - for standard input; all unless given', 'repeatable'],
    ['--field <FIELDS>', 'only these fields', 'repeatable'],
    choice('--timeframe <NAME>', 'daily or weekly; both unless given', TIMEFRAME_NAMES),
    ['--out <FILE>', 'write to a file; its ending tells the format when --output does not'],
  ],
  examples: [
    'bands export events --ticker AAPL --field rsi_zone',
    'bands export series --ticker AAPL --timeframe daily --csv',
    'bands export bars --output parquet --out bars.parquet',
  ],
  outputs: ['ndjson', 'csv', 'parquet', 'json'],
  notes: ['The whole history, whatever the range of a tier; Pro only. NDJSON unless said otherwise.'],
  async run(context, given) {
    const what = wordValue('what', given.argument(0)!, WHATS)
    const out = given.text('out')
    const format = context.format ?? formatNamed(out) ?? 'ndjson'
    if (format === 'parquet' && out === undefined && context.out.terminal)
      throw new InvalidParameter('parquet is nothing to read on a terminal: give --out FILE.', { param: 'out' })
    await runExport(context, what, await filterOf(context, given, what), format, out)
  },
}

async function filterOf(context: Context, given: Given, what: string): Promise<ExportFilter> {
  const fields = given.list('field')
  const timeframe = given.text('timeframe')
  if (what === 'bars' && (fields.length > 0 || timeframe !== undefined))
    throw new InvalidParameter('bars have no fields and are daily; leave --field and --timeframe out.', {
      param: 'field',
    })
  const timeframes = timeframe === undefined ? [] : [timeframeValue('timeframe', timeframe)]
  return { tickers: await namedTickers(given.list('ticker'), context.world), fields, timeframes }
}

/** The format that the ending of a file name stands for. */
function formatNamed(file: string | undefined): Format | null {
  const ending = /\.(\w+)$/.exec(file ?? '')?.[1]?.toLowerCase()
  if (ending === 'jsonl') return 'ndjson'
  return (['ndjson', 'csv', 'parquet', 'json'] as const).find(format => format === ending) ?? null
}

/** Rows go out as they are made, so memory stays flat however many there are. */
async function runExport(
  context: Context,
  what: 'events' | 'series' | 'bars',
  filter: ExportFilter,
  format: Format,
  out: string | undefined,
): Promise<void> {
  const cache = await context.local()
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

export const EXPORT_OUTPUTS = ['ndjson', 'csv', 'parquet'] as const
export type ExportOutput = (typeof EXPORT_OUTPUTS)[number]

/** Writes rows as they come. Memory stays flat in NDJSON and CSV, and within one row group in Parquet. */
export async function writeRows<Row extends object>(
  output: ExportOutput,
  rows: AsyncIterable<Row>,
  columns: readonly Column<Row>[],
  sink: Sink,
): Promise<void> {
  if (output === 'ndjson') return (await import('../formats.js')).writeNdjson(rows, sink)
  if (output === 'csv') return (await import('../formats.js')).writeCsv(rows, columns, sink)
  return (await import('../parquet.js')).writeParquet(rows, columns, sink)
}
