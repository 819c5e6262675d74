import { countUpTo } from '../model/day.js'
import { quantile, sum } from './moments.js'

/**
 * Quantiles of pools of columns: those of the mixture F = Σ weight · F_i / Σ weight. F_i is the distribution function of
 * a column, linear between order statistics as in `quantile` (moments.ts).
 *
 * Columns need not be sorted or kept. A first pass counts their values in buckets; the counts of a pool leave a few
 * buckets in which each quantile can be. A second pass keeps only the values in those, and a search finds the quantile
 * to the last digit.
 */

/** Columns of numbers without NaN, computed on demand. */
export interface Columns {
  count: number
  /** Valid until the next call. Not empty for a column of a pool. */
  values(column: number): Float64Array
}

/** Columns by number, each once and in ascending order, and the weight of each (above 0). */
export interface Pool {
  columns: ArrayLike<number>
  weights: ArrayLike<number>
}

/** Values of one member of a pool, ascending and not empty, and the member's weight (above 0). */
export interface Weighted {
  ascending: Float64Array
  weight: number
}

/** Quantile `p` (0..1) of a pool of sorted columns. One member has its own quantile. null without members. */
export function pooledQuantile(members: readonly Weighted[], p: number): number | null {
  if (members.length === 0) return null
  const columns = members.map(({ ascending }) => ascending)
  const sizes = Int32Array.from(columns, ({ length }) => length)
  const pool = { columns: numbersUpTo(members.length), weights: members.map(({ weight }) => weight) }
  const own = Float64Array.from(columns, column => quantile(column, p)!)
  return new Search({ values: columns, before: new Int32Array(members.length), sizes }, pool).quantile(p, own, () => 0)
}

function numbersUpTo(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => i)
}

/**
 * Some quantiles of each of several pools.
 * @returns by pool, in the order of `ps`; null for a pool without columns
 */
export function pooledQuantiles(columns: Columns, pools: readonly Pool[], ps: readonly number[]): (number | null)[][] {
  const isUsed = new Uint8Array(columns.count)
  for (const pool of pools) for (let j = 0; j < pool.columns.length; j++) isUsed[pool.columns[j]!] = 1
  const used = numbersUpTo(columns.count).filter(i => isUsed[i] === 1)
  const mixed = pools.filter(pool => pool.columns.length > 1)
  const counts = mixed.map(pool => new PoolCounts(pool))
  const own = ps.map(p => new OwnQuantiles(p, columns.count))
  const buckets = new Buckets()
  for (const i of used) {
    buckets.fill(columns.values(i))
    for (const quantiles of own) quantiles.locate(i, buckets)
    const { filled } = buckets
    for (const pool of counts) pool.add(i, buckets, filled)
  }
  for (const quantiles of own) for (const pool of pools) quantiles.need(pool)
  const ranges = ps.map(p => counts.map(pool => pool.rangeOf(p)))
  const runs = (mixed.length === 0 ? [] : ranges).map(of => new RunsAround(unionOf(of), columns.count))
  for (const i of used) {
    buckets.fill(columns.values(i))
    for (const quantiles of own) quantiles.compute(i, buckets)
    for (const around of runs) around.add(i, buckets)
  }
  let m = 0
  return pools.map(pool => {
    if (pool.columns.length === 0) return ps.map(() => null)
    if (pool.columns.length === 1) return own.map(({ values }) => values[pool.columns[0]!]!)
    const which = m++
    return ps.map((p, k) => {
      const [from, to] = ranges[k]![which]!
      const sideOf = (x: number): number => {
        const bucket = bucketOf(x)
        return Number(bucket > to) - Number(bucket < from)
      }
      return new Search(runs[k]!, pool).quantile(p, own[k]!.values, sideOf)
    })
  })
}

/** The quantiles `p` of columns themselves: of a pool only those that may be the least or the greatest one. */
class OwnQuantiles {
  readonly #p: number
  /** NaN for a quantile that is not needed. */
  readonly values: Float64Array
  /** The buckets of the two values between which each quantile lies. */
  readonly #low: Int32Array
  readonly #high: Int32Array
  readonly #isNeeded: Uint8Array

  constructor(p: number, columns: number) {
    this.#p = p
    this.values = new Float64Array(columns).fill(Number.NaN)
    this.#low = new Int32Array(columns)
    this.#high = new Int32Array(columns)
    this.#isNeeded = new Uint8Array(columns)
  }

