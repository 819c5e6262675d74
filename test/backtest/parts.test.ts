import { expect, it } from 'vitest'
import { choiceOf, indexOfGreatest, splitIndex, walkForwardFolds } from '../../src/research/parts.js'

const DAYS = Int32Array.of(10, 11, 14, 15)

it('splits at the first bar from a date on, with bars left before the embargo', () => {
  expect(splitIndex(DAYS, '1970-01-13')).toBe(2)
  expect(splitIndex(DAYS, '1970-01-15', 1)).toBe(2)
  expect(() => splitIndex(DAYS, '1970-01-15', 2)).toThrow('a date after 1970-01-15, up to 1970-01-16')
  expect(() => splitIndex(DAYS, '1970-01-11')).toThrow('a date after 1970-01-11')
  expect(() => splitIndex(DAYS, '1970-01-17')).toThrow('up to 1970-01-16')
  expect(() => splitIndex(new Int32Array(), '1970-01-17')).toThrow('too few bars')
})

it('refuses a walk-forward that leaves no bar to test on', () => {
  const walk = { train: 3, test: 2, step: 2, anchored: false, embargo: 1 }
  expect(walkForwardFolds(5, walk)).toHaveLength(1)
  expect(() => walkForwardFolds(4, walk)).toThrow('4 bars leave none to test on')
})

it('chooses the first of the best, and none without a score', () => {
  expect(indexOfGreatest([null, 2, 3, 3])).toBe(2)
  expect(indexOfGreatest([null, null])).toBeNull()
  expect(choiceOf([])).toEqual({ candidate: null, agreement: null })
})

it('counts the draws that choose the same; a score without draws is the same in each', () => {
  expect(choiceOf([{ value: 1, values: [] }])).toEqual({ candidate: 0, agreement: null })
  const scores = [
    { value: 1, values: [0, 3, null, 1] },
    { value: 2, values: [] },
  ]
  expect(choiceOf(scores)).toEqual({ candidate: 1, agreement: 0.75 })
})
