// For: count events and the returns after them.
// In: a question about events, and a source.
// Out: counts, shares and medians with intervals.

import { InvalidParameter, parameter, sentence } from '../../core/errors.js'
import { onCommonCalendar } from '../../core/model/calendar.js'
import type { Context, EventsQuery, PoolQuery } from '../../core/model/event.js'
import type { History } from '../../core/model/history.js'
import { PERFORMANCES, type Performance, UNDEFINED } from '../../core/model/series.js'
import { TIMEFRAMES, type Timeframe, windowNames } from '../../core/model/terms.js'
import type { Family, TallyGrouping } from '../../core/params/studies.js'
import type { RunContext, Source } from '../../core/source.js'
import { overlap } from '../../core/statistics/counts.js'
import { CalendarShare, type ShareInterval } from '../../core/statistics/shares.js'
import { type LogComparison, noteAndCompare } from '../trials.js'
import {
  type Base,
  type BaseShare,
  byPerformance,
  isAmongTop,
  Market,
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
} from './base.js'
import { type Grouping, groupingOf, orderOf, sectorsOf } from './groups.js'
import { byVocabulary, type PoolInfo, poolInfo, type Scope, scopeOf, tickersInOrder } from './pool.js'
import { type TickerSource, tickerSources } from './ticker-sources.js'
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
  // Window by window in one buffer: the bases of one window are all returns of all tickers.
  const buffer = new Float64Array(sources.reduce((bars, { base }) => bars + (base?.bars ?? 0), 0))
  const chosen = windowNames(timeframe).flatMap((window, w) => {
    return horizon === undefined || horizon.includes(TIMEFRAMES[timeframe].windows[w]!) ? [{ window, w }] : []
  })
  const tallied = chosen.map(({ window, w }) => {
    const bases = basesOf(sources, window, buffer)
    return found.map(({ members }) => tallyWindow(members, timeframe, w, bases))
  })
  const groups = found.map(({ value, members }, i): TallyGroup => {
    const windows = tallied.map(groups => groups[i]!)
    const events = members.reduce((sum, { rows }) => sum + rows.length, 0)
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
}

/** One ticker's events of a group: their rows in its columns. */
interface Member {
  source: TickerSource
  rows: Int32Array
}

/**
 * Splits events into groups; every event lies in exactly one. Groups have the order of `order`, others follow
 * ascending; null last.
 */
function groupsOf(sources: readonly TickerSource[], by: TallyGrouping | null, order: readonly string[]): Group[] {
  if (by === null) {
    const entered = sources.filter(source => source.rows.length > 0)
    const members = (entered.length > 0 ? entered : sources).map(source => ({ source, rows: source.rows }))
    return [{ value: null, members }]
  }
  const parts = sources.flatMap(source => {
    const { codes, name } = source.grouping
    const own = Map.groupBy(source.rows, row => codes[row]!)
    return Array.from(own, ([code, rows]) => ({ value: name(code), source, rows: Int32Array.from(rows) }))
  })
  const groups = Map.groupBy(parts, ({ value }) => value)
  const compare = byVocabulary(order)
  return Array.from(groups, ([value, members]) => ({ value, members })).sort((a, b) => compare(a.value, b.value))
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

/**
 * @param members at least one; of several, those with an event where there are any
 * @param w index of the window in the timeframe
 */
function tallyWindow(members: readonly Member[], timeframe: Timeframe, w: number, bases: Bases): TallyWindow {
  const { events, ended: n, ranked, counts, returns, overlapping, parts } = counted(members, timeframe, w)
  const { hit, top } = sharesOf(members, timeframe, w, bases)
  return {
    window: windowNames(timeframe)[w]!,
    events,
    n,
    n_independent: (hit ?? top).independent,
    pending: events - n,
    no_history: n - ranked,
    counts: byPerformance(i => counts[i]!),
    shares: byPerformance(i => (ranked === 0 ? null : counts[i]! / ranked)),
    returns: returnFigures(returns, n > 0 ? NO_PRICES : events === 0 ? 'no event' : 'no window has ended yet'),
    hit_low: hit?.low ?? null,
    hit_high: hit?.high ?? null,
    top_share: top.share,
    top_low: top.low,
    top_high: top.high,
    reason: ranked > 0 ? null : events === 0 ? 'no event' : 'no event has a performance band for this window yet',
    overlapping,
    base: baseOf(members, parts, bases),
  }
}

/** The share of returns above 0, null where prices are unknown, and the share of the best 40 %. */
function sharesOf(
  members: readonly Member[],
  timeframe: Timeframe,
  w: number,
  { of }: Bases,
): { hit: ShareInterval | null; top: ShareInterval } {
  const counting = members.filter(({ source, rows }) =>
    rows.some(row => source.ended[w * source.rows.length + row] === 1),
  )
  const bases = counting.map(({ source }) => of.get(source))
  // Only days whose window has ended, as in a study.
  const { calendar, indices } = onCommonCalendar(
    counting.map(({ source: { days } }, m) => days.subarray(0, bases[m]?.returns.length)),
  )
  const hits = new CalendarShare(calendar.length)
  const tops = new CalendarShare(calendar.length)
  let isPriced = true
  counting.forEach(({ source, rows }, m) => {
    const { ended, performances, returns } = source
    const base = bases[m]
    const top = base === undefined ? TOP_SHARE : topShare(base)
    const rises = base === undefined ? 0 : base.rises / base.returns.length
    const isKnown = returns !== null && base !== undefined
    isPriced &&= isKnown
    for (let i = 0; i < rows.length; i++) {
      const at = w * source.rows.length + rows[i]!
      if (ended[at] !== 1) continue
      const day = indices[m]![source.indices[rows[i]!]!]!
      if (performances[at] !== UNDEFINED) tops.add(day, Number(isAmongTop(performances[at]!)), top)
      if (isKnown) hits.add(day, Number(returns[at]! > 0), rises)
    }
  })
  const window = TIMEFRAMES[timeframe].windows[w]!
  return { hit: isPriced ? hits.interval(window) : null, top: tops.interval(window) }
}

/** Outcomes of the events of some tickers over one window; `parts` by member. */
function counted(members: readonly Member[], timeframe: Timeframe, w: number) {
  const length = TIMEFRAMES[timeframe].windows[w]!
  const events = members.reduce((sum, { rows }) => sum + rows.length, 0)
  const most = members.reduce((most, { rows }) => Math.max(most, rows.length), 0)
  const counts = PERFORMANCES.map(() => 0)
  // One buffer for the returns of all members and one for the bars of each: a market has thousands of members.
  const returns = new Float64Array(events)
  const bars = new Int32Array(most)
  const parts: Omit<BaseShare, 'base'>[] = []
  let ended = 0
  let ranked = 0
  let returned = 0
  let overlapping = 0
  for (const { source, rows } of members) {
    const { ended: hasEnded, performances, returns: own } = source
    const part = { ranked: 0, ended: 0 }
    let whole = 0
    for (let i = 0; i < rows.length; i++) {
      const at = w * source.rows.length + rows[i]!
      if (hasEnded[at] === 1) bars[whole++] = source.bars[rows[i]!]!
      if (performances[at] !== UNDEFINED) {
        counts[performances[at]!]!++
        part.ranked++
      }
      if (own !== null && !Number.isNaN(own[at]!)) {
        returns[returned++] = own[at]!
        part.ended++
      }
    }
    ended += whole
    ranked += part.ranked
    overlapping += overlap(bars.subarray(0, whole), length).overlapping
    parts.push(part)
  }
  return { events, ended, ranked, counts, returns: returns.subarray(0, returned), overlapping, parts }
}

/** The bases over one window, for the tickers with known prices. */
interface Bases {
  of: ReadonlyMap<TickerSource, TickerBase>
  market: Market
}

function basesOf(sources: readonly TickerSource[], window: string, buffer: Float64Array): Bases {
  const of = new Map<TickerSource, TickerBase>()
  let from = 0
  for (const source of sources) {
    if (source.base === null) continue
    of.set(source, tickerBase(source.base.windows[window]!, buffer.subarray(from)))
    from += source.base.bars
  }
  return { of, market: new Market([...of.values()]) }
}

function baseOf(members: readonly Member[], parts: readonly Omit<BaseShare, 'base'>[], { of, market }: Bases): Base {
  const pool: BaseShare[] = []
  for (let i = 0; i < members.length; i++) {
    const base = of.get(members[i]!.source)
    if (base === undefined) return theoreticalBase()
    pool.push({ base, ...parts[i]! })
  }
  return measuredBase(pool, market)
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
  const empty = sources.filter(source => source.rows.length === 0).map(source => source.ticker)
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
