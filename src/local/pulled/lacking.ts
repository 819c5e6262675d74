import type { SeriesKey } from '../../model/pulled.js'
import type { Store } from '../../store/store.js'

/**
 * Whether a series cannot be asked for, because of its ticker only others were pulled, or not all of it yet. For who asks
 * about everything that there is: one that was named is asked for, and the refusal says what to do.
 */
export async function lackingIn(store: Store): Promise<(key: SeriesKey) => boolean> {
  const entries = await store.pulled.entries()
  const tickers = new Set(entries.map(entry => entry.ticker))
  const told = new Set(entries.filter(entry => entry.state === 'complete').map(nameOf))
  return key => tickers.has(key.ticker) && !told.has(nameOf(key))
}

function nameOf({ ticker, timeframe, field }: SeriesKey): string {
  return `${timeframe} ${field} ${ticker}`
}
