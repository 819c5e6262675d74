import type { BandEvent, PulledSource } from './event.js'
import type { Timeframe } from './terms.js'

/** Events of one field of one ticker at one timeframe. */
export interface SeriesKey {
  ticker: string
  timeframe: Timeframe
  field: string
}

/**
 * `complete` answers questions. `partial`: the first pull has not come to its end. `mixed`: its pages are as of different
 * days, so that an event may be missing between them, until the next pull has asked once more.
 */
type PulledState = 'complete' | 'partial' | 'mixed'

/** What is said of a pulled series without its events. */
export interface PulledEntry extends SeriesKey, PulledSource {
  state: PulledState
  /** The tier's range of the key that pulled: `90d`, `2y` or `5y`. */
  query_range: string
  /** Events that are kept, and how many the server said there are in its range. */
  events: number
  total_occurrences: number
}

/** All that was pulled of one series; written as one. */
export interface PulledSeries extends Omit<PulledEntry, 'events'> {
  /** As the server told them, oldest first. */
  events: readonly BandEvent[]
  /** The server's name for the newest page, by which it can say at no cost that nothing has changed; null where it has none. */
  etag: string | null
  /** A pull that was stopped; the events above are those of before it. */
  under_way: UnderWay | null
}

/** Pages that have come so far, from the newest on. */
export interface UnderWay {
  /** Of the first page, like the four below it. */
  pulled_at: string
  etag: string | null
  as_of: string | null
  query_range: string
  total_occurrences: number
  /** Oldest first. */
  events: readonly BandEvent[]
  /** The next page is asked for before this date. */
  before: string
  /** Goes on to the end of the range, whatever is kept. */
  whole: boolean
  /** A later page was told as of another day than the first. */
  mixed: boolean
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

/** The newest day that a series can tell anything of. */
export function knownDate({ as_of, pulled_at }: PulledSource): string {
  return as_of ?? pulled_at.slice(0, 10)
}
