import { record } from '../engine/record.js'
import type { Series } from '../model/series.js'
import type { TickerEntry, TickerRecord } from '../store/store.js'
import type { ImportOptions, SourcedBars } from './import-report.js'

/** A ticker's whole series, and what the store says of it. */
export interface Kept {
  entry: TickerEntry
  bars: Series
}

/** Tickers derived one by one, as they are written: the whole never lies in memory. */
export function* derived(
  file: string,
  tickers: readonly Kept[],
  onProgress: ImportOptions['onProgress'],
): Generator<TickerRecord> {
  let rows = 0
  for (const [done, { entry, bars }] of tickers.entries()) {
    rows += bars.days.length
    onProgress?.({ file, stage: 'deriving', done, of: tickers.length, rows })
    yield { entry, ...record(bars, entry.assetClass ?? undefined) }
  }
}

/** The entry of a series that has just taken bars in; what belongs to the ticker itself stays. */
export function entryFor(
  { ticker, prices, source, format }: SourcedBars,
  series: Series,
  before: TickerEntry | null,
): TickerEntry {
  return {
    ticker,
    assetClass: before?.assetClass ?? null,
    prices,
    bars: series.days.length,
    first: series.days[0]!,
    last: series.days.at(-1)!,
    source,
    format,
    importedAt: new Date().toISOString(),
  }
}
