import { sortedColumn } from '../../core/indicators/rank.js'
import { daysAt, indicesIn, unionCalendar } from '../../core/model/calendar.js'
import { countUpTo, mondayOf } from '../../core/model/day.js'
import type { Series } from '../../core/model/series.js'
import type { Abnormal, StudyQuery } from '../../core/params/studies.js'
import { expandedTail } from '../../core/statistics/bootstrap.js'
import {
  abnormalEvent,
  abnormalReturns,
  averageCorrelation,
  bmp,
  corradoRank,
  cowanSign,
  crossSection,
  type DatedEvent,
  type EventTest,
  kolariPynnonen,
  marketModel,
  meanAbnormalReturn,
  meanAdjusted,
  NO_EVENT,
  noTest,
  patell,
  type ReturnModel,
} from '../../core/statistics/event-tests.js'
import { mean, quantile } from '../../core/statistics/moments.js'
import { sumMoves } from '../../core/statistics/moves.js'
import { effectiveUnits, independentUnits, type MemberBars, meanOverUnits, streamOf, type Unit } from './cell.js'
import {
  type AbnormalReturns,
  type EventStudy,
  LEAST_UNITS,
  type PathPoint,
  type TestResult,
  whyTooFew,
} from './result.js'
import { type CalendarTime, calendarTime, type StudyPrices, type Subject } from './subject.js'

/** Abnormal returns of events over one window, with the tests of the literature. */
export function abnormalOver(
  events: readonly ModelledEvent[],
  horizon: number,
  model: AbnormalReturns['model'],
  query: StudyQuery,
): AbnormalReturns {
  const complete: DatedEvent[] = []
  const lost = { too_early: 0, not_elapsed: 0, no_benchmark: 0 }
  for (const event of events) {
    const completeEvent = abnormalEventOver(event, horizon)
    if (completeEvent === null) lost[whyLost(event, horizon)]++
    else complete.push(completeEvent)
  }
  const n = complete.length
  const { car } = meanAbnormalReturn(complete)
  const disjointEvents = eventsSharingNoDay(complete)
  const noTestReason = n === 0 ? NO_EVENT : whyTooFew(n, disjointEvents.length, query)
  const tests = TESTS.map(test => {
    const usedEvents = test === JOINT_TEST ? complete : disjointEvents
    return runTest(test, noTestReason ?? usedEvents, n)
  })
  const benchmark = model === 'market' ? query.benchmark : null
  return { model, benchmark, n, lost, car, tests, reason: car === null ? NO_EVENT : null }
}

/** Events that share no day: the first by date and ticker, then each that begins after the last one has ended. */
function eventsSharingNoDay(events: readonly DatedEvent[]): DatedEvent[] {
  let lastDay = Number.NEGATIVE_INFINITY
  return events
    .toSorted((a, b) => a.eventDays[0]! - b.eventDays[0]!)
    .filter(({ eventDays }) => {
      if (eventDays[0]! <= lastDay) return false
      lastDay = eventDays.at(-1)!
      return true
    })
}

type Test = readonly [test: string, title: string, run: (events: readonly DatedEvent[]) => EventTest]

/** This test allows for events that share days, so it uses all events. The others assume independent events. */
const JOINT_TEST: Test = [
  'kolari_pynnonen',
  'Kolari-Pynnonen',
  events => kolariPynnonen(events, averageCorrelation(events)),
]

const TESTS: readonly Test[] = [
  JOINT_TEST,
  ['car', 'mean CAR (MacKinlay)', meanAbnormalReturn],
  ['cross_section', 'cross-section t', crossSection],
  ['patell', 'Patell', patell],
  ['bmp', 'Boehmer-Musumeci-Poulsen', bmp],
  ['corrado', 'Corrado rank', corradoRank],
  ['cowan', 'Cowan sign', cowanSign],
]

/**
 * The result of a test. Its name gives the number of events, if the test uses fewer than all.
 * @param events those that the test uses, or the reason why there is no test
 * @param allEvents the number of all events
 */
