import { InvalidParameter, numberText } from '../../core/errors.js'
import type { Timeframe } from '../../core/model/terms.js'
import type { Adjustment, SweepQuery, ValidationKind } from '../../core/params/studies.js'
import type { Overfitting } from '../../core/statistics/selection.js'
import type { Verdict } from '../../core/statistics/verdict.js'
import type { Sampling } from '../study/result.js'
import type { LogComparison } from '../trials.js'

/** `bands sweep`: every cell, sorted by corrected p. Returns are fractions. */
export interface Sweep extends Omit<Sampling, 'reps'> {
  schema: 'bands.sweep/2'
  tickers: string[]
  timeframe: Timeframe
  fields: string[]
  /** The chosen bands; any band without it. */
  bands?: string[]
  /** The condition that held on the bars of the events. */
  when?: string
  /** Lag in bars of conditions on named tickers; 0 without it. */
  lag?: number
  horizons: number[]
  contexts: { ticker: string; field: string; lag: 0 | 1 }[]
  by: 'pool' | 'ticker'
  prev_band: boolean
  first: string | null
  last: string | null
  as_of: string | null
  adjust: Adjustment
  family: 'run' | 'ledger'
  /** Number of combinations: all cells, those with a p-value, and all trials in the log. */
  tried: { cells: number; tested: number; ledger: number | null }
  /** Cells with q below 0.05. */
  found: number
  /** Null without a trial log. */
  log: LogComparison | null
  /** Is the best cell real? Computed over the whole sweep; null with a reason where there are too few data. */
  best: BestOfMany
  cells: SweepCell[]
  validation: SweepValidation | null
  assumptions: string[]
  warnings: string[]
}

export interface SweepCell {
  /** null: all tickers together. */
  ticker: string | null
  field: string
  band: string
  prev_band: string | null
  context: { ticker: string; field: string; band: string } | null
  window: string
  horizon: number
  events: number
  n: number
  /** Windows of one ticker that share no bar, added up over the tickers. */
  n_indep: number
  /** Effective number of independent cases. */
  n_independent: number
  lost: number
  mean: number | null
  base: number | null
  diff: number | null
  /** Share of returns above 0, with its 95 % interval. */
  hit: number | null
  hit_low: number | null
  hit_high: number | null
  base_hit: number | null
  /** 95 % interval of the difference, stationary bootstrap. */
  low: number | null
  high: number | null
  /** Newey-West t with effective clusters, as in a study. */
  p: number | null
  /** Corrected. */
  q: number | null
  /** p corrected by Benjamini-Hochberg for every window in the trial log with these dates; null without a log. */
  log_q: number | null
  /** By q. */
  verdict: Verdict
  /** Harvey, Liu and Zhu require |t| > 3 of a finding; null without a t. */
  t: number | null
  /** Per bar, of the calendar-time portfolio that holds each event for the horizon. */
  sharpe: number | null
  grey: boolean
  reason: string | null
}

export interface BestOfMany {
  cells: number
  resamples: number
  /** Mean block in days: the median over the cells' intervals. */
  block: number | null
  /** White's reality check. */
  reality_check: number | null
  /** Hansen's SPA: lower, consistent, upper. */
  spa: { lower: number; consistent: number; upper: number } | null
  /** Deflated Sharpe ratio of the best cell's calendar-time portfolio, from the number of trials and their variance. */
  deflated_sharpe: number | null
  best_sharpe: number | null
  /**
   * The cell with the greatest studentised difference of either sign, and the cell with the best Sharpe ratio (long).
   */
  best_cell: string | null
  best_sharpe_cell: string | null
  /** Probability of backtest overfitting, combinatorially symmetric cross-validation. */
  pbo: Overfitting | null
  reasons: Record<string, string>
}

/** The end of the name of a chosen combination that is sold short. */
export const SHORT = ' (short)'

export interface SweepValidation {
  kind: ValidationKind
  /** `events` counts windows of events, one for each elapsed horizon; `purged` counts those excluded from training. */
  folds: {
    name: string
    train: { from: string; to: string; events: number }[]
    test: { from: string; to: string; events: number }[]
    purged: number
    /**
     * Cells with train q below 0.05, or the best one where there is none; `(short)`: its mean was below its base there.
     */
    chosen: string[]
    train_mean: number | null
    test_mean: number | null
  }[]
  /** Test results of the chosen cells in their chosen direction, all folds together. */
  test: { n: number; mean: number | null; base: number | null; diff: number | null; hit: number | null }
  /** CPCV: mean return of each path; null where a path has no event of a chosen cell. */
  paths: (number | null)[] | null
}

/** Authors of each correction of p. */
export const ADJUSTMENTS: Readonly<Record<Adjustment, string>> = {
  bh: 'Benjamini-Hochberg (1995)',
  by: 'Benjamini-Yekutieli (2001)',
  holm: 'Holm (1979)',
  none: 'none',
}

/** A query with the vocabularies of its fields. */
export interface KnownSweep extends SweepQuery {
  vocabularies: ReadonlyMap<string, readonly string[]>
}

/** Limit on the number of cells: a table of this size still fits the memory. */
const MOST_CELLS = 500_000

/** Throws InvalidParameter for more cells than a sweep takes. */
export function refuseTooManyCells(cells: number): void {
  if (cells <= MOST_CELLS) return
  const allowed = `at most ${numberText(MOST_CELLS)} combinations`
  const what = `${numberText(cells)} combinations are more than a sweep takes`
  const advice = 'ask for fewer tickers, fields, windows or contexts, or for all tickers together'
  throw new InvalidParameter(`${what}: ${allowed}; ${advice}.`, { param: 'fields', value: cells, allowed })
}
