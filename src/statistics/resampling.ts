import type { Random } from '../random.js'
import { normalCdf, tQuantile } from './distributions.js'

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
 */
export function expandedTail(n: number): number {
  return normalCdf(Math.sqrt(n / (n - 1)) * tQuantile(0.025, n - 1))
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
