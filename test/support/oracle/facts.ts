/**
 * Section 3, the twelve fundamental fields, from the words of the page alone: at every bar all records are looked
 * through again. Of the project only the types of records are known here. Dates are days since 1970-01-01.
 */
import type { Facts } from '../../../src/core/model/facts.js'
import type { Timeframe } from './bars.js'
import {
  allCounts,
  analystConsensus,
  analystConsensusDirection,
  earningsProximity,
  earningsSurprise,
  insiderActivityZone,
  netDirection,
} from './facts-opinions.js'
import { epsGrowthDirection, growthZone, quartersAt, revenueGrowthDirection } from './facts-quarters.js'
import { valuations } from './facts-valuation.js'

/** Bars of one timeframe, and what is known of the company; null where it can have no facts. */
export interface Company {
  ticker: string
  /** Date of each bar. */
  days: readonly number[]
  /** The day on which each bar is final. */
  known: readonly number[]
  /** Closes before any adjustment for dividends. */
  closes: readonly number[]
  facts: Facts | null
}

const VALUES = ['deep_value', 'undervalued', 'fair_value', 'overvalued', 'deeply_overvalued'] as const
const DIRECTIONS = ['deteriorating', 'decelerating', 'steady', 'accelerating'] as const

export const FUNDAMENTALS = {
  valuation_zone: VALUES,
  growth_zone: ['shrinking', 'slowing', 'stable', 'moderate_growth', 'high_growth'],
  earnings_proximity: ['within_days', 'this_week', 'this_month', 'next_month', 'not_soon'],
  analyst_consensus: ['strong_sell', 'sell', 'hold', 'buy', 'strong_buy'],
  pe_vs_historical: VALUES,
  pe_vs_sector: VALUES,
  revenue_growth_direction: DIRECTIONS,
  eps_growth_direction: DIRECTIONS,
  earnings_surprise: ['big_miss', 'missed', 'met', 'beat', 'big_beat'],
  analyst_consensus_direction: ['downgrading', 'stable', 'upgrading'],
  insider_activity_zone: [
    ...['heavy_selling', 'moderate_selling', 'neutral', 'moderate_buying', 'heavy_buying'],
    'no_activity',
  ],
  net_direction: ['strong_selling', 'selling', 'neutral', 'buying', 'strong_buying'],
} as const

export type FundamentalName = keyof typeof FUNDAMENTALS

/** One band a bar, null where undefined. `peers` are the other tickers of the sector, with bars of the same timeframe. */
export function oracleFundamentals(
  own: Company,
  timeframe: Timeframe,
  peers: readonly Company[] = [],
): Record<FundamentalName, (string | null)[]> {
  const { facts } = own
  if (facts === null) {
    const names = Object.keys(FUNDAMENTALS) as FundamentalName[]
    return Object.fromEntries(names.map(name => [name, own.days.map(() => null)])) as ReturnType<
      typeof oracleFundamentals
    >
  }
  const quarters = own.days.map((_, t) => quartersAt(own, t))
  const counts = allCounts(facts)
  const at = (band: (facts: Facts, date: number) => string | null) => own.days.map(date => band(facts, date))
  return {
    ...valuations(own, quarters, timeframe, peers),
    growth_zone: quarters.map(growthZone),
    earnings_proximity: at(earningsProximity),
    analyst_consensus: own.days.map(date => analystConsensus(counts, date)),
    revenue_growth_direction: quarters.map(revenueGrowthDirection),
    eps_growth_direction: quarters.map(epsGrowthDirection),
    earnings_surprise: at(earningsSurprise),
    analyst_consensus_direction: own.days.map(date => analystConsensusDirection(counts, date)),
    insider_activity_zone: at(insiderActivityZone),
    net_direction: at(netDirection),
  }
}
