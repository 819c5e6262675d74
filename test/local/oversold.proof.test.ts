import { describe, expect, it } from 'vitest'
import { DISTANCES, MARKET_CAP_TIERS, RARITIES, SEVERITIES, VOLUME_CONTEXTS } from '../../src/core/model/event.js'
import { NO_FACTS } from '../../src/core/model/facts.js'
import { STABILITIES } from '../../src/core/model/series.js'
import { TIMEFRAME_NAMES } from '../../src/core/model/terms.js'
import { Random } from '../../src/core/statistics/random.js'
import type { Store } from '../../src/data/store/store.js'
import { OVERSOLD_PAGE } from '../../src/server/wire/schemas.js'
import { draws, FULL, provenInFull } from '../support/full.js'
import { openedForAll } from '../support/store.js'
import {
  ask,
  datesOf,
  type MarketForm,
  marketStore,
  oracleOf,
  randomMarket,
  randomQuestion,
} from './oversold-market.js'

const MARKET = randomMarket(21, { tickers: 9, bars: 460, facts: 0.8 })
const DATES = datesOf(MARKET)

let store: Store
openedForAll(async folder => {
  store = await marketStore(MARKET, folder)
  return store
})

describe('a scan', () => {
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
