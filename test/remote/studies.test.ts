import { describe, expect, it, onTestFinished } from 'vitest'
import { openLocal, openRemote } from '../../src/app/open/database.js'
import { Remote } from '../../src/app/remote/remote.js'
import { FIELDS } from '../../src/core/fields/index.js'
import { parseDay } from '../../src/core/model/day.js'
import type { EventHistory, HistoryQuery } from '../../src/core/model/event.js'
import type { Tier } from '../../src/core/model/terms.js'
import { eventHistory } from '../../src/core/source.js'
import type { Local } from '../../src/data/local/local.js'
import { now } from '../../src/research/tally/now.js'
import { type Tally, tally } from '../../src/research/tally/tally.js'
import { transitionsOf } from '../../src/research/tally/transitions.js'
import { notInQuick } from '../support/full.js'
import { serveFile } from '../support/serve.js'
import { eventsBefore, json, pageOf, type Scripted, scripted, type Turn } from './upstream.js'

const PLENTY = { day: 1_000_000, hour: 1_000_000 }
const CREDITS = { free: PLENTY, plus: PLENTY, pro: PLENTY }
const { ground, server } = await serveFile({ bars: 1_400, credits: CREDITS })

describe('before a real server', () => {
  const remoteAs = async (tier: Tier): Promise<Remote> => {
    const remote = await openRemote({ url: server.url, key: await server.key(tier), fields: FIELDS })
    onTestFinished(() => remote.close())
    return remote
  }
  const localAs = async (tier: Tier): Promise<Local> => {
    const { local } = await openLocal({ db: ground.db, tier })
    onTestFinished(() => local.close())
    return local
  }

  notInQuick('tells the band of an open context as the local engine does, whatever the band', async () => {
    const remote = await remoteAs('plus')
    const local = await localAs('plus')
    for (const field of ['rsi_zone', 'macd_state'])
      for (const band of [undefined, 'oversold']) {
        const context = { ticker: 'SIM0003', field }
        const query = { ticker: 'SIM0001', field: 'rsi_zone', timeframe: 'daily', context } as const
        const asked: HistoryQuery = band === undefined ? query : { ...query, bands: [band] }
        const bands = ({ events }: EventHistory) => events.map(({ date, context_band }) => [date, context_band])
        expect(bands(await eventHistory(remote, asked))).toEqual(bands(await eventHistory(local, asked)))
      }
    const refused: HistoryQuery = {
      ticker: 'SIM0001',
      field: 'rsi_zone',
      timeframe: 'daily',
      context: { ticker: 'NONE', field: 'rsi_zone' },
    }
    await expect(eventHistory(remote, refused)).rejects.toMatchObject({ code: 'not_found' })
    await expect(eventHistory(await remoteAs('free'), refused)).rejects.toMatchObject({ code: 'tier_restricted' })
  })

  it.each([
    { tickers: ['SIM0001'], field: 'rsi_zone' },
    { tickers: ['SIM0001', 'SIM0003'], field: 'volume_ratio_band', band: 'high' },
    {
      tickers: ['SIM0002'],
      field: 'macd_state',
      by: 'context',
      context: { ticker: 'SIM0001', field: 'trend_direction' },
    },
    { tickers: ['SIM0002', 'SIM0001'], field: 'ma_alignment', by: 'stability', after: parseDay('2023-06-01')! },
  ] as const)('counts what followed as the local engine does: %j', async query => {
    const remote = await remoteAs('pro')
    const local = await localAs('pro')
    const counted = ({ groups, events, as_of, query_range, after }: Tally) => ({
      events,
      as_of,
      query_range,
      after,
      groups: groups.map(({ group, windows }) => [
        group,
        windows.map(({ window, events, n, no_history, counts }) => ({ window, events, n: n - no_history, counts })),
      ]),
    })
    const found = await tally(remote, { ...query, timeframe: 'daily' })
    expect(counted(found)).toEqual(counted(await tally(local, { ...query, timeframe: 'daily' })))
    for (const { windows } of found.groups) for (const { base } of windows) expect(base.kind).toBe('theoretical')
  })

  it('counts transitions and shows the present state like the local engine', async () => {
    const remote = await remoteAs('pro')
    const local = await localAs('pro')
    const query = { tickers: ['SIM0001', 'SIM0002'], field: 'trend_direction', timeframe: 'daily' } as const
    const found = await transitionsOf(remote, query)
    const known = await transitionsOf(local, query)
    expect(found.matrix).toEqual(known.matrix)
    expect(found.dwell.map(stay => [stay.band, stay.stays, stay.completed, stay.mean])).toEqual(
      known.dwell.map(stay => [stay.band, stay.stays, stay.completed, stay.mean]),
    )
    const context = { ticker: 'SIM0003', field: 'rsi_zone' }
    const farther = await transitionsOf(remote, { ...query, context })
    const nearer = await transitionsOf(local, { ...query, context })
    expect(farther.by_context!.tests.equal_rows).toEqual(nearer.by_context!.tests.equal_rows)
    const fields = ['rsi_zone', 'macd_state', 'valuation_zone']
    const states = async (bands: Local | Remote) =>
      (await now(bands, { tickers: query.tickers, fields, timeframe: 'daily' })).states.map(state => [
        ...[state.ticker, state.field, state.band, state.since, state.prev_band, state.completed_stays],
      ])
    expect(await states(remote)).toEqual(await states(local))
  })

  it('shows no aftermath to Free, nor a context', async () => {
    const remote = await remoteAs('free')
    const query = { tickers: ['SIM0001'], field: 'rsi_zone', timeframe: 'daily' } as const
    await expect(tally(remote, query)).rejects.toMatchObject({ code: 'tier_restricted', feature: 'aftermath' })
    const context = { ticker: 'SIM0002', field: 'rsi_zone', band: 'oversold' }
    await expect(tally(remote, { ...query, context })).rejects.toMatchObject({ feature: 'cross-asset correlation' })
  })

  it('shows the plan of the key and its credits, and checks a key free of charge', async () => {
    const remote = await remoteAs('plus')
    expect([remote.tier, remote.credits]).toEqual([null, null])
    await remote.checkKey()
    expect(remote.credits?.day).toMatchObject({ used: 0, limit: 1_000_000 })
    await remote.events({ ticker: 'SIM0001', field: 'rsi_zone', timeframe: 'daily', limit: 1 })
    expect(remote.tier).toBe('plus')
    expect(remote.credits?.day).toMatchObject({
      used: 1,
      remaining: 999_999,
      reset: expect.stringMatching(/T00:00:00Z$/),
    })
    const { key } = { key: `${(await server.key('pro')).slice(0, -1)}!` }
    const stranger = await openRemote({ url: server.url, key, fields: FIELDS })
    onTestFinished(() => stranger.close())
    await expect(stranger.checkKey()).rejects.toMatchObject({ code: 'unauthorized' })
  })

  it('asks each question once, and one that was refused again', async () => {
    const key = await server.key('pro')
    const remote = await openRemote({ url: server.url, key, fields: FIELDS })
    onTestFinished(() => remote.close())
    const query = { ticker: 'SIM0001', field: 'rsi_zone', timeframe: 'weekly', limit: 100 } as const
    await Promise.all([remote.events(query), remote.events(query), eventHistory(remote, query)])
    await now(remote, { tickers: ['SIM0001'], fields: ['rsi_zone'], timeframe: 'weekly' })
    expect(remote.credits?.day?.used).toBe(1)
    for (let i = 0; i < 2; i++)
      await expect(remote.events({ ...query, ticker: 'NONE' })).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('pages', () => {
  const remoteTo = ({ url }: Scripted): Remote => {
    const remote = new Remote({ url, key: 'bands_test', fields: FIELDS, timeoutMs: 10_000, env: {} })
    onTestFinished(() => remote.close())
    return remote
  }
  const query = { ticker: 'ABC', field: 'rsi_zone', timeframe: 'daily' } as const

  /** A server that has so many events, one a day, and cheats in its pages as it is told to. */
  const paging = (
    events: number,
    cheat: (page: ReturnType<typeof pageOf>, before: string | null) => object = page => page,
  ): Turn => {
    const all = eventsBefore(18_000, events)
    return (response, request, socket) => {
      const params = new URL(request.url!, 'http://x').searchParams
      const before = params.get('before')
      const left = all.filter(({ date }) => before === null || date < before)
      const page = pageOf(left.slice(0, Number(params.get('limit'))), { total_occurrences: left.length })
      return json(cheat(page, before))(response, request, socket)
    }
  }

  it.each([0, 1, 99, 100, 101, 350])(
    'give a history of %i events whole, in as few questions as can be',
    async count => {
      const upstream = await scripted(paging(count))
      const history = await eventHistory(remoteTo(upstream), query)
      expect(history.events).toEqual(eventsBefore(18_000, count).reverse())
      expect(upstream.arrivals).toHaveLength(Math.max(1, Math.ceil(count / 100)))
      expect([history.after, history.as_of]).toEqual([null, null])
      const [newest] = eventsBefore(18_000, count)
      expect(history.present).toEqual(
        newest === undefined ? null : { band: newest.band, since: newest.date, bars: null, initial: false },
      )
    },
  )

  it('that begin again, or keep growing, are refused', async () => {
    const again = await scripted(paging(250, (page, before) => (before === null ? page : paging0(250))))
    await expect(eventHistory(remoteTo(again), query)).rejects.toThrow(
      /events\[0\]\.date is 2019-04-13, not before 2019-01-04\.$/,
    )
    const more = await scripted(
      paging(2_000, (page, before) => (before === null ? { ...page, total_occurrences: 300 } : page)),
    )
    await expect(eventHistory(remoteTo(more), query)).rejects.toThrow(/ reported 200 earlier events, and then 1900\.$/)
  })

  notInQuick('without an end come to one', async () => {
    const endless: Turn = (response, request, socket) => {
      const before = new URL(request.url!, 'http://x').searchParams.get('before')
      const day = before === null ? 900_000 : Date.parse(before) / 86_400_000
      return json(pageOf(eventsBefore(day, 100), { total_occurrences: day * 2 }))(response, request, socket)
    }
    const upstream = await scripted(endless)
    await expect(eventHistory(remoteTo(upstream), query)).rejects.toThrow(/ sends pages without an end\.$/)
    expect(upstream.arrivals.length).toBeLessThanOrEqual(400)
  })

  it('that fail midway leave no half of a history', async () => {
    const upstream = await scripted(paging(150), json({ error: 'not_found', message: 'gone' }, 404))
    await expect(eventHistory(remoteTo(upstream), query)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('show the range only if the server sends its as-of day', async () => {
    const told = async (headers: Record<string, string>, range = '2y') =>
      eventHistory(remoteTo(await scripted(json(pageOf([], { query_range: range }), 200, headers))), query)
    expect(await told({ 'x-bands-as-of': '2024-02-29' })).toMatchObject({ as_of: '2024-02-29', after: '2022-02-28' })
    expect(await told({ 'x-bands-as-of': '2024-02-30' })).toMatchObject({ as_of: null, after: null })
    expect(await told({ 'x-bands-as-of': '2024-02-29' }, '10y')).toMatchObject({ as_of: '2024-02-29', after: null })
  })

  const paging0 = (count: number) => pageOf(eventsBefore(18_000, count).slice(0, 100), { total_occurrences: 150 })
})
