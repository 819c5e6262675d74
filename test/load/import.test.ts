import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Busy } from '../../src/core/errors.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import { readFile } from '../../src/data/feeds/read.js'
import { Importer } from '../../src/data/load/import.js'
import { verify } from '../../src/data/local/verify.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { simulatedRecord } from '../contracts/store.js'
import { notInQuick } from '../support/full.js'
import { contentAt, csv, fileOf, HEADER, imported, simulatedRows, stored, WHO } from '../support/imports.js'
import { emptyImporter, sourced, temporaryFolder } from '../support/store.js'

describe('importing', () => {
  notInQuick(
    'P14: chunks, single bars, any order, CRLF, BOM and other columns give the store of one whole file',
    async () => {
      const rows = simulatedRows(1, 330)
      const whole = await stored([csv(rows)])
      for (const files of [
        [csv(rows.slice(0, 310)), ...rows.slice(310).map(row => csv([row]))],
        [csv(rows.slice(0, 90)), csv(rows.slice(60, 200)), csv(rows.slice(200))],
        [csv(rows.slice(250)), csv(rows.slice(0, 260))],
        [csv(rows.toReversed())],
        [csv([...rows.filter((_, i) => i % 3 === 0), ...rows.filter((_, i) => i % 3 !== 0)])],
        [`\ufeff${csv(rows).replaceAll('\n', '\r\n')}`],
        [`Volume;Close;Low;High;Open;Date\n${rows.map(row => row.split(',').reverse().join(';')).join('\n')}`],
      ]) {
        expect(await stored(files)).toEqual(whole)
      }
    },
  )

  it('is idempotent: the same file again changes nothing and says so', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'bands.db')
    const file = fileOf(folder, 'ABC.csv', csv(simulatedRows(2, 300)))
    const [first] = await imported(path, [file])
    expect(first).toMatchObject({ ticker: 'ABC', added: 300, replaced: 0, unchanged: 0, bars: 300 })
    const before = await entries(path)
    const [second] = await imported(path, [file])
    expect(second).toMatchObject({ added: 0, replaced: 0, unchanged: 300, bars: 300 })
    expect(await entries(path)).toEqual(before)
  })

  it('replaces a bar that comes with other values, counts it, and equals a rebuild', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'bands.db')
    const rows = simulatedRows(3, 300)
    await imported(path, [fileOf(folder, 'ABC.csv', csv(rows))])
    const changed = csv(rows.with(150, rows[150]!.replace(/\d+$/, '1')))
    const [report] = await imported(path, [fileOf(folder, 'ABC.csv', changed)])
    expect(report).toMatchObject({ added: 0, replaced: 1, unchanged: 299 })
    expect(await contentAt(path)).toEqual(await stored([changed]))
    const store = openSqlite(path, { readonly: true })
    expect(await verify({ store }, { deep: true })).toEqual([])
    await store.close()
  })

  it('P16, P21: other tickers and the order of files change nothing', async () => {
    const alone = await stored([csv(simulatedRows(1, 300))], 'ONE.csv')
    const folder = temporaryFolder()
    const files = [4, 1, 5].map(i => fileOf(folder, i === 1 ? 'ONE.csv' : `X${i}.csv`, csv(simulatedRows(i, 300))))
    for (const order of [files, files.toReversed()]) {
      const path = join(temporaryFolder(), 'bands.db')
      await imported(path, order)
      expect((await contentAt(path)).ONE).toEqual(alone.ONE)
    }
  })

  it('adds a new bar to several tickers, of different lengths, as if each file had been whole', async () => {
    const folder = temporaryFolder()
    const [path, wholePath] = [join(folder, 'bands.db'), join(folder, 'whole.db')]
    const tickers = [300, 340, 290].map((bars, i) => ({ name: `X${i}.csv`, rows: simulatedRows(i, bars) }))
    const files = tickers.map(({ name, rows }) => fileOf(folder, name, csv(rows.slice(0, -1))))
    await imported(path, files)
    const newRows = tickers.map(({ name, rows }) => `${name.slice(0, 2)},${rows.at(-1)}`)
    await imported(path, [fileOf(folder, 'day.csv', `ticker,${HEADER}\n${newRows.join('\n')}\n`)])
    const wholeFiles = tickers.map(({ name, rows }) => fileOf(folder, name, csv(rows)))
    await imported(wholePath, wholeFiles)
    expect(await contentAt(path)).toEqual(await contentAt(wholePath))
  })

  it('refuses two files of one run that disagree on a date, naming both', async () => {
    const folder = temporaryFolder()
    const rows = simulatedRows(1, 60)
    const one = fileOf(folder, 'one.csv', csv(rows))
    const two = fileOf(folder, 'two.csv', csv(rows.with(30, rows[30]!.replace(/\d+$/, '1'))))
    const run = imported(join(folder, 'bands.db'), [one, two], { ticker: 'ABC' })
    await expect(run).rejects.toThrow(/two\.csv: ABC on \d{4}-\d\d-\d\d is not the same bar as in .*one\.csv/)
  })

  it('never mixes adjusted with raw prices, except with a fresh start', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'bands.db')
    const rows = simulatedRows(1, 60)
    await imported(path, [fileOf(folder, 'ABC.csv', csv(rows))])
    const adjusted = [
      fileOf(folder, 'adjusted.csv', `${HEADER},adj_close\n${rows.map(row => `${row},1`).join('\n')}\n`),
    ]
    expect(await imported(path, adjusted, { ticker: 'ABC' })).toEqual([])
    expect((await entries(path))[0]?.prices).toBe('raw')
    const [report] = await imported(path, adjusted, { ticker: 'ABC', replace: true })
    expect(report).toMatchObject({ prices: 'adjusted', added: 60, bars: 60 })
    expect((await entries(path))[0]?.prices).toBe('adjusted')
  })

  it('changes nothing when a file is refused', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'bands.db')
    const rows = simulatedRows(1, 60)
    await imported(path, [fileOf(folder, 'ABC.csv', csv(rows))])
    const before = await contentAt(path)
    const bad = fileOf(folder, 'DEF.csv', `${csv(rows)}2020-01-02,1,2,0,1,5\n`)
    await expect(imported(path, [bad])).rejects.toThrow(/DEF\.csv:62:16: /)
    expect(await contentAt(path)).toEqual(before)
  })

  it('rebuilds a store of other definitions before anything is added, so that two never mix', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'bands.db')
    const whole = simulatedRecord(1)
    const store = openSqlite(path, { readonly: false })
    await store.write({ records: [{ ...whole, daily: { ...whole.daily, fields: new Map() } }] }, 'other definitions')
    expect((await store.recorded('SIM0001', 'daily', 'rsi_zone'))?.field).toBeNull()
    await store.close()
    await imported(path, [fileOf(folder, 'DEF.csv', csv(simulatedRows(2, 30)))])
    const after = openSqlite(path, { readonly: true })
    expect(await after.definitions()).toBe(DEFINITIONS_VERSION)
    expect((await after.recorded('SIM0001', 'daily', 'rsi_zone'))?.field).toEqual(whole.daily.fields.get('rsi_zone'))
    await after.close()
  })

  it('lets one importer in at a time, and another wait for it', async () => {
    const path = join(temporaryFolder(), 'bands.db')
    const open = () => openSqlite(path, { readonly: false })
    const first = await Importer.begin(open(), readFile, WHO)
    const store = open()
    await expect(Importer.begin(store, readFile, { ...WHO, started: 'later' })).rejects.toThrow(Busy)
    const waiting = Importer.begin(store, readFile, { ...WHO, started: 'later' }, { wait: true })
    await first.close()
    await (await waiting).close()
  })
})

