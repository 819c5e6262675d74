import { beforeAll, describe, expect, it } from 'vitest'
import { mean } from '../../src/core/statistics/moments.js'
import { sweep } from '../../src/research/sweep/sweep.js'
import { print, Rejections } from '../study/support/rejections.js'
import { marketOf } from '../study/support/study-market.js'
import { draws, NIGHT, provenInFull } from '../support/full.js'
import { fairRejections, nullMarket, type Walk } from '../support/null-markets.js'
import { asked } from './support/market.js'

/*
 * What judges the best of many on prices that nothing foretells. These walks have no drift; those of volatility with falls,
 * and what a single backtest is judged by, are in test/levels. The seed is the day on which this was written.
 */
const SEED = 20261121
const WALKS: readonly Walk[] = ['iid', 'garch', 'student']
const CORRECTIONS = ['Benjamini-Hochberg', 'reality check', 'SPA', 'SPA, upper', 'deflated Sharpe ratio']
const QUERY = { fields: ['rsi_zone', 'macd_state', 'trend_direction'], resamples: 199 }

describe.each([
  { what: 'one ticker', tickers: 1, runs: draws(40) },
  { what: 'four tickers that move together', tickers: 4, runs: draws(24) },
])('of $runs sweeps in which nothing is to be found, $what,', ({ what, tickers, runs }) => {
  const found = new Rejections()
  const overfitting: number[] = []
  let uncorrected = 0
  beforeAll(async () => {
    for (let run = 0; run < runs; run++) {
      const market = nullMarket(SEED + run, { walk: WALKS[run % WALKS.length]!, tickers, bars: 1250 })
      const names = market.map(({ ticker }) => ticker).filter(name => name !== 'MKT')
      const {
        best,
        cells,
        found: significant,
      } = await sweep(marketOf(market), asked({ ...QUERY, tickers: names, seed: run }))
      found.add('Benjamini-Hochberg', significant > 0 ? 0 : 1)
      found.add('reality check', best.reality_check)
      found.add('SPA', best.spa?.consistent ?? null)
      found.add('SPA, upper', best.spa?.upper ?? null)
      found.add('deflated Sharpe ratio', best.deflated_sharpe === null ? null : 1 - best.deflated_sharpe)
      if (best.pbo !== null) overfitting.push(best.pbo.probability)
      if (cells.some(({ p }) => p !== null && p < 0.05)) uncorrected++
    }
    if (NIGHT) print(`${found.table(what)}\n  PBO ${mean(overfitting)}; some p below .05 in ${uncorrected} of ${runs}`)
  })

  it.each(CORRECTIONS)('nearly every run is judged: %s', test => {
    expect(found.of(test).n).toBeGreaterThan(0.95 * runs)
    expect(overfitting.length).toBeGreaterThan(0.95 * runs)
  })

  provenInFull.each(CORRECTIONS)('%s takes something for real in no more than one of twenty', test => {
    const { n, rejected } = found.of(test)
    expect(rejected).toBeLessThanOrEqual(fairRejections(n).most)
  })

  provenInFull('the best is overfitted as often as not', () => {
    expect(Math.abs(mean(overfitting)! - 0.5)).toBeLessThan(0.1)
  })

  provenInFull('without a correction most of them have a finding', () => {
    expect(uncorrected / runs).toBeGreaterThan(0.3)
  })
})
