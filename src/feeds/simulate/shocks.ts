import type { Random } from '../../random.js'

/** How strongly a day's surprise raises the variance of the next one; the three are stationary when a + f/2 + p < 1. */
export interface Clustering {
  /** Weight of yesterday's squared shock. */
  reaction: number
  /** Extra weight of it when the shock was negative: falls excite more than rises (the leverage effect). */
  fallReaction: number
  /** Weight of yesterday's variance. */
  persistence: number
}

// Log-normal activity of this spread gives a kurtosis of 3 exp(4 * 0.4^2) = 5.7 within a day, before any clustering.
const ACTIVITY_SPREAD = 0.4
// Both limits are out of reach for all but a few days in a million; they keep a long run finite.
const MOST_VARIANCE = 30
const LARGEST_SHOCK = 15

/**
 * A stream of daily shocks of mean 0 and long-run variance 1: GJR-GARCH(1,1) variance, and within it a day's activity,
 * a log-normal factor on the spread (Clark's mixture: busy days have both large moves and large volume), which makes
 * the tails fat. Shocks are uncorrelated; their sizes are not.
 */
export class Shocks {
  /** Of the day last drawn. */
  shock = 0
  /** The standard deviation that the day's shock was drawn with, activity included. */
  spread = 1
  readonly #random: Random
  readonly #clustering: Clustering
  readonly #base: number
  #variance: number

  constructor(random: Random, clustering: Clustering) {
    const { reaction, fallReaction, persistence } = clustering
    this.#random = random
    this.#clustering = clustering
    this.#base = 1 - reaction - fallReaction / 2 - persistence
    this.#variance = Math.exp(0.5 * random.normal() - 0.125)
  }

  next(): void {
    const { reaction, fallReaction, persistence } = this.#clustering
    const activity = Math.exp(ACTIVITY_SPREAD * this.#random.normal() - ACTIVITY_SPREAD ** 2)
    this.spread = Math.sqrt(this.#variance) * activity
    this.shock = within(this.spread * this.#random.normal(), LARGEST_SHOCK)
    const weight = reaction + (this.shock < 0 ? fallReaction : 0)
    const variance = this.#base + weight * this.shock * this.shock + persistence * this.#variance
    this.#variance = Math.min(variance, MOST_VARIANCE)
  }
}

function within(value: number, limit: number): number {
  return Math.max(-limit, Math.min(limit, value))
}
