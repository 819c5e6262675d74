import type { EventsPage } from '../../model/event.js'
import type { OversoldMatch, OversoldPage } from '../../model/oversold.js'
import { TIER_NAMES, type Tier } from '../../model/tier.js'
import { OVERSOLD_KEYS } from '../../policy/present-oversold.js'
import type { Schema } from './document.js'
import { title } from './tiers.js'

/** What the keys of answers mean that their schemas do not say themselves. */

const EVENTS_PAGE: Partial<Record<keyof EventsPage, string>> = {
  ticker: 'The ticker that was asked for, in upper case.',
  field: 'The field that was asked for.',
  timeframe: 'The bars on which bands are told.',
  context: 'Only when one was asked for.',
}

const OVERSOLD_PAGE: Record<keyof OversoldPage, string> = {
  matches: 'In the order asked for, cut at `limit`.',
  total_scanned: 'Tickers of the filters that were looked at: those with a bar of late, and old enough to have a band.',
  match_count: 'All matches, whatever `limit`.',
  data_status: 'Always `eod`: the data is of the end of a day.',
}

const MATCH: Record<keyof OversoldMatch, string> = {
  ticker: 'The ticker.',
  asset_class: 'What it is; null where nothing tells.',
  rsi_zone: 'How oversold it is.',
  condition_rarity: 'How rarely its RSI is as low as this; null where its history is too short.',
  sector: 'Its sector; null where nobody told.',
  market_cap_tier: 'Its size; null where nobody told.',
  valuation_zone: 'Band of the field. Not for crypto and funds.',
  stochastic_zone: 'Where the close lies in the range of the last bars, in the words of `rsi_zone`.',
  days_in_oversold: 'Bars since it became oversold, that one included.',
  oversold_streaks_count: 'Stays at or below oversold in its recent history, the present one included.',
  volume_context: 'The volume of the last bar against its usual one.',
  volume_ratio_band: 'Band of the field.',
  trend_context: 'Band of `trend_direction`.',
  nearest_support_distance: 'How far the close is above its support; null without one, or below it.',
  sector_rsi_zone: 'Zone of the median RSI of the stocks in its sector; null without a sector.',
  earnings_proximity: 'Band of the field. Not for crypto and funds.',
  growth_zone: 'Band of the field. Not for crypto and funds.',
  analyst_consensus: 'Band of the field. Not for crypto and funds.',
  rsi_zone_stability: 'How settled the zone is, by the bars it has lasted and its recent changes.',
  rsi_zone_flips_recent: 'Recent changes of `rsi_zone`.',
  accumulation_state: 'Band of the field.',
  historical_median_oversold_days: 'Of the ended ones among those stays, in bars; null without any.',
  historical_max_oversold_days: 'The longest ended one among those stays, in bars; null without any.',
  sector_agreement: 'Whether its sector as a whole is oversold too; null without a sector.',
  sector_oversold_count: 'Stocks of its sector that are oversold; null without a sector.',
  sector_total_count: 'Stocks of its sector that were looked at; null without a sector.',
}

const MEANINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  EventsPage: EVENTS_PAGE,
  OversoldPage: OVERSOLD_PAGE,
  OversoldMatch: Object.fromEntries(Object.entries(MATCH).map(([key, about]) => [key, about + tiersThatSee(key)])),
}

/** A schema with what each of its keys means. */
export function withMeanings(name: string, schema: Schema): Schema {
  const meanings = MEANINGS[name]
  if (meanings === undefined) return schema
  const properties = Object.entries(schema.properties as Record<string, Schema>).map(([key, part]) => {
    const description = meanings[key] ?? part.description
    return [key, description === undefined ? part : { ...part, description }]
  })
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** ` Plus and Pro.`, nothing where every tier sees it. */
function tiersThatSee(key: string): string {
  const tiers = TIER_NAMES.filter(tier => isSeen(key, tier))
  return tiers.length === TIER_NAMES.length ? '' : ` ${tiers.map(title).join(' and ')}.`
}

function isSeen(key: string, tier: Tier): boolean {
  return (OVERSOLD_KEYS[tier] as readonly string[]).includes(key)
}
