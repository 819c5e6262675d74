// For: indicators and ranks over whole series.
// In: columns of numbers, one value a bar.
// Out: columns of the same length; NaN while an indicator warms up.

/** The memory that `withReusedMemory` lends to columns. */
let memory = new Float64Array()
/** How many numbers the columns of this or the last call need, also those for which there was no room. */
let needed = 0
let lending = false

/**
 * Runs `work`, whose columns share one block of memory that the next call reuses. Allocation otherwise costs a tenth of
 * deriving a ticker. Nothing that outlives `work` may refer to a column made in it. A call inside another only runs it.
 */
export function withReusedMemory<Result>(work: () => Result): Result {
  if (lending) return work()
  if (needed > memory.length) memory = new Float64Array(needed)
  needed = 0
  lending = true
  try {
    return work()
  } finally {
    lending = false
  }
}

/** A column of numbers with arbitrary content: its caller writes every value. */
export function column(length: number): Float64Array {
  const byte = reserve(length)
  return byte === null ? new Float64Array(length) : new Float64Array(memory.buffer, byte, length)
}

/** A column of bytes with arbitrary content. */
export function byteColumn(length: number): Uint8Array {
  const byte = reserve(length / BYTES_PER_NUMBER)
  return byte === null ? new Uint8Array(length) : new Uint8Array(memory.buffer, byte, length)
}

/** A column of 32-bit integers with arbitrary content. */
export function integerColumn(length: number): Int32Array {
  const byte = reserve(length / 2)
  return byte === null ? new Int32Array(length) : new Int32Array(memory.buffer, byte, length)
}

const BYTES_PER_NUMBER = Float64Array.BYTES_PER_ELEMENT

/** Reserves room for `numbers` numbers in the lent memory and returns its first byte; null if there is no room. */
function reserve(numbers: number): number | null {
  if (!lending) return null
  const start = needed
  needed += Math.ceil(numbers)
  // What does not fit now will fit at the next call of `withReusedMemory`.
  return needed <= memory.length ? start * BYTES_PER_NUMBER : null
}

/** A column that is NaN before the bar `before` (by default everywhere). Its caller writes all later values. */
export function columnWithNaN(length: number, before = length): Float64Array {
  return column(length).fill(Number.NaN, 0, Math.max(0, before))
}

/** The natural logarithm of each value; NaN before bar `from`. */
export function logarithms(values: Float64Array, from = 0): Float64Array {
  const logs = columnWithNaN(values.length, from)
  for (let t = Math.max(0, from); t < logs.length; t++) logs[t] = Math.log(values[t]!)
  return logs
}

export function negated(values: Float64Array): Float64Array {
  const negatives = column(values.length)
  for (let t = 0; t < negatives.length; t++) negatives[t] = -values[t]!
  return negatives
}

/** The greatest of the last `length` values; NaN for the first `length - 1`. No value is NaN. */
export function highest(values: Float64Array, length: number): Float64Array {
  return extreme(values, length, 1)
}

/** The least of the last `length` values; NaN for the first `length - 1`. No value is NaN. */
export function lowest(values: Float64Array, length: number): Float64Array {
  return extreme(values, length, -1)
}

/**
 * The greatest (side 1) or least (side -1) of the last `length` values, by a monotonic queue (Lemire 2006). The queue
 * has the bars of the window whose value no later bar exceeds; the first one is the result.
 */
function extreme(values: Float64Array, length: number, side: 1 | -1): Float64Array {
  const extremes = columnWithNaN(values.length, length - 1)
  const queue = new Int32Array(values.length)
  let first = 0
  let end = 0
  for (let t = 0; t < values.length; t++) {
    while (end > first && (values[t]! - values[queue[end - 1]!]!) * side >= 0) end--
    queue[end++] = t
    if (queue[first]! <= t - length) first++
    if (t >= length - 1) extremes[t] = values[queue[first]!]!
  }
  return extremes
}

/** The values `bars` bars earlier; NaN for the first `bars`. */
export function laggedValues(values: Float64Array, bars: number): Float64Array {
  const before = columnWithNaN(values.length, bars)
  if (bars < values.length) before.set(values.subarray(0, values.length - bars), bars)
  return before
}
