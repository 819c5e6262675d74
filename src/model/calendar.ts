import type { Day } from './day.js'

export interface Range {
  first: Day | null
  last: Day | null
}

/** First and last of days, each column of which ascends; null without any. */
export function rangeOf(columns: readonly Int32Array[]): Range {
  const range: Range = { first: null, last: null }
  // A loop: of each field of a whole market there are more columns than a call takes arguments.
  for (const days of columns) {
    const [first, last] = [days[0], days.at(-1)]
    if (first === undefined || last === undefined) continue
    if (range.first === null || first < range.first) range.first = first
    if (range.last === null || last > range.last) range.last = last
  }
  return range
}

/** Every day on which at least one of several tickers has a bar, ascending: the calendar on which they are pooled. */
export function unionCalendar(days: readonly Int32Array[]): Int32Array {
  const { first, last } = rangeOf(days)
  if (first === null || last === null) return new Int32Array()
  const seen = new Uint8Array(last - first + 1)
  for (const column of days) for (const day of column) seen[day - first] = 1
  const found = new Int32Array(seen.length)
  let n = 0
  for (let i = 0; i < seen.length; i++) if (seen[i] === 1) found[n++] = first + i
  return found.slice(0, n)
}

/** The place of each day in a calendar, both ascending; -1 for a day that the calendar does not have. */
export function placesIn(calendar: Int32Array, days: Int32Array): Int32Array {
  const indices = new Int32Array(days.length)
  let at = 0
  for (let i = 0; i < days.length; i++) {
    while (at < calendar.length && calendar[at]! < days[i]!) at++
    indices[i] = calendar[at] === days[i] ? at : -1
  }
  return indices
}

/**
 * Puts columns of days on their common calendar. Columns that are alike share their places.
 * @returns the place of each day of each column
 */
export function onCommonCalendar(columns: readonly Int32Array[]): { calendar: Int32Array; indices: Int32Array[] } {
  const alike = new SharedColumns()
  const shared = columns.map(days => alike.of(days))
  const calendar = unionCalendar([...new Set(shared)])
  const indicesOf = new Map([...new Set(shared)].map(days => [days, placesIn(calendar, days)]))
  return { calendar, indices: shared.map(days => indicesOf.get(days)!) }
}

/** The days of some bars of a ticker; of bars in a row, as they nearly always are, without a copy. */
export function daysAt(days: Int32Array, bars: Int32Array): Int32Array {
  if (bars.length > 0 && isConsecutive(bars)) return days.subarray(bars[0]!, bars[0]! + bars.length)
  return bars.map(bar => days[bar]!)
}

/** Ascending columns, of those that are equal the same one. */
export class SharedColumns {
  readonly #known = new Map<string, Int32Array[]>()

  /** @param kept makes of the first of its kind what is kept of it */
  of(column: Int32Array, kept: (column: Int32Array) => Int32Array = own => own): Int32Array {
    const name = `${column.length} ${column[0]} ${column.at(-1)}`
    const known = this.#known.get(name)
    const same = known?.find(other => areEqual(other, column))
    if (same !== undefined) return same
    const own = kept(column)
    if (known === undefined) this.#known.set(name, [own])
    else known.push(own)
    return own
  }
}

function areEqual(a: Int32Array, b: Int32Array): boolean {
  if (a.length !== b.length) return false
  if (a.buffer === b.buffer && a.byteOffset === b.byteOffset) return true
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** Whether ascending numbers have no gap, as nearly all bars of a field from its first band on have none. */
export function isConsecutive(ascending: Int32Array): boolean {
  const { length } = ascending
  return length === 0 || ascending[length - 1]! - ascending[0]! === length - 1
}
