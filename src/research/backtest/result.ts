import type { Timeframe } from '../../core/model/terms.js'
import type { GridStatistic } from '../../core/params/grid.js'
import type { Side, Strategy } from '../../core/params/strategy.js'
import type { ValidationKind } from '../../core/params/studies.js'
import type { Overfitting } from '../../core/statistics/selection.js'
import type { Verdict } from '../../core/statistics/verdict.js'
import type { LogComparison } from '../trials.js'

/** The common head of every answer about strategies. */
interface ResultHead {
  tickers: string[]
  timeframe: Timeframe
  first: string | null
  last: string | null
  as_of: string | null
  /** Factor of annualisation: 252, 365 or 52; for mixed calendars bars / years. */
  bars_a_year: number
  seed: number
  /** Number of trials, and the deflated Sharpe ratio. */
  trials: {
    /** Distinct strategies of this run, and all in the trial log; null without a log. */
    run: number
    ledger: number | null
    family: 'run' | 'ledger'
    /** Basis of the deflated Sharpe ratio: strategies of the family, and the variance of their ratios a bar. */
    n: number
    variance: number | null
    deflated_sharpe: number | null
    reason: string | null
    /**
     * All questions to these data, and the p of random entry corrected for them. It is the p of the tests if there are
     * any, otherwise of the strategy or the best one; null without a p or a log.
     */
    log: LogComparison | null
    log_q: number | null
  }
  assumptions: string[]
  warnings: string[]
}

/** `bands backtest`: trades, equity and their statistics. Returns are fractions, dates YYYY-MM-DD, prices as loaded. */
export interface Backtest extends ResultHead {
  schema: 'bands.backtest/3'
  /** As `--print-config` prints it: the strategy file for the same run. */
  strategy: Strategy
  signals: {
    total: number
    /** Trades closed, and open at the last bar. */
    closed: number
    open: number
    /** No bar after the signal yet. */
    pending: number
    /** By reason: `in_trade`, `no_place`, `no_cash`, `no_price`, `no_size`. */
    skipped: Record<string, number>
    /** Signals that postponed the exit of an open trade (overlap: extend). */
    extended: number
    /** Trades whose fill came more than 5 days after the next bar was expected. */
    late: number
  }
  /**
   * The rank of a day's signals: `by` what, `first` which. It also counts the days with more signals than slots or
   * money, the days on which equal ranks left the choice open, and the signals without a rank. null without a rank.
   */
  ranking: {
    by: string
    first: 'highest' | 'lowest'
    contested_days: number
    tied_days: number
    without_rank: number
  } | null
  /**
   * Where equal signals competed for positions, the run was made `n` times with a random choice among them. The rest of
   * this document is about draw `shown`, the lower median by total return. null where no choice was open.
   */
  draws: (DrawsSummary & { p: DrawPoints }) | null
  statistics: EquityStatistics
  /** Interest on cash, and its share of the capital. */
  interest: { money: number; of_capital: number }
  /**
   * Buy and hold of the same tickers, the same at the strategy's average exposure, then the `benchmark` parameter's
   * ticker.
   */
  benchmarks: Benchmark[]
  trade_statistics: TradeStatistics
  trades: Trade[]
  skipped: { ticker: string; date: string; reason: string; rank: number | string | null }[]
  equity: EquityPoint[]
  /** Year, month (1..12; weekly bars by their last date), and the return of the equity; null once ruined. */
  months: { year: number; month: number; return: number | null }[]
  /** Return of each calendar year, and its deepest fall from a high of the same year; also for each benchmark. */
  years: Year[]
  /** The five deepest falls from a high. */
  drawdowns: { from: string; low: string; to: string | null; depth: number; bars: number }[]
  /**
   * The signals of all closed trades moved to other dates together, with the same exits and costs. It has their mean
   * net return a trade. p compares distances in Newey-West errors: how rarely a draw lies as far above as the strategy.
   */
  random_entry: {
    draws: number
    mean: number | null
    /** Two-sided. */
    p: number | null
    /** Share of the random entries that the strategy beats. */
    better_than: number | null
    reason: string | null
  }
  /** The verdict of the headline: on the tests if there are any, otherwise on all days. */
  verdict: StrategyVerdict
  /** null without the option. */
  monte_carlo: MonteCarlo | null
  validation: Validation | null
}

/** The verdict after the trial log, and the share of draws that agree; null without draws. */
export interface StrategyVerdict {
  word: Verdict | 'worse than holding' | 'depends on which signals got a place' | 'not tested' | 'ruined'
  agreement: number | null
}

/** How the results vary with the choice among equal signals. */
export interface DrawsSummary {
  n: number
  /** The draw shown in the result, counted from 1. */
  shown: number
  return: DrawPoints
  sharpe: DrawPoints
  max_drawdown: DrawPoints
}

