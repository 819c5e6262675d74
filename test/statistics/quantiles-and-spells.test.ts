import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { queryAhead } from '../../src/app/remote/remote.js'
import { recordSeries } from '../../src/core/engine/record.js'
import { countOverlap, wilson } from '../../src/core/statistics/counts.js'
import { pooledQuantile, pooledQuantiles } from '../../src/core/statistics/mixtures.js'
import { quantile } from '../../src/core/statistics/moments.js'
import { kaplanMeier, lengthOfShare } from '../../src/core/statistics/survival.js'
import { loadPrices, randomNumbers } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { draws } from '../support/full.js'

describe('quantile', () => {
  it('is linear between order statistics', () => {
    expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5)
    expect(quantile([1, 2, 3, 4], 0.1)).toBeCloseTo(1.3, 12)
    expect(quantile([1, 2, 3, 4], 1)).toBe(4)
    expect(quantile([7], 0.9)).toBe(7)
  })

  it('is null of nothing', () => expect(quantile([], 0.5)).toBeNull())
})

describe('a quantile of a pool', () => {
  it('is the own one of a member alone, or of several that are the same, whatever the weights', () => {
    for (const p of [0.1, 0.5, 0.9]) {
      const ascending = sample(101, 1)
      expect(pooledQuantile([{ ascending, weight: 3 }], p)).toBe(quantile(ascending, p))
      const twice = [
        { ascending, weight: 3 },
        { ascending, weight: 5 },
      ]
      expect(pooledQuantile(twice, p)).toBeCloseTo(quantile(ascending, p)!, 14)
    }
  })

  it('has as much of the weight at or below it as asked', () => {
    const pool = [
      { ascending: sample(40, 2), weight: 7 },
      { ascending: sample(90, 3), weight: 1 },
      { ascending: sample(1, 4), weight: 2 },
    ]
    for (const p of [0.05, 0.1, 0.35, 0.5, 0.9, 0.95]) {
      const found = pooledQuantile(pool, p)!
      expect(shareUpTo(pool, found + 1e-12)).toBeGreaterThanOrEqual(p)
      expect(shareUpTo(pool, found - 1e-12)).toBeLessThan(p)
      expect(pooledQuantile(pool.toReversed(), p)).toBeCloseTo(found, 14)
    }
  })

  it('is a value itself where many values are the same', () => {
    const pool = [
      { ascending: Float64Array.of(-0.3, 0, 0, 0, 0.1), weight: 1 },
      { ascending: Float64Array.of(-0.2, -0.1, 0, 0, 0.4), weight: 2 },
    ]
    expect(pooledQuantile(pool, 0.5)).toBe(0)
  })

  /** Ties, tiny and large numbers, few values and many. */
  const value = fc.oneof(
    fc.integer({ min: -3, max: 3 }),
    fc.double({ min: -5, max: 5, noNaN: true }).map(x => x + 0),
    fc.integer({ min: -40, max: 40 }).map(n => n / 1_000),
    fc.constantFrom(0, 1e-9, -1e-300, 2 ** -14, -(2 ** -14), 4, 300),
  )
  const values = fc.array(value, { minLength: 1, maxLength: 60, size: 'max' }).map(list => Float64Array.from(list))

  it('comes from unsorted columns as from sorted ones, whatever other pools there are', () => {
    const weights = fc.array(fc.nat(9), { minLength: 8, maxLength: 8 })
    const query = fc.record({
      columns: fc.array(values, { minLength: 1, maxLength: 8 }),
      pools: fc.array(weights, { minLength: 1, maxLength: 5 }),
      ps: fc.array(fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 0.1, 0.5, 1)), {
        minLength: 1,
        maxLength: 3,
      }),
    })
    fc.assert(
      fc.property(query, ({ columns, pools, ps }) => {
        const members = pools.map(weights => columns.flatMap((_, i) => (weights[i]! > 0 ? [i] : [])))
        const found = pooledQuantiles(
          { count: columns.length, values: i => columns[i]! },
          members.map((own, g) => ({ columns: own, weights: own.map(i => pools[g]![i]!) })),
          ps,
        )
        const sorted = members.map((own, g) =>
          own.map(i => ({ ascending: columns[i]!.toSorted(), weight: pools[g]![i]! })),
        )
        expect(found).toEqual(sorted.map(pool => ps.map(p => pooledQuantile(pool, p))))
      }),
      { numRuns: draws(500) },
    )
  })

  it('of one column is its own quantile, to the last digit', () => {
    fc.assert(
      fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (column, p) => {
        const columns = { count: 1, values: () => column }
        const [[found]] = pooledQuantiles(columns, [{ columns: [0], weights: [2] }], [p]) as [[number]]
        expect(found).toBe(quantile(column.toSorted(), p))
      }),
      { numRuns: draws(500) },
    )
  })

  it('is null of no member', () => {
    expect(pooledQuantile([], 0.5)).toBeNull()
    const columns = { count: 1, values: () => Float64Array.of(1) }
    expect(pooledQuantiles(columns, [{ columns: [], weights: [] }], [0.1, 0.5])).toEqual([[null, null]])
  })
})

