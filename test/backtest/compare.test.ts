import { describe, expect, it } from 'vitest'
import { comparisonRecords, describeComparison } from '../../src/app/present/comparison.js'
import { InvalidParameter } from '../../src/core/errors.js'
import { parseBacktest } from '../../src/core/params/backtest.js'
import { type CompareParams, parseCompare } from '../../src/core/params/grid.js'
import type { Trials } from '../../src/core/source.js'
import { expandedTail } from '../../src/core/statistics/bootstrap.js'
import { Random } from '../../src/core/statistics/random.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import { compare } from '../../src/research/backtest/compare.js'
import type { Comparison } from '../../src/research/backtest/result.js'
import { notInQuick } from '../support/full.js'
import { ledger } from './support/ledger.js'
import { type MadeBar, type MadeTicker, madeMarket, PLAIN, quantileOf } from './support/made-market.js'

/** Two tickers, the second of which begins 100 days later; bands that change by lot. */
function market() {
  const random = new Random(8)
  const made = (length: number, start: string) => {
    let price = 100
    let band = 0
    let letters = ''
    const bars = Array.from({ length }, (): MadeBar => {
      const open = price
      price *= 1 + 0.012 * random.normal()
      if (random.uniform() < 0.1) band = random.below(7)
      letters += 'abcdefg'[band]
      return [open, Math.max(open, price), Math.min(open, price), price]
    })
    return { bars, bands: { rsi_zone: letters }, start }
  }
  return madeMarket({ A: made(600, '2020-01-01'), B: made(450, '2020-04-10') })
}

const source = market()
const ENTRY = { field: 'rsi_zone', bands: ['deep_oversold'] }
const strategy = (more: object = {}): Record<string, unknown> => ({
  tickers: ['A'],
  entry: ENTRY,
  exit: { hold: 5 },
  ...more,
})
const LONG = strategy({ name: 'long' })
const SHORT = strategy({ name: 'other', entry: { field: 'rsi_zone', bands: ['overbought'] }, exit: { hold: 9 } })
const LATE = strategy({ name: 'late', tickers: ['B'] })

const run = (
  strategies: CompareParams['strategies'],
  more: object = {},
  trials: Trials | null = null,
): Promise<Comparison> =>
  compare(source, parseCompare({ strategies, resamples: 199, ...more }, { tier: null }), { trials })

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
function sharpeOf(values: readonly number[], barsAYear = 365): number {
  const spread = Math.sqrt(values.reduce((sum, value) => sum + (value - meanOf(values)) ** 2, 0) / (values.length - 1))
  return (meanOf(values) / spread) * Math.sqrt(barsAYear)
}
const returnsOf = (equity: readonly number[]): number[] =>
  equity.slice(1).map((value, i) => value / (i === 0 ? 1 : equity[i]!) - 1)