/** The 5 %, 50 % and 95 % points of all draws; null where none has a value. */
export interface DrawPoints {
  p05: number | null
  p50: number | null
  p95: number | null
}

/** Statistics of an equity curve; formulas in core/statistics/. Each null has its reason. */
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
  /** The 5 % quantile of the returns a bar, and the mean of the worst 5 %. Both are historical; a loss is negative. */
  value_at_risk: number | null
  conditional_value_at_risk: number | null
  /** Share of bars with an open position between open and close. */
  exposure: number | null
  /** Time in market: mean share of the equity in positions between open and close, over all bars. */
  invested: number | null
  /** Value of entries plus exits / mean equity, a year. */
  turnover: number | null
  probabilistic_sharpe: number | null
  /** Bars needed for a Sharpe ratio above 0 at 95 %. */
  min_track_record_bars: number | null
  reasons: Record<string, string>
}

/** From the close before its first bar, or the start, to its last; null once ruined. */
export interface Year {
  year: number
  return: number | null
  max_drawdown: number | null
}

/** The benchmark that holds the average exposure of the strategy. */
export const SAME_EXPOSURE = 'same exposure'

export interface Benchmark {
  /** `buy and hold`, `same exposure`, or the ticker. */
  name: string
  /** First and last bar within the dates of the strategy, the range of its statistics; null without any. */
  first: string | null
  last: string | null
  statistics: EquityStatistics
  /** Relation of the strategy to the benchmark on the bars of both; alpha a year. */
  alpha: number | null
  /** By Newey and West. */
  alpha_t: number | null
  beta: number | null
  correlation: number | null
  information_ratio: number | null
  years: Year[]
  /** Equity on the strategy's dates, start 1; null before its first bar and after its last. */
  equity: (number | null)[]
  /** Beta over the last year of bars of both, on the strategy's dates; null with fewer bars, and without variation. */
  rolling_beta: (number | null)[]
  reasons: Record<string, string>
}

/** 95 of 100 draws lie from low to high. */
export interface Interval {
  low: number | null
  median: number | null
  high: number | null
}

/** Equity of the draws at a date: nine of ten lie from p5 to p95, half of them from p25 to p75. */
export interface FanPoint {
  date: string
  p5: number
  p25: number
  median: number
  p75: number
  p95: number
}

/** Monte Carlo: the returns of the bars redrawn in blocks. */
export interface MonteCarlo {
  draws: number
  /** Mean length of a block in bars. */
  block: number | null
  cagr: Interval
  sharpe: Interval
  max_drawdown: Interval
  /** Share of the draws that end below the start. */
  lost: number | null
  fan: FanPoint[]
  reason: string | null
}

/** Statistics of closed trades, net of costs unless noted. */
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
  /** The rank of the signal on its bar: a number, or the band of a field; null without a rank. */
  rank: number | string | null
  entry_date: string
  entry_price: number
  /** For an open trade: the last bar, and its close. */
  exit_date: string
  exit_price: number
  /** `hold` | `leave` | `on` | `when` | `stop` | `target` | `trailing` | `delisted` | `data_end` | `open` */
  exit: string
  bars: number
  shares: number
  /** Money invested, costs of entry included. */
  invested: number
  gross: number
  /** For an open trade as if it were closed at that close. */
  net: number
  /** Profit or loss in money; for an open trade so far, without the costs of an exit. */
  pnl: number
  mfe: number
  mae: number
}

export interface EquityPoint {
  date: string
  equity: number
  /** Value of the shares, shorts counted as positive, / equity; null where the equity is 0 or below. */
  gross: number | null
  positions: number
  drawdown: number
  /** Sharpe ratio over the last year of bars; null with fewer bars, and without variation. */
  rolling_sharpe: number | null
  /** Volatility a year over the same bars; null with fewer, and once ruined. */
  rolling_volatility: number | null
}

/** The strategy in parts of the data; no trade reaches into another part. */
export interface Validation {
  kind: Exclude<ValidationKind, 'cv' | 'cpcv'>
  purged: number
  /** The differences between the candidates, in words; empty without a choice. Everything else is about the first. */
  candidates: string[]
  folds: {
    name: string
    from: string
    to: string
    role: 'train' | 'test'
    trades: number
    statistics: EquityStatistics
    trade_statistics: TradeStatistics
    /** The candidate chosen on the training part; null without a choice. */
    chosen: string | null
    /**
     * Share of the draws whose training part chooses the same candidate; null where no choice among signals was open.
     */
    agreement: number | null
  }[]
  /** All test parts, one after the other; null without any. */
  test: Tests | null
}

