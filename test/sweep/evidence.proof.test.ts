import { describe, expect, it } from 'vitest'
import { sweep } from '../../src/sweep/sweep.js'
import { draws } from '../support/full.js'
import { fairRejections } from '../support/null-markets.js'
import { asked, type MadeMarket, madeMarket } from './support/market.js'

const RUNS = draws(30)
/** So many of the runs, each with a chance of 5 %, are exceeded once in 1,000 times (binomial quantile). */
const MOST = RUNS === 30 ? 6 : fairRejections(RUNS).most

/** How many of many markets without any edge have something to find, by each of the ways to say so. */
async function falseAlarms(form: Omit<MadeMarket, 'seed'>, over = {}) {
  const alarms = { q: 0, realityCheck: 0, spa: 0 }
  for (let seed = 1; seed <= RUNS; seed++) {
    const market = madeMarket({ ...form, seed })
    const { found, best } = await sweep(market, asked({ tickers: await market.withBars(), seed, ...over }))
    if (found > 0) alarms.q++
    if (best.reality_check! < 0.05) alarms.realityCheck++
    if (best.spa!.consistent < 0.05) alarms.spa++
  }
  return alarms
}

describe('on random walks', () => {
  it('about 5 % of sweeps or fewer find anything, with bands made of the same prices', async () => {
    const alarms = await falseAlarms({ tickers: 5, bars: 900, common: 0.4 })
    for (const count of Object.values(alarms)) expect(count).toBeLessThanOrEqual(MOST)
  })

  it('nor with bands that have nothing to do with prices, all tickers moving together', async () => {
    const alarms = await falseAlarms({ tickers: 5, bars: 900, common: 0.8, chained: ['rsi_zone'], leaving: 0.15 })
    for (const count of Object.values(alarms)) expect(count).toBeLessThanOrEqual(MOST)
  })
})

describe('an edge that was planted', () => {
  const planted = { field: 'rsi_zone', band: 2, bars: 5, drift: 0.004 }
  const market = madeMarket({ seed: 11, tickers: 8, bars: 1200, common: 0.3, chained: ['rsi_zone'], planted })

  it('is found where it is, with its size within the interval, and the best is real', async () => {
    const query = asked({ tickers: await market.withBars(), horizons: [5, 10, 20], resamples: 199 })
    const { cells, found, best } = await sweep(market, query)
    const [first] = cells
    expect({ band: first!.band, found: found > 0 }).toEqual({ band: 'neutral_low', found: true })
    const cell = cells.find(({ band, horizon }) => band === 'neutral_low' && horizon === 5)!
    expect(cell.q!).toBeLessThan(0.05)
    expect(cell.diff!).toBeGreaterThan(0)
    expect(cell.t!).toBeGreaterThan(3)
    // What the base has of the drift itself, a sixth of the bars or so, is no part of the difference.
    const truth = Math.expm1(5 * planted.drift)
    expect(cell.low!).toBeLessThan(truth)
    expect(cell.high!).toBeGreaterThan(0.6 * truth)
    expect(best.reality_check!).toBeLessThan(0.05)
    expect(best.spa!.consistent).toBeLessThan(0.05)
    expect(best.best_cell).toMatch(/^rsi_zone = neutral_low/)
  })

  it('is chosen on the past alone, and holds where it was not looked for', async () => {
    const walkForward = { train: 500, test: 200, step: 200, anchored: true, embargo: 5 }
    const query = asked({ tickers: await market.withBars(), horizons: [5], walkForward })
    const { folds, test } = (await sweep(market, query)).validation!
    expect(folds.length).toBe(4)
    for (const { chosen } of folds) expect(chosen).toContain('rsi_zone = neutral_low; 5d')
    expect(test.diff!).toBeGreaterThan(0.005)
    expect(test.n).toBeGreaterThan(50)
  })
})
