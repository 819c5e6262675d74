import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { packedReturnOver, packPrices, returnOver } from '../../src/core/model/series.js'

/** Closes as a file has them: decimal numbers, each with its own number of decimals. */
const decimals = (most: number) =>
  fc
    .array(fc.tuple(fc.integer({ min: 1, max: 900_000_000 }), fc.integer({ min: 0, max: most })), { minLength: 2 })
    .map(closes => Float64Array.from(closes, ([digits, places]) => Number(`${digits}e-${places}`)))

const anyCloses = fc.oneof(
  decimals(2),
  decimals(4),
  decimals(7),
  fc.float64Array({ min: 1e-300, minLength: 2, noNaN: true, noDefaultInfinity: true }),
)

describe('the closes of a market, packed', () => {
  it('give each return to the last digit', () => {
    fc.assert(
      fc.property(anyCloses, closes => {
        const packed = packPrices(closes)
        for (let window = 1; window < closes.length; window++)
          for (let t = 0; t + window < closes.length; t++)
            expect(packedReturnOver(packed, t, window)).toBe(returnOver(closes, t, window))
      }),
    )
  })

  it.each([
    { closes: [12.34, 0.01, 21_000_000], packs: true },
    { closes: [12.3456, 0.0001, 210_000], packs: true },
    { closes: [12.34567], packs: false },
    { closes: [22_000_000], packs: false },
  ])('take half the memory where all have at most four decimals and nine digits: $closes', ({ closes, packs }) => {
    const { numerators } = packPrices(Float64Array.from(closes))
    expect(numerators.BYTES_PER_ELEMENT).toBe(packs ? 4 : 8)
  })
})
