import { isConsecutive } from '../../core/model/calendar.js'
import { countBelow, dayOf, yearOf } from '../../core/model/day.js'
import type { StudyQuery } from '../../core/params/studies.js'
import {
  bca,
  expandedTail,
  politisWhite,
  type Resampling,
  stationaryRatioInterval,
} from '../../core/statistics/bootstrap.js'
import { twoSidedNormal, twoSidedT } from '../../core/statistics/distributions.js'
import { mean, quantile, sum } from '../../core/statistics/moments.js'
import type { Random } from '../../core/statistics/random.js'
import {
  automaticLag,
  clusterByBlock,
  effectiveBlocks,
  hansenHodrick,
  naiveT,
  neweyWest,
  neweyWestAlpha,
  type RatioError,
  ratioError,
} from '../../core/statistics/robust.js'
import { jointShift, type ShiftOptions } from '../../core/statistics/shift.js'
import { CELL_TEST } from '../trials.js'
import type { EventPortfolio } from './abnormal.js'
import {
  type CalendarCell,
  type Cell,
  calendarSeries,
  effectiveUnits,
  fewUnits,
  independentUnits,
  meanOverUnits,
  streamOf,
  type Unit,
} from './cell.js'
import { type Interval, LEAST_UNITS, type StudyWindow, type TestResult } from './result.js'

type SamplingOptions = Pick<StudyQuery, 'seed' | 'reps' | 'resamples'>

/** The intervals of the difference. @param tooFewReason why there is none (too few events); null if there may be one */
export function intervalsOf(
  cell: Cell,
  { seed, resamples: reps }: SamplingOptions,
  tooFewReason: string | null,
): Interval[] {
  if (tooFewReason !== null) return [noInterval('stationary bootstrap', tooFewReason), noInterval('bca', tooFewReason)]
  const { horizon } = cell
  return [
    stationaryInterval(cell, { reps, random: streamOf(seed, 'bootstrap', horizon) }),
    unitInterval(cell, { reps, random: streamOf(seed, 'bca', horizon) }),
  ]
}

/** The tests of the difference, the default one first. @param tooFewReason why there is none; null if there may be */
export function testsOf(
  cell: Cell,
  portfolio: EventPortfolio,
  query: StudyQuery,
  tooFewReason: string | null,
): TestResult[] {
  const { horizon, members } = cell
  const { events, excess } = cell.series
  const shiftOptions = () => ({ reps: query.reps, random: streamOf(query.seed, 'shift', horizon) })
  const tests: [test: TestKey, run: () => TestResult, isQueried: boolean][] = [
    [DEFAULT_TEST, () => defaultTest(cell), true],
    ['shift', () => plainShiftTest(cell, shiftOptions()), true],
    ['hansen_hodrick', () => hansenHodrickTest(cell), query.hansen_hodrick],
    ['cluster', () => tTest('cluster', clusterByBlock(excess, events, horizon), ONE_CLUSTER), true],
    ['calendar_time', () => tTest('calendar_time', calendarTimeStatistic(portfolio), FEW_DAYS), true],
    // The textbook t, as if all excess returns were independent.
    ['naive', () => tTest('naive', naiveT(excessOf(members)), NO_VARIANCE), query.naive],
  ]
  return tests
    .filter(([, , isQueried]) => isQueried)
    .map(([test, run]) => (tooFewReason === null ? run() : noTest(test, tooFewReason)))
}

/** The excess return of each event over its ticker's base. */
function excessOf(members: Cell['members']): number[] {
  return members.flatMap(({ events, returns, base }) => Array.from(events, i => returns[i]! - base))
}

/** Random entries for the events of a cell. @param tooFewReason why there is none; null if there may be one */
export function randomEntries(
  cell: Cell,
  { seed, reps, resamples }: SamplingOptions,
  tooFewReason: string | null,
): RandomEntry {
  if (tooFewReason !== null) return noDraws(cell, tooFewReason)
  return randomEntry(cell, reps === 'all' ? resamples : reps, streamOf(seed, 'random_entry', cell.horizon))
}

