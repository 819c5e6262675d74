import type { Random } from './random.js'

/** One ticker of a pool, on the calendar that the pool shares. */
export interface ShiftMember {
  /** Place in the calendar of each bar that has a value, ascending. */
  places: Int32Array
  /** At each of these bars: what followed less the ticker's own mean of it. */
  excess: Float64Array
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
  for (const { excess, events } of members) {
    for (const event of events) {
      sum += excess[event]!
      size += Math.abs(excess[event]!)
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
  for (const { places, excess, events } of members) {
    if (events.length === 0) continue
    const at = events.map(event => places[event]!)
    lay(values, places, excess, calendar)
    addValues(sums, values, at, shifts)
    if (places.length < calendar) addLost(lost, places, at)
    n += events.length
  }
  return { sums, counts: shifts.map(shift => n - lost[shift]!) }
}

function lay(values: Float64Array, places: Int32Array, excess: Float64Array, calendar: number): void {
  if (places.length < calendar) values.fill(0)
  for (let i = 0; i < places.length; i++) values[places[i]!] = values[places[i]! + calendar] = excess[i]!
}

/** The innermost loop of a sweep: four events at a time, because it waits for the totals more than for the values. */
function addValues(totals: Float64Array, values: Float64Array, at: Int32Array, shifts: Int32Array): void {
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
function addLost(lost: Int32Array, places: Int32Array, at: Int32Array): void {
  const calendar = lost.length
  for (let place = 0, next = 0; place < calendar; place++) {
    if (places[next] === place) next++
    else for (let i = 0; i < at.length; i++) lost[place >= at[i]! ? place - at[i]! : place - at[i]! + calendar]!++
  }
}

/**
 * The default test of a cell, the joint circular shift of t in place of the mean: each shift's mean excess is divided by its own standard error, that
 * of Newey and West with lag `horizon` - 1 at the returns that the events land on. Rotated means alone say how much any
 * days vary; where events lie in volatile times their own days vary more, and the plain shift finds an edge in what has
 * none. Dividing each by its own spread leaves that out of the comparison: Janssen, "Studentized permutation tests for
 * non-i.i.d. hypotheses and the generalized Behrens-Fisher problem" (1997); Chung & Romano, "Exact and asymptotically
 * robust permutation tests" (2013). It asks for about ten stretches of events, because t of fewer is anything.
 *
 * Members, calendar, horizon and options are those of `jointShift`, and the same options give the same shifts. A shift
 * that leaves no variance is not looked at.
 * @returns with the mean excess of the events over its standard error; a reason where there is nothing to test with
 */
export function studentisedShift(
  members: readonly ShiftMember[],
  calendar: number,
  horizon: number,
  options: ShiftOptions,
): (Exceedance & { t: number }) | { reason: string } {
  const some = members.filter(({ events }) => events.length > 0)
  if (some.length === 0) return { reason: 'no events' }
  const shifts = shiftsOf(calendar, horizon, options)
  if (shifts.length === 0) return { reason: tooShort(calendar, horizon) }
  const days = daysOf(some, calendar)
  const steps = stepsOf(days, horizon)
  const [unshifted = Number.NaN] = shiftedTs(some, calendar, days, steps, Int32Array.of(0))
  if (Number.isNaN(unshifted)) return { reason: 'the excess returns of the events do not vary' }
  const { diff, size } = actualMean(some)!
  const own = Math.abs(diff) <= ROUNDING * size ? 0 : unshifted
  const ts = new Float64Array(shifts.length)
  // A few hundred thousand sums at a time: of a universe every day has events.
  const atOnce = Math.max(1, Math.floor(MOST_SUMS / days.length))
  for (let from = 0; from < shifts.length; from += atOnce)
    ts.set(shiftedTs(some, calendar, days, steps, shifts.subarray(from, from + atOnce)), from)
  const found = exceedance(ts, Math.abs(own) * (1 - T_ROUNDING))
  return found === null ? { reason: 'no shift leaves events whose returns vary' } : { t: own, ...found }
}

/** Values of t that agree to so many parts are the same, whatever was added first. */
const T_ROUNDING = 1e-9

/** A variance that is a smaller part of the squares it is left of is rounding. */
const NOTHING = 1e-20

const MOST_SUMS = 1 << 18

/** Days with events, ascending, and of each day of the calendar its place among them. */
function daysOf(members: readonly ShiftMember[], calendar: number): Int32Array {
  const has = new Uint8Array(calendar)
  for (const { places, events } of members) for (const event of events) has[places[event]!] = 1
  return Int32Array.from(has.keys()).filter(day => has[day] === 1)
}

/**
 * Bartlett's weighted sum of products is the mean over all windows of `horizon` days of their squared sums. As the window
 * moves on, its sum changes only where a day with events comes in or goes out: so many steps, each with the day (its
 * complement where it goes) and how far the window moves until the next.
 */
interface Steps {
  day: Int32Array
  length: Float64Array
  horizon: number
}

function stepsOf(days: Int32Array, horizon: number): Steps {
  const steps = { day: new Int32Array(2 * days.length), length: new Float64Array(2 * days.length), horizon }
  let [comes, goes, before] = [0, 0, 0]
  for (let step = 0; step < steps.day.length; step++) {
    const coming = comes < days.length && days[comes]! < days[goes]! + horizon
    const at = coming ? days[comes]! : days[goes]! + horizon
    if (step > 0) steps.length[step - 1] = at - before
    steps.day[step] = coming ? comes++ : ~goes++
    before = at
  }
  return steps
}

/** t after each shift; NaN where no event lands on a value, or those do not vary. */
function shiftedTs(
  members: readonly ShiftMember[],
  calendar: number,
  days: Int32Array,
  { day, length, horizon }: Steps,
  shifts: Int32Array,
): Float64Array {
  const { sums, counts } = landed(members, calendar, days, shifts)
  const left = new Float64Array(days.length)
  return Float64Array.from(shifts, (_, shift) => {
    let [sum, n, squares] = [0, 0, 0]
    for (let i = shift; i < sums.length; i += shifts.length) {
      sum += sums[i]!
      n += counts[i]!
      squares += sums[i]! ** 2
    }
    if (n === 0) return Number.NaN
    const diff = sum / n
    for (let i = 0, at = shift; i < left.length; i++, at += shifts.length) left[i] = sums[at]! - diff * counts[at]!
    let [inside, variance] = [0, 0]
    for (let step = 0; step < day.length; step++) {
      const which = day[step]!
      inside += which < 0 ? -left[~which]! : left[which]!
      variance += length[step]! * inside * inside
    }
    variance /= horizon
    return variance > NOTHING * squares ? sum / Math.sqrt(variance) : Number.NaN
  })
}

/** By day with events, and within it by shift: the sum of what its events land on, and how many land on a value. */
function landed(members: readonly ShiftMember[], calendar: number, days: Int32Array, shifts: Int32Array) {
  const sums = new Float64Array(days.length * shifts.length)
  const counts = new Float64Array(sums.length)
  const placeOf = new Int32Array(calendar)
  for (let i = 0; i < days.length; i++) placeOf[days[i]!] = i * shifts.length
  // Two rounds of the calendar, one after the other, so that no place needs to be wrapped.
  const values = new Float64Array(2 * calendar)
  const known = new Float64Array(2 * calendar)
  for (const { places, excess, events } of members) {
    if (places.length < calendar) {
      values.fill(0)
      known.fill(0)
    }
    for (let i = 0; i < places.length; i++) {
      const place = places[i]!
      values[place] = values[place + calendar] = excess[i]!
      known[place] = known[place + calendar] = 1
    }
    for (const event of events) {
      const place = places[event]!
      add(sums, placeOf[place]!, values, place, shifts)
      add(counts, placeOf[place]!, known, place, shifts)
    }
  }
  return { sums, counts }
}

function add(totals: Float64Array, at: number, values: Float64Array, place: number, shifts: Int32Array): void {
  for (let i = 0; i < shifts.length; i++) totals[at + i]! += values[place + shifts[i]!]!
}
