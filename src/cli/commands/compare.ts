import { compare } from '../../backtest/compare.js'
import { COMPARE, parseCompare, SHARED } from '../../params/compare.js'
import { optionsOf } from '../../params/row.js'
import { comparisonRecords, describeComparison } from '../../present/comparison.js'
import { yearRecords } from '../../present/performance.js'
import type { Command } from '../command.js'
import { describedResult } from '../draw/described.js'
import { POOLED } from '../options.js'
import { under } from '../questions.js'
import { filesOf, studyMarket, withTrials, writeReport, writeTable } from '../research.js'
import { allNamed, isPooled, textOf } from '../tickers.js'

export const command: Command = {
  arguments: [['[STRATEGY...]', 'two strategy files or more (.yaml, .json)', ['FILE']]],
  options: [
    ...under('In all strategies, whatever their files say', POOLED),
    ...optionsOf(SHARED),
    ...optionsOf(COMPARE),
    ['--wide', 'every statistic, of the trades, too', 'once', 'What is shown and written'],
    ['--years <FILE>', 'write what each year brought: .csv, .ndjson or .json'],
    ['--report <FILE>', 'write a page that needs nothing else: .html'],
  ],
  examples: [
    'bands compare dip.yaml trend.yaml',
    'bands compare dip.yaml trend.yaml --tickers AAPL,GSPC --report compare.html',
    'bands compare *.yaml --after 2013-01-01 --csv',
  ],
  notes: [
    'Strategies are compared over the days that all of them have. A difference of Sharpe ratios whose interval has 0 in it tells nothing of which is better.',
    'bands backtest … --print-config prints the strategy file of a run. Each strategy is noted in the ledger of trials.',
  ],
  async run(context, given) {
    const files = await filesOf(given, { years: 'table', report: 'page' })
    const names = given.rest(0)
    const market = await studyMarket(context)
    const strategies = await Promise.all(names.map(textOf))
    const tickers = isPooled(given) ? { tickers: await allNamed(context, given, [], () => market.withBars()) } : {}
    const options = given.params([...Object.keys(SHARED), ...Object.keys(COMPARE)])
    const query = parseCompare(
      { ...options, ...tickers, strategies, names },
      { tier: context.config.tier, fields: context.fields },
    )
    const found = await withTrials(context, trials =>
      compare(market, query, { trials, step: text => context.step(text) }),
    )
    await context.show(
      describedResult(describeComparison(found), comparisonRecords(found), { wide: given.flag('wide') }),
    )
    if (files.years !== undefined) await writeTable(context, files.years, 'year', yearRecords(found.strategies))
    if (files.report !== undefined) await writeReport(context, files.report, market, found)
  },
}
