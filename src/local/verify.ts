import { barsAt, recordSeries } from '../engine/record.js'
import { FIELDS } from '../fields/index.js'
import type { FieldRecord, SeriesRecord } from '../model/series.js'
import { TIMEFRAME_NAMES } from '../model/terms.js'
import type { Damage, Store, TickerEntry } from '../store/store.js'
import type { Cache } from './cache.js'
import { Sectors } from './sectors.js'
import { countedFacts } from './view.js'

/**
 * Checks that a store holds what was written, by its content hashes; `deep` derives every ticker again from its bars and
 * facts too, and compares event by event. An empty list is good news.
 */
export async function verify({ store }: Pick<Cache, 'store'>, { deep = false } = {}): Promise<Damage[]> {
  const damages = await store.verify()
  if (!deep || damages.length > 0) return damages
  const unfinished = (await store.unsettled()).length
  if (unfinished > 0) {
    const what = `an import is not finished (${unfinished} steps), so nothing can be compared; a rebuild finishes it`
    return [{ ticker: '', what }]
  }
  const sectors = new Sectors(store)
  for (const entry of await store.tickers()) {
    for (const fresh of await derivedAgain(store, entry, sectors))
      damages.push(...(await differences(store, entry.ticker, fresh)))
  }
  return damages
}

async function derivedAgain(
  store: Store,
  { ticker, assetClass }: TickerEntry,
  sectors: Sectors,
): Promise<SeriesRecord[]> {
  const daily = (await store.bars(ticker))!
  const facts = countedFacts(await store.sheets(ticker))
  return Promise.all(
    TIMEFRAME_NAMES.map(async timeframe => {
      const sector = facts === null ? null : await sectors.seenFrom(ticker, timeframe)
      return recordSeries(barsAt(timeframe, daily, assetClass), facts, sector)
    }),
  )
}

async function differences(store: Store, ticker: string, fresh: SeriesRecord): Promise<Damage[]> {
  const damages: Damage[] = []
  const { timeframe } = fresh.series
  for (const { name: field } of FIELDS) {
    const expected = fresh.fields.get(field) ?? null
    const kept = await store.recorded(ticker, timeframe, field)
    const same =
      kept !== null &&
      sameRecord(kept.field, expected) &&
      fresh.outcomes.returns.every((column, w) => sameColumn(column, kept.outcomes.returns[w]!)) &&
      fresh.outcomes.ranks.every((column, w) => sameColumn(column, kept.outcomes.ranks[w]!))
    if (!same)
      damages.push({
        ticker,
        what: `its ${timeframe} ${field} events are not what its bars and facts give; a rebuild derives them again`,
      })
  }
  return damages
}

function sameRecord(a: FieldRecord | null, b: FieldRecord | null): boolean {
  if (a === null || b === null) return a === b
  return (
    a.initialBar === b.initialBar &&
    a.initialBand === b.initialBand &&
    sameColumn(a.bars, b.bars) &&
    sameColumn(a.bands, b.bands) &&
    sameColumn(a.flips, b.flips) &&
    sameColumn(a.stability, b.stability)
  )
}

function sameColumn(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false
  return true
}
