import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Tier } from '../../src/core/model/terms.js'
import type { Screen } from '../../src/research/screen/screen.js'
import { GOOD_PAGE, good, json, nobody, reset, scripted, silence, type Turn, text } from '../remote/upstream.js'
import { firstInQuick, notInQuick } from '../support/full.js'
import { type Ground, type Served, serve, simulatedGround } from '../support/serve.js'
import { expectEnd, expectRefusal, type Lent, type Ran, scratch, typed, unpainted } from './support/run.js'
import { isPasteable, lastLine } from './support/slips.js'

const KEY = 'bands_canary0123456789'

let ground: Ground
let server: Served
const keys = {} as Record<Tier, string>
const folder = scratch()

beforeAll(async () => {
  ground = await simulatedGround({ count: 3, bars: 900 })
  server = await serve(ground)
  for (const tier of ['free', 'plus', 'pro'] as const) keys[tier] = await server.key(tier)
})
afterAll(async () => {
  await server.stop()
  ground.remove()
  folder.remove()
})

/** Asked of the server, by a user who has nothing else. */
function remotely(line: string, { tier = 'pro', ...lent }: Lent & { tier?: Tier } = {}): Promise<Ran> {
  const env = { BANDS_REMOTE: server.url, BANDS_API_KEY: keys[tier], HOME: folder.path, ...lent.env }
  return typed(line, { ...lent, env })
}

/** Asked of the same database without a server, as the tier of the key. */
const locally = (line: string, lent: Lent = {}): Promise<Ran> =>
  typed(line, { ...lent, env: { BANDS_DB: ground.db, BANDS_TIER: 'pro', HOME: folder.path, ...lent.env } })

