import { describe, expect, it } from 'vitest'
import { describeBacktest } from '../../src/app/present/backtest.js'
import { describeComparison } from '../../src/app/present/comparison.js'
import { parseCompare, parseGrid } from '../../src/core/params/grid.js'
import type { RunOptions } from '../../src/core/params/strategy.js'
import { parseStrategyDocument } from '../../src/core/params/strategy-file.js'
import type { Trial, Trials } from '../../src/core/source.js'
import { variance } from '../../src/core/statistics/moments.js'
import { Random } from '../../src/core/statistics/random.js'
import { benjaminiHochberg } from '../../src/core/statistics/selection.js'
import { deflatedSharpe } from '../../src/core/statistics/sharpe.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import { compare } from '../../src/research/backtest/compare.js'
import { grid } from '../../src/research/backtest/grid.js'
import type { Backtest } from '../../src/research/backtest/result.js'
import { trialOf } from '../../src/research/backtest/trial-log.js'
import { CELL_TEST } from '../../src/research/trials.js'
import { loadPrices } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { firstInQuick, notInQuick } from '../support/full.js'
import { onBars } from '../support/source.js'
import { ledger } from './support/ledger.js'
import { flat, type MadeBar, madeMarket, PLAIN, seriesMarket, strategyWith } from './support/made-market.js'

const SIMULATED = [...simulatedTickers({ count: 2, bars: 700, seed: 8, end: 17_000 })]
const MARKET = seriesMarket(Object.fromEntries(SIMULATED.map(({ ticker, bars }) => [ticker, bars])))
const LEAST = { tickers: SIMULATED.map(({ ticker }) => ticker), entry: { field: 'macd_state' }, exit: { hold: 10 } }

function look(
  trials: Trials | null,
  document: Record<string, unknown> = {},
  options: Partial<RunOptions> = {},
): Promise<Backtest> {
  return backtest(MARKET, strategyWith({ ...LEAST, ...document }), { ...PLAIN, ...options }, { trials })
}

