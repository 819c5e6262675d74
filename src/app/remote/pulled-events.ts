import { Busy, NotFound, type Remedy, remedy, TierRestricted, wrong } from '../../core/errors.js'
import { BUILT_IN_FIELDS } from '../../core/fields/index.js'
import { type Day, dateOf, formatDay, isWeekend, parseDay, weekFinalOn } from '../../core/model/day.js'
import type {
  BandEvent,
  EventHistory,
  EventsPage,
  EventsQuery,
  HistoricEvent,
  HistoryQuery,
  PulledSource,
  SeriesKey,
} from '../../core/model/event.js'
import { type BandPeriods, bandPeriodsOf, type History, historyOf } from '../../core/model/history.js'
import { includesTier, type Tier } from '../../core/model/terms.js'
import { firstNames } from '../../core/numbers.js'
import {
  type BandPeriodsQuery,
  type HistoriesQuery,
  noEventsReason,
  type Source,
  type WhyEmpty,
} from '../../core/source.js'
import {
  entitle,
  entitleAftermath,
  eventForTier,
  eventsPage,
  PLANS,
  planOf,
  rangeStartDate,
  tierOfRange,
} from '../../core/tiers.js'
import { haveGaps, keyOf, knownDate, type PageStore, type StoredPages, sourceWords } from '../../data/store/pages.js'
import { type JoinedPages, joinPages, refuseCondition, seriesText } from './pages.js'
import { hasCondition, historyWhen, type UnderCondition, whyEmptyWhen } from './under-condition.js'

/** One stored series as questions see it: its pages as one. During a first pull, the pages that have come so far. */
interface SeriesView extends JoinedPages, SeriesKey {
  url: string
  days: readonly Day[]
  /** For each event, the first day on which its bar is final. */
  finalDays: readonly Day[]
  /** Whether the oldest pages are still missing. */
  partial: boolean
  /** All events of the series after `after` and up to `upTo` are here, and none of other days. */
  after: Day
  upTo: Day
}

/** The tier and as-of day of a series' answers, and the day after which its events lie. */
interface Scope {
  /** null: the server's range is no known tier, so all its events count */
  tier: Tier | null
  range: string
  /** null: the server did not say */
  today: Day | null
  rangeStart: Day
}

interface EventsInScope extends Scope {
  view: SeriesView
  /** The series of the context; null without one. */
  context: SeriesView | null
  matches: BandEvent[]
}

interface PulledOptions {
  /** null: everything that the pulling key may see */
  tier: Tier | null
  /** null: as of the day of the pull */
  asOf: Day | null
  /** For a ticker without data. */
  unknownTicker(ticker: string): Promise<NotFound>
}

/** Answers any question from stored pages of a server, under the rules of the key that pulled them. */
export class PulledEvents implements Pick<Source, 'events' | 'histories' | 'bandPeriods' | 'whyEmpty'> {
  readonly #notes = new SourceNotes()
  readonly #pages: PageStore
  readonly #options: PulledOptions

  constructor(pages: PageStore, options: PulledOptions) {
    this.#pages = pages
    this.#options = options
  }

  /** Notes about the answers so far: their source, and what the pulled range does not cover. */
  get sourceNotes(): readonly string[] {
    return this.#notes.sentences
  }

  async events(query: EventsQuery): Promise<EventsPage> {
    if (hasCondition(query)) {
      // These events show already only what the tier may see.
      const { events, query_range } = await this.#history(query)
      return eventsPage(query, events.slice(-query.limit).reverse(), events.length, query_range)
    }
    const { matches, tier, range } = await this.#findEvents(query)
    const newest = matches.slice(-query.limit).reverse()
    const shownEvents = newest.map(event => eventForTier(event, tier))
    return eventsPage(query, shownEvents, matches.length, range)
  }

  async *histories({ tickers, fields, outcomes, base: _base, ...filter }: HistoriesQuery): AsyncGenerator<History> {
    for (const ticker of tickers)
      for (const field of fields) {
        const history = await this.#history({ ...filter, ticker, field }, { needsOutcomes: outcomes === 'needed' })
        yield historyOf(history, BUILT_IN_FIELDS.named(field)!.bands)
      }
  }

  bandPeriods(query: BandPeriodsQuery): AsyncIterable<BandPeriods> {
    return bandPeriodsOf(this.histories(query), query.fields.length)
  }

