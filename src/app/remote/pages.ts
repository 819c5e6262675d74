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
 * @param whole ignores the stored pages: all are pulled again
 */
export function addPage(
  series: StoredPages,
  arrived: Omit<StoredPage, 'gapAbove'>,
  { whole }: { whole: boolean },
): { series: StoredPages; restartReason: RestartReason | null } {
  const coming = [...series.coming, { ...arrived, gapAbove: !continues(series.coming, arrived) }]
  const { events, total_occurrences } = arrived.body
  const { rest, restartReason } = pagesBelow(whole ? [] : series.kept, coming, events.length === total_occurrences)
  if (rest === null) return { series: { ...series, coming }, restartReason }
  return { series: { ...series, kept: [...coming, ...rest], coming: [] }, restartReason }
}

/** Whether a page has the as-of day of the pages above it, and the number of events that they left. */
function continues(above: readonly StoredPage[], { pulled_at, as_of, body }: Omit<StoredPage, 'gapAbove'>): boolean {
  const first = above[0]
  const last = above.at(-1)
  if (first === undefined || last === undefined) return true
  const sameDay = as_of === null ? pulled_at.slice(0, 10) === first.pulled_at.slice(0, 10) : as_of === first.as_of
  const left = last.body.total_occurrences - last.body.events.length
  return sameDay && body.total_occurrences === left && body.query_range === first.body.query_range
}

/** The stored pages below new ones, once the new ones reach far enough; otherwise null. */
function pagesBelow(
  stored: readonly StoredPage[],
  coming: readonly StoredPage[],
  ended: boolean,
): { rest: readonly StoredPage[] | null; restartReason: RestartReason | null } {
  const known = chainOf(stored)
  const now = chainOf(coming)!
  const startAgain = (restartReason: RestartReason | null) => ({ rest: ended ? [] : null, restartReason })
  if (known === null || known.events.length === 0) return startAgain(null)
  if (known.query_range !== now.query_range) return startAgain('range')
  const { events: old, timeframe } = known
  const newer = now.events
  const open = Math.min(firstChangeable(known, startOf(now)), old.length - 1)
  const oldest = newer[0]?.date
  const reached = oldest !== undefined && oldest <= old[open]!.date
  if (!reached && !ended) return { rest: null, restartReason: null }
  const from = reached ? firstIndex(old, event => event.date >= oldest) : eventsBeforeRange(old, now)
  if (from === old.length && hasGap(known, now)) return startAgain('gap')
  const again = old.slice(from)
  const unbroken =
    again.every((event, i) => (from + i < open ? sameEvent : sameEntry)(event, newer[i], timeframe)) &&
    isComplete(old.slice(0, from), now)
  return unbroken ? { rest: asOnePage(stored, from), restartReason: null } : startAgain('past')
}

/** The oldest `count` events as one page, which is never requested again. */
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
function firstChangeable({ events, timeframe }: Chain, start: Day | null): number {
  const past = start === null ? 0 : firstIndex(events, event => parseDay(event.date)! > start)
  return past + firstOpen(events.slice(past), timeframe)
}

/** Number of stored events older than the whole range. */
function eventsBeforeRange(stored: readonly BandEvent[], now: Chain): number {
  const start = startOf(now)
  const oldest = now.events[0]?.date
  if (start !== null) return firstIndex(stored, event => parseDay(event.date)! > start)
  return oldest === undefined ? stored.length : firstIndex(stored, event => event.date >= oldest)
}

/** Whether events may be missing between the stored days and the range: no new event was stored before. */
function hasGap({ as_of }: Chain, now: Chain): boolean {
  const start = startOf(now)
  return start === null || as_of === null || parseDay(as_of)! < start
}

/** Index of the first match; the length if there is none. */
function firstIndex(events: readonly BandEvent[], is: (event: BandEvent) => boolean): number {
  const place = events.findIndex(is)
  return place === -1 ? events.length : place
}

