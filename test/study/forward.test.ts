import { describe, expect, it } from 'vitest'
import { outcomes } from '../../src/engine/outcomes.js'
import type { MarketBars } from '../../src/source.js'
import { forwardReturns, lostOf } from '../../src/study/signals.js'
import { randomBars } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'

function market(closes: readonly number[], delisting: MarketBars['delisting'] = null): MarketBars {
  const bars = randomBars(3, { length: closes.length }).map((bar, t) => ({ ...bar, close: closes[t]! }))
  const series = seriesOf(bars)
  return { ticker: 'A', assetClass: null, adjustment: 'raw', series, barsAYear: 252, delisting }
}

describe('a forward return', () => {
  it('is the one that the engine records, for each of its windows', () => {
    const series = seriesOf(randomBars(4))
    const kept = outcomes(series).returns
    for (const [w, horizon] of [5, 10, 20, 50, 100].entries())
      expect(forwardReturns({ ...market([]), series }, horizon)).toEqual(kept[w])
  })

  it('is unknown while the window has not elapsed, and everywhere when there are fewer bars', () => {
    expect([...forwardReturns(market([100, 110, 121]), 2)]).toEqual([0.21, Number.NaN, Number.NaN].map(close))
    expect([...forwardReturns(market([100, 110]), 5)]).toEqual([Number.NaN, Number.NaN])
    expect(forwardReturns(market([]), 5)).toHaveLength(0)
  })

  it('over a delisting is the return to the final price, then 0: (1 + return) (1 + delisting return) - 1', () => {
    const delisting = { day: 20_000, price: 55 }
    const returns = forwardReturns(market([100, 120, 110], delisting), 2)
    expect(returns[0]).toBeCloseTo(0.1, 12)
    expect(returns[1]).toBeCloseTo((110 / 120) * (1 - 0.5) - 1, 12)
    expect(returns[2]).toBeCloseTo(-0.5, 12)
    // However far the window reaches: nothing is earned after the end.
    expect(forwardReturns(market([100, 120, 110], delisting), 100)[1]).toBe(returns[1])
  })

  it('over a total loss is -1', () => {
    expect([...forwardReturns(market([100, 50], { day: 20_000, price: 0 }), 5)]).toEqual([-1, -1])
  })
})

describe('a window without a return', () => {
  const bars = market([1, 2, 3, 4, 5, 6])
  const last = bars.series.days.at(-1)!
  const all = [0, 1, 2, 3, 4, 5]

  it('has not elapsed while the ticker is traded', () => {
    expect(lostOf(bars, 2, all, last)).toEqual({ notElapsed: 2, delisted: 0, settled: 0 })
    expect(lostOf(bars, 9, all, last + 14)).toEqual({ notElapsed: 6, delisted: 0, settled: 0 })
    expect(lostOf(bars, 2, [0, 4], null)).toEqual({ notElapsed: 1, delisted: 0, settled: 0 })
  })

  it('is lost where the bars of the ticker end and the market goes on', () => {
    expect(lostOf(bars, 2, all, last + 15)).toEqual({ notElapsed: 0, delisted: 2, settled: 0 })
  })

  it('is none where a delisting tells what became of it', () => {
    const settled = market([1, 2, 3, 4, 5, 6], { day: last + 1, price: 2 })
    expect(lostOf(settled, 2, all, last + 400)).toEqual({ notElapsed: 0, delisted: 0, settled: 2 })
    expect(forwardReturns(settled, 2).every(Number.isFinite)).toBe(true)
  })
})

function close(value: number): unknown {
  return Number.isNaN(value) ? Number.NaN : expect.closeTo(value, 12)
}
