import type { Words } from '../../core/errors.js'
import { isCondition, isRuled, TRUE } from '../../core/language/as-field.js'
import type { Day } from '../../core/model/day.js'
import type { HistoryQuery } from '../../core/model/event.js'
import { bandsByBar, UNDEFINED } from '../../core/model/series.js'
import type { WhyEmpty } from '../../core/source.js'
import type { Cache, FoundEvents } from './cache.js'
import {
  bandEnteredBy,
  matchingEvents,
  missingFactsReason,
  NO_EXTRA_VIEWS,
  periodAt,
  usableFacts,
  type View,
} from './view.js'

/**
 * Why a query found no event: the first cause that applies among data, dates, bands and context. It reveals nothing
 * about events beyond the range of a tier, not even whether there are any. Throws like the query.
 */
export async function whyEmpty(cache: Cache, query: HistoryQuery): Promise<WhyEmpty> {
  const { ticker, field } = query
  const { view, context, when, today, plan, rangeStart } = await cache.find(query)
  const { first, last } = await cache.entry(ticker)
  const currentPeriod = periodAt(view, view.bars - 1)
  // A condition with a band had enough facts, even if one of its fields lacks them.
  const missing = isCondition(field) && currentPeriod !== null ? null : await missingFactsOfField(cache, ticker, field)
  if (missing !== null) return { code: 'no_facts', missing }
  if (first > today) return { code: 'not_begun', as_of: today }
  if (currentPeriod === null)
    return { code: 'no_band_yet', bars: view.bars, missing: await missingInput(cache, query, view.bars), as_of: today }
  const range = Number.isFinite(rangeStart) ? { name: plan.range, from: rangeStart + 1, to: today } : null
  const after = query.after ?? Number.NEGATIVE_INFINITY
  const before = query.before ?? Number.POSITIVE_INFINITY
  if (after + 1 > before - 1 || (range !== null && before <= range.from)) return { code: 'no_day', range }
  const from = Math.max(rangeStart, after) + 1
  const to = Math.min(today, before - 1)
  // The last bar as it was known on the day.
  const end = Math.min(last, view.days[view.bars - 1]!)
  if (range !== null && end < range.from) return { code: 'ended_before', last: end, range }
  if (end < from) return { code: 'bars_end', last: end }
  if (first > to) return { code: 'bars_begin', firstOf: first }
  return whyNoEvents(cache, query, { view, context, when, rangeStart, from, to, range, band: currentPeriod.band })
}

/** The data of a query whose dates have bars. */
interface DatedQuery extends Pick<FoundEvents, 'view' | 'context' | 'when' | 'rangeStart'> {
  from: Day
  to: Day
  range: Extract<WhyEmpty, { code: 'no_day' }>['range']
  /** The band in force at the end of the view. */
  band: string
}

/**
 * Why no event matches although the query's dates have bars: band, dates, condition or context.
 * @param parts with the tier's `range` (null: no limit), and the `band` in force at the end
 */
async function whyNoEvents(cache: Cache, query: HistoryQuery, parts: DatedQuery): Promise<WhyEmpty> {
  const { view, context, when, rangeStart, from, to, range, band } = parts
  // First the query with only its bands, then also with its dates. NO_EXTRA_VIEWS leaves the condition out.
  const { context: contextQuery, ...withoutContext } = query
  const { after: _after, before: _before, ...withoutDates } = withoutContext
  const eventsInRange = matchingEvents(view, withoutDates, rangeStart, NO_EXTRA_VIEWS)
  if (eventsInRange.length === 0) {
    const { bands: _bands, ...withoutBands } = withoutDates
    const seen = bandsEntered(view, matchingEvents(view, withoutBands, rangeStart, NO_EXTRA_VIEWS))
    if (range !== null) return { code: 'not_in_range', range, seen }
    return query.bands === undefined ? { code: 'never_changed', band } : { code: 'never_entered', seen }
  }
  const eventsInDates = matchingEvents(view, withoutContext, rangeStart, NO_EXTRA_VIEWS)
  if (eventsInDates.length === 0 || (context === null && when === null)) {
    const days = Array.from(eventsInRange, i => view.days[view.record!.bars[i]!]!)
    return { code: 'outside_dates', events: days.length, nearest: dayNearestTo(days, from, to) }
  }
  const bars = Array.from(eventsInDates, i => view.record!.bars[i]!)
  // The bands of a condition are its truth: true, false or unknown.
  const truths = when === null ? null : bandsByBar(when.record!, when.bars)
  if (truths !== null && bars.every(bar => truths[bar] !== TRUE))
    return { code: 'when_never', events: bars.length, unknown: bars.filter(bar => truths[bar] === UNDEFINED).length }
  // The events have the dates and the condition, so the context is the cause.
  const missing = await missingFactsOfField(cache, contextQuery!.ticker, contextQuery!.field)
  if (missing !== null) return { code: 'context_lacks', missing }
  const entered = new Set(bars.map(bar => bandEnteredBy(context!, view, bar)))
  const bands = context!.bands.filter(band => entered.has(band))
  return { code: 'context_never', events: eventsInDates.length, bands }
}

/** The bands that some events enter, in the order of the vocabulary. @param events their numbers */
function bandsEntered({ record, bands }: View, events: Int32Array): string[] {
  const entered = new Set(events.map(i => record!.bands[i]!))
  return bands.filter((_, code) => entered.has(code))
}

/** The day that is nearest to the days from..to. @param days at least one; all are outside from..to */
function dayNearestTo(days: readonly Day[], from: Day, to: Day): Day {
  const distance = (day: Day): number => Math.max(from - day, day - to)
  return days.reduce((nearest, day) => (distance(day) < distance(nearest) ? day : nearest))
}

/** The input that keeps a ticker from having a band of a field: too few bars, or no volumes. null: another cause. */
async function missingInput(cache: Cache, { ticker, timeframe, field: name }: HistoryQuery, bars: number) {
  const field = cache.field(name)
  // A ruled field (condition or the user's own) has no input but other fields.
  if (isRuled(field)) return null
  const panel = await cache.panel(ticker, timeframe, [field])
  if (bars <= field.warmUp(panel)) return 'bars'
  const isOnVolume = field.readings(panel, bars - 1).some(({ name }) => name === 'volume')
  return isOnVolume && !panel.series.volume.subarray(0, bars).some(volume => volume > 0) ? 'volumes' : null
}

/**
 * Why a field has no band of a ticker without facts; null if it uses none, or the ticker has some. A condition has the
 * reason of the first such field in it.
 */
async function missingFactsOfField(cache: Cache, ticker: string, field: string): Promise<Words | null> {
  const wanted = cache.field(field)
  if (wanted.needs === 'bars') return null
  if (isRuled(wanted)) {
    for (const subject of wanted.subjects) {
      const missing: Words | null = await missingFactsOfField(cache, subject.ticker ?? ticker, subject.field)
      if (missing !== null) return missing
    }
    return null
  }
  const sheets = await cache.store.sheets(ticker)
  return usableFacts(sheets) === null ? missingFactsReason(field, ticker, sheets) : null
}
