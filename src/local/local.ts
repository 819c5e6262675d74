import { performanceOf } from '../engine/outcomes.js'
import { fieldNamed } from '../fields/index.js'
import type { Panel } from '../fields/panel.js'
import { type Day, formatDay } from '../model/day.js'
import type {
  BandEvent,
  Baseline,
  EventHistory,
  EventsPage,
  EventsQuery,
  HistoricEvent,
  HistoryQuery,
} from '../model/event.js'
import type { OversoldPage, OversoldQuery } from '../model/oversold.js'
import type { SeriesKey } from '../model/pulled.js'
import { UNDEFINED } from '../model/series.js'
import { TIMEFRAMES, type Tier, windowNames } from '../model/terms.js'
import type { Bands } from '../source.js'
import { entitle, entitleAftermath, PLANS, present } from '../tiers.js'
import type { Cache } from './cache.js'
import type { Pulled, Scope } from './pulled.js'
import { bandEnteredBy, bandEvent, historicEvent, presentBand, search, type View } from './view.js'

/** Answers from the cache, under the rules of the caller's tier: from bars, and where there are none, from what was pulled. */
export class Local implements Bands {
  readonly cache: Cache
  #pulled: Pulled | null = null

  constructor(cache: Cache) {
    this.cache = cache
  }

  async events(query: EventsQuery): Promise<EventsPage> {
    const { view, found, tier } = await this.#find(query)
    const newest = found.slice(-query.limit).reverse()
    const page: EventsPage = {
      ticker: query.ticker,
      field: query.field,
      timeframe: query.timeframe,
      events: newest.map(i => present(view.pulled?.series.events[i] ?? bandEvent(view, i), tier)),
      total_occurrences: found.length,
      query_range: PLANS[tier].range,
    }
    if (query.context !== undefined) page.context = { ...query.context }
    return page
  }

  async oversold(query: OversoldQuery): Promise<OversoldPage> {
    const { oversold } = await import('./oversold.js')
    return oversold(this.cache, query)
  }

  async history(query: HistoryQuery): Promise<EventHistory> {
    const { view, found, context, today, tier, rangeStart } = await this.#find(query)
    const history: EventHistory = {
      ticker: query.ticker,
      field: query.field,
      timeframe: query.timeframe,
      query_range: PLANS[tier].range,
      after: today === null ? null : formatDay(rangeStart),
      as_of: today === null ? null : formatDay(today),
      events: found.map(i => historic(view, i, tier, context)),
      present: null,
    }
    if (view.pulled === undefined) return { ...history, present: presentBand(view, rangeStart) }
    const { presentPulled } = await import('./pulled.js')
    const { url, pulled_at, as_of } = view.pulled.series
    return { ...history, present: presentPulled(view, rangeStart), source: { url, pulled_at, as_of } }
  }

  async baseline(query: HistoryQuery): Promise<Baseline | null> {
    entitle(query, this.cache.tier)
    entitleAftermath(this.cache.tier)
    const view = await this.#view(query)
    if (view.pulled !== undefined) {
      await this.#pulled!.checkAftermath(view)
      return null
    }
    const panel = await this.cache.panel(query.ticker, query.timeframe, [fieldNamed(query.field)!])
    return baselineOf(view, panel, query, PLANS[this.cache.tier].rangeStart(await this.cache.today()))
  }

  /** With bars, or pulled; of the latter only some fields may be there. */
  async tickers(): Promise<readonly string[]> {
    const { store } = this.cache
    const entries = [...(await store.tickers()), ...(await store.pulled.entries())]
    return [...new Set(entries.map(entry => entry.ticker))].sort()
  }

  /** What must be said of the answers so far: which of them were pulled, from where and when. */
  get marks(): readonly string[] {
    return this.#pulled?.marks.sentences ?? []
  }

  async close(): Promise<void> {
    await this.cache.store.close()
  }

  async #find(query: HistoryQuery) {
    entitle(query, this.cache.tier)
    const view = await this.#view(query)
    const other = query.context
    const context = other === undefined ? null : await this.#view({ ...other, timeframe: query.timeframe })
    const scope = view.pulled === undefined ? await this.#scope() : await this.#pulled!.scope(view)
    this.#pulled?.checkPages(view, query, scope.rangeStart)
    if (context !== null) this.#pulled?.doubt(view, query, scope.rangeStart, context)
    return { view, context, ...scope, found: search(view, query, scope.rangeStart, context) }
  }

  async #scope(): Promise<Scope> {
    const { tier } = this.cache
    const today = await this.cache.today()
    return { tier, today, rangeStart: PLANS[tier].rangeStart(today) }
  }

  async #view({ ticker, timeframe, field }: SeriesKey): Promise<View> {
    const view = await this.cache.viewOfBars(ticker, timeframe, field)
    if (view !== null) return view
    if (this.#pulled === null) {
      const { Pulled } = await import('./pulled.js')
      this.#pulled ??= new Pulled(this.cache)
    }
    return this.#pulled.view({ ticker, timeframe, field })
  }
}

function historic(view: View, i: number, tier: Tier, context: View | null): HistoricEvent {
  const event: BandEvent = view.pulled?.series.events[i] ?? historicEvent(view, i)
  const seen: HistoricEvent = { ...present(event, tier) }
  if (context !== null) {
    const code = bandEnteredBy(context, view.days[view.record!.bars[i]!]!)
    seen.context_band = code === null ? null : context.bands[code]!
  }
  return seen
}

/**
 * What any bar was followed by, to hold events against: every bar of the same ticker and range on which the field is
 * defined and the window has ended, whether or not anything happened on it.
 */
function baselineOf(view: View, panel: Panel, query: HistoryQuery, rangeStart: Day): Baseline {
  const bars = eligibleBars(view, panel, query, rangeStart)
  const { windows } = TIMEFRAMES[view.timeframe]
  const found: Baseline = { bars: bars.length, windows: {} }
  windowNames(view.timeframe).forEach((name, w) => {
    const ended = bars.filter(bar => bar + windows[w]! < view.bars)
    found.windows[name] = {
      returns: Float64Array.from(ended, bar => view.outcomes.returns[w]![bar]!),
      performances: Uint8Array.from(ended, bar => {
        const rank = view.outcomes.ranks[w]![bar]!
        return rank < 0 ? UNDEFINED : performanceOf(rank, bar, windows[w]!)
      }),
    }
  })
  return found
}

function eligibleBars(view: View, panel: Panel, query: HistoryQuery, rangeStart: Day): number[] {
  const codes = fieldNamed(query.field)!.classify(panel)
  const after = Math.max(rangeStart, query.after ?? rangeStart)
  const before = query.before ?? Number.POSITIVE_INFINITY
  const bars: number[] = []
  for (let t = 0; t < view.bars; t++) {
    const day = view.days[t]!
    if (codes[t] !== UNDEFINED && day > after && day < before) bars.push(t)
  }
  return bars
}
