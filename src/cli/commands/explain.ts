import type { ExplainQuery } from '../../local/explain.js'
import { dayValue, fieldValue, tickerValue, timeframeValue } from '../../params/values.js'
import { describeExplanation } from '../../present/explain.js'
import type { Command } from '../command.js'
import { described } from '../draw/described.js'
import { FIELD, TICKER, TIMEFRAME } from '../options.js'

export const command: Command = {
  arguments: [TICKER, FIELD, ['[DATE]', 'the bar to explain, YYYY-MM-DD; the newest unless given']],
  options: [TIMEFRAME],
  examples: ['bands explain AAPL rsi_zone 2018-02-08', 'bands explain AAPL macd_state --timeframe weekly --json'],
  async run(context, given) {
    const date = given.argument(2)
    const query: ExplainQuery = {
      ticker: tickerValue('ticker', given.argument(0)!),
      field: fieldValue('field', given.argument(1)!).name,
      timeframe: timeframeValue('timeframe', given.text('timeframe') ?? 'daily'),
    }
    if (date !== undefined) query.date = dayValue('date', date)
    const { explain } = await import('../../local/explain.js')
    await context.show(described(describeExplanation(await explain(await context.local(), query))))
  },
}
