import { closeSync, copyFileSync, ftruncateSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLocal } from '../../src/app/open/database.js'
import { Busy, ConfigError, StorageError } from '../../src/core/errors.js'
import { type Day, formatDay, parseDay } from '../../src/core/model/day.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import { parseOversold } from '../../src/core/params/questions.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { generateKey } from '../../src/server/accounts/key.js'
import type { Service } from '../../src/server/http/question.js'
import { ERROR_SHAPES } from '../../src/server/wire/format.js'
import { notInQuick } from '../support/full.js'
import { copyAll } from '../support/pulled.js'
import { ask, authorization, type Served, serve, serveFile, simulatedGround, spend } from '../support/serve.js'
import { smallDisk } from '../support/store.js'

const QUESTION = '/v1/events?ticker=SIM0001&field=rsi_zone'
const SUMMARY = '/v1/summary/SIM0001'
const CREDIT_HEADERS = ['x-request', 'x-hourly-request'].flatMap(name => {
  return [`${name}-limit`, `${name}s-used`, `${name}s-remaining`, `${name}-reset`]
})

const { ground, server } = await serveFile()

describe('the order of checks', () => {
  /** One request each with everything wrong from a point on; what is told is the first of it. */
  it.each([
    ['a key comes before parameters', undefined, '/v1/events?limit=0', 401],
    ['a key comes before paths', undefined, '/v2/nothing', 401],
    ['a key comes before methods', undefined, 'DELETE /v1/events', 401],
    ['parameters come before the tier', 'free', '/v1/events?ticker=NOSUCH&field=net_direction&limit=0', 400],
    ['the tier comes before the ticker', 'free', '/v1/events?ticker=NOSUCH&field=net_direction', 403],
    ['the context is a matter of the tier too', 'free', `${QUESTION}&${context('NOSUCH')}`, 403],
    ['parameters come before credits', 'spent', '/v1/scan/oversold?limit=0', 400],
    ['the tier comes before credits', 'spent', '/v1/events?ticker=SIM0001&field=net_direction', 403],
    ['the day of a scan comes before credits', 'spent', '/v1/scan/oversold?date=2024-06-27', 403],
    ['the ticker comes before credits', 'spent', '/v1/events?ticker=NOSUCH&field=rsi_zone', 404],
    ['credits come last', 'spent', QUESTION, 429],
    ['of a search a key comes first', undefined, '/v1/search?limit=0', 401],
    ['of a search parameters come before the tier', 'free', '/v1/search?limit=0&date=2024-06-03', 400],
    ['of a search the tier comes before credits', 'spent', '/v1/search?date=2024-06-03', 403],
    ['of a search credits come last', 'spent', '/v1/search', 429],
    ['of a summary a key comes first', undefined, SUMMARY, 401],
    ['of a summary parameters come before credits', 'spent', `${SUMMARY}?x=1`, 400],
    ['of a summary the tier comes before the ticker', 'free', '/v1/summary/NOSUCH?date=2024-06-03', 403],
    ['of a summary numbers are a matter of the tier', 'free', '/v1/summary/NOSUCH?field=rsi_zone&stats=true', 403],
    ['of a summary the ticker comes before credits', 'spent', '/v1/summary/NOSUCH?field=rsi_zone', 404],
    ['of a summary credits come last', 'spent', SUMMARY, 429],
    ['of events in a summary credits come last', 'spent', `${SUMMARY}?field=rsi_zone`, 429],
    ['then there is an answer', 'free', QUESTION, 200],
  ] as const)('%s', async (_, who, what, status) => {
    const spent = who === 'spent' ? await spentKey() : null
    const key = who === undefined ? undefined : (spent ?? (await server.key('free')))
    const [first = '', path = first] = what.split(' ')
    const method = first === 'DELETE' ? 'DELETE' : 'GET'
    expect((await ask(server.url + path, { method, headers: authorization(key) })).status).toBe(status)
  })

  it('what the caller has comes before credits', async () => {
    const account = await server.account('spent after an answer', 'free')
    const { etag } = (await server.get(QUESTION, account.key)).headers
    await spend(server.accounts, account, 99, Date.now())
    expect((await server.get(QUESTION, account.key)).status).toBe(429)
    expect((await server.get(QUESTION, account.key, { 'If-None-Match': etag! })).status).toBe(304)
    expect((await server.get(QUESTION, account.key, { 'If-None-Match': '*' })).status).toBe(429)
  })

  async function spentKey(): Promise<string> {
    const account = await server.account(`spent ${Math.random()}`, 'free')
    await spend(server.accounts, account, 100, Date.now())
    return account.key
  }
})

