import { describe, expect, it } from 'vitest'
import { formatDay } from '../../src/core/model/day.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import type { Backtest } from '../../src/research/backtest/result.js'
import { forwardReturns } from '../../src/research/study/signals.js'
import { firstInQuick } from '../support/full.js'
import { barsIn } from '../support/source.js'
import { flat, madeMarket, PLAIN, seriesMarket, strategyWith } from './support/made-market.js'

const SIMULATED = [...simulatedTickers({ count: 4, bars: 600, seed: 5, end: 17_000 })]
const TICKERS = SIMULATED.map(({ ticker }) => ticker)
const SERIES = Object.fromEntries(SIMULATED.map(({ ticker, bars }) => [ticker, bars]))
const MARKET = seriesMarket(SERIES)
const RULES: Record<string, Record<string, unknown>> = {
  hold: { hold: 7 },
  leave: { leave: true },
  on: { on: { field: 'trend_direction', bands: ['uptrend', 'downtrend'] } },
  stops: { hold: 15, stop: 0.03, target: 0.05, trailing: '2atr' },
}
const FILLS = ['next-open', 'next-close', 'close']
const SIDES = ['long', 'short']
/** Which of several draws is shown depends on the whole run. */
const BY_TICKER = { max_positions: 1, order: 'ticker' }

async function run(document: Record<string, unknown>, market = MARKET): Promise<Backtest> {
  const strategy = strategyWith({ tickers: TICKERS, entry: { field: 'rsi_zone' }, portfolio: BY_TICKER, ...document })
  return backtest(market, strategy, PLAIN)
}

async function everyKind(visit: (found: Backtest, what: string) => void, more: Record<string, unknown> = {}) {
  for (const fill of firstInQuick(FILLS))
    for (const side of SIDES)
      for (const [name, exit] of Object.entries(RULES))
        visit(await run({ fill, side, exit, ...more }), `${fill} ${side} ${name}`)
}

describe('B1: a trade from close to close', () => {
  it('returns what the event returned over the same bars, and on average what they did', async () => {
    for (const hold of firstInQuick([5, 1, 20])) {
      const found = await run({
        fill: 'close',
        exit: { hold },
        overlap: 'allow',
        portfolio: { max_positions: 100_000 },
      })
      let sum = 0
      for (const trade of found.trades.filter(({ exit }) => exit === 'hold')) {
        const prices = await barsIn(MARKET, trade.ticker, 'daily')
        const bar = prices.series.days.findIndex(day => formatDay(day) === trade.signal_date)
        expect(trade.gross).toBe(forwardReturns(prices, hold)[bar])
        expect(trade.net).toBe(trade.gross)
        sum += trade.gross
      }
      const { n, mean } = found.trade_statistics
      expect(n).toBeGreaterThan(100)
      expect(mean).toBeCloseTo(sum / n, 14)
    }
  })
})

