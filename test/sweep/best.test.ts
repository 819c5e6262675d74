import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Day } from '../../src/model/day.js'
import { stationaryIndices } from '../../src/statistics/bootstrap.js'
import { Random } from '../../src/statistics/random.js'
import { cellOf, memberBars } from '../../src/study/cell.js'
import { stationaryInterval } from '../../src/study/tests.js'
import { Contest } from '../../src/sweep/best.js'
import { namedStream, Pace } from '../../src/sweep/ground.js'
import { adjusted, Resamples } from '../../src/sweep/look.js'

const p = fc.oneof(
  fc.constant(null),
  fc.integer({ min: 1, max: 1000 }).map(n => n / 1000),
)

describe('corrected p-values', () => {
  it('do not depend on the order of looks, nor fall by a look without a p', () => {
    fc.assert(
      fc.property(
        fc.array(p, { minLength: 1, maxLength: 30 }),
        fc.array(p, { maxLength: 10 }),
        fc.constantFrom('bh', 'by', 'holm', 'none'),
        (own, others, adjustment) => {
          const q = adjusted(own, others, adjustment)
          expect(adjusted(own.toReversed(), others.toReversed(), adjustment).reverse()).toEqual(q)
          const more = adjusted(own, [...others, null], adjustment)
          own.forEach((value, i) => {
            if (value === null) expect(q[i]).toBe(null)
            else {
              expect(q[i]!).toBeGreaterThanOrEqual(value)
              expect(more[i]!).toBeGreaterThanOrEqual(q[i]!)
            }
          })
        },
      ),
    )
  })

  it('of one look alone are p', () => {
    for (const adjustment of ['bh', 'by', 'holm', 'none'] as const)
      expect(adjusted([0.03], [], adjustment)).toEqual([0.03])
  })
})

describe('the test of the best', () => {
  it('of one cell is its two-sided bootstrap p', async () => {
    const days = 300
    const random = new Random(4)
    const places = Int32Array.from({ length: 60 }, (_, i) => i * 5)
    const values = Float64Array.from(places, () => 0.4 + random.normal())
    const contest = new Contest(days)
    const returns = new Float64Array(days).map(() => random.normal())
    const block = 8
    contest.enter('one', {
      ...{ low: null, high: null, t: null, sharpe: 0.1, block, returns, span: { from: 0, to: days } },
      column: { places, values },
    })
    const query = { resamples: 499, pboBlocks: 4, seed: 9 }
    const best = await contest.judge(query, { tried: 1, sharpes: [0.1] }, new Pace(undefined))
    const series = new Float64Array(days)
    places.forEach((place, i) => {
      series[place] = values[i]!
    })
    const mean = series.reduce((sum, value) => sum + value, 0) / days
    const stream = namedStream(query.seed, 'best of many, part 0')
    let exceeding = 0
    for (let rep = 0; rep < query.resamples; rep++) {
      const drawn = stationaryIndices(stream, days, block, new Int32Array(days))
      const resampled = drawn.reduce((sum, day) => sum + series[day]!, 0) / days
      if (Math.abs(resampled - mean) >= Math.abs(mean)) exceeding++
    }
    const plain = (1 + exceeding) / (1 + query.resamples)
    expect(best.reality_check).toBe(plain)
    expect(best.spa).toEqual({ lower: expect.any(Number), consistent: expect.any(Number), upper: plain })
    expect(best.spa!.lower).toBeLessThanOrEqual(best.spa!.consistent)
    expect(best.spa!.consistent).toBeLessThanOrEqual(plain)
    expect([best.cells, best.block, best.best_cell, best.best_sharpe_cell]).toEqual([1, block, 'one', 'one'])
    expect([best.pbo, best.deflated_sharpe]).toEqual([null, null])
    expect(Object.keys(best.reasons).sort()).toEqual(['deflated_sharpe', 'pbo'])
  })
})

describe('the interval from shared resamples', () => {
  it('is that of the event study within the error of drawing', () => {
    const random = new Random(7)
    const bars = 700
    const forward = Float64Array.from({ length: bars }, () => 0.02 * random.normal())
    const all = Int32Array.from({ length: bars }, (_, i) => i)
    const days: Int32Array<ArrayBuffer> = all.map((day: Day) => 15_000 + day)
    const signals = all.filter(() => random.uniform() < 0.15)
    const cell = cellOf([memberBars('A', days, forward, all, signals)], 5)
    const resamples = 4000
    const own = new Resamples({ seed: 1, resamples }).interval(cell)!
    const theirs = stationaryInterval(cell, { reps: resamples, random: new Random(2) })
    const width = theirs.high! - theirs.low!
    expect(Math.abs(own.low - theirs.low!)).toBeLessThan(0.06 * width)
    expect(Math.abs(own.high - theirs.high!)).toBeLessThan(0.06 * width)
  })
})
