import { InvalidParameter } from '../../errors.js'
import { TECHNICAL_FIELDS } from '../../fields/index.js'
import { formatDay, parseDay } from '../../model/day.js'
import { fieldValue, timeframeValue } from '../../query/values.js'
import { type Now, now } from '../../study/now.js'
import { nothingLoaded, withoutFacts } from '../answers/nothing.js'
import { nowAnswer } from '../answers/now.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
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
    if (tickers.length === 0) throw nothingLoaded(context)
    const chosen = fields.length > 0 ? fields : TECHNICAL_FIELDS.map(field => field.name)
    const found = await now(watched(bands, context, 'now'), { tickers, fields: chosen, timeframe })
    await context.show(nowAnswer(found))
    await tellLacks(context, found)
  },
}

/** Calendar days that holidays explain; a ticker that is older than that has no present to speak of. */
const STALE = 10

/** Which fields can have no band, and which tickers have stopped before the others. */
async function tellLacks(context: Context, { states, as_of }: Now): Promise<void> {
  if (context.config.quiet || as_of === null) return
  const lacks = new Set(states.filter(state => state.band === null).map(state => withoutFacts(state.field)))
  for (const lack of lacks) if (lack !== null) await context.notice(`${lack}.`)
  const asked = new Set(states.map(state => state.ticker))
  const limit = parseDay(as_of)! - STALE
  const old = (await (await context.local()).cache.store.tickers()).filter(
    ({ ticker, last }) => asked.has(ticker) && last < limit,
  )
  if (old.length === 0) return
  const named = old.slice(0, 5).map(({ ticker, last }) => `${ticker} ${formatDay(last)}`)
  const more = old.length > named.length ? ` and ${old.length - named.length} more (bands status)` : ''
  await context.notice(`not up to ${as_of}, and told as of the newest bar: ${named.join(', ')}${more}`)
}
