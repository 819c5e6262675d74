import type { Upstream } from '../errors/service.js'
import { type Day, parseDay } from '../model/day.js'
import type { BandEvent, EventsPage, HistoricEvent } from '../model/event.js'
import type { Context, EventsQuery, HistoryQuery } from '../model/query.js'

/** The most events that a page may hold. */
export const PAGE = 100

/** A field has at most one event a date: more pages than a century of days fills are no history. */
const MOST_PAGES = 400

/** How a history is asked for, and how to say what is wrong with what was answered. */
export interface Asking {
  page(query: EventsQuery): Promise<EventsPage>
  wrong(what: string): Upstream
}

/** A history that can be asked for as it is: its context, if any, has a band. */
export type ClosedQuery = Omit<HistoryQuery, 'context'> & { context?: Required<Context> }

/** All events of a question, newest first, page by page backwards in time. Throws Upstream for pages without an end. */
export async function allEvents({ page, wrong }: Asking, query: ClosedQuery): Promise<BandEvent[]> {
  const events: BandEvent[] = []
  let before: Day | undefined = query.before
  let left = Number.POSITIVE_INFINITY
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const { events: found, total_occurrences: total } = await page({
      ...query,
      limit: PAGE,
      ...(before === undefined ? {} : { before }),
    })
    // A range that moves on while it is read has fewer; more are events that nobody had told of.
    if (total > left) throw wrong(`told of ${left} earlier events, and then of ${total}`)
    for (const event of found) events.push(event)
    left = total - found.length
    if (left === 0) return events
    before = parseDay(found.at(-1)!.date)!
  }
  throw wrong('sends pages without an end')
}

/**
 * The band of the context ticker on the date of each event, null before its first: asked band by band, because that is all
 * that can be asked. Stops as soon as each event has one; asks once at least, so that what must be refused is.
 */
export async function withContextBands(
  asking: Asking,
  events: readonly BandEvent[],
  query: HistoryQuery & { context: Context },
  bands: readonly string[],
): Promise<HistoricEvent[]> {
  const found = new Map<string, string>()
  for (const band of bands) {
    for (const { date } of await allEvents(asking, { ...query, context: { ...query.context, band } })) {
      if (found.has(date)) throw asking.wrong(`told of ${query.context.ticker} in two bands on ${date}`)
      found.set(date, band)
    }
    if (found.size >= events.length) break
  }
  return events.map(event => ({ ...event, context_band: found.get(event.date) ?? null }))
}
