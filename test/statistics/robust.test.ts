import { describe, expect, it } from 'vitest'
import { Random } from '../../src/statistics/random.js'
import {
  clusterByBlock,
  effectiveBlocks,
  hansenHodrick,
  naiveT,
  neweyWest,
  neweyWestAlpha,
  regression,
} from '../../src/statistics/robust.js'
import { RandomState } from './support/numpy.js'
import { distance, goldenRows } from './support/rows.js'

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
    const { alpha, beta, seAlpha, seBeta, r } = regression(MADE.y, MADE.x)!
    for (const [i, value] of [alpha, beta, seAlpha, seBeta, r].entries()) {
      expect(distance(value, Number(expected[i]))).toBeLessThan(1e-9)
    }
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

  it('are the plain ones without a lag, and with clusters of one day', () => {
    const x = Float64Array.from(MADE.y)
    const ones = new Float64Array(x.length).fill(1)
    const plain = naiveT(x)!.se * Math.sqrt((x.length - 1) / x.length)
    for (const found of [neweyWest(x, ones, 0)!, hansenHodrick(x, ones, 0)!, clusterByBlock(x, ones, 1)!]) {
      expect(distance(found.se, plain)).toBeLessThan(1e-12)
      expect(found.df).toBe(x.length - 1)
    }
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
    const [none, one] = [new Float64Array(30), new Float64Array(30)]
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
  const [u, v] = [uniform(), uniform()]
  const den = u.map((draw, i) => (draw < 0.15 ? 1 + Math.floor(3 * v[i]!) : 0))
  const num = den.map((events, i) => events * (0.2 + e.slice(i, i + 20).reduce((sum, one) => sum + one, 0) / 4))
  const x = normal(400)
  return { num, den, x, y: x.map((one, i) => 0.1 + 0.7 * one + e[i + 1]! + 0.5 * e[i]!) }
}
