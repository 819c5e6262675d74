import { type Day, yearsBefore } from '../model/day.js'
import { TIER_NAMES, type Tier } from '../model/tier.js'

export interface Plan {
  /** As `query_range` reports it. */
  range: string
  /** Events lie after this day. */
  rangeStart(today: Day): Day
  /** Aftermath, stability and flips of an event. */
  aftermath: boolean
  /** Cross-asset correlation. */
  context: boolean
  /** Whole files of events, series and bars. */
  exports: boolean
  /** Credits that a server grants an account, in a UTC day and in an hour. */
  credits: { day: number; hour: number }
}

/** What each tier grants: as the specification's table says, and exports, which it does not have. */
export const PLANS: Readonly<Record<Tier, Plan>> = {
  free: {
    range: '90d',
    rangeStart: today => today - 90,
    aftermath: false,
    context: false,
    exports: false,
    credits: { day: 250, hour: 100 },
  },
  plus: {
    range: '2y',
    rangeStart: today => yearsBefore(today, 2),
    aftermath: true,
    context: true,
    exports: false,
    credits: { day: 50_000, hour: 5_000 },
  },
  pro: {
    range: '5y',
    rangeStart: today => yearsBefore(today, 5),
    aftermath: true,
    context: true,
    exports: true,
    credits: { day: 100_000, hour: 10_000 },
  },
}

/** The tier whose range a server told (`2y`); null where it is none of ours. */
export function tierOfRange(range: string): Tier | null {
  return TIER_NAMES.find(tier => PLANS[tier].range === range) ?? null
}
