import { Cache } from '../local/cache.js'
import { type ExportData, eventBlock } from '../local/export.js'
import { openStore } from '../store/opening.js'
import type { Handler } from '../threads.js'

/** Exports the events of a ticker as text. */
export function begin({ address, env, tier, today, filter, between }: ExportData): Handler {
  const opening = async (): Promise<Cache> =>
    new Cache(await openStore(address, { readonly: true, env }), tier, null, { clock: () => today })
  let cache: Promise<Cache> | undefined
  return {
    async answer(ticker: string) {
      cache ??= opening()
      const block = await eventBlock(await cache, { ...filter, tickers: [ticker] }, between)
      return { result: block, transfer: [block.text.buffer] }
    },
  }
}