describe('the trial ledger', () => {
  it('gives a strategy the hash that older logs have: a new rule is left out of it at its default', () => {
    const strategy = strategyWith({ tickers: ['AAPL'], entry: { field: 'rsi_zone' }, exit: { hold: 10 } })
    expect(trialOf({ strategy, days: Int32Array.of(15_000, 17_000), sharpe: null }).hash).toMatch(/^5452ffc0/)
  })

  const SAME: [string, Record<string, unknown>, Record<string, unknown>][] = [
    [
      'name, benchmark, seed and risk-free rate',
      {},
      { name: 'again', benchmark: LEAST.tickers[0], seed: 3, risk_free: 0.02 },
    ],
    ['borrow on a long', {}, { costs: { bps: 0, borrow: 0.1 } }],
    ['capital where nothing costs money a share or a fill', {}, { portfolio: { max_positions: 1, capital: 5000 } }],
    ['what of a cost is slippage', { costs: { bps: 5 } }, { costs: { bps: 2, slippage_bps: 3 } }],
    [
      'bands that are all there are',
      {},
      {
        entry: {
          field: 'macd_state',
          bands: ['expanding_negative', 'contracting_negative', 'contracting_positive', 'expanding_positive'],
        },
      },
    ],
  ]

  it.each(firstInQuick(SAME, 2))('counts strategies once that differ in %s alone', async (_, one, other) => {
    const trials = ledger()
    const first = await look(trials, one)
    const second = await look(trials, other)
    expect(second.trades.map(({ net }) => net)).toEqual(first.trades.map(({ net }) => net))
    expect(trials.kept.size).toBe(1)
  })

  const DIFFERENT: [string, Record<string, unknown>][] = [
    ['the hold', { exit: { hold: 11 } }],
    ['the side', { side: 'short' }],
    ['borrow on a short', { side: 'short', costs: { bps: 0, borrow: 0.1 } }],
    ['whole shares of some capital', { portfolio: { max_positions: 1, capital: 5000, whole_shares: true } }],
    ['the seed of lots', { seed: 2, portfolio: { max_positions: 1, shuffle: true } }],
    ['the rank of its signals', { rank: '-rsi(close, 2)' }],
    ['the rate of cash', { portfolio: { max_positions: 1, cash_rate: 0.01 } }],
  ]

  it.each(firstInQuick(DIFFERENT, 2))('tells strategies apart by %s', async (_, document) => {
    const trials = ledger()
    await look(trials)
    await look(trials, document)
    expect(trials.kept.size).toBe(2)
  })

  it.each<[string, Record<string, unknown>]>([
    ['long macd_state = any at next-open; hold 10; T1, T2', {}],
    [
      'long macd_state = any at next-open; hold 10; 5 bp a side (2 bp of it slippage); T1, T2',
      { costs: { bps: 3, slippage_bps: 2 } },
    ],
    [
      'long macd_state = any at next-open; hold 10; 0 bp a side and 1 a fill; capital 5000; T1, T2',
      { costs: { bps: 0, fixed: 1 }, portfolio: { capital: 5000 } },
    ],
    [
      'short macd_state = any at next-open; hold 10; 5 bp a side and 3 % a year for borrowed shares; T1, T2',
      { side: 'short', costs: { borrow: 0.03 } },
    ],
    ['long macd_state = any at next-open; hold 10; T1, T2', { costs: { borrow: 0.03 }, portfolio: { capital: 5000 } }],
    [
      'long macd_state = any at next-open; hold 10; at most 1 position; each 20 % of the equity; whole shares; capital 100; cash at 2 % a year; one random choice by seed 7; T1, T2',
      {
        seed: 7,
        portfolio: {
          max_positions: 1,
          size: { method: 'fixed-fraction', fraction: 0.2 },
          whole_shares: true,
          capital: 100,
          cash_rate: 0.02,
          shuffle: true,
        },
      },
    ],
    ['long macd_state = any at next-open; hold 10; rank -rsi(close, 2); T1, T2', { rank: ' - RSI(close,2)' }],
    [
      'long T1:rsi_zone = neutral at next-open; hold 10; other tickers 2 bars before; T1, T2',
      { entry: { when: 'T1:rsi_zone = neutral' }, lag: 2 },
    ],
    [
      'long weekly macd_state = any at next-open; after 2015-01-01; before 2016-01-01; leave; T1, T2',
      {
        timeframe: 'weekly',
        entry: { field: 'macd_state', after: '2015-01-01', before: '2016-01-01' },
        exit: { leave: true },
        overlap: 'extend',
      },
    ],
  ])('keeps in words what a strategy was given: %s', (words, document) => {
    const strategy = parseStrategyDocument({ ...LEAST, tickers: ['T2', 'T1'], ...document })
    expect(trialOf({ strategy, days: Int32Array.of(0, 1), sharpe: null }).spec).toBe(
      `${words}; 1970-01-01 to 1970-01-02`,
    )
  })

  it('does not deflate a run of one strategy, and says what would', async () => {
    const trials = ledger()
    const alone = await look(trials)
    expect(alone.trials).toMatchObject({
      run: 1,
      ledger: 1,
      family: 'run',
      n: 1,
      variance: null,
      deflated_sharpe: null,
    })
    expect(alone.trials.reason).toBe('a single strategy has no variance to deflate a Sharpe ratio by')
    await look(trials, { exit: { hold: 11 } })
    const { trials: third } = await look(trials, { side: 'short' })
    expect(third).toMatchObject({ run: 1, ledger: 3, n: 1, deflated_sharpe: null })
    expect(third.reason).toBe(
      'a single strategy has no variance; the ledger knows 3, and family "ledger" deflates by them',
    )
  })

  it('with the family of the ledger deflates by all that it knows', async () => {
    const trials = ledger()
    await look(trials)
    await look(trials, { exit: { hold: 11 } })
    const found = await look(trials, { side: 'short' }, { family: 'ledger' })
    const ratios = [...trials.kept.values()].map(({ sharpe }) => sharpe!)
    expect(found.trials).toMatchObject({
      run: 1,
      ledger: 3,
      family: 'ledger',
      n: 3,
      variance: variance(ratios),
      reason: null,
    })
    expect(found.trials.deflated_sharpe).toBeCloseTo(
      deflatedSharpe({
        sharpe: found.statistics.sharpe! / Math.sqrt(252),
        n: found.statistics.bars,
        skewness: found.statistics.skewness!,
        kurtosis: found.statistics.kurtosis!,
        trials: 3,
        variance: variance(ratios)!,
      })!,
      14,
    )
  })

  notInQuick('leaves all else of a run as it is: with the family of the run only its count differs', async () => {
    const holds = [5, 10, 20].map(hold => strategyWith({ ...LEAST, exit: { hold } }))
    const walk_forward = { train: 200, test: 100, step: 100, anchored: false, embargo: 0 }
    const options = { candidates: holds, walk_forward }
    const full = ledger()
    await look(full, { side: 'short' })
    const first = await look(null, {}, options)
    const later = await look(full, {}, options)
    // The strategy is one of its candidates, and counts once.
    expect(first.trials).toMatchObject({ run: 3, n: 3, ledger: null, family: 'run' })
    expect(first.trials.deflated_sharpe).not.toBeNull()
    expect({ ...later, trials: { ...later.trials, ledger: null } }).toEqual(first)
    expect(later.trials.ledger).toBe(4)
  })

  it('that is not there cannot be a family', async () => {
    await expect(look(null, {}, { family: 'ledger' })).rejects.toThrow('there is no trial log for the bundled sample')
  })
})

