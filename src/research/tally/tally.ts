// For: count events and the returns after them.
// In: a question about events, and a source.
// Out: counts, shares and medians with intervals.

import { InvalidParameter, parameter, sentence } from '../../core/errors.js'
import { alignToCommonCalendar } from '../../core/model/calendar.js'
import type { Context, EventsQuery, PoolQuery } from '../../core/model/event.js'
import type { History } from '../../core/model/history.js'
import { PERFORMANCES, type Performance, packedReturnOver } from '../../core/model/series.js'
import { TIMEFRAMES, type Timeframe, windowNames } from '../../core/model/terms.js'
import type { Family, TallyGrouping } from '../../core/params/studies.js'
import type { RunContext, Source } from '../../core/source.js'
import { countOverlap } from '../../core/statistics/counts.js'
import { type Pool, pooledQuantiles, RunMemory } from '../../core/statistics/mixtures.js'
import { CalendarShare } from '../../core/statistics/shares.js'
import { type LogComparison, noteAndCompare } from '../trials.js'
import {
  BASE_QUANTILES,
  type Base,
  baselineReturns,
  byPerformance,
  type GroupPool,
  isAmongTop,
  measuredBase,
  NO_PRICES,
  type OutcomeWindow,
  type PackedBaseline,
  type ReturnFigures,
  returnFigures,
  type Shares,
  theoreticalBase,
  type WindowBases,
  weightedColumns,
  windowBases,
} from './base.js'
import { type Grouping, groupingOf, groupOrder, sectorsOf } from './groups.js'
import { byVocabulary, type PoolInfo, poolInfo, type Scope, scopeOf, tickersInOrder } from './pool.js'
import { type GroupRows, NO_HISTORY, PENDING, type TickerSource, tickerSources } from './ticker-sources.js'
import { trialsOf } from './trials.js'

/** The events and tickers to count; each ticker counts once, in any order. */
export interface TallyQuery extends PoolQuery {
  /** By band, without `by` and without a band. */
  by?: TallyGrouping
  /** Windows of the aftermath in bars (default: all). */
  horizon?: readonly number[]
  /** `run`: the headline ignores the trial log. */
  family?: Family
}

/** How often each performance band followed, and the raw returns, compared with any bar. Returns are fractions. */
export interface Tally extends PoolInfo, Scope {
  schema: 'bands.tally/2'
  by: TallyGrouping | null
  /** All groups together. */
  events: number
  groups: TallyGroup[]
  /** Null without a trial log. */
  log: LogComparison | null
  /** Notes on the whole, in sentences. */
  warnings: string[]
}

export interface TallyGroup {
  /** The value of `by` that the events share; null without groups or without a value (no context band yet). */
  group: string | null
  events: number
  windows: TallyWindow[]
  /** Notes on these numbers, in sentences. */
  warnings: string[]
}

/**
 * Counts outcomes of events, by group. The baseline of a group weights each ticker by its events in that group. With a
 * trial log, its windows are noted there, and p is corrected over the family of logged trials. Throws TierRestricted if
 * the tier does not permit aftermath, NotFound for an unknown ticker, InvalidParameter for no ticker or for groups by a
 * missing context.
 */
