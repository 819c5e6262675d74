import { mondayOf, weekdayOf } from '../model/day.js'
import type { AssetClass, Series } from '../model/series.js'
import type { Timeframe } from '../model/timeframe.js'

const FRIDAY = 4
const SUNDAY = 6

/**
 * Daily bars → weekly bars, one for every ISO week that has a session: first open, highest high, lowest low, last close,
 * summed volume (NaN if one is unknown), dated on the last session. The last week is there even while it is incomplete;
 * `known` says from which day on each week is final.
 */
export function weekly(daily: Series, assetClass?: AssetClass): Series {
  const starts = weekStarts(daily.days)
  const weeks = starts.length
  const series = emptySeries(weeks)
  if (daily.unadjustedClose !== undefined) series.unadjustedClose = new Float64Array(weeks)
  let weekends = assetClass === 'crypto'
  for (let w = 0; w < weeks; w++) {
    const from = starts[w]!
    const to = w + 1 < weeks ? starts[w + 1]! : daily.days.length
    series.open[w] = daily.open[from]!
    series.high[w] = daily.high[from]!
    series.low[w] = daily.low[from]!
    for (let t = from; t < to; t++) {
      series.high[w] = Math.max(series.high[w]!, daily.high[t]!)
      series.low[w] = Math.min(series.low[w]!, daily.low[t]!)
      series.volume[w]! += daily.volume[t]!
      weekends ||= weekdayOf(daily.days[t]!) > FRIDAY
    }
    const last = daily.days[to - 1]!
    series.close[w] = daily.close[to - 1]!
    if (series.unadjustedClose !== undefined) series.unadjustedClose[w] = daily.unadjustedClose![to - 1]!
    series.days[w] = last
    const closing = mondayOf(last) + (weekends ? SUNDAY : FRIDAY)
    series.known[w] = last >= closing ? last : closing + 1
  }
  return series
}

/** A ticker's daily bars at a timeframe: as they are, or its weeks. */
export function barsAt(timeframe: Timeframe, daily: Series, assetClass: AssetClass | null): Series {
  return timeframe === 'daily' ? daily : weekly(daily, assetClass ?? undefined)
}

/** Index of the first session of every ISO week. */
function weekStarts(days: Int32Array): number[] {
  const starts: number[] = []
  let monday = Number.NEGATIVE_INFINITY
  for (let t = 0; t < days.length; t++) {
    if (days[t]! < monday + 7) continue
    monday = mondayOf(days[t]!)
    starts.push(t)
  }
  return starts
}

function emptySeries(length: number): Series {
  return {
    timeframe: 'weekly',
    days: new Int32Array(length),
    known: new Int32Array(length),
    open: new Float64Array(length),
    high: new Float64Array(length),
    low: new Float64Array(length),
    close: new Float64Array(length),
    volume: new Float64Array(length),
  }
}
