import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BadData, InvalidParameter } from '../../src/core/errors.js'
import { parseExpression, printExpression } from '../../src/core/language/expression.js'
import { Random } from '../../src/core/statistics/random.js'
import { draws } from '../support/full.js'
import { CALLED, PRICES, randomFormula, spelledOut } from '../support/random-formulas.js'
import { ANY_CHARACTER } from '../support/random-queries.js'

const printed = (text: string): string => printExpression(parseExpression(text))

function refused(text: string): InvalidParameter {
  try {
    parseExpression(text)
  } catch (error) {
    if (error instanceof InvalidParameter) return error
    throw error
  }
  return expect.fail(`${JSON.stringify(text)} was not refused`)
}

describe('an expression is printed in one way, however it was written', () => {
  it.each([
    ['SMA( Close,20 )', 'sma(close, 20)'],
    ['((close))', 'close'],
    ['close/sma(close,20)-1', 'close / sma(close, 20) - 1'],
    ['1+(2*3)', '1 + 2 * 3'],
    ['(1+2)*3', '(1 + 2) * 3'],
    ['(1-2)-3', '1 - 2 - 3'],
    ['1-(2-3)', '1 - (2 - 3)'],
    ['1/(2/3)', '1 / (2 / 3)'],
    ['1+(2+3)', '1 + (2 + 3)'],
    ['-(close)', '-close'],
    ['-(close+1)', '-(close + 1)'],
    ['-(-close)', '-(-close)'],
    ['(-close)*2', '-close * 2'],
    ['2*-close', '2 * -close'],
    ['1.50', '1.5'],
    ['.5', '0.5'],
    ['1E-9', '1e-9'],
    ['1e21', '1e+21'],
    ['percentile(close,250)', 'percentile(close, 250)'],
    ['percentile(close,250,50)', 'percentile(close, 250)'],
    ['percentile(close,250,051)', 'percentile(close, 250, 51)'],
    ['percentile(close,6)', 'percentile(close, 6)'],
    ['macd(close,\n12,26)', 'macd(close, 12, 26)'],
    ['max(min(high,low),atr(14))', 'max(min(high, low), atr(14))'],
  ])('%j', (text, expected) => {
    expect(printed(text)).toBe(expected)
    expect(printed(expected)).toBe(expected)
  })

  it('so that it parses to the same again, of 5,000 random expressions', () => {
    for (let seed = 1; seed <= draws(5_000); seed++) {
      const random = new Random(new Random(seed).word())
      const text = spelledOut(randomFormula(random, 4, 2_000), random)
      const expression = parseExpression(text)
      expect(parseExpression(printExpression(expression)), text).toEqual(expression)
    }
  })
})

/** Text, column, a part of what is said to be allowed, what is suggested. */
const SLIPS: readonly (readonly [string, number, string, readonly string[]])[] = [
  ['', 1, 'a price', []],
  ['rsi2', 1, 'a call', ['rsi']],
  ['smma(close, 20)', 1, 'a call', ['sma']],
  ['c', 1, 'a price', ['close']],
  ['clsoe + 1', 1, 'a price', ['close']],
  ['rsi_zone', 1, 'a price', []],
  ['volume_ratio', 13, '(', []],
  ['log(close)', 1, 'a call', ['ln']],
  ['close +', 8, 'a number', []],
  ['close + + close', 9, 'a number', []],
  ['--close', 2, '(', []],
  ['close ^ 2', 7, '+, -', []],
  ['close ** 2', 7, '*, /', []],
  ['close × 2', 7, '*, /', ['*']],
  ['close > open', 7, '+, -', []],
  ['close open', 7, '+, -', []],
  ['(close', 7, ')', []],
  ['close)', 6, '+, -', []],
  ['sma close, 20', 5, '(', []],
  ['sma(close)', 10, ',', []],
  ['sma(20)', 7, ',', []],
  ['rsi(14, close)', 9, 'a whole number from 1 to 2,000', []],
  ['atr(close, 14)', 5, 'a whole number from 1 to 2,000', []],
  ['atr(14, 3)', 7, ')', []],
  ['sma(close, 0)', 12, 'a whole number from 1 to 2,000', []],
  ['sma(close, 2001)', 12, 'a whole number from 1 to 2,000', []],
  ['sma(close, 2.5)', 12, 'a whole number from 1 to 2,000', []],
  ['sma(close, -2)', 12, 'a whole number from 1 to 2,000', []],
  ['percentile(close, 10, 11)', 23, 'a whole number from 1 to 10', []],
  ['stochastic(14)', 14, ',', []],
  ['1e999', 1, 'a number', []],
  ['"close"', 1, 'a price', ['close']],
  ['GSPC:close', 1, 'a price', []],
  ['close # half', 7, '+', []],
]