describe('a key', () => {
  it.each([
    ['is missing', []],
    ['is of no key', ['Authorization', `Bearer ${generateKey().key}`]],
    ['has a wrong checksum', ['Authorization', `Bearer ${generateKey().key.slice(0, -1)}~`]],
    ['is sent by another scheme', ['Authorization', 'Basic YTpi']],
    ['is two words', ['Authorization', 'Bearer a b']],
    ['is empty', ['Authorization', 'Bearer ']],
    ['is in another header', ['X-API-Key', generateKey().key]],
  ])('that %s is refused as the specification says', async (_, headers) => {
    const { status, headers: told, json } = await ask(server.url + QUESTION, { headers })
    expect(status).toBe(401)
    expect(json()).toEqual({ error: 'unauthorized', message: 'Missing or invalid Bearer token.' })
    expect(told['www-authenticate']).toBe('Bearer')
    for (const name of CREDIT_HEADERS) expect(told).not.toHaveProperty(name)
  })

  it('is refused in the URL', async () => {
    const key = await server.key('pro')
    expect((await ask(`${server.url}${QUESTION}&api_key=${key}`)).status).toBe(401)
  })

  it.each(['bearer', 'BEARER', 'BeArEr', 'Bearer  '])('counts after %s', async scheme => {
    const headers = ['authorization', `${scheme} ${await server.key('pro')}`]
    expect((await ask(server.url + QUESTION, { headers })).status).toBe(200)
  })

  it('is refused with a second Authorization header, whichever is right', async () => {
    const right = authorization(await server.key('pro'))
    const wrong = ['authorization', `Bearer ${generateKey().key}`]
    for (const headers of [
      [...right, ...wrong],
      [...wrong, ...right],
      [...right, ...right],
    ])
      expect((await ask(server.url + QUESTION, { headers })).status).toBe(401)
  })

  it('is refused with a second Authorization header after 2,500 others', async () => {
    const others = Array.from({ length: 2_500 }, () => ['a', '']).flat()
    const headers = [...authorization(await server.key('pro')), ...others, 'Authorization', 'Bearer x']
    expect((await ask(server.url + QUESTION, { headers })).status).toBe(401)
  })

  it('is refused once it is revoked or has expired, and counts with the new tier once that is changed', async () => {
    const { key, identity } = await server.account('changing', 'free')
    expect((await server.get(QUESTION, key)).status).toBe(200)
    await server.accounts.setTier('changing', 'pro')
    expect((await server.get('/v1/events?ticker=SIM0001&field=net_direction', key)).status).toBe(200)
    await server.accounts.revoke(identity, new Date().toISOString())
    expect((await server.get(QUESTION, key)).status).toBe(401)
  })
})

