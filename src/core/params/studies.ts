import { invalid, parameterList, sentence, wrong } from '../errors.js'
import { BUILT_IN_FIELDS, type FieldSet } from '../fields/index.js'
import { TRUE, TRUTHS } from '../language/as-field.js'
import { STABILITIES } from '../model/series.js'
import { TIMEFRAMES, type Timeframe } from '../model/terms.js'
import { objectOf, tickersOf, withoutNulls } from './arguments.js'
import { addLag, CONTEXT_PART, readSignalLag, SIGNALS_CONTEXT, SWEEP_CONTEXT } from './context.js'
import { DATE, FLAG, LARGEST_SEED, listKind, pairsOf, SOME_FIELDS } from './figures.js'
import { BANDS, CONDITION, CONDITION_BANDS, FIELD, FIELD_OR_CONDITION, integerOf, oneOf, TICKER } from './kinds.js'
import { type FieldOrCondition, TIMEFRAME_ROW } from './questions.js'
import {
  definedParams,
  type Kind,
  nullable,
  optional,
  type ParamsOf,
  paramsInTable,
  type Read,
  readParams,
  required,
  setBy,
  type Table,
  type Text,
  type Values,
  type Written,
  withDefault,
} from './row.js'
import { bandsValue, conditionValue, integerValue, refuse, textOf } from './values.js'
import { conditionForField, WHEN } from './when.js'

export type Abnormal = 'none' | 'mean' | 'market'
const ABNORMALS: readonly Abnormal[] = ['none', 'mean', 'market']
export type Adjustment = 'bh' | 'by' | 'holm' | 'none'
const ADJUSTMENTS: readonly Adjustment[] = ['bh', 'by', 'holm', 'none']
export type Family = 'run' | 'ledger'
export const FAMILY = oneOf<Family>(['run', 'ledger'], 'WHAT')

/** The parameter for the trials that a result is corrected for. */
const LOG = {
  family: optional(
    FAMILY,
    'run leaves the other questions of the trial log out of the headline; ledger counts them (default)',
  ),
} as const satisfies Table

const MAX_BARS = 1000
export const MAX_DRAWS = 1_000_000
export const DEFAULT_REPS = 999

const STABILITY = oneOf<(typeof STABILITIES)[number], Text>(STABILITIES, 'WORD')

/** The parameters that select events, for studies and backtests. */
export const SIGNALS = {
  field: required(FIELD, 'a band field (bands fields)'),
  timeframe: TIMEFRAME_ROW,
  band: nullable(BANDS, 'the bands entered (default any)'),
  prev_band: nullable(BANDS, 'the bands left'),
  stability: nullable(
    listKind(STABILITY, 'WORDS', { all: true }),
    `how settled the band left was: ${STABILITIES.join(', ')}`,
  ),
  max_flips: nullable(integerOf(0, 254), 'at most N changes of band in the days before it (FLIPS of bands events)'),
  ...SIGNALS_CONTEXT,
  after: nullable(DATE, 'only events after this day'),
  before: nullable(DATE, 'only events before this day'),
} as const satisfies Table

/** The field of a study; a condition may replace it. */
const STUDIED_FIELD = required(FIELD_OR_CONDITION, SIGNALS.field.help)

/** The entry of a strategy, with its own keys. */
export const ENTRY = {
  field: setBy('field', STUDIED_FIELD),
  when: setBy('when', { ...WHEN.when, none: true }),
  bands: setBy('band', { ...SIGNALS.band, kind: CONDITION_BANDS }),
  prev_bands: setBy('prev_band', { ...SIGNALS.prev_band, kind: CONDITION_BANDS }),
  // In the order of the vocabulary: a file and options that say the same are one strategy.
  stability: setBy('stability', {
    ...SIGNALS.stability,
    kind: listKind(STABILITY, 'WORDS', {
      all: true,
      ordered: words => STABILITIES.filter(word => words.includes(word)),
    }),
  }),
  max_flips: setBy('max_flips', SIGNALS.max_flips),
  context: CONTEXT_PART,
  after: setBy('after', SIGNALS.after),
  before: setBy('before', SIGNALS.before),
}

