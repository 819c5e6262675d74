import { record } from '../engine/record.js'
import type { BadData, Words } from '../errors.js'
import type { FactsResult, Input, ReadOptions, ReadResult, TickerBars } from '../feeds/feed.js'
import type { FactKind, Facts } from '../model/facts.js'
import type { Adjustment, Series } from '../model/series.js'
import type { TickerEntry, TickerRecord } from '../store/store.js'

export interface ImportProgress {
  /** The file, as shown to people; empty while a store is rebuilt, the sector while one is settled. */
  file: string
  stage: 'reading' | 'deriving' | 'settling'
  /** Bytes while reading, tickers while deriving, steps while settling; `of` is null where the whole is not known. */
  done: number
  of: number | null
  rows: number
}

export interface ImportOptions extends Omit<ReadOptions, 'onProgress'> {
  /** Refuse files that hold bars. */
  only?: 'facts'
  /** Start each ticker again from the file, whatever was there; of facts, the kinds that the file has. */
  replace?: boolean
  /** What to do about a file that is refused; without it, the run ends there. */
  onRefused?(error: BadData): void | Promise<void>
  onProgress?(progress: ImportProgress): void
}

export interface TickerReport {
  ticker: string
  prices: Adjustment
  added: number
  replaced: number
  unchanged: number
  /** The whole series afterwards. */
  bars: number
  first: string
  last: string
  /** What the user ought to know, a sentence. */
  note?: string
}

export interface BarsReport extends Omit<ReadResult, 'tickers'> {
  tickers: TickerReport[]
}

/** One kind of a ticker's facts after an import. */
export interface SheetReport {
  ticker: string
  kind: FactKind
  added: number
  replaced: number
  unchanged: number
  /** All that are kept now, and their first and last dates; null for what is undated. */
  records: number
  first: string | null
  last: string | null
}

export interface FactsReport extends Omit<FactsResult, 'facts'> {
  facts: SheetReport[]
  /** Tickers that have no bars yet: no field stands on their facts. */
  without_bars: number
  /** Records that are hardly meant so, in words for people. */
  doubts: Words[]
}

/** What became of one file. */
export type FileReport = BarsReport | FactsReport

/** Bars that came from somewhere. */
export interface SourcedBars extends TickerBars {
  source: string
  format: string
}

export type ReadFile = (input: Input, options: ReadOptions) => Promise<ReadResult | FactsResult>

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
