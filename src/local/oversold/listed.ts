import { InvalidParameter, quoted } from '../../errors.js'
import { compare } from '../../indicators/compare.js'
import type { Day } from '../../model/day.js'
import { factsOf } from '../../model/fact-sheet.js'
import { type FactKind, knownOn, type Security } from '../../model/facts.js'
import { MARKET_CAP_TIERS, type MarketCapTier, type OversoldQuery } from '../../model/oversold.js'
import type { AssetClass } from '../../model/series.js'
import type { Store, TickerEntry } from '../../store/store.js'
import { didYouMean, suggest } from '../../suggest.js'
import { OVERSOLD_RULES } from './rules.js'

/** A ticker and what is said of it beside its bars. */
export interface Listed {
  entry: TickerEntry
  security: Security | null
}

/** Whether the filters of a query let a ticker through. */
export async function passes(listed: Listed, query: OversoldQuery, store: Store, date: Day): Promise<boolean> {
  const { assetClass, sector, marketCapTier, minMarketCapTier } = query
  if (sector !== undefined && !isSameSector(sectorOf(listed), sector)) return false
  const tier = marketCapTierOf(listed)
  if (marketCapTier !== undefined && tier !== marketCapTier) return false
  if (minMarketCapTier !== undefined && (tier === null || placeOf(tier) < placeOf(minMarketCapTier))) return false
  return assetClass === 'all' || (await assetClassOf(listed, store, date)) === assetClass
}

/** Throws InvalidParameter for a sector that no ticker of the store has, naming the nearest. */
export function checkSector(sector: string, securities: Iterable<Security>): void {
  const spelled = new Map<string, string>()
  for (const security of securities) {
    const name = nameOf(security)
    if (name !== null && !spelled.has(name.toLowerCase())) spelled.set(name.toLowerCase(), name)
  }
  if (spelled.has(sector.trim().toLowerCase())) return
  const allowed = [...spelled.values()].sort()
  const suggestions = suggest(sector.trim(), allowed)
  const what =
    allowed.length === 0
      ? 'cannot be looked for: no sector of any ticker is known.'
      : `is not one of ${allowed.join(', ')}.${didYouMean(suggestions)}`
  throw new InvalidParameter(`sector ${quoted(sector)} ${what}`, {
    param: 'sector',
    value: sector,
    allowed,
    suggestions,
  })
}

/** As it was given, outer blanks aside; null where nobody told. */
export function sectorOf({ security }: Listed): string | null {
  return security === null ? null : nameOf(security)
}

export function marketCapTierOf({ security }: Listed): MarketCapTier | null {
  const cap = security?.market_cap ?? null
  if (cap === null) return null
  return MARKET_CAP_TIERS[OVERSOLD_RULES.marketCapCuts.filter(cut => compare(cap, cut) >= 0).length]!
}

/** A ticker of no known class is a stock when it has a sector, or any fact known by the day; otherwise nothing tells. */
export async function assetClassOf(listed: Listed, store: Store, date: Day): Promise<AssetClass | null> {
  const told = listed.security?.asset_class ?? listed.entry.assetClass
  if (told !== null) return told
  return sectorOf(listed) !== null || (await hasFacts(listed.entry.ticker, store, date)) ? 'stock' : null
}

async function hasFacts(ticker: string, store: Store, date: Day): Promise<boolean> {
  const kinds = Object.entries(factsOf(await store.sheets(ticker)))
  return kinds.some(([kind, records]) => records.some(record => knownOn(kind as FactKind, record)! <= date))
}

function nameOf({ sector }: Security): string | null {
  return sector?.trim() || null
}

function isSameSector(own: string | null, asked: string): boolean {
  return own?.toLowerCase() === asked.trim().toLowerCase()
}

function placeOf(tier: MarketCapTier): number {
  return MARKET_CAP_TIERS.indexOf(tier)
}
