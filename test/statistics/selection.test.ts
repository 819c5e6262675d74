import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stationaryIndices } from '../../src/core/statistics/bootstrap.js'
import { Random } from '../../src/core/statistics/random.js'
import {
  benjaminiHochberg,
  benjaminiYekutieli,
  type Column,
  holm,
  pbo,
  type SuperiorAbility,
  superiorAbility,
} from '../../src/core/statistics/selection.js'
import { distance, goldenRows, madeStrategies } from './support/made-events.js'
import { golden, RandomState } from './support/numpy.js'

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

  it('are none of none', () => expect(Object.values(METHODS).map(method => method([]))).toEqual([[], [], []]))
})

function greatestDistance(values: readonly number[], expected: readonly number[]): number {
  expect(values).toHaveLength(expected.length)
  return Math.max(...values.map((value, i) => distance(value, expected[i]!)))
}

describe('the probability of backtest overfitting', () => {
  it('is that of an independent implementation, logit by logit', () => {
    const known = golden('event-tests.txt')
    const found = overfitting(madeStrategies(), 6)
    expect([found.probability, found.splits]).toEqual(known.pbo)
    for (const [i, logit] of found.logits.toSorted().entries()) expect(logit).toBeCloseTo(known['pbo logits']![i]!, 10)
  })

  it('depends neither on the order of columns nor on their scale, ties included', () => {
    const columns = [...noise(4, 6, 130), ...noise(4, 6, 130).slice(0, 3), new Float64Array(130), new Float64Array(130)]
    const straight = overfitting(columns, 10)
    expect(straight.splits).toBe(252)
    for (const other of [columns.toReversed(), columns.map((column, i) => column.map(value => value * 2 ** i))]) {
      expect(overfitting(other, 10)).toEqual(straight)
    }
  })

  it('is not told of fewer than two, of odd blocks or of too few bars', () => {
    expect(pbo([], 8)).toEqual({ reason: 'fewer than two to choose from' })
    expect(pbo(noise(1, 1, 100), 8)).toEqual({ reason: 'fewer than two to choose from' })
    expect(pbo(noise(1, 3, 100), 7)).toEqual({ reason: '7 blocks, but it takes an even number from 2 to 20' })
    expect(pbo(noise(1, 3, 15), 8)).toEqual({ reason: '15 bars are fewer than two for each of 8 blocks' })
  })
})

function overfitting(columns: readonly Float64Array[], blocks: number) {
  const found = pbo(columns, blocks)
  if ('reason' in found) throw new Error(found.reason)
  return { ...found.overfitting, logits: found.logits }
}

function noise(seed: number, n: number, bars: number): Float64Array[] {
  return Array.from({ length: n }, (_, i) => {
    const random = new Random(1000 * seed + i)
    return Float64Array.from({ length: bars }, () => 0.01 * random.normal())
  })
}

describe('superior predictive ability', () => {
  it('has the p-values of the package arch, within Monte Carlo error', () => {
    const found = spa(published(), 300, { block: 10, reps: 4000, random: new Random(1) })!
    for (const [name, words] of goldenRows('spa.txt')) {
      const value = found[name as keyof SuperiorAbility]
      const expected = Number(words)
      if (name === 'best') expect(value).toBe(expected)
      else expect(Math.abs(value - expected), name).toBeLessThan(4 * Math.sqrt((expected * (1 - expected)) / 4000))
    }
  })

  it('is what its definition says, resample by resample', () => {
    const random = new Random(6)
    for (let round = 0; round < 5; round++) {
      const columns = drawn(random, 8, 60)
      const options = { block: 4, reps: 57, random: new Random(round) }
      expect(spa(columns, 60, options)).toEqual(slow(columns, 60, { ...options, random: new Random(round) }))
    }
  })

  it('is, where either sign counts, that of the columns and their opposites, to the last bit', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const columns = drawn(new Random(seed), 12, 90)
      const both = columns.flatMap(one => [one, { ...one, values: one.values.map(value => -value) }])
      const found = superiorAbility(columns, 90, { block: 5, eitherSign: true })!(99, new Random(seed))
      const plain = spa(both, 90, { block: 5, reps: 99, random: new Random(seed) })!
      expect(found).toEqual({ ...plain, best: plain.best >> 1 })
    }
  })

  it('is null where no column varies, and leaves out those that do not', () => {
    const options = { block: 5, reps: 99, random: new Random(1) }
    const everyDay = Int32Array.from({ length: 50 }, (_, i) => i)
    const constant = { indices: everyDay, values: new Float64Array(50).fill(0.1) }
    const empty = { indices: new Int32Array(0), values: new Float64Array(0) }
    expect(spa([], 50, options)).toBeNull()
    expect(spa([empty, constant], 50, options)).toBeNull()
    const [one] = drawn(new Random(1), 1, 50)
    expect(spa([empty, constant, one!], 50, options)!.best).toBe(2)
  })
})

