import * as z from 'zod'
import { OPERATORS, PAGE_ORDERS, PRICE_ADJUSTMENTS } from '../../core/model/pages.js'
import { PRICES, SECTIONS } from '../../core/params/places.js'
import { ASSET_CLASS, BAND, COUNT, DATE, EVENTS_PAGE, MARKET_CAP_TIER, STABILITY, TIER, TIMEFRAME } from './schemas.js'

const PAGE_ORDER = z.enum(PAGE_ORDERS)

const BAR = z.looseObject({
  date: DATE,
  open: z.number(),
  high: z.number(),
  low: z.number(),
  close: z.number(),
  volume: z.number().nullable().describe('null where it is not known.'),
})

export const BARS_PAGE = z.looseObject({
  ticker: z.string().describe('The ticker, in upper case.'),
  asset_class: ASSET_CLASS,
  currency: z.string().nullable().describe('null: it is not known.'),
  timeframe: z.literal('daily'),
  data_status: z.literal('eod').describe('The data is of the end of a day.'),
  adjustment: z.enum(PRICE_ADJUSTMENTS).describe('The adjustment of the prices.'),
  order: PAGE_ORDER,
  start: DATE.nullable().describe('The first day of the answer: not before the range of the tier.'),
  end: DATE.nullable().describe('The requested last day; null without one.'),
  row_count: COUNT.describe('Bars on this page.'),
  has_more: z.boolean().describe('Whether another page follows.'),
  next_cursor: DATE.nullable().describe('The `cursor` of the next page; null on the last one.'),
  bars: z.array(BAR).describe('In the order asked for.'),
  plan_history_days: COUNT.nullable().describe('Days that the tier reaches back.'),
  plan: TIER.nullable(),
})

const OPERATOR = z.enum(OPERATORS)

export const FIELDS_PAGE = z.looseObject({
  total_fields: COUNT,
  categories: z.array(z.string()).describe('The sections of a summary.'),
  operators: z.array(OPERATOR).describe('Those of the filters of a search.'),
  fields: z.array(
    z.looseObject({
      name: z.string().describe('The name, of a band field the long one, as columns and filters of a search have it.'),
      type: z.enum(['text', 'numeric']),
      category: z.string(),
      values: z.array(z.string()).describe('Its words in their order; absent where they are many.').optional(),
      description: z.string(),
      field: z.string().nullable().describe('The short name, as events have it; null where it is no band.'),
      tier: TIER.describe('The lowest tier that has it.'),
    }),
  ),
})

const NOT_COUNTED = z.null().describe('Always null: credits count by day and hour.')

export const ACCOUNT_PAGE = z.looseObject({
  tier: TIER,
  tier_full: TIER,
  name: z.string().describe('The name of the account.'),
  email: z.null().describe('Always null: an account has none.'),
  limits: z.looseObject({
    daily_requests: COUNT.describe('Credits in a day of UTC.'),
    hourly_requests: COUNT.describe('Credits in an hour.'),
    monthly_requests: NOT_COUNTED,
    overage_enabled: z.literal(false),
    search_results: COUNT.describe('Results of a search at most.'),
    webhook_urls: z.literal(0).describe('Always 0: there are no webhooks.'),
    history_days: COUNT.describe('Days that the tier reaches back.'),
  }),
  usage: z.looseObject({
    daily_requests_used: COUNT,
    daily_requests_remaining: COUNT,
    hourly_requests_used: COUNT,
    hourly_requests_remaining: COUNT,
    monthly_requests_used: NOT_COUNTED,
    monthly_requests_remaining: NOT_COUNTED,
    credit_balance: COUNT.describe('Credits that can be spent now.'),
  }),
  scheduled_tier: z.null(),
  scheduled_change_at: z.null(),
})

const BAND_META = z.looseObject({
  timeframe: TIMEFRAME,
  periods_in_current_state: COUNT.describe('Bars in the band, that of its entry included.'),
  flips_recent: COUNT.describe('Changes of the band within the lookback.'),
  flips_lookback: z.string().describe('The lookback in bars, as 30d.'),
  stability: STABILITY,
})
const BAND_OR_META = z.union([z.string(), BAND_META]).nullable()
const SECTION = z
  .record(z.string(), z.union([BAND_OR_META, z.record(z.string(), BAND_OR_META)]))
  .describe('The band in force of each field, by its place; null without a band. With `meta` its stability.')
const OMITTED = {
  omitted: z
    .array(z.looseObject({ field: z.string(), why: z.string() }))
    .describe('Fields that wait for an import; absent without any.')
    .optional(),
}
const IDENTITY = {
  ticker: z.string().describe('The ticker, in upper case.'),
  timeframe: TIMEFRAME,
  asset_class: ASSET_CLASS,
  sector: z.string().nullable(),
  market_cap_tier: MARKET_CAP_TIER.nullable(),
  data_status: z.literal('eod').describe('The data is of the end of a day.'),
}
const DAY_PARTS = {
  as_of_date: DATE.nullable().describe('The date of the last bar; null without any.'),
  [PRICES]: BAR.omit({ date: true }).partial().nullable().describe('Prices of that bar.').optional(),
  ...Object.fromEntries(SECTIONS.map(name => [name, SECTION.optional()])),
}
const SNAPSHOT = z.looseObject(DAY_PARTS)

