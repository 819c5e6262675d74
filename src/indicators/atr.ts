import { wilder } from './smoothing.js'

/**
 * True range (Wilder 1978) in price units: the largest of high - low, |high - previous close| and |low - previous close|.
 * NaN on bar 0, which has no previous close.
 */
export function trueRange(high: Float64Array, low: Float64Array, close: Float64Array): Float64Array {
  const range = new Float64Array(close.length).fill(Number.NaN)
  for (let t = 1; t < close.length; t++) {
    const before = close[t - 1]!
    range[t] = Math.max(high[t]! - low[t]!, Math.abs(high[t]! - before), Math.abs(low[t]! - before))
  }
  return range
}

/** Average true range: Wilder's smoothing of the true range. NaN for the first `length` bars. */
export function atr(high: Float64Array, low: Float64Array, close: Float64Array, length: number): Float64Array {
  return wilder(trueRange(high, low, close), length)
}
