import type { Stability } from '../../core/model/series.js'
import type { Abnormal, EventFilter, StudyQuery } from '../../core/params/studies.js'
import type { Verdict } from '../../core/statistics/verdict.js'
import type { LogComparison } from '../trials.js'

/** `bands study`: returns after the events, compared with any bar. Returns are fractions, dates YYYY-MM-DD. */
export interface EventStudy extends EventFilter, Sampling {
  schema: 'bands.study/2'
  tickers: string[]
  /** First and last date of the counted bars; null without any. */
  first: string | null
  last: string | null
  as_of: string | null
  /** First and last known bar of the tickers, regardless of the dates of the query; null without any. */
  first_bar: string | null
  last_bar: string | null
  benchmark: string | null
  abnormal: Abnormal
  events: number
  /** Cells tested now, and all trials in the log; null without a log. */
  trials: { run: number; ledger: number | null }
  /** Null without a trial log. */
  log: LogComparison | null
  windows: StudyWindow[]
  path: PathPoint[]
  /** The average path of the other bands of the field: their events, and the mean at each bar of `path`. */
  band_paths: { band: string; n: number; mean: (number | null)[] }[]
  occurrences: Occurrence[]
  /** Assumptions, one a line: returns, base, null, clustering, survivorship. */
  assumptions: string[]
  warnings: string[]
  /** Suggested queries. */
  hints: string[]
}

/** Sampling settings of a result, and the least number of events. */
export interface Sampling {
  seed: number
  /**
   * Draws of the plain shift, random entry and the aftermath's test; null: every possible shift, `resamples` random
   * entries.
   */
  reps: number | null
  resamples: number
  min_events: number
}

export function samplingOf({ seed, reps, resamples, min_events }: Pick<StudyQuery, keyof Sampling>): Sampling {
  return { seed, reps: reps === 'all' ? null : reps, resamples, min_events }
}

/** With fewer independent units neither a p-value nor an interval means anything. */
export const LEAST_UNITS = 10

/** Why there is neither p-value nor interval; null with enough events. */
export function whyTooFew(n: number, independent: number, options: Pick<Sampling, 'min_events'>): string | null {
  if (independent < LEAST_UNITS)
    return `${independent} ${independent === 1 ? 'window' : 'windows'} that share no bar are fewer than ${LEAST_UNITS}`
  return n < options.min_events ? `${n} events are fewer than the ${options.min_events} asked for` : null
}

export function tooFewEvents({ min_events }: Pick<Sampling, 'min_events'>): string {
  return `fewer than ${min_events} events`
}

/** A window before the p-values of all windows are corrected together. */
export type UncorrectedWindow = Omit<StudyWindow, 'log_q' | 'p_corrected' | 'verdict'>

export interface StudyWindow {
  /** `20d` */
  window: string
  /** Bars. */
  horizon: number
  /** n + the lost events */
  events: number
  n: number
  /** Greedy count of windows that share no bar, added up over the tickers. */
  n_indep: number
  /** Effective number of independent cases: overlapping windows and tickers that move together count as fewer. */
  n_independent: number
  /** A return needs no earlier bars, so none is too early; abnormal returns have their own `lost`. */
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
  /** Share of returns above 0, with its 95 % interval. */
  hit: Share
  /** Mean of the greatest favourable and adverse excursions over the window, from the close of the event. */
  mfe: number | null
  mae: number | null
  /** `deviation` is that of the returns, where each ticker weighs by its events. */
  base: { n: number; mean: number | null; median: number | null; hit: number | null; deviation: number | null }
  /** The bars of the base on which the context ticker was in a chosen band; null without such bands. */
  context_base: {
    n: number
    mean: number | null
    hit: number | null
    /** mean of the events - mean */
    diff: number | null
  } | null
  /** mean - base.mean */
  diff: number | null
  /** hit share / base hit share */
  lift: number | null
  /** 95 % intervals of the difference. */
  intervals: Interval[]
  /** The p of the first test, corrected for every window in the trial log with these dates; null without a log. */
  log_q: number | null
  /** The first is the default; all two-sided, of the difference against 0. */
  tests: TestResult[]
  /** Of the default test, its p corrected by Holm for all windows of the study. */
  p_corrected: number | null
  verdict: Verdict
  /** Entries at random dates in the same tickers, drawn together where windows overlap. */
  random_entry: {
    draws: number
    /** Mean of the draws, and the range of 95 % of them if they varied as the events do. Outside it p is below .05. */
    mean: number | null
    low: number | null
    high: number | null
    /** Share of draws, the events included, that lie as far from the mean of the draws as the events do. */
    p: number | null
    /** Exact mean of entries in the same tickers and calendar years. p does not compare with it. */
    year_matched: number | null
    /** Why there are no draws. */
    reason: string | null
  }
  /** The other bands of the field, each with its own events. */
  other_bands: { band: string; n: number; mean: number | null; median: number | null; hit: number | null }[]
  /** The events by sector of their tickers, with the mean after any bar; empty with fewer than two known sectors. */
  by_sector: { sector: string; n: number; mean: number | null; median: number | null; hit: number; base: number }[]
  abnormal: AbnormalReturns | null
  /** Aftermath bands after the events against those after any bar: counts in the order of PERFORMANCES. */
  aftermath: { counts: number[]; base: number[]; lift: (number | null)[]; g: number | null; p: number | null } | null
  /**
   * Histogram of the returns: edges (one more than counts), and the counts of events and of any bar. The first and the
   * last bin also hold everything beyond.
   */
  histogram: { edges: number[]; events: number[]; base: number[] } | null
  /** Fewer than ten independent windows, or fewer events than `min_events`: no p-value, no interval, shown grey. */
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
  /** Number of units of events that share no day, for methods that draw them. */
  units: number | null
  reason: string | null
}

