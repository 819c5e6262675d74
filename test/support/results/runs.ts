import type { ChartPrices } from '../../../src/app/present/chart.js'
import { parseDay } from '../../../src/core/model/day.js'
import type { Series } from '../../../src/core/model/series.js'
import type { Timeframe } from '../../../src/core/model/terms.js'
import { parseStrategyDocument } from '../../../src/core/params/strategy-file.js'
import type { PricedSource } from '../../../src/core/source.js'
import { backtest } from '../../../src/research/backtest/backtest.js'
import type { Backtest, Tests } from '../../../src/research/backtest/result.js'
import { eventStudy } from '../../../src/research/study/event-study.js'
import type { EventStudy } from '../../../src/research/study/result.js'
import type { Sweep } from '../../../src/research/sweep/result.js'
import { sweep } from '../../../src/research/sweep/sweep.js'
import { PLAIN } from '../../backtest/support/made-market.js'
import { queryOf } from '../../study/support/study-market.js'
import { asked as askedSweep, madeMarket } from '../../sweep/support/market.js'
import { marketFrom, pricesFrom, statesFrom } from '../source.js'
import { madePrices } from './prices.js'

/** A study of charts beside a benchmark, with something else in it. Without charts: of dates that leave out every bar. */
export async function madeStudy(charts: readonly ChartPrices[], more: Partial<EventStudy> = {}): Promise<EventStudy> {
  const timeframe = more.timeframe ?? 'daily'
  const shown = charts.length === 0 ? [madePrices({ bars: 300 })] : charts
  const longest = shown.reduce((most, one) => (one.dates.length > most.dates.length ? one : most))
  const SPY = { ...madePrices({ bars: longest.dates.length, seed: 99, weekly: timeframe === 'weekly' }), ticker: 'SPY' }
  const query = queryOf({
    tickers: shown.map(({ ticker }) => ticker),
    timeframe,
    bands: [shown[0]!.bands[1]!],
    horizons: timeframe === 'weekly' ? [2, 4, 8, 16] : [5, 10, 20, 50, 100],
    after: charts.length === 0 ? '2999-01-01' : null,
    benchmark: 'SPY',
    abnormal: 'market',
    reps: 99,
    resamples: 99,
  })
  const run = (): Promise<EventStudy> => eventStudy(marketOf([...shown, SPY], timeframe), query)
  return { ...(await once([query, shown], run)), ...more }
}

/** A backtest that buys the second band of charts for 20 bars, with something else in it. */
export async function madeBacktest(charts: readonly ChartPrices[], more: Partial<Backtest> = {}): Promise<Backtest> {
  const shown = charts.length === 0 ? [madePrices({ bars: 1 })] : charts
  const document = {
    tickers: ['AAPL'],
    entry: { field: 'rsi_zone', bands: ['oversold'] },
    exit: { hold: 20, stop: 0.08 },
    costs: { bps: 5 },
    portfolio: { max_positions: 10 },
  }
  const strategy = parseStrategyDocument(document)
  const tickers = shown.map(({ ticker }) => ticker)
  const asked = { ...strategy, tickers, entry: { ...strategy.entry, bands: [shown[0]!.bands[1]!] } }
  const run = (): Promise<Backtest> => backtest(marketOf(shown, 'daily'), asked, { ...PLAIN, reps: 99 })
  return { ...(await once([asked, shown], run)), ...more }
}

/** A sweep of four fields over made tickers, with something else in it. */
export async function madeSweep(more: Partial<Sweep> = {}, tickers = 1): Promise<Sweep> {
  const query = askedSweep({
    tickers: Array.from({ length: tickers }, (_, i) => `T${String(i + 1).padStart(2, '0')}`),
    fields: ['rsi_zone', 'trend_direction', 'volatility_regime', 'macd_state'],
    horizons: [5, 10, 20, 50, 100],
    by: more.by ?? 'pool',
  })
  const run = (): Promise<Sweep> => sweep(madeMarket({ seed: 7, tickers, bars: 1500 }), query)
  return { ...(await once(query, run)), ...more }
}

/** The tests of a backtest that beat random entry. */
export function testsWith(more: Pick<Tests, 'statistics' | 'trade_statistics' | 'holding'>): Tests {
  return {
    equity: [
      { date: '2010-01-04', equity: 1, holding: 1, drawdown: 0 },
      { date: '2011-01-03', equity: 0.921, holding: 1.1, drawdown: -0.079 },
    ],
    random_entry: { draws: 999, mean: 0.001, p: 0.02, better_than: 0.99, reason: null },
    verdict: { word: 'beats chance', agreement: null },
    draws: null,
    ...more,
  }
}

const found = new Map<string, Promise<object>>()

/** What was found of the same question before, or is found now; each answer may be changed. */
async function once<Result extends object>(asked: object, run: () => Promise<Result>): Promise<Result> {
  const key = JSON.stringify(asked)
  const result = (found.get(key) ?? run()) as Promise<Result>
  found.set(key, result)
  return structuredClone(await result)
}

function marketOf(charts: readonly ChartPrices[], timeframe: Timeframe): PricedSource {
  const chartOf = (ticker: string): ChartPrices => charts.find(chart => chart.ticker === ticker)!
  return marketFrom(
    charts.map(({ ticker }) => ticker),
    ticker => pricesFrom(ticker, seriesOf(chartOf(ticker), timeframe), { barsAYear: timeframe === 'daily' ? 252 : 52 }),
    (ticker, field) => {
      const { bands, codes } = chartOf(ticker)
      return statesFrom({ ticker, field, timeframe, bands }, Uint8Array.from(codes))
    },
  )
}

function seriesOf({ dates, close: closes }: ChartPrices, timeframe: Timeframe): Series {
  const days = Int32Array.from(dates, date => parseDay(date)!)
  const close = Float64Array.from(closes)
  return { timeframe, days, known: days, open: close, high: close, low: close, close, volume: close.map(() => 1e6) }
}