describe('strategies side by side', () => {
  it('of the same days have the statistics of their own backtests', async () => {
    const found = await run([LONG, SHORT])
    for (const [i, document] of [LONG, SHORT].entries()) {
      const parsed = parseBacktest({ strategy: document, reps: 0 }, { tier: null })
      const own = await backtest(source, parsed.strategy, parsed.run)
      const { statistics, trade_statistics, years, equity } = found.strategies[i]!
      expect(statistics).toEqual(own.statistics)
      expect(trade_statistics).toEqual(own.trade_statistics)
      expect(years).toEqual(own.years)
      expect(equity).toEqual(own.equity.map(point => point.equity))
    }
    expect(found.strategies.map(({ name }) => name)).toEqual(['long', 'other'])
    expect(found.warnings.join()).not.toContain('left out')
  })

  it('of other days have those that are common, each as it came into them', async () => {
    const found = await run([LONG, LATE])
    expect([found.first, found.last, found.dates.length]).toEqual(['2020-04-10', '2021-07-03', 450])
    expect(found.warnings).toContain('days that not all of them have are left out of long')
    const parsed = parseBacktest({ strategy: LONG, reps: 0 }, { tier: null })
    const whole = await backtest(source, parsed.strategy, parsed.run)
    const common = whole.equity.slice(100, 550).map(({ equity }) => equity)
    const [own] = found.strategies
    for (const [i, value] of own!.equity.entries()) expect(value).toBeCloseTo(common[i]! / common[0]!, 12)
    expect(own!.statistics.total_return).toBeCloseTo(common.at(-1)! / common[0]! - 1, 12)
    expect(own!.statistics.sharpe).toBeCloseTo(sharpeOf(returnsOf(common.map(value => value / common[0]!))), 9)
    const within = whole.trades.filter(
      ({ entry_date, exit_date, exit }) => exit !== 'open' && entry_date >= '2020-04-10' && exit_date <= '2021-07-03',
    )
    expect(own!.trade_statistics.n).toBe(within.length)
    expect(own!.first).toBe('2020-01-01')
  })

  it('tell how their returns go together, and between what the difference of their ratios lies', async () => {
    const found = await run([LONG, SHORT, LATE], { seed: 9 })
    const returns = found.strategies.map(({ equity }) => returnsOf(equity))
    for (const [i, x] of returns.entries())
      for (const [j, y] of returns.entries()) {
        const product = (a: number[], b: number[]): number =>
          meanOf(a.map((v, t) => (v - meanOf(a)) * (b[t]! - meanOf(b))))
        const r = product(x, y) / Math.sqrt(product(x, x) * product(y, y))
        expect(found.correlations[i]![j]).toBeCloseTo(r, 9)
      }
    expect(found.sharpe_differences.map(({ a, b }) => `${a} ${b}`)).toEqual(['long other', 'long late', 'other late'])
    const n = returns[0]!.length
    const { block } = found.sharpe_differences[0]!
    const stream = new Random(new Random(9).word() ^ 4)
    const drawn = Array.from({ length: 199 }, () => {
      const places: number[] = []
      for (let i = 0, at = 0; i < n; i++) {
        if (i === 0 || stream.uniform() < 1 / block!) at = Math.floor(stream.uniform() * n)
        else at = (at + 1) % n
        places.push(at)
      }
      return returns.map(own => sharpeOf(places.map(at => own[at]!)))
    })
    const tail = expandedTail(n / block!, 0.05 / 3)
    for (const { level } of found.sharpe_differences) expect(level).toBeCloseTo(1 - 0.05 / 3, 12)
    found.sharpe_differences.forEach(({ difference, low, high }, pair) => {
      const [a, b] = [
        [0, 1],
        [0, 2],
        [1, 2],
      ][pair]! as [number, number]
      const values = drawn.map(ratios => ratios[a]! - ratios[b]!)
      expect(difference).toBeCloseTo(sharpeOf(returns[a]!) - sharpeOf(returns[b]!), 9)
      expect(low).toBeCloseTo(quantileOf(values, tail), 9)
      expect(high).toBeCloseTo(quantileOf(values, 1 - tail), 9)
    })
  })

  it('are one and the same where they are, and no interval is made of that', async () => {
    const found = await run([LONG, strategy({ name: 'again' })])
    expect(found.sharpe_differences[0]).toMatchObject({ difference: null, low: null, reason: 'the two do not differ' })
    expect(found.correlations[0]![1]).toBeCloseTo(1, 12)
    expect(found.trials.run).toBe(1)
  })

  it('without a day in common have no best, and a terminal is told so', async () => {
    const found = await run([strategy({ name: 'early', entry: { ...ENTRY, before: '2020-04-01' } }), LATE])
    expect([found.dates, found.first, found.best]).toEqual([[], null, null])
    expect(found.warnings).toContain('The strategies have no day in common, so there is nothing to compare.')
    const described = describeComparison(found)
    expect(described.answer).toBe('The strategies have no day in common, so there is nothing to compare.')
    expect(JSON.stringify(described.sections)).not.toContain('null:')
  })

  it('of weeks that end on different days have those weeks in common', async () => {
    const random = new Random(5)
    const made = (start: string): MadeTicker => {
      let price = 100
      const bars = Array.from({ length: 120 }, (): MadeBar => {
        price *= 1 + 0.02 * random.normal()
        return [price, price, price, price]
      })
      return { bars, bands: { rsi_zone: 'abc'.repeat(40) }, start, every: 7, barsAYear: 52 }
    }
    // A Thursday, and the Friday after it.
    const weeks = madeMarket({ A: made('2020-01-02'), B: made('2020-01-03') })
    const weekly = (name: string, ticker: string) => strategy({ name, tickers: [ticker], timeframe: 'weekly' })
    const asked = { strategies: [weekly('a', 'A'), weekly('b', 'B')], resamples: 99 }
    const found = await compare(weeks, parseCompare(asked, { tier: null }))
    expect([found.dates.length, found.first, found.bars_a_year]).toEqual([120, '2020-01-02', 52])
    for (const [i, document] of asked.strategies.entries()) {
      const parsed = parseBacktest({ strategy: document, reps: 0 }, { tier: null })
      const own = await backtest(weeks, parsed.strategy, parsed.run)
      expect(found.strategies[i]!.equity).toEqual(own.equity.map(point => point.equity))
      expect(found.strategies[i]!.trade_statistics).toEqual(own.trade_statistics)
    }
    expect(found.warnings.join()).not.toContain('left out')
  })

  it('are looks, each noted in the ledger', async () => {
    const trials = ledger()
    const { kept } = trials
    const found = await run([LONG, SHORT, LATE], {}, trials)
    expect(kept.size).toBe(3)
    expect(found.trials).toMatchObject({ run: 3, n: 3, ledger: 3 })
    const ratios = found.strategies.map(({ statistics }) => statistics.sharpe!)
    expect(found.best).toBe(found.strategies[ratios.indexOf(Math.max(...ratios))]!.name)
  })

  notInQuick('are compared draw by draw where equal signals compete for positions', async () => {
    const both = { tickers: ['A', 'B'], entry: { field: 'rsi_zone' }, portfolio: { max_positions: 1 } }
    const found = await run([strategy({ ...both, name: 'open' }), strategy({ ...both, name: 'short', side: 'short' })])
    const alone = await backtest(source, found.strategies[0]!.strategy, { ...PLAIN })
    const { p: _, ...draws } = alone.draws!
    expect(found.strategies[0]!.draws).toEqual(draws)
    expect((await run([LONG, SHORT])).strategies[0]!.draws).toBeNull()
    const cheap = { ...both, name: 'cheap', costs: { bps: 0 } }
    const [apart] = (await run([strategy(cheap), strategy({ ...cheap, name: 'dear', costs: { bps: 900 } })]))
      .sharpe_differences
    expect(apart).toMatchObject({ verdict: 'a is ahead', agreement: 1 })
  })

  it('are named after a warning of one of them, whose first words say what it is', async () => {
    const { warnings } = await run([LONG, strategy({ name: 'free', costs: { bps: 0 } })])
    expect(warnings).toContainEqual(expect.stringMatching(/^no costs.* \(free\)$/))
  })

  it('use no benchmark of a file, and say so', async () => {
    const found = await run([LONG, strategy({ name: 'judged', benchmark: 'B' })])
    expect(found.warnings.filter(one => /no costs/.test(one))).toEqual([])
    expect(found.warnings).toContain('a benchmark is of one strategy, and is not used here: judged')
    expect((await run([LONG, SHORT])).warnings.join()).not.toContain('benchmark')
  })

  it('are described: a curve of each, every statistic, the years', async () => {
    const found = await run([LONG, SHORT])
    const { lead, sections, answer } = describeComparison(found)
    expect(lead.flatMap(part => ('chart' in part ? part.chart.lines.map(({ label }) => label) : []))).toEqual([
      'long',
      'other',
    ])
    expect(sections.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['performance', 'differences', 'correlations', 'years']),
    )
    expect(answer).toMatch(
      /^Not told apart: (long|other) had the highest Sharpe ratio, .* \(95% interval .*\)\. Both lost money\.$/,
    )
    const { columns, rows } = comparisonRecords(found)
    expect(rows).toEqual(['long', 'other'].map(name => expect.objectContaining({ name })))
    expect(columns).toEqual(expect.arrayContaining(['sharpe', 'value_at_risk', 'trades_n']))
  })
})

