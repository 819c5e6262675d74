import { record } from '../engine/record.js'
import type { FieldRecord, SeriesRecord } from '../model/record.js'
import type { Damage, Store } from '../store/store.js'

/**
 * Checks that a store holds what was written, by its content hashes; `deep` derives every ticker again from its bars too
 * and compares event by event. An empty list is good news.
 */
export async function verify(store: Store, { deep = false } = {}): Promise<Damage[]> {
  const damages = await store.verify()
  if (!deep || damages.length > 0) return damages
  for (const { ticker, assetClass } of await store.tickers()) {
    const bars = await store.bars(ticker)
    if (bars === null) continue
    const { daily, weekly } = record(bars, assetClass ?? undefined)
    damages.push(...(await differences(store, ticker, daily)), ...(await differences(store, ticker, weekly)))
  }
  return damages
}

async function differences(store: Store, ticker: string, fresh: SeriesRecord): Promise<Damage[]> {
  const damages: Damage[] = []
  const { timeframe } = fresh.series
  for (const [field, expected] of fresh.fields) {
    const kept = await store.recorded(ticker, timeframe, field)
    const same =
      kept?.field != null &&
      sameRecord(kept.field, expected) &&
      fresh.outcomes.returns.every((column, w) => sameColumn(column, kept.outcomes.returns[w]!)) &&
      fresh.outcomes.ranks.every((column, w) => sameColumn(column, kept.outcomes.ranks[w]!))
    if (!same)
      damages.push({ ticker, what: `its ${timeframe} ${field} events are not what its bars give; run bands rebuild` })
  }
  return damages
}

function sameRecord(a: FieldRecord, b: FieldRecord): boolean {
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
