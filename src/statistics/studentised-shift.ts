import { type ShiftMember, type ShiftOptions, shiftsOf, tooShort } from './shift.js'

export interface StudentisedShiftTest {
  /** Mean excess of the events over its standard error. */
  t: number
  /** Two-sided: (1 + exceeding) / (1 + shifts). */
  p: number
  /** How many shifts were looked at, and after how many t is as far from 0 as it is. */
  shifts: number
  exceeding: number
}

/**
 * The joint circular shift of t in place of the mean: each shift's mean excess is divided by its own standard error, that
 * of Newey and West with lag `horizon` - 1 at the returns that the events land on. Rotated means alone say how much any
 * days vary; where events lie in volatile times their own days vary more, and the plain shift finds an edge in what has
 * none. Dividing each by its own spread leaves that out of the comparison: Janssen, "Studentized permutation tests for
 * non-i.i.d. hypotheses and the generalized Behrens-Fisher problem" (1997); Chung & Romano, "Exact and asymptotically
 * robust permutation tests" (2013). It asks for about ten stretches of events, because t of fewer is anything.
 *
 * Members, calendar, horizon and options are those of `jointShift`, and the same options give the same shifts. A shift
 * that leaves no variance is not looked at.
 * @returns a reason where there is nothing to test with
 */
export function studentisedShift(
  members: readonly ShiftMember[],
  calendar: number,
  horizon: number,
  options: ShiftOptions,
): StudentisedShiftTest | { reason: string } {
  const some = members.filter(({ events }) => events.length > 0)
  if (some.length === 0) return { reason: 'no events' }
  const shifts = shiftsOf(calendar, horizon, options)
  if (shifts.length === 0) return { reason: tooShort(calendar, horizon) }
  const days = daysOf(some, calendar)
  const steps = stepsOf(days, horizon)
  const [own = Number.NaN] = shiftedTs(some, calendar, days, steps, Int32Array.of(0))
  if (Number.isNaN(own)) return { reason: 'the excess returns of the events do not vary' }
  const least = Math.abs(own) * (1 - ROUNDING)
  let looked = 0
  let exceeding = 0
  // A few hundred thousand sums at a time: of a universe every day has events.
  const atOnce = Math.max(1, Math.floor(MOST_SUMS / days.length))
  for (let from = 0; from < shifts.length; from += atOnce) {
    for (const t of shiftedTs(some, calendar, days, steps, shifts.subarray(from, from + atOnce))) {
      if (Number.isNaN(t)) continue
      looked++
      if (Math.abs(t) >= least) exceeding++
    }
  }
  if (looked === 0) return { reason: 'no shift leaves events whose returns vary' }
  return { t: own, p: (1 + exceeding) / (1 + looked), shifts: looked, exceeding }
}

/** Values of t that agree to so many parts are the same, whatever was added first. */
const ROUNDING = 1e-9

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
