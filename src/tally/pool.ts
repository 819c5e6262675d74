import { InvalidParameter } from '../errors.js'
import { formatDay } from '../model/day.js'
import type { EventHistory, HistoricEvent, HistoryQuery, PoolQuery } from '../model/event.js'
import { eventAt, type History } from '../model/history.js'
import type { Timeframe } from '../model/terms.js'
import { fieldOf, type RunContext, type Source } from '../source.js'

/** What a study looked at, as every result tells it: events lie after the first date and up to the last. */
export interface Scope {
  query_range: string | null
  after: string | null
  /** Exclusive; null where the question sets none. */
  before: string | null
  as_of: string | null
}

/** What every answer says of the range that it was taken from. */
export type Answered = Pick<EventHistory, 'query_range' | 'after' | 'as_of'>

/** The scope of a question from what the answers say; null where there was nobody to answer. */
export function scopeOf(answers: readonly Answered[], query: Pick<HistoryQuery, 'after' | 'before'>): Scope {
  const [first] = answers
  const asked = query.after === undefined ? null : formatDay(query.after)
  const granted = first?.after ?? null
  return {
    query_range: first?.query_range ?? null,
    // Dates of this form sort as they follow each other.
    after: asked !== null && (granted === null || asked > granted) ? asked : granted,
    before: query.before === undefined ? null : formatDay(query.before),
    as_of: first?.as_of ?? null,
  }
}

/** Which events of which tickers an answer is about. */
export interface PoolAsked {
  tickers: string[]
  field: string
  timeframe: Timeframe
  /** Several with commas between. */
  band: string | null
  context: { ticker: string; field: string; band: string | null } | null
  /** The condition that held on the bar of each event; absent where none was asked for beside a field. */
  when?: string
}

export function askedOf(
  tickers: string[],
  { field, timeframe, bands, context, when }: Omit<PoolQuery, 'tickers'>,
): PoolAsked {
  return {
    ...{ tickers, field, timeframe, band: bands?.join(',') ?? null },
    context: context === undefined ? null : { ...context, band: context.band ?? null },
    ...(when === undefined ? {} : { when }),
  }
}

/**
 * Tickers once each, ascending, so that the order in which they were named changes nothing.
 * @param who needs at least one, as a refusal begins
 */
export function tickersInOrder(tickers: readonly string[], who: string): string[] {
  if (tickers.length === 0) throw new InvalidParameter(`${who} a ticker.`, { param: 'ticker' })
  return [...new Set(tickers)].sort()
}

/** Bands of the field and of the context's field in their own order; none of a field that the source does not know. */
export async function ordersOf(
  source: Source,
  { field, context }: { field: string; context?: { field: string } },
): Promise<[field: readonly string[], context: readonly string[]]> {
  const [own, other] = await Promise.all([fieldOf(source, field), fieldOf(source, context?.field)])
  return [own?.bands ?? [], other?.bands ?? []]
}

/** Compares by place in the vocabulary; values that are not in it follow, ascending; null last. */
export function byVocabulary(vocabulary: readonly string[]): (a: string | null, b: string | null) => number {
  const place = (value: string): number => (vocabulary.includes(value) ? vocabulary.indexOf(value) : vocabulary.length)
  return (a, b) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    return place(a) - place(b) || Number(a > b) - Number(a < b)
  }
}

/** Events of several tickers, as many as were asked for. */
export interface PoolEventsQuery extends PoolQuery {
  limit: number
}

/** An event of one of several tickers. */
export interface PoolEvent extends HistoricEvent {
  ticker: string
}

/** The newest events of a field of several tickers, newest first; on one date by ticker. */
export interface PoolEvents extends PoolAsked, Scope {
  schema: 'bands.pool-events/1'
  /** All that match, whatever the limit. */
  total_occurrences: number
  /** Events on the date of the last one shown that the limit leaves out: those of later tickers. */
  omitted_on_last_date: number
  events: PoolEvent[]
}

/** Throws NotFound for a ticker that is not there, TierRestricted above the tier, InvalidParameter for no ticker. */
export async function poolEvents(
  source: Source,
  query: PoolEventsQuery,
  { step }: RunContext = {},
): Promise<PoolEvents> {
  const { tickers, field, limit, ...filter } = query
  const names = tickersInOrder(tickers, 'events needs')
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
  // Tickers came in their order, which a stable sort keeps on one date.
  const shown = newest.sort((a, b) => b.day - a.day).slice(0, limit)
  const last = shown.at(-1)?.day
  return {
    schema: 'bands.pool-events/1',
    ...askedOf(names, query),
    ...scopeOf(answers, filter),
    total_occurrences: total,
    omitted_on_last_date: newest.slice(shown.length).filter(({ day }) => day === last).length,
    events: shown.map(({ history, i }) => ({ ticker: history.ticker, ...eventAt(history, i) })),
  }
}

/** An event by its number in the columns of a ticker. */
interface Placed {
  day: number
  history: History
  i: number
}