/** The names that people read. */
const TEST_NAMES = {
  newey_west: 'Newey-West t, effective clusters',
  shift: 'plain joint circular shift (takes volatile days for days like others)',
  hansen_hodrick: 'Hansen-Hodrick',
  cluster: 'clusters of dates',
  calendar_time: 'calendar-time portfolio',
  naive: 'naive t (takes overlapping windows for independent)',
} as const

type TestKey = keyof typeof TEST_NAMES

/** The test behind every P and Q of studies and sweeps. */
const DEFAULT_TEST = CELL_TEST satisfies TestKey

/**
 * The default test: Newey and West's t of the difference with lag `horizon` - 1. It uses Student's t; the degrees of
 * freedom are the effective number of clusters (`effectiveBlocks`) less one. No p where all events lie in one cluster.
 */
export function defaultTest({ horizon, series: { events, excess } }: CalendarCell): TestResult {
  return tTest(DEFAULT_TEST, neweyWest(excess, events, horizon - 1), ONE_CLUSTER)
}

/** The joint circular shift of the difference. It treats the days of the events like other days. */
function plainShiftTest({ members, calendar, horizon }: Cell, options: ShiftOptions): TestResult {
  const result = jointShift(members, calendar.length, horizon, options)
  if ('reason' in result) return noTest('shift', result.reason)
  const { diff: statistic, p, shifts } = result
  return { test: 'shift', name: `${TEST_NAMES.shift}, ${shifts} shifts`, statistic, df: null, p, reason: null, shifts }
}

function hansenHodrickTest({ series, horizon }: Cell): TestResult {
  const estimate = hansenHodrick(series.excess, series.events, horizon - 1)
  const result = tTest('hansen_hodrick', estimate, ONE_CLUSTER)
  return estimate?.fallback ? { ...result, name: `${result.name} (its variance is negative: Newey-West)` } : result
}

/**
 * The t of the mean daily return of all open positions, less the mean return of their tickers' bars. With a benchmark:
 * the t of the alpha of the regression on it. Null with too few days, or without variance.
 * Newey-West with the automatic lag 4 (n / 100)^(2/9) (Newey & West 1994), because returns of different days share no
 * bar.
 */
function calendarTimeStatistic({ portfolio, benchmark }: EventPortfolio): { t: number; df: null } | null {
  const { open, sum, excess } = portfolio
  const isCounted = (day: number): boolean => open[day]! > 0 && !Number.isNaN(benchmark?.[day] ?? 0)
  const days = Int32Array.from(open.keys()).filter(isCounted)
  const lag = automaticLag(days.length)
  const onDays = (valueOn: (day: number) => number): Float64Array => Float64Array.from(days, valueOn)
  const excessReturns = onDays(day => excess[day]! / open[day]!)
  const returns = onDays(day => sum[day]! / open[day]!)
  const ones = onDays(() => 1)
  const market = benchmark === null ? null : onDays(day => benchmark[day]!)
  const estimate = market === null ? neweyWest(excessReturns, ones, lag) : neweyWestAlpha(returns, market, lag)
  return estimate === null ? null : { t: estimate.t, df: null }
}

function noTest(test: TestKey, reason: string): TestResult {
  return { test, name: TEST_NAMES[test], statistic: null, df: null, p: null, reason }
}

const ONE_CLUSTER = 'all events lie in one cluster of dates, or all excess returns are 0'

const NO_VARIANCE = 'the excess returns do not vary'

const FEW_DAYS = 'the days with a position are too few, or their returns do not vary'

/**
 * The result of a test from its t. The p is that of Student's t, or of the normal distribution if `df` is null.
 * @param estimate null if there is no test
 * @param reason why `estimate` is null
 */
function tTest(test: TestKey, estimate: { t: number; df: number | null } | null, reason: string): TestResult {
  if (estimate === null) return noTest(test, reason)
  const { t, df } = estimate
  const p = df === null ? twoSidedNormal(t) : twoSidedT(t, df)
  return { test, name: TEST_NAMES[test], statistic: t, df, p, reason: null }
}

