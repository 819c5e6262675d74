import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  BadData,
  type BandsError,
  Busy,
  ConfigError,
  InvalidParameter,
  MethodNotAllowed,
  NotFound,
  RateLimited,
  StorageError,
  TierRestricted,
  Unauthorized,
  Unavailable,
  Upstream,
} from '../../src/errors.js'
import { FIELDS } from '../../src/fields/index.js'
import { Cache } from '../../src/local/cache.js'
import { Local } from '../../src/local/local.js'
import { parseDay } from '../../src/model/day.js'
import type { EventsPage } from '../../src/model/event.js'
import type { OversoldPage } from '../../src/model/oversold.js'
import { TIER_NAMES, TIMEFRAME_NAMES, type Tier } from '../../src/model/terms.js'
import { parseEvents, parseOversold } from '../../src/params/parse.js'
import { Malformed, refusal } from '../../src/server/exchange.js'
import { resolve, type Schema, schemaRef } from '../../src/server/openapi/document.js'
import { openApi } from '../../src/server/openapi.js'
import { simulatedTickers } from '../../src/simulate/simulate.js'
import { openSqlite } from '../../src/store/sqlite/data.js'
import type { Store } from '../../src/store/store.js'
import { entitle, grantedFields } from '../../src/tiers.js'
import { ERROR_SHAPES, errorBody, internalErrorBody } from '../../src/wire/format.js'
import { ERROR_BODIES, type ErrorType } from '../../src/wire/schemas.js'
import { Documented } from '../support/documented.js'
import {
  ask,
  authorization,
  type Ground,
  type Response,
  type Served,
  serve,
  simulatedGround,
} from '../support/serve.js'
import { loadedStore } from '../support/simulated-store.js'

const TICKERS = [...simulatedTickers({ count: 6, bars: 800, seed: 3, end: parseDay('2018-05-11')! })]
const SAMPLE = fileURLToPath(new URL('../../dist/sample.db', import.meta.url))
const documented = new Documented(openApi({ version: '1.2.3', errors: 'flat' }))

describe('answers of the engine', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bands-'))
  let store: Store
  beforeAll(async () => {
    store = await loadedStore(TICKERS, folder)
  })
  afterAll(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const local = (tier: Tier): Local => new Local(new Cache(store, tier, null))

  it('have about events just the keys that are documented, on every tier, field and timeframe', async () => {
    const pages: EventsPage[] = []
    for (const tier of TIER_NAMES) {
      for (const { name: field } of grantedFields(tier)) {
        for (const timeframe of TIMEFRAME_NAMES)
          pages.push(await local(tier).events(parseEvents({ ticker: 'SIM0001', field, timeframe, limit: 100 })))
      }
    }
    const context = { context_ticker: 'SIM0003', context_field: 'trend_direction', context_band: 'downtrend' }
    pages.push(await local('pro').events(parseEvents({ ticker: 'SIM0002', field: 'rsi_zone', ...context })))
    for (const page of pages) expect(documented.faults(schemaRef('EventsPage'), page)).toBeNull()
    expect(keysOf(pages)).toEqual(documentedKeys('EventsPage'))
    expect(keysOf(pages.flatMap(({ events }) => events))).toEqual(documentedKeys('BandEvent'))
  })

  it('have about oversold tickers just the keys that are documented, on every tier and many dates', async () => {
    const pages: OversoldPage[] = []
    for (const tier of TIER_NAMES) {
      for (const timeframe of TIMEFRAME_NAMES) pages.push(await local(tier).oversold(parseOversold({ timeframe })))
      if (tier === 'free') continue
      for (let day = parseDay('2016-06-01')!; day <= parseDay('2018-05-11')!; day += 40)
        pages.push(await local(tier).oversold({ ...parseOversold({ limit: 100 }), date: day }))
    }
    for (const page of pages) expect(documented.faults(schemaRef('OversoldPage'), page)).toBeNull()
    expect(keysOf(pages)).toEqual(documentedKeys('OversoldPage'))
    expect(keysOf(pages.flatMap(({ matches }) => matches))).toEqual(documentedKeys('OversoldMatch'))
  })
})

