import { describe, expect, it } from 'vitest'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import type { BarsPage } from '../../src/core/model/pages.js'
import type { Tier } from '../../src/core/model/terms.js'
import { longNameOf } from '../../src/core/params/places.js'
import { ALL_COLUMNS } from '../../src/core/params/search.js'
import { PLANS } from '../../src/core/tiers.js'
import { Local } from '../../src/data/local/local.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { ask, authorization, serve, serveFile, spend } from '../support/serve.js'

const { ground, server } = await serveFile({ count: 2, bars: 1_500 })
const KEYS: Record<Tier, string> = {
  free: await server.key('free'),
  plus: await server.key('plus'),
  pro: await server.key('pro'),
}
const TODAY = parseDay('2024-06-28')!

async function page(search: string, key = KEYS.pro): Promise<BarsPage> {
  const answer = await server.get(`/v1/ohlcv/SIM0001${search}`, key)
  expect(answer.status, answer.text).toBe(200)
  return answer.json() as unknown as BarsPage
}

/** All pages, as the vendor's clients walk them: by `next_cursor` while `has_more`. */
async function walk(search: string, key = KEYS.pro): Promise<BarsPage[]> {
  const pages = [await page(`?${search}`, key)]
  for (let last = pages[0]!; last.has_more; pages.push(last))
    last = await page(`?${search}&cursor=${last.next_cursor}`, key)
  return pages
}

/** The days of all stored bars. */
async function storedDates(): Promise<string[]> {
  const store = openSqlite(ground.db, { readonly: true })
  const { days } = await new Local(store, null, null).series('SIM0001', 'daily')
  await store.close()
  return Array.from(days, formatDay)
}

describe('/v1/ohlcv', () => {
  it.each(['asc', 'desc'])('has on all its pages each bar once (%s)', async order => {
    for (const limit of [1_000, 333, 97]) {
      const pages = await walk(`order=${order}&limit=${limit}`)
      const dates = pages.flatMap(({ bars }) => bars.map(({ date }) => date))
      expect(new Set(dates).size).toBe(dates.length)
      expect(dates).toEqual(order === 'asc' ? dates.toSorted() : dates.toSorted().reverse())
      const after = formatDay(PLANS.pro.rangeStart(TODAY))
      expect(dates.toSorted()).toEqual((await storedDates()).filter(date => date > after))
      for (const { bars, row_count, has_more, next_cursor } of pages) {
        expect(row_count).toBe(bars.length)
        expect(next_cursor).toBe(has_more ? bars.at(-1)!.date : null)
      }
    }
  })

  it('has the bars of the days that are asked for, both included', async () => {
    const { bars, start, end } = await page('?start=2024-03-04&end=2024-03-08&order=asc')
    expect(bars.map(({ date }) => date)).toEqual(
      (await storedDates()).filter(date => date >= '2024-03-04' && date <= '2024-03-08'),
    )
    expect([start, end]).toEqual(['2024-03-04', '2024-03-08'])
    const walked = await walk('start=2024-03-04&end=2024-03-08&limit=2')
    expect(walked.flatMap(({ bars: some }) => some)).toEqual(bars.toReversed())
  })

  it.each(['free', 'plus', 'pro'] as const)('begins with the range of the tier (%s)', async tier => {
    const first = PLANS[tier].rangeStart(TODAY) + 1
    const pages = await walk('start=1990-01-01&order=asc&limit=1000', KEYS[tier])
    expect(pages[0]).toMatchObject({ start: formatDay(first), plan: tier, plan_history_days: TODAY - first + 1 })
    expect(pages[0]!.bars[0]!.date >= formatDay(first)).toBe(true)
  })

  it('knows on a past day nothing that came after it', async () => {
    const past = await serve(ground, { asOf: parseDay('2023-08-31') })
    const then = await past.get('/v1/ohlcv/SIM0001?limit=5', await past.key('pro'))
    expect(then.headers['x-bands-as-of']).toBe('2023-08-31')
    const { bars } = then.json() as unknown as BarsPage
    expect(bars).toEqual((await page('?end=2023-08-31&limit=5')).bars)
    await past.stop()
  })

  it('costs a credit for each hundred bars, and nothing when it is unchanged', async () => {
    const { id, key } = await server.account('of bars', 'pro')
    const used = async () => (await server.accounts.usedCredits(id, Date.now())).day
    const costs = []
    let before = 0
    for (const search of ['limit=1', 'limit=100', 'limit=101', 'limit=1000', 'start=2030-01-01']) {
      const { headers } = await server.get(`/v1/ohlcv/SIM0001?${search}`, key)
      costs.push((await used()) - before)
      before = await used()
      const again = await server.get(`/v1/ohlcv/SIM0001?${search}`, key, { 'If-None-Match': headers.etag! })
      expect([again.status, again.text]).toEqual([304, ''])
    }
    expect(costs).toEqual([1, 1, 2, 10, 1])
    expect(await used()).toBe(before)
  })

  it('says why it is empty', async () => {
    const { headers, json } = await server.get('/v1/ohlcv/SIM0001?start=2030-01-01', KEYS.pro)
    expect(headers['x-bands-note']).toBe('SIM0001 has no bar on those days.')
    expect(json()).toMatchObject({ bars: [], row_count: 0, has_more: false, next_cursor: null })
  })

  it('refuses what it cannot read, and names the ticker in the path like any other', async () => {
    const refusals: [string, string, string][] = [
      ['/v1/ohlcv/SIM0001?limit=1001', 'limit', 'an integer from 1 to 1000'],
      ['/v1/ohlcv/SIM0001?order=up', 'order', 'not one of asc, desc'],
      ['/v1/ohlcv/SIM0001?start=2024-02-30', 'start', 'a calendar date'],
      ['/v1/ohlcv/SIM0001?cursor=next', 'cursor', 'a calendar date'],
      ['/v1/ohlcv/SIM0001?ticker=SIM0002', 'ticker', 'there is no parameter'],
      ['/v1/ohlcv/SIM0001?page=2', 'page', 'there is no parameter'],
      ['/v1/ohlcv/A%2FB', 'ticker', '1 to 16 characters'],
      ['/v1/ohlcv/%FF', 'ticker', '1 to 16 characters'],
    ]
    for (const [path, param, words] of refusals) {
      const { status, json } = await server.get(path, KEYS.pro)
      expect([status, json().param], path).toEqual([400, param])
      expect(json().message, path).toContain(words)
    }
    expect((await server.get('/v1/ohlcv/sim0001', KEYS.pro)).status).toBe(200)
    expect((await server.get('/v1/ohlcv/SIM000%31', KEYS.pro)).status).toBe(200)
  })
})