/**
 * Selects the events that count as signals; null: any. Every criterion is known at the event. Durations and later
 * returns are not, and are no criteria.
 */
export interface EventFilter extends Values<typeof ENTRY> {
  readonly timeframe: Timeframe
  /** The number of bars that conditions look back at the tickers they name (default 0). */
  readonly lag?: number
}

/** The bands that a second ticker was in on the date of the event (lag 0), or at its bar before that date (lag 1). */
export type ContextFilter = NonNullable<EventFilter['context']>

export const ANY_EVENT: Omit<EventFilter, 'field' | 'timeframe'> = {
  bands: null,
  prev_bands: null,
  stability: null,
  max_flips: null,
  context: null,
  after: null,
  before: null,
}

export const SEED = withDefault(integerOf(0, LARGEST_SEED), 1, 'other draws for another number')
const MIN_EVENTS = withDefault(integerOf(1, MAX_DRAWS), 20, 'fewer get no p-value', { part: 'min-n' })
const WINDOWS = {
  ...listKind(integerOf(1, MAX_BARS), 'BARS', { ordered: bars => bars.toSorted((a, b) => a - b) }),
  example: '5,20',
}
const HORIZON = nullable(WINDOWS, 'windows in bars, such as 5,10,20 (default those of the aftermath)')

/** What the events of a tally can be split by. */
export const GROUPINGS = ['band', 'prev_band', 'stability', 'year', 'context', 'ticker', 'sector'] as const
export type TallyGrouping = (typeof GROUPINGS)[number]

/** The parameters of a tally in addition to its events. */
export const TALLY = {
  horizon: optional(WINDOWS, 'only these windows in bars, such as 5,20 (default all of the aftermath)'),
  by: optional(oneOf(GROUPINGS, 'WHAT'), `split by ${GROUPINGS.join(', ')} (default band, or with --band no split)`),
  ...LOG,
} as const satisfies Table

/**
 * The options of a tally among the parameters. Throws InvalidParameter, also for a window that is not one of the
 * timeframe.
 * @param timeframe the timeframe of the events
 */
export function tallyOptions(params: Written, timeframe: Timeframe): Read<typeof TALLY> {
  const read = readParams(TALLY, paramsInTable(TALLY, params))
  const windows: readonly number[] = TIMEFRAMES[timeframe].windows
  const unknownWindow = read.horizon?.find(bars => !windows.includes(bars))
  if (unknownWindow === undefined) return read
  const allowed = `${windows.join(', ')}, the windows of the aftermath; a study takes any number of bars`
  const distance = (window: number): number => Math.abs(window - unknownWindow)
  const nearest = windows.toSorted((a, b) => distance(a) - distance(b)).slice(0, 1)
  throw invalid('not_allowed', { param: 'horizon', value: unknownWindow, allowed, suggestions: nearest.map(String) })
}

/** Bars of the average path before and after the event. */
const PATH: Kind<{ before: number; after: number }, string> = {
  schema: { type: 'string', pattern: '^(-\\d{1,3}|0)\\.\\.\\+?\\d{1,4}$' },
  placeholder: 'BARS',
  example: '-20..100',
  parse: (param, written) => {
    const text = textOf(param, written)
    const [, from, to] = /^(-\d{1,3}|0)\.\.\+?(\d{1,4})$/.exec(text) ?? []
    const before = Math.abs(Number(from))
    const after = Number(to)
    // Without a match both are NaN, and refused.
    if (before <= 250 && after >= 1 && after <= MAX_BARS) return { before, after }
    return refuse(param, text, `bars from -250..0 to 1..${MAX_BARS}, such as -20..100`)
  },
}

const REPS: Kind<number | 'all', Text> = {
  schema: { anyOf: [{ type: 'integer', minimum: 99, maximum: MAX_DRAWS }, { const: 'all' }] },
  placeholder: 'N',
  parse: (param, written) => (written === 'all' ? 'all' : integerValue(param, written, 99, MAX_DRAWS)),
}

