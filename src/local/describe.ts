import { outcomePercentile, performanceOf } from '../engine/outcomes.js'
import { formatDay } from '../model/day.js'
import type { Aftermath, BandEvent, EventHistory, HistoricEvent, Missing } from '../model/event.js'
import { PERFORMANCES, STABILITIES } from '../model/record.js'
import { TIMEFRAMES, windowNames } from '../model/timeframe.js'
import type { View } from './view.js'

/** Event `i` of the view as the specification spells it. */
export function bandEvent(view: View, i: number): BandEvent {
  const record = view.record!
  const { duration, flipsLookback, unit } = TIMEFRAMES[view.timeframe]
  const bar = record.bars[i]!
  return {
    date: formatDay(view.days[bar]!),
    band: view.bands[record.bands[i]!]!,
    prev_band: view.bands[i === 0 ? record.initialBand : record.bands[i - 1]!]!,
    stability_at_entry: STABILITIES[record.stability[i]!]!,
    flips_recent_at_entry: record.flips[i]!,
    flips_lookback: `${flipsLookback}${unit}`,
    [duration]: i + 1 < view.events ? record.bars[i + 1]! - bar : null,
    aftermath: aftermath(view, bar),
  }
}

/** The same with raw returns, percentiles, and the reason of every window that has no band. */
export function historicEvent(view: View, i: number): HistoricEvent {
  const bar = view.record!.bars[i]!
  const returns: Record<string, number | null> = {}
  const percentiles: Record<string, number | null> = {}
  const missing: Record<string, Missing> = {}
  eachWindow(view, bar, (name, { value, rank, window }) => {
    returns[name] = value
    percentiles[name] = rank < 0 ? null : outcomePercentile(rank, bar, window)
    if (value === null) missing[name] = 'pending'
    else if (rank < 0) missing[name] = 'no_history'
  })
  return { ...bandEvent(view, i), returns, percentiles, missing }
}

/** The band in force at the end of the view. */
export function presentBand(view: View): EventHistory['present'] {
  const { record, events, bars, days, bands } = view
  if (record === null || record.initialBar < 0 || record.initialBar >= bars) return null
  const initial = events === 0
  const since = initial ? record.initialBar : record.bars[events - 1]!
  const code = initial ? record.initialBand : record.bands[events - 1]!
  return { band: bands[code]!, since: formatDay(days[since]!), bars: bars - 1 - since, initial }
}

/** What followed a bar, window by window, as known at the end of the view. */
export function aftermath(view: View, bar: number): Aftermath {
  const found: Aftermath = {}
  eachWindow(view, bar, (name, { rank, window }) => {
    found[name] = rank < 0 ? null : { performance: PERFORMANCES[performanceOf(rank, bar, window)]! }
  })
  return found
}

interface WindowOutcome {
  window: number
  /** null until the window has ended */
  value: number | null
  /** -1: none, or not yet */
  rank: number
}

function eachWindow(view: View, bar: number, see: (name: string, outcome: WindowOutcome) => void): void {
  const { windows } = TIMEFRAMES[view.timeframe]
  windowNames(view.timeframe).forEach((name, w) => {
    const window = windows[w]!
    const ended = bar + window < view.bars
    const value = ended ? view.outcomes.returns[w]![bar]! : null
    see(name, { window, value, rank: ended ? view.outcomes.ranks[w]![bar]! : -1 })
  })
}
