import { type BarsQuery, PAGE_ORDERS } from '../model/pages.js'
import { objectOf } from './arguments.js'
import { DAY, integerOf, wordOf } from './kinds.js'
import { EVENTS, TICKERS } from './questions.js'
import { optional, type ParamsOf, readParams, required, type Table, unknownParameterError, withDefault } from './row.js'

/** The parameters of questions that a server answers by page, apart from events and scans. */

export const PAGE_ORDER = wordOf(PAGE_ORDERS, 'ORDER', 'PageOrder')

export const MAX_BARS = 1_000
export const BARS_PER_CREDIT = 100

/** The parameters of `GET /v1/ohlcv/{ticker}`. */
export const BARS = {
  ticker: EVENTS.ticker,
  start: optional(DAY, 'only bars from this day on'),
  end: optional(DAY, 'only bars up to this day'),
  cursor: optional(DAY, 'the next_cursor of the page before: only bars beyond this day'),
  order: withDefault(PAGE_ORDER, 'desc', 'desc is newest first, asc is oldest first'),
  limit: withDefault(
    { ...integerOf(1, MAX_BARS), name: 'BarsLimit' },
    BARS_PER_CREDIT,
    `how many bars at most, 1 to ${MAX_BARS}`,
  ),
} as const satisfies Table

export type BarsParams = ParamsOf<typeof BARS>

export function parseBars(params: object): BarsQuery {
  return readParams(BARS, params)
}

export const MAX_WATCHED = 100

/** The parameters of `GET /v1/watchlist` and of its changes. */
export const WATCHLIST = { timeframe: EVENTS.timeframe } as const satisfies Table

/** The body of a change to the list. */
export const WATCHED = { tickers: required(TICKERS, 'the tickers, a JSON array') } as const satisfies Table

/** The parameters of a path that names its ticker. Throws InvalidParameter if the query names one, too. */
export function withPathTicker(ticker: string, params: object, table: Table): object {
  const written = objectOf('params', params)
  const others = Object.keys(table).filter(name => name !== 'ticker')
  if ('ticker' in written) throw unknownParameterError('ticker', others)
  return { ticker, ...written }
}
