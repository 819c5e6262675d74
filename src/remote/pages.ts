import { parameter, quoted, sentence, TierRestricted, wrong } from '../errors.js'
import { isCondition } from '../language/as-field.js'
import { type Day, formatDay, parseDay } from '../model/day.js'
import type { BandEvent, HistoryQuery, PulledSource, SeriesKey } from '../model/event.js'
import { reaches, TIMEFRAMES, type Timeframe } from '../model/terms.js'
import type { StoredPage, StoredPages } from '../store/pages.js'
import { PLANS, tierOfRange } from '../tiers.js'

/**
 * How pages of a series go together. The newest page is asked for first, because it shows whether the past is what it was;
 * then page by page backwards, down to the first event that time may still change. What is kept below that stays as it
 * is: a page is final once all windows and durations of its events are filled.
 */

/** The most events that a page may have: the fewest pages. */
export const PAGE = 100

/** Pages of one pull, or all that are kept of a series, as one. */
export interface Chain extends Pick<StoredPages, 'timeframe'>, Pick<PulledSource, 'pulled_at' | 'as_of'> {
  query_range: string
  total_occurrences: number
  /** Oldest first. */
  events: readonly BandEvent[]
}

/**
 * Throws InvalidParameter for a condition in place of a field: on which bars it changes, events do not tell.
 * @param who told them
 */
export function refuseCondition({ ticker, field: condition }: Pick<HistoryQuery, 'ticker' | 'field'>, who: string) {
  if (!isCondition(condition)) return
  const why = `needs the bars of ${ticker}, and ${who} tells events alone`
  throw wrong('when', sentence`${parameter('when')} ${quoted(condition)} ${why}.`, { value: condition })
}

/** What the newest page says of all of them; null without a page. */
export function chainOf(pages: readonly StoredPage[]): Chain | null {
  const [first] = pages
  if (first === undefined) return null
  const { timeframe, query_range, total_occurrences } = first.body
  const events = pages.flatMap(({ body }) => body.events).reverse()
  return { timeframe, pulled_at: first.pulled_at, as_of: first.as_of, query_range, total_occurrences, events }
}

/** The next page of a series is asked for before this date; null: the newest. */
export function nextBefore({ coming }: StoredPages): string | null {
  return coming.at(-1)?.body.events.at(-1)?.date ?? null
}

/** The page that is kept under the same question, where the server can be asked whether it is still the same. */
export function pageAgain({ kept }: StoredPages, before: string | null): StoredPage | null {
  return kept.find(page => page.before === before && page.etag !== null) ?? null
}

/**
 * Why a series is told whole again: the server has another past than it had (`past`), the key another range than before
 * (`range`), or that range begins after all that was kept, so that nobody tells what lies between (`gap`).
 */
export type Anew = 'past' | 'range' | 'gap'

/**
 * A series after one more page of it has come. What is kept stays what answers until the last page is there: then its
 * final part goes on below the new pages.
 * @param whole nothing that is kept counts: all of it is asked for
 */
export function withPage(
  series: StoredPages,
  arrived: Omit<StoredPage, 'mixed'>,
  { whole }: { whole: boolean },
): { series: StoredPages; anew: Anew | null } {
  const coming = [...series.coming, { ...arrived, mixed: !continues(series.coming, arrived) }]
  const { events, total_occurrences } = arrived.body
  const { rest, anew } = below(whole ? [] : series.kept, coming, events.length === total_occurrences)
  if (rest === null) return { series: { ...series, coming }, anew }
  return { series: { ...series, kept: [...coming, ...rest], coming: [] }, anew }
}

/** Whether a page was told as of the same day as those above it, and counts what they left. */
function continues(above: readonly StoredPage[], { pulled_at, as_of, body }: Omit<StoredPage, 'mixed'>): boolean {
  const [first, last] = [above[0], above.at(-1)]
  if (first === undefined || last === undefined) return true
  const sameDay = as_of === null ? pulled_at.slice(0, 10) === first.pulled_at.slice(0, 10) : as_of === first.as_of
  const left = last.body.total_occurrences - last.body.events.length
  return sameDay && body.total_occurrences === left && body.query_range === first.body.query_range
}

/** The pages that are kept below new ones, once those go back far enough; null while they do not. */
function below(
  kept: readonly StoredPage[],
  coming: readonly StoredPage[],
  ended: boolean,
): { rest: readonly StoredPage[] | null; anew: Anew | null } {
  const [known, now] = [chainOf(kept), chainOf(coming)!]
  const whole = (anew: Anew | null) => ({ rest: ended ? [] : null, anew })
  if (known === null || known.events.length === 0) return whole(null)
  if (known.query_range !== now.query_range) return whole('range')
  const { events: old, timeframe } = known
  const told = now.events
  const open = Math.min(openIn(known, startOf(now)), old.length - 1)
  const oldest = told[0]?.date
  const reached = oldest !== undefined && oldest <= old[open]!.date
  if (!reached && !ended) return { rest: null, anew: null }
  const from = reached ? placeOf(old, event => event.date >= oldest) : leftRange(old, now)
  if (from === old.length && isApart(known, now)) return whole('gap')
  const again = old.slice(from)
  const unbroken =
    again.every((event, i) => (from + i < open ? sameEvent : sameEntry)(event, told[i], timeframe)) &&
    isWhole(old.slice(0, from), now)
  return unbroken ? { rest: oldestOf(kept, from), anew: null } : whole('past')
}