describe('paths and methods', () => {
  it.each(['/v1', '/v1/', '/v1/events/', '/v1//events', '/V1/EVENTS', '/v1/events%2F', '/%', '/%FF', '/..'])(
    '%s is not there',
    async path => {
      expect((await ask(server.url + path, { headers: authorization(undefined) })).status).toBe(401)
      const answer = await server.get(path, await server.key('free'))
      expect(answer.status).toBe(404)
      expect(answer.json()).toMatchObject({ error: 'not_found' })
    },
  )

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'])(
    '%s is told which methods there are, after the key on what needs one',
    async method => {
      const headers = authorization(await server.key('free'))
      const known = await ask(server.url + QUESTION, { method, headers })
      expect([known.status, known.headers.allow]).toEqual([405, 'GET, HEAD'])
      expect(known.json()).toMatchObject({ error: 'method_not_allowed', allow: ['GET', 'HEAD'] })
      expect((await ask(server.url + QUESTION, { method })).status).toBe(401)
      expect((await ask(`${server.url}/healthz`, { method })).status).toBe(405)
    },
  )

  it('answers the whole URL in a request line, as proxies send it', async () => {
    const headers = authorization(await server.key('free'))
    expect((await ask(server.url + QUESTION, { headers, target: server.url + QUESTION })).status).toBe(200)
  })

  it('answers health, readiness and documents without a key', async () => {
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs', '/metrics'])
      expect((await server.get(path)).status, path).toBe(200)
    expect((await server.get('/openapi.json')).json()).toMatchObject({ openapi: '3.1.0' })
    expect((await server.get('/docs')).headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8' })
  })

  it('leads from / to the documentation, without a key', async () => {
    const { status, headers, text } = await server.get('/')
    expect([status, headers.location, text]).toEqual([302, '/docs', ''])
    expect((await server.get(headers.location!)).status).toBe(200)
    expect((await ask(`${server.url}/`, { method: 'POST' })).status).toBe(405)
  })

  it('shows its measures to this machine alone, and to no proxy on it', async () => {
    const forwarded = { 'X-Forwarded-For': '203.0.113.5' }
    expect((await server.get('/metrics', undefined, forwarded)).status).toBe(401)
    expect((await server.get('/metrics', await server.key('free'), { Forwarded: 'for=203.0.113.5' })).status).toBe(404)
    for (const [name, value] of [
      ['X-Real-IP', '203.0.113.5'],
      ['X-Forwarded-Proto', 'https'],
      ['CF-Connecting-IP', '203.0.113.5'],
      ['Host', 'api.example.com'],
    ] as const) {
      const given = name === 'Host' ? { host: value } : { headers: [name, value] }
      expect((await ask(`${server.url}/metrics`, given)).status, name).toBe(401)
    }
    const open = await serve(ground, { metrics: 'any' })
    expect((await open.get('/metrics', undefined, forwarded)).status).toBe(200)
    await open.stop()
  })

  notInQuick('hands on nothing that another server told', async () => {
    const own = await simulatedGround({ count: 1 })
    const elsewhere = await simulatedGround({ count: 2, seed: 8 })
    const { local } = await openLocal({ db: elsewhere.db })
    const store = openSqlite(own.db, { readonly: false })
    await copyAll(local, ['SIM0002'], store)
    await store.close()
    await local.close()
    const served = await serve(own)
    const key = await served.key('pro')
    expect((await served.get(QUESTION, key)).status).toBe(200)
    expect((await served.get(QUESTION.replace('SIM0001', 'SIM0002'), key)).json()).toMatchObject({
      error: 'not_found',
      message: expect.not.stringContaining('pull'),
    })
    await served.stop()
    for (const made of [own, elsewhere]) made.remove()
  })

  it('answers no key after its accounts were removed or replaced, despite its cache, and charges nothing', async () => {
    const own = await simulatedGround({ count: 1 })
    const served = await serve(own)
    const { id, key, identity } = await served.account('of a file that goes', 'free')
    expect((await served.get(QUESTION, key)).status).toBe(200)
    const { location } = served.accounts
    renameSync(location, `${location}.old`)
    const statuses = async () => {
      const answers = [served.get(QUESTION, key), served.get('/nothing', key), served.get('/readyz')]
      return Promise.all([...answers, served.get('/healthz')].map(async answer => (await answer).status))
    }
    expect(await statuses()).toEqual([503, 503, 503, 200])
    // A copy from before, in which what is revoked from now on would go on counting.
    copyFileSync(`${location}.old`, location)
    expect(await statuses()).toEqual([503, 503, 503, 200])
    renameSync(`${location}.old`, location)
    expect(await statuses()).toEqual([200, 404, 200, 200])
    expect((await served.accounts.usedCredits(id, Date.now())).day).toBe(2)
    await served.accounts.revoke(identity, new Date().toISOString())
    expect((await served.get(QUESTION, key)).status).toBe(401)
    await served.stop()
    own.remove()
  })

  it('says for how long fields have waited for an import, and refuses questions about them until then', async () => {
    const own = await simulatedGround({ count: 1 })
    const served = await serve(own)
    const key = await served.key('pro')
    const field = '/v1/events?ticker=SIM0001&field=growth_zone'
    const metric = async () =>
      Number(/^bands_data_fields_waiting_seconds (.*)$/m.exec((await served.get('/metrics')).text)?.[1])
    expect((await served.get(field, key)).status).toBe(200)
    expect([(await served.get('/readyz')).json(), await metric()]).toEqual([
      { status: 'ready', data: expect.any(String) },
      0,
    ])
    const store = openSqlite(own.db, { readonly: false })
    const since = new Date(Date.now() - 3_600_000).toISOString()
    await store.write({ unsettled: ['ticker SIM0001', `since ${since}`] }, DEFINITIONS_VERSION)
    const refused = await served.get(field, key)
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5'])
    expect((await served.get(QUESTION, key)).status).toBe(200)
    const ready = await served.get('/readyz')
    expect(ready.json()).toMatchObject({ status: 'ready', waiting: { fields: 12, since } })
    for (const seconds of [Number(JSON.parse(ready.text).waiting.seconds), await metric()])
      expect(seconds).toBeGreaterThan(3_500)
    await store.write({ unsettled: [] }, DEFINITIONS_VERSION)
    await store.close()
    expect((await served.get(field, key)).status).toBe(200)
    expect([(await served.get('/readyz')).json(), await metric()]).toEqual([
      { status: 'ready', data: expect.any(String) },
      0,
    ])
    await served.stop()
    own.remove()
  })

  it('is ready until its data can be read no more, and says so of a new file that is not sound', async () => {
    const own = await simulatedGround({ count: 1 })
    const served = await serve(own, { follows: true })
    expect((await served.get('/readyz')).status).toBe(200)
    renameSync(own.db, `${own.db}.old`)
    expect((await served.get('/readyz')).json()).toMatchObject({ error: 'data_unavailable' })
    writeFileSync(own.db, 'another file')
    await served.look()
    expect((await served.get('/readyz')).json()).toMatchObject({
      status: 'ready',
      refused: { why: expect.any(String) },
    })
    renameSync(`${own.db}.old`, own.db)
    await served.look()
    expect((await served.get('/readyz')).json().refused).toBeUndefined()
    await served.stop()
    own.remove()
  })
})

