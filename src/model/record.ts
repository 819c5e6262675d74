import type { Series } from './series.js'

/** The code of no band; a band's code is its place in the field's vocabulary. */
export const UNDEFINED = 255

/** Where the band of one field changes; columns of one row an event, oldest first. */
export interface Transitions {
  /** The first defined bar and its band: the state before any event. -1 and UNDEFINED when no bar is defined. */
  initialBar: number
  initialBand: number
  /** Bar on which a band was entered. */
  bars: Int32Array
  /** Code of the band entered. */
  bands: Uint8Array
}

/** What was known of each event when it happened. */
export interface Entries {
  /** Events on the last bars of the lookback, the entry's own included. */
  flips: Uint8Array
  /** Index into STABILITIES. */
  stability: Uint8Array
}

/** Everything recorded about one field of one ticker at one timeframe. */
export interface FieldRecord extends Transitions, Entries {}

/** What followed each bar, one pair of columns for every window of the timeframe, as long as the series. */
export interface Outcomes {
  /** Close-to-close return over the window, as a fraction; NaN while its last bar does not exist. */
  returns: Float64Array[]
  /** 2 · less + equal of that return among those that had ended by the bar; -1 where there is none to rank, or too few. */
  ranks: Int32Array[]
}

/** Everything derived from one series: what followed its bars, and each field's events. */
export interface SeriesRecord {
  series: Series
  outcomes: Outcomes
  fields: ReadonlyMap<string, FieldRecord>
}

/** How settled the band was that an event leaves, as known at the event. */
export const STABILITIES = ['fresh', 'holding', 'established', 'volatile'] as const
export type Stability = (typeof STABILITIES)[number]

/** How a return ranks in the ticker's own past, from worst to best. */
export const PERFORMANCES = [
  'sharp_decline',
  'moderate_decline',
  'slight_decline',
  'flat',
  'slight_gain',
  'moderate_gain',
  'sharp_gain',
] as const
export type Performance = (typeof PERFORMANCES)[number]
