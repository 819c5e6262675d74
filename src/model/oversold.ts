import type { Day } from './day.js'
import type { AssetClass, Stability } from './series.js'
import type { Timeframe } from './terms.js'

export const ASSET_CLASSES = ['stock', 'crypto', 'etf', 'all'] as const
export const MARKET_CAP_TIERS = ['nano', 'micro', 'small', 'mid', 'large', 'mega', 'ultra_mega'] as const
export type MarketCapTier = (typeof MARKET_CAP_TIERS)[number]
export const SEVERITIES = ['oversold', 'deep_oversold'] as const
export type Severity = (typeof SEVERITIES)[number]
export const OVERSOLD_ORDERS = ['severity', 'days_oversold', 'condition_percentile'] as const
export const RARITIES = ['extremely_rare', 'very_rare', 'rare', 'uncommon', 'occasional', 'common'] as const
export type Rarity = (typeof RARITIES)[number]
export const DISTANCES = ['at_level', 'very_close', 'near', 'moderate', 'far', 'very_far'] as const
export type Distance = (typeof DISTANCES)[number]
export const VOLUME_CONTEXTS = ['spike', 'above_average', 'normal', 'below_average'] as const
export type VolumeContext = (typeof VOLUME_CONTEXTS)[number]

/** A scan that can be trusted; made by params/parse.ts alone. */
export interface OversoldQuery {
  asset_class: AssetClass | 'all'
  /** Case aside. */
  sector?: string
  market_cap_tier?: MarketCapTier
  min_market_cap_tier?: MarketCapTier
  min_severity: Severity
  sort_by: (typeof OVERSOLD_ORDERS)[number]
  limit: number
  timeframe: Timeframe
  /** The latest that there is, unless given. */
  date?: Day
}

/** The body of `GET /v1/scan/oversold`. */
export interface OversoldPage {
  matches: OversoldMatch[]
  /** Tickers that were looked at: those of the filters that have a band on the date. */
  total_scanned: number
  /** All matches, whatever the limit. */
  match_count: number
  data_status: 'eod'
}

/** One ticker that is oversold; what a tier does not have is left out, as fundamentals are for crypto and funds. */
export interface OversoldMatch {
  ticker: string
  /** null where nothing tells */
  asset_class: AssetClass | null
  rsi_zone: Severity
  /** How rarely the ticker's RSI is as low as this; null where its history is too short. */
  condition_rarity: Rarity | null
  sector: string | null
  market_cap_tier: MarketCapTier | null
  valuation_zone?: string | null
  stochastic_zone?: string | null
  /** Bars since it became oversold, that one included. */
  days_in_oversold?: number
  /** Stays at or below oversold in the history that rolling percentiles look at, the present one included. */
  oversold_streaks_count?: number
  volume_context?: VolumeContext | null
  volume_ratio_band?: string | null
  trend_context?: string | null
  nearest_support_distance?: Distance | null
  sector_rsi_zone?: string | null
  earnings_proximity?: string | null
  growth_zone?: string | null
  analyst_consensus?: string | null
  rsi_zone_stability?: Stability
  rsi_zone_flips_recent?: number
  accumulation_state?: string | null
  /** Of the ended stays among those counted, in bars. */
  historical_median_oversold_days?: number | null
  historical_max_oversold_days?: number | null
  /** Whether the sector as a whole is oversold too; null without a sector. */
  sector_agreement?: boolean | null
  sector_oversold_count?: number | null
  sector_total_count?: number | null
}
