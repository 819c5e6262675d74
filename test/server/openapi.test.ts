import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  BadData,
  BandsError,
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
} from '../../src/core/errors.js'
import { BUILT_IN_FIELDS, FIELDS } from '../../src/core/fields/index.js'
import { parseDay } from '../../src/core/model/day.js'
import type { EventsPage, OversoldPage } from '../../src/core/model/event.js'
import type { SnapshotQuery } from '../../src/core/model/pages.js'
import { TIER_NAMES, TIMEFRAME_NAMES, type Tier } from '../../src/core/model/terms.js'
import { BARS, parseBars } from '../../src/core/params/pages.js'
import { EVENTS, OVERSOLD, parseEvents, parseOversold } from '../../src/core/params/questions.js'
import type { Parameter } from '../../src/core/params/row.js'
import { parseSearch, SEARCH } from '../../src/core/params/search.js'
import { parseSummary, SUMMARY } from '../../src/core/params/summary.js'
import { entitle, grantedFields, OVERSOLD_KEYS, PLANS } from '../../src/core/tiers.js'
import { barsPage } from '../../src/data/local/bars-page.js'
import { Local } from '../../src/data/local/local.js'
import { search } from '../../src/data/local/search.js'
import { tickerSummary } from '../../src/data/local/summary.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import type { Store } from '../../src/data/store/store.js'
import { requestNameHash } from '../../src/server/http/meter.js'
import { isReference, openApi, resolveReference } from '../../src/server/http/openapi.js'
import { type Schema, schemaReference } from '../../src/server/http/openapi-answers.js'
import type { Operation } from '../../src/server/http/openapi-parts.js'
import { errorAnswer, MalformedRequest } from '../../src/server/http/requests.js'
import { ERROR_SHAPES, errorBody, NOTE } from '../../src/server/wire/format.js'
import { errorSchemas } from '../../src/server/wire/schemas.js'
import { Documented } from '../support/documented.js'
import { draws, notInQuick } from '../support/full.js'
import { ANY_CHARACTER } from '../support/random-queries.js'
import { ask, authorization, type Response, serve, serveFile } from '../support/serve.js'
import { loadedStore } from '../support/store.js'

const TABLES = {
  '/v1/events': EVENTS,
  '/v1/scan/oversold': OVERSOLD,
  '/v1/summary/{ticker}': SUMMARY,
  '/v1/search': SEARCH,
  '/v1/ohlcv/{ticker}': BARS,
}
const FLAT = openApi({ version: '1.2.3', errors: 'flat' })
const NESTED = openApi({ version: '1.2.3', errors: 'nested' })
const DOCUMENTS = [FLAT, NESTED]
const documented = new Documented(FLAT)
const TICKERS = [...simulatedTickers({ count: 6, bars: 800, seed: 3, end: parseDay('2018-05-11')! })]
const SAMPLE = fileURLToPath(new URL('../../dist/sample.db', import.meta.url))

