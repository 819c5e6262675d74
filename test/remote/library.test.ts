import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openBands, openRemote, type RemoteClient, type RemoteClientOptions } from '../../src/index.js'
import { type Ground, type Served, serve, simulatedGround } from '../support/serve.js'

let ground: Ground
let server: Served
beforeAll(async () => {
  ground = await simulatedGround({ count: 2, bars: 700 })
  server = await serve(ground)
})
afterAll(async () => {
  await server.stop()
  ground.remove()
})

async function client(options: Partial<RemoteClientOptions> = {}): Promise<RemoteClient> {
  const opened = await openRemote({ url: server.url, key: await server.key('plus'), ...options })
  onTestFinished(() => opened.close())
  return opened
}

describe('openRemote', () => {
  it('asks a server what openBands asks a database', async () => {
    const [far, near] = [await client(), await openBands({ db: ground.db, tier: 'plus' })]
    onTestFinished(() => near.close())
    const params = { ticker: 'sim0001', field: 'rsi_zone', limit: '7' }
    expect(await far.events(params)).toEqual(await near.events(params))
    const scan = { date: '2024-03-01', sort_by: 'days_oversold' }
    expect(await far.oversold(scan)).toEqual(await near.oversold(scan))
    const pool = { tickers: ['SIM0001', 'SIM0002'], field: 'macd_state' }
    expect((await far.transitions(pool)).matrix).toEqual((await near.transitions(pool)).matrix)
    const [counted, known] = [await far.tally(pool), await near.tally(pool)]
    expect(counted.groups.map(group => [group.group, group.events])).toEqual(
      known.groups.map(group => [group.group, group.events]),
    )
    const [present, presentHere] = [await far.now({ tickers: ['SIM0002'] }), await near.now({ tickers: ['SIM0002'] })]
    expect(present.states.map(state => state.field)).toEqual(presentHere.states.map(state => state.field))
    const history = { ticker: 'SIM0001', field: 'rsi_zone', band: 'oversold' }
    expect((await far.history(history)).events).toHaveLength((await near.history(history)).events.length)
    expect(far.fields()).toBe(near.fields())
    expect(far.credits?.day?.limit).toBe(50_000)
  })

  it('refuses what cannot be asked before anything is sent', async () => {
    const bands = await client()
    await expect(bands.events({ ticker: 'SIM0001', field: 'rsi_zon' })).rejects.toMatchObject({
      code: 'invalid_parameter',
    })
    await expect(bands.oversold({ limit: 0 })).rejects.toMatchObject({ param: 'limit' })
    await expect(bands.now({ tickers: [] })).rejects.toMatchObject({ code: 'invalid_parameter' })
    expect(bands.credits).toBeNull()
  })

  it.each<[string, Partial<Record<keyof RemoteClientOptions, unknown>>, object]>([
    ['an address that is none', { url: undefined }, { code: 'invalid_parameter', param: 'url' }],
    ['plain http elsewhere', { url: 'http://api.example.com' }, { code: 'invalid_parameter', param: 'url' }],
    ['no key', { key: undefined }, { code: 'config' }],
    ['no time', { timeoutMs: 0 }, { code: 'invalid_parameter', param: 'timeoutMs' }],
    ['no number', { retries: Number.NaN }, { code: 'invalid_parameter', param: 'retries' }],
  ])('refuses %s', async (_, options, error) => {
    await expect(client(options as Partial<RemoteClientOptions>)).rejects.toMatchObject(error)
  })

  it('tells a key that is not known', async () => {
    const stranger = await client({ key: 'bands_unknown' })
    await expect(stranger.checkKey()).rejects.toMatchObject({ code: 'unauthorized' })
    await (await client()).checkKey()
  })
})