describe('the Wilson interval', () => {
  it('is that of 8 of 10', () => {
    const { low, high } = wilson(8, 10)!
    // The page cuts 0.94331785 to 0.943317.
    expect(low).toBeCloseTo(0.490162, 6)
    expect(high).toBeCloseTo(0.943317, 5)
  })

  it('stays within 0 and 1, mirrors, and is null of nothing', () => {
    expect(wilson(0, 4)!.low).toBe(0)
    expect(wilson(4, 4)!.high).toBe(1)
    expect(wilson(3, 9)!.low).toBeCloseTo(1 - wilson(6, 9)!.high, 14)
    expect(wilson(0, 0)).toBeNull()
  })
})

describe('Kaplan-Meier', () => {
  it('gives the published survival of the 6-MP patients', () => {
    const steps = kaplanMeier(spells('6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+'))
    const published = [0.857143, 0.806723, 0.752941, 0.690196, 0.627451, 0.537815, 0.448179]
    expect(steps.map(step => step.length)).toEqual([6, 7, 10, 13, 16, 22, 23])
    for (const [i, step] of steps.entries()) expect(step.survival).toBeCloseTo(published[i]!, 6)
    expect(lengthOfShare(steps, 0.5)).toBe(23)
    expect(lengthOfShare(steps, 0.9)).toBeNull()
  })

  it('has no step when all are censored', () => expect(kaplanMeier(spells('3+ 4+ 9+'))).toEqual([]))
})

describe('the overlap of windows', () => {
  it('counts windows that share a bar, and those left without', () => {
    expect(countOverlap([0, 5, 9, 30], 5)).toEqual({ overlapping: 2, independent: 3 })
    expect(countOverlap([0, 5, 10], 5)).toEqual({ overlapping: 0, independent: 3 })
    expect(countOverlap([], 5)).toEqual({ overlapping: 0, independent: 0 })
  })

  const spy = loadPrices('SPY')
  it.skipIf(spy === null)('leaves 29 of the 52 oversold events of SPY over 20 bars (needs the shared prices)', () => {
    const { fields, outcomes } = recordSeries(seriesOf(spy!))
    const { bars, bands } = fields.get('rsi_zone')!
    const ended = [...bars].filter((bar, i) => bands[i] === 1 && bar + 20 < outcomes.close.length)
    expect(ended).toHaveLength(52)
    expect(countOverlap(ended, 20).independent).toBe(29)
  })
})

describe('asking at once', () => {
  it('keeps the order of the items, whatever is answered first', async () => {
    const items = Array.from({ length: 40 }, (_, i) => i)
    expect(await all(queryAhead(items, item => later(item % 7, item * 2)))).toEqual(items.map(item => item * 2))
    expect(await all(queryAhead([], () => later(1, 1)))).toEqual([])
  })

  it('has at most eight under way', async () => {
    let open = 0
    let most = 0
    const asked = queryAhead(Array.from({ length: 30 }), async () => {
      most = Math.max(most, ++open)
      await later(1, null)
      open--
    })
    expect(await all(asked)).toHaveLength(30)
    expect(most).toBe(8)
    expect(open).toBe(0)
  })

  it('throws the error of the first item that fails, not of the quickest', async () => {
    const failing = queryAhead([1, 2, 3, 4], async item => {
      await later(5 - item, null)
      if (item > 1) throw new Error(`item ${item}`)
    })
    await expect(all(failing)).rejects.toThrow('item 2')
  })

  it('asks no more once nobody listens, and waits for what is under way', async () => {
    let asked = 0
    let answered = 0
    for await (const _ of queryAhead(Array.from({ length: 30 }), async () => {
      asked++
      await later(1, null)
      answered++
    }))
      break
    expect([asked, answered]).toEqual([8, 8])
  })
})

async function all<Found>(found: AsyncIterable<Found>): Promise<Found[]> {
  const every: Found[] = []
  for await (const one of found) every.push(one)
  return every
}

function sample(n: number, seed: number): Float64Array {
  const random = randomNumbers(seed)
  return Float64Array.from({ length: n }, () => random() - 0.4).sort()
}

/** By the definition: each member's distribution is linear between its values. */
function shareUpTo(pool: { ascending: Float64Array; weight: number }[], x: number): number {
  const weights = pool.reduce((sum, { weight }) => sum + weight, 0)
  return pool.reduce((sum, { ascending, weight }) => {
    const values = [...ascending]
    const next = values.findIndex(value => value > x)
    if (next === 0) return sum
    if (next === -1) return sum + weight / weights
    const part = (x - values[next - 1]!) / (values[next]! - values[next - 1]!)
    return sum + ((weight / weights) * (next - 1 + part)) / (values.length - 1)
  }, 0)
}

/** `6+` lasted longer than 6. */
function spells(text: string): { length: number; ended: boolean }[] {
  return text.split(' ').map(word => ({ length: Number.parseInt(word, 10), ended: !word.endsWith('+') }))
}

function later<T>(milliseconds: number, value: T): Promise<T> {
  return new Promise(resolve => setTimeout(() => resolve(value), milliseconds))
}
