import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { wordsAsText } from '../../src/core/errors.js'
import { readFile } from '../../src/data/feeds/read.js'
import { Importer } from '../../src/data/load/import.js'
import type { ImportOptions } from '../../src/data/load/report.js'
import { simulatedTicker } from '../../src/data/simulate/simulate.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import type { Store } from '../../src/data/store/store.js'
import { pulledSeries } from '../contracts/store.js'
import { csv, fileOf, simulatedRows, WHO } from '../support/imports.js'
import { pulledIn } from '../support/pulled.js'
import { sourced, temporaryFolder } from '../support/store.js'

/** A store in which events of AAPL and KO were pulled, and how it is imported into. */
async function pulledStore(): Promise<{
  store: Store
  folder: string
  run(files: readonly string[], options?: ImportOptions): Promise<{ reports: object[]; refused: string[] }>
}> {
  const folder = temporaryFolder()
  const store = openSqlite(join(folder, 'bands.db'), { readonly: false })
  onTestFinished(() => store.close())
  for (const ticker of ['AAPL', 'KO'])
    for (const field of ['rsi_zone', 'macd_state']) await pulledIn(store).put(pulledSeries(ticker, { field }))
  return {
    store,
    folder,
    async run(files, options = {}) {
      const importer = await Importer.begin(store, readFile, WHO)
      const inputs = files.map(path => ({ name: path, path, bytes: null }))
      const reports: object[] = []
      const refused: string[] = []
      const onRefused = (error: Error): void => void refused.push(error.message)
      for await (const file of importer.import(inputs, { onRefused, ...options }))
        if (file.holds === 'bars') {
          reports.push(...file.tickers)
          refused.push(...file.refused.map(({ message }) => wordsAsText(message)))
        }
      await store.unlock(WHO)
      return { reports, refused }
    },
  }
}

describe('importing bars of a ticker with pulled events', () => {
  it('is refused in one sentence with what to do, and the other files are loaded', async () => {
    const { store, folder, run } = await pulledStore()
    const before = await pulledIn(store).entries()
    const file = fileOf(folder, 'AAPL.csv', csv(simulatedRows(1, 60)))
    const { reports, refused } = await run([file, fileOf(folder, 'MSFT.csv', csv(simulatedRows(2, 60)))])
    expect(refused).toEqual([
      'AAPL: there are 4 events of it that were pulled from https://bands.example here; replace starts AAPL again, from a file of its own, and takes them out; db FILE keeps both apart',
    ])
    expect(reports).toMatchObject([{ ticker: 'MSFT', added: 60 }])
    expect((await store.tickers()).map(({ ticker }) => ticker)).toEqual(['MSFT'])
    expect(await pulledIn(store).entries()).toEqual(before)
  })

  it('loads the other tickers of its file', async () => {
    const { store, folder, run } = await pulledStore()
    const rows = ['MSFT', 'KO'].flatMap((ticker, i) => simulatedRows(i + 1, 60).map(row => `${ticker},${row}`))
    const text = `ticker,date,open,high,low,close,volume\n${rows.join('\n')}\n`
    const { refused } = await run([fileOf(folder, 'both.csv', text)])
    expect(refused).toHaveLength(1)
    expect(refused[0]).toMatch(/^KO: there are /)
    expect((await store.tickers()).map(({ ticker }) => ticker)).toEqual(['MSFT'])
    expect(await pulledIn(store).entries()).toHaveLength(4)
  })

  it('takes the events out with --replace and says so, once, and touches no other ticker', async () => {
    const { store, folder, run } = await pulledStore()
    const files = [
      fileOf(folder, 'AAPL.csv', csv(simulatedRows(1, 60).slice(0, 40))),
      fileOf(folder, 'AAPL.later.csv', csv(simulatedRows(1, 60).slice(40))),
    ]
    const { reports, refused } = await run(files, { replace: true, ticker: 'AAPL' })
    expect(refused).toEqual([])
    expect(reports).toMatchObject([
      { added: 40, note: 'AAPL: 4 events of it that were pulled from https://bands.example are taken out' },
      { added: 20, bars: 60 },
    ])
    expect(reports[1]).not.toHaveProperty('note')
    expect((await pulledIn(store).entries()).map(({ ticker }) => ticker)).toEqual(['KO', 'KO'])
    expect(await store.verify()).toEqual([])
  })

  it('is refused of bars that are no file, too', async () => {
    const { store } = await pulledStore()
    await pulledIn(store).put(pulledSeries('SIM0001'))
    const importer = await Importer.begin(store, readFile, WHO)
    const bars = sourced(simulatedTicker(1, { count: 1, bars: 60, seed: 7, end: 17_000 }))
    await expect(importer.put([bars])).rejects.toMatchObject({ code: 'bad_data' })
    await importer.put([bars], { replace: true })
    expect((await store.ticker('SIM0001'))?.bars).toBe(60)
    expect(await pulledIn(store).entries('SIM0001')).toEqual([])
  })
})

describe('removing a ticker', () => {
  it('takes out what was pulled of it, with all fields, and leaves the others', async () => {
    const { store } = await pulledStore()
    const importer = await Importer.begin(store, readFile, WHO)
    expect(await importer.remove('AAPL')).toBe(true)
    expect(await importer.remove('AAPL')).toBe(false)
    expect((await pulledIn(store).entries()).map(({ ticker }) => ticker)).toEqual(['KO', 'KO'])
    // A rebuild derives from bars, of which there are none.
    expect(await importer.rebuild()).toBe(0)
    expect(await pulledIn(store).entries()).toHaveLength(2)
  })
})
