import type { Day } from './day.js'

export interface Range {
  first: Day | null
  last: Day | null
}

/** The earliest and the latest day of some ascending columns; null without any day. */
export function rangeOf(columns: readonly Int32Array[]): Range {
  const range: Range = { first: null, last: null }
  // A loop: for the fields of a whole market there are more columns than a call takes arguments.
  for (const days of columns) {
    const first = days[0]
    const last = days.at(-1)
    if (first === undefined || last === undefined) continue
    if (range.first === null || first < range.first) range.first = first
    if (range.last === null || last > range.last) range.last = last
  }
  return range
}

/** Every day on which at least one of several tickers has a bar, ascending: the common calendar. */
export function unionCalendar(days: readonly Int32Array[]): Int32Array {
  const { first, last } = rangeOf(days)
  if (first === null || last === null) return new Int32Array()
  const hasBar = new Uint8Array(last - first + 1)
  let previous: Int32Array | null = null
  for (const column of days) {
    if (previous !== null && isSameView(column, previous)) continue
    // By index: an iterator takes several times as long.
    for (let i = 0; i < column.length; i++) hasBar[column[i]! - first] = 1
    previous = column
  }
  const calendar = new Int32Array(hasBar.length)
  let length = 0
  for (let i = 0; i < hasBar.length; i++) if (hasBar[i] === 1) calendar[length++] = first + i
  return calendar.slice(0, length)
}

/** The index of each day in a calendar, both ascending; -1 for a day that the calendar does not contain. */
export function indicesIn(calendar: Int32Array, days: Int32Array): Int32Array {
  const indices = new Int32Array(days.length)
  let at = 0
  for (let i = 0; i < days.length; i++) {
    while (at < calendar.length && calendar[at]! < days[i]!) at++
    indices[i] = calendar[at] === days[i] ? at : -1
  }
  return indices
}

/** The common calendar of some columns of days, and the index in it of each day; equal columns share their indices. */
export function alignToCommonCalendar(columns: readonly Int32Array[]): { calendar: Int32Array; indices: Int32Array[] } {
  const sharedColumns = new SharedColumns()
  const sharedDays = columns.map(days => sharedColumns.firstEqual(days))
  const distinctColumns = [...new Set(sharedDays)]
  const calendar = unionCalendar(distinctColumns)
  const indicesOf = new Map(distinctColumns.map(days => [days, indicesIn(calendar, days)]))
  return { calendar, indices: sharedDays.map(days => indicesOf.get(days)!) }
}

/** The days of some bars of a ticker, by the bars' indices. Consecutive bars, the usual case, need no copy. */
export function daysAt(days: Int32Array, bars: Int32Array): Int32Array {
  if (bars.length > 0 && isConsecutive(bars)) return days.subarray(bars[0]!, bars[0]! + bars.length)
  return bars.map(bar => days[bar]!)
}

/** Finds equal ascending columns, so that one object can replace them. */
export class SharedColumns {
  /** Columns by their length, first and last value. */
  readonly #byKey = new Map<string, Int32Array[]>()

  /** The stored column that equals `column`; without one, `copy(column)`, which is then stored (default: no copy). */
  firstEqual(column: Int32Array, copy = (original: Int32Array) => original): Int32Array {
    const key = `${column.length} ${column[0]} ${column.at(-1)}`
    const candidates = this.#byKey.get(key) ?? []
    const equalColumn = candidates.find(candidate => areEqual(candidate, column))
    if (equalColumn !== undefined) return equalColumn
    const stored = copy(column)
    this.#byKey.set(key, [...candidates, stored])
    return stored
  }
}

function areEqual(a: Int32Array, b: Int32Array): boolean {
  if (a.length !== b.length) return false
  if (isSameView(a, b)) return true
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** Whether two columns are views on the same memory, as tickers of a market usually share their columns of days. */
function isSameView(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.byteOffset === b.byteOffset && a.buffer === b.buffer
}

/** Whether ascending numbers have no gap. */
export function isConsecutive(ascending: Int32Array): boolean {
  const { length } = ascending
  return length === 0 || ascending[length - 1]! - ascending[0]! === length - 1
}
