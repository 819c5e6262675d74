import { EXPLAIN } from '../../params/parameters.js'
import { parseExplain } from '../../params/parse.js'
import { optionsOf } from '../../params/row.js'
import { WHEN } from '../../params/when.js'
import { describeExplanation } from '../../present/explain.js'
import type { Command } from '../command.js'
import { described } from '../draw/described.js'
import type { Given } from '../given.js'
import { checkOrder, FIELD, place, TICKER, TIMEFRAME } from '../options.js'

export const command: Command = {
  arguments: [TICKER, FIELD, ['[DATE]', 'the bar to explain, YYYY-MM-DD; the newest unless given']],
  options: [TIMEFRAME, ...optionsOf(WHEN)],
  examples: [
    'bands explain AAPL rsi_zone 2018-02-08',
    'bands explain AAPL macd_state --timeframe weekly --json',
    "bands explain AAPL --when 'rsi_zone = oversold and GSPC:rsi_zone != oversold'",
  ],
  async run(context, given) {
    checkOrder(context, given.argument(0)!, given.argument(1))
    const query = parseExplain({ ...given.params(Object.keys(EXPLAIN)), ...placeAndDate(given) }, context.fields)
    const { explain } = await import('../../local/explain.js')
    await context.show(described(describeExplanation(await explain(await context.local(), query))))
  },
}

/** Where a condition stands in place of the field, the date comes next. */
function placeAndDate(given: Given): { ticker: string; field?: string; date?: string | undefined } {
  const [ticker, second, third] = [given.argument(0)!, given.argument(1), given.argument(2)]
  const isDate = given.text('when') !== undefined && third === undefined && /^\d/.test(second ?? '')
  return isDate ? { ticker, date: second } : { ...place(given, 'explain'), date: third }
}