describe('the document', () => {
  it('is OpenAPI 3.1: every reference leads somewhere, every part has what the standard asks for', () => {
    for (const document of DOCUMENTS) {
      expect(document.openapi).toMatch(/^3\.1\.\d$/)
      for (const { $ref } of partsOf(document).flatMap(part => (isReference(part) ? [part] : []))) {
        expect($ref).toMatch(/^#\/components\/(schemas|parameters|headers|responses)\/[A-Za-z0-9._-]+$/)
        expect(resolveReference(document, { $ref }), $ref).toBeDefined()
      }
      const operations = operationsOf(document)
      expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
      for (const operation of operations) expectOperation(document, operation)
    }
  })

  notInQuick('has no schema that is not a valid one of 2020-12', () => {
    for (const document of DOCUMENTS) {
      const documented = new Documented(document)
      for (const schema of schemasOf(document)) expect(() => documented.faults(schema, null)).not.toThrow()
    }
  })

  it('says everything once: no two names for one schema, no list of words that is written twice', () => {
    for (const document of DOCUMENTS) {
      const schemas = Object.values(document.components.schemas).map(schema => JSON.stringify(schema))
      expect(new Set(schemas).size).toBe(schemas.length)
      const words = partsOf(document.components.schemas).flatMap(part =>
        'enum' in part ? [JSON.stringify(part.enum)] : [],
      )
      expect(words.filter((list, i) => words.indexOf(list) < i)).toEqual([])
    }
  })

  it('has the parameters of both questions in order, with what is needed and what holds unless given', () => {
    for (const [path, table] of Object.entries(TABLES)) {
      const found = queryOf(path)
      expect(found.map(({ name }) => name)).toEqual(Object.keys(table))
      for (const [i, { about, required, fallback }] of (Object.values(table) as Parameter[]).entries()) {
        const { description, schema, ...rest } = found[i]!
        expect(description.startsWith(about)).toBe(true)
        expect([rest.required, schema.default]).toEqual([required, fallback])
      }
    }
  })

  it('shows the features of a tier: fields, ranges, credits and costs', () => {
    const field = queryOf('/v1/events').find(({ name }) => name === 'field')!.description
    for (const name of BUILT_IN_FIELDS.names) expect(field).toContain(name)
    expect(FLAT['x-fields'].map(found => found.field)).toEqual(BUILT_IN_FIELDS.names)
    expect(FLAT['x-tiers'].map(({ tier, range, credits }) => [tier, range, credits])).toEqual(
      Object.entries(PLANS).map(([tier, { range, credits }]) => [tier, range, credits]),
    )
    expect(FLAT.paths['/v1/events']!.get.description).toMatch(/1 credit, with a context 2 credits/)
    expect(FLAT.paths['/v1/events']!.get.description).toContain('Free 90d, Plus 2y, Pro 5y')
  })

  it('says of each key of a match which tiers see it', () => {
    const properties = FLAT.components.schemas.OversoldMatch!.properties as Record<string, { description: string }>
    for (const [key, { description }] of Object.entries(properties)) {
      const tiers = TIER_NAMES.filter(tier => (OVERSOLD_KEYS[tier] as readonly string[]).includes(key))
      const [, named] = / (Plus and Pro|Pro)\.$/.exec(description) ?? []
      expect(named ?? 'Free and Plus and Pro', key).toBe(
        tiers.map(tier => tier[0]!.toUpperCase() + tier.slice(1)).join(' and '),
      )
    }
  })

  it('asks for a key where one is needed, and nowhere else', () => {
    const needed = Object.entries(FLAT.paths).map(([path, { get }]) => [path, get.security.length > 0])
    expect(needed).toEqual([
      ['/v1/events', true],
      ['/v1/scan/oversold', true],
      ['/v1/summary/{ticker}', true],
      ['/v1/search', true],
      ['/v1/ohlcv/{ticker}', true],
      ['/v1/schema/fields', true],
      ['/v1/account', true],
      ['/v1/watchlist', true],
      ['/v1/watchlist/changes', true],
      ['/healthz', false],
      ['/readyz', false],
    ])
  })

  it('has examples of every answer, and each is one by its schema', () => {
    for (const document of DOCUMENTS) {
      const documented = new Documented(document)
      for (const { responses } of operationsOf(document)) {
        for (const [status, response] of Object.entries(responses)) {
          const { content = {}, headers = {} } = resolveReference(document, response)
          for (const { schema, examples = {} } of Object.values(content)) {
            expect(Object.keys(examples), status).not.toEqual([])
            for (const [name, { value }] of Object.entries(examples))
              expect(documented.faults(schema, value), `${status} ${name}`).toBeNull()
          }
          for (const [name, header] of Object.entries(headers)) {
            const { schema, example } = resolveReference(document, header) as unknown as {
              schema: Schema
              example: unknown
            }
            expect(documented.faults(schema, example), name).toBeNull()
          }
        }
      }
    }
  })
})

describe('the schema of a parameter', () => {
  // A schema says of a text in JSON only that it is one.
  const rows = Object.entries(TABLES)
    .flatMap(([path, table]) => rowsOf(path, table))
    .filter(({ parameter }) => parameter.kind.schema.contentMediaType === undefined)

  for (const { path, name, schema, parameter } of rows) {
    it(`accepts of ${path} ${name} what the server accepts`, () => {
      fc.assert(
        fc.property(texts(parameter.kind.schema), text => {
          const expected = isRead(name, parameter, text)
          expect(documented.accepts(schema, asDocumented(schema, text)), JSON.stringify(text)).toBe(expected)
        }),
        { numRuns: draws(1500) },
      )
    })
  }

  it('accepts of Idempotency-Key what the server accepts', () => {
    const { schema } = FLAT.components.parameters.IdempotencyKey!
    const name = fc.oneof(
      fc.string({ unit: 'binary-ascii', maxLength: 300 }),
      fc.string({ minLength: 250, maxLength: 260 }),
    )
    fc.assert(
      fc.property(fc.oneof(name, fc.constantFrom(...NASTY)), text => {
        const expected = !refuses(() => requestNameHash(['Idempotency-Key', text]))
        expect(documented.accepts(schema, text), JSON.stringify(text)).toBe(expected)
      }),
      { numRuns: draws(1500) },
    )
  })

  /** A number stands in a URL as its decimal digits, and in no other way. */
  function asDocumented(schema: Schema, text: string): unknown {
    const { type } = resolveReference<Schema>(FLAT, schema)
    return type === 'integer' && String(Number(text)) === text ? Number(text) : text
  }
})

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
  const local = (tier: Tier): Local => new Local(store, tier, null)

  it('have about events just the keys that are documented, on every tier, field and timeframe', async () => {
    const pages: EventsPage[] = []
    for (const tier of TIER_NAMES) {
      for (const { name: field } of grantedFields(tier, BUILT_IN_FIELDS)) {
        for (const timeframe of TIMEFRAME_NAMES)
          pages.push(await local(tier).events(parseEvents({ ticker: 'SIM0001', field, timeframe, limit: 100 })))
      }
    }
    const context = { context_ticker: 'SIM0003', context_field: 'trend_direction', context_band: 'downtrend' }
    pages.push(await local('pro').events(parseEvents({ ticker: 'SIM0002', field: 'rsi_zone', ...context })))
    for (const page of pages) expect(documented.faults(schemaReference('EventsPage'), page)).toBeNull()
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
    for (const page of pages) expect(documented.faults(schemaReference('OversoldPage'), page)).toBeNull()
    expect(keysOf(pages)).toEqual(documentedKeys('OversoldPage'))
    expect(keysOf(pages.flatMap(({ matches }) => matches))).toEqual(documentedKeys('OversoldMatch'))
  })
})

