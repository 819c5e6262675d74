import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Remote, RemoteOptions } from '../../src/app/remote/remote.js'
import {
  type BandsError,
  Busy,
  InvalidParameter,
  NotFound,
  RateLimited,
  TierRestricted,
  Unauthorized,
  Unavailable,
} from '../../src/core/errors.js'
import { ERROR_SHAPES, errorBody } from '../../src/server/wire/format.js'
import {
  remoteTo as anyRemoteTo,
  asJson,
  good,
  json,
  nobody,
  pageOf,
  QUESTION,
  raw,
  reset,
  type Scripted,
  scripted,
  type Turn,
  text,
} from './upstream.js'

const KEY = 'bands_canary0123456789/+"\\%'

const remoteTo = (at: Pick<Scripted, 'url'>, options: Partial<RemoteOptions> = {}): Remote =>
  anyRemoteTo(at, { key: KEY, ...options })

async function thrownBy(turn: Turn): Promise<BandsError> {
  const remote = remoteTo(await scripted(turn), { retries: 0 })
  return remote.events(QUESTION).then(
    () => expect.unreachable('answered'),
    (error: BandsError) => error,
  )
}

const REFUSALS: [number, BandsError][] = [
  [
    400,
    new InvalidParameter('limit "0" is not an integer from 1 to 100.', {
      param: 'limit',
      value: '0',
      allowed: 'an integer from 1 to 100',
    }),
  ],
  [
    400,
    new InvalidParameter('rsi_zone has no band "up".', {
      param: 'band',
      value: 'up',
      allowed: ['oversold', 'neutral'],
      suggestions: [],
    }),
  ],
  [400, new InvalidParameter('ticker is missing.', { param: 'ticker' })],
  [401, new Unauthorized()],
  [403, new TierRestricted('pe_vs_sector', 'plus', 'pro')],
  [404, new NotFound('no bars for "APPL". Did you mean "AAPL"?', ['AAPL'])],
  [404, new NotFound('there is no /v1/event.')],
  [429, new RateLimited('The 250 credits of the day are spent.', '2199-01-01T00:00:00Z')],
  [503, new Unavailable('The server is shutting down.')],
  [503, new Busy('rsi_zone of ABC waits for an import to be finished.')],
]

describe.each(ERROR_SHAPES)('a refusal in a %s body', shape => {
  it.each(REFUSALS)('of %i is the error that the local engine throws: %s', async (status, error) => {
    const thrown = await thrownBy(json(errorBody(error, shape), status))
    expect(thrown.constructor).toBe(error.constructor)
    expect([thrown.code, thrown.message, thrown.payload()]).toEqual([error.code, error.message, error.payload()])
  })
})

