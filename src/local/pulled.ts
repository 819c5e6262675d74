import { Busy, InvalidParameter, NotFound, TierRestricted } from '../errors.js'
import { fieldNamed } from '../fields/index.js'
import { type Day, formatDay, parseDay } from '../model/day.js'
import type { EventHistory, HistoryQuery } from '../model/event.js'
import { knownDate, type PulledEntry, type PulledSeries, type SeriesKey } from '../model/pulled.js'
import { UNDEFINED } from '../model/series.js'
import { reaches, type Tier } from '../model/terms.js'
import { PLANS, tierOfRange } from '../tiers.js'
import type { Cache } from './cache.js'
import { listed, Marks, named, pullOf } from './pulled-marks.js'
import { search, type View } from './view.js'

/** Under which tier a series answers, as of which day, and after which day its events lie. */
export interface Scope {
  tier: Tier
  /** null: the server did not tell */
  today: Day | null
  rangeStart: Day
}

/** Answers from what servers told, for tickers without bars. */
export class Pulled {
  readonly marks = new Marks()
  readonly #cache: Cache

  constructor(cache: Cache) {
    this.#cache = cache
  }

  /**
   * One pulled series, as far as its pages have come. Throws NotFound for one that was not pulled, Busy for one that may
   * have holes, InvalidParameter for an as-of day before that of the pull.
   */
  async view(key: SeriesKey): Promise<View> {
    const series = await this.#cache.store.pulled.series(key)
    if (series === null) throw await this.#missing(key)
    if (series.state === 'mixed') throw unfinished(series)
    const told = series.state === 'partial' ? begunSeries(series) : series
    this.#checkDay(told)
    this.marks.answered(told)
    return pulledView(told)
  }

  /** Never wider than it was pulled. */
  async scope({ pulled }: View): Promise<Scope> {
    const { url, as_of, query_range } = pulled!.series
    const granted = tierOfRange(query_range)
    const tier = granted === null || reaches(granted, this.#cache.tier) ? this.#cache.tier : granted
    const today = await this.#cache.todayOf(url)
    if (as_of !== null || this.#cache.asOf !== null) return { tier, today, rangeStart: PLANS[tier].rangeStart(today) }
    const isWhole = granted === null || granted === tier
    return { tier, today: null, rangeStart: isWhole ? countedStart(pulled!) : PLANS[tier].rangeStart(today) }
  }

  /** Throws TierRestricted for a series that was pulled with a key that is not told what followed. */
  async checkAftermath(view: View): Promise<void> {
    const { tier } = await this.scope(view)
    if (PLANS[tier].aftermath) return
    const key = view.pulled!.series
    const message = `${named(key)} was pulled with a ${tier} key, which is not told what followed; pull it again with a plus key.`
    throw new TierRestricted('aftermath', tier, 'plus', { message, remedy: pullOf(key) })
  }

  /** Throws Busy where a question goes back beyond the pages that have come. */
  checkPages({ pulled }: View, query: HistoryQuery, rangeStart: Day): void {
    if (pulled?.series.state !== 'partial') return
    if (Math.max(rangeStart, query.after ?? rangeStart) < pulled.after) throw unfinished(pulled.series)
  }

  /**
   * Remembers what a context could not be told of dates that the question is about. Throws Busy where pages that have not
   * come would tell.
   */
  doubt(view: View, query: HistoryQuery, rangeStart: Day, context: View): void {
    if (context.pulled === undefined) return
    const { series, after, upTo } = context.pulled
    const { context: _context, ...all } = query
    const dates = search(view, all, rangeStart, null).map(i => view.days[view.record!.bars[i]!]!)
    const count = (asks: (day: Day) => boolean): number => dates.filter(asks).length
    const hidden = count(day => day <= after)
    if (hidden > 0 && series.state === 'partial') throw unfinished(series)
    const what = named(series)
    const [first] = context.days
    if (hidden > 0)
      this.marks.doubt(
        `${what} was pulled from ${formatDay(after + 1)} on: its band on ${times(hidden)} before is not known.`,
      )
    const inForce = count(day => day > after && day <= upTo && (first === undefined || day < first))
    if (inForce > 0 && first !== undefined)
      this.marks.doubt(
        `${what} begins with ${formatDay(first)} in what was pulled: on ${times(inForce)} before, it is taken to be ${series.events[0]!.prev_band}, the band that ended then.`,
      )
    if (inForce > 0 && first === undefined)
      this.marks.doubt(`${what} did not change in what was pulled, so that its band on ${times(inForce)} is not known.`)
    const later = count(day => day > upTo)
    if (later > 0)
      this.marks.doubt(
        `${what} was pulled as of ${formatDay(upTo)}: its band on ${times(later)} after that is not known.`,
      )
  }

  #checkDay(series: PulledSeries): void {
    const { asOf } = this.#cache
    const known = knownDate(series)
    if (asOf === null || formatDay(asOf) >= known) return
    const value = formatDay(asOf)
    const message = `as_of ${value} is before ${known}, as of which ${named(series)} was pulled: what was known earlier cannot be told from pulled events.`
    throw new InvalidParameter(message, { param: 'as_of', value, allowed: `${known} or later` })
  }

  async #missing(key: SeriesKey): Promise<NotFound> {
    const entries = await this.#cache.store.pulled.entries(key.ticker)
    if (entries.length === 0) return this.#cache.unknown(key.ticker)
    const what = `${named(key)} was not pulled; of ${key.ticker} there is ${listed(entries.map(short))}`
    return new NotFound(`${what}.`, [], { remedy: pullOf(key) })
  }
}

