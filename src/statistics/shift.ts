import type { Random } from './random.js'

/** One ticker of a pool, on the calendar that the pool shares. */
export interface ShiftMember {
  /** Place in the calendar of each bar that has a value, ascending. */
  indices: Int32Array
  /** What followed each of these bars; and the ticker's own mean of it, by which an excess is more. */
  returns: Float64Array
  base: number
  /** Events, as indices into `places`. */
  events: Int32Array
}

/** How many shifts: with `all` every possible one, otherwise so many drawn ones where more than 2,000 are possible. */
export interface ShiftOptions {
  reps: number | 'all'
  random: Random
}

/** How rare a statistic is among those after shifts: what every test by shifts tells. */
export interface Exceedance {
  /** Two-sided: (1 + exceeding) / (1 + shifts). */
  p: number
  /** How many shifts were looked at, and after how many it is as far from 0 as without one. */
  shifts: number
  exceeding: number
}

/**
 * @param shifted the statistic after each shift; NaN where that is not to be looked at
 * @param least from how far from 0 on it counts
 * @returns null where no shift is looked at
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

/** Up to so many shifts are all looked at. */
const FEW = 2000

/** Differences that agree to so many parts of the events' mean distance from 0 are the same, whatever was added first. */
const ROUNDING = 1e-12

/**
 * The plain "joint circular shift" of a cell: events stay where they are and the returns are rotated against
 * them, by the same number of places in all members, which keeps how events cluster, how returns depend on each other
 * from day to day and from ticker to ticker, and breaks only what is asked about. Every shift from `horizon` to
 * `calendar` - `horizon` counts, the others share windows with the unshifted events. An event that lands where its
 * ticker has no value drops out of that shift; a shift on which all do is not looked at. p as in Davison & Hinkley,
 * "Bootstrap Methods and their Application" (1997), 4.2.
 * @param calendar how many places the calendar has
 * @returns with the mean excess of the events; a reason where there is nothing to test with
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
  // 0 / 0, and so no number, where no event lands on a value.
  const means = sums.map((sum, i) => sum / counts[i]!)
  const found = exceedance(means, Math.abs(actual.diff) - ROUNDING * actual.size)
  return found === null
    ? { reason: 'no shift leaves an event where its ticker has a return' }
    : { diff: actual.diff, ...found }
}

export function tooShort(calendar: number, horizon: number): string {
  return `${calendar} bars are too few to shift windows of ${horizon} against each other`
}

/**
 * The shifts that a test looks at: all from `horizon` to `calendar` - `horizon`, ascending, or `reps` different ones of
 * them where they are more than 2,000.
 */
export function shiftsOf(calendar: number, horizon: number, { reps, random }: ShiftOptions): Int32Array {
  const possible = Math.max(0, calendar - 2 * horizon + 1)
  const all = Int32Array.from({ length: possible }, (_, i) => horizon + i)
  if (reps === 'all' || possible <= FEW || possible <= reps) return all
  // The first steps of Fisher and Yates's shuffle: each place gets one of those that are left.
  for (let i = 0; i < reps; i++) {
    const other = i + random.below(possible - i)
    const drawn = all[other]!
    all[other] = all[i]!
    all[i] = drawn
  }
  return all.subarray(0, reps).sort()
}

function actualMean(members: readonly ShiftMember[]): { diff: number; size: number } | null {
  let sum = 0
  let size = 0
  let n = 0
  for (const { returns, base, events } of members) {
    for (const event of events) {
      sum += returns[event]! - base
      size += Math.abs(returns[event]! - base)
    }
    n += events.length
  }
  return n === 0 ? null : { diff: sum / n, size: size / n }
}

/** For each shift: the sum of the excess where the events land, and how many land on a value. */
function shiftedSums(members: readonly ShiftMember[], calendar: number, shifts: Int32Array) {
  const sums = new Float64Array(shifts.length)
  // By shift from 0: how many events land where their ticker has no value.
  const lost = new Int32Array(calendar)
  // Two rounds of the calendar, one after the other, so that no place needs to be wrapped.
  const values = new Float64Array(2 * calendar)
  let n = 0
  for (const member of members) {
    const { indices, events } = member
    if (events.length === 0) continue
    const at = events.map(event => indices[event]!)
    lay(values, member, calendar)
    addValues(sums, values, at, shifts)
    if (indices.length < calendar) addLost(lost, indices, at)
    n += events.length
  }
  return { sums, counts: shifts.map(shift => n - lost[shift]!) }
}

function lay(values: Float64Array, { indices, returns, base }: ShiftMember, calendar: number): void {
  if (indices.length < calendar) values.fill(0)
  for (let i = 0; i < indices.length; i++) values[indices[i]!] = values[indices[i]! + calendar] = returns[i]! - base
}

/** Adds up what lies a shift behind some places. The innermost loop of a sweep: four events at a time, because it waits for the totals more than for the values. */
export function addValues(totals: Float64Array, values: Float64Array, at: Int32Array, shifts: Int32Array): void {
  let event = 0
  for (; event + 3 < at.length; event += 4) {
    const [a, b, c, d] = [at[event]!, at[event + 1]!, at[event + 2]!, at[event + 3]!]
    for (let i = 0; i < shifts.length; i++) {
      const shift = shifts[i]!
      totals[i]! += values[a + shift]! + values[b + shift]! + values[c + shift]! + values[d + shift]!
    }
  }
  for (; event < at.length; event++) {
    for (let i = 0; i < shifts.length; i++) totals[i]! += values[at[event]! + shifts[i]!]!
  }
}

/** Counts from the places without a value, because they are few. */
function addLost(lost: Int32Array, indices: Int32Array, at: Int32Array): void {
  const calendar = lost.length
  for (let index = 0, next = 0; index < calendar; index++) {
    if (indices[next] === index) next++
    else for (let i = 0; i < at.length; i++) lost[index >= at[i]! ? index - at[i]! : index - at[i]! + calendar]!++
  }
}
