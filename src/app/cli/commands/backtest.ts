import { type InvalidParameter, parameter, remedy, sentence, wrong } from '../../../core/errors.js'
import { numberText } from '../../../core/numbers.js'
import { type BacktestContext, parseBacktest } from '../../../core/params/backtest.js'
import { SIGNALS } from '../../../core/params/figures.js'
import { COMPARE, GRID, type GridQuery, parseCompare, parseGrid, SHARED_SETTINGS } from '../../../core/params/grid.js'
import { optional, optionsOf, type Written } from '../../../core/params/row.js'
import { BACKTEST, type RunOptions, type Strategy } from '../../../core/params/strategy.js'
import { printStrategy, strategyDocument } from '../../../core/params/strategy-file.js'
import type { PricedSource } from '../../../core/source.js'
import { backtest } from '../../../research/backtest/backtest.js'
import { compare } from '../../../research/backtest/compare.js'
import { grid } from '../../../research/backtest/grid.js'
import type { Backtest } from '../../../research/backtest/result.js'
import { describeRunOptions } from '../../../research/backtest/words.js'
import { describeBacktest } from '../../present/backtest.js'
import { comparisonRecords, describeComparison } from '../../present/comparison.js'
import { describeGrid, gridRecords } from '../../present/grid.js'
import { yearRecords, yearsByName } from '../../present/performance.js'
import { equityRecords, tradeRecords } from '../../present/records.js'
import type { Args, Command } from '../command.js'
import type { Config } from '../config.js'
import type { Context } from '../context.js'
import { readSmallFile } from '../formats.js'
import { otherOptions, signalOptions, TICKERS_OPTIONS, tickersAndField, underHeading } from '../options.js'
import { fileOptions, outputFiles, showResult, studyMarket, withTrials, writeReport, writeTable } from '../research.js'
import { hasTickersOption, tickersOfLine } from '../tickers.js'

/** The option that explains why a signal was traded or skipped. */
const EXPLAIN = {
  explain: optional(SIGNALS, 'the outcome of all signals, or of those of a ticker, a day, or both: AAPL,2016-01-05'),
}

/** The tables that --write can write: of one strategy, and of a grid. */
const TABLES = ['trades', 'equity', 'years'] as const
const GRID_TABLES = ['cells'] as const

const WHAT = 'a strategy file (.yaml, .json); or tickers (A B, A,B, @FILE, or - for standard input), then a band field'

const backtestCommand: Command = {
  arguments: [['[WHAT...]', WHAT, ['TICKER', 'FIELD', 'FILE']]],
  options: [
    ...underHeading('Which events are signals', signalOptions(BACKTEST)),
    ...underHeading('Tickers, if they are not named before the field', TICKERS_OPTIONS),
    ...otherOptions(BACKTEST),
    ...optionsOf(GRID),
    ['--wide', 'every statistic, the equity as a curve, the trades as a histogram', 'once', 'Output'],
    ...optionsOf(EXPLAIN),
    ['--print-config', 'print the strategy file that makes this run, and run nothing'],
    ...fileOptions([...TABLES, ...GRID_TABLES]),
  ],
  first: [
    ...['band', 'when', 'after', 'all', 'watch', 'hold', 'exit', 'stop', 'costs', 'size', 'max-positions'],
    ...['validate', 'vary', 'explain', 'wide', 'report'],
  ],
  needsOneOf: ['--hold', '--exit', '--stop', '--target', '--trailing', '--vary'],
  examples: [
    'bands backtest AAPL rsi_zone --band oversold --hold 20',
    'bands backtest AAPL rsi_zone --band oversold --stop 5% --explain all',
    'bands backtest AAPL rsi_zone --hold 5,20 --validate "split 2017-01-01"',
    'bands backtest AAPL rsi_zone --vary hold=5,10,20 --vary stop=none,2atr',
    "bands backtest AAPL rsi_zone --band oversold --exit 'rsi_zone = neutral'",
    'bands backtest AAPL rsi_zone --band oversold --print-config > dip.yaml',
    'bands backtest strategy.yaml --tickers AAPL,GSPC --report strategy.html',
  ],
  notes: [
    'A signal of a close is traded at the next open: nothing that is not known by then can be a rule. Options override the file.',
    'Prices are those that are loaded. skipped of --json lists the signals that were left out, with the reasons.',
  ],
  /** Runs one strategy or, with --vary, a grid of them; shows the result, and writes its tables and report. */
  async run(context, args) {
    const vary = args.texts('vary')
    const isGrid = vary.length > 0
    const files = await outputFiles(args, isGrid ? GRID_TABLES : TABLES)
    const market = await studyMarket(context)
    const { params, parsing } = await readBacktestParams(context, args, market)
    if (isGrid) {
      refuseStrategyOptions(args)
      const query = parseGrid({ ...params, vary, ...args.params(['statistic']) }, parsing)
      return showGrid(context, args, market, query, files)
    }
    if (args.value('statistic') !== undefined) {
      const vary = parameter('vary', 'hold=5,10,20')
      throw wrong('statistic', sentence`${parameter('statistic')} is for a grid; name the values to try with ${vary}.`)
    }
    const { strategy, run } = parseBacktest(params, parsing)
    if (args.flag('print-config')) return printStrategyFile(context, strategy, run, { ofAllTickers: args.flag('all') })
    const result = await withTrials(context, trials => backtest(market, strategy, run, { trials, step: context.step }))
    // Only the charts of a page need prices.
    const noPrices: [] = []
    const description = describeBacktest(result, noPrices, args.read(EXPLAIN).explain)
    await showResult(context, args, description, tradeRecords(result))
    await writeBacktestFiles(context, files, market, result)
  },
}

