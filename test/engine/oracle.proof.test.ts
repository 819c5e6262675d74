import { describe, expect, it } from 'vitest'
import { FUNDAMENTAL_FIELDS } from '../../src/core/fields/index.js'
import { tradedClose } from '../../src/core/model/series.js'
import type { Timeframe } from '../../src/core/model/terms.js'
import {
  assortedBars,
  loadPrices,
  loadUniverse,
  priceNames,
  randomBars,
  randomNumbers,
  SHAPES,
  SHARED,
  universeTickers,
} from '../support/bars.js'
import { draws, FULL, firstInQuick, NIGHT, notInQuick } from '../support/full.js'
import { dayAfter } from '../support/oracle/bars.js'
import { type Company, FUNDAMENTALS, oracleFundamentals } from '../support/oracle/facts.js'
import type { Bar } from '../support/oracle/index.js'
import { fundamentalBands, type Listed, type Market, type MarketForm, randomMarket } from '../support/random-market.js'
import { expectOracle } from './drawn.js'

describe("every event of random bars equals the oracle's", () => {
  it.each(Object.keys(SHAPES))('eight series of shape %s, one of them seven years long', shape => {
    for (let seed = 1; seed <= draws(7); seed++) {
      const length = 30 + Math.floor(randomNumbers(seed)() * 900)
      expectBoth(randomBars(seed, { ...SHAPES[shape]!, length }), `shape ${shape}, seed ${seed}, length ${length}`)
    }
    if (FULL) expectBoth(randomBars(8, { ...SHAPES[shape]!, length: 1_800 }), `shape ${shape}, seed 8, length 1800`)
  })

  it('forty assorted series, a quarter of them short', () => {
    for (let seed = 1_000; seed < 1_000 + draws(40); seed++)
      expectBoth(assortedBars(seed, 700), `assorted, seed ${seed}`)
  })

  it('as of a date that need not be a session', () => {
    let events = 0
    for (let seed = 1; seed <= draws(20); seed++) {
      const random = randomNumbers(seed)
      const bars = assortedBars(seed + 5_000, 700)
      for (let i = 0; i < 3; i++) {
        const asOf = dayAfter(bars[Math.floor(random() * bars.length)]!.date, Math.floor(random() * 4))
        for (const timeframe of ['daily', 'weekly'] as const)
          events += expectOracle(bars, timeframe, `seed ${seed + 5_000} as of ${asOf}`, { asOf })
      }
    }
    expect(events).toBeGreaterThan(draws(1_000))
  })

  it('of a seven-day ticker whose first bars were all weekdays, told to be crypto', () => {
    for (let seed = 1; seed <= draws(5); seed++) {
      const bars = randomBars(seed, { ...SHAPES.sevenDays!, length: 900, start: '2012-01-05' })
      for (const timeframe of ['daily', 'weekly'] as const)
        expectOracle(bars, timeframe, `crypto, seed ${seed}`, { assetClass: 'crypto', asOf: bars[898]!.date })
    }
  })
})

const absent = SHARED === null ? ' (skipped: the folder of shared data is absent)' : ''
const skipped = NIGHT ? '' : ' (skipped: takes an hour, the oracle is quadratic; set BANDS_FULL=2)'

/** The oracle ranks every return among all before it: 15,821 bars take it twenty seconds. */
const RECENT = FULL ? 3_000 : 300

describe.skipIf(SHARED === null)(`every event of real bars equals the oracle's${absent}`, () => {
  it.each(firstInQuick(priceNames() ?? [], 3))(`%s, its last ${RECENT} bars`, name => {
    const bars = loadPrices(name)!.slice(-RECENT)
    expectBoth(bars, name, name === 'BTCUSD' ? 'crypto' : undefined)
  })

  // Whole ones, the shortest, one listed in mid-file, holes (BMY, ORCL, ES), bad rows (BHF, FTV, AOS), a half price (LNT).
  it.each(firstInQuick(['APTV', 'AOS', 'BMY', 'AAPL', 'BHF', 'ES', 'FTV', 'LNT', 'ORCL', 'UA', 'WRK', 'ZTS'], 3))(
    '%s of the universe',
    ticker => {
      expectBoth(loadUniverse(ticker)!.slice(FULL ? 0 : -RECENT), ticker)
    },
  )

  notInQuick('the shortest tickers of the universe', () => {
    const shortest = universeTickers()!
      .map(ticker => ({ ticker, bars: loadUniverse(ticker)! }))
      .sort((a, b) => a.bars.length - b.bars.length)
      .slice(0, draws(10))
    for (const { ticker, bars } of shortest) expectBoth(bars, ticker)
  })

  it('AAPL as of every day around Good Friday 2018', () => {
    const bars = loadPrices('AAPL')!.slice(FULL ? 0 : -RECENT)
    for (let date = 28; date <= 31; date++) {
      for (const timeframe of ['daily', 'weekly'] as const)
        expectOracle(bars, timeframe, `AAPL as of ${date} March`, { asOf: `2018-03-${date}` })
    }
  })
})