/** The oldest so many events as one page, which no server is asked for again. */
function oldestOf(pages: readonly StoredPage[], count: number): StoredPage[] {
  const events = pages.flatMap(({ body }) => body.events).slice(-count)
  const [newest, oldest] = [events[0], pages.at(-1)]
  if (count === 0 || newest === undefined || oldest === undefined) return []
  const before = formatDay(parseDay(newest.date)! + 1)
  return [{ ...oldest, before, etag: null, mixed: false, body: { ...oldest.body, events, total_occurrences: count } }]
}

/** The first that time may still change of those that a server can tell again: what has left the range stays as it is. */
function openIn({ events, timeframe }: Chain, start: Day | null): number {
  const past = start === null ? 0 : placeOf(events, event => parseDay(event.date)! > start)
  return past + firstOpen(events.slice(past), timeframe)
}

/** How many of the events that are kept are older than all that the range holds. */
function leftRange(kept: readonly BandEvent[], now: Chain): number {
  const start = startOf(now)
  const oldest = now.events[0]?.date
  if (start !== null) return placeOf(kept, event => parseDay(event.date)! > start)
  return oldest === undefined ? kept.length : placeOf(kept, event => event.date >= oldest)
}

/** Whether events may lie between the day that is kept and the range: nothing that was told now was kept before. */
function isApart({ as_of }: Chain, now: Chain): boolean {
  const start = startOf(now)
  return start === null || as_of === null || parseDay(as_of)! < start
}

/** The place of the first that is so, and after all of them where none is. */
function placeOf(events: readonly BandEvent[], is: (event: BandEvent) => boolean): number {
  const place = events.findIndex(is)
  return place === -1 ? events.length : place
}

/** All that the specification has of a final event; what a server tells beyond it may change as it likes. */
function sameEvent(kept: BandEvent, told: BandEvent | undefined, timeframe: Timeframe): boolean {
  const { duration } = TIMEFRAMES[timeframe]
  const names = ['stability_at_entry', 'flips_recent_at_entry', 'flips_lookback', duration] as const
  return (
    sameEntry(kept, told) &&
    names.every(name => kept[name] === told?.[name]) &&
    Object.entries(kept.aftermath ?? {}).every(
      ([window, outcome]) => outcome?.performance === told?.aftermath?.[window]?.performance,
    )
  )
}

function sameEntry(kept: BandEvent, told: BandEvent | undefined): boolean {
  return told?.date === kept.date && told.band === kept.band && told.prev_band === kept.prev_band
}

/** Whether older events that are kept are as many as the server counts beside those that it told. */
function isWhole(older: readonly BandEvent[], now: Chain): boolean {
  const counted = now.total_occurrences - now.events.length
  const start = startOf(now)
  if (start === null) return older.length >= counted
  return older.filter(event => parseDay(event.date)! > start).length === counted
}

/** Events lie after this day; null where the server does not tell of its day, or has a range that is none of ours. */
export function startOf({ as_of, query_range }: Pick<Chain, 'as_of' | 'query_range'>): Day | null {
  const tier = tierOfRange(query_range)
  return as_of === null || tier === null ? null : PLANS[tier].rangeStart(parseDay(as_of)!)
}

/** Throws TierRestricted when a series was pulled with a key of a higher tier than the present one: nothing may get lost. */
export function checkTier(key: SeriesKey, before: string | undefined, now: string): void {
  const [had, has] = [before === undefined ? null : tierOfRange(before), tierOfRange(now)]
  if (had === null || has === null || reaches(has, had)) return
  const keys = `with a ${had} key (${before}), and this one is ${has} (${now})`
  const message = sentence`${named(key)} was pulled ${keys}: it is left as it was; ${parameter('replace')} pulls it again with less.`
  throw new TierRestricted(named(key), has, had, { message })
}

/**
 * The first event that time may still change: its band is active, or a window of it may not have ended. All before it
 * are final. A window without a performance has ended for certain, and only lacks the history to be ranked in, once the
 * stays and windows of later events prove that so many bars have followed.
 * @param events oldest first, none missing between them
 * @returns their number where all are final, which is so of none only
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

/** A series in a sentence. */
export function named({ ticker, timeframe, field }: SeriesKey): string {
  return `${timeframe} ${field} of ${ticker}`
}

/** `A, B, C and 4 more`. */
export function listed(words: readonly string[], most = 5): string {
  const shown = words.slice(0, most).join(', ')
  return words.length > most ? `${shown} and ${words.length - most} more` : shown
}