describe('at a server', () => {
  const SENT = [
    'events SIM0001 rsi_zone --context SIM0003:trend_direction=uptrend',
    'scan oversold --date 2024-03-01',
    'events SIM0001 rsi_zone --limit 5',
    'events SIM0002 macd_state --timeframe weekly --band expanding_positive --after 2023-01-01',
    'events SIM0001 rsi_zone --band oversold,overbought --limit 4',
    'events SIM0001 rsi_zone --band oversold,overbought --limit 50 --context SIM0003:trend_direction=uptrend',
  ]

  test.each(firstInQuick(SENT, 2))(
    'bands %s --json is byte for byte what the server sends, and the database here',
    async line => {
      for (const terminal of [undefined, 80]) {
        const lent = terminal === undefined ? {} : { terminal }
        const far = await remotely(`${line} --json`, lent)
        const near = await locally(`${line} --json`, lent)
        expect(far.out).toBe(near.out)
        expect([far.code, near.code]).toEqual([0, 0])
      }
    },
  )

  test.each([
    ['rsi_zone in (oversold, neutral_low, neutral) and macd_state != expanding_positive', ''],
    ['rsi_zone not in (deep_oversold, deep_overbought)', '--tickers SIM0001,SIM0003'],
    ['rsi_zone not in (deep_oversold, deep_overbought)', '--all'],
    ['rsi_zone = oversold or rsi_zone != oversold', '--tickers SIM0002,SIM0003'],
  ])(
    'bands screen %j %s finds what the database here finds, or says what a search cannot decide',
    async (when, more) => {
      const line = `screen '${when}' ${more}`
      const far = await remotely(`${line} --json`)
      const near = await locally(`${line} --json`)
      if (when.includes(' or ')) return expectRefusal(await remotely(line), 2, 'bands of the last bar, joined by "and"')
      const found = ({ out }: Ran) => {
        const { matches, ...rest } = JSON.parse(out) as Screen
        const own = matches.map(({ since: _since, bars: _bars, ...match }) => match)
        return { ...rest, matches: own.toSorted((a, b) => (a.ticker < b.ticker ? -1 : 1)) }
      }
      expect(found(far)).toEqual(found(near))
      expect(found(far).matches.length).toBeGreaterThan(0)
      expect((await remotely(line, { terminal: 80 })).out).toContain(found(far).matches[0]!.ticker)
    },
  )

  test.each(['--since 5', '--tally', '--context-lag 1'])(
    'bands screen %s is refused, for a search has no bars before the last',
    async more => {
      expectRefusal(await remotely(`screen 'rsi_zone = neutral' ${more}`), 2, 'a search of a server has none')
    },
  )

  test('bands screen refuses a ticker next to --all, at a server as here', async () => {
    const line = `screen 'rsi_zone = neutral' --all --tickers SIM0001`
    for (const ran of [await remotely(line), await locally(line)]) expectRefusal(ran, 2, 'SIM0001 is named')
  })

  test('bands status shows the account of the key, and the credits that it has left', async () => {
    const about = `status --remote ${server.url}`
    const page = JSON.parse((await remotely(`${about} --json`)).out)
    expect([page.tier, page.usage.credit_balance]).toEqual(['pro', page.usage.hourly_requests_remaining])
    const { out } = await remotely(about, { terminal: 80 })
    expect(out).toContain(`${server.url}   ${page.name}   pro`)
    expect(out).toMatch(/hour +\d/)
    expectRefusal(await remotely(`${about} SIM0001`), 2, 'says nothing about the data of a ticker')
  })

  test('bands export bars has the bars of the database here, and says what a server does not hand out', async () => {
    const line = 'export bars --tickers SIM0001,SIM0002 --after 2022-01-31 --before 2024-06-01'
    for (const format of ['', '--csv']) {
      const far = await remotely(`${line} ${format} --remote ${server.url}`)
      const near = await locally(`${line} ${format}`)
      expect(far.out).toBe(near.out)
      expect([far.code, near.code]).toEqual([0, 0])
    }
    expectRefusal(await remotely(`export bars --all --remote ${server.url}`), 2, 'does not list its tickers')
  })

  const TABLES = [
    'events SIM0001 rsi_zone',
    'events SIM0001 rsi_zone --wide --band overbought',
    'transitions SIM0001 trend_direction',
  ]

  test.each(firstInQuick(TABLES))('bands %s is told in rows as the database here is', async line => {
    for (const format of ['--csv', '--ndjson', '']) {
      const far = await remotely(`${line} ${format}`)
      const near = await locally(`${line} ${format}`)
      // What was too early to rank a return is told by prices alone.
      const bare = (out: string): string => out.replaceAll('no_history', 'pending').replace(/ +/g, ' ')
      if (line.startsWith('events')) expect(bare(far.out)).toBe(bare(near.out))
      expect([far.code, far.err]).toEqual([0, near.err])
      expect(far.err).toMatch(/^(\d+ older events are left out: .*\n)?$/)
    }
  })

  test('people see who answered and the remaining credits', async () => {
    const key = await server.key('pro')
    const lent = { terminal: 80, env: { BANDS_REMOTE: server.url, BANDS_API_KEY: key } }
    const { out, err } = await typed('events SIM0001 rsi_zone --limit 2', lent)
    expect(unpainted(out)).toMatch(/^SIM0001 {2}rsi_zone {2}daily {3}\d+ events in 5y, newest 2 {3}as of 2024-06-28\n/)
    const words = unpainted(err).replaceAll(/\s+/g, ' ')
    expect(words).toContain(
      `answered by ${server.url}; 99,999 of 100,000 credits left today, 9,999 of 10,000 left this hour`,
    )
    expect((await typed('events SIM0001 rsi_zone -q', lent)).err).toBe('')
    expect((await typed('events SIM0001 rsi_zone --json', lent)).err).toBe('')
  })

  test.each([
    ['events NONE rsi_zone', 3, 'no bars for "NONE".'],
    ['events SIM001 rsi_zone', 3, 'Did you mean "SIM0001"'],
    ['events SIM0001 rsi_zone --limit 0', 2, '--limit "0" is not an integer from 1 to 100.'],
    ['tally rsi_zone --all', 2, 'does not list its tickers; name them.'],
    ['now', 2, 'does not list its tickers; name them.'],
  ])('bands %s is refused with %i', async (line, code, told) => {
    const ran = await remotely(line)
    expect([ran.code, ran.out]).toEqual([code, ''])
    expect(ran.err.replaceAll(/\s+/g, ' ')).toContain(told)
    expect(ran.err).not.toContain('bands import')
  })

  test('exact returns are known of the database here alone', async () => {
    const ran = await remotely('events SIM0001 rsi_zone --returns --csv --limit 2')
    expect(ran.err.split('\n')[0]).toBe(`exact returns need the database here; ${server.url} does not give them.`)
    expect(ran.code).toBe(0)
  })
})

