import { backtest } from '../../backtest/backtest.js'
import { besideStrategy } from '../../backtest/words.js'
import { InvalidParameter } from '../../errors.js'
import { fieldNamed } from '../../fields/index.js'
import { parseBacktest } from '../../params/backtest.js'
import { optionsOf } from '../../params/row.js'
import { BACKTEST, type RunOptions, type Strategy } from '../../params/strategy.js'
import { printStrategy } from '../../params/strategy-file.js'
import { describeBacktest } from '../../present/backtest.js'
import { equityRecords, tradeRecords } from '../../present/records.js'
import type { PricedSource } from '../../source.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import { describedResult } from '../draw/described.js'
import type { Given } from '../given.js'
import { POOLED } from '../options.js'
import { allNamed, isNoSignal, isPooled, SIGNAL_OPTIONS, textOf, tickersAndField, under } from '../questions.js'
import { filesOf, studyMarket, withTrials, writeReport, writeTable } from '../research.js'

export const command: Command = {
  arguments: [
    [
      '[WHAT...]',
      'a strategy file (.yaml, .json); or tickers (A B, A,B, @FILE, or - for standard input), then a band field',
      ['TICKER', 'FIELD', 'FILE'],
    ],
  ],
  options: [
    ...under('Which events are signals', SIGNAL_OPTIONS),
    ...under('Of which tickers, where they do not stand before the field', POOLED),
    ...optionsOf(BACKTEST).filter(isNoSignal),
    [
      '--wide',
      'every statistic, the equity as a curve, the trades as a histogram',
      'once',
      'What is shown and written',
    ],
    ['--explain', 'what became of every signal'],
    ['--print-config', 'print the strategy file that makes this run, and run nothing'],
    ['--trades <FILE>', 'write the trades: .csv, .ndjson or .json'],
    ['--equity <FILE>', 'write the equity by bar: .csv, .ndjson or .json'],
    ['--report <FILE>', 'write a page that needs nothing else: .html'],
  ],
  examples: [
    'bands backtest AAPL rsi_zone --band oversold --hold 20',
    'bands backtest AAPL rsi_zone --band oversold --exit leave --stop 5% --explain',
    'bands backtest AAPL rsi_zone --band oversold --hold 5,20 --split 2017-01-01',
    'bands backtest AAPL rsi_zone --band oversold --print-config > dip.yaml',
    'bands backtest strategy.yaml --tickers AAPL,GSPC --report strategy.html',
  ],
  notes: [
    'A signal of a close is traded at the next open: nothing that is not known by then can be a rule. Options override the file.',
    'Prices are those that are loaded. What was left out, and why, is in skipped of --json.',
  ],
  async run(context, given) {
    const files = await filesOf(given, { trades: 'table', equity: 'table', report: 'page' })
    const market = await studyMarket(context)
    const { strategy, run } = await strategyAsked(context, given, market)
    if (given.flag('print-config')) return printConfig(context, strategy, run)
    const found = await withTrials(context, trials =>
      backtest(market, strategy, run, { trials, step: text => context.step(text) }),
    )
    await context.show(
      describedResult(describeBacktest(found), tradeRecords(found), {
        wide: given.flag('wide'),
        explain: given.flag('explain'),
      }),
    )
    if (files.trades !== undefined) await writeTable(context, files.trades, 'trade', tradeRecords(found))
    if (files.equity !== undefined) await writeTable(context, files.equity, 'bar', equityRecords(found))
    if (files.report !== undefined) await writeReport(context, files.report, market, found)
  },
}

/**
 * A strategy file, or tickers and a field, with the options that override it. Throws InvalidParameter, BadData at the
 * place in the file, NotFound for a missing one, StorageError for one that cannot be read.
 */
async function strategyAsked(
  context: Context,
  given: Given,
  market: PricedSource,
): Promise<{ strategy: Strategy; run: RunOptions }> {
  const { tier } = context.config
  const options = given.params(Object.keys(BACKTEST))
  const [first, ...more] = given.rest(0)
  if (first === undefined && !isPooled(given))
    throw new InvalidParameter('what to trade is missing: a strategy file, or tickers and a field.', {
      param: 'what',
      allowed: USAGE,
    })
  if (first === undefined || !isFile(first)) {
    const { tickers, field } = await tickersAndField(context, given, 'backtest', () => market.withBars())
    return parseBacktest({ ...options, tickers, field }, { tier })
  }
  if (more.length > 0) throw notAlone(more)
  const strategy = await textOf(first)
  const tickers = isPooled(given) ? { tickers: await allNamed(context, given, [], () => market.withBars()) } : {}
  return parseBacktest({ ...options, ...tickers, strategy }, { tier, file: first })
}

/** A file has its field, and its tickers unless others are given. */
function notAlone(more: readonly string[]): InvalidParameter {
  const field = more.find(word => fieldNamed(word) !== undefined)
  const tickers = more.filter(word => word !== field).join(',')
  const advice = [
    ...(field === undefined ? [] : [`its field stands in it, so leave out ${field}`]),
    ...(tickers === '' ? [] : [`give tickers with --tickers ${tickers}`]),
  ]
  const message = `a strategy file stands alone: ${advice.join('; ')}.`
  return new InvalidParameter(message, { param: 'tickers', value: more.join(' '), allowed: USAGE })
}

const USAGE = 'bands backtest STRATEGY.yaml, or bands backtest TICKER... FIELD'

/** YAML as a file has it; with --json the same as a document. What of the run is not in it is said beside it. */
async function printConfig(context: Context, strategy: Strategy, run: RunOptions): Promise<void> {
  const { format } = context
  const beside = besideStrategy(run)
  const missing = beside === null ? null : `not in this file, to be given with it again: ${beside}`
  if (format === null || format === 'table')
    return context.out.write(`${missing === null ? '' : `# ${missing}\n`}${printStrategy(strategy)}`)
  if (missing !== null) await context.remark(missing)
  if (format === 'json') return context.out.write(`${JSON.stringify(strategy, null, 2)}\n`)
  throw new InvalidParameter(`output "${format}" has no form for a strategy; it is YAML, or JSON with --json.`, {
    param: 'output',
    value: format,
  })
}

function isFile(word: string): boolean {
  return /\.(ya?ml|json)$/i.test(word)
}
