import { describe, expect, it } from 'vitest'
import { InvalidParameter, NotFound } from '../../src/core/errors.js'
import type { EventsParams } from '../../src/core/params/questions.js'
import { EVENTS, OVERSOLD, parametersOf, parseEvents, parseOversold } from '../../src/core/params/questions.js'
import type { Source } from '../../src/core/source.js'
import { EVENTS_PATH, errorBody, OVERSOLD_PATH } from '../../src/server/wire/format.js'
import { firstInQuick } from '../support/full.js'
import { serveFile } from '../support/serve.js'

/** As they stand in a URL: bytes of every kind, numbers of every spelling, what means something elsewhere. */
const ODD = [
  '',
  'x'.repeat(10_240),
  ...'%20 SIM%000001 %0D%0A %F0%9F%98%80 %C3%A4 %FF%FE %E %ED%A0%80 a,b 2023-02-29'.split(' '),
  ...'0x10 1e1 %2B5 -0 -1 0 5.0 005 %D9%A3 NaN Infinity'.split(' '),
  ...['undefined', '__proto__', "'%20OR%201=1;--", '../../etc/passwd', '%3Cscript%3E'],
]

const ENDPOINTS = {
  [EVENTS_PATH]: {
    table: EVENTS,
    valid: {
      ticker: 'SIM0001',
      field: 'rsi_zone',
      context_ticker: 'SIM0002',
      context_field: 'rsi_zone',
      context_band: 'oversold',
    },
    ask: (search: string) => library().events(parseEvents(parametersOf(search) as unknown as EventsParams)),
  },
  [OVERSOLD_PATH]: {
    table: OVERSOLD,
    valid: {},
    ask: (search: string) => library().oversold(parseOversold(parametersOf(search))),
  },
}

const { server } = await serveFile()
const key = await server.key('pro')

describe.each(Object.entries(ENDPOINTS))('%s', (path, { table, valid, ask }) => {
  const others = (name: string): string[] =>
    Object.entries(valid)
      .filter(([other]) => other !== name)
      .map(([other, value]) => `${other}=${value}`)

  describe.each(Object.keys(table))('%s', name => {
    it.each(firstInQuick(ODD, 6))('%s is refused in the words of the library, or is allowed by it', async value => {
      await expectSame([...others(name), `${name}=${value}`].join('&'))
    })

    it('is missing', () => expectSame(others(name).join('&')))

    it('is given twice', async () => {
      const refused = await expectSame([...others(name), `${name}=a`, `${name}=a`].join('&'))
      expect(refused).toMatchObject({ param: name })
    })

    it('has no equals sign', () => expectSame([...others(name), name].join('&')))

    it('is spelled otherwise', async () => {
      for (const other of firstInQuick([
        name.toUpperCase(),
        `${name}%20`,
        `${name}[]`,
        `${name}%00`,
        `%EF%BB%BF${name}`,
      ]))
        expect(await expectSame([...others(name), `${other}=a`].join('&'))).not.toBeNull()
    })
  })

  it('refuses parameters that there are not', async () => {
    for (const name of ['constructor', '__proto__', 'limits', 'a'.repeat(10_000), '%FF', '%00', '=', '%F0%9F%98%80'])
      expect(await expectSame([...others(''), `${name}=1`].join('&'))).not.toBeNull()
  })

  it('takes empty parts for nothing', () => expectSame(`&&${others('').join('&&')}&`))

  /** The refusal's payload, null when the question is fine; no credit is taken for the former. */
  async function expectSame(search: string): Promise<Record<string, unknown> | null> {
    const expected = await refusalOf(async () => ask(search))
    const answer = await server.get(`${path}?${search}`, key)
    if (expected === null) {
      expect([200, 404], search.slice(0, 200)).toContain(answer.status)
      return null
    }
    expect(answer.status, search.slice(0, 200)).toBe(400)
    expect(answer.json()).toEqual(JSON.parse(JSON.stringify(errorBody(expected, 'flat'))))
    return answer.json()
  }
})

/** The library, asked by the tier of the key. */
function library(): Source {
  return server.service.bands('pro')
}

async function refusalOf(ask: () => Promise<unknown>): Promise<InvalidParameter | null> {
  try {
    await ask()
  } catch (error) {
    if (error instanceof InvalidParameter) return error
    if (!(error instanceof NotFound)) throw error
  }
  return null
}
