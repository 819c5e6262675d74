// For: ask another server as if it were the database here.
// In: a question, the address and the key.
// Out: the server's answers, checked, as a source.

import { inspect } from 'node:util'
import { InvalidParameter, NotFound, Upstream } from '../../core/errors.js'
import { BUILT_IN_FIELDS } from '../../core/fields/index.js'
import { dateOf, parseDay } from '../../core/model/day.js'
import type {
  BandEvent,
  Context,
  EventHistory,
  EventsPage,
  EventsQuery,
  HistoricEvent,
  HistoryQuery,
  OversoldPage,
  OversoldQuery,
} from '../../core/model/event.js'
import { type BandPeriods, bandPeriodsOf, type History, historyOf } from '../../core/model/history.js'
import type { Tier, Timeframe } from '../../core/model/terms.js'
import { eventsSearch, oversoldSearch } from '../../core/params/questions.js'
import {
  type BandPeriodsQuery,
  type FieldInfo,
  type GrantedFields,
  type HistoriesQuery,
  type KnownTicker,
  type NewestEvents,
  newestOf,
  noEventsReason,
  type Source,
  type WhyEmpty,
} from '../../core/source.js'
import { entitle, entitleAftermath, eventsPage, grantedFields, PLANS, tierOfRange } from '../../core/tiers.js'
import { AS_OF, EVENTS_PATH, NOTE, OVERSOLD_PATH } from '../../server/wire/format.js'
import {
  type Answer,
  type Credits,
  creditsOf,
  eventsPageOf,
  headerText,
  oversoldPageOf,
  tierOfCredits,
} from './answer.js'
import { dayBeforeRange, MAX_PAGE_EVENTS, refuseCondition } from './pages.js'
import { TickerPages } from './ticker-pages.js'
import { type RequestName, Transport, type TransportOptions } from './transport.js'
import { hasCondition, historyWhen, whyEmptyWhen } from './under-condition.js'

interface RemotePage {
  /** As it was sent. */
  page: EventsPage
  /** The as-of day of the answer, YYYY-MM-DD; null if the server does not say. */
  asOf: string | null
  /** From this answer; null if it has none. */
  credits: Credits | null
  /** Why it is empty; null where the server does not say. */
  note: string | null
}

/** A revalidated page: null if it is unchanged. */
export interface NewPage extends Omit<RemotePage, 'page' | 'note'> {
  page: EventsPage | null
  /** For revalidation; null if the server sent none. */
  etag: string | null
}

export type { Allowance, Credits } from './answer.js'
export type { SummaryPage } from './ticker-pages.js'
export type { TransportOptions } from './transport.js'

export interface RemoteOptions extends TransportOptions {
  /** The allowed fields; the bands of a context are queried one by one. */
  fields: readonly FieldInfo[]
}

type Range = Pick<EventHistory, 'query_range' | 'after' | 'as_of'>

/**
 * A server with the two endpoints of the specification, queried with a key. Each question is sent once; for fresh
 * answers open another Remote. Every question may throw Unauthorized, RateLimited, Unavailable and Upstream, besides
 * the errors of the local engine.
 */
export class Remote implements Source {
  readonly #transport: Transport
  readonly #fields: readonly FieldInfo[]
  readonly #answers = new Map<string, Promise<unknown>>()
  #pages: TickerPages | null = null
  #range: Range | null = null
  /** Why answers were empty, by question, and why the newest scan was, as the server says it. */
  readonly #notes = new Map<string, string>()
  #scanNote: string | null = null

  /** Sends no request yet. Throws InvalidParameter for an address, ConfigError for an unusable key or proxy. */
  constructor({ fields, ...transport }: RemoteOptions) {
    this.#transport = new Transport(transport)
    this.#fields = fields
  }

  /** @internal The questions about a ticker that are neither events nor scans. */
  get pages(): TickerPages {
    this.#pages ??= new TickerPages(this.#transport)
    return this.#pages
  }

