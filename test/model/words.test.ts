import { describe, expect, it } from 'vitest'
import { barsKnownBy, head } from '../../src/model/series.js'
import { parseTicker, reaches, TIER_NAMES, windowNames } from '../../src/model/terms.js'
import { series } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'

describe('a ticker', () => {
  it.each([
    ['aapl', 'AAPL'],
    ['Brk.b', 'BRK.B'],
    ['^gspc', '^GSPC'],
    ['eurusd=x', 'EURUSD=X'],
    ['BTC-USD', 'BTC-USD'],
    ['0123456789ABCDEF', '0123456789ABCDEF'],
  ])('%s is %s', (text, ticker) => {
    expect(parseTicker(text)).toBe(ticker)
  })

  // A long s, a dotless i and a Kelvin sign turn into ASCII letters where case is folded carelessly.
  it.each([
    '',
    ' ',
    'A B',
    'A\0B',
    '0123456789ABCDEFG',
    'A/B',
    'ÄÖ',
    '🚀',
    'MſFT',
    'ıBM',
    '\u212aO',
    'A\n',
    'A,B',
    '../x',
  ])('is not %j', text => {
    expect(parseTicker(text)).toBeNull()
  })
})

it('a tier reaches itself and those below', () => {
  const reached = TIER_NAMES.map(tier => TIER_NAMES.filter(required => reaches(tier, required)))
  expect(reached).toEqual([['free'], ['free', 'plus'], ['free', 'plus', 'pro']])
})

it('windows are named by their bars', () => {
  expect(windowNames('daily')).toEqual(['5d', '10d', '20d', '50d', '100d'])
  expect(windowNames('weekly')).toEqual(['2w', '4w', '8w', '12w', '16w'])
})

describe('a series', () => {
  const five = seriesOf(series([1, 2, 3, 4, 5]))

  it('counts the bars that are final on a day', () => {
    const first = five.days[0]!
    expect([-1, 0, 1, 4, 900].map(later => barsKnownBy(five, first + later))).toEqual([0, 1, 2, 5, 5])
  })

  it('has heads that are views on it', () => {
    const two = head(five, 2)
    expect([...two.close]).toEqual([1, 2])
    expect(two.close.buffer).toBe(five.close.buffer)
    expect(head(five, 0).days.length).toBe(0)
  })
})
