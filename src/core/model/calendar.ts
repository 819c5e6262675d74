import type { Day } from './day.js'

export interface Range {
  first: Day | null
  last: Day | null
}

/** First and last day of ascending columns; null without any. */
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
  const seen = new Uint8Array(last - first + 1)
  let previous: Int32Array | null = null
  for (const column of days) {
    if (previous !== null && isSameView(column, previous)) continue
    // By index: an iterator takes several times as long.
    for (let i = 0; i < column.length; i++) seen[column[i]! - first] = 1
    previous = column
  }
  const found = new Int32Array(seen.length)
  let n = 0
  for (let i = 0; i < seen.length; i++) if (seen[i] === 1) found[n++] = first + i
  return found.slice(0, n)
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

/**
 * Puts columns of days on their common calendar. Equal columns share their indices.
 * @returns the index of each day of each column
 */
export function onCommonCalendar(columns: readonly Int32Array[]): { calendar: Int32Array; indices: Int32Array[] } {
  const alike = new SharedColumns()
  const shared = new Map([...new Set(columns)].map(days => [days, alike.of(days)]))
  const distinct = [...new Set(shared.values())]
  const calendar = unionCalendar(distinct)
  const indicesOf = new Map(distinct.map(days => [days, indicesIn(calendar, days)]))
  return { calendar, indices: columns.map(days => indicesOf.get(shared.get(days)!)!) }
}

/** The days of some bars of a ticker. Consecutive bars, the usual case, need no copy. */
export function daysAt(days: Int32Array, bars: Int32Array): Int32Array {
  if (bars.length > 0 && isConsecutive(bars)) return days.subarray(bars[0]!, bars[0]! + bars.length)
  return bars.map(bar => days[bar]!)
}

/** Returns one shared object for equal ascending columns. */
export class SharedColumns {
  readonly #known = new Map<string, Int32Array[]>()

  /** @param kept makes the stored copy of a column that is new */
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
  if (isSameView(a, b)) return true
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** Whether both are views on the same memory. The usual case: tickers of a market share their columns of days. */
function isSameView(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.byteOffset === b.byteOffset && a.buffer === b.buffer
}

/** Whether ascending numbers have no gap. Bars of a field after its first band rarely have any. */
export function isConsecutive(ascending: Int32Array): boolean {
  const { length } = ascending
  return length === 0 || ascending[length - 1]! - ascending[0]! === length - 1
}
