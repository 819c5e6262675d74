import { countUpTo } from '../model/day.js'
import { BUCKETS, type BucketedColumn, Buckets, bucketOf, countBefore, quantileIn, sortBetween } from './buckets.js'
import { quantile, sum } from './moments.js'

/**
 * Quantiles of pools of columns: those of the mixture F = Σ weight · F_i / Σ weight. F_i is the distribution function
 * of a column, linear between order statistics as in `quantile` (moments.ts).
 *
 * A first pass sorts the values of each column by buckets; the counts of a pool leave a few buckets in which each
 * quantile can be. A second pass sorts the values in those, and a search finds the quantile to the last digit. Only the
 * first columns are stored between the passes: a market has more than fits in memory.
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
  const zeros = new Int32Array(members.length)
  const pool = { columns: numbersUpTo(members.length), weights: Float64Array.from(members, ({ weight }) => weight) }
  const columnQuantiles = Float64Array.from(columns, column => quantile(column, p)!)
  // Each run is a whole column, so the runs cover every x.
  const runs = { memory: columns, starts: zeros, lengths: sizes, countsBefore: zeros, sizes }
  const alwaysCovered = (): number => 0
  return new Search(runs, pool).quantile(p, columnQuantiles, alwaysCovered)
}

/** The numbers from 0 to `count` - 1. */
function numbersUpTo(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => i)
}

/**
 * Some quantiles of each of several pools. A pool has the values of several columns, each with the column's weight.
 * Only values near a quantile are sorted; those of one column are called its run.
 * @param ps the quantiles, each 0..1
 * @param memory holds the runs; a later call may reuse it, which ends their use
 * @returns by pool, in the order of `ps`; null for a pool without columns
 */
export function pooledQuantiles(
  columns: Columns,
  pools: readonly Pool[],
  ps: readonly number[],
  memory = new RunMemory(),
): (number | null)[][] {
  const isUsed = new Uint8Array(columns.count)
  for (const pool of pools) for (let j = 0; j < pool.columns.length; j++) isUsed[pool.columns[j]!] = 1
  const usedColumns = numbersUpTo(columns.count).filter(column => isUsed[column] === 1)
  const mixedPools = pools.filter(pool => pool.columns.length > 1)
  const poolCounts = mixedPools.map(pool => new PoolCounts(pool))
  const columnQuantiles = ps.map(p => new ColumnQuantiles(p, columns.count))
  const buckets = new Buckets()
  memory.clear()
  // The first pass sorts the values of each column by buckets, and counts those of each pool.
  const storedColumns: BucketedColumn[] = []
  let storedValues = 0
  for (const column of usedColumns) {
    buckets.fill(columns.values(column))
    const values = buckets.column
    for (const quantiles of columnQuantiles) quantiles.noteBuckets(column, values)
    for (const pool of poolCounts) pool.add(column, buckets)
    storedValues += values.length
    if (storedValues <= MAX_STORED_VALUES) storedColumns.push(memory.store(values))
  }
  for (const quantiles of columnQuantiles) for (const pool of pools) quantiles.markNeeded(pool)
  // By p and mixed pool: the buckets in which the quantile can be.
  const ranges = ps.map(p => poolCounts.map(pool => pool.rangeOf(p)))
  // The second pass sorts the values near the quantiles, for each p. Pools of one column need no runs.
  const mixedRanges = mixedPools.length === 0 ? [] : ranges
  const runs = mixedRanges.map(poolRanges => new RunsAround(unionOf(poolRanges), columns.count, memory))
  for (const [at, column] of usedColumns.entries()) {
    const storedColumn = storedColumns[at]
    const isStored = storedColumn !== undefined
    // Columns that exceeded the memory are sorted by buckets again.
    if (!isStored) buckets.fill(columns.values(column))
    const values = isStored ? storedColumn : buckets.column
    for (const quantiles of columnQuantiles) quantiles.compute(column, values)
    for (const runsOfP of runs) runsOfP.add(column, values, isStored)
  }
  let mixedIndex = 0
  return pools.map(pool => {
    if (pool.columns.length === 0) return ps.map(() => null)
    if (pool.columns.length === 1) return columnQuantiles.map(({ values }) => values[pool.columns[0]!]!)
    const poolIndex = mixedIndex++
    return ps.map((p, k) => {
      const sideOf = (x: number): number => sideOfRange(x, ranges[k]![poolIndex]!)
      return new Search(runs[k]!, pool).quantile(p, columnQuantiles[k]!.values, sideOf)
    })
  })
}

