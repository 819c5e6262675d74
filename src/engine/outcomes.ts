import { movingRanks, percentile, rankAmong, zoneOfRank } from '../indicators/rank.js'
import { DEFINITIONS } from '../model/definitions.js'
import { forwardReturns, type Outcomes, type Series } from '../model/series.js'
import { TIMEFRAMES } from '../model/terms.js'

/**
 * Looks ahead from every bar; each return is ranked in the past alone, so a label never changes once it is set.
 * @param since only returns that end on this bar or later are ranked; the ranks of the others stay -1
 */
export function outcomes(series: Pick<Series, 'close' | 'timeframe'>, since = 0): Outcomes {
  const { windows, minReference } = TIMEFRAMES[series.timeframe]
  const returns = windows.map(window => forwardReturns(series.close, window))
  const ranks = windows.map((window, i) => ranksInThePast(returns[i]!, window, minReference, since))
  return { returns, ranks }
}

/** How many returns over `window` bars had ended by a bar. */
export function referenceSize(bar: number, window: number): number {
  return Math.max(0, bar - window + 1)
}

/** Percentile, 0..100, of a rank of bar `bar`; NaN where there is none. */
export function outcomePercentile(rank: number, bar: number, window: number): number {
  return percentile(rank, referenceSize(bar, window))
}

/** Index into PERFORMANCES of a defined rank. */
export function performanceOf(rank: number, bar: number, window: number): number {
  return zoneOfRank(rank, referenceSize(bar, window), DEFINITIONS.performance.cuts)
}

/** So few ranks are counted one by one, because ordering all returns takes longer. */
const FEW = 16

function ranksInThePast(returns: Float64Array, window: number, minReference: number, since: number): Int32Array {
  const first = Math.max(since - window, minReference + window - 1)
  const end = returns.length - window
  if (end - first > FEW) {
    const { rank } = movingRanks(returns, { lag: window, history: returns.length, least: minReference })
    return first < since ? rank.fill(-1, 0, first) : rank
  }
  const ranks = new Int32Array(returns.length).fill(-1)
  for (let t = first; t < end; t++) ranks[t] = rankAmong(returns[t]!, returns, referenceSize(t, window))
  return ranks
}