/**
 * 95 % interval of the difference, the mean excess return of the events, by the stationary bootstrap of the calendar
 * (Politis & Romano 1994). Its ends are null where it has none, with the reason.
 */
export function stationaryInterval(cell: Cell, resampling: Resampling): Interval {
  const blocks = bootstrapBlocks(cell)
  if (blocks === null) return noInterval('stationary bootstrap', 'one stretch of time has most of the events')
  const { events, excess } = cell.series
  const ends = stationaryRatioInterval(excess, events, { ...resampling, ...blocks })
  if (ends === null) return noInterval('stationary bootstrap', 'all events lie on one day')
  const { low, high } = ends
  return { method: 'stationary bootstrap', level: 0.95, low, high, block: blocks.block, units: null, reason: null }
}

/** Fewer blocks say nothing about variation. */
const FEWEST_BLOCKS = 2

/**
 * Settings of a cell's stationary bootstrap. The mean block is the horizon, or Politis and White's choice for the
 * influence of each day, where that is longer. `excess` has the events' returns above the base, summed by day, and
 * `diff` is their mean for one event. The fewer effective blocks, the smaller is the probability `tail` beyond each end
 * of an interval: plain percentiles are too narrow.
 * @returns null below two effective blocks: one block has most of the events
 */
export function bootstrapBlocks({ horizon, series, diff }: CalendarCell): { block: number; tail: number } | null {
  const { events, excess } = series
  const blocks = effectiveBlocks(events, horizon)
  if (blocks < FEWEST_BLOCKS) return null
  const influence = excess.map((sum, day) => sum - diff * events[day]!)
  return { block: Math.max(horizon, politisWhite(influence)), tail: expandedTail(blocks) }
}

/**
 * 95 % interval of the difference by the BCa bootstrap (Efron 1987) of independent units. Overlapping windows and
 * tickers that move together are not independent, so units of events that share no day are drawn.
 * Its ends are moved out, because percentiles of few units are too narrow. With very uneven units the interval remains
 * too narrow. To leave it out there would bias the rest, because clustering depends on the later returns.
 */
function unitInterval({ horizon, series }: Cell, resampling: Resampling): Interval {
  const units = independentUnits(series, horizon)
  if (units.length < LEAST_UNITS) return noInterval('bca', fewUnits(units.length))
  const indices = Float64Array.from(units.keys())
  const tail = expandedTail(effectiveUnits(units))
  const ends = bca(indices, drawn => meanOverUnits(units, drawn), { ...resampling, tail })
  if (ends === null) return noInterval('bca', 'no resample differs from another')
  return { method: 'bca', level: 0.95, ...ends, block: null, units: units.length, reason: null }
}

function noInterval(method: Interval['method'], reason: string): Interval {
  return { method, level: 0.95, low: null, high: null, block: null, units: null, reason }
}

/** Entries at random dates, as many in each ticker as there are events. */
type RandomEntry = StudyWindow['random_entry']

/**
 * Compares the mean return after the events with that of random entries. In each draw, every unit of events begins on a
 * random day of the calendar, drawn without replacement. Events of one unit are moved together: drawn one by one they
 * would share fewer bars and vary less by chance.
 *
 * Each mean, less the mean of all draws, is divided by its own Newey-West error. Events in volatile times vary more
 * than draws do, so plain means find too much. p is two-sided and counts the events as a draw (Davison & Hinkley 1997).
 *
 * The calendar year is not fixed, because it contains the fall that led to an event. On a random walk, events would
 * beat entries of their own year.
 */
export function randomEntry(cell: Cell, draws: number, random: Random): RandomEntry {
  const units = independentUnits(cell.series, cell.horizon)
  if (units.length < LEAST_UNITS) return noDraws(cell, fewUnits(units.length))
  const drawn = meansOfDraws(cell, units, draws, random)
  if (drawn.length === 0)
    return noDraws(cell, draws === 0 ? 'none were asked for' : 'no draw lands where there is a return')
  // Sorted, so that the sum does not depend on the order of the draws.
  const means = Float64Array.from(drawn, ({ mean }) => mean).sort()
  const centre = mean(means)!
  const chance = chanceOfDraws(drawn, centre, eventMeanOf(cell))
  const reason = chance.p === null ? 'the returns after the events do not vary' : null
  return { draws: means.length, mean: centre, ...chance, year_matched: yearMatchedMean(cell), reason }
}