async function entries(path: string) {
  const store = openSqlite(path, { readonly: true })
  const found = await store.tickers()
  await store.close()
  return found
}

describe('closes before adjustment', () => {
  const HEAD = 'date,open,high,low,close,volume,adj_close\n'
  const day = (date: string, close: number, adjusted: number): string =>
    `${date},${close},${close},${close},${close},1,${adjusted}\n`
  const paid = async (files: readonly string[], prices?: 'adjusted'): Promise<unknown> => {
    const folder = temporaryFolder()
    const db = join(folder, 'bands.db')
    for (const [i, text] of files.entries())
      await imported(db, [fileOf(folder, `${i}.csv`, text)], { ticker: 'ABC', ...(prices ? { prices } : {}) })
    const store = openSqlite(db, { readonly: true })
    const { close, unadjustedClose } = (await store.bars('ABC'))!
    await store.close()
    return { close: [...close], paid: unadjustedClose === undefined ? null : [...unadjustedClose] }
  }

  it('are stored next to adjusted ones', async () => {
    expect(await paid([HEAD + day('2024-01-02', 100, 50) + day('2024-01-03', 102, 51)])).toEqual({
      close: [50, 51],
      paid: [100, 102],
    })
  })

  it('stay unchanged on a day that is imported again without them, and are unknown on a new day', async () => {
    const adjustedOnly = 'date,open,high,low,close\n2024-01-02,49,49,49,49\n2024-01-03,52,52,52,52\n'
    expect(await paid([HEAD + day('2024-01-02', 100, 50), adjustedOnly], 'adjusted')).toEqual({
      close: [49, 52],
      paid: [100, Number.NaN],
    })
  })

  it('are unknown on older bars imported without them', async () => {
    const adjustedOnly = 'date,open,high,low,close\n2024-01-02,49,49,49,49\n'
    expect(await paid([adjustedOnly, HEAD + day('2024-01-03', 102, 51)], 'adjusted')).toEqual({
      close: [49, 51],
      paid: [Number.NaN, 102],
    })
    expect(await paid([adjustedOnly], 'adjusted')).toEqual({ close: [49], paid: null })
  })
})

notInQuick('removing from a store of other definitions derives it again first', async () => {
  const importer = await emptyImporter()
  const tickers = [...simulatedTickers({ count: 7, bars: 400, seed: 2, end: 20_000 })]
  await importer.putFacts(
    tickers.flatMap(({ facts }) => facts),
    { file: 'facts', format: 'simulated' },
  )
  await importer.put(tickers.map(sourced))
  const fields = new Map([['rsi_zone', null]])
  await importer.store.write({ amendments: [{ ticker: 'SIM0001', timeframe: 'daily', fields }] }, 'older')
  expect(await importer.remove('SIM0002')).toBe(true)
  expect(await importer.store.definitions()).toBe(DEFINITIONS_VERSION)
  expect(await verify(importer, { deep: true })).toEqual([])
})
