import { describe, expect, it } from 'vitest'
import type { RunOptions } from '../../src/core/params/strategy.js'
import { mean } from '../../src/core/statistics/moments.js'
import { Random } from '../../src/core/statistics/random.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import type { Backtest } from '../../src/research/backtest/result.js'
import { notInQuick } from '../support/full.js'
import { flat, type MadeBar, madeMarket, PLAIN, seriesMarket, strategyWith } from './support/made-market.js'

const SIMULATED = [...simulatedTickers({ count: 3, bars: 900, seed: 8, end: 17_000 })]
const TICKERS = SIMULATED.map(({ ticker }) => ticker)
const MARKET = seriesMarket(Object.fromEntries(SIMULATED.map(({ ticker, bars }) => [ticker, bars])))
const WALK = { train: 200, test: 100, step: 100, anchored: false, embargo: 5 }

function holding(hold: number, more: Record<string, unknown> = {}) {
  return strategyWith({ tickers: TICKERS, entry: { field: 'macd_state' }, exit: { hold }, portfolio: {}, ...more })
}

function run(options: Partial<RunOptions>, more: Record<string, unknown> = {}): Promise<Backtest> {
  return backtest(MARKET, holding(10, more), { ...PLAIN, ...options })
}

describe('a split', () => {
  it('parts the bars at the date, and no trade reaches over it', async () => {
    const whole = await run({})
    const date = whole.equity[300]!.date
    const { validation } = await run({ split: date })
    const [train, test] = validation!.folds
    expect(validation!.kind).toBe('split')
    expect([train!.role, train!.from, train!.to]).toEqual(['train', whole.first, whole.equity[299]!.date])
    expect([test!.role, test!.from, test!.to]).toEqual(['test', date, whole.last])
    const crossing = whole.trades.filter(trade => trade.signal_date < date && trade.exit_date >= date)
    expect(validation!.purged).toBe(crossing.length)
    expect(crossing.length).toBeGreaterThan(0)
    const before = whole.trades.filter(trade => trade.exit_date < date)
    expect(train!.trade_statistics.n).toBe(before.length)
    expect(validation!.test!.trade_statistics).toEqual(test!.trade_statistics)
  })

  it('with an embargo leaves out the signals of so many bars before the date', async () => {
    const whole = await run({})
    const date = whole.equity[300]!.date
    const last = whole.equity[279]!.date
    const { validation } = await run({ split: date, embargo: 20 })
    const kept = whole.trades.filter(trade => trade.signal_date <= last && trade.exit_date < date)
    expect(validation!.folds[0]!.trades).toBe(kept.length)
    expect(validation!.folds[1]!.from).toBe(date)
  })

  it('of signals up to a date ends when the last of their trades is closed', async () => {
    const dates = (await run({})).equity.map(({ date }) => date)
    const entry = { field: 'macd_state', before: dates[500]! }
    const found = await run({ split: dates[300]! }, { entry })
    const [train, test] = found.validation!.folds
    expect(train!.to).toBe(dates[299])
    expect(test!.to).toBe(found.last)
    expect(dates.indexOf(found.last!)).toBeLessThan(520)
    await expect(run({ split: dates[600]! }, { entry })).rejects.toThrow('is not a date after')
  })

  it('is refused at a date without bars on both of its sides', async () => {
    await expect(run({ split: '1990-01-01' })).rejects.toThrow(/split "1990-01-01" is not a date after \d{4}-/)
    await expect(run({ split: '2090-01-01' })).rejects.toThrow('split "2090-01-01" is not a date after')
  })
})

