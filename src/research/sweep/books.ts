import type { Market, MarketBars } from '../../market.js'
import { forwardReturns } from '../forward.js'
import { bandsEnteredBy, eligibleBars, signalsOf } from '../signals.js'
import type { Condition } from './conditions.js'
import type { Pace } from './pace.js'
import type { SweepQuery } from './query.js'

/** All that a sweep needs of one ticker, read once. */
export interface Book {
  ticker: string
  days: Int32Array
  close: Float64Array
  /** r_h of every bar, one column a horizon of the query. */
  forward: Float64Array[]
  /** In the order of the query. */
  fields: BookField[]
}

/** One field: the bars on which it has a band, and its events in columns. */
export interface BookField {
  eligible: Int32Array
  bars: Int32Array
  entered: Uint8Array
  left: Uint8Array
  /** Code of the band that each context of the query was in. */
  contexts: Uint8Array[]
}

/** Ascending by ticker, each once, so that the order in which they were named cannot matter. */
export async function booksOf(market: Market, query: SweepQuery, pace: Pace): Promise<Book[]> {
  const tickers = [...new Set(query.tickers)].sort()
  const contexts = await contextsOf(market, query)
  const books: Book[] = []
  for (const [i, ticker] of tickers.entries()) {
    books.push(await bookOf(market, ticker, query, contexts))
    await pace.turn(() => `reading ${ticker}, ${i + 1} of ${tickers.length}`)
  }
  return books
}

/** Bars of the events that make a condition, ascending. */
export function signalBars({ fields }: Book, { field, band, prevBand, context }: Condition): Int32Array {
  const { bars, entered, left, contexts } = fields[field]!
  const codes = context === null ? null : contexts[context.which]!
  return bars.filter(
    (_, i) =>
      entered[i] === band &&
      (prevBand === null || left[i] === prevBand) &&
      (codes === null || codes[i] === context!.band),
  )
}

type ContextCodes = (dates: Int32Array) => Uint8Array

async function contextsOf(market: Market, { contexts, timeframe }: SweepQuery): Promise<ContextCodes[]> {
  return Promise.all(
    contexts.map(async ({ ticker, field, lag }): Promise<ContextCodes> => {
      const states = await market.states(ticker, field, timeframe)
      const { days } = (await market.bars(ticker, timeframe)).series
      return dates => bandsEnteredBy(states, days, Array.from(dates), lag)
    }),
  )
}

async function bookOf(
  market: Market,
  ticker: string,
  query: SweepQuery,
  contexts: readonly ContextCodes[],
): Promise<Book> {
  const { timeframe, after, before } = query
  const any = { bands: null, prevBands: null, stability: null, maxFlips: null, context: null }
  const read = await Promise.all(
    query.fields.map(field => signalsOf(market, ticker, { field, timeframe, after, before, ...any })),
  )
  const { prices } = read[0]!
  return {
    ticker,
    ...columnsOf(prices),
    forward: query.horizons.map(horizon => forwardReturns(prices, horizon)),
    fields: read.map(({ states, signals: { bars, entered, left } }) => ({
      eligible: eligibleBars(prices, states, query),
      bars,
      entered,
      left,
      contexts: contexts.map(codes => codes(bars.map(bar => prices.series.days[bar]!))),
    })),
  }
}

/** Copies, because the columns of a series lie in one piece of memory with those that nobody needs here. */
function columnsOf({ series: { days, close } }: MarketBars): Pick<Book, 'days' | 'close'> {
  return { days: days.slice(), close: close.slice() }
}