function unfinished({ state, events, total_occurrences, ...key }: PulledSeries): Busy {
  const why =
    state === 'partial'
      ? `is pulled in part only, ${events.length} of ${total_occurrences} events`
      : 'was told as of different days, and events between them may be missing'
  return new Busy(`${named(key)} ${why}; pull it to the end.`, { remedy: pullOf(key) })
}

function short({ timeframe, field }: PulledEntry): string {
  return `${timeframe} ${field}`
}

function times(dates: number): string {
  return dates === 1 ? 'one date' : `${dates} dates`
}

/** Pulled events in the form in which recorded ones are searched: each event is a bar of its own. */
function pulledView(series: PulledSeries): View {
  const { ticker, timeframe, events } = series
  const bands = vocabulary(series)
  const code = (band: string | undefined): number => (band === undefined ? UNDEFINED : bands.indexOf(band))
  const none = new Uint8Array()
  return {
    ticker,
    timeframe,
    bands,
    bars: events.length,
    days: Int32Array.from(events, event => parseDay(event.date)!),
    events: events.length,
    record: {
      initialBar: -1,
      initialBand: code(events[0]?.prev_band),
      bars: Int32Array.from(events.keys()),
      bands: Uint8Array.from(events, event => code(event.band)),
      flips: none,
      stability: none,
    },
    outcomes: { returns: [], ranks: [] },
    pulled: { series, after: toldAfter(series), upTo: parseDay(knownDate(series))! },
  }
}

/** A series whose pages are not all there, as far as they are: its newest events. */
function begunSeries(series: PulledSeries): PulledSeries {
  const { as_of, pulled_at, query_range, total_occurrences, events } = series.under_way!
  return { ...series, as_of, pulled_at, query_range, total_occurrences, events }
}

/** The band in force; how many bars ago it was entered only a server with prices knows. */
export function presentPulled({ pulled }: View, rangeStart: Day): EventHistory['present'] {
  const last = pulled!.series.events.at(-1)
  if (last === undefined) return null
  const since = parseDay(last.date)! > rangeStart ? last.date : null
  return { band: last.band, since, bars: null, initial: false }
}

/**
 * The day before the first of those that a range holds where a server did not tell of which day: it said how many events
 * there are.
 */
function countedStart({ series, after }: NonNullable<View['pulled']>): Day {
  const older = series.events.at(-1 - series.total_occurrences)
  return older === undefined ? after : parseDay(older.date)!
}

/** A server may know bands of the field that this version does not. */
function vocabulary({ field, events }: PulledSeries): string[] {
  const seen = events.flatMap(event => [event.band, event.prev_band])
  return [...new Set([...fieldNamed(field)!.bands, ...seen])]
}

/** Older events than those of the range are there when an earlier pull has brought them. */
function toldAfter(series: PulledSeries): Day {
  const first = series.events[0] === undefined ? Number.POSITIVE_INFINITY : parseDay(series.events[0].date)! - 1
  if (series.state === 'partial') return first
  const known = parseDay(knownDate(series))!
  const tier = tierOfRange(series.query_range)
  return tier === null ? Math.min(first, known) : Math.min(first, PLANS[tier].rangeStart(known))
}
