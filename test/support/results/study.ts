import type { ChartPrices } from '../../../src/app/present/chart.js'
import { wilson } from '../../../src/core/statistics/counts.js'
import { quantile } from '../../../src/core/statistics/moments.js'
import { verdictOf } from '../../../src/core/statistics/verdict.js'
import type { EventStudy, Occurrence, PathPoint, Share, StudyWindow } from '../../../src/research/study/result.js'
import { BANDS } from './prices.js'

/** A study of some prices: its figures are made of them, its intervals and p-values only look like some. */
export function madeStudy(charts: readonly ChartPrices[], more: Partial<EventStudy> = {}): EventStudy {
  const weekly = more.timeframe === 'weekly'
  const horizons = weekly ? [2, 4, 8, 16] : [5, 10, 20, 50, 100]
  const all = charts.flatMap(chart => chart.events.map(({ at }) => ({ chart, at })))
  const dates = charts.flatMap(({ dates }) => [dates[0]!, dates.at(-1)!]).sort()
  return {
    schema: 'bands.study/2',
    tickers: charts.map(({ ticker }) => ticker),
    field: 'rsi_zone',
    timeframe: 'daily',
    bands: ['oversold'],
    prev_bands: null,
    stability: null,
    max_flips: null,
    after: null,
    before: null,
    context: null,
    first: dates[0] ?? null,
    last: dates.at(-1) ?? null,
    as_of: dates.at(-1) ?? null,
    first_bar: dates[0] ?? null,
    last_bar: dates.at(-1) ?? null,
    benchmark: 'SPY',
    abnormal: 'market',
    seed: 1,
    reps: 999,
    resamples: 1999,
    min_events: 20,
    trials: { run: 30, ledger: 400 },
    log: null,
    events: all.length,
    windows: horizons.map(horizon => windowOf(charts, all, horizon, weekly ? 'w' : 'd')),
    path: pathOf(all),
    band_paths: bandPathsOf(pathOf(all)),
    occurrences: all.map(({ chart, at }) => occurrence(chart, at, horizons, weekly ? 'w' : 'd')),
    assumptions: [
      'Returns are close to close, from the close of the event.',
      'The tickers are those in the database: what is gone and was never loaded is missing.',
    ],
    warnings: all.length < 20 ? [`${all.length} events are few; do not read the second decimal.`] : [],
    hints: [],
    ...more,
  }
}

type Placed = { chart: ChartPrices; at: number }

function windowOf(
  charts: readonly ChartPrices[],
  events: readonly Placed[],
  horizon: number,
  unit: string,
): StudyWindow {
  const returns = events.flatMap(({ chart, at }) => known(returnAt(chart, at, horizon)))
  const base = charts.flatMap(chart => chart.close.flatMap((_, at) => known(returnAt(chart, at, horizon))))
  const few = returns.length < 10
  const reason = 'fewer than ten independent windows'
  const diff = minus(mean(returns), mean(base))
  const error = (deviation(returns) ?? 0) / Math.sqrt(returns.length || 1)
  const ascending = returns.toSorted((a, b) => a - b)
  const z = diff === null || error === 0 ? null : diff / error
  const p = few || z === null ? null : Math.max(0.001, Math.min(1, Math.exp(-0.7 * z * z)))
  return {
    window: `${horizon}${unit}`,
    horizon,
    events: events.length,
    n: returns.length,
    n_indep: Math.ceil(returns.length / 2),
    n_independent: Math.ceil(returns.length / 2),
    context_base: null,
    log_q: null,
    lost: { not_elapsed: events.length - returns.length, too_early: 0, delisted: 0 },
    mean: mean(returns),
    median: quantile(ascending, 0.5),
    deviation: deviation(returns),
    p10: quantile(ascending, 0.1),
    p25: quantile(ascending, 0.25),
    p75: quantile(ascending, 0.75),
    p90: quantile(ascending, 0.9),
    best: ascending.at(-1) ?? null,
    worst: ascending[0] ?? null,
    hit: hitOf(returns),
    mfe: returns.length === 0 ? null : mean(returns.map(r => Math.max(0, r) + 0.02)),
    mae: returns.length === 0 ? null : mean(returns.map(r => Math.min(0, r) - 0.02)),
    base: {
      n: base.length,
      mean: mean(base),
      median: quantile(
        base.toSorted((a, b) => a - b),
        0.5,
      ),
      hit: hitOf(base).share,
      deviation: deviation(base),
    },
    diff,
    lift: few ? null : (hitOf(returns).share ?? 0) / (hitOf(base).share || 1),
    intervals: [
      interval('stationary bootstrap', few || diff === null ? null : [diff - 2.2 * error, diff + 2.2 * error], horizon),
      interval('bca', few || diff === null ? null : [diff - 1.9 * error, diff + 2 * error], null),
    ],
    tests: [
      {
        test: 'newey_west',
        name: 'Newey-West t, effective clusters',
        statistic: z,
        df: 14.2,
        p,
        reason: few ? reason : null,
      },
      {
        test: 'shift',
        name: 'plain joint circular shift',
        statistic: diff,
        df: null,
        p: p && Math.min(1, p * 0.9),
        reason: few ? reason : null,
      },
      {
        test: 'cluster',
        name: 'clusters of dates',
        statistic: z,
        df: 80,
        p: p && Math.min(1, p * 1.4),
        reason: few ? reason : null,
      },
    ],
    p_corrected: p,
    verdict: verdictOf(p, diff),
    random_entry: {
      draws: 999,
      mean: mean(base),
      low: null,
      high: null,
      p: few ? null : 0.21,
      year_matched: mean(base),
      reason: few ? reason : null,
    },
    other_bands: BANDS.filter(band => band !== 'oversold').map((band, i) => ({
      band,
      n: 20 + i,
      mean: 0.001 * i,
      median: 0.0008 * i,
      hit: 0.5 + 0.01 * i,
    })),
    by_sector: ['Energy', 'Financials', 'Information Technology'].map((sector, i) => ({
      sector,
      n: 8 + i,
      mean: 0.01 * i,
      median: 0.008 * i,
      hit: 0.5,
      base: 0.004,
    })),
    abnormal: {
      model: 'market',
      benchmark: 'SPY',
      n: returns.length,
      lost: { too_early: 0, not_elapsed: events.length - returns.length, no_benchmark: 0 },
      car: diff && diff * 0.8,
      tests: [{ test: 'bmp', name: 'Boehmer, Musumeci and Poulsen', statistic: z, df: null, p, reason: null }],
      reason: null,
    },
    aftermath: returns.length === 0 ? null : aftermathOf(returns, base),
    histogram: returns.length === 0 ? null : histogramOf(returns, base),
    grey: few,
    reasons: few ? { p: reason, lift: reason } : {},
  }
}

