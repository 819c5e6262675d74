import { describe, expect, it } from 'vitest'
import {
  bca,
  bcaEndpoints,
  politisWhite,
  stationaryIndices,
  stationaryRatioInterval,
} from '../../src/statistics/bootstrap.js'
import { mean, median, quantile, variance } from '../../src/statistics/moments.js'
import { Random } from '../../src/statistics/random.js'
import { RandomState } from './support/numpy.js'
import { distance, goldenRows } from './support/rows.js'

const STATISTICS = new Map(Object.entries({ mean, median, variance }))

describe('the stationary bootstrap', () => {
  it('draws as it is told: one number decides, a second one says where a new block starts', () => {
    const [random, same] = [new Random(42), new Random(42)]
    const n = 500
    const expected: number[] = []
    for (let i = 0; i < n; i++) {
      const starts = i === 0 || same.uniform() < 1 / 7
      expected.push(starts ? Math.floor(same.uniform() * n) : (expected[i - 1]! + 1) % n)
    }
    expect([...stationaryIndices(random, n, 7, new Int32Array(n))]).toEqual(expected)
  })

  it('draws every index alone where blocks are of one', () => {
    const [random, same] = [new Random(3), new Random(3)]
    const indices = stationaryIndices(random, 100, 1, new Int32Array(100))
    const alone = Array.from({ length: 100 }, (_, i) => {
      if (i > 0) same.uniform()
      return same.below(100)
    })
    expect([...indices]).toEqual(alone)
  })

  it('has blocks as long as asked, on average', () => {
    const n = 200_000
    const indices = stationaryIndices(new Random(5), n, 25, new Int32Array(n))
    const blocks = indices.reduce(
      (count, index, i) => count + (i > 0 && index === (indices[i - 1]! + 1) % n ? 0 : 1),
      0,
    )
    // The number of blocks is binomial: four standard deviations of it.
    expect(Math.abs(blocks - n / 25)).toBeLessThan(4 * Math.sqrt((n / 25) * (1 - 1 / 25)))
  })

  it('ends the interval of a ratio at the percentiles of the resampled ratios', () => {
    const { num, den } = calendar(300, 6)
    const found = stationaryRatioInterval(num, den, { block: 12, reps: 400, random: new Random(9) })!
    const random = new Random(9)
    const ratios = Array.from({ length: 400 }, () => {
      const indices = [...stationaryIndices(random, 300, 12, new Int32Array(300))]
      const total = (column: Float64Array): number => indices.reduce((sum, index) => sum + column[index]!, 0)
      return total(num) / total(den)
    }).sort((a, b) => a - b)
    expect(found.low).toBeCloseTo(quantile(ratios, 0.025)!, 12)
    expect(found.high).toBeCloseTo(quantile(ratios, 0.975)!, 12)
    expect(found.estimates).toHaveLength(400)
  })

  it('leaves out resamples without an event, and has no interval of one day', () => {
    const den = new Float64Array(40)
    const options = { block: 5, reps: 200, random: new Random(1) }
    expect(stationaryRatioInterval(den, den, options)).toBeNull()
    den[7] = 2
    expect(stationaryRatioInterval(den, den, options)).toBeNull()
    den[30] = 1
    const { estimates, low, high } = stationaryRatioInterval(den, den, options)!
    expect(estimates.length).toBeLessThan(200)
    expect([low, high]).toEqual([1, 1])
  })

  it('gives the same for a seed, and about the same for another', () => {
    const { num, den } = calendar(600, 2)
    const of = (seed: number) => stationaryRatioInterval(num, den, { block: 10, reps: 1999, random: new Random(seed) })!
    expect(of(1)).toEqual(of(1))
    const width = of(1).high - of(1).low
    expect(Math.abs(of(1).low - of(2).low)).toBeLessThan(0.15 * width)
    expect(of(1).low).not.toBe(of(2).low)
  })
})

describe('the block length of Politis and White', () => {
  it('is that of the package arch for an autoregression of numpy draws', () => {
    const random = new RandomState(0)
    const x = Float64Array.from({ length: 10_100 }, () => random.normal())
    for (let i = 1; i < x.length; i++) x[i]! += 0.3 * x[i - 1]!
    const { stationary, circular } = politisWhite(x.subarray(100))
    expect(stationary).toBeCloseTo(13.635665, 6)
    expect(circular).toBeCloseTo(15.60894, 5)
  })

  it('stays between 1 and its bound, for the shortest series, too', () => {
    for (const x of [[], [1], [1, 2], [3, 3, 3, 3, 3, 3, 3, 3, 3], Array.from({ length: 30 }, (_, i) => i)]) {
      const { stationary, circular } = politisWhite(x)
      for (const block of [stationary, circular]) {
        expect(block).toBeGreaterThanOrEqual(1)
        expect(block).toBeLessThanOrEqual(Math.max(1, Math.ceil(x.length / 3)))
      }
    }
  })

  it('does not depend on the unit, and grows with dependence', () => {
    const random = new Random(8)
    const noise = Float64Array.from({ length: 2000 }, () => random.normal())
    const slow = noise.slice()
    for (let i = 1; i < slow.length; i++) slow[i]! += 0.9 * slow[i - 1]!
    expect(politisWhite(noise).stationary).toBeLessThan(politisWhite(slow).stationary)
    expect(politisWhite(slow.map(x => 3 + 100 * x)).stationary).toBeCloseTo(politisWhite(slow).stationary, 6)
  })
})

describe('the BCa interval', () => {
  it.each(goldenRows('bca.txt'))('ends where scipy ends it: seed %s, %s values, %s', (seed, n, name, low, high) => {
    const random = new RandomState(Number(seed))
    const x = Float64Array.from({ length: Number(n) }, () => Math.exp(random.normal()))
    const statistic = (sample: Float64Array): number => STATISTICS.get(name!)!(sample)!
    const estimates = Float64Array.from({ length: 1999 }, () =>
      statistic(x.map(() => x[Math.floor(random.uniform() * x.length)]!)),
    )
    const left = Float64Array.from(x, (_, i) => statistic(x.filter((_, other) => other !== i)))
    const interval = bcaEndpoints(estimates, statistic(x), left)!
    expect(distance(interval.low, Number(low))).toBeLessThan(1e-9)
    expect(distance(interval.high, Number(high))).toBeLessThan(1e-9)
  })

  it('leaves values out one at a time, of a mean by arithmetic', () => {
    const x = Float64Array.from({ length: 30 }, (_, i) => (i % 7) ** 2)
    const of = (statistic: (sample: Float64Array) => number | null) =>
      bca(x, statistic, { reps: 300, random: new Random(4) })!
    const [quick, slow] = [of(mean), of(sample => mean(sample))]
    expect(quick.low).toBeCloseTo(slow.low, 10)
    expect(quick.high).toBeCloseTo(slow.high, 10)
  })

  it('is null of one value, and where nothing varies', () => {
    expect(bca([1], mean, { reps: 99, random: new Random(1) })).toBeNull()
    expect(bca([0.1, 0.1, 0.1], mean, { reps: 99, random: new Random(1) })).toBeNull()
  })
})

function calendar(n: number, seed: number): { num: Float64Array; den: Float64Array } {
  const random = new Random(seed)
  const den = Float64Array.from({ length: n }, () => (random.uniform() < 0.2 ? 1 + random.below(3) : 0))
  return { num: den.map(events => events * random.normal()), den }
}