export async function tally(
  source: Source,
  query: TallyQuery,
  { step, trials = null }: RunContext = {},
): Promise<Tally> {
  const { tickers, by: requestedGrouping, horizon, family = 'ledger', ...filter } = query
  const names = tickersInOrder(tickers, 'a tally needs')
  if (requestedGrouping === 'context' && filter.context === undefined) {
    const message = sentence`to group by context, give ${parameter('context', 'T:F')}.`
    throw new InvalidParameter(message, { param: 'context' })
  }
  const by = requestedGrouping ?? (filter.bands === undefined ? 'band' : null)
  const sectors = await sectorsOf(source, by)
  const grouping = (history: History): Grouping => groupingOf(history, by, sectors)
  const sources: TickerSource[] = []
  for await (const tickerSource of tickerSources(source, { ...filter, tickers: names }, grouping)) {
    step?.(() => `tally  ${tickerSource.ticker}  ${sources.length + 1} of ${names.length} tickers`)
    sources.push(tickerSource)
  }
  const eventGroups = groupsOf(sources, by, await groupOrder(source, by, filter))
  const market = marketOf(sources, eventGroups)
  const windows = TIMEFRAMES[filter.timeframe].windows
    .map((bars, windowIndex) => ({ windowIndex, bars, name: windowNames(filter.timeframe)[windowIndex]! }))
    .filter(({ bars }) => horizon === undefined || horizon.includes(bars))
  const groupsByWindow = windows.map(window => tallyWindow(eventGroups, market, window))
  const groups = eventGroups.map(({ value, events }, g): TallyGroup => {
    const groupWindows = groupsByWindow.map(windowGroups => windowGroups[g]!)
    return { group: value, events, windows: groupWindows, warnings: groupWarnings(events, groupWindows) }
  })
  const trialGroups = eventGroups.map(group => trialGroup(group, by, sources))
  const runTrials = trialsOf(trialGroups, { ...query, tickers: names }, by)
  const runInLog = await noteAndCompare(trials, 'cell', runTrials, family)
  return {
    schema: 'bands.tally/2',
    ...poolInfo(names, filter),
    by,
    ...scopeOf(sources, filter),
    events: groups.reduce((sum, group) => sum + group.events, 0),
    groups,
    log: runInLog?.log ?? null,
    warnings: tallyWarnings(sources),
  }
}

/** A group for the trial log: its value, the tickers that it may have events of, and the days of those with prices. */
function trialGroup({ value, members }: Group, by: TallyGrouping | null, sources: readonly TickerSource[]) {
  const hasOwnTickers = by === 'ticker' || by === 'sector'
  const groupSources = hasOwnTickers ? members.map(({ source }) => source) : sources
  const pricedSources = groupSources.filter(({ base }) => base !== null)
  return { value, tickers: groupSources.map(({ ticker }) => ticker), days: pricedSources.map(({ days }) => days) }
}

/** The events that share a value of `by`, ticker by ticker. */
interface Group {
  /** null without `by`, and for events without a value, such as those before the context ticker's first band. */
  value: string | null
  members: readonly Member[]
  events: number
}

/** The events of one ticker in a group: the rows from `from` up to, but not including, `to`. */
interface Member extends Omit<GroupRows, 'value'> {
  source: TickerSource
  /** Index of the ticker in the tally. */
  tickerIndex: number
}

/**
 * Joins the groups of each ticker to groups of all tickers, in the order of `order`; others follow, then null.
 * Without `by` there is one group, also without events.
 */
function groupsOf(sources: readonly TickerSource[], by: TallyGrouping | null, order: readonly string[]): Group[] {
  const membersByValue = new Map<string | null, Member[]>()
  for (const [tickerIndex, source] of sources.entries()) {
    for (const { value, from, to } of source.groups) {
      const member = { source, tickerIndex, from, to }
      const members = membersByValue.get(value)
      if (members === undefined) membersByValue.set(value, [member])
      else members.push(member)
    }
  }
  if (by === null && membersByValue.size === 0) {
    const membersWithoutEvents = sources.map((source, tickerIndex) => ({ source, tickerIndex, from: 0, to: 0 }))
    membersByValue.set(null, membersWithoutEvents)
  }
  const compare = byVocabulary(order)
  const groups = Array.from(membersByValue, ([value, members]) => {
    return { value, members, events: members.reduce((sum, { from, to }) => sum + to - from, 0) }
  })
  return groups.sort((a, b) => compare(a.value, b.value))
}

/** Outcomes over one window. events = n + pending. */
export interface TallyWindow {
  /** `20d` */
  window: string
  events: number
  /**
   * Events whose window has ended. From a server only those with a performance band, because it does not report the
   * others.
   */
  n: number
  /** Effective number of independent cases: overlapping windows and tickers that move together count as fewer. */
  n_independent: number
  /** Windows that have not ended. */
  pending: number
  /** Events among the n with too little history to rank their return. */
  no_history: number
  counts: Record<Performance, number>
  /** counts / (n - no_history) */
  shares: Shares
  returns: ReturnFigures
  /** 95 % interval of `returns.hit_rate`, on the independent cases. */
  hit_low: number | null
  hit_high: number | null
  /** Share of the ranked events whose return is among the best 40 % of the ticker's own past, and its 95 % interval. */
  top_share: number | null
  top_low: number | null
  top_high: number | null
  /** Why the shares are null; null when they are not. */
  reason: string | null
  /** Ended windows that share bars with another event's window of the same ticker. */
  overlapping: number
  base: Base
}