const BUILT = existsSync(SAMPLE)
describe.skipIf(!BUILT)(`examples${BUILT ? '' : ' (nothing is built: no dist/sample.db)'}`, () => {
  it('are what the bundled sample answers', async () => {
    const store = openSqlite(SAMPLE, { readonly: true })
    const local = (tier: Tier): Local => new Local(new Cache(store, tier, null))
    const events = async (tier: Tier, params: object): Promise<EventsPage> =>
      local(tier).events(parseEvents({ ticker: 'AAPL', field: 'rsi_zone', limit: 1, ...params }))
    const context = { context_ticker: 'GSPC', context_field: 'trend_direction', context_band: 'downtrend' }
    expect(examplesOf('/v1/events')).toEqual([
      await events('pro', { band: 'oversold' }),
      await events('free', {}),
      await events('pro', { field: 'trend_direction', timeframe: 'weekly' }),
      await events('pro', { band: 'oversold', ...context }),
      await events('pro', { band: 'oversold', before: '2013-01-01' }),
    ])
    const scans = ['pro', 'plus', 'free'] as const
    expect(examplesOf('/v1/scan/oversold')).toEqual(
      await Promise.all(scans.map(tier => local(tier).oversold(parseOversold({})))),
    )
    await store.close()
  })
})

describe('errors', () => {
  it.each(ERROR_SHAPES)('of every class that a caller is told have the documented body (%s)', async shape => {
    const own = new Documented(openApi({ version: '1.2.3', errors: shape }))
    for (const error of told()) {
      const body: unknown = JSON.parse(JSON.stringify(errorBody(error, shape)))
      expect(own.faults(schemaRef(nameOf(error.code)), body), error.name).toBeNull()
      expect(ERROR_BODIES[shape][error.code as ErrorType].safeParse(body).success, error.name).toBe(true)
    }
    expect(own.faults(schemaRef('InternalError'), internalErrorBody('1', shape))).toBeNull()
  })

  it.each(ERROR_SHAPES)('of every class at all leave the server as a documented answer (%s)', shape => {
    const own = new Documented(openApi({ version: '1.2.3', errors: shape }))
    for (const error of [...told(), ...untold()]) {
      const { status, headers, body } = refusal(error, { id: 'id', errors: shape, now: 0 })
      const answer = {
        status,
        headers: headers.filter((_, i) => i % 2 === 0),
        body: JSON.parse(String(body)) as unknown,
      }
      expect(own.faultsOf('/v1/events', answer), error.name).toBeNull()
    }
  })

  it('with a key that nobody described would be found out', () => {
    const body = { error: 'unauthorized', message: 'No.', more: 1 }
    expect(documented.faults(schemaRef('Unauthorized'), body)).toMatch(/additional properties/)
  })

  it('are of one type each, and no body fits the schema of another', () => {
    for (const error of told()) {
      const fitting = Object.entries(ERROR_BODIES.flat).filter(
        ([, schema]) => schema.safeParse(errorBody(error, 'flat')).success,
      )
      expect(fitting.map(([type]) => type)).toEqual([error.code])
    }
  })
})

