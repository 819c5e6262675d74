import { movingRanks, type Ranks, sortedColumn, zoneOfRank } from '../../core/indicators/rank.js'
import { alignToCommonCalendar, daysAt, indicesIn, isConsecutive } from '../../core/model/calendar.js'
import { countBelow } from '../../core/model/day.js'
import { DEFINITIONS } from '../../core/model/definitions.js'
import { forwardReturns, PERFORMANCES } from '../../core/model/series.js'
import { TIMEFRAMES } from '../../core/model/terms.js'
import { gTestShift } from '../../core/statistics/counts.js'
import { pooledQuantile, type Weighted } from '../../core/statistics/mixtures.js'
import { Random } from '../../core/statistics/random.js'
import { CalendarShare, type ShareInterval } from '../../core/statistics/shares.js'
import type { ShiftOptions } from '../../core/statistics/shift.js'
import { LEAST_UNITS, type StudyWindow } from './result.js'
import type { Signals } from './signals.js'
import type { StudyPrices, Subject } from './subject.js'

/** The events of one or several tickers over one horizon, day by day, compared with any bar of the same tickers. */
export interface CalendarCell {
  horizon: number
  /** Days of the base bars. */
  calendar: Int32Array
  series: CalendarSeries
  /** Events whose window has elapsed. */
  n: number
  /** Mean excess of the events over their own ticker's base; NaN without events. */
  diff: number
}

export interface Cell extends CalendarCell {
  /** Tickers with events, ascending, so that the order of the query does not matter. */
  members: readonly Member[]
}

/** Puts the tickers with events on one calendar, and adds up the excess returns of their events, day by day. */
export function cellOf(tickers: readonly MemberBars[], horizon: number): Cell {
  const { members, calendar } = onCalendar(tickers.toSorted((a, b) => (a.ticker < b.ticker ? -1 : 1)))
  let n = 0
  let sum = 0
  for (const { events, returns, base } of members) {
    n += events.length
    for (const i of events) sum += returns[i]! - base
  }
  return { horizon, members, calendar, series: calendarSeries(members, calendar.length), n, diff: sum / n }
}

/** One ticker's base bars, on which the field has a band and the window has elapsed, and its events among them. */
interface Member {
  ticker: string
  /** Bar number of each base bar, ascending. */
  bars: Int32Array
  /** The return over the window after each base bar. */
  returns: Float64Array
  /** Index of each base bar's day on the cell's calendar, ascending. */
  indices: Int32Array
  /** The events, as indices into the base bars, ascending. */
  events: Int32Array
  /** Mean of `returns`, subtracted for an excess; NaN without base bars. */
  base: number
  /** Share of `returns` above 0; NaN without base bars. */
  baseHit: number
}

/** A member before there is a calendar: it has days instead of indices. */
export interface MemberBars extends Omit<Member, 'indices'> {
  days: Int32Array
}

/**
 * Collects the base bars of one ticker, on which the window has elapsed, with their returns and the events among them.
 * @param forward the return over the window after every bar, NaN where the window has not elapsed
 * @param eligible bars on which the field has a band, ascending
 * @param signals bars of the events, ascending, all of them eligible
 * @param buffer for the returns, at least as long as `eligible`
 */
export function memberBars(
  ticker: string,
  days: Int32Array,
  forward: Float64Array,
  eligible: Int32Array,
  signals: Int32Array,
  buffer: Float64Array = new Float64Array(eligible.length),
): MemberBars {
  let elapsed = 0
  let sum = 0
  let rises = 0
  let lastElapsed = -1
  for (let i = 0; i < eligible.length; i++) {
    const value = forward[eligible[i]!]!
    if (Number.isNaN(value)) continue
    buffer[elapsed++] = value
    sum += value
    // Arithmetic in place of an unpredictable branch.
    rises += Number(value > 0)
    lastElapsed = i
  }
  // Windows that have not elapsed nearly always come last, and a subarray needs no copy.
  const bars =
    lastElapsed === elapsed - 1 ? eligible.subarray(0, elapsed) : eligible.filter(bar => !Number.isNaN(forward[bar]!))
  const events = indicesAmong(bars, signals)
  return {
    ticker,
    bars,
    returns: buffer.subarray(0, elapsed),
    days: daysAt(days, bars),
    events,
    base: sum / elapsed,
    baseHit: rises / elapsed,
  }
}

/** The index in `bars` of each wanted bar, both ascending; wanted bars that are missing there are left out. */
export function indicesAmong(bars: Int32Array, wanted: Int32Array): Int32Array {
  if (!isConsecutive(bars)) return indicesIn(bars, wanted).filter(index => index >= 0)
  // Among consecutive bars the index is the distance from the first one.
  const [first = 0] = bars
  const inside = wanted.subarray(countBelow(wanted, first), countBelow(wanted, first + bars.length))
  return inside.map(bar => bar - first)
}