describe('what a server does not decide', () => {
  test.each([
    [
      'events SIM0001 rsi_zone --tier free',
      '--tier is not for a server: URL answers as the tier of the key; leave it out, or say --remote local.',
    ],
    [
      'events SIM0001 rsi_zone --as-of 2024-01-01',
      '--as-of is not for a server: URL answers as of its own day; leave it out, or say --remote local.',
    ],
    [
      'events SIM0001 rsi_zone --tier pro --remote URL',
      '--tier is not for a server: URL answers as the tier of the key; leave it out.',
    ],
    [
      'tally SIM0001 rsi_zone --db x.db --remote URL',
      '--db is not for a server: URL has its own database; leave it out.',
    ],
  ])('bands %s', async (line, told) => {
    const ran = await remotely(line.replaceAll('URL', server.url))
    expectRefusal(ran, 2, `error: ${told.replaceAll('URL', server.url)}`)
  })

  test('is not passed over when a variable says it', async () => {
    const ran = await remotely('events SIM0001 rsi_zone', { env: { BANDS_AS_OF: '2024-01-01' } })
    expectEnd(ran, 2, 'unset BANDS_AS_OF, or say --remote local')
  })

  test.each([
    'explain SIM0001 rsi_zone',
    'show SIM0001 rsi_zone',
    'export events',
    'import x.csv',
    'fields',
    'fields rsi_zone',
    'simulate 1 --load',
    'facts SIM0001',
    'verify',
    'rebuild',
    'remove SIM0001',
    'unlock',
    'demo',
  ])(
    'bands %s stands on the database here: refused where a server is typed, answered where it is only set',
    async line => {
      for (const option of [`--remote ${server.url}`, '--profile work']) {
        const ran = await typed(`${line} ${option}`, { env: { BANDS_DB: ground.db, HOME: folder.path } })
        expect([ran.code, ran.out]).toEqual([2, ''])
        expect(ran.err.replaceAll('\n', ' ')).toMatch(
          /^error: --(remote|profile) asks a server, and this is about the database here; leave it out\./,
        )
      }
      if (/^(explain|show|facts|fields|verify)/.test(line))
        expect((await remotely(line, { env: { BANDS_DB: ground.db } })).code).toBe(0)
    },
  )

  test.each([
    ['--key-file key.txt', '--key-file is for a server, and none is chosen; give --remote URL, or --profile NAME.'],
    ['--timeout 5', '--timeout is for a server, and none is chosen; give --remote URL, or --profile NAME.'],
    ['--retries 0', '--retries is for a server, and none is chosen; give --remote URL, or --profile NAME.'],
    [
      '--remote local --profile work',
      '--remote local asks the database here, and --profile a server; leave one of them out.',
    ],
  ])('nor what only a server decides, where none is asked: %s', async (options, told) => {
    const ran = await locally(`events SIM0001 rsi_zone ${options}`)
    expectRefusal(ran, 2, `error: ${told}`)
  })

  test('--remote local uses the local database, regardless of settings', async () => {
    const set = { env: { BANDS_DB: ground.db } }
    const here = await remotely('events SIM0001 rsi_zone --csv --remote local --tier free', set)
    const there = await locally('events SIM0001 rsi_zone --csv --tier free')
    expect(here.out).toBe(there.out)
    expect(here.code).toBe(0)
  })

  test.each([
    ['--profile none', 'there is no profile "none"; none is set up.'],
    ['--remote https://api.example.com --timeout 0', '--timeout "0" is not an integer from 1 to 3600.'],
    ['--remote https://api.example.com --retries many', '--retries "many" is not an integer from 0 to 20.'],
    [
      '--remote https://api.example.com --key-file none.txt',
      'there is no file none.txt; --key-file names a file that holds a key.',
    ],
  ])('%s is refused', async (options, told) => {
    const ran = await typed(`events AAPL rsi_zone ${options}`, { env: { BANDS_API_KEY: KEY, HOME: folder.path } })
    expectRefusal(ran, 2, `error: ${told}`)
  })
})

