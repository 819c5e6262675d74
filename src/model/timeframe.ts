import { DEFINITIONS } from './definitions.js'

export type Timeframe = 'daily' | 'weekly'

/** Everything that differs between daily and weekly. */
export interface TimeframeFacts {
  /** Suffix of lookbacks and windows in names: `30d`, `4w`. */
  unit: 'd' | 'w'
  windows: readonly number[]
  flipsLookback: number
  minReference: number
  history: number
  minHistory: number
  pivotReach: number
  pivotLookback: number
  /** The resource key that holds how long a band lasted. */
  duration: 'duration_days' | 'duration_weeks'
}

export const TIMEFRAMES: Readonly<Record<Timeframe, TimeframeFacts>> = DEFINITIONS.timeframes

export const TIMEFRAME_NAMES: readonly Timeframe[] = ['daily', 'weekly']

/** The windows' names in order: `5d` .. `100d`, `2w` .. `16w`. */
export function windowNames(timeframe: Timeframe): readonly string[] {
  return WINDOW_NAMES[timeframe]
}

const WINDOW_NAMES: Readonly<Record<Timeframe, readonly string[]>> = { daily: named('daily'), weekly: named('weekly') }

function named(timeframe: Timeframe): readonly string[] {
  const { windows, unit } = TIMEFRAMES[timeframe]
  return windows.map(bars => `${bars}${unit}`)
}
