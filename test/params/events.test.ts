import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { didYouMean, InvalidParameter, suggest } from '../../src/core/errors.js'
import { BUILT_IN_FIELDS, FIELDS } from '../../src/core/fields/index.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import {
  DEFAULT_LIMIT,
  EVENTS,
  EVENTS_WITH_CONDITIONS,
  type EventsParams,
  MAX_LIMIT,
  parseEvents,
  parseHistory,
} from '../../src/core/params/questions.js'
import { tierValue } from '../../src/core/params/values.js'

const EVENTS_PARAMETERS = Object.keys(EVENTS) as (keyof EventsParams)[]
const GOOD = { ticker: 'AAPL', field: 'rsi_zone' }
const CONTEXT = { context_ticker: 'SPY', context_field: 'trend_direction', context_band: 'downtrend' }
const RSI_BANDS = 'deep_oversold oversold neutral_low neutral neutral_high overbought deep_overbought'.split(' ')
const SQL = "'; DROP TABLE bars; --"
const NASTY = ['\0', 'A\0B', '🚀', ' ', '\n', 'x'.repeat(10_000), '%00', SQL, '\u202eevil', '\ud800', 'null']

/** The refusal of a question. */
function refused(params: object, parse: (params: EventsParams) => unknown = parseEvents): InvalidParameter {
  try {
    parse(params as EventsParams)
  } catch (error) {
    if (error instanceof InvalidParameter) return error
    throw error
  }
  return expect.fail(`${JSON.stringify(params)} was not refused`)
}

describe('a wrong value is refused with the parameter, the value, the valid values and the nearest one', () => {
  it.each([
    ['field', 'rsi_zon', BUILT_IN_FIELDS.names, ['rsi_zone']],
    ['field', 'RSI_ZONE', BUILT_IN_FIELDS.names, ['rsi_zone']],
    ['field', 'nothing_like_it', BUILT_IN_FIELDS.names, []],
    ['band', 'oversol', RSI_BANDS, ['oversold']],
    ['band', 'Oversold', RSI_BANDS, ['oversold']],
    ['band', 'strong_uptrend', RSI_BANDS, []],
    ['timeframe', 'dayly', ['daily', 'weekly'], ['daily']],
    ['timeframe', 'DAILY', ['daily', 'weekly'], ['daily']],
    ['timeframe', 'monthly', ['daily', 'weekly'], []],
  ] as const)('%s %s', (param, value, allowed, suggestions) => {
    const error = refused({ ...GOOD, [param]: value })
    expect(error.code).toBe('invalid_parameter')
    expect(error.payload()).toEqual({ param, value, allowed, suggestions })
    expect(error.message).toContain(JSON.stringify(value))
    for (const word of suggestions) expect(error.message).toContain(`Did you mean "${word}"`)
    if (suggestions.length === 0) expect(error.message).not.toContain('Did you mean')
  })

  it.each(['context_field', 'context_band'] as const)('%s', param => {
    const value = param === 'context_field' ? 'trend_directoin' : 'downtrnd'
    const error = refused({ ...GOOD, ...CONTEXT, [param]: value })
    expect(error.payload()).toMatchObject({ param, value, suggestions: [CONTEXT[param]] })
  })

  it.each(['before', 'after'])('%s, no calendar date as YYYY-MM-DD', param => {
    const values = '2023-02-29 2024-1-5 2024-13-01 yesterday 20240105 2024-01-05T00:00Z 05/01/2024 0'.split(' ')
    for (const value of values) {
      const error = refused({ ...GOOD, [param]: value })
      expect(error.payload()).toEqual({ param, value, allowed: 'a calendar date as YYYY-MM-DD' })
      for (const part of [param, JSON.stringify(value), 'YYYY-MM-DD']) expect(error.message).toContain(part)
    }
  })

  it.each([...'0x10 1e1 +5 -0 01 1.0 0 101 -1 1e400 ٣ ５ ten 1_0 100000000000'.split(' '), ...[' 5', '5 ', '5\n']])(
    'limit %j',
    value => {
      const error = refused({ ...GOOD, limit: value })
      expect(error.payload()).toEqual({ param: 'limit', value, allowed: 'an integer from 1 to 100' })
      for (const part of ['limit', '1 to 100']) expect(error.message).toContain(part)
    },
  )

  it.each([0, 101, 1.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e21])('limit as the number %d', value => {
    expect(refused({ ...GOOD, limit: value }).param).toBe('limit')
  })

  it.each(['ticker', 'context_ticker'])('%s, malformed', param => {
    const odd = NASTY.filter(text => text !== 'null')
    for (const value of [...odd, 'A B', '12345678901234567', 'A/B', 'ſPY', '../etc']) {
      const error = refused({ ...GOOD, ...CONTEXT, [param]: value })
      expect(error.payload()).toMatchObject({ param, value })
      expect(error.message).toContain(param)
      expect(error.message).toContain('16')
    }
  })

  it('as a tier', () => {
    expect(() => tierValue('tier', 'gold')).toThrow(InvalidParameter)
    expect(tierValue('tier', 'plus')).toBe('plus')
  })
})

