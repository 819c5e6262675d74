import { countUpTo } from '../model/day.js'
import { compare } from './rank.js'

/** How a bar stands to its level. */
export const LEVEL_STATES = ['intact', 'approaching', 'breached'] as const
const INTACT = 0
const APPROACHING = 1
const BREACHED = 2
/** The code that fields have for no band, because they take these states as their bands. */
export const NO_LEVEL = 255

export interface LevelRules {
  /** Bars on each side of a pivot. */
  reach: number
  /** How many bars a pivot stays in sight. */
  lookback: number
  /** A close within this many ATR of the level approaches it. */
  approachingAtr: number
  /** Closes beyond a level after which it is given up. */
  breaches: number
}

export interface Levels {
  /** Index into LEVEL_STATES, NO_LEVEL where there is no level or no ATR. */
  state: Uint8Array
  /** The level that the bar was judged by, as a price; NaN where there is no state. */
  level: Float64Array
}

/** Support: the nearest pivot low at or under the last close, and whether the close has come near it or broken it. */
export function support(low: Float64Array, close: Float64Array, atr: Float64Array, rules: LevelRules): Levels {
  const pivots = pivotLows(low, rules.reach)
  const state = new Uint8Array(low.length).fill(NO_LEVEL)
  const level = new Float64Array(low.length).fill(Number.NaN)
  let floor = Number.NaN
  let beyond = 0
  for (let t = 1; t < low.length; t++) {
    if (beyond === 0) floor = highestUnder(close[t - 1]!, low, pivots, t, rules)
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

/** Resistance is support on negated prices. */
export function resistance(high: Float64Array, close: Float64Array, atr: Float64Array, rules: LevelRules): Levels {
  const { state, level } = support(negated(high), negated(close), atr, rules)
  return { state, level: negated(level) }
}

/** The highest low among the pivots in sight that is not above `price`; NaN when there is none. */
function highestUnder(price: number, low: Float64Array, pivots: Int32Array, t: number, rules: LevelRules): number {
  let highest = Number.NaN
  for (let i = countUpTo(pivots, t - rules.reach) - 1; i >= 0; i--) {
    const bar = pivots[i]!
    if (bar <= t - rules.lookback) break
    const candidate = low[bar]!
    if (compare(candidate, price) <= 0 && !(candidate <= highest)) highest = candidate
  }
  return highest
}

/** Bars whose low is below each of the `reach` lows before and not above any of the `reach` lows after. */
function pivotLows(low: Float64Array, reach: number): Int32Array {
  const pivots: number[] = []
  for (let q = reach; q + reach < low.length; q++) if (isPivotLow(low, q, reach)) pivots.push(q)
  return Int32Array.from(pivots)
}

function isPivotLow(low: Float64Array, q: number, reach: number): boolean {
  for (let i = 1; i <= reach; i++) {
    if (compare(low[q]!, low[q - i]!) >= 0 || compare(low[q]!, low[q + i]!) > 0) return false
  }
  return true
}

const negated = (values: Float64Array): Float64Array => values.map(value => -value)
