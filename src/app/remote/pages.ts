import { parameter, quoted, sentence, TierRestricted, wrong } from '../../core/errors.js'
import { isCondition } from '../../core/language/as-field.js'
import { type Day, formatDay, parseDay } from '../../core/model/day.js'
import type { BandEvent, HistoryQuery, PulledSource, SeriesKey } from '../../core/model/event.js'
import { includesTier, TIMEFRAMES, type Timeframe } from '../../core/model/terms.js'
import { PLANS, tierOfRange } from '../../core/tiers.js'
import type { StoredPage, StoredPages } from '../../data/store/pages.js'

/**
 * How the pages of a series fit together. A pull starts with the newest page, which shows whether the past is
 * unchanged. It continues backwards to the first event that can still change. Older stored events stay: a page is final
 * once all windows and durations of its events are complete.
 */

/** The most events that a page may have: the fewest pages. */
export const MAX_PAGE_EVENTS = 100

/** The pages of one pull, or all stored pages of a series, as if they were one page. */
export interface JoinedPages extends Pick<StoredPages, 'timeframe'>, Pick<PulledSource, 'pulled_at' | 'as_of'> {
  query_range: string
  total_occurrences: number
  /** Oldest first. */
  events: readonly BandEvent[]
}

/**
 * Throws InvalidParameter for a condition instead of a field: events do not show on which bars it changes.
 * @param who the source of the events
 */
export function refuseCondition({ ticker, field: condition }: Pick<HistoryQuery, 'ticker' | 'field'>, who: string) {
  if (!isCondition(condition)) return
  const why = `needs the bars of ${ticker}, and ${who} gives only events`
  throw wrong('when', sentence`${parameter('when')} ${quoted(condition)} ${why}.`, { value: condition })
}

/** Joins pages, newest first, into one with the dates and totals of the newest; null without a page. */
export function joinPages(pages: readonly StoredPage[]): JoinedPages | null {
  const newest = pages[0]
  if (newest === undefined) return null
  const { timeframe, query_range, total_occurrences } = newest.body
  const events = pages.flatMap(({ body }) => body.events).reverse()
  return { timeframe, pulled_at: newest.pulled_at, as_of: newest.as_of, query_range, total_occurrences, events }
}

/** The date before which the events of a pull's next page lie; null if the next page is the newest one. */
export function nextBefore({ coming }: StoredPages): string | null {
  return coming.at(-1)?.body.events.at(-1)?.date ?? null
}

/** The stored page with an ETag that answered the same request, so a server can say it is unchanged; else null. */
export function pageToRevalidate({ kept }: StoredPages, before: string | null): StoredPage | null {
  return kept.find(page => page.before === before && page.etag !== null) ?? null
}

/**
 * Why a series is pulled again from the start. `past`: the server changed the past. `range`: the key has another range.
 * `gap`: the range begins after all stored events.
 */
export type RestartReason = 'past' | 'range' | 'gap'

/**
 * Returns a series with one more page; `gapAbove` marks one that does not directly follow the page above. The `kept`
 * pages answer until the last of the `coming` pages is there. Then these replace the newer part of the kept ones.
 * `restartReason` says why the server has to send all pages again; null if it need not.
 * @param startsAgain ignores the stored pages: all are pulled again
 */
export function addPage(
  series: StoredPages,
  arrived: Omit<StoredPage, 'gapAbove'>,
  { startsAgain }: { startsAgain: boolean },
): { series: StoredPages; restartReason: RestartReason | null } {
  const coming = [...series.coming, { ...arrived, gapAbove: !continuesPages(series.coming, arrived) }]
  const hasAll = arrived.body.events.length === arrived.body.total_occurrences
  const { olderPages, restartReason } = olderPagesToKeep(startsAgain ? [] : series.kept, coming, hasAll)
  // More pages are to come.
  if (olderPages === null) return { series: { ...series, coming }, restartReason }
  return { series: { ...series, kept: [...coming, ...olderPages], coming: [] }, restartReason }
}

/**
 * Whether a page directly follows the newer pages above it. Then it has their as-of day and range, and its total is the
 * number of events that they left. True without pages above it.
 */
function continuesPages(
  above: readonly StoredPage[],
  { pulled_at, as_of, body }: Omit<StoredPage, 'gapAbove'>,
): boolean {
  const newest = above[0]
  const oldest = above.at(-1)
  if (newest === undefined || oldest === undefined) return true
  // Without as-of days, the days on which they were pulled are compared.
  const isSameDay = as_of === null ? pulled_at.slice(0, 10) === newest.pulled_at.slice(0, 10) : as_of === newest.as_of
  const eventsLeft = oldest.body.total_occurrences - oldest.body.events.length
  return isSameDay && body.total_occurrences === eventsLeft && body.query_range === newest.body.query_range
}

