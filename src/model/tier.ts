/** What a caller subscribed to; each tier has all of the one before. */
export type Tier = 'free' | 'plus' | 'pro'

export const TIER_NAMES: readonly Tier[] = ['free', 'plus', 'pro']

export function reaches(tier: Tier, required: Tier): boolean {
  return TIER_NAMES.indexOf(tier) >= TIER_NAMES.indexOf(required)
}