/** Falls on most days, and rises for three after each change to the first band. */
function rising() {
  const random = new Random(3)
  let price = 100
  let letters = ''
  let rises = 0
  const bars = Array.from({ length: 1200 }, (): MadeBar => {
    const open = price
    price *= 1 + (rises-- > 0 ? 0.012 : -0.004) + 0.006 * random.normal()
    const isSignal = rises < -5 && random.uniform() < 0.12
    if (isSignal) rises = 3
    letters += isSignal ? 'a' : 'b'
    return [open, Math.max(open, price), Math.min(open, price), price]
  })
  return madeMarket({ A: { bars, bands: { rsi_zone: letters } } })
}

describe('the trial log and a verdict', () => {
  const market = rising()
  const strategy = strategyWith({
    tickers: ['A'],
    entry: { field: 'rsi_zone', bands: ['deep_oversold'] },
    exit: { hold: 3 },
    costs: { bps: 0 },
  })
  const walk_forward = { train: 300, test: 150, step: 150, anchored: false, embargo: 0 }
  const { family: _, ...plainRun } = PLAIN
  const ran = (trials: Trials | null, options: Partial<RunOptions>): Promise<Backtest> =>
    backtest(market, strategy, { ...plainRun, reps: 199, ...options }, { trials })

  const PARTS: [string, Partial<RunOptions>][] = [
    ['all days', {}],
    ['the days of a walk-forward', { walk_forward }],
    ['the days after a split', { split: '2021-06-01' }],
  ]

  it.each(firstInQuick(PARTS))('decide together on %s, with one word in headline and JSON', async (_, options) => {
    const alone = await ran(null, options)
    expect(alone.verdict.word).toBe('beats chance')
    expect(alone.trials).toMatchObject({ log: null, log_q: null })
    const trials = ledger()
    const first = await ran(trials, options)
    const p = (first.validation?.test ?? first).random_entry.p!
    const noted = [...trials.kept.values()]
    expect(noted.map(trial => trial.p).at(-1)).toBe(p)
    expect(new Set(noted.map(({ asked }) => asked!.question)).size).toBe(1)
    expect(first.trials.log).toMatchObject({ family: 'ledger', questions: 1, windows: noted.length })
    expect(first.verdict.word).toBe('beats chance')
    const others = Array.from({ length: 200 }, (_, i): Trial => {
      const asked = { ...noted[0]!.asked!, question: `other ${i}` }
      return { hash: `other ${i}`, spec: 'another one', p: 0.9, test: CELL_TEST, sharpe: null, asked }
    })
    await trials.note('cell', others)
    const later = await ran(trials, options)
    const all = [...trials.kept.values()].map(trial => trial.p!)
    expect(later.trials.log_q).toBe(benjaminiHochberg(all)[all.indexOf(p)]!)
    expect(later.trials.log_q).toBeGreaterThan(0.05)
    const run = await ran(trials, { ...options, family: 'run' })
    for (const [found, word] of [
      [later, 'not told from chance'],
      [run, 'beats chance'],
    ] as const) {
      expect(found.verdict.word).toBe(word)
      if (found.validation !== null) expect(found.validation.test!.verdict).toEqual(found.verdict)
      expect(describeBacktest(found).answer.toLowerCase()).toMatch(new RegExp(`^${word}: `))
    }
    // Everything but the verdict and the standing in the log is the same.
    const plain = ({ validation, ...found }: Backtest) => ({
      ...found,
      validation: validation && { ...validation, test: { ...validation.test!, verdict: null } },
      verdict: null,
      trials: { ...found.trials, ledger: null, log: null, log_q: null },
    })
    expect(plain(later)).toEqual(plain(alone))
  })

  it('knows the p of every combination of a grid and of every strategy of a comparison', async () => {
    const trials = ledger()
    const line = { tickers: ['A'], field: 'rsi_zone', band: 'deep_oversold', costs: 0 }
    const query = parseGrid({ ...line, vary: { hold: [2, 3, 4] } } as never, { tier: null })
    const found = await grid(market, query, { trials })
    expect(found.cells.every(({ p }) => p !== null)).toBe(true)
    const ps = (): (number | null)[] => [...trials.kept.values()].map(trial => trial.p).sort()
    expect(ps()).toEqual(found.cells.map(({ p }) => p).sort())
    expect(found.trials.log).toMatchObject({ questions: 3, windows: 3 })
    const best = found.cells[found.best!.cell]!
    expect(found.trials.log_q).toBe(benjaminiHochberg(ps() as number[])[ps().indexOf(best.p)]!)
    // A backtest of one of them is the same trial with the same p.
    const single = await ran(trials, {})
    expect(single.trials.log).toMatchObject({ questions: 3, windows: 3 })
    const strategies = [5, 6].map(hold => ({ ...strategy, name: `hold ${hold}`, exit: { ...strategy.exit, hold } }))
    const compared = await compare(market, parseCompare({ strategies, resamples: 99 }, { tier: null }), { trials })
    expect(compared.trials.log).toMatchObject({ questions: 5, windows: 5 })
    for (const { p } of compared.strategies) expect(ps()).toContain(p)
    expect(describeComparison(compared).answer).toContain(
      'One of 5 questions (5 windows) tested on these data so far (bands trials): ',
    )
  })
})

