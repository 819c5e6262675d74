import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { TierRestricted } from '../src/core/errors.js'
import { BUILT_IN_FIELDS } from '../src/core/fields/index.js'
import { formatDay, parseDay } from '../src/core/model/day.js'
import type { HistoricEvent } from '../src/core/model/event.js'
import { includesTier, TIER_NAMES, TIMEFRAME_NAMES, type Tier } from '../src/core/model/terms.js'
import { parseEvents } from '../src/core/params/questions.js'
import { entitleAftermath, eventForTier, PLANS } from '../src/core/tiers.js'
import { Local } from '../src/data/local/local.js'
import { simulatedTickers } from '../src/data/simulate/simulate.js'
import type { Store } from '../src/data/store/store.js'
import { notInQuick, QUICK } from './support/full.js'
import { loadedStore, openedForAll } from './support/store.js'

/** The table "Band fields" of the specification. */
const SPECIFIED: Record<Tier, string> = {
  free: 'rsi_zone, trend_direction, ma_alignment, volume_ratio_band, accumulation_state, volatility_regime, macd_state, support_status, resistance_status',
  plus: 'valuation_zone, growth_zone, earnings_proximity, analyst_consensus',
  pro: 'pe_vs_historical, pe_vs_sector, revenue_growth_direction, eps_growth_direction, earnings_surprise, analyst_consensus_direction, insider_activity_zone, net_direction',
}
const REQUIRED = TIER_NAMES.flatMap(required => SPECIFIED[required].split(', ').map(field => ({ field, required })))
const refusalOf = (feature: string, tier: Tier, required: Tier) =>
  includesTier(tier, required) ? null : { feature, tier, required_tier: required }

/** The feature and tier that a refusal names, or null where the question is allowed. */
function refusal(ask: () => void): Record<string, unknown> | null {
  try {
    ask()
    return null
  } catch (error) {
    if (!(error instanceof TierRestricted)) throw error
    const { upgrade_url, ...named } = error.payload()
    expect(upgrade_url).toBeNull()
    expect(error.code).toBe('tier_restricted')
    for (const part of [named.feature, named.required_tier, named.tier])
      expect(error.message.toLowerCase()).toContain(part)
    return named
  }
}

it('the specification lists all fields there are, in order', () => {
  expect(REQUIRED.map(({ field }) => field)).toEqual(BUILT_IN_FIELDS.names)
})

describe('what a tier sees', () => {
  const event: HistoricEvent = {
    date: '2024-03-01',
    band: 'oversold',
    prev_band: 'neutral_low',
    stability_at_entry: 'holding',
    flips_recent_at_entry: 2,
    flips_lookback: '30d',
    duration_days: 4,
    aftermath: { '5d': { performance: 'flat' }, '10d': null },
    returns: { '5d': 0.01, '10d': null },
    percentiles: { '5d': 50, '10d': null },
    missing: { '10d': 'pending' },
    context_band: null,
  }

  it('on Free is the transition and how long it lasted, nothing of what followed', () => {
    const { date, band, prev_band, duration_days } = event
    const seen = { date, band, prev_band, duration_days, aftermath: null, context_band: null }
    expect(eventForTier(event, 'free')).toEqual(seen)
    expect(event.returns).toBeDefined()
  })

  it.each(['plus', 'pro'] as const)('on %s is everything', tier => {
    expect(eventForTier(event, tier)).toEqual(event)
  })

  it('after events needs Plus', () => {
    for (const tier of TIER_NAMES)
      expect(refusal(() => entitleAftermath(tier))).toEqual(refusalOf('aftermath', tier, 'plus'))
  })
})

describe('the range of a tier', () => {
  it.each([
    ['free', '90d', '2024-05-30', '2024-03-01'],
    ['free', '90d', '2023-05-30', '2023-03-01'],
    ['plus', '2y', '2018-05-11', '2016-05-11'],
    ['plus', '2y', '2024-02-29', '2022-02-28'],
    ['pro', '5y', '2024-02-29', '2019-02-28'],
    ['pro', '5y', '2020-02-28', '2015-02-28'],
  ] as const)('%s: %s before %s begins after %s', (tier, range, today, start) => {
    expect(PLANS[tier].range).toBe(range)
    expect(formatDay(PLANS[tier].rangeStart(parseDay(today)!))).toBe(start)
  })
})

const PAGE = new URL('../../shared/spec/events-api.md', import.meta.url)
const reason = existsSync(PAGE) ? '' : ' (skipped: ../shared, which has the page, is not there)'

it.skipIf(!existsSync(PAGE))(`the page of the specification has the same table${reason}`, () => {
  const rows = readFileSync(PAGE, 'utf8').matchAll(/^\| (Free|Plus|Pro) \([a-z ]+\) \| ([a-z_, ]+) \|$/gm)
  expect(Object.fromEntries([...rows].map(([, tier, names]) => [tier!.toLowerCase(), names]))).toEqual(SPECIFIED)
})

let store: Store
openedForAll(async folder => {
  store = await loadedStore([...simulatedTickers({ count: 8, bars: 1260, seed: 4, end: 20_000 })], folder)
  return store
})

describe('21 fields × 3 tiers × 2 timeframes × any context, asked of a store', () => {
  /** One field of each tier, and all of them in a full run. */
  const others = QUICK ? TIER_NAMES.map(tier => REQUIRED.find(({ required }) => required === tier)!) : REQUIRED

  it.each(REQUIRED)('$field needs $required, alone and as a context', async ({ field, required }) => {
    for (const timeframe of TIMEFRAME_NAMES) {
      for (const tier of TIER_NAMES) {
        const params = { ticker: 'SIM0001', field, timeframe }
        const allowed = includesTier(tier, required)
        expect(await isAnswered(tier, params), tier).toBe(allowed)
        for (const other of others) {
          const context_band = BUILT_IN_FIELDS.named(other.field)!.bands[0]!
          const context = { context_ticker: 'SIM0002', context_field: other.field, context_band }
          const both = allowed && tier !== 'free' && includesTier(tier, other.required)
          const found = await isAnswered(tier, { ...params, ...context })
          expect(found, `${tier} ${timeframe} ${field} with ${other.field}`).toBe(both)
        }
      }
    }
  })
})

notInQuick('every field has events to show, daily and weekly', async () => {
  const local = new Local(store, 'pro', null)
  for (const timeframe of TIMEFRAME_NAMES) {
    for (const field of BUILT_IN_FIELDS.names) {
      let total = 0
      for (const ticker of await local.tickers())
        total += (await local.events(parseEvents({ ticker, field, timeframe }))).total_occurrences
      expect(total, `${timeframe} ${field}`).toBeGreaterThan(0)
    }
  }
})

async function isAnswered(tier: Tier, params: Record<string, string>): Promise<boolean> {
  try {
    const page = await new Local(store, tier, null).events(parseEvents(params as { ticker: string; field: string }))
    expect(page.query_range).toBe(PLANS[tier].range)
    expect(page.events.length).toBe(Math.min(10, page.total_occurrences))
    for (const event of page.events) expect(event.aftermath === null).toBe(tier === 'free')
    return true
  } catch (error) {
    if (!(error instanceof TierRestricted)) throw error
    expect(error.payload()).toMatchObject({ tier, upgrade_url: null })
    return false
  }
}
