import { countBelow, countUpTo } from '../../ascending.js'
import type { MarketBars } from '../../market.js'
import { type Day, formatDay } from '../../model/day.js'
import type { Timeframe } from '../../model/timeframe.js'
import { deviation, mean } from '../../statistics/moments.js'
import { regression } from '../../statistics/robust.js'
import { type Curve, equityStatistics, returnsOf } from './equity-statistics.js'
import type { Benchmark } from './result.js'
import { effectiveBarsAYear } from './years.js'

/** What is held is bought at a close and never sold but at the end of its trading. */
interface Held {
  /** Its bars, and on each its equity, start 1. */
  days: Int32Array
  equity: Float64Array
  exposed: number
  traded: number
  barsAYear: number
}

/** What a strategy is held against: its curve, and the days of it. */
export interface Judged {
  timeframe: Timeframe
  days: Int32Array
  curve: Curve
}

type Tickers = readonly Pick<MarketBars, 'series' | 'delisting'>[]

/**
 * Buy and hold over a calendar, without costs, start 1: equal money in each ticker at the close of its first bar in the
 * calendar, cash until then, and cash again after a delisting.
 */
export function buyAndHold(tickers: Tickers, calendar: Int32Array, barsAYear: number): Held {
  const equity = new Float64Array(calendar.length)
  const held = new Uint8Array(calendar.length)
  const money = 1 / tickers.length
  let traded = 0
  for (const { series, delisting } of tickers) {
    const { days, close } = series
    let bar = countBelow(days, calendar[0] ?? 0)
    const first = close[bar] ?? Number.NaN
    const ends = delisting?.day ?? Number.POSITIVE_INFINITY
    if (bar < days.length) traded += money
    if (bar < days.length && ends <= calendar.at(-1)!) traded += (money * delisting!.price) / first
    for (let place = 0; place < calendar.length; place++) {
      const day = calendar[place]!
      if (bar === days.length || day < days[bar]!) {
        equity[place]! += money
        continue
      }
      while (bar + 1 < days.length && days[bar + 1]! <= day) bar++
      if (day < ends) held[place] = 1
      equity[place]! += (money * (day < ends ? close[bar]! : delisting!.price)) / first
    }
  }
  return { days: calendar, equity, traded, exposed: held.reduce((sum, one) => sum + one, 0), barsAYear }
}

/** One ticker held over its own bars within a calendar, without costs, start 1. */
export function heldAlone({ series, delisting, barsAYear }: MarketBars, calendar: Int32Array): Held {
  const { days, close } = series
  const [begin, end] = [calendar[0] ?? 0, calendar.at(-1) ?? -1]
  const own = days.subarray(countBelow(days, begin), countUpTo(days, end))
  const first = close[countBelow(days, begin)]!
  const isOver = own.length > 0 && delisting !== null && delisting.day <= end
  const isLater = isOver && delisting.day > own.at(-1)!
  const equity = Array.from(own, (day, i) =>
    isOver && day >= delisting.day ? delisting.price / first : close[countBelow(days, begin) + i]! / first,
  )
  return {
    days: isLater ? Int32Array.from([...own, delisting.day]) : own,
    equity: Float64Array.from(isLater ? [...equity, delisting.price / first] : equity),
    exposed: own.length,
    traded: (own.length > 0 ? 1 : 0) + (isOver ? delisting.price / first : 0),
    barsAYear,
  }
}

/**
 * A strategy against something held: the statistics of that over its own bars, and how the two go together on the bars
 * that both have.
 */
export function benchmarkOf(name: string, held: Held, judged: Judged): Benchmark {
  const { riskFree } = judged.curve
  const { own, other, barsAYear } = inCommon(held, judged)
  const free = (1 + riskFree) ** (1 / barsAYear) - 1
  const isSound = own.every(Number.isFinite) && other.every(Number.isFinite)
  const line = isSound
    ? regression(
        own.map(value => value - free),
        other.map(value => value - free),
      )
    : null
  const active = own.map((value, i) => value - other[i]!)
  const spread = deviation(active)
  const information = isSound && spread ? (mean(active)! / spread) * Math.sqrt(barsAYear) : null
  const reasons: Record<string, string> = {}
  const few = own.length < 3 ? 'the two have fewer than three returns in common' : null
  const none = isSound ? few : 'one of the two fell to 0'
  if (line === null)
    for (const key of ['alpha', 'beta', 'correlation']) reasons[key] = none ?? 'one of the two does not vary'
  if (information === null) reasons.information_ratio = none ?? 'the two do not differ'
  const [first, last] = [held.days[0], held.days.at(-1)]
  return {
    name,
    first: first === undefined ? null : formatDay(first),
    last: last === undefined ? null : formatDay(last),
    statistics: equityStatistics({ ...held, start: 1, riskFree }),
    alpha: line === null ? null : line.alpha * barsAYear,
    beta: line?.beta ?? null,
    correlation: line?.r ?? null,
    information_ratio: information,
    equity: onDays(held, judged.days),
    reasons,
  }
}

/**
 * The returns of both from each bar that they share to the next, and how many of those make a year. Weeks of two markets
 * may end on different days and are the same week.
 */
function inCommon(
  held: Held,
  { timeframe, days, curve }: Judged,
): { own: Float64Array; other: Float64Array; barsAYear: number } {
  const barOf = timeframe === 'weekly' ? weekOf : (day: Day): number => day
  const theirs = new Map(Array.from(held.days, (day, i) => [barOf(day), i]))
  const both = [...new Map(Array.from(days, (day, i) => [barOf(day), i]))].filter(([bar]) => theirs.has(bar))
  const [places, at] = [both.map(([, i]) => i), both.map(([bar]) => theirs.get(bar)!)]
  const shared = Int32Array.from(places, i => days[i]!)
  // What the strategy began with counts as the value of its first day, as in its own returns.
  const own = Float64Array.from(places, i => curve.equity[i]!)
  if (places[0] === 0) own[0] = curve.start
  const other = Float64Array.from(at, i => held.equity[i]!)
  const whole = [
    { days, barsAYear: curve.barsAYear },
    { days: held.days, barsAYear: held.barsAYear },
  ].find(one => one.days.length === shared.length)
  return {
    own: returnsOf({ equity: own, start: own[0] ?? 1 }),
    other: returnsOf({ equity: other, start: other[0] ?? 1 }),
    barsAYear: whole?.barsAYear ?? effectiveBarsAYear(shared) ?? curve.barsAYear,
  }
}

/** From a Monday on; day 0 was a Thursday. */
function weekOf(day: Day): number {
  return Math.floor((day + 3) / 7)
}

/** Its equity at the last of its bars up to each of some days; null before the first and after the last. */
function onDays(held: Held, days: Int32Array): (number | null)[] {
  const last = held.days.at(-1) ?? Number.NEGATIVE_INFINITY
  return Array.from(days, day => (day > last ? null : (held.equity[countUpTo(held.days, day) - 1] ?? null)))
}
