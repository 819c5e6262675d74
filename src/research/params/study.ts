import { InvalidParameter, quoted } from '../../errors.js'
import { TIMEFRAMES } from '../../model/timeframe.js'
import { tickerValue } from '../../query/values.js'
import { LARGEST_SEED } from '../backtest/values.js'
import type { StudyQuery } from '../study/query.js'
import type { Abnormal } from '../study/result.js'
import { FILTER_NAMES, type FilterParams, parseFilter } from './filter.js'
import { Params, type Text, type Texts } from './read.js'

/** An event study as people write it: `bands study`, and `study()` of the library. */
export interface StudyParams extends FilterParams {
  tickers: readonly string[]
  /** Windows in bars; those of the aftermath unless given. */
  horizon?: Texts
  /** `-20..100`: bars of the average path before and after the event. */
  path?: string
  /** Whose return the events are held against: by the market model, unless `abnormal` says otherwise. */
  benchmark?: string
  /** `market` with a benchmark, `none` without, unless given. */
  abnormal?: Abnormal
  min_events?: Text
  /** Shifts drawn where there are more than 2,000 of them; `all` takes every one. */
  reps?: Text
  resamples?: Text
  seed?: Text
  /** Adds the t test that takes overlapping windows for independent. */
  naive?: boolean
  hansen_hodrick?: boolean
}

export const STUDY_NAMES = [
  ...FILTER_NAMES,
  'tickers',
  'horizon',
  'path',
  'benchmark',
  'abnormal',
  'min_events',
  'reps',
  'resamples',
  'seed',
  'naive',
  'hansen_hodrick',
] as const satisfies readonly (keyof StudyParams)[]

export const ABNORMALS: readonly Abnormal[] = ['none', 'mean', 'market']
export const MOST_BARS = 1000
export const MOST_DRAWS = 1_000_000
export const DEFAULT_MIN_EVENTS = 20
export const DEFAULT_REPS = 999
export const DEFAULT_RESAMPLES = 1999
export const DEFAULT_SEED = 1

/** Throws InvalidParameter for the first thing wrong. */
export function parseStudy({ tickers, ...rest }: StudyParams): StudyQuery {
  const params = new Params(rest, STUDY_NAMES)
  const filter = parseFilter(params)
  const benchmark = params.text('benchmark')
  const abnormal = params.word('abnormal', ABNORMALS) ?? (benchmark === undefined ? 'none' : 'market')
  return {
    tickers: tickersValue(tickers),
    filter,
    horizons: params.integers('horizon', 1, MOST_BARS) ?? [...TIMEFRAMES[filter.timeframe].windows],
    path: pathValue(params.text('path') ?? '-20..100'),
    benchmark: benchmark === undefined ? null : tickerValue('benchmark', benchmark),
    abnormal,
    minEvents: params.integer('min_events', 1, MOST_DRAWS) ?? DEFAULT_MIN_EVENTS,
    reps: repsValue(params),
    resamples: params.integer('resamples', 99, MOST_DRAWS) ?? DEFAULT_RESAMPLES,
    seed: params.integer('seed', 0, LARGEST_SEED) ?? DEFAULT_SEED,
    naive: params.flag('naive'),
    hansenHodrick: params.flag('hansen_hodrick'),
  }
}

/** Ascending, each once: the order in which they are named changes nothing. Throws InvalidParameter for none. */
export function tickersValue(tickers: readonly string[] | undefined): string[] {
  const names = new Set((tickers ?? []).map(ticker => tickerValue('ticker', String(ticker))))
  if (names.size === 0) throw new InvalidParameter('ticker is missing: name at least one.', { param: 'ticker' })
  return [...names].sort()
}

function repsValue(params: Params<'reps'>): number | 'all' {
  return params.text('reps') === 'all' ? 'all' : (params.integer('reps', 99, MOST_DRAWS) ?? DEFAULT_REPS)
}

function pathValue(text: string): StudyQuery['path'] {
  const [, before, after] = /^(-\d{1,3}|0)\.\.\+?(\d{1,4})$/.exec(text) ?? []
  const path = { before: -Number(before ?? 1) + 0, after: Number(after ?? -1) }
  if (path.before >= 0 && path.before <= 250 && path.after >= 1 && path.after <= MOST_BARS) return path
  const allowed = `bars from -250..0 to 1..${MOST_BARS}, such as -20..100`
  throw new InvalidParameter(`path ${quoted(text)} is not ${allowed}.`, { param: 'path', value: text, allowed })
}