describe('a refusal with fewer details', () => {
  it.each<[string, number, object, BandsError]>([
    [
      'an upgrade and nothing else',
      403,
      { upgrade_url: 'https://x.example/up' },
      new TierRestricted('unknown', 'unknown', 'unknown', { message: '', upgradeUrl: 'https://x.example/up' }),
    ],
    [
      'a nested one of another type',
      403,
      { error: { type: 'forbidden', message: 'No.', upgrade_url: 'https://x.example' } },
      new TierRestricted('unknown', 'unknown', 'unknown', { message: 'No.', upgradeUrl: 'https://x.example' }),
    ],
    ['a type without a message', 401, { error: 'unauthorized' }, new Unauthorized()],
    [
      'a limit with a reset that is no moment',
      429,
      { error: 'rate_limit_exceeded', message: 'Slowly.', reset: 'tomorrow', upgrade_url: 7 },
      new RateLimited('Slowly.', null),
    ],
  ])('%s', async (_, status, body, error) => {
    const thrown = await thrownBy(json(body, status))
    expect(thrown.constructor).toBe(error.constructor)
    if (error.message !== '') expect(thrown.message).toBe(error.message)
    if (error instanceof TierRestricted)
      expect(thrown).toMatchObject({ upgradeUrl: error.upgradeUrl, feature: 'unknown' })
    if (error instanceof RateLimited) expect(thrown).toMatchObject({ reset: null })
  })

  it.each<[number, object, RegExp]>([
    [
      500,
      { error: 'internal_error', message: 'The server failed.', request_id: 'r-17' },
      /answered 500 Internal Server Error: The server failed\. \(request r-17\)\.$/,
    ],
    [400, {}, /answered 400 Bad Request\.$/],
    [403, { error: 'forbidden', message: 'Not from here.' }, /answered 403 Forbidden: Not from here\.$/],
    [404, {}, /answered 404 Not Found; is the address right\?$/],
    [
      405,
      { error: 'method_not_allowed', message: 'GET is not allowed.' },
      /answered 405 Method Not Allowed: GET is not allowed\.$/,
    ],
    [418, { error: 42 }, /answered 418 I'm a Teapot\.$/],
    [799, {}, /answered 799\.$/],
  ])('%i with %j is told as what it is', async (status, body, sentence) => {
    const thrown = await thrownBy(json(body, status))
    expect(thrown).toMatchObject({ code: 'upstream', status })
    expect(thrown.message).toMatch(sentence)
  })

  it('400 of a type that is not known is about the question all the same, which is how a key is checked', async () => {
    const turn = json({ error: { type: 'missing_parameter', message: 'ticker is required' } }, 400)
    const thrown = await thrownBy(turn)
    expect(thrown).toBeInstanceOf(InvalidParameter)
    expect([thrown.message, (thrown as InvalidParameter).param]).toEqual(['ticker is required', 'request'])
    await remoteTo(await scripted(turn)).checkKey()
  })

  it('cannot steer a terminal, turn text round, or fill the screen', async () => {
    const message = `\u001b[31mred\u009b2J\u202e${'x'.repeat(100_000)}\r\nerror: forged`
    const thrown = await thrownBy(json({ error: 'not_found', message, suggestions: ['\u0007bell', 7, null] }, 404))
    expect(thrown).toBeInstanceOf(NotFound)
    expect(thrown.message).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
    expect(thrown.message.length).toBeLessThan(2_100)
    expect((thrown as NotFound).suggestions).toEqual(['\\u0007bell'])
  })
})

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])('%i is not followed, and its target hears nothing', async status => {
    const other = await scripted(good)
    const upstream = await scripted(text('', status, { location: `${other.url}/v1/events?k=${KEY}` }))
    await expect(remoteTo(upstream).events(QUESTION)).rejects.toMatchObject({
      code: 'upstream',
      status,
      message: `${upstream.url} answered ${status}, a redirect to ${other.url}/v1/events?k=****; redirects are not followed.`,
    })
    expect(other.arrivals).toEqual([])
    expect(upstream.arrivals).toHaveLength(1)
  })
})

describe('the key', () => {
  it('is sent as a bearer token to the address that was named, and nothing else is', async () => {
    const upstream = await scripted(good)
    await remoteTo(upstream).events(QUESTION)
    const [{ method, url, headers }] = upstream.arrivals as [Scripted['arrivals'][0]]
    expect(headers.authorization).toBe(`Bearer ${KEY}`)
    expect(method).toBe('GET')
    expect(url).toBe('/v1/events?ticker=ABC&field=rsi_zone&timeframe=daily&limit=10')
    expect(Object.keys(headers).sort()).toEqual([
      'accept',
      'accept-encoding',
      'authorization',
      'connection',
      'host',
      'idempotency-key',
      'user-agent',
    ])
  })

  const LISTS = { allowed: [KEY], suggestions: [KEY] }
  const LATER = { 'retry-after': '99999' }
  const TIERS = { tier: KEY, required_tier: KEY }
  const echo = `you sent Bearer ${KEY} as ${encodeURIComponent(KEY)}`
  it.each<[string, Turn]>([
    ['a message', json({ error: 'not_found', message: echo }, 404)],
    ['a message that is cut', json({ error: 'not_found', message: KEY.repeat(1000).slice(KEY.length - 20) }, 404)],
    ['a nested message', json({ error: { type: 'unauthorized', message: echo } }, 401)],
    [
      'every member of a body',
      json({ error: 'invalid_parameter', message: echo, param: KEY, value: KEY, ...LISTS }, 400),
    ],
    ['a tier', json({ error: 'tier_restricted', message: echo, feature: KEY, ...TIERS, upgrade_url: KEY }, 403)],
    ['a limit', json({ error: 'rate_limit_exceeded', message: echo, reset: KEY, upgrade_url: KEY }, 429, LATER)],
    ['an internal error', json({ error: 'internal_error', message: echo, request_id: KEY }, 500)],
    ['a content type', text('', 200, { 'content-type': KEY })],
    ['an encoding', asJson('', { 'content-encoding': KEY })],
    ['a redirect', text('', 302, { location: `https://x.example/${encodeURIComponent(KEY)}` })],
    ['a page', json({ ticker: KEY })],
    ['a ticker of a page', json(pageOf([], { ticker: KEY }))],
    ['a header that is too long', raw(`HTTP/1.1 200 OK\r\nx: ${KEY.repeat(2000)}\r\n\r\n`)],
    ['what is not HTTP', raw(`${KEY}\r\n\r\n`)],
    ['a reset', reset],
  ])('is not repeated, though a server echoes it in %s', async (_, turn) => {
    const thrown = await thrownBy(turn)
    expect(everythingSaid(thrown)).not.toContain('canary')
  })

  it('is not seen by looking into what holds it', async () => {
    const upstream = await scripted(good)
    const remote = remoteTo(upstream)
    await remote.events(QUESTION)
    expect(inspect(remote, { depth: 20, showHidden: true })).toBe(`Remote(${upstream.url})`)
    expect(JSON.stringify(remote)).not.toContain('canary')
    const lost = remoteTo({ url: await nobody() }, { retries: 0 })
    await lost.events(QUESTION).catch((error: BandsError) => expect(everythingSaid(error)).not.toContain('canary'))
  })

  it.each(['', ' ', 'two words', 'line\nfeed', 'bands_ümlaut', 'x'.repeat(513)])(
    'is refused without being told: %j',
    key => {
      expect(() => remoteTo({ url: 'https://api.example.com' }, { key })).toThrow(
        'the API key is empty, too long, or has characters that no key has.',
      )
    },
  )
})

