import type { Tier } from '../model/tier.js'
import type { Field } from './field.js'

/**
 * The fields that stand on dated facts. Their names, tiers and vocabularies are part of every question's rules; a ticker
 * without facts has no data for them, and this version loads no facts yet.
 */
export const FUNDAMENTAL_FIELDS: readonly Field[] = [
  fundamental('valuation_zone', 'plus', 'how dear the stock is, all measures together', valuationBands()),
  fundamental('growth_zone', 'plus', 'revenue of four quarters against the four before', [
    'shrinking',
    'slowing',
    'stable',
    'moderate_growth',
    'high_growth',
  ]),
  fundamental('earnings_proximity', 'plus', 'days until the next earnings report', [
    'within_days',
    'this_week',
    'this_month',
    'next_month',
    'not_soon',
  ]),
  fundamental('analyst_consensus', 'plus', 'mean of the analysts’ ratings', [
    'strong_sell',
    'sell',
    'hold',
    'buy',
    'strong_buy',
  ]),
  fundamental('pe_vs_historical', 'pro', 'earnings yield against its own history', valuationBands()),
  fundamental('pe_vs_sector', 'pro', 'earnings yield against the sector', valuationBands()),
  fundamental('revenue_growth_direction', 'pro', 'whether revenue growth quickens', directionBands()),
  fundamental('eps_growth_direction', 'pro', 'whether earnings growth quickens', directionBands()),
  fundamental('earnings_surprise', 'pro', 'the last report against the estimate', [
    'big_miss',
    'missed',
    'met',
    'beat',
    'big_beat',
  ]),
  fundamental('analyst_consensus_direction', 'pro', 'the ratings against those of 90 days before', [
    'downgrading',
    'stable',
    'upgrading',
  ]),
  fundamental('insider_activity_zone', 'pro', 'value of insiders’ purchases against their sales', [
    'heavy_selling',
    'moderate_selling',
    'neutral',
    'no_activity',
    'moderate_buying',
    'heavy_buying',
  ]),
  fundamental('net_direction', 'pro', 'insiders who bought against those who sold', [
    'strong_selling',
    'selling',
    'neutral',
    'buying',
    'strong_buying',
  ]),
]

function fundamental(name: string, tier: Tier, summary: string, bands: readonly string[]): Field {
  return { name, tier, needs: 'facts', bands, summary }
}

function valuationBands(): readonly string[] {
  return ['deep_value', 'undervalued', 'fair_value', 'overvalued', 'deeply_overvalued']
}

function directionBands(): readonly string[] {
  return ['deteriorating', 'decelerating', 'steady', 'accelerating']
}