/** The members with events, each with the indices of its days on their common calendar, the union of all base days. */
function onCalendar<M extends Pick<MemberBars, 'days' | 'events'>>(members: readonly M[]) {
  const withEvents = members.filter(({ events }) => events.length > 0)
  const { calendar, indices } = alignToCommonCalendar(withEvents.map(({ days }) => days))
  return { calendar, members: withEvents.map((member, i) => ({ ...member, indices: indices[i]! })) }
}

/** Number of events and sum of their excess returns on each day of the calendar. Their ratio is `diff`. */
interface CalendarSeries {
  events: Float64Array
  excess: Float64Array
}

/** The events and excess returns of some members by day. @param days number of days of the calendar */
export function calendarSeries(members: readonly Member[], days: number): CalendarSeries {
  const series = { events: new Float64Array(days), excess: new Float64Array(days) }
  for (const { indices, events, returns, base } of members) {
    for (const i of events) {
      series.events[indices[i]!]! += 1
      series.excess[indices[i]!]! += returns[i]! - base
    }
  }
  return series
}

/** Events of any ticker whose windows share days, directly or through other events; `to` is the last day. */
export interface Unit {
  from: number
  to: number
  /** Number of events, and the sum of their excess returns (on a path, of their moves). */
  events: number
  sum: number
}

/** Joins events whose windows share days, of any ticker, into units, oldest first: tickers move together. */
export function independentUnits({ events, excess }: CalendarSeries, horizon: number): Unit[] {
  const units: Unit[] = []
  for (const day of daysWith(events)) {
    let unit = units.at(-1)
    if (unit === undefined || day >= unit.to + horizon) {
      unit = { from: day, to: day, events: 0, sum: 0 }
      units.push(unit)
    }
    unit.to = day
    unit.events += events[day]!
    unit.sum += excess[day]!
  }
  return units
}

/** The calendar indices of the days with at least one event. */
export function daysWith(events: Float64Array): Int32Array {
  // A loop, because iterators over a long calendar take twenty times as long, and each bar of a path calls this.
  const days = new Int32Array(events.length)
  let n = 0
  for (let day = 0; day < events.length; day++) if (events[day]! > 0) days[n++] = day
  return days.slice(0, n)
}

/** The share of the returns after the events that are above 0, with its interval. */
export function hitRateOf({ members, calendar, horizon }: Omit<Cell, 'series' | 'n' | 'diff'>): ShareInterval {
  const share = new CalendarShare(calendar.length)
  for (const { indices, events, returns, baseHit } of members)
    for (const i of events) share.add(indices[i]!, Number(returns[i]! > 0), baseHit)
  return share.interval(horizon)
}

/** Mean over the events of the drawn units. @param drawn indices of the units; one may be drawn several times */
export function meanOverUnits(units: readonly Unit[], drawn: ArrayLike<number>): number {
  let events = 0
  let sum = 0
  for (let i = 0; i < drawn.length; i++) {
    const unit = units[drawn[i]!]!
    events += unit.events
    sum += unit.sum
  }
  return sum / events
}

/** Effective number of units: how many of equal size would let a mean vary as much (Kish, "Survey sampling", 1965). */
export function effectiveUnits(units: readonly Unit[]): number {
  let sum = 0
  let squares = 0
  for (const { events } of units) {
    sum += events
    squares += events ** 2
  }
  return sum ** 2 / squares
}

/** The reason for no interval where a cell has too few units. */
export function fewUnits(units: number): string {
  const what = units === 1 ? 'stretch of time' : 'stretches of time'
  return `the windows of all events run together into ${units} ${what}, fewer than ${LEAST_UNITS}`
}

/** The figures of the returns after any bar; each ticker weighs by its events. `columns` are these returns, sorted. */
export function baseOf(
  members: readonly Pick<MemberBars, 'returns' | 'events' | 'base' | 'baseHit'>[],
): StudyWindow['base'] & { columns: Weighted[] } {
  const withEvents = members.filter(({ events }) => events.length > 0)
  const events = withEvents.reduce((sum, member) => sum + member.events.length, 0)
  if (events === 0) return { n: 0, mean: null, median: null, hit: null, deviation: null, columns: [] }
  const mean = meanByEvents(withEvents, ({ base }) => base)
  const hit = meanByEvents(withEvents, ({ baseHit }) => baseHit)
  const deviation = Math.sqrt(meanByEvents(withEvents, ({ returns }) => meanSquaredDistance(returns, mean)))
  // Sorted in place: for a whole market they are as large as all loaded prices.
  const columns = withEvents.map(({ returns, events: { length: weight } }) => {
    return { ascending: sortedColumn(returns, returns), weight }
  })
  const n = withEvents.reduce((sum, { returns }) => sum + returns.length, 0)
  return { n, mean, median: pooledQuantile(columns, 0.5), hit, deviation, columns }
}

