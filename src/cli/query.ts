import type { EventsQuery, HistoryQuery, PoolQuery } from '../model/query.js'
import { parseEvents, parseHistory, parsePool } from '../query/parse.js'
import type { Given } from './given.js'
import { FILTER_PARAMETERS } from './options.js'

/** TICKER, FIELD and the filters as typed → a search that can be trusted. Throws InvalidParameter. */
export function eventsQuery(given: Given): EventsQuery {
  return parseEvents(paramsOf(given))
}

/** The same for questions that have no limit. */
export function historyQuery(given: Given): HistoryQuery {
  return parseHistory(paramsOf(given))
}

/** The filters as typed, for tickers and a field that stand elsewhere on the line. */
export function poolQuery(given: Given, tickers: readonly string[], field: string): PoolQuery {
  const { ticker: _place, ...filters } = paramsOf(given)
  return parsePool({ ...filters, tickers, field })
}

function paramsOf(given: Given): Record<string, string> & { ticker: string; field: string } {
  const params: Record<string, string> = {}
  for (const name of FILTER_PARAMETERS) {
    const value = given.text(name.replaceAll('_', '-'))
    if (value !== undefined) params[name] = value
  }
  return { ...params, ticker: given.argument(0)!, field: given.argument(1)! }
}
