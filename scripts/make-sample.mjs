// The sample that answers while a user has no database: data/bars, imported as anyone would, and a sector of simulated
// companies, because nobody's facts are free enough to be bundled.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import Database from '../dist/better-sqlite3/lib/index.js'

const BANDS = fileURLToPath(new URL('../bin/bands.js', import.meta.url))
// With this seed each of the eight has events in each of the 21 fields.
const SIMULATED = ['simulate', '8', '--seed', '3', '--bars', '1260', '--end', '2018-05-11', '--load', '--quiet']

export async function makeSample(path) {
  const { default: library } = await import('../dist/index.js')
  const importer = await library.openImporter({ db: path })
  const inputs = ['AAPL', 'GSPC'].map(ticker => ({
    name: `data/bars/${ticker}.csv`,
    path: `data/bars/${ticker}.csv`,
    bytes: null,
  }))
  for await (const { tickers } of importer.import(inputs))
    if (tickers.length !== 1) throw new Error('a sample file has not one ticker')
  await importer.close()
  execFileSync(process.execPath, [BANDS, ...SIMULATED, '--db', path])
  // Without WAL it can be read where nothing may be written beside it.
  const db = new Database(path)
  db.pragma('journal_mode = DELETE')
  db.exec('VACUUM')
  db.close()
  rmSync(`${path}-writer`)
}