/**
 * Decides which stored pages stay below the new ones of a pull. `olderPages` is null until the new pages reach down to
 * events that cannot change any more, and empty if no stored page stays. A `restartReason` says that the stored pages
 * do not fit the new ones, so that none of them stays.
 * @param stored newest first, as `coming`; their events are joined oldest first
 * @param hasAll whether the new pages have all events of the server
 */
function olderPagesToKeep(
  stored: readonly StoredPage[],
  coming: readonly StoredPage[],
  hasAll: boolean,
): { olderPages: readonly StoredPage[] | null; restartReason: RestartReason | null } {
  const storedPages = joinPages(stored)
  const newPages = joinPages(coming)!
  // No stored page stays; the new ones answer once they are complete.
  const startAgain = (restartReason: RestartReason | null) => ({ olderPages: hasAll ? [] : null, restartReason })
  if (storedPages === null || storedPages.events.length === 0) return startAgain(null)
  if (storedPages.query_range !== newPages.query_range) return startAgain('range')
  const { events: oldEvents, timeframe } = storedPages
  const newEvents = newPages.events
  // The new pages have to reach down to this stored event: the first that can change, otherwise the newest.
  const firstChangeable = Math.min(firstChangeableInRange(storedPages, newPages), oldEvents.length - 1)
  const oldestNewDate = newEvents[0]?.date
  const overlaps = oldestNewDate !== undefined && oldestNewDate <= oldEvents[firstChangeable]!.date
  if (!overlaps && !hasAll) return { olderPages: null, restartReason: null }
  // The number of the oldest stored events that stay; the new pages should repeat the others.
  const stayCount = overlaps
    ? firstIndex(oldEvents, event => event.date >= oldestNewDate)
    : countBeforeRange(oldEvents, newPages)
  if (stayCount === oldEvents.length && hasGap(storedPages, newPages)) return startAgain('gap')
  const repeatedEvents = oldEvents.slice(stayCount)
  const finalEvents = oldEvents.slice(stayCount, firstChangeable)
  // All repeated events have the same date and bands; those that are final, the same later returns, too.
  const areSameEntries = repeatedEvents.every((event, i) => isSameEntry(event, newEvents[i]))
  const areFinalSame = finalEvents.every((event, i) => isSameEvent(event, newEvents[i], timeframe))
  const isPastSame = areSameEntries && areFinalSame && areAsManyOlder(oldEvents.slice(0, stayCount), newPages)
  return isPastSame ? { olderPages: asOnePage(stored, stayCount), restartReason: null } : startAgain('past')
}

/** The oldest `count` events of some pages (newest first), as a list of one page without an ETag; empty for 0. */
function asOnePage(pages: readonly StoredPage[], count: number): StoredPage[] {
  const events = pages.flatMap(({ body }) => body.events).slice(-count)
  const newestEvent = events[0]
  const oldestPage = pages.at(-1)
  if (count === 0 || newestEvent === undefined || oldestPage === undefined) return []
  const before = formatDay(parseDay(newestEvent.date)! + 1)
  const body = { ...oldestPage.body, events, total_occurrences: count }
  return [{ ...oldestPage, before, etag: null, gapAbove: false, body }]
}

/** Index of the first stored event that can still change and is in the range of the new pages. */
function firstChangeableInRange({ events, timeframe }: JoinedPages, newPages: JoinedPages): number {
  const start = dayBeforeRange(newPages)
  const indexInRange = start === null ? 0 : firstIndex(events, event => parseDay(event.date)! > start)
  return indexInRange + firstChangeableEvent(events.slice(indexInRange), timeframe)
}

/** The number of stored events before the range of the new pages; an unknown range begins with their oldest event. */
function countBeforeRange(stored: readonly BandEvent[], newPages: JoinedPages): number {
  const start = dayBeforeRange(newPages)
  const oldest = newPages.events[0]?.date
  if (start !== null) return firstIndex(stored, event => parseDay(event.date)! > start)
  return oldest === undefined ? stored.length : firstIndex(stored, event => event.date >= oldest)
}

/** Whether events may be missing between the as-of day of the stored pages and the range of the new ones. */
function hasGap({ as_of }: JoinedPages, newPages: JoinedPages): boolean {
  const start = dayBeforeRange(newPages)
  return start === null || as_of === null || parseDay(as_of)! < start
}

/** The index of the first event that matches; the number of events if none does. */
function firstIndex(events: readonly BandEvent[], isMatch: (event: BandEvent) => boolean): number {
  const index = events.findIndex(isMatch)
  return index === -1 ? events.length : index
}

/**
 * Whether a final event has the same values for the keys of the specification; a server may change its other keys.
 * @param newer undefined: the server no longer has the event
 */