/** The measurements of an event study and their options. */
const MEASURES = {
  horizon: { ...HORIZON, under: 'Measures' },
  path: withDefault(PATH, { before: 20, after: 100 }, 'bars of the average path (default -20..100)'),
  benchmark: nullable(TICKER, 'the market that abnormal returns are measured by, and the alpha of calendar time'),
  abnormal: nullable(
    oneOf(ABNORMALS, 'MODEL'),
    `abnormal returns by ${ABNORMALS.join(', ')}; market with a benchmark, else none`,
    { part: 'tests abnormal' },
  ),
  min_events: { ...MIN_EVENTS, under: 'Tests and intervals' },
  reps: withDefault(REPS, DEFAULT_REPS, 'draws of the plain shift and of random entry (--wide), or all', {
    part: 'tests draws',
  }),
  resamples: withDefault(integerOf(99, MAX_DRAWS), 1999, 'draws of every bootstrap', { part: 'tests bootstrap' }),
  seed: SEED,
  ...LOG,
  naive: withDefault(FLAG, false, 'add the t test that takes overlapping windows for independent, as a warning', {
    part: 'tests naive',
  }),
  hansen_hodrick: withDefault(FLAG, false, 'add the Hansen-Hodrick t', { part: 'tests hansen-hodrick' }),
} as const satisfies Table

/** Selects the events of a study, including those of a condition. */
const STUDIED = {
  ...SIGNALS,
  field: STUDIED_FIELD,
  when: nullable(CONDITION, WHEN.when.help),
} as const satisfies Table

/** The parameters of an event study in addition to its tickers. */
export const STUDY = { ...STUDIED, ...MEASURES } as const satisfies Table

/** An event study as people write it: `bands study`, and `study()` of the library. */
export type StudyParams = FieldOrCondition<ParamsOf<typeof STUDY>> & { tickers: readonly string[] }

export interface StudyQuery extends Omit<Read<typeof MEASURES>, 'horizon' | 'abnormal'> {
  /** At least one. */
  tickers: readonly string[]
  filter: EventFilter
  /** Windows in bars, ascending, each at least 1. */
  horizons: readonly number[]
  abnormal: Abnormal
}

/**
 * Parses an event study. Throws InvalidParameter for the first fault.
 * @param fields the fields that it may name: those built in, and the user's own
 */
export function parseStudy(input: object, fields: FieldSet = BUILT_IN_FIELDS): StudyQuery {
  const { tickers, ...params } = objectOf('params', input)
  // A condition replaces a missing field.
  const withField = conditionForField(withoutNulls(params), fields)
  const written = definedParams(withField, Object.keys(STUDY))
  const filter = readFilter(readParams(STUDIED, paramsInTable(STUDIED, written), fields), fields)
  const { horizon, abnormal, ...measures } = readParams(MEASURES, paramsInTable(MEASURES, written))
  return {
    ...measures,
    tickers: readTickers(tickers),
    filter,
    horizons: horizon ?? [...TIMEFRAMES[filter.timeframe].windows],
    abnormal: abnormal ?? (measures.benchmark === null ? 'none' : 'market'),
  }
}

/** The filter of a study's events from its parameters. */
function readFilter(read: Read<typeof STUDIED>, fields: FieldSet): EventFilter {
  const { field, timeframe, band: bands, prev_band: prev_bands, stability, max_flips, when, after, before } = read
  // The context, or null, and the lag of conditions that name a ticker, if it is set.
  const contextAndLag = readSignalLag(read, fields)
  return {
    field,
    timeframe,
    bands,
    prev_bands,
    stability,
    max_flips,
    ...contextAndLag,
    after,
    before,
    ...(when === null ? {} : { when }),
  }
}

/** The tickers, distinct and ascending, in any written order. Throws InvalidParameter without any. */
function readTickers(tickers: unknown): string[] {
  const names = new Set(tickersOf(tickers ?? []))
  if (names.size === 0) throw wrong('ticker', 'ticker is missing: name at least one.')
  return [...names].sort()
}