  /** Why a query has no event. It reads the history without bands and context, to name the bands that were entered. */
  async whyEmpty({ bands: _bands, context: _context, ...query }: HistoryQuery): Promise<WhyEmpty> {
    if (hasCondition(query))
      return whyEmptyWhen(
        query,
        withoutCondition => this.#history(withoutCondition),
        withoutCondition => this.whyEmpty(withoutCondition),
      )
    const { events, ...range } = await this.#history(query)
    return noEventsReason(range, [...new Set(events.map(event => event.band))])
  }

  /** The history of a query. @param needsOutcomes whether to throw TierRestricted if the tier hides later returns */
  async #history(query: HistoryQuery, { needsOutcomes = false } = {}): Promise<EventHistory> {
    if (needsOutcomes) {
      // The caller's rights come first; otherwise #findEvents checks them.
      entitle(query, this.#options.tier, BUILT_IN_FIELDS)
      entitleAftermath(this.#options.tier)
    }
    if (hasCondition(query)) return this.#historyUnderCondition(query, needsOutcomes)
    const { view, context, matches, tier, range, today, rangeStart } = await this.#findEvents(query)
    if (needsOutcomes) refuseHiddenAftermath(view, tier)
    const { url, pulled_at, as_of } = view
    return {
      ticker: query.ticker,
      field: query.field,
      timeframe: query.timeframe,
      query_range: range,
      after: today === null ? null : rangeStartDate(rangeStart), // null: the dates of the range are not known
      as_of: dateOf(today),
      events: matches.map(event => {
        const shownEvent: HistoricEvent = { ...eventForTier(event, tier) }
        if (context !== null) shownEvent.context_band = bandOn(context, view, event)
        return shownEvent
      }),
      present: presentBand(view, rangeStart),
      source: { url, pulled_at, as_of },
    }
  }

  /**
   * The history of a query with a condition. Its fields may be of other tickers, which must have been pulled too.
   * @param needsOutcomes as in `#history`
   */
  async #historyUnderCondition(query: UnderCondition, needsOutcomes: boolean): Promise<EventHistory> {
    const historyOfKey = async (key: SeriesKey): Promise<EventHistory> => {
      if ((await this.#pages.entries(key.ticker)).length > 0) return this.#history(key)
      const message = `${key.ticker} was not pulled, and ${query.ticker} was: a ticker and those that a condition names need one source.`
      throw new NotFound(message, [], { remedy: pullRemedy(key) })
    }
    return historyWhen(
      query,
      sourceNameOf(query),
      withoutCondition => this.#history(withoutCondition, { needsOutcomes }),
      historyOfKey,
    )
  }

  /** The events that match a query without a condition, oldest first, with their series, its context and scope. */
  async #findEvents(query: HistoryQuery): Promise<EventsInScope> {
    refuseCondition(query, sourceNameOf(query))
    entitle(query, this.#options.tier, BUILT_IN_FIELDS)
    const view = await this.#readView(query)
    const contextKey = query.context === undefined ? null : { ...query.context, timeframe: query.timeframe }
    const context = contextKey === null ? null : await this.#readView(contextKey)
    const scope = await this.#scope(view)
    const start = Math.max(scope.rangeStart, query.after ?? scope.rangeStart)
    if (view.partial && start < view.after) throw unfinishedError(view)
    const inAnyContext = matchingEvents(view, query, start)
    if (context !== null) this.#noteUnknownContext(inAnyContext, context)
    const band = contextKey?.band
    const matches =
      band === undefined ? inAnyContext : inAnyContext.filter(event => bandOn(context!, view, event) === band)
    return { view, context, ...scope, matches }
  }

  /**
   * Reads a pulled series. Throws NotFound if it was not pulled, and Busy if there is a gap between its pages. Throws
   * InvalidParameter for an as-of day before that of the pull.
   */
  async #readView(key: SeriesKey): Promise<SeriesView> {
    const series = await this.#pages.series(key)
    if (series === null) throw await this.#notPulledError(key)
    const view = viewOf(series)
    if (haveGaps(series.kept)) throw unfinishedError(view)
    this.#refuseEarlierDay(view)
    this.#notes.addSeries(view)
    return view
  }

  /**
   * The tier, as-of day and range for an answer: those of the caller, limited to those of the pull. `today` is null if
   * neither the server nor the caller gave an as-of day.
   */
  async #scope({ url, as_of, query_range, events, total_occurrences, after }: SeriesView): Promise<Scope> {
    const { tier: callerTier, asOf } = this.#options
    const pullTier = tierOfRange(query_range)
    const isCallerLower = callerTier !== null && (pullTier === null || includesTier(pullTier, callerTier))
    const tier = isCallerLower ? callerTier : pullTier
    const plan = planOf(tier)
    const range = tier === null ? query_range : plan.range
    // The server's newest pulled day, so that answers stay the same. Without one, 1970: then no event is too old.
    const today = asOf ?? (await this.#pages.newestDay(url)) ?? 0
    const isDayKnown = as_of !== null || asOf !== null
    const isWholeRange = pullTier === null || pullTier === tier
    if (isDayKnown || !isWholeRange)
      return { tier, range, today: isDayKnown ? today : null, rangeStart: plan.rangeStart(today) }
    // The dates of the pull's range are not known. The server counted its newest `total_occurrences` events in the
    // range, so it begins after the event before those. Without such an event it begins with the stored events.
    const newestOutside = events.at(-1 - total_occurrences)
    return { tier, range, today: null, rangeStart: newestOutside === undefined ? after : parseDay(newestOutside.date)! }
  }

  /** Throws InvalidParameter for an as-of day before the day of the pull. */
  #refuseEarlierDay(view: SeriesView): void {
    const { asOf } = this.#options
    const pullDate = knownDate(view)
    if (asOf === null || formatDay(asOf) >= pullDate) return
    const value = formatDay(asOf)
    const message = `as_of ${value} is before ${pullDate}, the day of the copy of ${seriesText(view)}: pulled events do not show earlier knowledge.`
    throw wrong('as_of', message, { value, allowed: `${pullDate} or later` })
  }

