import { countBelow } from '../../ascending.js'
import { dayOf, yearOf } from '../../model/day.js'
import type { Random } from '../../random.js'
import { quantile } from '../../statistics/quantile.js'
import type { StudyWindow } from '../study/result.js'
import type { Cell } from './cell.js'
import { fewUnits, independentUnits, LEAST_UNITS, type Unit } from './series.js'

/** Entries at random dates, as many in each ticker as there are events. */
export type RandomEntry = StudyWindow['random_entry']

/**
 * Draws the days on which units of events begin, without replacement among the days of the calendar. Events whose windows
 * overlap, and those of several tickers, move together: drawn one by one they would share fewer bars than the events do
 * and vary less by chance. Where no windows overlap this is the draw of single entries. p is two-sided and counts the
 * events as a draw (Davison & Hinkley 1997).
 *
 * The calendar year is not held fixed: it holds the fall that led to an event, too, so that on a random walk events
 * would beat entries of their own year (11 % of p-values below .05 for oversold RSI over 20 bars).
 * @returns null without events
 */
export function randomEntry(cell: Cell, draws: number, random: Random): RandomEntry | null {
  if (cell.n === 0) return null
  const units = independentUnits(cell.series, cell.horizon)
  if (units.length < LEAST_UNITS) return noDraws(cell, fewUnits(units.length))
  const means = drawnMeans(cell, units, draws, random)
  if (means.length === 0)
    return noDraws(cell, draws === 0 ? 'none were asked for' : 'no draw lands where there is a return')
  const centre = means.reduce((sum, mean) => sum + mean, 0) / means.length
  return {
    draws: means.length,
    mean: centre,
    low: quantile(means, 0.025),
    high: quantile(means, 0.975),
    p: shareAsFar(means, centre, ownMean(cell)),
    year_matched: yearMatched(cell),
    reason: null,
  }
}

/** The same where there are to be no draws. */
export function noDraws(cell: Cell, reason: string): RandomEntry {
  const year_matched = cell.n === 0 ? null : yearMatched(cell)
  return { draws: 0, mean: null, low: null, high: null, p: null, year_matched, reason }
}

/** Ascending. */
function drawnMeans(cell: Cell, units: readonly Unit[], draws: number, random: Random): Float64Array {
  const days = Int32Array.from(cell.calendar.keys())
  const landed = landings(cell)
  const means = new Float64Array(draws)
  let made = 0
  for (let draw = 0; draw < draws; draw++) {
    const total = { sum: 0, n: 0 }
    for (let i = 0; i < units.length; i++) {
      // Fisher & Yates, stopped after as many as are needed; the order that a draw leaves behind serves the next.
      const j = i + random.below(days.length - i)
      const day = days[j]!
      days[j] = days[i]!
      days[i] = day
      landed(units[i]!, day, total)
    }
    if (total.n > 0) means[made++] = total.sum / total.n
  }
  return means.subarray(0, made).sort()
}

/** Adds up what the events of a unit have where they land if it begins on another day, the calendar wrapping round. */
function landings({ members, calendar }: Cell) {
  const size = calendar.length
  const columns = members.map(({ places, returns }) => {
    const column = new Float64Array(size).fill(Number.NaN)
    for (let i = 0; i < places.length; i++) column[places[i]!] = returns[i]!
    return column
  })
  const ofDay: number[][] = Array.from({ length: size }, () => [])
  members.forEach(({ places, events }, member) => {
    for (const i of events) ofDay[places[i]!]!.push(member)
  })
  return (unit: Unit, day: number, total: { sum: number; n: number }): void => {
    for (let from = unit.from; from <= unit.to; from++) {
      const to = (day + from - unit.from) % size
      for (const member of ofDay[from]!) {
        const value = columns[member]![to]!
        if (Number.isNaN(value)) continue
        total.sum += value
        total.n++
      }
    }
  }
}

/** Sums in another order differ in the last digits, which must not count where every draw is the same. */
const ROUNDING = 1e-12

function shareAsFar(means: Float64Array, centre: number, own: number): number {
  const far = Math.abs(own - centre) - ROUNDING
  let asFar = 1
  for (const mean of means) if (Math.abs(mean - centre) >= far) asFar++
  return asFar / (means.length + 1)
}

function ownMean({ members, n }: Cell): number {
  return members.reduce((sum, { returns, events }) => events.reduce((total, i) => total + returns[i]!, sum), 0) / n
}

/** Each event replaced by the mean of its ticker's base bars in its year. */
function yearMatched({ members, calendar, n }: Cell): number {
  let sum = 0
  for (const { places, returns, events } of members) {
    for (let next = 0; next < events.length; ) {
      const year = yearOf(calendar[places[events[next]!]!]!)
      const from = countBelow(places, countBelow(calendar, dayOf(year, 1, 1)!))
      const to = countBelow(places, countBelow(calendar, dayOf(year + 1, 1, 1)!))
      const first = next
      while (next < events.length && events[next]! < to) next++
      sum += ((next - first) * returns.subarray(from, to).reduce((total, value) => total + value, 0)) / (to - from)
    }
  }
  return sum / n
}
