import { fieldNamed } from '../../fields/index.js'
import { type Day, parseDay } from '../../model/day.js'
import type { EventHistory } from '../../model/event.js'
import { knownDate, type PulledSeries } from '../../model/pulled.js'
import { UNDEFINED } from '../../model/record.js'
import { PLANS, tierOfRange } from '../../policy/plans.js'
import type { View } from '../view.js'

/** Pulled events in the form in which recorded ones are searched: each event is a bar of its own. */
export function pulledView(series: PulledSeries): View {
  const { ticker, timeframe, events } = series
  const bands = vocabulary(series)
  const code = (band: string | undefined): number => (band === undefined ? UNDEFINED : bands.indexOf(band))
  const none = new Uint8Array()
  return {
    ticker,
    timeframe,
    bands,
    bars: events.length,
    days: Int32Array.from(events, event => parseDay(event.date)!),
    events: events.length,
    record: {
      initialBar: -1,
      initialBand: code(events[0]?.prev_band),
      bars: Int32Array.from(events.keys()),
      bands: Uint8Array.from(events, event => code(event.band)),
      flips: none,
      stability: none,
    },
    outcomes: { returns: [], ranks: [] },
    pulled: { series, after: toldAfter(series), upTo: parseDay(knownDate(series))! },
  }
}

/** A series whose pages are not all there, as far as they are: its newest events. */
export function begunSeries(series: PulledSeries): PulledSeries {
  const { as_of, pulled_at, query_range, total_occurrences, events } = series.under_way!
  return { ...series, as_of, pulled_at, query_range, total_occurrences, events }
}

/** The band in force; how many bars ago it was entered only a server with prices knows. */
export function presentPulled({ pulled }: View, rangeStart: Day): EventHistory['present'] {
  const last = pulled!.series.events.at(-1)
  if (last === undefined) return null
  const since = parseDay(last.date)! > rangeStart ? last.date : null
  return { band: last.band, since, bars: null, initial: false }
}

/**
 * The day before the first of those that a range holds where a server did not tell of which day: it said how many events
 * there are.
 */
export function countedStart({ series, after }: NonNullable<View['pulled']>): Day {
  const older = series.events.at(-1 - series.total_occurrences)
  return older === undefined ? after : parseDay(older.date)!
}

/** A server may know bands of the field that this version does not. */
function vocabulary({ field, events }: PulledSeries): string[] {
  const seen = events.flatMap(event => [event.band, event.prev_band])
  return [...new Set([...fieldNamed(field)!.bands, ...seen])]
}

/** Older events than those of the range are there when an earlier pull has brought them. */
function toldAfter(series: PulledSeries): Day {
  const first = series.events[0] === undefined ? Number.POSITIVE_INFINITY : parseDay(series.events[0].date)! - 1
  if (series.state === 'partial') return first
  const known = parseDay(knownDate(series))!
  const tier = tierOfRange(series.query_range)
  return tier === null ? Math.min(first, known) : Math.min(first, PLANS[tier].rangeStart(known))
}
