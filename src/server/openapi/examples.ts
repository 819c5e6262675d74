import type { EventsPage } from '../../model/event.js'
import type { OversoldMatch, OversoldPage } from '../../model/oversold.js'
import type { Tier } from '../../model/tier.js'
import { OVERSOLD_KEYS } from '../../policy/present-oversold.js'
import type { ExampleObject } from './document.js'

/** Answers as the bundled sample gives them as of 2018-05-11. */

const DAILY: EventsPage = {
  ticker: 'AAPL',
  field: 'rsi_zone',
  timeframe: 'daily',
  events: [
    {
      date: '2018-02-08',
      band: 'oversold',
      prev_band: 'neutral_low',
      stability_at_entry: 'volatile',
      flips_recent_at_entry: 6,
      flips_lookback: '30d',
      duration_days: 1,
      aftermath: {
        '5d': { performance: 'sharp_gain' },
        '10d': { performance: 'sharp_gain' },
        '20d': { performance: 'sharp_gain' },
        '50d': { performance: 'flat' },
        '100d': null,
      },
    },
  ],
  total_occurrences: 10,
  query_range: '5y',
}

const FREE: EventsPage = {
  ticker: 'AAPL',
  field: 'rsi_zone',
  timeframe: 'daily',
  events: [{ date: '2018-05-09', band: 'overbought', prev_band: 'neutral_high', duration_days: null, aftermath: null }],
  total_occurrences: 13,
  query_range: '90d',
}

const WEEKLY: EventsPage = {
  ticker: 'AAPL',
  field: 'trend_direction',
  timeframe: 'weekly',
  events: [
    {
      date: '2018-05-11',
      band: 'strong_uptrend',
      prev_band: 'uptrend',
      stability_at_entry: 'volatile',
      flips_recent_at_entry: 6,
      flips_lookback: '12w',
      duration_weeks: null,
      aftermath: { '2w': null, '4w': null, '8w': null, '12w': null, '16w': null },
    },
  ],
  total_occurrences: 14,
  query_range: '5y',
}

const CONTEXT: EventsPage = {
  ...DAILY,
  total_occurrences: 2,
  context: { ticker: 'GSPC', field: 'trend_direction', band: 'downtrend' },
}

const NOTHING: EventsPage = { ...DAILY, events: [], total_occurrences: 0 }

export const EVENTS_EXAMPLES: Record<string, ExampleObject> = {
  daily: { summary: 'rsi_zone of AAPL, band oversold, limit 1, asked on Pro', value: DAILY },
  free: { summary: 'The newest event of rsi_zone of AAPL, asked on Free', value: FREE },
  weekly: { summary: 'A weekly band that is still active', value: WEEKLY },
  context: { summary: 'While GSPC was in a downtrend', value: CONTEXT },
  nothing: { summary: 'No event matches', value: NOTHING },
}

const MATCH: OversoldMatch = {
  ticker: 'SIM0004',
  asset_class: 'stock',
  rsi_zone: 'oversold',
  condition_rarity: 'extremely_rare',
  sector: 'Information Technology',
  market_cap_tier: 'mid',
  valuation_zone: 'undervalued',
  stochastic_zone: 'deep_oversold',
  days_in_oversold: 1,
  oversold_streaks_count: 8,
  volume_context: 'normal',
  volume_ratio_band: 'normal',
  trend_context: 'strong_downtrend',
  nearest_support_distance: null,
  sector_rsi_zone: 'neutral',
  earnings_proximity: 'not_soon',
  growth_zone: 'moderate_growth',
  analyst_consensus: 'hold',
  rsi_zone_stability: 'volatile',
  rsi_zone_flips_recent: 4,
  accumulation_state: 'strong_distribution',
  historical_median_oversold_days: 2,
  historical_max_oversold_days: 4,
  sector_agreement: false,
  sector_oversold_count: 1,
  sector_total_count: 8,
}

export const SCAN_EXAMPLES: Record<string, ExampleObject> = {
  pro: { summary: 'Asked on Pro', value: scanSeenBy('pro') },
  plus: { summary: 'Asked on Plus', value: scanSeenBy('plus') },
  free: { summary: 'Asked on Free', value: scanSeenBy('free') },
}

function scanSeenBy(tier: Tier): OversoldPage {
  const seen = Object.fromEntries(OVERSOLD_KEYS[tier].map(key => [key, MATCH[key]])) as unknown as OversoldMatch
  return { matches: [seen], total_scanned: 10, match_count: 1, data_status: 'eod' }
}
