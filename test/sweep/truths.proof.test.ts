import { beforeAll, describe, expect, it } from 'vitest'
import { parseStrategyDocument } from '../../src/core/params/strategy-file.js'
import { mean } from '../../src/core/statistics/moments.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import { sweep } from '../../src/research/sweep/sweep.js'
import { PLAIN } from '../backtest/support/made-market.js'
import { print, Rejections } from '../study/support/rejections.js'
import { marketOf } from '../study/support/study-market.js'
import { draws, NIGHT, provenInFull } from '../support/full.js'
import { fairRejections, nullMarket, type Walk } from '../support/null-markets.js'
import { asked } from './support/market.js'

/*
 * On prices that nothing foretells: what a backtest is judged by, and what judges the best of many. Sharpe ratios are held
 * against 0, so that these walks have no drift; those of volatility with falls stand in test/levels. The seed is the day on which this was written.
 */
const SEED = 20261121
const WALKS: readonly Walk[] = ['iid', 'garch', 'student']
const JUDGES = ['as good as random entries', 'Sharpe ratio above 0', 'Sharpe ratio below 0']
const CORRECTIONS = ['Benjamini-Hochberg', 'reality check', 'SPA', 'SPA, upper', 'deflated Sharpe ratio']
const QUERY = { fields: ['rsi_zone', 'macd_state', 'trend_direction'], resamples: 199 }
const STOPS = { hold: 40, stop: 0.05, target: '3atr', on: { bands: ['neutral_high', 'overbought'] } }

describe.each([
  { what: 'one ticker', tickers: 1, bars: 2500, runs: draws(240), exit: { hold: 20 }, walks: WALKS },
  { what: 'a stop, a target and the next band', tickers: 1, bars: 2500, runs: draws(100), exit: STOPS, walks: WALKS },
  { what: 'twelve tickers', tickers: 12, bars: 1250, runs: draws(80), exit: { hold: 20 }, walks: WALKS },
])('of $runs backtests that have no edge, $what,', ({ what, tickers, bars, runs, exit, walks }) => {
  const found = new Rejections()
  beforeAll(async () => {
    for (let run = 0; run < runs; run++) {
      const market = nullMarket(SEED + run, { walk: walks[run % walks.length]!, tickers, bars })
      const strategy = parseStrategyDocument({
        tickers: market.map(({ ticker }) => ticker).filter(name => name !== 'MKT'),
        entry: { field: 'rsi_zone', bands: ['oversold', 'deep_oversold'] },
        exit,
        costs: { bps: 0 },
        portfolio: { max_positions: tickers },
        seed: run,
      })
      const { random_entry, statistics } = await backtest(marketOf(market), strategy, { ...PLAIN, reps: 199 })
      found.add('as good as random entries', random_entry.p)
      const probability = statistics.probabilistic_sharpe
      found.add('Sharpe ratio above 0', probability === null ? null : 1 - probability)
      found.add('Sharpe ratio below 0', probability)
    }
    if (NIGHT) print(found.table(what))
  })

  it.each(JUDGES)('nearly every run is judged: %s', test => {
    expect(found.of(test).n).toBeGreaterThan(0.95 * runs)
  })

  provenInFull.each(JUDGES)('one of twenty is taken for real: %s', test => {
    const { n, rejected } = found.of(test)
    // The bars of a short range hold the falls that led to the signals, too; in a pool that is a quarter of the spread.
    const share = test === 'as good as random entries' && tickers > 1 ? 0.08 : 0.05
    expect(rejected).toBeGreaterThanOrEqual(fairRejections(n).least)
    expect(rejected).toBeLessThanOrEqual(fairRejections(n, share).most)
  })
})

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
