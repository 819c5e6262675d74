import { indicesIn, isConsecutive } from '../../core/model/calendar.js'
import { countOverlap } from '../../core/statistics/counts.js'
import { CalendarShare, type ShareInterval } from '../../core/statistics/shares.js'
import type { CalendarCell } from '../study/cell.js'
import { forwardReturns, returnAfter } from '../study/signals.js'
import { type CalendarTime, calendarTime } from '../study/subject.js'
import { type BarMask, barsWithBand, type Condition, type TickerData, type Timeline } from './ticker-data.js'

/**
 * The base bars of some tickers: those that count for a field and a horizon and whose window has elapsed. The same for
 * all cells of the field and horizon. Columns are by ticker.
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
  first: Int32Array
  last: Int32Array
  /** Tickers with the same number have the same base days, without gaps. */
  dayGroups: Int32Array
}

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
  const first = new Int32Array(length)
  const last = new Int32Array(length)
  const dayGroups = new Int32Array(length)
  const groupsByCalendar = new Map<Int32Array, Map<number, number>>()
  const returns = new Float64Array(tickers.reduce((longest, data) => Math.max(longest, data.days.length), 0))
  let groupCount = 0
  tickers.forEach((data, i) => {
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
    mean[i] = sum / elapsed
    hit[i] = rises / elapsed
    first[i] = bars[0] ?? 0
    last[i] = bars[elapsed - 1] ?? 0
    if (!isConsecutive(bars.subarray(0, elapsed))) {
      dayGroups[i] = NO_GROUP
      return
    }
    // Tickers on one calendar whose bars have the same first and last have the same base days.
    const groupByRange = groupsByCalendar.get(indices) ?? new Map<number, number>()
    groupsByCalendar.set(indices, groupByRange)
    const range = first[i]! * indices.length + last[i]!
    dayGroups[i] = groupByRange.get(range) ?? groupCount++
    groupByRange.set(range, dayGroups[i]!)
  })
  return { field, horizon, mask, timeline, tickers, mean, hit, first, last, dayGroups }
}

/** 1 on each index of the timeline that is the day of a base bar of a ticker with events, otherwise 0. */
function baseDays({ base, members }: EventPool): Uint8Array {
  const { field, mask, timeline, tickers, first, last, dayGroups } = base
  const isBase = new Uint8Array(timeline.days.length)
  const markedGroups = new Set<number>()
  for (const tickerIndex of members) {
    const indices = timeline.indices.get(tickers[tickerIndex]!)!
    const dayGroup = dayGroups[tickerIndex]!
    if (dayGroup !== NO_GROUP) {
      if (markedGroups.has(dayGroup)) continue
      markedGroups.add(dayGroup)
      for (let bar = first[tickerIndex]!; bar <= last[tickerIndex]!; bar++) isBase[indices[bar]!] = 1
      continue
    }
    for (const bar of barsWithBand(tickers[tickerIndex]!, field)) {
      if (bar > last[tickerIndex]!) break
      const index = indices[bar]!
      if (mask === null || mask[index] === 1) isBase[index] = 1
    }
  }
  return isBase
}

/** The events of a condition on base bars, ticker by ticker; `lost` counts those on other bars. */
export interface EventPool {
  base: BaseBars
  /** Index of each ticker with events. */
  members: number[]
  /** The first event of each member, and the number of events. */
  first: number[]
  bars: Int32Array
  returns: Float64Array
  lost: number
}

