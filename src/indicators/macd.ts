import { ema } from './smoothing.js'

/**
 * Moving average convergence/divergence (Gerald Appel) in price units: fast EMA - slow EMA of the close, and the EMA of
 * that difference as its signal line. NaN for the first `slow - 1` and `slow + signal - 2` bars.
 */
export function macd(
  close: Float64Array,
  lengths: { fast: number; slow: number; signal: number },
): { macd: Float64Array; signal: Float64Array } {
  const fast = ema(close, lengths.fast)
  const slow = ema(close, lengths.slow)
  const line = fast.map((value, t) => value - slow[t]!)
  return { macd: line, signal: ema(line, lengths.signal) }
}
