import { UPGRADE_URL } from '../../errors.js'
import type { EventHistory, HistoricEvent } from '../../model/event.js'
import type { EventsQuery } from '../../model/query.js'
import { TIMEFRAMES, windowNames } from '../../model/timeframe.js'
import type { Context } from '../context.js'
import type { Answer } from '../output.js'
import { eventsBlocks, legend } from '../render/events.js'
import type { Row } from '../render/records.js'

export interface EventsStyle {
  wide: boolean
  returns: boolean
}

/** Shows events in any form but the plain specified page; returns how many match. */
export async function showEvents(context: Context, query: EventsQuery, style: EventsStyle): Promise<number> {
  const history = await (await context.bands()).history(query)
  const events = history.events.slice(-query.limit).reverse()
  await context.show(eventsAnswer(history, query, events, style))
  await context.hint(...hintsFor(history, query, events, style))
  return history.events.length
}

/** What the signs mean, what is not shown, what to ask next. */
function hintsFor(
  history: EventHistory,
  query: EventsQuery,
  events: readonly HistoricEvent[],
  { wide }: EventsStyle,
): string[] {
  const hints: string[] = []
  const full = events.some(event => event.aftermath !== null)
  if (full && !wide) hints.push(legend(query.ticker))
  if (!full && events.length > 0)
    hints.push(`Stability, flips and what followed come with the Plus tier: ${UPGRADE_URL}`)
  const older = history.events.length - events.length
  if (older > 0) hints.push(`${older} older: --limit ${Math.min(100, history.events.length)}`)
  const words = [query.ticker, query.field]
  if (query.band !== undefined) words.push('--band', query.band)
  if (query.timeframe !== 'daily') words.push('--timeframe', query.timeframe)
  if (full) hints.push(`next: bands tally ${words.join(' ')}`)
  return hints
}

export function eventsAnswer(
  history: EventHistory,
  query: EventsQuery,
  events: readonly HistoricEvent[],
  style: EventsStyle,
): Answer {
  const { ticker, field, timeframe } = history
  const rows = events.map(event => ({ ticker, field, timeframe, ...told(event, style.returns) }))
  return {
    document: () => ({
      ticker,
      field,
      timeframe,
      events: events.map(event => told(event, style.returns)),
      total_occurrences: history.events.length,
      query_range: history.query_range,
      ...(query.context === undefined ? {} : { context: query.context }),
    }),
    columns: columns(history, style.returns),
    rows: (): Row[] => rows,
    blocks: screen => eventsBlocks({ history, query, events, ...style }, screen),
  }
}

/** The event of the specification, with the returns when they are asked for and known. */
function told(event: HistoricEvent, withReturns: boolean): HistoricEvent {
  const { returns, percentiles: _percentiles, missing: _missing, context_band: _context, ...specified } = event
  return withReturns && returns !== undefined ? { ...specified, returns } : specified
}

function columns({ timeframe }: EventHistory, withReturns: boolean): string[] {
  const windows = windowNames(timeframe)
  const names = ['ticker', 'field', 'timeframe', 'date', 'band', 'prev_band', 'stability_at_entry']
  names.push('flips_recent_at_entry', 'flips_lookback', TIMEFRAMES[timeframe].duration)
  names.push(...windows.map(window => `aftermath_${window}`))
  return withReturns ? [...names, ...windows.map(window => `returns_${window}`)] : names
}
