import { type Day, formatDay } from '../../core/model/day.js'
import type {
  EventsQuery,
  HistoricEvent,
  HistoryQuery,
  OversoldMatch,
  OversoldPage,
  OversoldQuery,
} from '../../core/model/event.js'
import { PERFORMANCES, type Performance } from '../../core/model/series.js'
import { TIMEFRAMES, type Timeframe, windowNames } from '../../core/model/terms.js'
import { count, numberText, UNKNOWN } from '../../core/numbers.js'
import type { NewestEvents } from '../../core/source.js'
import { OVERSOLD_KEYS } from '../../core/tiers.js'
import type { PoolEvent, PoolEvents, PoolEventsQuery } from '../../research/tally/pool.js'
import { type Column, column, compact, type Described, type Tone, tablePart } from './description.js'
import { asOfText, boundsText, stateText, tickersText } from './words.js'

/** The newest events of a ticker and field, with later returns if `returns`. The document has the HTTP API's keys. */
export function describeEvents(
  page: NewestEvents,
  query: EventsQuery,
  { returns: withReturns }: { returns: boolean },
): Described {
  const { ticker, field, timeframe, total, query_range } = page
  const { context, when } = query
  const events = page.events.map(event => eventOfApi(event, withReturns))
  const table = tablePart('Events, newest first', eventColumns(page, query, withReturns), page.events)
  return {
    document: { ticker, field, timeframe, events, total_occurrences: total, query_range, context, when },
    columns: recordColumns(timeframe, withReturns),
    rows: events.map(event => ({ ticker, field, timeframe, ...event })),
    paragraphs: [{ heading: eventsHeading(page, query), parts: [table] }],
  }
}

/** The columns of CSV: the same for every question with the same timeframe. @param withReturns adds those of returns */
function recordColumns(timeframe: Timeframe, withReturns: boolean): string[] {
  const windows = windowNames(timeframe)
  return [
    ...['ticker', 'field', 'timeframe', 'date', 'band', 'prev_band', 'stability_at_entry'],
    ...['flips_recent_at_entry', 'flips_lookback', TIMEFRAMES[timeframe].duration],
    ...windows.map(window => `aftermath_${window}`),
    ...(withReturns ? windows.map(window => `returns_${window}`) : []),
  ]
}

/** Describes the newest events of several tickers: the document is the page, and the table has a column of tickers. */
export function describePoolEvents(
  page: PoolEvents,
  query: PoolEventsQuery,
  { returns: withReturns }: { returns: boolean },
): Described {
  const { tickers, field, timeframe, query_range } = page
  const events = page.events.map(event => eventOfApi(event, withReturns))
  const headingPage = { ...page, total: page.total_occurrences, query_range }
  const ticker: Column<PoolEvent> = { title: 'Ticker', kind: 'text', value: event => event.ticker }
  const columns = [ticker, ...eventColumns(page, query, withReturns)]
  const heading = eventsHeading(headingPage, { ...query, ticker: tickersText(tickers) })
  return {
    document: { ...page, events },
    columns: recordColumns(timeframe, withReturns),
    rows: events.map(({ ticker, ...event }) => ({ ticker, field, timeframe, ...event })),
    paragraphs: [{ heading, parts: [tablePart('Events, newest first', columns, page.events)] }],
  }
}

/** An event with only the keys of the HTTP API, and with its returns only if they were requested. */
function eventOfApi<Event extends HistoricEvent>(event: Event, withReturns: boolean) {
  const { returns, percentiles: _percentiles, missing: _missing, context_band: _context, ...known } = event
  return withReturns && returns !== undefined ? { ...known, returns } : known
}

/** The question in phrases: ticker and event, conditions, the number of events and the range, the as-of day. */
function eventsHeading(
  page: Pick<NewestEvents, 'events' | 'total' | 'as_of'> & { query_range: string | null },
  query: HistoryQuery,
): string[] {
  const { events, total, query_range, as_of } = page
  const { ticker, field, bands, timeframe, context, when } = query
  const dayText = (bound: Day | undefined): string | null => (bound === undefined ? null : formatDay(bound))
  const bounds = boundsText({ query_range, after: dayText(query.after), before: dayText(query.before) })
  const totalText = `${count(total, 'event')} ${bounds ?? `in ${query_range ?? 'no range'}`}`
  return compact([
    `${ticker}  ${stateText(field, bands ?? null)}  ${timeframe}`,
    context !== undefined && `while ${context.ticker} ${context.field} = ${context.band}`,
    when !== undefined && `when ${when}`,
    events.length < total ? `${totalText}, newest ${events.length}` : totalText,
    ...asOfText({ as_of }),
  ])
}

