import { expect, it } from 'vitest'
import { record } from '../../src/core/engine/record.js'
import { column, columnWithNaN, withReusedMemory } from '../../src/core/indicators/columns.js'
import { randomBars, SHAPES } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'

it('leaves a record as it is while other tickers are derived', () => {
  const drawn = (seed: number, length: number) => seriesOf(randomBars(seed, { ...SHAPES.plain!, length }))
  const first = record(drawn(1, 700), 'stock')
  const kept = structuredClone(first)
  for (const [seed, length] of [[2, 900] as const, [3, 700] as const, [4, 10] as const])
    record(drawn(seed, length), 'stock')
  expect(first).toEqual(kept)
})

it('lends the same memory again, to columns that do not overlap, and none outside', () => {
  const made = () => withReusedMemory(() => [columnWithNaN(40), column(70), columnWithNaN(40)].map(own => own.fill(1)))
  // The first call tells how much is needed.
  made()
  const [a, b, c] = made()
  expect(new Set([a, b, c].map(own => own!.buffer)).size).toBe(1)
  b!.fill(2)
  expect([a!.every(value => value === 1), c!.every(value => value === 1)]).toEqual([true, true])
  expect(made()[0]!.buffer).toBe(a!.buffer)
  expect(columnWithNaN(3).buffer.byteLength).toBe(24)
  expect(columnWithNaN(3)).toEqual(new Float64Array(3).fill(Number.NaN))
})

it('lends within a loan, and no longer once work has failed', () => {
  const [outer, inner] = withReusedMemory(() => [column(5).fill(1), withReusedMemory(() => column(5).fill(2))])
  expect([outer[0], inner[0]]).toEqual([1, 2])
  expect(() =>
    withReusedMemory(() => {
      throw new Error('stop')
    }),
  ).toThrow('stop')
  expect(column(5).buffer.byteLength).toBe(40)
})