describe('/v1/schema/fields', () => {
  it('lists each field with its names and bands, free', async () => {
    const { id, key } = await server.account('of the schema', 'free')
    const { status, headers, json } = await server.get('/v1/schema/fields', key)
    expect([status, (await server.accounts.usedCredits(id, Date.now())).day]).toEqual([200, 0])
    const fields = json().fields as Record<string, unknown>[]
    const bands = fields.filter(({ field }) => field !== null)
    expect(bands.map(({ field }) => field)).toEqual(BUILT_IN_FIELDS.names)
    expect(fields.map(({ name }) => name)).toEqual(ALL_COLUMNS.map(({ name }) => name))
    expect(bands[0]).toMatchObject({
      name: 'momentum_rsi_zone',
      category: 'momentum',
      field: 'rsi_zone',
      tier: 'free',
    })
    expect(new Set(fields.map(({ name }) => name)).size).toBe(fields.length)
    expect(BUILT_IN_FIELDS.names.filter(name => !longNameOf(name).includes('_'))).toEqual([])
    expect((await server.get('/v1/schema/fields', key, { 'If-None-Match': headers.etag! })).status).toBe(304)
    expect((await server.get('/v1/schema/fields?x=1', key)).status).toBe(400)
  })
})

describe('/v1/account', () => {
  it('says what the account may ask and has asked, free', async () => {
    const account = await server.account('of a caller', 'plus')
    await spend(server.accounts, account, 7, Date.now())
    const first = await server.get('/v1/account', account.key)
    const again = await server.get('/v1/account', account.key)
    expect([first.status, first.headers['cache-control'], first.headers.etag]).toEqual([200, 'no-store', undefined])
    expect(again.json()).toEqual(first.json())
    expect(first.json()).toMatchObject({
      tier: 'plus',
      name: 'of a caller',
      limits: { daily_requests: 50_000, hourly_requests: 5_000, history_days: TODAY - PLANS.plus.rangeStart(TODAY) },
      usage: { daily_requests_used: 7, daily_requests_remaining: 49_993, credit_balance: 4_993 },
    })
    expect((await server.get('/v1/account?x=1', account.key)).status).toBe(400)
  })
})

describe.each(['/v1/ohlcv/SIM0001', '/v1/schema/fields', '/v1/account'])('%s', path => {
  it('needs a key and takes no other method and no body', async () => {
    expect((await server.get(path)).status).toBe(401)
    const headers = authorization(KEYS.free)
    const posted = await ask(server.url + path, { method: 'POST', headers })
    expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD'])
    const withBody = await ask(server.url + path, { headers: [...headers, 'Content-Length', '2'], body: '{}' })
    expect([withBody.status, withBody.json().param]).toEqual([400, 'body'])
    const head = await ask(server.url + path, { method: 'HEAD', headers })
    expect([head.status, head.text]).toEqual([200, ''])
  })

  it('is refused without credits only where it costs some', async () => {
    const none = { day: 0, hour: 0 }
    const poor = await serve(ground, { credits: { free: none, plus: none, pro: none } })
    const { status } = await poor.get(path, await poor.key('pro'))
    expect(status).toBe(path.includes('ohlcv') ? 429 : 200)
    if (path.includes('ohlcv')) expect((await poor.get('/v1/ohlcv/NOSUCH', await poor.key('pro'))).status).toBe(404)
    await poor.stop()
  })
})

it('counts the paths of tickers as one', async () => {
  const { text } = await server.get('/metrics')
  expect(text).toContain('route="/v1/ohlcv/{ticker}",status="200"')
  expect(text).not.toContain('route="/v1/ohlcv/SIM0001"')
})
