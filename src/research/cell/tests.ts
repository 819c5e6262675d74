import { twoSidedNormal, twoSidedT } from '../../statistics/distributions.js'
import {
  clusterByBlock,
  effectiveBlocks,
  hansenHodrick,
  naiveT,
  neweyWest,
  neweyWestAlpha,
} from '../../statistics/robust.js'
import { jointShift, type ShiftOptions } from '../../statistics/shift.js'
import { studentisedShift } from '../../statistics/studentised-shift.js'
import type { TestResult } from '../study/result.js'
import type { Cell } from './cell.js'
import type { CalendarTime } from './portfolio.js'

/** What each test is called, for people. */
export const TEST_NAMES = {
  shift: 'joint circular shift',
  shift_studentised: 'studentised joint circular shift',
  newey_west: 'Newey-West',
  hansen_hodrick: 'Hansen-Hodrick',
  cluster: 'clusters of dates',
  calendar_time: 'calendar-time portfolio',
  naive: 'naive t (takes overlapping windows for independent)',
} as const

export type TestKey = keyof typeof TEST_NAMES

/** The default test: its statistic is the difference, its p the share of rotations that differ as much. */
export function shiftTest({ members, calendar, horizon }: Cell, options: ShiftOptions): TestResult {
  const found = jointShift(members, calendar.length, horizon, options)
  if ('reason' in found) return noTest('shift', found.reason)
  return shifted('shift', found.diff, found)
}

/**
 * The same of t, Newey-West's below: allows for events in volatile times, whose own days the plain shift takes for days
 * like others. None where all events lie in one cluster of dates, whose spread nothing tells.
 */
export function studentisedShiftTest({ members, calendar, horizon, series }: Cell, options: ShiftOptions): TestResult {
  const test = 'shift_studentised'
  if (effectiveBlocks(series.events, horizon) <= ONE_BLOCK) return noTest(test, ONE_CLUSTER)
  const found = studentisedShift(members, calendar.length, horizon, options)
  return 'reason' in found ? noTest(test, found.reason) : shifted(test, found.t, found)
}

/**
 * t of the calendar series with the Newey-West error of lag h - 1; p of Student's t with one degree of freedom less than
 * blocks of `horizon` days of equal size that the events amount to, as of the clusters below.
 */
export function neweyWestTest({ series, horizon }: Cell): TestResult {
  const found = neweyWest(series.excess, series.events, horizon - 1)
  return found === null ? noTest('newey_west', ONE_CLUSTER) : tTest('newey_west', found)
}

export function hansenHodrickTest({ series, horizon }: Cell): TestResult {
  const found = hansenHodrick(series.excess, series.events, horizon - 1)
  if (found === null) return noTest('hansen_hodrick', ONE_CLUSTER)
  const result = tTest('hansen_hodrick', found)
  if (!found.fallback) return result
  return { ...result, name: `${result.name} (its variance is negative: Newey-West)` }
}

/** One-way clusters of `horizon` consecutive days; t with one degree of freedom less than such clusters of equal size. */
export function clusterTest({ series, horizon }: Cell): TestResult {
  const found = clusterByBlock(series.excess, series.events, horizon)
  if (found === null) return noTest('cluster', ONE_CLUSTER)
  return tTest('cluster', found)
}

/** The textbook t of all excess returns as if they were independent. */
export function naiveTest({ members }: Cell): TestResult {
  const found = naiveT(members.flatMap(({ events, excess }) => Array.from(events, i => excess[i]!)))
  return found === null ? noTest('naive', NO_VARIANCE) : tTest('naive', found)
}

/**
 * Mean daily return of all open positions over the days that have any: less what their tickers earn on any bar, or, with
 * a benchmark, the alpha of the regression on it. Newey-West with the automatic lag 4 (n / 100)^(2/9) (Newey & West 1994),
 * because returns of different days share no bar.
 * @param benchmark its return on each day of the calendar, NaN where it has none; null without one
 */
export function calendarTimeTest({ open, sum, excess }: CalendarTime, benchmark: Float64Array | null): TestResult {
  const days = open.reduce<number[]>((held, positions, day) => {
    if (positions > 0 && !Number.isNaN(benchmark?.[day] ?? 0)) held.push(day)
    return held
  }, [])
  const lag = Math.floor(4 * (days.length / 100) ** (2 / 9))
  const mean = (total: Float64Array): Float64Array => Float64Array.from(days, day => total[day]! / open[day]!)
  if (benchmark === null) return calendarTest(neweyWest(mean(excess), mean(open), lag))
  const found = neweyWestAlpha(
    mean(sum),
    Float64Array.from(days, day => benchmark[day]!),
    lag,
  )
  return calendarTest(found)
}

export function noTest(test: TestKey, reason: string): TestResult {
  return { test, name: TEST_NAMES[test], statistic: null, df: null, p: null, reason }
}

/** Blocks that are one up to rounding. */
const ONE_BLOCK = 1 + 1e-9

const ONE_CLUSTER = 'all events lie in one cluster of dates, or all excess returns are 0'

const NO_VARIANCE = 'the excess returns do not vary'

const FEW_DAYS = 'the days with a position are too few, or their returns do not vary'

function calendarTest(found: { t: number } | null): TestResult {
  const test = 'calendar_time'
  if (found === null) return noTest(test, FEW_DAYS)
  return { test, name: TEST_NAMES[test], statistic: found.t, df: null, p: twoSidedNormal(found.t), reason: null }
}

function shifted(test: TestKey, statistic: number, { p, shifts }: { p: number; shifts: number }): TestResult {
  return { test, name: `${TEST_NAMES[test]}, ${shifts} shifts`, statistic, df: null, p, reason: null, shifts }
}

function tTest(test: TestKey, { t, df }: { t: number; df: number }): TestResult {
  return { test, name: TEST_NAMES[test], statistic: t, df, p: twoSidedT(t, df), reason: null }
}
