import { describe, expect, it } from 'vitest'
import { parseDay } from '../../src/core/model/day.js'
import {
  DISTANCES,
  MARKET_CAP_TIERS,
  type OversoldMatch,
  type OversoldPage,
  RARITIES,
  SEVERITIES,
  VOLUME_CONTEXTS,
} from '../../src/core/model/event.js'
import { NO_FACTS } from '../../src/core/model/facts.js'
import { STABILITIES } from '../../src/core/model/series.js'
import { TIMEFRAME_NAMES } from '../../src/core/model/terms.js'
import type { OversoldParams } from '../../src/core/params/questions.js'
import { parseHistory } from '../../src/core/params/questions.js'
import { eventHistory } from '../../src/core/source.js'
import { Random } from '../../src/core/statistics/random.js'
import { Local } from '../../src/data/local/local.js'
import type { Store } from '../../src/data/store/store.js'
import { OVERSOLD_PAGE } from '../../src/server/wire/schemas.js'
import type { Bar } from '../support/bars.js'
import { draws, FULL, provenInFull } from '../support/full.js'
import { pick } from '../support/random-facts.js'
import { openedForAll } from '../support/store.js'
import {
  ask,
  cutAt,
  datesOf,
  type Given,
  type MarketForm,
  marketStore,
  oracleOf,
  randomMarket,
  randomQuestion,
} from './oversold-market.js'

const MARKET = randomMarket(21, { tickers: 9, bars: 460, facts: 0.8 })
const DATES = datesOf(MARKET)
/** Days with something to see, and days without. */
const SOME = ((random = new Random(5)) => Array.from({ length: FULL ? 14 : 3 }, () => pick(random, DATES.slice(120))))()

let store: Store
openedForAll(async folder => {
  store = await marketStore(MARKET, folder)
  return store
})

describe('a scan', () => {
  it('of a date is that of a store that ends on that day, and of one as of it', async () => {
    let matches = 0
    for (const date of SOME) {
      const cut = await marketStore(cutAt(MARKET, date))
      for (const timeframe of TIMEFRAME_NAMES) {
        const params = { timeframe, limit: 100 }
        const then = await asked({ ...params, date })
        expect(await ask(cut, { params, tier: 'pro', asOf: date }), `${timeframe} ${date}`).toEqual(then)
        expect(await ask(store, { params, tier: 'pro', asOf: date })).toEqual(then)
        matches += then.matches.length
      }
    }
    expect(matches).toBeGreaterThan(FULL ? 20 : 2)
  })

  it('is the same whatever prices and volumes are counted in', async () => {
    const plain = MARKET.map(one => ({ ...one, facts: { ...one.facts, reports: [] } }))
    const as = (price: number, volume: number): Promise<Store> =>
      marketStore(plain.map(one => scaled(one, price, volume)))
    const stores = await Promise.all([as(1, 1), as(0.01, 7), as(3, 1 / 3), as(1 / 7, 1000)])
    for (const date of SOME) {
      for (const timeframe of TIMEFRAME_NAMES) {
        const params = { timeframe, date, limit: 100 }
        const [first, ...others] = await Promise.all(stores.map(one => ask(one, { params, tier: 'pro', asOf: null })))
        for (const other of others) expect(other).toEqual(first)
      }
    }
  })

  it('has the same figures for a ticker regardless of others, except comparisons', async () => {
    const some = await marketStore(MARKET.filter((_, i) => i % 2 === 0))
    for (const date of SOME) {
      for (const timeframe of TIMEFRAME_NAMES) {
        const all = (await asked({ timeframe, date, limit: 100 })).matches.map(alone)
        const few = (await ask(some, { params: { timeframe, date, limit: 100 }, tier: 'pro', asOf: DATES.at(-1)! }))
          .matches
        const names = new Set(MARKET.filter((_, i) => i % 2 === 0).map(({ ticker }) => ticker))
        expect(few.map(alone)).toEqual(all.filter(({ ticker }) => names.has(ticker)))
      }
    }
  })

  it('has for every field the band of its history', async () => {
    for (const date of SOME) {
      const local = new Local(store, 'pro', parseDay(date))
      for (const match of (await asked({ date, limit: 100 })).matches) {
        for (const key of BANDS) {
          if (match[key] === undefined) continue
          const field = key === 'trend_context' ? 'trend_direction' : key
          const { present } = await eventHistory(local, parseHistory({ ticker: match.ticker, field }))
          expect(match[key], `${match.ticker} ${field} ${date}`).toBe(present?.band ?? null)
        }
      }
    }
  })

  it('lets others in while it works', async () => {
    const bars = MARKET.find(one => one.bars.at(-1)!.date === DATES.at(-1))!.bars.slice(-40)
    const tickers = Array.from({ length: 50 }, (_, i) => ({ ...MARKET[0]!, ticker: `T${i}`, bars }))
    const large = await marketStore(tickers.map(one => ({ ...one, facts: NO_FACTS })))
    let turns = 0
    const turn = (): void => {
      turns++
      next = setImmediate(turn)
    }
    let next = setImmediate(turn)
    const page = await ask(large, { params: { limit: 1 }, tier: 'pro', asOf: null })
    clearImmediate(next)
    expect(page.total_scanned).toBe(50)
    expect(turns).toBeGreaterThanOrEqual(3)
  })
})

