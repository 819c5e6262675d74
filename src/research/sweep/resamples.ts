import { politisWhite } from '../../statistics/politis-white.js'
import { quantile } from '../../statistics/quantile.js'
import { stationaryIndices } from '../../statistics/resampling.js'
import type { Cell } from '../cell/cell.js'
import { namedStream } from './stream.js'

/** Of mean blocks, from one to the next longer one: few enough that many cells share one. */
const STEP = 1.25

/** Days are filled up with empty ones to a multiple of this: a day without events adds nothing wherever it is drawn. */
const FULL = 64

/** Bytes of resamples that are kept. */
const MOST_BYTES = 64 * 2 ** 20

/**
 * Resamples of days by the stationary bootstrap (Politis & Romano 1994), drawn once for all cells with about as many days
 * and the same mean block: what a cell gets depends on these two and the seed alone, whatever else is looked at. Drawing them
 * for each cell anew would take a hundred times as long as using them.
 */
export class Resamples {
  readonly #seed: number
  readonly #reps: number
  readonly #kept = new Map<string, Uint8Array>()
  #bytes = 0

  constructor({ seed, resamples }: { seed: number; resamples: number }) {
    this.#seed = seed
    this.#reps = resamples
  }

  /**
   * 95 % of the difference: the percentiles 2.5 and 97.5 of the ratio Σ excess / Σ events over the resamples that have
   * events; null where all events lie on one day. The mean block is at least the horizon, and at least Politis and White's
   * choice for what each day adds to the estimate.
   */
  interval({ horizon, diff, series: { events, excess } }: Cell): { low: number; high: number; block: number } | null {
    const days = Int32Array.from(events.keys()).filter(day => events[day]! > 0)
    if (days.length < 2) return null
    const influence = excess.map((sum, day) => sum - diff * events[day]!)
    const block = blockFrom(horizon, politisWhite(influence).stationary)
    const drawn = this.#drawn(Math.ceil(events.length / FULL) * FULL, block)
    const numerators = new Float64Array(this.#reps)
    const denominators = new Float64Array(this.#reps)
    for (const day of days) {
      const times = drawn.subarray(day * this.#reps, (day + 1) * this.#reps)
      const [num, den] = [excess[day]!, events[day]!]
      for (let rep = 0; rep < times.length; rep++) {
        numerators[rep]! += times[rep]! * num
        denominators[rep]! += times[rep]! * den
      }
    }
    const ratios = numerators.map((sum, rep) => sum / denominators[rep]!).filter(ratio => !Number.isNaN(ratio))
    ratios.sort()
    return ratios.length === 0 ? null : { low: quantile(ratios, 0.025)!, high: quantile(ratios, 0.975)!, block }
  }

  /** How often each day is drawn: a row a day, a column a resample. */
  #drawn(days: number, block: number): Uint8Array {
    const name = `${days} ${block}`
    const drawn = this.#kept.get(name) ?? this.#draw(days, block, name)
    // Last in the map is used last.
    this.#kept.delete(name)
    this.#kept.set(name, drawn)
    return drawn
  }

  #draw(days: number, block: number, name: string): Uint8Array {
    const reps = this.#reps
    for (const [oldest, { length }] of this.#kept) {
      if (this.#bytes + days * reps <= MOST_BYTES) break
      this.#kept.delete(oldest)
      this.#bytes -= length
    }
    const random = namedStream(this.#seed, `bootstrap ${name}`)
    // 255 times one day would take as many blocks that all meet it, of which there are about one.
    const drawn = new Uint8Array(days * reps)
    const indices = new Int32Array(days)
    for (let rep = 0; rep < reps; rep++) {
      for (const day of stationaryIndices(random, days, block, indices)) drawn[day * reps + rep]!++
    }
    this.#bytes += drawn.length
    return drawn
  }
}

/** The first of horizon, horizon · 1.25, … that is at least the block. */
function blockFrom(horizon: number, block: number): number {
  let found = horizon
  while (found < block) found *= STEP
  return found
}
