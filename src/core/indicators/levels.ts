import { byteColumn, columnWithNaN, integerColumn, negated } from './columns.js'
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
  const level = columnWithNaN(low.length)
  const first = searchStart(close, from, rules)
  const pivots = new Pivots(low, rules, first)
  let supportLevel = Number.NaN
  let closesBelow = 0
  for (let t = first; t < low.length; t++) {
    if (closesBelow === 0) supportLevel = pivots.highestUnder(close[t - 1]!, t)
    if (Number.isNaN(supportLevel) || Number.isNaN(atr[t]!)) continue
    level[t] = supportLevel
    const currentClose = close[t]!
    if (compare(currentClose, supportLevel) < 0) {
      state[t] = BREACHED
      closesBelow++
      // With 0, the next bar looks for another level.
      if (closesBelow === rules.breaches) closesBelow = 0
    } else {
      closesBelow = 0
      const isNear = compare(currentClose - supportLevel, rules.approachingAtr * atr[t]!, currentClose) <= 0
      state[t] = isNear ? APPROACHING : INTACT
    }
  }
  return { state, level }
}

/**
 * The bar at which `support` may start and still give the right levels from bar `from` on; 1 if there is no later one.
 * It is the last bar up to `from` after a close that is above each of the `breaches` closes before it. A level at or
 * under that close is not breached. A level above it was dropped, after `breaches` closes under it.
 */
function searchStart(close: Float64Array, from: number, { breaches }: LevelRules): number {
  let t = from
  for (; t > breaches + 1; t--) {
    let barsBack = 1
    while (barsBack <= breaches && compare(close[t - 1]!, close[t - 1 - barsBack]!) > 0) barsBack++
    if (barsBack > breaches) return t
  }
  return 1
}

/** Resistance: the nearest pivot high at or above the last close. It is computed as support of negated prices. */
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
 * Finds the pivot low under a price, bar by bar. A pivot is known after `reach` later bars, and counts for `lookback`.
 */
class Pivots {
  readonly #rules: LevelRules
  readonly #bars: Int32Array
  readonly #lows: Float64Array
  /** Index of the first counting pivot, and of the first future one. */
  #oldest = 0
  #end = 0
  /** The counting lows next to the last price: the highest not above it, and the lowest above. NaN without one. */
  #lowBelow = Number.NaN
  #lowAbove = Number.NaN

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
    if (this.#advanceTo(t) || !this.#isBetween(price)) this.#findNeighbours(price)
    return this.#lowBelow
  }

  /** Whether a price has the same two lows next to it as the last one. */
  #isBetween(price: number): boolean {
    if (compare(this.#lowBelow, price) > 0) return false
    return Number.isNaN(this.#lowAbove) || compare(this.#lowAbove, price) > 0
  }

  /** Moves on to bar t, and returns whether that changes which pivots count. */
  #advanceTo(t: number): boolean {
    const { reach, lookback } = this.#rules
    const before = this.#oldest + this.#end
    while (this.#end < this.#bars.length && this.#bars[this.#end]! <= t - reach) this.#end++
    while (this.#oldest < this.#end && this.#bars[this.#oldest]! <= t - lookback) this.#oldest++
    // Both only grow, so an equal sum means no change.
    return this.#oldest + this.#end !== before
  }

  /** Sets `#lowBelow` and `#lowAbove` for a price. */
  #findNeighbours(price: number): void {
    this.#lowBelow = Number.NaN
    this.#lowAbove = Number.NaN
    for (let i = this.#oldest; i < this.#end; i++) {
      const low = this.#lows[i]!
      // Negated, because a comparison with NaN, the value of the first time, is false.
      if (compare(low, price) > 0) {
        if (!(low >= this.#lowAbove)) this.#lowAbove = low
      } else if (!(low <= this.#lowBelow)) this.#lowBelow = low
    }
  }
}

/** The bars from `from` on that are pivot lows. */
function pivotLows(low: Float64Array, reach: number, from: number): Int32Array {
  const pivots = integerColumn(low.length)
  let count = 0
  for (let q = Math.max(reach, from); q + reach < low.length; q++) if (isPivotLow(low, q, reach)) pivots[count++] = q
  return pivots.subarray(0, count)
}

/** Whether the low of bar `q` is below each of the `reach` lows before it, and not above any of the `reach` after. */
function isPivotLow(low: Float64Array, q: number, reach: number): boolean {
  const candidate = low[q]!
  // Most comparisons need no tolerance.
  if (candidate >= low[q - 1]!) return false
  for (let i = 1; i <= reach; i++) {
    if (compare(candidate, low[q - i]!) >= 0 || compare(candidate, low[q + i]!) > 0) return false
  }
  return true
}
