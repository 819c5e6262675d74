import { InvalidParameter, invalid, listed, quoted, sentence } from '../errors.js'
import { FIELDS } from '../fields/index.js'
import { TIMEFRAMES, type Timeframe } from '../model/terms.js'
import { parseContext } from '../params/context.js'
import type { WalkForward } from '../params/strategy.js'
import { fieldValue, timeframeValue } from '../params/values.js'
import {
  DEFAULT_MIN_EVENTS,
  DEFAULT_REPS,
  DEFAULT_SEED,
  MOST_BARS,
  MOST_DRAWS,
  type PairShape,
  Params,
  type Text,
  type Texts,
  tickersValue,
} from '../study/params.js'
import { LARGEST_SEED } from '../study/values.js'
import type { Adjustment, SweepQuery } from './result.js'

/** A sweep as people write it: `bands sweep`, and `sweep()` of the library. */
export interface SweepParams {
  tickers: readonly string[]
  timeframe?: string
  /** Those that stand on bars unless given; `all`: every one. */
  fields?: Texts
  /** Windows in bars; those of the aftermath unless given. */
  horizon?: Texts
  /** `GSPC:trend_direction`: cells are told apart by the band that it was in, too. */
  context?: Texts
  context_lag?: Text
  /** One cell for all tickers together (pool), or one for each. */
  by?: 'pool' | 'ticker'
  prev_band?: boolean
  after?: string
  before?: string
  min_events?: Text
  reps?: Text
  resamples?: Text
  adjust?: Adjustment
  /** Looks that a p-value is corrected for: those of this run, or all that the ledger knows. */
  family?: 'run' | 'ledger'
  split?: string
  walk_forward?: string | Partial<WalkForward>
  cv?: string | { k: number; embargo?: number }
  cpcv?: string | { n: number; k: number }
  pbo_blocks?: Text
  seed?: Text
}

export const SWEEP_NAMES = [
  'tickers',
  'timeframe',
  'fields',
  'horizon',
  'context',
  'context_lag',
  'by',
  'prev_band',
  'after',
  'before',
  'min_events',
  'reps',
  'resamples',
  'adjust',
  'family',
  'split',
  'walk_forward',
  'cv',
  'cpcv',
  'pbo_blocks',
  'seed',
] as const satisfies readonly (keyof SweepParams)[]

const ADJUSTMENTS: readonly Adjustment[] = ['bh', 'by', 'holm', 'none']
const DEFAULT_RESAMPLES = 1000
const DEFAULT_PBO_BLOCKS = 16

/** Throws InvalidParameter for the first thing wrong. */
export function parseSweep({ tickers, ...rest }: SweepParams): SweepQuery {
  const params = new Params(rest, SWEEP_NAMES)
  const timeframe = timeframeValue('timeframe', params.text('timeframe') ?? 'daily')
  onlyOne(params, ['split', 'walk_forward', 'cv', 'cpcv'])
  const lag = (params.integer('context_lag', 0, 1) ?? 0) as 0 | 1
  if (params.has('context_lag') && !params.has('context'))
    throw new InvalidParameter('context_lag is for a context, and none is given.', { param: 'context_lag' })
  return {
    tickers: tickersValue(tickers),
    timeframe,
    fields: fieldsOf(params),
    horizons: params.integers('horizon', 1, MOST_BARS) ?? windowsOf(timeframe),
    contexts: params.items('context').map(text => contextOf(text, lag)),
    by: params.word('by', ['pool', 'ticker'] as const) ?? 'pool',
    prevBand: params.flag('prev_band'),
    after: params.day('after'),
    before: params.day('before'),
    minEvents: params.integer('min_events', 1, MOST_DRAWS) ?? DEFAULT_MIN_EVENTS,
    reps: params.integer('reps', 99, MOST_DRAWS) ?? DEFAULT_REPS,
    resamples: params.integer('resamples', 99, MOST_DRAWS) ?? DEFAULT_RESAMPLES,
    adjust: params.word('adjust', ADJUSTMENTS) ?? 'bh',
    family: params.word('family', ['run', 'ledger'] as const) ?? 'run',
    split: params.date('split'),
    walkForward: walkForwardOf(params),
    cv: cvOf(params),
    cpcv: cpcvOf(params),
    pboBlocks: blocksOf(params),
    seed: params.integer('seed', 0, LARGEST_SEED) ?? DEFAULT_SEED,
  }
}

