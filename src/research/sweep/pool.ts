import { indicesIn, isConsecutive } from '../../core/model/calendar.js'
import { countOverlap } from '../../core/statistics/counts.js'
import { CalendarShare, type ShareInterval } from '../../core/statistics/shares.js'
import type { CalendarCell } from '../study/cell.js'
import { forwardReturns, returnAfter } from '../study/signals.js'
import { type CalendarTime, calendarTime } from '../study/subject.js'
import { type BarMask, barsWithBand, type Condition, type TickerData, type Timeline } from './ticker-data.js'

/**
 * The base bars of some tickers, with which events are compared. On them the field has a band, and their window has
 * elapsed. All cells of a field and horizon share them. Columns are by ticker.
 */
export interface BaseBars {
  field: number
  horizon: number
  mask: BarMask
  timeline: Timeline
  tickers: readonly TickerData[]
  /** Mean return after a base bar, and the share of returns above 0; NaN without base bars. */
  mean: Float64Array
  hit: Float64Array
  /** The first and the last base bar; 0 without any. */
  firstBaseBar: Int32Array
  lastBaseBar: Int32Array
  /** Tickers with the same number have the same base days, without gaps. */
  dayGroups: Int32Array
}

/** The day group of a ticker whose base bars have gaps. */
const NO_GROUP = -1

/**
 * The base bars of each ticker, and the returns after them. Tickers with the same base days get the same day group;
 * those whose base bars have gaps get NO_GROUP.
 */
export function baseBarsOf(
  tickers: readonly TickerData[],
  { field, horizon, mask, timeline }: Pick<BaseBars, 'field' | 'horizon' | 'mask' | 'timeline'>,
): BaseBars {
  const { length } = tickers
  const mean = new Float64Array(length)
  const hit = new Float64Array(length)
  const firstBaseBar = new Int32Array(length)
  const lastBaseBar = new Int32Array(length)
  const dayGroups = new Int32Array(length)
  const groupsByCalendar = new Map<Int32Array, Map<number, number>>()
  const returns = new Float64Array(tickers.reduce((longest, data) => Math.max(longest, data.days.length), 0))
  let groupCount = 0
  tickers.forEach((data, tickerIndex) => {
    const eligible = barsWithBand(data, field)
    const indices = timeline.indices.get(data)!
    const bars = mask === null ? eligible : eligible.filter(bar => mask[indices[bar]!] === 1)
    forwardReturns(data.prices, horizon, returns.subarray(0, data.days.length))
    let elapsed = 0
    let sum = 0
    let rises = 0
    for (; elapsed < bars.length; elapsed++) {
      const value = returns[bars[elapsed]!]!
      // Windows that have not elapsed come last.
      if (Number.isNaN(value)) break
      sum += value
      if (value > 0) rises++
    }
    mean[tickerIndex] = sum / elapsed
    hit[tickerIndex] = rises / elapsed
    firstBaseBar[tickerIndex] = bars[0] ?? 0
    lastBaseBar[tickerIndex] = bars[elapsed - 1] ?? 0
    if (!isConsecutive(bars.subarray(0, elapsed))) {
      dayGroups[tickerIndex] = NO_GROUP
      return
    }
    // Tickers on one calendar whose bars have the same first and last have the same base days.
    const groupByBars = groupsByCalendar.get(indices) ?? new Map<number, number>()
    groupsByCalendar.set(indices, groupByBars)
    // One number for the first and the last bar.
    const barsKey = firstBaseBar[tickerIndex]! * indices.length + lastBaseBar[tickerIndex]!
    dayGroups[tickerIndex] = groupByBars.get(barsKey) ?? groupCount++
    groupByBars.set(barsKey, dayGroups[tickerIndex]!)
  })
  return { field, horizon, mask, timeline, tickers, mean, hit, firstBaseBar, lastBaseBar, dayGroups }
}