/** Keys that are bands of fields; all but one are called as the field is. */
const BANDS = [
  ...(['rsi_zone', 'volume_ratio_band', 'trend_context', 'accumulation_state'] as const),
  ...(['valuation_zone', 'earnings_proximity', 'growth_zone', 'analyst_consensus'] as const),
]

/** Whatever the day, as of the newest bar. */
function asked(params: OversoldParams): Promise<OversoldPage> {
  return ask(store, { params: params as OversoldParams & { limit: number }, tier: 'pro', asOf: null })
}

/** Without what other tickers decide. */
function alone(match: OversoldMatch): Partial<OversoldMatch> & { ticker: string } {
  const { valuation_zone, sector_rsi_zone, sector_agreement, sector_oversold_count, sector_total_count, ...own } = match
  return own
}

function scaled(one: Given, price: number, volume: number): Given {
  const bar = ({ open, high, low, close, volume: traded, ...rest }: Bar): Bar => ({
    ...rest,
    open: open * price,
    high: high * price,
    low: low * price,
    close: close * price,
    volume: traded === null ? null : traded * volume,
  })
  return { ...one, bars: one.bars.map(bar) }
}

/** What is drawn, and how often; the last is longer than the history of a percentile. */
const FORMS: readonly (readonly [MarketForm, seeds: number])[] = [
  [{ tickers: 12, bars: 560, facts: 0.7 }, 3],
  [{ tickers: 4, bars: 1450, facts: 0.2 }, 1],
]
const QUESTIONS = FULL ? 400 : 12

describe("a scan's page is the oracle's, byte for byte", () => {
  it('of random markets, whatever is asked, and every word of the scan occurs in full', async () => {
    const seen = new Set<string>()
    for (const [form, seeds] of FULL ? FORMS : FORMS.slice(0, 1))
      for (let seed = 1; seed <= draws(seeds); seed++)
        for (const match of await expectOracle(seed, form))
          for (const [key, value] of Object.entries(match)) seen.add(`${key} ${value}`)
    if (FULL) expect(WORDS.filter(word => !seen.has(word))).toEqual([])
    else expect(seen.size).toBeGreaterThan(20)
  })
})

provenInFull('day by day, where the first bars leave the history that percentiles and streaks look at', async () => {
  // A ticker of which one bar more or less in that history makes another rarity, daily and weekly.
  const market = randomMarket(16, { tickers: 3, bars: 1700, facts: 0 }).slice(0, 1)
  const store = await marketStore(market)
  const oracle = await oracleOf(store, market)
  let matches = 0
  for (const asOf of datesOf(market).slice(1260, 1450)) {
    for (const timeframe of TIMEFRAME_NAMES) {
      const own = await ask(store, { params: { timeframe }, tier: 'pro', asOf })
      expect(own, `${timeframe} ${asOf}`).toEqual(oracle.page({ timeframe, tier: 'pro', today: asOf }))
      matches += own.matches.length
    }
  }
  expect(matches).toBeGreaterThan(20)
  await store.close()
})

const WORDS = Object.entries({
  asset_class: ['stock', 'crypto', 'etf', null],
  rsi_zone: SEVERITIES,
  condition_rarity: [...RARITIES, null],
  sector: ['Energy', 'energy', 'ENERGY', 'Basic Materials', null],
  market_cap_tier: [...MARKET_CAP_TIERS, null],
  stochastic_zone: ['deep_oversold', 'oversold', 'neutral_low', 'neutral', null],
  volume_context: [...VOLUME_CONTEXTS, null],
  nearest_support_distance: [...DISTANCES, null],
  valuation_zone: ['deep_value', 'undervalued', 'fair_value', null],
  rsi_zone_stability: STABILITIES,
  sector_agreement: [true, false, null],
  historical_median_oversold_days: [null],
}).flatMap(([key, values]) => values.map(value => `${key} ${value}`))

async function expectOracle(seed: number, form: MarketForm) {
  const market = randomMarket(seed, form)
  const store = await marketStore(market)
  const oracle = await oracleOf(store, market)
  const dates = datesOf(market)
  const random = new Random(seed)
  const matches = []
  for (let i = 0; i < QUESTIONS; i++) {
    const question = randomQuestion(random, dates)
    const { params, tier, asOf } = question
    const own = await ask(store, question)
    const theirs = oracle.page({ ...params, tier, today: asOf ?? dates.at(-1)! })
    expect(OVERSOLD_PAGE.parse(own)).toEqual(own)
    expect(JSON.stringify(own), `seed ${seed}, ${JSON.stringify(question)}`).toBe(JSON.stringify(theirs))
    matches.push(...own.matches)
  }
  await store.close()
  return matches
}
