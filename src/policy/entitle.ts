import { InvalidParameter, quoted, TierRestricted } from '../errors.js'
import type { Field } from '../fields/field.js'
import { FIELDS, fieldNamed } from '../fields/index.js'
import { type Day, formatDay } from '../model/day.js'
import type { HistoryQuery } from '../model/query.js'
import { reaches, TIER_NAMES, type Tier } from '../model/tier.js'
import { PLANS, type Plan } from './plans.js'

/** Gate in: may this caller ask this at all? Throws TierRestricted naming the field or feature. */
export function entitle({ field, context }: Pick<HistoryQuery, 'field' | 'context'>, tier: Tier): void {
  entitleField(field, tier)
  if (context === undefined) return
  if (!PLANS[tier].context) throw new TierRestricted('cross-asset correlation', tier, lowestWith('context'))
  entitleField(context.field, tier)
}

/** Throws TierRestricted unless the tier shows what followed events. */
export function entitleAftermath(tier: Tier): void {
  if (!PLANS[tier].aftermath) throw new TierRestricted('aftermath', tier, lowestWith('aftermath'))
}

/** Throws TierRestricted unless the tier may export: an export hands out everything that the tiers grant by parts. */
export function entitleExport(tier: Tier): void {
  if (!PLANS[tier].exports) throw new TierRestricted('export', tier, lowestWith('exports'))
}

/**
 * May this caller have a scan of a past date? Throws InvalidParameter for a date after today or before the range of every
 * tier, TierRestricted for one that only a higher tier has.
 */
export function entitleDate(date: Day, tier: Tier, today: Day): void {
  const inRange = (name: Tier): boolean => date > PLANS[name].rangeStart(today)
  const required = TIER_NAMES.find(name => reaches(name, DATES_FROM) && inRange(name))
  if (date > today || required === undefined) throw outOfRange(date, today)
  if (reaches(tier, required)) return
  const beyond = reaches(tier, DATES_FROM) ? `a date outside of the last ${PLANS[tier].range}` : 'date'
  throw new TierRestricted(beyond, tier, required)
}

/** The lowest tier that may ask for a past date. */
const DATES_FROM: Tier = 'plus'

function outOfRange(date: Day, today: Day): InvalidParameter {
  const first = PLANS[TIER_NAMES.at(-1)!].rangeStart(today) + 1
  const allowed = `a date from ${formatDay(first)} to ${formatDay(today)}`
  const value = formatDay(date)
  return new InvalidParameter(`date ${quoted(value)} is not ${allowed}.`, { param: 'date', value, allowed })
}

/** The fields that a tier may ask for, in the order of the specification. */
export function grantedFields(tier: Tier): Field[] {
  return FIELDS.filter(field => reaches(tier, field.tier))
}

function entitleField(name: string, tier: Tier): void {
  const required = fieldNamed(name)!.tier
  if (!reaches(tier, required)) throw new TierRestricted(name, tier, required)
}

function lowestWith(feature: keyof Pick<Plan, 'aftermath' | 'context' | 'exports'>): Tier {
  return TIER_NAMES.find(tier => PLANS[tier][feature])!
}
