import { DEFINITIONS } from './definitions.js'

export type Timeframe = 'daily' | 'weekly'

/** A timeframe as in a caller's options. */
export type TimeframeName = Timeframe | (string & {})

/** A field of the specification. One is listed here; the published types list all that are in the table. */
export type FieldName = 'rsi_zone' | (string & {})

/** A band of some field. One is listed here; the published types list all that are in the table. */
export type BandName = 'oversold' | (string & {})

/** Everything that differs between daily and weekly. */
export const TIMEFRAMES = DEFINITIONS.timeframes

export const TIMEFRAME_NAMES: readonly Timeframe[] = ['daily', 'weekly']

/** The windows' names in order: `5d` .. `100d`, `2w` .. `16w`. */
export function windowNames(timeframe: Timeframe): readonly string[] {
  return WINDOW_NAMES[timeframe]
}

const WINDOW_NAMES: Readonly<Record<Timeframe, readonly string[]>> = {
  daily: windowNamesOf('daily'),
  weekly: windowNamesOf('weekly'),
}

function windowNamesOf(timeframe: Timeframe): readonly string[] {
  return TIMEFRAMES[timeframe].windows.map(bars => windowName(bars, timeframe))
}

export function windowName(bars: number, timeframe: Timeframe): string {
  return `${bars}${TIMEFRAMES[timeframe].unit}`
}

/** The subscription; each tier includes the one before. */
export type Tier = 'free' | 'plus' | 'pro'

export const TIER_NAMES: readonly Tier[] = ['free', 'plus', 'pro']

/** @param tier null: no tier is set, and everything is visible */
export function includesTier(tier: Tier | null, required: Tier): boolean {
  return tier === null || TIER_NAMES.indexOf(tier) >= TIER_NAMES.indexOf(required)
}

const SHAPE = /^[A-Z0-9.^=-]{1,16}$/

/** The form of a ticker, for messages. */
export const TICKER_SHAPE = '1 to 16 characters of A-Z 0-9 . - ^ ='

/** The ticker that a text spells, in upper case, or null when it is no well-formed ticker (`brk.b` is `BRK.B`). */
export function parseTicker(text: string): string | null {
  // Only ASCII letters have a case here: a long s or a dotless i must not turn into S or I.
  const ticker = text.replace(/[a-z]/g, letter => letter.toUpperCase())
  return SHAPE.test(ticker) ? ticker : null
}
