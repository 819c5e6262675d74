import { backtest } from '../../backtest/backtest.js'
import { BACKTEST_NAMES, type BacktestName, type BacktestParams, parseBacktest } from '../../backtest/params.js'
import { documentOf, printStrategy } from '../../backtest/schema.js'
import { besideStrategy } from '../../backtest/words.js'
import { InvalidParameter } from '../../errors.js'
import { fieldNamed } from '../../fields/index.js'
import type { RunOptions, Strategy } from '../../params/strategy.js'
import { describeBacktest } from '../../present/backtest.js'
import { equityRecords, tradeRecords } from '../../present/records.js'
import type { PricedSource } from '../../source.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import { describedAnswer } from '../draw/described.js'
import type { Given } from '../given.js'
import { studyMarket, withTrials } from '../market.js'
import { POOLED } from '../options.js'
import { filesOf, writeReport, writeTable } from '../output-files.js'
import { allNamed, isPooled, SIGNALS, textOf, tickersAndField } from '../questions.js'

export const command: Command = {
  arguments: [
    [
      '[WHAT...]',
      'a strategy file (.yaml, .json); or tickers (A B, A,B, @FILE, or - for standard input), then a band field',
    ],
  ],
  options: [
    ...SIGNALS,
    ...POOLED,
    ['--side <SIDE>', 'long (unless given) or short'],
    ['--entry <WHEN>', 'next-open (unless given), next-close, or close, which nobody can trade on such data'],
    [
      '--hold <BARS>',
      'out at the close so many bars after the signal; several: candidates, one of which each training part chooses',
      'repeatable',
    ],
    ['--exit <WHEN>', 'leave: out when the field leaves the band that was entered; none unless given'],
    ['--exit-on <FIELD=BANDS>', 'out when a field enters one of these bands; bands alone are those of the entry'],
    ['--stop <DISTANCE>', 'from the entry price: 5%, 0.05, or 2atr'],
    ['--target <DISTANCE>', 'the same on the other side'],
    ['--trailing <DISTANCE>', 'from the best price since'],
    ['--overlap <HOW>', 'a signal while in a trade: skip (unless given), allow, or extend its hold'],
    ['--costs-bps <BP>', 'commission and half the spread a side; 5 unless given'],
    ['--slippage-bps <BP>', 'slippage a side; 0 unless given'],
    ['--cost-per-share <MONEY>', 'a side'],
    ['--cost-fixed <MONEY>', 'a fill'],
    ['--borrow <RATE>', 'a year, of what is short (a long pays none): 3% or 0.03'],
    ['--max-positions <N>', 'at once; 10 unless given'],
    ['--sizing <HOW>', 'equal (unless given), fixed-fraction or vol-target'],
    ['--fraction <SHARE>', 'of equity in each position; alone it means --sizing fixed-fraction'],
    ['--target-volatility <RATE>', 'a year, of each position; alone it means --sizing vol-target'],
    ['--max-fraction <SHARE>', 'of equity, with --target-volatility; 1 unless given'],
    ['--capital <MONEY>', 'to begin with; 1 unless given'],
    ['--whole-shares', 'no fractions of shares'],
    ['--cash-rate <RATE>', 'a year, on what is not invested'],
    ['--shuffle', 'draw by the seed, not by name, which signals of a day find a place'],
    ['--benchmark <TICKER>', 'to compare with, beside buy and hold of the same tickers'],
    ['--rf <RATE>', 'risk-free a year, of the Sharpe ratio; 0 unless given'],
    ['--split <DATE>', 'tell what came before this day apart from what came from it on'],
    ['--embargo <BARS>', 'left out before the split'],
    ['--walk-forward <BARS>', 'choose and check in turn: train=756,test=252,step=252[,embargo=5][,anchored]'],
    ['--reps <N>', 'draws of random entry, where more than 2,000 moves are possible; 999 unless given'],
    [
      '--family <WHAT>',
      'deflate the Sharpe ratio by the strategies of this run (unless given), or by all of the ledger',
    ],
    ['--min-trades <N>', 'fewer are warned of; 20 unless given'],
    ['--seed <N>', 'other draws for another number; 1 unless given'],
    ['--wide', 'every statistic, the equity as a curve, the trades as a histogram'],
    ['--explain', 'what became of every signal'],
    ['--print-config', 'print the strategy file that makes this run, and run nothing'],
    ['--trades <FILE>', 'write the trades: .csv, .ndjson or .json'],
    ['--equity <FILE>', 'write the equity by bar: .csv, .ndjson or .json'],
    ['--report <FILE>', 'write a page that needs nothing else: .html'],
  ],
  headings: {
    '--timeframe': 'Which events are signals',
    '--tickers': 'Of which tickers, where they do not stand before the field',
    '--side': 'Entry and exit',
    '--costs-bps': 'Costs',
    '--max-positions': 'Portfolio',
    '--benchmark': 'What it is held against',
    '--split': 'Parts of the data',
    '--reps': 'Tests',
    '--wide': 'What is shown and written',
  },
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
    const { strategy, run } = await strategyAsked(context, given, market, BACKTEST_NAMES)
    if (given.flag('print-config')) return printConfig(context, strategy, run)
    const found = await withTrials(context, trials =>
      backtest(market, strategy, run, { trials, step: text => context.step(text) }),
    )
    await context.show(
      describedAnswer(describeBacktest(found), tradeRecords(found), {
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
  names: readonly BacktestName[],
): Promise<{ strategy: Strategy; run: RunOptions }> {
  const { tier, from } = context.config
  const emulated = from.tier === undefined ? null : tier
  const options = given.params(names) as BacktestParams
  const [first, ...more] = given.rest(0)
  if (first === undefined && !isPooled(given))
    throw new InvalidParameter('what to trade is missing: a strategy file, or tickers and a field.', {
      param: 'what',
      allowed: USAGE,
    })
  if (first === undefined || !isFile(first)) {
    const { tickers, field } = await tickersAndField(context, given, market, 'backtest')
    return parseBacktest({ ...options, tickers, field }, { tier: emulated })
  }
  if (more.length > 0) throw notAlone(more)
  const strategy = await textOf(first)
  const tickers = isPooled(given) ? { tickers: await allNamed(context, given, [], () => market.withBars()) } : {}
  return parseBacktest({ ...options, ...tickers, strategy }, { tier: emulated, file: first })
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
  if (missing !== null && !context.config.quiet) await context.notice(missing)
  if (format === 'json') return context.out.write(`${JSON.stringify(documentOf(strategy), null, 2)}\n`)
  throw new InvalidParameter(`output "${format}" has no form for a strategy; it is YAML, or JSON with --json.`, {
    param: 'output',
    value: format,
  })
}

function isFile(word: string): boolean {
  return /\.(ya?ml|json)$/i.test(word)
}
