import { countUpTo } from '../model/day.js'

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

/** The values of one column by buckets. */
export class Buckets {
  #values: Float64Array = new Float64Array()
  #keys = new Uint16Array()
  #scratch = new Float64Array(64)
  /** The number of values in all buckets before one. */
  readonly #before = new Int32Array(BUCKETS + 1)
  /** The buckets with values, ascending, and their number. */
  readonly filled = new Int32Array(BUCKETS)
  filledCount = 0

  /** The number of values. */
  get size(): number {
    return this.#values.length
  }

  /** Counts the values of a column in place of the last one. They are not copied. */
  fill(values: Float64Array): void {
    const { length } = values
    if (length > this.#keys.length) this.#keys = new Uint16Array(2 * length)
    this.#values = values
    const keys = this.#keys
    const before = this.#before.fill(0)
    const halves32 = new Int32Array(values.buffer, values.byteOffset, 2 * length)
    for (let i = 0; i < length; i++) {
      const key = bucketOfHalf(halves32[2 * i + 1]!)
      keys[i] = key
      before[key + 1]!++
    }
    let filled = 0
    let upTo = 0
    for (let b = 0; b < BUCKETS; b++) {
      const count = before[b + 1]!
      if (count > 0) this.filled[filled++] = b
      upTo += count
      before[b + 1] = upTo
    }
    this.filledCount = filled
  }

  /** The number of values in all buckets before one. */
  before(bucket: number): number {
    return this.#before[bucket]!
  }

  /** The quantile `p` of the values, as `quantile` of moments.ts has it. */
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
    if (length > this.#scratch.length) this.#scratch = new Float64Array(2 * length)
    const scratch = this.#scratch
    const keys = this.#keys
    const values = this.#values
    let n = 0
    for (let i = 0; n < length; i++) if (keys[i]! >= from && keys[i]! <= to) scratch[n++] = values[i]!
    return { values: sortInPlace(scratch.subarray(0, length)), before }
  }

  /** The bucket of the value at an index of the sorted column, or of the nearest one. */
  bucketAt(index: number): number {
    return countUpTo(this.#before, Math.min(Math.max(index, 0), this.size - 1)) - 1
  }
}

/** Up to this number of values, insertion takes less time than a call of `sort`. */
const FEW = 48

/** Sorts values in place, and returns them. */
function sortInPlace(values: Float64Array): Float64Array {
  if (values.length > FEW) return values.sort()
  for (let i = 1; i < values.length; i++) {
    const value = values[i]!
    let j = i
    for (; j > 0 && values[j - 1]! > value; j--) values[j] = values[j - 1]!
    values[j] = value
  }
  return values
}
