import type { Bands } from '../bands.js'
import { fieldNamed } from '../fields/index.js'
import { formatDay } from '../model/day.js'
import type { Baseline, EventHistory, EventsPage, HistoricEvent } from '../model/event.js'
import type { OversoldPage, OversoldQuery } from '../model/oversold.js'
import type { EventsQuery, HistoryQuery } from '../model/query.js'
import { entitle, entitleAftermath } from '../policy/entitle.js'
import { PLANS } from '../policy/plans.js'
import { present } from '../policy/present.js'
import { baselineOf } from './baseline.js'
import type { Cache } from './cache.js'
import { bandEvent, historicEvent, presentBand } from './describe.js'
import { search } from './search.js'
import { bandEnteredBy, type View } from './view.js'

/** Answers from the cache, under the rules of the caller's tier. */
export class Local implements Bands {
  readonly cache: Cache

  constructor(cache: Cache) {
    this.cache = cache
  }

  async events(query: EventsQuery): Promise<EventsPage> {
    const { view, found } = await this.#find(query)
    const newest = found.slice(-query.limit).reverse()
    const page: EventsPage = {
      ticker: query.ticker,
      field: query.field,
      timeframe: query.timeframe,
      events: newest.map(i => present(bandEvent(view, i), this.cache.tier)),
      total_occurrences: found.length,
      query_range: PLANS[this.cache.tier].range,
    }
    if (query.context !== undefined) page.context = { ...query.context }
    return page
  }

  async oversold(query: OversoldQuery): Promise<OversoldPage> {
    const { oversold } = await import('./oversold.js')
    return oversold(this.cache, query)
  }

  async history(query: HistoryQuery): Promise<EventHistory> {
    const { view, found, context, today } = await this.#find(query)
    const plan = PLANS[this.cache.tier]
    return {
      ticker: query.ticker,
      field: query.field,
      timeframe: query.timeframe,
      query_range: plan.range,
      after: formatDay(plan.rangeStart(today)),
      as_of: formatDay(today),
      events: found.map(i => this.#historic(view, i, context)),
      present: presentBand(view, plan.rangeStart(today)),
    }
  }

  async baseline(query: HistoryQuery): Promise<Baseline> {
    entitle(query, this.cache.tier)
    entitleAftermath(this.cache.tier)
    const view = await this.cache.view(query.ticker, query.timeframe, query.field)
    const panel = await this.cache.panel(query.ticker, query.timeframe, [fieldNamed(query.field)!])
    return baselineOf(view, panel, query, PLANS[this.cache.tier].rangeStart(await this.cache.today()))
  }

  async tickers(): Promise<readonly string[]> {
    return (await this.cache.store.tickers()).map(entry => entry.ticker)
  }

  async close(): Promise<void> {
    await this.cache.store.close()
  }

  async #find(query: HistoryQuery): Promise<{ view: View; context: View | null; found: number[]; today: number }> {
    entitle(query, this.cache.tier)
    const view = await this.cache.view(query.ticker, query.timeframe, query.field)
    const other = query.context
    const context = other === undefined ? null : await this.cache.view(other.ticker, query.timeframe, other.field)
    const today = await this.cache.today()
    return { view, context, today, found: search(view, query, PLANS[this.cache.tier].rangeStart(today), context) }
  }

  #historic(view: View, i: number, context: View | null): HistoricEvent {
    const seen = present(historicEvent(view, i), this.cache.tier)
    if (context !== null) {
      const code = bandEnteredBy(context, view.days[view.record!.bars[i]!]!)
      seen.context_band = code === null ? null : context.bands[code]!
    }
    return seen
  }
}