/** How a choice on some dates is checked on others. */
export type ValidationKind = 'split' | 'walk_forward' | 'cv' | 'cpcv'

/** A walk-forward; numbers are in bars. */
export interface WalkForward {
  train: number
  test: number
  /** From the beginning of one fold to that of the next. */
  step: number
  /** Whether training always begins with the first bar. */
  anchored: boolean
  embargo: number
}

/** The parameter of a walk-forward. `step` defaults to the length of the test, so that test windows do not overlap. */
export const WALK_FORWARD = nullable(
  pairsOf<WalkForward>(
    'BARS',
    {
      minimums: { train: 1, test: 1, step: 1, embargo: 0 },
      needed: ['train', 'test'],
      flags: ['anchored'],
      example: 'train=756,test=252,step=252',
      usage: 'bars as train=756,test=252,step=252, with embargo=5 or anchored where wanted',
    },
    ({ train = 0, test = 0, step = test, embargo = 0, anchored }) => {
      return { train, test, step, anchored: anchored !== undefined, embargo }
    },
  ),
  'choose and check in turn: train=756,test=252,step=252[,embargo=5][,anchored]',
  { part: 'validate walk-forward' },
)

const CV = pairsOf<{ k: number; embargo: number }, { k: number; embargo?: number }>(
  'FOLDS',
  { minimums: { k: 2, embargo: 0 }, needed: ['k'], example: 'k=5,embargo=5', usage: 'folds and bars as k=5,embargo=5' },
  ({ k = 0, embargo = 0 }) => ({ k, embargo }),
)

const CPCV = pairsOf<{ n: number; k: number }, { n: number; k: number }>(
  'GROUPS',
  { minimums: { n: 2, k: 1 }, needed: ['n', 'k'], example: 'n=6,k=2', usage: 'groups and test groups as n=6,k=2' },
  ({ n = 0, k = 0 }) => {
    if (k < n && n <= 20) return { n, k }
    const allowed = 'fewer test groups (k) than groups (n), and at most 20 groups'
    throw wrong('cpcv', `cpcv "n=${n},k=${k}" needs ${allowed}.`, { allowed })
  },
)

const BLOCKS: Kind<number, Text> = {
  schema: { type: 'integer', minimum: 2, maximum: 20, multipleOf: 2 },
  placeholder: 'N',
  parse: (param, written) => {
    const blocks = integerValue(param, written, 2, 20)
    if (blocks % 2 === 0) return blocks
    throw invalid('not_allowed', { param, value: blocks, allowed: 'an even number from 2 to 20' })
  },
}

/** The parameters of a sweep in addition to its tickers. */
export const SWEEP = {
  timeframe: { ...TIMEFRAME_ROW, under: 'What makes a cell' },
  field: nullable(SOME_FIELDS, 'only these fields, or all (default those made from bars)'),
  band: optional(CONDITION_BANDS, 'only these bands entered (default of a condition: true)'),
  when: optional(CONDITION, 'the events of a condition; with --field only events on bars where it is true'),
  horizon: HORIZON,
  ...SWEEP_CONTEXT,
  by: withDefault(
    oneOf(['pool', 'ticker'] as const, 'WHAT'),
    'pool',
    'pool: one combination for all tickers (default); ticker: one for each',
  ),
  prev_band: withDefault(FLAG, false, 'split combinations by the band before, too'),
  after: { ...SIGNALS.after, under: 'Which events' },
  before: SIGNALS.before,
  min_events: { ...MIN_EVENTS, under: 'Tests and corrections' },
  adjust: withDefault(
    oneOf(ADJUSTMENTS, 'HOW'),
    'bh',
    'correct p by bh (Benjamini-Hochberg, default), by (Benjamini-Yekutieli), holm, or none',
  ),
  family: optional(
    FAMILY,
    'ledger corrects Q for all of the trial log, too; run leaves the log out of the headline (default: the headline only)',
  ),
  resamples: withDefault(integerOf(99, MAX_DRAWS), 1000, 'draws of every bootstrap', { part: 'tests bootstrap' }),
  pbo_blocks: withDefault(BLOCKS, 16, 'blocks of the overfitting test', { part: 'tests pbo' }),
  split: nullable(DATE, 'choose before this day, check from it on', {
    under: 'Choose on some dates, check on others (one of four)',
    part: 'validate split',
  }),
  walk_forward: WALK_FORWARD,
  cv: nullable(CV, 'purged cross-validation: k=5,embargo=5', { part: 'validate cv' }),
  cpcv: nullable(CPCV, 'combinatorial purged cross-validation: n=6,k=2', { part: 'validate cpcv' }),
  seed: { ...SEED, under: 'Draws' },
} as const satisfies Table

