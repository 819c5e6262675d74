import { describe, expect, it } from 'vitest'
import { FIELDS } from '../../src/core/fields/index.js'
import { atr } from '../../src/core/indicators/averages.js'
import { formatDay } from '../../src/core/model/day.js'
import { firstBars, type Series, UNDEFINED } from '../../src/core/model/series.js'
import type { Distance } from '../../src/core/params/figures.js'
import { eventsFilter, type Strategy } from '../../src/core/params/strategy.js'
import { parseStrategyDocument } from '../../src/core/params/strategy-file.js'
import type { PricedSource } from '../../src/core/source.js'
import { Random } from '../../src/core/statistics/random.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import type { Backtest } from '../../src/research/backtest/result.js'
import { eligibleBars } from '../../src/research/study/signals.js'
import { barsOf } from '../support/convert.js'
import { draws } from '../support/full.js'
import { type OracleRun, type OracleTicker, oracleBacktest } from '../support/oracle/backtest.js'
import { column, type Formula } from '../support/oracle/expressions.js'
import { signalsFor, statesIn } from '../support/source.js'
import { cacheOf } from '../support/store.js'
import { PLAIN } from './support/made-market.js'

/** The bars of the second ticker end months before those of the others. */
const SIMULATED = [...simulatedTickers({ count: 5, bars: 700, seed: 11, end: 17_000 })].map(({ ticker, bars }, i) => {
  return { ticker, bars: i === 1 ? firstBars(bars, 600) : bars }
})
const NAMES = SIMULATED.map(({ ticker }) => ticker)
const RUNS = Math.max(8, draws(200))
describe('a backtest equals a simulation that walks day by day', () => {
  it(`in ${RUNS} random strategies: trades, what was skipped, and equity on every day`, async () => {
    const fixtures = SIMULATED.map(({ ticker, bars }) => ({ ticker, series: bars }))
    const market = await cacheOf(fixtures)
    const random = new Random(20_261_121)
    let trades = 0
    for (let i = 0; i < RUNS; i++) {
      const strategy = randomStrategy(random)
      const told = `strategy ${i}: ${JSON.stringify(strategy)}`
      const engine = await backtest(market, strategy, PLAIN)
      const oracle = await simulated(market, strategy)
      expectSame(engine, oracle, told)
      trades += oracle.trades.length
    }
    expect(trades).toBeGreaterThan(RUNS * 10)
  })
})

function expectSame(engine: Backtest, oracle: OracleRun, told: string): void {
  const key = ({ ticker, signal_date }: { ticker: string; signal_date: string }): string => `${signal_date} ${ticker}`
  const expected = oracle.trades.map(trade => ({ ...trade, ...dated(trade.ticker, trade.signal) }))
  const wanted = [...expected].sort((a, b) => (key(a) < key(b) ? -1 : 1))
  const got = [...engine.trades].sort((a, b) => (key(a) < key(b) ? -1 : 1))
  expect(got.map(key), told).toEqual(wanted.map(key))
  got.forEach((trade, i) => {
    const other = wanted[i]!
    const what = `${told}\n${key(trade)}`
    expect(trade.exit, what).toBe(other.exit)
    expect(trade.entry_date, what).toBe(formatDay(other.entryDay))
    expect(trade.exit_date, what).toBe(formatDay(other.exitDay))
    for (const [a, b] of [
      [trade.entry_price, other.entryPrice],
      [trade.exit_price, other.exitPrice],
      [trade.gross, other.gross],
      [trade.net, other.net],
      [trade.shares, other.shares],
      [trade.invested, other.invested],
      [trade.mfe, other.mfe],
      [trade.mae, other.mae],
    ] as const)
      expect(Math.abs(a - b), what).toBeLessThan(1e-9 * Math.max(1, Math.abs(b)))
  })
  const skipped = (list: readonly { ticker: string; date: string; reason: string }[]): string[] =>
    list.map(({ ticker, date, reason }) => `${date} ${ticker} ${reason}`).sort()
  const byOracle = oracle.skipped.map(({ ticker, signal, reason }) => ({
    ticker,
    date: dated(ticker, signal).signal_date,
    reason,
  }))
  expect(skipped(engine.skipped), told).toEqual(skipped(byOracle))
  expect(engine.signals.extended, told).toBe(oracle.extended)
  expect(engine.signals.pending, told).toBe(oracle.pending)
  expect(
    engine.equity.map(({ date }) => date),
    told,
  ).toEqual(oracle.equity.map(({ day }) => formatDay(day)))
  engine.equity.forEach(({ equity, positions }, i) => {
    const other = oracle.equity[i]!
    expect(positions, told).toBe(other.positions)
    expect(Math.abs(equity / other.equity - 1), `${told}\n${formatDay(other.day)}`).toBeLessThan(1e-9)
  })
}

function dated(ticker: string, bar: number): { signal_date: string } {
  const { bars } = SIMULATED.find(one => one.ticker === ticker)!
  return { signal_date: formatDay(bars.days[bar]!) }
}

