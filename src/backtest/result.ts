import type { Timeframe } from '../model/terms.js'
import type { Side, Strategy } from '../params/strategy.js'
import type { Way } from '../params/studies.js'

/** `bands backtest`: trades, equity and their statistics. Returns are fractions, dates YYYY-MM-DD, prices as loaded. */
export interface Backtest {
  schema: 'bands.backtest/1'
  /** As `--print-config` prints it: the strategy file that makes the same run. */
  strategy: Strategy
  tickers: string[]
  timeframe: Timeframe
  /** What is annualised by: 252, 365 or 52; of calendars that differ the bars that there are / the years that they take. */
  bars_a_year: number
  first: string | null
  last: string | null
  as_of: string | null
  seed: number
  signals: {
    total: number
    /** Trades closed, and open at the last bar. */
    closed: number
    open: number
    /** No bar after the signal yet. */
    pending: number
    /** By reason: `in_trade`, `no_place`, `no_cash`, `no_price`, `no_size`. */
    skipped: Record<string, number>
    /** Signals that put off the exit of a trade that was on (overlap: extend). */
    extended: number
    /** Of the trades, those whose fill came more than 5 days after the next bar was due. */
    late: number
  }
  statistics: EquityStatistics
  /** Money that cash earned, and what it is of the capital. */
  interest: { money: number; of_capital: number }
  /** Buy and hold of the same tickers, the same at the strategy's average exposure, then the benchmark that was asked for. */
  benchmarks: Benchmark[]
  trade_statistics: TradeStatistics
  trades: Trade[]
  skipped: { ticker: string; date: string; reason: string }[]
  equity: EquityPoint[]
  /** Year, month (1..12; of weekly bars by the last date), return of the equity in it; null from ruin on. */
  months: { year: number; month: number; return: number | null }[]
  /** The five deepest falls from a high. */
  drawdowns: { from: string; low: string; to: string | null; depth: number; bars: number }[]
  /**
   * The signals of all closed trades moved to other dates together, same exits and costs: their mean net return a trade,
   * and how rare it is to lie as many of its own Newey-West errors above it as the strategy does.
   */
  random_entry: { draws: number; mean: number | null; p: number | null; reason: string | null }
  /** How many looks there were, and what that leaves of the Sharpe ratio. */
  trials: {
    /** Distinct strategies of this run, and all that the ledger knows; null without one. */
    run: number
    ledger: number | null
    family: 'run' | 'ledger'
    /** What the deflated Sharpe ratio stands on: strategies of the family, and the variance of their ratios a bar. */
    n: number
    variance: number | null
    deflated_sharpe: number | null
    reason: string | null
  }
  validation: Validation | null
  assumptions: string[]
  warnings: string[]
}

/** Statistics of an equity curve; formulas in statistics/. A null has its reason. */
export interface EquityStatistics {
  bars: number
  total_return: number | null
  cagr: number | null
  volatility: number | null
  sharpe: number | null
  sortino: number | null
  calmar: number | null
  max_drawdown: number | null
  average_drawdown: number | null
  longest_drawdown_bars: number | null
  ulcer_index: number | null
  skewness: number | null
  kurtosis: number | null
  best_bar: number | null
  worst_bar: number | null
  /** Share of bars on which a position was on between open and close. */
  exposure: number | null
  /** Value of entries and of exits, both counted / mean equity, a year. */
  turnover: number | null
  probabilistic_sharpe: number | null
  /** Bars needed for the Sharpe ratio to be above 0 at 95 %. */
  min_track_record_bars: number | null
  reasons: Record<string, string>
}

export interface Benchmark {
  /** `buy and hold`, `same exposure`, or the ticker. */
  name: string
  /** Its first and last bar within the dates of the strategy: what its statistics are of; null without any. */
  first: string | null
  last: string | null
  statistics: EquityStatistics
  /** Of the strategy against it on the bars that both have; alpha a year. */
  alpha: number | null
  /** By Newey and West. */
  alpha_t: number | null
  beta: number | null
  correlation: number | null
  information_ratio: number | null
  /** Equity on the dates of the strategy's, start 1; null before its first bar and after its last. */
  equity: (number | null)[]
  reasons: Record<string, string>
}

/** Of closed trades, net of costs unless said otherwise. */
export interface TradeStatistics {
  n: number
  wins: number
  hit_rate: number | null
  hit_low: number | null
  hit_high: number | null
  mean: number | null
  mean_gross: number | null
  median: number | null
  best: number | null
  worst: number | null
  deviation: number | null
  profit_factor: number | null
  expectancy: number | null
  sqn: number | null
  longest_losing_run: number | null
  average_bars: number | null
  mean_mfe: number | null
  mean_mae: number | null
  /** Cost a side, a fraction, at which the mean net return would be 0. */
  break_even_cost: number | null
  reasons: Record<string, string>
}

export interface Trade {
  ticker: string
  side: Side
  signal_date: string
  band: string
  prev_band: string
  context_band: string | null
  entry_date: string
  entry_price: number
  /** Of an open trade: the last bar, and its close. */
  exit_date: string
  exit_price: number
  /** `hold` | `leave` | `on` | `stop` | `target` | `trailing` | `delisted` | `data_end` | `open` */
  exit: string
  bars: number
  shares: number
  /** Money put in, costs of entry included. */
  invested: number
  gross: number
  /** Of an open trade as if it were left at that close. */
  net: number
  /** Money that the trade added to the equity; of an open trade so far, its exit not paid yet. */
  pnl: number
  mfe: number
  mae: number
}

export interface EquityPoint {
  date: string
  equity: number
  /** Value of the shares, of shorts too, / equity; null where the equity is 0 or below. */
  gross: number | null
  positions: number
  drawdown: number
}

/** The same strategy in parts of the data, none of whose trades reaches into another part. */
export interface Validation {
  kind: Exclude<Way, 'cv' | 'cpcv'>
  purged: number
  /** What the candidates differ in, each in words; none where nothing was chosen. Everything else is of the first. */
  candidates: string[]
  folds: {
    name: string
    from: string
    to: string
    role: 'train' | 'test'
    trades: number
    statistics: EquityStatistics
    trade_statistics: TradeStatistics
    /** The one of the candidates that was chosen on the training part; null where there was no choice. */
    chosen: string | null
  }[]
  /** All test parts, one after the other. */
  test: { statistics: EquityStatistics; trade_statistics: TradeStatistics } | null
}
