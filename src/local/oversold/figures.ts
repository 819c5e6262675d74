import type { OversoldFigures } from '../../policy/present-oversold.js'
import type { Cache } from '../cache.js'
import { stayOn } from '../view.js'
import { chartFigures } from './chart.js'
import { assetClassOf, type Listed, marketCapTierOf, sectorOf } from './listed.js'
import type { Match } from './order.js'
import type { Standings } from './standings.js'
import { isOversold } from './streaks.js'

/** All that can be said of a match. @param then the cache as of the scan's date */
export async function figuresOf({ listed, low }: Match, standings: Standings, then: Cache): Promise<OversoldFigures> {
  const { entry } = listed
  const assetClass = await assetClassOf(listed, standings.store, standings.date)
  /** As it is recorded, and as `bands now` tells it; Busy while an import has yet to record it anew. */
  const inForce = async (field: string): Promise<string | null> => {
    const view = await then.view(entry.ticker, standings.timeframe, field)
    return stayOn(view, view.bars - 1)?.band ?? null
  }
  return {
    ticker: () => entry.ticker,
    asset_class: () => assetClass,
    rsi_zone: () => low.zone,
    sector: () => sectorOf(listed),
    market_cap_tier: () => marketCapTierOf(listed),
    ...chartFigures(low),
    ...sectorFigures(listed, standings),
    volume_ratio_band: () => inForce('volume_ratio_band'),
    trend_context: () => inForce('trend_direction'),
    accumulation_state: () => inForce('accumulation_state'),
    // Coins and funds have none, which is not the same as one that is not known.
    ...(assetClass === 'crypto' || assetClass === 'etf' ? {} : fundamentalFigures(inForce)),
  }
}

function sectorFigures(listed: Listed, standings: Standings) {
  const standing = () => standings.sector(listed)
  return {
    sector_rsi_zone: async () => (await standing())?.zone ?? null,
    sector_agreement: async () => {
      const found = await standing()
      return found === null ? null : isOversold(found.zone)
    },
    sector_oversold_count: async () => (await standing())?.oversold ?? null,
    sector_total_count: async () => (await standing())?.total ?? null,
  } satisfies Partial<OversoldFigures>
}

function fundamentalFigures(inForce: (field: string) => Promise<string | null>) {
  return {
    valuation_zone: () => inForce('valuation_zone'),
    earnings_proximity: () => inForce('earnings_proximity'),
    growth_zone: () => inForce('growth_zone'),
    analyst_consensus: () => inForce('analyst_consensus'),
  } satisfies Partial<OversoldFigures>
}
