import type { EventFilter } from '../filter.js'
import type { Abnormal } from './result.js'

/** What an event study is asked, parsed and complete. */
export interface StudyQuery {
  /** At least one. */
  tickers: readonly string[]
  filter: EventFilter
  /** Windows in bars, ascending, each at least 1. */
  horizons: readonly number[]
  /** Bars of the average path before and after the event. */
  path: { before: number; after: number }
  /** A ticker to hold the events against; the market model needs one. */
  benchmark: string | null
  abnormal: Abnormal
  /** Fewer events whose window has elapsed get neither p-value nor interval. */
  minEvents: number
  /** Draws of the circular shift and of random entries; `all`: every shift, and `resamples` entries. */
  reps: number | 'all'
  /** Draws of every bootstrap. */
  resamples: number
  seed: number
  /** Adds the t test that takes overlapping windows for independent. */
  naive: boolean
  hansenHodrick: boolean
}
