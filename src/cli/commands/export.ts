import { InvalidParameter } from '../../errors.js'
import type { ExportFilter } from '../../local/export.js'
import { timeframeValue, wordValue } from '../../query/values.js'
import { formatNamed, runExport } from '../answers/export.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import type { Given } from '../given.js'
import { namedTickers } from '../tickers.js'

const WHATS = ['events', 'series', 'bars'] as const

export const command: Command = {
  arguments: [['<WHAT>', 'events (with returns and percentiles), series (bars, indicators, bands) or bars']],
  options: [
    ['--ticker <TICKERS>', 'only these: A,B, @FILE, or - for standard input; all unless given', 'repeatable'],
    ['--field <FIELDS>', 'only these fields', 'repeatable'],
    ['--timeframe <NAME>', 'daily or weekly; both unless given'],
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
