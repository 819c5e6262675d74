import { compare } from './compare.js'

export interface StochasticRules {
  /** Bars among whose lows and highs the close is placed. */
  length: number
  /** How many of these places are averaged. */
  smoothing: number
}

/**
 * Slow %K (George Lane, 1984): where the close stands between the lowest low and the highest high of the last `length`
 * bars, 0..100, 50 where these are equal; then the mean of the last `smoothing` of it. A close outside of its own bar's
 * range counts as at its edge. NaN for the first `length + smoothing - 2` bars.
 */
export function slowStochastic(
  high: Float64Array,
  low: Float64Array,
  close: Float64Array,
  { length, smoothing }: StochasticRules,
): Float64Array {
  const places = close.map((c, t) => (t < length - 1 ? Number.NaN : placeOf(c, high, low, t - length + 1, t)))
  return places.map((_, t) => meanOf(places, t - smoothing + 1, t))
}

function placeOf(close: number, high: Float64Array, low: Float64Array, from: number, to: number): number {
  let highest = high[from]!
  let lowest = low[from]!
  for (let t = from + 1; t <= to; t++) {
    highest = Math.max(highest, high[t]!)
    lowest = Math.min(lowest, low[t]!)
  }
  if (compare(highest, lowest) === 0) return 50
  return Math.min(100, Math.max(0, (100 * (close - lowest)) / (highest - lowest)))
}

function meanOf(values: Float64Array, from: number, to: number): number {
  let sum = 0
  for (let t = from; t <= to; t++) sum += values[t] ?? Number.NaN
  return sum / (to - from + 1)
}
