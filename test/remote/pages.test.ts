import { afterAll, describe, expect, it } from 'vitest'
import { openBands, openRemote } from '../../src/app/client.js'
import { InvalidParameter, NotFound, TierRestricted, Unauthorized, Upstream } from '../../src/core/errors.js'
import { serveFile } from '../support/serve.js'
import { remoteTo, scripted } from './upstream.js'

const { ground, server } = await serveFile({ count: 3, bars: 1_500 })
const key = await server.key('pro')
const remote = await openRemote({ url: server.url, key })
const local = await openBands({ db: ground.db, tier: 'pro' })
afterAll(() => Promise.all([remote.close(), local.close()]))

const SUMMARIES = [
  { ticker: 'SIM0001' },
  { ticker: 'sim0001', timeframe: 'weekly', meta: true, fields: ['trend', 'momentum.rsi_zone', 'ohlcv.close'] },
  { ticker: 'SIM0002', date: '2023-08-31' },
  { ticker: 'SIM0002', start: '2024-05-01', end: '2024-06-01', fields: 'trend', limit: 5, offset: 3 },
  { ticker: 'SIM0001', field: 'momentum_rsi_zone', band: 'oversold', limit: 3 },
  { ticker: 'SIM0001', field: 'rsi_zone', stats: true },
]

describe('a server and a database answer the same', () => {
  it.each(SUMMARIES)('of a summary: %j', async params => {
    expect(await remote.summary(params)).toEqual(JSON.parse(JSON.stringify(await local.summary(params))))
  })

  it('of a search', async () => {
    for (const params of [
      {},
      { fields: ['*'], sort_by: 'close', sort_direction: 'asc' },
      { filters: [{ field: 'rsi_zone', op: 'neq', value: 'oversold' }], date: '2023-08-31', fields: 'close' },
    ])
      expect(await remote.search(params)).toEqual(await local.search(params))
  })

  it('of bars, page by page', async () => {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const params = { ticker: 'SIM0001', limit: 700, ...(cursor && { cursor }) }
      const page = await remote.barsPage(params)
      expect(page).toEqual(await local.barsPage(params))
      cursor = page.next_cursor
    }
  })

  it('what they refuse', async () => {
    for (const bands of [remote, local]) {
      await expect(bands.summary({ ticker: 'NOSUCH' })).rejects.toThrow(NotFound)
      await expect(bands.summary({ ticker: 'SIM0001', fields: ['x'] })).rejects.toThrow(InvalidParameter)
      await expect(bands.search({ sort_by: 'x' })).rejects.toThrow(InvalidParameter)
      await expect(bands.barsPage({ ticker: 'SIM0001', limit: 1_001 })).rejects.toThrow(InvalidParameter)
    }
    const free = await openRemote({ url: server.url, key: await server.key('free') })
    await expect(free.summary({ ticker: 'SIM0001', date: '2024-06-03' })).rejects.toThrow(TierRestricted)
    await free.close()
    const stranger = await openRemote({ url: server.url, key: `${key.slice(0, -1)}x` })
    await expect(stranger.account()).rejects.toThrow(Unauthorized)
    await stranger.close()
  })
})

it('has without a tier no range and no plan', async () => {
  const all = await openBands({ db: ground.db })
  const page = await all.barsPage({ ticker: 'SIM0001', order: 'asc', limit: 2 })
  expect(page).toMatchObject({ start: null, plan: null, plan_history_days: null, has_more: true })
  expect((await all.summary({ ticker: 'SIM0001', start: page.bars[0]!.date, limit: 2 })) as object).toMatchObject({
    row_count: 2,
  })
  await all.close()
})

it('shows the account of the key', async () => {
  expect(await remote.account()).toMatchObject({ tier: 'pro', email: null, limits: { daily_requests: 100_000 } })
})

describe('all bars of a ticker', () => {
  it('come oldest first, each once, between the days', async () => {
    const asked = remoteTo({ url: server.url }, { key })
    const bars = []
    for await (const bar of asked.pages.bars('SIM0001')) bars.push(bar)
    const first = await local.barsPage({ ticker: 'SIM0001', order: 'asc', limit: 1_000 })
    const rest = await local.barsPage({ ticker: 'SIM0001', order: 'asc', limit: 1_000, cursor: first.next_cursor! })
    expect(rest.has_more).toBe(false)
    expect(bars).toEqual([...first.bars, ...rest.bars].map(bar => ({ ticker: 'SIM0001', ...bar })))
  })

  it('end where a server sends the same cursor again, and not by itself', async () => {
    const page = {
      ...(await local.barsPage({ ticker: 'SIM0001', limit: 1 })),
      has_more: true,
      next_cursor: '2024-06-28',
    }
    const body = JSON.stringify(page)
    const upstream = await scripted(response =>
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(body),
    )
    let bars = 0
    const asked = remoteTo(upstream).pages.bars('SIM0001')
    await expect(async () => {
      for await (const _bar of asked) bars++
    }).rejects.toThrow(Upstream)
    expect(bars).toBeLessThan(3)
  })

  it('are refused where the answer is none', async () => {
    const upstream = await scripted(response =>
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"bars":5}'),
    )
    await expect(remoteTo(upstream).pages.barsPage({ ticker: 'SIM0001' })).rejects.toThrow('is not a page of bars')
  })
})
