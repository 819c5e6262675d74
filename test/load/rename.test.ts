import { describe, expect, it } from 'vitest'
import { FIELDS } from '../../src/core/fields/index.js'
import { TIMEFRAME_NAMES } from '../../src/core/model/terms.js'
import type { Importer } from '../../src/data/load/import.js'
import { verify } from '../../src/data/local/verify.js'
import { type SimulatedTicker, simulatedTickers } from '../../src/data/simulate/simulate.js'
import { originsOf, type Store } from '../../src/data/store/store.js'
import { pulledSeries } from '../contracts/store.js'
import { notInQuick } from '../support/full.js'
import { pulledIn } from '../support/pulled.js'
import { emptyImporter, sourced } from '../support/store.js'

/** Seven stocks, so that a sector has something to compare. */
const SEVEN = [...simulatedTickers({ count: 7, bars: 400, seed: 2, end: 20_000 })]

async function loaded(tickers: readonly SimulatedTicker[]): Promise<Importer> {
  const importer = await emptyImporter()
  await importer.putFacts(
    tickers.flatMap(({ facts }) => facts),
    { file: 'facts', format: 'simulated' },
  )
  await importer.put(tickers.map(sourced))
  return importer
}

/** All that is kept, but for when it was imported. */
async function everything(store: Store): Promise<unknown> {
  const found: Record<string, unknown> = {}
  for (const ticker of await store.names()) {
    const { importedAt: _now, ...entry } = (await store.ticker(ticker))!
    const sheets = Object.entries(await store.sheets(ticker)).map(([kind, { rows }]) => [
      kind,
      rows.map(row => row.record),
    ])
    const recorded = []
    for (const timeframe of TIMEFRAME_NAMES)
      for (const { name } of FIELDS) {
        const { outcomes, field, unsettled } = (await store.recorded(ticker, timeframe, name))!
        recorded.push({ timeframe, name, outcomes, field, unsettled })
      }
    found[ticker] = { entry, sheets, recorded, bars: await store.bars(ticker) }
  }
  return found
}

describe('a ticker that is renamed', () => {
  notInQuick('is what it were had it always had that name, and its sector is as before', async () => {
    const before = await loaded(SEVEN)
    expect(await before.rename('SIM0002', 'META')).toBe(true)
    const named = SEVEN.map(one =>
      one.ticker !== 'SIM0002'
        ? one
        : { ...one, ticker: 'META', facts: one.facts.map(facts => ({ ...facts, ticker: 'META' })) },
    )
    const after = await loaded(named)
    expect(await everything(before.store)).toEqual(await everything(after.store))
    expect(await verify(before, { deep: true })).toEqual([])
  })

  it('keeps which file brought which bars', async () => {
    const importer = await loaded(SEVEN.slice(0, 1))
    await importer.rename('SIM0001', 'META')
    expect(originsOf((await importer.store.ticker('META'))!)).toMatchObject([{ source: 'simulate', bars: 400 }])
  })

  it('may have facts alone', async () => {
    const importer = await emptyImporter()
    await importer.putFacts(SEVEN[0]!.facts, { file: 'facts', format: 'simulated' })
    expect(await importer.rename('SIM0001', 'META')).toBe(true)
    expect(await importer.tickers()).toEqual(['META'])
    expect(await verify(importer, { deep: true })).toEqual([])
  })

  it('takes no name under which there is something, and nothing is not renamed', async () => {
    const importer = await loaded(SEVEN.slice(0, 2))
    const before = await everything(importer.store)
    await expect(importer.rename('SIM0001', 'SIM0002')).rejects.toMatchObject({
      code: 'invalid_parameter',
      message: 'there is something of SIM0002 already; a ticker can only get a name that is free.',
    })
    expect(await importer.rename('NONE', 'META')).toBe(false)
    expect(await everything(importer.store)).toEqual(before)
  })

  it('is none that was pulled from a server', async () => {
    const importer = await emptyImporter()
    await pulledIn(importer.store).put(pulledSeries('AAPL'))
    await expect(importer.rename('AAPL', 'META')).rejects.toThrow('AAPL was pulled from a server, and keeps the name')
  })
})