describe('an address', () => {
  const open = (url: string, options: Partial<RemoteOptions> = {}) => remoteTo({ url }, options).url

  const refusalOf = (url: string): InvalidParameter => {
    try {
      expect.unreachable(`opened ${open(url)}`)
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidParameter)
      return error as InvalidParameter
    }
  }

  it('may be https anywhere, and plain http to this machine only', () => {
    expect(open('https://api.example.com/')).toBe('https://api.example.com')
    expect(open('https://api.example.com:8443/bands//')).toBe('https://api.example.com:8443/bands')
    for (const host of ['localhost:1', '127.0.0.1:1', '127.8.8.8:1', '[::1]:1'])
      expect(open(`http://${host}`)).toBe(`http://${host}`)
    const names = ['api.example.com', '127.0.0.1.example.com', '10.0.0.1', 'localhost.example.com', '0.0.0.0']
    for (const url of names.map(name => `http://${name}`))
      expect(() => open(url)).toThrow(/would be sent the key unencrypted; use https, or say allow_plain_http\.$/)
    expect(open('http://10.0.0.1', { allowPlainHttp: true })).toBe('http://10.0.0.1')
  })

  it.each([
    ['api.example.com', '"api.example.com" is no address of a server, such as https://api.example.com.'],
    ['ftp://api.example.com', '"ftp://api.example.com" is no address of a server, such as https://api.example.com.'],
    ['', '"" is no address of a server, such as https://api.example.com.'],
    [
      'https://me:secret@api.example.com',
      'an address has no user name and no password in it; a key is all that is sent.',
    ],
    ['https://me:secret@api example.com', 'this is no address of a server, such as https://api.example.com.'],
    ['https://api.example.com?x=1', '"https://api.example.com?x=1" goes on after its path, where an address ends.'],
    [
      'https://api.example.com/v1/',
      'https://api.example.com/v1 ends with /v1, with which every path begins; leave it out.',
    ],
    ['https://api.example.com#x', '"https://api.example.com#x" goes on after its path, where an address ends.'],
  ])('%s is refused', (url, message) => {
    const thrown = refusalOf(url)
    expect(thrown.message).toBe(message)
    expect(everythingSaid(thrown)).not.toContain('secret')
  })

  it.each([
    ['api.example.com', ['https://api.example.com']],
    ['localhost:8080/base', ['http://localhost:8080/base']],
    ['127.0.0.1:1', ['http://127.0.0.1:1']],
    ['https://api.example.com/v1', ['https://api.example.com']],
    ['me:secret@api.example.com', undefined],
    ['not an address', undefined],
    ['', undefined],
  ])('that is nearly one is named: %s', (text, suggestions) => {
    expect(refusalOf(text).offence.suggestions).toEqual(suggestions)
  })

  it('through an invalid proxy is refused without showing it', () => {
    const env = { HTTPS_PROXY: 'user:secret@proxy' }
    const open = () => remoteTo({ url: 'https://api.example.com' }, { env })
    expect(open).toThrow(/^the proxy that HTTPS_PROXY or HTTP_PROXY names is no address/)
  })
})

/** All that can be seen of an error: text, stack, causes, members, and what a program or a log makes of it. */
function everythingSaid(error: BandsError): string {
  return [
    error.message,
    error.stack,
    inspect(error, { depth: 20, showHidden: true }),
    JSON.stringify(error),
    JSON.stringify(error.payload()),
  ].join('\n')
}