/** For each index of the timeline: 1 if its day has a base bar of a ticker with events, otherwise 0. */
function baseDays({ base, members }: EventPool): Uint8Array {
  const { field, mask, timeline, tickers, firstBaseBar, lastBaseBar, dayGroups } = base
  const isBase = new Uint8Array(timeline.days.length)
  const markedGroups = new Set<number>()
  for (const tickerIndex of members) {
    const indices = timeline.indices.get(tickers[tickerIndex]!)!
    const dayGroup = dayGroups[tickerIndex]!
    if (dayGroup !== NO_GROUP) {
      // The tickers of a group have the same base days, without gaps, so that one of them marks all.
      if (markedGroups.has(dayGroup)) continue
      markedGroups.add(dayGroup)
      for (let bar = firstBaseBar[tickerIndex]!; bar <= lastBaseBar[tickerIndex]!; bar++) isBase[indices[bar]!] = 1
      continue
    }
    for (const bar of barsWithBand(tickers[tickerIndex]!, field)) {
      if (bar > lastBaseBar[tickerIndex]!) break
      const index = indices[bar]!
      if (mask === null || mask[index] === 1) isBase[index] = 1
    }
  }
  return isBase
}

/** The events that fulfil a condition on base bars, ticker by ticker. */
export interface EventPool {
  base: BaseBars
  /** Index of each ticker with events. */
  members: number[]
  /** For each member the index of its first event in `bars` and `returns`, and last the number of events. */
  eventStart: number[]
  bars: Int32Array
  returns: Float64Array
  /** Number of events that fulfil the condition on other bars. */
  lost: number
}

/**
 * Collects the events that fulfil a condition, with the return after each. An event counts as lost if the mask of
 * `base` leaves out its bar, or if its window has not elapsed.
 * @param from index of the first ticker to read
 * @param to index after the last one
 */
export function poolOf(base: BaseBars, condition: Condition, from = 0, to = base.tickers.length): EventPool {
  const { horizon, mask, timeline, tickers } = base
  const { bandGroup, prev_band, context } = condition
  const firstRow = (tickerIndex: number): number => tickers[tickerIndex]!.groupStart[bandGroup]!
  const endRow = (tickerIndex: number): number => tickers[tickerIndex]!.groupStart[bandGroup + 1]!
  let maxEvents = 0
  for (let tickerIndex = from; tickerIndex < to; tickerIndex++) maxEvents += endRow(tickerIndex) - firstRow(tickerIndex)
  const eventBars = new Int32Array(maxEvents)
  const returns = new Float64Array(maxEvents)
  const members: number[] = []
  const eventStart: number[] = []
  let count = 0
  let lost = 0
  for (let tickerIndex = from; tickerIndex < to; tickerIndex++) {
    const data = tickers[tickerIndex]!
    const { bars, leftBand, contexts, prices } = data
    const contextCodes = context === null ? null : contexts[context.contextIndex]!
    const indices = mask === null ? null : timeline.indices.get(data)!
    const firstEvent = count
    for (let row = firstRow(tickerIndex), end = endRow(tickerIndex); row < end; row++) {
      if (prev_band !== null && leftBand[row] !== prev_band) continue
      if (contextCodes !== null && contextCodes[row] !== context!.band) continue
      const bar = bars[row]!
      const isInMask = indices === null || mask![indices[bar]!] === 1
      const value = isInMask ? returnAfter(prices, bar, horizon) : Number.NaN
      if (Number.isNaN(value)) {
        lost++
        continue
      }
      eventBars[count] = bar
      returns[count++] = value
    }
    if (count === firstEvent) continue
    members.push(tickerIndex)
    eventStart.push(firstEvent)
  }
  eventStart.push(count)
  return { base, members, eventStart, bars: eventBars.subarray(0, count), returns: returns.subarray(0, count), lost }
}

/** Sums over the events: returns, gains, falls, and the base of each event's ticker. */
export interface Sums {
  n: number
  returns: number
  hits: number
  falls: number
  base: number
}

export const ZERO_SUMS: Readonly<Sums> = { n: 0, returns: 0, hits: 0, falls: 0, base: 0 }

/** Adds up the returns, gains and falls of a pool's events, and the mean base return of each event's ticker. */
export function sumsOf(pool: EventPool): Sums {
  const sums = { ...ZERO_SUMS, n: pool.bars.length, base: sumOverEvents(pool, pool.base.mean) }
  for (let event = 0; event < sums.n; event++) {
    const value = pool.returns[event]!
    sums.returns += value
    if (value > 0) sums.hits++
    if (value < 0) sums.falls++
  }
  return sums
}

