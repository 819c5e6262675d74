import type { Input, ReadOptions, ReadResult, TickerBars } from '../feeds/feed.js'
import type { Adjustment } from '../model/series.js'

export interface ImportProgress {
  /** The file, as shown to people; empty while a store is rebuilt. */
  file: string
  stage: 'reading' | 'deriving'
  /** Bytes while reading, tickers while deriving; `of` is null where the whole is not known. */
  done: number
  of: number | null
  rows: number
}

export interface ImportOptions extends Omit<ReadOptions, 'onProgress'> {
  /** Start each ticker again from the file, whatever was there. */
  replace?: boolean
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

export interface FileReport extends Omit<ReadResult, 'tickers'> {
  tickers: TickerReport[]
}

/** Bars that came from somewhere. */
export interface SourcedBars extends TickerBars {
  source: string
  format: string
}

export type ReadBars = (input: Input, options: ReadOptions) => Promise<ReadResult>