const BUILT = existsSync(SAMPLE)
describe.skipIf(!BUILT)(`examples${BUILT ? '' : ' (nothing is built: no dist/sample.db)'}`, () => {
  it('are what the bundled sample answers', async () => {
    const store = openSqlite(SAMPLE, { readonly: true })
    const local = (tier: Tier): Local => new Local(store, tier, null)
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
    const summaries = await Promise.all([
      tickerSummary(local('free'), snapshotOf({ ticker: 'AAPL' })),
      tickerSummary(local('pro'), snapshotOf({ ticker: 'AAPL', fields: 'momentum.rsi_zone', meta: 'true' })),
      tickerSummary(
        local('pro'),
        snapshotOf({ ticker: 'AAPL', fields: 'trend.direction,ohlcv.close', start: '2018-05-10' }),
      ),
    ])
    expect(examplesOf('/v1/summary/{ticker}')).toEqual([...summaries, examplesOf('/v1/events')[0]])
    const filters = [{ field: 'momentum_rsi_zone', op: 'eq', value: 'overbought' }]
    expect(examplesOf('/v1/search')).toEqual([
      await search(local('free'), parseSearch({ filters, fields: ['ticker', 'trend_direction', 'close'] })),
    ])
    expect(examplesOf('/v1/ohlcv/{ticker}')).toEqual([
      await barsPage(local('pro'), parseBars({ ticker: 'AAPL', limit: 2 })),
    ])
    await store.close()
  })
})