describe('walk-forward', () => {
  it('tests each part of the bars once, one after the other, on what is trained before it', async () => {
    const { validation, equity } = await run({ walk_forward: WALK })
    const [trains, tests] = (['train', 'test'] as const).map(role =>
      validation!.folds.filter(fold => fold.role === role),
    )
    const place = (date: string): number => equity.findIndex(point => point.date === date)
    expect(tests!.length).toBeGreaterThan(3)
    tests!.forEach((fold, i) => {
      expect(place(fold.from)).toBe(205 + 100 * i)
      expect(place(fold.to)).toBe(Math.min(304 + 100 * i, equity.length - 1))
      expect(trains![i]!.to < fold.from).toBe(true)
    })
    const { statistics, trade_statistics } = validation!.test!
    expect(trade_statistics.n).toBe(tests!.reduce((sum, fold) => sum + fold.trades, 0))
    const product = tests!.reduce((total, fold) => total * (1 + fold.statistics.total_return!), 1)
    expect(statistics.total_return).toBeCloseTo(product - 1, 12)
    expect(statistics.bars).toBe(tests!.reduce((sum, fold) => sum + fold.statistics.bars, 0))
    const { equity: curve, holding } = validation!.test!
    expect(curve.map(({ date }) => date)).toEqual(equity.slice(205, 205 + curve.length).map(({ date }) => date))
    expect(curve.at(-1)!.equity).toBeCloseTo(product, 12)
    expect(curve.at(-1)!.holding).toBeCloseTo(1 + holding.total_return!, 12)
    expect(Math.min(...curve.map(({ drawdown }) => drawdown))).toBeCloseTo(statistics.max_drawdown!, 12)
  })

  notInQuick('compares its trades with random entry among the days of the tests only', async () => {
    const date = (await run({})).equity[300]!.date
    const { validation } = await run({ split: date, reps: 199 })
    const after = await run({ reps: 199 }, { entry: { field: 'macd_state', after: date } })
    const { random_entry: entry, verdict } = validation!.test!
    expect(entry.draws).toBeLessThan(validation!.test!.equity.length)
    // The same signals moved over the days of their own dates: equal but for the first day.
    expect(Math.abs(entry.p! - after.random_entry.p!)).toBeLessThan(0.1)
    expect(entry.mean).toBeCloseTo(after.random_entry.mean!, 3)
    expect(verdict).toEqual({ word: 'worse than holding', agreement: null })
    expect((await run({ split: date, reps: 199 })).verdict).toEqual(verdict)
  })

  it('chooses of several candidates by the t statistic of the training part alone', async () => {
    const candidates = [holding(2), holding(5), holding(30)]
    const { validation, trials } = await run({ walk_forward: { ...WALK, anchored: true }, candidates })
    expect(trials.run).toBe(4)
    expect(validation!.candidates).toEqual(['hold 2', 'hold 5', 'hold 30'])
    const singles = await Promise.all(
      candidates.map(candidate => backtest(MARKET, candidate, { ...PLAIN, walk_forward: { ...WALK, anchored: true } })),
    )
    const score = (fold: NonNullable<Backtest['validation']>['folds'][number]): number =>
      (fold.trade_statistics.mean! / fold.trade_statistics.deviation!) * Math.sqrt(fold.trade_statistics.n)
    validation!.folds.forEach((fold, i) => {
      const same = singles.map(single => single.validation!.folds[i - (i % 2)]!)
      const best = same.map(score).indexOf(Math.max(...same.map(score)))
      expect(fold.chosen).toBe(`hold ${candidates[best]!.exit.hold}`)
      expect(fold.trade_statistics).toEqual(singles[best]!.validation!.folds[i]!.trade_statistics)
    })
  })

  it('names what candidates differ in, and warns of parts that choose on few trades', async () => {
    const candidates = [holding(5), holding(5, { costs: { bps: 9 } })]
    const { validation, warnings } = await run({ walk_forward: WALK, candidates, min_trades: 1000 })
    expect(validation!.candidates).toEqual(['bps 0', 'bps 9'])
    const parts = validation!.folds.length / 2
    expect(warnings).toContain(
      `${parts} of ${parts} parts to choose on have fewer than 1000 trades of the chosen combinations: chance chooses there`,
    )
    const alone = await run({ walk_forward: WALK, min_trades: 1000 })
    expect(alone.validation!.candidates).toEqual([])
    expect(alone.warnings.join()).not.toContain('chance chooses')
  })

  it('is refused where nothing is left to test, or tests would overlap', async () => {
    await expect(run({ walk_forward: { ...WALK, train: 5000 } })).rejects.toThrow(
      'walk_forward: 5005 bars leave none to test on',
    )
    await expect(run({ walk_forward: { ...WALK, step: 50 } })).rejects.toThrow('walk_forward: a step of 50 bars')
  })
})

