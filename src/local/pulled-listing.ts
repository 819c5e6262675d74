import type { PulledEntry, SeriesKey } from '../model/pulled.js'
import type { Store } from '../store/store.js'

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

type PulledPart = Pick<PulledEntry, 'timeframe' | 'field' | 'state' | 'query_range' | 'events' | 'pulled_at' | 'as_of'>

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
