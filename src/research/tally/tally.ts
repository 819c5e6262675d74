// For: count events and the returns after them.
// In: a question about events, and a source.
// Out: counts, shares and medians with intervals.

import { InvalidParameter, parameter, sentence } from '../../core/errors.js'
import { onCommonCalendar, SharedColumns } from '../../core/model/calendar.js'
import type { Context, EventsQuery, PoolQuery } from '../../core/model/event.js'
import type { History } from '../../core/model/history.js'
import { PERFORMANCES, type Performance } from '../../core/model/series.js'
import { TIMEFRAMES, type Timeframe, windowNames } from '../../core/model/terms.js'
import type { Family, TallyGrouping } from '../../core/params/studies.js'
import type { RunContext, Source } from '../../core/source.js'
import { overlap } from '../../core/statistics/counts.js'
import { type Pool, pooledQuantiles } from '../../core/statistics/mixtures.js'
import { CalendarShare } from '../../core/statistics/shares.js'
import { type LogComparison, noteAndCompare } from '../trials.js'
import {
  BASE_QUANTILES,
  type Base,
  type BaseShare,
  byPerformance,
  isAmongTop,
  measuredBase,
  NO_PRICES,
  type ReturnFigures,
  returnFigures,
  type Shares,
  type TickerBase,
  TOP_SHARE,
  theoreticalBase,
  tickerBase,
  topShare,
  weightedColumns,
} from './base.js'
import { type Grouping, groupingOf, orderOf, sectorsOf } from './groups.js'
import { byVocabulary, type PoolInfo, poolInfo, type Scope, scopeOf, tickersInOrder } from './pool.js'
import { NO_HISTORY, type Part, PENDING, type TickerSource, tickerSources } from './ticker-sources.js'
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
 * Counts outcomes. Every event of the pool counts once in its group; a pool's base weights each ticker by its events
 * there. Throws TierRestricted where aftermath is above the tier, NotFound for an unknown ticker, InvalidParameter for
 * no ticker or for groups by a missing context.
 */
export async function tally(
  source: Source,
  query: TallyQuery,
  { step, trials = null }: RunContext = {},
): Promise<Tally> {
  const { tickers, by: asked, horizon, family = 'ledger', ...filter } = query
  const names = tickersInOrder(tickers, 'a tally needs')
  if (asked === 'context' && filter.context === undefined)
    throw new InvalidParameter(sentence`to group by context, give ${parameter('context', 'T:F')}.`, { param: asked })
  const by = asked ?? (filter.bands === undefined ? 'band' : null)
  const sources: TickerSource[] = []
  const sectors = await sectorsOf(source, by)
  const grouping = (history: History): Grouping => groupingOf(history, by, sectors)
  for await (const found of tickerSources(source, { ...filter, tickers: names }, grouping)) {
    step?.(() => `tally  ${found.ticker}  ${sources.length + 1} of ${names.length} tickers`)
    sources.push(found)
  }
  const order = await orderOf(source, by, filter)
  const { timeframe } = filter
  const found = groupsOf(sources, by, order)
  const room = roomFor(sources, found)
  const tallied = TIMEFRAMES[timeframe].windows.flatMap((window, w) => {
    return horizon === undefined || horizon.includes(window) ? [tallyWindow(found, sources, timeframe, w, room)] : []
  })
  const groups = found.map(({ value, events }, i): TallyGroup => {
    const windows = tallied.map(groups => groups[i]!)
    return { group: value, events, windows, warnings: groupWarnings(events, windows) }
  })
  const windowTrials = trialsOf(found.map(withDays(by, sources)), { ...query, tickers: names }, by)
  const noted = await noteAndCompare(trials, 'cell', windowTrials, family)
  return {
    schema: 'bands.tally/2',
    ...poolInfo(names, filter),
    by,
    ...scopeOf(sources, filter),
    events: groups.reduce((sum, group) => sum + group.events, 0),
    groups,
    log: noted?.log ?? null,
    warnings: tallyWarnings(sources),
  }
}

/** A group as trials know it, with the days of its bars: of all tickers, or of those that make the group. */
function withDays(by: TallyGrouping | null, sources: readonly TickerSource[]) {
  return ({ value, members }: Group) => {
    const some = by === 'ticker' || by === 'sector' ? members.map(({ source }) => source) : sources
    const tickers = some.map(({ ticker }) => ticker)
    return { value, tickers, days: some.flatMap(({ base, days }) => (base === null ? [] : [days])) }
  }
}

