import { parseDay } from '../model/day.js'
import type { Adjustment, AssetClass } from '../model/series.js'
import type { TickerEntry } from './store.js'

/** A row of `tickers` as it lies in the database. */
export interface TickerRow {
  id: number
  ticker: string
  asset_class: AssetClass | null
  prices: Adjustment
  bars: number
  first_date: string
  last_date: string
  source: string
  format: string
  imported_at: string
}

export function entryOf(row: TickerRow): TickerEntry {
  return {
    ticker: row.ticker,
    assetClass: row.asset_class,
    prices: row.prices,
    bars: row.bars,
    first: parseDay(row.first_date)!,
    last: parseDay(row.last_date)!,
    source: row.source,
    format: row.format,
    importedAt: row.imported_at,
  }
}
