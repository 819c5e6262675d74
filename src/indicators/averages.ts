/**
 * Simple moving average: the mean of the last `length` values; NaN for the first `length - 1`.
 *
 * The running sum is compensated (Neumaier 1974), so an absurd price that has left the window leaves no error behind
 * that could tip a comparison.
 */
export function sma(values: Float64Array, length: number): Float64Array {
  const means = new Float64Array(values.length).fill(Number.NaN)
  let sum = 0
  let lost = 0
  const add = (x: number): void => {
    const next = sum + x
    lost += Math.abs(sum) >= Math.abs(x) ? sum - next + x : x - next + sum
    sum = next
  }
  for (let t = 0; t < values.length; t++) {
    add(values[t]!)
    if (t >= length) add(-values[t - length]!)
    if (t >= length - 1) means[t] = (sum + lost) / length
  }
  return means
}

/**
 * Wilder's smoothing (J. Welles Wilder, New Concepts in Technical Trading Systems, 1978): the mean of the first `length`
 * defined values, then previous + (x - previous) / length. NaN before; leading NaNs of `values` are passed over.
 */
export function wilder(values: Float64Array, length: number): Float64Array {
  return smooth(values, length, (previous, x) => previous + (x - previous) / length)
}

/** Exponential moving average: the mean of the first `length` defined values, then previous + 2/(length+1) · (x - previous). */
export function ema(values: Float64Array, length: number): Float64Array {
  const weight = 2 / (length + 1)
  return smooth(values, length, (previous, x) => previous + weight * (x - previous))
}

function smooth(values: Float64Array, length: number, step: (previous: number, x: number) => number): Float64Array {
  const smoothed = new Float64Array(values.length).fill(Number.NaN)
  let first = 0
  while (first < values.length && Number.isNaN(values[first]!)) first++
  const seedBar = first + length - 1
  if (seedBar >= values.length) return smoothed
  let sum = 0
  for (let t = first; t <= seedBar; t++) sum += values[t]!
  let current = sum / length
  smoothed[seedBar] = current
  for (let t = seedBar + 1; t < values.length; t++) {
    current = step(current, values[t]!)
    smoothed[t] = current
  }
  return smoothed
}

/**
 * Least-squares slope of the last `length` values on the bar number, in units of the values per bar.
 * NaN for the first `length - 1`.
 */
export function slope(values: Float64Array, length: number): Float64Array {
  const slopes = new Float64Array(values.length).fill(Number.NaN)
  for (let t = length - 1; t < values.length; t++) slopes[t] = slopeOf(values, t - length + 1, length)
  return slopes
}

/** The slope over `length` values from `start` on. */
export function slopeOf(values: Float64Array, start: number, length: number): number {
  const middle = (length - 1) / 2
  let moment = 0
  for (let i = 0; i < length; i++) moment += (i - middle) * values[start + i]!
  return moment / ((length * (length * length - 1)) / 12)
}
