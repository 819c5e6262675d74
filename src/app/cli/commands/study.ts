import { parseStudy, STUDY } from '../../../core/params/studies.js'
import { eventStudy } from '../../../research/study/event-study.js'
import { occurrenceRecords, windowRecords } from '../../present/records.js'
import { describeStudy } from '../../present/study.js'
import type { Command } from '../command.js'
import { quotedLine } from '../command-line.js'
import { noticeEmptyStudy } from '../notices.js'
import {
  otherOptions,
  POOL_ARGUMENTS,
  signalOptions,
  TICKERS_OPTIONS,
  tickersAndField,
  underHeading,
} from '../options.js'
import { fileOptions, outputFiles, showResult, studyMarket, withTrials, writeReport, writeTable } from '../research.js'

const studyCommand: Command = {
  arguments: POOL_ARGUMENTS,
  options: [
    ...underHeading('Which events', signalOptions(STUDY)),
    ...underHeading('Tickers, if they are not named before the field', TICKERS_OPTIONS),
    ...otherOptions(STUDY),
    ['--wide', 'every statistic there is', 'once', 'Output'],
    ...fileOptions(['occurrences']),
    ['--fail-empty', 'exit with 3 when no event matches'],
  ],
  first: [
    ...['band', 'when', 'context', 'timeframe', 'after', 'before', 'all', 'watch', 'horizon', 'benchmark'],
    ...['tests', 'wide', 'write', 'report'],
  ],
  examples: [
    'bands study AAPL rsi_zone --band oversold',
    'bands study AAPL rsi_zone --context GSPC:trend_direction=downtrend',
    'bands study rsi_zone --all --band oversold --horizon 5,20 --min-n 10',
    'bands study AAPL rsi_zone --band oversold --benchmark GSPC --report aapl.html',
    "bands study --all --when 'rsi_zone = oversold and GSPC:rsi_zone != oversold'",
  ],
  notes: [
    'P: two-sided p of the difference from any bar, by the Newey-West t with effective clusters. It allows for overlapping windows, for tickers that move together and for events in volatile times. --wide shows the other tests, the plain shift among them.',
    'INDEP is the effective number of independent cases: overlapping windows and tickers that move together count as fewer.',
    'Everything that is loaded counts, however old; --tier shows only data that a subscriber of that tier could know.',
  ],
  /** Tests the returns after events, shows the result, and writes its table and report; without events, says why. */
  async run(context, args) {
    const files = await outputFiles(args, ['occurrences'])
    const market = await studyMarket(context)
    const target = await tickersAndField(context, args, 'study', () => market.withBars())
    const query = parseStudy({ ...args.params(Object.keys(STUDY)), ...target }, context.fields)
    const result = await withTrials(context, trials => eventStudy(market, query, { trials, step: context.step }))
    await showResult(context, args, describeStudy(result), windowRecords(result))
    await context.hint(...result.hints)
    if (result.events > 0 && files.report === undefined)
      await context.hint(`next: ${quotedLine([...context.argv, '--report', 'study.html'])}`)
    if (files.occurrences !== undefined)
      await writeTable(context, files.occurrences, 'event', occurrenceRecords(result))
    if (files.report !== undefined) await writeReport(context, files.report, market, result)
    if (result.events > 0) return
    await noticeEmptyStudy(context, await context.source(), result)
    if (args.flag('fail-empty')) context.exitCode = 3
  },
}

export const commands = { study: studyCommand }
