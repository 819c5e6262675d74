import { formatDay } from '../../core/model/day.js'
import type { HistoryQuery } from '../../core/model/event.js'
import { type Adjustment, bandsByBar } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import type { Cache } from './cache.js'
import { barsBetween } from './view.js'

/** Prices and bands bar by bar, as `bands show` draws them. */
export interface Timeline {
  schema: 'bands.show/1'
  ticker: string
  field: string
  timeframe: Timeframe
  query_range: string
  as_of: string
  prices: Adjustment
  /** The field's vocabulary, in order of severity where there is one. */
  bands: readonly string[]
  /** Oldest first. */
  bars: TimelineBar[]
}

export interface TimelineBar {
  date: string
  close: number
  /** The band in force; null before the first defined bar. */
  band: string | null
  /** An event of the query happened on this bar: the band was entered. */
  event: boolean
}

/** Number of bars shown without a start. */
export const SHOWN_BARS = 250

/**
 * The final bars after `after` and before `before`, in the tier's range. `band` and `context` select the marked events.
 * Throws TierRestricted, NotFound.
 * @param maxBars without `after`, only the last bars
 */
export async function timeline(cache: Cache, query: HistoryQuery, maxBars = SHOWN_BARS): Promise<Timeline> {
  const { ticker, field, timeframe } = query
  const { view, indexes: eventIndexes, today, plan, rangeStart } = await cache.find(query)
  const { close } = await cache.series(ticker, timeframe)
  const marked = new Set(eventIndexes.map(i => view.record!.bars[i]!))
  // The band in force continues over bars without a band.
  const codes = view.record === null ? null : bandsByBar({ ...view.record, gaps: new Int32Array() }, view.bars)
  const bandInForce = (barIndex: number): string | null =>
    codes === null ? null : (view.bands[codes[barIndex]!] ?? null)
  const allBars = barsBetween(view, query, rangeStart)
  const bars = query.after === undefined ? allBars.slice(-maxBars) : allBars
  return {
    schema: 'bands.show/1',
    ticker,
    field,
    timeframe,
    query_range: plan.range,
    as_of: formatDay(today),
    prices: (await cache.entry(ticker)).prices,
    bands: view.bands,
    bars: Array.from(bars, barIndex => ({
      date: formatDay(view.days[barIndex]!),
      close: close[barIndex]!,
      band: bandInForce(barIndex),
      event: marked.has(barIndex),
    })),
  }
}
