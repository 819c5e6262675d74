import { countBelow, countUpTo, type Day, dateOf, formatDay } from '../../core/model/day.js'
import type { BarsPage, BarsQuery } from '../../core/model/pages.js'
import { type AssetClass, barOf } from '../../core/model/series.js'
import { planOf } from '../../core/tiers.js'
import type { TickerEntry } from '../store/store.js'
import type { Cache } from './cache.js'

/** A page of a ticker's daily bars, up to the day of the answer and in the range of the tier. Throws NotFound. */
export async function barsPage(cache: Cache, query: BarsQuery): Promise<BarsPage> {
  const { ticker, order, limit } = query
  const entry = await cache.entry(ticker)
  const series = await cache.series(ticker, 'daily')
  const today = await cache.today()
  const earliest = planOf(cache.tier).rangeStart(today) + 1
  const { from, to } = barRange(series.days, query, earliest)
  const rows = Math.min(limit, to - from)
  const indexes = Array.from({ length: rows }, (_, i) => (order === 'asc' ? from + i : to - 1 - i))
  const bars = indexes.map(t => ({ date: formatDay(series.days[t]!), ...barOf(series, t) }))
  const hasMore = to - from > rows
  const start = Math.max(query.start ?? earliest, earliest)
  return {
    ticker,
    asset_class: entry.assetClass,
    currency: null,
    timeframe: 'daily',
    data_status: 'eod',
    adjustment: adjustmentOf(entry),
    order,
    start: Number.isFinite(start) ? formatDay(start) : null,
    end: dateOf(query.end),
    row_count: rows,
    has_more: hasMore,
    next_cursor: hasMore ? bars.at(-1)!.date : null,
    bars,
    plan_history_days: Number.isFinite(earliest) ? today - earliest + 1 : null,
    plan: cache.tier,
  }
}

/**
 * The bars `from` up to `to`, not included, of this page and later ones. They are between the query's days and after
 * its cursor, the day of the last bar of the page before. @param earliest the first day of the tier's range
 */
function barRange(
  days: Int32Array,
  { start = Number.NEGATIVE_INFINITY, end = Number.POSITIVE_INFINITY, cursor, order }: BarsQuery,
  earliest: Day,
): { from: number; to: number } {
  let firstDay = Math.max(start, earliest)
  let lastDay = end
  if (cursor !== undefined && order === 'asc') firstDay = Math.max(firstDay, cursor + 1)
  if (cursor !== undefined && order === 'desc') lastDay = Math.min(lastDay, cursor - 1)
  const from = countBelow(days, firstDay)
  return { from, to: Math.max(from, countUpTo(days, lastDay)) }
}

/** How the bars are adjusted. Coins are neither split nor do they pay dividends. */
function adjustmentOf({ prices, assetClass }: { prices: TickerEntry['prices']; assetClass: AssetClass | null }) {
  if (prices === 'adjusted') return 'split_and_dividend_adjusted'
  return assetClass === 'crypto' ? 'none' : 'split_adjusted'
}
