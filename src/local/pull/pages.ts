import { parameter, sentence, TierRestricted } from '../../errors.js'
import { type Day, parseDay } from '../../model/day.js'
import type { BandEvent, EventsPage, EventsQuery } from '../../model/event.js'
import type { PulledSeries, SeriesKey, UnderWay } from '../../model/pulled.js'
import { TIER_NAMES, TIMEFRAMES, type Tier, type Timeframe } from '../../model/terms.js'
import { eventsCost, PLANS, tierOfRange } from '../../tiers.js'
import { keyOf, named } from '../pulled-marks.js'

/** A page, and when it came (ISO time, UTC). */
interface Arrived extends Omit<SourcedPage, 'page'> {
  page: EventsPage
  at: string
}

/** What is asked next of a series: pages from the newest event on. */
export function nextQuery(key: SeriesKey, kept: PulledSeries | null): EventsQuery {
  const before = kept?.under_way?.before
  return { ...keyOf(key), limit: PAGE, ...(before === undefined ? {} : { before: parseDay(before)! }) }
}

/** By which the server may say that nothing has changed: that of the newest page, if all that time may change is on it. */
export function knownEtag(kept: PulledSeries | null): string | null {
  if (kept === null || kept.state !== 'complete' || kept.under_way !== null) return null
  return kept.events.length - openIn(kept, startOf(kept)) <= PAGE ? kept.etag : null
}

/**
 * Why a series is told whole again: the server has another past than it had (`past`), the key another range than before
 * (`range`), or that range begins after all that was kept, so that nobody tells what lies between (`gap`).
 */
export type Anew = 'past' | 'range' | 'gap'

/**
 * A series after one more page of it has come. The events that were there stay what answers until the last page is there:
 * then the final ones of them are kept, and the others are as they were told now. The first page is asked for without a
 * bound, because it costs no more and shows whether the past is what it was; when it is not, or when the key has a wider
 * range than before, everything is asked for. Throws TierRestricted for a key of a lower tier than before.
 */
export function withPage(
  key: SeriesKey,
  kept: PulledSeries | null,
  arrived: Arrived,
  { url, whole }: { url: string; whole: boolean },
): { series: PulledSeries; anew: Anew | null } {
  const { page, at } = arrived
  const known = kept === null || kept.state === 'partial' ? null : kept
  const under = kept?.under_way ?? null
  if (!whole) checkTier(key, (under ?? known)?.query_range, page.query_range)
  const now = under === null ? begun(known, arrived, whole) : continued(under, arrived)
  const ended = page.events.length === page.total_occurrences
  const widened = known !== null && under === null && known.query_range !== page.query_range && !whole
  const found = joined(known, now, ended)
  const { events, anew } = widened ? { ...found, anew: 'range' as const } : found
  const shared = { ...keyOf(key), url }
  if (events !== null) {
    const { as_of, query_range, total_occurrences, etag, mixed } = now
    const state = mixed ? 'mixed' : 'complete'
    const told = { pulled_at: at, as_of, state, query_range, total_occurrences, etag, events } as const
    return { series: { ...shared, ...told, under_way: null }, anew }
  }
  const under_way = anew === null ? now : { ...now, whole: true }
  if (known !== null) return { series: { ...known, under_way }, anew }
  const { as_of, query_range, total_occurrences } = now
  const first = { pulled_at: at, as_of, query_range, total_occurrences, etag: null }
  return { series: { ...shared, ...first, state: 'partial', events: [], under_way }, anew }
}

function begun(known: PulledSeries | null, { page, etag, asOf, at }: Arrived, whole: boolean): UnderWay {
  return {
    pulled_at: at,
    etag,
    as_of: asOf,
    query_range: page.query_range,
    total_occurrences: page.total_occurrences,
    events: page.events.toReversed(),
    before: page.events.at(-1)?.date ?? '',
    whole: whole || known === null || known.events.length === 0 || known.query_range !== page.query_range,
    mixed: false,
  }
}

function continued(under: UnderWay, { page, asOf, at }: Arrived): UnderWay {
  const sameDay = asOf === null ? at.slice(0, 10) === under.pulled_at.slice(0, 10) : asOf === under.as_of
  const sameCount = page.total_occurrences === under.total_occurrences - under.events.length
  const same = sameDay && sameCount && page.query_range === under.query_range
  return {
    ...under,
    events: [...page.events.toReversed(), ...under.events],
    before: page.events.at(-1)?.date ?? under.before,
    mixed: under.mixed || !same,
  }
}