/** All tickers of a tally, the calendar of their days, and buffers that serve every window. */
interface Market {
  sources: readonly TickerSource[]
  calendar: Int32Array
  /** By ticker: the index of each of its days in the calendar. Tickers with equal days share them. */
  dayIndexes: readonly Int32Array[]
  /** For the returns of all bars of one ticker. */
  tickerReturns: Float64Array
  /** For the returns after the events of one group. */
  groupReturns: Float64Array
  /** For the events of one ticker. */
  endedEvents: EndedEvents
  /** For the quantiles of one window. */
  runMemory: RunMemory
}

/** Events of one ticker and group whose window has ended, by event. */
interface EndedEvents {
  /** Index into PERFORMANCES, or NO_HISTORY. */
  codes: Uint8Array
  /** Index in bars, from any bar on. */
  bars: Int32Array
  /** Index on the calendar of the ticker, and on the common one. */
  calendarIndices: Int32Array
  days: Int32Array
}

/** The common calendar of all tickers, and buffers long enough for any ticker or group. */
function marketOf(sources: readonly TickerSource[], groups: readonly Group[]): Market {
  const { calendar, indices } = alignToCommonCalendar(sources.map(({ days }) => days))
  const greatest = (counts: readonly number[]): number => counts.reduce((most, count) => Math.max(most, count), 0)
  const maxEvents = greatest(sources.map(({ events }) => events))
  return {
    sources,
    calendar,
    dayIndexes: indices,
    tickerReturns: new Float64Array(greatest(sources.map(({ base }) => base?.bars ?? 0))),
    groupReturns: new Float64Array(greatest(groups.map(({ events }) => events))),
    runMemory: new RunMemory(),
    endedEvents: {
      codes: new Uint8Array(maxEvents),
      bars: new Int32Array(maxEvents),
      calendarIndices: new Int32Array(maxEvents),
      days: new Int32Array(maxEvents),
    },
  }
}

/** Counts the outcomes over one window; returns one entry a group, in their order. */
function tallyWindow(
  groups: readonly Group[],
  market: Market,
  window: OutcomeWindow & { name: string },
): TallyWindow[] {
  const { sources, tickerReturns, runMemory } = market
  const baselines = sources.map(({ base }) => base)
  const bases = windowBases(baselines, window)
  const counted = groups.map(group => countGroup(group, market, window, bases))
  // All groups at once, so that the returns of each ticker are computed once.
  const returnsOf = (tickerIndex: number) => baselineReturns(baselines[tickerIndex]!, window, tickerReturns)
  const pools = counted.map(({ pool }) => (pool === null ? NO_POOL : weightedColumns(pool, bases)))
  const quantiles = pooledQuantiles({ count: sources.length, values: returnsOf }, pools, BASE_QUANTILES, runMemory)
  return counted.map(({ events, ended, ranked, counts, returns, hit, top, overlapping, pool }, groupIndex) => {
    const whyNoShares = events === 0 ? 'no event' : 'no event has a performance band for this window yet'
    return {
      window: window.name,
      events,
      n: ended,
      n_independent: (hit ?? top).independent,
      pending: events - ended,
      no_history: ended - ranked,
      counts: byPerformance(i => counts[i]!),
      shares: byPerformance(i => (ranked === 0 ? null : counts[i]! / ranked)),
      returns,
      hit_low: hit?.low ?? null,
      hit_high: hit?.high ?? null,
      top_share: top.share,
      top_low: top.low,
      top_high: top.high,
      reason: ranked > 0 ? null : whyNoShares,
      overlapping,
      base: pool === null ? theoreticalBase() : measuredBase(pool, bases, quantiles[groupIndex]!),
    }
  })
}

/**
 * Counts the outcomes of a group's events over one window. `hit` is the share of returns above 0, `top` that of returns
 * among the best 40 %. `hit` and `pool` are null if the prices of a ticker are unknown.
 */
