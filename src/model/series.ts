import { countUpTo } from '../ascending.js'
import type { Day } from './day.js'
import type { Timeframe } from './timeframe.js'

/** One ticker's price bars at one timeframe, as columns of equal length, dates ascending. */
export interface Series {
  timeframe: Timeframe
  /** Date of each bar; of a weekly bar the date of its last session. */
  days: Int32Array
  /**
   * The first day on which each bar is final. Daily: the bar's own date. Weekly: the date of the last session when that
   * closes the week, otherwise the day after the week's last trading day, when nothing can be added any more.
   */
  known: Int32Array
  open: Float64Array
  high: Float64Array
  low: Float64Array
  close: Float64Array
  /** Shares or units; NaN where unknown. */
  volume: Float64Array
  /**
   * The close before it was adjusted for dividends, NaN on bars whose source did not tell it; absent where the close
   * itself is that, or nothing else is known of any bar.
   */
  unadjustedClose?: Float64Array
}

/** The close that was paid, apart from splits: what earnings a share are compared with. */
export function tradedClose(series: Pick<Series, 'close' | 'unadjustedClose'>): Float64Array {
  return series.unadjustedClose ?? series.close
}

/** Whether prices are as traded (apart from splits) or adjusted for dividends too. Belongs to a whole series. */
export type Adjustment = 'raw' | 'adjusted'

export type AssetClass = 'stock' | 'crypto' | 'etf'

/** How many bars of the series are final on a day. */
export function barsKnownBy(series: Pick<Series, 'known'>, day: Day): number {
  return countUpTo(series.known, day)
}

/** The first `count` bars, as views on the same columns. */
export function head(series: Series, count: number): Series {
  return {
    timeframe: series.timeframe,
    days: series.days.subarray(0, count),
    known: series.known.subarray(0, count),
    open: series.open.subarray(0, count),
    high: series.high.subarray(0, count),
    low: series.low.subarray(0, count),
    close: series.close.subarray(0, count),
    volume: series.volume.subarray(0, count),
    ...(series.unadjustedClose === undefined ? {} : { unadjustedClose: series.unadjustedClose.subarray(0, count) }),
  }
}
