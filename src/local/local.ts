import { outcomePercentile, performanceOf } from '../engine/outcomes.js'
import { FIELDS, fieldNamed } from '../fields/index.js'
import type { Panel } from '../fields/panel.js'
import { type Day, formatDay } from '../model/day.js'
import type { Baseline, EventsPage, EventsQuery, HistoryQuery, SeriesKey } from '../model/event.js'
import type { History, WindowOutcomes } from '../model/history.js'
import type { OversoldPage, OversoldQuery } from '../model/oversold.js'
import { UNDEFINED } from '../model/series.js'
import { TIMEFRAMES, type Tier, windowNames } from '../model/terms.js'
import {
  type BarStates,
  type FieldInfo,
  type GrantedFields,
  type HistoriesQuery,
  type KnownTicker,
  type MarketBars,
  type NewestEvents,
  newestOf,
  type PricedSource,
  type Source,
  type StatesQuery,
} from '../source.js'
import type { Store } from '../store/store.js'
import { entitle, entitleAftermath, grantedFields, PLANS, present } from '../tiers.js'
import { Cache, type Elsewhere } from './cache.js'
import type { Prices } from './prices.js'
import { bandEnteredBy, bandEvent, countedFacts, lackOf, presentBand, search, type View } from './view.js'

/** How a store answers. */
export interface LocalWays {
  /** Which day it is, for a server that counts ranges back from there and not from the newest bar. */
  clock?: (() => Day) | null
  /** Bars and states keep to the range and the fields of the tier, too, which must be one that shows what followed. */
  emulate?: boolean
  /** What else is here of tickers without bars. */
  elsewhere?: Elsewhere | null
}

/** Answers from the bars of the store, under the rules of the caller's tier. */
export class Local extends Cache implements Source, PricedSource {
  readonly server = null
  readonly #emulate: boolean
  #prices: Prices | null = null

  constructor(
    store: Store,
    tier: Tier,
    asOf: Day | null,
    { clock = null, emulate = false, elsewhere = null }: LocalWays = {},
  ) {
    super(store, tier, asOf, clock, elsewhere)
    this.#emulate = emulate
  }

  async events(query: EventsQuery): Promise<EventsPage> {
    const { view, found, tier } = await this.#find(query)
    const newest = found.slice(-query.limit).reverse()
    const page: EventsPage = {
      ticker: query.ticker,
      field: query.field,
      timeframe: query.timeframe,
      events: newest.map(i => present(bandEvent(view, i), tier)),
      total_occurrences: found.length,
      query_range: PLANS[tier].range,
    }
    if (query.context !== undefined) page.context = { ...query.context }
    return page
  }

  async oversold(query: OversoldQuery): Promise<OversoldPage> {
    const { oversold } = await import('./oversold.js')
    return oversold(this, query)
  }

  async fields(): Promise<readonly FieldInfo[]> {
    return FIELDS
  }

  async newest(query: EventsQuery): Promise<NewestEvents> {
    return newestOf(this, query)
  }

  async granted(): Promise<GrantedFields> {
    const granted = grantedFields(this.tier)
    if ((await this.store.unsettled()).length === 0) return { fields: granted, waiting: [] }
    const waits = (field: FieldInfo): boolean => field.needs !== 'bars'
    return { fields: granted.filter(field => !waits(field)), waiting: granted.filter(waits) }
  }

  async known(tickers: readonly string[], field?: string): Promise<readonly KnownTicker[]> {
    const onFacts = field !== undefined && fieldNamed(field)!.needs !== 'bars'
    const known: KnownTicker[] = []
    for (const ticker of tickers) {
      const entry = await this.store.ticker(ticker)
      if (entry === null) continue
      const sheets = onFacts ? await this.store.sheets(ticker) : null
      const lack = sheets !== null && countedFacts(sheets) === null ? lackOf(field!, ticker, sheets) : null
      known.push({ ticker, first: entry.first, last: entry.last, lack })
    }
    return known
  }

  async *histories({ tickers, fields, outcomes, base = false, ...filter }: HistoriesQuery): AsyncGenerator<History> {
    for (const ticker of tickers)
      for (const field of fields) yield this.#history({ ...filter, ticker, field }, outcomes, base)
  }

  async *bars({ tickers, timeframe }: Pick<StatesQuery, 'tickers' | 'timeframe'>): AsyncGenerator<MarketBars> {
    const prices = await this.#priced()
    for (const ticker of tickers) yield prices.bars(ticker, timeframe)
  }

  async *states({ tickers, fields, timeframe }: StatesQuery): AsyncGenerator<BarStates> {
    const prices = await this.#priced()
    for (const ticker of tickers) yield prices.states(ticker, fields, timeframe)
  }

