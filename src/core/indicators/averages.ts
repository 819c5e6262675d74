import { column, columnWithNaN, highest, lowest } from './columns.js'
import { compare } from './rank.js'

/**
 * Simple moving average: the mean of the last `length` values; NaN for the first `length - 1`.
 *
 * The running sum is compensated (Neumaier 1974), so an absurd price that has left the window leaves no error behind
 * that could tip a comparison.
 */
export function sma(values: Float64Array, length: number): Float64Array {
  const means = columnWithNaN(values.length, length - 1)
  let sum = 0
  let lostDigits = 0
  for (let t = 0; t < values.length; t++) {
    const entering = values[t]!
    const raised = sum + entering
    lostDigits += roundingError(sum, entering, raised)
    sum = raised
    if (t >= length) {
      const leaving = -values[t - length]!
      const lowered = sum + leaving
      lostDigits += roundingError(sum, leaving, lowered)
      sum = lowered
    }
    if (t >= length - 1) means[t] = (sum + lostDigits) / length
  }
  return means
}

/** The rounding error of `sum`, the computed a + b. */
function roundingError(a: number, b: number, sum: number): number {
  return Math.abs(a) >= Math.abs(b) ? a - sum + b : b - sum + a
}

/**
 * Wilder's smoothing (J. Welles Wilder, New Concepts in Technical Trading Systems, 1978): the mean of the first
 * `length` defined values, then previous + (x - previous) / length. NaN before; leading NaNs of `values` are skipped.
 */
export function wilder(values: Float64Array, length: number): Float64Array {
  const { means, begin } = startOfAverage(values, length)
  for (let t = begin + 1, current = means[begin]!; t < values.length; t++) {
    current += (values[t]! - current) / length
    means[t] = current
  }
  return means
}

/** Exponential moving average: the mean of the first `length` values, then previous + 2/(length+1) · (x - previous). */
export function ema(values: Float64Array, length: number): Float64Array {
  const weight = 2 / (length + 1)
  const { means, begin } = startOfAverage(values, length)
  for (let t = begin + 1, current = means[begin]!; t < values.length; t++) {
    current += weight * (values[t]! - current)
    means[t] = current
  }
  return means
}

/** Starts a recursive average: `means` has the mean of the first `length` defined values on `begin`, their last bar. */
function startOfAverage(values: Float64Array, length: number): { means: Float64Array; begin: number } {
  let first = 0
  while (first < values.length && Number.isNaN(values[first]!)) first++
  const begin = Math.min(first + length - 1, values.length)
  const means = columnWithNaN(values.length, begin)
  if (begin < values.length) means[begin] = meanOf(values, first, begin)
  return { means, begin }
}

/**
 * Least-squares slope of the last `length` values on the bar number, in units of the values per bar. It is the moment
 * of the values (weighted by their distance from the middle bar) divided by the spread of the bars.
 * NaN for the first `length - 1`, and before bar `from`.
 */
export function slope(values: Float64Array, length: number, from = 0): Float64Array {
  const slopes = columnWithNaN(values.length, Math.max(from, length - 1))
  const middle = (length - 1) / 2
  const spread = squaresAround(length)
  const last = values.length - length
  // Four windows, from bars a to d, at once, so that additions do not wait for each other.
  for (let a = Math.max(0, from - length + 1); a <= last; a += 4) {
    const b = Math.min(a + 1, last)
    const c = Math.min(a + 2, last)
    const d = Math.min(a + 3, last)
    let momentA = 0
    let momentB = 0
    let momentC = 0
    let momentD = 0
    for (let i = 0; i < length; i++) {
      const weight = i - middle
      momentA += weight * values[a + i]!
      momentB += weight * values[b + i]!
      momentC += weight * values[c + i]!
      momentD += weight * values[d + i]!
    }
    slopes[a + length - 1] = momentA / spread
    slopes[b + length - 1] = momentB / spread
    slopes[c + length - 1] = momentC / spread
    slopes[d + length - 1] = momentD / spread
  }
  return slopes
}