describe('what is compared', () => {
  it('is set alike where that is asked for, and has the name of its file', () => {
    const text = JSON.stringify(strategy())
    const query = parseCompare(
      { strategies: [text, text], names: ['x/dip.yaml', 'y/dip.yaml'], tickers: ['B'], after: '2020-05-01', rf: '2%' },
      { tier: null },
    )
    expect(query.names).toEqual(['dip (1)', 'dip (2)'])
    for (const { tickers, entry, risk_free } of query.strategies)
      expect([tickers, entry.after, risk_free]).toEqual([['B'], '2020-05-01', 0.02])
  })

  it.each([
    ['none', {}, 'strategies: there are none; it takes 2 to 12 strategy files'],
    ['one alone', { strategies: [LONG] }, 'strategies: one has nothing to be compared with'],
    ['too many', { strategies: Array.from({ length: 13 }, () => LONG) }, 'strategies: 13 are too many'],
    [
      'days and weeks',
      { strategies: [LONG, strategy({ timeframe: 'weekly' })] },
      'timeframe: strategies are compared on the same bars',
    ],
    ['a misspelt word', { strategies: [LONG, SHORT], resample: 5 }, 'Did you mean'],
  ])('is refused where it is %s', (_, asked, message) => {
    const parse = () => parseCompare(asked, { tier: null })
    expect(parse).toThrow(InvalidParameter)
    expect(parse).toThrow(message)
  })
})
