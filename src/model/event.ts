import type { Day } from './day.js'
import type { AssetClass, Bar, Performance, Stability } from './series.js'
import type { BandName, FieldName, Timeframe } from './terms.js'

/** Window name (`5d`) → how the return over it ranked; null while it has not elapsed or cannot be ranked. */
export type Aftermath = Record<string, { performance: Performance } | null>

/** Events of one field of one ticker at one timeframe. */
export interface SeriesKey {
  ticker: string
  field: FieldName
  timeframe: Timeframe
}

/** One transition as a caller sees it: the resource of `GET /v1/events`. */
export interface BandEvent {
  date: string
  band: BandName
  prev_band: BandName
  /** Plus and Pro, like the two keys after it. */
  stability_at_entry?: Stability
  flips_recent_at_entry?: number
  flips_lookback?: string
  /** Bars until the next event, only the one of the timeframe; null while the band is active. */
  duration_days?: number | null
  duration_weeks?: number | null
  /** null on Free */
  aftermath: Aftermath | null
}

/** The body of `GET /v1/events`. */
export interface EventsPage extends SeriesKey {
  events: BandEvent[]
  /** All matching events in the range, whatever the limit. */
  total_occurrences: number
  /** Of a tier `90d`, `2y` or `5y`; `all` where none was asked for. */
  query_range: string
  context?: { ticker: string; field: FieldName; band: BandName }
  /** The condition that holds on the bar of each event, where one was asked for beside a field. */
  when?: string
}

/** Why a window of an event has no performance band: it has not ended, or too little had ended before it. */
export type Missing = 'pending' | 'no_history'

/** A band event with what only a local cache knows. */
export interface HistoricEvent extends BandEvent {
  /** Window → close-to-close return, a fraction; null until it exists. Absent where the answerer knows no prices. */
  returns?: Record<string, number | null>
  /** Window → percentile, 0..100, of that return; null where the aftermath is. */
  percentiles?: Record<string, number | null>
  /** Window → why its aftermath is null; only the windows that lack one. */
  missing?: Record<string, Missing>
  /** The band of the context ticker on the date, when one was asked for; null before its first event. */
  context_band?: BandName | null
}

/** Where events are from that a server told. */
export interface PulledSource {
  /** The server's address, without a key. */
  url: string
  /** When the last of them came, ISO time, UTC. */
  pulled_at: string
  /** The day that the server answered as of; null where it did not tell. */
  as_of: string | null
}

/** All matching events of one ticker and field, in the range of a tier where one was asked for. */
export interface EventHistory extends SeriesKey {
  query_range: string
  /** The range in dates: events lie after the first and up to the second; null where there is no bound, or it is not told. */
  after: string | null
  as_of: string | null
  /** Oldest first. */
  events: HistoricEvent[]
  /**
   * The band in force at the end, whatever was filtered: the date it was entered (of an initial band, its first defined
   * bar) and the bars since, both null when that was before the range. null when the field has no band that can be seen.
   */
  present: { band: BandName; since: string | null; bars: number | null; initial: boolean } | null
  /** Where the events are from, when a server told them and they were kept. */
  source?: PulledSource
}

/** What any bar was followed by: the ticker's own bars in range on which the field is defined. */
export interface Baseline {
  bars: number
  /** The day of each bar, ascending. */
  days: Int32Array
  /** Window → of every bar whose window has ended: the return; and how many of them had each performance band. */
  windows: Record<string, { returns: Float64Array; performances: readonly number[] }>
}

/** The state a second ticker was in; without a band: whichever it was, told with each event. */
export interface Context {
  ticker: string
  field: FieldName
  band?: BandName
}

/** Which events of one ticker and one field; both bounds exclusive. A query is made by params/ alone. */
export interface HistoryQuery extends SeriesKey {
  /** Only events that enter one of them, each named once, in the order of the vocabulary. */
  bands?: readonly BandName[]
  before?: Day
  after?: Day
  context?: Context
  /** Only events on whose bar this condition holds, as it is printed. */
  when?: string
  /** How many bars earlier conditions look at the tickers that they name; 0 unless given. */
  lag?: number | undefined
}

/** The same events of several tickers. */
export interface PoolQuery extends Omit<HistoryQuery, 'ticker'> {
  tickers: readonly string[]
}

/** A history query cut at a number of events, newest first: `GET /v1/events`. */
export interface EventsQuery extends HistoryQuery {
  limit: number
  context?: Required<Context>
}

/** One event as `bands export events` writes it: the resource of the specification, placed, with its exact figures. */
export interface ExportedEvent extends SeriesKey, BandEvent, Required<Pick<HistoricEvent, 'returns' | 'percentiles'>> {}

/** One bar with its indicators and bands by name, null where undefined, in the order of `seriesColumns`. */
export type ExportedSeriesBar = Readonly<Record<string, string | number | null>>

/** Columns of exported events that hold the same whatever the windows, but for the date. */
export const EVENT_COLUMNS = {
  series: ['ticker', 'field', 'timeframe'],
  bands: ['band', 'prev_band', 'stability_at_entry'],
  counts: ['flips_recent_at_entry'],
  texts: ['flips_lookback'],
} as const

/** An exported event has a column for each window: `returns_5d`. */
export const WINDOW_PREFIX = { performance: 'aftermath_', returns: 'returns_', percentiles: 'percentile_' } as const

/** One daily bar, as it can be imported again. */
export interface ExportedBar extends Bar {
  ticker: string
  date: string
}

/** A column of a table made of rows: its name, what it holds, and how to take its value out of a row. */
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

/** A scan that can be trusted; made by params/ alone. */
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