  get url(): string {
    return this.#transport.address.base
  }

  /** The credits in the newest answer that reported them. */
  get credits(): Credits | null {
    return this.#transport.credits
  }

  /** How many milliseconds the server's clock is ahead of ours, to about a second; null if unknown. */
  get ahead(): number | null {
    return this.#transport.ahead
  }

  /** The tier of the key, judged by its range or its credits; null if neither is known. */
  get tier(): Tier | null {
    const tierByRange = this.#range === null ? null : tierOfRange(this.#range.query_range)
    return tierByRange ?? tierOfCredits(this.credits)
  }

  /** Checks the key free of charge, with an invalid question. Throws Unauthorized. */
  async checkKey(): Promise<void> {
    try {
      await this.#transport.ask(EVENTS_PATH, new URLSearchParams())
    } catch (error) {
      if (error instanceof InvalidParameter) return
      throw error
    }
    throw this.#answerError('answered a question without a ticker')
  }

  async events(query: EventsQuery): Promise<EventsPage> {
    if (!hasCondition(query)) return (await this.#newestOfBands(query)).page
    const { events, query_range } = await this.#history(query)
    return eventsPage(query, events.slice(-query.limit).reverse(), events.length, query_range)
  }

  /**
   * One page with the newest events of all bands of a query. The specification allows one band per request, so a page
   * of each band is requested. The as-of day and credits are those of the last one.
   */
  async #newestOfBands(query: EventsQuery): Promise<RemotePage> {
    const pages: RemotePage[] = []
    for await (const page of queryAhead(queryForEachBand(query), bandQuery => this.page(bandQuery))) pages.push(page)
    const firstPage = pages[0]!
    if (pages.length === 1) return firstPage
    // Events of two bands never have the same date: a field enters at most one band on a bar.
    const newestFirst = pages.flatMap(({ page }) => page.events).sort((a, b) => (a.date < b.date ? 1 : -1))
    const events = newestFirst.slice(0, query.limit)
    const total_occurrences = pages.reduce((sum, { page }) => sum + page.total_occurrences, 0)
    return { ...pages.at(-1)!, page: { ...firstPage.page, events, total_occurrences } }
  }

  /** Reads one page of events of a query with at most one band. It costs a credit, or two with a context. */
  async page(query: EventsQuery): Promise<RemotePage> {
    refuseCondition(query, this.url)
    const page = await this.#askOnce(EVENTS_PATH, eventsSearch(query), answer => pageOf(answer, query))
    this.#range = rangeOf(page)
    if (page.note !== null) this.#notes.set(questionKey(query), page.note)
    return page
  }

  /**
   * Requests one page of events, regardless of earlier answers: for callers that store pages longer than a run. Free if
   * the same name was used within 48 hours, or if the ETag still matches and the server supports it.
   */
  async newPage(query: EventsQuery, requestName: Required<RequestName>): Promise<NewPage> {
    const answer = await this.#transport.ask(EVENTS_PATH, eventsSearch(query), requestName)
    const etag = headerText(answer.headers, 'ETag')
    if (answer.status === 304) return { page: null, etag, ...headersOf(answer) }
    return { ...pageOf(answer, query), etag }
  }