function countGroup(
  { members, events }: Group,
  market: Market,
  { windowIndex, bars: window }: OutcomeWindow,
  bases: WindowBases,
) {
  const { calendar, dayIndexes, groupReturns, endedEvents } = market
  const hitShare = new CalendarShare(calendar.length)
  const topShare = new CalendarShare(calendar.length)
  const days = new CountedDays(calendar.length)
  const counts = new Int32Array(PERFORMANCES.length)
  const pool: GroupPool = {
    tickerIndexes: Int32Array.from(members, ({ tickerIndex }) => tickerIndex),
    ended: new Int32Array(members.length),
    ranked: new Int32Array(members.length),
  }
  let ended = 0
  let ranked = 0
  let returnCount = 0
  let overlapping = 0
  let isPriced = true
  for (let memberIndex = 0; memberIndex < members.length; memberIndex++) {
    const member = members[memberIndex]!
    const { tickerIndex, source } = member
    const dayIndex = dayIndexes[tickerIndex]!
    // These events are at the start of the columns of `endedEvents`, which each member overwrites.
    const memberEnded = copyEnded(member, windowIndex, dayIndex, endedEvents)
    pool.ended[memberIndex] = memberEnded
    pool.ranked[memberIndex] = countRanked(endedEvents, memberEnded, counts, topShare, bases.topShares[tickerIndex]!)
    ended += memberEnded
    ranked += pool.ranked[memberIndex]!
    overlapping += countOverlap(endedEvents.bars, window, memberEnded).overlapping
    // Only days whose window has ended, as in a study.
    if (memberEnded > 0) days.add(dayIndex, source.base === null ? dayIndex.length : bases.ended[tickerIndex]!)
    if (source.base === null) {
      isPriced = false
      continue
    }
    writeReturns(endedEvents, memberEnded, source.base, window, groupReturns, returnCount)
    addRises(endedEvents, memberEnded, groupReturns, returnCount, hitShare, bases.rises[tickerIndex]!)
    returnCount += memberEnded
  }
  const whyNotEnded = events === 0 ? 'no event' : 'no window has ended yet'
  return {
    events,
    ended,
    ranked,
    counts,
    overlapping,
    returns: returnFigures(groupReturns.subarray(0, returnCount), ended > 0 ? NO_PRICES : whyNotEnded),
    hit: isPriced ? hitShare.interval(window, days.isCounted) : null,
    top: topShare.interval(window, days.isCounted),
    pool: isPriced ? pool : null,
  }
}

// Each loop over events is a function of its own: V8 compiles a small one in a few milliseconds, a large one in fifty.

/**
 * Copies the events of a member whose window has ended to the start of the columns of `into`.
 * @param windowIndex index of the window in the timeframe
 * @param dayIndex the index of each day of the ticker in the common calendar
 * @returns their number
 */
function copyEnded({ source, from, to }: Member, windowIndex: number, dayIndex: Int32Array, into: EndedEvents): number {
  const { outcomes, indices, bars } = source
  const outcomesAt = windowIndex * source.events
  let count = 0
  for (let row = from; row < to; row++) {
    const code = outcomes[outcomesAt + row]!
    if (code === PENDING) continue
    into.codes[count] = code
    into.bars[count] = bars[row]!
    into.calendarIndices[count] = indices[row]!
    into.days[count] = dayIndex[indices[row]!]!
    count++
  }
  return count
}

/**
 * Adds the events with a performance band to the counts and to the share of the best 40 %; returns their number.
 * @param count how many of the events, from the first on
 * @param baseShare the same share after any bar
 */
function countRanked(
  { codes, days }: EndedEvents,
  count: number,
  counts: Int32Array,
  topShare: CalendarShare,
  baseShare: number,
): number {
  let ranked = 0
  for (let i = 0; i < count; i++) {
    const code = codes[i]!
    if (code === NO_HISTORY) continue
    counts[code]!++
    ranked++
    topShare.add(days[i]!, Number(isAmongTop(code)), baseShare)
  }
  return ranked
}

/** Writes the return after each of the first `count` events. @param at index of the first return in `into` */
function writeReturns(
  { calendarIndices }: EndedEvents,
  count: number,
  { closes, indexes: closeIndexes }: PackedBaseline,
  window: number,
  into: Float64Array,
  at: number,
): void {
  for (let i = 0; i < count; i++) into[at + i] = packedReturnOver(closes, closeIndexes[calendarIndices[i]!]!, window)
}

