import type { EventsQuery } from '../model/query.js'

/** What a question costs when it is answered: a credit for each ticker that is looked at. */
export function eventsCost({ context }: Pick<EventsQuery, 'context'>): number {
  return context === undefined ? 1 : 2
}

/** `GET /v1/scan/oversold`, however many tickers it looks at. */
export const OVERSOLD_COST = 1
