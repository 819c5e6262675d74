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

/** The pages of one pull, or all stored pages of a series, as one. */
export interface Chain extends Pick<StoredPages, 'timeframe'>, Pick<PulledSource, 'pulled_at' | 'as_of'> {
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

/** Pages joined, with the data of the newest; null without a page. */
export function chainOf(pages: readonly StoredPage[]): Chain | null {
  const [first] = pages
  if (first === undefined) return null
  const { timeframe, query_range, total_occurrences } = first.body
  const events = pages.flatMap(({ body }) => body.events).reverse()
  return { timeframe, pulled_at: first.pulled_at, as_of: first.as_of, query_range, total_occurrences, events }
}

/** The next page covers events before this date; null: the newest page. */
export function nextBefore({ coming }: StoredPages): string | null {
  return coming.at(-1)?.body.events.at(-1)?.date ?? null
}

/** The stored page of the same request, if it has an ETag to revalidate. */
export function pageToRevalidate({ kept }: StoredPages, before: string | null): StoredPage | null {
  return kept.find(page => page.before === before && page.etag !== null) ?? null
}

/**
 * Why a series is pulled again from the start. `past`: the server changed the past. `range`: the key has another range.
 * `gap`: the range begins after all stored events.
 */
export type RestartReason = 'past' | 'range' | 'gap'

/**
 * A series with one more page. The stored pages keep answering until the last new page is there. Then the new pages
 * replace the newer part of the stored ones, and the older part is kept.
 * @param startsAgain ignores the stored pages: all are pulled again
 */
export function addPage(
  series: StoredPages,
  arrived: Omit<StoredPage, 'gapAbove'>,
  { startsAgain }: { startsAgain: boolean },
): { series: StoredPages; restartReason: RestartReason | null } {
  const coming = [...series.coming, { ...arrived, gapAbove: !continuesPages(series.coming, arrived) }]
  const { events, total_occurrences } = arrived.body
  const { rest, restartReason } = pagesBelow(
    startsAgain ? [] : series.kept,
    coming,
    events.length === total_occurrences,
  )
  if (rest === null) return { series: { ...series, coming }, restartReason }
  return { series: { ...series, kept: [...coming, ...rest], coming: [] }, restartReason }
}

/**
 * Whether a page directly follows the pages above it. Then it has their as-of day and range, and its total is the number
 * of events that they left. True without pages above it.
 */
function continuesPages(
  above: readonly StoredPage[],
  { pulled_at, as_of, body }: Omit<StoredPage, 'gapAbove'>,
): boolean {
  const first = above[0]
  const last = above.at(-1)
  if (first === undefined || last === undefined) return true
  const isSameDay = as_of === null ? pulled_at.slice(0, 10) === first.pulled_at.slice(0, 10) : as_of === first.as_of
  const eventsLeft = last.body.total_occurrences - last.body.events.length
  return isSameDay && body.total_occurrences === eventsLeft && body.query_range === first.body.query_range
}

/**
 * The stored pages that stay below new ones; null until the new ones reach down to events that cannot change any more.
 * @param hasAll whether the new pages have all events of the server
 */
function pagesBelow(
  stored: readonly StoredPage[],
  coming: readonly StoredPage[],
  hasAll: boolean,
): { rest: readonly StoredPage[] | null; restartReason: RestartReason | null } {
  const storedChain = chainOf(stored)
  const comingChain = chainOf(coming)!
  // No stored page stays; the new ones answer once they are complete.
  const startAgain = (restartReason: RestartReason | null) => ({ rest: hasAll ? [] : null, restartReason })
  if (storedChain === null || storedChain.events.length === 0) return startAgain(null)
  if (storedChain.query_range !== comingChain.query_range) return startAgain('range')
  const { events: oldEvents, timeframe } = storedChain
  const newEvents = comingChain.events
  const firstOpenIndex = Math.min(firstChangeableInRange(storedChain, startOf(comingChain)), oldEvents.length - 1)
  const oldest = newEvents[0]?.date
  const overlaps = oldest !== undefined && oldest <= oldEvents[firstOpenIndex]!.date
  if (!overlaps && !hasAll) return { rest: null, restartReason: null }
  // The first stored event that the new pages should repeat; those before it stay.
  const from = overlaps
    ? firstIndex(oldEvents, event => event.date >= oldest)
    : eventsBeforeRange(oldEvents, comingChain)
  if (from === oldEvents.length && hasGap(storedChain, comingChain)) return startAgain('gap')
  const repeated = oldEvents.slice(from)
  const isRepeated = repeated.every((event, i) => {
    const isFinal = from + i < firstOpenIndex
    return isFinal ? isSameEvent(event, newEvents[i], timeframe) : isSameEntry(event, newEvents[i])
  })
  const isUnchanged = isRepeated && isComplete(oldEvents.slice(0, from), comingChain)
  return isUnchanged ? { rest: asOnePage(stored, from), restartReason: null } : startAgain('past')
}

/** The oldest `count` events of some pages as one page; a list without a page for 0. Without an ETag it is not revalidated. */
function asOnePage(pages: readonly StoredPage[], count: number): StoredPage[] {
  const events = pages.flatMap(({ body }) => body.events).slice(-count)
  const newest = events[0]
  const oldest = pages.at(-1)
  if (count === 0 || newest === undefined || oldest === undefined) return []
  const before = formatDay(parseDay(newest.date)! + 1)
  return [
    { ...oldest, before, etag: null, gapAbove: false, body: { ...oldest.body, events, total_occurrences: count } },
  ]
}

/** Index of the first event that can still change and is still in the server's range; older ones stay. */
function firstChangeableInRange({ events, timeframe }: Chain, start: Day | null): number {
  const indexInRange = start === null ? 0 : firstIndex(events, event => parseDay(event.date)! > start)
  return indexInRange + firstChangeableEvent(events.slice(indexInRange), timeframe)
}

/** The number of stored events that are older than the range of the new pages. */
function eventsBeforeRange(stored: readonly BandEvent[], newChain: Chain): number {
  const start = startOf(newChain)
  const oldest = newChain.events[0]?.date
  if (start !== null) return firstIndex(stored, event => parseDay(event.date)! > start)
  return oldest === undefined ? stored.length : firstIndex(stored, event => event.date >= oldest)
}

/** Whether events may be missing between the as-of day of the stored pages and the range of the new ones. */
function hasGap({ as_of }: Chain, newChain: Chain): boolean {
  const start = startOf(newChain)
  return start === null || as_of === null || parseDay(as_of)! < start
}

/** The index of the first match; the number of events if there is none. */
function firstIndex(events: readonly BandEvent[], isMatch: (event: BandEvent) => boolean): number {
  const index = events.findIndex(isMatch)
  return index === -1 ? events.length : index
}

/** Compares the specified keys of a final event; other keys of a server may change. */
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

/** Whether the stored events before the new pages are as many as the server counts before them. */
function isComplete(older: readonly BandEvent[], newChain: Chain): boolean {
  const olderCount = newChain.total_occurrences - newChain.events.length
  const start = startOf(newChain)
  if (start === null) return older.length >= olderCount
  return older.filter(event => parseDay(event.date)! > start).length === olderCount
}

/** Events lie after this day; null if the as-of day or the range is unknown. */
export function startOf({ as_of, query_range }: Pick<Chain, 'as_of' | 'query_range'>): Day | null {
  const tier = tierOfRange(query_range)
  return as_of === null || tier === null ? null : PLANS[tier].rangeStart(parseDay(as_of)!)
}

/**
 * Throws TierRestricted when a series was pulled with a key of a higher tier than the present one: nothing may get lost.
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
 * The first event that can still change: its band is active, or one of its windows may be incomplete. All before it are
 * final. An empty performance can mean too little history to rank a complete window. That is certain once later events
 * prove that enough bars have followed.
 * @param events oldest first, without gaps
 * @returns its index; the number of events if all are final, which happens only without events
 */
export function firstChangeableEvent(events: readonly BandEvent[], timeframe: Timeframe): number {
  let first = events.length
  // Bars that are known to have followed the event.
  let barsAfter = 0
  for (let i = events.length - 1; i >= 0; i--) {
    const event = events[i]!
    const duration = event[TIMEFRAMES[timeframe].duration] ?? null
    const windows = Object.entries(event.aftermath ?? {}).map(([name, outcome]) => ({
      bars: Number.parseInt(name, 10),
      ended: outcome !== null,
    }))
    const ended = windows.filter(window => window.ended).map(window => window.bars)
    barsAfter = Math.max(
      duration === null ? 0 : leastBarsBetween(duration, event, events[i + 1], timeframe) + barsAfter,
      ...ended,
    )
    if (duration === null || windows.some(({ bars, ended }) => !ended && bars > barsAfter)) first = i
  }
  return first
}

/** The least number of bars from an event to the next one. @param duration as the server reports it, maybe in days */
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

/** A little less than any ticker has in a calendar day. */
const LEAST_BARS_A_DAY: Readonly<Record<Timeframe, number>> = { daily: 2 / 3, weekly: 1 / 7 }

export function seriesText({ ticker, timeframe, field }: SeriesKey): string {
  return `${timeframe} ${field} of ${ticker}`
}
