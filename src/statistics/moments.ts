import { countUpTo } from '../model/day.js'

/** Arithmetic mean; null of no values. */
export function mean(x: ArrayLike<number>): number | null {
  return x.length === 0 ? null : sum(x) / x.length
}

/** Variance of the population that `x` is a sample of: divided by n - 1. null of fewer than two values. */
export function variance(x: ArrayLike<number>): number | null {
  if (x.length < 2) return null
  return areEqual(x) ? 0 : (centralMoment(x, 2) * x.length) / (x.length - 1)
}

/** Standard deviation, the root of the variance with n - 1. */
export function deviation(x: ArrayLike<number>): number | null {
  const squared = variance(x)
  return squared === null ? null : Math.sqrt(squared)
}

/** m3 / m2^1.5 of central moments divided by n (g1 of Joanes & Gill 1998); null where all values are the same. */
export function skewness(x: ArrayLike<number>): number | null {
  if (areEqual(x)) return null
  return centralMoment(x, 3) / centralMoment(x, 2) ** 1.5
}

/** m4 / m2^2: the plain kurtosis, 3 of a normal distribution, not the excess over it. null where all values are the same. */
export function kurtosis(x: ArrayLike<number>): number | null {
  if (areEqual(x)) return null
  return centralMoment(x, 4) / centralMoment(x, 2) ** 2
}

/** The middle value, or the mean of the two in the middle; null of no values. */
export function median(x: ArrayLike<number>): number | null {
  return quantile(Float64Array.from(x).sort(), 0.5)
}

/** From the first value to the last; 0 of no values. */
export function sum(x: ArrayLike<number>): number {
  let total = 0
  for (let i = 0; i < x.length; i++) total += x[i]!
  return total
}

function centralMoment(x: ArrayLike<number>, power: number): number {
  const centre = sum(x) / x.length
  let total = 0
  for (let i = 0; i < x.length; i++) total += (x[i]! - centre) ** power
  return total / x.length
}

/** Asked of the values, because rounding of their mean may leave a variance a little above 0. */
function areEqual(x: ArrayLike<number>): boolean {
  for (let i = 1; i < x.length; i++) if (x[i] !== x[0]) return false
  return true
}

/**
 * Quantile `p` (0..1) of ascending values, linear between order statistics: place (n - 1) · p, counted from 0.
 * Hyndman & Fan, "Sample quantiles in statistical packages" (1996), type 7; the default of R, NumPy and spreadsheets.
 * null of no values.
 */
export function quantile(ascending: ArrayLike<number>, p: number): number | null {
  if (ascending.length === 0) return null
  const place = (ascending.length - 1) * p
  const below = Math.floor(place)
  const low = ascending[below]!
  const high = ascending[Math.min(below + 1, ascending.length - 1)]!
  return low + (place - below) * (high - low)
}

/** Values of one member of a pool, ascending and not empty, and how much the member counts (above 0). */
export interface Weighted {
  ascending: Float64Array
  weight: number
}

/** Each halving leaves half of the bracket: 50 leave less than rounding does. */
const HALVINGS = 50

/**
 * Quantile `p` of a pool to which each member contributes by its weight, however many values it has: of the mixture
 * F = Σ weight · F_i / Σ weight, where F_i is the member's distribution function, linear between order statistics as in
 * quantile.ts. So one member alone has its own quantile, and the order of members does not matter. null of no members.
 */
export function pooledQuantile(members: readonly Weighted[], p: number): number | null {
  if (members.length === 0) return null
  const pool = new Pool(members)
  const own = members.map(({ ascending }) => quantile(ascending, p)!)
  // The quantile of a mixture lies between the least and the greatest of its members' quantiles.
  let low = pool.at(own.reduce((least, x) => Math.min(least, x)))
  let high = pool.at(own.reduce((most, x) => Math.max(most, x)))
  if (low.x === high.x || low.share >= p) return low.x
  for (let i = 0; i < HALVINGS && hasValues(low, high); i++) {
    const middle = pool.at((low.x + high.x) / 2, low.counts, high.counts)
    if (middle.share < p) low = middle
    else high = middle
  }
  if (hasValues(low, high)) return leastWithin(members, low, high)
  return low.x + ((p - low.share) / (high.share - low.share)) * (high.x - low.x)
}

/** The mixture at x: how many values of each member are up to x, and the share that they make. */
interface Point {
  x: number
  counts: Int32Array
  share: number
}

/**
 * The members of a mixture that is looked at again and again in a bracket that narrows. Where a member has no value left in
 * it, those beside it are at hand: to fetch them from a column of each ticker of a market costs more than to reckon.
 */
class Pool {
  readonly #members: readonly Weighted[]
  readonly #lengths: Int32Array
  readonly #weights: Float64Array
  readonly #total: number
  /** The values of each member before and after the point that was looked at last. */
  readonly #before: Float64Array
  readonly #after: Float64Array

  constructor(members: readonly Weighted[]) {
    this.#members = members
    this.#lengths = Int32Array.from(members, ({ ascending }) => ascending.length)
    this.#weights = Float64Array.from(members, ({ weight }) => weight)
    this.#total = sum(this.#weights)
    this.#before = new Float64Array(members.length)
    this.#after = new Float64Array(members.length)
  }

  /** @param least @param most counts at both ends of the bracket, of which the point before this one is one */
  at(x: number, least?: Int32Array, most?: Int32Array): Point {
    const [lengths, weights, before, after] = [this.#lengths, this.#weights, this.#before, this.#after]
    const counts = new Int32Array(lengths.length)
    let share = 0
    for (let i = 0; i < lengths.length; i++) {
      const length = lengths[i]!
      const from = least === undefined ? 0 : least[i]!
      const to = most === undefined ? length : most[i]!
      const count = from === to ? from : this.#look(i, x, from, to)
      counts[i] = count
      if (count === length) share += weights[i]!
      else if (count > 0) {
        const within = (x - before[i]!) / (after[i]! - before[i]!)
        share += weights[i]! * ((count - 1 + within) / (length - 1))
      }
    }
    return { x, counts, share: share / this.#total }
  }

  /** How many values of a member are up to x. */
  #look(i: number, x: number, from: number, to: number): number {
    const { ascending } = this.#members[i]!
    const count = countUpTo(ascending, x, from, to)
    this.#before[i] = ascending[count - 1]!
    this.#after[i] = ascending[count]!
    return count
  }
}

/** Between two points without a value the mixture is a straight line. */
function hasValues(low: Point, high: Point): boolean {
  for (let i = 0; i < low.counts.length; i++) if (low.counts[i]! < high.counts[i]!) return true
  return false
}

/** Where the distribution jumps the quantile is a value itself, not a number beside it. */
function leastWithin(members: readonly Weighted[], low: Point, high: Point): number {
  return members.reduce((least, { ascending }, i) => Math.min(least, ascending[low.counts[i]!] ?? least), high.x)
}
