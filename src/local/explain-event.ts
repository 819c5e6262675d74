import { outcomePercentile, performanceOf, referenceSize } from '../engine/outcomes.js'
import { formatDay } from '../model/day.js'
import { DEFINITIONS } from '../model/definitions.js'
import type { Missing } from '../model/event.js'
import { PERFORMANCES, type Performance, STABILITIES, type Stability } from '../model/record.js'
import type { Tier } from '../model/tier.js'
import { TIMEFRAMES, type Timeframe, windowNames } from '../model/timeframe.js'
import { PLANS } from '../policy/plans.js'
import { eventsUpTo, type View } from './view.js'

/** What an event's labels were worked out from. Keys above the tier are left out, as in the response. */
export interface ExplainedEvent {
  prev_band: string
  stability_at_entry?: Stability
  flips_recent_at_entry?: number
  flips_lookback?: string
  /** Dates of the flips that were counted, this one included. */
  flips?: string[]
  stability?: StabilitySum
  duration_days?: number | null
  duration_weeks?: number | null
  /** Window → what followed; null below the tier that shows it. */
  windows: Record<string, ExplainedWindow> | null
}

/** `volatile` from so many flips on; otherwise by the bars that the band left behind had lasted. */
export interface StabilitySum {
  left_band_entered: string
  left_band_bars: number
  volatile_from_flips: number
  holding_from_bars: number
  established_from_bars: number
  because: string
}

export interface ExplainedWindow {
  /** Date of the window's last bar; null until it exists. */
  ends: string | null
  return: number | null
  percentile: number | null
  /** Returns over as many bars that had ended by the event, and how many are needed. */
  sample: number
  sample_needed: number
  performance: Performance | null
  missing: Missing | null
  /** Why there is no performance band. */
  because: string | null
}

/** The event on bar `t` of the view, or null when there is none. */
export function explainedEvent(view: View, t: number, tier: Tier): ExplainedEvent | null {
  const { record, days, bands } = view
  const i = eventsUpTo(view, days[t]!) - 1
  if (record === null || i < 0 || record.bars[i] !== t) return null
  const { duration, flipsLookback, unit } = TIMEFRAMES[view.timeframe]
  const lasted = i + 1 < view.events ? record.bars[i + 1]! - t : null
  const prev_band = bands[i === 0 ? record.initialBand : record.bands[i - 1]!]!
  if (!PLANS[tier].aftermath) return { prev_band, [duration]: lasted, windows: null }
  return {
    prev_band,
    stability_at_entry: STABILITIES[record.stability[i]!]!,
    flips_recent_at_entry: record.flips[i]!,
    flips_lookback: `${flipsLookback}${unit}`,
    flips: Array.from(record.bars.subarray(i + 1 - record.flips[i]!, i + 1), bar => formatDay(days[bar]!)),
    stability: stabilitySum(view, i),
    [duration]: lasted,
    windows: explainedWindows(view, t),
  }
}

function stabilitySum(view: View, i: number): StabilitySum {
  const { record, days, timeframe } = view
  const { volatileFlips, holdingFrom, establishedFrom } = DEFINITIONS.stability
  const entered = i === 0 ? record!.initialBar : record!.bars[i - 1]!
  const lasted = record!.bars[i]! - entered
  return {
    left_band_entered: formatDay(days[entered]!),
    left_band_bars: lasted,
    volatile_from_flips: volatileFlips,
    holding_from_bars: holdingFrom,
    established_from_bars: establishedFrom,
    because: stabilityWords(record!.flips[i]!, lasted, timeframe),
  }
}

function stabilityWords(flips: number, lasted: number, timeframe: Timeframe): string {
  const { volatileFlips, holdingFrom, establishedFrom } = DEFINITIONS.stability
  const seen = `${count(flips, 'flip')} in ${TIMEFRAMES[timeframe].flipsLookback} bars`
  if (flips >= volatileFlips) return `${seen}, ${volatileFlips} or more: volatile`
  const left = `${seen}, fewer than ${volatileFlips}; the band left behind lasted ${count(lasted, 'bar')}`
  if (lasted < holdingFrom) return `${left}, fewer than ${holdingFrom}: fresh`
  if (lasted < establishedFrom) return `${left}, ${holdingFrom} to ${establishedFrom - 1}: holding`
  return `${left}, ${establishedFrom} or more: established`
}

function explainedWindows(view: View, t: number): Record<string, ExplainedWindow> {
  const { windows } = TIMEFRAMES[view.timeframe]
  return Object.fromEntries(
    windowNames(view.timeframe).map((name, w) => [name, explainedWindow(view, t, w, windows[w]!)]),
  )
}

function explainedWindow(view: View, t: number, w: number, window: number): ExplainedWindow {
  const { bars, days, outcomes, timeframe } = view
  const needed = TIMEFRAMES[timeframe].minReference
  const sample = referenceSize(t, window)
  const left = t + window - (bars - 1)
  const rank = left > 0 ? -1 : outcomes.ranks[w]![t]!
  const missing = left > 0 ? 'pending' : rank < 0 ? 'no_history' : null
  return {
    ends: left > 0 ? null : formatDay(days[t + window]!),
    return: left > 0 ? null : outcomes.returns[w]![t]!,
    percentile: rank < 0 ? null : outcomePercentile(rank, t, window),
    sample,
    sample_needed: needed,
    performance: rank < 0 ? null : PERFORMANCES[performanceOf(rank, t, window)]!,
    missing,
    because: because(missing, left, sample, needed),
  }
}

function because(missing: Missing | null, left: number, sample: number, needed: number): string | null {
  if (missing === 'pending') return `pending: ${count(left, 'more bar')} to come`
  if (missing === 'no_history') return `no history: ${sample} of the ${needed} earlier returns that a rank needs`
  return null
}

function count(many: number, what: string): string {
  return `${many} ${what}${many === 1 ? '' : 's'}`
}
