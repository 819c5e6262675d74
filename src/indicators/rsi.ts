import { wilder } from './smoothing.js'

/**
 * Relative strength index (Wilder 1978), 0..100: gains and losses between closes, each smoothed by Wilder from bar 1 on,
 * as 100 · gain / (gain + loss). 50 where nothing ever moved. NaN for the first `length` bars.
 */
export function rsi(close: Float64Array, length: number): Float64Array {
  const gains = new Float64Array(close.length).fill(Number.NaN)
  const losses = new Float64Array(close.length).fill(Number.NaN)
  for (let t = 1; t < close.length; t++) {
    const change = close[t]! - close[t - 1]!
    gains[t] = Math.max(change, 0)
    losses[t] = Math.max(-change, 0)
  }
  const gain = wilder(gains, length)
  const loss = wilder(losses, length)
  return gain.map((up, t) => {
    const both = up + loss[t]!
    return both === 0 ? 50 : (100 * up) / both
  })
}
