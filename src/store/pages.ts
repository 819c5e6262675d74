import type { Day } from '../model/day.js'
import type { EventsPage, PulledSource, SeriesKey } from '../model/event.js'

/** A page of unfiltered events of one series, as a server told it; of the oldest, all that are final are one. */
export interface StoredPage {
  /** It was asked for with events before this date; null: with the newest there are. */
  before: string | null
  /** When it came (ISO time, UTC), and the day that it stands on; null where the server did not tell. */
  pulled_at: string
  as_of: string | null
  /** The server's name for it, by which it can say that it is still the same; null where it has none. */
  etag: string | null
  /** Told as of another day than the page above it, or with other numbers: an event between them may be missing. */
  mixed: boolean
  body: EventsPage
}

/** All pages that are kept of one series. */
export interface StoredPages extends SeriesKey {
  /** The server's address, without a key. */
  url: string
  /** Newest first, without a hole between them: what answers. None until a first pull has come to its end. */
  kept: readonly StoredPage[]
  /** Of a pull that has not come to its end, newest first. */
  coming: readonly StoredPage[]
}

/**
 * What is said of a series without its events. `complete` answers questions. `partial`: the first pull has not come to its
 * end. `mixed`: events may be missing between its pages, until the next pull has asked once more.
 */
export interface PulledEntry extends SeriesKey, PulledSource {
  state: 'complete' | 'partial' | 'mixed'
  /** The tier's range of the key that pulled: `90d`, `2y` or `5y`. */
  query_range: string
  /** Events that are kept, and how many the server said there are in its range. */
  events: number
  total_occurrences: number
}

/** A row of `pulled` as it lies in the database: what is said of a series, and its pages. */
export interface PulledRow extends PulledEntry {
  /** as_of, or the day of the pull. */
  known: string
  hash: string
  /** JSON of `kept` and `coming`, compressed. */
  pages: Buffer
}

/** A pull of several series from its begin to its end, however often it is stopped in between. */
export interface PullRun {
  id: string
  url: string
  /** What it was asked for, digested. */
  asked: string
  /** ISO time, UTC. */
  started: string
}

/** Keeps pages of servers beside the bars of other tickers. A ticker's are all of one server. */
export interface PageStore {
  has(ticker: string): Promise<boolean>
  /** Every ticker of which there are some, ascending. */
  tickers(): Promise<string[]>
  /** What there is, of one ticker or of all, by ticker, timeframe and field. */
  entries(ticker?: string): Promise<PulledEntry[]>
  /** null: nothing was pulled */
  series(key: SeriesKey): Promise<StoredPages | null>
  /** The newest day that a server has told anything of; of all servers unless one is given. null: nothing was pulled. */
  newestDay(url?: string): Promise<Day | null>
  /** Puts a series in place of what it was; what another server told of the ticker goes. */
  put(series: StoredPages): Promise<void>
  /** The pull that has not come to its end. */
  run(): Promise<PullRun | null>
  setRun(run: PullRun | null): Promise<void>
}

/** The same for the same series. */
export function nameOf({ ticker, timeframe, field }: SeriesKey): string {
  return `${ticker} ${timeframe} ${field}`
}

/** The key alone, of whatever has one. */
export function keyOf({ ticker, timeframe, field }: SeriesKey): SeriesKey {
  return { ticker, timeframe, field }
}

/** Whether there may be a hole between pages. */
export function isMixed(pages: readonly StoredPage[]): boolean {
  return pages.some(({ mixed }) => mixed)
}

/** The newest day that a page can tell anything of. */
export function knownDate({ as_of, pulled_at }: Pick<PulledSource, 'as_of' | 'pulled_at'>): string {
  return as_of ?? pulled_at.slice(0, 10)
}

/** `pulled from https://… on 2026-11-21, as of 2018-05-11` */
export function sourceWords({ url, pulled_at, as_of }: PulledSource): string {
  const day = as_of === null ? 'the server did not tell as of which day' : `as of ${as_of}`
  return `pulled from ${url} on ${pulled_at.slice(0, 10)}, ${day}`
}
