import { join } from 'node:path'
import { readFile } from '../../src/feeds/read.js'
import { Importer } from '../../src/load/import.js'
import type { SimulatedTicker } from '../../src/simulate/simulate.js'
import { openSqlite } from '../../src/store/sqlite/data.js'
import type { Store } from '../../src/store/store.js'
import { temporaryFolder } from './folder.js'

/** A real store with these tickers, their bars and their facts, loaded as the command line loads them. */
export async function loadedStore(tickers: readonly SimulatedTicker[], folder = temporaryFolder()): Promise<Store> {
  const importer = await emptyImporter(folder)
  await importer.put(tickers.map(sourced))
  await importer.putFacts(
    tickers.flatMap(({ facts }) => facts),
    SOURCE,
  )
  return importer.store
}

const SOURCE = { file: 'simulate', format: 'simulated' }

/** An importer into an empty store. */
export async function emptyImporter(folder = temporaryFolder()): Promise<Importer> {
  const store = openSqlite(join(folder, 'bands.db'), { readonly: false })
  return Importer.begin(store, readFile, { pid: process.pid, host: 'here', started: new Date().toISOString() })
}

export function sourced({ ticker, bars }: SimulatedTicker) {
  return { ticker, bars, prices: 'raw' as const, source: 'simulate', format: 'simulated' }
}
