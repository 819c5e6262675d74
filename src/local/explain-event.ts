import { referenceSize } from '../engine/outcomes.js'
import { formatDay } from '../model/day.js'
import { DEFINITIONS } from '../model/definitions.js'
import type { HistoricEvent, Missing } from '../model/event.js'
import type { Performance, Stability } from '../model/record.js'
import type { Tier } from '../model/tier.js'
import { TIMEFRAMES, type Timeframe, windowNames } from '../model/timeframe.js'
import { PLANS } from '../policy/plans.js'
import { historicEvent } from './describe.js'
import { eventsUpTo, stayBefore, type View } from './view.js'

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
  const { record, days } = view
  const i = eventsUpTo(view, days[t]!) - 1
  if (record === null || i < 0 || record.bars[i] !== t) return null
  const { duration } = TIMEFRAMES[view.timeframe]
  const event = historicEvent(view, i)
  const lasted = { [duration]: event[duration] ?? null }
  if (!PLANS[tier].aftermath) return { prev_band: event.prev_band, ...lasted, windows: null }
  return {
    prev_band: event.prev_band,
    stability_at_entry: event.stability_at_entry!,
    flips_recent_at_entry: event.flips_recent_at_entry!,
    flips_lookback: event.flips_lookback!,
    flips: Array.from(record.bars.subarray(i + 1 - record.flips[i]!, i + 1), bar => formatDay(days[bar]!)),
    stability: stabilitySum(view, i),
    ...lasted,
    windows: explainedWindows(view, t, event),
  }
}

function stabilitySum(view: View, i: number): StabilitySum {
  const { record, days, timeframe } = view
  const { volatileFlips, holdingFrom, establishedFrom } = DEFINITIONS.stability
  const { since: entered } = stayBefore(view, i)
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

function explainedWindows(view: View, t: number, event: HistoricEvent): Record<string, ExplainedWindow> {
  const { windows } = TIMEFRAMES[view.timeframe]
  return Object.fromEntries(
    windowNames(view.timeframe).map((name, w) => [name, explainedWindow(view, t, event, name, windows[w]!)]),
  )
}

function explainedWindow(view: View, t: number, event: HistoricEvent, name: string, window: number): ExplainedWindow {
  const needed = TIMEFRAMES[view.timeframe].minReference
  const sample = referenceSize(t, window)
  const left = t + window - (view.bars - 1)
  const missing = event.missing![name] ?? null
  return {
    ends: left > 0 ? null : formatDay(view.days[t + window]!),
    return: event.returns![name]!,
    percentile: event.percentiles![name]!,
    sample,
    sample_needed: needed,
    performance: event.aftermath![name]?.performance ?? null,
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
