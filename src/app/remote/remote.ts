// For: ask another server as if it were the database here.
// In: a question, the address and the key.
// Out: the server's answers, checked, as a source.

import { inspect } from 'node:util'
import { InvalidParameter, NotFound, Upstream } from '../../core/errors.js'
import { BUILT_IN } from '../../core/fields/index.js'
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
import { MAX_PAGE_EVENTS, refuseCondition, startOf } from './pages.js'
import { TickerPages } from './ticker-pages.js'
import { type Named, Transport, type TransportOptions } from './transport.js'
import { historyUnder, isUnderCondition, whyEmptyUnder } from './under-condition.js'

/** A page and its headers. */
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

/** Which dates a history is of. */
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

  /** @internal Questions besides events and scans. */
  get pages(): TickerPages {
    this.#pages ??= new TickerPages(this.#transport)
    return this.#pages
  }

  /** The address that questions go to. */
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

  /** The plan of the key, judged by its range or its credits. */
  get tier(): Tier | null {
    return (this.#range && tierOfRange(this.#range.query_range)) ?? tierOfCredits(this.credits)
  }

  /** Checks the key free of charge, with an invalid question. Throws Unauthorized. */
  async checkKey(): Promise<void> {
    try {
      await this.#transport.ask(EVENTS_PATH, new URLSearchParams())
    } catch (error) {
      if (error instanceof InvalidParameter) return
      throw error
    }
    throw this.#badAnswer('answered a question without a ticker')
  }

  async events(query: EventsQuery): Promise<EventsPage> {
    if (!isUnderCondition(query)) return (await this.#newestOfBands(query)).page
    const { events, query_range } = await this.#history(query)
    return eventsPage(query, events.slice(-query.limit).reverse(), events.length, query_range)
  }

  /**
   * The newest events of several bands: the specification allows one band per request, so each is a page of its own.
   */
  async #newestOfBands(query: EventsQuery): Promise<RemotePage> {
    const pages: RemotePage[] = []
    for await (const page of ahead(queryForEachBand(query), one => this.page(one))) pages.push(page)
    const [first, second] = pages
    if (second === undefined) return first!
    const events = pages.flatMap(({ page }) => page.events).sort((a, b) => (a.date < b.date ? 1 : -1))
    const total_occurrences = pages.reduce((sum, { page }) => sum + page.total_occurrences, 0)
    return { ...pages.at(-1)!, page: { ...first!.page, events: events.slice(0, query.limit), total_occurrences } }
  }

  /** One page of events, of any band or of one: a credit, two with a context. */
  async page(query: EventsQuery): Promise<RemotePage> {
    refuseCondition(query, this.url)
    const found = await this.#askOnce(EVENTS_PATH, eventsSearch(query), answer => pageOf(answer, query))
    this.#range = rangeOf(found)
    if (found.note !== null) this.#notes.set(questionKey(query), found.note)
    return found
  }

  /**
   * One page of events, regardless of earlier answers: for callers that store pages longer than a run. Free if the same name was
   * used within 48 hours, or if the ETag still matches and the server supports it.
   */
  async newPage(query: EventsQuery, named: Required<Named>): Promise<NewPage> {
    const answer = await this.#transport.ask(EVENTS_PATH, eventsSearch(query), named)
    const etag = headerText(answer.headers, 'ETag')
    if (answer.status === 304) return { page: null, etag, ...headersOf(answer) }
    return { ...pageOf(answer, query), etag }
  }

  /** The first matches, if there are more than a page can hold. */
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

  /** One page is enough unless more are requested; a full history may take many. */
  async newest(query: EventsQuery): Promise<NewestEvents> {
    if (query.limit > MAX_PAGE_EVENTS || isUnderCondition(query)) return newestOf(this, query)
    const { page, asOf } = await this.#newestOfBands(query)
    return { ...page, total: page.total_occurrences, as_of: asOf }
  }

  /** From a page of the ticker, which a study needs anyway; Free if the plan is unknown. */
  async granted(ticker: string, timeframe: Timeframe): Promise<GrantedFields> {
    const { page } = await this.page({ ticker, field: ANY_FIELD, timeframe, limit: MAX_PAGE_EVENTS })
    const tier = tierOfRange(page.query_range) ?? tierOfCredits(this.credits) ?? 'free'
    return { fields: grantedFields(tier, BUILT_IN), omitted: [] }
  }

  /** As the server says, or judged by its range; no further request is paid for an explanation. */
  async whyEmpty(query: HistoryQuery): Promise<WhyEmpty | null> {
    const { bands: _bands, ...whole } = query
    if (isUnderCondition(query))
      return whyEmptyUnder(
        query,
        plain => this.#fullHistory(plain),
        plain => this.whyEmpty(plain),
      )
    // A tally queries all bands, and counts the wanted ones.
    for (const queries of [queryForEachBand(query), [whole]]) {
      const notes = new Set(queries.flatMap(one => this.#notes.get(questionKey(one)) ?? []))
      if (notes.size > 0) return { code: 'server_note', text: [...notes].join(' ') }
    }
    return this.#range && noEventsReason(this.#range)
  }

  async known(): Promise<readonly KnownTicker[]> {
    return []
  }

  get server(): NonNullable<Source['server']> {
    return { url: this.url, range: this.#range, note: this.#scanNote }
  }

  /** Some tickers ahead, because a server answers several questions in the time of one. */
  histories({ tickers, fields, outcomes, base: _none, ...filter }: HistoriesQuery): AsyncIterable<History> {
    const queries = tickers.flatMap(ticker => fields.map((field): HistoryQuery => ({ ...filter, ticker, field })))
    return ahead(queries, async query => {
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

  async #history(query: HistoryQuery): Promise<EventHistory> {
    const whole = (plain: HistoryQuery): Promise<EventHistory> => this.#fullHistory(plain)
    return isUnderCondition(query) ? historyUnder(query, this.url, whole) : whole(query)
  }

  async #fullHistory(query: HistoryQuery): Promise<EventHistory> {
    const { context, ...plain } = query
    const { ticker, field, timeframe } = query
    const band = context?.band
    const closed: ClosedQuery =
      context === undefined || band === undefined ? plain : { ...plain, context: { ...context, band } }
    const events = await this.#allEvents(closed)
    // The first page, already requested, shows the range; another answer may have come since.
    const range = rangeOf(await this.page({ ...queryForEachBand(closed)[0]!, limit: MAX_PAGE_EVENTS }))
    const isOpen = context !== undefined && band === undefined
    const shown = isOpen
      ? await this.#withContextBands(events, { ...query, context })
      : events.map(event => (band === undefined ? event : { ...event, context_band: band }))
    return { ticker, field, timeframe, ...range, events: shown, present: await this.#bandInForce(query, events) }
  }

  /** All events of a question, oldest first. */
  async #allEvents(query: ClosedQuery): Promise<BandEvent[]> {
    const found: BandEvent[] = []
    for (const one of queryForEachBand(query)) for (const event of await this.#allPages(one)) found.push(event)
    return found.sort((a, b) => (a.date < b.date ? -1 : 1))
  }

  /** All events of any band or of one, page by page backwards in time. Throws Upstream for pages without an end. */
  async #allPages(query: ClosedQuery): Promise<BandEvent[]> {
    const events: BandEvent[] = []
    let { before } = query
    let left = Number.POSITIVE_INFINITY
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const pageQuery = { ...query, limit: MAX_PAGE_EVENTS, ...(before === undefined ? {} : { before }) }
      const { events: found, total_occurrences: total } = (await this.page(pageQuery)).page
      // A moving range can only lose events; more are events never reported before.
      if (total > left) throw this.#badAnswer(`reported ${left} earlier events, and then ${total}`)
      for (const event of found) events.push(event)
      left = total - found.length
      if (left === 0) return events.reverse()
      before = parseDay(found.at(-1)!.date)!
    }
    throw this.#badAnswer('sends pages without an end')
  }

  /**
   * The band of the context ticker on the date of each event, null before its first event. Each band is a separate
   * query, because the API allows no other. Stops once every event has one; sends at least one query, so that refusals
   * appear.
   */
  async #withContextBands(
    events: readonly BandEvent[],
    query: HistoryQuery & { context: Context },
  ): Promise<HistoricEvent[]> {
    const { context } = query
    const found = new Map<string, string>()
    for (const band of this.#bandsOf(context.field)) {
      for (const { date } of await this.#allEvents({ ...query, context: { ...context, band } })) {
        if (found.has(date)) throw this.#badAnswer(`reported ${context.ticker} in two bands on ${date}`)
        found.set(date, band)
      }
      if (found.size >= events.length) break
    }
    return events.map(event => ({ ...event, context_band: found.get(event.date) ?? null }))
  }

  /** Throws TierRestricted if the plan of the key hides later returns. */
  async #refuseHiddenAftermath(query: HistoryQuery): Promise<void> {
    const { bands: _any, context: _none, when: _when, ...whole } = query
    try {
      // The first page of the whole history, which counting returns needs anyway.
      const { page } = await this.page({ ...whole, limit: MAX_PAGE_EVENTS })
      refuseHiddenAftermath(query, tierOfRange(page.query_range))
    } catch (error) {
      // A refusal by plan comes before a missing ticker, as everywhere.
      if (error instanceof NotFound) refuseHiddenAftermath(query, tierOfCredits(this.credits))
      throw error
    }
  }

  /** The newest event of the field shows the band in force; its length in bars is unknown. */
  async #bandInForce(query: HistoryQuery, events: readonly BandEvent[]): Promise<EventHistory['present']> {
    const { ticker, field, timeframe, bands, before, context } = query
    const isWhole = bands === undefined && before === undefined && context === undefined
    const known = isWhole ? events.at(-1) : undefined
    const newest = known ?? (await this.events({ ticker, field, timeframe, limit: MAX_PAGE_EVENTS })).events[0]
    return newest === undefined ? null : { band: newest.band, since: newest.date, bars: null, initial: false }
  }

  #bandsOf(field: string): readonly string[] {
    return this.#fields.find(({ name }) => name === field)?.bands ?? []
  }

  /** Sends each question once; a refused one may be sent again. */
  #askOnce<Found>(path: string, params: URLSearchParams, read: (answer: Answer) => Found): Promise<Found> {
    const name = `${path}?${params}`
    const known = this.#answers.get(name) as Promise<Found> | undefined
    if (known !== undefined) return known
    const answer = this.#transport.ask(path, params).then(read)
    this.#answers.set(name, answer)
    answer.catch(() => this.#answers.delete(name))
    return answer
  }

  #badAnswer(what: string): Upstream {
    return new Upstream(this.#transport.repeat(`${this.url} ${what}.`), this.url, 200)
  }
}