describe('nothing odd gets through or onto a terminal', () => {
  it.each(EVENTS_PARAMETERS)('%s', param => {
    for (const value of ['', ...NASTY]) {
      if (value === 'null' && param.endsWith('ticker')) continue
      const error = refused({ ...GOOD, ...CONTEXT, [param]: value })
      expect(error.param).toBe(param)
      expect(error.message).not.toMatch(/\p{Cc}/u)
      expect(error.message.length).toBeLessThan(700)
    }
  })

  it.each(EVENTS_PARAMETERS)('%s as no text', param => {
    for (const value of [null, true, {}, ['x'], ['a', 'b']])
      expect(refused({ ...GOOD, ...CONTEXT, [param]: value }).param).toBe(param)
  })
})

describe('parameters themselves', () => {
  it.each([
    ['befor', ['before']],
    ['Limit', ['limit']],
    ['context_tikcer', ['context_ticker']],
    ['apikey', []],
    ['__proto__x', []],
  ])('there is no %s', (param, suggestions) => {
    const error = refused({ ...GOOD, [param]: '1' })
    expect(error.payload()).toMatchObject({ param, allowed: EVENTS_PARAMETERS, suggestions })
    expect(error.message).toContain(param)
  })

  it('whose name is odd is not printed as it is', () => {
    const error = refused({ ...GOOD, '\u001b[31m\0': '1' })
    expect(error.message).not.toMatch(/\p{Cc}/u)
    expect(refused({ ...GOOD, ['x'.repeat(10_000)]: '1' }).message.length).toBeLessThan(700)
    expect(refused(JSON.parse('{"ticker":"A","field":"rsi_zone","__proto__":"1"}') as object).param).toBe('__proto__')
  })

  it.each(['ticker', 'field'])('%s must be there', param => {
    const error = refused({ ...GOOD, [param]: undefined })
    expect(error.param).toBe(param)
    expect(error.message).toContain(`${param} is missing`)
  })

  it('context_* go together; the missing ones are named', () => {
    const names = ['context_ticker', 'context_field', 'context_band'] as const
    for (let mask = 1; mask < 7; mask++) {
      const given = names.filter((_, i) => mask & (1 << i))
      const missing = names.filter(name => !given.includes(name))
      const error = refused({ ...GOOD, ...Object.fromEntries(given.map(name => [name, CONTEXT[name]])) })
      expect(error.param).toBe(missing[0])
      for (const name of missing) expect(error.message.split('missing:')[1]).toContain(name)
      for (const name of given) expect(error.message.split('missing:')[1]).not.toContain(name)
    }
  })

  it('a history takes no limit, and its context may leave the band open', () => {
    expect(refused({ ...GOOD, limit: 5 }, parseHistory).param).toBe('limit')
    const { context_band: _, ...open } = CONTEXT
    expect(parseHistory({ ...GOOD, ...open }).context).toEqual({ ticker: 'SPY', field: 'trend_direction' })
    expect(refused({ ...GOOD, context_field: 'rsi_zone' }, parseHistory).param).toBe('context_ticker')
    expect(refused({ ...GOOD, context_band: 'oversold' }, parseHistory).message).toContain('context_ticker')
  })
})

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
      bands: ['oversold'],
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
      for (const band of bands) expect(parseEvents({ ticker: 'A', field: name, band }).bands).toEqual([band])
  })

  it('may name several bands, in one text or as a list, where it is not sent to a server as it is', () => {
    for (const band of ['overbought,oversold', ['overbought', 'oversold'], ['overbought, oversold', 'oversold']]) {
      expect(parseEvents({ ...GOOD, band }, EVENTS_WITH_CONDITIONS).bands).toEqual(['oversold', 'overbought'])
      expect(parseHistory({ ...GOOD, band }).bands).toEqual(['oversold', 'overbought'])
    }
    for (const band of ['oversold,overboght', ['oversold', 'overboght']]) {
      const error = refused({ ...GOOD, band }, parseHistory)
      expect([error.param, error.offence.value, error.offence.suggestions]).toEqual([
        'band',
        'overboght',
        ['overbought'],
      ])
    }
    expect(refused({ ...GOOD, band: 'oversold,overbought' }).message).toMatch(
      /^band "oversold,overbought" is not one of /,
    )
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

  it('are looked for among words that begin alike where there are very many', () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => `Z${i}A`)
    expect(suggest('oversolt', [...many(4_000), 'oversold', 'aversold'])).toEqual(['oversold', 'aversold'])
    expect(suggest('Oversolt', [...many(9_000), 'oversold', 'aversold'])).toEqual(['oversold'])
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
