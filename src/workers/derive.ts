import { derived, type Kept } from '../load/derive.js'
import { pack } from '../store/packed.js'
import type { Handler } from '../threads.js'

/** Derives tickers, and makes of them what is written. */
export function begin(): Handler {
  return {
    answer(tickers: readonly Kept[]) {
      const records = tickers.map(ticker => pack(derived(ticker)))
      return { result: records, transfer: records.map(({ bytes }) => bytes.buffer) }
    },
  }
}
