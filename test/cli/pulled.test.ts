import { mkdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Local } from '../../src/local/local.js'
import { parseDay } from '../../src/model/day.js'
import { simulatedTickers } from '../../src/simulate/simulate.js'
import { begun, copied, pulledIn, URL } from '../support/pulled.js'
import { emptyImporter, loadedStore, sourced } from '../support/store.js'
import { type Ran, scratch, typed } from './support/run.js'

const folder = scratch()
const places = ['market', 'mixed', 'pulled'].map(name => folder.file(name)) as [string, string, string]

/** In `mixed`, SIM0003 has bars; of SIM0001 two fields were pulled, of SIM0002 one and part of another. */
beforeAll(async () => {
  for (const place of places) mkdirSync(place)
  const tickers = [...simulatedTickers({ count: 3, bars: 1_500, seed: 7, end: parseDay('2024-06-28')! })]
  const market = await loadedStore(tickers, places[0])
  const server = new Local(market, 'pro', null)
  const series = (ticker: string, field: string) => copied(server, { ticker, field, timeframe: 'daily' })
  const mixed = await emptyImporter(places[1])
  await mixed.put([sourced(tickers[2]!)])
  await pulledIn(mixed.store).put(await series('SIM0001', 'rsi_zone'))
  await pulledIn(mixed.store).put(await series('SIM0001', 'valuation_zone'))
  await pulledIn(mixed.store).put(await series('SIM0002', 'macd_state'))
  await pulledIn(mixed.store).put(begun(await series('SIM0002', 'rsi_zone'), 4))
  await mixed.close()
  const pulled = await emptyImporter(places[2])
  await pulledIn(pulled.store).put(await series('SIM0001', 'rsi_zone'))
  await pulled.close()
  await market.close()
})
afterAll(() => folder.remove())

function market(line: string): Promise<Ran> {
  return typed(`${line} --db ${places[0]}/bands.db`)
}

function mixed(line: string): Promise<Ran> {
  return typed(`${line} --db ${places[1]}/bands.db`)
}

function pulled(line: string): Promise<Ran> {
  return typed(`${line} --db ${places[2]}/bands.db`)
}

describe('a database with pulled events', () => {
  it('answers events byte for byte as the server of the pull', async () => {
    const line = 'events SIM0001 rsi_zone --band oversold --limit 100 --json'
    const { code, out } = await mixed(line)
    expect(code).toBe(0)
    expect(out).toBe((await market(line)).out)
    expect((await pulled(line)).out).toBe(out)
  })

  it('tells all states that it knows, and leaves out fields that nobody named', async () => {
    const { code, out, err } = await mixed('now --json')
    expect(code).toBe(0)
    expect(err).not.toContain('left out')
    const { states } = JSON.parse(out) as { states: { ticker: string; field: string }[] }
    const of = (ticker: string): string[] => states.filter(state => state.ticker === ticker).map(state => state.field)
    expect(of('SIM0001')).toEqual(['rsi_zone', 'valuation_zone'])
    expect(of('SIM0002')).toEqual(['macd_state'])
    expect(of('SIM0003')).toHaveLength(21)
    expect((await mixed('now SIM0001 --csv')).out.split('\n')).toHaveLength(4)
  })

  it('says which tickers it leaves out of a field that was named', async () => {
    const left =
      'left out, because their daily rsi_zone is not here, or not to its end (bands tickers shows what was pulled): SIM0002.'
    for (const line of ['now --field rsi_zone --json', 'tally rsi_zone --all --json']) {
      const { code, out, err } = await mixed(line)
      expect(code, line).toBe(0)
      expect(out).toContain('SIM0001')
      expect(out).not.toContain('SIM0002')
      expect(err).toContain(left)
      expect((await mixed(`${line} --quiet`)).err).not.toContain('left out')
    }
  })

  it('refuses what was named and is not there, with what to do', async () => {
    expect(await mixed('now SIM0001 --field macd_state')).toMatchObject({ code: 3 })
    expect(await mixed('now SIM0002 --field rsi_zone')).toMatchObject({ code: 8 })
    const weekly = await mixed('now SIM0001 --timeframe weekly')
    expect(weekly.code).toBe(3)
    expect(weekly.err).toContain('try:   bands pull SIM0001 rsi_zone --timeframe weekly\n')
    const tally = await mixed('tally growth_zone --tickers SIM0001 --all')
    expect(tally.code).toBe(3)
    expect(await mixed('events SIM0001 rsi_zone --as-of 2024-01-01')).toMatchObject({ code: 2 })
    for (const line of ['explain SIM0001 rsi_zone', 'show SIM0001 rsi_zone', 'facts SIM0001']) {
      const { code, err } = await mixed(`${line} --json`)
      expect(code, line).toBe(3)
      expect(err).toContain(`only events are here, pulled from ${URL} on 2026-11-21, as of 2024-06-28`)
    }
  })

  it('says of a question without an event what was looked at, and nothing of facts that a server has', async () => {
    const { code, err } = await mixed('events SIM0001 valuation_zone --after 2024-06-20')
    expect(code).toBe(0)
    expect(err).toContain("No event: SIM0001's daily valuation_zone did not change in 5y (2024-06-21 to 2024-06-28).")
  })

  it('is checked and counted with its pulled tickers', async () => {
    expect((await mixed('verify')).out).toContain('3 tickers checked: all as it was written')
    expect((await pulled('verify --deep --json')).out).toContain('"tickers":1')
    expect((await pulled('doctor --csv')).out).toContain('tickers: 1')
    expect((await pulled('doctor')).code).toBe(0)
  })

  it('lets go what was pulled of a ticker that is removed', async () => {
    const unknown = await pulled('remove SIM001')
    expect(unknown.code).toBe(3)
    expect(unknown.err).toContain('nothing is loaded for "SIM001"')
    expect(unknown.err).toContain('bands remove SIM0001')
    expect((await pulled('remove SIM0001')).code).toBe(0)
    expect((await pulled('remove SIM0001')).code).toBe(3)
    expect((await pulled('events SIM0001 rsi_zone')).err).toContain('no bars for "SIM0001"')
  })
})
