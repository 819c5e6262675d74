import { describe, expect, it } from 'vitest'
import { FUNDAMENTAL_FIELDS } from '../../src/fields/index.js'
import { tradedClose } from '../../src/model/series.js'
import type { Timeframe } from '../../src/model/terms.js'
import { draws, FULL } from '../support/full.js'
import { type Company, FUNDAMENTALS, oracleFundamentals } from '../support/oracle/facts.js'
import { fundamentalBands, type Listed, type Market, type MarketForm, randomMarket } from '../support/random-market.js'

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
      for (const [form, runs] of DRAWS[timeframe]) {
        for (let seed = 1; seed <= draws(runs); seed++) {
          const bands = expectOracle(randomMarket(seed, form), timeframe, `seed ${seed} of ${JSON.stringify(form)}`)
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

function expectOracle(market: Market, timeframe: Timeframe, what: string): ReturnType<typeof oracleFundamentals> {
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
