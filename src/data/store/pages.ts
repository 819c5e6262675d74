import type { Day } from '../../core/model/day.js'
import type { EventsPage, PulledSource, SeriesKey } from '../../core/model/event.js'

/** One page of unfiltered events of a series, as a server sent it. The oldest final events form a single page. */
export interface StoredPage {
  /** The request was for events before this date; null: for the newest events. */
  before: string | null
  /** When it was pulled (ISO time, UTC), and its as-of day; null if the server did not say. */
  pulled_at: string
  as_of: string | null
  /** The server's ETag; null if it sent none. */
  etag: string | null
  /** Its as-of day or its totals differ from the page above it: an event between them may be missing. */
  gapAbove: boolean
  body: EventsPage
}

export interface StoredPages extends SeriesKey {
  /** The server's address, without a key. */
  url: string
  /** Newest first, without gaps: these answer questions. Empty until a first pull has finished. */
  kept: readonly StoredPage[]
  /** Pages of an unfinished pull, newest first. */
  coming: readonly StoredPage[]
}

/**
 * A series without its events. `complete`: it answers questions. `partial`: the first pull is not finished. `mixed`:
 * events may be missing between its pages until the next pull.
 */
export interface PulledEntry extends SeriesKey, PulledSource {
  state: 'complete' | 'partial' | 'mixed'
  /** The tier's range of the key that pulled: `90d`, `2y` or `5y`. */
  query_range: string
  /** Stored events, and the total that the server reported for its range. */
  events: number
  total_occurrences: number
}

/** A row of the table `pulled`: the columns of a series, and its pages. */
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
  /** Digest of the request. */
  asked: string
  /** ISO time, UTC. */
  started: string
}

/** Stores pages from servers, for tickers without bars. All pages of a ticker come from one server. */
export interface PageStore {
  has(ticker: string): Promise<boolean>
  /** Every ticker that has pages, ascending. */
  tickers(): Promise<string[]>
  /** The series of one ticker or of all, by ticker, timeframe and field. */
  entries(ticker?: string): Promise<PulledEntry[]>
  /** null: nothing was pulled */
  series(key: SeriesKey): Promise<StoredPages | null>
  /** The newest as-of day of one server's pages (default: of all servers). null: nothing was pulled. */
  newestDay(url?: string): Promise<Day | null>
  /** Replaces the pages of a series; pages of the ticker from another server are deleted. */
  put(series: StoredPages): Promise<void>
  /** The pull that has not come to its end. */
  run(): Promise<PullRun | null>
  setRun(run: PullRun | null): Promise<void>
}

export function mapKeyOf({ ticker, timeframe, field }: SeriesKey): string {
  return `${ticker} ${timeframe} ${field}`
}

export function keyOf({ ticker, timeframe, field }: SeriesKey): SeriesKey {
  return { ticker, timeframe, field }
}

/** Whether events may be missing between pages. */
export function haveGaps(pages: readonly StoredPage[]): boolean {
  return pages.some(({ gapAbove }) => gapAbove)
}

/** The newest day that a page can cover. */
export function knownDate({ as_of, pulled_at }: Pick<PulledSource, 'as_of' | 'pulled_at'>): string {
  return as_of ?? pulled_at.slice(0, 10)
}

/** `pulled from https://… on 2026-11-21, as of 2018-05-11` */
export function sourceWords({ url, pulled_at, as_of }: PulledSource): string {
  const day = as_of === null ? 'the server did not give the as-of day' : `as of ${as_of}`
  return `pulled from ${url} on ${pulled_at.slice(0, 10)}, ${day}`
}
