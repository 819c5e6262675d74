import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Local } from '../../src/local/local.js'
import { parseDay } from '../../src/model/day.js'
import { NO_FACTS } from '../../src/model/facts.js'
import type { OversoldMatch, OversoldPage } from '../../src/model/oversold.js'
import { TIER_NAMES, TIMEFRAME_NAMES } from '../../src/model/terms.js'
import type { OversoldParams } from '../../src/params/parameters.js'
import { parseHistory } from '../../src/params/parse.js'
import { eventHistory } from '../../src/source.js'
import { Random } from '../../src/statistics/random.js'
import type { Store } from '../../src/store/store.js'
import { OVERSOLD_KEYS } from '../../src/tiers.js'
import { OVERSOLD_PAGE } from '../../src/wire/schemas.js'
import type { Bar } from '../support/bars.js'
import { pick } from '../support/random-facts.js'
import { ask, cutAt, datesOf, type Given, marketStore, randomMarket } from './oversold-market.js'

const MARKET = randomMarket(21, { tickers: 9, bars: 460, facts: 0.8 })
const DATES = datesOf(MARKET)
/** Days with something to see, and days without. */
const SOME = ((random = new Random(5)) => Array.from({ length: 14 }, () => pick(random, DATES.slice(120))))()

const folder = mkdtempSync(join(tmpdir(), 'bands-'))
let store: Store
beforeAll(async () => {
  store = await marketStore(MARKET, folder)
})
afterAll(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
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
    expect(matches).toBeGreaterThan(20)
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

  it('tells of a ticker the same whoever else is loaded, but for what compares it', async () => {
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

  it('shows a higher tier all that a lower one sees, and the keys of its own', async () => {
    for (const asOf of SOME) {
      for (const timeframe of TIMEFRAME_NAMES) {
        const pages = await Promise.all(TIER_NAMES.map(tier => ask(store, { params: { timeframe }, tier, asOf })))
        for (const [i, page] of pages.entries()) {
          for (const match of page.matches) {
            const own = OVERSOLD_KEYS[TIER_NAMES[i]!].filter(key => hasFundamentals(match) || !FUNDAMENTAL.has(key))
            expect(Object.keys(match)).toEqual(own)
          }
          expect(OVERSOLD_PAGE.parse(page)).toEqual(page)
          expect(page).toMatchObject(pages[0]!)
          expect(pages.at(-1)).toMatchObject(page)
        }
      }
    }
  })

  it('has a prefix for a limit, the same counts for every order, and severities that part it', async () => {
    for (const asOf of SOME) {
      const whole = await ask(store, { params: { limit: 100 }, tier: 'pro', asOf })
      for (const sort_by of ['severity', 'days_oversold', 'condition_percentile']) {
        const all = await ask(store, { params: { limit: 100, sort_by }, tier: 'pro', asOf })
        expect(all.matches.map(({ ticker }) => ticker).sort()).toEqual(whole.matches.map(({ ticker }) => ticker).sort())
        const cut = await ask(store, { params: { limit: 2, sort_by }, tier: 'pro', asOf })
        expect(cut).toEqual({ ...all, matches: all.matches.slice(0, 2) })
      }
      const deep = await ask(store, { params: { limit: 100, min_severity: 'deep_oversold' }, tier: 'pro', asOf })
      expect(deep.matches).toEqual(whole.matches.filter(({ rsi_zone }) => rsi_zone === 'deep_oversold'))
      expect(deep.total_scanned).toBe(whole.total_scanned)
      expect(deep.match_count).toBe(deep.matches.length)
    }
  })

  it('tells of every field the band that its history tells', async () => {
    for (const date of SOME) {
      const local = new Local(store, 'pro', parseDay(date))
      for (const match of (await asked({ date, limit: 100 })).matches) {
        for (const [key, field] of FIELD_OF) {
          if (match[key] === undefined) continue
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

const FUNDAMENTAL: ReadonlySet<string> = new Set([
  'valuation_zone',
  'earnings_proximity',
  'growth_zone',
  'analyst_consensus',
])

/** Keys that are bands of fields, and the fields. */
const FIELD_OF: readonly (readonly [keyof OversoldMatch, string])[] = [
  ['rsi_zone', 'rsi_zone'],
  ['volume_ratio_band', 'volume_ratio_band'],
  ['trend_context', 'trend_direction'],
  ['accumulation_state', 'accumulation_state'],
  ['valuation_zone', 'valuation_zone'],
  ['earnings_proximity', 'earnings_proximity'],
  ['growth_zone', 'growth_zone'],
  ['analyst_consensus', 'analyst_consensus'],
]

/** Whatever the day, as of the newest bar. */
function asked(params: OversoldParams): Promise<OversoldPage> {
  return ask(store, { params: params as OversoldParams & { limit: number }, tier: 'pro', asOf: null })
}

function hasFundamentals({ asset_class }: OversoldMatch): boolean {
  return asset_class === 'stock' || asset_class === null
}

/** Without what other tickers decide. */
function alone(match: OversoldMatch): Partial<OversoldMatch> & { ticker: string } {
  const { valuation_zone, sector_rsi_zone, sector_agreement, sector_oversold_count, sector_total_count, ...own } = match
  return own
}

function scaled(one: Given, price: number, volume: number): Given {
  const bar = ({ open, high, low, close, volume: traded, ...rest }: Bar): Bar => ({
    ...rest,
    ...{ open: open * price, high: high * price, low: low * price, close: close * price },
    volume: traded === null ? null : traded * volume,
  })
  return { ...one, bars: one.bars.map(bar) }
}
