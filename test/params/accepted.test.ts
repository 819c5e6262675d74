import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { didYouMean, suggest } from '../../src/errors.js'
import { FIELDS } from '../../src/fields/index.js'
import { formatDay, parseDay } from '../../src/model/day.js'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../../src/params/parameters.js'
import { parseEvents } from '../../src/params/parse.js'

const GOOD = { ticker: 'AAPL', field: 'rsi_zone' }

describe('a question that is well formed', () => {
  it('gets the defaults of the specification', () => {
    expect([DEFAULT_LIMIT, MAX_LIMIT]).toEqual([10, 100])
    expect(parseEvents({ ticker: 'brk.b', field: 'macd_state' })).toEqual({
      ticker: 'BRK.B',
      field: 'macd_state',
      timeframe: 'daily',
      limit: 10,
    })
  })

  it('becomes days, numbers and a context', () => {
    const params = { timeframe: 'weekly', band: 'oversold', limit: '100', before: '2024-02-29', after: '1969-12-31' }
    const context = { context_ticker: 'spy', context_field: 'trend_direction', context_band: 'downtrend' }
    expect(parseEvents({ ...GOOD, ...params, ...context })).toEqual({
      ...GOOD,
      timeframe: 'weekly',
      band: 'oversold',
      limit: 100,
      before: parseDay('2024-02-29'),
      after: -1,
      context: { ticker: 'SPY', field: 'trend_direction', band: 'downtrend' },
    })
  })

  it('may leave out a parameter by giving undefined', () => {
    expect(parseEvents({ ...GOOD, band: undefined, limit: undefined } as never)).toEqual(parseEvents(GOOD))
  })

  it('may ask for every band of every field', () => {
    for (const { name, bands } of FIELDS)
      for (const band of bands) expect(parseEvents({ ticker: 'A', field: name, band }).band).toBe(band)
  })

  it('may have any limit from 1 to 100, as text or number', () => {
    for (let limit = 1; limit <= 100; limit++) {
      expect(parseEvents({ ...GOOD, limit }).limit).toBe(limit)
      expect(parseEvents({ ...GOOD, limit: String(limit) }).limit).toBe(limit)
    }
  })

  it('may have bounds that leave nothing between', () => {
    const { before, after } = parseEvents({ ...GOOD, before: '2020-01-01', after: '2021-01-01' })
    expect([formatDay(before!), formatDay(after!)]).toEqual(['2020-01-01', '2021-01-01'])
  })
})

describe('suggestions', () => {
  const words = ['oversold', 'overbought', 'neutral', 'low', 'high']

  it('are within two slips, one for up to four letters, nearest first, at most three', () => {
    expect(suggest('oversol', words)).toEqual(['oversold'])
    expect(suggest('ovresold', words)).toEqual(['oversold'])
    expect(suggest('overslod', words)).toEqual(['oversold'])
    expect(suggest('OVERSOLD', words)).toEqual(['oversold'])
    expect(suggest('owersolt', words)).toEqual(['oversold'])
    expect(suggest('owersollt', words)).toEqual([])
    expect(suggest('lwo', words)).toEqual(['low'])
    expect(suggest('hgi', words)).toEqual([])
    expect(suggest('ab', ['aa', 'ba', 'bb', 'abc'])).toEqual(['aa', 'abc', 'ba'])
  })

  it('read as a question', () => {
    expect(didYouMean([])).toBe('')
    expect(didYouMean(['a', 'b'])).toBe(' Did you mean "a" or "b"?')
  })

  it('find any word again after one slip', () => {
    fc.assert(
      fc.property(fc.constantFrom(...words.slice(0, 3)), fc.nat(20), fc.constantFrom('q', ''), (word, at, letter) => {
        const place = at % word.length
        expect(suggest(word.slice(0, place) + letter + word.slice(place + 1), words)).toContain(word)
      }),
      { seed: 1, numRuns: 500 },
    )
  })
})