function runTest([test, title, run]: Test, events: readonly DatedEvent[] | string, allEvents: number): TestResult {
  if (typeof events === 'string') return { test, name: title, ...noTest(events) }
  const { statistic, df, p, reason } = run(events)
  const name = events.length === allEvents ? title : `${title}, ${events.length} events that share no day`
  return { test, name, statistic, df, p, reason }
}

/** Why `abnormalEventOver` is null for an event. */
function whyLost({ bar, days, lost }: ModelledEvent, horizon: number): keyof AbnormalReturns['lost'] {
  if (lost !== null) return lost
  return bar + horizon >= days.length ? 'not_elapsed' : 'no_benchmark'
}

/** Bars before the event on which a model is estimated, from `first` to `last`, both included (MacKinlay 1997). */
export const ESTIMATION = { first: 130, last: 11, bars: 120 }

interface Estimate {
  model: ReturnModel | null
  /** Why there is no model. */
  lost: 'too_early' | 'no_benchmark' | null
}

/** An event with the model of its ticker's normal return. */
export interface ModelledEvent extends Estimate {
  ticker: string
  bar: number
  days: Int32Array
  /** One value a bar of the ticker; NaN where unknown. */
  returns: Float64Array
  /** Returns of the benchmark; absent for the mean-adjusted model. */
  market?: Float64Array
}

/** The events of all subjects, each with a model of its ticker's normal return. @param benchmark of the market model */
export function modelledEvents(
  subjects: readonly Subject[],
  abnormal: Exclude<Abnormal, 'none'>,
  benchmark: Series | null,
): ModelledEvent[] {
  return subjects.flatMap(({ ticker, prices, signals }) => {
    const { days, close } = prices.series
    const returns = barReturns(close)
    const usesMarket = abnormal === 'market' && benchmark !== null
    const market = usesMarket ? { market: benchmarkReturns(benchmark, days) } : {}
    return Array.from(signals.bars, bar => {
      const event = { ticker, bar, days, returns, ...market }
      return { ...event, ...estimateModel(event) }
    })
  })
}

/**
 * The abnormal returns over the `horizon` bars after an event; null if one is in the future, or has no benchmark
 * return.
 */
function abnormalEventOver({ bar, days, returns, market, model }: ModelledEvent, horizon: number): DatedEvent | null {
  if (model === null || bar + horizon >= days.length) return null
  const from = bar + 1
  const to = bar + horizon + 1
  const marketReturns = market?.subarray(from, to)
  if (marketReturns !== undefined && hasGap(marketReturns)) return null
  return {
    ...abnormalEvent(model, returns.subarray(from, to), marketReturns),
    estimationDays: days.subarray(bar - ESTIMATION.first, bar - ESTIMATION.last + 1),
    eventDays: days.subarray(from, to),
  }
}

/**
 * The cumulative abnormal return at each bar from `before` bars before the event to `after` bars after it. It is 0 at
 * the event, and NaN where unknown.
 */
function abnormalPath({ bar, returns, market, model }: ModelledEvent, before: number, after: number): Float64Array {
  const path = new Float64Array(before + after + 1).fill(Number.NaN)
  if (model === null) return path
  const from = Math.max(0, bar - before)
  const to = Math.min(returns.length, bar + after + 1)
  const abnormal = abnormalReturns(model, returns.subarray(from, to), market?.subarray(from, to))
  const returnOf = (t: number): number => abnormal[t - from]!
  // The index in the path of bar `t` is `t - first`.
  const first = bar - before
  path[bar - first] = 0
  for (let t = bar + 1; t < to; t++) path[t - first] = path[t - 1 - first]! + returnOf(t)
  for (let t = bar - 1; t >= from; t--) path[t - first] = path[t + 1 - first]! - returnOf(t + 1)
  return path
}

/**
 * The model of an event, from the returns in the estimation period before it; null with the reason if any is missing.
 */