describe('a fault of a server', () => {
  const refusal = (status: number, error: string, more: object = {}): Turn =>
    json({ error, message: 'No.', ...more }, status)
  const FAULTS: [string, Turn | null, number][] = [
    ['HTML', text('<h1>', 200, { 'content-type': 'text/html' }), 7],
    ['another page', json({ ...GOOD_PAGE, ticker: 'XYZ' }), 7],
    ['503 for an hour', text('', 503, { 'retry-after': '3600' }), 8],
    ['429', refusal(429, 'rate_limit_exceeded', { reset: '2199-01-01T00:00:00Z' }), 8],
    ['a redirect', text('', 302, { location: 'https://elsewhere.example' }), 7],
    ['400', refusal(400, 'invalid_parameter', { param: 'ticker' }), 2],
    ['401', refusal(401, 'unauthorized'), 4],
    ['403', refusal(403, 'tier_restricted', { upgrade_url: 'https://x.example' }), 4],
    ['404', refusal(404, 'not_found'), 3],
    // These are asked about again.
    ['nobody there', null, 7],
    ['resets', reset, 7],
    ['silence', silence, 7],
    ['500', text('', 500), 7],
    ['503', text('', 503), 8],
  ]

  test.each(firstInQuick(FAULTS, 12))(
    '%s: one sentence, the right code, nothing on stdout, nothing kept, no key',
    async (_, turn, code) => {
      const home = scratch()
      onTestFinished(home.remove)
      const url = turn === null ? await nobody() : (await scripted(turn)).url
      const env = { BANDS_REMOTE: url, BANDS_API_KEY: KEY, HOME: home.path }
      // Only silence is waited out: a busy machine may take a second for an answer.
      const timeout = turn === silence ? 1 : 20
      for (const format of ['', '--json', '--json --debug', '--debug']) {
        const ran = await typed(`events ABC rsi_zone --timeout ${timeout} --retries 1 ${format}`, { env })
        expect([ran.code, ran.out]).toEqual([code, ''])
        expect(ran.err).not.toContain('canary')
        if (format === '') expect(ran.err.match(/^error: /gm)).toHaveLength(1)
        if (format === '') expect(isPasteable(lastLine(ran.err))).toBe(true)
        if (format === '--json') expect(JSON.parse(ran.err)).toHaveProperty('message')
      }
      expect(existsSync(home.file('.local'))).toBe(false)
      expect(existsSync(home.file('.config'))).toBe(false)
    },
  )

  test('a line after a refused question asks the same server, or says where it can be answered', async () => {
    const { url } = await scripted(good)
    const lastOf = async (line: string) =>
      lastLine((await typed(`${line} --remote ${url}`, { env: { BANDS_API_KEY: KEY } })).err)
    expect(await lastOf('status AAPL')).toBe(`bands status --remote ${url}`)
    expect(await lastOf('now')).toBe(`bands now AAPL --remote ${url}`)
    expect(await lastOf("screen 'rsi_zone enters oversold'")).toBe(
      "bands screen 'rsi_zone enters oversold' --remote local",
    )
  })

  test('a limit says when to come back, and a refused key what to do', async () => {
    const limited = await scripted(
      refusal(429, 'rate_limit_exceeded', { reset: '2199-01-01T00:00:00Z', upgrade_url: 'https://x.example/up' }),
    )
    const env = { BANDS_API_KEY: KEY }
    expect((await typed(`events ABC rsi_zone --remote ${limited.url}`, { env })).err).toBe(
      `error: No.\n  again:   2199-01-01T00:00:00Z\n  upgrade: https://x.example/up\n  try:     bands status --remote ${limited.url}\n`,
    )
    expect(limited.arrivals).toHaveLength(1)
    const refused = await scripted(refusal(401, 'unauthorized'))
    expect((await typed(`events ABC rsi_zone --remote ${refused.url}`, { env })).err).toBe(
      `error: No.\n  key:   BANDS_API_KEY\n  try:   bands doctor --remote ${refused.url}\n`,
    )
  })

  notInQuick('is asked about again as often as --retries says', async () => {
    const upstream = await scripted(reset, reset, good)
    const env = { BANDS_REMOTE: upstream.url, BANDS_API_KEY: KEY }
    expect((await typed('events ABC rsi_zone --retries 1', { env })).code).toBe(7)
    expect((await typed('events ABC rsi_zone --retries 0', { env })).code).toBe(0)
    expect(upstream.arrivals).toHaveLength(3)
  })
})

