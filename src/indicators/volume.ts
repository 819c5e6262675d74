import { slopeOf } from './averages.js'
import { compare } from './rank.js'

interface VolumeWindow {
  length: number
  /** How many volumes of the window must be positive. */
  minPositive: number
}

/**
 * Today's volume over the mean of the `length` volumes before it, today's left out. NaN for the first `length` bars,
 * where one of these volumes is unknown, or where fewer than `minPositive` of those before are positive.
 */
export function volumeRatio(volume: Float64Array, { length, minPositive }: VolumeWindow): Float64Array {
  const ratios = new Float64Array(volume.length).fill(Number.NaN)
  for (let t = length; t < volume.length; t++) {
    const mean = meanVolume(volume, t - length, length, minPositive)
    ratios[t] = volume[t]! / mean
  }
  return ratios
}

/**
 * Slope of the accumulation/distribution line (Marc Chaikin's money-flow volume, summed from 0 on the window's first
 * bar) over the last `length` bars, divided by their mean volume. NaN while warming up and where volumes do not suffice.
 */
export function accumulationSlope(
  high: Float64Array,
  low: Float64Array,
  close: Float64Array,
  volume: Float64Array,
  { length, minPositive }: VolumeWindow,
): Float64Array {
  const flow = close.map((c, t) => moneyFlow(high[t]!, low[t]!, c) * volume[t]!)
  const slopes = new Float64Array(close.length).fill(Number.NaN)
  const line = new Float64Array(length)
  for (let t = length - 1; t < close.length; t++) {
    const start = t - length + 1
    const mean = meanVolume(volume, start, length, minPositive)
    if (Number.isNaN(mean)) continue
    for (let i = 1; i < length; i++) line[i] = line[i - 1]! + flow[start + i]!
    slopes[t] = slopeOf(line, 0, length) / mean
  }
  return slopes
}

/** -1 where the close is at the low, 1 at the high, 0 where the bar has no range. */
function moneyFlow(high: number, low: number, close: number): number {
  return compare(high, low) === 0 ? 0 : (close - low - (high - close)) / (high - low)
}

/** Mean of the window, NaN where a volume is unknown or too few are positive. */
function meanVolume(volume: Float64Array, start: number, length: number, minPositive: number): number {
  let sum = 0
  let positive = 0
  for (let i = start; i < start + length; i++) {
    const v = volume[i]!
    sum += v
    if (v > 0) positive++
  }
  return positive < minPositive ? Number.NaN : sum / length
}
