import { normalCdf, normalQuantile, tQuantile } from './distributions.js'
import { mean, quantile } from './moments.js'
import type { Random } from './random.js'

/**
 * 95 % interval of the mean excess of events, Σ excess / Σ events, by the stationary bootstrap of the days. The ends
 * are the percentiles `tail` and 1 - `tail` of the resampled ratios.
 * Days without events are drawn too, so that the number of events is random; a resample without events is left out.
 * @param excess by day of the calendar, the sum of the excess of its events
 * @param events by day, their number
 * @param block the mean length of a block, in days
 * @returns null where less than two days have events; `estimates` are the ratios, ascending
 */
export function stationaryRatioInterval(
  excess: Float64Array,
  events: Float64Array,
  { block, reps, random, tail = 0.025 }: Resampling & { block: number },
): { low: number; high: number; estimates: Float64Array } | null {
  if (events.filter(count => count !== 0).length < 2) return null
  const n = excess.length
  const indices = new Int32Array(n)
  const estimates = new Float64Array(reps)
  let estimateCount = 0
  for (let rep = 0; rep < reps; rep++) {
    stationaryIndices(random, n, block, indices)
    let numerator = 0
    let denominator = 0
    for (let i = 0; i < n; i++) {
      numerator += excess[indices[i]!]!
      denominator += events[indices[i]!]!
    }
    if (denominator > 0) estimates[estimateCount++] = numerator / denominator
  }
  if (estimateCount === 0) return null
  const ascending = estimates.subarray(0, estimateCount).sort()
  return { low: quantile(ascending, tail)!, high: quantile(ascending, 1 - tail)!, estimates: ascending }
}

/**
 * 95 % interval of a statistic of independent values by the bias-corrected and accelerated bootstrap (Efron, "Better
 * bootstrap confidence intervals", 1987).
 * @param sample independent values; overlapping windows are not independent
 * @returns null with less than two values, or where the resampled estimates are equal or on one side of the estimate
 */
export function bca(
  sample: ArrayLike<number>,
  statistic: (sample: Float64Array) => number,
  { reps, random, tail = 0.025 }: Resampling,
): { low: number; high: number } | null {
  const values = Float64Array.from(sample)
  if (values.length < 2) return null
  const resample = new Float64Array(values.length)
  const estimates = new Float64Array(reps)
  for (let rep = 0; rep < reps; rep++) {
    for (let i = 0; i < values.length; i++) resample[i] = values[random.below(values.length)]!
    estimates[rep] = statistic(resample)
  }
  return bcaEndpoints(estimates, statistic(values), jackknifeEstimates(values, statistic), tail)
}

/**
 * The percentiles of resampled estimates at which the interval ends; null where all are equal, or lie on one side of
 * the estimate.
 * @param withoutOne estimates with each value left out in turn
 */
export function bcaEndpoints(
  estimates: Float64Array,
  estimate: number,
  withoutOne: Float64Array,
  tail = 0.025,
): { low: number; high: number } | null {
  const ascending = estimates.toSorted()
  if (!(ascending[0]! < ascending.at(-1)!)) return null
  const bias = normalQuantile(shareBelow(ascending, estimate))
  // With all resamples on one side of the estimate the bias cannot be corrected.
  if (!Number.isFinite(bias)) return null
  const acceleration = jackknifeAcceleration(withoutOne)
  // Efron's correction of the percentile p: the bias shifts it, the acceleration stretches the shift.
  const correctedQuantile = (p: number): number => {
    const z = bias + normalQuantile(p)
    return quantile(ascending, normalCdf(bias + z / (1 - acceleration * z)))!
  }
  return { low: correctedQuantile(tail), high: correctedQuantile(1 - tail) }
}

/** The share of values below an estimate; equal ones count half. */
function shareBelow(values: Float64Array, estimate: number): number {
  let below = 0
  for (const value of values) {
    if (value < estimate) below += 1
    else if (value === estimate) below += 0.5
  }
  return below / values.length
}

/** The acceleration by the jackknife (Efron & Tibshirani 1993, 14.3), from estimates without each value in turn. */
function jackknifeAcceleration(withoutOne: Float64Array): number {
  const centre = mean(withoutOne)!
  let squares = 0
  let cubes = 0
  for (const value of withoutOne) {
    squares += (centre - value) ** 2
    cubes += (centre - value) ** 3
  }
  return squares === 0 ? 0 : cubes / (6 * squares ** 1.5)
}

