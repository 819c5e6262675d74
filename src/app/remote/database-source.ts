import { type InvalidParameter, wrong } from '../../core/errors.js'
import type {
  EventsPage,
  EventsQuery,
  HistoryQuery,
  OversoldPage,
  OversoldQuery,
  SeriesKey,
} from '../../core/model/event.js'
import type { BandPeriods, History } from '../../core/model/history.js'
import type { Timeframe } from '../../core/model/terms.js'
import {
  type BandPeriodsQuery,
  type FieldInfo,
  type GrantedFields,
  type HistoriesQuery,
  type KnownTicker,
  type NewestEvents,
  newestOf,
  type Source,
  type WhyEmpty,
} from '../../core/source.js'
import { mapKeyOf, type PageStore, type PulledEntry } from '../../data/store/pages.js'
import type { PulledEvents } from './pulled-events.js'

/** The local bars, and pages pulled from servers. */
interface SourceParts {
  local: Source
  hasBars(ticker: string): Promise<boolean>
  pages: PageStore
  /** Loaded on first use: most databases have no pages. */
  openPulled(): Promise<PulledEvents>
}

export interface PulledTicker {
  ticker: string
  source: string
  /** Of the series that was pulled first, as is as_of: nothing here is older. */
  pulled_at: string
  as_of: string | null
  /** Events of all series, and the number of series with missing pages. */
  events: number
  unfinished: number
  series: PulledSeries[]
}

type PulledSeries = Pick<
  PulledEntry,
  'timeframe' | 'field' | 'state' | 'query_range' | 'events' | 'pulled_at' | 'as_of'
>

/** One database: questions about a ticker go to its bars or to its pulled pages. */
export class DatabaseSource implements Source {
  readonly server = null
  readonly #parts: SourceParts
  #pulledEvents: PulledEvents | null = null

  constructor(parts: SourceParts) {
    this.#parts = parts
  }

