import { expect, it, onTestFinished } from 'vitest'
import { parseDay } from '../../src/core/model/day.js'
import type { Tier } from '../../src/core/model/terms.js'
import type { Source } from '../../src/core/source.js'
import { readFile } from '../../src/data/feeds/read.js'
import { Importer } from '../../src/data/load/import.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import type { Service } from '../../src/server/http/question.js'
import { notInQuick } from '../support/full.js'
import { type ServeLent, serve, serveFile, simulatedGround, spend } from '../support/serve.js'
import { sourced } from '../support/store.js'

const QUESTION = '/v1/events?ticker=SIM0001&field=rsi_zone'
const CONTEXT = '&context_ticker=SIM0002&context_field=rsi_zone&context_band=oversold'
const SPELLINGS = [
  QUESTION,
  `${QUESTION}&&`,
  '/v1/events?field=rsi_zone&ticker=sim0001&limit=10&timeframe=daily',
  '/v1/events?ticker=%53IM0001&field=rsi_zone',
]
const SCANS = ['', '?', '?limit=1', '?limit=100', '?&&', '?sort_by=severity'].map(query => `/v1/scan/oversold${query}`)
const NOON = Date.UTC(2024, 5, 30, 12)

const { ground } = await serveFile()

/** A server that has kept nothing yet, and each page that it computes. */
async function noted(lent: ServeLent = {}, on = ground) {
  const computed: string[] = []
  const around = (service: Service): Service => ({
    ...service,
    bands: tier => noting(service.bands(tier), computed),
    oversold(...asked) {
      computed.push('oversold')
      return service.oversold(...asked)
    },
  })
  const server = await serve(on, { now: () => NOON, around, ...lent })
  onTestFinished(() => server.stop())
  /** The key of a new account that has used some of its credits. */
  const spent = async (tier: Tier, credits: number): Promise<string> => {
    const account = await server.account(`spent ${++spenders}`, tier)
    await spend(server.accounts, account, credits, NOON)
    return account.key
  }
  return { server, computed, spent }
}

let spenders = 0

function noting(source: Source, computed: string[]): Source {
  return new Proxy(source, {
    get(target, name) {
      if (name === 'events') computed.push(name)
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

it('computes one answer for all spellings of a question, and for all limits of a scan', async () => {
  const { server, computed } = await noted()
  const key = await server.key('pro')
  for (const path of [...SPELLINGS, ...SCANS]) expect((await server.get(path, key)).status, path).toBe(200)
  expect(computed).toEqual(['events', 'oversold'])
})

notInQuick('computes nothing for who has no credits, however often and in whatever words they ask', async () => {
  const { server, computed, spent } = await noted()
  const key = await spent('free', 100)
  const scans = Array.from({ length: 150 }, (_, i) => `/v1/scan/oversold?${'&'.repeat(i)}`)
  const asked = [...scans, ...SPELLINGS].map(path => server.get(path, key))
  for (const { status, headers } of await Promise.all(asked))
    expect([status, headers['x-hourly-requests-remaining']]).toEqual([429, '0'])
  expect(computed).toEqual([])
})

it('computes nothing for who has one credit where two are needed, and what costs one', async () => {
  const { server, computed, spent } = await noted()
  const key = await spent('plus', 4_999)
  expect((await server.get(QUESTION + CONTEXT, key)).status).toBe(429)
  expect(computed).toEqual([])
  expect((await server.get(QUESTION, key)).status).toBe(200)
  expect(computed).toEqual(['events'])
})

it('caches answers about one ticker while another is imported, and recomputes those that use it', async () => {
  const own = await simulatedGround()
  onTestFinished(own.remove)
  const { server, computed } = await noted({}, own)
  const key = await server.key('pro')
  const [of1, of2] = ['SIM0001', 'SIM0002'].map(ticker => `/v1/events?ticker=${ticker}&field=rsi_zone&limit=100`)
  const paths = [of1!, of2!, `${of1}${CONTEXT}`, '/v1/scan/oversold']
  const all = async () => {
    const bodies: string[] = []
    for (const path of paths) bodies.push((await server.get(path, key)).text)
    return bodies
  }
  const before = await all()
  expect(computed.splice(0)).toEqual(['events', 'events', 'events', 'oversold'])
  const store = openSqlite(own.db, { readonly: false })
  const writer = { pid: process.pid, host: 'here', started: new Date().toISOString() }
  const importer = await Importer.begin(store, readFile, writer)
  const [, second] = simulatedTickers({ count: 2, bars: 600, seed: 7, end: parseDay('2024-06-28')! })
  const { bars } = second!
  const close = bars.close.map((price, t) => (t > 590 ? bars.low[t]! : price))
  await importer.put([{ ...sourced(second!), bars: { ...bars, close } }])
  await importer.close()
  const after = await all()
  expect(computed).toEqual(['events', 'events', 'oversold'])
  expect(after[0]).toBe(before[0])
  expect(after[1]).not.toBe(before[1])
  expect(await all()).toEqual(after)
  expect(computed.length).toBe(3)
  expect((await server.get('/metrics')).text).toContain('bands_answers_reused_total{how="cache"} 5\n')
})

it.each([
  ['a sector that is not there', 'pro', '?sector=none', 400],
  ['a date that its plan does not have', 'free', '?date=2024-06-03', 403],
  ['a scan that there is', 'pro', '', 429],
] as const)('tells who has no credits of %s what it tells everyone', async (_, tier, query, status) => {
  const { server, computed, spent } = await noted()
  const key = await spent(tier, tier === 'pro' ? 10_000 : 100)
  const { status: answered } = await server.get(`/v1/scan/oversold${query}`, key)
  expect(answered).toBe(status)
  expect(computed).toEqual([])
})

it.each([
  ['gives a 304 and a free repeat from what is kept', 1e6, 304, 200],
  ['gives neither where it would have to be computed', 0, 429, 429],
])('to who has no credits %s', async (_, keptBytes, unchanged, repeated) => {
  const { server, computed, spent } = await noted({ limits: { cacheBytes: keptBytes } })
  const key = await spent('free', 99)
  const named = { 'Idempotency-Key': 'again' }
  const { etag } = (await server.get(QUESTION, key, named)).headers
  expect((await server.get(QUESTION, key, { 'If-None-Match': etag! })).status).toBe(unchanged)
  expect((await server.get(QUESTION, key, named)).status).toBe(repeated)
  expect((await server.get(QUESTION, key)).status).toBe(429)
  expect(computed).toEqual(['events'])
})