notInQuick('is not ready while the disk of its accounts is full, and is again with room', async ({ skip }) => {
  const disk = smallDisk('4m')
  if (disk === null) return skip('no disk of its own can be had here')
  const served = await serve(ground, { accounts: join(disk, 'accounts.db') })
  const { id, key } = await served.account('on a full disk', 'pro')
  const statuses = async () => [(await served.get('/readyz')).status, (await served.get(QUESTION, key)).status]
  expect(await statuses()).toEqual([200, 200])
  const filler = openSync(join(disk, 'filler'), 'w')
  expect(() => {
    for (;;) writeSync(filler, Buffer.alloc(4_096))
  }).toThrow('ENOSPC')
  expect((await served.get('/readyz')).json()).toMatchObject({ error: 'data_unavailable' })
  ftruncateSync(filler)
  closeSync(filler)
  expect(await statuses()).toEqual([200, 200])
  expect((await served.accounts.usedCredits(id, Date.now())).day).toBe(2)
  await served.stop()
})

it('shows where to get a higher tier, if configured', async () => {
  const served = await serve(ground, { upgradeUrl: 'https://a.example/plans' })
  const { status, json } = await served.get('/v1/events?ticker=SIM0001&field=net_direction', await served.key('free'))
  expect([status, json().upgrade_url]).toEqual([403, 'https://a.example/plans'])
  await served.stop()
})