const SPY = loadPrices('SPY')
const reason = SPY === null ? ' (skipped: the folder of shared data is absent)' : ''

// spec/backtest.md, section 8: SPY 1999-11..2020-08, not adjusted, rsi_zone oversold.
it.skipIf(SPY === null)(
  `SPY oversold, 20 bars from the next open at 5 bp: the published figures${reason}`,
  async () => {
    const market = seriesMarket({ SPY: seriesOf(SPY!) })
    const strategy = strategyWith({
      tickers: ['SPY'],
      entry: { field: 'rsi_zone', bands: ['oversold'] },
      exit: { hold: 20 },
      costs: { bps: 5 },
    })
    const { signals, trade_statistics: trades } = await backtest(market, strategy, PLAIN)
    expect([signals.total, trades.n]).toEqual([52, 29])
    expect(100 * trades.mean!).toBeCloseTo(1.6411, 4)
    expect(trades.hit_rate).toBeCloseTo(0.7586, 4)
    expect(100 * trades.mean_mfe!).toBeCloseTo(4.583, 3)
    expect(100 * trades.mean_mae!).toBeCloseTo(-6.299, 3)
  },
)

const TICKERS = {
  A: { bars: flat(10, 12), bands: { rsi_zone: 'ddaaaaaaaaaa' } },
  B: { bars: flat(10, 12), bands: { rsi_zone: 'ddaaaaaaaaaa' }, barsAYear: 252 },
}

async function said(document: Record<string, unknown>, min_trades = 0) {
  const strategy = strategyWith({ tickers: ['A'], ...document })
  return backtest(madeMarket(TICKERS), strategy, { ...PLAIN, min_trades })
}

describe('the first lines of a backtest', () => {
  it('say what was assumed: fills, costs, positions, prices, formulas, reference, null, survivorship', async () => {
    const { assumptions } = await said({ costs: { bps: 5, slippage_bps: 2 }, exit: { hold: 20, stop: '5%' }, seed: 7 })
    expect(assumptions).toEqual([
      'fills: a signal at a close is filled at the next open; exits: hold 20, stop 5 %',
      'within a bar: a gap fills at the open, the stop comes before the target, and both before the close',
      'costs: 7 bp a side (2 bp of it slippage); gross is before them, net after',
      'positions: at most 1, each 1/1 of the equity at the close before, never more than the cash, which earns 0 % a year',
      'overlap: one position a ticker; signals while it is on are skipped, the next may come on the exit bar',
      'prices: adjusted',
      'statistics: 365 bars a year, standard deviations with n - 1, risk-free rate 0 % a year',
      expect.stringMatching(
        /^reference: buy and hold of the same tickers, equal money in each, without costs; same exposure: [\d.]+ % of/,
      ),
      'null: no random entries; seed 7',
      'survivorship: tickers are those in the store',
    ])
  })
})

describe('a backtest warns', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['fills at the close of the signal', { fill: 'close' }, 'same close: not tradable on end-of-day data'],
    ['no costs', {}, 'no costs: real trades cost something'],
    ['borrow that nobody pays', { costs: { borrow: 0.01 } }, 'borrow is paid on shorts; these are long trades'],
    [
      'a hold that is not there',
      { overlap: 'extend', exit: { leave: true } },
      'there is no hold that a signal could extend',
    ],
    [
      'calendars that differ',
      { tickers: ['A', 'B'] },
      'tickers of 252 and 365 bars a year are on one calendar of all days',
    ],
  ])('of %s', async (_, document, sentence) => {
    expect((await said(document)).warnings.join('\n')).toContain(sentence)
  })

  it('of prices without dividends, but not of what trades at weekends and was not said to be stock', async () => {
    const raw = onBars(madeMarket(TICKERS), found => ({ ...found, adjustment: 'raw', assetClass: null }))
    const { warnings } = await backtest(raw, strategyWith({ tickers: ['A', 'B'] }), PLAIN)
    expect(warnings).toContain('prices of B are not adjusted for dividends')
  })

  it('of few trades, as many as are asked for', async () => {
    expect((await said({}, 20)).warnings).toContain('1 closed trade: fewer than 20 say little')
    expect((await said({}, 1)).warnings.join()).not.toContain('say little')
  })
})
