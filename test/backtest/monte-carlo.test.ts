import { describe, expect, it } from 'vitest'
import { describeBacktest } from '../../src/app/present/backtest.js'
import { expandedTail } from '../../src/core/statistics/bootstrap.js'
import { Random } from '../../src/core/statistics/random.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import type { Curve } from '../../src/research/backtest/statistics.js'
import { monteCarlo } from '../../src/research/backtest/validation.js'
import { draws } from '../support/full.js'
import { flat, madeMarket, PLAIN, quantileOf, strategyWith } from './support/made-market.js'

function curveOf(returns: readonly number[], more: Partial<Curve> = {}): { days: Int32Array; curve: Curve } {
  let value = 100
  const equity = Float64Array.from([100, ...returns.map(own => (value *= 1 + own))])
  const days = Int32Array.from(equity, (_, i) => 18_000 + i)
  return {
    days,
    curve: { equity, start: 100, barsAYear: 252, riskFree: 0, exposed: 0, invested: 0, traded: 0, ...more },
  }
}

function normal(seed: number, length: number, mean = 0.0005): number[] {
  const random = new Random(seed)
  return Array.from({ length }, () => mean + 0.01 * random.normal())
}

describe('the draws of a Monte Carlo', () => {
  it('are those of the specification, and their statistics those of each drawn curve', () => {
    const returns = normal(3, 130)
    const { days, curve } = curveOf(returns, { riskFree: 0.02 })
    const found = monteCarlo(days, curve, 99, 7)
    const stream = new Random(new Random(7).word() ^ 3)
    const curves = Array.from({ length: 99 }, () => {
      const path = [1]
      for (let i = 0, at = 0; i < 130; i++) {
        // One uniform number decides whether a block begins, which takes another; the first always does.
        if (i === 0 || stream.uniform() < 1 / found.block!) at = Math.floor(stream.uniform() * 130)
        else at = (at + 1) % 130
        path.push(path[i]! * (curve.equity[at + 1]! / curve.equity[at]!))
      }
      return path
    })
    const falls = curves.map(path => Math.min(...path.map((value, i) => value / Math.max(...path.slice(0, i + 1)) - 1)))
    const cagr = curves.map(path => path.at(-1)! ** (252 / 130) - 1)
    const free = 1.02 ** (1 / 252) - 1
    const sharpe = curves.map(path => {
      const own = path.slice(1).map((value, i) => value / path[i]! - 1)
      const mean = own.reduce((sum, value) => sum + value, 0) / 130
      const spread = Math.sqrt(own.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 129)
      return ((mean - free) / spread) * Math.sqrt(252)
    })
    const tail = expandedTail(130 / found.block!)
    for (const [values, told] of [
      [falls, found.max_drawdown],
      [cagr, found.cagr],
      [sharpe, found.sharpe],
    ] as const) {
      expect(told.low).toBeCloseTo(quantileOf(values, tail), 9)
      expect(told.median).toBeCloseTo(quantileOf(values, 0.5), 9)
      expect(told.high).toBeCloseTo(quantileOf(values, 1 - tail), 9)
    }
    expect(found.lost).toBe(curves.filter(path => path.at(-1)! < 1).length / 99)
    expect(found.fan).toHaveLength(121)
    expect(found.fan[0]).toMatchObject({ p5: 100, median: 100, p95: 100 })
    const ends = curves.map(path => 100 * path.at(-1)!)
    expect(found.fan.at(-1)!.date).toBe('2019-08-22')
    expect(found.fan.at(-1)!.p5).toBeCloseTo(quantileOf(ends, 0.05), 9)
    expect(found.fan.at(-1)!.p75).toBeCloseTo(quantileOf(ends, 0.75), 9)
  })

  it('are the same for a seed, and others for another', () => {
    const { days, curve } = curveOf(normal(3, 300))
    expect(monteCarlo(days, curve, 199, 1)).toEqual(monteCarlo(days, curve, 199, 1))
    expect(monteCarlo(days, curve, 199, 2).cagr).not.toEqual(monteCarlo(days, curve, 199, 1).cagr)
  })

  it('are none of a strategy that was ruined, of one bar, and of returns that do not vary', () => {
    const none = (returns: number[]) => monteCarlo(...(Object.values(curveOf(returns)) as [Int32Array, Curve]), 99, 1)
    expect(none([0.1, -1.5])).toMatchObject({ draws: 0, lost: null, reason: 'the equity fell to 0 or below' })
    expect(none([0.1])).toMatchObject({ fan: [], reason: 'there are fewer than two returns' })
    expect(none([0, 0, 0])).toMatchObject({ cagr: { low: null }, reason: 'the returns do not vary' })
  })

  // Three standard errors below 95 %, and one in a hundred for the few draws of each.
  it('have an interval of the Sharpe ratio that covers the true one of normal returns', () => {
    const runs = draws(200)
    const truth = (0.0005 / 0.01) * Math.sqrt(252)
    let covered = 0
    for (let run = 0; run < runs; run++) {
      const { days, curve } = curveOf(normal(1000 + run, 500))
      const { low, high } = monteCarlo(days, curve, 299, run).sharpe
      if (low! <= truth && truth <= high!) covered++
    }
    expect(covered / runs).toBeGreaterThanOrEqual(0.95 - 3 * Math.sqrt((0.95 * 0.05) / runs) - 0.01)
  })
})

describe('a backtest that was asked for draws', () => {
  const bands = { rsi_zone: 'dda'.repeat(40) }
  const random = new Random(5)
  const bars = flat(100, 120).map(([price]) => {
    const close = price * (1 + 0.02 * random.normal())
    return [price, Math.max(price, close), Math.min(price, close), close] as const
  })
  const market = madeMarket({ A: { bars, bands } })

  it('tells them, and without the asking is the same but for them', async () => {
    const plain = await backtest(market, strategyWith(), PLAIN)
    const drawn = await backtest(market, strategyWith(), { ...PLAIN, monte_carlo: 500 })
    expect(plain.monte_carlo).toBeNull()
    expect({ ...drawn, monte_carlo: null }).toEqual(plain)
    const { cagr, max_drawdown } = drawn.monte_carlo!
    expect(cagr.low!).toBeLessThan(drawn.statistics.cagr!)
    expect(cagr.high!).toBeGreaterThan(drawn.statistics.cagr!)
    expect(max_drawdown.low!).toBeLessThan(max_drawdown.high!)
    const ids = ({ sections }: ReturnType<typeof describeBacktest>): string[] => sections.map(({ id }) => id)
    expect(ids(describeBacktest(drawn))).toContain('resampled')
    expect(ids(describeBacktest(plain))).not.toContain('resampled')
  })
})
