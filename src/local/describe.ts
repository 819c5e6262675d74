import { outcomePercentile, performanceOf } from '../engine/outcomes.js'
import { type Day, formatDay } from '../model/day.js'
import type { Aftermath, BandEvent, EventHistory, HistoricEvent } from '../model/event.js'
import { PERFORMANCES, type Performance, STABILITIES } from '../model/record.js'
import { TIMEFRAMES, windowNames } from '../model/timeframe.js'
import { stayBefore, stayOn, type View } from './view.js'

/** Event `i` of the view as the specification spells it. */
export function bandEvent(view: View, i: number): BandEvent {
  const event = entry(view, i)
  eachWindow(view, view.record!.bars[i]!, (name, { performance }) => {
    event.aftermath[name] = performance === null ? null : { performance }
  })
  return event
}

/** The same with raw returns, percentiles, and the reason of every window that has no band. */
export function historicEvent(view: View, i: number): HistoricEvent {
  const bar = view.record!.bars[i]!
  const event = { ...entry(view, i), returns: {}, percentiles: {}, missing: {} } as Detailed
  eachWindow(view, bar, (name, { performance, value, rank, window }) => {
    event.aftermath[name] = performance === null ? null : { performance }
    event.returns[name] = value
    event.percentiles[name] = rank < 0 ? null : outcomePercentile(rank, bar, window)
    if (value === null) event.missing[name] = 'pending'
    else if (rank < 0) event.missing[name] = 'no_history'
  })
  return event
}

type Entry = BandEvent & { aftermath: Aftermath }
type Detailed = Entry & Required<Pick<HistoricEvent, 'returns' | 'percentiles' | 'missing'>>

/** An event with its aftermath still empty. */
function entry(view: View, i: number): Entry {
  const record = view.record!
  const { duration, flipsLookback, unit } = TIMEFRAMES[view.timeframe]
  const bar = record.bars[i]!
  return {
    date: formatDay(view.days[bar]!),
    band: view.bands[record.bands[i]!]!,
    prev_band: stayBefore(view, i).band,
    stability_at_entry: STABILITIES[record.stability[i]!]!,
    flips_recent_at_entry: record.flips[i]!,
    flips_lookback: `${flipsLookback}${unit}`,
    [duration]: i + 1 < view.events ? record.bars[i + 1]! - bar : null,
    aftermath: {},
  }
}

/** The band in force at the end of the view; when it was entered is told only within the range. */
export function presentBand(view: View, rangeStart: Day): EventHistory['present'] {
  const last = view.bars - 1
  const stay = stayOn(view, last)
  if (stay === null) return null
  const { band, since, initial } = stay
  const day = view.days[since]!
  return day > rangeStart
    ? { band, since: formatDay(day), bars: last - since, initial }
    : { band, since: null, bars: null, initial }
}

interface WindowOutcome {
  window: number
  /** The return; null until the window has ended. */
  value: number | null
  /** -1: none, or not yet */
  rank: number
  performance: Performance | null
}

/** What followed a bar, window by window, as known at the end of the view. */
function eachWindow(view: View, bar: number, see: (name: string, outcome: WindowOutcome) => void): void {
  const { windows } = TIMEFRAMES[view.timeframe]
  const names = windowNames(view.timeframe)
  for (let w = 0; w < windows.length; w++) {
    const window = windows[w]!
    const ended = bar + window < view.bars
    const value = ended ? view.outcomes.returns[w]![bar]! : null
    const rank = ended ? view.outcomes.ranks[w]![bar]! : -1
    const performance = rank < 0 ? null : PERFORMANCES[performanceOf(rank, bar, window)]!
    see(names[w]!, { window, value, rank, performance })
  }
}