  /** A scan with at most as many matches as a page can hold. */
  async oversold({ limit, ...filter }: OversoldQuery): Promise<OversoldPage> {
    const query = { ...filter, limit: Math.min(limit, MAX_PAGE_EVENTS) }
    const { page, note } = await this.#askOnce(OVERSOLD_PATH, oversoldSearch(query), answer => {
      return { page: oversoldPageOf(answer, query), note: noteOf(answer) }
    })
    this.#scanNote = note
    return page
  }

  async fields(): Promise<readonly FieldInfo[]> {
    return this.#fields
  }

  /** The newest events of a query: from one page for each band, or from the full history for more than a page holds. */
  async newest(query: EventsQuery): Promise<NewestEvents> {
    if (query.limit > MAX_PAGE_EVENTS || hasCondition(query)) return newestOf(this, query)
    const { page, asOf } = await this.#newestOfBands(query)
    return { ...page, total: page.total_occurrences, as_of: asOf }
  }

  /** The fields that the plan of the key allows. One page shows the plan; an unknown one counts as Free. */
  async granted(ticker: string, timeframe: Timeframe): Promise<GrantedFields> {
    const { page } = await this.page({ ticker, field: ANY_FIELD, timeframe, limit: MAX_PAGE_EVENTS })
    const tier = tierOfRange(page.query_range) ?? tierOfCredits(this.credits) ?? 'free'
    return { fields: grantedFields(tier, BUILT_IN_FIELDS), omitted: [] }
  }

  /** Why an answer was empty: the server's own note, or that its range has no events; null if neither is known. */
  async whyEmpty(query: HistoryQuery): Promise<WhyEmpty | null> {
    if (hasCondition(query))
      return whyEmptyWhen(
        query,
        withoutCondition => this.#fullHistory(withoutCondition),
        withoutCondition => this.whyEmpty(withoutCondition),
      )
    // A note is kept for the query that was sent: one for each band, or, by a tally, one for all bands.
    const { bands: _bands, ...allBands } = query
    for (const sentQueries of [queryForEachBand(query), [allBands]]) {
      const notes = new Set(sentQueries.flatMap(sentQuery => this.#notes.get(questionKey(sentQuery)) ?? []))
      if (notes.size > 0) return { code: 'server_note', text: [...notes].join(' ') }
    }
    return this.#range === null ? null : noEventsReason(this.#range)
  }

  async known(): Promise<readonly KnownTicker[]> {
    return []
  }

  get server(): NonNullable<Source['server']> {
    return { url: this.url, range: this.#range, note: this.#scanNote }
  }

  /** The history of each field of each ticker, in this order. Several requests are under way at once. */
  histories({ tickers, fields, outcomes, base: _base, ...filter }: HistoriesQuery): AsyncIterable<History> {
    const queries = tickers.flatMap(ticker => fields.map((field): HistoryQuery => ({ ...filter, ticker, field })))
    return queryAhead(queries, async query => {
      if (outcomes === 'needed') await this.#refuseHiddenAftermath(query)
      return historyOf(await this.#history(query), this.#bandsOf(query.field))
    })
  }

  bandPeriods(query: BandPeriodsQuery): AsyncIterable<BandPeriods> {
    return bandPeriodsOf(this.histories(query), query.fields.length)
  }

  async tickers(): Promise<null> {
    return null
  }

  async close(): Promise<void> {
    await this.#transport.close()
  }

  /** @internal */
  [inspect.custom](): string {
    return `Remote(${this.url})`
  }

  /** The history of a query, which may have a condition. */
  async #history(query: HistoryQuery): Promise<EventHistory> {
    const readHistory = (withoutCondition: HistoryQuery) => this.#fullHistory(withoutCondition)
    return hasCondition(query) ? historyWhen(query, this.url, readHistory) : readHistory(query)
  }

  /** All events of a query without a condition, each with the band of the context if there is one. */
  async #fullHistory(query: HistoryQuery): Promise<EventHistory> {
    const { context, ...withoutContext } = query
    const { ticker, field, timeframe } = query
    const band = context?.band
    // The API takes a context only with a band; for any other the bands are added below.
    const directQuery: DirectQuery =
      context === undefined || band === undefined
        ? withoutContext
        : { ...withoutContext, context: { ...context, band } }
    const events = await this.#allEvents(directQuery)
    // From the first page, which was requested already; #range may be of another query by now.
    const range = rangeOf(await this.page({ ...queryForEachBand(directQuery)[0]!, limit: MAX_PAGE_EVENTS }))
    let shownEvents: HistoricEvent[] = events
    if (context !== undefined && band === undefined)
      shownEvents = await this.#withContextBands(events, { ...query, context })
    else if (band !== undefined) shownEvents = events.map(event => ({ ...event, context_band: band }))
    return { ticker, field, timeframe, ...range, events: shownEvents, present: await this.#bandInForce(query, events) }
  }

  /** All events of a query, oldest first. */
  async #allEvents(query: DirectQuery): Promise<BandEvent[]> {
    const events: BandEvent[] = []
    for (const bandQuery of queryForEachBand(query))
      for (const event of await this.#allPages(bandQuery)) events.push(event)
    return events.sort((a, b) => (a.date < b.date ? -1 : 1))
  }

  /**
   * All events of a query that names at most one band, oldest first. Requests page by page backwards in time, and
   * throws Upstream for pages without an end.
   */
  async #allPages(query: DirectQuery): Promise<BandEvent[]> {
    const events: BandEvent[] = []
    const pageQuery: EventsQuery = { ...query, limit: MAX_PAGE_EVENTS }
    let remaining = Number.POSITIVE_INFINITY
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const { events: pageEvents, total_occurrences: total } = (await this.page({ ...pageQuery })).page
      // A range that moves with time can only lose events, so the number of earlier events never grows.
      if (total > remaining) throw this.#answerError(`reported ${remaining} earlier events, and then ${total}`)
      for (const event of pageEvents) events.push(event)
      remaining = total - pageEvents.length
      if (remaining === 0) return events.reverse()
      pageQuery.before = parseDay(pageEvents.at(-1)!.date)!
    }
    throw this.#answerError('sends pages without an end')
  }

  /**
   * Adds to each event the band of the context ticker on its date, null before the first event of that ticker. The API
   * takes one band of a context per request, so each band is queried until every event has one. At least one query is
   * sent, so that refusals appear.
   */
  async #withContextBands(
    events: readonly BandEvent[],
    query: HistoryQuery & { context: Context },
  ): Promise<HistoricEvent[]> {
    const { context } = query
    const bandByDate = new Map<string, string>()
    for (const band of this.#bandsOf(context.field)) {
      for (const { date } of await this.#allEvents({ ...query, context: { ...context, band } })) {
        if (bandByDate.has(date)) throw this.#answerError(`reported ${context.ticker} in two bands on ${date}`)
        bandByDate.set(date, band)
      }
      if (bandByDate.size >= events.length) break
    }
    return events.map(event => ({ ...event, context_band: bandByDate.get(event.date) ?? null }))
  }

  /** Throws TierRestricted if the plan of the key hides later returns. */
  async #refuseHiddenAftermath(query: HistoryQuery): Promise<void> {
    const { bands: _bands, context: _context, when: _when, ...allBands } = query
    try {
      // The first page of the whole history, which counting returns needs anyway.
      const { page } = await this.page({ ...allBands, limit: MAX_PAGE_EVENTS })
      refuseHiddenAftermath(query, tierOfRange(page.query_range))
    } catch (error) {
      // A refusal by plan comes before a missing ticker, as everywhere.
      if (error instanceof NotFound) refuseHiddenAftermath(query, tierOfCredits(this.credits))
      throw error
    }
  }

  /** The band that the field's newest event entered; null without an event. The bars since then are not known. */
  async #bandInForce(query: HistoryQuery, events: readonly BandEvent[]): Promise<EventHistory['present']> {
    const { ticker, field, timeframe, bands, before, context } = query
    const includesNewest = bands === undefined && before === undefined && context === undefined
    const newestKnown = includesNewest ? events.at(-1) : undefined
    const newest = newestKnown ?? (await this.events({ ticker, field, timeframe, limit: MAX_PAGE_EVENTS })).events[0]
    return newest === undefined ? null : { band: newest.band, since: newest.date, bars: null, initial: false }
  }

  /** The bands of a field; none for an unknown one. */
  #bandsOf(field: string): readonly string[] {
    return this.#fields.find(({ name }) => name === field)?.bands ?? []
  }

  /** Sends a question, or returns the answer if it was sent before. A question that failed is sent again. */
  #askOnce<Found>(path: string, params: URLSearchParams, read: (answer: Answer) => Found): Promise<Found> {
    const name = `${path}?${params}`
    const earlier = this.#answers.get(name) as Promise<Found> | undefined
    if (earlier !== undefined) return earlier
    const answer = this.#transport.ask(path, params).then(read)
    this.#answers.set(name, answer)
    answer.catch(() => this.#answers.delete(name))
    return answer
  }

  /** The error for an answer that cannot be right. @param what the end of a sentence that begins with the server */
  #answerError(what: string): Upstream {
    return new Upstream(this.#transport.safeText(`${this.url} ${what}.`), this.url, 200)
  }
}

