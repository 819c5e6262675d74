import { type InvalidParameter, parameter, quoted, sentence, type Words, wrong } from '../../core/errors.js'
import { BUILT_IN_FIELDS } from '../../core/fields/index.js'
import {
  type Condition,
  parseCondition,
  printCondition,
  printSubject,
  type Subject,
  subjectsOf,
  type Test,
  testsOf,
} from '../../core/language/condition.js'
import { formatDay, parseDay } from '../../core/model/day.js'
import type { EventHistory, HistoricEvent, HistoryQuery, SeriesKey } from '../../core/model/event.js'
import type { WhyEmpty } from '../../core/source.js'
import { entitle, tierOfRange } from '../../core/tiers.js'
import { knownDate } from '../../data/store/pages.js'

/** Finds the events on whose bars a condition holds, by events only. Questions that would need guesses are refused. */

/** A question with a field and a condition. */
export type UnderCondition = HistoryQuery & { when: string }

export function hasCondition<Query extends HistoryQuery>(query: Query): query is Query & { when: string } {
  return query.when !== undefined
}

/** Fields with a band on every bar after the first, because they need only prices: it is the last band entered. */
export const FIELDS_WITHOUT_GAPS: readonly string[] = [
  'rsi_zone',
  'trend_direction',
  'ma_alignment',
  'macd_state',
  'volatility_regime',
]

/** Parses a query's condition. Throws InvalidParameter if events cannot decide it. @param sourceName for the message */
function parseDecidable(query: UnderCondition, sourceName: string): Condition {
  const condition = parseCondition(query.when, BUILT_IN_FIELDS)
  for (const test of testsOf(condition)) {
    const why = whyUndecidable(test, query)
    if (why !== null) throw undecidableError(query.when, sourceName, why)
  }
  return condition
}

/**
 * The reason why events cannot decide a test of a query's condition, as a clause; null if they can. Events show changes
 * of bands, but not which bars exist.
 */
function whyUndecidable(test: Test, { ticker, field, timeframe, lag = 0 }: HistoryQuery): string | null {
  const { subject } = test
  const text = quoted(printCondition(test))
  const otherTicker = otherTickerOf(ticker, subject)
  const barsOfTest = test.is === 'state' ? test.bars : test.within
  if (barsOfTest > 1) return `${text} counts bars`
  // A lag moves only tests of named tickers: their band some bars earlier.
  if (lag > 0 && subject.ticker !== null) return `a lag counts bars of ${subject.ticker}`
  if (subject.timeframe !== null && subject.timeframe !== timeframe)
    return `${text} asks which ${subject.timeframe} bars were final by then`
  if (otherTicker !== null && timeframe === 'weekly')
    return `${text} asks which weeks of ${otherTicker} were final by then`
  if (otherTicker !== null && test.is === 'change')
    return `${text} asks whether ${ticker} had a bar since ${otherTicker} changed its band`
  // Every change of a band is an event, and each event of the query names the band of its own field.
  if (test.is === 'change' || isFieldOfQuery(subject, { ticker, field })) return null
  return FIELDS_WITHOUT_GAPS.includes(subject.field) ? null : `a bar can be without a band of ${subject.field}`
}

/** The ticker that a subject names, if it is not the ticker of the query; otherwise null. */
function otherTickerOf(ticker: string, subject: Subject): string | null {
  return subject.ticker === ticker ? null : subject.ticker
}

/** Whether a subject is the field of the query: each event names its own band. */
function isFieldOfQuery(subject: Subject, { ticker, field }: Pick<SeriesKey, 'ticker' | 'field'>): boolean {
  return subject.field === field && otherTickerOf(ticker, subject) === null
}

/**
 * The history of a question, with only the events on whose bars its condition holds. Throws, before any request,
 * InvalidParameter for an undecidable condition and TierRestricted for one above the tier. Throws InvalidParameter if
 * an event lies outside the history of a field in the condition. Also throws the errors of the two readers.
 * @param sourceName the server or the source of stored pages, for messages
 * @param readHistory reads the history of the question without its condition
 * @param historyOfField reads the history of a field in the condition
 */
