import type { Backtest } from '../../research/backtest/result.js'
import type { EventStudy, StudyWindow } from '../../research/study/result.js'
import type { Sweep } from '../../research/sweep/result.js'
import type { Records } from './description.js'
import { tickerColumns } from './words.js'

/** Records with a row for each window of a study. Each test and interval has columns of its own, under its name. */
export function windowRecords(study: EventStudy): Records {
  return { columns: WINDOW_COLUMNS, rows: study.windows.map(window => windowRecord(study, window)) }
}

/** The record of a window: its figures, and an object each for its tests, intervals and abnormal return. */
function windowRecord(study: EventStudy, window: StudyWindow): Records['rows'][number] {
  const { tickers, field, bands, timeframe } = study
  const { tests, intervals, abnormal, histogram: _histogram, ...figures } = window
  const [mainAbnormalTest] = abnormal?.tests ?? []
  return {
    ...tickerColumns(tickers),
    field,
    timeframe,
    band: bands?.join(' ') ?? null,
    ...figures,
    test: Object.fromEntries(tests.map(({ test, statistic, df, p }) => [test, { statistic, df, p }])),
    interval: Object.fromEntries(
      intervals.map(({ method, low, high }) => [method.replaceAll(' ', '_'), { low, high }]),
    ),
    abnormal:
      abnormal === null
        ? null
        : { model: abnormal.model, n: abnormal.n, car: abnormal.car, p: mainAbnormalTest?.p ?? null },
  }
}

const TEST_NAMES = ['newey_west', 'shift', 'hansen_hodrick', 'cluster', 'calendar_time', 'naive']

const WINDOW_COLUMNS = [
  ...['ticker', 'tickers', 'field', 'timeframe', 'band'],
  ...['window', 'horizon', 'events', 'n', 'n_indep', 'n_independent'],
  ...['lost_not_elapsed', 'lost_too_early', 'lost_delisted'],
  ...['mean', 'median', 'deviation', 'p10', 'p25', 'p75', 'p90', 'best', 'worst'],
  ...['hit_share', 'hit_low', 'hit_high', 'mfe', 'mae'],
  ...['base_n', 'base_mean', 'base_median', 'base_hit', 'base_deviation', 'diff', 'lift', 'p_corrected', 'verdict'],
  ...['context_base_n', 'context_base_mean', 'context_base_hit', 'context_base_diff'],
  ...['stationary_bootstrap', 'bca'].flatMap(method => [`interval_${method}_low`, `interval_${method}_high`]),
  ...TEST_NAMES.flatMap(test => [`test_${test}_statistic`, `test_${test}_p`]),
  'log_q',
  ...['random_entry_draws', 'random_entry_mean', 'random_entry_p'],
  ...['abnormal_model', 'abnormal_n', 'abnormal_car', 'abnormal_p', 'aftermath_g', 'aftermath_p', 'grey'],
]

/** Records with a row for each event of a study. A writer finds the column `returns_20d` in the row's `returns`. */
export function occurrenceRecords({ windows, occurrences }: EventStudy): Records {
  const windowColumns = (key: string): string[] => windows.map(({ window }) => `${key}_${window}`)
  return {
    columns: [
      ...['ticker', 'date', 'band', 'prev_band', 'stability', 'flips', 'context_band', 'close'],
      ...['returns', 'mfe', 'mae'].flatMap(windowColumns),
    ],
    rows: occurrences,
  }
}

export function tradeRecords({ trades }: Backtest): Records {
  return { columns: TRADE_COLUMNS, rows: trades }
}

const TRADE_COLUMNS = [
  ...['ticker', 'side', 'signal_date', 'band', 'prev_band', 'context_band', 'rank'],
  ...['entry_date', 'entry_price', 'exit_date', 'exit_price', 'exit', 'bars'],
  ...['shares', 'invested', 'gross', 'net', 'pnl', 'mfe', 'mae'],
]

export function equityRecords({ equity }: Backtest): Records {
  return {
    columns: ['date', 'equity', 'gross', 'positions', 'drawdown', 'rolling_sharpe', 'rolling_volatility'],
    rows: equity,
  }
}

/** The statistics of a strategy in one object: those of its equity, and those of its trades as `trades_KEY`. */
export function statisticsRow({ statistics, trade_statistics }: Pick<Backtest, 'statistics' | 'trade_statistics'>) {
  const { reasons: _, ...equity } = statistics
  const { reasons: __, ...trades } = trade_statistics
  const tradeEntries = Object.entries(trades).map(([key, value]) => [`trades_${key}`, value] as const)
  return { ...equity, ...Object.fromEntries(tradeEntries) }
}

export function cellRecords({ cells, timeframe }: Sweep): Records {
  return { columns: CELL_COLUMNS, rows: cells.map(cell => ({ timeframe, ...cell })) }
}

const CELL_COLUMNS = [
  ...['ticker', 'field', 'timeframe', 'band', 'prev_band', 'context_ticker', 'context_field', 'context_band'],
  ...['window', 'horizon', 'events', 'n', 'n_indep', 'n_independent', 'lost', 'mean', 'base', 'diff'],
  ...['hit', 'hit_low', 'hit_high', 'base_hit'],
  ...['low', 'high', 'p', 'q', 'log_q', 'verdict', 't', 'sharpe', 'grey', 'reason'],
]
