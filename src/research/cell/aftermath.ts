import { Ranking, zoneOfRank } from '../../indicators/rank.js'
import { DEFINITIONS } from '../../model/definitions.js'
import { UNDEFINED } from '../../model/record.js'

/**
 * The aftermath band of every bar, an index into PERFORMANCES: how its return over the window ranks among those of the
 * same ticker that had ended by the bar. UNDEFINED while the window has not elapsed, and with fewer than `minReference`
 * such returns. The same as the engine records for its five windows, for any.
 */
export function performances(close: Float64Array, horizon: number, minReference: number): Uint8Array {
  const bars = close.length
  const codes = new Uint8Array(bars).fill(UNDEFINED)
  const returns = new Float64Array(bars).fill(Number.NaN)
  for (let t = 0; t + horizon < bars; t++) returns[t] = close[t + horizon]! / close[t]! - 1
  const past = new Ranking(returns)
  for (let t = horizon; t + horizon < bars; t++) {
    past.add(t - horizon)
    if (past.size >= minReference) codes[t] = zoneOfRank(past.of(t), past.size, DEFINITIONS.performance.cuts)
  }
  return codes
}
