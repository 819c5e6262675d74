import type { Day } from '../model/day.js'

/** Every day on which at least one of several tickers has a bar, ascending: the calendar on which they are pooled. */
export function unionCalendar(days: readonly Int32Array[]): Int32Array {
  const some = days.filter(column => column.length > 0)
  if (some.length === 0) return new Int32Array()
  const first = some.reduce((least, column) => Math.min(least, column[0]!), Number.POSITIVE_INFINITY)
  const last = some.reduce((most, column) => Math.max(most, column.at(-1)!), Number.NEGATIVE_INFINITY)
  const seen = new Uint8Array(last - first + 1)
  for (const column of some) for (const day of column) seen[day - first] = 1
  const found: Day[] = []
  for (let i = 0; i < seen.length; i++) if (seen[i] === 1) found.push(first + i)
  return Int32Array.from(found)
}

/** The place of each day in a calendar, both ascending; -1 for a day that the calendar does not have. */
export function placesIn(calendar: Int32Array, days: Int32Array): Int32Array {
  const places = new Int32Array(days.length)
  let at = 0
  for (let i = 0; i < days.length; i++) {
    while (at < calendar.length && calendar[at]! < days[i]!) at++
    places[i] = calendar[at] === days[i] ? at : -1
  }
  return places
}
