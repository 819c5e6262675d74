import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { record } from '../../src/core/engine/record.js'
import { type Day, parseDay } from '../../src/core/model/day.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import type { Series } from '../../src/core/model/series.js'
import type { Tier } from '../../src/core/model/terms.js'
import { readFile } from '../../src/data/feeds/read.js'
import { Importer } from '../../src/data/load/import.js'
import { Local } from '../../src/data/local/local.js'
import { type SimulatedTicker, simulatedTicker } from '../../src/data/simulate/simulate.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import type { Store, TickerEntry, TickerRecord } from '../../src/data/store/store.js'

/** What a test says of a ticker; what it leaves out is filled in. */
export interface TickerFixture extends Partial<TickerEntry> {
  ticker: string
  series: Series
}

/** A simulated one of five years and more, up to the same Wednesday. */
export function fixture(index = 1, bars = 1_500): { ticker: string; series: Series } {
  const { ticker, bars: series } = simulatedTicker(index, { count: 1, bars, seed: 7, end: parseDay('2018-03-28')! })
  return { ticker, series }
}

/**
 * A real SQLite store with these tickers written as an import writes them. It goes with the test, as its folder does,
 * unless a folder is given.
 */
export async function storeOf(fixtures: readonly TickerFixture[], folder?: string): Promise<Store> {
  const store = openSqlite(join(folder ?? temporaryFolder(), 'bands.db'), { readonly: false })
  if (folder === undefined) onTestFinished(() => store.close())
  await store.write({ records: fixtures.map(recordOf) }, DEFINITIONS_VERSION)
  return store
}

/** The same store as a caller sees it. */
export async function cacheOf(
  fixtures: readonly TickerFixture[],
  { tier = 'pro', asOf = null }: { tier?: Tier | null; asOf?: Day | null } = {},
): Promise<Local> {
  return new Local(await storeOf(fixtures), tier, asOf)
}

/** A ticker with all that is derived from its bars. */
export function recordOf({ series, ...given }: TickerFixture): TickerRecord {
  const entry: TickerEntry = {
    assetClass: null,
    prices: 'raw',
    bars: series.days.length,
    first: series.days[0]!,
    last: series.days.at(-1)!,
    source: `${given.ticker}.csv`,
    format: 'bars',
    importedAt: '2026-01-02T03:04:05.000Z',
    ...given,
  }
  return { entry, ...record(series, entry.assetClass) }
}

/** A real store with these tickers, their bars and their facts, loaded as the command line loads them. */
export async function loadedStore(tickers: readonly SimulatedTicker[], folder = temporaryFolder()): Promise<Store> {
  return loadedInto(openSqlite(join(folder, 'bands.db'), { readonly: false }), tickers)
}

/** The same into an empty store. */
export async function loadedInto(store: Store, tickers: readonly SimulatedTicker[]): Promise<Store> {
  const importer = await importerOf(store)
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
  return importerOf(openSqlite(join(folder, 'bands.db'), { readonly: false }))
}

export function importerOf(store: Store): Promise<Importer> {
  return Importer.begin(store, readFile, { pid: process.pid, host: 'here', started: new Date().toISOString() })
}

export function sourced({ ticker, bars }: SimulatedTicker) {
  return { ticker, bars, prices: 'raw' as const, source: 'simulate', format: 'simulated' }
}

/** Opens a store for all tests of a file; it goes after the last of them, as its folder does. */
export function openedForAll(open: (folder: string) => Promise<Store>): void {
  const folder = mkdtempSync(join(tmpdir(), 'bands-'))
  let store: Store | undefined
  beforeAll(async () => {
    store = await open(folder)
  })
  afterAll(async () => {
    await store?.close()
    rmSync(folder, { recursive: true, force: true })
  })
}

/** A folder on a disk of its own, as large as `mount` is told; null where none may be made. */
export function smallDisk(size: string): string | null {
  const folder = temporaryFolder()
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder]).status !== 0) return null
  onTestFinished(() => void spawnSync('umount', [folder]))
  return folder
}

/** Changes such a disk: `size=4m`, `ro`. */
export function remount(folder: string, options: string): void {
  expect(spawnSync('mount', ['-o', `remount,${options}`, folder]).status).toBe(0)
}

/** A new empty folder that goes when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bands-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
