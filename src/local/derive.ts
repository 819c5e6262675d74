import { record } from '../engine/record.js'
import type { Facts } from '../model/facts.js'
import type { Series } from '../model/series.js'
import type { TickerEntry, TickerRecord } from '../store/store.js'
import type { ImportOptions } from './import-report.js'

/** A ticker's whole series, the facts that count, and what the store says of it. */
export interface Kept {
  entry: TickerEntry
  bars: Series
  facts: Facts | null
}

/** Tickers derived one by one, as they are written: the whole never lies in memory. */
export function* derived(
  file: string,
  tickers: readonly Kept[],
  onProgress: ImportOptions['onProgress'],
): Generator<TickerRecord> {
  let rows = 0
  for (const [done, { entry, bars, facts }] of tickers.entries()) {
    rows += bars.days.length
    onProgress?.({ file, stage: 'deriving', done, of: tickers.length, rows })
    yield { entry, ...record(bars, entry.assetClass ?? undefined, facts) }
  }
}
