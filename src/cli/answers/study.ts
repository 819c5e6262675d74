import type { EventStudy, Occurrence, StudyWindow } from '../../research/study/result.js'
import type { Answer } from '../output.js'
import type { Row } from '../render/records.js'
import { studyBlocks } from '../render/study.js'

/** What followed the events, against what follows anyway: for machines a row a window. */
export function studyAnswer(found: EventStudy, style: { wide: boolean }): Answer {
  return {
    document: () => found,
    columns: COLUMNS,
    rows: () => found.windows.map(window => windowRow(found, window)),
    blocks: screen => studyBlocks(found, screen, style),
  }
}

/** The events one by one, for a file. */
export function occurrenceRows({ windows, occurrences }: EventStudy): { columns: string[]; rows: Row[] } {
  const names = windows.map(({ window }) => window)
  const by = (what: string): string[] => names.map(window => `${what}_${window}`)
  return {
    columns: [...OCCURRENCE, ...by('returns'), ...by('mfe'), ...by('mae')],
    rows: occurrences.map((occurrence: Occurrence): Row => ({ ...occurrence })),
  }
}

const OCCURRENCE = ['ticker', 'date', 'band', 'prev_band', 'stability', 'flips', 'context_band', 'close']

/** Tests and intervals by their names, so that each has a column of its own. */
function windowRow({ tickers, field, bands, timeframe }: EventStudy, window: StudyWindow): Row {
  const { tests, intervals, abnormal, histogram: _histogram, ...rest } = window
  return {
    ticker: tickers.length === 1 ? tickers[0]! : null,
    tickers: tickers.length,
    field,
    timeframe,
    band: bands?.join(' ') ?? null,
    ...rest,
    test: Object.fromEntries(tests.map(({ test, statistic, df, p }) => [test, { statistic, df, p }])),
    interval: Object.fromEntries(
      intervals.map(({ method, low, high }) => [method.replaceAll(' ', '_'), { low, high }]),
    ),
    abnormal:
      abnormal === null
        ? null
        : { model: abnormal.model, n: abnormal.n, car: abnormal.car, p: abnormal.tests[0]?.p ?? null },
  }
}

const TESTS = ['shift', 'shift_studentised', 'newey_west', 'hansen_hodrick', 'cluster', 'calendar_time', 'naive']

const COLUMNS = [
  ...['ticker', 'tickers', 'field', 'timeframe', 'band', 'window', 'horizon', 'events', 'n', 'n_indep', 'n_stretches'],
  ...['lost_not_elapsed', 'lost_too_early', 'lost_delisted'],
  ...['mean', 'median', 'deviation', 'p10', 'p25', 'p75', 'p90', 'best', 'worst'],
  ...['hit_share', 'hit_low', 'hit_high', 'mfe', 'mae'],
  ...['base_n', 'base_mean', 'base_median', 'base_hit', 'base_deviation', 'diff', 'lift'],
  ...['context_base_n', 'context_base_mean', 'context_base_hit', 'context_base_diff'],
  ...['stationary_bootstrap', 'bca'].flatMap(method => [`interval_${method}_low`, `interval_${method}_high`]),
  ...TESTS.flatMap(test => [`test_${test}_statistic`, `test_${test}_p`]),
  ...['random_entry_draws', 'random_entry_mean', 'random_entry_p'],
  ...['abnormal_model', 'abnormal_n', 'abnormal_car', 'abnormal_p', 'aftermath_g', 'aftermath_p', 'grey'],
]
