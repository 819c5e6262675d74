import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { record } from '../../src/engine/record.js'
import { Local } from '../../src/local/local.js'
import type { Day } from '../../src/model/day.js'
import { DEFINITIONS_VERSION } from '../../src/model/definitions.js'
import type { Series } from '../../src/model/series.js'
import type { Tier } from '../../src/model/terms.js'
import { openSqlite } from '../../src/store/sqlite/data.js'
import type { Store, TickerEntry, TickerRecord } from '../../src/store/store.js'
import { temporaryFolder } from './folder.js'

/** What a test says of a ticker; what it leaves out is filled in. */
export interface TickerFixture extends Partial<TickerEntry> {
  ticker: string
  series: Series
}

/** A real SQLite store that goes with the test, as its folder does, with these tickers written as an import writes them. */
export async function storeOf(fixtures: readonly TickerFixture[], folder = temporaryFolder()): Promise<Store> {
  const store = openSqlite(join(folder, 'bands.db'), { readonly: false })
  onTestFinished(() => store.close())
  await store.write({ records: fixtures.map(recordOf) }, DEFINITIONS_VERSION)
  return store
}

/** The same store as a caller sees it. */
export async function cacheOf(
  fixtures: readonly TickerFixture[],
  { tier = 'pro', asOf = null }: { tier?: Tier; asOf?: Day | null } = {},
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
  return { entry, ...record(series, entry.assetClass ?? undefined) }
}
