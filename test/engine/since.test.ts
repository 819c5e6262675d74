import fc from 'fast-check'
import { expect, it } from 'vitest'
import { record } from '../../src/engine/record.js'
import { TIMEFRAME_NAMES, TIMEFRAMES } from '../../src/model/terms.js'
import { seriesOf } from '../support/convert.js'
import { forRandomBars } from './drawn.js'

it('ranks the returns that end at or after a bar as it does in the whole, and leaves those before unranked', () => {
  forRandomBars({ runs: 20, longest: 1_000 }, (bars, { seed }) => {
    const series = seriesOf(bars)
    const [from] = fc.sample(fc.nat(Math.min(bars.length - 1, seed % 2 === 0 ? 20 : 999)), { numRuns: 1, seed })
    const first = bars.length - 1 - from!
    const whole = record(series, 'stock')
    const tail = record(series, 'stock', null, first)
    expect(tail.since!.daily).toBe(first)
    expect(tail.weekly.series.days[tail.since!.weekly]!).toBeGreaterThanOrEqual(series.days[first]!)
    for (const timeframe of TIMEFRAME_NAMES) {
      const since = tail.since![timeframe]
      const { windows } = TIMEFRAMES[timeframe]
      const ranks = whole[timeframe].outcomes.ranks.map((column, i) =>
        column.map((rank, t) => (t + windows[i]! < since ? -1 : rank)),
      )
      expect(tail[timeframe].outcomes.ranks).toEqual(ranks)
      expect(tail[timeframe].outcomes.returns).toEqual(whole[timeframe].outcomes.returns)
      expect(tail[timeframe].fields).toEqual(whole[timeframe].fields)
    }
  })
})

it('takes for the first changed week the one that has the first changed day', () => {
  forRandomBars({ runs: 10, longest: 300 }, (bars, { seed }) => {
    const series = seriesOf(bars)
    const first = seed % bars.length
    const { weekly, since } = record(series, undefined, null, first)
    const before = weekly.series.days[since!.weekly - 1] ?? Number.NEGATIVE_INFINITY
    expect(before).toBeLessThan(series.days[first]!)
    expect(weekly.series.days[since!.weekly]).toBeGreaterThanOrEqual(series.days[first]!)
  })
})