function aftermathOf(returns: readonly number[], base: readonly number[]): NonNullable<StudyWindow['aftermath']> {
  const ascending = base.toSorted((a, b) => a - b)
  const cuts = [0.05, 0.2, 0.4, 0.6, 0.8, 0.95].map(p => quantile(ascending, p)!)
  const counts = (values: readonly number[]): number[] => {
    const found = Array.from({ length: 7 }, () => 0)
    for (const value of values) found[cuts.filter(cut => value > cut).length]!++
    return found
  }
  const own = counts(returns)
  const any = counts(base)
  return {
    counts: own,
    base: any,
    lift: own.map((n, i) => n / returns.length / (any[i]! / base.length)),
    g: 7.2,
    p: 0.12,
  }
}

function histogramOf(returns: readonly number[], base: readonly number[]): NonNullable<StudyWindow['histogram']> {
  const least = base.reduce((a, b) => Math.min(a, b))
  const step = (base.reduce((a, b) => Math.max(a, b)) - least) / 24 || 0.01
  const edges = Array.from({ length: 25 }, (_, i) => least + i * step)
  const counts = (values: readonly number[]): number[] => {
    const found = Array.from({ length: 24 }, () => 0)
    for (const value of values) found[Math.min(23, Math.max(0, Math.floor((value - least) / step)))]!++
    return found
  }
  return { edges, events: counts(returns), base: counts(base) }
}

function pathOf(events: readonly Placed[]): PathPoint[] {
  return Array.from({ length: 121 }, (_, i) => {
    const bar = i - 20
    const values = events.flatMap(({ chart, at }) => known(returnAt(chart, at, bar))).sort((a, b) => a - b)
    const error = (deviation(values) ?? 0) / Math.sqrt(values.length || 1)
    const middle = mean(values)
    return {
      bar,
      n: values.length,
      mean: middle,
      median: quantile(values, 0.5),
      p25: quantile(values, 0.25),
      p75: quantile(values, 0.75),
      low: middle === null ? null : middle - 2 * error,
      high: middle === null ? null : middle + 2 * error,
      base: bar * 0.0006,
      abnormal: middle === null || bar < 0 ? null : middle * 0.7,
    }
  })
}

function occurrence(chart: ChartPrices, at: number, horizons: readonly number[], unit: string): Occurrence {
  const each = (value: (horizon: number) => number | null): Record<string, number | null> =>
    Object.fromEntries(horizons.map(horizon => [`${horizon}${unit}`, value(horizon)]))
  const returns = each(horizon => returnAt(chart, at, horizon))
  return {
    ticker: chart.ticker,
    date: chart.dates[at]!,
    prev_band: BANDS[chart.codes[at - 1]!] ?? 'neutral',
    band: BANDS[chart.codes[at]!]!,
    stability: 'fresh',
    flips: at % 4,
    context_band: null,
    close: chart.close[at]!,
    returns,
    mfe: each(horizon =>
      returns[`${horizon}${unit}`] === null ? null : Math.max(0, returns[`${horizon}${unit}`]!) + 0.02,
    ),
    mae: each(horizon =>
      returns[`${horizon}${unit}`] === null ? null : Math.min(0, returns[`${horizon}${unit}`]!) - 0.02,
    ),
  }
}

function interval(
  method: string,
  between: [number, number] | null,
  block: number | null,
): StudyWindow['intervals'][number] {
  const [low, high] = between ?? [null, null]
  return {
    method,
    level: 0.95,
    low,
    high,
    block,
    units: null,
    reason: between === null ? 'fewer than ten independent windows' : null,
  }
}

function hitOf(returns: readonly number[]): Share {
  const won = returns.filter(r => r > 0).length
  const { low = null, high = null } = wilson(won, returns.length) ?? {}
  return { share: returns.length === 0 ? null : won / returns.length, low, high }
}

function returnAt({ close }: ChartPrices, at: number, horizon: number): number | null {
  const later = close[at + horizon]
  return later === undefined ? null : later / close[at]! - 1
}

function known(value: number | null): number[] {
  return value === null ? [] : [value]
}

function minus(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a - b
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}

function deviation(values: readonly number[]): number | null {
  const middle = mean(values)
  if (middle === null || values.length < 2) return null
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1))
}

/** The paths of the other bands run along that of the events. */
function bandPathsOf(path: EventStudy['path']): EventStudy['band_paths'] {
  return BANDS.filter(band => band !== 'oversold').map((band, i) => ({
    band,
    n: 20 + i,
    mean: path.map(({ mean }) => (mean === null ? null : mean * (1 - i / 10))),
  }))
}
