import { InvalidParameter } from '../errors.js'
import type { EventsPage, EventsQuery, HistoryQuery, SeriesKey } from '../model/event.js'
import type { History } from '../model/history.js'
import type { OversoldPage, OversoldQuery } from '../model/oversold.js'
import type { Timeframe } from '../model/terms.js'
import type { FieldInfo, GrantedFields, HistoriesQuery, KnownTicker, NewestEvents, Source } from '../source.js'
import type { PageStore } from '../store/pages.js'
import type { KeptPages } from './kept.js'
import type { PulledTicker } from './marks.js'

/** Who answers of tickers with bars, beside the pages of others that a server told. */
interface Parts {
  own: Source
  hasBars(ticker: string): Promise<boolean>
  pages: PageStore
  /** Loaded when first asked for: most databases have no page of a server. */
  kept(): Promise<KeptPages>
}

/** One database: questions about a ticker go to whoever has it, its bars or pages of it. */
export class Beside implements Source {
  readonly server = null
  readonly #parts: Parts
  #kept: KeptPages | null = null

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async events(query: EventsQuery): Promise<EventsPage> {
    return (await this.#sourceOf(query)).events(query)
  }

  async *histories({ tickers, ...query }: HistoriesQuery): AsyncGenerator<History> {
    for (const ticker of tickers) {
      const source = await this.#sourceOf({ ticker, ...query })
      yield* source.histories({ tickers: [ticker], ...query })
    }
  }

  async newest(query: EventsQuery): Promise<NewestEvents> {
    return (await this.#sourceOf(query)).newest(query)
  }

  fields(): Promise<readonly FieldInfo[]> {
    return this.#parts.own.fields()
  }

  granted(ticker: string, timeframe: Timeframe): Promise<GrantedFields> {
    return this.#parts.own.granted(ticker, timeframe)
  }

  /** Of its bars: pulled events stand on the bars and facts of a server. */
  known(tickers: readonly string[], field?: string): Promise<readonly KnownTicker[]> {
    return this.#parts.own.known(tickers, field)
  }

  oversold(query: OversoldQuery): Promise<OversoldPage> {
    return this.#parts.own.oversold(query)
  }

  /** With bars, or pulled; of the latter only some fields may be there. */
  async tickers(): Promise<readonly string[]> {
    const pulled = (await this.#parts.pages.entries()).map(({ ticker }) => ticker)
    return [...new Set([...((await this.#parts.own.tickers()) ?? []), ...pulled])].sort()
  }

  /** What was pulled, by ticker. */
  async pulled(): Promise<PulledTicker[]> {
    const { pulledTickers } = await import('./marks.js')
    return pulledTickers(this.#parts.pages)
  }

  /** Which series of pulled tickers are not there. */
  async lacking(): Promise<(key: SeriesKey) => boolean> {
    const { lackingIn } = await import('./marks.js')
    return lackingIn(this.#parts.pages)
  }

  /** What must be said of the answers so far: which of them were pulled, from where and when. */
  get marks(): readonly string[] {
    return this.#kept?.marks.sentences ?? []
  }

  close(): Promise<void> {
    return this.#parts.own.close()
  }

  /** Throws InvalidParameter where a ticker has bars and its context pages, or the other way round. */
  async #sourceOf({ ticker, context }: Pick<HistoryQuery, 'ticker' | 'context'>): Promise<Source> {
    const { own, pages, hasBars } = this.#parts
    const isPulled = await pages.has(ticker)
    if (context !== undefined && (await (isPulled ? hasBars(context.ticker) : this.#isBeside(ticker, context.ticker))))
      throw apart(isPulled ? [context.ticker, ticker] : [ticker, context.ticker], context.ticker)
    if (!isPulled) return own
    this.#kept ??= await this.#parts.kept()
    return this.#kept
  }

  async #isBeside(ticker: string, other: string): Promise<boolean> {
    return (await this.#parts.pages.has(other)) && this.#parts.hasBars(ticker)
  }
}

function apart([own, pulled]: readonly string[], value: string): InvalidParameter {
  const message = `${own} has bars here and ${pulled} was pulled from a server: a ticker and its context are looked at in one of them.`
  return new InvalidParameter(message, { param: 'context_ticker', value })
}
