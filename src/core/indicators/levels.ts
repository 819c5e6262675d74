import { byteColumn, negated, undefinedColumn, wholeColumn } from './columns.js'
import { compare } from './rank.js'

/** The state of a bar relative to its level. */
export const LEVEL_STATES = ['intact', 'approaching', 'breached'] as const
const INTACT = 0
const APPROACHING = 1
const BREACHED = 2
/** The code of fields without a band, because fields use these states as bands. */
export const NO_LEVEL = 255

export interface LevelRules {
  /** Bars on each side of a pivot. */
  reach: number
  /** Number of bars for which a pivot counts. */
  lookback: number
  /** A close within this many ATR of the level approaches it. */
  approachingAtr: number
  /** Closes beyond a level after which it is dropped. */
  breaches: number
}

export interface Levels {
  /** Index into LEVEL_STATES, NO_LEVEL where there is no level or no ATR. */
  state: Uint8Array
  /** The level that decided the bar's state, as a price; NaN without a state. */
  level: Float64Array
}

/**
 * Support: the nearest pivot low at or under the last close, and whether the close has approached or broken it.
 * @param from the first needed bar; earlier ones may be undefined
 */
export function support(
  low: Float64Array,
  close: Float64Array,
  atr: Float64Array,
  rules: LevelRules,
  from = 0,
): Levels {
  const state = byteColumn(low.length).fill(NO_LEVEL)
  const level = undefinedColumn(low.length)
  const first = searchFrom(close, from, rules)
  const pivots = new Pivots(low, rules, first)
  let floor = Number.NaN
  let beyond = 0
  for (let t = first; t < low.length; t++) {
    if (beyond === 0) floor = pivots.highestUnder(close[t - 1]!, t)
    if (Number.isNaN(floor) || Number.isNaN(atr[t]!)) continue
    level[t] = floor
    const c = close[t]!
    if (compare(c, floor) < 0) {
      state[t] = BREACHED
      beyond = beyond + 1 === rules.breaches ? 0 : beyond + 1
    } else {
      beyond = 0
      state[t] = compare(c - floor, rules.approachingAtr * atr[t]!, c) <= 0 ? APPROACHING : INTACT
    }
  }
  return { state, level }
}

/**
 * A bar up to `from` on which the level is searched again, not carried over from the bar before. A close above those of
 * all bars whose level may be carried over is beyond none of them, as no level was above its close.
 */
function searchFrom(close: Float64Array, from: number, { breaches }: LevelRules): number {
  let t = from
  for (; t > breaches + 1; t--) {
    let k = 1
    while (k <= breaches && compare(close[t - 1]!, close[t - 1 - k]!) > 0) k++
    if (k > breaches) return t
  }
  return 1
}

/** Resistance is support on negated prices. */
export function resistance(
  high: Float64Array,
  close: Float64Array,
  atr: Float64Array,
  rules: LevelRules,
  from = 0,
): Levels {
  const levels = support(negated(high), negated(close), atr, rules, from)
  for (let t = 0; t < levels.level.length; t++) levels.level[t]! *= -1
  return levels
}

/**
 * The pivot lows of a column, bar by bar. A bar becomes one after `reach` later bars, and counts for `lookback` bars.
 */
class Pivots {
  readonly #rules: LevelRules
  readonly #bars: Int32Array
  readonly #lows: Float64Array
  /** Index of the first counting pivot, and of the first future one. */
  #oldest = 0
  #beyond = 0
  /** The last answer, and the lowest counting low above the price; NaN without one. */
  #under = Number.NaN
  #above = Number.NaN

  /** @param from the first needed bar */
  constructor(low: Float64Array, rules: LevelRules, from: number) {
    this.#rules = rules
    this.#bars = pivotLows(low, rules.reach, from - rules.lookback + 1)
    this.#lows = new Float64Array(this.#bars.length)
    for (let i = 0; i < this.#lows.length; i++) this.#lows[i] = low[this.#bars[i]!]!
  }

  /** The highest counting low that is not above `price`; NaN when there is none. Call in the order of bars. */
  highestUnder(price: number, t: number): number {
    // Most bars have the same counting pivots, and the price between the same two of them.
    if (this.#movedTo(t) || !this.#isBetween(price)) this.#look(price)
    return this.#under
  }

  #isBetween(price: number): boolean {
    if (compare(this.#under, price) > 0) return false
    return Number.isNaN(this.#above) || compare(this.#above, price) > 0
  }

  /** Whether the counting pivots change on bar t. */
  #movedTo(t: number): boolean {
    const { reach, lookback } = this.#rules
    const before = this.#oldest + this.#beyond
    while (this.#beyond < this.#bars.length && this.#bars[this.#beyond]! <= t - reach) this.#beyond++
    while (this.#oldest < this.#beyond && this.#bars[this.#oldest]! <= t - lookback) this.#oldest++
    return this.#oldest + this.#beyond !== before
  }

  #look(price: number): void {
    this.#under = Number.NaN
    this.#above = Number.NaN
    for (let i = this.#oldest; i < this.#beyond; i++) {
      const low = this.#lows[i]!
      if (compare(low, price) > 0) {
        if (!(low >= this.#above)) this.#above = low
      } else if (!(low <= this.#under)) this.#under = low
    }
  }
}

/** Bars from one on whose low is below each of the `reach` lows before and not above any of the `reach` lows after. */
function pivotLows(low: Float64Array, reach: number, from: number): Int32Array {
  const pivots = wholeColumn(low.length)
  let count = 0
  for (let q = Math.max(reach, from); q + reach < low.length; q++) if (isPivotLow(low, q, reach)) pivots[count++] = q
  return pivots.subarray(0, count)
}

function isPivotLow(low: Float64Array, q: number, reach: number): boolean {
  const own = low[q]!
  // Most comparisons need no tolerance.
  if (own >= low[q - 1]!) return false
  for (let i = 1; i <= reach; i++) {
    if (compare(own, low[q - i]!) >= 0 || compare(own, low[q + i]!) > 0) return false
  }
  return true
}
