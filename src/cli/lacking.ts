import type { SeriesKey } from '../model/pulled.js'
import type { Timeframe } from '../model/timeframe.js'
import type { Context } from './context.js'
import { count } from './render/amounts.js'

export type Lacking = (key: SeriesKey) => boolean

/** Which series of pulled tickers are not there; null for a server, of which nobody knows. */
export async function lacking(context: Context): Promise<Lacking | null> {
  if ((await context.remote()) !== null) return null
  const { lackingIn } = await import('../local/pulled/lacking.js')
  return lackingIn((await context.local()).cache.store)
}

/**
 * Of all tickers those of which some of the fields is there, saying which are left out. All of them where none is left:
 * then the refusal tells what there is.
 */
export async function toldTickers(
  context: Context,
  tickers: readonly string[],
  { fields, timeframe }: { fields: readonly string[]; timeframe: Timeframe },
): Promise<readonly string[]> {
  const lacks = await lacking(context)
  if (lacks === null) return tickers
  const isTold = (ticker: string): boolean => fields.some(field => !lacks({ ticker, timeframe, field }))
  const told = tickers.filter(isTold)
  if (told.length === 0 || told.length === tickers.length) return tickers
  const left = tickers.filter(ticker => !isTold(ticker))
  const named = left.length > MOST ? count(left.length, 'ticker') : left.join(', ')
  const what = fields.length === 1 ? `their ${timeframe} ${fields[0]}` : `every ${timeframe} field of theirs`
  const why = `${what} is not here, or not to its end (bands tickers shows what was pulled)`
  if (!context.config.quiet) await context.notice(`left out, because ${why}: ${named}.`)
  return told
}

/** As many as a line names. */
const MOST = 8
