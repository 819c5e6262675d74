import { undefinedColumn } from './columns.js'

/**
 * Simple moving average: the mean of the last `length` values; NaN for the first `length - 1`.
 *
 * The running sum is compensated (Neumaier 1974), so an absurd price that has left the window leaves no error behind
 * that could tip a comparison.
 */
export function sma(values: Float64Array, length: number): Float64Array {
  const means = undefinedColumn(values.length)
  let sum = 0
  let lost = 0
  for (let t = 0; t < values.length; t++) {
    const entering = values[t]!
    const more = sum + entering
    lost += lostIn(sum, entering, more)
    sum = more
    if (t >= length) {
      const leaving = -values[t - length]!
      const rest = sum + leaving
      lost += lostIn(sum, leaving, rest)
      sum = rest
    }
    if (t >= length - 1) means[t] = (sum + lost) / length
  }
  return means
}

/** What rounding took from a sum of two. */
function lostIn(a: number, b: number, sum: number): number {
  return Math.abs(a) >= Math.abs(b) ? a - sum + b : b - sum + a
}

/**
 * Wilder's smoothing (J. Welles Wilder, New Concepts in Technical Trading Systems, 1978): the mean of the first `length`
 * defined values, then previous + (x - previous) / length. NaN before; leading NaNs of `values` are passed over.
 */
export function wilder(values: Float64Array, length: number): Float64Array {
  const smoothed = undefinedColumn(values.length)
  const begin = seedBar(values, length)
  if (begin >= values.length) return smoothed
  let current = seed(values, begin, length)
  smoothed[begin] = current
  for (let t = begin + 1; t < values.length; t++) {
    current += (values[t]! - current) / length
    smoothed[t] = current
  }
  return smoothed
}

/** Exponential moving average: the mean of the first `length` defined values, then previous + 2/(length+1) · (x - previous). */
export function ema(values: Float64Array, length: number): Float64Array {
  const smoothed = undefinedColumn(values.length)
  const begin = seedBar(values, length)
  if (begin >= values.length) return smoothed
  const weight = 2 / (length + 1)
  let current = seed(values, begin, length)
  smoothed[begin] = current
  for (let t = begin + 1; t < values.length; t++) {
    current += weight * (values[t]! - current)
    smoothed[t] = current
  }
  return smoothed
}

/** The bar on which the first `length` defined values are complete. */
function seedBar(values: Float64Array, length: number): number {
  let first = 0
  while (first < values.length && Number.isNaN(values[first]!)) first++
  return first + length - 1
}

/** The mean of the `length` values up to a bar. */
function seed(values: Float64Array, bar: number, length: number): number {
  let sum = 0
  for (let t = bar - length + 1; t <= bar; t++) sum += values[t]!
  return sum / length
}

/**
 * Least-squares slope of the last `length` values on the bar number, in units of the values per bar.
 * NaN for the first `length - 1`, and before bar `from`.
 */
export function slope(values: Float64Array, length: number, from = 0): Float64Array {
  const slopes = undefinedColumn(values.length)
  const middle = (length - 1) / 2
  const spread = squaresAround(length)
  const last = values.length - length
  // Four windows at once: an addition of one does not wait for those of the others.
  for (let a = Math.max(0, from - length + 1); a <= last; a += 4) {
    const b = Math.min(a + 1, last)
    const c = Math.min(a + 2, last)
    const d = Math.min(a + 3, last)
    let ofA = 0
    let ofB = 0
    let ofC = 0
    let ofD = 0
    for (let i = 0; i < length; i++) {
      const weight = i - middle
      ofA += weight * values[a + i]!
      ofB += weight * values[b + i]!
      ofC += weight * values[c + i]!
      ofD += weight * values[d + i]!
    }
    slopes[a + length - 1] = ofA / spread
    slopes[b + length - 1] = ofB / spread
    slopes[c + length - 1] = ofC / spread
    slopes[d + length - 1] = ofD / spread
  }
  return slopes
}

/** The sum of squared distances of `length` bar numbers from their mean, by which a moment becomes a slope. */
export function squaresAround(length: number): number {
  return (length * (length * length - 1)) / 12
}
