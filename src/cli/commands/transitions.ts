import { fieldNamed } from '../../fields/index.js'
import { transitionsOf } from '../../study/transitions.js'
import { tellNothing } from '../answers/nothing.js'
import { transitionsAnswer } from '../answers/transitions.js'
import type { Command } from '../command.js'
import { FIELD, TICKER, TIMEFRAME } from '../options.js'
import { poolQuery } from '../query.js'
import { namedTickers } from '../tickers.js'
import { watched } from '../watched.js'

export const command: Command = {
  arguments: [
    [TICKER[0], 'a ticker that is loaded, or several with commas, whose transitions are counted together'],
    FIELD,
  ],
  options: [
    TIMEFRAME,
    ['--before <DATE>', 'only transitions before this day'],
    ['--after <DATE>', 'only transitions after this day'],
  ],
  examples: ['bands transitions AAPL rsi_zone', 'bands transitions AAPL,GSPC macd_state --timeframe weekly --json'],
  async run(context, given) {
    const tickers = await namedTickers(given.argument(0)!.split(','), context.world)
    const query = poolQuery(given, tickers, given.argument(1)!)
    const found = await transitionsOf(
      watched(await context.bands(), context, 'transitions'),
      query,
      fieldNamed(query.field)!.bands,
    )
    await context.show(transitionsAnswer(found))
    if (found.events === 0 && tickers.length === 1) await tellNothing(context, { ...query, ticker: tickers[0]! })
  },
}
