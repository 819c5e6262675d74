import { Cache } from '../local/cache.js'
import { type ExportData, eventBlock } from '../local/export.js'
import { openSqlite } from '../store/sqlite/data.js'
import type { Handler } from '../threads.js'

/** Exports the events of a ticker as text. */
export function begin({ path, tier, today, filter, between }: ExportData): Handler {
  const cache = new Cache(openSqlite(path, { readonly: true }), tier, null, { clock: () => today })
  return {
    async answer(ticker: string) {
      const block = await eventBlock(cache, { ...filter, tickers: [ticker] }, between)
      return { result: block, transfer: [block.text.buffer] }
    },
  }
}
