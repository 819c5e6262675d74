import { describe, expect, it } from 'vitest'
import { InvalidParameter } from '../../src/core/errors.js'
import { quantile } from '../../src/core/statistics/moments.js'
import { Random } from '../../src/core/statistics/random.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import { simulate } from '../../src/research/backtest/draws.js'
import { type LoadedStrategy, loadStrategies } from '../../src/research/backtest/members.js'
import { planRuns, runPlan } from '../../src/research/backtest/portfolio.js'
import { entryTest, longestTradeBars, randomEntry } from '../../src/research/backtest/random-entry.js'
import type { Backtest } from '../../src/research/backtest/result.js'
import { notInQuick } from '../support/full.js'
import { flat, madeMarket, PLAIN, seriesMarket, strategyWith } from './support/made-market.js'

const SERIES = [...simulatedTickers({ count: 8, bars: 400, seed: 3, end: 17_000 })].map(({ bars }) => bars)
const NAMES = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H']

/** The same series, each under one of the names. */
function market(names: readonly string[]) {
  return seriesMarket(Object.fromEntries(names.map((name, i) => [name, SERIES[i]!])))
}

const DOCUMENT = {
  tickers: NAMES,
  entry: { field: 'rsi_zone', bands: ['neutral'] },
  exit: { hold: 5 },
  portfolio: { max_positions: 2 },
}

async function run(document: Record<string, unknown> = {}, names = NAMES): Promise<Backtest> {
  return backtest(market(names), strategyWith({ ...DOCUMENT, ...document }), { ...PLAIN, reps: 199 })
}

async function ready(document: Record<string, unknown> = {}): Promise<LoadedStrategy> {
  return (await loadStrategies(market(NAMES), [strategyWith({ ...DOCUMENT, ...document })]))[0]!
}

describe('equal signals that compete for positions', () => {
  notInQuick('choose a candidate only where 95 % of the draws choose the same, and say so otherwise', async () => {
    const days = (await run()).equity.map(({ date }) => date)
    const candidates = [1, 2, 3].map(seed => strategyWith({ ...DOCUMENT, seed }))
    const options = { ...PLAIN, reps: 99, split: days[200]!, candidates }
    const found = await backtest(market(NAMES), strategyWith(DOCUMENT), options)
    const [train, test] = found.validation!.folds
    expect(train!.agreement).toBe(test!.agreement)
    expect(train!.agreement!).toBeGreaterThan(0)
    expect(train!.agreement!).toBeLessThan(0.95)
    expect(found.warnings).toContain('on the part to choose on the choice depends on which signals got a place')
  })

  it('are chosen from 200 times; the run shown has the lower median of the total return', async () => {
    const found = await run()
    const own = await ready()
    const plan = planRuns(own)
    const totals = Array.from({ length: 200 }, (_, i) => runPlan(plan, Random.stream(1, i + 1)).equity.at(-1)! - 1)
    const ascending = Float64Array.from(totals).sort()
    expect(found.draws).toMatchObject({
      n: 200,
      return: { p05: quantile(ascending, 0.05), p50: quantile(ascending, 0.5), p95: quantile(ascending, 0.95) },
    })
    expect(ascending[0]).toBeLessThan(ascending.at(-1)!)
    expect(found.statistics.total_return).toBe(ascending[99])
    expect(totals[found.draws!.shown - 1]).toBe(ascending[99])
    expect(found.equity.at(-1)!.equity - 1).toBeCloseTo(ascending[99]!, 12)
  })

  it('are shuffled in draw d by the stream seed xor d, each choice as often as another', async () => {
    const own = planRuns(await ready({ seed: 6 }))
    expect([...runPlan(own, Random.stream(6, 3)).equity]).toEqual([...runPlan(own, new Random(5)).equity])
    const one = { bars: flat(10, 8), bands: { rsi_zone: 'ddaddddd' } }
    const alike = madeMarket({ A: one, B: one, C: one })
    const plan = planRuns((await loadStrategies(alike, [strategyWith({ tickers: ['A', 'B', 'C'] })]))[0]!)
    const firsts = new Map<string, number>()
    for (let draw = 1; draw <= 2000; draw++) {
      const [first] = runPlan(plan, Random.stream(6, draw)).trades
      firsts.set(first!.member.ticker, (firsts.get(first!.member.ticker) ?? 0) + 1)
    }
    expect([...firsts.keys()].sort()).toEqual(['A', 'B', 'C'])
    // Five standard deviations of 2,000 draws at 1/3.
    for (const count of firsts.values()) expect(Math.abs(count - 2000 / 3)).toBeLessThan(105)
  })

  it('have the same points of the draws under other names', async () => {
    const one = await run()
    const other = await run({}, [...NAMES].reverse())
    expect(one.draws!.return).not.toEqual(other.draws!.return)
    const width = one.draws!.return.p95! - one.draws!.return.p05!
    for (const point of ['p05', 'p50', 'p95'] as const)
      expect(Math.abs(one.draws!.return[point]! - other.draws!.return[point]!), point).toBeLessThan(0.35 * width)
  })

  it('have a p for each draw that is about that of the same trades with every move', async () => {
    const own = await ready()
    const { trades } = simulate(own)
    const whole = randomEntry(own.strategy, trades, 999)
    const drawn = entryTest(own, longestTradeBars(trades))(trades)!
    expect(Math.abs(drawn.better_than - whole.better_than!)).toBeLessThan(0.05)
    expect(whole.p!).toBeCloseTo(2 * Math.min(whole.better_than!, 1 - whole.better_than!), 12)
    const { draws } = await run()
    expect(draws!.p.p05!).toBeLessThanOrEqual(draws!.p.p95!)
  })

  it('are chosen from once with shuffle, and in order of ticker where that is chosen', async () => {
    const own = await ready()
    const plan = planRuns(own)
    const once = simulate(await ready({ portfolio: { max_positions: 2, shuffle: true } }))
    expect(once.draws).toBeNull()
    expect([...once.equity]).toEqual([...runPlan(plan, Random.stream(1, 1)).equity])
    const ordered = simulate(await ready({ portfolio: { max_positions: 2, order: 'ticker' } }))
    expect(ordered.draws).toBeNull()
    expect([...ordered.equity]).toEqual([...runPlan(plan, null).equity])
    expect(() => strategyWith({ portfolio: { shuffle: true, order: 'ticker' } })).toThrow(InvalidParameter)
  })

  it('are none where a rank tells all of them apart, or there are positions for all', async () => {
    expect((await run({ rank: 'rsi(close, 14)' })).draws).toBeNull()
    expect((await run({ portfolio: { max_positions: 8 } })).draws).toBeNull()
  })
})

describe('random entry', () => {
  it('compares closed trades only: those that are still open change nothing', async () => {
    const own = await ready({ exit: { hold: 40 }, portfolio: { max_positions: 8 } })
    const { trades } = simulate(own)
    const closed = trades.filter(({ end }) => end.why !== 'open')
    expect(closed.length).toBeLessThan(trades.length)
    expect(randomEntry(own.strategy, trades, 199)).toEqual(randomEntry(own.strategy, closed, 199))
    const test = entryTest(own, longestTradeBars(closed))
    expect(test(trades)).toEqual(test(closed))
  })
})
