import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Remote } from '../../src/app/remote/remote.js'
import type { BandsError } from '../../src/core/errors.js'
import { PERFORMANCES } from '../../src/core/model/series.js'
import { firstInQuick, notInQuick } from '../support/full.js'
import {
  asJson,
  drip,
  eventsBefore,
  GOOD_PAGE,
  good,
  html,
  json,
  nobody,
  pageOf,
  QUESTION,
  raw,
  remoteTo,
  reset,
  scripted,
  silence,
  type Turn,
  text,
} from './upstream.js'

const GZIP = { 'content-encoding': 'gzip' }
const OK_JSON = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
const CHUNKED = `${OK_JSON}transfer-encoding: chunked\r\n\r\n`

/** What a question ends with, once it has ended. */
async function refused(remote: Remote): Promise<BandsError & { status?: number; reset?: string | null }> {
  const answer = await remote.events(QUESTION).then(
    () => null,
    (error: unknown) => error,
  )
  expect(answer).toHaveProperty('code')
  return answer as BandsError
}

describe('a temporary fault is retried', () => {
  it.each<[string, Turn]>([
    ['a reset before the headers', reset],
    ['an end before the headers', raw('')],
    ['an end amid the headers', raw('HTTP/1.1 200 OK\r\ncontent-ty')],
    ['a body shorter than its length', raw(`${OK_JSON}content-length: 500\r\n\r\n{"ti`)],
    ['a chunk that is cut', raw(`${CHUNKED}40\r\n{"tic`)],
    ['chunks without the last', raw(`${CHUNKED}2\r\n{}\r\n`)],
    ['500', json({ error: 'internal_error', message: 'no' }, 500)],
    ['502 with HTML', html('<h1>Bad Gateway</h1>', 502)],
    ['503', text('', 503)],
    ['504', text('late', 504)],
    ['429 without a wait', json({ error: 'rate_limit_exceeded', message: 'slowly' }, 429)],
  ])('after %s', async (_, fault) => {
    const upstream = await scripted(fault, good)
    expect(await remoteTo(upstream).events(QUESTION)).toEqual(GOOD_PAGE)
    expect(upstream.arrivals).toHaveLength(2)
    // One question, so that it is charged once.
    const [first, second] = upstream.arrivals.map(({ headers }) => headers['idempotency-key'])
    expect(first).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    expect(second).toBe(first)
  })

  it.each<[string, Turn, RegExp]>([
    ['resets', reset, /closed the connection before its answer was complete \(asked 4 times\)\.$/],
    ['500', text('', 500), /answered 500 Internal Server Error/],
    ['502', html('<html>', 502), /answered 502 Bad Gateway; it answered with text\/html, not JSON\.$/],
  ])('but not more often than four times: %s', async (_, fault, sentence) => {
    const upstream = await scripted(fault)
    const error = await refused(remoteTo(upstream))
    expect([error.code, error.message]).toEqual(['upstream', expect.stringMatching(sentence)])
    expect(upstream.arrivals).toHaveLength(4)
  })

  it('under the same name when it is asked once more, so that what got lost is not charged twice', async () => {
    const upstream = await scripted(reset, good, good)
    const remote = remoteTo(upstream, { retries: 0 })
    await refused(remote)
    await remote.events(QUESTION)
    await remote.events({ ...QUESTION, limit: 3 })
    const [lost, again, another] = upstream.arrivals.map(({ headers }) => headers['idempotency-key'])
    expect(again).toBe(lost)
    expect(another).not.toBe(lost)
  })

  it('under a new name after a refusal, which costs nothing', async () => {
    const upstream = await scripted(json({ error: 'not_found', message: 'no bars for "ABC".' }, 404), good)
    const remote = remoteTo(upstream)
    await refused(remote)
    await remote.events(QUESTION)
    const [first, second] = upstream.arrivals.map(({ headers }) => headers['idempotency-key'])
    expect(second).not.toBe(first)
  })

  it('as often as is wanted', async () => {
    const upstream = await scripted(reset)
    await refused(remoteTo(upstream, { retries: 0 }))
    expect(upstream.arrivals).toHaveLength(1)
  })

  it('after a server that is not there yet', async () => {
    const error = await refused(remoteTo({ url: await nobody() }))
    expect(error.message).toMatch(/^http:\/\/127\.0\.0\.1:\d+ refuses connections \(asked 4 times\)\.$/)
    expect(error.code).toBe('upstream')
  })
})

