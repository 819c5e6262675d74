import type { Day } from './day.js'
import type { AssetClass, Bar } from './series.js'
import type { Tier } from './terms.js'

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
