import { instantiated } from '../indicators/wasm.js'
import { WASM } from './shifts.wasm.js'

/** One day's events after the other's: where the row of each event's ticker begins; and by day where its events end. */
export interface EventsByDay {
  starts: Int32Array
  ends: Int32Array
}

/** What the events of each day add up to, by where they land. */
export interface Landings extends EventsByDay {
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

/** Shifts that are added up abreast. */
export const ABREAST = 8

/** A variance that is a smaller part of the squares it is left of is rounding. */
export const NOTHING = 1e-20

/** Adds up what events land on, many shifts at a time, in columns that it makes: filled with anything. */
export interface ShiftKernel {
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
