import { quantile } from './quantile.js'
import { type Resampling, stationaryIndices } from './resampling.js'

/**
 * 95 % interval of a ratio of sums of two calendar series, Σ num / Σ den (den: events of a day, num: the sum of their
 * excess), by the stationary bootstrap of the days: the percentiles `tail` and 1 - `tail` of the ratios of the resamples. Days
 * without events are drawn too, so that how many events there are is random as it was; a resample without any has no
 * ratio and is left out.
 * @returns null where less than two days have events
 */
export function stationaryRatioInterval(
  num: Float64Array,
  den: Float64Array,
  { block, reps, random, tail = 0.025 }: Resampling & { block: number },
): { low: number; high: number; estimates: Float64Array } | null {
  if (den.reduce((days, events) => days + (events === 0 ? 0 : 1), 0) < 2) return null
  const n = num.length
  const indices = new Int32Array(n)
  const estimates = new Float64Array(reps)
  let made = 0
  for (let rep = 0; rep < reps; rep++) {
    stationaryIndices(random, n, block, indices)
    let numerator = 0
    let denominator = 0
    for (let i = 0; i < n; i++) {
      numerator += num[indices[i]!]!
      denominator += den[indices[i]!]!
    }
    if (denominator > 0) estimates[made++] = numerator / denominator
  }
  return made === 0 ? null : percentiles(estimates.subarray(0, made).sort(), tail)
}

function percentiles(estimates: Float64Array, tail: number) {
  return { low: quantile(estimates, tail)!, high: quantile(estimates, 1 - tail)!, estimates }
}
