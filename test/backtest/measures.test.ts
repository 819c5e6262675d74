import { describe, expect, it } from 'vitest'
import { parseDay } from '../../src/core/model/day.js'
import { firstBars } from '../../src/core/model/series.js'
import { deviation, mean } from '../../src/core/statistics/moments.js'
import { Random } from '../../src/core/statistics/random.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import type { Backtest } from '../../src/research/backtest/result.js'
import { onBars } from '../support/source.js'
import { cacheOf, fixture } from '../support/store.js'
import { flat, type MadeBar, type MadeTicker, madeMarket, PLAIN, strategyWith } from './support/made-market.js'

const near = (value: number) => expect.closeTo(value, 12)
const DIP = { rsi_zone: 'ddaaaaaaaaaa' }

function run(tickers: Record<string, MadeTicker>, document: Record<string, unknown> = {}): Promise<Backtest> {
  return backtest(madeMarket(tickers), strategyWith({ tickers: ['A'], ...document }), PLAIN)
}

/** Prices that move up and down, by phase. */
function waves(length: number, phase = 0): MadeBar[] {
  return Array.from({ length }, (_, t): MadeBar => {
    const price = 100 + 10 * Math.sin(t * 0.7 + phase) + t / 10
    return [price, price, price, price]
  })
}

describe('exposure', () => {
  const bands = { rsi_zone: `${'d'.repeat(5)}${'a'.repeat(20)}${'d'.repeat(5)}${'a'.repeat(20)}` }

  it.each([
    ['next-open', 'next-open'],
    ['next-close', 'next-close'],
    ['the close', 'close'],
  ])('counts as many bars as the trades last, filled at %s', async (_, fill) => {
    const found = await run({ A: { bars: waves(50), bands } }, { fill, exit: { hold: 6 } })
    expect(found.trades).toHaveLength(2)
    const held = found.trades.reduce((sum, { bars }) => sum + bars, 0)
    expect(found.statistics.exposure! * 50).toBeCloseTo(held, 9)
  })

  it('does not count a bar at whose open the position is left', async () => {
    const left = { rsi_zone: 'dddaaddddd' }
    const found = await run({ A: { bars: flat(10, 10), bands: left } }, { exit: { leave: true } })
    // In at the open of bar 4, out at that of bar 6.
    expect(found.trades.map(({ bars }) => bars)).toEqual([2])
    expect(found.statistics.exposure).toBe(2 / 10)
  })
})

describe('gross', () => {
  it.each(['long', 'short'])('is the value of the shares / equity of a %s, too', async side => {
    const bars = flat(100, 8, { 3: [100, 100, 80, 80], 4: [80, 80, 80, 80] })
    const { equity, trades } = await run({ A: { bars, bands: DIP } }, { side, portfolio: { max_positions: 2 } })
    expect(trades[0]!.shares).toBe(0.005)
    const value = 0.005 * 80
    const worth = side === 'long' ? 0.9 : 1.1
    expect(equity[3]).toMatchObject({ equity: near(worth), gross: near(value / worth), positions: 1 })
  })
})

describe('interest', () => {
  it('is what cash earned, and is told where the Sharpe ratio does not ask for it', async () => {
    const tickers = { A: { bars: flat(10, 100), bands: DIP } }
    const portfolio = { max_positions: 1, capital: 200, cash_rate: 0.03 }
    const found = await run(tickers, { portfolio })
    const money = found.equity.at(-1)!.equity - 200
    expect(found.interest).toEqual({ money: near(money), of_capital: near(money / 200) })
    expect(found.warnings.join('\n')).toContain(
      'the total return of +0.81% contains +0.81% of the capital that is interest on cash, and the Sharpe ratio asks for no ' +
        'more than 0 % a year: an rf of 3% counts the excess over it',
    )
    const fair = await run(tickers, { portfolio, risk_free: 0.03 })
    expect(fair.warnings.join()).not.toContain('interest')
    expect((await run(tickers)).interest).toEqual({ money: 0, of_capital: 0 })
  })
})

describe('ratios', () => {
  it('of trades that all end alike are none: what rounding leaves is no spread', async () => {
    const bands = { rsi_zone: 'ddabbbbabbbb' }
    const bars = flat(0.1, 12, { 4: [0.1, 0.11, 0.1, 0.11], 9: [0.3, 0.33, 0.3, 0.33], 8: [0.3, 0.3, 0.3, 0.3] })
    const { trade_statistics: trades } = await run({ A: { bars, bands } }, { costs: { bps: 5 } })
    expect(trades).toMatchObject({ n: 2, wins: 2, sqn: null })
    expect(trades.deviation).toBeGreaterThan(0)
    expect(trades.reasons.sqn).toBe('all trades end alike')
  })
})

