import { InvalidParameter } from '../../errors.js'
import { TECHNICAL_FIELDS } from '../../fields/index.js'
import { fieldValue, timeframeValue } from '../../query/values.js'
import { now } from '../../study/now.js'
import { nowAnswer } from '../answers/now.js'
import type { Command } from '../command.js'
import { TIMEFRAME } from '../options.js'
import { namedTickers } from '../tickers.js'
import { watched } from '../watched.js'

export const command: Command = {
  arguments: [['[TICKER...]', 'tickers, @FILE, or - for standard input; all that are loaded unless given']],
  options: [['--field <FIELDS>', 'only these fields; the nine technical ones unless given', 'repeatable'], TIMEFRAME],
  examples: [
    'bands now AAPL',
    'bands now --field rsi_zone --timeframe weekly',
    'bands now AAPL GSPC --as-of 2018-02-08 --csv',
  ],
  async run(context, given) {
    const fields = given.list('field').map(name => fieldValue('field', name).name)
    const timeframe = timeframeValue('timeframe', given.text('timeframe') ?? 'daily')
    const named = given.rest(0).flatMap(word => word.split(','))
    const bands = await context.bands()
    const tickers = named.length > 0 ? await namedTickers(named, context.world) : await bands.tickers()
    if (tickers === null) throw new InvalidParameter('TICKER is missing.', { param: 'ticker' })
    const chosen = fields.length > 0 ? fields : TECHNICAL_FIELDS.map(field => field.name)
    await context.show(nowAnswer(await now(watched(bands, context, 'now'), { tickers, fields: chosen, timeframe })))
  },
}