/** The quantile `p` of each column that may have the least or the greatest one of a pool. */
class ColumnQuantiles {
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

  /** Notes the buckets of the two values between which a column's quantile lies. */
  noteBuckets(column: number, values: BucketedColumn): void {
    const index = Math.floor((values.length - 1) * this.#p)
    this.#low[column] = bucketOf(values[index]!)
    this.#high[column] = bucketOf(values[Math.min(index + 1, values.length - 1)]!)
  }

  /** Marks each column of a pool that may have the least or the greatest quantile among the pool's columns. */
  markNeeded({ columns }: Pool): void {
    // The least quantile of a column is in or below the bucket `least`, the greatest in or above the bucket `most`.
    let least = BUCKETS
    let most = 0
    for (let j = 0; j < columns.length; j++) {
      least = Math.min(least, this.#high[columns[j]!]!)
      most = Math.max(most, this.#low[columns[j]!]!)
    }
    for (let j = 0; j < columns.length; j++) {
      const column = columns[j]!
      if (this.#low[column]! <= least || this.#high[column]! >= most) this.#isNeeded[column] = 1
    }
  }

  /** Computes the quantile of a column, if it is needed. */
  compute(column: number, values: BucketedColumn): void {
    if (this.#isNeeded[column] === 1) this.values[column] = quantileIn(values, this.#p)
  }
}

/** The first and last of neighbouring buckets. */
type BucketRange = [from: number, to: number]

/** Whether x lies below a range (-1), above it (1) or in it (0). */
function sideOfRange(x: number, [from, to]: BucketRange): number {
  const bucket = bucketOf(x)
  return Number(bucket > to) - Number(bucket < from)
}

/** The range from the first to the last bucket of some ranges. */
function unionOf(ranges: readonly BucketRange[]): BucketRange {
  return [Math.min(...ranges.map(([from]) => from)), Math.max(...ranges.map(([, to]) => to))]
}

/** The most values of columns that are stored between the passes: 8 MB. */
const MAX_STORED_VALUES = 2 ** 20

/** Numbers in a block of memory that short runs share. */
const BLOCK_SIZE = 2 ** 14

/** Memory for many short runs. After `clear` it serves again: new memory for each call would be garbage for long. */
export class RunMemory {
  readonly #blocks: Float64Array[] = []
  /** Index of the block in use, and the number of its values in use. */
  #index = 0
  #used = 0

  clear(): void {
    this.#index = 0
    this.#used = 0
  }

  /** Returns a copy of some values. */
  store(values: Float64Array): Float64Array {
    const { length } = values
    // A copy that does not fit into the block in use goes to the next one.
    if (this.#index < this.#blocks.length && this.#used + length > this.#blocks[this.#index]!.length) {
      this.#index++
      this.#used = 0
    }
    const isTooShort = this.#index === this.#blocks.length || this.#blocks[this.#index]!.length < length
    if (isTooShort) this.#blocks[this.#index] = new Float64Array(Math.max(length, BLOCK_SIZE))
    const copy = this.#blocks[this.#index]!.subarray(this.#used, this.#used + length)
    copy.set(values)
    this.#used += length
    return copy
  }
}

const NO_VALUES = new Float64Array()

/** Runs with the values of each column in a range of buckets, and the nearest values on both sides. */
class RunsAround implements Runs {
  readonly #range: BucketRange
  readonly #shared: RunMemory
  readonly memory: Float64Array[]
  readonly starts: Int32Array
  readonly lengths: Int32Array
  readonly countsBefore: Int32Array
  readonly sizes: Int32Array

  constructor(range: BucketRange, columns: number, shared: RunMemory) {
    this.#range = range
    this.#shared = shared
    this.memory = new Array<Float64Array>(columns).fill(NO_VALUES)
    this.starts = new Int32Array(columns)
    this.lengths = new Int32Array(columns)
    this.countsBefore = new Int32Array(columns)
    this.sizes = new Int32Array(columns)
  }

  /**
   * Adds the run of a column: sorts its values in the range, and the nearest ones on both sides.
   * @param isStored whether `values` are not overwritten later, so that the run may be a part of them, not a copy
   */
  add(column: number, values: BucketedColumn, isStored: boolean): void {
    const [fromBucket, toBucket] = this.#range
    const first = Math.max(0, countBefore(values, fromBucket) - 1)
    const last = Math.min(countBefore(values, toBucket + 1), values.length - 1)
    const { from, to } = sortBetween(values, first, last)
    this.memory[column] = isStored ? values : this.#shared.store(values.subarray(from, to))
    this.starts[column] = isStored ? from : 0
    this.lengths[column] = to - from
    this.countsBefore[column] = from
    this.sizes[column] = values.length
  }
}

/** Sums of rounded numbers may be off by this share. */
const SLACK = 1e-9

/** The number of values of a pool in each bucket, weighted so that a column's buckets add up to about its weight. */
class PoolCounts {
  readonly #pool: Pool
  /** The number of columns already added. */
  #addedColumns = 0
  readonly #sums = new Float64Array(BUCKETS)
  /** Sum of the weights of a step by one value. A column, as V8 compiles again for a field that turns fractional. */
  readonly #steps = new Float64Array(1)

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Adds the counts of a column; ignores one outside the pool. @param column above that of the call before */
  add(column: number, buckets: Buckets): void {
    const { columns, weights } = this.#pool
    if (this.#addedColumns === columns.length || columns[this.#addedColumns] !== column) return
    const weight = weights[this.#addedColumns++]!
    const step = weight / Math.max(1, buckets.column.length - 1)
    this.#steps[0]! += step
    const sums = this.#sums
    const { filled, filledCount, before } = buckets
    for (let f = 0, from = 0; f < filledCount; f++) {
      const bucket = filled[f]!
      const to = before[bucket + 1]!
      sums[bucket]! += step * (to - from)
      from = to
    }
  }

  /**
   * The buckets that may hold the quantile `p`, and one more on both sides. With c of n values up to x, F_i(x) lies
   * between (c - 1) / (n - 1) and c / (n - 1). `#sums` add up the upper bounds. They are too high by
   * at most `#steps`.
   */
  rangeOf(p: number): BucketRange {
    const total = sum(this.#pool.weights)
    const [greatestExcess = 0] = this.#steps
    const least = (p - SLACK) * total
    const most = (p + SLACK) * total
    let from = 0
    let to = 1
    // Bounds of the weight up to the end of a bucket. The quantile may be in the next one if the lower one is below p.
    let upperBound = 0
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      upperBound += this.#sums[bucket]!
      const lowerBound = upperBound - greatestExcess
      if (upperBound < least) from = bucket
      if (lowerBound < most) to = bucket + 2
    }
    return [from, Math.min(to, BUCKETS - 1)]
  }
}

/** A run of each column: some of its values, ascending, neighbours in the sorted column. All fields are by column. */
interface Runs {
  /** The array that holds the run, the index at which it starts there, and the number of its values. */
  memory: readonly Float64Array[]
  starts: Int32Array
  lengths: Int32Array
  /** The number of values of the column before the run, and of all. */
  countsBefore: Int32Array
  sizes: Int32Array
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
  /** By member: the values of its run on either side of the last x. */
  readonly #valueBefore: Float64Array
  readonly #valueAfter: Float64Array
  /** By member: the number of values of its run up to the lower and upper end of the bracket; before, its bounds. */
  #low: Int32Array
  #high: Int32Array
  /** By member: the number of values of its run up to the last x. */
  #counts: Int32Array

  constructor(runs: Runs, pool: Pool) {
    const { columns } = pool
    const { length } = columns
    this.#runs = runs
    this.#pool = pool
    this.#valueBefore = new Float64Array(length)
    this.#valueAfter = new Float64Array(length)
    this.#low = new Int32Array(length)
    this.#high = new Int32Array(length)
    this.#counts = new Int32Array(length)
    for (let j = 0; j < length; j++) this.#high[j] = runs.lengths[columns[j]!]!
  }

  /**
   * The quantile `p` of the pool. Halves the bracket until no value is in it; between values the mixture is linear.
   * @param columnQuantiles the quantile of each column, or NaN where another one is less and another greater
   * @param sideOf -1 for an x certainly below the quantile, 1 for one certainly above, 0 for one that the runs cover
   */
  quantile(p: number, columnQuantiles: Float64Array, sideOf: (x: number) => number): number {
    // The quantile of a mixture lies between the least and the greatest of its members' quantiles.
    let from = Number.POSITIVE_INFINITY
    let to = Number.NEGATIVE_INFINITY
    const { columns, weights } = this.#pool
    for (let j = 0; j < columns.length; j++) {
      const quantile = columnQuantiles[columns[j]!]!
      if (quantile < from) from = quantile
      if (quantile > to) to = quantile
    }
    if (from === to || sideOf(from) > 0) return from
    const total = sum(weights)
    // The share of the pool's weight up to `from` and up to `to`; null at an end outside the values of the runs.
    let lowShare: number | null = null
    let highShare: number | null = null
    if (sideOf(from) === 0) {
      lowShare = this.#weightUpTo(from) / total
      if (lowShare >= p) return from
      this.#useCountsAsLow()
    }
    if (sideOf(to) <= 0) {
      highShare = this.#weightUpTo(to) / total
      this.#useCountsAsHigh()
    }
    for (let halvings = 0; ; halvings++) {
      if (lowShare !== null && highShare !== null && !this.#hasValues())
        return from + ((p - lowShare) / (highShare - lowShare)) * (to - from)
      if (halvings === HALVINGS) return this.#leastWithin(from, to)
      const x = (from + to) / 2
      const side = sideOf(x)
      const share = side === 0 ? this.#weightUpTo(x) / total : null
      if (side < 0 || (share !== null && share < p)) {
        from = x
        lowShare = share
        if (share !== null) this.#useCountsAsLow()
      } else {
        to = x
        highShare = share
        if (share !== null) this.#useCountsAsHigh()
      }
    }
  }

  /** The last x is now the lower end of the bracket. The arrays change places, so that none is made. */
  #useCountsAsLow(): void {
    const low = this.#low
    this.#low = this.#counts
    this.#counts = low
  }

  /** The last x is now the upper end of the bracket. */
  #useCountsAsHigh(): void {
    const high = this.#high
    this.#high = this.#counts
    this.#counts = high
  }

  /** The sum over the members of weight · F_i(x). Writes to `#counts` how many values of each run are up to x. */
  #weightUpTo(x: number): number {
    const { countsBefore, sizes } = this.#runs
    const { columns, weights } = this.#pool
    const valueBefore = this.#valueBefore
    const valueAfter = this.#valueAfter
    const low = this.#low
    const high = this.#high
    const counts = this.#counts
    let weight = 0
    for (let j = 0; j < counts.length; j++) {
      const column = columns[j]!
      const countAtLow = low[j]!
      const hasValuesInBracket = countAtLow < high[j]!
      const count = hasValuesInBracket ? this.#countUpTo(j, x) : countAtLow
      counts[j] = count
      const valuesUpToX = countsBefore[column]! + count
      const size = sizes[column]!
      if (valuesUpToX === size) weight += weights[j]!
      else if (valuesUpToX > 0) {
        // F_i is linear between the values before and after x.
        const within = (x - valueBefore[j]!) / (valueAfter[j]! - valueBefore[j]!)
        weight += weights[j]! * ((valuesUpToX - 1 + within) / (size - 1))
      }
    }
    return weight
  }

  /** Number of values of a member's run up to x. Notes the values on either side of x. @param j the member's index */
  #countUpTo(j: number, x: number): number {
    const { memory, starts, lengths } = this.#runs
    const column = this.#pool.columns[j]!
    const values = memory[column]!
    const start = starts[column]!
    const indexAfter = countUpTo(values, x, start + this.#low[j]!, start + this.#high[j]!)
    if (indexAfter > start) this.#valueBefore[j] = values[indexAfter - 1]!
    if (indexAfter < start + lengths[column]!) this.#valueAfter[j] = values[indexAfter]!
    return indexAfter - start
  }

  /** Whether a member has values in the bracket. Without any the mixture is a straight line. */
  #hasValues(): boolean {
    const low = this.#low
    const high = this.#high
    for (let j = 0; j < low.length; j++) if (low[j]! < high[j]!) return true
    return false
  }

  /** The least pooled value above `from`, or `to` if that is less. If the distribution jumps, a quantile is a value. */
  #leastWithin(from: number, to: number): number {
    this.#weightUpTo(from)
    const { memory, starts, lengths } = this.#runs
    const { columns } = this.#pool
    let least = to
    for (let j = 0; j < columns.length; j++) {
      const column = columns[j]!
      const count = this.#counts[j]!
      if (count < lengths[column]!) least = Math.min(least, memory[column]![starts[column]! + count]!)
    }
    return least
  }
}
