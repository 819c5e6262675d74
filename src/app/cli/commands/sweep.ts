import { wrong } from '../../../core/errors.js'
import { optionsOf } from '../../../core/params/row.js'
import { parseSweep, SWEEP } from '../../../core/params/studies.js'
import { integerValue } from '../../../core/params/values.js'
import { sweep } from '../../../research/sweep/sweep.js'
import { cellRecords } from '../../present/records.js'
import { describeSweep } from '../../present/sweep.js'
import type { Command } from '../command.js'
import { TICKERS, TICKERS_OPTIONS, underHeading } from '../options.js'
import { fileOptions, outputFiles, showResult, studyMarket, withTrials, writeReport, writeTable } from '../research.js'
import { defaultTickersWithNotice, hasTickersOption, tickersOfLine } from '../tickers.js'

const sweepCommand: Command = {
  arguments: [TICKERS],
  options: [
    ...underHeading('Tickers, if they are not named in the line', TICKERS_OPTIONS),
    ...optionsOf(SWEEP),
    ['--limit <N>', 'rows of the table (default 10)', 'once', 'Output'],
    ['--wide', 'all that was assumed, word by word'],
    ...fileOptions(['cells']),
  ],
  first: [
    ...['tickers', 'watch', 'all', 'field', 'band', 'when', 'horizon', 'by', 'after'],
    ...['validate', 'tests', 'limit', 'wide', 'report'],
  ],
  examples: [
    'bands sweep --all',
    'bands sweep AAPL GSPC --field rsi_zone,trend_direction --horizon 5,20',
    "bands sweep --all --when 'rsi_zone = oversold for 5'",
    'bands sweep AAPL --context GSPC:trend_direction --validate "split 2017-01-01"',
  ],
  notes: [
    'Every field, band and window makes a combination, and all of them count, also those with too few events. DIFF is the mean return after the events less that after any bar. Q is P corrected for the number of combinations. The smallest Q comes first, not the largest DIFF; --limit and --csv show the others.',
    'json, ndjson, csv and --write cells=FILE have every cell.',
  ],
  needsOneOf: ['--all', '--tickers', '--watch'],
  /** Tests every combination of fields, bands and windows, shows the result, and writes its table and report. */
  async run(context, args) {
    const files = await outputFiles(args, ['cells'])
    const limit = integerValue('limit', args.text('limit') ?? '10', 1, 100_000)
    const namesNoTicker = args.argumentList(0).length === 0 && !hasTickersOption(args)
    const defaults = namesNoTicker ? await defaultTickersWithNotice(context) : null
    if (defaults?.length === 0) {
      const allowed = 'bands sweep TICKER..., or bands sweep --tickers A,B, or bands sweep --all'
      throw wrong('ticker', 'TICKER is missing.', { allowed })
    }
    const market = await studyMarket(context)
    const tickers = defaults ?? (await tickersOfLine(context, args, args.argumentList(0), () => market.withBars()))
    const query = parseSweep({ ...args.params(Object.keys(SWEEP)), tickers }, context.fields)
    const result = await withTrials(context, trials => sweep(market, query, { trials, step: context.step }))
    await showResult(context, args, describeSweep(result, { limit }), cellRecords(result))
    if (files.cells !== undefined) await writeTable(context, files.cells, 'cell', cellRecords(result))
    if (files.report !== undefined) await writeReport(context, files.report, market, result)
  },
}

export const commands = { sweep: sweepCommand }