describe('bands doctor', () => {
  interface Found {
    outcome: string
    detail: string
    remedy: string | null
  }

  /** What it finds of a server, by the name of the check. */
  async function examined(env: Record<string, string>, options = ''): Promise<Record<string, Found>> {
    const home = scratch()
    onTestFinished(home.remove)
    const ran = await typed(`doctor --json ${options}`, { env: { BANDS_DB: ground.db, HOME: home.path, ...env } })
    const checks = JSON.parse(ran.out).checks as (Found & { name: string })[]
    expect(ran.code).toBe(checks.some(({ outcome }) => outcome === 'fail') ? 5 : 0)
    expect(existsSync(home.file('.config'))).toBe(false)
    for (const key of [KEY, keys.plus]) expect(ran.out + ran.err).not.toContain(key)
    return Object.fromEntries(checks.map(({ name, ...found }) => [name, found]))
  }

  test('asks no server where none is chosen', async () => {
    const found = await examined({})
    expect(found.settings?.detail).toMatch(/^no profile in .*config\.json$/)
    expect(found.keys?.detail).toMatch(/^none kept in /)
    expect(found.database?.outcome).toBe('ok')
    expect(found).not.toHaveProperty('server')
  })

  test('asks a server for the key, the plan, the credits and the time, at no cost', async () => {
    for (let i = 0; i < 2; i++) {
      const found = await examined({ BANDS_API_KEY: keys.plus }, `--remote ${server.url} --db ${ground.db}`)
      expect(Object.values(found).map(({ outcome }) => outcome)).not.toContain('fail')
      expect(found.server?.detail).toContain(`${server.url} answers in `)
      expect(found.TLS?.detail).toBe('none, and to this machine itself none is needed')
      expect(found.key?.detail).toBe('it is accepted; it is from BANDS_API_KEY')
      expect(found.plan?.detail).toBe('plus')
      expect(found.credits?.detail).toMatch(/^[\d,]+ of 50,000 credits left today, [\d,]+ of 5,000 left this hour$/)
      expect(found.clock?.detail).toBe('within seconds of that of the server')
    }
  })

  test.each<[string, Turn | null, Record<string, Partial<Found>>]>([
    ['nobody there', null, { server: { outcome: 'fail', detail: expect.stringContaining('refuses connections') } }],
    ['HTML', text('<h1>', 404, { 'content-type': 'text/html' }), { server: { outcome: 'fail' } }],
    [
      'a key that is refused',
      json({ error: 'unauthorized', message: 'No.' }, 401),
      { server: { outcome: 'ok' }, key: { outcome: 'fail', detail: 'it is refused; it is from BANDS_API_KEY' } },
    ],
    [
      'no credits',
      json({ error: 'rate_limit_exceeded', message: 'No.' }, 429, {
        'x-request-limit': '250',
        'x-requests-used': '250',
        'x-requests-remaining': '0',
        'x-request-reset': '2199-01-01T00:00:00Z',
        'retry-after': '9999',
      }),
      {
        key: { outcome: 'ok' },
        plan: { detail: 'free' },
        credits: { outcome: 'warn', remedy: 'wait until 2199-01-01T00:00:00Z' },
      },
    ],
    [
      'a clock that is an hour behind ours',
      (response, ...turn) => {
        response.setHeader('date', new Date(Date.now() - 3_600_000).toUTCString())
        return refusalOfNothing(response, ...turn)
      },
      { credits: { outcome: 'ok', detail: 'not given' }, clock: { outcome: 'warn' } },
    ],
  ])('finds %s', async (_, turn, expected) => {
    const url = turn === null ? await nobody() : (await scripted(turn)).url
    expect(await examined({ BANDS_API_KEY: KEY, BANDS_REMOTE: url }, '--retries 0')).toMatchObject(expected)
  })

  test('finds why a server cannot be used', async () => {
    expect(await examined({ BANDS_REMOTE: server.url })).toMatchObject({
      server: { outcome: 'fail', detail: expect.stringContaining('no API key for') },
    })
    expect(await examined({ BANDS_PROFILE: 'none' })).toMatchObject({ server: { outcome: 'fail' } })
  })

  const refusalOfNothing = json({ error: 'invalid_parameter', message: 'ticker is missing.', param: 'ticker' }, 400)
})