export interface TestResult {
  /** `newey_west` | `shift` | `hansen_hodrick` | `cluster` | `calendar_time` | `naive` */
  test: string
  /** The name that people read. */
  name: string
  statistic: number | null
  df: number | null
  p: number | null
  reason: string | null
  /** Number of shifts tried, for tests by shifts. */
  shifts?: number
}

export interface AbnormalReturns {
  model: Exclude<Abnormal, 'none'>
  benchmark: string | null
  /** Events with a complete estimation window and a complete event window. */
  n: number
  /** The other events: too few earlier bars, window not elapsed, or no benchmark on one of the bars. */
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
  /** 95 % interval of the mean: bootstrap of units of events whose windows up to the bar share no day. */
  low: number | null
  high: number | null
  /** That share for any bar of the same tickers and range. */
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
  /** Close on the day of the event. */
  close: number
  /** Window → close-to-close return; null until it has elapsed. */
  returns: Record<string, number | null>
  mfe: Record<string, number | null>
  mae: Record<string, number | null>
}

/** Above this multiple of the deviation of any bar, a plain shift finds too much. */
const VOLATILE = 4 / 3

/** Whether the plain shift is wrong: returns after the events spread much wider than after any bar. */
export function isVolatile({ deviation, base, tests }: Pick<StudyWindow, 'deviation' | 'base' | 'tests'>): boolean {
  if (tests[0]?.p == null || deviation === null || !base.deviation) return false
  return deviation / base.deviation > VOLATILE
}

/**
 * Kinds of warnings, the most serious first: a page and a terminal show the first two at once. Warnings of one kind
 * stay in the order of discovery.
 */
export const WARNING_KINDS = [
  /** There is no result. */
  'nothing',
  /** The strategy was impossible in practice. */
  'impossible',
  /** Too few cases for a conclusion. */
  'few',
  /** A test finds too much. */
  'disputed',
  /** Only a part of the data counts, or a choice decided the result. */
  'partial',
  /** The result looks better than it would have been. */
  'flattering',
  /** The tests allow for it, the plain numbers do not. */
  'allowed',
  /** More than one thing was tested. */
  'looks',
  /** Data that count nowhere. */
  'left_out',
  /** Defects of the prices. */
  'prices',
  /** A setting has no effect. */
  'settings',
] as const

export type WarningKind = (typeof WARNING_KINDS)[number]

/** A sentence and its kind; null or false where there is nothing to say. */
export type Warning = readonly [WarningKind, string | null | false]

/** The sentences of warnings, the most serious kind first. */
export function bySeverity(warnings: readonly Warning[]): string[] {
  const sentences: string[] = []
  for (const kind of WARNING_KINDS)
    for (const [kindOfWarning, sentence] of warnings) if (kindOfWarning === kind && sentence) sentences.push(sentence)
  return sentences
}
