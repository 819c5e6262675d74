import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeBacktest } from '../../src/app/present/backtest.js'
import { yearRecords, yearsByName, yearsTable } from '../../src/app/present/performance.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import { Random } from '../../src/core/statistics/random.js'
import { expectedShortfall, valueAtRisk } from '../../src/core/statistics/sharpe.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import { yearsOf } from '../../src/research/backtest/statistics.js'
import { type MadeBar, madeMarket, PLAIN, strategyWith } from './support/made-market.js'

const RETURNS = fc.array(fc.double({ min: -0.2, max: 0.2, noNaN: true }), { minLength: 20, maxLength: 300 })

describe('the value at risk', () => {
  it('of returns that lie evenly is the one below which a twentieth lies', () => {
    const even = Array.from({ length: 101 }, (_, i) => (i - 50) / 1000)
    expect(valueAtRisk(even)).toBeCloseTo(-0.045, 15)
    expect(valueAtRisk(even.toReversed())).toBeCloseTo(-0.045, 15)
  })

  it('and the conditional one are not known of fewer than 20 returns', () => {
    expect([valueAtRisk(new Array(19).fill(-1)), expectedShortfall(new Array(19).fill(-1))]).toEqual([null, null])
    expect([valueAtRisk(new Array(20).fill(-1)), expectedShortfall(new Array(20).fill(-1))]).toEqual([-1, -1])
  })

  // Each return twenty times over: the first n of them are the worst twentieth, with nothing to cut in parts.
  it('of the conditional kind is the mean of the worst n of every return written twenty times', () => {
    fc.assert(
      fc.property(RETURNS, returns => {
        const twenty = returns.flatMap(value => new Array<number>(20).fill(value)).sort((a, b) => a - b)
        const worst = twenty.slice(0, returns.length).reduce((sum, value) => sum + value, 0) / returns.length
        expect(expectedShortfall(returns)).toBeCloseTo(worst, 12)
        expect(expectedShortfall(returns)!).toBeLessThanOrEqual(valueAtRisk(returns)! + 1e-12)
      }),
    )
  })

  it('of the conditional kind is a loss, where the strategy is out of the market on most days', () => {
    const seldom = [...new Array<number>(96).fill(0), -0.01, -0.02, -0.03, 0.04]
    expect(valueAtRisk(seldom)).toBe(0)
    expect(expectedShortfall(seldom)).toBeCloseTo(-0.06 / 5, 15)
  })
})

/** A walk over some three years, a bar a calendar day. */
function walk(seed: number, length = 1100): MadeBar[] {
  const random = new Random(seed)
  let price = 100
  return Array.from({ length }, (): MadeBar => {
    price *= 1 + 0.01 * random.normal()
    return [price, price, price, price]
  })
}

const BANDS = { rsi_zone: 'dda'.repeat(400) }

describe('the years of a curve', () => {
  it('have the return from the close before them, and the worst of all pairs of closes within', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 2, max: 900 }), (seed, length) => {
        const random = new Random(seed)
        const first = parseDay('2019-10-01')! + random.below(200)
        const days = Int32Array.from({ length }, (_, i) => first + i)
        let value = 5
        const equity = Float64Array.from(days, () => (value *= Math.exp(0.02 * random.normal())))
        const closes = [5, ...equity]
        const found = yearsOf({ days, equity, start: 5 })
        expect(found.map(({ year }) => year)).toEqual([...new Set(Array.from(days, day => calendarYear(day)))])
        let all = 1
        for (const { year, return: grown, max_drawdown } of found) {
          // Of day i the close is closes[i + 1]; with the close before the year.
          const inside = closes.filter((_, i) => [days[i - 1], days[i]].some(day => calendarYear(day) === year))
          let worst = 0
          inside.forEach((high, i) => {
            for (const low of inside.slice(i + 1)) worst = Math.min(worst, low / high - 1)
          })
          expect(max_drawdown).toBeCloseTo(worst, 12)
          all *= 1 + grown!
        }
        expect(all).toBeCloseTo(equity.at(-1)! / 5, 9)
      }),
      { numRuns: 30 },
    )
  })

  it('are null from ruin on', () => {
    const days = Int32Array.from([parseDay('2019-12-31')!, parseDay('2020-06-01')!, parseDay('2021-06-01')!])
    expect(yearsOf({ days, equity: Float64Array.from([1, -0.5, -0.5]), start: 1 })).toEqual([
      { year: 2019, return: 0, max_drawdown: 0 },
      { year: 2020, return: -1.5, max_drawdown: null },
      { year: 2021, return: null, max_drawdown: null },
    ])
  })
})

function calendarYear(day: number | undefined): number | null {
  return day === undefined ? null : new Date(day * 86_400_000).getUTCFullYear()
}

