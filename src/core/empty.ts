import { parameter, remedy, sentence, type Words } from './errors.js'
import { isCondition } from './language/as-field.js'
import { boundsText, type DateBounds, type Day, formatDay, noDayClause, parseDay } from './model/day.js'
import type { HistoryQuery, OversoldPage, OversoldQuery, PoolQuery } from './model/event.js'
import { count, joinWithOr, listNames, numberText } from './numbers.js'
import type { WhyEmpty } from './source.js'
import { WHOLE_RANGE } from './tiers.js'

/** Why an answer is empty, for standard error, a header of HTTP, and the notes of a program's results. */
export interface EmptyNote {
  /** One sentence. */
  reason: Words
  /** Advice for another question to the local database; null if there is none. */
  advice: Words | null
}

/** The note for a question about one ticker. */
export function emptyNote(why: WhyEmpty, query: HistoryQuery): EmptyNote {
  return { reason: reasonFor(why, query), advice: adviceFor(why, query) }
}

/** The reason why a question found nothing, as a sentence. */
function reasonFor(why: WhyEmpty, query: HistoryQuery): Words {
  const { ticker, field, timeframe, bands, context } = query
  const name = `${ticker}'s ${timeframe} ${field}`
  const happened = bands === undefined ? 'changed' : `became ${joinWithOr(bands)}`
  switch (why.code) {
    case 'no_facts':
    case 'context_lacks':
      return sentence`${why.missing}.`
    case 'not_begun':
      return `${ticker} has no bar by ${formatDay(why.as_of)}.`
    case 'no_band_yet':
      return noBandYetSentence(why, query)
    case 'no_day':
      return noDaySentence(query, why.range)
    case 'bars_end':
      return `${barsEndClause(ticker, why.last, query.after)}.`
    case 'ended_before':
      return `no bar of ${ticker} lies ${inRangeWithDates(why.range)}.`
    case 'bars_begin':
      return `${barsBeginClause(ticker, why.firstOf, query.before)}.`
    case 'never_entered':
      return `${name} never ${happened}${otherBandsText(why.seen)}.`
    case 'never_changed':
      return `${name} never changed: it was ${why.band} throughout.`
    case 'not_in_range': {
      const did = bands === undefined ? 'change' : `become ${joinWithOr(bands)}`
      return `${name} did not ${did} ${inRangeWithDates(why.range)}${otherBandsText(why.seen)}.`
    }
    case 'outside_dates': {
      const often = why.events === 1 ? 'once' : `${numberText(why.events)} times`
      const nearest = why.events === 1 ? 'on' : 'the nearest on'
      return `${name} ${happened} ${often}, but not ${boundsText(query)}; ${nearest} ${formatDay(why.nearest)}.`
    }
    case 'context_never': {
      const other = `${context!.ticker}'s ${context!.field}`
      const dates = `the ${count(why.events, 'date')} on which ${name} ${happened}`
      if (why.bands.length === 0) return `${other} had not changed yet by ${dates}, so that its band is not known.`
      return `on none of ${dates} was ${other} ${context!.band}; it was ${joinWithOr(why.bands)}.`
    }
    case 'when_never':
      return conditionNeverSentence(why, query, `${name} ${happened}`)
    case 'no_events_known':
      return noEventsKnownSentence(why, query)
    case 'server_note':
      return why.text
  }
}

/** The sentence for a field that has no band on any bar; `missing` says why, null if that is not known. */
function noBandYetSentence(
  { bars, missing, as_of }: Extract<WhyEmpty, { code: 'no_band_yet' }>,
  query: HistoryQuery,
): string {
  const { ticker, field, timeframe } = query
  const day = formatDay(as_of)
  if (missing === null) return `${ticker} has no ${timeframe} ${field} on any bar by ${day}.`
  const few = `${count(bars, 'bar')} ${bars === 1 ? 'is' : 'are'} too few`
  const why = missing === 'bars' ? few : 'none of its bars has a volume'
  return `${ticker} has no ${timeframe} ${field} yet by ${day}: ${why}.`
}

/** Advice for another question; null if there is none. */
function adviceFor(why: WhyEmpty, { ticker, field, timeframe }: HistoryQuery): Words | null {
  if (why.code === 'no_band_yet') {
    const params: Record<string, string> = {}
    if (isCondition(field)) params.when = field
    if (timeframe !== 'daily') params.timeframe = timeframe
    return sentence`${remedy('explain', isCondition(field) ? [ticker] : [ticker, field], params)} shows why.`
  }
  if (why.code === 'ended_before') return sentence`Ask with ${parameter('as_of', formatDay(why.last))}.`
  return null
}

/** The sentence for a condition that was false or unknown on all event dates. @param happened the event, as a clause */
function conditionNeverSentence(
  { events, unknown }: Extract<WhyEmpty, { code: 'when_never' }>,
  { when }: HistoryQuery,
  happened: string,
): string {
  const dates = `the ${count(events, 'date')} on which ${happened}`
  const neverHeld = `on none of ${dates} did it hold that ${when}`
  if (unknown === 0) return `${neverHeld}.`
  return `${neverHeld}; on ${unknown === events ? 'all' : numberText(unknown)} of them that is not known.`
}

/** The most bands to list, which is more than any field has. */
const MAX_BANDS_LISTED = 10

function otherBandsText(seen: readonly string[]): string {
  return seen.length === 0 ? '' : `; it became ${listNames(seen, MAX_BANDS_LISTED)}`
}

type Range = { name: string; from: Day; to: Day }

/** The sentence for bounds between which no day lies, or no day of the range. */
function noDaySentence(query: HistoryQuery, range: Range | null): string {
  const days = range === null ? '' : ` of the range, ${range.name} from ${datesText(range)},`
  return `no day${days} lies ${boundsText(query)}.`
}