async function writeBacktestFiles(
  context: Context,
  files: Partial<Record<(typeof TABLES)[number] | 'report', string>>,
  market: PricedSource,
  result: Backtest,
): Promise<void> {
  const { open: openTrades } = result.signals
  const openText = openTrades === 0 ? '' : `, ${numberText(openTrades)} of them still open,`
  if (files.trades !== undefined) await writeTable(context, files.trades, 'trade', tradeRecords(result), openText)
  if (files.equity !== undefined) await writeTable(context, files.equity, 'bar', equityRecords(result))
  if (files.years !== undefined) await writeTable(context, files.years, 'year', yearRecords(yearsByName(result)))
  if (files.report !== undefined) await writeReport(context, files.report, market, result)
}

/** Throws InvalidParameter for an option that does not go with --vary. */
function refuseStrategyOptions(args: Args): void {
  for (const option of ['print-config', 'benchmark', 'reps', 'monte-carlo', 'explain']) {
    if (args.value(option) === undefined) continue
    const param = option.replaceAll('-', '_')
    const words = sentence`${parameter(param)} is of one strategy, and ${parameter('vary')} makes many; leave one of them out.`
    throw wrong(param, words)
  }
}

async function showGrid(
  context: Context,
  args: Args,
  market: PricedSource,
  query: GridQuery,
  files: { cells?: string; report?: string },
): Promise<void> {
  const result = await withTrials(context, trials => grid(market, query, { trials, step: context.step }))
  await showResult(context, args, describeGrid(result), gridRecords(result))
  if (files.cells !== undefined) await writeTable(context, files.cells, 'combination', gridRecords(result))
  if (files.report !== undefined) await writeReport(context, files.report, market, result)
}

/** The parameters of a strategy file, or of tickers and a field, with typed options, and what their parser needs. */
async function readBacktestParams(
  context: Context,
  args: Args,
  market: PricedSource,
): Promise<{ params: object; parsing: BacktestContext }> {
  const { fields } = context
  const { tier } = context.config
  const options = args.params(Object.keys(BACKTEST))
  // A condition may have commas, so it is taken as it was typed.
  const exits = args.texts('exit')
  if (exits.length > 0) options.exit = exits.length === 1 ? exits[0] : exits
  const [firstWord, ...otherWords] = args.argumentList(0)
  if (firstWord === undefined && !hasTickersOption(args) && args.text('when') === undefined)
    throw wrong('what', 'what to trade is missing: a strategy file, or tickers and a field.', { allowed: USAGE })
  const isStrategyFile = firstWord !== undefined && /\.(ya?ml|json)$/i.test(firstWord)
  if (!isStrategyFile) {
    const target = await tickersAndField(context, args, 'backtest', () => market.withBars())
    // A strategy file sets its own costs; those of config.json are for runs without one.
    return { params: { ...configCosts(context.config), ...options, ...target }, parsing: { tier, fields } }
  }
  if (otherWords.length > 0) throw extraWordsError(otherWords, context)
  const strategy = await readSmallFile(firstWord)
  // Those of --tickers, --watch or --all replace the tickers of the file.
  const tickers = hasTickersOption(args)
    ? { tickers: await tickersOfLine(context, args, [], () => market.withBars()) }
    : {}
  return {
    params: { ...options, ...tickers, strategy },
    parsing: { tier, fields, file: firstWord, loaded: await market.withBars() },
  }
}

