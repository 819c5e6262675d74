import { instantiated } from '../indicators/wasm.js'
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
import { WASM } from './shifts.wasm.js'

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
 * @param most numbers of the rows that are laid at a time: a market's would be as much as its prices
 * @returns with the mean excess of the events over its standard error; a reason where there is nothing to test with
 */
export function studentisedShift(
  members: readonly ShiftMember[],
  calendar: number,
  horizon: number,
  options: ShiftOptions,
  kernelOf: (bytes: number) => ShiftKernel | null = compiledKernel,
  most = MOST_LAID,
): (Exceedance & { t: number }) | { reason: string } {
  const some = members.filter(({ events }) => events.length > 0)
  if (some.length === 0) return { reason: 'no events' }
  const shifts = shiftsOf(calendar, horizon, options)
  if (shifts.length === 0) return { reason: tooShort(calendar, horizon) }
  const pool = poolOf(some, calendar, shifts.length, most)
  const tsAfter = shiftedTs(pool, horizon, kernelOf(bytesOf(pool)) ?? PLAIN)
  const [unshifted = Number.NaN] = tsAfter(Int32Array.of(0))
  if (Number.isNaN(unshifted)) return { reason: 'the excess returns of the events do not vary' }
  const { diff, size } = actualMean(some)!
  const own = Math.abs(diff) <= ROUNDING * size ? 0 : unshifted
  const found = exceedance(tsAfter(shifts), Math.abs(own) * (1 - T_ROUNDING))
  return found === null ? { reason: 'no shift leaves events whose returns vary' } : { t: own, ...found }
}

/** Values of t that agree to so many parts are the same, whatever was added first. */
const T_ROUNDING = 1e-9

/** Shifts that are added up abreast. */
const ABREAST = 8

/** Shifts for which the events of a day are looked up once: what they land on lies side by side. */
const AT_ONCE = 4 * ABREAST

/** Rows of some 800 tickers of five years. */
const MOST_LAID = 2 ** 20

/** What the events of a pool are added up by. */
interface Pool {
  calendar: number
  /** Days with events, ascending; and by place of the calendar which of them it is. */
  days: Int32Array
  placeOf: Int32Array
  /** Members whose rows are laid together, and those of them that lack a value on some day. */
  groups: readonly { members: readonly ShiftMember[]; lacking: readonly ShiftMember[] }[]
  /** Shifts that are added up while a group after the other is laid. */
  abreast: number
}

function poolOf(members: readonly ShiftMember[], calendar: number, shifts: number, most: number): Pool {
  const days = daysOf(members, calendar)
  const placeOf = new Int32Array(calendar)
  for (let i = 0; i < days.length; i++) placeOf[days[i]!] = i
  const size = Math.max(1, Math.floor(most / calendar))
  const groups = Array.from({ length: Math.ceil(members.length / size) }, (_, i) => {
    const some = members.slice(i * size, (i + 1) * size)
    return { members: some, lacking: some.filter(({ places }) => places.length < calendar) }
  })
  // Of one group only what is read again at once; of several each is laid as seldom as totals have room.
  const room = groups.length === 1 ? 0 : Math.min(shifts + AT_ONCE - 1, Math.floor(most / days.length))
  return { calendar, days, placeOf, groups, abreast: Math.max(AT_ONCE, room - (room % AT_ONCE)) }
}

/** Days with events, ascending. */
function daysOf(members: readonly ShiftMember[], calendar: number): Int32Array {
  const has = new Uint8Array(calendar)
  for (const { places, events } of members) for (const event of events) has[places[event]!] = 1
  return Int32Array.from(has.keys()).filter(day => has[day] === 1)
}

/** Of all columns of a pool, at most. */
function bytesOf({ groups, calendar, days: { length: days }, abreast }: Pool): number {
  const { rows, lacking, events } = largest(groups)
  return 8 * ((rows + lacking) * calendar + events + days * (2 * abreast + 8) + 2 * abreast) + 1024
}

