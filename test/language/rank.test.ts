import { describe, expect, it } from 'vitest'
import { InvalidParameter } from '../../src/core/errors.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import {
  dependsOnLevels,
  parseRank,
  printRank,
  rankedText,
  rankOrder,
  rankValues,
  readRank,
} from '../../src/core/language/rank.js'
import { Random } from '../../src/core/statistics/random.js'
import { randomBars, SHAPES } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { randomFormula, spelledOut } from '../support/random-formulas.js'

const read = (text: string): [by: string, first: 'lowest' | 'highest'] => {
  const rank = parseRank('rank', text, BUILT_IN_FIELDS)
  return [rankedText(rank), rank.isLowestFirst ? 'lowest' : 'highest']
}

const refused = (text: string): InvalidParameter => {
  try {
    parseRank('rank', text, BUILT_IN_FIELDS)
  } catch (error) {
    if (error instanceof InvalidParameter) return error
    throw error
  }
  throw new Error(`${text} was read`)
}

describe('a rank', () => {
  it.each([
    ['rsi_zone', 'rsi_zone', 'highest'],
    ['-rsi_zone', 'rsi_zone', 'lowest'],
    [' - rsi_zone ', 'rsi_zone', 'lowest'],
    ['CLOSE', 'close', 'highest'],
    ['-close', 'close', 'lowest'],
    ['rsi(close,2)', 'rsi(close, 2)', 'highest'],
    ['-(close - open)', 'close - open', 'lowest'],
    ['-close + open', '-close + open', 'highest'],
    ['-(-close)', '-close', 'lowest'],
  ])('%s is by %s, the %s first', (text, by, first) => {
    expect(read(text)).toEqual([by, first])
  })

  it('prints to a text that reads as the same', () => {
    const random = new Random(5)
    for (let i = 0; i < 300; i++) {
      const rank = readRank(spelledOut(randomFormula(random, 3, 40), random))
      expect(readRank(printRank(rank))).toEqual(rank)
    }
    for (const field of BUILT_IN_FIELDS.names)
      for (const text of [field, `-${field}`]) expect(printRank(parseRank('rank', text, BUILT_IN_FIELDS))).toBe(text)
  })

  it('with a minus turns the order round and leaves missing values last', () => {
    const series = seriesOf(randomBars(3, { ...SHAPES.plain!, length: 60 }))
    const order = (text: string): number[] => {
      const rank = readRank(text)
      const values = [...rankValues(rank, series, null)]
      return values.map((_, t) => t).sort((a, b) => rankOrder(rank)(values[a]!, values[b]!))
    }
    const up = order('slope(close, 20)')
    const down = order('-slope(close, 20)')
    expect(down.slice(0, 41)).toEqual(up.slice(0, 41).reverse())
    expect([up.slice(41), down.slice(41)]).toEqual([
      Array.from({ length: 19 }, (_, t) => t),
      Array.from({ length: 19 }, (_, t) => t),
    ])
  })

  it.each([
    ['-close', true],
    ['volume', true],
    ['atr(14)', true],
    ['close - sma(close, 20)', true],
    ['close / sma(close, 20)', false],
    ['volume / sma(volume, 20)', false],
    ['atr(14) / close', false],
    ['rsi(close, 14)', false],
    ['close * volume', false],
    ['rsi_zone', false],
  ])('by %s compares levels that a later split changes: %s', (text, expected) => {
    const series = seriesOf(randomBars(3, { ...SHAPES.plain!, length: 60 }))
    expect(dependsOnLevels(readRank(text), series, Int32Array.of(40, 50, 59))).toBe(expected)
    // Bars on which it has no value yet differ in nothing.
    if (text === 'close - sma(close, 20)') expect(dependsOnLevels(readRank(text), series, Int32Array.of(5))).toBe(false)
  })

  it.each([
    ['rsi', ['rsi_zone']],
    ['-rsi', ['-rsi_zone']],
    ['clos', ['close']],
    ['-rsi_zon', ['-rsi_zone']],
  ])('%s is refused with the nearest word', (text, near) => {
    expect(refused(text).offence).toMatchObject({ value: text, suggestions: near })
  })

  it.each([
    ['rsi_zone = oversold', 'is a condition, and ranks nothing by itself: define a field of your own by it'],
    ['rsi_zone + close', 'the field rsi_zone ranks only by itself'],
    ['3 * 4', 'is the same of every signal'],
    ['rsi(close)', 'column 10'],
    ['close close', 'column 7'],
  ])('%s is refused, and why', (text, why) => {
    expect(refused(text).message).toContain(why)
  })
})
