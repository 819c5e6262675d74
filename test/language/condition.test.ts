import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BadData, InvalidParameter } from '../../src/core/errors.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import {
  type Condition,
  parseCondition,
  printCondition,
  printSubject,
  subjectsOf,
  type Vocabulary,
} from '../../src/core/language/condition.js'
import { Random } from '../../src/core/statistics/random.js'
import { draws } from '../support/full.js'
import { MADE, MADE_FIELDS, randomClaim, written } from '../support/random-conditions.js'
import { ANY_CHARACTER } from '../support/random-queries.js'

const ALL: Vocabulary = BUILT_IN_FIELDS

const parsed = (text: string): Condition => parseCondition(text, ALL)
const printed = (text: string): string => printCondition(parsed(text))

function refused(text: string): InvalidParameter {
  try {
    parsed(text)
  } catch (error) {
    if (error instanceof InvalidParameter) return error
    throw error
  }
  return expect.fail(`${JSON.stringify(text)} was not refused`)
}

describe('a condition is printed in one way, however it was written', () => {
  it.each([
    ['RSI_ZONE=Oversold', 'rsi_zone = oversold'],
    ['rsi_zone in (oversold)', 'rsi_zone = oversold'],
    ['rsi_zone not in(oversold , neutral,oversold)', 'rsi_zone not in (oversold, neutral)'],
    ['rsi_zone!=oversold FOR 5 bars', 'rsi_zone != oversold for 5'],
    ['rsi_zone = oversold for 1', 'rsi_zone = oversold'],
    ['rsi_zone enters (oversold) from any', 'rsi_zone enters oversold'],
    [
      'rsi_zone enters any from ( oversold,neutral ) within 3 bars',
      'rsi_zone enters any from (oversold, neutral) within 3',
    ],
    ['rsi_zone leaves oversold to any within 1', 'rsi_zone leaves oversold'],
    ['gspc:trend_direction@Weekly = uptrend', 'GSPC:trend_direction@weekly = uptrend'],
    ['cl=f:rsi_zone=oversold', 'CL=F:rsi_zone = oversold'],
    ['600000.ss:rsi_zone\n=\r\noversold', '600000.SS:rsi_zone = oversold'],
    ['^GSPC:rsi_zone=oversold', '^GSPC:rsi_zone = oversold'],
    [
      'rsi_zone=oversold and(macd_state=expanding_positive and trend_direction=uptrend)',
      'rsi_zone = oversold and macd_state = expanding_positive and trend_direction = uptrend',
    ],
    [
      'rsi_zone=oversold or(macd_state=expanding_positive)and trend_direction=uptrend',
      'rsi_zone = oversold or macd_state = expanding_positive and trend_direction = uptrend',
    ],
    [
      '(rsi_zone=oversold or macd_state=expanding_positive)and trend_direction=uptrend',
      '(rsi_zone = oversold or macd_state = expanding_positive) and trend_direction = uptrend',
    ],
    ['not(not rsi_zone=oversold)', 'not not rsi_zone = oversold'],
    ['NOT (rsi_zone=oversold AND trend_direction=uptrend)', 'not (rsi_zone = oversold and trend_direction = uptrend)'],
  ])('%j', (text, expected) => {
    expect(printed(text)).toBe(expected)
    expect(printed(expected)).toBe(expected)
  })

  it('so that it parses to the same again, of 5,000 random conditions', () => {
    for (let seed = 1; seed <= draws(5_000); seed++) {
      const random = new Random(new Random(seed).word())
      const text = written(randomClaim(random, MADE_FIELDS, 4), random)
      const condition = parseCondition(text, MADE)
      expect(parseCondition(printCondition(condition), MADE), text).toEqual(condition)
    }
  })
})

describe('subjects', () => {
  it('are each told once, in the order of the text', () => {
    const first = 'not (GSPC:rsi_zone = oversold or rsi_zone@weekly enters any)'
    const condition = parsed(`${first} and gspc:rsi_zone = neutral or rsi_zone = oversold`)
    expect(subjectsOf(condition).map(printSubject)).toEqual(['GSPC:rsi_zone', 'rsi_zone@weekly', 'rsi_zone'])
  })
})

