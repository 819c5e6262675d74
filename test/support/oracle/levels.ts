/** Section 2, support and resistance: the state machine, bar by bar. */
import { type Bar, SETTINGS, type Timeframe } from './bars.js'
import { above, below } from './tolerance.js'

export interface LevelState {
  band: 'intact' | 'approaching' | 'breached' | null
  /** The S, as a price, that the band was judged by; null where there is no band. */
  level: number | null
}

/** Resistance is support on negated prices. The ATR has one value a bar, null where undefined. */
export function levels(
  bars: Bar[],
  atr: (number | null)[],
  timeframe: Timeframe,
  side: 'support' | 'resistance',
): LevelState[] {
  const { pivotK, pivotLookback } = SETTINGS[timeframe]
  if (side === 'support') {
    const low = bars.map(bar => bar.low)
    const close = bars.map(bar => bar.close)
    return support(low, close, atr, pivotK, pivotLookback)
  }
  const low = bars.map(bar => -bar.high)
  const close = bars.map(bar => -bar.close)
  const states = support(low, close, atr, pivotK, pivotLookback)
  return states.map(({ band, level }) => ({ band, level: level === null ? null : -level }))
}

function support(low: number[], close: number[], atr: (number | null)[], k: number, lookback: number): LevelState[] {
  const states: LevelState[] = low.map(() => ({ band: null, level: null }))
  let s: number | null = null
  let b = 0
  for (let t = 1; t < low.length; t += 1) {
    if (b === 0) s = highestKnownPivot(low, t, k, lookback, close[t - 1]!)
    const range = atr[t]!
    if (s === null || range === null) continue
    if (below(close[t]!, s)) {
      states[t] = { band: 'breached', level: s }
      b += 1
      if (b === 3) {
        s = null
        b = 0
      }
    } else {
      b = 0
      const near = !above(close[t]! - s, 1.0 * range, close[t]!)
      states[t] = { band: near ? 'approaching' : 'intact', level: s }
    }
  }
  return states
}

/** The highest low among the pivots known by t, of bars later than t − lookback, that is not above the price. */
function highestKnownPivot(low: number[], t: number, k: number, lookback: number, price: number): number | null {
  let highest: number | null = null
  for (let q = Math.max(0, t - lookback + 1); q + k <= t; q += 1) {
    if (above(low[q]!, price) || !isPivotLow(low, q, k)) continue
    if (highest === null || low[q]! > highest) highest = low[q]!
  }
  return highest
}

function isPivotLow(low: number[], q: number, k: number): boolean {
  if (q < k) return false
  for (let i = 1; i <= k; i += 1) {
    if (!below(low[q]!, low[q - i]!)) return false
    if (above(low[q]!, low[q + i]!)) return false
  }
  return true
}