/** Test bars apart; from one fold to the next as many unless `step` says otherwise. */
export function walkForwardOf(params: Params<'walk_forward'>): WalkForward | null {
  const found = params.pairs('walk_forward', WALK_FORWARD)
  if (found === null) return null
  const { train = 0, test = 0, embargo = 0 } = found
  return { train, test, step: found.step ?? test, anchored: found.anchored !== undefined, embargo }
}

/** Ways of validation do not go together: each would give a different answer to the same question. */
export function onlyOne<Name extends string>(params: Params<Name>, names: readonly Name[]): void {
  const given = names.filter(name => params.has(name))
  if (given.length < 2) return
  throw new InvalidParameter(sentence`${listed(given)} are two ways to the same end; choose one.`, { param: given[1]! })
}

const WALK_FORWARD: PairShape<'train' | 'test' | 'step' | 'embargo' | 'anchored'> = {
  least: { train: 1, test: 1, step: 1, embargo: 0 },
  needed: ['train', 'test'],
  words: ['anchored'],
  usage: 'bars as train=756,test=252,step=252, with embargo=5 or anchored where wanted',
}

function cvOf(params: Params<'cv'>): SweepQuery['cv'] {
  const usage = 'folds and bars as k=5,embargo=5'
  const found = params.pairs<'k' | 'embargo'>('cv', { least: { k: 2, embargo: 0 }, needed: ['k'], usage })
  return found === null ? null : { k: found.k!, embargo: found.embargo ?? 0 }
}

function cpcvOf(params: Params<'cpcv'>): SweepQuery['cpcv'] {
  const usage = 'groups and test groups as n=6,k=2'
  const found = params.pairs<'n' | 'k'>('cpcv', { least: { n: 2, k: 1 }, needed: ['n', 'k'], usage })
  if (found === null) return null
  const [n, k] = [found.n!, found.k!]
  if (k >= n || n > 20) {
    const allowed = 'fewer test groups (k) than groups (n), and at most 20 groups'
    throw new InvalidParameter(`cpcv "n=${n},k=${k}" needs ${allowed}.`, { param: 'cpcv', allowed })
  }
  return { n, k }
}

function blocksOf(params: Params<'pbo_blocks'>): number {
  const blocks = params.integer('pbo_blocks', 2, 20) ?? DEFAULT_PBO_BLOCKS
  if (blocks % 2 === 0) return blocks
  const allowed = 'an even number from 2 to 20'
  throw invalid('not_allowed', { param: 'pbo_blocks', value: blocks, allowed })
}

/** In the order of the catalogue of fields. */
function fieldsOf(params: Params<'fields'>): string[] {
  if (!params.has('fields')) return FIELDS.filter(field => field.needs === 'bars').map(field => field.name)
  const names = params.list('fields')?.map(name => fieldValue('field', name).name)
  return FIELDS.map(field => field.name).filter(name => names?.includes(name) ?? true)
}

function contextOf(text: string, lag: 0 | 1): SweepQuery['contexts'][number] {
  const { ticker, field, bands } = parseContext('context', text)
  if (bands === null) return { ticker, field, lag }
  const allowed = 'TICKER:FIELD alone'
  const why = 'every band of it makes cells of its own, so the band is left out'
  throw new InvalidParameter(`context ${quoted(text)} is not ${allowed}: ${why}.`, {
    param: 'context',
    value: text,
    allowed,
  })
}

function windowsOf(timeframe: Timeframe): number[] {
  return [...TIMEFRAMES[timeframe].windows]
}