/** Compares the specified keys of a final event; other keys of a server may change. */
function sameEvent(stored: BandEvent, newer: BandEvent | undefined, timeframe: Timeframe): boolean {
  const { duration } = TIMEFRAMES[timeframe]
  const names = ['stability_at_entry', 'flips_recent_at_entry', 'flips_lookback', duration] as const
  return (
    sameEntry(stored, newer) &&
    names.every(name => stored[name] === newer?.[name]) &&
    Object.entries(stored.aftermath ?? {}).every(
      ([window, outcome]) => outcome?.performance === newer?.aftermath?.[window]?.performance,
    )
  )
}

function sameEntry(stored: BandEvent, newer: BandEvent | undefined): boolean {
  return newer?.date === stored.date && newer.band === stored.band && newer.prev_band === stored.prev_band
}

/** Whether the older stored events fill the server's total. */
function isComplete(older: readonly BandEvent[], now: Chain): boolean {
  const counted = now.total_occurrences - now.events.length
  const start = startOf(now)
  if (start === null) return older.length >= counted
  return older.filter(event => parseDay(event.date)! > start).length === counted
}

/** Events lie after this day; null if the as-of day or the range is unknown. */
export function startOf({ as_of, query_range }: Pick<Chain, 'as_of' | 'query_range'>): Day | null {
  const tier = tierOfRange(query_range)
  return as_of === null || tier === null ? null : PLANS[tier].rangeStart(parseDay(as_of)!)
}

/** Throws TierRestricted when a series was pulled with a key of a higher tier than the present one: nothing may get lost. */
export function checkTier(key: SeriesKey, before: string | undefined, now: string): void {
  const had = before === undefined ? null : tierOfRange(before)
  const has = tierOfRange(now)
  if (had === null || has === null || includesTier(has, had)) return
  const keys = `with a ${had} key (${before}), and this one is ${has} (${now})`
  const message = sentence`${named(key)} was pulled ${keys}: it is left as it was; ${parameter('replace')} pulls it again with less.`
  throw new TierRestricted(named(key), has, had, { message })
}

/**
 * The first event that can still change: its band is active, or one of its windows may be incomplete. All before it are
 * final. An empty performance can mean too little history to rank a complete window. That is certain once later events
 * prove that enough bars have followed.
 * @param events oldest first, without gaps
 * @returns their number if all are final, which happens only without events
 */
export function firstOpen(events: readonly BandEvent[], timeframe: Timeframe): number {
  let open = events.length
  // Bars that are known to have followed the event.
  let followed = 0
  for (let i = events.length - 1; i >= 0; i--) {
    const event = events[i]!
    const stayed = event[TIMEFRAMES[timeframe].duration] ?? null
    const windows = Object.entries(event.aftermath ?? {}).map(([name, outcome]) => ({
      bars: Number.parseInt(name, 10),
      ended: outcome !== null,
    }))
    const ended = windows.filter(window => window.ended).map(window => window.bars)
    followed = Math.max(stayed === null ? 0 : lasted(stayed, event, events[i + 1], timeframe) + followed, ...ended)
    if (stayed === null || windows.some(({ bars, ended }) => !ended && bars > followed)) open = i
  }
  return open
}

/** Bars of a stay at least: the specification's words allow a server to count calendar days. */
function lasted(stayed: number, event: BandEvent, next: BandEvent | undefined, timeframe: Timeframe): number {
  if (next === undefined) return 0
  const days = parseDay(next.date)! - parseDay(event.date)!
  return Math.min(stayed, days * LEAST_BARS_A_DAY[timeframe])
}

/** A little less than any ticker has in a calendar day. */
const LEAST_BARS_A_DAY: Readonly<Record<Timeframe, number>> = { daily: 2 / 3, weekly: 1 / 7 }

export function named({ ticker, timeframe, field }: SeriesKey): string {
  return `${timeframe} ${field} of ${ticker}`
}