export const SNAPSHOT_PAGE = z.looseObject({ ...IDENTITY, ...DAY_PARTS, ...OMITTED })

export const SNAPSHOTS_PAGE = z.looseObject({
  ...IDENTITY,
  start: DATE,
  end: DATE.nullable().describe('null: the latest.'),
  row_count: COUNT.describe('Snapshots in this answer.'),
  total_rows: COUNT.describe('Bars of these days.'),
  has_more: z.boolean().describe('Whether a greater `offset` has more.'),
  snapshots: z.array(SNAPSHOT).describe('Oldest first.'),
  ...OMITTED,
})

export const STATS_PAGE = z.looseObject({
  ticker: z.string(),
  field: z.string(),
  timeframe: TIMEFRAME,
  stats: z
    .looseObject({
      by: z.string().nullable().describe('`band`, or null where a band was asked for.'),
      groups: z.array(z.unknown()).describe('For each band: the events, and each window after them.'),
      warnings: z.array(z.string()).describe('Notes on the whole, in sentences.'),
    })
    .describe('The keys of `bands tally` in JSON.'),
  total_occurrences: COUNT,
  query_range: z.string(),
  context: EVENTS_PAGE.shape.context,
})

export const SEARCH_PAGE = z.looseObject({
  timeframe: TIMEFRAME,
  date: DATE.describe('The day of the answer.'),
  fields: z.array(z.string()).describe('The columns of a result.'),
  filter_count: COUNT,
  result_count: COUNT.describe('Results in this answer.'),
  match_count: COUNT.describe('All tickers that meet the filters.'),
  total_scanned: COUNT.describe('Tickers with a recent bar, of the class, sector and size in the filters.'),
  has_more: z.boolean().describe('Whether a greater `offset` has more.'),
  results: z
    .array(z.record(z.string(), z.union([z.string(), z.number()]).nullable()))
    .describe('In the order asked for; each has the columns by their names, null where there is no value.'),
  ...OMITTED,
})

export const WATCHLIST_PAGE = z.looseObject({
  watchlist: z.array(SNAPSHOT_PAGE).describe('The state of each ticker with data here, in the order of the list.'),
  tickers_saved: COUNT.describe('Tickers on the list.'),
  tickers_found: COUNT.describe('Those with data here.'),
  watchlist_limit: COUNT.describe('Tickers that a list may have.'),
  data_status: z.literal('eod').describe('The data is of the end of a day.'),
  as_of_date: DATE.nullable().describe('The newest of their last bars; null without any.'),
})

const WATCHLIST_CHANGE = z.looseObject({
  field: z.string().describe('The long name of the field.'),
  from: BAND,
  to: BAND,
  periods_in_current_state: COUNT.nullable().describe('Bars in the band, that of its entry included.'),
})

export const WATCHLIST_CHANGES_PAGE = z.looseObject({
  timeframe: TIMEFRAME,
  run_date: DATE.nullable().describe('The newest day of all data; null without any.'),
  changes: z.record(z.string(), z.array(WATCHLIST_CHANGE)).describe('By ticker: the bands entered on its newest bar.'),
  ticker_context: z
    .record(z.string(), z.looseObject({ last_changed_date: DATE.nullable() }))
    .describe('By ticker: when any of its bands last changed.'),
  tickers_checked: COUNT.describe('Tickers of the list with data here.'),
  tickers_changed: COUNT,
})

export const WATCHLIST_ADDED = z.looseObject({
  added: z.array(z.string()),
  already_saved: z.array(z.string()),
  watchlist_count: COUNT.describe('Tickers on the list.'),
  watchlist_limit: COUNT.describe('Tickers that a list may have.'),
})

export const WATCHLIST_REMOVED = z.looseObject({
  removed: z.array(z.string()),
  watchlist_count: COUNT.describe('Tickers on the list.'),
})

export const SUMMARY_PAGE = z.union([SNAPSHOT_PAGE, SNAPSHOTS_PAGE, EVENTS_PAGE, STATS_PAGE])

/** By the names that documents give them. */
export const PAGES: Readonly<Record<string, z.ZodType>> = {
  BarsPage: BARS_PAGE,
  Bar: BAR,
  FieldsPage: FIELDS_PAGE,
  AccountPage: ACCOUNT_PAGE,
  SummaryPage: SUMMARY_PAGE,
  SearchPage: SEARCH_PAGE,
  WatchlistPage: WATCHLIST_PAGE,
  WatchlistChangesPage: WATCHLIST_CHANGES_PAGE,
  WatchlistAdded: WATCHLIST_ADDED,
  WatchlistRemoved: WATCHLIST_REMOVED,
  Operator: OPERATOR,
  SnapshotPage: SNAPSHOT_PAGE,
  SnapshotsPage: SNAPSHOTS_PAGE,
  StatsPage: STATS_PAGE,
  Snapshot: SNAPSHOT,
  Section: SECTION,
  BandMeta: BAND_META,
  PageOrder: PAGE_ORDER,
}
