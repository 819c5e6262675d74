import { describe, expect, it } from 'vitest'
import { Random } from '../../src/statistics/random.js'
import { type Overfitting, pbo } from '../../src/statistics/selection.js'
import { golden } from './support/golden.js'
import { madeStrategies } from './support/made-events.js'

describe('the probability of backtest overfitting', () => {
  it('is that of an independent implementation, logit by logit', () => {
    const known = golden('event-tests.txt')
    const found = overfitting(madeStrategies(), 6)
    expect([found.probability, found.splits]).toEqual(known.pbo)
    for (const [i, logit] of found.logits.toSorted().entries()) expect(logit).toBeCloseTo(known['pbo logits']![i]!, 10)
  })

  it('is 0 where one is the best throughout', () => {
    const columns = noise(9, 20, 240)
    columns[7] = columns[7]!.map(value => value + 0.05)
    expect(overfitting(columns, 8).probability).toBe(0)
  })

  it('is about a half where all are noise', () => {
    const probabilities = Array.from({ length: 60 }, (_, run) => overfitting(noise(100 + run, 10, 160), 8).probability)
    const mean = probabilities.reduce((sum, value) => sum + value, 0) / probabilities.length
    expect(mean).toBeGreaterThan(0.4)
    expect(mean).toBeLessThan(0.6)
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

function overfitting(columns: readonly Float64Array[], blocks: number): Overfitting {
  const found = pbo(columns, blocks)
  if ('reason' in found) throw new Error(found.reason)
  return found
}

function noise(seed: number, n: number, bars: number): Float64Array[] {
  return Array.from({ length: n }, (_, i) => {
    const random = new Random(1000 * seed + i)
    return Float64Array.from({ length: bars }, () => 0.01 * random.normal())
  })
}
