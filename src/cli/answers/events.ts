import { UPGRADE_URL } from '../../errors.js'
import type { EventHistory, HistoricEvent } from '../../model/event.js'
import type { EventsQuery } from '../../model/query.js'
import { TIMEFRAMES, windowNames } from '../../model/timeframe.js'
import type { Remote } from '../../remote/index.js'
import type { Context } from '../context.js'
import type { Answer } from '../output.js'
import { eventsBlocks, type FoundEvents, legend } from '../render/events.js'
import type { Row } from '../render/records.js'

export interface EventsStyle {
  wide: boolean
  returns: boolean
}

/** Shows events in any form but the plain specified page; returns how many match. */
export async function showEvents(context: Context, query: EventsQuery, style: EventsStyle): Promise<number> {
  const remote = await context.remote()
  const found =
    remote === null ? newest(await (await context.local()).history(query), query) : await page(remote, query)
  await context.show(eventsAnswer(found, query, style))
  if (remote !== null && style.returns && !context.config.quiet)
    await context.notice(`exact returns are known of the database here alone, not of ${remote.url}.`)
  await context.hint(...hintsFor(found, query, style, remote))
  return found.total
}

/** The newest events of a history, as many as were asked for. */
export function newest({ events, ...history }: EventHistory, { limit }: EventsQuery): FoundEvents {
  return { ...history, events: events.slice(-limit).reverse(), total: events.length }
}

/** A server tells all that is shown in one page; a history might take many. */
async function page(remote: Remote, query: EventsQuery): Promise<FoundEvents> {
  const { page, asOf } = await remote.page(query)
  return { ...page, total: page.total_occurrences, as_of: asOf }
}

/** What the signs mean, what is not shown, what to ask next. */
function hintsFor(
  { events, total }: FoundEvents,
  query: EventsQuery,
  { wide }: EventsStyle,
  remote: Remote | null,
): string[] {
  const hints: string[] = []
  const full = events.some(event => event.aftermath !== null)
  if (full && !wide) hints.push(legend(query.ticker))
  // Where a server sells its plans, its own refusals tell.
  if (!full && events.length > 0)
    hints.push(`Stability, flips and what followed come with the Plus tier${remote === null ? `: ${UPGRADE_URL}` : ''}`)
  const older = total - events.length
  if (older > 0) hints.push(`${older} older: --limit ${Math.min(100, total)}`)
  const words = [query.ticker, query.field]
  if (query.band !== undefined) words.push('--band', query.band)
  if (query.timeframe !== 'daily') words.push('--timeframe', query.timeframe)
  if (full) hints.push(`next: bands tally ${words.join(' ')}`)
  return hints
}

export function eventsAnswer(found: FoundEvents, query: EventsQuery, style: EventsStyle): Answer {
  const { ticker, field, timeframe, total } = found
  const events = found.events.map(event => told(event, style.returns))
  return {
    document: () => ({
      ticker,
      field,
      timeframe,
      events,
      total_occurrences: total,
      query_range: found.query_range,
      ...(query.context === undefined ? {} : { context: query.context }),
    }),
    columns: columns(found, style.returns),
    rows: (): Row[] => events.map(event => ({ ticker, field, timeframe, ...event })),
    blocks: screen => eventsBlocks({ found, query, ...style }, screen),
  }
}

/** The event of the specification, with the returns when they are asked for and known. */
function told(event: HistoricEvent, withReturns: boolean): HistoricEvent {
  const { returns, percentiles: _percentiles, missing: _missing, context_band: _context, ...specified } = event
  return withReturns && returns !== undefined ? { ...specified, returns } : specified
}

function columns({ timeframe }: FoundEvents, withReturns: boolean): string[] {
  const windows = windowNames(timeframe)
  const names = ['ticker', 'field', 'timeframe', 'date', 'band', 'prev_band', 'stability_at_entry']
  names.push('flips_recent_at_entry', 'flips_lookback', TIMEFRAMES[timeframe].duration)
  names.push(...windows.map(window => `aftermath_${window}`))
  return withReturns ? [...names, ...windows.map(window => `returns_${window}`)] : names
}
