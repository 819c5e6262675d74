// For: answer questions from the database here.
// In: a query that was read, and a day.
// Out: events, bars and bands as the tier may see them.

import type { FieldSet } from '../../core/fields/index.js'
import { isCondition } from '../../core/language/as-field.js'
import { daysAt, isConsecutive } from '../../core/model/calendar.js'
import { countBelow, type Day, formatDay } from '../../core/model/day.js'
import type {
  Baseline,
  EventsPage,
  EventsQuery,
  HistoryQuery,
  OversoldPage,
  OversoldQuery,
} from '../../core/model/event.js'
import { type BandPeriods, eventsOf, type History } from '../../core/model/history.js'
import { bandsByBar, type FieldRecord, numbersBetween, UNDEFINED } from '../../core/model/series.js'
import { TIMEFRAMES } from '../../core/model/terms.js'
import {
  type BandPeriodsQuery,
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
  type WaitingFields,
  type WhyEmpty,
} from '../../core/source.js'
import { entitle, entitleAftermath, eventsPage, grantedFields, planOf, rangeStartDate } from '../../core/tiers.js'
import { Cache, type FoundEvents, Pending } from './cache.js'
import type { Prices } from './prices.js'
import {
  bandEnteredBy,
  barsBetween,
  eventColumnsOf,
  missingFactsReason,
  outcomesAfter,
  performanceCounts,
  performancesAfter,
  presentBand,
  sectorKey,
  usableFacts,
  type View,
} from './view.js'

/** Answers from the bars of the store, under the rules of the caller's tier. */
export class Local extends Cache implements Source, PricedSource {
  readonly server = null
  #prices: Prices | null = null

  /** The same database as of a day. Closing one of the two closes both. */
  on(day: Day): Local {
    return new Local(this.store, this.tier, day, this.options)
  }

  /** The same database with other fields. */
  withFields(fields: FieldSet): Local {
    return new Local(this.store, this.tier, this.asOf, { ...this.options, fields })
  }

  /** The newest events up to the limit, newest first. Aftermath, stability and flips only if the tier has them. */
  async events(query: EventsQuery): Promise<EventsPage> {
    const { view, indexes, plan } = await this.find(query)
    const newestIndexes = indexes.slice(-query.limit).reverse()
    const outcomes = plan.aftermath ? performancesAfter(view, newestIndexes) : null
    const events = eventsOf({ ...eventColumnsOf(view, newestIndexes, plan.aftermath), contexts: null, outcomes })
    return eventsPage(query, events, indexes.length, plan.range)
  }

  async oversold(query: OversoldQuery): Promise<OversoldPage> {
    const { scanOversold } = await import('./oversold.js')
    return scanOversold(this, query)
  }

  async fields(names: readonly string[] = []): Promise<readonly FieldInfo[]> {
    return [...this.fieldSet.all, ...names.filter(isCondition).map(name => this.field(name))]
  }

  async newest(query: EventsQuery): Promise<NewestEvents> {
    return newestOf(this, query)
  }

  /** The fields of the tier that can be read now, and those that wait for an import. */
  async granted(): Promise<GrantedFields> {
    const granted = grantedFields(this.tier, this.fieldSet)
    const pending = await Pending.read(this.store)
    const waiting = granted.filter(field => pending.waits(field))
    return {
      fields: granted.filter(field => !pending.waits(field)),
      omitted: waiting.map(({ name }) => ({ field: name, why: pending.why })),
    }
  }

  /** The number of fields that wait for an import; null: none. */
  async waiting(): Promise<WaitingFields | null> {
    const pending = await Pending.read(this.store)
    const fields = this.fieldSet.all.filter(field => pending.waits(field)).length
    return fields === 0 ? null : { fields, since: pending.since }
  }

  async whyEmpty(query: HistoryQuery): Promise<WhyEmpty> {
    const { whyEmpty } = await import('./why-empty.js')
    return whyEmpty(this, query)
  }

  /** Those of some tickers that have bars. If `field` uses facts and a ticker has none, `missing` says why. */
  async known(tickers: readonly string[], field?: string): Promise<readonly KnownTicker[]> {
    // A condition can be true or false although one of its fields is unknown, so missing facts do not rule it out.
    const usesFacts = field !== undefined && !isCondition(field) && this.field(field).needs !== 'bars'
    const known: KnownTicker[] = []
    for (const ticker of tickers) {
      const entry = await this.store.ticker(ticker)
      if (entry === null) continue
      const sheets = usesFacts ? await this.store.sheets(ticker) : null
      const missing =
        sheets !== null && usableFacts(sheets) === null ? missingFactsReason(field!, ticker, sheets) : null
      known.push({ ticker, first: entry.first, last: entry.last, missing })
    }
    return known
  }

