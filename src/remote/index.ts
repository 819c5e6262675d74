import { inspect } from 'node:util'
import type { Bands } from '../bands.js'
import { Upstream } from '../errors/service.js'
import { InvalidParameter, NotFound } from '../errors.js'
import { formatDay, parseDay } from '../model/day.js'
import type { BandEvent, EventHistory, EventsPage } from '../model/event.js'
import type { OversoldPage, OversoldQuery } from '../model/oversold.js'
import type { EventsQuery, HistoryQuery } from '../model/query.js'
import type { Tier } from '../model/tier.js'
import type { Timeframe } from '../model/timeframe.js'
import { entitle, entitleAftermath } from '../policy/entitle.js'
import { PLANS, tierOfRange } from '../policy/plans.js'
import { EVENTS_PATH, OVERSOLD_PATH } from '../wire/headers.js'
import type { Answer } from './answer.js'
import { checkedOversold, type Told } from './check.js'
import { type Credits, tierOfCredits } from './credits.js'
import { type Asking, allEvents, type ClosedQuery, PAGE, withContextBands } from './history.js'
import { type NewPage, newPage, pageOf, type RemotePage, toldBy } from './pages.js'
import { eventsParams, oversoldParams } from './params.js'
import { type Named, Transport, type TransportOptions } from './transport.js'

export type { Allowance, Credits } from './credits.js'
export type { NewPage, RemotePage } from './pages.js'
export type { TransportOptions } from './transport.js'

export interface RemoteOptions extends TransportOptions {
  /** The bands of a field: which of them a context was in is asked one by one. */
  bandsOf(field: string): readonly string[]
}

/**
 * A server that has the two endpoints of the specification, asked with a key. A question that was answered is not asked
 * again: whoever wants fresh answers opens another. Every question may throw Unauthorized, RateLimited, Unavailable and
 * Upstream beside what the local engine throws.
 */
export class Remote implements Bands {
  readonly #transport: Transport
  readonly #bandsOf: (field: string) => readonly string[]
  readonly #asked = new Map<string, Promise<unknown>>()
  #range: Pick<EventHistory, 'query_range' | 'after' | 'as_of'> | null = null

  /** Asks nothing yet. Throws InvalidParameter for an address, ConfigError for a key or a proxy that cannot be used. */
  constructor({ bandsOf, ...transport }: RemoteOptions) {
    this.#transport = new Transport(transport)
    this.#bandsOf = bandsOf
  }

  /** The address that questions go to. */
  get url(): string {
    return this.#transport.address.base
  }

  /** What the newest answer that told of credits said of them. */
  get credits(): Credits | null {
    return this.#transport.credits
  }

  /** By how many milliseconds the server's clock is ahead of ours, to about a second; null while it has not told. */
  get ahead(): number | null {
    return this.#transport.ahead
  }

  /** What the newest page said of its range. */
  get range(): Pick<EventHistory, 'query_range' | 'after' | 'as_of'> | null {
    return this.#range
  }

