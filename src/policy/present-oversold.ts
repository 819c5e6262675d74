import type { OversoldMatch } from '../model/oversold.js'
import { reaches, TIER_NAMES, type Tier } from '../model/tier.js'

/** How each value of a match is found, once somebody may see it; what a ticker does not have is left out. */
export type OversoldFigures = {
  readonly [Key in keyof OversoldMatch]: () => OversoldMatch[Key] | Promise<OversoldMatch[Key]>
}

/** Gate out: a match as this caller may see it, in the order of the specification. Nothing else of it is even computed. */
export async function presentOversold(figures: OversoldFigures, tier: Tier): Promise<OversoldMatch> {
  const seen: Record<string, unknown> = {}
  for (const key of OVERSOLD_KEYS[tier]) {
    const figure = figures[key]
    if (figure !== undefined) seen[key] = await figure()
  }
  return seen as unknown as OversoldMatch
}

/** What each tier adds. Free sees valuation_zone here, although its events come with Plus: the scan's own table wins. */
const ADDED: Readonly<Record<Tier, readonly (keyof OversoldMatch)[]>> = {
  free: ['ticker', 'asset_class', 'rsi_zone', 'condition_rarity', 'sector', 'market_cap_tier', 'valuation_zone'],
  plus: [
    'stochastic_zone',
    'days_in_oversold',
    'oversold_streaks_count',
    'volume_context',
    'volume_ratio_band',
    'trend_context',
    'nearest_support_distance',
    'sector_rsi_zone',
    'earnings_proximity',
    'growth_zone',
    'analyst_consensus',
    'rsi_zone_stability',
    'rsi_zone_flips_recent',
  ],
  pro: [
    'accumulation_state',
    'historical_median_oversold_days',
    'historical_max_oversold_days',
    'sector_agreement',
    'sector_oversold_count',
    'sector_total_count',
  ],
}

/** The keys of a match that each tier sees, in order. */
export const OVERSOLD_KEYS: Readonly<Record<Tier, readonly (keyof OversoldMatch)[]>> = {
  free: upTo('free'),
  plus: upTo('plus'),
  pro: upTo('pro'),
}

function upTo(tier: Tier): readonly (keyof OversoldMatch)[] {
  return TIER_NAMES.filter(name => reaches(tier, name)).flatMap(name => ADDED[name])
}
