import { Busy, NotFound, type Remedy, remedy, TierRestricted, wrong } from '../../core/errors.js'
import { BUILT_IN } from '../../core/fields/index.js'
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
import { firstOf } from '../../core/numbers.js'
import {
  type BandPeriodsQuery,
  type HistoriesQuery,
  noEventsReason,
  type Source,
  type WhyEmpty,
} from '../../core/source.js'
import {
  afterOf,
  entitle,
  entitleAftermath,
  eventForTier,
  eventsPage,
  PLANS,
  planOf,
  tierOfRange,
} from '../../core/tiers.js'
import { haveGaps, keyOf, knownDate, type PageStore, type StoredPages, sourceWords } from '../../data/store/pages.js'
import { type Chain, chainOf, named, refuseCondition } from './pages.js'
import { historyUnder, isUnderCondition, type UnderCondition, whyEmptyUnder } from './under-condition.js'

/** One series as far as its pages have come. */
interface View extends Chain, SeriesKey {
  url: string
  /** Dates of the events, and the first day on which the bar of each is final. */
  days: readonly Day[]
  known: readonly Day[]
  /** Pages are missing at its begin. */
  partial: boolean
  /** All of its events after the first day and up to the last are here, and nothing beyond. */
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

/** Options for querying pages. */
interface PulledOptions {
  /** null: everything that the pulling key may see */
  tier: Tier | null
  /** null: as of the day of the pull */
  asOf: Day | null
  /** For a ticker without data. */
  unknown(ticker: string): Promise<NotFound>
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
  get marks(): readonly string[] {
    return this.#notes.sentences
  }

  async events(query: EventsQuery): Promise<EventsPage> {
    if (isUnderCondition(query)) {
      const { events, query_range } = await this.#history(query, false)
      return eventsPage(query, events.slice(-query.limit).reverse(), events.length, query_range)
    }
    const { found, tier, range } = await this.#find(query)
    const newest = found.slice(-query.limit).reverse()
    const seen = newest.map(event => eventForTier(event, tier))
    return eventsPage(query, seen, found.length, range)
  }

  async *histories({ tickers, fields, outcomes, base: _none, ...filter }: HistoriesQuery): AsyncGenerator<History> {
    for (const ticker of tickers)
      for (const field of fields) {
        const history = await this.#history({ ...filter, ticker, field }, outcomes === 'needed')
        yield historyOf(history, BUILT_IN.named(field)!.bands)
      }
  }

  bandPeriods(query: BandPeriodsQuery): AsyncIterable<BandPeriods> {
    return bandPeriodsOf(this.histories(query), query.fields.length)
  }

  async whyEmpty({ bands: _bands, context: _context, ...query }: HistoryQuery): Promise<WhyEmpty> {
    if (isUnderCondition(query))
      return whyEmptyUnder(
        query,
        plain => this.#history(plain, false),
        plain => this.whyEmpty(plain),
      )
    const { events, ...range } = await this.#history(query, false)
    return noEventsReason(range, [...new Set(events.map(event => event.band))])
  }