describe('a backtest', () => {
  const market = madeMarket({ A: { bars: walk(1), bands: BANDS }, B: { bars: walk(2), bands: BANDS } })
  const strategy = strategyWith({
    tickers: ['A', 'B'],
    exit: { hold: 2 },
    portfolio: { max_positions: 2 },
    risk_free: 0.02,
  })

  it('tells the years of all that it is held against', async () => {
    const { years, benchmarks, equity } = await backtest(market, strategy, PLAIN)
    expect(years.map(({ year }) => year)).toEqual([2020, 2021, 2022, 2023])
    for (const { years: own, statistics } of [
      { years, statistics: { total_return: equity.at(-1)!.equity - 1 } },
      ...benchmarks,
    ]) {
      const all = own.reduce((product, year) => product * (1 + year.return!), 1) - 1
      expect(all).toBeCloseTo(statistics.total_return!, 9)
    }
    const table = yearsTable([{ name: 'strategy', years }, ...benchmarks])
    expect(table.rows).toHaveLength(4)
    expect(table.columns.map(({ title }) => title)).toEqual([
      ...['Year', 'Strategy', 'Buy & hold', 'Same exposure'],
      ...['Strategy, drawdown', 'Buy & hold, drawdown', 'Same exposure, drawdown'],
    ])
    expect(yearRecords(yearsByName({ years, benchmarks })).rows).toHaveLength(12)
  })

  it('tells the Sharpe ratio of each year of bars, as the sums of its returns give it', async () => {
    const found = await backtest(market, strategy, PLAIN)
    const values = found.equity.map(({ equity }) => equity)
    const free = 1.02 ** (1 / 365) - 1
    let known = 0
    found.equity.forEach(({ rolling_sharpe }, bar) => {
      if (bar < 365) {
        expect(rolling_sharpe).toBeNull()
        return
      }
      let sum = 0
      let squares = 0
      for (let i = bar - 364; i <= bar; i++) {
        const excess = values[i]! / values[i - 1]! - 1 - free
        sum += excess
        squares += excess * excess
      }
      const spread = Math.sqrt((squares - (sum * sum) / 365) / 364)
      expect(rolling_sharpe).toBeCloseTo((sum / 365 / spread) * Math.sqrt(365), 7)
      known++
    })
    expect(known).toBeGreaterThan(300)
  })

  it('shows volatility and beta of each year of bars, as plain sums give them', async () => {
    const { equity, benchmarks } = await backtest(market, strategy, PLAIN)
    const returnsOf = (values: readonly number[]): number[] => values.slice(1).map((value, i) => value / values[i]! - 1)
    const own = returnsOf(equity.map(({ equity }) => equity))
    const average = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
    const products = (a: readonly number[], b: readonly number[]): number => {
      const meanA = average(a)
      const meanB = average(b)
      return a.reduce((sum, value, i) => sum + (value - meanA) * (b[i]! - meanB), 0)
    }
    for (const { rolling_beta, equity: held } of benchmarks) {
      const market = returnsOf(held as number[])
      expect(rolling_beta).toHaveLength(equity.length)
      equity.forEach(({ rolling_volatility }, bar) => {
        if (bar < 365) {
          expect([rolling_volatility, rolling_beta[bar]]).toEqual([null, null])
          return
        }
        const last = own.slice(bar - 365, bar)
        const other = market.slice(bar - 365, bar)
        expect(rolling_volatility).toBeCloseTo(Math.sqrt((products(last, last) / 364) * 365), 9)
        expect(rolling_beta[bar]).toBeCloseTo(products(last, other) / products(other, other), 7)
      })
    }
  })

  it('draws each year, each deep fall and what changed with time', async () => {
    const found = await backtest(market, strategy, PLAIN)
    const { lead, sections } = describeBacktest(found)
    const charts = [...lead, ...sections.flatMap(({ parts }) => parts)].flatMap(part =>
      'chart' in part ? part.chart : 'charts' in part ? part.charts : [],
    )
    const chart = (id: string) => charts.find(one => one.id === id)!
    for (const id of ['equity-curve', 'drawdown'])
      expect(chart(id).shades[0]!.spans.map(({ from }) => formatDay(from))).toEqual(
        found.drawdowns.map(({ from }) => from),
      )
    expect(chart('years-chart').bars.map(({ label, values }) => [label, values])).toEqual(
      yearsByName(found).map(({ name, years }) => [name, years.map(year => year.return)]),
    )
    const rolling = ['exposure', 'rolling-sharpe', 'rolling-volatility', 'rolling-beta']
    expect(rolling.map(id => chart(id).lines.length)).toEqual([1, 1, 1, 1])
  })

  it('tells in the statistics of the strategy and of holding what a bad day costs', async () => {
    const { statistics, benchmarks, equity } = await backtest(market, strategy, PLAIN)
    const returns = equity.slice(1).map(({ equity: value }, i) => value / (i === 0 ? 1 : equity[i]!.equity) - 1)
    expect(statistics.value_at_risk).toBe(valueAtRisk(returns))
    expect(statistics.conditional_value_at_risk).toBe(expectedShortfall(returns))
    for (const { statistics: held } of benchmarks)
      expect(held.conditional_value_at_risk).toBeLessThan(held.value_at_risk!)
  })
})
