import { addValues, type Exceedance, exceedance, type ShiftOptions, shiftsOf, tooShort } from './shift.js'

/** Normal quantile of 97.5 %, for two-sided 95 %. */
export const NORMAL_QUANTILE_975 = 1.959963984540054

/**
 * 95 % interval of a share, `successes` of `n`; null for n = 0. Wilson, "Probable inference, the law of succession, and
 * statistical inference" (1927): it never leaves 0..1 and is valid for few trials, unlike the textbook interval.
 */
export function wilson(successes: number, n: number): { low: number; high: number } | null {
  if (n === 0) return null
  const share = successes / n
  const scale = 1 + (NORMAL_QUANTILE_975 * NORMAL_QUANTILE_975) / n
  const centre = (share + (NORMAL_QUANTILE_975 * NORMAL_QUANTILE_975) / (2 * n)) / scale
  const half =
    (NORMAL_QUANTILE_975 / scale) *
    Math.sqrt((share * (1 - share)) / n + (NORMAL_QUANTILE_975 * NORMAL_QUANTILE_975) / (4 * n * n))
  return {
    low: successes <= 0 ? 0 : centre - half,
    high: successes >= n ? 1 : centre + half,
  }
}

/** One ticker of a pool on the common calendar, with the category of the outcome after each bar. */
export interface GTestMember {
  /** Calendar index of each bar that has a category, ascending. */
  indices: Int32Array
  /** At each of these bars: 0 to `categories` - 1. */
  codes: Uint8Array
  /** Events, as indices into `indices`. */
  events: Int32Array
}

interface GTest extends Exceedance {
  /** 2 Σ observed · ln(observed / expected). */
  g: number
  /** By category: number of events, and the expected number if each ticker's events were like its bars. */
  observed: number[]
  expected: number[]
}

/** Statistics with a smaller relative difference are equal. */
const ROUNDING = 1e-9

/**
 * Tests whether categories follow events as often as any bar, for all members (tickers) together. Likelihood ratio
 * statistic (Sokal & Rohlf, "Biometry", 1995, 17.1) of the counts after events; expected counts weigh each ticker by
 * its events. Windows overlap, so p comes from the circular shifts of `jointShift`, not from chi-square.
 * @param calendarLength bars of the common calendar
 * @param horizon length of the windows in bars
 * @param categories their number
 */
export function gTestShift(
  members: readonly GTestMember[],
  calendarLength: number,
  horizon: number,
  categories: number,
  options: ShiftOptions,
): GTest | { reason: string } {
  const observed = new Int32Array(categories)
  for (const { codes, events } of members) for (const event of events) observed[codes[event]!]!++
  const n = observed.reduce((sum, count) => sum + count, 0)
  if (n === 0) return { reason: 'no events' }
  const shifts = shiftsOf(calendarLength, horizon, options)
  if (shifts.length === 0) return { reason: tooShort(calendarLength, horizon) }
  const expected = expectedCounts(members, categories)
  const g = likelihoodRatio(observed, expected, n, n)
  const counts = shiftedCounts(members, calendarLength, shifts, categories)
  const shifted = Float64Array.from(shifts, (_, i) => {
    const countsOfShift = counts.subarray(i * categories, (i + 1) * categories)
    const landed = countsOfShift.reduce((sum, count) => sum + count, 0)
    return landed === 0 ? Number.NaN : likelihoodRatio(countsOfShift, expected, n, landed)
  })
  // Shifts with a statistic that is less only by rounding also count.
  const rarity = exceedance(shifted, g - ROUNDING * n)
  if (rarity === null) return { reason: 'no shift leaves an event where its ticker has a band' }
  return { g, ...rarity, observed: [...observed], expected: [...expected] }
}

/** The number of events of each category if each ticker's events were like its bars. */
function expectedCounts(members: readonly GTestMember[], categories: number): Float64Array {
  const expected = new Float64Array(categories)
  for (const { codes, events } of members) {
    if (events.length === 0) continue
    const share = events.length / codes.length
    // By index: an iterator takes several times as long.
    for (let i = 0; i < codes.length; i++) expected[codes[i]!]! += share
  }
  return expected
}