/** All events once they are known, null while they are not; and why those that were kept do not count. */
function joined(
  known: PulledSeries | null,
  under: UnderWay,
  ended: boolean,
): { events: BandEvent[] | null; anew: Anew | null } {
  const told = [...under.events]
  const whole = (anew: Anew | null) => ({ events: ended ? told : null, anew })
  if (known === null || under.whole) return whole(null)
  const { events: kept, timeframe } = known
  const open = Math.min(openIn(known, startOf(under)), kept.length - 1)
  const oldest = told[0]?.date
  const reached = oldest !== undefined && oldest <= kept[open]!.date
  if (!reached && !ended) return whole(null)
  const from = reached ? placeOf(kept, event => event.date >= oldest) : leftRange(kept, under)
  if (from === kept.length && isApart(known, under)) return whole('gap')
  const again = kept.slice(from)
  const unbroken =
    again.every((event, i) => (from + i < open ? sameEvent : sameEntry)(event, told[i], timeframe)) &&
    isWhole(kept.slice(0, from), under)
  return unbroken ? { events: [...kept.slice(0, from), ...told], anew: null } : whole('past')
}

/** The first that time may still change of those that a server can tell again: what has left the range stays as it is. */
function openIn({ events, timeframe }: PulledSeries, start: Day | null): number {
  const past = start === null ? 0 : placeOf(events, event => parseDay(event.date)! > start)
  return past + firstOpen(events.slice(past), timeframe)
}

/** How many of the events that are kept are older than all that the range holds. */
function leftRange(kept: readonly BandEvent[], under: UnderWay): number {
  const start = startOf(under)
  const oldest = under.events[0]?.date
  if (start !== null) return placeOf(kept, event => parseDay(event.date)! > start)
  return oldest === undefined ? kept.length : placeOf(kept, event => event.date >= oldest)
}

/** Whether events may lie between the day that is kept and the range: nothing that was told now was kept before. */
function isApart({ as_of }: PulledSeries, under: UnderWay): boolean {
  const start = startOf(under)
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

/** Whether older events that are kept are as many as the server counts beside those that it told. */
function isWhole(older: readonly BandEvent[], under: UnderWay): boolean {
  const counted = under.total_occurrences - under.events.length
  const start = startOf(under)
  if (start === null) return older.length >= counted
  return older.filter(event => parseDay(event.date)! > start).length === counted
}

function sameEntry(kept: BandEvent, told: BandEvent | undefined): boolean {
  return told?.date === kept.date && told.band === kept.band && told.prev_band === kept.prev_band
}

/** Events lie after this day; null where the server does not tell of its day, or has a range that is none of ours. */
function startOf({ as_of, query_range }: Pick<UnderWay, 'as_of' | 'query_range'>): Day | null {
  const tier = tierOfRange(query_range)
  return as_of === null || tier === null ? null : PLANS[tier].rangeStart(parseDay(as_of)!)
}

/** Throws TierRestricted when a series was pulled with a key of a higher tier than the present one: nothing may get lost. */
export function checkTier(key: SeriesKey, before: string | undefined, now: string): void {
  const [had, has] = [before === undefined ? null : tierOfRange(before), tierOfRange(now)]
  if (had === null || has === null || rank(has) >= rank(had)) return
  const keys = `with a ${had} key (${before}), and this one is ${has} (${now})`
  const message = sentence`${named(key)} was pulled ${keys}: it is left as it was; ${parameter('replace')} pulls it again with less.`
  throw new TierRestricted(named(key), has, had, { message })
}

const rank = (tier: Tier): number => TIER_NAMES.indexOf(tier)

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

/** A server as a pull needs it. */
export interface PageSource {
  /** Its address, without a key: what is pulled is marked with it. */
  readonly url: string
  /**
   * One search, asked anew each time, and an answer to it and to nothing else: newest first, as many events as the limit
   * allows of those that it counts.
   */
  page(query: EventsQuery, asking: Asking): Promise<SourcedPage>
}

export interface Asking {
  /**
   * Asked again under the same name, after a pull that was killed before it could keep the answer, a question costs
   * nothing where the server knows idempotency keys.
   */
  name: string
  /** The page that is there already; null: none */
  etag: string | null
}

export interface SourcedPage {
  /** null: still the page that is there, which was said at no cost. */
  page: EventsPage | null
  etag: string | null
  /** The day that the answer stands on; null where the server does not tell. */
  asOf: string | null
  left: CreditsLeft
}

/** Credits of the caller after an answer; null where the server does not tell. */
export interface CreditsLeft {
  day: number | null
  hour: number | null
}

/** The most events that a page may have: the fewest pages. */
export const PAGE = 100

/** What `GET /v1/events` costs without a context. */
export const PAGE_COST = eventsCost({})