/** The result over all test days, compared with holding and random entry on the same days. */
export interface Tests {
  statistics: EquityStatistics
  trade_statistics: TradeStatistics
  /** Buy and hold of the same tickers. */
  holding: EquityStatistics
  /** For each day: equity and holding, both from 1, and the drawdown of the equity. */
  equity: { date: string; equity: number; holding: number; drawdown: number }[]
  /** Random entry: the signals of the tests moved among their days. */
  random_entry: Backtest['random_entry']
  /** Its agreement is null where the shown run finds nothing. */
  verdict: StrategyVerdict
  /** The total return over all random choices among equal signals; null where no choice was open. */
  draws: { n: number; return: DrawPoints } | null
}

/** The fields and context tickers that strategies use. */
export interface DataUsed {
  fields: string[]
  contexts: { ticker: string; field: string }[]
  /** Lags in bars of conditions on named tickers, ascending; all 0 without it. */
  lags?: number[]
}

/**
 * `bands backtest … --vary`: every combination of some values of a strategy, and whether the best one is real. Bars a
 * year and trials are those of the best.
 */
export interface Grid extends ResultHead, DataUsed {
  schema: 'bands.grid/3'
  /** The varied parameters: keys as in a backtest, values as typed. */
  axes: { key: string; values: string[] }[]
  /** The statistic that compares the cells. */
  statistic: GridStatistic
  /** Every combination; the last axis changes fastest. */
  cells: GridCell[]
  /** Index of the best cell, and its strategy file; null where no cell has a value. */
  best: {
    cell: number
    strategy: Strategy
    neighbours: Neighbours
    /** The deflated Sharpe ratio at the 5 % point of its draws; null without draws. */
    deflated_sharpe_p05: number | null
    /** Buy and hold of the same tickers over its days. */
    holding: EquityStatistics
    /** Its equity at each close; of several draws the one that is shown. */
    equity: { date: string; equity: number }[]
  } | null
  /** Correlation of the cells with the means of their neighbours; null with too few cells or no variation. */
  smoothness: number | null
  /** The verdict of the headline: on the tests if there are any, otherwise on the best cell. */
  verdict: StrategyVerdict
  /**
   * How often the best cell of one half of the bars is not above the median of the other half; null with its reason.
   */
  pbo: Overfitting | null
  validation: Validation | null
  reasons: Record<string, string>
}

export interface GridCell {
  /** One value an axis. */
  values: string[]
  /** Value of the statistic that compares the cells. */
  value: number | null
  /** Two-sided p of random entry; null without a test. */
  p: number | null
  /** How its results vary with the choice among equal signals; null where no choice was open. */
  draws: DrawsSummary | null
  statistics: EquityStatistics
  trade_statistics: TradeStatistics
}

/** The cells one step from the best along one axis. */
export interface Neighbours {
  n: number
  mean: number | null
  least: number | null
  greatest: number | null
}

/** `bands compare`: several strategies over their common days. */
export interface Comparison extends ResultHead, DataUsed {
  schema: 'bands.comparison/3'
  strategies: ComparedStrategy[]
  /** The common days. */
  dates: string[]
  /** Correlations of the returns, in the order of the strategies. */
  correlations: (number | null)[][]
  /** For every pair of strategies: a minus b. */
  sharpe_differences: SharpeDifference[]
  /** The strategy with the highest Sharpe ratio, deflated by the number of trials; null where none has one. */
  best: string | null
  /** The verdict of the headline: whether the best is ahead of all others. */
  verdict: 'is ahead' | 'not told apart' | 'depends on which signals got a place' | 'not tested'
}

/** A strategy over the common days. */
export interface ComparedStrategy {
  name: string
  strategy: Strategy
  /** First and last of its own days. */
  first: string | null
  last: string | null
  statistics: EquityStatistics
  /** Only trades that begin and end within the common days. */
  trade_statistics: TradeStatistics
  /** Two-sided p of random entry over all its own days; null without a test. */
  p: number | null
  /** How its results vary with the choice among equal signals, over all its own days; null where none were equal. */
  draws: DrawsSummary | null
  years: Year[]
  /** On the common days, start 1. */
  equity: number[]
}

/** Difference of two Sharpe ratios a year, with an interval from resamples of the common days. */
export interface SharpeDifference {
  a: string
  b: string
  /** Level of the interval: 1 - .05 / pairs. */
  level: number
  /** null where the two cannot be compared. */
  verdict: 'a is ahead' | 'b is ahead' | 'not told apart' | 'depends on which signals got a place' | null
  /** Share of the draws in which the same one is ahead; null without draws or a clear winner. */
  agreement: number | null
  difference: number | null
  low: number | null
  high: number | null
  draws: number
  /** Mean length of a block in bars. */
  block: number
  reason: string | null
}
