import { describe, expect, it, vi } from 'vitest'
import { backoff, momentAfter, retryAfter } from '../../src/app/remote/patience.js'
import type { RateLimited } from '../../src/core/errors.js'
import { GOOD_PAGE, good, html, json, QUESTION, raw, remoteTo, scripted, type Turn, text } from './upstream.js'

const LIMITED = { error: 'rate_limit_exceeded', message: 'The 100 credits of the hour are spent.' }
const limited = (retryAfter: string, body: object = LIMITED): Turn => json(body, 429, { 'retry-after': retryAfter })

/** A date of HTTP, so many seconds from now. */
const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toUTCString()

describe('a wait that a server asks for', () => {
  it.each<[string, Turn, number]>([
    ['429 in seconds', limited('1'), 1_000],
    ['429 in parts of a second', limited('0.4'), 400],
    ['503 whose body is cut', raw('HTTP/1.1 503 Busy\r\nretry-after: 1\r\ncontent-length: 99\r\n\r\n{'), 1_000],
    ['503 in seconds', text('', 503, { 'retry-after': '1' }), 1_000],
    ['502 of what stands before it', html('<h1>', 502, { 'retry-after': '1' }), 1_000],
  ])('is waited in full: %s', async (_, turn, least) => {
    const upstream = await scripted(turn, turn, good)
    expect(await remoteTo(upstream).events(QUESTION)).toEqual(GOOD_PAGE)
    const [first, second, third] = upstream.arrivals.map(({ at }) => at)
    expect(second! - first!).toBeGreaterThanOrEqual(least)
    expect(third! - second!).toBeGreaterThanOrEqual(least)
  })

  it('is waited in full where it is a date, by the clock of the server', async () => {
    let told = 0
    const dated: Turn = (response, request, socket) => {
      told = Math.floor(Date.now() / 1000) * 1000 + 2_000
      // Ours is an hour ahead; that of the server counts.
      return limited(new Date(told).toUTCString())(response, request, socket)
    }
    const upstream = await scripted(dated, (...turn) => {
      expect(Date.now()).toBeGreaterThanOrEqual(told)
      return good(...turn)
    })
    const hooks = { random: () => 0, now: () => Date.now() + 3_600_000 }
    expect(await remoteTo(upstream, { hooks }).events(QUESTION)).toEqual(GOOD_PAGE)
    expect(upstream.arrivals).toHaveLength(2)
  })

  it.each<[string, Turn, string | null]>([
    ['an hour', limited('3600'), '2026-01-01T01:00:01Z'],
    ['a day, as a date', json(LIMITED, 429, { 'retry-after': inSeconds(86_400) }), null],
    [
      'till the credits begin anew',
      limited('9', { ...LIMITED, reset: '2026-01-02T00:00:00Z' }),
      '2026-01-02T00:00:00Z',
    ],
    ['a billion years', limited('99999999999999999'), null],
    ['a number of 400 digits', limited('9'.repeat(400)), null],
  ])('ends the question at once where it does not fit: %s', async (_, turn, reset) => {
    const upstream = await scripted(turn, good)
    const hooks = { now: () => Date.UTC(2026, 0, 1) }
    const remote = remoteTo(upstream, { timeoutMs: 5_000, hooks })
    const error = await remote.events(QUESTION).catch((thrown: RateLimited) => thrown)
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', message: LIMITED.message })
    if (reset !== null) expect((error as RateLimited).reset).toBe(reset)
    expect(upstream.arrivals).toHaveLength(1)
  })

  it.each([
    ...['-5', '0', 'soon', 'NaN', '1e9', '+3', '0x10', ''],
    ...[inSeconds(-60), '2030-01-01', 'Tue, 99 Foo 2030 00:00:00 GMT'],
  ])('that cannot be obeyed is none: %s', async retryAfter => {
    const upstream = await scripted(limited(retryAfter), good)
    expect(await remoteTo(upstream).events(QUESTION)).toEqual(GOOD_PAGE)
    expect(upstream.arrivals).toHaveLength(2)
  })

  it('is reported when the attempts are used up', async () => {
    const upstream = await scripted(limited('1'))
    const error = await remoteTo(upstream, { retries: 1 })
      .events(QUESTION)
      .catch((thrown: RateLimited) => thrown)
    expect(upstream.arrivals).toHaveLength(2)
    expect((error as RateLimited).reset).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    const unavailable = await scripted(text('', 503, { 'retry-after': '3600' }))
    await expect(remoteTo(unavailable).events(QUESTION)).rejects.toThrow(
      /answered 503 Service Unavailable\. Try again after \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.$/,
    )
  })

  it('is waited by every question', async () => {
    const upstream = await scripted(limited('1'), good)
    const remote = remoteTo(upstream)
    const waiting = remote.events(QUESTION)
    // It has been told; another question comes only then.
    await vi.waitUntil(() => remote.ahead !== null)
    await Promise.allSettled([waiting, remote.events({ ...QUESTION, limit: 20 })])
    const [told, ...later] = upstream.arrivals.map(({ at }) => at)
    expect(later).toHaveLength(2)
    for (const at of later) expect(at - told!).toBeGreaterThanOrEqual(1_000)
  })

  it('that is too long is reported, regardless of the status', async () => {
    const upstream = await scripted(text('', 502, { 'retry-after': '3600' }))
    await expect(remoteTo(upstream).events(QUESTION)).rejects.toThrow(
      /answered 502 Bad Gateway; it answered without a content type, not JSON\. Try again after \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.$/,
    )
    expect(upstream.arrivals).toHaveLength(1)
  })

  it('that ends a question ends those that wait behind it', async () => {
    const upstream = await scripted((response, ...turn) => {
      // Slow enough that those in front have begun.
      setTimeout(() => limited('3600')(response, ...turn), 100)
    })
    const remote = remoteTo(upstream)
    const fields = ['rsi_zone', 'macd_state', 'trend_direction', 'ma_alignment', 'volume_ratio_band', 'support_status']
    const asked = fields.map(field => remote.events({ ...QUESTION, field }))
    const ends = await Promise.allSettled(asked)
    for (const end of ends) expect(end).toMatchObject({ reason: { code: 'rate_limit_exceeded' } })
    expect(upstream.arrivals).toHaveLength(4)
  })
})

