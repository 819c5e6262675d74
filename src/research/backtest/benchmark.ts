import { countBelow } from '../../ascending.js'
import type { MarketBars } from '../../market.js'
import { deviation, mean } from '../../statistics/moments.js'
import { regression } from '../../statistics/robust.js'
import { type Curve, equityStatistics, returnsOf } from './equity-statistics.js'
import type { Benchmark } from './result.js'

/** What is held is bought at a close and never sold but at the end of its trading. */
interface Held {
  equity: Float64Array
  exposed: number
  traded: number
}

/**
 * Buy and hold over a calendar, without costs, start 1: equal money in each ticker at the close of its first bar in the
 * calendar, cash until then, and cash again after a delisting.
 */
export function buyAndHold(tickers: readonly Pick<MarketBars, 'series' | 'delisting'>[], calendar: Int32Array): Held {
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
  return { equity, traded, exposed: held.reduce((sum, one) => sum + one, 0) }
}

/** A strategy's returns against those of something held; `judged` is the strategy's own curve on the same calendar. */
export function benchmarkOf(name: string, held: Held, judged: Curve): Benchmark {
  const { barsAYear, riskFree } = judged
  const curve: Curve = { ...held, start: 1, barsAYear, riskFree }
  const [own, other] = [returnsOf(judged), returnsOf(curve)]
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
  if (line === null) for (const key of ['alpha', 'beta', 'correlation']) reasons[key] = 'one of the two does not vary'
  if (information === null) reasons.information_ratio = 'the two do not differ'
  return {
    name,
    statistics: equityStatistics(curve),
    alpha: line === null ? null : line.alpha * barsAYear,
    beta: line?.beta ?? null,
    correlation: line?.r ?? null,
    information_ratio: information,
    equity: [...held.equity],
    reasons,
  }
}
