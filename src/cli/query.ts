import type { EventsQuery, HistoryQuery } from '../model/query.js'
import { parseEvents, parseHistory } from '../query/parse.js'
import type { Given } from './given.js'
import { FILTER_PARAMETERS } from './options.js'

/** TICKER, FIELD and the filters as typed → a search that can be trusted. Throws InvalidParameter. */
export function eventsQuery(given: Given): EventsQuery {
  return parseEvents(paramsOf(given))
}

/** The same for questions that have no limit. */
export function historyQuery(given: Given, ticker = given.argument(0)!, field = given.argument(1)!): HistoryQuery {
  return parseHistory({ ...paramsOf(given), ticker, field })
}

function paramsOf(given: Given): Record<string, string> & { ticker: string; field: string } {
  const params: Record<string, string> = {}
  for (const name of FILTER_PARAMETERS) {
    const value = given.text(name.replaceAll('_', '-'))
    if (value !== undefined) params[name] = value
  }
  return { ...params, ticker: given.argument(0)!, field: given.argument(1)! }
}