describe.skipIf(SHARED === null || !NIGHT)(`the same of every bar there is${absent || skipped}`, () => {
  it.each(priceNames() ?? [])('%s, whole', name => {
    const bars = loadPrices(name)!
    expectBoth(bars, name, name === 'BTCUSD' ? 'crypto' : undefined)
  })

  it('all tickers of the universe', () => {
    const tickers = universeTickers()!
    expect(tickers.length).toBe(505)
    let events = 0
    for (const ticker of tickers) events += expectBoth(loadUniverse(ticker)!, ticker)
    process.stdout.write(`universe: ${tickers.length} tickers, ${events} events\n`)
  })
})

function expectBoth(bars: Bar[], what: string, assetClass?: 'crypto'): number {
  const daily = expectOracle(bars, 'daily', what, { assetClass })
  const weekly = expectOracle(bars, 'weekly', what, { assetClass })
  if (NIGHT) process.stdout.write(`${what}: ${bars.length} bars, ${daily} daily and ${weekly} weekly events\n`)
  return daily + weekly
}

const DAILY: MarketForm = { timeframe: 'daily', basis: 'mixed', peers: 0, length: 420 }
const WEEKLY: MarketForm = { ...DAILY, timeframe: 'weekly', length: 800 }

/** What is drawn, and how often; one of each timeframe is longer than the history of a percentile. */
const DRAWS: Record<Timeframe, readonly (readonly [MarketForm, number])[]> = {
  daily: [
    [DAILY, 28],
    [{ ...DAILY, basis: 'filed' }, 14],
    [{ ...DAILY, peers: 6, length: 520 }, 12],
    [{ ...DAILY, length: 1_400 }, 1],
  ],
  weekly: [
    [WEEKLY, 20],
    [{ ...WEEKLY, peers: 7, length: 640 }, 24],
    [{ ...WEEKLY, length: 1_500 }, 2],
  ],
}

describe("every fundamental band of every bar equals the oracle's", () => {
  it.each(['daily', 'weekly'] as const)(
    'of random tickers and sectors, %s, among which all bands occur in full',
    timeframe => {
      const seen = new Set<string>()
      for (const [form, runs] of firstInQuick(DRAWS[timeframe], 2)) {
        for (let seed = 1; seed <= draws(runs); seed++) {
          const bands = expectFundamentals(
            randomMarket(seed, form),
            timeframe,
            `seed ${seed} of ${JSON.stringify(form)}`,
          )
          for (const [field, list] of Object.entries(bands)) for (const band of list) seen.add(`${field} ${band}`)
        }
      }
      if (FULL) expect(missing(seen)).toEqual([])
      else expect(seen.size).toBeGreaterThan(20)
    },
  )

  it('has the vocabularies of the page', () => {
    const own = Object.fromEntries(FUNDAMENTAL_FIELDS.map(field => [field.name, [...field.bands].sort()]))
    const theirs = Object.entries(FUNDAMENTALS).map(([name, bands]) => [name, [...bands].sort()])
    expect(own).toEqual(Object.fromEntries(theirs))
    expect(FUNDAMENTAL_FIELDS.map(field => field.name)).toEqual(Object.keys(FUNDAMENTALS))
  })
})

function expectFundamentals(market: Market, timeframe: Timeframe, what: string): ReturnType<typeof oracleFundamentals> {
  const own = fundamentalBands(market)
  const theirs = oracleFundamentals(companyOf(market.own), timeframe, market.peers.map(companyOf))
  for (const [field, bands] of Object.entries(theirs)) {
    const t = bands.findIndex((band, i) => band !== own[field]![i])
    if (t >= 0) expect(own[field]![t], `${what}, ${field}, bar ${t}`).toBe(bands[t])
    expect(own[field]!.length, `${what}, ${field}: number of bars`).toBe(bands.length)
  }
  return theirs
}

function companyOf({ ticker, series, facts }: Listed): Company {
  return { ticker, days: [...series.days], known: [...series.known], closes: [...tradedClose(series)], facts }
}

/** Bands, and the lack of one, that have not been seen. */
function missing(seen: ReadonlySet<string>): string[] {
  const all = Object.entries(FUNDAMENTALS).flatMap(([field, bands]) => [...bands, null].map(band => `${field} ${band}`))
  return all.filter(one => !seen.has(one))
}