/** The most rows and events that are there at a time. */
function largest(groups: Pool['groups']): { rows: number; lacking: number; events: number } {
  const most = (of: (group: Pool['groups'][number]) => number): number =>
    groups.reduce((found, group) => Math.max(found, of(group)), 0)
  return {
    rows: most(({ members }) => members.length),
    lacking: most(({ lacking }) => lacking.length),
    events: most(({ members }) => members.reduce((sum, { events }) => sum + events.length, 0)),
  }
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

/** Puts the events of members day by day. @param startOf where the row of a member begins */
export function putByDay(
  members: readonly Pick<ShiftMember, 'places' | 'events'>[],
  placeOf: Int32Array,
  startOf: (i: number) => number,
  { starts, ends }: EventsByDay,
): void {
  ends.fill(0)
  for (const { places, events } of members) for (const event of events) ends[placeOf[places[event]!]!]!++
  for (let i = 1; i < ends.length; i++) ends[i]! += ends[i - 1]!
  const next = new Int32Array(ends.length)
  next.set(ends.subarray(0, -1), 1)
  members.forEach(({ places, events }, i) => {
    const start = startOf(i)
    for (const event of events) starts[next[placeOf[places[event]!]!]!++] = start
  })
}

function layExcess({ places, returns, base }: ShiftMember, row: Float64Array): void {
  if (places.length < row.length) row.fill(0)
  for (let i = 0; i < places.length; i++) row[places[i]!] = returns[i]! - base
}

function layLacking({ places }: ShiftMember, row: Float64Array): void {
  row.fill(-1)
  for (let i = 0; i < places.length; i++) row[places[i]!] = 0
}

/** Columns for what is laid of a pool, a group at a time. */
class Laid {
  /** What events land on. */
  readonly excess: Landings
  /** All of a day's events, less those that land where their ticker has no value. */
  readonly counts: Landings
  readonly #pool: Pool
  #group = -1

  constructor(pool: Pool, kernel: ShiftKernel) {
    const { groups, calendar, placeOf, days } = pool
    const { rows, lacking, events } = largest(groups)
    const room = (members: number): Landings => ({
      rows: kernel.floats(members * calendar),
      starts: kernel.integers(members === 0 ? 0 : events),
      ends: kernel.integers(days.length).fill(0),
      first: kernel.floats(days.length).fill(0),
    })
    this.#pool = pool
    this.excess = room(rows)
    this.counts = room(lacking)
    const { first } = this.counts
    for (const { members } of groups)
      for (const { places, events } of members) for (const event of events) first[placeOf[places[event]!]!]!++
  }

  lay(group: number): void {
    if (this.#group === group) return
    this.#group = group
    const { members, lacking } = this.#pool.groups[group]!
    this.#put(members, layExcess, this.excess)
    this.#put(lacking, layLacking, this.counts)
  }

  #put<M extends ShiftMember>(members: readonly M[], lay: (member: M, row: Float64Array) => void, to: Landings): void {
    const { calendar, placeOf } = this.#pool
    putByDay(members, placeOf, i => i * calendar, to)
    for (const [i, member] of members.entries()) lay(member, to.rows.subarray(i * calendar, (i + 1) * calendar))
  }
}

/** Tells t after each shift; NaN where no event lands on a value, or those do not vary. */
function shiftedTs(pool: Pool, horizon: number, kernel: ShiftKernel): (shifts: Int32Array) => Float64Array {
  const { calendar, groups, abreast } = pool
  const days = kernel.integers(pool.days.length)
  days.set(pool.days)
  const laid = new Laid(pool, kernel)
  const steps = stepsOf(days, horizon, kernel)
  const lacks = groups.some(({ lacking }) => lacking.length > 0)
  const sums = kernel.floats(days.length * abreast)
  const ns = kernel.floats(days.length * (lacks ? abreast : AT_ONCE))
  const room = { shifts: kernel.integers(abreast), ts: kernel.floats(AT_ONCE) }
  return shifts => {
    const ts = new Float64Array(shifts.length)
    for (let from = 0; from < shifts.length; from += abreast) {
      const many = Math.min(abreast, shifts.length - from)
      // Filled up with the last of them, so that all stand abreast of others.
      const full = room.shifts.subarray(0, Math.ceil(many / ABREAST) * ABREAST).fill(shifts[from + many - 1]!)
      full.set(shifts.subarray(from, from + many))
      const parts = Array.from({ length: Math.ceil(full.length / AT_ONCE) }, (_, i) => {
        return { at: i * AT_ONCE, own: full.subarray(i * AT_ONCE, (i + 1) * AT_ONCE) }
      })
      for (let group = 0; group < groups.length; group++) {
        laid.lay(group)
        for (const { at, own } of parts) {
          kernel.addLandings(laid.excess, days, calendar, own, sums.subarray(at * days.length), group > 0)
          // Where every ticker has a value on every day they are the same after any shift.
          if (lacks) kernel.addLandings(laid.counts, days, calendar, own, ns.subarray(at * days.length), group > 0)
        }
      }
      if (!lacks && from === 0) kernel.addLandings(laid.counts, days, calendar, parts[0]!.own, ns, false)
      for (const { at, own } of parts) {
        const found = room.ts.subarray(0, own.length)
        kernel.addTs(sums.subarray(at * days.length), lacks ? ns.subarray(at * days.length) : ns, steps, found)
        ts.set(found.subarray(0, many - at), from + at)
      }
    }
    return ts
  }
}

/** What the compiled module does, shift by shift: for reference, and where that cannot run. */
export const PLAIN: ShiftKernel = {
  floats: length => new Float64Array(length),
  integers: length => new Int32Array(length),
  addLandings({ rows, starts, ends, first }, days, calendar, shifts, totals, more) {
    for (const [lane, shift] of shifts.entries()) {
      for (let i = 0, event = 0, at = firstOf(lane, days.length); i < days.length; i++, at += ABREAST) {
        const place = (days[i]! + shift) % calendar
        let sum = more ? totals[at]! : first[i]!
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

/** One day's events after the other's: where the row of each event's ticker begins; and by day where its events end. */
interface EventsByDay {
  starts: Int32Array
  ends: Int32Array
}

/** What the events of each day add up to, by where they land. */
interface Landings extends EventsByDay {
  /** Figures by member, one for each place of the calendar. */
  rows: Float64Array
  /** By day, what the sum begins with. */
  first: Float64Array
}

/**
 * Bartlett's weighted sum of products is the mean over all windows of `horizon` days of their squared sums. As the window
 * moves on, its sum changes only where a day with events comes in or goes out: so many steps, each with the day (its
 * complement where it goes) and how far the window moves until the next.
 */
export interface Steps {
  day: Int32Array
  length: Float64Array
  horizon: number
}

/** A variance that is a smaller part of the squares it is left of is rounding. */
export const NOTHING = 1e-20

/** Adds up what events land on, many shifts at a time, in columns that it makes: filled with anything. */
interface ShiftKernel {
  floats(length: number): Float64Array
  integers(length: number): Int32Array
  /**
   * @param totals by the shifts that stand abreast, then by day, then by shift
   * @param more whether they go on from what they are; they begin with `first` otherwise
   */
  addLandings(
    landings: Landings,
    days: Int32Array,
    calendar: number,
    shifts: Int32Array,
    totals: Float64Array,
    more: boolean,
  ): void
  /** t of each shift, NaN where there is none. @param sums as `addLandings` leaves them; they are used up */
  addTs(sums: Float64Array, counts: Float64Array, steps: Steps, ts: Float64Array): void
}

/** What assembly/shifts.ts exports; columns are told by their addresses. */
interface Exports {
  memory: { buffer: ArrayBuffer }
  room(bytes: number): number
  addLandings(...columns: number[]): void
  addTs(...columns: number[]): void
}

/** Memory that is kept; more than a whole market takes, of which a part is added up at a time. It never shrinks. */
const MOST_KEPT = 2 ** 26

/** undefined: not asked for yet; null: there is no WebAssembly with vectors here. */
let kept: Exports | null | undefined

/**
 * The compiled module, with room for columns of so many bytes, each of them up to 16 longer; null where it cannot run.
 * Columns made before are overwritten.
 */
export function compiledKernel(bytes: number): ShiftKernel | null {
  const exports = bytes > MOST_KEPT ? instantiated<Exports>(WASM) : keptExports()
  let next = exports?.room(bytes) ?? 0
  if (exports === null || next === 0) return null
  const { buffer } = exports.memory
  const placed = (size: number): number => {
    const at = next
    next += (size + 15) & ~15
    return at
  }
  return {
    floats: length => new Float64Array(buffer, placed(8 * length), length),
    integers: length => new Int32Array(buffer, placed(4 * length), length),
    addLandings: ({ rows, starts, ends, first }, days, calendar, shifts, totals, more) => {
      const columns = [rows, starts, ends, first].map(({ byteOffset }) => byteOffset)
      const to = [shifts.byteOffset, shifts.length, totals.byteOffset, Number(more)]
      exports.addLandings(...columns, days.byteOffset, days.length, calendar, ...to)
    },
    addTs: (sums, counts, { day, length, horizon }, ts) => {
      const steps = [day.byteOffset, length.byteOffset, horizon, NOTHING]
      exports.addTs(sums.byteOffset, counts.byteOffset, day.length / 2, ...steps, ts.length, ts.byteOffset)
    },
  }
}

function keptExports(): Exports | null {
  kept ??= instantiated<Exports>(WASM)
  return kept
}