function spa(
  columns: readonly Column[],
  n: number,
  { block, reps, random }: { block: number; reps: number; random: Random },
): SuperiorAbility | null {
  return superiorAbility(columns, n, { block })?.(reps, random) ?? null
}

/** As test/statistics/golden/spa.txt says. */
function published(): Column[] {
  const random = new RandomState(51)
  const own = Array.from({ length: 300 }, () => Array.from({ length: 12 }, () => random.normal()))
  const common = Array.from({ length: 300 }, () => random.normal())
  const indices = Int32Array.from(common.keys())
  return Array.from({ length: 12 }, (_, k) => ({
    indices,
    values: Float64Array.from(
      own,
      (row, t) => row[k]! * (1 + k / 4) + 0.5 * common[t]! + (k === 2 ? 0.06 : k > 8 ? -0.5 : 0),
    ),
  }))
}

/** Columns with a value on some days, and something in common; some of them lose clearly. */
function drawn(random: Random, many: number, n: number): Column[] {
  const common = Float64Array.from({ length: n }, () => random.normal())
  return Array.from({ length: many }, (_, k) => {
    const indices = Int32Array.from({ length: n }, (_, day) => day).filter(() => random.uniform() < 0.4)
    const edge = k % 4 === 3 ? -1.5 : 0
    return { indices, values: Float64Array.from(indices, day => common[day]! + random.normal() + edge) }
  })
}

function dense({ indices, values }: Column, n: number): Float64Array {
  const column = new Float64Array(n)
  indices.forEach((place, i) => {
    column[place] = values[i]!
  })
  return column
}

/** Hansen 2005, section 3, word by word, each column with all its days. */
function slow(
  columns: readonly Column[],
  n: number,
  { block, reps, random }: { block: number; reps: number; random: Random },
): SuperiorAbility {
  const d = columns.map(column => dense(column, n))
  const average = (x: ArrayLike<number>): number => Array.from(x).reduce((sum, value) => sum + value, 0) / n
  const means = d.map(average)
  const omegas = d.map((x, k) => Math.sqrt(longRunVariance(x, means[k]!, 1 / block)))
  const t = means.map((mean, k) => (Math.sqrt(n) * mean) / omegas[k]!)
  const threshold = -Math.sqrt(2 * Math.log(Math.log(n)))
  const centres = [means.map(mean => Math.max(0, mean)), means.map((mean, k) => (t[k]! < threshold ? 0 : mean)), means]
  const counts = [0, 0, 0, 0]
  for (let rep = 0; rep < reps; rep++) {
    const indices = stationaryIndices(random, n, block, new Int32Array(n))
    const resampled = d.map(x => average(Float64Array.from(indices, index => x[index]!)))
    if (Math.max(...resampled.map((mean, k) => mean - means[k]!)) >= Math.max(...means)) counts[0]!++
    centres.forEach((centre, test) => {
      const z = resampled.map((mean, k) => (Math.sqrt(n) * (mean - centre[k]!)) / omegas[k]!)
      if (Math.max(0, ...z) >= Math.max(0, ...t)) counts[test + 1]!++
    })
  }
  const [realityCheck, lower, consistent, upper] = counts.map(count => (1 + count) / (1 + reps))
  const best = t.indexOf(Math.max(...t))
  return { realityCheck: realityCheck!, lower: lower!, consistent: consistent!, upper: upper!, best }
}

function longRunVariance(x: Float64Array, mean: number, q: number): number {
  const n = x.length
  const covariance = (lag: number): number => {
    let sum = 0
    for (let t = lag; t < n; t++) sum += (x[t]! - mean) * (x[t - lag]! - mean)
    return sum / n
  }
  let variance = covariance(0)
  for (let i = 1; i < n; i++) {
    const kappa = ((n - i) / n) * (1 - q) ** i + (i / n) * (1 - q) ** (n - i)
    variance += 2 * kappa * covariance(i)
  }
  return variance
}
