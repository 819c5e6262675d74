import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { columnOf, splitLine } from '../../src/feeds/judge.js'
import { DateReader, decimalOf, guessDateFormat, numberAt, readNumber } from '../../src/feeds/values.js'
import { formatDay } from '../../src/model/day.js'
import { parseTicker } from '../../src/model/terms.js'

const at = (text: string) => numberAt(Buffer.from(`,${text},`), 1, text.length + 1, '.')

describe('a number', () => {
  it('is the nearest double to its decimals, read from bytes or from text', () => {
    const decimal = fc
      .tuple(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.integer({ min: 0, max: 20 }))
      .map(([digits, point]) => {
        const text = digits.toString().padStart(point + 1, '0')
        return point === 0 ? text : `${text.slice(0, -point)}.${text.slice(-point)}`
      })
    fc.assert(
      fc.property(decimal, text => {
        expect(at(text)).toBe(Number(text))
        expect(readNumber(text)).toBe(Number(text))
      }),
      { numRuns: 2000 },
    )
    fc.assert(
      fc.property(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }), x => {
        expect(at(String(x))).toBe(x)
      }),
    )
  })

  it.each([
    '',
    '.',
    '-',
    '$',
    'e5',
    '1e',
    '1e1.5',
    '+5',
    '0x10',
    '1_000',
    '12abc',
    '1,23',
    '1,2345',
    ',123',
    '1.2.3',
    'Infinity',
    'NaN',
    '١٢',
  ])('is not spelled by "%s"', text => {
    expect(readNumber(text)).toBeNaN()
    expect(at(text)).toBeNaN()
  })

  it('may have a comma for a point', () => {
    expect(readNumber('1.234.567,5', ',')).toBe(1234567.5)
    expect(readNumber('1,5', ',')).toBe(1.5)
    expect(readNumber('1.5', ',')).toBeNaN()
  })

  it('proves the decimal sign of its file or leaves it open', () => {
    expect(decimalOf(['1.5', '10'], [])).toBe('.')
    expect(decimalOf(['1,5', '10'], [])).toBe(',')
    expect(decimalOf(['1.234,5'], [])).toBe(',')
    expect(decimalOf(['$1,234.5'], [])).toBe('.')
    expect(decimalOf(['1,234'], ['1.234.567'])).toBe(',')
    expect(decimalOf(['1,234'], [])).toBe(null)
    expect(decimalOf(['10'], ['1,234'])).toBe('.')
  })
})

describe('a date', () => {
  it.each([
    ['YYYY-MM-DD', '2024-02-29', '2024-02-29'],
    ['YYYY-MM-DD', '2024-02-29 00:00:00+01:00', '2024-02-29'],
    ['YYYY-MM-DD', '2024-02-29T23:59:59.999Z', '2024-02-29'],
    ['YYYY-MM-DD', '2023-02-29', null],
    ['YYYY-MM-DD', '2024-02-29 25:00', null],
    ['YYYY-MM-DD', '2024/02/29', null],
    ['YYYYMMDD', '20240229 00:00', '2024-02-29'],
    ['YYYYMMDD', '20230229', null],
    ['YYYY/MM/DD', '2024/2/9', '2024-02-09'],
    ['MM/DD/YYYY', '2/29/2024', '2024-02-29'],
    ['MM/DD/YYYY', '02-29-2024', '2024-02-29'],
    ['MM/DD/YYYY', '02-29/2024', null],
    ['MM/DD/YYYY', '1/3/2024 12:00:00 AM', '2024-01-03'],
    ['DD/MM/YYYY', '29.02.2024', '2024-02-29'],
    ['DD/MM/YYYY', '2/29/2024', null],
    ['DD-Mon-YYYY', '29-Feb-2024', '2024-02-29'],
    ['DD-Mon-YYYY', '3 December 99', '1999-12-03'],
    ['DD-Mon-YYYY', '29-Foo-2024', null],
    ['Mon DD, YYYY', 'Feb 29, 2024', '2024-02-29'],
    ['epoch seconds', '1704205800', '2024-01-02'],
    ['epoch seconds', '-1', '1969-12-31'],
    ['epoch milliseconds', '1704205800000', '2024-01-02'],
  ] as const)('as %s: %s is %s', (format, text, wanted) => {
    const day = new DateReader(format).read(text)
    expect(day === null ? null : formatDay(day)).toBe(wanted)
  })

  it('reads the same from bytes', () => {
    const reader = new DateReader('YYYY-MM-DD')
    for (const text of ['2024-02-29', '0001-01-01', '9999-12-31']) {
      expect(reader.at(Buffer.from(`x${text}x`), 1, 11)).toBe(reader.read(text))
    }
    for (const text of ['2023-02-29', '2024-0a-01', '2024-01-1x', 'x024-01-01', '2024x01-01', '2024-01'])
      expect(reader.at(Buffer.from(text), 0, text.length)).toBeNaN()
  })

  it('is guessed by what most are, month or day first by parts above 12', () => {
    expect(guessDateFormat(['2024-01-02', 'x'])).toEqual({ format: 'YYYY-MM-DD' })
    expect(guessDateFormat(['1/2/2024', '1/13/2024'])).toEqual({ format: 'MM/DD/YYYY' })
    expect(guessDateFormat(['1/2/2024', '13/1/2024'])).toEqual({ format: 'DD/MM/YYYY' })
    expect(guessDateFormat(['1/13/2024', '13/1/2024', '1/14/2024'])).toEqual({ format: 'MM/DD/YYYY' })
    expect(guessDateFormat(['1/2/2024'])).toEqual({ ambiguous: true })
    expect(guessDateFormat(['1.2.2024'])).toEqual({ format: 'DD/MM/YYYY' })
    expect(guessDateFormat(['', 'x'])).toEqual({ unknown: true })
  })
})

describe('a line', () => {
  it('is cut at its delimiters, not inside quotes', () => {
    expect(splitLine('a, "b, ""c""" ,,d', ',')).toEqual(['a', 'b, "c"', '', 'd'])
    expect(splitLine('5" pipe|x', '|')).toEqual(['5" pipe', 'x'])
  })

  it('tells the column of each field, one past its end for one that is missing', () => {
    const columns = [0, 1, 2, 3, 4].map(field => columnOf('a, "b, c" ,,d', ',', field))
    expect(columns).toEqual([1, 4, 12, 13, 14])
  })
})

describe('a ticker', () => {
  it.each([
    ['aapl', 'AAPL'],
    ['BRK.B', 'BRK.B'],
    ['^gspc', '^GSPC'],
    ['EURUSD=X', 'EURUSD=X'],
    ['399006.sz', '399006.SZ'],
    ['ABCDEFGHIJKLMNOP', 'ABCDEFGHIJKLMNOP'],
    ['ABCDEFGHIJKLMNOPQ', null],
    ['', null],
    ['A B', null],
    ['BTC/USD', null],
    ['X:BTCUSD', null],
    ['ſ', null],
    ['A\n', null],
  ])('%s is %s', (text, ticker) => {
    expect(parseTicker(text)).toBe(ticker)
  })
})