describe('a permanent fault is reported at once', () => {
  it.each<[string, Turn, RegExp]>([
    ['HTML', html('<html>hello</html>', 200), /answered with text\/html, not JSON\.$/],
    ['no content type', text('{}'), /answered without a content type, not JSON\.$/],
    ['nothing', asJson(''), /answered nothing\.$/],
    ['no JSON', asJson('{"ticker":'), /answered something that is not JSON\.$/],
    ['no UTF-8', asJson(Buffer.from('{"ticker":"\xff"}', 'latin1')), /is not JSON\.$/],
    ['gzip', asJson(gzipSync('{}'), GZIP), /in the encoding gzip, which was not asked for\.$/],
    ['gzip that is none', asJson('garbage', GZIP), /encoding gzip/],
    [
      'headers over the limit',
      raw(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(40_000)}\r\n\r\n`),
      /headers that are too large\.$/,
    ],
    ['206', json(GOOD_PAGE, 206), /answered 206 Partial Content\.$/],
    ['204', text('', 204), /answered 204/],
    ['501', text('', 501), /answered 501 Not Implemented/],
    ['400 with HTML', html('<h1>', 400), /answered 400 Bad Request/],
    ['403 with HTML', html('<h1>', 403), /answered 403 Forbidden; it answered with text\/html, not JSON\.$/],
    ['404 with HTML', html('<h1>', 404), /answered 404 Not Found; is the address right\?$/],
    ['a sign that steers a terminal', json({ ...GOOD_PAGE, query_range: '\u001b[2J' }), / with control characters\.$/],
    ['such a sign in the name of a key', json({ ...GOOD_PAGE, '\u009b2J': 1 }), / with control characters\.$/],
    ['nesting without an end', asJson(`{"x":${'['.repeat(200_000)}${']'.repeat(200_000)}}`), / is not JSON\.$/],
    ['an array', json([GOOD_PAGE]), /is not a page of events: it is missing or no object\.$/],
    ['null', json(null), /is not a page of events/],
  ])('%s', async (_, fault, sentence) => {
    const upstream = await scripted(fault)
    const error = await refused(remoteTo(upstream))
    expect([error.code, error.message]).toEqual(['upstream', expect.stringMatching(sentence)])
    expect(error.message.startsWith(upstream.url)).toBe(true)
    expect(upstream.arrivals).toHaveLength(1)
  })

  it.each<[string, Turn]>([
    ['HTML', html('<h1>', 401)],
    ['a body that is cut', raw('HTTP/1.1 401 No\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{')],
  ])('401 with %s', async (_, fault) => {
    const error = await refused(remoteTo(await scripted(fault)))
    expect([error.code, error.message]).toEqual(['unauthorized', 'Missing or invalid Bearer token.'])
  })

  it('something that is not HTTP', async () => {
    const upstream = await scripted(raw('+OK ready\r\n\r\n'))
    expect((await refused(remoteTo(upstream))).message).toMatch(/ answered something that is not HTTP/)
  })

  it('an endless body, read only up to the limit', async () => {
    let sent = 0
    const flood: Turn = async (response, _request, socket) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const chunk = Buffer.alloc(1 << 20, ' ')
      while (!socket.destroyed) {
        sent += chunk.length
        if (!response.write(chunk)) await new Promise(resolve => response.once('drain', resolve))
      }
    }
    const upstream = await scripted(flood)
    expect((await refused(remoteTo(upstream))).message).toMatch(/answered with more than 16 MiB\.$/)
    expect(sent).toBeLessThan(64 << 20)
  })
})

it('keeps no closed connections, which Node would warn about', async () => {
  const warnings: Error[] = []
  const warned = (warning: Error): void => void warnings.push(warning)
  process.on('warning', warned)
  const upstream = await scripted((response, ...turn) => {
    response.setHeader('connection', 'close')
    return good(response, ...turn)
  })
  const remote = remoteTo(upstream)
  for (let limit = 3; limit < 33; limit++) await remote.events({ ...QUESTION, limit })
  expect(upstream.arrivals).toHaveLength(30)
  await new Promise(resolve => setImmediate(resolve))
  process.off('warning', warned)
  expect(warnings).toEqual([])
})

describe('a page that is not the one asked for', () => {
  const events = eventsBefore(18_000, 3)
  const changed = (at: number, change: object) => events.map((event, i) => (i === at ? { ...event, ...change } : event))
  const another = 'the page that was asked for:'
  const none = 'a page of events:'
  it.each<[string, object, string]>([
    ['another ticker', { ticker: 'XYZ' }, `${another} ticker is "XYZ", not ABC.`],
    ['another field', { field: 'macd_state' }, `${another} field is "macd_state", not rsi_zone.`],
    ['another timeframe', { timeframe: 'weekly' }, `${another} timeframe is "weekly", not daily.`],
    ['no events', { events: undefined }, `${none} events is missing or no array.`],
    ['no date', { events: changed(1, { date: '2019-02-29' }) }, `${none} events[1].date is not a calendar date.`],
    ['a number for a band', { events: changed(2, { band: 7 }) }, `${none} events[2].band is missing or no string.`],
    [
      'no aftermath',
      { events: changed(0, { aftermath: undefined }) },
      `${none} events[0].aftermath is missing or no object.`,
    ],
    [
      'an unknown performance',
      { events: changed(0, { aftermath: { '5d': { performance: 'superb' } } }) },
      `${none} events[0].aftermath.5d.performance is none of ${PERFORMANCES.join(', ')}.`,
    ],
    [
      'dates that ascend',
      { events: events.toReversed() },
      `${another} events[1].date is 2019-04-12, not before 2019-04-11.`,
    ],
    [
      'a date twice',
      { events: changed(1, { date: events[0]!.date }) },
      `${another} events[1].date is ${events[0]!.date}, not before ${events[0]!.date}.`,
    ],
    [
      'a change that is none',
      { events: changed(1, { band: 'oversold' }) },
      `${another} events[1].prev_band is the band that was entered.`,
    ],
    ['fewer events than it tells', { total_occurrences: 7 }, `${another} it has 3 events of 7.`],
    ['more events than it tells', { total_occurrences: 2 }, `${another} it has 3 events of 2.`],
    [
      'a negative total',
      { total_occurrences: -1 },
      `${none} total_occurrences is not as it should be (Too small: expected number to be >=0).`,
    ],
    [
      'a context',
      { context: { ticker: 'A', field: 'b', band: 'c' } },
      `${another} context is there, and was not asked for.`,
    ],
    [
      'more events than asked for',
      { events: eventsBefore(18_000, 11), total_occurrences: 11 },
      `${another} it has 11 events, more than 10.`,
    ],
  ])('is refused: %s', async (_, change, sentence) => {
    const upstream = await scripted(json({ ...pageOf(events), ...change }))
    expect((await refused(remoteTo(upstream))).message).toBe(
      `${upstream.url} answered something that is not ${sentence}`,
    )
    expect(upstream.arrivals).toHaveLength(1)
  })

  it('is refused for a band, bounds and a context that are not those of the question', async () => {
    const upstream = await scripted(json(pageOf(events)))
    const remote = remoteTo(upstream)
    const context = { ticker: 'SPY', field: 'rsi_zone', band: 'neutral' }
    for (const [filter, sentence] of [
      [{ bands: ['oversold'] }, 'events[1].band is "neutral", not oversold'],
      [{ before: 17_999 }, 'events[0].date is 2019-04-13, not before 2019-04-13'],
      [{ after: 17_997 }, 'events[2].date is 2019-04-11, not after 2019-04-11'],
      [{ context }, 'context is missing'],
    ] as const)
      await expect(remote.events({ ...QUESTION, ...filter })).rejects.toThrow(`that was asked for: ${sentence}.`)
  })

  it('may hold unknown keys, and is passed on unchanged', async () => {
    const page = { extra: { z: 1, a: [null] }, ...pageOf(changed(0, { mood: 'fine' })) }
    const found = await remoteTo(await scripted(json(page))).events(QUESTION)
    expect(JSON.stringify(found)).toBe(JSON.stringify(page))
  })
})

describe('a question ends within its deadline', () => {
  it.each<[string, Turn]>(
    firstInQuick<[string, Turn]>([
      ['silence', silence],
      ['headers that drip', drip('HTTP/1.1 200 OK\r\nx: ', 'x')],
      ['headers that go on', drip('HTTP/1.1 200 OK\r\n', 'x: y\r\n')],
      ['a body that drips', drip(`${OK_JSON}content-length: 1000000\r\n\r\n`, ' ')],
      ['chunks that drip', drip(CHUNKED, '1\r\n \r\n')],
      ['interim answers without an end', drip('', 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n')],
    ]),
  )('%s', async (_, fault) => {
    const upstream = await scripted(fault)
    const error = await refused(remoteTo(upstream, { timeoutMs: 700 }))
    expect([error.code, error.message]).toEqual(['upstream', `${upstream.url} did not answer within 0.7 s.`])
  })

  it('with all its attempts and waits', async () => {
    const upstream = await scripted(text('', 500))
    const error = await refused(remoteTo(upstream, { timeoutMs: 900, retries: 1000, hooks: { random: () => 0.9 } }))
    expect(error.message).toMatch(/answered 500 Internal Server Error/)
    expect(upstream.arrivals.length).toBeGreaterThan(1)
    expect(upstream.arrivals.at(-1)!.at - upstream.arrivals[0]!.at).toBeLessThan(5_000)
  })

  notInQuick('and a refusal whose body drips keeps its meaning', async () => {
    const beginning = 'HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: 99999\r\n\r\n'
    const error = await refused(remoteTo(await scripted(drip(beginning, ' ')), { timeoutMs: 700 }))
    expect(error.code).toBe('unauthorized')
  })
})
