import { fieldNamed } from '../fields/index.js'
import type { Day } from '../model/day.js'
import type { FieldRecord } from '../model/record.js'
import { barsKnownBy } from '../model/series.js'
import type { Timeframe } from '../model/timeframe.js'
import type { Recorded } from '../store/store.js'

/**
 * One field's record as it stood on a day. Because everything is recorded point in time, what was known then is a count:
 * the first `bars` bars were final, and the first `events` events had happened. Nothing beyond is looked at.
 */
export interface View {
  ticker: string
  timeframe: Timeframe
  bands: readonly string[]
  /** Final bars, and the date of each of them. */
  bars: number
  days: Int32Array
  events: number
  record: FieldRecord | null
  outcomes: Recorded['outcomes']
}

/** @param asOf without one, the ticker's own newest bar: nothing else in the store changes what its bars show */
export function viewOf(recorded: Recorded, timeframe: Timeframe, field: string, asOf: Day | null): View {
  const { entry, calendar, outcomes, field: record } = recorded
  const bars = barsKnownBy(calendar, asOf ?? entry.last)
  const events = record === null ? 0 : countBelow(record.bars, bars)
  return {
    ticker: entry.ticker,
    timeframe,
    bands: fieldNamed(field)!.bands,
    bars,
    days: calendar.days,
    events,
    record,
    outcomes,
  }
}

/** How many events of the view were on or before a day. */
export function eventsUpTo(view: View, day: Day): number {
  const { record, days } = view
  let low = 0
  let high = view.events
  while (low < high) {
    const middle = (low + high) >>> 1
    if (days[record!.bars[middle]!]! <= day) low = middle + 1
    else high = middle
  }
  return low
}

/** The code of the band that was entered last on or before a day; null before the first event. */
export function bandEnteredBy(view: View, day: Day): number | null {
  const upTo = eventsUpTo(view, day)
  return upTo === 0 ? null : view.record!.bands[upTo - 1]!
}

function countBelow(ascending: Int32Array, limit: number): number {
  let low = 0
  let high = ascending.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ascending[middle]! < limit) low = middle + 1
    else high = middle
  }
  return low
}
