import { column, integerColumn, withReusedMemory } from '../indicators/columns.js'
import { MAX_RANKS_ONE_BY_ONE, movingRanks, percentile, TOLERANCE, zoneOfRank } from '../indicators/rank.js'
import { DEFINITIONS } from '../model/definitions.js'
import { forwardReturns, type Outcomes, returnOver, type Series } from '../model/series.js'
import { TIMEFRAMES } from '../model/terms.js'

/** For each window, the rank of the return after each bar among earlier ones, so that it never changes. */
export function rankOutcomes(series: Pick<Series, 'close' | 'timeframe'>): Outcomes {
  const { windows, minReference } = TIMEFRAMES[series.timeframe]
  const ranks = windows.map(window => ranksAmongEarlier(series.close, window, minReference))
  return { close: series.close, ranks }
}

/**
 * For each window, the rank of the return after each bar among earlier ones. Only returns that end on bar `since` or
 * later are ranked; the others are -1.
 */
export function ranksEndingSince(
  { close, timeframe }: Pick<Series, 'close' | 'timeframe'>,
  since: number,
): Int32Array[] {
  const { windows, minReference } = TIMEFRAMES[timeframe]
  return windows.map(window => {
    // The first bar whose return ends on `since` or later, and has enough earlier returns to be ranked among.
    const first = Math.max(since - window, minReference + window - 1, 0)
    const end = close.length - window
    // If there are many, it is faster to rank the returns after all bars in one pass.
    if (end - first > MAX_RANKS_ONE_BY_ONE) return ranksAmongEarlier(close, window, minReference).fill(-1, 0, first)
    const ranks = new Int32Array(close.length).fill(-1)
    for (let t = first; t < end; t++) ranks[t] = rankOfReturn(close, t, window)
    return ranks
  })
}

/** Number of returns over `window` bars that had ended by a bar: the return after the bar is ranked among them. */
export function earlierReturns(bar: number, window: number): number {
  return Math.max(0, bar - window + 1)
}

/** Percentile, 0..100, of the return after a bar; NaN without a rank. */
export function outcomePercentile(rank: number, bar: number, window: number): number {
  return percentile(rank, earlierReturns(bar, window))
}

/** Index into PERFORMANCES by the whole part of a percentile, because the cuts are whole numbers. */
const PERFORMANCE_INDEX = Uint8Array.from({ length: 101 }, (_, percent) =>
  zoneOfRank(2 * percent, 100, DEFINITIONS.performance.cuts),
)

/** Index into PERFORMANCES of the return after a bar, by its known rank. */
export function performanceIndex(rank: number, bar: number, window: number): number {
  return PERFORMANCE_INDEX[Math.floor(outcomePercentile(rank, bar, window))]!
}

/** The rank of the return after each bar among returns that had ended by the bar; -1 with fewer than `minReference`. */
function ranksAmongEarlier(close: Float64Array, window: number, minReference: number): Int32Array {
  const bars = close.length
  return withReusedMemory(() => {
    const returns = forwardReturns(close, window, column(bars))
    const memory = { rank: integerColumn(bars), size: integerColumn(bars) }
    const { rank } = movingRanks(returns, { lag: window, history: bars, least: minReference }, 0, memory)
    return rank.slice()
  })
}

/**
 * The rank of the return after bar `t` among the returns that had ended by it. A smaller return counts 2, an equal one
 * 1. For few bars this is faster than ranking them all.
 */
function rankOfReturn(close: Float64Array, t: number, window: number): number {
  const value = returnOver(close, t, window)
  const lowestEqual = value - TOLERANCE
  const highestEqual = value + TOLERANCE
  const count = earlierReturns(t, window)
  let rank = 0
  for (let i = 0; i < count; i++) {
    const earlier = returnOver(close, i, window)
    rank += Number(earlier < lowestEqual) + Number(earlier <= highestEqual)
  }
  return rank
}
