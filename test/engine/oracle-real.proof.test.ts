import { describe, expect, it } from 'vitest'
import { loadPrices, loadUniverse, priceNames, SHARED, universeTickers } from '../support/bars.js'
import { draws, FULL, NIGHT } from '../support/full.js'
import type { Bar } from '../support/oracle/index.js'
import { expectOracle } from './same.js'

const absent = SHARED === null ? ' (skipped: the folder of shared data is absent)' : ''
const skipped = NIGHT ? '' : ' (skipped: takes an hour, the oracle is quadratic; set BANDS_FULL=2)'

/** The oracle ranks every return among all before it: 15,821 bars take it twenty seconds. */
const RECENT = FULL ? 3_000 : 300

describe.skipIf(SHARED === null)(`every event of real bars equals the oracle's${absent}`, () => {
  it.each(priceNames() ?? [])(`%s, its last ${RECENT} bars`, name => {
    const bars = loadPrices(name)!.slice(-RECENT)
    expectBoth(bars, name, name === 'BTCUSD' ? 'crypto' : undefined)
  })

  // Whole ones, the shortest, one listed in mid-file, holes (BMY, ORCL, ES), bad rows (BHF, FTV, AOS), a half price (LNT).
  it.each(['AAPL', 'AOS', 'APTV', 'BHF', 'BMY', 'ES', 'FTV', 'LNT', 'ORCL', 'UA', 'WRK', 'ZTS'])(
    '%s of the universe',
    ticker => {
      expectBoth(loadUniverse(ticker)!.slice(FULL ? 0 : -RECENT), ticker)
    },
  )

  it('the shortest tickers of the universe', () => {
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
