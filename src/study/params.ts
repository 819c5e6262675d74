import { InvalidParameter, invalid, listed, parameter, sentence } from '../errors.js'
import type { Field } from '../fields/field.js'
import { type Day, parseDay } from '../model/day.js'
import { STABILITIES } from '../model/series.js'
import { TIMEFRAMES } from '../model/terms.js'
import { parseContext } from '../params/context.js'
import { unknownParameter } from '../params/row.js'
import type { ContextFilter, EventFilter } from '../params/strategy.js'
import { bandValue, dayValue, fieldValue, tickerValue, timeframeValue, wordValue } from '../params/values.js'
import type { Abnormal, StudyQuery } from './result.js'
import { integerOf, LARGEST_SEED } from './values.js'

/** Which events count, as people write it. */
export interface FilterParams {
  field: string
  timeframe?: string
  /** The bands entered; `all` (the default) is any. */
  band?: Texts
  /** The bands left. */
  prev_band?: Texts
  stability?: Texts
  max_flips?: Text
  /** `GSPC:trend_direction=downtrend`, short for the three below. */
  context?: string
  context_ticker?: string
  context_field?: string
  context_band?: Texts
  /** 1: the context as of its bar before the date of the event, for a market that closes later. */
  context_lag?: Text
  after?: string
  before?: string
}

export const FILTER_NAMES = [
  'field',
  'timeframe',
  'band',
  'prev_band',
  'stability',
  'max_flips',
  'context',
  'context_ticker',
  'context_field',
  'context_band',
  'context_lag',
  'after',
  'before',
] as const satisfies readonly (keyof FilterParams)[]

type FilterName = (typeof FILTER_NAMES)[number]

/** Throws InvalidParameter. */
function parseFilter(params: Params<FilterName>): EventFilter {
  const text = params.text('field')
  if (text === undefined) throw invalid('missing', { param: 'field' })
  const field = fieldValue('field', text)
  return {
    field: field.name,
    timeframe: timeframeValue('timeframe', params.text('timeframe') ?? 'daily'),
    bands: bandsOf(params, 'band', field),
    prevBands: bandsOf(params, 'prev_band', field),
    stability: params.list('stability')?.map(word => wordValue('stability', word, STABILITIES)) ?? null,
    maxFlips: params.integer('max_flips', 0, 254) ?? null,
    context: contextOf(params),
    after: params.day('after'),
    before: params.day('before'),
  }
}

/** In the order of the vocabulary, so that the same question is written in one way. */
function bandsOf(
  params: Params<FilterName>,
  name: 'band' | 'prev_band' | 'context_band',
  field: Field,
): string[] | null {
  const chosen = params.list(name)?.map(band => bandValue(name, band, field))
  return chosen === undefined ? null : field.bands.filter(band => chosen.includes(band))
}

function contextOf(params: Params<FilterName>): ContextFilter | null {
  const lag = (params.integer('context_lag', 0, 1) ?? 0) as 0 | 1
  const short = params.text('context')
  const parts = (['context_ticker', 'context_field', 'context_band'] as const).filter(name => params.has(name))
  if (short !== undefined) {
    if (parts.length > 0)
      throw new InvalidParameter(sentence`${parameter('context')} says it all; leave ${listed(parts)} out.`, {
        param: parts[0]!,
      })
    return { ...parseContext('context', short), lag }
  }
  if (parts.length === 0) {
    if (params.has('context_lag'))
      throw new InvalidParameter('context_lag is for a context, and none is given.', { param: 'context_lag' })
    return null
  }
  const [ticker, name] = [params.text('context_ticker'), params.text('context_field')]
  if (ticker === undefined || name === undefined) {
    const missing = ticker === undefined ? 'context_ticker' : 'context_field'
    const together = listed(['context_ticker', 'context_field'])
    throw new InvalidParameter(sentence`${together} go together; missing: ${parameter(missing)}.`, { param: missing })
  }
  const field = fieldValue('context_field', name)
  return {
    ticker: tickerValue('context_ticker', ticker),
    field: field.name,
    bands: bandsOf(params, 'context_band', field),
    lag,
  }
}

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
const DEFAULT_RESAMPLES = 1999
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
  throw invalid('not_allowed', { param: 'path', value: text, allowed })
}

/** A value as people write it: text, or what a program has instead. */
export type Text = string | number

/** One, several, or several in one text with commas between. */
export type Texts = Text | readonly Text[]

/**
 * Parameters as written, read one by one. What is unknown or empty is refused, not passed over; so is a number in any
 * form but plain decimal digits. Every refusal names the parameter, the value and what is allowed.
 */
export class Params<Name extends string> {
  readonly #values: Readonly<Record<string, unknown>>

