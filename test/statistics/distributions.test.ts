import { describe, expect, it } from 'vitest'
import * as distributions from '../../src/core/statistics/distributions.js'
import * as moments from '../../src/core/statistics/moments.js'
import { Random } from '../../src/core/statistics/random.js'
import { distance, goldenRows } from './support/made-events.js'
import { RandomState } from './support/numpy.js'

describe('distributions', () => {
  const functions = new Map<string, (...args: number[]) => number>(Object.entries(distributions))
  const rows = goldenRows('distributions.txt')

  it.each([...functions.keys()])('%s is that of scipy, far out in the tails, too', name => {
    const own = rows.filter(row => row[0] === name)
    expect(own.length).toBeGreaterThan(5)
    for (const [, ...words] of own) {
      const numbers = words.map(Number)
      const value = functions.get(name)!(...numbers.slice(0, -1))
      expect(distance(value, numbers.at(-1)!), `${name}(${words.join(' ')}) = ${value}`).toBeLessThan(1e-9)
    }
  })
})

describe('moments', () => {
  it.each(goldenRows('moments.txt'))('%s is that of numpy and scipy', (name, expected) => {
    const random = new RandomState(41)
    const x = Float64Array.from({ length: 200 }, () => random.normal() ** 3)
    const moment = new Map<string, unknown>(Object.entries(moments)).get(name!) as (x: Float64Array) => number | null
    const value = moment(x)
    expect(distance(value!, Number(expected))).toBeLessThan(1e-9)
  })

  it('are null where they are not defined', () => {
    expect([moments.mean([]), moments.median([]), moments.variance([1]), moments.deviation([])]).toEqual(
      Array(4).fill(null),
    )
    expect([moments.skewness([0.1, 0.1, 0.1]), moments.kurtosis([0.1, 0.1, 0.1])]).toEqual([null, null])
    expect(moments.deviation([0.1, 0.1, 0.1])).toBe(0)
  })

  it('take the plain kurtosis, which is 3 of a normal distribution and 1 of a coin', () => {
    expect(moments.kurtosis([-1, 1, -1, 1])).toBe(1)
  })
})

const draws = (count: number, draw: () => number): number[] => Array.from({ length: count }, draw)

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

describe('Random', () => {
  it('gives the published words and uniforms of seed 42', () => {
    const words = new Random(42)
    expect(draws(4, () => words.word())).toEqual([660444221, 3652823732, 77672526, 910233633])
    const uniforms = new Random(42)
    expect(draws(2, () => uniforms.uniform())).toEqual([0.15377165265745885, 0.018084542542176507])
  })

  it('repeats itself for the same seed and differs for another', () => {
    const tenOf = (seed: number): number[] => {
      const random = new Random(seed)
      return draws(10, () => random.word())
    }
    expect(tenOf(7)).toEqual(tenOf(7))
    expect(tenOf(7)).not.toEqual(tenOf(8))
    expect(tenOf(0xffffffff)).toEqual(tenOf(-1))
  })

  it('draws every integer below n about equally often, and none else', () => {
    const random = new Random(5)
    const counts = new Array<number>(7).fill(0)
    for (let i = 0; i < 70_000; i++) counts[random.below(7)]!++
    expect(counts.length).toBe(7)
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500)
    expect(new Random(1).below(1)).toBe(0)
  })

  it('draws normal numbers with the moments and tails of the normal law', () => {
    const random = new Random(11)
    const z = draws(200_000, () => random.normal())
    expect(Math.abs(mean(z))).toBeLessThan(0.01)
    expect(mean(z.map(x => x ** 2))).toBeCloseTo(1, 1)
    expect(Math.abs(mean(z.map(x => x ** 3)))).toBeLessThan(0.05)
    expect(Math.abs(mean(z.map(x => x ** 4)) - 3)).toBeLessThan(0.1)
    expect(mean(z.map(x => (Math.abs(x) > 1.959964 ? 1 : 0)))).toBeCloseTo(0.05, 2)
    expect(Math.abs(mean(z.slice(1).map((x, i) => x * z[i]!)))).toBeLessThan(0.01)
  })

  it('derives streams as seed XOR stream number, stream 0 being the seed itself', () => {
    expect(Random.stream(42, 0).word()).toBe(660444221)
    expect(Random.stream(42, 5).word()).toBe(new Random(42 ^ 5).word())
  })

  it('gives streams of one seed that are uncorrelated', () => {
    const one = Random.stream(9, 1)
    const two = Random.stream(9, 2)
    const products = draws(100_000, () => (one.uniform() - 0.5) * (two.uniform() - 0.5) * 12)
    expect(Math.abs(mean(products))).toBeLessThan(0.01)
  })
})