describe('errors', () => {
  it.each(ERROR_SHAPES)('of every class at all leave the server as a documented answer (%s)', shape => {
    const own = new Documented(openApi({ version: '1.2.3', errors: shape }))
    for (const error of [...told(), ...untold()]) {
      const { status, headers, body } = errorAnswer(error, { id: 'id', errors: shape, now: 0 })
      const answer = {
        status,
        headers: headers.filter((_, i) => i % 2 === 0),
        body: JSON.parse(String(body)) as unknown,
      }
      expect(own.faultsOf('/v1/events', answer), error.name).toBeNull()
    }
  })

  it('with an undocumented key would fail', () => {
    const body = { error: 'unauthorized', message: 'No.', more: 1 }
    expect(documented.faults(schemaReference('Unauthorized'), body)).toMatch(/additional properties/)
  })

  it('are of one type each, and no body fits the schema of another', () => {
    for (const error of told()) {
      const fitting = Object.entries(errorSchemas('flat')).filter(
        ([, schema]) => schema.safeParse(errorBody(error, 'flat')).success,
      )
      expect(fitting.map(([type]) => type)).toEqual([error.code])
    }
  })
})

const { ground, server } = await serveFile()

describe('a server', () => {
  const events = '/v1/events?ticker=SIM0001&field=rsi_zone'

  it('serves the document, and the page that is made of it', async () => {
    const document = openApi({ version: '0.0.0', errors: 'flat' })
    expect((await server.get('/openapi.json')).json()).toEqual(JSON.parse(JSON.stringify(document)))
    const page = await server.get('/docs')
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/)
  })

  it('answers every kind of request as the document says, headers included', async () => {
    const free = await server.key('free')
    const pro = await server.key('pro')
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
      ['/v1/summary/{ticker}', 200, await server.get('/v1/summary/SIM0001', free)],
      ['/v1/summary/{ticker}', 200, await server.get('/v1/summary/SIM0001?meta=true', pro)],
      ['/v1/summary/{ticker}', 200, await server.get('/v1/summary/SIM0001?start=2024-06-03&meta=true', pro)],
      ['/v1/summary/{ticker}', 200, await server.get('/v1/summary/SIM0001?field=rsi_zone&stats=true', pro)],
      ['/v1/summary/{ticker}', 400, await server.get('/v1/summary/SIM0001?fields=x', free)],
      ['/v1/summary/{ticker}', 403, await server.get('/v1/summary/SIM0001?date=2024-06-03', free)],
      ['/v1/summary/{ticker}', 404, await server.get('/v1/summary/NOSUCH', free)],
      ['/v1/search', 200, await server.get('/v1/search?fields=*', pro)],
      ['/v1/search', 400, await server.get('/v1/search?filters=x', free)],
      ['/v1/search', 403, await server.get('/v1/search?date=2024-06-03', free)],
      ['/v1/ohlcv/{ticker}', 200, await server.get('/v1/ohlcv/SIM0001', free)],
      ['/v1/ohlcv/{ticker}', 400, await server.get('/v1/ohlcv/SIM0001?order=up', free)],
      ['/v1/ohlcv/{ticker}', 404, await server.get('/v1/ohlcv/NOSUCH', free)],
      ['/v1/schema/fields', 200, await server.get('/v1/schema/fields', free)],
      ['/v1/account', 200, await server.get('/v1/account', free)],
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

/** Which bands there are depends on the field, so a band is read when any field has it. */
function isRead(name: string, { kind }: Parameter, text: string): boolean {
  if (kind !== EVENTS.band.kind) return !refuses(() => kind.parse(name, text))
  return BUILT_IN_FIELDS.names.some(field => !refuses(() => parseEvents({ ticker: 'A', field, band: text })))
}

function refuses(read: () => unknown): boolean {
  return thrown(read) !== null
}

/** What is told of a question; null where it is answered. */
function thrown(ask: () => unknown): BandsError | null {
  try {
    ask()
    return null
  } catch (error) {
    if (error instanceof BandsError) return error
    throw error
  }
}

const NASTY = [
  ...['', ' ', '\0', 'A\0B', '\n', 'AAPL\n', ' AAPL', 'a'.repeat(10_000), '🙂', '🙂'.repeat(20), '%FF', '\u{FFFD}'],
  ...['0', '1', '100', '101', '0x10', '1e1', '1e2', '+5', '-0', '-1', '05', '5.0', '5.', '.5', ' 5', '5 ', '٥', '1_0'],
  ...['Infinity', 'NaN', 'null', 'true', '9'.repeat(20), "' OR 1=1 --", '../', '..%2f', '__proto__', 'constructor'],
  ...['2024-02-29', '2023-02-29', '1900-02-29', '2000-02-29', '0000-01-01', '0000-02-29', '9999-12-31', '2024-13-01'],
  ...['2024-00-10', '2024-1-5', '2024-01-05T00:00:00Z', '2024/01/05', '-2024-01-05', '٢٠٢٤-٠١-٠٥', '2024-01-32'],
  ...['ſPY', 'ı', 'K', 'BRK.B', 'brk-b', '^GSPC', 'EURUSD=X', 'A'.repeat(16), 'A'.repeat(17)],
  ...['Oversold', 'oversold ', 'DAILY', 'daily', 'Technology', 'x'.repeat(64), 'x'.repeat(65), '\u2028', '\u2028a'],
  ...['\u0085', 'a\u0085', '\u00A0', '\u3000 \t', 'a\tb', '\u200B', '\u007F', '\uFEFF'],
]

/** Texts of every kind: nasty ones, random ones, and those that are nearly right. */
function texts({ enum: words }: Schema): fc.Arbitrary<string> {
  const right = fc.constantFrom(...((words as string[] | undefined) ?? ['AAPL', '2024-02-29', '50', 'Real Estate']))
  const near = fc
    .tuple(right, fc.nat(), fc.string({ unit: ANY_CHARACTER, maxLength: 2 }), fc.boolean())
    .map(([word, at, put, cut]) => {
      const i = at % (word.length + 1)
      return word.slice(0, i) + put + word.slice(cut ? i + 1 : i)
    })
  const number = fc.integer({ min: -20, max: 130 }).map(String)
  const digits = fc.tuple(fc.nat(9999), fc.nat(14), fc.nat(33))
  const date = digits.map(([y, m, d]) => `${pad(y, 4)}-${pad(m, 2)}-${pad(d, 2)}`)
  const ticker = fc.string({ unit: fc.constantFrom(...'AZaz09.-^=_ '), minLength: 1, maxLength: 18 })
  const any = fc.string({ unit: ANY_CHARACTER, maxLength: 70 })
  const text = fc.string({ unit: 'grapheme', maxLength: 32 })
  return fc.oneof(right, near, number, date, ticker, any, text, fc.constantFrom(...NASTY))
}

function pad(value: number, digits: number): string {
  return String(value).padStart(digits, '0')
}

function rowsOf(path: string, table: Readonly<Record<string, Parameter>>) {
  return queryOf(path).map(({ name, schema }) => ({ path, name, schema, parameter: table[name]! }))
}

function queryOf(path: string) {
  const found = (FLAT.paths[path]!.get.parameters ?? []).map(parameter => resolveReference(FLAT, parameter))
  return found.filter(parameter => parameter.in !== 'header')
}

function expectOperation(document: typeof FLAT, operation: Operation): void {
  const { parameters = [], responses, security, tags } = operation
  const found = parameters.map(parameter => resolveReference(document, parameter))
  const places = found.map(parameter => `${parameter.in} ${parameter.name}`)
  expect(new Set(places).size).toBe(places.length)
  // OpenAPI leaves these three to other parts of the document.
  for (const name of ['Accept', 'Content-Type', 'Authorization']) expect(places).not.toContain(`header ${name}`)
  expect(Object.keys(responses)).toContain('200')
  for (const [status, response] of Object.entries(responses)) {
    expect(status).toMatch(/^[2-5]\d\d$/)
    const { description, headers = {} } = resolveReference(document, response)
    expect(description).not.toBe('')
    expect(Object.keys(headers)).not.toContain('Content-Type')
  }
  for (const scheme of security.flatMap(Object.keys)) expect(document.components.securitySchemes).toHaveProperty(scheme)
  for (const tag of tags) expect(document.tags.map(({ name }) => name)).toContain(tag)
}

function operationsOf(document: typeof FLAT): Operation[] {
  return Object.values(document.paths).map(({ get }) => get)
}

function schemasOf(document: typeof FLAT): Schema[] {
  const { schemas, parameters, headers } = document.components
  const own = partsOf(document.paths).flatMap(part => ('schema' in part ? [part.schema as Schema] : []))
  return [
    ...Object.values(schemas),
    ...[...Object.values(parameters), ...Object.values(headers)].map(({ schema }) => schema),
    ...own,
  ]
}

/** Every object in a value, itself included. */
function partsOf(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return []
  const parts = Object.values(value).flatMap(partsOf)
  return Array.isArray(value) ? parts : [value as Record<string, unknown>, ...parts]
}

function expectDocumented(path: string, status: number, answer: Response): void {
  const body: unknown = answer.text === '' ? undefined : JSON.parse(answer.text)
  const headers = Object.keys(answer.headers)
  expect(answer.status, path).toBe(status)
  expect(documented.faultsOf(path, { status, headers, body }), `${path} ${status}`).toBeNull()
  // Only what is empty has a note.
  const always = documented.headersOf(path, status).filter(name => name !== NOTE)
  expect(always.filter(name => !headers.includes(name.toLowerCase()))).toEqual([])
}

/** One of every class that a server tells its callers, made as it makes them. */
function told(): BandsError[] {
  return [
    thrown(() => parseEvents({ ticker: 'A', field: 'rsi_zone', band: 'oversol' }))!,
    thrown(() => parseEvents({ ticker: '\0🙂', field: 'rsi_zone' }))!,
    thrown(() => parseOversold({ limit: '1e1' }))!,
    new InvalidParameter('without more', { param: 'ticker' }),
    thrown(() => entitle({ field: FIELDS.at(-1)!.name }, 'free', BUILT_IN_FIELDS))!,
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
    ...[400, 408, 414, 431].map(status => new MalformedRequest(status, 'malformed', 'request')),
  ]
}

/** The question about a state. */
function snapshotOf(params: object): SnapshotQuery {
  const read = parseSummary(params)
  if (read.of !== 'snapshot') throw new Error('no question about a state')
  return read.query
}

function keysOf(found: readonly object[]): string[] {
  return [...new Set(found.flatMap(Object.keys))].sort()
}

function documentedKeys(name: string): string[] {
  return Object.keys(documented.document.components.schemas[name]!.properties as Schema).sort()
}

function examplesOf(path: string): unknown[] {
  const { document } = documented
  const { content = {} } = resolveReference(document, document.paths[path]!.get.responses['200']!)
  return Object.values(content['application/json']!.examples!).map(({ value }) => value)
}
