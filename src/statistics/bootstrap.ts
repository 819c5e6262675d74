import { normalCdf, normalQuantile, tQuantile } from './distributions.js'
import { mean, quantile } from './moments.js'
import type { Random } from './random.js'

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

/**
 * 95 % interval of a statistic of independent values by the bias-corrected and accelerated bootstrap: Efron, "Better
 * bootstrap confidence intervals" (1987); the share below the estimate counts half of those that equal it, and the
 * acceleration is that of the jackknife (Efron & Tibshirani 1993, 14.3).
 * @param x at least two values that do not depend on each other; overlapping windows do
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
  const others = values.slice(1)
  return Float64Array.from({ length: n }, (_, i) => {
    if (i > 0) others[i - 1] = values[i - 1]!
    return statistic(others)!
  })
}

/** How many resamples, and with which generator. */
export interface Resampling {
  reps: number
  random: Random
  /** Share of the resamples that an interval leaves out at each end; .025 unless given. */
  tail?: number
}

/**
 * The share to leave out at each end for a 95 % interval of so many independent values: Φ(-√(n / (n - 1)) t.975(n - 1)).
 * Resamples vary by √((n - 1) / n) too little, and by a variance that is itself estimated, so that the plain percentiles
 * of few values miss the truth twice as often as they say: Hesterberg's expanded percentile interval ("What teachers
 * should know about the bootstrap", The American Statistician 69, 2015).
 * @param n above 1; need not be whole
 * @param outside the share that an interval of another level leaves out
 */
export function expandedTail(n: number, outside = 0.05): number {
  return normalCdf(Math.sqrt(n / (n - 1)) * tQuantile(outside / 2, n - 1))
}

/**
 * One resample of a series by the stationary bootstrap of Politis & Romano (1994): blocks from random places, wrapping
 * round, their lengths geometric with the given mean. For each index after the first one uniform number decides: below
 * 1 / `meanBlock` a new block starts at `below(n)`, otherwise the next index follows.
 * @param n length of the series
 * @param meanBlock in places of the series, at least 1; 1 draws each index alone
 * @param out filled with n indices, and returned
 */
export function stationaryIndices(random: Random, n: number, meanBlock: number, out: Int32Array): Int32Array {
  const chance = 1 / meanBlock
  let index = 0
  for (let i = 0; i < n; i++) {
    if (i === 0 || random.uniform() < chance) index = random.below(n)
    else if (++index === n) index = 0
    out[i] = index
  }
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

/** How many correlations in a row must be small. */
function run(n: number): number {
  return Math.max(5, Math.floor(Math.log10(n)))
}

/** From lag 0 to √n and a run more, as far as the series is long enough to correlate. */
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

/** The first lag from which a run of correlations cannot be told from 0; beyond every lag where there is none. */
function uncorrelatedFrom(deviations: Float64Array, covariances: Float64Array): number {
  const n = deviations.length
  const critical = 2 * Math.sqrt(Math.log10(n) / n)
  let head = deviations[0]! ** 2
  let tail = deviations[n - 1]! ** 2
  const total = covariances[0]! * n
  let small = 0
  for (let lag = 0; lag < covariances.length - 1; lag++) {
    // Each correlation by the squares that are left without lag + 1 values at the one end and at the other.
    const scale = Math.sqrt((total - head) * (total - tail))
    small = Math.abs(covariances[lag]! * n) / scale < critical ? small + 1 : 0
    if (small === run(n)) return lag + 1 - run(n)
    head += deviations[lag + 1]! ** 2
    tail += deviations[n - 2 - lag]! ** 2
  }
  return Number.POSITIVE_INFINITY
}