/** The checked page in an answer, with the facts in its headers. Throws Upstream for a wrong answer. */
function pageOf(answer: Answer, query: EventsQuery): RemotePage {
  return { page: eventsPageOf(answer, query), note: noteOf(answer), ...headersOf(answer) }
}

/** Why an answer is empty, as the server says it; null if it does not. */
function noteOf({ headers, safeText }: Answer): string | null {
  const note = headerText(headers, NOTE)
  return note === null ? null : safeText(note)
}

/** The key of a query in the map of notes; it does not depend on the limit. */
function questionKey({ ticker, field, timeframe, bands, before, after, context }: HistoryQuery): string {
  return JSON.stringify([ticker, field, timeframe, bands, before, after, context])
}

/** One query for each band of a query; only the query itself if it names no band. */
function queryForEachBand<Query extends Pick<HistoryQuery, 'bands'>>(query: Query): Query[] {
  return query.bands?.map(band => ({ ...query, bands: [band] })) ?? [query]
}

/** The as-of day and the credits in the headers of an answer. */
function headersOf({ headers }: Answer): Omit<RemotePage, 'page' | 'note'> {
  const asOf = headerText(headers, AS_OF)
  const day = asOf !== null && parseDay(asOf) !== null ? asOf : null
  return { asOf: day, credits: creditsOf(headers) }
}

