// For: chance: tests, intervals and draws, each with its source.
// In: numbers.
// Out: numbers; NaN or null where there is no answer.

import { countUpTo } from '../model/day.js'

/** Arithmetic mean; null without values. */
export function mean(x: ArrayLike<number>): number | null {
  return x.length === 0 ? null : sum(x) / x.length
}

/** Variance of the population from a sample: divided by n - 1. null with fewer than two values. */
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

/** m4 / m2^2: the plain kurtosis, 3 for a normal distribution, not the excess. null where all values are equal. */
export function kurtosis(x: ArrayLike<number>): number | null {
  if (areEqual(x)) return null
  return centralMoment(x, 4) / centralMoment(x, 2) ** 2
}

/** The middle value, or the mean of the two in the middle; null without values. */
export function median(x: ArrayLike<number>): number | null {
  return quantile(Float64Array.from(x).sort(), 0.5)
}

/** Name of each null value, with its reason. */
export function reasonsFor(figures: object, why: (name: string) => string): Record<string, string> {
  const missing = Object.entries(figures).filter(([, value]) => value === null)
  return Object.fromEntries(missing.map(([name]) => [name, why(name)]))
}

/** Adds from the first value to the last; 0 without values. */
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

/** Compares the values, because rounding of their mean may leave a variance a little above 0. */
function areEqual(x: ArrayLike<number>): boolean {
  for (let i = 1; i < x.length; i++) if (x[i] !== x[0]) return false
  return true
}

/**
 * Quantile `p` (0..1) of ascending values, linear between order statistics: index (n - 1) · p, counted from 0. Hyndman
 * & Fan, "Sample quantiles in statistical packages" (1996), type 7; the default of R, NumPy and spreadsheets. null
 * without values.
 */
export function quantile(ascending: ArrayLike<number>, p: number): number | null {
  if (ascending.length === 0) return null
  const index = (ascending.length - 1) * p
  const below = Math.floor(index)
  const low = ascending[below]!
  const high = ascending[Math.min(below + 1, ascending.length - 1)]!
  return low + (index - below) * (high - low)
}

/** Values of one member of a pool, ascending and not empty, and the member's weight (above 0). */
export interface Weighted {
  ascending: Float64Array
  weight: number
}

/** Each halving halves the bracket: after 50 the rest is below the rounding error. */
const HALVINGS = 50

/** The first halvings are stored for all columns: mixtures with other weights share them. */
const SHARED = 8

/**
 * Quantile `p` of a pool where each member has its weight, regardless of its number of values. It is the quantile of
 * the mixture F = Σ weight · F_i / Σ weight. F_i is the member's distribution function, linear between order statistics
 * as in `quantile`.
 * One member has its own quantile, and the order of members does not matter. null without members.
 */
export function pooledQuantile(members: readonly Weighted[], p: number): number | null {
  return new Mixtures(members.map(({ ascending }) => ascending)).quantiles(members, [p])[0]!
}

/** A mixture at x: the number of values of each column up to x, and their weighted share. */
interface Point {
  x: number
  counts: Int32Array
  share: number
}

/** The part of a point that all mixtures share. */
interface SharedPoint extends Pick<Point, 'counts'> {
  /** The values of each column before and after x, and its distribution function there. */
  before: Float64Array
  after: Float64Array
  reached: Float64Array
}

/**
 * Ascending, non-empty columns for mixtures with several weights. A search narrows a bracket around the quantile. For a
 * column without a value in the bracket, the neighbouring values are stored: reading them from thousands of columns
 * costs more than the arithmetic.
 */
export class Mixtures {
  readonly #columns: readonly Float64Array[]
  readonly #indices: ReadonlyMap<Float64Array, number>
  readonly #points = new Map<number, SharedPoint>()
  readonly #own = new Map<number, Float64Array>()
  /** Weights of the current mixture by column; 0 for columns outside it. */
  readonly #weights: Float64Array
  #total = 0
  /** The values of each column before and after the last point. */
  readonly #before: Float64Array
  readonly #after: Float64Array

  constructor(columns: readonly Float64Array[]) {
    this.#columns = columns
    this.#indices = new Map(columns.map((column, i) => [column, i]))
    this.#weights = new Float64Array(columns.length)
    this.#before = new Float64Array(columns.length)
    this.#after = new Float64Array(columns.length)
  }

