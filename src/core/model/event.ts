import type { Day } from './day.js'
import type { AssetClass, Bar, Performance, Stability } from './series.js'
import type { BandName, FieldName, Timeframe } from './terms.js'

/** Window name (`5d`) → rank of the return over it; null while it has not elapsed or cannot be ranked. */
export type Aftermath = Record<string, { performance: Performance } | null>

/** Events of one field of one ticker at one timeframe. */
export interface SeriesKey {
  ticker: string
  field: FieldName
  timeframe: Timeframe
}

/** One transition as in the resource of `GET /v1/events`. */
export interface BandEvent {
  date: string
  band: BandName
  prev_band: BandName
  /** Plus and Pro, like the two keys after it. */
  stability_at_entry?: Stability
  flips_recent_at_entry?: number
  flips_lookback?: string
  /** Bars until the next event, only the key of the timeframe; null while the band is active. */
  duration_days?: number | null
  duration_weeks?: number | null
  /** null on Free */
  aftermath: Aftermath | null
}

/** The body of `GET /v1/events`. */
export interface EventsPage extends SeriesKey {
  events: BandEvent[]
  /** All matching events in the range, regardless of the limit. */
  total_occurrences: number
  /** `90d`, `2y` or `5y` of a tier; `all` without a tier. */
  query_range: string
  context?: { ticker: string; field: FieldName; band: BandName }
  /** The condition that holds on the bar of each event, if the query has one beyond a field. */
  when?: string
}

/** Why a window of an event has no performance band: it has not ended, or too few had ended before it. */
export type Missing = 'pending' | 'no_history'

/** A band event with data that only a local store has. */
export interface HistoricEvent extends BandEvent {
  /** Window → close-to-close return, a fraction; null until it exists. Absent where the source has no prices. */
  returns?: Record<string, number | null>
  /** Window → percentile, 0..100, of that return; null where the aftermath is null. */
  percentiles?: Record<string, number | null>
  /** Window → why its aftermath is null; only windows without one. */
  missing?: Record<string, Missing>
  /** The band of the context ticker on the date, if the query has a context; null before its first event. */
  context_band?: BandName | null
}

/** The origin of pulled events. */
export interface PulledSource {
  /** The server's address, without a key. */
  url: string
  /** When the last of them arrived, ISO time, UTC. */
  pulled_at: string
  /** The as-of day of the server's answer; null where unknown. */
  as_of: string | null
}

/** All matching events of one ticker and field, in the range of a tier if one is set. */
export interface EventHistory extends SeriesKey {
  query_range: string
  /** The range in dates: events lie after the first and up to the second. null without a bound, or where unknown. */
  after: string | null
  as_of: string | null
  /** Oldest first. */
  events: HistoricEvent[]
  /**
   * The current band at the end, regardless of filters: its entry date (for an initial band, the first bar with a band)
   * and the bars since. Both are null when that was before the range. null when the field has no visible band.
   */
  present: { band: BandName; since: string | null; bars: number | null; initial: boolean } | null
  /** The origin of pulled events. */
  source?: PulledSource
}

/** Outcomes after any bar: the ticker's own bars in range on which the field has a band. */
export interface Baseline {
  bars: number
  /** The day of each bar, ascending. */
  days: Int32Array
  /** By window, in the order of the timeframe: the number of bars whose window has ended, which are the first ones. */
  ended: readonly number[]
  /** By window: the number of those bars in each performance band. */
  performances: readonly (readonly number[])[]
  /** The closes from the first of these bars to the last known bar. */
  closes: Float64Array
  /** The index of each of these bars in `closes`. */
  indexes: Int32Array
}

/** The state of a second ticker; without a band: any band, reported with each event. */
export interface Context {
  ticker: string
  field: FieldName
  band?: BandName
}

/** The events of one ticker and one field; both bounds exclusive. Only params/ builds a query. */
export interface HistoryQuery extends SeriesKey {
  /** Only events that enter one of them; each once, in the order of the vocabulary. */
  bands?: readonly BandName[]
  before?: Day
  after?: Day
  context?: Context
  /** Only events on whose bar this condition holds, in canonical form. */
  when?: string
  /** Lag in bars of conditions on named tickers (default 0). */
  lag?: number | undefined
}

/** Events of several tickers. */
export interface PoolQuery extends Omit<HistoryQuery, 'ticker'> {
  tickers: readonly string[]
}

/** A history query with a limit, newest first: `GET /v1/events`. */
export interface EventsQuery extends HistoryQuery {
  limit: number
  context?: Required<Context>
}

/**
 * One event as `bands export events` writes it: the resource of the specification, with its series and exact numbers.
 */
export interface ExportedEvent extends SeriesKey, BandEvent, Required<Pick<HistoricEvent, 'returns' | 'percentiles'>> {}

/** One bar with its indicators and bands by name, null where undefined, in the order of `seriesColumns`. */
export type ExportedSeriesBar = Readonly<Record<string, string | number | null>>

/** Columns of exported events that do not depend on windows, without the date. */
export const EVENT_COLUMNS = {
  series: ['ticker', 'field', 'timeframe'],
  bands: ['band', 'prev_band', 'stability_at_entry'],
  counts: ['flips_recent_at_entry'],
  texts: ['flips_lookback'],
} as const

/** An exported event has a column for each window: `returns_5d`. */
export const WINDOW_PREFIX = { performance: 'aftermath_', returns: 'returns_', percentiles: 'percentile_' } as const

/** One daily bar that can be imported again. */
export interface ExportedBar extends Bar {
  ticker: string
  date: string
}

/** A table column: its name, its kind, and the function that reads its value from a row. */
export interface Column<Row> {
  name: string
  kind: 'text' | 'date' | 'integer' | 'number'
  of(row: Row): string | number | null
}

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

/** A valid scan; only params/ builds one. */
export interface OversoldQuery {
  asset_class: AssetClass | 'all'
  /** Case-insensitive. */
  sector?: string
  market_cap_tier?: MarketCapTier
  min_market_cap_tier?: MarketCapTier
  min_severity: Severity
  sort_by: (typeof OVERSOLD_ORDERS)[number]
  limit: number
  timeframe: Timeframe
  /** Default: the latest. */
  date?: Day
}

/** The body of `GET /v1/scan/oversold`. */
export interface OversoldPage {
  matches: OversoldMatch[]
  /** Tickers in the filters that have a band on the date. */
  total_scanned: number
  /** All matches, regardless of the limit. */
  match_count: number
  data_status: 'eod'
}

/** One oversold ticker. Data that its kind cannot have are left out, such as fundamentals of crypto and funds. */
export interface OversoldMatch {
  ticker: string
  /** null where unknown */
  asset_class: AssetClass | null
  rsi_zone: Severity
  /** How rarely the ticker's RSI is this low; null where its history is too short. */
  condition_rarity: Rarity | null
  sector: string | null
  market_cap_tier: MarketCapTier | null
  valuation_zone?: string | null
  stochastic_zone?: string | null
  /** Bars since it became oversold, the first one included. */
  days_in_oversold?: number
  /** Periods at or below oversold within the history of rolling percentiles, the current one included. */
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
  /** Only the ended ones of these periods, in bars. */
  historical_median_oversold_days?: number | null
  historical_max_oversold_days?: number | null
  /** Whether the whole sector is oversold, too; null without a sector. */
  sector_agreement?: boolean | null
  sector_oversold_count?: number | null
  sector_total_count?: number | null
}
