import type { Day } from './day.js'
import type { MarketCapTier } from './event.js'
import type { AssetClass, Bar, Stability } from './series.js'
import type { Tier, Timeframe } from './terms.js'

/** Questions about one ticker or a market that a server answers by page, and their pages. */

/** A valid question about bars; only params/ builds one. */
export interface BarsQuery {
  ticker: string
  /** Both inclusive. */
  start?: Day
  end?: Day
  /** Only bars beyond this day, in the order of the page. */
  cursor?: Day
  order: PageOrder
  limit: number
}

export const PAGE_ORDERS = ['asc', 'desc'] as const
export type PageOrder = (typeof PAGE_ORDERS)[number]

/** Adjustments of prices, by the vendor's words; `split_adjusted` is ours. */
export const PRICE_ADJUSTMENTS = ['split_and_dividend_adjusted', 'split_adjusted', 'none'] as const

/** The body of `GET /v1/ohlcv/{ticker}`. */
export interface BarsPage {
  ticker: string
  /** null where unknown */
  asset_class: AssetClass | null
  /** null: not known */
  currency: string | null
  timeframe: 'daily'
  data_status: 'eod'
  adjustment: (typeof PRICE_ADJUSTMENTS)[number]
  order: PageOrder
  /** The first day of the answer: the requested one, but not before the range of the plan; null without a limit. */
  start: string | null
  /** The requested last day; null if none was requested. */
  end: string | null
  row_count: number
  has_more: boolean
  /** The cursor of the next page; null on the last one. */
  next_cursor: string | null
  bars: ({ date: string } & Bar)[]
  /** Days that the plan reaches back; null without a limit. */
  plan_history_days: number | null
  /** null: no plan */
  plan: Tier | null
}

/** A valid question about the state of a ticker, on one day or on several; only params/ builds one. */
export interface SnapshotQuery {
  ticker: string
  timeframe: Timeframe
  /** As of this day; default the latest. */
  date?: Day
  /** The bars of several days instead. */
  range?: SnapshotRange
  /** The places that an answer has; default all. */
  fields?: readonly string[]
  /** Whether each band has its stability. */
  meta: boolean
}

export interface SnapshotRange {
  /** Both inclusive. */
  start: Day
  end?: Day
  limit: number
  offset: number
  /** Bars spread evenly over the days, instead of the first ones. */
  even: boolean
}

/** The identity of a ticker in pages. */
export interface Identity {
  ticker: string
  timeframe: Timeframe
  /** null where unknown, here and below */
  asset_class: AssetClass | null
  sector: string | null
  market_cap_tier: MarketCapTier | null
  data_status: 'eod'
}

/** Sections by name: prices in `ohlcv`, bands at their places. */
export interface Snapshot {
  /** The date of the last bar; null without any. */
  as_of_date: string | null
  ohlcv?: Partial<Bar> | null
  [section: string]: unknown
}

/** Fields left out, because they wait for an import. */
export interface LeftOut {
  omitted?: { field: string; why: string }[]
}

/** The body of `GET /v1/summary/{ticker}` for one day. */
export type SnapshotPage = Identity & Snapshot & LeftOut

/** The same for several days. */
export interface SnapshotsPage extends Identity, LeftOut {
  start: string
  end: string | null
  row_count: number
  /** Bars of these days. */
  total_rows: number
  has_more: boolean
  snapshots: Snapshot[]
}

/** How settled a band is. */
export interface BandMeta {
  timeframe: Timeframe
  /** Bars in the band, that of its entry included. */
  periods_in_current_state: number
  flips_recent: number
  flips_lookback: string
  stability: Stability
}

/** The operators of filters in a search; the last four compare numbers. */
export const OPERATORS = ['eq', 'neq', 'in', 'gt', 'gte', 'lt', 'lte'] as const
export type Operator = (typeof OPERATORS)[number]

/** A column of a search, by the name that the caller gave it. */
export interface SearchColumn {
  name: string
  /** The band field; null for identity and prices. */
  field: string | null
}

export interface SearchFilter extends SearchColumn {
  op: Operator
  /** One of them must equal, or all of them must not; a number has one. */
  values: readonly (string | number)[]
}

/** A valid search; only params/ builds one. */
export interface SearchQuery {
  filters: readonly SearchFilter[]
  timeframe: Timeframe
  /** Default: the latest. */
  date?: Day
  /** Default: by ticker. */
  sort?: SearchColumn
  order: PageOrder
  limit: number
  offset: number
  /** Default: the usual ones that the tier has. */
  columns?: readonly SearchColumn[]
  /** All columns that the tier has. */
  all: boolean
}

/** The body of `GET /v1/search`. */
export interface SearchPage extends LeftOut {
  timeframe: Timeframe
  /** The day of the answer. */
  date: string
  /** The columns of a result. */
  fields: string[]
  filter_count: number
  /** Results on this page. */
  result_count: number
  /** All matches, regardless of the page. */
  match_count: number
  /** Tickers with a recent bar. */
  total_scanned: number
  has_more: boolean
  results: Record<string, string | number | null>[]
}

/** The body of `GET /v1/account`. Credits count by day and hour: keys of a month are null. */
export interface AccountPage {
  tier: Tier
  tier_full: Tier
  name: string
  /** A server has none. */
  email: null
  limits: {
    daily_requests: number
    hourly_requests: number
    monthly_requests: null
    overage_enabled: false
    search_results: number
    webhook_urls: 0
    history_days: number
  }
  usage: {
    daily_requests_used: number
    daily_requests_remaining: number
    hourly_requests_used: number
    hourly_requests_remaining: number
    monthly_requests_used: null
    monthly_requests_remaining: null
    /** Credits that can be spent now. */
    credit_balance: number
  }
  scheduled_tier: null
  scheduled_change_at: null
}

/** The body of `GET /v1/watchlist`: the state of each ticker of the account's list. */
export interface WatchlistPage {
  /** Those with data here, in the order of the list. */
  watchlist: SnapshotPage[]
  tickers_saved: number
  tickers_found: number
  watchlist_limit: number
  data_status: 'eod'
  /** The newest of their last bars; null without any. */
  as_of_date: string | null
}

/** A band that was entered. */
export interface WatchlistChange {
  /** The long name of the field. */
  field: string
  from: string | null
  to: string | null
  periods_in_current_state: number | null
}

/** The body of `GET /v1/watchlist/changes`: what changed on the newest bar of each ticker. */
export interface WatchlistChangesPage {
  timeframe: Timeframe
  /** The newest day of all data; null without any. */
  run_date: string | null
  /** By ticker; only those with a change. */
  changes: Record<string, WatchlistChange[]>
  /** By ticker: when any of its bands last changed. */
  ticker_context: Record<string, { last_changed_date: string | null }>
  tickers_checked: number
  tickers_changed: number
}