/** The mean of a figure of tickers; each weighs by its number of events. */
function meanByEvents<M extends Pick<MemberBars, 'events'>>(members: readonly M[], figureOf: (m: M) => number): number {
  const events = members.reduce((sum, member) => sum + member.events.length, 0)
  return members.reduce((sum, member) => sum + member.events.length * figureOf(member), 0) / events
}

function meanSquaredDistance(returns: Float64Array, centre: number): number {
  let sum = 0
  for (let i = 0; i < returns.length; i++) sum += (returns[i]! - centre) ** 2
  return sum / returns.length
}

/** Number of values above 0. */
export function countGains(returns: ArrayLike<number>): number {
  let count = 0
  for (let i = 0; i < returns.length; i++) if (returns[i]! > 0) count++
  return count
}

/** Wanted number of bins between the tails of the base; at most the same number lie on each side. */
const WANTED_BINS = 20
/** Most bins where the tails of the base are equal, so that they give no width. */
const MAX_BINS = 60

/**
 * Bins of equal, round width; a value on an edge belongs to the bin above. The bins cover all values, but extend beyond
 * the tails of the base by at most the distance between the tails. The outermost bins hold everything beyond.
 * Without that limit one ticker that rose tenfold would squeeze all others into one bin.
 * @param events ascending
 * @param base the returns of each ticker; the weights decide where the tails of the base are, not the counts
 * @returns null without values, or where all are equal
 */
export function histogram(events: Float64Array, base: readonly Weighted[]): StudyWindow['histogram'] {
  const columns = [events, ...base.map(({ ascending }) => ascending)]
  if (events.length === 0 || columns.some(({ length }) => length === 0)) return null
  const low = columns.reduce((least, column) => Math.min(least, column[0]!), Number.POSITIVE_INFINITY)
  const high = columns.reduce((most, column) => Math.max(most, column.at(-1)!), Number.NEGATIVE_INFINITY)
  if (!(high > low)) return null
  const lowTail = pooledQuantile(base, 0.01) ?? low
  const highTail = pooledQuantile(base, 0.99) ?? high
  const tailsDiffer = highTail > lowTail
  const width = tailsDiffer ? roundUp((highTail - lowTail) / WANTED_BINS) : roundUp((high - low) / MAX_BINS)
  // Each limit is its tail, moved out by the distance between the tails.
  const from = tailsDiffer ? Math.max(low, 2 * lowTail - highTail) : low
  const to = tailsDiffer ? Math.min(high, 2 * highTail - lowTail) : high
  const first = Math.floor(from / width)
  const bins = Math.floor(to / width) - first + 1
  // Rounded, because of edges like 0.15000000000000002.
  const edges = Array.from({ length: bins + 1 }, (_, i) => Number(((first + i) * width).toPrecision(12)))
  return { edges, events: binCounts([events], edges), base: binCounts(columns.slice(1), edges) }
}

/** The least number of the form 1, 2, 2.5 or 5 times a power of ten that is not below the width. */
function roundUp(width: number): number {
  const power = 10 ** Math.floor(Math.log10(width))
  const factor = [1, 2, 2.5, 5].find(step => step * power >= width) ?? 10
  return factor * power
}

/** The number of values in each bin. @param columns ascending */
function binCounts(columns: readonly Float64Array[], edges: readonly number[]): number[] {
  const bins = new Array<number>(edges.length - 1).fill(0)
  for (const column of columns) {
    let countedBefore = 0
    for (let bin = 0; bin < bins.length; bin++) {
      // The first bin also holds all values below it, the last one all values above it.
      const countedAfter = bin === bins.length - 1 ? column.length : countBelow(column, edges[bin + 1]!)
      bins[bin]! += countedAfter - countedBefore
      countedBefore = countedAfter
    }
  }
  return bins
}

/** Uses of random numbers in a cell. Append only: the index is part of what a seed means. */
const PURPOSES = ['shift', 'bootstrap', 'bca', 'random_entry', 'aftermath', 'path'] as const

/** Longer than any window. */
const STREAM_SPACING = 10_000

/**
 * The generator of one purpose and window. Each has its own stream, so a cell is the same regardless of the other
 * parameters.
 * @param window length in bars, or a bar of the path
 */
export function streamOf(seed: number, purpose: (typeof PURPOSES)[number], window: number): Random {
  return Random.stream(new Random(seed).word(), PURPOSES.indexOf(purpose) * STREAM_SPACING + window)
}