/** The result without draws. */
function noDraws(cell: Cell, reason: string): RandomEntry {
  const year_matched = cell.n === 0 ? null : yearMatchedMean(cell)
  return { draws: 0, mean: null, low: null, high: null, p: null, year_matched, reason }
}

/** Sums of returns and their counts, by day of the calendar. */
interface Entries {
  sums: Float64Array
  counts: Float64Array
}

/** The mean return of each draw of random entries, with its error; draws without any return are left out. */
function meansOfDraws(cell: Cell, units: readonly Unit[], draws: number, random: Random): RatioError[] {
  const days = Int32Array.from(cell.calendar.keys())
  const addUnit = unitAdder(cell)
  const entries: Entries = { sums: new Float64Array(days.length), counts: new Float64Array(days.length) }
  const means: RatioError[] = []
  for (let draw = 0; draw < draws; draw++) {
    entries.sums.fill(0)
    entries.counts.fill(0)
    for (let i = 0; i < units.length; i++) {
      // Fisher-Yates shuffle, stopped after the needed number. The next draw continues from this order.
      const chosen = i + random.below(days.length - i)
      const day = days[chosen]!
      days[chosen] = days[i]!
      days[i] = day
      addUnit(units[i]!, day, entries)
    }
    const meanOfDraw = ratioError(entries.sums, entries.counts, cell.horizon)
    if (meanOfDraw.n > 0) means.push(meanOfDraw)
  }
  return means
}

/**
 * Returns a function that moves a unit of events to another first day, and adds the returns that follow there. Days
 * beyond the end of the calendar go on at its start.
 */
function unitAdder({ members, calendar }: Cell) {
  const size = calendar.length
  const { inPlace, filled, rowStarts, firstDays, lastDays, eventEnds } = returnsByDay(members, size)
  const returnAfterDay = (event: number, day: number): number => {
    if (day < firstDays[event]! || day > lastDays[event]!) return Number.NaN
    const rowStart = rowStarts[event]!
    // A negative row start is in `filled`: see returnsByDay.
    return rowStart >= 0 ? inPlace[rowStart + day - size]! : filled[~rowStart + day]!
  }
  return (unit: Unit, newFirstDay: number, { sums, counts }: Entries): void => {
    for (let day = unit.from; day <= unit.to; day++) {
      const newDay = (newFirstDay + day - unit.from) % size
      for (let event = day === 0 ? 0 : eventEnds[day - 1]!; event < eventEnds[day]!; event++) {
        const value = returnAfterDay(event, newDay)
        if (Number.isNaN(value)) continue
        sums[newDay]! += value
        counts[newDay]!++
      }
    }
  }
}

/**
 * A row of returns for each ticker, by calendar day from its first to its last return, and the row of each event. A
 * ticker without a gap has its row in `inPlace`, the buffer of its returns. The others have a copy in `filled`, NaN in
 * the gaps. A row start says where the row has day 0. In `inPlace` it is the index plus `size`, never negative. In
 * `filled` it is the bitwise complement of the index, always negative.
 * @param size the number of days of the calendar
 */
function returnsByDay(members: Cell['members'], size: number) {
  const { buffer } = members[0]!.returns
  let withGaps = 0
  const memberRowStarts = members.map(({ returns, indices }) => {
    if (returns.buffer !== buffer || !isConsecutive(indices)) return ~(withGaps++ * size)
    return returns.byteOffset / returns.BYTES_PER_ELEMENT - indices[0]! + size
  })
  const filled = new Float64Array(withGaps * size).fill(Number.NaN)
  members.forEach(({ indices, returns }, member) => {
    const rowStart = ~memberRowStarts[member]!
    if (rowStart >= 0) for (let i = 0; i < indices.length; i++) filled[rowStart + indices[i]!] = returns[i]!
  })
  return { inPlace: new Float64Array(buffer), filled, ...eventsByDay(members, memberRowStarts, size) }
}

