import type { Timeframe } from '../model/terms.js'
import type { GridStatistic } from '../params/grid.js'
import type { Side, Strategy } from '../params/strategy.js'
import type { ValidationKind } from '../params/studies.js'
import type { Verdict } from '../statistics/verdict.js'
import type { LogStanding } from '../trials.js'

/** What every answer about strategies says of what it stands on. */
interface ResultHead {
  tickers: string[]
  timeframe: Timeframe
  first: string | null
  last: string | null
  as_of: string | null
  /** What is annualised by: 252, 365 or 52; of calendars that differ the bars that there are / the years that they take. */
  bars_a_year: number
  seed: number
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
    /**
     * All questions of these data, and the p of random entry corrected for them: of the tests where there are any, otherwise
     * of the strategy, or of the best. null without a p or a log.
     */
    log: LogStanding | null
    log_q: number | null
  }
  assumptions: string[]
  warnings: string[]
}

/** `bands backtest`: trades, equity and their statistics. Returns are fractions, dates YYYY-MM-DD, prices as loaded. */
export interface Backtest extends ResultHead {
  schema: 'bands.backtest/2'
  /** As `--print-config` prints it: the strategy file that makes the same run. */
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
    /** Signals that put off the exit of a trade that was on (overlap: extend). */
    extended: number
    /** Of the trades, those whose fill came more than 5 days after the next bar was due. */
    late: number
  }
  /**
   * Which of a day's signals came first: by what on their own bars, which of it first, on how many days there were more
   * than places or money for them, on how many of those equal ranks left open which, and how many signals had no rank.
   * null without a rank.
   */
  ranking: {
    by: string
    first: 'highest' | 'lowest'
    contested_days: number
    tied_days: number
    without_rank: number
  } | null
  /**
   * Where equal signals competed for positions, the run was made `n` times with a random choice among them. Everything
   * else in this document is of draw `shown`, the lower median by total return. null where no choice was open.
   */
  draws: (DrawsSummary & { p: DrawPoints }) | null
  statistics: EquityStatistics
  /** Money that cash earned, and what it is of the capital. */
  interest: { money: number; of_capital: number }
  /** Buy and hold of the same tickers, the same at the strategy's average exposure, then the benchmark that was asked for. */
  benchmarks: Benchmark[]
  trade_statistics: TradeStatistics
  trades: Trade[]
  skipped: { ticker: string; date: string; reason: string; rank: number | string | null }[]
  equity: EquityPoint[]
  /** Year, month (1..12; of weekly bars by the last date), return of the equity in it; null from ruin on. */
  months: { year: number; month: number; return: number | null }[]
  /** The return of each calendar year, and its deepest fall from a high of the same year; of each benchmark, too. */
  years: Year[]
  /** The five deepest falls from a high. */
  drawdowns: { from: string; low: string; to: string | null; depth: number; bars: number }[]
  /**
   * The signals of all closed trades moved to other dates together, same exits and costs: their mean net return a trade,
   * and how rare it is to lie as many of its own Newey-West errors above it as the strategy does.
   */
  random_entry: {
    draws: number
    mean: number | null
    /** Two-sided. */
    p: number | null
    /** Share of the random entries that the strategy is better than. */
    better_than: number | null
    reason: string | null
  }
  /** The verdict of the headline: on the days of the tests where there are any, otherwise on all days. */
  verdict: StrategyVerdict
  /** null unless it was asked for. */
  monte_carlo: MonteCarlo | null
  validation: Validation | null
}

/** What is said of a strategy, after the trial log, and the share of its draws that say the same; null without draws. */
export interface StrategyVerdict {
  word: Verdict | 'worse than holding' | 'depends on which signals got a place' | 'not tested' | 'ruined'
  agreement: number | null
}

/** How far results differ by which of equal signals got a position. */
export interface DrawsSummary {
  n: number
  /** The draw that is shown, counted from 1. */
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
  /** The 5 % quantile of the returns a bar, and the mean of the worst 5 %: historical, at 95 %; a loss is negative. */
  value_at_risk: number | null
  conditional_value_at_risk: number | null
  /** Share of bars on which a position was on between open and close. */
  exposure: number | null
  /** Time in market: mean share of the equity in positions between open and close, over all bars. */
  invested: number | null
  /** Value of entries and of exits, both counted / mean equity, a year. */
  turnover: number | null
  probabilistic_sharpe: number | null
  /** Bars needed for the Sharpe ratio to be above 0 at 95 %. */
  min_track_record_bars: number | null
  reasons: Record<string, string>
}

/** From the close before its first bar, or the start, to its last; null from ruin on. */
export interface Year {
  year: number
  return: number | null
  max_drawdown: number | null
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
  years: Year[]
  /** Equity on the dates of the strategy's, start 1; null before its first bar and after its last. */
  equity: (number | null)[]
  reasons: Record<string, string>
}

/** A draw of 95 of 100 lies from low to high. */
export interface Interval {
  low: number | null
  median: number | null
  high: number | null
}

/** The equity of the draws at a date: nine of ten from p5 to p95, half of them from p25 to p75. */
export interface FanPoint {
  date: string
  p5: number
  p25: number
  median: number
  p75: number
  p95: number
}

