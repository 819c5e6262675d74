import type { Timeframe } from '../../model/timeframe.js'

/** `bands check lookahead`: whether anything that is shown of a day knows what came after it. Dates YYYY-MM-DD. */
export interface CheckLookahead {
  schema: 'bands.check-lookahead/1'
  tickers: string[]
  timeframe: Timeframe
  as_of: string | null
  seed: number
  /** The days by which the data were cut off, ascending. */
  cuts: string[]
  fields: FieldLookahead[]
  /** What followed each bar, as far as it was known by the cut: the same for all fields. */
  aftermath: { compared: number; differences: number }
  /** Nothing differs, and something was compared. */
  passed: boolean
  /** The first of them, by ticker, cut and field. */
  differences: LookaheadDifference[]
  skipped: Skipped[]
}

export interface FieldLookahead {
  field: string
  /** Tickers and cuts of which something was compared. */
  series: number
  /** Bars on which a band was compared, and events with their stability and flips. */
  bars: number
  events: number
  /** Bars and events that the data up to the cut gave otherwise. */
  differences: number
}

export interface LookaheadDifference {
  ticker: string
  /** null: what followed a bar. */
  field: string | null
  cut: string
  /** `band` of a bar, `event`, `stability` (and flips) of one, `aftermath` of a bar. */
  what: 'band' | 'event' | 'stability' | 'aftermath'
  date: string
  /** In words; null: nothing. */
  whole: string | null
  cut_off: string | null
}

/** `bands check recursion`: how much the bands depend on where the bars begin. */
export interface CheckRecursion {
  schema: 'bands.check-recursion/1'
  tickers: string[]
  timeframe: Timeframe
  as_of: string | null
  /** How many of the first bars were left out. */
  dropped: number[]
  fields: FieldRecursion[]
  skipped: Skipped[]
}

export interface FieldRecursion {
  field: string
  /** One for each number of bars left out. */
  starts: LateStart[]
}

export interface LateStart {
  dropped: number
  /** Tickers with more bars than that, and a band on one of those that are left. */
  tickers: number
  /** Bars that have a band in both or in one, from the late start on. */
  bars: number
  /** Bars that have a band from the whole and none yet from the late start. */
  warming_up: number
  /** Bars on which the late start gives another band, or one where the whole has none. */
  differing: number
  /** differing / (bars - warming_up); null without any. */
  share: number | null
  /** Bars after the late start from which on the bands agree for good: of the middle ticker and of the slowest. */
  agree_after: { median: number; most: number } | null
  /** Tickers whose bands differ on the last bar still; they are not in the line above. */
  never: number
}

export interface Skipped {
  ticker: string
  reason: string
}