/** Text, column, a part of what is said to be allowed, what is suggested. */
const SLIPS: readonly (readonly [string, number, string, readonly string[]])[] = [
  ['', 1, 'a field', []],
  ['rsi = 30', 1, 'a field', ['rsi_zone']],
  ['trend = uptrend', 1, 'a field', ['trend_direction']],
  ['rsi_zon = oversold', 1, 'a field', ['rsi_zone']],
  ['oversold', 1, 'a field', ['rsi_zone = oversold']],
  ['and rsi_zone = oversold', 1, 'a field', []],
  ['"rsi_zone" = oversold', 1, 'a field', ['rsi_zone']],
  ['!rsi_zone = oversold', 1, 'a field', ['not']],
  ['rsi_zone', 9, '=, !=, in, not, enters, leaves', []],
  ['rsi_zone == oversold', 10, '=', ['=']],
  ['rsi_zone <> oversold', 10, '=', ['!=']],
  ['rsi_zone is oversold', 10, '=', ['=']],
  ['rsi_zone is not oversold', 10, '=', ['!=']],
  ['rsi_zone < 30', 10, '=', ['=']],
  ['rsi_zone oversold', 10, '=', ['= oversold']],
  ['rsi_zone:oversold', 9, '=', ['=']],
  ['rsi_zone entres oversold', 10, 'enters', ['enters']],
  ['rsi_zone not oversold', 14, 'in', ['!= oversold']],
  ['rsi_zone =', 11, 'a band of rsi_zone', []],
  ['rsi_zone = oversld', 12, 'a band of rsi_zone', ['oversold']],
  ['rsi_zone = over', 12, 'a band of rsi_zone', ['oversold', 'overbought']],
  ["rsi_zone = 'oversold'", 12, 'a band of rsi_zone', ['oversold']],
  ['rsi_zone = 30', 12, 'a band of rsi_zone', []],
  ['rsi_zone = (oversold)', 12, 'a band of rsi_zone', []],
  ['rsi_zone = any', 12, 'a band of rsi_zone', []],
  ['rsi_zone in oversold', 13, '(', ['(oversold)']],
  ['rsi_zone in (oversold neutral)', 23, ',, )', []],
  ['rsi_zone = oversold && trend_direction = uptrend', 21, 'and', ['and']],
  ['rsi_zone = oversold || trend_direction = uptrend', 21, 'or', ['or']],
  ['rsi_zone = oversold adn trend_direction = uptrend', 21, 'and', ['and']],
  ['rsi_zone = oversold and trend_direction = uptrnd', 43, 'a band of trend_direction', ['uptrend']],
  ['rsi_zone = oversold or deep_oversold', 24, 'a field', ['rsi_zone = deep_oversold']],
  ['rsi_zone = oversold within 3', 21, 'for', ['for']],
  ['rsi_zone enters oversold for 3', 26, 'within', ['within']],
  ['rsi_zone = oversold for', 24, 'a whole number from 1 to 2,000', []],
  ['rsi_zone = oversold for 0', 25, 'a whole number from 1 to 2,000', []],
  ['rsi_zone = oversold for 2001', 25, 'a whole number from 1 to 2,000', []],
  ['rsi_zone = oversold for 1.5', 25, 'a whole number from 1 to 2,000', []],
  ['rsi_zone = oversold for 3 days', 27, 'bars', ['bars']],
  ['(rsi_zone = oversold', 21, ')', []],
  ['rsi_zone = oversold)', 20, 'and', []],
  ['GSPC: rsi_zone = oversold', 7, 'a field', ['rsi_zone']],
  ['GSPC :rsi_zone = oversold', 1, 'a field', []],
  ['abcdefghijklmnopq:rsi_zone = oversold', 1, 'a ticker', []],
  ['a_b:rsi_zone = oversold', 1, 'a field', []],
  ['rsi_zone @weekly = oversold', 10, '@', []],
  ['rsi_zone@ weekly = oversold', 11, 'a timeframe', ['weekly']],
  ['rsi_zone@monthly = oversold', 10, 'a timeframe', []],
  ['rsi_zone = oversold # a comment', 21, 'and', []],
  ['🚀🚀 = oversold', 1, 'a field', []],
]