  /** The error for a series that was not pulled, which names the pulled series of the ticker. */
  async #notPulledError(key: SeriesKey): Promise<NotFound> {
    const entries = await this.#pages.entries(key.ticker)
    if (entries.length === 0) return this.#options.unknownTicker(key.ticker)
    const pulledFields = firstNames(entries.map(({ timeframe, field }) => `${timeframe} ${field}`))
    return new NotFound(`${seriesText(key)} was not pulled; of ${key.ticker} there is ${pulledFields}.`, [], {
      remedy: pullRemedy(key),
    })
  }

  /**
   * Adds a note for each reason why the band of the context is not known on dates of `matches`. Throws Busy if pages
   * that are still missing may have it.
   */
  #noteUnknownContext(matches: readonly BandEvent[], context: SeriesView): void {
    const { days, after, upTo, events } = context
    const countDays = (isCounted: (day: Day) => boolean): number =>
      matches.filter(({ date }) => isCounted(parseDay(date)!)).length
    const addNote = (sentence: string): void => this.#notes.addGap(`${seriesText(context)} ${sentence}`)
    const beforeRange = countDays(day => day <= after)
    if (beforeRange > 0 && context.partial) throw unfinishedError(context)
    if (beforeRange > 0)
      addNote(`was pulled from ${formatDay(after + 1)} on: its band on ${datesText(beforeRange)} before is not known.`)
    const firstChange = days[0]
    const knownFrom = firstChange ?? Number.POSITIVE_INFINITY
    const beforeChange = countDays(day => day > after && day <= upTo && day < knownFrom)
    if (beforeChange > 0 && firstChange === undefined)
      addNote(`has no change in the pulled data, so its band on ${datesText(beforeChange)} is not known.`)
    else if (beforeChange > 0)
      addNote(
        `begins with ${formatDay(firstChange!)} in the pulled data: on ${datesText(beforeChange)} before, it is assumed to be ${events[0]!.prev_band}, the band that ended then.`,
      )
    const afterPull = countDays(day => day > upTo)
    if (afterPull > 0)
      addNote(`was pulled as of ${formatDay(upTo)}: its band on ${datesText(afterPull)} after that is not known.`)
  }
}

/** The source of a ticker's events, for messages. */
function sourceNameOf({ ticker }: HistoryQuery): string {
  return `the server that ${ticker} was pulled from`
}