  locate(column: number, buckets: Buckets): void {
    const index = Math.floor((buckets.size - 1) * this.#p)
    this.#low[column] = buckets.bucketAt(index)
    this.#high[column] = buckets.bucketAt(index + 1)
  }

  need({ columns }: Pool): void {
    let least = BUCKETS
    let most = 0
    for (let j = 0; j < columns.length; j++) {
      least = Math.min(least, this.#high[columns[j]!]!)
      most = Math.max(most, this.#low[columns[j]!]!)
    }
    for (let j = 0; j < columns.length; j++) {
      const i = columns[j]!
      if (this.#low[i]! <= least || this.#high[i]! >= most) this.#isNeeded[i] = 1
    }
  }

  compute(column: number, buckets: Buckets): void {
    if (this.#isNeeded[column] === 1) this.values[column] = buckets.quantile(this.#p)
  }
}

/** The first and last of neighbouring buckets. */
type BucketRange = [from: number, to: number]

function unionOf(ranges: readonly BucketRange[]): BucketRange {
  return [Math.min(...ranges.map(([from]) => from)), Math.max(...ranges.map(([, to]) => to))]
}

/** Numbers in a block of memory that short runs share. */
const BLOCK_SIZE = 2 ** 14

/** The values of columns in a range of buckets, with the nearest values on both sides. */
class RunsAround implements Runs {
  readonly #range: BucketRange
  readonly values: Float64Array[] = []
  readonly before: Int32Array
  readonly sizes: Int32Array
  /** Memory that many short runs share, and how much of it is in use. */
  #block = new Float64Array()
  #used = 0

  constructor(range: BucketRange, columns: number) {
    this.#range = range
    this.before = new Int32Array(columns)
    this.sizes = new Int32Array(columns)
  }

  add(column: number, buckets: Buckets): void {
    const [from, to] = this.#range
    const { values, before } = buckets.between(buckets.before(from) - 1, buckets.before(to + 1))
    if (this.#used + values.length > this.#block.length) {
      this.#block = new Float64Array(Math.max(values.length, BLOCK_SIZE))
      this.#used = 0
    }
    const run = this.#block.subarray(this.#used, this.#used + values.length)
    run.set(values)
    this.#used += values.length
    this.values[column] = run
    this.before[column] = before
    this.sizes[column] = buckets.size
  }
}

/**
 * A bucket holds numbers with the same sign, exponent and first five binary digits. Numbers nearer to 0 than 2^-14 are
 * all in the two buckets next to it, those from 4 on in the outermost ones.
 */
const DIGITS = 5
const SHIFT = 20 - DIGITS
const LEAST = (1023 - 14) << DIGITS
const MOST = ((1023 + 2) << DIGITS) - LEAST
const BUCKETS = 2 * (MOST + 1)

/** The bucket of a number by its upper half: that grows with a positive number, and falls with a negative one. */
function bucketOfHalf(half: number): number {
  const size = Math.min(Math.max(((half & 0x7fffffff) >>> SHIFT) - LEAST, 0), MOST)
  return (size ^ (half >> 31)) + MOST + 1
}

/** One number, and the two halves of its bits. */
const number = new Float64Array(1)
const halves = new Int32Array(number.buffer)

function bucketOf(x: number): number {
  // Both zeros are equal, and 0 is the larger one.
  number[0] = x + 0
  return bucketOfHalf(halves[1]!)
}

/** The values of one column by buckets. */
class Buckets {
  #values: Float64Array = new Float64Array()
  #keys = new Uint16Array()
  #some = new Float64Array(64)
  /** The number of values in all buckets before one. */
  readonly #before = new Int32Array(BUCKETS + 1)
  /** The buckets with values. */
  readonly #filled = new Int32Array(BUCKETS)
  #count = 0

  get size(): number {
    return this.#values.length
  }

  fill(values: Float64Array): void {
    const { length } = values
    if (length > this.#keys.length) this.#keys = new Uint16Array(2 * length)
    this.#values = values
    const keys = this.#keys
    const before = this.#before.fill(0)
    const words = new Int32Array(values.buffer, values.byteOffset, 2 * length)
    for (let i = 0; i < length; i++) {
      const key = bucketOfHalf(words[2 * i + 1]!)
      keys[i] = key
      before[key + 1]!++
    }
    let filled = 0
    let upTo = 0
    for (let b = 0; b < BUCKETS; b++) {
      const own = before[b + 1]!
      if (own > 0) this.#filled[filled++] = b
      upTo += own
      before[b + 1] = upTo
    }
    this.#count = filled
  }

  /** The buckets with values, ascending. */
  get filled(): Int32Array {
    return this.#filled.subarray(0, this.#count)
  }

  before(bucket: number): number {
    return this.#before[bucket]!
  }

  /** As `quantile` of the sorted values. */
  quantile(p: number): number {
    const index = (this.size - 1) * p
    const low = Math.floor(index)
    const { values, before } = this.between(low, low + 1)
    const inOrder = (i: number): number => values[Math.min(i, this.size - 1) - before]!
    return inOrder(low) + (index - low) * (inOrder(low + 1) - inOrder(low))
  }

  /**
   * The values from one index of the sorted column to another, with all others in their buckets, ascending.
   * @returns valid until the next call; `before` counts the values before these
   */
  between(first: number, last: number): { values: Float64Array; before: number } {
    const from = this.bucketAt(first)
    const to = this.bucketAt(last)
    const before = this.before(from)
    const length = this.before(to + 1) - before
    if (length > this.#some.length) this.#some = new Float64Array(2 * length)
    const some = this.#some
    const keys = this.#keys
    const values = this.#values
    let n = 0
    for (let i = 0; n < length; i++) if (keys[i]! >= from && keys[i]! <= to) some[n++] = values[i]!
    return { values: sorted(some.subarray(0, length)), before }
  }

  /** The bucket of the value at an index of the sorted column, or of the nearest one. */
  bucketAt(index: number): number {
    return countUpTo(this.#before, Math.min(Math.max(index, 0), this.size - 1)) - 1
  }
}

/** Up to this number of values, insertion takes less time than a call of `sort`. */
const FEW = 48

function sorted(values: Float64Array): Float64Array {
  if (values.length > FEW) return values.sort()
  for (let i = 1; i < values.length; i++) {
    const value = values[i]!
    let j = i
    for (; j > 0 && values[j - 1]! > value; j--) values[j] = values[j - 1]!
    values[j] = value
  }
  return values
}

/** Sums of rounded numbers may be off by this share. */
const SLACK = 1e-9

/** The counts of all columns of a pool, by weight. */
class PoolCounts {
  readonly #pool: Pool
  /** How many of the columns were added. */
  #added = 0
  readonly #sums = new Float64Array(BUCKETS)
  /** Sum of the weights, and of the weights of a step by one value. */
  #total = 0
  #steps = 0

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Ignores a column outside the pool. @param column not before the last one */
  add(column: number, buckets: Buckets, filled: Int32Array): void {
    const { columns, weights } = this.#pool
    if (columns[this.#added] !== column) return
    const weight = weights[this.#added++]!
    const step = weight / Math.max(1, buckets.size - 1)
    this.#total += weight
    this.#steps += step
    const sums = this.#sums
    for (let f = 0, from = 0; f < filled.length; f++) {
      const to = buckets.before(filled[f]! + 1)
      sums[filled[f]!]! += step * (to - from)
      from = to
    }
  }

  /**
   * The buckets that may hold the quantile `p`, and one more on both sides. With c of n values up to x, F_i(x) lies
   * between (c - 1) / (n - 1) and c / (n - 1).
   */
  rangeOf(p: number): BucketRange {
    const least = (p - SLACK) * this.#total
    const most = (p + SLACK) * this.#total
    let from = 0
    let to = 1
    let upTo = 0
    for (let b = 0; b < BUCKETS; b++) {
      upTo += this.#sums[b]!
      if (upTo < least) from = b
      if (upTo - this.#steps < most) to = b + 2
    }
    return [from, Math.min(to, BUCKETS - 1)]
  }
}

/** Some values of each column: ascending, and neighbours in the sorted column. */
interface Runs {
  values: readonly Float64Array[]
  /** The number of values of the column before these, and of all. */
  before: Int32Array
  sizes: Int32Array
}

/** A mixture at x: how many values of each run are up to x, and the weighted share of all values that are. */
interface Point {
  counts: Int32Array
  share: number
}

/** Each halving halves the bracket: after 50 the rest is below the rounding error. */
const HALVINGS = 50

/**
 * Narrows a bracket around a quantile of one pool. For a column without a value in the bracket, the neighbouring values
 * are stored: reading them from thousands of columns costs more than the arithmetic.
 */
class Search {
  readonly #runs: Runs
  readonly #pool: Pool
  readonly #total: number
  readonly #before: Float64Array
  readonly #after: Float64Array
  /** The counts of a point that is no longer needed. */
  #spare: Int32Array | null = null

  constructor(runs: Runs, pool: Pool) {
    const { length } = pool.columns
    this.#runs = runs
    this.#pool = pool
    this.#total = sum(pool.weights)
    this.#before = new Float64Array(length)
    this.#after = new Float64Array(length)
  }

  /**
   * @param own the quantile of each column, or NaN where another one is less and another greater
   * @param sideOf -1 for an x certainly below the quantile, 1 for one certainly above, 0 for one that the runs cover
   */
  quantile(p: number, own: Float64Array, sideOf: (x: number) => number): number {
    // The quantile of a mixture lies between the least and the greatest of its members' quantiles.
    let from = Number.POSITIVE_INFINITY
    let to = Number.NEGATIVE_INFINITY
    const { columns } = this.#pool
    for (let j = 0; j < columns.length; j++) {
      const quantile = own[columns[j]!]!
      if (quantile < from) from = quantile
      if (quantile > to) to = quantile
    }
    if (from === to || sideOf(from) > 0) return from
    let low = sideOf(from) < 0 ? null : this.#at(from)
    if (low !== null && low.share >= p) return from
    let high = sideOf(to) > 0 ? null : this.#at(to)
    for (let halvings = 0; ; halvings++) {
      if (low !== null && high !== null && !hasValues(low, high))
        return from + ((p - low.share) / (high.share - low.share)) * (to - from)
      if (halvings === HALVINGS) return this.#leastWithin(from, to)
      const x = (from + to) / 2
      const side = sideOf(x)
      const middle = side === 0 ? this.#at(x, low, high) : null
      const isBelow = side < 0 || (middle !== null && middle.share < p)
      const dropped = isBelow ? low : high
      if (dropped !== null) this.#spare = dropped.counts
      if (isBelow) {
        from = x
        low = middle
      } else {
        to = x
        high = middle
      }
    }
  }

  /** @param low @param high known points on either side; the previous point is one of them */
  #at(x: number, low: Point | null = null, high: Point | null = null): Point {
    const { values, before: earlier, sizes } = this.#runs
    const { columns, weights } = this.#pool
    const before = this.#before
    const after = this.#after
    const counts = this.#spare ?? new Int32Array(columns.length)
    this.#spare = null
    let share = 0
    for (let j = 0; j < counts.length; j++) {
      const i = columns[j]!
      const from = low === null ? 0 : low.counts[j]!
      const to = high === null ? values[i]!.length : high.counts[j]!
      const count = from === to ? from : this.#countUpTo(j, x, from, to)
      counts[j] = count
      const upTo = earlier[i]! + count
      const size = sizes[i]!
      if (upTo === size) share += weights[j]!
      else if (upTo > 0) {
        const within = (x - before[j]!) / (after[j]! - before[j]!)
        share += weights[j]! * ((upTo - 1 + within) / (size - 1))
      }
    }
    return { counts, share: share / this.#total }
  }

  /** Number of values of a member's run up to x. */
  #countUpTo(j: number, x: number, from: number, to: number): number {
    const run = this.#runs.values[this.#pool.columns[j]!]!
    const count = countUpTo(run, x, from, to)
    this.#before[j] = run[count - 1]!
    this.#after[j] = run[count]!
    return count
  }

  /** Where the distribution jumps, the quantile is a value itself, not a number next to it. */
  #leastWithin(from: number, to: number): number {
    const { counts } = this.#at(from)
    let least = to
    for (let j = 0; j < counts.length; j++) {
      const next = this.#runs.values[this.#pool.columns[j]!]![counts[j]!]
      if (next !== undefined) least = Math.min(least, next)
    }
    return least
  }
}

/** Whether a member has values between two points. Without any the mixture is a straight line. */
function hasValues(low: Point, high: Point): boolean {
  for (let j = 0; j < low.counts.length; j++) if (low.counts[j]! < high.counts[j]!) return true
  return false
}
