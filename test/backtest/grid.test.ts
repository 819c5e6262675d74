import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeGrid, gridRecords } from '../../src/app/present/grid.js'
import { InvalidParameter } from '../../src/core/errors.js'
import { combinations, parseGrid } from '../../src/core/params/grid.js'
import type { PricedSource, Trials } from '../../src/core/source.js'
import { pbo } from '../../src/core/statistics/selection.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import { grid, neighboursAt, verdictOnBest } from '../../src/research/backtest/grid.js'
import type { Grid } from '../../src/research/backtest/result.js'
import { differingValues, strategyInWords } from '../../src/research/backtest/words.js'
import { notInQuick } from '../support/full.js'
import { ledger } from './support/ledger.js'
import { type MadeBar, madeMarket } from './support/made-market.js'
import { noiseMarket } from './support/noise.js'

const ASKED = { tickers: ['A'], field: 'rsi_zone', band: 'deep_oversold', hold: 5, costs: 0 }
const VARY = ['hold=2,5,9,14', 'stop=none,2%,4%']
const market = noiseMarket(4, 900)

const run = (more: object = {}, trials: Trials | null = null, source: PricedSource = market): Promise<Grid> =>
  grid(source, parseGrid({ ...ASKED, vary: VARY, ...more }, { tier: null }), { trials })

function expectRefusal(vary: unknown, message: string, more: object = {}): void {
  const parse = () => parseGrid({ ...ASKED, ...more, vary }, { tier: null })
  expect(parse).toThrow(InvalidParameter)
  expect(parse).toThrow(message)
}

