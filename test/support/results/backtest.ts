import type { ChartPrices } from '../../../src/app/present/chart.js'
import type { Strategy } from '../../../src/core/params/strategy.js'
import { ANY_EVENT } from '../../../src/core/params/studies.js'
import { wilson } from '../../../src/core/statistics/counts.js'
import type {
  Backtest,
  EquityPoint,
  EquityStatistics,
  Tests,
  Trade,
  TradeStatistics,
  Year,
} from '../../../src/research/backtest/result.js'

export function madeStrategy(tickers: readonly string[], more: Partial<Strategy> = {}): Strategy {
  return {
    name: null,
    tickers,
    timeframe: 'daily',
    side: 'long',
    entry: { field: 'rsi_zone', ...ANY_EVENT, bands: ['oversold'] },
    fill: 'next-open',
    exit: { hold: 20, leave: false, on: null, stop: 0.08, target: null, trailing: null },
    overlap: 'skip',
    costs: { bps: 5, slippage_bps: 0, per_share: 0, fixed: 0, borrow: 0 },
    portfolio: {
      capital: 1,
      max_positions: 10,
      size: { method: 'equal' },
      whole_shares: false,
      cash_rate: 0,
      shuffle: false,
    },
    benchmark: null,
    risk_free: 0,
    seed: 1,
    ...more,
  }
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

/** A backtest of some prices: trades and equity follow from them, most statistics only look like some. */
export function madeBacktest(charts: readonly ChartPrices[], more: Partial<Backtest> = {}): Backtest {
  const trades = charts.flatMap(tradesOf)
  const dates = charts[0]?.dates ?? []
  const equity = equityOf(charts, trades, dates)
  const held = dates.map(
    (_, i) => 1 + charts.reduce((all, { close }) => all + close[i]! / close[0]! - 1, 0) / charts.length,
  )
  const closed = trades.filter(({ exit }) => exit !== 'open')
  const events = charts.reduce((all, chart) => all + chart.events.length, 0)
  return {
    schema: 'bands.backtest/3',
    tickers: charts.map(({ ticker }) => ticker),
    timeframe: 'daily',
    bars_a_year: 252,
    first: dates[0] ?? null,
    last: dates.at(-1) ?? null,
    as_of: dates.at(-1) ?? null,
    seed: 1,
    signals: {
      total: events,
      closed: closed.length,
      open: trades.length - closed.length,
      pending: 0,
      skipped: { in_trade: events - trades.length },
      extended: 0,
      late: 0,
    },
    ranking: null,
    draws: null,
    statistics: equityStatistics(equity.map(point => point.equity)),
    interest: { money: 0, of_capital: 0 },
    benchmarks: [
      {
        name: 'buy and hold',
        first: dates[0] ?? null,
        last: dates.at(-1) ?? null,
        statistics: equityStatistics(held),
        alpha: 0.012,
        alpha_t: 0.6,
        beta: 0.21,
        correlation: 0.4,
        information_ratio: -0.3,
        years: yearsOf(dates, held),
        equity: held,
        rolling_beta: held.map((_, i) => (i < 252 ? null : 0.3 + Math.cos(i / 150) / 5)),
        reasons: {},
      },
    ],
    trade_statistics: tradeStatistics(closed),
    trades,
    skipped: charts.flatMap(({ ticker, events, dates }) =>
      events
        .filter(({ at }) => !trades.some(trade => trade.ticker === ticker && trade.signal_date === dates[at]))
        .map(({ at }) => ({ ticker, date: dates[at]!, reason: 'in_trade', rank: null })),
    ),
    equity,
    months: monthsOf(equity),
    years: yearsOf(
      dates,
      equity.map(point => point.equity),
    ),
    drawdowns:
      equity.length <= 60
        ? []
        : [{ from: dates[10]!, low: dates[60]!, to: dates[120] ?? null, depth: -0.11, bars: 110 }],
    random_entry:
      closed.length === 0
        ? { draws: 0, mean: null, p: null, better_than: null, reason: 'there is no trade' }
        : { draws: 999, mean: 0.004, p: 0.42, better_than: 0.79, reason: null },
    verdict: { word: closed.length === 0 ? 'too few' : 'not told from chance', agreement: null },
    trials: {
      run: 1,
      ledger: 12,
      family: 'ledger',
      n: 12,
      variance: 0.0004,
      deflated_sharpe: closed.length === 0 ? null : 0.83,
      reason: closed.length === 0 ? 'there is no trade' : null,
      log: null,
      log_q: null,
    },
    monte_carlo: null,
    validation: null,
    assumptions: ['Filled at the next open, 5 bp a side.', 'Tickers are those in the database.'],
    warnings: closed.length < 20 ? [`${closed.length} trades is few; do not read the second decimal.`] : [],
    ...more,
    strategy: { ...madeStrategy(charts.map(({ ticker }) => ticker)), ...more.strategy },
  }
}

function tradesOf({ ticker, events, close, dates, codes, bands }: ChartPrices): Trade[] {
  const trades: Trade[] = []
  let free = 0
  for (const { at, band } of events) {
    if (at < free || at + 1 >= close.length) continue
    const out = Math.min(at + 20, close.length - 1)
    const open = at + 20 > close.length - 1
    free = out
    const gross = close[out]! / close[at + 1]! - 1
    trades.push({
      ticker,
      side: 'long',
      signal_date: dates[at]!,
      band,
      prev_band: bands[codes[at - 1]!] ?? 'neutral',
      context_band: null,
      rank: null,
      entry_date: dates[at + 1]!,
      entry_price: close[at + 1]!,
      exit_date: dates[out]!,
      exit_price: close[out]!,
      exit: open ? 'open' : gross < -0.07 ? 'stop' : 'hold',
      bars: out - at,
      shares: 1 / close[at + 1]!,
      invested: 0.1,
      gross,
      net: gross - 0.001,
      pnl: (gross - 0.001) * 0.1,
      mfe: Math.max(0, gross) + 0.02,
      mae: Math.min(0, gross) - 0.02,
    })
  }
  return trades
}

function equityOf(charts: readonly ChartPrices[], trades: readonly Trade[], dates: readonly string[]): EquityPoint[] {
  const places = new Map(dates.map((date, i) => [date, i]))
  const changes = dates.map(() => 0)
  const positions = dates.map(() => 0)
  for (const trade of trades) {
    const { close } = charts.find(({ ticker }) => ticker === trade.ticker)!
    for (let i = places.get(trade.entry_date)!; i < places.get(trade.exit_date)!; i++) {
      changes[i + 1]! += (close[i + 1]! / close[i]! - 1) / Math.min(10, charts.length)
      positions[i + 1]!++
    }
  }
  let value = 1
  let highest = 1
  return dates.map((date, i) => {
    value *= 1 + changes[i]!
    highest = Math.max(highest, value)
    const n = Math.min(10, positions[i]!)
    const drawdown = value / highest - 1
    const rolling_sharpe = i < 252 ? null : Math.sin(i / 90)
    const rolling_volatility = i < 252 ? null : 0.15 + Math.sin(i / 120) / 20
    const gross = n / Math.min(10, charts.length)
    return { date, equity: value, gross, positions: n, drawdown, rolling_sharpe, rolling_volatility }
  })
}

function monthsOf(equity: readonly EquityPoint[]): Backtest['months'] {
  const last = new Map<string, number>()
  for (const point of equity) last.set(point.date.slice(0, 7), point.equity)
  let before = 1
  return [...last].map(([key, value]) => {
    const told = { year: Number(key.slice(0, 4)), month: Number(key.slice(5)), return: value / before - 1 }
    before = value
    return told
  })
}

function yearsOf(dates: readonly string[], equity: readonly number[]): Year[] {
  const last = new Map(dates.map((date, i) => [Number(date.slice(0, 4)), equity[i]!]))
  let before = 1
  return [...last].map(([year, value]) => {
    const told = { year, return: value / before - 1, max_drawdown: -0.08 }
    before = value
    return told
  })
}

/** Total return and drawdown are those of the curve; without one all is null. */
function equityStatistics(equity: readonly number[]): EquityStatistics {
  const none = equity.length < 2
  const value = (some: number): number | null => (none ? null : some)
  let highest = 0
  let depth = 0
  for (const point of equity) {
    highest = Math.max(highest, point)
    depth = Math.min(depth, point / highest - 1)
  }
  return {
    bars: equity.length,
    total_return: value((equity.at(-1) ?? 1) / (equity[0] ?? 1) - 1),
    cagr: value(((equity.at(-1) ?? 1) / (equity[0] ?? 1)) ** (252 / (equity.length || 1)) - 1),
    volatility: value(0.098),
    sharpe: value(0.39),
    sortino: value(0.61),
    calmar: value(0.29),
    max_drawdown: value(depth),
    average_drawdown: value(depth / 3),
    longest_drawdown_bars: value(400),
    ulcer_index: value(0.04),
    skewness: value(-0.3),
    kurtosis: value(6.2),
    best_bar: value(0.041),
    worst_bar: value(-0.053),
    value_at_risk: value(-0.012),
    conditional_value_at_risk: value(-0.021),
    exposure: value(0.34),
    invested: value(0.21),
    turnover: value(8.1),
    probabilistic_sharpe: value(0.91),
    min_track_record_bars: value(2210),
    reasons: none ? { sharpe: 'fewer than two bars', cagr: 'fewer than two bars' } : {},
  }
}

function tradeStatistics(closed: readonly Trade[]): TradeStatistics {
  const n = closed.length
  const net = closed.map(trade => trade.net).sort((a, b) => a - b)
  const wins = net.filter(value => value > 0).length
  const { low = null, high = null } = wilson(wins, n) ?? {}
  const value = (some: number): number | null => (n === 0 ? null : some)
  const mean = value(net.reduce((sum, one) => sum + one, 0) / n)
  return {
    n,
    wins,
    hit_rate: value(wins / n),
    hit_low: low,
    hit_high: high,
    mean,
    mean_gross: mean && mean + 0.001,
    median: value(net[n >> 1]!),
    best: value(net.at(-1)!),
    worst: value(net[0]!),
    deviation: value(0.05),
    profit_factor: value(1.4),
    expectancy: mean,
    sqn: value(1.9),
    longest_losing_run: value(4),
    average_bars: value(18.4),
    mean_mfe: value(0.04),
    mean_mae: value(-0.03),
    break_even_cost: value(0.0062),
    reasons: n === 0 ? { mean: 'there is no closed trade' } : {},
  }
}
