import type { PulledEntry } from '../../model/pulled.js'
import type { Store } from '../../store/store.js'

/** What was pulled of one ticker. */
export interface PulledTicker {
  ticker: string
  /** The server that told it. */
  source: string
  /** Of the series that was pulled first, like the day it is as of: nothing here is older. */
  pulled_at: string
  as_of: string | null
  /** Events of all series, and series of which pages are missing. */
  events: number
  unfinished: number
  series: PulledPart[]
}

export type PulledPart = Pick<
  PulledEntry,
  'timeframe' | 'field' | 'state' | 'query_range' | 'events' | 'pulled_at' | 'as_of'
>

/** Tickers of which a server has told, ascending. */
export async function pulledTickers(store: Store): Promise<PulledTicker[]> {
  const found = new Map<string, PulledEntry[]>()
  for (const entry of await store.pulled.entries()) found.set(entry.ticker, [...(found.get(entry.ticker) ?? []), entry])
  return [...found].map(([ticker, entries]) => {
    const oldest = entries.reduce((a, b) => (b.pulled_at < a.pulled_at ? b : a))
    return {
      ticker,
      source: oldest.url,
      pulled_at: oldest.pulled_at,
      as_of: oldest.as_of,
      events: entries.reduce((sum, entry) => sum + entry.events, 0),
      unfinished: entries.filter(entry => entry.state !== 'complete').length,
      series: entries.map(partOf),
    }
  })
}

function partOf({ timeframe, field, state, query_range, events, pulled_at, as_of }: PulledEntry): PulledPart {
  return { timeframe, field, state, query_range, events, pulled_at, as_of }
}