async function simulated(market: PricedSource, strategy: Strategy): Promise<OracleRun> {
  const tickers: OracleTicker[] = []
  let start = Number.POSITIVE_INFINITY
  let barsAYear = 252
  for (const ticker of strategy.tickers) {
    const { prices, states, signals } = await signalsFor(market, ticker, eventsFilter(strategy))
    const { series } = prices
    const on = strategy.exit.on
    const other = on === null ? null : await statesIn(market, ticker, on.field, strategy.timeframe)
    tickers.push({
      ticker,
      days: [...series.days],
      open: [...series.open],
      high: [...series.high],
      low: [...series.low],
      close: [...series.close],
      atr: [...atr(series.high, series.low, series.close, 14)],
      signals: [...signals.bars],
      events: [...states.bars],
      ...(strategy.rank !== undefined && { rank: await rankBy(market, strategy, ticker, series) }),
      on: other === null ? [] : [...other.bars].filter((_, i) => on!.bands.includes(other.bands[other.entered[i]!]!)),
    })
    const [first] = eligibleBars(prices, states, strategy.entry)
    if (first !== undefined) start = Math.min(start, series.days[first]!)
    barsAYear = prices.barsAYear
  }
  return oracleBacktest(tickers, strategy, { start, barsAYear })
}

const RSI = /^(-?)rsi\(close, (\d+)\)$/

/** By bar what a signal is ranked by, the greatest first. */
async function rankBy(market: PricedSource, strategy: Strategy, ticker: string, bars: Series) {
  const [, minus, n] = RSI.exec(strategy.rank!) ?? []
  if (n !== undefined) {
    const rsi: Formula = { call: 'rsi', of: ['close'], n: [Number(n)] }
    return column(minus === '-' ? { minus: rsi } : rsi, barsOf(bars))
  }
  const { codes } = await statesIn(market, ticker, strategy.rank!.replace('-', ''), strategy.timeframe)
  return Array.from(codes, code => (code === UNDEFINED ? null : strategy.rank!.startsWith('-') ? -code : code))
}

/** Now and then not all dates; the bars are from the end of 2013 on. */
function dates(random: Random): { after: string | null; before: string | null } {
  const after = random.uniform() < 0.25 ? `2014-${10 + random.below(3)}-15` : null
  return { after, before: random.uniform() < 0.25 ? `2015-0${1 + random.below(9)}-01` : null }
}

function randomStrategy(random: Random): Strategy {
  const pick = <T>(...items: readonly T[]): T => items[random.below(items.length)]!
  const maybe = <T>(share: number, make: () => T): T | null => (random.uniform() < share ? make() : null)
  const bandField = (): { field: string; bands: readonly string[] } => {
    const field = pick(...FIELDS.filter(({ needs }) => needs === 'bars'))
    return { field: field.name, bands: field.bands }
  }
  const { field, bands } = bandField()
  const distance = (): Distance => (random.uniform() < 0.6 ? pick(0.01, 0.03, 0.08, 0.2) : { atr: pick(0.5, 1, 2, 4) })
  const fill = pick('next-open', 'next-close', 'close')
  const hold = maybe(0.75, () => pick(2, 3, 5, 10, 20, 50))
  const leave = random.uniform() < 0.3 || hold === null
  const chosen = bands.filter(() => random.uniform() < 0.5)
  return parseStrategyDocument({
    tickers: NAMES.slice(0, 1 + random.below(NAMES.length)),
    side: pick('long', 'short'),
    entry: {
      field,
      bands: chosen.length === 0 ? null : chosen,
      max_flips: maybe(0.2, () => random.below(5)),
      ...dates(random),
    },
    fill,
    exit: {
      hold,
      leave,
      on: maybe(0.25, () => {
        const other = bandField()
        return { field: other.field, bands: [pick(...other.bands)] }
      }),
      stop: maybe(0.4, distance),
      target: maybe(0.4, distance),
      trailing: maybe(0.3, distance),
    },
    overlap: pick('skip', 'allow', 'extend'),
    costs: {
      bps: pick(0, 5, 30),
      slippage_bps: pick(0, 2),
      per_share: pick(0, 0, 0.01),
      fixed: pick(0, 0, 1),
      borrow: pick(0, 0.05),
    },
    portfolio: {
      order: 'ticker',
      capital: pick(10_000, 100_000),
      max_positions: pick(1, 2, 10),
      size: pick<unknown>(
        { method: 'equal' },
        { method: 'fixed-fraction', fraction: pick(0.1, 0.6) },
        { method: 'vol-target', target: 0.15, cap: pick(0.5, 1) },
      ),
      whole_shares: random.uniform() < 0.3,
      cash_rate: pick(0, 0.03),
    },
    rank: maybe(0.5, () => pick('', '-') + pick(bandField().field, `rsi(close, ${pick(2, 14)})`)),
  })
}
