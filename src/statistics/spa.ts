import type { Random } from '../random.js'
import { stationaryIndices } from './resampling.js'

/** What one candidate earned more than the benchmark, day by day: its non-zero days, by place in the calendar. */
export interface Column {
  places: Int32Array
  values: Float64Array
}

export interface SuperiorAbility {
  /** White's reality check: greatest mean, not studentised, every candidate centred. */
  realityCheck: number
  /** Hansen's three p-values, studentised: poor candidates dropped all, those that are clearly poor, or none. */
  lower: number
  consistent: number
  upper: number
  /** Index of the column with the greatest studentised mean. */
  best: number
}

/**
 * Is the best of many candidates better than the benchmark, given how many were looked at? White, "A reality check for
 * data snooping" (2000), and Hansen, "A test for superior predictive ability" (2005). The days are resampled by the
 * stationary bootstrap, the same for every column, so that what columns have in common stays in common. Variances are
 * the exact ones of that bootstrap. One-sided: a candidate that loses is no candidate; pass it with its signs changed,
 * too, where either would count. p = (1 + resamples at least as great) / (1 + resamples).
 *
 * Hansen's tests take the variances for known. Where few blocks hold all that happens (events of many tickers that fall
 * together, blocks of a tenth of the calendar) they are not, and the best column is too often one whose variance came out
 * small; the reality check does not divide by it, and errs on the side of caution.
 * @param n days of the calendar
 * @param block mean length of blocks, in days
 * @returns null where no column varies
 */
export function spa(
  columns: readonly Column[],
  n: number,
  { block, reps, random }: { block: number; reps: number; random: Random },
): SuperiorAbility | null {
  const kernel = kernelOf(n, block)
  const candidates = columns.map((column, id) => candidateOf(column, id, kernel)).filter(one => one !== null)
  if (candidates.length === 0) return null
  const best = candidates.reduce((a, b) => (studentised(b) > studentised(a) ? b : a))
  const greatest = candidates.reduce((most, { sum }) => Math.max(most, sum), Number.NEGATIVE_INFINITY)
  const ability = Math.max(0, studentised(best))
  const actual = [greatest, ability, ability, ability]
  const exceeding = [0, 0, 0, 0]
  const weights = new Float64Array(n * TOGETHER)
  const indices = new Int32Array(n)
  for (let done = 0; done < reps; done += TOGETHER) {
    const many = Math.min(TOGETHER, reps - done)
    weights.fill(0)
    for (let rep = 0; rep < many; rep++) {
      stationaryIndices(random, n, block, indices)
      for (const index of indices) weights[index * TOGETHER + rep]!++
    }
    resampled(candidates, weights).forEach((maxima, test) => {
      for (let rep = 0; rep < many; rep++) if (maxima[rep]! >= actual[test]!) exceeding[test]!++
    })
  }
  const [realityCheck, lower, consistent, upper] = exceeding.map(count => (1 + count) / (1 + reps))
  return { realityCheck: realityCheck!, lower: lower!, consistent: consistent!, upper: upper!, best: best.id }
}

/** Resamples that are summed up together, so that a column is read once for all of them. */
const TOGETHER = 8

interface Candidate extends Column {
  id: number
  sum: number
  /** Makes a sum over the days a studentised mean. */
  scale: number
  /** What the lower and the consistent test take resampled sums to vary around. */
  lower: number
  consistent: number
}

function studentised({ sum, scale }: Candidate): number {
  return sum * scale
}

function candidateOf({ places, values }: Column, id: number, kernel: Kernel): Candidate | null {
  const sum = values.reduce((total, value) => total + value, 0)
  const variance = resampledVariance(places, values, sum, kernel)
  if (variance === null) return null
  const scale = 1 / Math.sqrt(variance)
  const isPoor = sum * scale < -Math.sqrt(2 * Math.max(0, Math.log(Math.log(kernel.n))))
  return { places, values, id, sum, scale, lower: Math.max(0, sum), consistent: isPoor ? 0 : sum }
}

/** For each of the four tests the greatest of all candidates, of each resample. */
function resampled(candidates: readonly Candidate[], weights: Float64Array): Float64Array[] {
  const maxima = [Number.NEGATIVE_INFINITY, 0, 0, 0].map(least => new Float64Array(TOGETHER).fill(least))
  const [reality, lower, consistent, upper] = maxima as [Float64Array, Float64Array, Float64Array, Float64Array]
  const sums = new Float64Array(TOGETHER)
  for (const one of candidates) {
    addUp(one, weights, sums)
    for (let rep = 0; rep < TOGETHER; rep++) {
      const sum = sums[rep]!
      reality[rep] = Math.max(reality[rep]!, sum - one.sum)
      lower[rep] = Math.max(lower[rep]!, (sum - one.lower) * one.scale)
      consistent[rep] = Math.max(consistent[rep]!, (sum - one.consistent) * one.scale)
      upper[rep] = Math.max(upper[rep]!, (sum - one.sum) * one.scale)
    }
  }
  return maxima
}

/** Sums of a column over several resamples, given how often each has each day. */
function addUp({ places, values }: Column, weights: Float64Array, sums: Float64Array): void {
  sums.fill(0)
  for (let i = 0; i < places.length; i++) {
    const value = values[i]!
    const first = places[i]! * TOGETHER
    for (let rep = 0; rep < TOGETHER; rep++) sums[rep]! += value * weights[first + rep]!
  }
}

/**
 * Variance of the sum of a resample: n times Hansen's ω², for which two days count by how likely the stationary bootstrap
 * keeps their distance, the one way round or the other. null where the column does not vary.
 */
function resampledVariance(
  places: Int32Array,
  values: Float64Array,
  sum: number,
  { n, weights, total }: Kernel,
): number | null {
  let squares = 0
  let pairs = 0
  for (let i = 0; i < places.length; i++) {
    const value = values[i]!
    let near = 0
    for (let j = 0; j < i; j++) near += values[j]! * weights[places[i]! - places[j]!]!
    squares += value * value
    pairs += value * near
  }
  const variance = squares + 2 * pairs - ((sum * sum) / n) * total
  return variance > ROUNDING * squares ? variance : null
}

/** How two days weigh, by their distance from 1 to n - 1; `total` is what a column of ones would make of it. */
interface Kernel {
  n: number
  weights: Float64Array
  total: number
}

function kernelOf(n: number, block: number): Kernel {
  const stay = 1 - 1 / block
  const weights = Float64Array.from({ length: n }, (_, distance) =>
    distance === 0 ? 0 : (1 - distance / n) * stay ** distance + (distance / n) * stay ** (n - distance),
  )
  return { n, weights, total: weights.reduce((sum, weight) => sum + weight, 1) }
}

/** A variance that is a smaller part of the squares is what rounding leaves of none. */
const ROUNDING = 1e-12