describe.each(ERROR_SHAPES)('errors that are %s', errors => {
  let shaped: Served
  let fault: Error | null = null
  beforeAll(async () => {
    shaped = await serve(ground, { errors, around: service => failing(service) })
  })
  afterAll(() => shaped.stop())

  function failing(service: Service): Service {
    const today = () => (fault === null ? service.today() : Promise.reject(fault))
    return { ...service, today }
  }

  it('show no path of this machine when its data are unreadable', async () => {
    for (const raised of [
      new StorageError('cannot read /secret/bands.db'),
      new Busy('/secret/bands.db is busy'),
      new ConfigError('postgres://secret/bands does not let one in'),
    ]) {
      fault = raised
      const answer = await shaped.get(`${QUESTION}&after=2024-01-01`, await shaped.key('free'))
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5'])
      expect(answer.text).toContain('data_unavailable')
      expect(answer.text).not.toContain('secret')
      expect(shaped.logged()).toContain(raised.message)
    }
    fault = null
  })

  it("show only the log's number for an internal fault", async () => {
    fault = new TypeError('secret of bands.db')
    const { headers, text } = await shaped.get(`${QUESTION}&limit=9`, await shaped.key('free'))
    fault = null
    const id = headers['x-request-id']
    const told = { message: 'The server failed; its log has the request id.', request_id: id }
    const flat = { error: 'internal_error', ...told }
    expect(JSON.parse(text)).toEqual(errors === 'flat' ? flat : { error: { type: 'internal_error', ...told } })
    const line = shaped
      .logged()
      .split('\n')
      .find(line => line.includes('"level":"error"') && line.includes(String(id)))
    expect(JSON.parse(line!).error).toMatch(/TypeError: secret of bands\.db\n +at /)
  })

  it('are not kept by anyone', async () => {
    expect((await shaped.get('/v1/events')).headers['cache-control']).toBe('no-store')
  })
})

describe('the shape of errors', () => {
  const shapeFor = async (asked: Served, headers: Readonly<Record<string, string>>): Promise<string> => {
    const { status, json } = await asked.get(QUESTION, undefined, headers)
    expect(status).toBe(401)
    return typeof json().error === 'string' ? 'flat' : 'nested'
  }

  it('is the one that its caller asks for, whatever the server has', async () => {
    const nested = await serve(ground, { errors: 'nested' })
    for (const shape of ERROR_SHAPES)
      for (const asked of [server, nested]) expect(await shapeFor(asked, { 'X-Bands-Errors': shape })).toBe(shape)
    expect(await shapeFor(nested, {})).toBe('nested')
    await nested.stop()
  })

  it.each([
    ['User-Agent', 'tickerapi-python/0.1.0', 'nested'],
    ['User-Agent', 'tickerdb-python/0.1.0', 'nested'],
    ['User-Agent', 'tickerapi-sdk-go', 'nested'],
    ['User-Agent', 'tickerdb-sdk-go', 'nested'],
    ['User-Agent', 'tickerdb-go', 'nested'],
    ['X-TickerDB-Client', 'tickerdb-js/0.4.0', 'nested'],
    ['User-Agent', 'curl/8.5.0', 'flat'],
    ['User-Agent', 'tickerdb-goods/1', 'flat'],
    ['User-Agent', 'not tickerdb-go', 'flat'],
  ])('is by %s: %s %s', async (header, value, shape) => {
    expect(await shapeFor(server, { [header]: value })).toBe(shape)
    expect(await shapeFor(server, { [header]: value, 'X-Bands-Errors': 'flat' })).toBe('flat')
  })

  it('is refused where there is none of that name', async () => {
    for (const shape of ['round', '', 'Flat', 'flat, nested']) {
      const { status, json } = await server.get('/healthz', undefined, { 'X-Bands-Errors': shape })
      expect(status).toBe(400)
      expect(json()).toEqual({
        error: 'invalid_parameter',
        message: 'X-Bands-Errors is not flat or nested.',
        param: 'X-Bands-Errors',
      })
    }
  })

  it('is described to its caller', async () => {
    const typeOf = async (headers: Readonly<Record<string, string>>) => {
      const { components } = JSON.parse((await server.get('/openapi.json', undefined, headers)).text)
      return components.schemas.Unauthorized.properties.error.type
    }
    expect(await typeOf({})).toBe('string')
    expect(await typeOf({ 'X-Bands-Errors': 'nested' })).toBe('object')
    expect(await typeOf({ 'User-Agent': 'tickerdb-go' })).toBe('object')
  })
})

