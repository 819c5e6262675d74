import { expect, test } from 'vitest'
import { LEVEL, verdictOf } from '../../src/statistics/verdict.js'

test('a verdict needs p below the level, and takes its direction from the difference', () => {
  expect(verdictOf(0.049, 0.01)).toBe('beats chance')
  expect(verdictOf(0.049, -0.01)).toBe('worse than chance')
  expect(verdictOf(LEVEL, 0.01)).toBe('not told from chance')
  expect(verdictOf(null, 0.01)).toBe('too few')
  expect(verdictOf(0.001, null)).toBe('too few')
})
