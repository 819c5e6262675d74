import type { EventFilter } from './filter.js'

/** As many tickers as a line names. */
const NAMED = 3

/** What a filter asks of an event, part by part: `rsi_zone = oversold`, `while GSPC trend_direction = downtrend`. */
export function filterWords({ field, bands, prevBands, stability, maxFlips, context }: EventFilter): string[] {
  return [
    `${field} = ${anyOf(bands)}`,
    ...(prevBands === null ? [] : [`from ${anyOf(prevBands)}`]),
    ...(stability === null ? [] : [`stability ${anyOf(stability)}`]),
    ...(maxFlips === null ? [] : [`at most ${maxFlips} flips`]),
    ...(context === null
      ? []
      : [`while ${context.ticker} ${context.field} = ${anyOf(context.bands)}${lagWords(context)}`]),
  ]
}

/** Names, ascending, of a few tickers; of more how many they are. */
export function tickerWords(tickers: readonly string[]): string {
  return tickers.length <= NAMED ? tickers.toSorted().join(', ') : `${tickers.length} tickers`
}

function anyOf(values: readonly string[] | null): string {
  return values?.join(', ') ?? 'any'
}

function lagWords({ lag }: NonNullable<EventFilter['context']>): string {
  return lag === 1 ? ' a bar before' : ''
}