/** Sum of squared distances of `length` bar numbers from their mean; it turns a moment into a slope. */
export function squaresAround(length: number): number {
  return (length * (length * length - 1)) / 12
}

/**
 * Relative strength index (Wilder 1978), 0..100: gains and losses between closes, each smoothed by Wilder from bar 1
 * on, as 100 · gain / (gain + loss). 50 where nothing ever moved. NaN for the first `length` bars.
 */
export function rsi(close: Float64Array, length: number): Float64Array {
  const index = columnWithNaN(close.length, length)
  let gain = 0
  let loss = 0
  for (let t = 1; t < close.length; t++) {
    const change = close[t]! - close[t - 1]!
    const up = Math.max(change, 0)
    const down = Math.max(-change, 0)
    // Up to bar `length` sums, at that bar means, after it smoothed values.
    gain += t <= length ? up : (up - gain) / length
    loss += t <= length ? down : (down - loss) / length
    if (t < length) continue
    if (t === length) {
      gain /= length
      loss /= length
    }
    const both = gain + loss
    index[t] = both === 0 ? 50 : (100 * gain) / both
  }
  return index
}

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
  const line = column(close.length)
  for (let t = 0; t < line.length; t++) line[t] = fast[t]! - slow[t]!
  return { macd: line, signal: ema(line, lengths.signal) }
}

/**
 * The position of the close between the lowest low and the highest high of the last `length` bars (George Lane's %K).
 * 0..100 for a close within its bar's range; 50 where these are equal. NaN for the first `length - 1`.
 */
export function rawStochastic(
  high: Float64Array,
  low: Float64Array,
  close: Float64Array,
  length: number,
): Float64Array {
  const top = highest(high, length)
  const bottom = lowest(low, length)
  const positions = column(close.length)
  for (let t = 0; t < positions.length; t++) {
    const lowestLow = bottom[t]!
    const range = top[t]! - lowestLow
    if (Number.isNaN(range)) positions[t] = Number.NaN
    else positions[t] = compare(top[t]!, lowestLow) === 0 ? 50 : (100 * (close[t]! - lowestLow)) / range
  }
  return positions
}

interface StochasticRules {
  /** Length of the window of lows and highs. */
  length: number
  smoothing: number
}

/**
 * Slow %K (George Lane, 1984): the position of the close between the lowest low and the highest high of the last
 * `length` bars, 0..100, or 50 where these are equal; then the mean of its last `smoothing` values. A close outside its
 * own bar's range counts as at the edge. NaN for the first `length + smoothing - 2` bars.
 */
export function slowStochastic(
  high: Float64Array,
  low: Float64Array,
  close: Float64Array,
  { length, smoothing }: StochasticRules,
): Float64Array {
  const positions = rawStochastic(high, low, close, length).map(position => Math.min(100, Math.max(0, position)))
  return positions.map((_, t) => meanOf(positions, t - smoothing + 1, t))
}

/** The mean of the values from bar `from` to bar `to`, both included; NaN if one of them does not exist. */
function meanOf(values: Float64Array, from: number, to: number): number {
  let sum = 0
  for (let t = from; t <= to; t++) sum += values[t] ?? Number.NaN
  return sum / (to - from + 1)
}

/**
 * True range (Wilder 1978) in price units: the largest of high - low, |high - previous close| and |low - previous
 * close|. NaN on bar 0, which has no previous close.
 */
export function trueRange(high: Float64Array, low: Float64Array, close: Float64Array): Float64Array {
  const range = columnWithNaN(close.length, 1)
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

/** Average true range as a share of the close; NaN before bar `from`. */
export function natr(atr: Float64Array, close: Float64Array, from = 0): Float64Array {
  const shares = columnWithNaN(atr.length, from)
  for (let t = Math.max(0, from); t < shares.length; t++) shares[t] = atr[t]! / close[t]!
  return shares
}
