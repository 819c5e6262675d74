import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TierRestricted } from '../src/errors.js'
import { FIELD_NAMES, FIELDS } from '../src/fields/index.js'
import { Local } from '../src/local/local.js'
import { formatDay, parseDay } from '../src/model/day.js'
import type { HistoricEvent } from '../src/model/event.js'
import { TIMEFRAME_NAMES, type Tier } from '../src/model/terms.js'
import { parseEvents } from '../src/params/parse.js'
import { simulatedTickers } from '../src/simulate/simulate.js'
import type { Store } from '../src/store/store.js'
import { entitle, entitleAftermath, PLANS, present } from '../src/tiers.js'
import { loadedStore } from './support/store.js'

/** The table "Band fields" of the specification. */
const SPECIFIED: Record<Tier, readonly string[]> = {
  free: [
    'rsi_zone',
    'trend_direction',
    'ma_alignment',
    'volume_ratio_band',
    'accumulation_state',
    'volatility_regime',
    'macd_state',
    'support_status',
    'resistance_status',
  ],
  plus: ['valuation_zone', 'growth_zone', 'earnings_proximity', 'analyst_consensus'],
  pro: [
    'pe_vs_historical',
    'pe_vs_sector',
    'revenue_growth_direction',
    'eps_growth_direction',
    'earnings_surprise',
    'analyst_consensus_direction',
    'insider_activity_zone',
    'net_direction',
  ],
}
const TIERS = ['free', 'plus', 'pro'] as const
const SPECIFIED_FIELDS = TIERS.flatMap(tier => SPECIFIED[tier].map(field => ({ field, required: tier })))
const open = (tier: Tier, required: Tier): boolean => TIERS.indexOf(tier) >= TIERS.indexOf(required)

/** The feature and tier that a refusal names, or null where the question is allowed. */
function refusal(ask: () => void): Record<string, unknown> | null {
  try {
    ask()
    return null
  } catch (error) {
    if (!(error instanceof TierRestricted)) throw error
    const { upgrade_url, ...named } = error.payload()
    expect(upgrade_url).toMatch(/^https:\/\//)
    expect(error.code).toBe('tier_restricted')
    for (const part of [named.feature, named.required_tier, named.tier])
      expect(error.message.toLowerCase()).toContain(part)
    return named
  }
}

it('the specification lists all fields there are, in order', () => {
  expect(SPECIFIED_FIELDS.map(({ field }) => field)).toEqual(FIELD_NAMES)
})

describe('21 fields × 3 tiers', () => {
  it.each(SPECIFIED_FIELDS)('$field needs $required', ({ field, required }) => {
    for (const tier of TIERS) {
      const expected = open(tier, required) ? null : { feature: field, tier, required_tier: required }
      expect(refusal(() => entitle({ field }, tier))).toEqual(expected)
    }
  })
})

describe('a context needs Plus, and the tier of its own field', () => {
  it.each(SPECIFIED_FIELDS)('on $field', ({ field, required }) => {
    for (const tier of TIERS) {
      const found = refusal(() => entitle({ field: 'rsi_zone', context: { ticker: 'SPY', field } }, tier))
      if (tier === 'free') expect(found).toEqual({ feature: 'cross-asset correlation', tier, required_tier: 'plus' })
      else expect(found).toEqual(open(tier, required) ? null : { feature: field, tier, required_tier: required })
    }
  })
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
    expect(present(event, 'free')).toEqual({
      date,
      band,
      prev_band,
      duration_days,
      aftermath: null,
      context_band: null,
    })
    expect(event.returns).toBeDefined()
  })

  it.each(['plus', 'pro'] as const)('on %s is everything', tier => {
    expect(present(event, tier)).toEqual(event)
  })

  it('after events needs Plus', () => {
    expect(refusal(() => entitleAftermath('free'))).toEqual({
      feature: 'aftermath',
      tier: 'free',
      required_tier: 'plus',
    })
    expect(refusal(() => entitleAftermath('plus'))).toBeNull()
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

const PAGE = new URL('../../../shared/spec/events-api.md', import.meta.url)

const folder = mkdtempSync(join(tmpdir(), 'bands-'))
let store: Store

beforeAll(async () => {
  store = await loadedStore([...simulatedTickers({ count: 8, bars: 1260, seed: 4, end: 20_000 })], folder)
})

afterAll(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(!existsSync(PAGE))(`21 fields × 3 tiers × 2 timeframes × any context${hint()}`, () => {
  const required = existsSync(PAGE) ? fieldsOfPage(readFileSync(PAGE, 'utf8')) : new Map<string, Tier>()

  it('the page names all fields that there are', () => {
    expect([...required.keys()]).toEqual(FIELD_NAMES)
  })

  it.each([...required])('%s needs %s, alone and as a context', async (field, tier) => {
    for (const timeframe of TIMEFRAME_NAMES) {
      for (const caller of TIERS) {
        const allowed = reaches(caller, tier)
        expect(await outcome(caller, { ticker: 'SIM0001', field, timeframe }), caller).toBe(allowed ? 200 : 403)
        for (const [other, otherTier] of required) {
          const context = { context_ticker: 'SIM0002', context_field: other, context_band: bandOf(other) }
          const both = allowed && caller !== 'free' && reaches(caller, otherTier)
          const found = await outcome(caller, { ticker: 'SIM0001', field, timeframe, ...context })
          expect(found, `${caller} ${timeframe} ${field} with ${other}`).toBe(both ? 200 : 403)
        }
      }
    }
  })
})

it('every field has events to show, daily and weekly', async () => {
  for (const timeframe of TIMEFRAME_NAMES) {
    for (const field of FIELD_NAMES) {
      const local = new Local(store, 'pro', null)
      const tickers = (await local.tickers()).map(async ticker => {
        const page = await local.events(parseEvents({ ticker, field, timeframe }))
        expect(page.query_range).toBe(PLANS.pro.range)
        return page.total_occurrences
      })
      const total = (await Promise.all(tickers)).reduce((sum, count) => sum + count, 0)
      expect(total, `${timeframe} ${field}`).toBeGreaterThan(0)
    }
  }
})

/** What the server would answer with. */
async function outcome(tier: Tier, params: Record<string, string>): Promise<number> {
  const local = new Local(store, tier, null)
  try {
    const page = await local.events(parseEvents(params as { ticker: string; field: string }))
    expect(page.events.length).toBe(Math.min(10, page.total_occurrences))
    for (const event of page.events) expect(event.aftermath === null).toBe(tier === 'free')
    return 200
  } catch (error) {
    if (!(error instanceof TierRestricted)) throw error
    expect(error.payload()).toMatchObject({ tier, upgrade_url: expect.stringMatching(/^https:/) })
    return 403
  }
}

/** The table "Band fields" of the specification. */
function fieldsOfPage(page: string): Map<string, Tier> {
  const rows = page.matchAll(/^\| (Free|Plus|Pro) \([a-z ]+\) \| ([a-z_, ]+) \|$/gm)
  const found = [...rows].flatMap(([, tier, names]) =>
    names!.split(', ').map(name => [name.trim(), tier!.toLowerCase() as Tier] as const),
  )
  return new Map(found)
}

function bandOf(field: string): string {
  return BANDS.get(field)!
}

const BANDS = new Map(FIELDS.map(field => [field.name, field.bands[0]!]))

function reaches(tier: Tier, required: Tier): boolean {
  return TIERS.indexOf(tier) >= TIERS.indexOf(required)
}

function hint(): string {
  return existsSync(PAGE) ? '' : ' (skipped: ../shared, which has the page, is not there)'
}