function isSameEvent(stored: BandEvent, newer: BandEvent | undefined, timeframe: Timeframe): boolean {
  const { duration } = TIMEFRAMES[timeframe]
  const names = ['stability_at_entry', 'flips_recent_at_entry', 'flips_lookback', duration] as const
  if (newer === undefined || !isSameEntry(stored, newer) || names.some(name => stored[name] !== newer[name]))
    return false
  return Object.entries(stored.aftermath ?? {}).every(
    ([window, outcome]) => outcome?.performance === newer.aftermath?.[window]?.performance,
  )
}

/** Whether two events are the same change of band on the same date. */
function isSameEntry(stored: BandEvent, newer: BandEvent | undefined): boolean {
  return newer?.date === stored.date && newer.band === stored.band && newer.prev_band === stored.prev_band
}

/** Whether the stored events older than the new pages are as many as the server counts there. */
function areAsManyOlder(older: readonly BandEvent[], newPages: JoinedPages): boolean {
  const olderCount = newPages.total_occurrences - newPages.events.length
  const start = dayBeforeRange(newPages)
  // Without a known range some of the stored events may lie before it.
  if (start === null) return older.length >= olderCount
  return older.filter(event => parseDay(event.date)! > start).length === olderCount
}

/** The last day before the range of some pages; null if their as-of day or their range is unknown. */
export function dayBeforeRange({ as_of, query_range }: Pick<JoinedPages, 'as_of' | 'query_range'>): Day | null {
  const tier = tierOfRange(query_range)
  return as_of === null || tier === null ? null : PLANS[tier].rangeStart(parseDay(as_of)!)
}

/**
 * Throws TierRestricted if a series was pulled with a key of a higher tier: the present key would lose events.
 * @param earlierRange the range of the stored pages; undefined without any
 * @param range the range of the present key
 */
export function refuseLowerTier(key: SeriesKey, earlierRange: string | undefined, range: string): void {
  const tierBefore = earlierRange === undefined ? null : tierOfRange(earlierRange)
  const tierNow = tierOfRange(range)
  if (tierBefore === null || tierNow === null || includesTier(tierNow, tierBefore)) return
  const difference = `with a ${tierBefore} key (${earlierRange}), and this one is ${tierNow} (${range})`
  const message = sentence`${seriesText(key)} was pulled ${difference}: it is left as it was; ${parameter('replace')} pulls it again with less.`
  throw new TierRestricted(seriesText(key), tierNow, tierBefore, { message })
}

/**
 * The index of the first event that can still change: its band is active, or one of its windows may be incomplete. All
 * before it are final. A null outcome can also mean too little history to rank a complete window. That is certain once
 * later events prove that enough bars have followed.
 * @param events oldest first, without gaps; the result is 0 without events
 */
export function firstChangeableEvent(events: readonly BandEvent[], timeframe: Timeframe): number {
  let first = events.length
  // Bars that are known to have followed the event.
  let barsAfter = 0
  for (let i = events.length - 1; i >= 0; i--) {
    const event = events[i]!
    // null: the band is active.
    const duration = event[TIMEFRAMES[timeframe].duration] ?? null
    // The outcome of a window is null while it is incomplete, and maybe later.
    const windows = Object.entries(event.aftermath ?? {}).map(([name, outcome]) => {
      return { bars: Number.parseInt(name, 10), isComplete: outcome !== null }
    })
    const completeBars = windows.filter(({ isComplete }) => isComplete).map(({ bars }) => bars)
    const barsByDates = duration === null ? 0 : leastBarsBetween(duration, event, events[i + 1], timeframe) + barsAfter
    barsAfter = Math.max(barsByDates, ...completeBars)
    if (duration === null || windows.some(({ bars, isComplete }) => !isComplete && bars > barsAfter)) first = i
  }
  return first
}

/**
 * The least number of bars from an event to the next one; 0 without a next one. Some servers may count `duration` in
 * calendar days instead of bars. That is too many, and then the number by the dates is smaller.
 */
function leastBarsBetween(
  duration: number,
  event: BandEvent,
  next: BandEvent | undefined,
  timeframe: Timeframe,
): number {
  if (next === undefined) return 0
  const days = parseDay(next.date)! - parseDay(event.date)!
  return Math.min(duration, days * LEAST_BARS_A_DAY[timeframe])
}

/** Bars in a calendar day: a little fewer than any ticker has. */
const LEAST_BARS_A_DAY: Readonly<Record<Timeframe, number>> = { daily: 2 / 3, weekly: 1 / 7 }

export function seriesText({ ticker, timeframe, field }: SeriesKey): string {
  return `${timeframe} ${field} of ${ticker}`
}
