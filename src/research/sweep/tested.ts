import { neweyWest } from '../../statistics/robust.js'
import type { Column } from '../../statistics/spa.js'
import { placesIn } from '../calendar.js'
import type { Cell } from '../cell/cell.js'
import { type CalendarTime, calendarTime, portfolioSharpe } from '../cell/portfolio.js'
import type { Look, Scene } from './look.js'
import type { Resamples } from './resamples.js'

/** What a tested cell adds to its p-value. */
export interface Tested {
  low: number | null
  high: number | null
  t: number | null
  sharpe: number | null
  /** Of the calendar-time portfolio, one a day of the timeline; it could hold something from the first place to the last. */
  returns: Float64Array
  span: { from: number; to: number }
  /** Mean block of the interval. */
  block: number
  /** Excess of each day's events, an event's share of it: its mean over the timeline is the difference. */
  column: Column
}

export function testedOf(look: Look & { cell: Cell }, scene: Scene, resamples: Resamples): Tested {
  const { cell, key } = look
  const { events, excess } = cell.series
  return {
    ...(resamples.interval(cell) ?? { low: null, high: null, block: key.horizon }),
    t: neweyWest(excess, events, key.horizon - 1)?.t ?? null,
    ...held(look, scene),
    column: columnOf(cell, scene.timeline.days),
  }
}

/** The portfolio that holds each event for the horizon, and its Sharpe ratio over the days on which it could. */
function held({ grounds, key }: Look, { timeline }: Scene): Pick<Tested, 'sharpe' | 'returns' | 'span'> {
  const holders = grounds.map(({ book: { days, close }, bars, events, base }) => {
    return { days, close, events: events.map(i => bars[i]!), base }
  })
  const portfolio = calendarTime(timeline.days, holders, key.horizon)
  const span = { from: timeline.days.length, to: 0 }
  for (const { book, bars } of grounds) {
    const places = timeline.places.get(book)!
    span.from = Math.min(span.from, places[bars[0]!]!)
    span.to = Math.max(span.to, places[Math.min(bars.at(-1)! + key.horizon, places.length - 1)]! + 1)
  }
  return {
    sharpe: portfolioSharpe(within(portfolio, span)),
    returns: dailyReturns(portfolio),
    span,
  }
}

function within({ open, sum, excess }: CalendarTime, { from, to }: Tested['span']): CalendarTime {
  return { open: open.subarray(from, to), sum: sum.subarray(from, to), excess: excess.subarray(from, to) }
}

function dailyReturns({ open, sum }: CalendarTime): Float64Array {
  return sum.map((total, day) => (open[day] === 0 ? 0 : total / open[day]!))
}

function columnOf({ calendar, series: { events, excess }, n }: Cell, days: Int32Array): Column {
  const places = placesIn(days, calendar)
  const some = Int32Array.from(events.keys()).filter(day => events[day]! > 0)
  return {
    places: some.map(day => places[day]!),
    values: Float64Array.from(some, day => (excess[day]! * days.length) / n),
  }
}