function estimateModel({ bar, returns, market }: Omit<ModelledEvent, keyof Estimate>): Estimate {
  const from = bar - ESTIMATION.first
  // The first bar of a ticker has no return.
  if (from < 1) return { model: null, lost: 'too_early' }
  const tickerReturns = returns.subarray(from, from + ESTIMATION.bars)
  if (market === undefined) return estimateOf(meanAdjusted(tickerReturns))
  const marketReturns = market.subarray(from, from + ESTIMATION.bars)
  if (hasGap(marketReturns)) return { model: null, lost: 'no_benchmark' }
  return estimateOf(marketModel(tickerReturns, marketReturns))
}

/** The estimate for a fitted model. A model is null if the estimation period has too few returns. */
function estimateOf(model: ReturnModel | null): Estimate {
  return { model, lost: model === null ? 'too_early' : null }
}

function hasGap(values: Float64Array): boolean {
  return values.some(Number.isNaN)
}

/** A close of the benchmark that is older, in days, says nothing about the market of the day. */
const OLDEST_DAYS = 7

/**
 * The benchmark's return over each bar of a calendar: from its last close by the previous bar to its last close by the
 * bar. It is 0 over a weekend on which the benchmark does not trade.
 * NaN on the first bar, after the benchmark's last bar, and where a close is older than a week (weekly: of another
 * week).
 */
function benchmarkReturns({ days, close, timeframe }: Series, calendar: Int32Array): Float64Array {
  const closes = Float64Array.from(calendar, day => {
    const index = countUpTo(days, day) - 1
    if (index < 0) return Number.NaN
    const closeDay = days[index]!
    const isAfterEnd = day > days.at(-1)!
    const isCurrentDaily = day - closeDay <= OLDEST_DAYS && !isAfterEnd
    const isCurrent = timeframe === 'weekly' ? mondayOf(closeDay) === mondayOf(day) : isCurrentDaily
    return isCurrent ? close[index]! : Number.NaN
  })
  return barReturns(closes)
}

/** Return over each bar, from the close before it; NaN on the first. */
function barReturns(close: Float64Array): Float64Array {
  const returns = new Float64Array(close.length).fill(Number.NaN)
  for (let t = 1; t < close.length; t++) returns[t] = close[t]! / close[t - 1]! - 1
  return returns
}

/** The portfolio that holds every event for the horizon, day by day. */
export interface EventPortfolio {
  portfolio: CalendarTime
  /** Return of the benchmark on each day of the portfolio, NaN where it has none; null without a benchmark. */
  benchmark: Float64Array | null
}

/**
 * The portfolio of all events, from the first base bar to the end of the last window of any ticker with events.
 * @param members in the order of the subjects
 */
export function eventPortfolio(
  subjects: readonly Pick<Subject, 'prices'>[],
  members: readonly MemberBars[],
  horizon: number,
  benchmark: Series | null,
): EventPortfolio {
  const joined = members.map(({ bars, events }, i) => ({ bars, events, ...subjects[i]!.prices.series }))
  const withEvents = joined.filter(({ events }) => events.length > 0)
  const heldDays = withEvents.map(({ days, bars }) => days.subarray(bars[0]!, bars.at(-1)! + horizon + 1))
  const calendar = unionCalendar(heldDays)
  const holders = withEvents.map(({ days, close, bars, events }) => {
    return { days, close, events: events.map(i => bars[i]!), base: meanBarReturn(close, bars) }
  })
  const portfolio = calendarTime(calendar, holders, horizon)
  return { portfolio, benchmark: benchmark === null ? null : benchmarkReturns(benchmark, calendar) }
}

/** Mean return of one bar, from the close of a base bar to the next close. */
function meanBarReturn(close: Float64Array, bars: Int32Array): number {
  let sum = 0
  let n = 0
  for (const bar of bars) {
    if (bar + 1 >= close.length) continue
    sum += close[bar + 1]! / close[bar]! - 1
    n++
  }
  return n === 0 ? 0 : sum / n
}