/**
 * The note of a source that only knows events and their range. `query_range` is the name of the tier's range, and
 * `range` has its dates, if they are known. `after` and `before` are the user's bounds.
 */
function noEventsKnownSentence(
  { query_range, range, seen }: Extract<WhyEmpty, { code: 'no_events_known' }>,
  query: HistoryQuery,
): string {
  const { ticker, field, timeframe, bands, context, after, before } = query
  let noEvent = `${ticker}'s ${timeframe} ${field} did not change`
  if (bands !== undefined) noEvent = `${ticker} never became ${joinWithOr(bands)}`
  if (context?.band !== undefined) noEvent += ` while ${context.ticker} was ${context.band}`
  noEvent += rangeText(query_range)
  const bounds = boundsText(query)
  if (range === null) return bounds === '' ? `${noEvent}.` : `${noEvent}, ${bounds}.`
  const from = after === undefined ? range.from : Math.max(range.from, after + 1)
  const to = before === undefined ? range.to : Math.min(range.to, before - 1)
  if (from > to) return noDaySentence(query, range)
  const entered = seen.length > 0 ? `; bands entered: ${seen.join(', ')}` : ''
  return `${noEvent} (${datesText({ from, to })})${entered}.`
}

function inRangeWithDates(range: Range): string {
  return `in ${range.name} (${datesText(range)})`
}

function datesText({ from, to }: { from: Day; to: Day }): string {
  return `${formatDay(from)} to ${formatDay(to)}`
}

function rangeText(query_range: string | null): string {
  return query_range === null || query_range === WHOLE_RANGE ? '' : ` in ${query_range}`
}

function barsEndClause(owner: string, last: Day, after: Day | undefined): string {
  return `the bars of ${owner} end on ${formatDay(last)}, and none lies ${boundsText({ after })}`
}

function barsBeginClause(owner: string, first: Day, before: Day | undefined): string {
  return `the bars of ${owner} begin on ${formatDay(first)}, and none lies ${boundsText({ before })}`
}

/** The days of the first and last bar of some tickers. */
interface BarDays {
  first: Day
  last: Day
}

/** A clause that no day lies between the bounds of a query, or no bar of some tickers; null if neither is so. */
function noBarClause(bounds: DateBounds, tickers: readonly string[], { first, last }: BarDays): string | null {
  const noDay = noDayClause(bounds)
  if (noDay !== null) return noDay
  const { after, before } = bounds
  const owner = tickers.length === 1 ? tickers[0]! : `the ${count(tickers.length, 'ticker')}`
  if (after !== undefined && after >= last) return barsEndClause(owner, last, after)
  return before !== undefined && before <= first ? barsBeginClause(owner, first, before) : null
}

/** A field, and exclusive bounds of the bars that count, as dates. */
interface FieldInDates {
  field: string
  after: string | null
  before: string | null
}

/** A clause for a study or backtest in which no bar counts: the dates of the query, or a field without bands. */
export function noBandClause(
  { field, ...query }: FieldInDates,
  tickers: readonly string[],
  { first, last }: { first: Day | null; last: Day | null },
): string {
  const bounds = { after: dayOfBound(query.after), before: dayOfBound(query.before) }
  const reason = `there is no bar with a band of ${field}`
  if (first === null || last === null) return reason
  const noBar = noBarClause(bounds, tickers, { first, last })
  if (noBar !== null) return noBar
  const dates = boundsText(bounds)
  return dates === '' ? reason : `${reason} ${dates}; the bars go from ${datesText({ from: first, to: last })}`
}

function dayOfBound(date: string | null): Day | undefined {
  return date === null ? undefined : (parseDay(date) ?? undefined)
}

/** The question, its range and its as-of day. */
export interface PoolAnswer {
  tickers: readonly string[]
  query_range: string | null
  as_of: string | null
}

/** The note for a question about several tickers without a matching event. @param barRanges the days of their bars */
export function emptyPoolNote(
  { field, bands, context, when, ...query }: Omit<PoolQuery, 'tickers'>,
  { tickers, query_range, as_of }: PoolAnswer,
  barRanges: readonly { first: Day; last: Day }[],
): string {
  const first = Math.min(...barRanges.map(bars => bars.first))
  const last = Math.max(...barRanges.map(bars => bars.last))
  const outsideAllBars = barRanges.length === 0 ? null : noBarClause(query, tickers, { first, last })
  if (outsideAllBars !== null) return `${outsideAllBars}.`
  const noTicker = `none of ${tickers.length} tickers`
  let text = bands === undefined ? 'changed' : `became ${joinWithOr(bands)}`
  if (isCondition(field)) text = `for ${noTicker} "${field}" ${text}`
  else if (bands === undefined) text = `${noTicker} changed its ${field}`
  else text = `${noTicker} ${text}`
  if (context?.band !== undefined) text += ` while ${context.ticker} was ${context.band}`
  if (when !== undefined) text += ` where ${when}`
  text += rangeText(query_range)
  const bounds = boundsText(query)
  if (bounds !== '') text += ` ${bounds}`
  return as_of === null ? `${text}.` : `${text}, as of ${as_of}.`
}

/** Why a scan has no match. @param date null if the source does not report it */
export function emptyScanNote(
  { timeframe, min_severity }: OversoldQuery,
  { total_scanned }: OversoldPage,
  date: string | null,
): string {
  const on = date === null ? '' : ` on ${date}`
  if (total_scanned > 0) return `none of ${numberText(total_scanned)} scanned is ${min_severity}${on}.`
  return `no ticker here that the filters let through has an RSI and a ${timeframe} bar not older than a week${on}; a ticker of unknown size passes no filter of sizes.`
}
