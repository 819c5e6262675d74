import { beforeAll, describe, expect, it } from 'vitest'
import { bca } from '../../src/core/statistics/bootstrap.js'
import { mean } from '../../src/core/statistics/moments.js'
import { Random } from '../../src/core/statistics/random.js'
import { type SuperiorAbility, superiorAbility } from '../../src/core/statistics/selection.js'
import { draws, provenInFull } from '../support/full.js'

const RUNS = draws(400)

describe('of independent values', () => {
  provenInFull('the BCa interval of a mean covers it about nineteen times of twenty, skewed ones, too', () => {
    const random = new Random(404)
    const covered = Array.from({ length: RUNS }, () => {
      const x = Float64Array.from({ length: 60 }, () => random.normal() ** 2)
      const { low, high } = bca(x, sample => mean(sample)!, { reps: 499, random })!
      return low <= 1 && 1 <= high
    }).filter(Boolean).length
    expect(covered / RUNS).toBeGreaterThan(0.9)
    expect(covered / RUNS).toBeLessThan(0.98)
  })
})

describe(`of ${RUNS} families of ten candidates none of which is better`, () => {
  const families: SuperiorAbility[] = []
  beforeAll(() => {
    const random = new Random(505)
    for (let run = 0; run < RUNS; run++) {
      families.push(superiorAbility(candidates(random, 10, 600), 600, { block: 10 })!(199, random))
    }
  })

  it('each has a p', () => {
    expect(families.length).toBe(RUNS)
    for (const { consistent } of families) expect(consistent).toBeGreaterThan(0)
  })

  provenInFull.each(['realityCheck', 'consistent', 'upper'] as const)(
    '%s takes the best for real in a twentieth',
    test => {
      const { rejected, least, most } = rejections(families.map(family => family[test]))
      expect(rejected).toBeGreaterThanOrEqual(least)
      expect(rejected).toBeLessThanOrEqual(most)
    },
  )
})

/** How many of p are below 5 %, and between which numbers 99 % of fair tests stay (normal approximation). */
function rejections(p: readonly number[]): { rejected: number; least: number; most: number } {
  const spread = 2.58 * Math.sqrt(p.length * 0.05 * 0.95)
  const rejected = p.filter(value => value < 0.05).length
  return { rejected, least: 0.05 * p.length - spread, most: 0.05 * p.length + spread }
}

/** Columns with memory and something in common. */
function candidates(random: Random, many: number, n: number) {
  const indices = Int32Array.from({ length: n }, (_, day) => day)
  const shared = Float64Array.from(indices, () => random.normal())
  return Array.from({ length: many }, (_, k) => {
    let last = 0
    return {
      indices,
      values: Float64Array.from(indices, day => {
        last = 0.2 * last + random.normal()
        return (1 + k) * (last + shared[day]!)
      }),
    }
  })
}
