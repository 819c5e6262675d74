import type { Day } from '../../model/day.js'
import { barsKnownBy, type Series } from '../../model/series.js'
import type { Random } from '../../random.js'

/** A year before the first bar is worth so many steps of a week. */
const WEEKS = 52
const YEARS = 12
// Of a week: mean and standard deviation of the log return before the first bar.
const DRIFT = 0.0012
const SPREAD = 0.04

/** Closes as logarithms on any day: those of the bars, and before the first of them a past that leads up to it. */
export class Prices {
  readonly first: Day
  readonly last: Day
  readonly #bars: Series
  /** By weeks before the first bar, from 0. */
  readonly #past: Float64Array

  /** `price` is that before the first bar. */
  constructor(bars: Series, price: number, random: Random) {
    this.#bars = bars
    this.first = bars.days[0]!
    this.last = bars.days.at(-1)!
    this.#past = new Float64Array(YEARS * WEEKS + 1)
    this.#past[0] = Math.log(price)
    for (let week = 1; week < this.#past.length; week++)
      this.#past[week] = this.#past[week - 1]! - DRIFT - SPREAD * random.normal()
  }

  /** The close of the last session up to a day. */
  log(day: Day): number {
    if (day >= this.first) return Math.log(this.#bars.close[barsKnownBy(this.#bars, day) - 1]!)
    const week = Math.floor((this.first - 1 - day) / 7)
    return this.#past[Math.min(week, this.#past.length - 1)]!
  }
}
