import type { Stability } from '../../model/record.js'
import type { Timeframe } from '../../model/timeframe.js'

/** `bands study`: what followed the events, against what follows anyway. Returns are fractions, dates YYYY-MM-DD. */
export interface EventStudy {
  schema: 'bands.study/1'
  tickers: string[]
  field: string
  timeframe: Timeframe
  /** null: any */
  bands: string[] | null
  prev_bands: string[] | null
  stability: Stability[] | null
  max_flips: number | null
  context: { ticker: string; field: string; bands: string[] | null; lag: 0 | 1 } | null
  /** Bounds that were asked for, both exclusive. */
  after: string | null
  before: string | null
  /** Of the bars that count: first and last date; null without any. */
  first: string | null
  last: string | null
  as_of: string | null
  benchmark: string | null
  abnormal: Abnormal
  seed: number
  /** Draws of each resampling; null: every possible shift, and `resamples` elsewhere. */
  reps: number | null
  resamples: number
  min_events: number
  events: number
  /** Cells looked at now, and all that the ledger knows; null without one. */
  trials: { run: number; ledger: number | null }
  windows: StudyWindow[]
  path: PathPoint[]
  occurrences: Occurrence[]
  /** What was assumed, line by line: returns, base, null, clustering, survivorship. */
  assumptions: string[]
  warnings: string[]
}

export type Abnormal = 'none' | 'mean' | 'market'

/** One cell: the events over one horizon. */
export interface StudyWindow {
  /** `20d` */
  window: string
  /** Bars. */
  horizon: number
  /** n + the lost ones */
  events: number
  n: number
  /** Greedy count of windows that share no bar, added up over the tickers. */
  n_indep: number
  /** A return needs no bars before it, so none is too early; abnormal returns count their own. */
  lost: { not_elapsed: number; too_early: number; delisted: number }
  mean: number | null
  median: number | null
  deviation: number | null
  p10: number | null
  p25: number | null
  p75: number | null
  p90: number | null
  best: number | null
  worst: number | null
  /** Share of returns above 0, with its Wilson 95 % interval. */
  hit: Share
  /** Mean of the greatest favourable and adverse excursions over the window, from the close of the event. */
  mfe: number | null
  mae: number | null
  base: { n: number; mean: number | null; median: number | null; hit: number | null }
  /** mean - base.mean */
  diff: number | null
  /** hit share / base hit share */
  lift: number | null
  /** 95 % intervals of the difference. */
  intervals: Interval[]
  /** The first is the default; all two-sided, of the difference against 0. */
  tests: TestResult[]
  /**
   * Entries at random dates in the same tickers, drawn together where windows overlap: their mean, 95 % of the draws, and
   * the share of draws that lie as far out as the events; and what entries of the same calendar years have on average.
   */
  random_entry: {
    draws: number
    mean: number | null
    low: number | null
    high: number | null
    p: number | null
    year_matched: number | null
    reason: string | null
  }
  /** The other bands of the field, each with its own events. */
  other_bands: { band: string; n: number; mean: number | null; hit: number | null }[]
  abnormal: AbnormalReturns | null
  /** Aftermath bands after the events against those after any bar: counts in the order of PERFORMANCES. */
  aftermath: { counts: number[]; base: number[]; lift: (number | null)[]; g: number | null; p: number | null } | null
  /** Of the returns, for drawing: edges (one more than counts) and how many lie in each, events and any bar. */
  histogram: { edges: number[]; events: number[]; base: number[] } | null
  /** Fewer than ten independent windows, or fewer events than asked for: no p-value, no interval, shown grey. */
  grey: boolean
  /** Statistic → why it is null, for all that are. */
  reasons: Record<string, string>
}

export interface Share {
  share: number | null
  low: number | null
  high: number | null
}

export interface Interval {
  /** `stationary bootstrap` | `bca` */
  method: string
  level: 0.95
  low: number | null
  high: number | null
  /** Mean block in bars, of block methods. */
  block: number | null
  reason: string | null
}

export interface TestResult {
  /** `shift` | `newey_west` | `hansen_hodrick` | `cluster` | `calendar_time` | `naive` */
  test: string
  /** For people. */
  name: string
  statistic: number | null
  df: number | null
  p: number | null
  reason: string | null
}

export interface AbnormalReturns {
  model: Exclude<Abnormal, 'none'>
  benchmark: string | null
  /** Events with a whole estimation window and a whole event window. */
  n: number
  /** The others: too few bars before them, window not elapsed, no benchmark on one of the bars. */
  lost: { too_early: number; not_elapsed: number; no_benchmark: number }
  /** Mean cumulative abnormal return. */
  car: number | null
  tests: TestResult[]
  reason: string | null
}

/** The average price around the events: bar 0 is the event, its close is 0. */
export interface PathPoint {
  bar: number
  n: number
  mean: number | null
  median: number | null
  p25: number | null
  p75: number | null
  /** 95 % interval of the mean, block bootstrap. */
  low: number | null
  high: number | null
  /** Of any bar of the same tickers and range. */
  base: number | null
  /** Mean cumulative abnormal return, counted from bar 0; null without a model. */
  abnormal: number | null
}

export interface Occurrence {
  ticker: string
  date: string
  prev_band: string
  band: string
  stability: Stability | null
  flips: number | null
  context_band: string | null
  /** Close of the event. */
  close: number
  /** Window → close-to-close return; null until it has elapsed. */
  returns: Record<string, number | null>
  mfe: Record<string, number | null>
  mae: Record<string, number | null>
}
