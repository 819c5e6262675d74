import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { benjaminiHochberg, benjaminiYekutieli, holm } from '../../src/statistics/selection.js'
import { distance, goldenRows } from './support/rows.js'

const METHODS = { bh: benjaminiHochberg, by: benjaminiYekutieli, holm }
const family = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 40 })

describe('corrected p-values', () => {
  it('are those of statsmodels', () => {
    let p: number[] = []
    for (const [name, ...words] of goldenRows('multiple.txt')) {
      const numbers = words.map(Number)
      if (name === 'p') p = numbers
      else expect(greatestDistance(METHODS[name as keyof typeof METHODS](p), numbers)).toBeLessThan(1e-9)
    }
  })

  it('reject four of the fifteen of Benjamini and Hochberg 1995, and three by the stricter rule', () => {
    const p = goldenRows('multiple.txt')[0]!.slice(1).map(Number)
    expect(benjaminiHochberg(p).filter(q => q <= 0.05)).toHaveLength(4)
    expect(p.filter(one => one * p.length <= 0.05)).toHaveLength(3)
    expect(holm(p).filter(q => q <= 0.05)).toHaveLength(3)
  })

  it.each(Object.entries(METHODS))(
    '%s: never below p, in the order of p, whatever order the cells come in',
    (_, method) => {
      fc.assert(
        fc.property(family, p => {
          const q = method(p)
          const order = p.map((_, i) => i).sort((a, b) => p[a]! - p[b]!)
          order.forEach((place, rank) => {
            expect(q[place]).toBeGreaterThanOrEqual(p[place]!)
            expect(q[place]).toBeLessThanOrEqual(1)
            if (rank > 0) expect(q[place]).toBeGreaterThanOrEqual(q[order[rank - 1]!]!)
          })
          expect(method(p.toReversed())).toEqual(q.toReversed())
        }),
      )
    },
  )

  it('grow more cautious from Benjamini and Hochberg to Holm', () => {
    fc.assert(
      fc.property(family, p => {
        const strict = holm(p)
        for (const [i, q] of benjaminiHochberg(p).entries()) expect(q).toBeLessThanOrEqual(strict[i]! * (1 + 1e-12))
      }),
    )
  })

  it('leave a single cell as it is', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), p => {
        for (const method of Object.values(METHODS)) expect(method([p])).toEqual([p])
      }),
    )
  })

  it('never fall when a cell without any evidence is added', () => {
    fc.assert(
      fc.property(family, p => {
        const more = benjaminiHochberg([...p, 1])
        for (const [i, q] of benjaminiHochberg(p).entries()) expect(more[i]).toBeGreaterThanOrEqual(q)
      }),
    )
  })

  it('are none of none', () => expect(Object.values(METHODS).map(method => method([]))).toEqual([[], [], []]))
})

function greatestDistance(values: readonly number[], expected: readonly number[]): number {
  expect(values).toHaveLength(expected.length)
  return Math.max(...values.map((value, i) => distance(value, expected[i]!)))
}
