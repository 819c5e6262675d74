import type { Member } from './member.js'

/** The cell by day of its calendar: how many events, and the sum of their excess returns. Their ratio is `diff`. */
export interface CalendarSeries {
  events: Float64Array
  excess: Float64Array
}

export function calendarSeries(members: readonly Member[], days: number): CalendarSeries {
  const series = { events: new Float64Array(days), excess: new Float64Array(days) }
  for (const { places, events, excess } of members) {
    for (const i of events) {
      series.events[places[i]!]! += 1
      series.excess[places[i]!]! += excess[i]!
    }
  }
  return series
}

/** Below so many independent units neither a p-value nor an interval means anything. */
export const LEAST_UNITS = 10

/**
 * Events, of any ticker, whose windows share days, directly or through others between them: the days from the first to
 * the last, both included, how many events there are, and the sum of a figure of theirs.
 */
export interface Unit {
  from: number
  to: number
  events: number
  sum: number
}

/** The units of a cell, of which no two share a day: tickers move together, so those of a day are one unit, too. */
export function independentUnits({ events, excess }: CalendarSeries, horizon: number): Unit[] {
  const units: Unit[] = []
  for (let day = 0; day < events.length; day++) {
    if (events[day] === 0) continue
    let unit = units.at(-1)
    if (unit === undefined || day >= unit.to + horizon) {
      unit = { from: day, to: day, events: 0, sum: 0 }
      units.push(unit)
    }
    unit.to = day
    unit.events += events[day]!
    unit.sum += excess[day]!
  }
  return units
}

/**
 * Greedy count of days with events, of any ticker, whose windows share no day.
 * @param events how many there are on each day of a calendar
 */
export function stretches(events: Float64Array, horizon: number): number {
  let count = 0
  for (let day = 0; day < events.length; day++) {
    if (events[day] === 0) continue
    count++
    day += horizon - 1
  }
  return count
}

/** Sum of the units' sums over the number of their events, for units drawn with replacement: a ratio estimator. */
export function ratioOf(units: readonly Unit[], drawn: ArrayLike<number>): number {
  let events = 0
  let sum = 0
  for (let i = 0; i < drawn.length; i++) {
    const unit = units[drawn[i]!]!
    events += unit.events
    sum += unit.sum
  }
  return sum / events
}

/** How many units of equal size say as much as these: (Σ n)² / Σ n² (Kish, "Survey sampling", 1965). */
export function equalUnits(units: readonly Unit[]): number {
  let [sum, squares] = [0, 0]
  for (const { events } of units) {
    sum += events
    squares += events ** 2
  }
  return sum ** 2 / squares
}

export function fewUnits(units: number): string {
  const what = units === 1 ? 'stretch of time' : 'stretches of time'
  return `the windows of all events run together into ${units} ${what}, fewer than ${LEAST_UNITS}`
}
