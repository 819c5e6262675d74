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
  const pool = poolOf(some, calendar, horizon)
  const [unshifted = Number.NaN] = shiftedTs(pool, Int32Array.of(0))
  if (Number.isNaN(unshifted)) return { reason: 'the excess returns of the events do not vary' }
  const { diff, size } = actualMean(some)!
  const own = Math.abs(diff) <= ROUNDING * size ? 0 : unshifted
  const found = exceedance(shiftedTs(pool, shifts), Math.abs(own) * (1 - T_ROUNDING))
  return found === null ? { reason: 'no shift leaves events whose returns vary' } : { t: own, ...found }
}

/** Values of t that agree to so many parts are the same, whatever was added first. */
const T_ROUNDING = 1e-9

/** A variance that is a smaller part of the squares it is left of is rounding. */
const NOTHING = 1e-20

/** Days with events, ascending. */
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

/** Shifts that are summed up abreast: as many totals as a processor holds without putting one away. */
const ABREAST = 4

/** Shifts for which the events of a day are looked up once: what they land on lies side by side. */
const AT_ONCE = 8 * ABREAST

/** Memory that is filled over and over: making it anew for every cell would take as long as the sums. */
class Scratch {
  #values = new Float64Array()

  /** Filled with whatever it was used for before. */
  taken(length: number): Float64Array {
    if (length > MOST_KEPT) return new Float64Array(length)
    if (length > this.#values.length) this.#values = new Float64Array(length)
    return this.#values.subarray(0, length)
  }
}

/** 16 MB; of more the sums take far longer than making it. */
const MOST_KEPT = 1 << 21

const [EXCESS, LACKING, SUMS, COUNTS] = [new Scratch(), new Scratch(), new Scratch(), new Scratch()]

/** What the events of each day add up to, by where they land. */
interface Landings {
  /** Figures by member, one for each place of the calendar. */
  rows: Float64Array
  /** One day's events after the other's: where the row of each event's ticker begins; and by day where its events end. */
  starts: Int32Array
  ends: Int32Array
  /** By day, what the sum begins with. */
  first: Float64Array
}

/** @param lay fills the row of a member */
function landingsOf(
  members: readonly ShiftMember[],
  calendar: number,
  days: Int32Array,
  lay: (member: ShiftMember, row: Float64Array) => void,
  scratch: Scratch,
): Landings {
  const placeOf = new Int32Array(calendar)
  for (let i = 0; i < days.length; i++) placeOf[days[i]!] = i
  const ends = new Int32Array(days.length)
  for (const { places, events } of members) for (const event of events) ends[placeOf[places[event]!]!]!++
  for (let i = 1; i < ends.length; i++) ends[i]! += ends[i - 1]!
  const rows = scratch.taken(members.length * calendar)
  const starts = new Int32Array(ends.at(-1) ?? 0)
  const next = ends.map((_, i) => ends[i - 1] ?? 0)
  members.forEach((member, i) => {
    const start = i * calendar
    lay(member, rows.subarray(start, start + calendar))
    for (const event of member.events) starts[next[placeOf[member.places[event]!]!]!++] = start
  })
  return { rows, starts, ends, first: new Float64Array(days.length) }
}

function layExcess({ places, excess }: ShiftMember, row: Float64Array): void {
  if (places.length < row.length) row.fill(0)
  for (let i = 0; i < places.length; i++) row[places[i]!] = excess[i]!
}

function layLacking({ places }: ShiftMember, row: Float64Array): void {
  row.fill(-1)
  for (let i = 0; i < places.length; i++) row[places[i]!] = 0
}

/** A pool, its events by day: where they land, of what sum and how many. */
interface Pool {
  calendar: number
  days: Int32Array
  steps: Steps
  excess: Landings
  /** All of a day's events, less those that land where their ticker has no value. */
  counts: Landings
}

function poolOf(members: readonly ShiftMember[], calendar: number, horizon: number): Pool {
  const days = daysOf(members, calendar)
  const excess = landingsOf(members, calendar, days, layExcess, EXCESS)
  const lacking = members.filter(({ places }) => places.length < calendar)
  const first = Float64Array.from(excess.ends, (end, i) => end - (excess.ends[i - 1] ?? 0))
  const counts = { ...landingsOf(lacking, calendar, days, layLacking, LACKING), first }
  return { calendar, days, steps: stepsOf(days, horizon), excess, counts }
}

/** t after each shift; NaN where no event lands on a value, or those do not vary. */
function shiftedTs({ calendar, days, steps, excess, counts }: Pool, shifts: Int32Array): Float64Array {
  const ts = new Float64Array(shifts.length)
  const sums = SUMS.taken(days.length * AT_ONCE)
  const ns = COUNTS.taken(days.length * AT_ONCE)
  for (let from = 0; from < shifts.length; from += AT_ONCE) {
    const some = fullRows(shifts.subarray(from, from + AT_ONCE))
    addLandings(excess, days, calendar, some, sums)
    // Where every ticker has a value on every day they are the same after any shift.
    if (from === 0 || counts.starts.length > 0) addLandings(counts, days, calendar, some, ns)
    for (let i = 0; i < some.length; i += ABREAST) addTs(sums, ns, i * days.length, steps, ts.subarray(from + i))
  }
  return ts
}

/** Filled up with the last of them, so that all stand abreast of others. */
function fullRows(shifts: Int32Array): Int32Array {
  const full = new Int32Array(Math.ceil(shifts.length / ABREAST) * ABREAST).fill(shifts.at(-1)!)
  full.set(shifts)
  return full
}

/** The innermost loop of a sweep. @param totals by the shifts that stand abreast, then by day, then by shift */
function addLandings(
  { rows, starts, ends, first }: Landings,
  days: Int32Array,
  calendar: number,
  shifts: Int32Array,
  totals: Float64Array,
): void {
  for (let i = 0, from = 0; i < days.length; i++) {
    const day = days[i]!
    const end = ends[i]!
    for (let shift = 0; shift < shifts.length; shift += ABREAST) {
      const a = wrapped(day + shifts[shift]!, calendar)
      const b = wrapped(day + shifts[shift + 1]!, calendar)
      const c = wrapped(day + shifts[shift + 2]!, calendar)
      const d = wrapped(day + shifts[shift + 3]!, calendar)
      let sumA = first[i]!
      let sumB = sumA
      let sumC = sumA
      let sumD = sumA
      for (let event = from; event < end; event++) {
        const start = starts[event]!
        sumA += rows[start + a]!
        sumB += rows[start + b]!
        sumC += rows[start + c]!
        sumD += rows[start + d]!
      }
      const at = shift * days.length + i * ABREAST
      totals[at] = sumA
      totals[at + 1] = sumB
      totals[at + 2] = sumC
      totals[at + 3] = sumD
    }
    from = end
  }
}

function wrapped(place: number, calendar: number): number {
  return place < calendar ? place : place - calendar
}

/** t of the shifts that stand abreast. @param first where their sums and counts begin */
function addTs(sums: Float64Array, counts: Float64Array, first: number, steps: Steps, ts: Float64Array): void {
  const end = first + (steps.day.length / 2) * ABREAST
  const own = Array.from({ length: ABREAST }, (_, i) => centred(sums, counts, first + i, end))
  const variances = windowVariances(sums, first, steps)
  for (const [i, { sum, n, squares }] of own.entries()) {
    const variance = variances[i]!
    ts[i] = n > 0 && variance > NOTHING * squares ? sum / Math.sqrt(variance) : Number.NaN
  }
}

/** Leaves of each day's sum what is not the mean of all; of one shift. */
function centred(sums: Float64Array, counts: Float64Array, first: number, end: number) {
  let [sum, n, squares] = [0, 0, 0]
  for (let at = first; at < end; at += ABREAST) {
    sum += sums[at]!
    n += counts[at]!
    squares += sums[at]! * sums[at]!
  }
  const mean = sum / n
  for (let at = first; at < end; at += ABREAST) sums[at] = sums[at]! - mean * counts[at]!
  return { sum, n, squares }
}

/** Of the shifts that stand abreast: written out four times, because each waits for its own totals. */
function windowVariances(residuals: Float64Array, first: number, { day, length, horizon }: Steps): number[] {
  let [a, b, c, d] = [0, 0, 0, 0]
  let [varianceA, varianceB, varianceC, varianceD] = [0, 0, 0, 0]
  for (let step = 0; step < day.length; step++) {
    const which = day[step]!
    const sign = which < 0 ? -1 : 1
    const at = first + (which < 0 ? ~which : which) * ABREAST
    a += sign * residuals[at]!
    b += sign * residuals[at + 1]!
    c += sign * residuals[at + 2]!
    d += sign * residuals[at + 3]!
    const days = length[step]!
    varianceA += days * a * a
    varianceB += days * b * b
    varianceC += days * c * c
    varianceD += days * d * d
  }
  return [varianceA / horizon, varianceB / horizon, varianceC / horizon, varianceD / horizon]
}