describe('bars a year', () => {
  it('of calendars that differ are the returns that there are / years from first to last', async () => {
    const tickers = { A: { bars: waves(500), bands: DIP }, B: { bars: waves(300, 1), bands: DIP, barsAYear: 252 } }
    const { bars_a_year, statistics, assumptions } = await run(tickers, { tickers: ['A', 'B'] })
    // One bar a calendar day, from the first with a band to the last.
    expect(bars_a_year).toBeCloseTo(365.25, 10)
    expect(statistics.cagr).toEqual(near((1 + statistics.total_return!) ** (365.25 / statistics.bars) - 1))
    expect(assumptions.join('\n')).toContain(
      'statistics: 365.3 bars a year (as many as there are; the tickers have 252 and 365)',
    )
    expect((await run(tickers, { tickers: ['B'] })).bars_a_year).toBe(252)
  })

  it('of weeks that end on different days are those that there are, of gaps in one calendar its own', async () => {
    const market = (step: number, offset: number) => {
      const made = madeMarket({ A: { bars: waves(200), bands: DIP }, B: { bars: waves(200, 1), bands: DIP } })
      return onBars(made, found => {
        const days = found.series.days.map((_, t) => 18_001 + step * t + (found.ticker === 'B' ? offset : 0))
        return { ...found, barsAYear: 52, series: { ...found.series, days } }
      })
    }
    const two = await backtest(market(7, 2), strategyWith({ tickers: ['A', 'B'], timeframe: 'weekly' }), PLAIN)
    expect(two.bars_a_year).toBeCloseTo((two.equity.length - 1) / ((199 * 7 + 2) / 365.25), 9)
    expect(two.warnings.join('\n')).toContain(
      'tickers whose bars end on different days are on one calendar of all days',
    )
    const one = await backtest(market(7, 0), strategyWith({ tickers: ['A', 'B'], timeframe: 'weekly' }), PLAIN)
    expect(one.bars_a_year).toBe(52)
  })

  it('of the parts of a calendar are those of each part', async () => {
    const tickers = { A: { bars: waves(500), bands: DIP }, B: { bars: waves(300, 1), bands: DIP, barsAYear: 252 } }
    const strategy = strategyWith({ tickers: ['A', 'B'] })
    const { validation } = await backtest(madeMarket(tickers), strategy, { ...PLAIN, split: '2020-06-01' })
    for (const { statistics } of [...validation!.folds, validation!.test!])
      if (statistics.cagr !== null)
        expect(statistics.cagr).toBeCloseTo((1 + statistics.total_return!) ** (365.25 / statistics.bars) - 1, 9)
  })
})