describe('a grid', () => {
  it('has every combination, each of them the backtest of its strategy', async () => {
    const query = parseGrid({ ...ASKED, vary: VARY }, { tier: null })
    const found = await grid(market, query)
    expect(found.cells.map(({ values }) => values.join(' '))).toEqual(
      ['2', '5', '9', '14'].flatMap(hold => ['none', '2%', '4%'].map(stop => `${hold} ${stop}`)),
    )
    const columns: Float64Array[] = []
    for (const [i, strategy] of query.strategies.entries()) {
      expect(strategy.exit).toMatchObject({ hold: [2, 5, 9, 14][Math.floor(i / 3)], stop: [null, 0.02, 0.04][i % 3] })
      const { statistics, trade_statistics, equity } = await backtest(market, strategy, { ...query.run, reps: 0 })
      expect(found.cells[i]).toMatchObject({ statistics, trade_statistics, value: statistics.sharpe })
      if (i === found.best!.cell)
        expect(found.best!.equity).toEqual(equity.map(({ date, equity }) => ({ date, equity })))
      columns.push(
        Float64Array.from(
          equity.slice(1),
          ({ equity: value }, bar) => value / (bar === 0 ? 1 : equity[bar]!.equity) - 1,
        ),
      )
    }
    // Settings that change no trade are one strategy.
    const apart = new Map(columns.map(column => [column.join(), column]))
    const ranked = pbo([...apart.values()], 16)
    expect(found.pbo!.probability).toBe('reason' in ranked ? null : ranked.overfitting.probability)
    const best = Math.max(...found.cells.map(({ value }) => value!))
    expect(found.cells[found.best!.cell]!.value).toBe(best)
    expect(found.best!.strategy).toEqual(query.strategies[found.best!.cell])
  })

  it('deflates the Sharpe ratio of the best by all of its cells, each of which is a trial of the ledger', async () => {
    const trials = ledger()
    const { kept } = trials
    const found = await run({}, trials)
    expect(kept.size).toBe(12)
    expect(found.trials).toMatchObject({ run: 12, n: 12, ledger: 12, family: 'run' })
    const ratios = found.cells.map(({ statistics }) => statistics.sharpe! / Math.sqrt(252))
    const centre = ratios.reduce((sum, value) => sum + value, 0) / 12
    const spread = ratios.reduce((sum, value) => sum + (value - centre) ** 2, 0) / 11
    expect(found.trials.variance).toBeCloseTo(spread, 12)
    expect(found.trials.deflated_sharpe!).toBeLessThan(found.cells[found.best!.cell]!.statistics.probabilistic_sharpe!)
    const more = await run({ vary: ['hold=3,4'], family: 'ledger' }, trials)
    expect(more.trials).toMatchObject({ run: 2, n: 14, ledger: 14, family: 'ledger' })
  })

  it('tries ranks, whose brackets, commas and signs are their own', () => {
    const vary = ['rank=none,-rsi(close,2),min(rsi(close, 2), ln(close + 1)),high+low']
    const { strategies } = parseGrid({ ...ASKED, vary }, { tier: null })
    expect(strategies.map(({ rank }) => rank)).toEqual([
      ...[undefined, '-rsi(close, 2)', 'min(rsi(close, 2), ln(close + 1))', 'high + low'],
    ])
  })

  it('says of its best what a backtest of it says', async () => {
    const bars = Array.from({ length: 60 }, (_, t): MadeBar => [10 + (t % 7), 20, 5, 10 + ((t * 3) % 7)])
    const one = { bars, bands: { rsi_zone: 'ddaaddaadd'.repeat(6) } }
    const asked = { tickers: ['A', 'B'], field: 'rsi_zone', band: 'deep_oversold', costs: 0, max_positions: 1 }
    const query = parseGrid({ ...asked, vary: ['hold=3,5'] }, { tier: null })
    const { warnings, best } = await grid(madeMarket({ A: one, B: one }), query)
    const own = await backtest(madeMarket({ A: one, B: one }), best!.strategy, { ...query.run, reps: 0 })
    expect(warnings[0]).toContain('of the best: fewer than 20 say little')
    expect(warnings.filter(text => text.startsWith('the best: ')).length).toBeGreaterThan(1)
    for (const text of warnings) if (text.startsWith('the best: ')) expect(own.warnings).toContain(text.slice(10))
    expect(warnings).toContain('the best: no costs: real trades cost something')
    expect(warnings.join()).toMatch(/the best: \d+ of \d+ signals found no place, chosen at random 200 times/)
    const { cells } = await grid(madeMarket({ A: one, B: one }), query)
    for (const { draws, statistics } of cells) {
      expect(draws!.n).toBe(25)
      expect(draws!.return.p05!).toBeLessThanOrEqual(statistics.total_return!)
      expect(draws!.return.p95!).toBeGreaterThanOrEqual(statistics.total_return!)
    }
  })

  it('tries lags of a condition', () => {
    const asked = { tickers: ['A', 'B'], when: 'A:rsi_zone enters neutral', hold: 3 }
    const query = parseGrid({ ...asked, vary: ['context_lag=0,1,2'] }, { tier: null })
    expect(query.strategies.map(({ lag }) => lag)).toEqual([undefined, 1, 2])
    expect(differingValues(query.strategies)).toEqual([
      'other tickers on the same day',
      'other tickers a bar before',
      'other tickers 2 bars before',
    ])
  })

  it('tells the lag of all conditions beside the rules, whichever of them names another ticker', () => {
    const lagged = { tickers: ['A', 'B'], field: 'rsi_zone', exit: 'A:rsi_zone = neutral', context_lag: 2 }
    const { strategies } = parseGrid({ ...lagged, vary: ['hold=3,4'] }, { tier: null })
    expect(strategies.slice(0, 1).map(strategyInWords)).toEqual([
      'long rsi_zone = any at next-open; hold 3, when A:rsi_zone = neutral; other tickers 2 bars before; A, B',
    ])
    const context = parseGrid({ ...ASKED, context: 'B:rsi_zone=neutral', vary: ['context_lag=0,1'] }, { tier: null })
    expect(differingValues(context.strategies)).toEqual(['context lag 0', 'context lag 1'])
  })

  notInQuick('compares by the statistic that it is asked for', async () => {
    const found = await run({ statistic: 'max_drawdown' })
    expect(found.cells.map(({ value }) => value)).toEqual(found.cells.map(({ statistics }) => statistics.max_drawdown))
    const trades = await run({ statistic: 'mean' })
    expect(trades.cells.map(({ value }) => value)).toEqual(trades.cells.map(({ trade_statistics: { mean } }) => mean))
  })

  notInQuick('chooses on the training part by the same statistic, and tells the part after it', async () => {
    const split = '2021-06-01'
    const query = parseGrid({ ...ASKED, vary: VARY, split }, { tier: null })
    const found = await grid(market, query)
    const alone = await Promise.all(
      query.strategies.map(strategy => backtest(market, strategy, { ...query.run, reps: 0 })),
    )
    const ratios = alone.map(({ validation }) => validation!.folds[0]!.statistics.sharpe!)
    const chosen = ratios.indexOf(Math.max(...ratios))
    const [train, test] = found.validation!.folds
    expect(train!.statistics).toEqual(alone[chosen]!.validation!.folds[0]!.statistics)
    expect(test!.statistics).toEqual(alone[chosen]!.validation!.folds[1]!.statistics)
    expect(test!.chosen).toBe(found.validation!.candidates[chosen])
    expect(found.validation!.candidates.slice(0, 3)).toEqual([
      'hold 2, stop none',
      'hold 2, stop 2%',
      'hold 2, stop 4%',
    ])
    expect(found.validation!.test!.statistics.total_return).toBeCloseTo(test!.statistics.total_return!, 12)
  })

  it('has neighbours one step along one axis, and is as smooth as they go with them', async () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }), lengths => {
        const axes = lengths.map(length => ({ values: Array.from({ length }, (_, i) => String(i)) }))
        const all = combinations(axes).map(values => values.map(Number))
        for (const [cell, own] of all.entries()) {
          const near = all.flatMap((other, i) =>
            other.reduce((sum, value, axis) => sum + Math.abs(value - own[axis]!), 0) === 1 ? [i] : [],
          )
          expect(neighboursAt(axes, cell)).toEqual(near)
        }
      }),
    )
    const found = await run({ vary: ['hold=2,5,9,14', 'side=long,short'] })
    const values = found.cells.map(({ value }) => value!)
    const around = values.map((_, cell) => {
      const near = neighboursAt(found.axes, cell)
      return near.reduce((sum, other) => sum + values[other]!, 0) / near.length
    })
    const mean = (list: number[]): number => list.reduce((sum, value) => sum + value, 0) / list.length
    const product = (x: number[], y: number[]): number =>
      mean(x.map((value, i) => (value - mean(x)) * (y[i]! - mean(y))))
    const correlation = product(values, around) / Math.sqrt(product(values, values) * product(around, around))
    expect(found.smoothness).toBeCloseTo(correlation, 12)
    expect(found.best!.neighbours.mean).toBeCloseTo(around[found.best!.cell]!, 12)
  })

  it('has values that are read as the same once', () => {
    const { axes, strategies } = parseGrid({ ...ASKED, vary: ['hold=2,5', 'stop=2%,0.02,none'] }, { tier: null })
    expect(axes.map(({ values }) => values)).toEqual([
      ['2', '5'],
      ['2%', 'none'],
    ])
    expect(strategies.map(({ exit }) => [exit.hold, exit.stop])).toEqual([
      [2, 0.02],
      [2, null],
      [5, 0.02],
      [5, null],
    ])
  })

  it('judges by combinations that differ, and says so where none does', async () => {
    const found = await run({ vary: ['hold=2,5,9,14', 'stop=none,99%'] })
    const plain = await run({ vary: ['hold=2,5,9,14'] })
    expect(found.pbo!.probability).toBe(plain.pbo!.probability)
    const one = await run({ vary: ['stop=none,98%,99%'] })
    expect([one.pbo, one.smoothness, one.reasons.pbo]).toEqual([null, null, 'all combinations have the same returns'])
    expect(describeGrid(one).answer).toMatch(/^All 3 came to the same: Sharpe ratio /)
  })

  it('warns of a part with nothing to choose by, and leaves what follows out of all tests', async () => {
    const found = await run({ vary: 'hold=2,5,9', statistic: 'mean', split: '2020-01-03' })
    const { folds, test } = found.validation!
    expect(folds.map(({ chosen }) => chosen)).toEqual([null, null])
    expect(test).toBeNull()
    expect(found.warnings).toContain(
      'on the part to choose on no combination has a mean: the first is traded after it, and all tests leave that out',
    )
    expect(describeGrid(found).sections.map(({ id }) => id)).toContain('validation')
  })

  it('is no sure thing where another test doubts it', async () => {
    const found = await run()
    const best = found.cells[found.best!.cell]!
    const told = (more: Partial<Grid>): string => {
      const trials = { ...found.trials, deflated_sharpe: 0.99, reason: null }
      const sure: Grid = { ...found, trials, pbo: { probability: 0.01, splits: 12, blocks: 16 }, ...more }
      const { cells, best, pbo } = sure
      const top = { trials: sure.trials, pbo, deflated_sharpe_p05: best!.deflated_sharpe_p05 }
      return describeGrid({ ...sure, verdict: verdictOnBest(cells[best!.cell]!, top) }).answer
    }
    const cellsWith = (of: Partial<typeof best>): Grid['cells'] =>
      found.cells.map(cell => (cell === best ? { ...best, ...of } : cell))
    const many = { ...best.trade_statistics, n: 80 }
    const earned = { statistics: { ...best.statistics, total_return: 0.4 }, trade_statistics: many }
    expect(told({ cells: cellsWith(earned) })).toMatch(
      /^Beats chance: the best of 12 has a .* on average\. Deflated Sharpe ratio \.990\./,
    )
    const log = { family: 'ledger', questions: 13, windows: 13, expected: 0.65 } as const
    const logged = { ...found.trials, deflated_sharpe: 0.99, reason: null, log, log_q: 0.3 }
    expect(told({ cells: cellsWith(earned), trials: logged })).toMatch(
      /^Not told from chance: .* on average\. One of 13 questions .*; corrected for all of them q \.300\. Deflated/,
    )
    const overfitted = { probability: 0.4, splits: 12, blocks: 16 }
    expect(told({ cells: cellsWith(earned), pbo: overfitted })).toMatch(
      /^Not told from chance: .*Deflated Sharpe ratio \.990; the probability of overfitting is \.400/,
    )
    const few = { ...earned, trade_statistics: { ...best.trade_statistics, n: 4 } }
    expect(told({ cells: cellsWith(few) })).toMatch(/^Too few: .*; only 4 trades/)
    expect(told({ cells: cellsWith({ statistics: { ...best.statistics, total_return: -0.1 } }) })).toMatch(
      /^(?:Too few|Not told from chance): .*nothing was earned/,
    )
    const points = { p05: 0.1, p50: 0.4, p95: 0.5 }
    const draws = { ...{ n: 25, shown: 3, return: points, sharpe: points }, max_drawdown: points }
    const drawn = (deflated_sharpe_p05: number): string =>
      told({ cells: cellsWith({ ...earned, draws }), best: { ...found.best!, deflated_sharpe_p05 } })
    expect(drawn(0.94)).toMatch(/^Depends on which signals got a place: /)
    expect(drawn(0.96)).toMatch(/^Beats chance: /)
  })

  it('is described with a map of every two keys, the best marked', async () => {
    const found = await run({ vary: { hold: [2, 5], stop: ['none', '2%'], side: ['long', 'short'] } })
    expect(found.axes.map(({ key }) => key)).toEqual(['hold', 'stop', 'side'])
    const { sections, answer } = describeGrid(found)
    const tables = sections.find(({ id }) => id === 'map')!.parts.flatMap(part => ('table' in part ? [part.table] : []))
    expect(tables).toHaveLength(2)
    const cells = tables.flatMap(({ rows }) => rows.flatMap(([, ...row]) => row))
    expect(cells).toHaveLength(8)
    expect(cells.filter(({ mark }) => mark === '*')).toHaveLength(1)
    expect(cells.filter(({ heat }) => heat === 4).map(({ content }) => content)).toContain(
      found.cells[found.best!.cell]!.value,
    )
    expect(answer).toMatch(
      /: the best of 8 has a Sharpe ratio of \S+ \(holding [-\d.]+\) with hold \d, stop \S+, side (long|short)/,
    )
    expect(gridRecords(found).rows).toHaveLength(8)
    expect(gridRecords(found).columns.slice(0, 5)).toEqual(['hold', 'stop', 'side', 'statistic', 'value'])
  })
})