  async #history(query: HistoryQuery, needsOutcomes: boolean): Promise<EventHistory> {
    if (needsOutcomes) {
      entitle(query, this.#options.tier, BUILT_IN)
      entitleAftermath(this.#options.tier)
    }
    if (isUnderCondition(query)) return this.#historyUnderCondition(query, needsOutcomes)
    const { view, context, found, tier, range, today, rangeStart } = await this.#find(query)
    if (needsOutcomes) refuseHiddenAftermath(view, tier)
    const { url, pulled_at, as_of } = view
    return {
      ticker: query.ticker,
      field: query.field,
      timeframe: query.timeframe,
      query_range: range,
      after: today === null ? null : afterOf(rangeStart),
      as_of: dateOf(today),
      events: found.map(event => {
        const seen: HistoricEvent = { ...eventForTier(event, tier) }
        if (context !== null) seen.context_band = bandOn(context, view, event)
        return seen
      }),
      present: presentBand(view, rangeStart),
      source: { url, pulled_at, as_of },
    }
  }

  async #historyUnderCondition(query: UnderCondition, needsOutcomes: boolean): Promise<EventHistory> {
    const tell = async (key: SeriesKey): Promise<EventHistory> => {
      if ((await this.#pages.entries(key.ticker)).length > 0) return this.#history(key, false)
      const message = `${key.ticker} was not pulled, and ${query.ticker} was: a ticker and those that a condition names are looked at in one place.`
      throw new NotFound(message, [], { remedy: pullRemedy(key) })
    }
    return historyUnder(query, sourceText(query), plain => this.#history(plain, needsOutcomes), tell)
  }

  async #find(query: HistoryQuery) {
    refuseCondition(query, sourceText(query))
    entitle(query, this.#options.tier, BUILT_IN)
    const view = await this.#view(query)
    const { context: other, ...plain } = query
    const context = other === undefined ? null : await this.#view({ ...other, timeframe: query.timeframe })
    const scope = await this.#scope(view)
    const start = Math.max(scope.rangeStart, query.after ?? scope.rangeStart)
    if (view.partial && start < view.after) throw unfinished(view)
    if (context !== null) this.#noteUnknownContext(matchingEvents(view, plain, start), context)
    const matches = matchingEvents(view, query, start)
    const band = other?.band
    const found = band === undefined ? matches : matches.filter(event => bandOn(context!, view, event) === band)
    return { view, context, ...scope, found }
  }

  /**
   * One series. Throws NotFound for one that was not pulled, Busy for one that may have holes, InvalidParameter for an
   * as-of day before that of the pull.
   */
  async #view(key: SeriesKey): Promise<View> {
    const series = await this.#pages.series(key)
    if (series === null) throw await this.#notPulled(key)
    const view = viewOf(series)
    if (haveGaps(series.kept)) throw unfinished(view)
    this.#refuseEarlierDay(view)
    this.#notes.answered(view)
    return view
  }

  /** Never wider than it was pulled. */
  async #scope({ url, as_of, query_range, events, total_occurrences, after }: View): Promise<Scope> {
    const { tier: callerTier, asOf } = this.#options
    const granted = tierOfRange(query_range)
    const tier = callerTier !== null && (granted === null || includesTier(granted, callerTier)) ? callerTier : granted
    const plan = planOf(tier)
    const range = tier === null ? query_range : plan.range
    // The server's newest pulled day, so that answers stay the same.
    const today = asOf ?? (await this.#pages.newestDay(url)) ?? 0
    if (as_of !== null || asOf !== null) return { tier, range, today, rangeStart: plan.rangeStart(today) }
    const isWhole = granted === null || granted === tier
    if (!isWhole) return { tier, range, today: null, rangeStart: plan.rangeStart(today) }
    // Without an as-of day the server still reports the number of events: earlier events lie outside the range.
    const older = events.at(-1 - total_occurrences)
    return { tier, range, today: null, rangeStart: older === undefined ? after : parseDay(older.date)! }
  }

  #refuseEarlierDay(view: View): void {
    const { asOf } = this.#options
    const known = knownDate(view)
    if (asOf === null || formatDay(asOf) >= known) return
    const value = formatDay(asOf)
    const message = `as_of ${value} is before ${known}, the day of the copy of ${named(view)}: pulled events do not show earlier knowledge.`
    throw wrong('as_of', message, { value, allowed: `${known} or later` })
  }

  async #notPulled(key: SeriesKey): Promise<NotFound> {
    const entries = await this.#pages.entries(key.ticker)
    if (entries.length === 0) return this.#options.unknown(key.ticker)
    const there = firstOf(entries.map(({ timeframe, field }) => `${timeframe} ${field}`))
    return new NotFound(`${named(key)} was not pulled; of ${key.ticker} there is ${there}.`, [], {
      remedy: pullRemedy(key),
    })
  }

  /** Remembers dates that the context does not cover. Throws Busy if missing pages may cover them. */
  #noteUnknownContext(matches: readonly BandEvent[], context: View): void {
    const { days, after, upTo, events } = context
    const count = (is: (day: Day) => boolean): number => matches.filter(({ date }) => is(parseDay(date)!)).length
    const what = named(context)
    const doubt = (sentence: string): void => this.#notes.doubt(`${what} ${sentence}`)
    const hidden = count(day => day <= after)
    if (hidden > 0 && context.partial) throw unfinished(context)
    if (hidden > 0)
      doubt(`was pulled from ${formatDay(after + 1)} on: its band on ${datesText(hidden)} before is not known.`)
    const [first] = days
    const inForce = count(day => day > after && day <= upTo && (first === undefined || day < first))
    if (inForce > 0 && first === undefined)
      doubt(`has no change in the pulled data, so its band on ${datesText(inForce)} is not known.`)
    else if (inForce > 0)
      doubt(
        `begins with ${formatDay(first!)} in the pulled data: on ${datesText(inForce)} before, it is assumed to be ${events[0]!.prev_band}, the band that ended then.`,
      )
    const later = count(day => day > upTo)
    if (later > 0)
      doubt(`was pulled as of ${formatDay(upTo)}: its band on ${datesText(later)} after that is not known.`)
  }
}