/** A sweep as people write it: `bands sweep`, and `sweep()` of the library. */
export type SweepParams = ParamsOf<typeof SWEEP> & { tickers: readonly string[] }

export interface SweepQuery extends Omit<Read<typeof SWEEP>, 'field' | 'band' | 'horizon' | 'context' | 'context_lag'> {
  /** At least one. */
  tickers: readonly string[]
  /** Fields of the catalogue, or a condition. */
  fields: readonly string[]
  /** The entered bands that make combinations (default: all). */
  bands?: readonly string[]
  /** Windows in bars, ascending. */
  horizons: readonly number[]
  contexts: readonly SweepContext[]
  /** The number of bars that conditions look back at the tickers they name (default 0). */
  lag?: number
}

export interface SweepContext {
  ticker: string
  field: string
  lag: 0 | 1
}

/** Parses a sweep. Throws InvalidParameter for the first fault. */
export function parseSweep(input: object, known: FieldSet = BUILT_IN_FIELDS): SweepQuery {
  const { tickers, ...params } = objectOf('params', input)
  const written = withoutNulls(params)
  refuseMoreThanOne(written, ['split', 'walk_forward', 'cv', 'cpcv'])
  const { horizon, context, context_lag: lag, ...read } = readParams(SWEEP, written, known)
  const isFieldNamed = 'field' in written
  const selected = selectFieldsAndBands(read, isFieldNamed, known)
  return {
    ...selected,
    tickers: readTickers(tickers),
    horizons: horizon ?? [...TIMEFRAMES[read.timeframe].windows],
    ...addLag(context, lag, [...selected.fields, read.when], known),
  }
}

/**
 * A sweep's query with the fields and bands of its combinations; `bands` is absent if none is named. A condition
 * without named fields is itself the field. @param isFieldNamed whether fields are named: `all` also counts
 */
function selectFieldsAndBands<Others>(
  { field: fields, band, when, ...read }: Others & Pick<Read<typeof SWEEP>, 'field' | 'band' | 'when'>,
  isFieldNamed: boolean,
  known: FieldSet,
) {
  if (when !== undefined && !isFieldNamed) {
    const field = conditionValue('when', when, known)
    return { ...read, fields: [field.name], bands: bandsValue('band', band ?? [TRUTHS[TRUE]!], [field]) }
  }
  // `fields` is null for the word `all`, and if none is named: then only fields that need nothing but bars.
  let selectedFields = known.all
  if (fields !== null) selectedFields = known.all.filter(({ name }) => fields.includes(name))
  else if (!isFieldNamed) selectedFields = known.all.filter(({ needs }) => needs === 'bars')
  const query = when === undefined ? read : { ...read, when }
  if (band === undefined) return { ...query, fields: selectedFields.map(field => field.name) }
  const bands = bandsValue('band', band, selectedFields)
  const fieldsWithBands = selectedFields.filter(field => field.bands.some(name => band.includes(name)))
  return { ...query, bands, fields: fieldsWithBands.map(field => field.name) }
}

/** Throws InvalidParameter if several of some parameters are set: each would answer the same question differently. */
export function refuseMoreThanOne(params: object, names: readonly string[]): void {
  const present = names.filter(name => name in params)
  if (present.length < 2) return
  throw wrong(present[1]!, sentence`${parameterList(present)} are two ways to the same end; choose one.`)
}
