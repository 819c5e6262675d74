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
