import { describe, expect, it } from 'vitest'
import {
  bca,
  bcaEndpoints,
  politisWhite,
  stationaryIndices,
  stationaryRatioInterval,
} from '../../src/core/statistics/bootstrap.js'
import { mean, median, quantile, variance } from '../../src/core/statistics/moments.js'
import { Random } from '../../src/core/statistics/random.js'
import {
  clusterByBlock,
  effectiveBlocks,
  hansenHodrick,
  naiveT,
  neweyWest,
  neweyWestAlpha,
  regression,
} from '../../src/core/statistics/robust.js'
import { distance, goldenRows } from './support/made-events.js'
import { RandomState } from './support/numpy.js'

const MADE = made()
const ROWS = goldenRows('robust.txt')

describe('robust standard errors', () => {
  const functions = { neweyWest, hansenHodrick, clusterByBlock }

  it.each(ROWS.filter(([name]) => name! in functions))('%s(%s) is that of statsmodels', (name, lag, estimate, se) => {
    const found = functions[name as keyof typeof functions](MADE.num, MADE.den, Number(lag))!
    expect(distance(found.estimate, Number(estimate))).toBeLessThan(1e-9)
    expect(distance(found.se, Number(se))).toBeLessThan(1e-9)
    expect(found.t).toBeCloseTo(found.estimate / found.se, 12)
    expect(found).not.toHaveProperty('fallback', true)
  })

  it('of a regression are those of statsmodels', () => {
    const [, ...expected] = ROWS.find(([name]) => name === 'regression')!
    const { alpha, beta, r } = regression(MADE.y, MADE.x)!
    for (const [i, value] of [alpha, beta, r].entries()) expect(distance(value, Number(expected[i]))).toBeLessThan(1e-9)
    for (const [, lag, estimate, se] of ROWS.filter(([name]) => name === 'neweyWestAlpha')) {
      const found = neweyWestAlpha(MADE.y, MADE.x, Number(lag))!
      expect(distance(found.alpha, Number(estimate))).toBeLessThan(1e-9)
      expect(distance(found.se, Number(se))).toBeLessThan(1e-9)
    }
  })

  it('of a mean are those of scipy', () => {
    const [, , estimate, se, t] = ROWS.find(([name]) => name === 'naiveT')!
    const found = naiveT(MADE.y)!
    expect(distance(found.estimate, Number(estimate))).toBeLessThan(1e-9)
    expect(distance(found.se, Number(se))).toBeLessThan(1e-9)
    expect(distance(found.t, Number(t))).toBeLessThan(1e-9)
    expect(found.df).toBe(399)
  })

  it('do not see days without events at the end, nor the unit', () => {
    const longer = (column: Float64Array): Float64Array => Float64Array.from([...column, ...new Float64Array(80)])
    const found = neweyWest(MADE.num, MADE.den, 19)!
    expect(neweyWest(longer(MADE.num), longer(MADE.den), 19)).toEqual(found)
    expect(
      distance(
        neweyWest(
          MADE.num.map(x => 7 * x),
          MADE.den,
          19,
        )!.t,
        found.t,
      ),
    ).toBeLessThan(1e-12)
  })

  it('fall back to falling weights, and say so, where equal weights make a variance negative', () => {
    const num = Float64Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? 1 : -1) + i / 100)
    const den = new Float64Array(40).fill(1)
    const found = hansenHodrick(num, den, 1)!
    expect(found).toEqual({ ...neweyWest(num, den, 1)!, fallback: true })
  })

  it('are null without events, of one block, and where nothing varies', () => {
    const none = new Float64Array(30)
    const one = new Float64Array(30)
    one[3] = 2
    const all = new Float64Array(30).fill(1)
    const tenths = new Float64Array(30).fill(0.1)
    for (const test of [neweyWest, hansenHodrick, clusterByBlock]) {
      expect(test(none, none, 4)).toBeNull()
      expect(test(one, one, 4)).toBeNull()
      expect(test(tenths, all, 4)).toBeNull()
    }
    expect(naiveT([])).toBeNull()
    expect(naiveT([0.1, 0.1, 0.1])).toBeNull()
    expect(regression(all, tenths)).toBeNull()
    expect(regression(Float64Array.of(1, 2), Float64Array.of(2, 5))).toBeNull()
    expect(neweyWestAlpha(tenths, all, 3)).toBeNull()
  })

  it('judge by how many blocks of equal size those that have events amount to', () => {
    const random = new Random(4)
    const den = new Float64Array(100)
    for (const day of [0, 3, 25, 61, 66, 99]) den[day] = 1
    // Blocks of 20 days have 2, 1, 0, 2, 1 of them: (4 + 1 + 4 + 1)² / (16 + 1 + 16 + 1).
    const num = den.map(events => events * random.normal())
    expect(effectiveBlocks(den, 20)).toBeCloseTo(100 / 34, 12)
    expect(neweyWest(num, den, 19)!.df).toBeCloseTo(100 / 34 - 1, 12)
    expect(clusterByBlock(num, den, 20)!.df).toBeCloseTo(100 / 34 - 1, 12)
    expect(effectiveBlocks(Float64Array.of(3, 3, 3, 3), 1)).toBeCloseTo(4, 12)
    expect(effectiveBlocks(new Float64Array(9), 3)).toBe(0)
  })
})

