import { InvalidParameter } from '../../core/errors.js'
import { formatDay } from '../../core/model/day.js'
import type { EventHistory, HistoricEvent, HistoryQuery, PoolQuery } from '../../core/model/event.js'
import { eventAt, type History } from '../../core/model/history.js'
import type { Timeframe } from '../../core/model/terms.js'
import { fieldOf, type RunContext, type Source } from '../../core/source.js'

/** The scope that every result shows: events lie after the first date and up to the last. */
export interface Scope {
  /** Pulled tickers may have other ranges than those with bars: then all of them, separated by commas. */
  query_range: string | null
  after: string | null
  /** Exclusive; null without a bound in the query. */
  before: string | null
  /** Null also if the tickers were answered as of different days. */
  as_of: string | null
}

/** The range that every answer was taken from. */
export type AnsweredRange = Pick<EventHistory, 'query_range' | 'after' | 'as_of'>

/**
 * The scope that answers cover together: from the earliest start of their ranges, if the query does not begin later, to
 * the query's `before`. Without answers the range is null.
 */
export function scopeOf(answers: readonly AnsweredRange[], query: Pick<HistoryQuery, 'after' | 'before'>): Scope {
  const queriedAfter = query.after === undefined ? null : formatDay(query.after)
  // Dates as text sort in time order, and '', for a range without a start, before all of them.
  const [earliestAfter = ''] = answers.map(({ after }) => after ?? '').sort()
  const ranges = new Set(answers.map(({ query_range }) => query_range))
  const days = new Set(answers.map(({ as_of }) => as_of))
  return {
    query_range: answers.length === 0 ? null : [...ranges].join(', '),
    after: laterDate(queriedAfter, earliestAfter || null),
    before: query.before === undefined ? null : formatDay(query.before),
    as_of: days.size === 1 ? answers[0]!.as_of : null,
  }
}

/** The later of two dates; null if both are null. */
function laterDate(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b
  return a > b ? a : b
}

/** The events and tickers of an answer. */
export interface PoolInfo {
  tickers: string[]
  field: string
  timeframe: Timeframe
  /** Separated by commas. */
  band: string | null
  context: { ticker: string; field: string; band: string | null } | null
  /** The condition that held on the bar of each event; absent without one beyond the field. */
  when?: string
}

/** The tickers and the query of an answer, as its first keys. */
export function poolInfo(
  tickers: string[],
  { field, timeframe, bands, context, when }: Omit<PoolQuery, 'tickers'>,
): PoolInfo {
  return {
    tickers,
    field,
    timeframe,
    band: bands?.join(',') ?? null,
    context: context === undefined ? null : { ...context, band: context.band ?? null },
    ...(when === undefined ? {} : { when }),
  }
}

/**
 * Returns each ticker once, ascending, so that the order of the query does not matter. Throws InvalidParameter for
 * none.
 * @param subject the first words of the error: `now needs`
 */
export function tickersInOrder(tickers: readonly string[], subject: string): string[] {
  if (tickers.length === 0) throw new InvalidParameter(`${subject} a ticker.`, { param: 'ticker' })
  return [...new Set(tickers)].sort()
}

/** The bands of the field, and those of the context's field, each in the order of its vocabulary; none if unknown. */
export async function fieldAndContextBands(
  source: Source,
  { field, context }: { field: string; context?: { field: string } },
): Promise<[field: readonly string[], context: readonly string[]]> {
  const [fieldInfo, contextInfo] = await Promise.all([fieldOf(source, field), fieldOf(source, context?.field)])
  return [fieldInfo?.bands ?? [], contextInfo?.bands ?? []]
}

/** Returns a comparison for `sort`: first the vocabulary in its order, then other values ascending, then null. */
export function byVocabulary(vocabulary: readonly string[]): (a: string | null, b: string | null) => number {
  const rank = (value: string): number => (vocabulary.includes(value) ? vocabulary.indexOf(value) : vocabulary.length)
  return (a, b) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    return rank(a) - rank(b) || Number(a > b) - Number(a < b)
  }
}

/** Events of several tickers, up to a limit. */
export interface PoolEventsQuery extends PoolQuery {
  limit: number
}

/** An event of one of several tickers. */
export interface PoolEvent extends HistoricEvent {
  ticker: string
}

/** The newest events of a field of several tickers, newest first; on one date by ticker. */
export interface PoolEvents extends PoolInfo, Scope {
  schema: 'bands.pool-events/1'
  /** All that match, regardless of the limit. */
  total_occurrences: number
  /** Events on the date of the last shown one that the limit leaves out: those of later tickers. */
  omitted_on_last_date: number
  events: PoolEvent[]
}

/**
 * The newest events of several tickers together. Throws NotFound for an unknown ticker, TierRestricted above the tier,
 * InvalidParameter for no ticker.
 */
export async function poolEvents(
  source: Source,
  query: PoolEventsQuery,
  { step }: RunContext = {},
): Promise<PoolEvents> {
  const { tickers, field, limit, ...filter } = query
  const names = tickersInOrder(tickers, 'events needs')
  const answers: AnsweredRange[] = []
  const candidates: EventRow[] = []
  let total = 0
  for await (const history of source.histories({ ...filter, tickers: names, fields: [field], outcomes: 'known' })) {
    const { days, query_range, after, as_of } = history
    answers.push({ query_range, after, as_of })
    total += days.length
    // At most the limit for each ticker: older events cannot be among the newest.
    for (let row = Math.max(0, days.length - limit); row < days.length; row++)
      candidates.push({ day: days[row]!, history, row })
    step?.(() => `events  ${history.ticker}  ${answers.length} of ${names.length}`)
  }
  // Tickers come in order, and a stable sort keeps that order on one date.
  const shown = candidates.sort((a, b) => b.day - a.day).slice(0, limit)
  const lastShownDay = shown.at(-1)?.day
  return {
    schema: 'bands.pool-events/1',
    ...poolInfo(names, query),
    ...scopeOf(answers, filter),
    total_occurrences: total,
    omitted_on_last_date: candidates.slice(shown.length).filter(({ day }) => day === lastShownDay).length,
    events: shown.map(({ history, row }) => ({ ticker: history.ticker, ...eventAt(history, row) })),
  }
}

/** An event by its row in the columns of a ticker. */
interface EventRow {
  day: number
  history: History
  row: number
}
