import { countUpTo } from '../../ascending.js'
import { mondayOf } from '../../model/day.js'
import type { Series } from '../../model/series.js'

/** A benchmark that has had no bar for so many days says nothing of the market on the day. */
const OLDEST_DAYS = 7

/**
 * What the benchmark earned over each bar of another calendar, from its own last close by the bar before to that by the
 * bar: 0 over a weekend that it does not trade. NaN on the first bar, after its own last one, and where a close is older
 * than a week (weekly: of another week).
 */
export function benchmarkReturns({ days, close, timeframe }: Series, onto: Int32Array): Float64Array {
  const closes = Float64Array.from(onto, day => {
    const place = countUpTo(days, day) - 1
    if (place < 0) return Number.NaN
    const last = days[place]!
    const hasEnded = place === days.length - 1 && day > last
    const isCurrent = timeframe === 'weekly' ? mondayOf(last) === mondayOf(day) : day - last <= OLDEST_DAYS && !hasEnded
    return isCurrent ? close[place]! : Number.NaN
  })
  return barReturns(closes)
}

/** Return over each bar, from the close before it; NaN on the first. */
export function barReturns(close: Float64Array): Float64Array {
  const returns = new Float64Array(close.length).fill(Number.NaN)
  for (let t = 1; t < close.length; t++) returns[t] = close[t]! / close[t - 1]! - 1
  return returns
}
