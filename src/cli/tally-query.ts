import { InvalidParameter } from '../errors.js'
import { wordValue } from '../query/values.js'
import type { TallyQuery } from '../study/tally.js'
import { TALLY_GROUPINGS } from '../study/tally-groups.js'
import { nothingLoaded, unlisted } from './answers/nothing.js'
import type { Context } from './context.js'
import type { Given } from './given.js'
import { toldTickers } from './lacking.js'
import { poolQuery } from './query.js'
import { namedTickers } from './tickers.js'

/**
 * `tally TICKER FIELD`, or `tally FIELD` where --tickers or --all say which. `context` is the second ticker's field.
 * Throws InvalidParameter.
 */
export async function tallyQuery(
  context: Context,
  given: Given,
): Promise<{ query: TallyQuery; context: string | undefined }> {
  const pooled = given.list('tickers').length > 0 || given.flag('all')
  const [first, second] = [given.argument(0), given.argument(1)]
  const [ticker, field] = pooled && second === undefined ? [undefined, first] : [first, second]
  if (field === undefined || (ticker === undefined && !pooled)) {
    const missing = field === undefined ? 'FIELD' : 'TICKER'
    const allowed = 'bands tally TICKER FIELD, or bands tally FIELD --tickers A,B, or bands tally FIELD --all'
    throw new InvalidParameter(`${missing} is missing.`, { param: missing.toLowerCase(), allowed })
  }
  const tickers = await namedTickers([...(ticker?.split(',') ?? []), ...given.list('tickers')], context.world)
  const all = given.flag('all') ? (await allTickers(context)).filter(name => !tickers.includes(name)) : []
  if (tickers.length + all.length === 0 && given.flag('all')) throw nothingLoaded(context)
  const query: TallyQuery = poolQuery(given, [...tickers, ...all], field)
  if (all.length > 0) {
    const told = await toldTickers(context, all, { fields: [query.field], timeframe: query.timeframe })
    query.tickers = [...tickers, ...told]
  }
  const by = given.text('by')
  if (by !== undefined) query.by = wordValue('by', by, TALLY_GROUPINGS)
  return { query, context: query.context?.field }
}

async function allTickers(context: Context): Promise<readonly string[]> {
  const tickers = await (await context.bands()).tickers()
  if (tickers === null) throw unlisted(context, 'bands tally FIELD --tickers A,B')
  return tickers
}