/** The statistic of all values but one, for each value. */
function jackknifeEstimates(values: Float64Array, statistic: (sample: Float64Array) => number): Float64Array {
  // At first all values but the first one. Each step replaces the next value by the one before it, which was left out.
  const sample = values.slice(1)
  return values.map((_, i) => {
    if (i > 0) sample[i - 1] = values[i - 1]!
    return statistic(sample)
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
 * @param outside the share outside the interval (default .05)
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
 * Mean block length for a stationary bootstrap of the mean of a series: Politis & White, "Automatic block-length
 * selection for the dependent bootstrap" (2004), as corrected by Patton, Politis & White (2009). Autocovariances are
 * weighted by a flat-top window that reaches twice as far as the last correlation that differs from 0.
 * @param x a series in time order
 * @returns between 1 and min(3 √n, n / 3); 1 where nothing varies
 */
export function politisWhite(x: ArrayLike<number>): number {
  const n = x.length
  const centre = mean(x) ?? 0
  const deviations = Float64Array.from(x, value => value - centre)
  const covariances = autocovariances(deviations)
  const reach = Math.min(2 * Math.max(1, firstUncorrelatedLag(deviations, covariances)), covariances.length - 1)
  let spectrum = covariances[0] ?? 0
  let lagSum = 0
  for (let lag = 1; lag <= reach; lag++) {
    // 1 up to half of the reach, then down to 0 in a straight line.
    const weight = 2 * lag <= reach ? 1 : 2 * (1 - lag / reach)
    spectrum += 2 * weight * covariances[lag]!
    lagSum += 2 * weight * lag * covariances[lag]!
  }
  const maxBlock = Math.max(1, Math.ceil(Math.min(3 * Math.sqrt(n), n / 3)))
  // The length that makes the error of the bootstrap's variance least.
  const block = Math.cbrt((2 * lagSum * lagSum * n) / (2 * spectrum * spectrum))
  return Number.isFinite(block) ? Math.min(maxBlock, Math.max(1, block)) : 1
}

/** The number of correlations in a row that must be small for a series of n values to count as uncorrelated. */
function smallRunLength(n: number): number {
  return Math.max(5, Math.floor(Math.log10(n)))
}

/** The autocovariances from lag 0 to √n plus the length of a run, as far as the series is long enough. */
function autocovariances(deviations: Float64Array): Float64Array {
  const n = deviations.length
  const maxLag = Math.min(Math.ceil(Math.sqrt(n)) + smallRunLength(n), n - 2)
  return Float64Array.from({ length: Math.max(0, maxLag + 1) }, (_, lag) => laggedProduct(deviations, lag) / n)
}

/** The sum of the products of values that are `lag` apart. */
function laggedProduct(deviations: Float64Array, lag: number): number {
  let sum = 0
  for (let i = lag; i < deviations.length; i++) sum += deviations[i]! * deviations[i - lag]!
  return sum
}

/**
 * The first lag of the first `smallRunLength` correlations in a row that are near 0; infinite without them. Politis and
 * White set the bound `critical`. Correlations are scaled as in the Python package arch.
 */
function firstUncorrelatedLag(deviations: Float64Array, covariances: Float64Array): number {
  const n = deviations.length
  const critical = 2 * Math.sqrt(Math.log10(n) / n)
  const squares = covariances[0]! * n
  let headSquares = deviations[0]! ** 2
  let tailSquares = deviations[n - 1]! ** 2
  let smallInARow = 0
  for (let lag = 0; lag < covariances.length - 1; lag++) {
    // As in arch, lag + 1 values, not lag, are left out at either end.
    const scale = Math.sqrt((squares - headSquares) * (squares - tailSquares))
    smallInARow = Math.abs(covariances[lag]! * n) / scale < critical ? smallInARow + 1 : 0
    if (smallInARow === smallRunLength(n)) return lag + 1 - smallRunLength(n)
    headSquares += deviations[lag + 1]! ** 2
    tailSquares += deviations[n - 2 - lag]! ** 2
  }
  return Number.POSITIVE_INFINITY
}
