import type { Baseline, EventHistory, EventsPage } from './model/event.js'
import type { OversoldPage, OversoldQuery } from './model/oversold.js'
import type { EventsQuery, HistoryQuery } from './model/query.js'

/**
 * What anyone may ask, whoever answers: the local cache, or a server with a key. Questions that stand on events (tally,
 * transitions, now) are built on this alone, so they work on either.
 */
export interface Bands {
  /** The specified search. Throws TierRestricted above the caller's tier, NotFound for a ticker that is not there. */
  events(query: EventsQuery): Promise<EventsPage>
  /** Which tickers are oversold: `GET /v1/scan/oversold`. Throws TierRestricted for a date below Plus, or out of range. */
  oversold(query: OversoldQuery): Promise<OversoldPage>
  /** All matching events of the tier's range. Throws as `events` does. */
  history(query: HistoryQuery): Promise<EventHistory>
  /** What followed any bar of the same range; null where the answerer knows no prices. */
  baseline(query: HistoryQuery): Promise<Baseline | null>
  /** Well-formed tickers that can be asked for, ascending; null where the answerer does not tell. */
  tickers(): Promise<readonly string[] | null>
  close(): Promise<void>
}