/** Adds the first `count` events to the share of returns above 0. @param at index of the first one's return */
function addRises(
  { days }: EndedEvents,
  count: number,
  returns: Float64Array,
  at: number,
  hitShare: CalendarShare,
  baseShare: number,
): void {
  for (let i = 0; i < count; i++) hitShare.add(days[i]!, Number(returns[at + i]! > 0), baseShare)
}

/** The days of a calendar on which some ticker of a group has a bar that counts. */
class CountedDays {
  /** For each day of the calendar: 1 if it counts, otherwise 0. */
  readonly isCounted: Uint8Array
  /** The number of days already added from each column of day indexes. */
  readonly #addedDays = new Map<Int32Array, number>()

  constructor(days: number) {
    this.isCounted = new Uint8Array(days)
  }

  /** Counts the first `count` days of a ticker. @param dayIndexes in the calendar; tickers with equal days share it */
  add(dayIndexes: Int32Array, count: number): void {
    const addedDays = this.#addedDays.get(dayIndexes) ?? 0
    if (addedDays >= count) return
    for (let i = addedDays; i < count; i++) this.isCounted[dayIndexes[i]!] = 1
    this.#addedDays.set(dayIndexes, count)
  }
}

const NO_POOL: Pool = { columns: [], weights: [] }

/** Shares of fewer complete windows mean little. */
const MIN_WINDOWS = 10

/** The most tickers that a sentence names. */
const MAX_NAMED = 5

/** Notes on a group's windows that are few or overlap, in sentences. */
function groupWarnings(events: number, windows: readonly TallyWindow[]): string[] {
  if (events === 0) return []
  const few = windows.filter(({ n }) => n < MIN_WINDOWS).map(({ window, n }) => `${window}: ${n}`)
  const overlaps = windows
    .filter(({ overlapping }) => overlapping > 0)
    .map(({ window, n, overlapping }) => `${window}: ${overlapping} of ${n}`)
  const fewWarning = `Fewer than ${MIN_WINDOWS} complete windows (${few.join(', ')}): read the counts, not the shares.`
  const overlapWarning = `Windows of neighbouring events of one ticker overlap (${overlaps.join(', ')}): they count as fewer independent cases.`
  return [...(few.length > 0 ? [fewWarning] : []), ...(overlaps.length > 0 ? [overlapWarning] : [])]
}

/** Notes on a tally of several tickers, in sentences; none for one ticker. */
function tallyWarnings(sources: readonly TickerSource[]): string[] {
  if (sources.length === 1) return []
  const warnings = [
    'Tickers move together: events of several tickers on the same dates count as fewer independent cases.',
    'The tickers are those that were asked for; ones that no longer trade may be missing among them.',
  ]
  const empty = sources.filter(({ events }) => events === 0).map(source => source.ticker)
  const names = empty.slice(0, MAX_NAMED).join(', ')
  const more = empty.length > MAX_NAMED ? ` and ${empty.length - MAX_NAMED} more` : ''
  if (empty.length > 0)
    warnings.push(`${empty.length} of ${sources.length} tickers have no such event: ${names}${more}.`)
  return warnings
}

/** The outcomes of the events of one field in numbers: the events of a summary, with `stats`. */
export interface StatsPage {
  ticker: string
  field: string
  timeframe: Timeframe
  /** The parts of a tally. */
  stats: Pick<Tally, 'by' | 'groups' | 'warnings'>
  /** All events that were counted; the limit of a question does not apply. */
  total_occurrences: number
  query_range: string | null
  /** Only when one was asked for. */
  context?: Context
}

/** A tally of one ticker as the page of the API. Throws as `tally` does. */
export async function statsPage(source: Source, { limit: _limit, ...query }: EventsQuery): Promise<StatsPage> {
  const { ticker, field, timeframe, context } = query
  const { events, groups, query_range, by, warnings } = await tally(source, { ...query, tickers: [ticker] })
  const stats = { by, groups, warnings }
  const page: StatsPage = { ticker, field, timeframe, stats, total_occurrences: events, query_range }
  if (context !== undefined) page.context = context
  return page
}