/** `reason` says why there is no p; null if there is one. */
type AftermathTally = NonNullable<StudyWindow['aftermath']> & { reason: string | null }

/**
 * Aftermath bands after events and after any bar of the tickers with events, in the order of PERFORMANCES. Lift = share
 * after events / share after any bar, where each ticker weighs by its events.
 * @param tooFewReason why there is no test; null where there may be one
 * @returns null where no event has an aftermath band
 */
export function aftermathTally(
  subjects: readonly Subject[],
  horizon: number,
  tooFewReason: string | null,
  options: ShiftOptions,
): AftermathTally | null {
  const withEvents = subjects.filter(({ signals }) => signals.bars.length > 0)
  const memory = aftermathMemory(withEvents)
  const { calendar, members } = onCalendar(withEvents.map(subject => barsWithAftermath(subject, horizon, memory)))
  if (members.length === 0) return null
  const eventCounts = PERFORMANCES.map(() => 0)
  for (const { codes, events } of members) for (const i of events) eventCounts[codes[i]!]!++
  // The number of events in each band, if they were like any bar of their ticker.
  const expected = PERFORMANCES.map((_, band) =>
    members.reduce((sum, { codes, events, counts }) => sum + (events.length * counts[band]!) / codes.length, 0),
  )
  const figures = {
    counts: eventCounts,
    base: PERFORMANCES.map((_, band) => members.reduce((sum, { counts }) => sum + counts[band]!, 0)),
    lift: eventCounts.map((count, band) => (expected[band] === 0 ? null : count / expected[band]!)),
  }
  if (tooFewReason !== null) return { ...figures, g: null, p: null, reason: tooFewReason }
  const test = gTestShift(members, calendar.length, horizon, PERFORMANCES.length, options)
  if ('reason' in test) return { ...figures, g: null, p: null, reason: test.reason }
  return { ...figures, g: test.g, p: test.p, reason: null }
}

/**
 * The base bars with an aftermath band: the band of each, the number in each band, and the events among them. The band
 * ranks the return over the window among earlier returns of the ticker that had ended by the bar. There is no band
 * while the window has not elapsed, and with too few earlier returns.
 * @param memory columns that all tickers of a window share; the codes of a ticker follow those of the one before
 */
export function barsWithAftermath(
  { prices, eligible, signals }: Pick<Subject, 'eligible'> & { signals: Pick<Signals, 'bars'> } & PricedSubject,
  horizon: number,
  memory: AftermathMemory,
) {
  const { close, days, timeframe } = prices.series
  const past = { lag: horizon, history: close.length, least: TIMEFRAMES[timeframe].minReference }
  const returns = forwardReturns(close, horizon, memory.returns.subarray(0, close.length))
  const { rank, size } = movingRanks(returns, past, 0, memory.ranks)
  const { bars } = memory
  const codes = memory.codes.subarray(memory.used, memory.used + eligible.length)
  const counts = new Int32Array(PERFORMANCES.length)
  let rankedCount = 0
  for (let i = 0; i < eligible.length; i++) {
    const bar = eligible[i]!
    if (rank[bar]! < 0) continue
    const code = zoneOfRank(rank[bar]!, size[bar]!, DEFINITIONS.performance.cuts)
    bars[rankedCount] = bar
    codes[rankedCount++] = code
    counts[code]!++
  }
  memory.used += rankedCount
  const ranked = bars.subarray(0, rankedCount)
  return {
    codes: codes.subarray(0, rankedCount),
    counts,
    days: daysAt(days, ranked),
    events: indicesAmong(ranked, signals.bars),
  }
}

type PricedSubject = { prices: Pick<StudyPrices, 'series'> }

/** Memory for the aftermath bands of all tickers; small columns of each ticker would take more. */
interface AftermathMemory {
  codes: Uint8Array
  /** How many codes are in use. */
  used: number
  /** Overwritten by each ticker. */
  bars: Int32Array
  returns: Float64Array
  ranks: Ranks
}

/** Memory for some subjects: codes for all their base bars, the other columns as long as the longest of them. */
export function aftermathMemory(subjects: readonly (Pick<Subject, 'eligible'> & PricedSubject)[]): AftermathMemory {
  const bars = subjects.reduce((sum, { eligible }) => sum + eligible.length, 0)
  const longest = subjects.reduce((most, { prices }) => Math.max(most, prices.series.days.length), 0)
  return {
    codes: new Uint8Array(bars),
    used: 0,
    bars: new Int32Array(longest),
    returns: new Float64Array(longest),
    ranks: { rank: new Int32Array(longest), size: new Int32Array(longest) },
  }
}