function sourceText({ ticker }: HistoryQuery): string {
  return `the server that ${ticker} was pulled from`
}

/** The stored pages; during a first pull, the pages so far. */
function viewOf(series: StoredPages): View {
  const partial = series.kept.length === 0
  const chain = chainOf(partial ? series.coming : series.kept)!
  const days = chain.events.map(event => parseDay(event.date)!)
  const weekends = days.some(isWeekend)
  const known = series.timeframe === 'daily' ? days : days.map(day => weekFinalOn(day, weekends))
  const upTo = parseDay(knownDate(chain))!
  const first = days[0] === undefined ? Number.POSITIVE_INFINITY : days[0] - 1
  const tier = tierOfRange(chain.query_range)
  // Events older than the range exist if an earlier pull brought them.
  const after = partial ? first : Math.min(first, tier === null ? upTo : PLANS[tier].rangeStart(upTo))
  return { ...keyOf(series), ...chain, url: series.url, days, known, partial, after, upTo }
}

/** Events after a day that a query matches, its context aside, oldest first. */
function matchingEvents({ events, days }: View, { before, bands }: HistoryQuery, after: Day): BandEvent[] {
  const until = before ?? Number.POSITIVE_INFINITY
  return events.filter(
    (event, i) => days[i]! > after && days[i]! < until && (bands === undefined || bands.includes(event.band)),
  )
}

/**
 * The band in force on the bar of another ticker's event: the last one entered by a final bar. Before the first event
 * it is the band that this event ended; null outside the range.
 */
function bandOn({ events, days, known, after, upTo }: View, other: View, { date }: BandEvent): string | null {
  const day = parseDay(date)!
  if (day <= after || day > upTo) return null
  const final = other.known[other.days.indexOf(day)]!
  const next = days.findIndex((one, i) => one > day || known[i]! > final)
  const last = events.at(next === -1 ? -1 : next - 1)
  return (next === 0 ? events[0]!.prev_band : last?.band) ?? null
}

/** The band in force at the end; how many bars ago it was entered only a server with prices knows. */
function presentBand({ events, days }: View, rangeStart: Day): EventHistory['present'] {
  const last = events.at(-1)
  if (last === undefined) return null
  return { band: last.band, since: days.at(-1)! > rangeStart ? last.date : null, bars: null, initial: false }
}

/** Throws TierRestricted if the key's tier hides later returns. */
function refuseHiddenAftermath(view: View, tier: Tier | null): void {
  if (tier === null || PLANS[tier].aftermath) return
  const message = `${named(view)} was pulled with a ${tier} key, which gives no aftermath; pull it again with a plus key.`
  throw new TierRestricted('aftermath', tier, 'plus', { message, remedy: pullRemedy(view) })
}

function unfinished(view: View): Busy {
  const why = view.partial
    ? `is pulled in part only, ${view.events.length} of ${view.total_occurrences} events`
    : 'was copied as of different days, and events between them may be missing'
  return new Busy(`${named(view)} ${why}; pull it to the end.`, { remedy: pullRemedy(view) })
}

/** What pulls a series. */
function pullRemedy({ ticker, timeframe, field }: SeriesKey): Remedy {
  return remedy('pull', [ticker, field], timeframe === 'daily' ? {} : { timeframe })
}

function datesText(dates: number): string {
  return dates === 1 ? 'one date' : `${dates} dates`
}

/** Notes about answers from pulled events. */
class SourceNotes {
  /** By where they are from, in words. */
  readonly #answered = new Map<string, { tickers: Set<string>; fields: Set<string> }>()
  readonly #doubts = new Set<string>()

  answered({ ticker, field, ...source }: SeriesKey & PulledSource): void {
    const from = sourceWords(source)
    const { tickers, fields } = this.#answered.get(from) ?? { tickers: new Set(), fields: new Set() }
    this.#answered.set(from, { tickers: tickers.add(ticker), fields: fields.add(field) })
  }

  doubt(sentence: string): void {
    this.#doubts.add(sentence)
  }

  /** The sources, a sentence per pull; then what the pulled range does not cover. */
  get sentences(): string[] {
    const sources = [...this.#answered].map(([from, { tickers, fields }]) => {
      const what = fields.size <= 3 ? [...fields].join(', ') : `${fields.size} fields`
      return `${firstOf([...tickers].sort())} ${what}: ${from}`
    })
    return [...sources, ...this.#doubts]
  }
}
