import type { SeriesKey } from '../../model/pulled.js'

/** The key alone, of whatever has one. */
export function keyOf({ ticker, timeframe, field }: SeriesKey): SeriesKey {
  return { ticker, timeframe, field }
}

/** A series in a sentence. */
export function named({ ticker, timeframe, field }: SeriesKey): string {
  return `${timeframe} ${field} of ${ticker}`
}

/** The command line that pulls a series. */
export function pullLine({ ticker, timeframe, field }: SeriesKey): string {
  return `bands pull ${ticker} ${field}${timeframe === 'daily' ? '' : ` --timeframe ${timeframe}`}`
}

/** `A, B, C and 4 more`. */
export function listed(words: readonly string[], most = 5): string {
  const shown = words.slice(0, most).join(', ')
  return words.length > most ? `${shown} and ${words.length - most} more` : shown
}
