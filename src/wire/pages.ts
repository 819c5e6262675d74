import * as z from 'zod'
import { parseDay } from '../model/day.js'
import { DISTANCES, MARKET_CAP_TIERS, RARITIES, SEVERITIES, VOLUME_CONTEXTS } from '../model/oversold.js'
import { PERFORMANCES, STABILITIES } from '../model/record.js'
import { TIMEFRAME_NAMES } from '../model/timeframe.js'

/**
 * What goes over HTTP, once for both ends: a server documents its answers with these schemas, and a client checks with
 * them what it was sent. Keys that nobody here knows are let through: an addition breaks no reader.
 */

const DATE = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .refine(text => parseDay(text) !== null, 'is not a calendar date')
const COUNT = z.int().min(0)
const DURATION = COUNT.nullable()

export const AFTERMATH = z.record(
  z.string().regex(/^\d+[dw]$/),
  z.looseObject({ performance: z.enum(PERFORMANCES) }).nullable(),
)

export const BAND_EVENT = z.looseObject({
  date: DATE.describe('Date the transition occurred.'),
  band: z.string().describe('Band entered on this date.'),
  prev_band: z.string().describe('Band before the transition.'),
  stability_at_entry: z.enum(STABILITIES).optional().describe('Plus and Pro.'),
  flips_recent_at_entry: COUNT.optional().describe('Events within the lookback, this one included. Plus and Pro.'),
  flips_lookback: z
    .string()
    .regex(/^\d+[dw]$/)
    .optional()
    .describe('Lookback of the flips in bars. Plus and Pro.'),
  duration_days: DURATION.optional().describe('Bars the band lasted; null while it is active. Daily only.'),
  duration_weeks: DURATION.optional().describe('Bars the band lasted; null while it is active. Weekly only.'),
  aftermath: AFTERMATH.nullable().describe('How the return over each window ranked; null on Free.'),
})

export const EVENTS_PAGE = z.looseObject({
  ticker: z.string(),
  field: z.string(),
  timeframe: z.enum(TIMEFRAME_NAMES as [string, ...string[]]),
  events: z.array(BAND_EVENT).describe('Newest first.'),
  total_occurrences: COUNT.describe("Matching events within the tier's range, whatever the limit."),
  query_range: z.string().describe("The tier's range: 90d, 2y or 5y."),
  context: z.looseObject({ ticker: z.string(), field: z.string(), band: z.string() }).optional(),
})

const BAND = z.string().nullable().optional()

export const OVERSOLD_MATCH = z.looseObject({
  ticker: z.string(),
  asset_class: z.enum(['stock', 'crypto', 'etf']).nullable(),
  rsi_zone: z.enum(SEVERITIES),
  condition_rarity: z.enum(RARITIES).nullable(),
  sector: z.string().nullable(),
  market_cap_tier: z.enum(MARKET_CAP_TIERS).nullable(),
  valuation_zone: BAND,
  stochastic_zone: BAND,
  days_in_oversold: COUNT.optional(),
  oversold_streaks_count: COUNT.optional(),
  volume_context: z.enum(VOLUME_CONTEXTS).nullable().optional(),
  volume_ratio_band: BAND,
  trend_context: BAND,
  nearest_support_distance: z.enum(DISTANCES).nullable().optional(),
  sector_rsi_zone: BAND,
  earnings_proximity: BAND,
  growth_zone: BAND,
  analyst_consensus: BAND,
  rsi_zone_stability: z.enum(STABILITIES).optional(),
  rsi_zone_flips_recent: COUNT.optional(),
  accumulation_state: BAND,
  historical_median_oversold_days: z.number().nullable().optional(),
  historical_max_oversold_days: COUNT.nullable().optional(),
  sector_agreement: z.boolean().nullable().optional(),
  sector_oversold_count: COUNT.nullable().optional(),
  sector_total_count: COUNT.nullable().optional(),
})

export const OVERSOLD_PAGE = z.looseObject({
  matches: z.array(OVERSOLD_MATCH),
  total_scanned: COUNT,
  match_count: COUNT,
  data_status: z.string(),
})
