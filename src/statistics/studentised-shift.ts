import {
  actualMean,
  type Exceedance,
  exceedance,
  ROUNDING,
  type ShiftMember,
  type ShiftOptions,
  shiftsOf,
  tooShort,
} from './shift.js'
import { ABREAST, compiledKernel, type Landings, NOTHING, type ShiftKernel, type Steps } from './shift-kernel.js'

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
 * @param kernelOf makes what adds up, with room for so many bytes; in plain TypeScript where it makes none
 * @returns with the mean excess of the events over its standard error; a reason where there is nothing to test with
 */
export function studentisedShift(
  members: readonly ShiftMember[],
  calendar: number,
  horizon: number,
  options: ShiftOptions,
  kernelOf: (bytes: number) => ShiftKernel | null = compiledKernel,
): (Exceedance & { t: number }) | { reason: string } {
  const some = members.filter(({ events }) => events.length > 0)
  if (some.length === 0) return { reason: 'no events' }
  const shifts = shiftsOf(calendar, horizon, options)
  if (shifts.length === 0) return { reason: tooShort(calendar, horizon) }
  const kernel = kernelOf(bytesOf(some, calendar)) ?? PLAIN
  const tsAfter = shiftedTs(poolOf(some, calendar, horizon, kernel), kernel)
  const [unshifted = Number.NaN] = tsAfter(Int32Array.of(0))
  if (Number.isNaN(unshifted)) return { reason: 'the excess returns of the events do not vary' }
  const { diff, size } = actualMean(some)!
  const own = Math.abs(diff) <= ROUNDING * size ? 0 : unshifted
  const found = exceedance(tsAfter(shifts), Math.abs(own) * (1 - T_ROUNDING))
  return found === null ? { reason: 'no shift leaves events whose returns vary' } : { t: own, ...found }
}

/** Values of t that agree to so many parts are the same, whatever was added first. */
const T_ROUNDING = 1e-9

/** Shifts for which the events of a day are looked up once: what they land on lies side by side. */
const AT_ONCE = 4 * ABREAST

/** Of all columns of a pool, at most. */
function bytesOf(members: readonly ShiftMember[], calendar: number): number {
  const events = members.reduce((sum, member) => sum + member.events.length, 0)
  const lacking = members.filter(({ places }) => places.length < calendar)
  const rows = (members.length + lacking.length) * calendar
  const days = Math.min(events, calendar)
  return 8 * (rows + events + days * (2 * AT_ONCE + 8) + 2 * AT_ONCE) + 1024
}

/** Days with events, ascending. */
function daysOf(members: readonly ShiftMember[], calendar: number): Int32Array {
  const has = new Uint8Array(calendar)
  for (const { places, events } of members) for (const event of events) has[places[event]!] = 1
  return Int32Array.from(has.keys()).filter(day => has[day] === 1)
}