describe('a slip is refused with its column, what is allowed there, and the nearest', () => {
  it.each(SLIPS)('%j, column %i', (text, column, allowed, suggestions) => {
    const { message, offence } = refused(text)
    expect(message).toMatch(`of, column ${column}: `)
    expect(message.split('; allowed here: ')[1]).toContain(allowed)
    expect(offence).toMatchObject({ param: 'of', line: 1, column, suggestions })
  })

  it('with the way the call is written', () => {
    for (const text of ['atr(close, 14)', 'atr 14', 'atr(14, 3)', 'atr(0)', 'atr(14'])
      expect(refused(text).message).toContain('The call is atr(n).')
    expect(refused('percentile(close, 10, 11)').message).toContain('The call is percentile(x, n[, min]).')
    // The innermost that is open.
    expect(refused('sma(rsi(close), 3)').message).toContain('The call is rsi(x, n).')
    expect(refused('sma(rsi(close, 2))').message).toContain('The call is sma(x, n).')
    expect(refused('sma((close 3), 3)').message).not.toContain('The call')
    expect(refused('sma(close, 3) 3').message).not.toContain('The call')
  })

  it('with the place in a file, where a comment may stand', () => {
    const origin = { param: 'of', place: (line: number, column: number) => ({ file: 'f.yaml', line, column }) }
    expect(printExpression(parseExpression('close # of the day\n- open', origin))).toBe('close - open')
    expect(() => parseExpression('close\n- opne', origin)).toThrow(BadData)
    expect(() => parseExpression('close\n- opne', origin)).toThrow('f.yaml:2:3: there is no price and no call "opne"')
  })
})

describe('limits', () => {
  it('of brackets and calls: 100 deep', () => {
    expect(printed(`${'('.repeat(100)}close${')'.repeat(100)}`)).toBe('close')
    expect(refused(`${'('.repeat(101)}close${')'.repeat(101)}`).message).toContain(
      'column 101: it is nested more than 100 deep',
    )
    expect(refused(`${'abs('.repeat(101)}close${')'.repeat(101)}`).message).toContain(
      'column 401: it is nested more than 100 deep',
    )
  })

  it('of 10,000 characters, in which a sum may be as long as it likes', () => {
    const long = `1${'+1'.repeat(4_999)}`
    expect(refused(`${long}+1`).message).toContain('column 10001: ')
    // Written out, with blanks, it would be longer.
    expect(refused(long).message).toContain('written out')
    expect(printed(`1${' + 1'.repeat(2_499)}`)).toHaveLength(9_997)
  })
})

const PIECES = [
  ...PRICES,
  ...CALLED,
  ...'+ - * / ( ) , ( ) 3 14 0.5 1e9 . # " 🚀 ^ ** constructor __proto__ rsi_zone @ :'.split(' '),
  ...['\n', ' ', '', '\0', '\ud800'],
]

describe('Q7: any text is parsed or refused with a column', () => {
  const piece = fc.constantFrom(...PIECES)
  const assembled = fc.array(piece, { maxLength: 30 }).map(pieces => pieces.join(''))
  const nonsense = fc.string({ unit: ANY_CHARACTER, maxLength: 300 })
  const mutated = fc.tuple(fc.nat(1 << 30), fc.nat(1 << 30), fc.nat(3), piece).map(([seed, at, cut, what]) => {
    const random = new Random(seed)
    const text = spelledOut(randomFormula(random, 3, 50), random)
    const place = at % (text.length + 1)
    return text.slice(0, place) + what + text.slice(place + cut)
  })

  it.each([
    ['pieces', assembled],
    ['any characters', nonsense],
    ['slips in right expressions', mutated],
  ] as const)('%s', (_, texts) => {
    fc.assert(fc.property(texts, expectAnswer), { numRuns: draws(10_000) })
  })

  it('of the greatest length', () => {
    for (const unit of ['(', '-', 'abs(', '1+', '1', '.', '1e', 'sma(close,', 'close ', '"', ' ', '*', 'a'])
      expectAnswer(unit.repeat(10_000 / unit.length))
  })
})

/** A text that is no expression is refused at a place that lies in it. */
function expectAnswer(text: string): void {
  try {
    const expression = parseExpression(text)
    expect(parseExpression(printExpression(expression))).toEqual(expression)
  } catch (error) {
    if (!(error instanceof InvalidParameter)) throw error
    const { line, column } = error.offence
    const lines = text.split(/\r\n|\n|\r/)
    expect(line).toBeLessThanOrEqual(lines.length)
    expect(column).toBeLessThanOrEqual([...lines[line! - 1]!].length + 1)
    expect(error.message.length).toBeLessThan(2_000)
  }
}
