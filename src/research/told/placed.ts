import { countBelow, countUpTo } from '../../ascending.js'
import type { States } from '../../market.js'
import { type Day, parseDay } from '../../model/day.js'
import type { EventHistory, HistoricEvent } from '../../model/event.js'
import { STABILITIES, UNDEFINED } from '../../model/record.js'

/** Events that have no bar here on their date: dated before the first bar, after the last, or between two. */
export interface LeftOut {
  before: number
  after: number
  between: number
}

/**
 * Told events on the bars of their dates. The range that may be asked about is the told one; where its begin is not told
 * it is that of the first event, where its end is not, that of the last.
 *
 * @param days dates of the bars that are here, ascending
 * @param bands the vocabulary, with every band that was told
 */
export function placed(
  history: EventHistory,
  days: Int32Array,
  bands: readonly string[],
): { states: States; left: LeftOut } {
  const { ticker, field, timeframe, events } = history
  const dates = Int32Array.from(events, event => parseDay(event.date)!)
  const { after, upTo } = rangeOf(history, dates)
  const from = countUpTo(days, after)
  const to = Math.max(from, countUpTo(days, upTo))
  const bars = Int32Array.from(dates, date => barOn(days, date))
  const kept = [...bars.keys()].filter(i => bars[i]! >= from && bars[i]! < to)
  const column = (value: (event: HistoricEvent) => number): Uint8Array => Uint8Array.from(kept, i => value(events[i]!))
  const earlier = bandBefore(history)
  const states: States = {
    ticker,
    field,
    timeframe,
    bands,
    codes: codesOf(history, { days, dates, from, to }, bands, earlier),
    from,
    to,
    bars: Int32Array.from(kept, i => bars[i]!),
    entered: column(({ band }) => bands.indexOf(band)),
    left: column(({ prev_band }) => bands.indexOf(prev_band)),
    stability: column(event => told(event.stability_at_entry, stability => STABILITIES.indexOf(stability))),
    flips: column(event => told(event.flips_recent_at_entry, flips => flips)),
    ...(earlier === null || history.after === null
      ? {}
      : { earlier: { band: bands.indexOf(earlier), since: after + 1 } }),
    upTo,
  }
  return { states, left: leftOut(days, bars, dates) }
}

/** Events lie after the first day and up to the second; nothing at all without events where neither is told. */
function rangeOf({ after, as_of }: EventHistory, dates: Int32Array): { after: Day; upTo: Day } {
  const first = dates[0] ?? Number.POSITIVE_INFINITY
  const last = dates.at(-1) ?? Number.NEGATIVE_INFINITY
  return { after: after === null ? first - 1 : parseDay(after)!, upTo: as_of === null ? last : parseDay(as_of)! }
}

/** The band at the begin of the range: what the first event ended, or without events what is in force throughout. */
function bandBefore({ events, present }: EventHistory): string | null {
  const [first] = events
  if (first !== undefined) return first.prev_band
  return present !== null && present.since === null ? present.band : null
}

/** By date, not by placed event: a change on a date without a bar shows on the next bar. */
function codesOf(
  { events, present }: EventHistory,
  { days, dates, from, to }: { days: Int32Array; dates: Int32Array; from: number; to: number },
  bands: readonly string[],
  earlier: string | null,
): Uint8Array {
  const codes = new Uint8Array(days.length).fill(UNDEFINED)
  if (earlier !== null) codes.fill(bands.indexOf(earlier), from, to)
  const [first] = events
  // Without an event in range, an initial band that began within it is all there is.
  if (first === undefined && present !== null && present.since !== null)
    codes.fill(bands.indexOf(present.band), Math.max(from, countBelow(days, parseDay(present.since)!)), to)
  const starts = Int32Array.from(dates, date => Math.max(from, countBelow(days, date)))
  for (const [i, { band }] of events.entries())
    codes.fill(bands.indexOf(band), starts[i]!, Math.min(to, starts[i + 1] ?? to))
  return codes
}

function barOn(days: Int32Array, date: Day): number {
  const at = countBelow(days, date)
  return days[at] === date ? at : -1
}

function leftOut(days: Int32Array, bars: Int32Array, dates: Int32Array): LeftOut {
  const left: LeftOut = { before: 0, after: 0, between: 0 }
  const first = days[0] ?? Number.POSITIVE_INFINITY
  for (const [i, bar] of bars.entries()) {
    if (bar >= 0) continue
    if (dates[i]! < first) left.before++
    else if (dates[i]! > days.at(-1)!) left.after++
    else left.between++
  }
  return left
}

function told<Value>(value: Value | undefined, code: (value: Value) => number): number {
  return value === undefined ? UNDEFINED : code(value)
}