/**
 * The likelihood ratio statistic of counts by category, 2 Σ observed · ln(observed / expected), with the expected
 * counts scaled to the events that landed on a category.
 * @param n number of events in `expected`
 * @param landed number of events in `observed`
 */
function likelihoodRatio(observed: Int32Array, expected: Float64Array, n: number, landed: number): number {
  let sum = 0
  for (let code = 0; code < observed.length; code++) {
    const count = observed[code]!
    if (count > 0) sum += count * Math.log((count * n) / (expected[code]! * landed))
  }
  return Math.max(0, 2 * sum)
}

/** Bits of the integers that a double represents exactly. */
const EXACT_BITS = 53

/**
 * A row of counts for each shift: how many events lie in each category when all are moved by that number of bars. Those
 * past the end of the calendar come in at its start. The counts of all categories are packed into one number, so
 * that one addition adds them all; they are unpacked before one could overflow.
 * @param calendarLength bars of the calendar
 */
function shiftedCounts(
  members: readonly GTestMember[],
  calendarLength: number,
  shifts: Int32Array,
  categories: number,
): Int32Array {
  const counts = new Int32Array(shifts.length * categories)
  // The count of each category is one digit of a number to the base `radix`.
  const radix = 2 ** Math.floor(EXACT_BITS / categories)
  const unitOfCode = Float64Array.from({ length: categories }, (_, code) => radix ** code)
  const totals = new Float64Array(shifts.length)
  const values = new Float64Array(2 * calendarLength)
  let packedEvents = 0
  for (const { indices, codes, events } of members) {
    if (events.length === 0) continue
    // The calendar twice, so that no index needs to wrap; 0 where there is no category.
    if (indices.length < calendarLength) values.fill(0, 0, calendarLength)
    for (let i = 0; i < indices.length; i++) values[indices[i]!] = unitOfCode[codes[i]!]!
    values.copyWithin(calendarLength, 0, calendarLength)
    for (let from = 0; from < events.length; ) {
      if (packedEvents === radix - 1) {
        addUnpacked(totals, radix, counts, categories)
        packedEvents = 0
      }
      const eventIndices = events.subarray(from, from + radix - 1 - packedEvents).map(event => indices[event]!)
      addValues(totals, values, eventIndices, shifts)
      from += eventIndices.length
      packedEvents += eventIndices.length
    }
  }
  addUnpacked(totals, radix, counts, categories)
  return counts
}

/**
 * Adds packed counts to the rows of `counts`, and sets the packed ones to 0.
 * @param totals for each shift, a number whose digits to the base `radix` are the counts of the categories
 */
function addUnpacked(totals: Float64Array, radix: number, counts: Int32Array, categories: number): void {
  for (let i = 0; i < totals.length; i++) {
    let rest = totals[i]!
    for (let code = 0; code < categories; code++) {
      const higherDigits = Math.floor(rest / radix)
      counts[i * categories + code]! += rest - higherDigits * radix
      rest = higherDigits
    }
  }
  totals.fill(0)
}

/** How far the windows of events share bars. */
interface Overlap {
  /** Events whose window shares a bar with another event's. */
  overlapping: number
  /** The first event, then always the next that begins at or after the end of the last counted window. */
  independent: number
}

/**
 * Counts the events whose windows share bars. A window covers the `window` bars after its event.
 * @param eventBars bar numbers of one ticker's events, ascending
 * @param count the number of events (default: all)
 */
export function countOverlap(eventBars: ArrayLike<number>, window: number, count = eventBars.length): Overlap {
  let overlapping = 0
  let independent = 0
  let nextFreeBar = Number.NEGATIVE_INFINITY
  for (let i = 0; i < count; i++) {
    const bar = eventBars[i]!
    const meetsPrevious = i > 0 && bar - eventBars[i - 1]! < window
    const meetsNext = i + 1 < count && eventBars[i + 1]! - bar < window
    if (meetsPrevious || meetsNext) overlapping++
    if (bar < nextFreeBar) continue
    independent++
    nextFreeBar = bar + window
  }
  return { overlapping, independent }
}