describe('a server', () => {
  let ground: Ground
  let server: Served
  const events = '/v1/events?ticker=SIM0001&field=rsi_zone'
  beforeAll(async () => {
    ground = await simulatedGround()
    server = await serve(ground)
  })
  afterAll(async () => {
    await server.stop()
    ground.remove()
  })

  it('serves the document, and the page that is made of it', async () => {
    const document = openApi({ version: '0.0.0', errors: 'flat' })
    expect((await server.get('/openapi.json')).json()).toEqual(JSON.parse(JSON.stringify(document)))
    const page = await server.get('/docs')
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/)
  })

  it('answers every kind of request as the document says, headers included', async () => {
    const [free, pro] = [await server.key('free'), await server.key('pro')]
    const found = await server.get(events, pro)
    const answers: [string, number, Response][] = [
      ['/v1/events', 200, found],
      ['/v1/events', 304, await server.get(events, pro, { 'If-None-Match': found.headers.etag! })],
      ['/v1/events', 400, await server.get(`${events}&limit=0x10`, pro)],
      ['/v1/events', 401, await server.get(events)],
      ['/v1/events', 403, await server.get('/v1/events?ticker=SIM0001&field=pe_vs_sector', free)],
      ['/v1/events', 404, await server.get('/v1/events?ticker=NOSUCH&field=rsi_zone', pro)],
      ['/v1/events', 405, await ask(server.url + events, { method: 'POST', headers: authorization(pro) })],
      ['/v1/events', 414, await server.get(`${events}&band=${'x'.repeat(12_500)}`, pro)],
      ['/v1/events', 431, await server.get(events, pro, { 'X-Long': 'x'.repeat(20_000) })],
      ['/v1/scan/oversold', 200, await server.get('/v1/scan/oversold', free)],
      ['/v1/scan/oversold', 403, await server.get('/v1/scan/oversold?date=2024-06-03', free)],
      ['/healthz', 200, await server.get('/healthz')],
      ['/readyz', 200, await server.get('/readyz')],
    ]
    for (const [path, status, answer] of answers) expectDocumented(path, status, answer)
  })

  it('refuses, when the credits are spent, as the document says', async () => {
    const none = { day: 0, hour: 0 }
    const poor = await serve(ground, { credits: { free: none, plus: none, pro: none } })
    expectDocumented('/v1/events', 429, await poor.get(events, await poor.key('plus')))
    await poor.stop()
  })
})

function expectDocumented(path: string, status: number, answer: Response): void {
  const body: unknown = answer.text === '' ? undefined : JSON.parse(answer.text)
  const headers = Object.keys(answer.headers)
  expect(answer.status, path).toBe(status)
  expect(documented.faultsOf(path, { status, headers, body }), `${path} ${status}`).toBeNull()
  expect(documented.headersOf(path, status).filter(name => !headers.includes(name.toLowerCase()))).toEqual([])
}

/** One of every class that a server tells its callers, made as it makes them. */
function told(): BandsError[] {
  const thrown = (ask: () => unknown): BandsError => {
    try {
      ask()
    } catch (error) {
      return error as BandsError
    }
    throw new Error('nothing was thrown')
  }
  return [
    thrown(() => parseEvents({ ticker: 'A', field: 'rsi_zone', band: 'oversol' })),
    thrown(() => parseEvents({ ticker: '\0🙂', field: 'rsi_zone' })),
    thrown(() => parseOversold({ limit: '1e1' })),
    new InvalidParameter('without more', { param: 'ticker' }),
    thrown(() => entitle({ field: FIELDS.at(-1)!.name }, 'free')),
    new TierRestricted('date', 'free', 'plus'),
    new NotFound('no bars for "A".'),
    new NotFound('no bars for "APPL".', ['AAPL']),
    new Unauthorized(),
    new RateLimited('spent', '2026-03-24T00:00:00Z'),
    new MethodNotAllowed('POST', '/v1/events', ['GET', 'HEAD']),
    new Unavailable('The server is shutting down.'),
  ]
}

/** What happens inside a server and is told as something else, or with another status. */
function untold(): Error[] {
  return [
    new Busy('busy'),
    new StorageError('disk'),
    new ConfigError('config'),
    new BadData({ file: 'f', line: 1 }, 'bad'),
    new Upstream('upstream', 'https://bands.example', 502),
    new TypeError('a fault'),
    ...[400, 408, 414, 431].map(status => new Malformed(status, 'malformed', 'request')),
  ]
}

function nameOf(code: string): string {
  return code.replace(/(?:^|_)(.)/g, (_all, letter: string) => letter.toUpperCase())
}

function keysOf(found: readonly object[]): string[] {
  return [...new Set(found.flatMap(Object.keys))].sort()
}

function documentedKeys(name: string): string[] {
  return Object.keys(documented.document.components.schemas[name]!.properties as Schema).sort()
}

function examplesOf(path: string): unknown[] {
  const { document } = documented
  const { content = {} } = resolve(document, document.paths[path]!.get.responses['200']!)
  return Object.values(content['application/json']!.examples!).map(({ value }) => value)
}