describe('headers', () => {
  it('show the credits with every answer to a known key, and not otherwise', async () => {
    const key = await server.key('plus')
    const paths = [QUESTION, `${QUESTION}&limit=0`, '/v1/events?ticker=SIM0001&field=net_direction', '/nothing']
    for (const path of [...paths, '/v1/events?ticker=NOSUCH&field=rsi_zone']) {
      const { headers } = await server.get(path, key)
      for (const name of CREDIT_HEADERS) expect(headers, `${name} of ${path}`).toHaveProperty(name)
      expect(headers).toMatchObject({
        'x-request-limit': '50000',
        'x-requests-used': '1',
        'x-requests-remaining': '49999',
        'x-request-reset': expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00Z$/),
        'x-hourly-request-limit': '5000',
        'x-hourly-requests-used': '1',
        'x-hourly-requests-remaining': '4999',
        'x-hourly-request-reset': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:00:00Z$/),
      })
    }
  })

  it('give every answer a new number, regardless of the caller', async () => {
    const told = { 'X-Request-Id': 'mine' }
    const ids = [await server.get('/healthz', undefined, told), await server.get('/', undefined, told)].map(
      ({ headers }) => headers['x-request-id'],
    )
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(server.logged()).toContain('"called":"mine"')
  })

  it('describe the answer', async () => {
    const { headers, text } = await server.get(QUESTION, await server.key('pro'))
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(text)),
      'cache-control': 'private, no-cache',
      vary: 'Authorization, Accept-Encoding',
      etag: expect.stringMatching(/^"[\w-]+"$/),
      'x-bands-as-of': '2024-06-28',
    })
  })
})

describe('an answer', () => {
  it('is byte for byte the page of the library, in every tier', async () => {
    for (const tier of ['free', 'plus', 'pro'] as const) {
      const { text } = await server.get(`${QUESTION}&limit=100&timeframe=weekly`, await server.key(tier))
      const query = { ticker: 'SIM0001', field: 'rsi_zone', timeframe: 'weekly', limit: 100 } as const
      expect(text).toBe(JSON.stringify(await server.service.bands(tier).events(query)))
    }
  })

  notInQuick('of a scan has as many matches as are asked for, whichever limit was asked for before', async () => {
    const pro = server.service.bands('pro')
    const scanOf = (date: Day, limit: number) => parseOversold({ date: formatDay(date), limit })
    let date = parseDay('2024-06-28')!
    while ((await pro.oversold(scanOf(date, 100))).match_count < 2) date--
    const key = await server.key('pro')
    for (const limit of [2, 1, 100, 20]) {
      const { text } = await server.get(`/v1/scan/oversold?date=${formatDay(date)}&limit=${limit}`, key)
      expect(text).toBe(JSON.stringify(await pro.oversold(scanOf(date, limit))))
    }
  })

  it('has no body for HEAD, and the same headers', async () => {
    const headers = authorization(await server.key('pro'))
    const get = await ask(server.url + QUESTION, { headers })
    const head = await ask(server.url + QUESTION, { method: 'HEAD', headers })
    expect([head.status, head.text]).toEqual([200, ''])
    for (const name of ['etag', 'content-length', 'content-type', 'x-bands-as-of'])
      expect(head.headers[name]).toBe(get.headers[name])
    const refused = await ask(`${server.url}/v1/events`, { method: 'HEAD', headers })
    expect([refused.status, refused.text]).toEqual([400, ''])
  })

  it('uses the configured day', async () => {
    const past = await serve(ground, { asOf: 19_600 })
    const answer = await past.get(QUESTION, await past.key('pro'))
    expect(answer.headers['x-bands-as-of']).toBe('2023-08-31')
    const [newest] = answer.json().events as { date: string }[]
    expect(newest!.date <= '2023-08-31').toBe(true)
    await past.stop()
  })

  it('uses the day of the clock', async () => {
    let day = 19_902
    const clocked = await serve(ground, { clock: () => day })
    const key = await clocked.key('free')
    const before = await clocked.get(`${QUESTION}&limit=100`, key)
    day += 30
    const after = await clocked.get(`${QUESTION}&limit=100`, key)
    expect([before.headers['x-bands-as-of'], after.headers['x-bands-as-of']]).toEqual(['2024-06-28', '2024-07-28'])
    expect(after.json().total_occurrences).toBeLessThan(before.json().total_occurrences as number)
    await clocked.stop()
  })
})

function context(ticker: string): string {
  return `context_ticker=${ticker}&context_field=rsi_zone&context_band=oversold`
}