/** A ticker with its events, and their indices on the common calendar. */
interface PathMember {
  prices: StudyPrices
  bars: Int32Array
  indices: Int32Array
  /** By point of the path: the mean move from the closes of all base bars. */
  baseMoves: Float64Array
}

/** Returns a function for the points of the average path from one bar to another, counted from the events. */
export function pathComputer(
  subjects: readonly Subject[],
  modelled: readonly ModelledEvent[],
  query: Pick<StudyQuery, 'path' | 'resamples' | 'seed'>,
): (from: number, to: number) => PathPoint[] {
  const { before, after } = query.path
  const withEvents = subjects.filter(({ signals }) => signals.bars.length > 0)
  const calendar = unionCalendar(withEvents.map(({ prices }) => prices.series.days))
  const eventDays = withEvents.map(({ prices, signals }) => daysAt(prices.series.days, signals.bars))
  const indices = eventDays.map(days => indicesIn(calendar, days))
  const abnormal = modelled.map(event => abnormalPath(event, before, after))
  return (from, to) => {
    const points = to - from + 1
    // One column, because thousands of small ones take more memory.
    const allBaseMoves = new Float64Array(points * withEvents.length)
    const members = withEvents.map(({ prices, eligible, signals: { bars } }, i): PathMember => {
      const baseMoves = allBaseMoves.subarray(points * i, points * (i + 1))
      fillMeanMoves(prices, eligible, from, baseMoves)
      return { prices, bars, indices: indices[i]!, baseMoves }
    })
    return Array.from({ length: points }, (_, i) => {
      const knownReturns = abnormal.map(path => path[before + from + i]!).filter(value => !Number.isNaN(value))
      return { ...pathPoint(members, calendar.length, i, from + i, query), abnormal: mean(knownReturns) }
    })
  }
}

/**
 * A point of the average path: the moves from the closes of the events to one bar.
 * @param days the number of days of the common calendar
 * @param pointIndex index of the point in the members' `baseMoves`
 * @param bar counted from the events
 */
function pathPoint(
  members: readonly PathMember[],
  days: number,
  pointIndex: number,
  bar: number,
  { resamples, seed }: Pick<StudyQuery, 'resamples' | 'seed'>,
): Omit<PathPoint, 'abnormal'> {
  const movesByDay = { events: new Float64Array(days), excess: new Float64Array(days) }
  const values = new Float64Array(members.reduce((sum, { bars }) => sum + bars.length, 0))
  let n = 0
  let weightedBase = 0
  for (const { prices, bars, indices, baseMoves } of members) {
    const eventsBefore = n
    for (let i = 0; i < bars.length; i++) {
      const move = moveBy(prices, bars[i]!, bar)
      if (Number.isNaN(move)) continue
      values[n++] = move
      movesByDay.events[indices[i]!]! += 1
      movesByDay.excess[indices[i]!]! += move
    }
    // Each ticker weighs in the base by its events that reach this bar.
    if (n > eventsBefore) weightedBase += (n - eventsBefore) * baseMoves[pointIndex]!
  }
  const moves = values.subarray(0, n)
  const ascending = sortedColumn(moves, moves)
  // Groups of events that share no day.
  const units = independentUnits(movesByDay, Math.max(1, Math.abs(bar)))
  return {
    bar,
    n,
    mean: mean(ascending),
    median: quantile(ascending, 0.5),
    p25: quantile(ascending, 0.25),
    p75: quantile(ascending, 0.75),
    ...meanInterval(units, resamples, seed, bar),
    base: n === 0 ? null : weightedBase / n,
  }
}

/** No path begins earlier. Random streams are numbered from this bar, because a stream's number is not negative. */
const FIRST_BAR = -1000