/** Throws TierRestricted if the plan hides later returns. An unknown plan, null, passes. */
function refuseHiddenAftermath(query: HistoryQuery, tier: Tier | null): void {
  if (tier === null || PLANS[tier].aftermath) return
  entitle(query, tier, BUILT_IN_FIELDS)
  entitleAftermath(tier)
}

/** The range of dates that a page covers. */
function rangeOf({ page: { query_range }, asOf: as_of }: RemotePage): Range {
  return { query_range, after: dateOf(dayBeforeRange({ as_of, query_range })), as_of }
}

/** A field that every plan has. */
const ANY_FIELD = 'rsi_zone'

/** A field has at most one event a date: more pages than a century of days fills are no history. */
const MAX_PAGES = 400

/** A query that the API can answer: its context, if any, names a band. */
type DirectQuery = Omit<HistoryQuery, 'context'> & { context?: Required<Context> }

/** Questions under way at once: enough to hide a server's latency, few enough not to trip its limits. */
const MAX_RUNNING_QUERIES = 8

/**
 * Queries all items, at most MAX_RUNNING_QUERIES at a time, and yields the answers in the order of the items. The first
 * error in this order is thrown, even if a later item fails sooner. No query starts after an error, or once the
 * consumer stops.
 */
export async function* queryAhead<Item, Found>(
  items: readonly Item[],
  query: (item: Item) => Promise<Found>,
): AsyncGenerator<Found> {
  const running: Promise<Found>[] = []
  let next = 0
  const startQueries = (): void => {
    while (next < items.length && running.length < MAX_RUNNING_QUERIES) {
      const answer = query(items[next++]!)
      // After an error no further query starts.
      answer.catch(() => {
        next = items.length
      })
      running.push(answer)
    }
  }
  try {
    for (startQueries(); running.length > 0; startQueries()) {
      const answer = await running[0]!
      running.shift()
      yield answer
    }
  } finally {
    await Promise.allSettled(running)
  }
}
