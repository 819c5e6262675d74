import { normalCdf, normalQuantile } from './distributions.js'
import { mean } from './moments.js'
import { quantile } from './quantile.js'
import type { Resampling } from './resampling.js'

/**
 * 95 % interval of a statistic of independent values by the bias-corrected and accelerated bootstrap: Efron, "Better
 * bootstrap confidence intervals" (1987); the share below the estimate counts half of those that equal it, and the
 * acceleration is that of the jackknife (Efron & Tibshirani 1993, 14.3).
 * @param x at least two values that do not depend on each other; overlapping windows do
 * @param statistic number of a sample; of `mean` itself the jackknife needs no call
 * @returns null of less than two values, or where no resample differs from another
 */
export function bca(
  x: ArrayLike<number>,
  statistic: (sample: Float64Array) => number | null,
  { reps, random, tail = 0.025 }: Resampling,
): { low: number; high: number } | null {
  const values = Float64Array.from(x)
  const estimate = values.length < 2 ? null : statistic(values)
  if (estimate === null) return null
  const resample = new Float64Array(values.length)
  const estimates = new Float64Array(reps)
  for (let rep = 0; rep < reps; rep++) {
    for (let i = 0; i < values.length; i++) resample[i] = values[random.below(values.length)]!
    estimates[rep] = statistic(resample)!
  }
  return bcaEndpoints(estimates, estimate, jackknife(values, statistic), tail)
}

/**
 * The percentiles of resampled estimates that the interval ends at.
 * @param left estimates with each value left out in turn
 */
export function bcaEndpoints(
  estimates: Float64Array,
  estimate: number,
  left: Float64Array,
  tail = 0.025,
): { low: number; high: number } | null {
  const ascending = estimates.toSorted()
  if (!(ascending[0]! < ascending.at(-1)!)) return null
  const bias = normalQuantile(shareBelow(ascending, estimate))
  const acceleration = accelerationOf(left)
  const end = (p: number) => {
    const z = bias + normalQuantile(p)
    return quantile(ascending, normalCdf(bias + z / (1 - acceleration * z)))!
  }
  // All resamples on one side of the estimate leave nothing to correct the bias by.
  return Number.isFinite(bias) ? { low: end(tail), high: end(1 - tail) } : null
}

function shareBelow(ascending: Float64Array, estimate: number): number {
  let below = 0
  for (const value of ascending) below += value < estimate ? 1 : value === estimate ? 0.5 : 0
  return below / ascending.length
}

function accelerationOf(left: Float64Array): number {
  const centre = mean(left)!
  let squares = 0
  let cubes = 0
  for (const value of left) {
    squares += (centre - value) ** 2
    cubes += (centre - value) ** 3
  }
  return squares === 0 ? 0 : cubes / (6 * squares ** 1.5)
}

function jackknife(values: Float64Array, statistic: (sample: Float64Array) => number | null): Float64Array {
  const n = values.length
  if (statistic === mean) {
    const sum = mean(values)! * n
    return values.map(value => (sum - value) / (n - 1))
  }
  const others = values.slice(1)
  return Float64Array.from({ length: n }, (_, i) => {
    if (i > 0) others[i - 1] = values[i - 1]!
    return statistic(others)!
  })
}