/** The events of one value, ticker by ticker. */
interface Group {
  /** null: no groups, or the context ticker had no band yet */
  value: string | null
  members: readonly Member[]
  events: number
}

/** One ticker's events of a group: some rows of its columns. */
interface Member extends Omit<Part, 'value'> {
  source: TickerSource
  /** The number of the ticker. */
  column: number
}

/**
 * Splits events into groups; every event lies in exactly one. Groups have the order of `order`, others follow
 * ascending; null last.
 */
function groupsOf(sources: readonly TickerSource[], by: TallyGrouping | null, order: readonly string[]): Group[] {
  const members = new Map<string | null, Member[]>()
  for (const [column, source] of sources.entries()) {
    for (const { value, from, to } of source.parts) {
      const member = { source, column, from, to }
      const group = members.get(value)
      if (group === undefined) members.set(value, [member])
      else group.push(member)
    }
  }
  if (by === null && members.size === 0)
    members.set(
      null,
      sources.map((source, column) => ({ source, column, from: 0, to: 0 })),
    )
  const compare = byVocabulary(order)
  const groups = Array.from(members, ([value, members]) => {
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

/** Buffers that serve every window. */
interface Room {
  /** All returns of one ticker. */
  ticker: Float64Array
  /** The returns after the events of all tickers, and the index of each ticker's first. */
  events: Float64Array
  first: Int32Array
  /** The returns after the events of one group, and the bars of those of one ticker. */
  group: Float64Array
  bars: Int32Array
}

function roomFor(sources: readonly TickerSource[], groups: readonly Group[]): Room {
  const first = new Int32Array(sources.length + 1)
  for (const [i, { events }] of sources.entries()) first[i + 1] = first[i]! + events
  const most = (counts: readonly number[]): number => counts.reduce((most, count) => Math.max(most, count), 0)
  return {
    ticker: new Float64Array(most(sources.map(({ base }) => base?.bars ?? 0))),
    events: new Float64Array(first.at(-1)!),
    first,
    group: new Float64Array(most(groups.map(({ events }) => events))),
    bars: new Int32Array(most(sources.map(({ events }) => events))),
  }
}

/** All groups over one window. @param w index of the window in the timeframe */
function tallyWindow(
  groups: readonly Group[],
  sources: readonly TickerSource[],
  timeframe: Timeframe,
  w: number,
  room: Room,
): TallyWindow[] {
  const bases = basesOf(sources, w, room)
  const counted = groups.map(group => countedOf(group, timeframe, w, bases, room))
  const columns = { count: sources.length, values: (i: number) => sources[i]!.base!.returns(w, room.ticker) }
  const pools = counted.map(({ pool }) => (pool === null ? NO_POOL : weightedColumns(pool)))
  const quantiles = pooledQuantiles(columns, pools, BASE_QUANTILES)
  return counted.map(({ events, ended: n, ranked, counts, returns, hit, top, overlapping, pool }, g) => ({
    window: windowNames(timeframe)[w]!,
    events,
    n,
    n_independent: (hit ?? top).independent,
    pending: events - n,
    no_history: n - ranked,
    counts: byPerformance(i => counts[i]!),
    shares: byPerformance(i => (ranked === 0 ? null : counts[i]! / ranked)),
    returns,
    hit_low: hit?.low ?? null,
    hit_high: hit?.high ?? null,
    top_share: top.share,
    top_low: top.low,
    top_high: top.high,
    reason: ranked > 0 ? null : events === 0 ? 'no event' : 'no event has a performance band for this window yet',
    overlapping,
    base: pool === null ? theoreticalBase() : measuredBase(pool, quantiles[g]!),
  }))
}

/** The base of each ticker over one window, null without prices. Puts the returns after its events into the room. */
function basesOf(sources: readonly TickerSource[], w: number, { ticker, events, first }: Room): (TickerBase | null)[] {
  const alike = new SharedColumns()
  return sources.map(({ base, days, indices }, i) => {
    if (base === null) return null
    const returns = base.returns(w, ticker)
    const from = first[i]!
    for (let row = 0; row < indices.length; row++) events[from + row] = returns[indices[row]!] ?? Number.NaN
    return tickerBase(returns, alike.of(days.subarray(0, returns.length)), base.performances[w]!)
  })
}

/** Outcomes of the events of a group over one window; `pool` is null where prices are unknown. */
function countedOf(
  { members, events }: Group,
  timeframe: Timeframe,
  w: number,
  bases: readonly (TickerBase | null)[],
  room: Room,
) {
  const window = TIMEFRAMES[timeframe].windows[w]!
  // Only days whose window has ended, as in a study.
  const { calendar, indices } = onCommonCalendar(
    members.map(member => (hasEnded(member, w) ? (bases[member.column]?.days ?? member.source.days) : NO_DAYS)),
  )
  const hits = new CalendarShare(calendar.length)
  const tops = new CalendarShare(calendar.length)
  const counts = PERFORMANCES.map(() => 0)
  const pool: BaseShare[] = []
  let ended = 0
  let ranked = 0
  let returned = 0
  let overlapping = 0
  for (const [m, { source, column, from, to }] of members.entries()) {
    const { outcomes, indices: ownDays, bars } = source
    const days = indices[m]!
    const base = bases[column]!
    const top = base === null ? TOP_SHARE : topShare(base)
    const first = w * source.events
    const firstReturn = room.first[column]!
    const before = { ended, ranked }
    for (let row = from; row < to; row++) {
      const code = outcomes[first + row]!
      if (code === PENDING) continue
      room.bars[ended++ - before.ended] = bars[row]!
      const day = days[ownDays[row]!]!
      if (code !== NO_HISTORY) {
        counts[code]!++
        ranked++
        tops.add(day, Number(isAmongTop(code)), top)
      }
      if (base === null) continue
      const value = room.events[firstReturn + row]!
      room.group[returned++] = value
      hits.add(day, Number(value > 0), base.rises)
    }
    const own = { ended: ended - before.ended, ranked: ranked - before.ranked }
    overlapping += overlap(room.bars.subarray(0, own.ended), window).overlapping
    if (base !== null) pool.push({ base, column, ...own })
  }
  const isPriced = pool.length === members.length
  const noReturn = ended > 0 ? NO_PRICES : events === 0 ? 'no event' : 'no window has ended yet'
  return {
    events,
    ended,
    ranked,
    counts,
    overlapping,
    returns: returnFigures(room.group.subarray(0, returned), noReturn),
    hit: isPriced ? hits.interval(window) : null,
    top: tops.interval(window),
    pool: isPriced ? pool : null,
  }
}

const NO_DAYS = new Int32Array()
const NO_POOL: Pool = { columns: [], weights: [] }

/** Whether the window after some event has ended. */
function hasEnded({ source: { outcomes, events }, from, to }: Member, w: number): boolean {
  for (let row = from; row < to; row++) if (outcomes[w * events + row] !== PENDING) return true
  return false
}

/** Percentages of fewer complete windows mean little. */
const FEW = 10

/** Number of tickers that a sentence names. */
const NAMED = 5

function groupWarnings(events: number, windows: readonly TallyWindow[]): string[] {
  if (events === 0) return []
  const few = windows.flatMap(({ window, n }) => (n < FEW ? `${window}: ${n}` : []))
  const overlapping = windows.flatMap(({ window, n, overlapping: many }) =>
    many > 0 ? `${window}: ${many} of ${n}` : [],
  )
  return [
    few.length > 0 && `Fewer than ${FEW} complete windows (${few.join(', ')}): read the counts, not the shares.`,
    overlapping.length > 0 &&
      `Windows of neighbouring events of one ticker overlap (${overlapping.join(', ')}): they count as fewer independent cases.`,
  ].filter(warning => warning !== false)
}

function tallyWarnings(sources: readonly TickerSource[]): string[] {
  if (sources.length === 1) return []
  const empty = sources.filter(({ events }) => events === 0).map(source => source.ticker)
  const names = empty.slice(0, NAMED).join(', ')
  const more = empty.length > NAMED ? ` and ${empty.length - NAMED} more` : ''
  return [
    'Tickers move together: events of several tickers on the same dates count as fewer independent cases.',
    'The tickers are those that were asked for; ones that no longer trade may be missing among them.',
    ...(empty.length > 0 ? [`${empty.length} of ${sources.length} tickers have no such event: ${names}${more}.`] : []),
  ]
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

/** Throws as a tally does. */
export async function statsPage(source: Source, { limit: _limit, ...query }: EventsQuery): Promise<StatsPage> {
  const { ticker, field, timeframe, context } = query
  const { events, groups, query_range, by, warnings } = await tally(source, { ...query, tickers: [ticker] })
  return {
    ticker,
    field,
    timeframe,
    stats: { by, groups, warnings },
    total_occurrences: events,
    query_range,
    ...(context && { context }),
  }
}
