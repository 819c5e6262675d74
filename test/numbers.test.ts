import fc from 'fast-check'
import { expect, it } from 'vitest'
import { numberText } from '../src/core/errors.js'

it('separates thousands as the locale of the United States does', () => {
  const numbers = [0, 1, 12, 999, 1_000, -1_000, 123_456, -123_456, 1_234_567.5, 0.5, 999_999.125, 1e15, 2 ** 53]
  for (const number of [...numbers, 1e21, 1e-9, 0.12345, -0, Number.NaN, Number.NEGATIVE_INFINITY])
    expect(numberText(number)).toBe(number.toLocaleString('en-US'))
})

it('does so for any number', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.integer(),
        fc.maxSafeInteger(),
        fc.double(),
        fc.integer().map(n => n / 10),
      ),
      number => {
        expect(numberText(number)).toBe(number.toLocaleString('en-US'))
      },
    ),
  )
})
