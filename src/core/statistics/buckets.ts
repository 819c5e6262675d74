/**
 * A bucket holds numbers with the same sign, exponent and first five binary digits. Numbers nearer to 0 than 2^-14 are
 * all in the two buckets next to it, those from 4 on in the outermost ones.
 */
const MANTISSA_BITS = 5
const DROPPED_BITS = 20 - MANTISSA_BITS
const LEAST_SIZE = (1023 - 14) << MANTISSA_BITS
const LAST_SIZE = ((1023 + 2) << MANTISSA_BITS) - LEAST_SIZE
export const BUCKETS = 2 * (LAST_SIZE + 1)

/**
 * The bucket of a number by the upper half of its bits: sign, exponent and first binary digits. `size` numbers the
 * distances from 0; a negative number has its complement.
 */
function bucketOfHalf(half: number): number {
  const size = Math.min(Math.max(((half & 0x7fffffff) >>> DROPPED_BITS) - LEAST_SIZE, 0), LAST_SIZE)
  return (size ^ (half >> 31)) + LAST_SIZE + 1
}

/** One number, and the two halves of its bits. */
const number = new Float64Array(1)
const halves = new Int32Array(number.buffer)

/** The number of the bucket of x, from 0 to `BUCKETS` - 1; it grows with x. */
export function bucketOf(x: number): number {
  // Both zeros are equal, and 0 is the larger one.
  number[0] = x + 0
  return bucketOfHalf(halves[1]!)
}

/** The bucket in which `Buckets` has a value of its column: it has -0 below 0. */
function bucketOfStored(value: number): number {
  number[0] = value
  return bucketOfHalf(halves[1]!)
}

/** Sorts the values of one column by buckets. */
export class Buckets {
  #keys = new Uint16Array()
  #values = new Float64Array()
  /** The number of values in all buckets before one; the last one counts all. */
  readonly before = new Int32Array(BUCKETS + 1)
  /** The buckets with values, ascending, and their number. */
  readonly filled = new Int32Array(BUCKETS)
  filledCount = 0
  /** The values of the column, bucket after bucket. Valid until the next call of `fill`. */
  column: BucketedColumn = this.#values

  /** Replaces the column by a copy of some values, sorted by buckets. */
  fill(values: Float64Array): void {
    const { length } = values
    if (length > this.#keys.length) {
      this.#keys = new Uint16Array(2 * length)
      this.#values = new Float64Array(2 * length)
    }
    const keys = this.#keys
    const before = this.before.fill(0)
    // Counts the values of each bucket. Of the two halves of a value, the second one has the upper bits.
    const halvesOfValues = new Int32Array(values.buffer, values.byteOffset, 2 * length)
    for (let i = 0; i < length; i++) {
      const key = bucketOfHalf(halvesOfValues[2 * i + 1]!)
      keys[i] = key
      before[key]!++
    }
    // Turns the counts into the end of each bucket in the column.
    let filled = 0
    let upTo = 0
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const count = before[bucket]!
      if (count > 0) this.filled[filled++] = bucket
      upTo += count
      before[bucket] = upTo
    }
    before[BUCKETS] = length
    this.filledCount = filled
    // Fills each bucket from its end, so that its end becomes its start.
    const column = this.#values
    for (let i = 0; i < length; i++) {
      const index = before[keys[i]!]! - 1
      before[keys[i]!] = index
      column[index] = values[i]!
    }
    this.column = column.subarray(0, length)
  }
}

/** Numbers bucket after bucket, in any order within a bucket. */
export type BucketedColumn = Float64Array

/** The number of values in all buckets before one. */
export function countBefore(column: BucketedColumn, bucket: number): number {
  let low = 0
  let high = column.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (bucketOfStored(column[middle]!) < bucket) low = middle + 1
    else high = middle
  }
  return low
}

/** The quantile `p` (0..1), the same as `quantile` of the sorted values. Sorts the buckets around it. Needs a value. */
export function quantileIn(column: BucketedColumn, p: number): number {
  const index = (column.length - 1) * p
  const low = Math.floor(index)
  const high = Math.min(low + 1, column.length - 1)
  sortBetween(column, low, high)
  return column[low]! + (index - low) * (column[high]! - column[low]!)
}

/** Sorts every bucket from index `first` to `last`. Returns the range of sorted indices, without `to`. */
export function sortBetween(column: BucketedColumn, first: number, last: number): { from: number; to: number } {
  const from = countBefore(column, bucketOfStored(column[first]!))
  const to = countBefore(column, bucketOfStored(column[last]!) + 1)
  sortInPlace(column.subarray(from, to))
  return { from, to }
}

/** Up to this number of values, insertion takes less time than a call of `sort`. */
const FEW = 48

/** Sorts values ascending in place, a few of them by insertion. */
function sortInPlace(values: Float64Array): void {
  if (values.length > FEW) {
    values.sort()
    return
  }
  for (let i = 1; i < values.length; i++) {
    const value = values[i]!
    let j = i
    for (; j > 0 && values[j - 1]! > value; j--) values[j] = values[j - 1]!
    values[j] = value
  }
}