  async events(query: EventsQuery): Promise<EventsPage> {
    return (await this.#sourceOf(query)).events(query)
  }

  async *histories({ tickers, ...query }: HistoriesQuery): AsyncGenerator<History> {
    for (const group of await this.#groupBySource(tickers, query)) {
      const source = await this.#sourceOf({ ticker: group[0]!, ...query })
      yield* source.histories({ tickers: group, ...query })
    }
  }

  async *bandPeriods({ tickers, ...query }: BandPeriodsQuery): AsyncGenerator<BandPeriods> {
    for (const group of await this.#groupBySource(tickers, query)) {
      const source = await this.#sourceOf({ ticker: group[0]!, ...query })
      yield* source.bandPeriods({ tickers: group, ...query })
    }
  }

  /**
   * Groups of consecutive tickers with the same source (pulled pages or local bars), for one call each. With a context
   * each ticker is separate, because #sourceOf compares the source of each with that of the context.
   */
  async #groupBySource(tickers: readonly string[], { context }: Pick<HistoryQuery, 'context'>): Promise<string[][]> {
    if (context !== undefined || tickers.length < 2) return tickers.map(ticker => [ticker])
    const pulled = new Set(await this.#parts.pages.tickers())
    const groups: string[][] = []
    for (const ticker of tickers) {
      const group = groups.at(-1)
      if (group !== undefined && pulled.has(group[0]!) === pulled.has(ticker)) group.push(ticker)
      else groups.push([ticker])
    }
    return groups
  }

  newest(query: EventsQuery): Promise<NewestEvents> {
    return newestOf(this, query)
  }

  fields(names?: readonly string[]): Promise<readonly FieldInfo[]> {
    return this.#parts.local.fields(names)
  }

  granted(ticker: string, timeframe: Timeframe): Promise<GrantedFields> {
    return this.#parts.local.granted(ticker, timeframe)
  }

  async whyEmpty(query: HistoryQuery): Promise<WhyEmpty | null> {
    return (await this.#sourceOf(query)).whyEmpty(query)
  }

  /** The tickers with local bars. Pulled events are not among them: they are based on a server's bars. */
  known(tickers: readonly string[], field?: string): Promise<readonly KnownTicker[]> {
    return this.#parts.local.known(tickers, field)
  }

  async sectors(): Promise<ReadonlyMap<string, string>> {
    return (await this.#parts.local.sectors?.()) ?? new Map()
  }

  oversold(query: OversoldQuery): Promise<OversoldPage> {
    return this.#parts.local.oversold(query)
  }

  /** Tickers with bars and pulled tickers; the latter may have only some fields. */
  async tickers(): Promise<readonly string[]> {
    const pulled = (await this.#parts.pages.entries()).map(({ ticker }) => ticker)
    return [...new Set([...((await this.#parts.local.tickers()) ?? []), ...pulled])].sort()
  }

  async pulledTickers(): Promise<PulledTicker[]> {
    const byTicker = Map.groupBy(await this.#parts.pages.entries(), ({ ticker }) => ticker)
    return [...byTicker.values()].map(pulledTicker)
  }

  /**
   * Returns a test whether a series of a pulled ticker is missing or incomplete, so that queries about all tickers can
   * skip it. A series that the user named is queried, and its error says what to do.
   */
  async missing(): Promise<(key: SeriesKey) => boolean> {
    const entries = await this.#parts.pages.entries()
    const tickers = new Set(entries.map(({ ticker }) => ticker))
    const complete = new Set(entries.filter(({ state }) => state === 'complete').map(mapKeyOf))
    return key => tickers.has(key.ticker) && !complete.has(mapKeyOf(key))
  }

  /** Notes about the answers so far: which were pulled, from where and when. */
  get sourceNotes(): readonly string[] {
    return this.#pulledEvents?.sourceNotes ?? []
  }

  close(): Promise<void> {
    return this.#parts.local.close()
  }

  /**
   * The source that answers for a ticker: its pulled pages, otherwise the local bars. Throws InvalidParameter if only
   * one of the ticker and its context has bars here, and the other was pulled.
   */
  async #sourceOf({
    ticker,
    context,
  }: Pick<HistoryQuery, 'ticker' | 'context'>): Promise<
    Pick<Source, 'events' | 'histories' | 'bandPeriods' | 'whyEmpty'>
  > {
    const { local, pages, hasBars } = this.#parts
    const isPulled = await pages.has(ticker)
    if (context !== undefined) {
      const pulled = isPulled ? ticker : context.ticker
      const other = isPulled ? context.ticker : ticker
      if ((await pages.has(pulled)) && (await hasBars(other))) throw splitContextError(other, pulled, context.ticker)
    }
    if (!isPulled) return local
    this.#pulledEvents ??= await this.#parts.openPulled()
    return this.#pulledEvents
  }
}

/** The error if one of ticker and context has bars here and the other was pulled. @param value the context's ticker */
function splitContextError(withBars: string, pulled: string, value: string): InvalidParameter {
  const message = `${withBars} has bars here and ${pulled} was pulled from a server: a ticker and its context need one source.`
  return wrong('context_ticker', message, { value })
}

/** All pulled series of one ticker. The series that was pulled first gives the source and the dates. */
function pulledTicker(entries: readonly PulledEntry[]): PulledTicker {
  const first = entries.reduce((earliest, entry) => (entry.pulled_at < earliest.pulled_at ? entry : earliest))
  return {
    ticker: first.ticker,
    source: first.url,
    pulled_at: first.pulled_at,
    as_of: first.as_of,
    events: entries.reduce((sum, entry) => sum + entry.events, 0),
    unfinished: entries.filter(entry => entry.state !== 'complete').length,
    series: entries.map(({ timeframe, field, state, query_range, events, pulled_at, as_of }) => {
      return { timeframe, field, state, query_range, events, pulled_at, as_of }
    }),
  }
}