/** Share of gains after any bar of the tickers; each ticker weighs by its events. Null without events. */
export function baseHitOf(pool: EventPool): number | null {
  return pool.bars.length === 0 ? null : sumOverEvents(pool, pool.base.hit) / pool.bars.length
}

/** The sum, over the events, of a figure of their ticker. @param figures one for each ticker */
function sumOverEvents({ members, eventStart }: EventPool, figures: Float64Array): number {
  const eventCount = (member: number): number => eventStart[member + 1]! - eventStart[member]!
  return members.reduce((sum, ticker, member) => sum + eventCount(member) * figures[ticker]!, 0)
}

/** The sums of positions in the events. A short position loses the gain of its event. @param sign 1: long, -1: short */
export function sumsOfPosition(sums: Sums, sign: 1 | -1): Sums {
  const { returns, base, hits, falls } = sums
  return sign === 1 ? sums : { ...sums, returns: -returns, base: -base, hits: falls, falls: hits }
}

export function addSums(a: Sums, b: Sums): Sums {
  const { n, returns, hits, falls, base } = b
  return { n: a.n + n, returns: a.returns + returns, hits: a.hits + hits, falls: a.falls + falls, base: a.base + base }
}

/** The number of windows that share no bar, counted greedily and added up over the tickers. */
export function countNonOverlapping({ base, members, eventStart, bars }: EventPool): number {
  return members.reduce((sum, _, member) => {
    const eventBars = bars.subarray(eventStart[member], eventStart[member + 1])
    return sum + countOverlap(eventBars, base.horizon).independent
  }, 0)
}

/**
 * A pool's events and excess returns by day, and its share of returns above 0. The calendar has each day with a base
 * bar of a ticker with events.
 */
export function cellWithHitRate(pool: EventPool): { cell: CalendarCell; hit: ShareInterval } {
  const { base, bars, returns, members, eventStart } = pool
  const { timeline, tickers, horizon } = base
  const isBase = baseDays(pool)
  const calendar = timeline.days.filter((_, index) => isBase[index] === 1)
  // For each index of the timeline, the index of its day in the calendar.
  const calendarIndices = indicesIn(calendar, timeline.days)
  const events = new Float64Array(calendar.length)
  const excess = new Float64Array(calendar.length)
  const hits = new CalendarShare(calendar.length)
  let sum = 0
  members.forEach((tickerIndex, member) => {
    const timelineIndices = timeline.indices.get(tickers[tickerIndex]!)!
    const baseMean = base.mean[tickerIndex]!
    const baseHit = base.hit[tickerIndex]!
    for (let event = eventStart[member]!; event < eventStart[member + 1]!; event++) {
      const day = calendarIndices[timelineIndices[bars[event]!]!]!
      const value = returns[event]!
      events[day]! += 1
      excess[day]! += value - baseMean
      hits.add(day, Number(value > 0), baseHit)
      sum += value - baseMean
    }
  })
  const n = bars.length
  const cell = { horizon, calendar, series: { events, excess }, n, diff: sum / n }
  return { cell, hit: hits.interval(horizon) }
}

/**
 * The portfolio that holds each event for the horizon, and the range of the timeline in which it could hold something.
 * The range is from the first base bar of its tickers to the end of their last window.
 */
export function holdingsOf({ base, members, eventStart, bars }: EventPool): {
  holdings: CalendarTime
  span: { from: number; to: number }
} {
  const { timeline, tickers, horizon } = base
  const span = { from: timeline.days.length, to: 0 }
  const holders = members.map((tickerIndex, member) => {
    const { days, prices } = tickers[tickerIndex]!
    const indices = timeline.indices.get(tickers[tickerIndex]!)!
    const lastHeldBar = Math.min(base.lastBaseBar[tickerIndex]! + horizon, indices.length - 1)
    span.from = Math.min(span.from, indices[base.firstBaseBar[tickerIndex]!]!)
    span.to = Math.max(span.to, indices[lastHeldBar]! + 1)
    const events = bars.subarray(eventStart[member], eventStart[member + 1])
    return { days, close: prices.series.close, events, base: null, indices }
  })
  return { holdings: calendarTime(timeline.days, holders, horizon), span }
}
