import type { Series } from '../model/series.js'
import { squaresAround } from './averages.js'
import { column, columnWithNaN } from './columns.js'
import { compare } from './rank.js'

interface VolumeWindow {
  length: number
  /** Least number of positive volumes in the window. */
  minPositive: number
}

/**
 * Today's volume / mean of the `length` volumes before it. NaN for the first `length` bars, where one of these volumes
 * is unknown, where fewer than `minPositive` of the earlier ones are positive, and before bar `from`.
 */
export function volumeRatio(volume: Float64Array, window: VolumeWindow, from = 0): Float64Array {
  const ratios = columnWithNaN(volume.length, Math.max(1, from))
  const means = meanVolumes(volume, window, from - 1)
  for (let t = Math.max(1, from); t < volume.length; t++) ratios[t] = volume[t]! / means[t - 1]!
  return ratios
}

/**
 * Slope of the accumulation/distribution line (Marc Chaikin's money-flow volume, summed from 0 on the window's first
 * bar) over the last `length` bars, divided by their mean volume. NaN while warming up, where volumes are not
 * sufficient, and before bar `from`.
 */
export function accumulationSlope(
  high: Float64Array,
  low: Float64Array,
  close: Float64Array,
  volume: Float64Array,
  window: VolumeWindow,
  from = 0,
): Float64Array {
  const flow = moneyFlow({ high, low, close, volume }, Math.max(0, from - window.length + 1))
  const slopes = lineSlopes(flow, window.length, from)
  const means = meanVolumes(volume, window, from)
  for (let t = Math.max(0, from); t < slopes.length; t++) slopes[t]! /= means[t]!
  return slopes
}

/** Volume times the close's position in the bar's range: -1 at the low, 1 at the high, 0 without a range. */
function moneyFlow(
  { high, low, close, volume }: Pick<Series, 'high' | 'low' | 'close' | 'volume'>,
  from: number,
): Float64Array {
  const flow = column(close.length)
  for (let t = from; t < flow.length; t++) {
    const range = high[t]! - low[t]!
    const aboveLow = close[t]! - low[t]!
    const belowHigh = high[t]! - close[t]!
    const position = compare(high[t]!, low[t]!) === 0 ? 0 : (aboveLow - belowHigh) / range
    flow[t] = position * volume[t]!
  }
  return flow
}

/**
 * Slope a bar of each window's own line, NaN before the first whole window and before bar `from`. The line is 0 on the
 * window's first bar and changes by the flow of each later one. Its moment, the sum of its values weighted by their
 * distance from the middle bar, divided by the spread of the bars is the slope.
 */
function lineSlopes(flow: Float64Array, length: number, from: number): Float64Array {
  const slopes = columnWithNaN(flow.length, Math.max(from, length - 1))
  const middle = (length - 1) / 2
  const spread = squaresAround(length)
  const last = flow.length - length
  // Four windows, from bars a to d, at once: additions do not wait for each other.
  for (let a = Math.max(0, from - length + 1); a <= last; a += 4) {
    const b = Math.min(a + 1, last)
    const c = Math.min(a + 2, last)
    const d = Math.min(a + 3, last)
    let lineA = 0
    let momentA = 0
    let lineB = 0
    let momentB = 0
    let lineC = 0
    let momentC = 0
    let lineD = 0
    let momentD = 0
    for (let i = 1; i < length; i++) {
      const weight = i - middle
      lineA += flow[a + i]!
      lineB += flow[b + i]!
      lineC += flow[c + i]!
      lineD += flow[d + i]!
      momentA += weight * lineA
      momentB += weight * lineB
      momentC += weight * lineC
      momentD += weight * lineD
    }
    slopes[a + length - 1] = momentA / spread
    slopes[b + length - 1] = momentB / spread
    slopes[c + length - 1] = momentC / spread
    slopes[d + length - 1] = momentD / spread
  }
  return slopes
}

/**
 * The mean volume of the `length` bars that end on each bar. NaN before bar `from`, and for windows in which a volume
 * is unknown or fewer than `minPositive` are positive.
 */
function meanVolumes(volume: Float64Array, { length, minPositive }: VolumeWindow, from: number): Float64Array {
  const means = columnWithNaN(volume.length)
  const first = Math.max(0, from - length + 1)
  // A running sum of small integers has no rounding error. Of other volumes, each window is added up anew.
  const isExact = haveExactSums(volume, first)
  let sum = 0
  let unknown = 0
  let positive = 0
  for (let t = first; t < volume.length; t++) {
    const entering = volume[t]!
    if (Number.isNaN(entering)) unknown++
    else sum += entering
    if (entering > 0) positive++
    if (t >= first + length) {
      const leaving = volume[t - length]!
      if (Number.isNaN(leaving)) unknown--
      else sum -= leaving
      if (leaving > 0) positive--
    }
    if (t < first + length - 1 || unknown > 0 || positive < minPositive) continue
    means[t] = (isExact ? sum : sumOf(volume, t - length + 1, length)) / length
  }
  return means
}

/** Whether the known values from bar `from` on are integers so small that any sum of them is exact. */
function haveExactSums(values: Float64Array, from: number): boolean {
  let sum = 0
  for (let t = from; t < values.length; t++) {
    const value = values[t]!
    if (Number.isNaN(value)) continue
    sum += Math.abs(value)
    if (Math.floor(value) !== value || sum > Number.MAX_SAFE_INTEGER) return false
  }
  return true
}

function sumOf(values: Float64Array, start: number, length: number): number {
  let sum = 0
  for (let i = start; i < start + length; i++) sum += values[i]!
  return sum
}
