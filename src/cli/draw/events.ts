import { UPGRADE_URL } from '../../errors.js'
import type { EventsQuery, HistoricEvent } from '../../model/event.js'
import { TIMEFRAMES, windowNames } from '../../model/terms.js'
import { signed } from '../../present/numbers.js'
import type { NewestEvents } from '../../source.js'
import type { Context } from '../context.js'
import type { Answer } from '../output.js'
import { type Block, type Cell, type Column, performanceCell, type Row, type Screen } from './table.js'

interface EventsStyle {
  wide: boolean
  returns: boolean
}

/** Shows events in any form but the plain specified page; returns how many match. */
export async function showEvents(context: Context, query: EventsQuery, style: EventsStyle): Promise<number> {
  const source = await context.bands()
  const found = await source.newest(query)
  await context.show(eventsAnswer(found, query, style))
  const { server } = source
  if (server !== null && style.returns && !context.config.quiet)
    await context.notice(`exact returns are known of the database here alone, not of ${server.url}.`)
  // Where a server sells its plans, its own refusals tell.
  await context.hint(...hintsFor(found, query, style, server === null ? `: ${UPGRADE_URL}` : ''))
  return found.total
}

/** What the signs mean, what is not shown, what to ask next. */
function hintsFor(
  { events, total }: NewestEvents,
  query: EventsQuery,
  { wide }: EventsStyle,
  upgrade: string,
): string[] {
  const hints: string[] = []
  const full = events.some(event => event.aftermath !== null)
  if (full && !wide) hints.push(legend(query.ticker))
  if (!full && events.length > 0) hints.push(`Stability, flips and what followed come with the Plus tier${upgrade}`)
  const older = total - events.length
  if (older > 0) hints.push(`${older} older: --limit ${Math.min(100, total)}`)
  const words = [query.ticker, query.field]
  if (query.band !== undefined) words.push('--band', query.band)
  if (query.timeframe !== 'daily') words.push('--timeframe', query.timeframe)
  if (full) hints.push(`next: bands tally ${words.join(' ')}`)
  return hints
}

export function eventsAnswer(found: NewestEvents, query: EventsQuery, style: EventsStyle): Answer {
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

function columns({ timeframe }: NewestEvents, withReturns: boolean): string[] {
  const windows = windowNames(timeframe)
  const names = ['ticker', 'field', 'timeframe', 'date', 'band', 'prev_band', 'stability_at_entry']
  names.push('flips_recent_at_entry', 'flips_lookback', TIMEFRAMES[timeframe].duration)
  names.push(...windows.map(window => `aftermath_${window}`))
  return withReturns ? [...names, ...windows.map(window => `returns_${window}`)] : names
}

/** What was found: the events, newest first and cut at the limit, and how many there are without it. */
interface EventsShown {
  found: NewestEvents
  query: EventsQuery
  returns: boolean
  /** Words instead of signs. */
  wide: boolean
}

/** The events as a table: one line each, newest first. */
function eventsBlocks(shown: EventsShown, screen: Screen): Block[] {
  const { query } = shown
  const { events, timeframe } = shown.found
  const words = screen.words || shown.wide
  // On Free nothing is told of how settled the band was or what followed.
  const full = events.some(event => event.aftermath !== null)
  const band = query.band === undefined || screen.words
  // On a narrow terminal the history goes first, then the band left, then the later windows.
  const columns: Column[] = [{ title: 'DATE' }]
  if (band) columns.push({ title: 'BAND' })
  columns.push({ title: 'FROM', spare: band ? 7 : 1 })
  if (full) columns.push({ title: 'STABILITY', spare: 8 }, { title: 'FLIPS', spare: 9 })
  columns.push({ title: 'HELD', align: 'right', spare: 0 })
  if (full) columns.push(...windowNames(timeframe).map((title, w): Column => ({ title, spare: 2 + w })))
  const rows = events.map(event => eventRow(event, { ...shown, wide: words }, full, band))
  return [{ title: title(shown), table: { columns, rows } }]
}

/** What the signs mean; for a hint. */
function legend(ticker: string): string {
  return `--- worst 5% to +++ best 5% of ${ticker}'s own past; .. open, ? too little past`
}

function title({ found, query }: EventsShown): string[] {
  const { events, total, query_range, as_of } = found
  const which = query.band === undefined ? query.field : `${query.field} = ${query.band}`
  const count = `${total} ${total === 1 ? 'event' : 'events'} in ${query_range}`
  const phrases = [
    `${query.ticker}  ${which}  ${query.timeframe}`,
    events.length < total ? `${count}, newest ${events.length}` : count,
    ...(as_of === null ? [] : [`as of ${as_of}`]),
  ]
  const { context } = query
  if (context !== undefined) phrases.splice(1, 0, `while ${context.ticker} ${context.field} = ${context.band}`)
  return phrases
}

function eventRow(event: HistoricEvent, shown: EventsShown, full: boolean, band: boolean): Cell[] {
  const cells: Cell[] = [event.date]
  if (band) cells.push(event.band)
  cells.push(event.prev_band)
  if (full) {
    cells.push(event.stability_at_entry ?? '-', `${event.flips_recent_at_entry ?? '-'}/${event.flips_lookback ?? '-'}`)
  }
  cells.push(held(event, shown.found))
  if (full) cells.push(...windowNames(shown.found.timeframe).map(window => outcomeCell(event, window, shown)))
  return cells
}

function held(event: HistoricEvent, { timeframe }: NewestEvents): string {
  const bars = timeframe === 'daily' ? event.duration_days : event.duration_weeks
  return bars == null ? 'active' : `${bars}${timeframe === 'daily' ? 'd' : 'w'}`
}

function outcomeCell(event: HistoricEvent, window: string, { wide, returns }: EventsShown): Cell {
  const cell = performanceCell(event.aftermath?.[window]?.performance ?? null, event.missing?.[window], wide)
  const value = event.returns?.[window]
  if (!returns || value == null) return cell
  const { text, tone } = typeof cell === 'string' ? { text: cell, tone: null } : cell
  const both = `${text} ${signed(value)}`
  return tone === null ? both : { text: both, tone }
}
