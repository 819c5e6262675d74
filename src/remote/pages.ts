import { parseDay } from '../model/day.js'
import type { EventsPage } from '../model/event.js'
import type { EventsQuery } from '../model/query.js'
import { AS_OF, EVENTS_PATH } from '../wire/headers.js'
import type { Answer } from './answer.js'
import { checkedEvents, type Told } from './check.js'
import { type Credits, creditsOf, headerText } from './credits.js'
import { eventsParams } from './params.js'
import type { Named, Transport } from './transport.js'

/** A page with what came beside it. */
export interface RemotePage {
  /** As it was sent. */
  page: EventsPage
  /** The day that the answer stands on, YYYY-MM-DD; null where the server does not tell. */
  asOf: string | null
  /** As this answer told them; null where it did not. */
  credits: Credits | null
}

/** A page that was asked for anew: null where it is still the one that was there. */
export interface NewPage extends Omit<RemotePage, 'page'> {
  page: EventsPage | null
  /** By which the server knows it again; null where it does not. */
  etag: string | null
}

/**
 * One page of events, asked for whatever was answered before: a credit, two with a context. Nothing where it was asked
 * under the same name within 48 hours, or where it is still the page that the tag names, if the server knows of such.
 */
export async function newPage(transport: Transport, query: EventsQuery, named: Required<Named>): Promise<NewPage> {
  const params = eventsParams(query)
  const answer = await transport.ask(EVENTS_PATH, params, named)
  const etag = headerText(answer.headers, 'ETag')
  if (answer.status === 304) return { page: null, etag, ...besides(answer) }
  return { ...pageOf(answer, query, toldBy(transport, `${EVENTS_PATH}?${params}`)), etag }
}

export function pageOf(answer: Answer, query: EventsQuery, told: Told): RemotePage {
  return { page: checkedEvents(answer.document, query, told), ...besides(answer) }
}

/** How what a server answers to a path may be told. */
export function toldBy(transport: Transport, path: string): Told {
  const { base } = transport.address
  return { base, url: `${base}${path}`, repeat: text => transport.repeat(text) }
}

function besides({ headers }: Answer): Omit<RemotePage, 'page'> {
  const asOf = headerText(headers, AS_OF)
  return { asOf: asOf !== null && parseDay(asOf) !== null ? asOf : null, credits: creditsOf(headers) }
}
