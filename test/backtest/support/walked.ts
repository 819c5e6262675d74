import { expect } from 'vitest'
import { formatDay, parseDay } from '../../../src/core/model/day.js'
import { firstBars } from '../../../src/core/model/series.js'
import type { Strategy } from '../../../src/core/params/strategy.js'
import { Random } from '../../../src/core/statistics/random.js'
import { Local } from '../../../src/data/local/local.js'
import type { Store } from '../../../src/data/store/store.js'
import { backtest } from '../../../src/research/backtest/backtest.js'
import type { Backtest } from '../../../src/research/backtest/result.js'
import { LISTED, onsets } from '../../support/exported-shelves.js'
import { draws } from '../../support/full.js'
import { type OracleTicker, oracleBacktest } from '../../support/oracle/backtest.js'
import { type Claim, type Shelves, type Timeframe, truth } from '../../support/oracle/conditions.js'
import { storeOf } from '../../support/store.js'
import { PLAIN } from './made-market.js'

/** A strategy of conditions, and what it means apart from how it is written. */
export interface Rules {
  strategy: Strategy
  entry: Claim
  /** null: the condition stands in place of the field. */
  beside: { field: string; bands: readonly string[] } | null
  exit: Claim | null
  /** By bar: what a signal on it is ranked by, the greatest first. */
  rank: ((of: { ticker: string; timeframe: Timeframe }) => (number | null)[]) | null
}

export type Told = Pick<Backtest['trades'][number], 'ticker' | 'signal_date' | 'entry_date' | 'exit_date' | 'exit'> & {
  prices: number[]
}

export function told({
  ticker,
  signal_date,
  entry_date,
  exit_date,
  exit,
  entry_price,
  exit_price,
}: Backtest['trades'][number]) {
  return { ticker, signal_date, entry_date, exit_date, exit, prices: [entry_price, exit_price] }
}

export function inOrder(trades: readonly Told[]): Told[] {
  const key = ({ ticker, signal_date }: Told): string => `${signal_date} ${ticker}`
  return trades.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** Signals and exits by looking at every bar, trades by walking through the days. */
export async function walked(local: Local, shelves: Shelves, { strategy, entry, beside, exit, rank }: Rules) {
  const { timeframe, lag = 0 } = strategy
  const tickers: OracleTicker[] = []
  let start = Number.POSITIVE_INFINITY
  for (const ticker of strategy.tickers) {
    const { days, open, high, low, close } = await local.series(ticker, timeframe)
    const shelf = shelves[ticker]![timeframe]
    const truths = (claim: Claim) => shelf.dates.map((_, t) => truth(claim, shelves, { ticker, timeframe, lag }, t))
    const held = truths(entry)
    const bands = beside === null ? held : shelf.bands[beside.field]!
    const events = changes(bands)
    const isSignal = (t: number): boolean =>
      beside === null ? held[t] === true : held[t] === true && beside.bands.includes(String(bands[t]))
    const first = bands.findIndex(band => band !== null)
    if (first >= 0) start = Math.min(start, days[first]!)
    tickers.push({
      ticker,
      days: [...days],
      open: [...open],
      high: [...high],
      low: [...low],
      close: [...close],
      atr: shelf.dates.map(() => Number.NaN),
      signals: events.filter(isSignal),
      events,
      on: [],
      when: exit === null ? [] : onsets(truths(exit)),
      ...(rank !== null && { rank: rank({ ticker, timeframe }) }),
    })
  }
  const run = oracleBacktest(tickers, strategy, { start, barsAYear: 252 })
  const dateOf = (ticker: string, t: number): string => shelves[ticker]![timeframe].dates[t]!
  const trades = run.trades.map(trade => ({
    ticker: trade.ticker,
    signal_date: dateOf(trade.ticker, trade.signal),
    entry_date: formatDay(trade.entryDay),
    exit_date: formatDay(trade.exitDay),
    exit: trade.exit,
    prices: [trade.entryPrice, trade.exitPrice],
  }))
  return { trades, equity: run.equity.at(-1) }
}

/** Bars on which something known becomes something else that is known. */
function changes(values: readonly (string | boolean | null)[]): number[] {
  let before: string | boolean | null = null
  return values.flatMap((one, t) => {
    if (one === null) return []
    const changed = before !== null && one !== before
    before = one
    return changed ? [t] : []
  })
}

/** Expects of each random strategy that it does as of each date what it does on data that end there. */
export async function expectSameOfCutData(
  store: Store,
  dates: readonly string[],
  randomStrategy: (random: Random) => Strategy,
): Promise<void> {
  let trades = 0
  for (const date of dates) {
    const day = parseDay(date)!
    const cut = await storeOf(
      LISTED.map(({ ticker, series }) => {
        return { ticker, series: firstBars(series, series.days.filter(one => one <= day).length) }
      }),
    )
    const then = new Local(store, null, day)
    const alone = new Local(cut, null, day)
    for (let seed = 1; seed <= draws(100); seed++) {
      const strategy = randomStrategy(new Random(new Random(seed).word()))
      const found = await backtest(then, strategy, PLAIN)
      expect(found, `${date}, seed ${seed}: ${JSON.stringify(strategy)}`).toEqual(
        await backtest(alone, strategy, PLAIN),
      )
      trades += found.trades.length
    }
  }
  expect(trades).toBeGreaterThan(draws(100))
}
