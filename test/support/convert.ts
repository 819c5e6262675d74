import { formatDay, parseDay } from '../../src/core/model/day.js'
import type { Series } from '../../src/core/model/series.js'
import type { Bar } from './oracle/index.js'

/** Rows → daily columns, as the engine takes them. */
export function seriesOf(bars: readonly Bar[]): Series {
  const days = Int32Array.from(bars, bar => parseDay(bar.date)!)
  const column = (value: (bar: Bar) => number): Float64Array => Float64Array.from(bars, value)
  return {
    timeframe: 'daily',
    days,
    known: days,
    open: column(bar => bar.open),
    high: column(bar => bar.high),
    low: column(bar => bar.low),
    close: column(bar => bar.close),
    volume: column(bar => bar.volume ?? Number.NaN),
  }
}

/** Columns → rows. */
export function barsOf(series: Series): Bar[] {
  return Array.from(series.days, (day, t) => ({
    date: formatDay(day),
    open: series.open[t]!,
    high: series.high[t]!,
    low: series.low[t]!,
    close: series.close[t]!,
    volume: Number.isNaN(series.volume[t]!) ? null : series.volume[t]!,
  }))
}