/** The costs of config.json as a parameter `strategy` that only sets costs; empty without them. */
function configCosts({ saved }: Config): Written {
  const { costs } = saved.values as Written
  return costs === undefined ? {} : { strategy: { costs } }
}

/** The error for words after a strategy file, which has its own field and tickers. */
function extraWordsError(extraWords: readonly string[], { fields, argv }: Context): InvalidParameter {
  const field = extraWords.find(word => fields.named(word) !== undefined)
  const tickers = extraWords.filter(word => word !== field).join(',')
  const advice: string[] = []
  if (field !== undefined) advice.push(`its field is in the file, so leave out ${field}`)
  if (tickers !== '') advice.push(`give tickers with --tickers ${tickers}`)
  const message = `a strategy file stands alone: ${advice.join('; ')}.`
  const otherWords = argv.filter(word => word !== 'backtest' && !extraWords.includes(word))
  const line = remedy('backtest', otherWords, tickers === '' ? {} : { tickers })
  return wrong('tickers', message, { value: extraWords.join(' '), allowed: USAGE }, { remedy: line })
}

const USAGE =
  'bands backtest STRATEGY.yaml, or bands backtest TICKER... FIELD, or bands backtest TICKER... --when CONDITION'

/** Prints YAML, or a document with --json. A comment, or with --json stderr, has the options that no file can hold. */
async function printStrategyFile(
  context: Context,
  strategy: Strategy,
  run: RunOptions,
  options: { ofAllTickers: boolean },
): Promise<void> {
  const { format } = context
  const runText = describeRunOptions(run)
  const note = runText === null ? null : `not in this file, to be given with it again: ${runText}`
  if (format === null || format === 'table') {
    const comment = note === null ? '' : `# ${note}\n`
    return context.out.write(comment + printStrategy(strategy, options))
  }
  if (note !== null) await context.remark(note)
  if (format === 'json') return context.out.write(`${JSON.stringify(strategyDocument(strategy, options), null, 2)}\n`)
  const message = `output "${format}" has no form for a strategy; it is YAML, or JSON with --json.`
  throw wrong('output', message, { value: format })
}

const compareCommand: Command = {
  arguments: [['[STRATEGY...]', 'two strategy files or more (.yaml, .json)', ['FILE']]],
  madeBy: ['backtest', '--print-config'],
  options: [
    ...underHeading('In all strategies, instead of the values in their files', TICKERS_OPTIONS),
    ...optionsOf(SHARED_SETTINGS),
    ...optionsOf(COMPARE),
    ['--wide', 'every statistic, of the trades, too', 'once', 'Output'],
    ...fileOptions(['years']),
  ],
  examples: [
    'bands compare dip.yaml trend.yaml',
    'bands compare dip.yaml trend.yaml --tickers AAPL,GSPC --report compare.html',
    'bands compare *.yaml --after 2013-01-01 --csv',
  ],
  notes: [
    'Strategies are compared over the days that all of them have. If the interval of a difference of Sharpe ratios has 0 in it, neither is better.',
    'bands backtest … --print-config prints the strategy file of a run. Each strategy is noted in the trial log.',
  ],
  /** Runs several strategies over the same days, shows them side by side, and writes the report. */
  async run(context, args) {
    const files = await outputFiles(args, ['years'])
    const names = args.argumentList(0)
    const market = await studyMarket(context)
    const strategies = await Promise.all(names.map(readSmallFile))
    const tickers = hasTickersOption(args)
      ? { tickers: await tickersOfLine(context, args, [], () => market.withBars()) }
      : {}
    const options = args.params([...Object.keys(SHARED_SETTINGS), ...Object.keys(COMPARE)])
    const query = parseCompare(
      { ...options, ...tickers, strategies, names },
      { tier: context.config.tier, fields: context.fields, loaded: await market.withBars() },
    )
    const result = await withTrials(context, trials => compare(market, query, { trials, step: context.step }))
    await showResult(context, args, describeComparison(result), comparisonRecords(result))
    if (files.years !== undefined) await writeTable(context, files.years, 'year', yearRecords(result.strategies))
    if (files.report !== undefined) await writeReport(context, files.report, market, result)
  },
}

export const commands = { backtest: backtestCommand, compare: compareCommand }