describe('a benchmark', () => {
  const bands = { rsi_zone: `dd${'a'.repeat(98)}` }
  const own = { bars: waves(100), bands }

  it('is measured over its own bars within the dates, and against those that both have', async () => {
    const late = { bars: waves(50, 2), bands: {}, start: '2020-02-10' }
    const found = await run({ A: own, B: late }, { benchmark: 'B', exit: { hold: 90 } })
    const [, , other] = found.benchmarks
    expect([other!.first, other!.last]).toEqual(['2020-02-10', '2020-03-30'])
    const returns = late.bars.slice(1).map(([price], i) => price / late.bars[i]![0] - 1)
    expect(other!.statistics).toMatchObject({
      bars: 49,
      total_return: near(late.bars[49]![0] / late.bars[0]![0] - 1),
      volatility: near(deviation(returns)! * Math.sqrt(365)),
      exposure: 1,
    })
    const judged = returns.map((_, i) => found.equity[40 + i + 1]!.equity / found.equity[40 + i]!.equity - 1)
    const x = mean(returns)!
    const y = mean(judged)!
    const together = returns.reduce((sum, value, i) => sum + (value - x) * (judged[i]! - y), 0)
    const beta = together / returns.reduce((sum, value) => sum + (value - x) ** 2, 0)
    expect(other!.beta).toEqual(near(beta))
    expect(other!.alpha).toEqual(near((y - beta * x) * 365))
    expect(other!.equity.slice(0, 40)).toEqual(Array.from({ length: 40 }, () => null))
    expect(other!.equity.slice(40, 42)).toEqual([1, near(late.bars[1]![0] / late.bars[0]![0])])
    expect(other!.equity.slice(90)).toEqual(Array.from({ length: 10 }, () => null))
    expect(found.warnings).toContain(
      'B has bars from 2020-02-10 to 2020-03-30 only, and is measured over those: not over the dates of the strategy',
    )
  })

  it('over the same dates says nothing, and is what buy and hold of it is', async () => {
    const found = await run({ A: own, B: own }, { benchmark: 'B', exit: { hold: 90 } })
    const [hold, , other] = found.benchmarks
    expect({ ...other, name: '' }).toEqual({ ...hold, name: '' })
    expect(found.warnings.join()).not.toContain('measured over')
  })

  it('of weeks that end on other days is compared week by week', async () => {
    const days = { A: 18_001, B: 18_003 }
    const made = onBars(madeMarket({ A: own, B: own }), found => {
      const weeks = found.series.days.map((_, t) => days[found.ticker as 'A' | 'B'] + 7 * t)
      return { ...found, barsAYear: 52, series: { ...found.series, days: weeks } }
    })
    const document = { timeframe: 'weekly', benchmark: 'B', exit: { hold: 90 } }
    const found = await backtest(made, strategyWith(document), PLAIN)
    const [hold, , other] = found.benchmarks
    // The last week of B ends after that of A, and is not within its dates.
    expect(other!.statistics.bars).toBe(hold!.statistics.bars - 1)
    expect(other!.beta).toBeCloseTo(hold!.beta!, 1)
    expect(other!.alpha).not.toBeNull()
  })

  it('without a bar on the dates has no numbers, and reasons', async () => {
    const found = await run({ A: own, B: { ...own, start: '2030-01-01' } }, { benchmark: 'B' })
    const [, , other] = found.benchmarks
    expect(other).toMatchObject({ first: null, last: null, alpha: null, beta: null })
    expect(other!.statistics.total_return).toBeNull()
    expect(other!.reasons.beta).toBe('the two have fewer than three returns in common')
    expect(found.warnings).toContain('B has no bar on these dates')
  })
})

/** Percent of the equity that the same exposure holds, as it is told. */
function shareOf({ assumptions }: Backtest): string {
  return /same exposure: ([\d.]+) % of/.exec(assumptions.join('\n'))![1]!
}