  tickers(): Promise<readonly string[]> {
    return this.withBars()
  }

  async withBars(): Promise<readonly string[]> {
    return (await this.store.tickers()).map(({ ticker }) => ticker)
  }

  async asOfDay(): Promise<Day | null> {
    return (await this.store.newestDay()) === null ? null : this.today()
  }

  remarks(): readonly string[] {
    return this.#prices?.remarks ?? []
  }

  async close(): Promise<void> {
    await this.store.close()
  }

  async #priced(): Promise<Prices> {
    if (this.#prices === null) {
      // A question about events needs no prices; it is not to load what reads them.
      const { Prices } = await import('./prices.js')
      this.#prices ??= new Prices(this, this.#emulate)
    }
    return this.#prices
  }

  async #history(query: HistoryQuery, outcomes: HistoriesQuery['outcomes'], withBase: boolean): Promise<History> {
    if (outcomes === 'needed') {
      entitle(query, this.tier)
      entitleAftermath(this.tier)
    }
    const { view, found, context, today, tier, rangeStart } = await this.#find(query)
    const head = {
      ticker: query.ticker,
      field: query.field,
      timeframe: query.timeframe,
      query_range: PLANS[tier].range,
      after: formatDay(rangeStart),
      as_of: formatDay(today),
    }
    const contexts = context === null ? null : contextBands(view, found, context)
    const shows = PLANS[tier].aftermath
    return {
      ...head,
      ...columns(view, found, shows),
      contexts,
      outcomes: outcomes !== undefined && shows ? windowOutcomes(view, found) : null,
      base: withBase ? await this.#base(view, query, rangeStart) : null,
      present: presentBand(view, rangeStart),
    }
  }

  async #base(view: View, query: HistoryQuery, rangeStart: Day): Promise<Baseline> {
    const panel = await this.panel(query.ticker, query.timeframe, [fieldNamed(query.field)!])
    return baselineOf(view, panel, query, rangeStart)
  }

  async #find(query: HistoryQuery) {
    entitle(query, this.tier)
    const view = await this.#view(query)
    const other = query.context
    const context = other === undefined ? null : await this.#view({ ...other, timeframe: query.timeframe })
    const { tier } = this
    const today = await this.today()
    const rangeStart = PLANS[tier].rangeStart(today)
    return { view, context, tier, today, rangeStart, found: search(view, query, rangeStart, context) }
  }

  #view({ ticker, timeframe, field }: SeriesKey): Promise<View> {
    return this.view(ticker, timeframe, field)
  }
}

/** @param told whether the tier shows how settled the band left was */
function columns({ record, days, bands, events }: View, found: readonly number[], told: boolean) {
  const bytes = (of: (i: number) => number): Uint8Array => Uint8Array.from(found, of)
  return {
    bands,
    days: Int32Array.from(found, i => days[record!.bars[i]!]!),
    entered: bytes(i => record!.bands[i]!),
    left: bytes(i => (i === 0 ? record!.initialBand : record!.bands[i - 1]!)),
    stability: bytes(i => (told ? record!.stability[i]! : UNDEFINED)),
    flips: bytes(i => (told ? record!.flips[i]! : UNDEFINED)),
    lasted: Int32Array.from(found, i => (i + 1 < events ? record!.bars[i + 1]! - record!.bars[i]! : -1)),
  }
}

function contextBands(view: View, found: readonly number[], context: View): (string | null)[] {
  return found.map(i => {
    const code = bandEnteredBy(context, view.days[view.record!.bars[i]!]!)
    return code === null ? null : context.bands[code]!
  })
}

function windowOutcomes(view: View, found: readonly number[]): WindowOutcomes[] {
  const at = found.map(i => view.record!.bars[i]!)
  return TIMEFRAMES[view.timeframe].windows.map((window, w) => {
    const [all, ranked] = [view.outcomes.returns[w]!, view.outcomes.ranks[w]!]
    const hasEnded = (bar: number): boolean => bar + window < view.bars
    const rankOf = (bar: number): number => (hasEnded(bar) ? ranked[bar]! : -1)
    const performances = Uint8Array.from(at, bar =>
      rankOf(bar) < 0 ? UNDEFINED : performanceOf(rankOf(bar), bar, window),
    )
    const returns = Float64Array.from(at, bar => (hasEnded(bar) ? all[bar]! : Number.NaN))
    const percentiles = Float64Array.from(at, bar =>
      rankOf(bar) < 0 ? Number.NaN : outcomePercentile(rankOf(bar), bar, window),
    )
    return { ended: Uint8Array.from(at, bar => Number(hasEnded(bar))), performances, exact: { returns, percentiles } }
  })
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
