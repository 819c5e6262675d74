import { countBelow, countUpTo } from '../ascending.js'
import { fieldNamed } from '../fields/index.js'
import type { Day } from '../model/day.js'
import type { PulledSeries } from '../model/pulled.js'
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
  /** Set where a server told the events: each stands for a bar of its own, and is given out as it was told. */
  pulled?: Told
}

/** What a server told of a series: all of its events after the first day and up to the last, and nothing beyond. */
export interface Told {
  series: PulledSeries
  after: Day
  upTo: Day
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
  const { record, days, events } = view
  return record === null ? 0 : countBelow(record.bars, countUpTo(days, day), events)
}

/**
 * The code of the band that was entered last on or before a day; null before the first event. Where a server told the
 * events, the first tells which band it ended, and null is also what lies beyond.
 */
export function bandEnteredBy(view: View, day: Day): number | null {
  const { pulled } = view
  if (pulled !== undefined && (day <= pulled.after || day > pulled.upTo)) return null
  const upTo = eventsUpTo(view, day)
  if (upTo > 0) return view.record!.bands[upTo - 1]!
  return pulled === undefined || view.events === 0 ? null : view.record!.initialBand
}

/** One stay in a band: which, from which bar on, and whether it is the first, which no event entered. */
export interface Stay {
  band: string
  since: number
  initial: boolean
}

/** The stay that event `i` ends. */
export function stayBefore({ record, bands }: View, i: number): Stay {
  const initial = i === 0
  const code = initial ? record!.initialBand : record!.bands[i - 1]!
  return { band: bands[code]!, since: initial ? record!.initialBar : record!.bars[i - 1]!, initial }
}

/** The stay in force on bar `t`; null before the first defined bar. */
export function stayOn(view: View, t: number): Stay | null {
  const { record, events } = view
  if (record === null || record.initialBar < 0 || record.initialBar > t) return null
  return stayBefore(view, countUpTo(record.bars, t, 0, events))
}