/** The columns of events. A narrow terminal leaves out stability and flips first, then the longest windows. */
function eventColumns(
  { events, timeframe }: Pick<NewestEvents, 'events' | 'timeframe'>,
  { bands }: Pick<EventsQuery, 'bands'>,
  withReturns: boolean,
): Column<HistoricEvent>[] {
  const isOneBand = bands?.length === 1
  const dateAndBands: Column<HistoricEvent>[] = [
    column('date', 'date'),
    column('band', 'text', isOneBand ? { on: 'pipe' } : {}),
    { title: 'From', kind: 'text', hidePriority: isOneBand ? 1 : 7, value: event => event.prev_band },
  ]
  const duration: Column<HistoricEvent> = { title: 'Held', kind: 'bars', hidePriority: 0, value: durationText }
  // Free has neither the stability of the band nor later returns.
  if (events.every(event => event.aftermath === null)) return [...dateAndBands, duration]
  return [
    ...dateAndBands,
    { title: 'Stability', kind: 'text', hidePriority: 8, value: event => event.stability_at_entry ?? null },
    { title: 'Flips', kind: 'text', hidePriority: 9, value: flipsText },
    duration,
    ...windowNames(timeframe).map((window, w) => outcomeColumn(window, 2 + w, withReturns)),
  ]
}

/** `2/20`: the number of changes of band, and the number of bars in which they are counted. */
function flipsText({ flips_recent_at_entry: flips, flips_lookback: lookback }: HistoricEvent): string {
  return `${flips ?? UNKNOWN}/${lookback ?? UNKNOWN}`
}

/** `12d`, `3w`, or `active` for a band that has not ended. */
function durationText({ duration_days: days, duration_weeks: weeks }: HistoricEvent): string {
  if (days != null) return `${days}d`
  return weeks == null ? 'active' : `${weeks}w`
}

/** The performance band over a window, or why there is none, with the return if it is wanted. */
function outcomeColumn(window: string, hidePriority: number, withReturns: boolean): Column<HistoricEvent> {
  return {
    title: window,
    verbatimTitle: true,
    kind: 'performance',
    hidePriority,
    value: ({ aftermath, missing: reasons, returns }) => {
      const outcome = aftermath?.[window]?.performance ?? reasons?.[window] ?? 'pending'
      const windowReturn = withReturns ? (returns?.[window] ?? null) : null
      return windowReturn === null ? outcome : [outcome, windowReturn]
    },
    tone: ({ aftermath }) => performanceTone(aftermath?.[window]?.performance),
  }
}

/** The tone of a performance band: good for the best 5% of the ticker's own past, bad for the worst 5%. */
export function performanceTone(performance: Performance | null | undefined): Tone | undefined {
  if (performance === PERFORMANCES[0]) return 'bad'
  return performance === PERFORMANCES.at(-1) ? 'good' : undefined
}

/**
 * Describes the oversold tickers. The document is the page of the HTTP API; CSV has the columns of the pro tier.
 * @param date the day of the scan; null: today at a server, which does not report its day
 */
export function describeOversold(query: OversoldQuery, page: OversoldPage, date: Day | null): Described {
  const { matches, match_count, total_scanned } = page
  const verb = match_count === 1 ? 'is' : 'are'
  const heading = [
    `oversold  ${query.timeframe}`,
    `${numberText(match_count)} of ${numberText(total_scanned)} ${verb} ${query.min_severity}`,
    ...asOfText({ as_of: date === null ? null : formatDay(date) }),
  ]
  return {
    document: page,
    columns: OVERSOLD_KEYS.pro,
    rows: matches,
    paragraphs: [{ heading, parts: [tablePart('Oversold', oversoldColumns(matches), matches)] }],
  }
}

/** The columns that the tier shows. A pipe gets all of them; a terminal hides those in which every value is unknown. */
function oversoldColumns(matches: readonly OversoldMatch[]): Column<OversoldMatch>[] {
  return OVERSOLD_COLUMNS.flatMap(({ key, ...heading }): Column<OversoldMatch>[] => {
    if (matches.length > 0 && matches.every(match => match[key] === undefined)) return []
    const isKnown = matches.some(match => (match[key] ?? null) !== null)
    const keyColumn: Column<OversoldMatch> = { ...heading, value: match => match[key] ?? null }
    return [isKnown ? keyColumn : { ...keyColumn, on: 'pipe' }]
  })
}

const OVERSOLD_COLUMNS = [
  { key: 'ticker', title: 'Ticker', kind: 'text' },
  { key: 'rsi_zone', title: 'Zone', kind: 'text' },
  { key: 'days_in_oversold', title: 'Days', kind: 'count', hidePriority: 1 },
  { key: 'condition_rarity', title: 'Rarity', kind: 'text', hidePriority: 2 },
  { key: 'stochastic_zone', title: 'Stoch', kind: 'text', hidePriority: 5 },
  { key: 'trend_context', title: 'Trend', kind: 'text', hidePriority: 3 },
  { key: 'volume_context', title: 'Volume', kind: 'text', hidePriority: 6 },
  { key: 'nearest_support_distance', title: 'Support', kind: 'text', hidePriority: 4 },
  { key: 'market_cap_tier', title: 'Size', kind: 'text', hidePriority: 7 },
  { key: 'valuation_zone', title: 'Valuation', kind: 'text', hidePriority: 8 },
  { key: 'sector', title: 'Sector', kind: 'text' },
] as const