  /**
   * The events of some fields of many tickers, by ticker. Throws TierRestricted if `outcomes` are `needed` and the tier
   * has none. @yields one history for each ticker and field
   */
  async *histories({ outcomes, base = false, ...query }: HistoriesQuery): AsyncGenerator<History> {
    const [field] = query.fields
    if (outcomes === 'needed' && field !== undefined) {
      entitle({ ...query, field }, this.tier, this.fieldSet)
      entitleAftermath(this.tier)
    }
    const showsOutcomes = outcomes !== undefined && planOf(this.tier).aftermath
    for await (const found of this.findAll(query, showsOutcomes || base))
      yield historyOfFound(found, showsOutcomes, base)
  }

  async *bandPeriods(query: BandPeriodsQuery): AsyncGenerator<BandPeriods> {
    const { readBandPeriods } = await import('./band-periods.js')
    yield* readBandPeriods(this, query)
  }

  async *bars({ tickers, timeframe }: Pick<StatesQuery, 'tickers' | 'timeframe'>): AsyncGenerator<MarketBars> {
    const prices = await this.#loadPrices()
    for (const ticker of tickers) yield prices.bars(ticker, timeframe)
  }

  async *states(query: StatesQuery): AsyncGenerator<BarStates> {
    yield* (await this.#loadPrices()).states(query)
  }

  tickers(): Promise<readonly string[]> {
    return this.withBars()
  }

  async withBars(): Promise<readonly string[]> {
    return this.store.names('bars')
  }

  async asOfDay(): Promise<Day | null> {
    return (await this.store.newestDay()) === null ? null : this.today()
  }

  /** The sector of each ticker that has one. Of spellings that differ by case, the first one names the sector. */
  async sectors(): Promise<ReadonlyMap<string, string>> {
    const securities = await this.store.securities()
    const securitiesBySector = Map.groupBy(securities, ([_ticker, security]) => sectorKey(security))
    securitiesBySector.delete(null)
    const sectorByTicker = new Map<string, string>()
    for (const securitiesOfSector of securitiesBySector.values()) {
      const [_ticker, firstSecurity] = securitiesOfSector[0]!
      for (const [ticker] of securitiesOfSector) sectorByTicker.set(ticker, firstSecurity.sector!.trim())
    }
    return sectorByTicker
  }

  remarks(): readonly string[] {
    return this.#prices?.remarks ?? []
  }

  async close(): Promise<void> {
    await Promise.all([this.store.close(), this.cluster?.close()])
  }

  /** The reader of prices, loaded on first use. */
  async #loadPrices(): Promise<Prices> {
    if (this.#prices === null) {
      // A question about events needs no prices, and need not load the code for them.
      const { Prices } = await import('./prices.js')
      // Another call may have made the reader during the import.
      this.#prices ??= new Prices(this)
    }
    return this.#prices
  }
}

/**
 * Found events as a history; with stability and flips if the tier's plan has aftermath.
 * @param outcomes whether to add later returns
 * @param withBase whether to add the returns after any bar, to compare with
 */
function historyOfFound(foundEvents: FoundEvents, outcomes: boolean, withBase: boolean): History {
  const { query, view, indexes, context, today, plan, rangeStart } = foundEvents
  const { ticker, field } = query
  return {
    ticker,
    field,
    query_range: plan.range,
    after: rangeStartDate(rangeStart),
    as_of: formatDay(today),
    ...eventColumnsOf(view, indexes, plan.aftermath),
    contexts: context && Array.from(indexes, i => bandEnteredBy(context, view, view.record!.bars[i]!)),
    outcomes: outcomes ? outcomesAfter(view, indexes) : null,
    base: withBase ? baselineOf(view, query, rangeStart) : null,
    present: presentBand(view, rangeStart),
  }
}

/** The bars in a list of consecutive ones on which the field has a band. @param bars the number of bars of the view */
function barsWithBand(consecutiveBars: Int32Array, record: FieldRecord, bars: number): Int32Array {
  const { initialBar, gaps } = record
  // Nearly all fields have a band on every bar after their first one.
  if (initialBar >= 0 && gaps.length === 0)
    return consecutiveBars.subarray(Math.max(0, initialBar - (consecutiveBars[0] ?? 0)))
  const codes = bandsByBar(record, bars)
  return consecutiveBars.filter(t => codes[t] !== UNDEFINED)
}

/**
 * The returns after any bar, to compare with those after events. It covers every bar in the query's range on which the
 * field has a band, with or without an event.
 */
function baselineOf(view: View, query: HistoryQuery, rangeStart: Day): Baseline {
  const { record, timeframe } = view
  const bars =
    record === null ? new Int32Array() : barsWithBand(barsBetween(view, query, rangeStart), record, view.bars)
  // By window, the number of bars after which it has ended.
  const ended = TIMEFRAMES[timeframe].windows.map(window => countBelow(bars, view.bars - window))
  // The closes begin at the first bar, and `indexes` has the bars among them.
  const first = bars[0] ?? 0
  return {
    bars: bars.length,
    days: daysAt(view.days, bars),
    ended,
    performances: ended.map((count, w) => performanceCounts(view, w, bars.subarray(0, count))),
    closes: view.outcomes!.close.subarray(first, view.bars),
    indexes: isConsecutive(bars) ? numbersBetween(0, bars.length) : bars.map(bar => bar - first),
  }
}
