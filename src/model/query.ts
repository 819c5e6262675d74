import type { Day } from './day.js'
import type { Timeframe } from './timeframe.js'

/** The state a second ticker was in; without a band: whichever it was, told with each event. */
export interface Context {
  ticker: string
  field: string
  band?: string
}

/** Which events of one ticker and one field; both bounds exclusive. A query is made by query/parse.ts alone. */
export interface HistoryQuery {
  ticker: string
  field: string
  timeframe: Timeframe
  band?: string
  before?: Day
  after?: Day
  context?: Context
}

/** The same events of several tickers. */
export interface PoolQuery extends Omit<HistoryQuery, 'ticker'> {
  tickers: readonly string[]
}

/** A history query cut at a number of events, newest first: `GET /v1/events`. */
export interface EventsQuery extends HistoryQuery {
  limit: number
  context?: Required<Context>
}

/** A question as people write it, spelled as in the specification; every value may also be text. */
export interface EventsParams {
  ticker: string
  field: string
  timeframe?: string
  band?: string
  limit?: number | string
  before?: string
  after?: string
  context_ticker?: string
  context_field?: string
  context_band?: string
}

/** The same without a limit. */
export type HistoryParams = Omit<EventsParams, 'limit'>

/** The same of several tickers, counted together. */
export type PoolParams = Omit<HistoryParams, 'ticker'> & { tickers: readonly string[] }