  /** Several pooled quantiles. @param members some of the columns, or all */
  quantiles(members: readonly Weighted[], ps: readonly number[]): (number | null)[] {
    if (members.length === 0) return ps.map(() => null)
    this.#weights.fill(0)
    for (const { ascending, weight } of members) this.#weights[this.#indices.get(ascending)!]! += weight
    this.#total = sum(this.#weights)
    return ps.map(p => this.#quantile(p))
  }

  #quantile(p: number): number {
    const [least, most] = this.#bounds(p)
    let under = this.#shared(least)
    let over = this.#shared(most)
    let low = this.#mixed(least, under)
    let high = this.#mixed(most, over)
    if (low.x === high.x || low.share >= p) return low.x
    let halvings = 0
    for (; halvings < SHARED && this.#hasValues(low, high); halvings++) {
      const x = (low.x + high.x) / 2
      const point = this.#shared(x, under, over)
      const middle = this.#mixed(x, point)
      if (middle.share < p) [low, under] = [middle, point]
      else [high, over] = [middle, point]
    }
    this.#before.set(under.before)
    this.#after.set(under.after)
    for (; halvings < HALVINGS && this.#hasValues(low, high); halvings++) {
      const middle = this.#at((low.x + high.x) / 2, low.counts, high.counts)
      if (middle.share < p) low = middle
      else high = middle
    }
    if (this.#hasValues(low, high)) return this.#leastWithin(low, high)
    return low.x + ((p - low.share) / (high.share - low.share)) * (high.x - low.x)
  }

  /** The quantile of a mixture lies between the least and the greatest of its members' quantiles. */
  #bounds(p: number): [least: number, most: number] {
    const own = this.#own.get(p) ?? Float64Array.from(this.#columns, column => quantile(column, p)!)
    this.#own.set(p, own)
    let least = Number.POSITIVE_INFINITY
    let most = Number.NEGATIVE_INFINITY
    for (let i = 0; i < own.length; i++) {
      if (this.#weights[i] === 0) continue
      least = Math.min(least, own[i]!)
      most = Math.max(most, own[i]!)
    }
    return [least, most]
  }

  /** @param under @param over known points on either side */
  #shared(x: number, under?: SharedPoint, over?: SharedPoint): SharedPoint {
    const known = this.#points.get(x)
    if (known !== undefined) return known
    const { length } = this.#columns
    const numbers = (): Float64Array => new Float64Array(length)
    const point = { counts: new Int32Array(length), before: numbers(), after: numbers(), reached: numbers() }
    for (let i = 0; i < length; i++) {
      const column = this.#columns[i]!
      const count = countUpTo(column, x, under?.counts[i], over?.counts[i])
      const before = column[count - 1]!
      const after = column[count]!
      point.counts[i] = count
      point.before[i] = before
      point.after[i] = after
      if (count === column.length) point.reached[i] = 1
      else if (count > 0) point.reached[i] = (count - 1 + (x - before) / (after - before)) / (column.length - 1)
    }
    this.#points.set(x, point)
    return point
  }

  /** @param x of the point; it may differ in the sign of 0 */
  #mixed(x: number, { counts, reached }: SharedPoint): Point {
    let share = 0
    for (let i = 0; i < reached.length; i++) share += this.#weights[i]! * reached[i]!
    return { x, counts, share: share / this.#total }
  }

  /** @param least @param most counts at both ends of the bracket; the previous point is one end */
  #at(x: number, least: Int32Array, most: Int32Array): Point {
    const columns = this.#columns
    const weights = this.#weights
    const before = this.#before
    const after = this.#after
    const counts = new Int32Array(columns.length)
    let share = 0
    for (let i = 0; i < counts.length; i++) {
      const weight = weights[i]!
      if (weight === 0) continue
      const from = least[i]!
      const to = most[i]!
      const count = from === to ? from : this.#look(i, x, from, to)
      counts[i] = count
      const { length } = columns[i]!
      if (count === length) share += weight
      else if (count > 0) {
        const within = (x - before[i]!) / (after[i]! - before[i]!)
        share += weight * ((count - 1 + within) / (length - 1))
      }
    }
    return { x, counts, share: share / this.#total }
  }

  /** Number of values of a column up to x. */
  #look(i: number, x: number, from: number, to: number): number {
    const column = this.#columns[i]!
    const count = countUpTo(column, x, from, to)
    this.#before[i] = column[count - 1]!
    this.#after[i] = column[count]!
    return count
  }

  /** Between two points without a value the mixture is a straight line. */
  #hasValues(low: Point, high: Point): boolean {
    const weights = this.#weights
    for (let i = 0; i < weights.length; i++) if (low.counts[i]! < high.counts[i]! && weights[i] !== 0) return true
    return false
  }

  /** Where the distribution jumps, the quantile is a value itself, not a number next to it. */
  #leastWithin(low: Point, high: Point): number {
    let least = high.x
    for (let i = 0; i < this.#columns.length; i++) {
      const next = this.#columns[i]![low.counts[i]!]
      if (this.#weights[i] !== 0 && next !== undefined) least = Math.min(least, next)
    }
    return least
  }
}
