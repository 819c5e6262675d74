import type { Random } from './random.js'

/** One ticker of a pool, on the common calendar. */
export interface ShiftMember {
  /** Calendar index of each bar that has a value, ascending. */
  indices: Int32Array
  /** Outcome after each of these bars; and the ticker's mean outcome, subtracted for an excess. */
  returns: Float64Array
  base: number
  /** Events, as indices into `indices`. */
  events: Int32Array
}

/** Number of shifts: with `all` every possible one, otherwise `reps` drawn ones where more than 2,000 are possible. */
export interface ShiftOptions {
  reps: number | 'all'
  random: Random
}

/** How rare a statistic is among its values after shifts, in both directions. */
export interface Exceedance {
  /** Two-sided: (1 + exceeding) / (1 + shifts). */
  p: number
  /** Number of shifts tried, and of those with a statistic at least as far from 0. */
  shifts: number
  exceeding: number
}

/**
 * Counts the shifts after which a statistic is at least as far from 0, on either side. Returns null without shifts.
 * @param shifted the statistic after each shift; NaN to ignore it
 * @param least distance from 0 that counts
 */
export function exceedance(shifted: Float64Array, least: number): Exceedance | null {
  let shifts = 0
  let exceeding = 0
  for (let i = 0; i < shifted.length; i++) {
    if (Number.isNaN(shifted[i]!)) continue
    shifts++
    if (Math.abs(shifted[i]!) >= least) exceeding++
  }
  return shifts === 0 ? null : { p: (1 + exceeding) / (1 + shifts), shifts, exceeding }
}

/** Up to this number of shifts, all are used. */
const MAX_ALL_SHIFTS = 2000

/** Differences that are smaller relative to the events' mean distance from 0 are rounding. */
const ROUNDING = 1e-12

/**
 * The plain joint circular shift of a pool of members (tickers). Events keep their days, and the returns of all rotate
 * by the same number of days. That preserves clusters of events and the dependence of returns over days and tickers;
 * only the tested relation breaks. Every shift from `horizon` to `calendar` - `horizon` counts; the others share
 * windows with the unshifted events. An event without a value after the shift drops out; a shift without any event is
 * ignored. p as in Davison & Hinkley, "Bootstrap Methods and their Application" (1997), 4.2.
 * @param calendar number of days of the calendar
 * @returns p and counts, and `diff`, the mean excess of the events; or the reason why there is no test
 */
export function jointShift(
  members: readonly ShiftMember[],
  calendar: number,
  horizon: number,
  options: ShiftOptions,
): (Exceedance & { diff: number }) | { reason: string } {
  const actual = actualMean(members)
  if (actual === null) return { reason: 'no events' }
  const shifts = shiftsOf(calendar, horizon, options)
  if (shifts.length === 0) return { reason: tooShort(calendar, horizon) }
  const { sums, counts } = shiftedSums(members, calendar, shifts)
  // 0 / 0, thus NaN, where no event lands on a value.
  const means = sums.map((sum, i) => sum / counts[i]!)
  const rarity = exceedance(means, Math.abs(actual.diff) - ROUNDING * actual.meanDistance)
  if (rarity === null) return { reason: 'no shift leaves an event where its ticker has a return' }
  return { diff: actual.diff, ...rarity }
}

/** The reason why a calendar allows for no shift. */
export function tooShort(calendar: number, horizon: number): string {
  return `${calendar} bars are too few to shift windows of ${horizon} against each other`
}

/**
 * All shifts from `horizon` to `calendar` - `horizon`, ascending; of more than 2,000, `reps` different ones.
 * @param calendar number of days of the calendar
 * @param horizon length of the windows in days
 */
export function shiftsOf(calendar: number, horizon: number, { reps, random }: ShiftOptions): Int32Array {
  const possible = Math.max(0, calendar - 2 * horizon + 1)
  const all = Int32Array.from({ length: possible }, (_, i) => horizon + i)
  if (reps === 'all' || possible <= MAX_ALL_SHIFTS || possible <= reps) return all
  // The first steps of a Fisher-Yates shuffle.
  for (let i = 0; i < reps; i++) {
    const j = i + random.below(possible - i)
    const drawn = all[j]!
    all[j] = all[i]!
    all[i] = drawn
  }
  return all.subarray(0, reps).sort()
}

/** Mean excess of the events, and mean distance of their excess from 0; null without events. */
function actualMean(members: readonly ShiftMember[]): { diff: number; meanDistance: number } | null {
  let sum = 0
  let distances = 0
  let n = 0
  for (const { returns, base, events } of members) {
    for (const event of events) {
      sum += returns[event]! - base
      distances += Math.abs(returns[event]! - base)
    }
    n += events.length
  }
  return n === 0 ? null : { diff: sum / n, meanDistance: distances / n }
}

/** For each shift: the sum of the excess (outcome less base) where events land, and how many land on a bar with one. */
function shiftedSums(members: readonly ShiftMember[], calendar: number, shifts: Int32Array) {
  const sums = new Float64Array(shifts.length)
  // By shift from 0: number of events that land where their ticker has no value.
  const lost = new Int32Array(calendar)
  // The calendar twice in sequence, so that no index needs to wrap.
  const excess = new Float64Array(2 * calendar)
  let n = 0
  for (const member of members) {
    const { indices, events } = member
    if (events.length === 0) continue
    const eventIndices = events.map(event => indices[event]!)
    writeTwice(excess, member, calendar)
    addValues(sums, excess, eventIndices, shifts)
    if (indices.length < calendar) countLost(lost, indices, eventIndices)
    n += events.length
  }
  return { sums, counts: shifts.map(shift => n - lost[shift]!) }
}

/** Writes the excess after each bar of a ticker at its calendar index, twice: also one calendar later. */
function writeTwice(values: Float64Array, { indices, returns, base }: ShiftMember, calendar: number): void {
  if (indices.length < calendar) values.fill(0, 0, calendar)
  for (let i = 0; i < indices.length; i++) values[indices[i]!] = returns[i]! - base
  values.copyWithin(calendar, 0, calendar)
}

/**
 * Adds the values at each event's index plus a shift. This is the innermost loop of a sweep: four events at a time,
 * because it waits for the totals more than for the values.
 */
export function addValues(totals: Float64Array, values: Float64Array, indices: Int32Array, shifts: Int32Array): void {
  let event = 0
  for (; event + 3 < indices.length; event += 4) {
    const a = indices[event]!
    const b = indices[event + 1]!
    const c = indices[event + 2]!
    const d = indices[event + 3]!
    for (let i = 0; i < shifts.length; i++) {
      const shift = shifts[i]!
      totals[i]! += values[a + shift]! + values[b + shift]! + values[c + shift]! + values[d + shift]!
    }
  }
  for (; event < indices.length; event++) {
    for (let i = 0; i < shifts.length; i++) totals[i]! += values[indices[event]! + shifts[i]!]!
  }
}

/**
 * Adds to `lost`, for each shift, the number of events that land where their ticker has no value. It goes through the
 * indices without a value, because they are few.
 * @param indices calendar indices with a value, ascending
 * @param eventIndices calendar index of each event
 */
function countLost(lost: Int32Array, indices: Int32Array, eventIndices: Int32Array): void {
  const calendar = lost.length
  let nextKnown = 0
  for (let index = 0; index < calendar; index++) {
    if (indices[nextKnown] === index) {
      nextKnown++
      continue
    }
    for (let i = 0; i < eventIndices.length; i++) {
      const shift = index - eventIndices[i]!
      lost[shift >= 0 ? shift : shift + calendar]!++
    }
  }
}