function pageOf(answer: Answer, query: EventsQuery): RemotePage {
  return { page: eventsPageOf(answer, query), note: noteOf(answer), ...headersOf(answer) }
}

/** Why an answer is empty, as the server says it. */
function noteOf({ headers, repeat }: Answer): string | null {
  const note = headerText(headers, NOTE)
  return note === null ? null : repeat(note)
}

/** The key of a question, without its limit. */
function questionKey({ ticker, field, timeframe, bands, before, after, context }: HistoryQuery): string {
  return JSON.stringify([ticker, field, timeframe, bands, before, after, context])
}

/** A question for each of its bands; itself where it names none. */
function queryForEachBand<Query extends Pick<HistoryQuery, 'bands'>>(query: Query): Query[] {
  return query.bands?.map(band => ({ ...query, bands: [band] })) ?? [query]
}

function headersOf({ headers }: Answer): Omit<RemotePage, 'page' | 'note'> {
  const asOf = headerText(headers, AS_OF)
  const day = asOf !== null && parseDay(asOf) !== null ? asOf : null
  return { asOf: day, credits: creditsOf(headers) }
}

/** Throws TierRestricted if the plan hides later returns; null: unknown plan. */
function refuseHiddenAftermath(query: HistoryQuery, tier: Tier | null): void {
  if (tier === null || PLANS[tier].aftermath) return
  entitle(query, tier, BUILT_IN)
  entitleAftermath(tier)
}