describe('the same exposure', () => {
  const bands = { rsi_zone: `dd${'a'.repeat(98)}` }

  it('is buy and hold with the part of the equity that the strategy had in positions on average', async () => {
    const tickers = { A: { bars: waves(100), bands }, B: { bars: waves(100, 2), bands: {} } }
    const document = { exit: { hold: 30 }, portfolio: { max_positions: 2, cash_rate: 0.05 } }
    const { benchmarks, equity } = await run(tickers, document)
    // On each day the share at the close before; on the day of the entry the half that was bought at its open.
    const part = (0.5 + equity.reduce((sum, { gross }) => sum + gross!, 0)) / equity.length
    expect(part).toBeGreaterThan(0.1)
    const [hold, same] = benchmarks
    const grown = [1]
    for (let t = 1; t < equity.length; t++) {
      const held = hold!.equity[t]! / hold!.equity[t - 1]! - 1
      grown.push(grown[t - 1]! * (1 + part * held + ((1 - part) * 0.05) / 365))
    }
    expect(same!.name).toBe('same exposure')
    expect(same!.equity).toEqual(grown.map(near))
    expect(same!.statistics.total_return).toEqual(near(grown.at(-1)! - 1))
    expect(same!.beta).toBeCloseTo(hold!.beta! / part, 9)
  })

  it('counts a position that is on between open and close alone', async () => {
    const moved = flat(100, 12, { 3: [100, 120, 90, 110], 6: [100, 105, 80, 90], 9: [100, 130, 95, 120] })
    const three = { rsi_zone: 'ddaadaadaaaa' }
    const document = { exit: { hold: 1 }, portfolio: { max_positions: 2 } }
    const found = await run({ A: { bars: moved, bands: three } }, document)
    expect(found.trades.map(({ bars, exit }) => [bars, exit])).toEqual([1, 1, 1].map(bars => [bars, 'hold']))
    const [hold, same] = found.benchmarks
    // Three days of twelve with half of the equity.
    expect(shareOf(found)).toBe('12.5')
    expect(found.statistics).toMatchObject({ exposure: 3 / 12, invested: near(0.125) })
    expect(hold!.statistics.invested).toBe(1)
    expect(same!.statistics.invested).toEqual(near(0.125))
    expect(same!.statistics.exposure).toBeGreaterThan(0)
    expect(same!.beta).toBeCloseTo(hold!.beta! / 0.125, 9)
    expect(same!.alpha).not.toBeNull()
  })

  it('counts the bar of the exit by the close before it, and a stop on the bar of the entry', async () => {
    const document = { exit: { hold: 2 }, portfolio: { max_positions: 2 } }
    const kept = flat(100, 10, { 3: [100, 120, 100, 120], 4: [120, 120, 60, 60] })
    // 0.5 of 1 at the open, then 0.6 of 1.1.
    expect(shareOf(await run({ A: { bars: kept, bands } }, document))).toBe(
      ((100 * (0.5 + 0.6 / 1.1)) / 10).toFixed(2).replace(/0$/, ''),
    )
    const fallen = flat(100, 10, { 3: [100, 100, 80, 80] })
    const stopped = await run({ A: { bars: fallen, bands } }, { ...document, exit: { hold: 5, stop: 0.1 } })
    expect(stopped.trades.map(({ exit }) => exit)).toEqual(['stop'])
    expect(shareOf(stopped)).toBe('5')
  })

  it('of shorts is held short, and of a strategy without trades is cash', async () => {
    const [hold, short] = (await run({ A: { bars: waves(100), bands } }, { side: 'short', exit: { hold: 30 } }))
      .benchmarks
    expect(short!.beta! * hold!.beta!).toBeLessThan(0)
    const none = { A: { bars: waves(100), bands: { rsi_zone: 'd'.repeat(100) } } }
    const [, cash] = (await run(none)).benchmarks
    expect(cash!.statistics).toMatchObject({ total_return: 0, exposure: 0, invested: 0, turnover: 0 })
  })

  it('tells alpha with its Newey-West t, which a second calculation finds', async () => {
    const own = { bars: waves(100), bands }
    const { benchmarks, equity } = await run({ A: own, B: { bars: waves(100, 2), bands: {} } }, { exit: { hold: 30 } })
    const [hold] = benchmarks
    const grown = (values: readonly number[]): number[] => values.slice(1).map((value, i) => value / values[i]! - 1)
    const y = grown(equity.map(point => point.equity))
    const x = grown(hold!.equity.map(value => value!))
    const meanX = mean(x)!
    const meanY = mean(y)!
    const sxx = x.reduce((sum, value) => sum + (value - meanX) ** 2, 0)
    const beta = x.reduce((sum, value, i) => sum + (value - meanX) * (y[i]! - meanY), 0) / sxx
    const alpha = meanY - beta * meanX
    const scores = x.map(
      (value, i) => (y[i]! - alpha - beta * value) * (1 / x.length - (meanX * (value - meanX)) / sxx),
    )
    const lag = Math.floor(4 * (x.length / 100) ** (2 / 9))
    let variance = 0
    scores.forEach((a, i) => {
      scores.forEach((b, j) => {
        if (Math.abs(i - j) <= lag) variance += (1 - Math.abs(i - j) / (lag + 1)) * a * b
      })
    })
    expect(hold!.alpha_t).toBeCloseTo(alpha / Math.sqrt(variance), 8)
  })
})

describe('a Sharpe ratio that the market made', () => {
  it('is told beside a random entry that finds nothing', async () => {
    const random = new Random(5)
    let price = 100
    const bars = Array.from({ length: 600 }, (): MadeBar => {
      price *= 1 + 0.003 + 0.01 * random.normal()
      return [price, price, price, price]
    })
    const bands = { rsi_zone: Array.from(bars, (_, t) => (t % 12 < 6 ? 'd' : 'a')).join('') }
    const strategy = strategyWith({ exit: { hold: 8 } })
    const found = await backtest(madeMarket({ A: { bars, bands } }), strategy, { ...PLAIN, reps: 99 })
    expect(found.statistics.probabilistic_sharpe!).toBeGreaterThan(0.95)
    expect(found.random_entry.p!).toBeGreaterThan(0.05)
    expect(found.warnings[0]).toContain('of the signals believe random entry')
  })
})

