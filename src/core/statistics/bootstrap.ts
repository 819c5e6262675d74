import { normalCdf, normalQuantile, tQuantile } from './distributions.js'
import { mean, quantile } from './moments.js'
import type { Random } from './random.js'

/**
 * 95 % interval of a ratio of sums of two calendar series, Σ num / Σ den, by the stationary bootstrap of the days.
 * `den` counts the events of a day, `num` sums their excess. The ends are the percentiles `tail` and 1 - `tail` of the
 * resampled ratios.
 * Days without events are drawn too, so that the number of events is random; a resample without events is left out.
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

/**
 * 95 % interval of a statistic of independent values by the bias-corrected and accelerated bootstrap (Efron, "Better
 * bootstrap confidence intervals", 1987). The share below the estimate counts half of the equal ones; the acceleration
 * is that of the jackknife (Efron & Tibshirani 1993, 14.3).
 * @param x at least two independent values; overlapping windows are not independent
 * @returns null with less than two values, or where all resamples are equal
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
 * The percentiles of resampled estimates at which the interval ends.
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
  // With all resamples on one side of the estimate the bias cannot be corrected.
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
  const others = values.slice(1)
  return Float64Array.from({ length: n }, (_, i) => {
    if (i > 0) others[i - 1] = values[i - 1]!
    return statistic(others)!
  })
}

/** Number of resamples, and their generator. */
export interface Resampling {
  reps: number
  random: Random
  /** Share of the resamples beyond each end of an interval (default .025). */
  tail?: number
}

/**
 * The share beyond each end for a 95 % interval of n independent values: Φ(-√(n / (n - 1)) t.975(n - 1)). Resamples
 * vary by √((n - 1) / n) too little, and their variance is itself estimated. So plain percentiles of few values miss
 * the truth twice as often as they claim.
 * This is Hesterberg's expanded percentile interval ("What teachers should know about the bootstrap", The American
 * Statistician 69, 2015).
 * @param n above 1; need not be an integer
 * @param outside the share outside an interval of another level
 */
export function expandedTail(n: number, outside = 0.05): number {
  return normalCdf(Math.sqrt(n / (n - 1)) * tQuantile(outside / 2, n - 1))
}

/**
 * The expanded percentile interval of resampled values, and their median; null without values.
 * @param n number of independent values in the series that was resampled
 */
export function expandedInterval(
  resampled: Float64Array,
  n: number,
  outside?: number,
): { low: number | null; median: number | null; high: number | null } {
  const ascending = resampled.toSorted()
  const tail = expandedTail(Math.max(2, n), outside)
  return { low: quantile(ascending, tail), median: quantile(ascending, 0.5), high: quantile(ascending, 1 - tail) }
}

/**
 * One resample of a series by the stationary bootstrap of Politis & Romano (1994): blocks from random indices, wrapping
 * around, with geometric lengths of the given mean. For each index after the first, one uniform number decides: below 1
 * / `meanBlock` a new block starts at `below(n)`, otherwise the next index follows.
 * @param n length of the series
 * @param meanBlock at least 1; 1 draws each index alone
 * @param out filled with n indices, and returned
 */
export function stationaryIndices(random: Random, n: number, meanBlock: number, out: Int32Array): Int32Array {
  random.fillBlocks(out, n, 1 / meanBlock)
  return out
}

/**
 * Mean block length for a stationary bootstrap of the mean of a series: Politis & White, "Automatic block-length selection for the
 * dependent bootstrap" (2004), as corrected by Patton, Politis & White (2009). Autocovariances are weighted by a flat-top
 * window that reaches twice as far as the last correlation that differs from 0.
 * @param x a series in time order
 * @returns between 1 and min(3 √n, n / 3); 1 where nothing varies
 */
export function politisWhite(x: ArrayLike<number>): number {
  const n = x.length
  const centre = mean(x) ?? 0
  const deviations = Float64Array.from(x, value => value - centre)
  const covariances = autocovariances(deviations)
  const reach = Math.min(2 * Math.max(1, uncorrelatedFrom(deviations, covariances)), covariances.length - 1)
  let spectrum = covariances[0] ?? 0
  let slope = 0
  for (let lag = 1; lag <= reach; lag++) {
    const weight = 2 * lag <= reach ? 1 : 2 * (1 - lag / reach)
    spectrum += 2 * weight * covariances[lag]!
    slope += 2 * weight * lag * covariances[lag]!
  }
  const most = Math.max(1, Math.ceil(Math.min(3 * Math.sqrt(n), n / 3)))
  const block = Math.cbrt((2 * slope * slope * n) / (2 * spectrum * spectrum))
  return Number.isFinite(block) ? Math.min(most, Math.max(1, block)) : 1
}

/** Number of correlations in a row that must be small. */
function run(n: number): number {
  return Math.max(5, Math.floor(Math.log10(n)))
}

/** From lag 0 to √n plus a run, as far as the series is long enough. */
function autocovariances(deviations: Float64Array): Float64Array {
  const n = deviations.length
  const most = Math.min(Math.ceil(Math.sqrt(n)) + run(n), n - 2)
  return Float64Array.from({ length: Math.max(0, most + 1) }, (_, lag) => product(deviations, lag) / n)
}

function product(deviations: Float64Array, lag: number): number {
  let sum = 0
  for (let i = lag; i < deviations.length; i++) sum += deviations[i]! * deviations[i - lag]!
  return sum
}

/** The first lag with a run of correlations near 0; beyond every lag where there is none. */
function uncorrelatedFrom(deviations: Float64Array, covariances: Float64Array): number {
  const n = deviations.length
  const critical = 2 * Math.sqrt(Math.log10(n) / n)
  let head = deviations[0]! ** 2
  let tail = deviations[n - 1]! ** 2
  const total = covariances[0]! * n
  let small = 0
  for (let lag = 0; lag < covariances.length - 1; lag++) {
    // Each correlation is scaled by the squares without lag + 1 values at one end and at the other.
    const scale = Math.sqrt((total - head) * (total - tail))
    small = Math.abs(covariances[lag]! * n) / scale < critical ? small + 1 : 0
    if (small === run(n)) return lag + 1 - run(n)
    head += deviations[lag + 1]! ** 2
    tail += deviations[n - 2 - lag]! ** 2
  }
  return Number.POSITIVE_INFINITY
}
