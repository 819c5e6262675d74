import { extname } from 'node:path'
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
import { EXPORT_OUTPUTS, type ExportOutput, endingOf, intoFile, type Sink, writeRows } from '../formats.js'
import type { Given } from '../given.js'
import { namedTickers } from '../questions.js'

const WHATS = ['events', 'series', 'bars'] as const

const ENDINGS = [...EXPORT_OUTPUTS.map(format => `.${format}`), '.jsonl']

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
  outputs: EXPORT_OUTPUTS,
  notes: ['The whole history, whatever the range of a tier; of the tiers Pro only. NDJSON unless said otherwise.'],
  async run(context, given) {
    const what = wordValue('what', given.argument(0)!, WHATS)
    const out = given.text('out')
    const format = EXPORT_OUTPUTS.find(name => name === context.format) ?? formatNamed(out) ?? 'ndjson'
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

/** The format that the ending of a file name stands for; none where it has no ending. Throws InvalidParameter for another. */
function formatNamed(file: string | undefined): ExportOutput | undefined {
  if (file === undefined || extname(file) === '') return undefined
  const ending = endingOf('out', file, ENDINGS)
  return EXPORT_OUTPUTS.find(format => `.${format}` === ending) ?? 'ndjson'
}

/** Rows go out as they are made, so memory stays flat however many there are. */
async function runExport(
  context: Context,
  what: (typeof WHATS)[number],
  filter: ExportFilter,
  format: ExportOutput,
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
  format: ExportOutput,
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
  await writeRows(format, seen(), columns, sink, { raw: context.config.csv_raw })
  if (file !== undefined) await context.remark(`wrote ${count(done, 'row')} to ${file}`)
}