describe('a slip is refused with its column, what is allowed there, and the nearest', () => {
  it.each(SLIPS)('%j, column %i', (text, column, allowed, suggestions) => {
    const { message, offence } = refused(text)
    expect(message).toMatch(`when, column ${column}: `)
    expect(message).toContain('; allowed here: ')
    expect(message.split('; allowed here: ')[1]).toContain(allowed)
    expect(offence).toMatchObject({ param: 'when', line: 1, column, suggestions })
    for (const word of suggestions) expect(message).toContain(`"${word}"`)
    expect(message.includes('Did you mean')).toBe(suggestions.length > 0)
  })

  it('with the line, too, where there are several, in characters', () => {
    expect(refused('rsi_zone = oversold\r\n  and rsi = 3').message).toContain('when, line 2, column 7: ')
    expect(refused('/*🚀*/').message).toContain('column 1: ')
    expect(refused('rsi_zone = oversold 🚀 x\n').message).toContain('when, column 21: ')
    expect(refused('rsi_zone 🚀').offence.column).toBe(10)
    expect(refused('rsi_zone = 🚀🚀🚀').message).toContain('"🚀" is no band')
  })

  it('with the place in a file, where a comment may stand', () => {
    const origin = {
      param: 'when',
      place: (line: number, column: number) => ({ file: 'f.yaml', line: line + 6, column }),
    }
    const text = '# first\nrsi_zone = oversold # second\nand'
    expect(printCondition(parseCondition(`${text} rsi_zone = neutral`, ALL, origin))).toBe(
      'rsi_zone = oversold and rsi_zone = neutral',
    )
    expect(() => parseCondition(`${text} rsi`, ALL, origin)).toThrow(BadData)
    expect(() => parseCondition(`${text} rsi`, ALL, origin)).toThrow(
      'f.yaml:9:5: there is no field "rsi"; allowed here: a field',
    )
  })

  it('with the name of its parameter', () => {
    expect(() => parseCondition('x', ALL, { param: 'entry.when' })).toThrow(/^entry\.when, column 1: /)
  })

  it('and says that a band is no number only where a number was meant', () => {
    for (const text of ['rsi = 30', 'rsi < 30', 'volume > 1.5', 'rsi_zone = 30', 'rsi_zone >= 3'])
      expect(refused(text).message).toContain('not with numbers')
    for (const text of ['trnd_direction = uptrend', 'macd crosses up', 'rsi_zone = x'])
      expect(refused(text).message).not.toContain('numbers')
  })
})

describe('limits', () => {
  const test = 'rsi_zone = oversold'

  it('of brackets and not together: 100 deep', () => {
    expect(printed(`${'('.repeat(100)}${test}${')'.repeat(100)}`)).toBe(test)
    expect(printed(`${'not ('.repeat(50)}${test}${')'.repeat(50)}`)).toBe(`${'not '.repeat(50)}${test}`)
    expect(refused(`${'('.repeat(101)}${test}${')'.repeat(101)}`).message).toContain(
      'column 101: it is nested more than 100 deep',
    )
    expect(refused(`${'not '.repeat(101)}${test}`).message).toContain('column 401: it is nested more than 100 deep')
    expect(refused(`${'not('.repeat(50)}not ${test}${')'.repeat(50)}`).message).toContain('column 201')
    // What is closed again is not deep.
    expect(subjectsOf(parsed(Array.from({ length: 300 }, () => `(not (${test}))`).join(' or ')))).toHaveLength(1)
  })

  it('of 10,000 characters, however many units they take', () => {
    const long = `${test}${' '.repeat(10_000 - test.length)}`
    expect(printed(long)).toBe(test)
    expect(refused(`${long} `).message).toContain('column 10001: at most 10,000 characters are read')
    expect(refused('🚀'.repeat(10_000)).message).toContain('column 1: ')
    expect(refused('🚀'.repeat(10_001)).message).toContain('column 10001: ')
  })

  it('of bars: 1 to 2,000', () => {
    expect(printed('rsi_zone = oversold for 2000')).toBe('rsi_zone = oversold for 2000')
    expect(printed('rsi_zone enters any within 002 bars')).toBe('rsi_zone enters any within 2')
  })
})