/** As test/statistics/golden/robust.txt says. */
function made(): { num: Float64Array; den: Float64Array; x: Float64Array; y: Float64Array } {
  const random = new RandomState(21)
  const normal = (length: number): Float64Array => Float64Array.from({ length }, () => random.normal())
  const uniform = (): Float64Array => Float64Array.from({ length: 400 }, () => random.uniform())
  const e = normal(420)
  const u = uniform()
  const v = uniform()
  const den = u.map((draw, i) => (draw < 0.15 ? 1 + Math.floor(3 * v[i]!) : 0))
  const num = den.map((events, i) => events * (0.2 + e.slice(i, i + 20).reduce((sum, one) => sum + one, 0) / 4))
  const x = normal(400)
  return { num, den, x, y: x.map((one, i) => 0.1 + 0.7 * one + e[i + 1]! + 0.5 * e[i]!) }
}

const STATISTICS = new Map(Object.entries({ mean, median, variance }))

describe('the stationary bootstrap', () => {
  it('draws as it is told: one number decides, a second one says where a new block starts', () => {
    const random = new Random(42)
    const same = new Random(42)
    const n = 500
    const expected: number[] = []
    for (let i = 0; i < n; i++) {
      const starts = i === 0 || same.uniform() < 1 / 7
      expected.push(starts ? Math.floor(same.uniform() * n) : (expected[i - 1]! + 1) % n)
    }
    expect([...stationaryIndices(random, n, 7, new Int32Array(n))]).toEqual(expected)
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
})

describe('the block length of Politis and White', () => {
  it('is that of the package arch for an autoregression of numpy draws', () => {
    const random = new RandomState(0)
    const x = Float64Array.from({ length: 10_100 }, () => random.normal())
    for (let i = 1; i < x.length; i++) x[i]! += 0.3 * x[i - 1]!
    expect(politisWhite(x.subarray(100))).toBeCloseTo(13.635665, 6)
  })

  it('stays between 1 and its bound, for the shortest series, too', () => {
    for (const x of [[], [1], [1, 2], [3, 3, 3, 3, 3, 3, 3, 3, 3], Array.from({ length: 30 }, (_, i) => i)]) {
      expect(politisWhite(x)).toBeGreaterThanOrEqual(1)
      expect(politisWhite(x)).toBeLessThanOrEqual(Math.max(1, Math.ceil(x.length / 3)))
    }
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

  it('is null of one value, and where nothing varies', () => {
    expect(bca([1], sample => mean(sample)!, { reps: 99, random: new Random(1) })).toBeNull()
    expect(bca([0.1, 0.1, 0.1], sample => mean(sample)!, { reps: 99, random: new Random(1) })).toBeNull()
  })
})

function calendar(n: number, seed: number): { num: Float64Array; den: Float64Array } {
  const random = new Random(seed)
  const den = Float64Array.from({ length: n }, () => (random.uniform() < 0.2 ? 1 + random.below(3) : 0))
  return { num: den.map(events => events * random.normal()), den }
}