  /** The plan of the key, as far as its range or its credits tell. */
  get tier(): Tier | null {
    return (this.#range && tierOfRange(this.#range.query_range)) ?? tierOfCredits(this.credits)
  }

  /**
   * The plan of the key, asked for with a page of the ticker, which a study of it needs anyway; Free where the answer
   * tells of no plan that is known here.
   */
  async tierFor(ticker: string, timeframe: Timeframe): Promise<Tier> {
    const { page } = await this.page({ ticker, field: ANY_FIELD, timeframe, limit: PAGE })
    return tierOfRange(page.query_range) ?? tierOfCredits(this.credits) ?? 'free'
  }

  /** Whether the key is accepted, at no cost: by a question that cannot be answered. Throws Unauthorized. */
  async checkKey(): Promise<void> {
    try {
      await this.#transport.ask(EVENTS_PATH, new URLSearchParams())
    } catch (error) {
      if (error instanceof InvalidParameter) return
      throw error
    }
    throw this.#wrong('answered a question without a ticker')
  }

  async events(query: EventsQuery): Promise<EventsPage> {
    return (await this.page(query)).page
  }

  /** One page of events: a credit, two with a context. */
  async page(query: EventsQuery): Promise<RemotePage> {
    const found = await this.#once(EVENTS_PATH, eventsParams(query), (answer, told) => pageOf(answer, query, told))
    this.#range = rangeOf(found)
    return found
  }

  /** The same, asked anew each time: for who keeps pages longer than a run. */
  newPage(query: EventsQuery, named: Required<Named>): Promise<NewPage> {
    return newPage(this.#transport, query, named)
  }

  oversold(query: OversoldQuery): Promise<OversoldPage> {
    return this.#once(OVERSOLD_PATH, oversoldParams(query), (answer, told) =>
      checkedOversold(answer.document, query, told),
    )
  }

  async history(query: HistoryQuery): Promise<EventHistory> {
    const { ticker, field, timeframe, context } = query
    const { context: _open, ...plain } = query
    const open = context !== undefined && context.band === undefined
    const closed = open ? plain : (query as ClosedQuery)
    const events = (await allEvents(this.#asking, closed)).reverse()
    // The first page, asked a moment ago, tells the range; another question may have been answered since.
    const range = rangeOf(await this.page({ ...closed, limit: PAGE }))
    const told = open
      ? await withContextBands(this.#asking, events, { ...query, context }, this.#bandsOf(context.field))
      : events.map(event => (context?.band === undefined ? event : { ...event, context_band: context.band }))
    return { ticker, field, timeframe, ...range, events: told, present: await this.#present(query, events) }
  }

  /** null: no prices are known here. Throws TierRestricted where the plan of the key shows nothing of what followed. */
  async baseline(query: HistoryQuery): Promise<null> {
    // The first page of the whole history, which whoever wants a baseline asks for anyway.
    const asked = this.page({ ...unfiltered(query), ...bounds(query), limit: PAGE })
    const { page } = await asked.catch((error: unknown) => {
      // What a plan does not show is refused before what is not there, as everywhere.
      if (error instanceof NotFound) checkAftermath(query, tierOfCredits(this.credits))
      throw error
    })
    checkAftermath(query, tierOfRange(page.query_range))
    return null
  }

  async tickers(): Promise<null> {
    return null
  }

  async close(): Promise<void> {
    await this.#transport.close()
  }

  [inspect.custom](): string {
    return `Remote(${this.url})`
  }

  get #asking(): Asking {
    return { page: async query => (await this.page(query)).page, wrong: what => this.#wrong(what) }
  }

  /** The newest event of the field tells the band in force; how long it has been, in bars, nobody tells. */
  async #present(query: HistoryQuery, events: readonly BandEvent[]): Promise<EventHistory['present']> {
    const whole = query.band === undefined && query.before === undefined && query.context === undefined
    const newest =
      (whole ? events.at(-1) : undefined) ?? (await this.page({ ...unfiltered(query), limit: PAGE })).page.events[0]
    return newest === undefined ? null : { band: newest.band, since: newest.date, bars: null, initial: false }
  }

  /** One question of a kind is asked once; a refused one may be asked again. */
  #once<Found>(path: string, params: URLSearchParams, read: (answer: Answer, told: Told) => Found): Promise<Found> {
    const name = `${path}?${params}`
    const known = this.#asked.get(name) as Promise<Found> | undefined
    if (known !== undefined) return known
    const asked = this.#transport.ask(path, params).then(answer => read(answer, toldBy(this.#transport, name)))
    this.#asked.set(name, asked)
    asked.catch(() => this.#asked.delete(name))
    return asked
  }

  #wrong(what: string): Upstream {
    return new Upstream(this.#transport.repeat(`${this.url} ${what}.`), this.url, 200)
  }
}

/** Throws TierRestricted where a plan shows nothing of what followed; null: of a plan that is not known. */
function checkAftermath(query: HistoryQuery, tier: Tier | null): void {
  if (tier === null || PLANS[tier].aftermath) return
  entitle(query, tier)
  entitleAftermath(tier)
}

/** Every plan has it. */
const ANY_FIELD = 'rsi_zone'

function rangeOf({ page, asOf }: RemotePage): Pick<EventHistory, 'query_range' | 'after' | 'as_of'> {
  const tier = tierOfRange(page.query_range)
  const after = tier === null || asOf === null ? null : formatDay(PLANS[tier].rangeStart(parseDay(asOf)!))
  return { query_range: page.query_range, after, as_of: asOf }
}

function unfiltered({ ticker, field, timeframe }: HistoryQuery): Pick<HistoryQuery, 'ticker' | 'field' | 'timeframe'> {
  return { ticker, field, timeframe }
}

function bounds({ before, after }: HistoryQuery): Pick<HistoryQuery, 'before' | 'after'> {
  return { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }
}