describe('random entries', () => {
  const RISES = Object.fromEntries([50, 250, 451].map((t, i) => [t, [100, 108 + 2 * i, 100, 108 + 2 * i]] as const))
  const bands = { rsi_zone: Array.from({ length: 700 }, (_, t) => ([49, 249, 450].includes(t) ? 'a' : 'b')).join('') }

  it('rarely do as well where every signal comes before a rise; every move is looked at where they are few', async () => {
    const market = madeMarket({ A: { bars: flat(100, 700, RISES), bands } })
    const of = (seed: number) => backtest(market, strategyWith({ exit: { hold: 1 }, seed }), { ...PLAIN, reps: 199 })
    const one = await of(1)
    const other = await of(2)
    expect(one.trade_statistics).toMatchObject({ n: 3, wins: 3 })
    // No other move has all three before a rise: 700 bars, moved by 1 to 699.
    expect(one.random_entry.draws).toBe(699)
    expect(one.random_entry.p).toBe(2 / 700)
    expect(one.random_entry.better_than).toBe(1 - 1 / 700)
    expect(one.random_entry).toEqual(other.random_entry)
  })

  it('say nothing where every trade is the same: how much they vary is not known', async () => {
    const market = madeMarket({ A: { bars: Array.from({ length: 700 }, () => [100, 101, 100, 101] as const), bands } })
    const { random_entry } = await backtest(market, strategyWith({ exit: { hold: 1 } }), { ...PLAIN, reps: 99 })
    expect(random_entry).toMatchObject({ draws: 699, p: null })
    expect(random_entry.reason).toBe('the trades end alike, so their variation is unknown')
    expect(random_entry.mean).toBeCloseTo(0.01, 12)
  })

  it('hold each mean against its own error: signals of wild days must beat wild days', async () => {
    // Forty trades on days that swing by 10 % and gain 1 % on average; other days swing by a tenth of that.
    const random = new Random(5)
    const swings = Array.from({ length: 1000 }, (_, t) => (isTraded(t) ? 10 : 1) * random.normal())
    const chance = mean(swings.filter((_, t) => isTraded(t)))!
    const found = await tradeTenthDays(swings.map((swing, t) => 100 + (isTraded(t) ? 1 + swing - chance : swing)))
    expect(found.trade_statistics).toMatchObject({ n: 40, mean: expect.closeTo(0.01, 12) })
    // Hardly a mean of calm days is as high, but it lies less than one of its own errors above them.
    expect(found.random_entry.p).toBeGreaterThan(0.1)
  })

  it('compare with the mean of all draws, so that calm days of a rising market are no edge', async () => {
    // Closes are about 1 % above their opens. Traded days vary a tenth as much as the others.
    const random = new Random(5)
    const closes = Array.from({ length: 1000 }, (_, t) => 101 + (isTraded(t) ? 0.1 : 1) * random.normal())
    const found = await tradeTenthDays(closes)
    expect(found.trade_statistics).toMatchObject({ n: 40, mean: expect.closeTo(0.01, 3) })
    expect(found.random_entry.p).toBeGreaterThan(0.1)
  })
})

/** Whether `tradeTenthDays` trades on a day: on each tenth one up to day 400. */
function isTraded(t: number): boolean {
  return t % 10 === 0 && t > 0 && t <= 400
}

/** Trades from open to close on forty days of a market that always opens at 100. */
function tradeTenthDays(closes: readonly number[]): ReturnType<typeof backtest> {
  const bars = closes.map((close): MadeBar => [100, Math.max(100, close), Math.min(100, close), close])
  const bandsBefore = closes.map((_, t) => (isTraded(t + 1) ? 'a' : 'b')).join('')
  const market = madeMarket({ A: { bars, bands: { rsi_zone: bandsBefore } } })
  return backtest(market, strategyWith({ exit: { hold: 1 } }), { ...PLAIN, reps: 199 })
}