describe('B2: costs', () => {
  it('lower the net return of each trade by the closed formula, and leave the gross one', async () => {
    const free = await run({ exit: { hold: 7 } })
    let before = free.trades
    for (const bps of [1, 5, 25, 100]) {
      const { trades } = await run({ exit: { hold: 7 }, costs: { bps: bps / 2, slippage_bps: bps / 2 } })
      trades.forEach((trade, i) => {
        const c = bps / 10_000
        expect(trade.gross).toBe(free.trades[i]!.gross)
        expect(trade.net).toBeLessThan(before[i]!.net)
        const { entry_price: entry, exit_price: exit } = trade
        if (trade.exit !== 'open') expect(trade.net).toBeCloseTo((exit * (1 - c)) / (entry * (1 + c)) - 1, 12)
      })
      before = trades
    }
  })

  it('of a short follow its own formula, with borrow by the calendar day', async () => {
    const { trades } = await run({ side: 'short', exit: { hold: 7 }, costs: { bps: 5, borrow: 0.1 } })
    for (const { entry_price: entry, exit_price: exit, net, entry_date, exit_date } of trades) {
      const days = (Date.parse(exit_date) - Date.parse(entry_date)) / 86_400_000
      const c = 5 / 10_000
      expect(net).toBeCloseTo((entry * (1 - c) - exit * (1 + c)) / entry - (0.1 * days) / 365, 12)
    }
  })

  it('of nothing leave net = gross, and long and short of the same trades add up to 0', async () => {
    for (const fill of FILLS) {
      const long = await run({ fill, exit: { hold: 7 } })
      const short = await run({ fill, side: 'short', exit: { hold: 7 } })
      expect(long.trades.length).toBeGreaterThan(50)
      long.trades.forEach((trade, i) => {
        expect(trade.net).toBeCloseTo(trade.gross, 14)
        expect(trade.gross + short.trades[i]!.gross).toBeCloseTo(0, 14)
      })
    }
  })

  it('a side that would leave nothing are told: there the mean net return is 0', async () => {
    const found = await run({ exit: { hold: 7, target: 0.02 }, entry: { field: 'rsi_zone', bands: ['oversold'] } })
    const even = found.trade_statistics.break_even_cost!
    expect(even).toBeGreaterThan(0)
    const closed = found.trades.filter(({ exit }) => exit !== 'open')
    const nets = closed.map(trade => (trade.exit_price * (1 - even)) / (trade.entry_price * (1 + even)) - 1)
    expect(nets.reduce((sum, net) => sum + net, 0) / nets.length).toBeCloseTo(0, 14)
  })
})

describe('B3: equity', () => {
  const costs = { bps: 5, slippage_bps: 3, per_share: 0.01, fixed: 1, borrow: 0.03 }

  it('ends at the capital and the money of all trades, open ones as they stand', async () => {
    await everyKind(
      (found, what) => {
        const money = found.trades.reduce((sum, { pnl }) => sum + pnl, 0)
        expect(found.equity.at(-1)!.equity, what).toBeCloseTo(10_000 + money, 6)
        expect(found.trades.length, what).toBeGreaterThan(5)
      },
      { costs, portfolio: { capital: 10_000, max_positions: 3 } },
    )
  })

  it('of one ticker in one position is the product of the trades', async () => {
    for (const fill of ['next-open', 'next-close']) {
      const found = await run({ fill, tickers: [TICKERS[0]], exit: { leave: true }, costs: { bps: 5 } })
      const closed = found.trades.filter(({ exit }) => exit !== 'open')
      const last = closed.at(-1)!
      const after = found.equity.find(({ date }) => date === last.exit_date)!
      expect(after.equity).toBeCloseTo(
        closed.reduce((product, { net }) => product * (1 + net), 1),
        12,
      )
    }
  })

  it('has the same tickers in any order, and the same bytes each time', async () => {
    const one = await run({ exit: { hold: 7 }, portfolio: { max_positions: 2, shuffle: true }, seed: 7 })
    const other = await run({
      exit: { hold: 7 },
      portfolio: { max_positions: 2, shuffle: true },
      seed: 7,
      tickers: TICKERS.toReversed(),
    })
    expect(JSON.stringify(one)).toBe(JSON.stringify(other))
  })
})

describe('B4: a signal on every bar, held for one', () => {
  it('makes the product of close / open', async () => {
    const bars = flat(100, 40).map((_, t): [number, number, number, number] => {
      const open = 100 + 7 * Math.sin(t)
      const close = 100 + 5 * Math.cos(3 * t)
      return [open, Math.max(open, close), Math.min(open, close), close]
    })
    const bands = { rsi_zone: 'ab'.repeat(20) }
    const market = madeMarket({ A: { bars, bands } })
    const strategy = strategyWith({ entry: { field: 'rsi_zone' }, exit: { hold: 1 } })
    const { equity, trades, signals } = await backtest(market, strategy, PLAIN)
    // The first bar has a band but no event; the signal of the last one has no bar after it.
    expect([trades.length, signals.pending]).toEqual([38, 1])
    expect(equity.at(-1)!.equity).toBeCloseTo(
      bars.slice(2).reduce((product, [open, , , close]) => (product * close) / open, 1),
      12,
    )
  })
})
