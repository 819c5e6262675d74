import { type ShiftOptions, shiftsOf, tooShort } from './shift.js'

/** One ticker of a pool, on the calendar that the pool shares, with the category of what followed each bar. */
export interface GTestMember {
  /** Place in the calendar of each bar that has a category, ascending. */
  places: Int32Array
  /** At each of these bars: 0 to `categories` - 1. */
  codes: Uint8Array
  /** Events, as indices into `places`. */
  events: Int32Array
}

export interface GTest {
  /** 2 Σ observed · ln(observed / expected). */
  g: number
  /** (1 + exceeding) / (1 + shifts) */
  p: number
  shifts: number
  exceeding: number
  /** By category: how many events, and how many there would be if each ticker's were like its own bars. */
  observed: number[]
  expected: number[]
}

/** Statistics that agree to so many parts are the same. */
const ROUNDING = 1e-9

/**
 * Do categories follow events as often as they follow any bar? The likelihood ratio statistic (Sokal & Rohlf, "Biometry",
 * 1995, 17.1) of the counts after the events against those of the same tickers' bars, each ticker by its number of
 * events. Windows overlap, so its p-value is not chi-square's but that of the same circular shifts as `jointShift`.
 */
export function gTestShift(
  members: readonly GTestMember[],
  calendar: number,
  horizon: number,
  categories: number,
  options: ShiftOptions,
): GTest | { reason: string } {
  const observed = new Int32Array(categories)
  for (const { codes, events } of members) for (const event of events) observed[codes[event]!]!++
  const n = observed.reduce((sum, count) => sum + count, 0)
  if (n === 0) return { reason: 'no events' }
  const shifts = shiftsOf(calendar, horizon, options)
  if (shifts.length === 0) return { reason: tooShort(calendar, horizon) }
  const expected = expectedCounts(members, categories)
  const g = likelihoodRatio(observed, expected, n, n)
  const counts = shiftedCounts(members, calendar, shifts, categories)
  let looked = 0
  let exceeding = 0
  for (let i = 0; i < shifts.length; i++) {
    const landed = counts.subarray(i * categories, (i + 1) * categories)
    const many = landed.reduce((sum, count) => sum + count, 0)
    if (many === 0) continue
    looked++
    if (likelihoodRatio(landed, expected, n, many) >= g - ROUNDING * n) exceeding++
  }
  if (looked === 0) return { reason: 'no shift leaves an event where its ticker has a band' }
  const p = (1 + exceeding) / (1 + looked)
  return { g, p, shifts: looked, exceeding, observed: [...observed], expected: [...expected] }
}

function expectedCounts(members: readonly GTestMember[], categories: number): Float64Array {
  const expected = new Float64Array(categories)
  for (const { codes, events } of members) {
    if (events.length === 0) continue
    for (const code of codes) expected[code]! += events.length / codes.length
  }
  return expected
}

/** @param n how many events `expected` is for, @param landed how many there are now */
function likelihoodRatio(observed: Int32Array, expected: Float64Array, n: number, landed: number): number {
  let sum = 0
  for (let code = 0; code < observed.length; code++) {
    const count = observed[code]!
    if (count > 0) sum += count * Math.log((count * n) / (expected[code]! * landed))
  }
  return Math.max(0, 2 * sum)
}

/** One row of counts a shift. */
function shiftedCounts(
  members: readonly GTestMember[],
  calendar: number,
  shifts: Int32Array,
  categories: number,
): Int32Array {
  const counts = new Int32Array(shifts.length * categories)
  const codes = new Int16Array(2 * calendar)
  for (const member of members) {
    if (member.events.length === 0) continue
    // Two rounds of the calendar, so that no place needs to be wrapped; -1 where there is no category.
    codes.fill(-1)
    member.places.forEach((place, i) => {
      codes[place] = codes[place + calendar] = member.codes[i]!
    })
    for (const event of member.events) {
      const place = member.places[event]!
      for (let i = 0; i < shifts.length; i++) {
        const code = codes[place + shifts[i]!]!
        if (code >= 0) counts[i * categories + code]!++
      }
    }
  }
  return counts
}
