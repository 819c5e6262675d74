import type { OversoldParams, OversoldQuery } from '../model/oversold.js'
import { OVERSOLD } from './parameters.js'
import { given, textsOf } from './parse.js'

const OVERSOLD_PARAMETERS = Object.keys(OVERSOLD) as readonly (keyof OversoldParams)[]

/** A scan as written → a scan that can be trusted. Throws InvalidParameter for the first thing wrong. */
export function parseOversold(params: OversoldParams): OversoldQuery {
  const texts = textsOf(params, OVERSOLD_PARAMETERS)
  const query: OversoldQuery = {
    assetClass: given(OVERSOLD, texts, 'asset_class') ?? OVERSOLD.asset_class.fallback,
    minSeverity: given(OVERSOLD, texts, 'min_severity') ?? OVERSOLD.min_severity.fallback,
    sortBy: given(OVERSOLD, texts, 'sort_by') ?? OVERSOLD.sort_by.fallback,
    limit: given(OVERSOLD, texts, 'limit') ?? OVERSOLD.limit.fallback,
    timeframe: given(OVERSOLD, texts, 'timeframe') ?? OVERSOLD.timeframe.fallback,
  }
  const sector = given(OVERSOLD, texts, 'sector')
  const marketCapTier = given(OVERSOLD, texts, 'market_cap_tier')
  const minMarketCapTier = given(OVERSOLD, texts, 'min_market_cap_tier')
  const date = given(OVERSOLD, texts, 'date')
  if (sector !== undefined) query.sector = sector
  if (marketCapTier !== undefined) query.marketCapTier = marketCapTier
  if (minMarketCapTier !== undefined) query.minMarketCapTier = minMarketCapTier
  if (date !== undefined) query.date = date
  return query
}