/** Pieces that conditions are made of, and some that they are not. */
const PIECES = [
  ...BUILT_IN_FIELDS.names.slice(0, 4),
  ...'oversold uptrend low and or not in for bars enters leaves from to within any'.split(' '),
  ...'= != ( ) , @ : @weekly @daily GSPC: CL=F: 3 2000 0 1e9 - . # " \''.split(' '),
  ...['\n', '\r\n', '\t', ' ', '  ', '', '\0', '🚀', '\ud800', '\u202e'],
  ...'&& || == < __proto__ constructor true'.split(' '),
]

describe('Q7: any text is parsed or refused with a column, in few steps', () => {
  const piece = fc.constantFrom(...PIECES)
  const assembled = fc
    .array(fc.tuple(piece, fc.constantFrom('', ' ', ' ')), { maxLength: 40 })
    .map(pairs => pairs.flat().join(''))
  const nonsense = fc.string({ unit: ANY_CHARACTER, maxLength: 300 })
  const mutated = fc.tuple(fc.nat(1 << 30), fc.nat(1 << 30), fc.nat(3), piece).map(([seed, at, cut, what]) => {
    const random = new Random(seed)
    const text = written(randomClaim(random, MADE_FIELDS, 3), random)
    const place = at % (text.length + 1)
    return text.slice(0, place) + what + text.slice(place + cut)
  })

  it.each([
    ['pieces', assembled, ALL],
    ['any characters', nonsense, ALL],
    ['slips in right conditions', mutated, MADE],
  ] as const)('%s', (_, texts, vocabulary) => {
    let good = 0
    fc.assert(
      fc.property(texts, text => {
        good += Number(expectAnswer(text, vocabulary))
      }),
      { numRuns: draws(10_000) },
    )
    if (texts === mutated) expect(good).toBeGreaterThan(0)
  })

  it('of the greatest length', () => {
    const words = ['not ', 'rsi_zone = oversold or ', 'rsi_zone in (low,', ' ', '\n']
    for (const unit of [...words, ...`( " ' = a a: 1 . # 🚀 1e !=!`.split(' ')]) {
      const text = unit.repeat(10_000 / unit.length)
      expectAnswer(text, ALL)
      expectAnswer(`rsi_zone = oversold and ${text}`.slice(0, 10_000), ALL)
    }
  })
})

/** Whether the text is a condition; otherwise it is refused at a place that lies in it. */
function expectAnswer(text: string, vocabulary: Vocabulary): boolean {
  let looks = 0
  const named: Vocabulary['named'] = name => {
    looks++
    return vocabulary.named(name)
  }
  try {
    const condition = parseCondition(text, { names: vocabulary.names, named })
    expect(parseCondition(printCondition(condition), vocabulary)).toEqual(condition)
    return true
  } catch (error) {
    if (!(error instanceof InvalidParameter)) throw error
    const { line, column, param } = error.offence
    const lines = text.split(/\r\n|\n|\r/)
    expect(param).toBe('when')
    expect(line).toBeLessThanOrEqual(lines.length)
    expect(column).toBeLessThanOrEqual([...lines[line! - 1]!].length + 1)
    expect(error.message.length).toBeLessThan(2_000)
    return false
  } finally {
    // Fields are looked up once a word, and once more all of them for the one word that is refused.
    expect(looks).toBeLessThanOrEqual(text.length / 2 + vocabulary.names.length + 1)
  }
}
