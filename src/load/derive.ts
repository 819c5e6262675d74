import { record } from '../engine/record.js'
import type { Facts } from '../model/facts.js'
import type { Series } from '../model/series.js'
import type { TickerEntry, TickerRecord } from '../store/store.js'

/** A ticker's whole series, the facts that count, and what the store says of it. */
export interface Kept {
  entry: TickerEntry
  bars: Series
  facts: Facts | null
  /** Bars before this one are as they are stored, and so is all that was derived from them; unless given, none is. */
  since?: number
}

/** All that is recorded of some tickers, in their order. @param onTicker called before each */
export async function derive(
  tickers: readonly Kept[],
  onTicker: (ticker: Kept) => void = () => {},
): Promise<TickerRecord[]> {
  return tickers.map(ticker => {
    onTicker(ticker)
    const { entry, bars, facts, since } = ticker
    return { entry, ...record(bars, entry.assetClass ?? undefined, facts, since) }
  })
}

/** So many tickers are derived together and written as one, or so many bars: some 64 MB of what is recorded. */
const TICKERS = 200
const BARS = 400_000

/** Tickers in their order, as many at a time as are written as one. */
export function together<T>(tickers: readonly T[], barsOf: (ticker: T) => number): T[][] {
  const groups: T[][] = []
  let bars = BARS
  for (const ticker of tickers) {
    bars += barsOf(ticker)
    const group = groups.at(-1)
    if (group !== undefined && group.length < TICKERS && bars <= BARS) group.push(ticker)
    else {
      groups.push([ticker])
      bars = barsOf(ticker)
    }
  }
  return groups
}
