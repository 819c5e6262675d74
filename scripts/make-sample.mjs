// The sample that answers while a user has no database: data/bars, imported as anyone would.
import Database from 'better-sqlite3'

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
  // Without WAL it can be read where nothing may be written beside it.
  const db = new Database(path)
  db.pragma('journal_mode = DELETE')
  db.exec('VACUUM')
  db.close()
}
