import { type Member, type MemberBars, onCalendar } from './member.js'
import { type CalendarSeries, calendarSeries } from './series.js'

/** The events of one or several tickers over one horizon, held against any bar of the same tickers. */
export interface Cell {
  horizon: number
  /** Those that have events, ascending by ticker, so that the order in which they were asked for cannot matter. */
  members: readonly Member[]
  /** Days of their base bars. */
  calendar: Int32Array
  series: CalendarSeries
  /** Events whose window has elapsed. */
  n: number
  /** Mean excess of the events over their own ticker's base; NaN without events. */
  diff: number
}

export function cellOf(bars: readonly MemberBars[], horizon: number): Cell {
  const { members, calendar } = onCalendar(bars.toSorted((a, b) => (a.ticker < b.ticker ? -1 : 1)))
  let n = 0
  let sum = 0
  for (const { events, excess } of members) {
    n += events.length
    for (const i of events) sum += excess[i]!
  }
  return { horizon, members, calendar, series: calendarSeries(members, calendar.length), n, diff: sum / n }
}
