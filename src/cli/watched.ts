import type { Bands } from '../bands.js'
import type { Context } from './context.js'

/** The same answers, told on a terminal as progress: a study of many tickers asks thousands of questions. */
export function watched(bands: Bands, context: Context, what: string): Bands {
  let asked = 0
  const seen = <Query extends { ticker: string }, Found>(ask: (query: Query) => Promise<Found>) => {
    return (query: Query): Promise<Found> => {
      asked++
      context.step(() => `${what}  ${query.ticker}  ${asked} questions`)
      return ask(query)
    }
  }
  return {
    events: seen(query => bands.events(query)),
    history: seen(query => bands.history(query)),
    baseline: seen(query => bands.baseline(query)),
    oversold: query => bands.oversold(query),
    tickers: () => bands.tickers(),
    close: () => bands.close(),
  }
}