describe('patience', () => {
  const now = Date.UTC(2026, 0, 1)

  it('doubles a random wait up to a limit', () => {
    const waits = Array.from({ length: 12 }, (_, i) => backoff(i + 1, () => 0.5))
    expect(waits.slice(0, 4)).toEqual([250, 500, 1000, 2000])
    expect(Math.max(...waits)).toBe(4000)
    expect(backoff(3, () => 0)).toBe(0)
  })

  it('never waits less than requested, in any form', () => {
    const date = 'Thu, 01 Jan 2026 00:01:00 GMT'
    expect(retryAfter({ 'retry-after': '60' }, null, now)).toBeGreaterThanOrEqual(60_000)
    expect(retryAfter({ 'retry-after': date }, null, now)).toBeGreaterThanOrEqual(60_000)
    expect(retryAfter({ 'retry-after': ['5', '60', 'x'] }, null, now)).toBeGreaterThanOrEqual(60_000)
    // The server's clock is half a minute behind ours.
    expect(
      retryAfter({ 'retry-after': date, date: 'Wed, 31 Dec 2025 23:59:30 GMT' }, null, now),
    ).toBeGreaterThanOrEqual(90_000)
    expect(retryAfter({}, '2026-01-01T00:01:00Z', now)).toBeGreaterThanOrEqual(60_000)
  })

  it('is asked for nothing by what is no wait', () => {
    for (const told of ['', '-1', '0', 'Infinity', 'Thu, 01 Jan 2026 00:00:00 GMT', 'Thursday, 01-Jan-26 00:01:00 GMT'])
      expect(retryAfter({ 'retry-after': told }, '2025-12-31T00:00:00Z', now), told).toBeNull()
    expect(retryAfter({}, 'tomorrow', now)).toBeNull()
    expect(retryAfter({}, { seconds: 5 }, now)).toBeNull()
  })

  it('shows a moment to the second, rounded up, and none beyond all calendars', () => {
    expect(momentAfter(now, 1)).toBe('2026-01-01T00:00:01Z')
    expect(momentAfter(now, 1e17)).toBeNull()
    expect(momentAfter(now, Number.POSITIVE_INFINITY)).toBeNull()
  })
})