/** The returns of the bars redrawn in blocks: what else could have come of them. */
export interface MonteCarlo {
  draws: number
  /** Mean length of a block in bars. */
  block: number | null
  cagr: Interval
  sharpe: Interval
  max_drawdown: Interval
  /** Share of the draws that end below what they began with. */
  lost: number | null
  fan: FanPoint[]
  reason: string | null
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
  /** What the signal was ranked by on its bar: a number, or the band of a field; null without. */
  rank: number | string | null
  entry_date: string
  entry_price: number
  /** Of an open trade: the last bar, and its close. */
  exit_date: string
  exit_price: number
  /** `hold` | `leave` | `on` | `when` | `stop` | `target` | `trailing` | `delisted` | `data_end` | `open` */
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
  /** The Sharpe ratio of the bars of a year up to this one; null before there are as many, and where nothing varies. */
  rolling_sharpe: number | null
}

/** The same strategy in parts of the data, none of whose trades reaches into another part. */
export interface Validation {
  kind: Exclude<ValidationKind, 'cv' | 'cpcv'>
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
    /** Share of the draws in which the training part chooses the same one; null where no choice among signals was open. */
    agreement: number | null
  }[]
  /** All test parts, one after the other; null without any. */
  test: Tests | null
}

/** The result over the days of all tests, compared with holding and random entry over the same days. */
export interface Tests {
  statistics: EquityStatistics
  trade_statistics: TradeStatistics
  /** Buy and hold of the same tickers. */
  holding: EquityStatistics
  /** Of each day: equity and holding, both from 1, and how far the equity is below its high. */
  equity: { date: string; equity: number; holding: number; drawdown: number }[]
  /** The signals of the tests moved among their days. */
  random_entry: Backtest['random_entry']
  /** Its agreement is null where the run shown finds nothing. */
  verdict: StrategyVerdict
  /** The total return over all random choices among equal signals; null where no choice was open. */
  draws: { n: number; return: DrawPoints } | null
}

/** What strategies look at: fields of their tickers, and of others beside them. */
export interface DataUsed {
  fields: string[]
  contexts: { ticker: string; field: string }[]
  /** How many bars earlier conditions look at the tickers that they name, ascending; 0 of all of them without it. */
  lags?: number[]
}

/**
 * `bands backtest … --vary`: every combination of some values of a strategy, and whether the best of them is real. Bars a
 * year and trials are those of the best.
 */
export interface Grid extends ResultHead, DataUsed {
  schema: 'bands.grid/2'
  /** What is varied; keys as the parameters of a backtest, values as they were written. */
  axes: { key: string; values: string[] }[]
  /** What the cells are compared by. */
  statistic: GridStatistic
  /** Every combination, the last axis changing fastest. */
  cells: GridCell[]
  /** Its place among the cells, and the strategy file that makes it again; null where no cell has a value. */
  best: {
    cell: number
    strategy: Strategy
    neighbours: Neighbours
    /** The deflated Sharpe ratio at the 5 % point of its draws; null without draws. */
    deflated_sharpe_p05: number | null
  } | null
  /** Correlation of the cells with the means of their neighbours; null of too few, or where nothing varies. */
  smoothness: number | null
  /** The verdict of the headline: on the tests where there are any, otherwise on the best. */
  verdict: StrategyVerdict
  /** How often the best of one half of the bars is not above the median of the other; null with its reason. */
  pbo: { probability: number; splits: number; blocks: number } | null
  validation: Validation | null
  reasons: Record<string, string>
}

export interface GridCell {
  /** One of each axis. */
  values: string[]
  /** Of the statistic that cells are compared by. */
  value: number | null
  /** Two-sided p of random entry; null where none was tested. */
  p: number | null
  /** How far its results differ by which of equal signals got a position; null where no choice was open. */
  draws: DrawsSummary | null
  statistics: EquityStatistics
  trade_statistics: TradeStatistics
}

/** The cells one step away from the best along one axis. */
export interface Neighbours {
  n: number
  mean: number | null
  least: number | null
  greatest: number | null
}

/** `bands compare`: strategies side by side over the days that all of them have. */
export interface Comparison extends ResultHead, DataUsed {
  schema: 'bands.comparison/2'
  strategies: ComparedStrategy[]
  /** The common days. */
  dates: string[]
  /** Of the returns of each with those of each, in the order of the strategies. */
  correlations: (number | null)[][]
  /** Of every two strategies: a less b. */
  sharpe_differences: SharpeDifference[]
  /** That with the highest Sharpe ratio, which is deflated by how many were tried; null where none has one. */
  best: string | null
  /** The verdict of the headline: whether the best is ahead of all others. */
  verdict: 'is ahead' | 'not told apart' | 'depends on which signals got a place' | 'not tested'
}

/** A strategy over the common days. */
export interface ComparedStrategy {
  name: string
  strategy: Strategy
  /** Of its own days. */
  first: string | null
  last: string | null
  statistics: EquityStatistics
  /** Of trades that begin and end within the common days. */
  trade_statistics: TradeStatistics
  /** Two-sided p of random entry over all its own days; null where none was tested. */
  p: number | null
  /** How far its results differ by which of equal signals got a position, over all its own days; null where none were equal. */
  draws: DrawsSummary | null
  years: Year[]
  /** On the common days, from 1. */
  equity: number[]
}

/** Of two Sharpe ratios a year, with an interval from resamples of the joint days. */
export interface SharpeDifference {
  a: string
  b: string
  /** Of the interval: 1 - .05 / pairs. */
  level: number
  /** null where the two cannot be compared. */
  verdict: 'a is ahead' | 'b is ahead' | 'not told apart' | 'depends on which signals got a place' | null
  /** Share of the draws in which the same one is ahead; null without draws, or where the two are not told apart. */
  agreement: number | null
  difference: number | null
  low: number | null
  high: number | null
  draws: number
  /** Mean length of a block in bars. */
  block: number
  reason: string | null
}