describe('what is varied', () => {
  it('is named as in a strategy file, or as an option', () => {
    const key = (vary: string): string => parseGrid({ ...ASKED, vary }, { tier: null }).axes[0]!.key
    expect(['hold=1,2', 'exit.hold=1,2'].map(key)).toEqual(['hold', 'hold'])
    expect(['costs=1bp,2bp', 'portfolio.size=10%,20%'].map(key)).toEqual(['costs', 'size'])
    expect(['exit=leave,none', 'exit.when=leave,none'].map(key)).toEqual(['exit', 'exit'])
    expect(['fill=close,next-open', 'entry=close,next-open'].map(key)).toEqual(['entry', 'entry'])
  })

  it('may be lists, joined by a plus', () => {
    const { strategies } = parseGrid({ ...ASKED, vary: 'band=oversold,oversold+deep_oversold' }, { tier: null })
    expect(strategies.map(({ entry }) => entry.bands)).toEqual([['oversold'], ['deep_oversold', 'oversold']])
  })

  it.each([
    ['a key that is none', 'hodl=1,2', 'vary "hodl" is no key of a strategy that can be varied. Did you mean "hold"?'],
    ['what changes no trade', 'benchmark=A,B', 'vary "benchmark": it changes no trade'],
    [
      'other days',
      'before=2020-05-01,2020-06-01',
      'vary "before": it changes no trade, or it changes the bars or days',
    ],
    ['days later on', 'after=2020-05-01,2020-06-01', 'vary "after": it changes no trade'],
    ['another field', 'field=rsi_zone,macd_state', 'vary "field": it changes no trade'],
    ['the same in other words', 'stop=2%,0.02', 'vary makes 1 combination, and a grid needs several'],
    ['a value that is none', 'stop=2%,2xatr', 'vary stop "2xatr" is not a fraction of the entry price'],
    ['one combination', 'hold=5', 'vary makes 1 combination, and a grid needs several'],
    [
      'too many',
      [`hold=${Array.from({ length: 40 }, (_, i) => i + 1)}`, `costs=${Array.from({ length: 30 }, (_, i) => i)}`],
      'vary makes 1,200 combinations (hold 40, costs 30), and a grid has at most 1,000 combinations',
    ],
    ['a key without values', 'hold=', 'vary "hold" has no values'],
    ['no key', 'hold', 'vary "hold" is not a key of the strategy and its values'],
    ['a key twice', ['hold=1,2', 'exit.hold=3,4'], 'vary "hold" is given twice'],
    ['nothing', undefined, 'vary makes 1 combination'],
    ['a number', 5, 'vary 5 is not an object'],
  ])('is refused where it is %s', (_, vary, message) => expectRefusal(vary, message))

  it('is refused beside several holds', () => {
    expectRefusal('stop=none,2%', 'names candidates, which a grid has in vary hold=5,10', { hold: '5,10' })
  })
})
