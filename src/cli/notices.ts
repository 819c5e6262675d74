import { type Day, formatDay, parseDay } from '../model/day.js'
import type { EventHistory, HistoryQuery } from '../model/event.js'
import { eventHistory, type KnownTicker, type Source } from '../source.js'
import { WHOLE_RANGE } from '../tiers.js'
import { withOptions } from './command-line.js'
import type { Context } from './context.js'

/** Says on stderr why a question about one ticker has no event to show. */
export async function noticeNoEvent(context: Context, source: Source, query: HistoryQuery): Promise<void> {
  if (context.config.quiet) return
  const { server } = source
  // A server is not asked, and paid, for an explanation.
  if (server !== null) {
    if (server.range !== null) await context.notice(`No event: ${whyNone(query, server.range, [], null)}`)
    return
  }
  const { bands: _bands, context: _context, ...anything } = query
  const [known = null] = await source.known([query.ticker], query.field)
  const lack = known == null || known.lack === null ? null : withOptions(known.lack)
  const history = await eventHistory(source, anything)
  await context.notice(`No event: ${lack === null ? why(query, history, known) : `${lack}.`}`)
}

/** Why a field that stands on facts has no data for any of some tickers; null as soon as one of them may have. */
export async function whyNoFactsOfAny(
  source: Source,
  tickers: readonly string[],
  field: string,
): Promise<string | null> {
  const lacks = (await source.known(tickers, field)).map(({ lack }) => (lack === null ? null : withOptions(lack)))
  if (lacks.length < tickers.length || lacks.includes(null)) return null
  if (lacks.length === 1) return lacks[0]!
  return `${field} stands on dated facts, and none that count are loaded for any of the ${tickers.length} tickers`
}

/** The dates that were looked at, and what there was instead. */
function why(query: HistoryQuery, history: EventHistory, entry: KnownTicker | null): string {
  if (history.present === null && history.source === undefined) return noBand(query, history, entry)
  return whyNone(query, history, [...new Set(history.events.map(event => event.band))], entry)
}

/** @param seen bands that were entered in range */
function whyNone(
  query: HistoryQuery,
  { query_range, after, as_of }: Pick<EventHistory, 'query_range' | 'after' | 'as_of'>,
  seen: readonly string[],
  entry: KnownTicker | null,
): string {
  const { ticker, field, timeframe } = query
  const what =
    query.bands === undefined
      ? `${ticker}'s ${timeframe} ${field} did not change`
      : `${ticker} never became ${query.bands.join(' or ')}`
  const context = query.context?.band === undefined ? '' : ` while ${query.context.ticker} was ${query.context.band}`
  const range = query_range === WHOLE_RANGE ? '' : ` in ${query_range}`
  const rangeStart = after === null ? Number.NEGATIVE_INFINITY : parseDay(after)!
  const start = Math.max(query.after ?? rangeStart, rangeStart)
  if (as_of === null || !Number.isFinite(start)) return `${what}${context}${range}${within(query)}.`
  const from = formatDay(start + 1)
  const to = query.before === undefined ? as_of : formatDay(Math.min(query.before - 1, parseDay(as_of)!))
  const age = entry === null || after === null ? '' : asOfHint(entry.last, after)
  // Dates of this form sort as they follow each other.
  if (from > to) {
    const days = after === null ? '' : ` of the range, ${query_range} from ${formatDay(rangeStart + 1)} to ${as_of},`
    return `no day${days} lies ${bounds(query)}.${age}`
  }
  const entered = seen.length > 0 ? ` Bands entered: ${seen.join(', ')}.` : ''
  return `${what}${context}${range} (${from} to ${to}).${entered}${age}`
}

function noBand(
  { ticker, field, timeframe }: HistoryQuery,
  { as_of }: EventHistory,
  entry: KnownTicker | null,
): string {
  const first = entry === null ? null : formatDay(entry.first)
  if (first !== null && as_of !== null && first > as_of)
    return `the bars of ${ticker} begin on ${first}, after ${as_of}.`
  const words = `${ticker} ${field}${timeframe === 'daily' ? '' : ` --timeframe ${timeframe}`}`
  return `${ticker} has no ${timeframe} ${field} yet${as_of === null ? '' : ` by ${as_of}`}; bands explain ${words} tells why.`
}

function within(query: HistoryQuery): string {
  const text = bounds(query)
  return text === '' ? '' : `, ${text}`
}

function bounds({ after, before }: HistoryQuery): string {
  const parts: string[] = []
  if (after !== undefined) parts.push(`after ${formatDay(after)}`)
  if (before !== undefined) parts.push(`before ${formatDay(before)}`)
  return parts.join(' and ')
}

/** A ticker whose bars all lie before the range can still be asked as of its own last day. */
function asOfHint(newest: Day, rangeStart: string): string {
  const last = formatDay(newest)
  return last > rangeStart ? '' : ` Its newest bar is of ${last}: ask with --as-of ${last}.`
}
