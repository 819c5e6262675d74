import { expect, test } from 'vitest'
import { judgeTogether, LEVEL, verdictOf } from '../../src/core/statistics/verdict.js'

test('a verdict needs p below the level, and takes its direction from the difference', () => {
  expect(verdictOf(0.049, 0.01)).toBe('beats chance')
  expect(verdictOf(0.049, -0.01)).toBe('worse than chance')
  expect(verdictOf(LEVEL, 0.01)).toBe('not told from chance')
  expect(verdictOf(null, 0.01)).toBe('too few')
  expect(verdictOf(0.001, null)).toBe('too few')
})

test('the differences of one page are corrected together, and those without a p do not count', () => {
  const shown = [
    { difference: 0.02, p: 0.02, leastP: null },
    { difference: 0.03, p: null, leastP: null },
    { difference: -0.01, p: 0.03, leastP: null },
  ]
  expect(judgeTogether(shown)).toEqual([
    { corrected: 0.04, verdict: 'beats chance' },
    { corrected: null, verdict: 'too few' },
    { corrected: 0.04, verdict: 'worse than chance' },
  ])
  expect(judgeTogether([{ ...shown[0]!, leastP: 0.3 }])).toEqual([{ corrected: 0.02, verdict: 'not told from chance' }])
  expect(judgeTogether([...shown, { difference: 0.01, p: 0.9, leastP: null }])[0]!.verdict).toBe('not told from chance')
})