/** 95 % interval of the mean move at a bar, from draws of units that share no day; null with too few units. */
function meanInterval(units: readonly Unit[], resamples: number, seed: number, bar: number) {
  if (units.length < LEAST_UNITS) return { low: null, high: null }
  // Every draw of moves from the event to itself has the mean 0.
  if (bar === 0) return { low: 0, high: 0 }
  const random = streamOf(seed, 'path', bar - FIRST_BAR)
  const drawn = new Int32Array(units.length)
  const means = new Float64Array(resamples)
  for (let draw = 0; draw < resamples; draw++) {
    for (let i = 0; i < drawn.length; i++) drawn[i] = random.below(units.length)
    means[draw] = meanOverUnits(units, drawn)
  }
  means.sort()
  const tail = expandedTail(effectiveUnits(units))
  return { low: quantile(means, tail), high: quantile(means, 1 - tail) }
}

/** The average path around the events that enter one band, and their number. @param code of the band: its index */
export function bandPathOf(
  subjects: readonly Pick<Subject, 'prices' | 'states' | 'byBand'>[],
  { path: { before, after } }: Pick<StudyQuery, 'path'>,
  code: number,
): EventStudy['band_paths'][number] {
  const length = before + after + 1
  const sums = new Float64Array(length)
  const counts = new Int32Array(length)
  // The moves of one ticker; the next ticker overwrites them. `counts` has one more, for changes after the last point.
  const moves = { sums: new Float64Array(length), counts: new Int32Array(length + 1) }
  for (const { prices, byBand } of subjects) {
    if (byBand[code]!.length === 0) continue
    fillMoves(prices, byBand[code]!, -before, moves)
    for (let i = 0; i < length; i++) {
      sums[i]! += moves.sums[i]!
      counts[i]! += moves.counts[i]!
    }
  }
  const means = Array.from(sums, (sum, i) => (counts[i] === 0 ? null : sum / counts[i]!))
  const n = subjects.reduce((sum, { byBand }) => sum + byBand[code]!.length, 0)
  return { band: subjects[0]!.states.bands[code]!, n, mean: means }
}

/** Mean of `moveBy` over some bars, for each point of a path. @param from the first point @param means overwritten */
function fillMeanMoves(prices: StudyPrices, bars: Int32Array, from: number, means: Float64Array): void {
  const counts = new Int32Array(means.length + 1)
  fillMoves(prices, bars, from, { sums: means, counts })
  for (let i = 0; i < means.length; i++) means[i]! /= counts[i]!
}

/** Sum and number of moves, by point of a path. `counts` has one element more, of no meaning. */
interface Moves {
  sums: Float64Array
  counts: Int32Array
}

/**
 * Adds up the moves from the closes of some bars to each point of a path, and counts the known ones.
 * @param from the first point, in bars counted from the event
 * @param moves overwritten
 */
function fillMoves({ series: { close }, delisting }: StudyPrices, bars: Int32Array, from: number, moves: Moves): void {
  const { sums, counts } = moves
  const to = from + sums.length - 1
  sumMoves(close, bars, from, sums)
  // First the changes of the count: +1 at the first known point of each bar, -1 after the last. Then their running sum.
  counts.fill(0)
  for (let i = 0; i < bars.length; i++) {
    const bar = bars[i]!
    const firstKnown = Math.max(from, -bar)
    const lastWithBar = Math.min(to, close.length - 1 - bar)
    if (delisting !== null)
      for (let point = Math.max(firstKnown, lastWithBar + 1); point <= to; point++)
        sums[point - from]! += delisting.price / close[bar]! - 1
    const lastKnown = delisting === null ? lastWithBar : to
    if (firstKnown > lastKnown) continue
    counts[firstKnown - from]!++
    counts[lastKnown + 1 - from]!--
  }
  for (let i = 1; i < sums.length; i++) counts[i]! += counts[i - 1]!
}

/** The move from a bar's close over `by` bars, also backwards, up to the price of a delisting; NaN beyond the bars. */
function moveBy({ series: { close }, delisting }: StudyPrices, bar: number, by: number): number {
  const to = bar + by
  if (to < 0) return Number.NaN
  const price = to < close.length ? close[to]! : (delisting?.price ?? Number.NaN)
  return price / close[bar]! - 1
}
