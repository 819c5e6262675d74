import { formatDay } from '../model/day.js'
import type { OversoldParams, OversoldQuery } from '../model/oversold.js'
import type { EventsParams, EventsQuery } from '../model/query.js'

/** A search as the query of a URL, in the order of the specification; nothing is left to a server's default. */
export function eventsParams({ before, after, context, ...query }: EventsQuery): URLSearchParams {
  const params: EventsParams = { ticker: query.ticker, field: query.field, timeframe: query.timeframe }
  if (query.band !== undefined) params.band = query.band
  params.limit = query.limit
  if (before !== undefined) params.before = formatDay(before)
  if (after !== undefined) params.after = formatDay(after)
  if (context !== undefined) {
    params.context_ticker = context.ticker
    params.context_field = context.field
    params.context_band = context.band
  }
  return searchOf(params)
}

export function oversoldParams(query: OversoldQuery): URLSearchParams {
  const params: OversoldParams = { asset_class: query.assetClass }
  if (query.sector !== undefined) params.sector = query.sector
  if (query.marketCapTier !== undefined) params.market_cap_tier = query.marketCapTier
  if (query.minMarketCapTier !== undefined) params.min_market_cap_tier = query.minMarketCapTier
  params.min_severity = query.minSeverity
  params.sort_by = query.sortBy
  params.limit = query.limit
  params.timeframe = query.timeframe
  if (query.date !== undefined) params.date = formatDay(query.date)
  return searchOf(params)
}

function searchOf(params: object): URLSearchParams {
  return new URLSearchParams(Object.entries(params).map(([name, value]): [string, string] => [name, String(value)]))
}
