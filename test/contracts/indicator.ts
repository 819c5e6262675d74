import { describe, expect, it } from 'vitest'
import { firstBars, type Series } from '../../src/core/model/series.js'
import { randomBars } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'

export interface IndicatorCase {
  name: string
  /** One value a bar. */
  run(series: Series): Float64Array
  /** Bars at the start that have no value. */
  warmUp: number
  /** Powers of a factor on all prices, on all volumes, with which the values grow. */
  price: 0 | 1
  volume?: 0 | 1
  /** Values may be missing after the warm-up too, as those of a level where no pivot is in sight. */
  gaps?: boolean
}

/** What every indicator keeps to; to be called once for each. */
export function indicatorContract(indicator: IndicatorCase): void {
  const { name, run, warmUp, price, volume = 0, gaps = false } = indicator
  const series = seriesOf(randomBars(11, { length: 600, volatility: 0.02 }))

  describe(`${name} keeps the contract of indicators`, () => {
    it('has one value a bar, NaN while it warms up and never after', () => {
      for (const length of [0, 1, 2, warmUp, warmUp + 1, warmUp + 2, 600]) {
        const values = run(firstBars(series, length))
        expect(values.length).toBe(length)
        const defined = [...values.keys()].filter(t => !Number.isNaN(values[t]!))
        expect(defined.filter(t => t < warmUp)).toEqual([])
        if (gaps) expect(length < 600 || defined.length > 0).toBe(true)
        else expect(defined.length).toBe(Math.max(0, length - warmUp))
      }
    })

    it('says of a prefix what it says of the whole', () => {
      const whole = run(series)
      for (const length of [1, warmUp, warmUp + 1, warmUp + 7, 300, 599])
        expect(run(firstBars(series, length))).toEqual(whole.slice(0, length))
    })

    it(`grows with prices to the power of ${price} and with volumes to the power of ${volume}`, () => {
      const values = run(series)
      for (const factor of [0.01, 7, 1 / 3, 1e6]) {
        expectClose(run(scaled(series, factor, 1)), grown(values, factor ** price), `prices × ${factor}`)
        expectClose(run(scaled(series, 1, factor)), grown(values, factor ** volume), `volumes × ${factor}`)
      }
    })

    it('leaves its input as it was', () => {
      const before = structuredClone(series)
      run(series)
      expect(series).toEqual(before)
    })
  })
}

/** Within 1e-9 of the larger value, and NaN on the same bars. */
export function expectClose(own: ArrayLike<number>, theirs: ArrayLike<number>, what: string): void {
  expect(own.length, what).toBe(theirs.length)
  for (let t = 0; t < own.length; t++) {
    const x = own[t]!
    const y = theirs[t]!
    const near = Number.isNaN(x) ? Number.isNaN(y) : Math.abs(x - y) <= 1e-9 * Math.max(Math.abs(x), Math.abs(y))
    if (!near) expect.fail(`${what} at bar ${t}: ${x} and ${y}`)
  }
}

function scaled(series: Series, price: number, volume: number): Series {
  const times = (values: Float64Array, factor: number): Float64Array => values.map(value => value * factor)
  return {
    ...series,
    open: times(series.open, price),
    high: times(series.high, price),
    low: times(series.low, price),
    close: times(series.close, price),
    volume: times(series.volume, volume),
  }
}

function grown(values: Float64Array, factor: number): Float64Array {
  return values.map(value => value * factor)
}
