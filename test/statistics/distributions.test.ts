import { describe, expect, it } from 'vitest'
import * as distributions from '../../src/statistics/distributions.js'
import * as moments from '../../src/statistics/moments.js'
import { RandomState } from './support/numpy.js'
import { distance, goldenRows } from './support/rows.js'

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
