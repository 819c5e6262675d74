import { describe, expect, it } from 'vitest'
import { assortedBars, randomBars, randomNumbers, SHAPES } from '../support/bars.js'
import { draws, FULL } from '../support/full.js'
import { dayAfter } from '../support/oracle/bars.js'
import { expectOracle } from './same.js'

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

function expectBoth(bars: Parameters<typeof expectOracle>[0], what: string): void {
  for (const timeframe of ['daily', 'weekly'] as const) expectOracle(bars, timeframe, what)
}
