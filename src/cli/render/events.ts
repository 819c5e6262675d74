import type { EventHistory, HistoricEvent } from '../../model/event.js'
import type { EventsQuery } from '../../model/query.js'
import { windowNames } from '../../model/timeframe.js'
import type { Screen } from './layout.js'
import { performanceCell, signed } from './performance.js'
import type { Block, Cell, Column } from './table.js'

/** What was found: the events, newest first and cut at the limit, and how many there are without it. */
export interface FoundEvents extends Pick<EventHistory, 'ticker' | 'field' | 'timeframe' | 'query_range' | 'as_of'> {
  events: readonly HistoricEvent[]
  total: number
}

export interface EventsShown {
  found: FoundEvents
  query: EventsQuery
  returns: boolean
  /** Words instead of signs. */
  wide: boolean
}

/** The events as a table: one line each, newest first. */
export function eventsBlocks(shown: EventsShown, screen: Screen): Block[] {
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
export function legend(ticker: string): string {
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

function held(event: HistoricEvent, { timeframe }: FoundEvents): string {
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
