import { FIELDS } from '../../fields/index.js'
import { TIER_NAMES, type Tier } from '../../model/tier.js'
import { grantedFields } from '../../policy/entitle.js'
import { PLANS } from '../../policy/plans.js'
import type { FieldObject, TierObject } from './document.js'

export const TIERS: TierObject[] = TIER_NAMES.map(tier => {
  const { range, aftermath, context, credits } = PLANS[tier]
  return { tier, range, aftermath, context, credits: { ...credits } }
})

export const TIERED_FIELDS: FieldObject[] = FIELDS.map(({ name, tier, summary, bands }) => ({
  field: name,
  tier,
  summary,
  bands,
}))

/** `Free: rsi_zone, …; Plus adds: …; Pro adds: …` */
export function fieldsInWords(): string {
  return TIER_NAMES.map((tier, i) => `${title(tier)}${i === 0 ? '' : ' adds'}: ${added(tier).join(', ')}`).join('; ')
}

/** The tiers of which something is true, as `Plus and Pro`. */
export function tiersWith(feature: 'aftermath' | 'context'): string {
  return TIER_NAMES.filter(tier => PLANS[tier][feature])
    .map(title)
    .join(' and ')
}

/** `Free 90d, Plus 2y, Pro 5y` */
export function rangesInWords(): string {
  return TIER_NAMES.map(tier => `${title(tier)} ${PLANS[tier].range}`).join(', ')
}

function added(tier: Tier): string[] {
  return grantedFields(tier)
    .filter(field => field.tier === tier)
    .map(field => field.name)
}

export function title(tier: string): string {
  return tier.charAt(0).toUpperCase() + tier.slice(1)
}
