import { FEW, movingRanks, percentile, TOLERANCE, zoneOfRank } from '../indicators/rank.js'
import { DEFINITIONS } from '../model/definitions.js'
import { forwardReturns, type Outcomes, returnOver, type Series } from '../model/series.js'
import { TIMEFRAMES } from '../model/terms.js'

/** Returns after every bar. Each is ranked only among earlier ones, so a label never changes once it is set. */
export function outcomes(series: Pick<Series, 'close' | 'timeframe'>): Outcomes {
  const { windows, minReference } = TIMEFRAMES[series.timeframe]
  const ranks = windows.map(window => ranksInThePast(series.close, window, minReference))
  return { close: series.close, ranks }
}

/** The ranks of only those returns that end on bar `since` or later; -1 for the others. */
export function ranksSince({ close, timeframe }: Pick<Series, 'close' | 'timeframe'>, since: number): Int32Array[] {
  const { windows, minReference } = TIMEFRAMES[timeframe]
  return windows.map(window => {
    const first = Math.max(since - window, minReference + window - 1, 0)
    const end = close.length - window
    if (end - first > FEW) return ranksInThePast(close, window, minReference).fill(-1, 0, first)
    const ranks = new Int32Array(close.length).fill(-1)
    for (let t = first; t < end; t++) ranks[t] = rankOfReturn(close, t, window)
    return ranks
  })
}

/** Number of returns over `window` bars that had ended by a bar. */
export function referenceSize(bar: number, window: number): number {
  return Math.max(0, bar - window + 1)
}

/** Percentile, 0..100, of a rank of bar `bar`; NaN without one. */
export function outcomePercentile(rank: number, bar: number, window: number): number {
  return percentile(rank, referenceSize(bar, window))
}

/** Index into PERFORMANCES of a defined rank. */
export function performanceOf(rank: number, bar: number, window: number): number {
  return zoneOfRank(rank, referenceSize(bar, window), DEFINITIONS.performance.cuts)
}

function ranksInThePast(close: Float64Array, window: number, minReference: number): Int32Array {
  const returns = forwardReturns(close, window)
  return movingRanks(returns, { lag: window, history: returns.length, least: minReference }).rank
}

/**
 * The rank of one return, `2 · less + equal` as in core/indicators/rank.ts. For few bars a column of the other returns
 * would take longer.
 */
function rankOfReturn(close: Float64Array, t: number, window: number): number {
  const own = returnOver(close, t, window)
  const from = own - TOLERANCE
  const upTo = own + TOLERANCE
  const count = referenceSize(t, window)
  let rank = 0
  for (let i = 0; i < count; i++) {
    const other = returnOver(close, i, window)
    rank += Number(other < from) + Number(other <= upTo)
  }
  return rank
}