function rangeOf({ page: { query_range }, asOf: as_of }: RemotePage): Range {
  return { query_range, after: dateOf(startOf({ as_of, query_range })), as_of }
}

/** Every plan has it. */
const ANY_FIELD = 'rsi_zone'

/** A field has at most one event a date: more pages than a century of days fills are no history. */
const MAX_PAGES = 400

/** A history that can be queried directly: its context, if any, has a band. */
type ClosedQuery = Omit<HistoryQuery, 'context'> & { context?: Required<Context> }

/** Questions under way at once: enough to hide a server's latency, few enough not to trip its limits. */
const MAX_RUNNING_QUERIES = 8

/**
 * Queries all items, at most eight at a time; answers in the order of the items. So the same question has the same
 * answer or error, whichever comes first. No query starts after an error, or once the consumer stops.
 */
export async function* ahead<Item, Found>(
  items: readonly Item[],
  query: (item: Item) => Promise<Found>,
): AsyncGenerator<Found> {
  const running: Promise<Found>[] = []
  let next = 0
  const fill = (): void => {
    while (next < items.length && running.length < MAX_RUNNING_QUERIES) {
      const one = query(items[next++]!)
      // Earlier items are answered first; later ones are not.
      one.catch(() => {
        next = items.length
      })
      running.push(one)
    }
  }
  try {
    for (fill(); running.length > 0; fill()) {
      const found = await running[0]!
      running.shift()
      yield found
    }
  } finally {
    await Promise.allSettled(running)
  }
}
