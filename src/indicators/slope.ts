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