function stepsOf(days: Int32Array, horizon: number, kernel: ShiftKernel): Steps {
  const steps = { day: kernel.integers(2 * days.length), length: kernel.floats(2 * days.length).fill(0), horizon }
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

/** A pool, its events by day: where they land, of what sum and how many. */
interface Pool {
  calendar: number
  days: Int32Array
  steps: Steps
  excess: Landings
  /** All of a day's events, less those that land where their ticker has no value. */
  counts: Landings
}

function poolOf(members: readonly ShiftMember[], calendar: number, horizon: number, kernel: ShiftKernel): Pool {
  const known = daysOf(members, calendar)
  const days = kernel.integers(known.length)
  days.set(known)
  const excess = landingsOf(members, calendar, days, layExcess, kernel)
  const lacking = members.filter(({ places }) => places.length < calendar)
  const counts = landingsOf(lacking, calendar, days, layLacking, kernel)
  for (let i = 0; i < days.length; i++) counts.first[i] = excess.ends[i]! - (excess.ends[i - 1] ?? 0)
  return { calendar, days, steps: stepsOf(days, horizon, kernel), excess, counts }
}

/** @param days those with events, ascending @param lay fills the row of a member */
export function landingsOf<M extends ShiftMember>(
  members: readonly M[],
  calendar: number,
  days: Int32Array,
  lay: (member: M, row: Float64Array) => void,
  kernel: ShiftKernel,
): Landings {
  const placeOf = new Int32Array(calendar)
  for (let i = 0; i < days.length; i++) placeOf[days[i]!] = i
  const ends = kernel.integers(days.length).fill(0)
  for (const { places, events } of members) for (const event of events) ends[placeOf[places[event]!]!]!++
  for (let i = 1; i < ends.length; i++) ends[i]! += ends[i - 1]!
  const rows = kernel.floats(members.length * calendar)
  const starts = kernel.integers(ends.at(-1) ?? 0)
  const next = Int32Array.from(ends, (_, i) => ends[i - 1] ?? 0)
  members.forEach((member, i) => {
    const start = i * calendar
    lay(member, rows.subarray(start, start + calendar))
    for (const event of member.events) starts[next[placeOf[member.places[event]!]!]!++] = start
  })
  return { rows, starts, ends, first: kernel.floats(days.length).fill(0) }
}

function layExcess({ places, excess }: ShiftMember, row: Float64Array): void {
  if (places.length < row.length) row.fill(0)
  for (let i = 0; i < places.length; i++) row[places[i]!] = excess[i]!
}

function layLacking({ places }: ShiftMember, row: Float64Array): void {
  row.fill(-1)
  for (let i = 0; i < places.length; i++) row[places[i]!] = 0
}

/** Tells t after each shift; NaN where no event lands on a value, or those do not vary. */
function shiftedTs(
  { calendar, days, steps, excess, counts }: Pool,
  kernel: ShiftKernel,
): (shifts: Int32Array) => Float64Array {
  const sums = kernel.floats(days.length * AT_ONCE)
  const ns = kernel.floats(days.length * AT_ONCE)
  const room = { shifts: kernel.integers(AT_ONCE), ts: kernel.floats(AT_ONCE) }
  return shifts => {
    const ts = new Float64Array(shifts.length)
    for (let from = 0; from < shifts.length; from += AT_ONCE) {
      const many = Math.min(AT_ONCE, shifts.length - from)
      // Filled up with the last of them, so that all stand abreast of others.
      const full = room.shifts.subarray(0, Math.ceil(many / ABREAST) * ABREAST).fill(shifts[from + many - 1]!)
      full.set(shifts.subarray(from, from + many))
      kernel.addLandings(excess, days, calendar, full, sums)
      // Where every ticker has a value on every day they are the same after any shift.
      if (from === 0 || counts.starts.length > 0) kernel.addLandings(counts, days, calendar, full, ns)
      kernel.addTs(sums, ns, steps, room.ts.subarray(0, full.length))
      ts.set(room.ts.subarray(0, many), from)
    }
    return ts
  }
}

/** What the compiled module does, shift by shift: for reference, and where that cannot run. */
export const PLAIN: ShiftKernel = {
  floats: length => new Float64Array(length),
  integers: length => new Int32Array(length),
  addLandings({ rows, starts, ends, first }, days, calendar, shifts, totals) {
    for (const [lane, shift] of shifts.entries()) {
      for (let i = 0, event = 0, at = firstOf(lane, days.length); i < days.length; i++, at += ABREAST) {
        const place = (days[i]! + shift) % calendar
        let sum = first[i]!
        for (; event < ends[i]!; event++) sum += rows[starts[event]! + place]!
        totals[at] = sum
      }
    }
  },
  addTs(sums, counts, steps, ts) {
    for (let lane = 0; lane < ts.length; lane++)
      ts[lane] = tOf(sums, counts, firstOf(lane, steps.day.length / 2), steps)
  },
}

/** Where the totals of a shift begin; they are so far apart as shifts stand abreast. */
function firstOf(lane: number, days: number): number {
  return (lane - (lane % ABREAST)) * days + (lane % ABREAST)
}

function tOf(sums: Float64Array, counts: Float64Array, first: number, { day, length, horizon }: Steps): number {
  const end = first + (day.length / 2) * ABREAST
  let [sum, n, squares] = [0, 0, 0]
  for (let at = first; at < end; at += ABREAST) {
    sum += sums[at]!
    n += counts[at]!
    squares += sums[at]! * sums[at]!
  }
  const mean = sum / n
  for (let at = first; at < end; at += ABREAST) sums[at] = sums[at]! - mean * counts[at]!
  let [inside, variance] = [0, 0]
  for (let step = 0; step < day.length; step++) {
    const which = day[step]!
    inside += which < 0 ? -sums[first + ~which * ABREAST]! : sums[first + which * ABREAST]!
    variance += length[step]! * inside * inside
  }
  variance /= horizon
  return variance > NOTHING * squares ? sum / Math.sqrt(variance) : Number.NaN
}
