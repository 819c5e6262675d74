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