  /** Throws InvalidParameter for a name that is not one of `allowed`. */
  constructor(params: object, allowed: readonly Name[]) {
    const entries = Object.entries(params).filter(([, value]) => value !== undefined && value !== null)
    for (const [name, value] of entries) {
      if (!(allowed as readonly string[]).includes(name)) throw unknownParameter(name, allowed)
      if (value === '') throw invalid('empty', { param: name, value })
    }
    this.#values = Object.fromEntries(entries)
  }

  has(name: Name): boolean {
    return this.#values[name] !== undefined
  }

  text(name: Name): string | undefined {
    const value = this.#values[name]
    if (value === undefined || typeof value === 'string') return value
    if (typeof value === 'number' && Number.isFinite(value)) return plain(value)
    throw invalid('not_text', { param: name })
  }

  /** Values in the order given, each once; null where there are none, or where the one is `all`. */
  list(name: Name): string[] | null {
    const items = this.items(name)
    return items.length === 0 || (items.length === 1 && items[0] === 'all') ? null : items
  }

  /** The same of what has no `all`; none where nothing is given. */
  items(name: Name): string[] {
    const value = this.#values[name]
    if (value === undefined) return []
    const texts = (Array.isArray(value) ? value : [value]).flatMap(item => itemsOf(name, item))
    if (texts.length === 0) throw invalid('empty', { param: name, value: [] })
    return [...new Set(texts)]
  }

  flag(name: Name): boolean {
    const value = this.#values[name] ?? false
    if (typeof value === 'boolean') return value
    throw new InvalidParameter(`${name} must be true or false.`, { param: name })
  }

  integer(name: Name, least: number, most: number): number | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : integerOf(name, text, least, most)
  }

  word<Word extends string>(name: Name, words: readonly Word[]): Word | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : wordValue(name, text, words)
  }

  day(name: Name): Day | null {
    const text = this.text(name)
    return text === undefined ? null : dayValue(name, text)
  }

  /** A date as text. */
  date(name: Name): string | null {
    const text = this.text(name)
    if (text !== undefined && parseDay(text) === null) dayValue(name, text)
    return text ?? null
  }

  /** Whole numbers, ascending, each once. */
  integers(name: Name, least: number, most: number): number[] | null {
    const items = this.items(name)
    if (items.length === 0) return null
    return [...new Set(items.map(text => integerOf(name, text, least, most)))].sort((a, b) => a - b)
  }

  /**
   * `train=756,test=252,anchored`, or the same as an object: whole numbers by name, and words that stand alone.
   * Throws InvalidParameter for a name that is not there, is there twice, or is needed and missing.
   */
  pairs<Key extends string>(name: Name, shape: PairShape<Key>): Partial<Record<Key, number>> | null {
    const value = this.#values[name]
    if (value === undefined) return null
    const { least, needed, words = [] } = shape
    const usage = { param: name, value: pairText(value), allowed: shape.usage }
    const found: Partial<Record<string, number>> = {}
    for (const item of pairText(value).split(',')) {
      const [key = '', text, more] = item.split('=')
      const isWord = (words as readonly string[]).includes(key)
      if (
        more !== undefined ||
        found[key] !== undefined ||
        (isWord ? text !== undefined : least[key as Key] === undefined)
      )
        throw invalid('not_allowed', usage)
      found[key] = isWord ? 1 : integerOf(`${name} ${key}`, text ?? '', least[key as Key]!, MOST)
    }
    const missing = needed.filter(key => found[key] === undefined)
    if (missing.length > 0)
      throw new InvalidParameter(`${name} lacks ${missing.join(' and ')}: it is ${shape.usage}.`, usage)
    return found as Partial<Record<Key, number>>
  }
}

export interface PairShape<Key extends string> {
  /** Least value of each number. */
  least: Readonly<Partial<Record<Key, number>>>
  needed: readonly Key[]
  /** Those that stand without a value. */
  words?: readonly Key[]
  /** How it is written. */
  usage: string
}

const MOST = 1_000_000

function itemsOf(name: string, item: unknown): string[] {
  if (typeof item === 'number') return [plain(item)]
  if (typeof item !== 'string') throw new InvalidParameter(`${name} must be text or a list of texts.`, { param: name })
  return item
    .split(',')
    .map(text => text.trim())
    .filter(text => text !== '')
}

/** Digits without an exponent, which a text would not be allowed either. */
function plain(value: number): string {
  const text = String(value)
  return text.includes('e-') ? value.toFixed(20).replace(/0+$/, '') : text
}

function pairText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Object.entries(value).filter(([, item]) => item !== false && item !== undefined)
  return parts.map(([key, item]) => (item === true ? key : `${key}=${item}`)).join(',')
}
