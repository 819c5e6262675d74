import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { type Series, sliceBars } from '../../src/core/model/series.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { inspect } from '../../src/data/store/sqlite/inspect.js'
import { Database } from '../support/database.js'
import { contentAt } from '../support/imports.js'
import { emptyImporter, importerOf, temporaryFolder } from '../support/store.js'

/** Made by `bands simulate 1 --bars 340 > sim.csv; bands import sim.csv` of the last version with schema 9. */
const FILE = new URL('schema-9.db.gz', import.meta.url)

const put = (bars: Series) => [{ ticker: 'SIM0001', bars, prices: 'raw' as const, source: 'a.csv', format: 'csv' }]

/** The bars in each chunk of daily prices. */
function chunksAt(path: string): unknown[] {
  const db = new Database(path, { readonly: true })
  onTestFinished(() => void db.close())
  return db.prepare("SELECT length(columns) / 44 FROM chunks WHERE part = 'prices' ORDER BY chunk").pluck().all()
}

it('a file of schema 9 answers as it is, and a new bar leaves what a new file with the same bars has', async () => {
  const path = join(temporaryFolder(), 'bands.db')
  writeFileSync(path, gunzipSync(readFileSync(FILE)))
  const old = openSqlite(path, { readonly: true })
  const bars = (await old.bars('SIM0001'))!
  expect([await old.verify(), chunksAt(path)]).toEqual([[], [256, 84]])
  await old.close()
  expect(inspect(path).schema).toBe(9)
  const days = Int32Array.of(bars.days[339]! + 1)
  const next = { ...sliceBars(bars, 339, 340), days, known: days }
  const importer = await importerOf(openSqlite(path, { readonly: false }))
  expect(inspect(path).schema).toBe(11)
  await importer.put(put(next))
  expect(await importer.store.verify()).toEqual([])
  await importer.close()
  const folder = temporaryFolder()
  const anew = await emptyImporter(folder)
  await anew.put(put(bars))
  await anew.put(put(next))
  await anew.close()
  expect(chunksAt(path)).toEqual([256, 64, 21])
  const other = join(folder, 'bands.db')
  expect(await contentAt(path)).toEqual(await contentAt(other))
  const rowsAt = (file: string) => {
    const db = new Database(file, { readonly: true })
    onTestFinished(() => void db.close())
    return db.prepare('SELECT timeframe, part, chunk, columns FROM chunks ORDER BY 1, 2, 3').raw().all()
  }
  expect(rowsAt(path)).toEqual(rowsAt(other))
})
