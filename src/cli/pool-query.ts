import { InvalidParameter } from '../errors.js'
import type { PoolQuery } from '../model/query.js'
import { nothingLoaded, unlisted } from './answers/nothing.js'
import type { Context } from './context.js'
import type { Given } from './given.js'
import { toldTickers } from './lacking.js'
import { poolQuery } from './query.js'
import { namedTickers } from './tickers.js'

export const POOL_ARGUMENTS = [
  ['[TICKER]', 'a ticker, or several with commas; left out with --tickers or --all'],
  ['[FIELD]', 'a band field (bands fields)'],
] as const

/**
 * `COMMAND TICKER FIELD`, or `COMMAND FIELD` where --tickers or --all say which, with the filters as typed. Throws
 * InvalidParameter, and NotFound where nothing is loaded.
 */
export async function pooledQuery(context: Context, given: Given, command: string): Promise<PoolQuery> {
  const pooled = given.list('tickers').length > 0 || given.flag('all')
  const [first, second] = [given.argument(0), given.argument(1)]
  const [ticker, field] = pooled && second === undefined ? [undefined, first] : [first, second]
  if (field === undefined || (ticker === undefined && !pooled)) {
    const missing = field === undefined ? 'FIELD' : 'TICKER'
    const line = `bands ${command}`
    const allowed = `${line} TICKER FIELD, or ${line} FIELD --tickers A,B, or ${line} FIELD --all`
    throw new InvalidParameter(`${missing} is missing.`, { param: missing.toLowerCase(), allowed })
  }
  const tickers = await namedTickers([...(ticker?.split(',') ?? []), ...given.list('tickers')], context.world)
  const all = given.flag('all') ? (await allTickers(context, command)).filter(name => !tickers.includes(name)) : []
  if (tickers.length + all.length === 0 && given.flag('all')) throw nothingLoaded(context)
  const query = poolQuery(given, [...tickers, ...all], field)
  if (all.length === 0) return query
  const told = await toldTickers(context, all, { fields: [query.field], timeframe: query.timeframe })
  return { ...query, tickers: [...tickers, ...told] }
}

async function allTickers(context: Context, command: string): Promise<readonly string[]> {
  const tickers = await (await context.bands()).tickers()
  if (tickers === null) throw unlisted(context, `bands ${command} FIELD --tickers A,B`)
  return tickers
}
