import type { EventsPage } from '../../model/event.js'
import type { EventsQuery } from '../../model/query.js'
import { eventsCost } from '../../policy/credits.js'

/** A server as a pull needs it. */
export interface PageSource {
  /** Its address, without a key: what is pulled is marked with it. */
  readonly url: string
  /**
   * One search, asked anew each time, and an answer to it and to nothing else: newest first, as many events as the limit
   * allows of those that it counts.
   */
  page(query: EventsQuery, asking: Asking): Promise<SourcedPage>
}

export interface Asking {
  /**
   * Asked again under the same name, after a pull that was killed before it could keep the answer, a question costs
   * nothing where the server knows idempotency keys.
   */
  name: string
  /** The page that is there already; null: none */
  etag: string | null
}

export interface SourcedPage {
  /** null: still the page that is there, which was said at no cost. */
  page: EventsPage | null
  etag: string | null
  /** The day that the answer stands on; null where the server does not tell. */
  asOf: string | null
  left: CreditsLeft
}

/** Credits of the caller after an answer; null where the server does not tell. */
export interface CreditsLeft {
  day: number | null
  hour: number | null
}

/** The most events that a page may have: the fewest pages. */
export const PAGE = 100

/** What `GET /v1/events` costs without a context. */
export const PAGE_COST = eventsCost({})
