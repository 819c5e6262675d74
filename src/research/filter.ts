import type { Day } from '../model/day.js'
import type { Stability } from '../model/record.js'
import type { Timeframe } from '../model/timeframe.js'

/**
 * Which events count as signals. Everything here is known when the event happens; how long a band lasts and what follows
 * are not, and cannot be asked for.
 */
export interface EventFilter {
  field: string
  timeframe: Timeframe
  /** Bands entered; null: any. */
  bands: readonly string[] | null
  /** Bands left; null: any. */
  prevBands: readonly string[] | null
  stability: readonly Stability[] | null
  /** At most so many flips in the lookback at entry. */
  maxFlips: number | null
  context: ContextFilter | null
  /** Both exclusive, of the day of the event. */
  after: Day | null
  before: Day | null
}

/** The bands that a second ticker was in on the date of the event (lag 0), or at its bar before that date (lag 1). */
export interface ContextFilter {
  ticker: string
  field: string
  bands: readonly string[] | null
  lag: 0 | 1
}
