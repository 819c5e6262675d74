import type { BandEvent, HistoricEvent } from '../model/event.js'
import type { Tier } from '../model/tier.js'
import { PLANS } from './plans.js'

/** Gate out: an event as this caller may see it. */
export function present<Event extends BandEvent>(event: Event, tier: Tier): Event {
  if (PLANS[tier].aftermath) return event
  const kept: HistoricEvent = { ...event, aftermath: null }
  for (const key of WITHHELD) delete kept[key]
  return kept as Event
}

const WITHHELD = [
  'stability_at_entry',
  'flips_recent_at_entry',
  'flips_lookback',
  'returns',
  'percentiles',
  'missing',
] as const satisfies readonly (keyof HistoricEvent)[]