/** The events of a condition on base bars; others are lost. @param from first ticker @param to the one after the last */
export function poolOf(base: BaseBars, condition: Condition, from = 0, to = base.tickers.length): EventPool {
  const { horizon, mask, timeline, tickers } = base
  const { group, prev_band, context } = condition
  let maxEvents = 0
  for (let i = from; i < to; i++) maxEvents += tickers[i]!.first[group + 1]! - tickers[i]!.first[group]!
  const eventBars = new Int32Array(maxEvents)
  const returns = new Float64Array(maxEvents)
  const members: number[] = []
  const starts: number[] = []
  let n = 0
  let lost = 0
  for (let i = from; i < to; i++) {
    const data = tickers[i]!
    const { bars, left, contexts, prices } = data
    const contextCodes = context === null ? null : contexts[context.contextIndex]!
    const indices = mask === null ? null : timeline.indices.get(data)!
    const firstEvent = n
    for (let row = data.first[group]!, end = data.first[group + 1]!; row < end; row++) {
      if (prev_band !== null && left[row] !== prev_band) continue
      if (contextCodes !== null && contextCodes[row] !== context!.band) continue
      const bar = bars[row]!
      const isCounted = indices === null || mask![indices[bar]!] === 1
      const value = isCounted ? returnAfter(prices, bar, horizon) : Number.NaN
      if (Number.isNaN(value)) {
        lost++
        continue
      }
      eventBars[n] = bar
      returns[n++] = value
    }
    if (n === firstEvent) continue
    members.push(i)
    starts.push(firstEvent)
  }
  return { base, members, first: [...starts, n], bars: eventBars.subarray(0, n), returns: returns.subarray(0, n), lost }
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
function sumOverEvents({ members, first }: EventPool, figures: Float64Array): number {
  const eventCount = (member: number): number => first[member + 1]! - first[member]!
  return members.reduce((sum, ticker, m) => sum + eventCount(m) * figures[ticker]!, 0)
}

/** The sums of positions in the events. A short one loses what its event gains. @param sign 1: long, -1: short */
export function sumsOfPosition(sums: Sums, sign: 1 | -1): Sums {
  const { returns, base, hits, falls } = sums
  return sign === 1 ? sums : { ...sums, returns: -returns, base: -base, hits: falls, falls: hits }
}

export function addSums(a: Sums, b: Sums): Sums {
  const { n, returns, hits, falls, base } = b
  return { n: a.n + n, returns: a.returns + returns, hits: a.hits + hits, falls: a.falls + falls, base: a.base + base }
}

/** The number of windows that share no bar, counted greedily and added up over the tickers. */
export function countNonOverlapping({ base, members, first, bars }: EventPool): number {
  const count = (m: number): number => countOverlap(bars.subarray(first[m], first[m + 1]), base.horizon).independent
  return members.reduce((sum, _, m) => sum + count(m), 0)
}

/** A pool's events day by day, and their hit rate. The calendar has each day with a base bar of a ticker with events. */
export function cellWithHitRate(pool: EventPool): { cell: CalendarCell; hit: ShareInterval } {
  const { base, bars, returns, members, first } = pool
  const { timeline, tickers, horizon } = base
  const isBase = baseDays(pool)
  const calendar = timeline.days.filter((_, index) => isBase[index] === 1)
  const calendarIndices = indicesIn(calendar, timeline.days)
  const events = new Float64Array(calendar.length)
  const excess = new Float64Array(calendar.length)
  const hits = new CalendarShare(calendar.length)
  let sum = 0
  members.forEach((tickerIndex, member) => {
    const indices = timeline.indices.get(tickers[tickerIndex]!)!
    const baseMean = base.mean[tickerIndex]!
    const baseHit = base.hit[tickerIndex]!
    for (let event = first[member]!; event < first[member + 1]!; event++) {
      const day = calendarIndices[indices[bars[event]!]!]!
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

/** The portfolio that holds each event for the horizon, and the range of days on which it could hold something. */
export function holdingsOf({ base, members, first, bars }: EventPool): {
  holdings: CalendarTime
  span: { from: number; to: number }
} {
  const { timeline, tickers, horizon } = base
  const span = { from: timeline.days.length, to: 0 }
  const holders = members.map((tickerIndex, member) => {
    const { days, prices } = tickers[tickerIndex]!
    const indices = timeline.indices.get(tickers[tickerIndex]!)!
    span.from = Math.min(span.from, indices[base.first[tickerIndex]!]!)
    span.to = Math.max(span.to, indices[Math.min(base.last[tickerIndex]! + horizon, indices.length - 1)]! + 1)
    const events = bars.subarray(first[member], first[member + 1])
    return { days, close: prices.series.close, events, base: null, indices }
  })
  return { holdings: calendarTime(timeline.days, holders, horizon), span }
}