/** The stored pages of a series, or those of its first pull so far: all events after day `after` up to day `upTo`. */
function viewOf(series: StoredPages): SeriesView {
  const partial = series.kept.length === 0
  const pages = joinPages(partial ? series.coming : series.kept)!
  const days = pages.events.map(event => parseDay(event.date)!)
  const tradesOnWeekends = days.some(isWeekend)
  const finalDays = series.timeframe === 'daily' ? days : days.map(day => weekFinalOn(day, tradesOnWeekends))
  const upTo = parseDay(knownDate(pages))!
  const dayBeforeFirst = days[0] === undefined ? Number.POSITIVE_INFINITY : days[0] - 1
  const tier = tierOfRange(pages.query_range)
  // The range of an unknown tier is known only from its first event on, and so is an unfinished pull. Events older than
  // the range exist if an earlier pull brought them.
  const rangeStart = tier === null ? upTo : PLANS[tier].rangeStart(upTo)
  const after = partial ? dayBeforeFirst : Math.min(dayBeforeFirst, rangeStart)
  return { ...keyOf(series), ...pages, url: series.url, days, finalDays, partial, after, upTo }
}

/** The events after a day that match bands and `before` of a query, oldest first. Its context does not count. */
function matchingEvents({ events, days }: SeriesView, query: HistoryQuery, after: Day): BandEvent[] {
  const { before: until = Number.POSITIVE_INFINITY, bands } = query
  return events.filter((event, i) => {
    const isInTime = days[i]! > after && days[i]! < until
    return isInTime && (bands === undefined || bands.includes(event.band))
  })
}

/**
 * The last band of a context that was entered on a bar that was final on the bar of a series' event. Before the first
 * event of the context it is the band that this first event ended. Null outside the range of the context.
 */
function bandOn(context: SeriesView, series: SeriesView, { date }: BandEvent): string | null {
  const { events, days, finalDays, after, upTo } = context
  const day = parseDay(date)!
  if (day <= after || day > upTo) return null
  const finalDay = series.finalDays[series.days.indexOf(day)]!
  const nextIndex = days.findIndex((contextDay, i) => contextDay > day || finalDays[i]! > finalDay)
  if (nextIndex === 0) return events[0]!.prev_band
  const lastEntered = nextIndex === -1 ? events.at(-1) : events[nextIndex - 1]
  return lastEntered?.band ?? null
}

/** The band in force at the end of the pages; null without an event. `since` is null if it began before the range. */
function presentBand({ events, days }: SeriesView, rangeStart: Day): EventHistory['present'] {
  const last = events.at(-1)
  if (last === undefined) return null
  return { band: last.band, since: days.at(-1)! > rangeStart ? last.date : null, bars: null, initial: false }
}

/** Throws TierRestricted if a tier hides later returns. @param tier null: unknown, which passes */
function refuseHiddenAftermath(view: SeriesView, tier: Tier | null): void {
  if (tier === null || PLANS[tier].aftermath) return
  const message = `${seriesText(view)} was pulled with a ${tier} key, which gives no aftermath; pull it again with a plus key.`
  throw new TierRestricted('aftermath', tier, 'plus', { message, remedy: pullRemedy(view) })
}

function unfinishedError(view: SeriesView): Busy {
  const why = view.partial
    ? `is pulled in part only, ${view.events.length} of ${view.total_occurrences} events`
    : 'was copied as of different days, and events between them may be missing'
  return new Busy(`${seriesText(view)} ${why}; pull it to the end.`, { remedy: pullRemedy(view) })
}

function pullRemedy({ ticker, timeframe, field }: SeriesKey): Remedy {
  return remedy('pull', [ticker, field], timeframe === 'daily' ? {} : { timeframe })
}

/** `one date`, `3 dates` */
function datesText(count: number): string {
  return count === 1 ? 'one date' : `${count} dates`
}

/** Notes about answers from pulled events. */
class SourceNotes {
  /** The tickers and fields that answers used, by the words for their source. */
  readonly #seriesBySource = new Map<string, { tickers: Set<string>; fields: Set<string> }>()
  /** Sentences about dates that the pulled data do not cover. */
  readonly #gaps = new Set<string>()

  addSeries({ ticker, field, ...source }: SeriesKey & PulledSource): void {
    const words = sourceWords(source)
    const { tickers, fields } = this.#seriesBySource.get(words) ?? { tickers: new Set(), fields: new Set() }
    this.#seriesBySource.set(words, { tickers: tickers.add(ticker), fields: fields.add(field) })
  }

  addGap(sentence: string): void {
    this.#gaps.add(sentence)
  }

  /** A sentence for each source, then those about dates that the pulled data do not cover. */
  get sentences(): string[] {
    const sources = [...this.#seriesBySource].map(([words, { tickers, fields }]) => {
      const fieldsText = fields.size <= 3 ? [...fields].join(', ') : `${fields.size} fields`
      return `${firstNames([...tickers].sort())} ${fieldsText}: ${words}`
    })
    return [...sources, ...this.#gaps]
  }
}
