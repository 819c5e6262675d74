import { InvalidParameter } from '../errors.js'
import type { HistoricEvent, PoolQuery } from '../model/event.js'
import { eventAt, type History } from '../model/history.js'
import type { Source } from '../source.js'
import { type Answered, type Scope, scopeOf, type TallyWays, tickersInOrder } from './scope.js'

/** Events of several tickers, as many as were asked for. */
export interface PoolEventsQuery extends PoolQuery {
  limit: number
}

/** An event of one of several tickers. */
export interface PoolEvent extends HistoricEvent {
  ticker: string
}

/** The newest events of a field of several tickers, newest first; on one date by ticker. */
export interface PoolEvents extends Scope {
  schema: 'bands.pool-events/1'
  tickers: string[]
  field: string
  timeframe: string
  band: string | null
  context: { ticker: string; field: string; band: string | null } | null
  /** The condition that held on their bars; absent where none was asked for. */
  when?: string
  /** All that match, whatever the limit. */
  total_occurrences: number
  events: PoolEvent[]
}

/** Throws NotFound for a ticker that is not there, TierRestricted above the tier, InvalidParameter for no ticker. */
export async function poolEvents(
  source: Source,
  query: PoolEventsQuery,
  { step }: TallyWays = {},
): Promise<PoolEvents> {
  const { tickers, field, limit, ...filter } = query
  const names = tickersInOrder(tickers)
  if (names.length === 0) throw new InvalidParameter('events needs a ticker.', { param: 'ticker' })
  const answers: Answered[] = []
  const newest: Placed[] = []
  let total = 0
  for await (const history of source.histories({ ...filter, tickers: names, fields: [field], outcomes: 'known' })) {
    const { days, query_range, after, as_of } = history
    answers.push({ query_range, after, as_of })
    total += days.length
    // Of each ticker no more than all together may be: the others cannot be among the newest.
    for (let i = Math.max(0, days.length - limit); i < days.length; i++) newest.push({ day: days[i]!, history, i })
    step?.(() => `events  ${history.ticker}  ${answers.length} of ${names.length}`)
  }
  const { timeframe, bands, context } = filter
  // Tickers came in their order, which a stable sort keeps on one date.
  const shown = newest.sort((a, b) => b.day - a.day).slice(0, limit)
  return {
    ...{ schema: 'bands.pool-events/1', tickers: names, field, timeframe },
    band: bands?.join(',') ?? null,
    context: context === undefined ? null : { ...context, band: context.band ?? null },
    ...(filter.when === undefined ? {} : { when: filter.when }),
    ...scopeOf(answers, filter),
    total_occurrences: total,
    events: shown.map(({ history, i }) => ({ ticker: history.ticker, ...eventAt(history, i) })),
  }
}

/** An event by its number in the columns of a ticker. */
interface Placed {
  day: number
  history: History
  i: number
}