/**
 * The events of all members as columns, sorted by day by counting, and for each day the index after its last event. An
 * event has the start of its member's row of returns, and the first and last day of that row.
 * @param size the number of days of the calendar
 */
function eventsByDay(members: Cell['members'], memberRowStarts: readonly number[], size: number) {
  const eventEnds = new Int32Array(size)
  // First the number of events of each day, then their sums.
  for (const { indices, events } of members) for (const event of events) eventEnds[indices[event]!]!++
  for (let day = 1; day < size; day++) eventEnds[day]! += eventEnds[day - 1]!
  const count = eventEnds[size - 1]!
  const rowStarts = new Int32Array(count)
  const firstDays = new Int32Array(count)
  const lastDays = new Int32Array(count)
  // Where the next event of each day is stored: at first after all events of the days before.
  const next = new Int32Array(size)
  next.set(eventEnds.subarray(0, -1), 1)
  members.forEach(({ indices, events }, member) => {
    for (const event of events) {
      const at = next[indices[event]!]!++
      rowStarts[at] = memberRowStarts[member]!
      firstDays[at] = indices[0]!
      lastDays[at] = indices.at(-1)!
    }
  })
  return { eventEnds, rowStarts, firstDays, lastDays }
}

/** A smaller difference is rounding: sums in another order differ in the last digits. */
const ROUNDING = 1e-12

/** Distance of a mean from the centre, in its own errors. A mean without variation lies infinitely far. */
function errorsFrom(centre: number, { mean, error }: RatioError): number {
  const distance = Math.abs(mean - centre)
  if (error > ROUNDING) return distance / error
  return distance > ROUNDING ? Number.POSITIVE_INFINITY : 0
}

/**
 * `p` is the share of draws, the events included, that lie as far from the centre as the events do, each in its own
 * errors. From `low` to `high` lie 95 % of the draws, if they varied as the events do. All are null where the returns
 * after the events do not vary.
 */
function chanceOfDraws(
  drawn: readonly RatioError[],
  centre: number,
  eventMean: RatioError,
): Pick<RandomEntry, 'p' | 'low' | 'high'> {
  if (eventMean.error <= ROUNDING) return { p: null, low: null, high: null }
  const distances = Float64Array.from(drawn, draw => errorsFrom(centre, draw)).sort()
  const eventDistance = errorsFrom(centre, eventMean) - ROUNDING
  const p = (1 + distances.filter(value => value >= eventDistance).length) / (1 + distances.length)
  const margin = (quantile(distances, 0.95) ?? Number.NaN) * eventMean.error
  return Number.isFinite(margin) ? { p, low: centre - margin, high: centre + margin } : { p, low: null, high: null }
}

/** The mean return after the events, and its Newey-West error. */
function eventMeanOf({ members, calendar, horizon }: Cell): RatioError {
  const withoutBase = members.map(member => ({ ...member, base: 0 }))
  const { excess, events } = calendarSeries(withoutBase, calendar.length)
  return ratioError(excess, events, horizon)
}

/**
 * The mean over the events of the mean return after all base bars of their ticker in their calendar year. `events` are
 * indices into the base bars. `indices` and `returns` have one value for each base bar: the index of its day on the
 * calendar, and the return after it.
 */
function yearMatchedMean({ members, calendar, n }: Cell): number {
  let total = 0
  for (const { indices, returns, events } of members) {
    let next = 0
    // Each round takes the events of one year.
    while (next < events.length) {
      const year = yearOf(calendar[indices[events[next]!]!]!)
      const from = countBelow(indices, countBelow(calendar, dayOf(year, 1, 1)!))
      const to = countBelow(indices, countBelow(calendar, dayOf(year + 1, 1, 1)!))
      const first = next
      while (next < events.length && events[next]! < to) next++
      // In this order of operations, which decides the last digit.
      total += ((next - first) * sum(returns.subarray(from, to))) / (to - from)
    }
  }
  return total / n
}