describe('signals that find no place', () => {
  const tickers = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [`${i < 10 ? 'A' : 'B'}${10 + i}`, { bars: flat(10 + i, 12), bands: DIP }]),
  )
  const names = Object.keys(tickers)

  it('are counted, with how many trades the first by name have in order of ticker', async () => {
    const found = await run(tickers, { tickers: names, portfolio: { max_positions: 12, order: 'ticker' } })
    expect(found.warnings).toContain(
      '18 of 30 signals found no place, chosen in order of ticker: of 12 trades 10 begin with A; without order, the choice is random',
    )
    const few = await run(tickers, { tickers: names.slice(0, 3), portfolio: { max_positions: 2, order: 'ticker' } })
    expect(few.warnings.join('\n')).toContain(
      '1 of 3 signals found no place, chosen in order of ticker: of 2 trades 1 is of A10',
    )
  })

  it('are chosen at random, once with shuffle, and not counted where there are few', async () => {
    const drawn = await run(tickers, { tickers: names, seed: 7, portfolio: { max_positions: 12, shuffle: true } })
    expect(drawn.warnings.join('\n')).toContain('found no place, chosen at random once, by seed 7')
    const found = await run(tickers, { tickers: names, portfolio: { max_positions: 12 } })
    expect(found.warnings.join('\n')).toMatch(
      /18 of 30 signals found no place, chosen at random 200 times, shown is draw \d+/,
    )
    const most = await run(tickers, { tickers: names, portfolio: { max_positions: 28 } })
    expect(most.warnings.join()).not.toContain('found no place')
  })
})

describe('signals that are filled late', () => {
  /** The signal is of bar 2; the bar after it comes so many days later. */
  const halted = (days: number, timeframe: 'daily' | 'weekly') => {
    const step = timeframe === 'daily' ? 1 : 7
    const made = onBars(madeMarket({ A: { bars: flat(10, 12), bands: DIP } }), found => {
      const dates = found.series.days.map((_, t) => 18_001 + step * t + (t > 2 ? days - step : 0))
      return { ...found, series: { ...found.series, days: dates } }
    })
    return backtest(made, strategyWith({ timeframe }), PLAIN)
  }

  it('by more than 5 days are counted and told', async () => {
    const found = await halted(6, 'daily')
    expect(found.signals).toMatchObject({ total: 1, closed: 1, late: 1 })
    expect(found.warnings).toContain('1 signal filled more than 5 days late: its ticker had no bar before')
    expect((await halted(5, 'daily')).signals.late).toBe(0)
  })

  it('count from the next week on, of weekly bars', async () => {
    expect((await halted(12, 'weekly')).signals.late).toBe(0)
    expect((await halted(13, 'weekly')).signals.late).toBe(1)
  })
})

describe('the as-of day that is told', () => {
  it('makes the same run of weekly bars again, also of a ticker that stopped in mid-week', async () => {
    const stopped = fixture(1)
    const other = fixture(2)
    // Wednesday the 21st; the other one goes on to Wednesday the 28th.
    const series = firstBars(stopped.series, stopped.series.days.length - 5)
    const tickers = [{ ...stopped, series }, other]
    const strategy = strategyWith({
      tickers: [stopped.ticker],
      timeframe: 'weekly',
      entry: { field: 'trend_direction' },
      exit: { hold: 3 },
    })
    const found = await backtest(await cacheOf(tickers), strategy, PLAIN)
    expect([found.as_of, found.last]).toEqual(['2018-03-28', '2018-03-21'])
    const again = await backtest(await cacheOf(tickers, { asOf: parseDay(found.as_of!) }), strategy, PLAIN)
    expect(again).toEqual(found)
  })
})

describe('a context', () => {
  it('that has ended before the signals is told', async () => {
    const bars = flat(10, 100)
    const bands = { rsi_zone: `${'d'.repeat(60)}${'a'.repeat(40)}` }
    const over = { bars: flat(10, 20), bands: { trend_direction: 'aaaaaeeeeeeeeeeeeeee' } }
    const context = { ticker: 'B', field: 'trend_direction' }
    const entry = { field: 'rsi_zone', bands: ['deep_oversold'], context }
    const found = await run({ A: { bars, bands }, B: over }, { entry })
    expect(found.warnings.join('\n')).toContain('1 of 1 events lies after the last bar of B (2020-01-20)')
    const late = await run(
      { A: { bars, bands }, B: { ...over, start: '2021-01-01' } },
      { entry: { ...entry, context: { ...context, bands: ['strong_uptrend'] } } },
    )
    expect(late.warnings.join('\n')).toContain(
      '1 of 1 events lies before the first bar of B (2021-01-01) and so in no band of it: left out',
    )
  })
})