export async function historyWhen(
  query: UnderCondition,
  sourceName: string,
  readHistory: (query: HistoryQuery) => Promise<EventHistory>,
  historyOfField: (key: SeriesKey) => Promise<EventHistory> = readHistory,
): Promise<EventHistory> {
  // parseDecidable refuses a condition whose events a lag would change, so the lag is dropped.
  const { when, lag: _lag, ...withoutCondition } = query
  const condition = parseDecidable(query, sourceName)
  const history = await readHistory(withoutCondition)
  const { ticker, field, timeframe, events, query_range } = history
  entitle({ field, when }, tierOfRange(query_range), BUILT_IN_FIELDS)
  const fieldHistories = new Map<string, EventHistory>()
  for (const subject of subjectsOf(condition)) {
    if (isFieldOfQuery(subject, history)) continue
    const other = await historyOfField({ ticker: subject.ticker ?? ticker, field: subject.field, timeframe })
    refuseUnknownBands(events, other, why => undecidableError(when, sourceName, why))
    fieldHistories.set(printSubject(subject), other)
  }
  // Without a history, the test is about the field of the query: its last change is the event itself.
  const changesOf = ({ subject }: Test, event: HistoricEvent): LastChanges => {
    const other = fieldHistories.get(printSubject(subject))
    return other === undefined ? { last: event, onDate: event } : changesUpTo(other.events, event.date)
  }
  return { ...history, events: events.filter(event => isTrueOn(condition, test => changesOf(test, event))) }
}

/** Why a query found no event: there is none without its condition either, or the condition held on none. */
export async function whyEmptyWhen<Why extends WhyEmpty | null>(
  { when: _when, ...withoutCondition }: UnderCondition,
  readHistory: (query: HistoryQuery) => Promise<EventHistory>,
  whyEmpty: (query: HistoryQuery) => Promise<Why>,
): Promise<Why | WhyEmpty> {
  const { length } = (await readHistory(withoutCondition)).events
  return length === 0 ? whyEmpty(withoutCondition) : { code: 'when_never', events: length, unknown: 0 }
}

/** Throws the error of `errorFor` if an event lies before the first event of another field, or after its history. */
function refuseUnknownBands(
  events: readonly HistoricEvent[],
  { ticker, field, events: otherEvents, as_of, source }: EventHistory,
  errorFor: (why: Words) => InvalidParameter,
): void {
  const knownFrom = otherEvents[0]?.date
  // Stored pages know nothing after their pull, regardless of the as-of day.
  const knownUpTo = source === undefined ? as_of : knownDate(source)
  const from = events[0]?.date
  const to = events.at(-1)?.date
  if (from === undefined || to === undefined) return
  const what = `${ticker} ${field}`
  if (knownFrom === undefined) throw errorFor(`there is no event of ${what}, so its band is not known`)
  if (from < knownFrom) {
    const day = formatDay(parseDay(knownFrom)! - 1)
    throw errorFor(
      sentence`the first event of ${what} is of ${knownFrom}, and its band before is not known; ask with ${parameter('after', day)}`,
    )
  }
  if (knownUpTo !== null && to > knownUpTo)
    throw errorFor(`${what} is known up to ${knownUpTo}, and an event is of ${to}`)
}

/** Two changes of a field: `last`, the last one up to a date, and `onDate`, the one on that date; null without one. */
interface LastChanges {
  last: HistoricEvent
  onDate: HistoricEvent | null
}

/** The last change of a field up to a date, and whether it is on it. @param events oldest first, one up to the date */
function changesUpTo(events: readonly HistoricEvent[], date: string): LastChanges {
  const last = events.findLast(event => event.date <= date)!
  return { last, onDate: last.date === date ? last : null }
}

/** Whether a condition is true on a bar. @param changesOf the last changes of a test's field up to this bar */
function isTrueOn(condition: Condition, changesOf: (test: Test) => LastChanges): boolean {
  switch (condition.is) {
    case 'and':
      return condition.parts.every(part => isTrueOn(part, changesOf))
    case 'or':
      return condition.parts.some(part => isTrueOn(part, changesOf))
    case 'not':
      return !isTrueOn(condition.part, changesOf)
    case 'state':
      return condition.bands.includes(changesOf(condition).last.band) !== condition.negated
    case 'change': {
      const { onDate } = changesOf(condition)
      if (onDate === null) return false
      return includesBand(condition.entered, onDate.band) && includesBand(condition.left, onDate.prev_band)
    }
  }
}

/** Whether a test's bands include a band; null means any band. */
function includesBand(bands: readonly string[] | null, band: string): boolean {
  return bands === null || bands.includes(band)
}

function undecidableError(when: string, sourceName: string, why: Words): InvalidParameter {
  const what = sentence`${parameter('when')} ${quoted(when)} cannot be computed from events, and ${sourceName} gives nothing else`
  return wrong('when', sentence`${what}: ${why}.`, { value: when })
}
