import { parameter, quoted, sentence, wrong } from '../errors.js'
import type { Tier } from '../model/terms.js'
import { CONDITIONS_LAG } from './context.js'
import { DATE, DISTANCE, type Distance, FLAG, listKind, numberOf, RATE } from './figures.js'
import { CONDITION_BANDS, FIELD_OR_CONDITION, integerOf, oneOf, RANK, TEXT, TICKER } from './kinds.js'
import { TIMEFRAME_ROW } from './questions.js'
import {
  isSection,
  type JsonSchema,
  type Kind,
  type Named,
  type Node,
  type Nodes,
  nullable,
  optional,
  type ParamsOf,
  paramsInTable,
  type Read,
  readParams,
  required,
  schemaOf,
  section,
  setBy,
  type Table,
  type Texts,
  textSetBy,
  type Values,
  type Written,
  withDefault,
} from './row.js'
import {
  BASIS_POINTS,
  BORROW,
  COSTS_TEXT,
  EXITS,
  MONEY,
  type RuleExits,
  SHARE_UP_TO_1,
  SIZE_TEXT,
  type Size,
  TARGET,
} from './short-forms.js'
import {
  DEFAULT_REPS,
  ENTRY,
  type EventFilter,
  FAMILY,
  MAX_DRAWS,
  refuseMoreThanOne,
  SEED,
  WALK_FORWARD,
} from './studies.js'
import { integerValue } from './values.js'
import { entryWithField } from './when.js'

export type Side = 'long' | 'short'

/** The fill of a signal at bar t: the open or the close of t + 1, or the close of t (not tradable on daily data). */
export type Fill = 'next-open' | 'next-close' | 'close'

const MAX_HOLD = 10_000
const ENTRY_AND_EXIT = { under: 'Entry and exit' }
const METHODS = ['equal', 'fixed-fraction', 'vol-target'] as const

/** The parameters that reserve data for the choice among several values. */
const ONE_TO_CHOOSE_ON = sentence`a ${parameter('split')} or a ${parameter('walk_forward')}`

/** Candidates are not part of a strategy: a file names the one that it trades. */
const HOLD: Kind<number, Texts> = {
  schema: { type: 'integer', minimum: 1, maximum: MAX_HOLD },
  placeholder: 'BARS',
  example: '20',
  several: 'some',
  parse: (param, value) => {
    if (!Array.isArray(value) || value.length === 1) return integerValue(param, [value].flat()[0], 1, MAX_HOLD)
    const allowed = `an integer from 1 to ${MAX_HOLD}`
    const advice = sentence`several to choose from are given separately, as ${parameter('hold', value.join(','))} with ${ONE_TO_CHOOSE_ON}`
    const list = `[${value.join(', ')}]`
    const words = sentence`${parameter(param)} ${list} is a list, and a file says one: ${allowed}; ${advice}.`
    throw wrong(param, words, { value, allowed })
  },
}

/** Sorted, so that the order in which they are named does not matter. */
const TICKERS = listKind(TICKER, 'TICKERS', { ordered: tickers => tickers.toSorted() })

/** The exits of a trade: the first one counts. null: not used. */
const EXIT = {
  hold: setBy(
    'hold',
    nullable(
      HOLD,
      'out at the close N bars after the signal; several: candidates that each training part chooses from',
      { none: true },
    ),
  ),
  when: setBy(
    'exit',
    optional(
      EXITS,
      'out by a rule: leave (the field leaves the band entered), bands that it enters (overbought), or a condition',
      { none: true },
    ),
  ),
  stop: setBy(
    'stop',
    nullable(DISTANCE, 'out at a loss of this distance from the entry price: 5%, 0.05, or 2atr', { none: true }),
  ),
  target: setBy(
    'target',
    nullable(DISTANCE, 'out at a gain of this distance from the entry price: 5%, 0.05, or 2atr', { none: true }),
  ),
  trailing: setBy('trailing', nullable(DISTANCE, 'from the best price since', { none: true })),
  // Keys of the strategy in a result, which is read as a file, too.
  leave: withDefault(FLAG, false, 'out when the field leaves the band that was entered'),
  on: {
    ...section(
      {
        field: nullable(FIELD_OR_CONDITION, 'the field (default that of the entry)'),
        bands: required(CONDITION_BANDS, 'its bands'),
      },
      ({ field, bands }, _, entered): { readonly field: string; readonly bands: readonly string[] } => {
        return { field: String(field ?? entered), bands: [bands].flat().map(String) }
      },
    ),
    optional: true as const,
  },
}

interface ReadExit {
  readonly hold: number | null
  readonly leave: boolean
  readonly on: RuleExits['on']
  readonly when?: string
  readonly stop: Distance | null
  readonly target: Distance | null
  readonly trailing: Distance | null
}

/**
 * The exits from the values of a file. Its key `when` may have a rule of each kind: leave, bands, a condition. The keys
 * `leave` and `on` may have two of them instead. Throws InvalidParameter if `on` and `when` both name bands.
 */
function readExit(read: Readonly<Record<string, unknown>>, at: string): ReadExit {
  const { hold, leave, on, when: rules, stop, target, trailing } = read as unknown as ReadExit & { when?: RuleExits }
  if (on !== null && rules?.on != null) throw wrong(`${at}.on`, `${at}.on and ${at}.when both name bands; keep one.`)
  const exits = { hold, leave: leave || rules?.leave === true, on: rules?.on ?? on }
  const distances = { stop, target, trailing }
  return rules?.when === undefined ? { ...exits, ...distances } : { ...exits, when: rules.when, ...distances }
}

/** Costs; each applies to one side of a trade if its help says nothing else. */
const COST_ROWS = {
  bps: withDefault(BASIS_POINTS, 5, 'commission and half the spread a side'),
  slippage_bps: withDefault(BASIS_POINTS, 0, 'slippage a side'),
  per_share: withDefault(MONEY, 0, 'a side, for each share as it was traded: not on adjusted prices'),
  fixed: withDefault(MONEY, 0, 'a fill'),
  borrow: withDefault(BORROW, 0, 'a year, on short positions: 3% or 0.03'),
}

export const COSTS = textSetBy(
  'costs',
  optional(
    COSTS_TEXT,
    'parts by commas, or none: 5bp of the price a side (default), slip 2bp, share 0.005 (not on adjusted prices), fixed 1 a fill, borrow 3% a year',
    { under: 'Costs and size' },
  ),
  section(COST_ROWS),
)

const SIZE = textSetBy(
  'size',
  optional(
    SIZE_TEXT,
    'of each position: equal (default), a share of equity (10%), or by volatility a year (vol 15%, vol 15% max 50%)',
  ),
  section(
    {
      method: withDefault(oneOf(METHODS, 'HOW'), 'equal', 'equal (default), fixed-fraction or vol-target'),
      fraction: nullable(SHARE_UP_TO_1, 'of equity in each position'),
      target: nullable(TARGET, 'volatility a year, of each position'),
      cap: nullable(SHARE_UP_TO_1, 'of equity, with a target volatility (default 1)'),
    },
    readSize,
  ),
)

/** The size from the values of a file. Throws InvalidParameter for options of another method, and for missing ones. */
function readSize({ method, ...rest }: Readonly<Record<string, unknown>>, at: string): Size {
  let keysOfMethod: readonly string[] = []
  if (method === 'fixed-fraction') keysOfMethod = ['fraction']
  if (method === 'vol-target') keysOfMethod = ['target', 'cap']
  const unwanted = Object.keys(rest).find(key => rest[key] !== null && !keysOfMethod.includes(key))
  if (unwanted !== undefined) throw wrong(`${at}.${unwanted}`, `${at}.${unwanted} is not for ${method}.`)
  if (method === 'equal') return { method }
  if (method === 'fixed-fraction') return { method, fraction: SHARE_UP_TO_1.parse(`${at}.fraction`, rest.fraction) }
  const target = TARGET.parse(`${at}.target`, rest.target)
  return { method: 'vol-target', target, cap: SHARE_UP_TO_1.parse(`${at}.cap`, rest.cap ?? 1) }
}

const PORTFOLIO = {
  capital: setBy(
    'capital',
    withDefault({ ...numberOf({ exclusiveMinimum: 0 }, 'MONEY'), example: '100000' }, 1, 'to begin with', {
      under: 'Portfolio',
      part: 'portfolio capital',
    }),
  ),
  max_positions: setBy(
    'max_positions',
    nullable(
      integerOf(1, 100_000),
      'at once (default one for each ticker, but 10 at most, and 10 where they may overlap)',
    ),
  ),
  size: SIZE,
  whole_shares: setBy(
    'whole_shares',
    withDefault(FLAG, false, 'no fractions of shares', { part: 'portfolio whole-shares' }),
  ),
  cash_rate: setBy('cash_rate', withDefault(RATE, 0, 'a year, on cash', { part: 'portfolio cash' })),
  shuffle: setBy(
    'shuffle',
    withDefault(FLAG, false, 'choose at random, once, among equal signals for the last positions (default 200 times)', {
      part: 'portfolio shuffle',
    }),
  ),
  order: setBy(
    'order',
    optional(oneOf<'ticker'>(['ticker'], 'HOW'), 'ticker: among equal signals the first by ticker symbol', {
      none: true,
      part: 'portfolio order',
    }),
  ),
}

/** Throws InvalidParameter if two parameters order equal signals. */
function refuseTwoOrders(portfolio: Values<typeof PORTFOLIO>, at: string): Values<typeof PORTFOLIO> {
  if (!portfolio.shuffle || portfolio.order === undefined) return portfolio
  const both = sentence`${parameter('order', portfolio.order)} and ${parameter('shuffle')}`
  throw wrong(`${at}.order`, sentence`${both} exclude each other; leave one of them out.`)
}

/** A strategy as a file has it: its keys in their order, and the parameter that gives each value. */
export const STRATEGY = {
  name: setBy('name', nullable(TEXT, 'what it is called')),
  tickers: required(TICKERS, 'what is traded'),
  timeframe: setBy('timeframe', TIMEFRAME_ROW),
  side: setBy(
    'side',
    withDefault(oneOf<Side>(['long', 'short'], 'SIDE'), 'long', 'long (default) or short', ENTRY_AND_EXIT),
  ),
  entry: { ...section(ENTRY), either: ['field', 'when'], convertKeys: entryWithField },
  fill: setBy(
    'entry',
    withDefault(
      oneOf<Fill>(['next-open', 'next-close', 'close'], 'WHEN'),
      'next-open',
      'next-open (default), next-close, or close (optimistic: not tradable on daily data)',
      ENTRY_AND_EXIT,
    ),
  ),
  exit: section(EXIT, readExit),
  lag: CONDITIONS_LAG,
  overlap: setBy(
    'overlap',
    withDefault(
      oneOf(['skip', 'allow', 'extend'] as const, 'HOW'),
      'skip',
      'a signal while in a trade: skip (default), allow, or extend its hold',
      { part: 'portfolio overlap' },
    ),
  ),
  costs: COSTS,
  portfolio: section(PORTFOLIO, refuseTwoOrders),
  rank: setBy(
    'rank',
    optional(
      RANK,
      "of a day's signals those first whose bar is highest in a field's bands or an expression: rsi(close, 14); -rsi(close, 14): lowest first",
      { none: true },
    ),
  ),
  benchmark: setBy(
    'benchmark',
    nullable(TICKER, 'a ticker to compare with, next to buy and hold of the same tickers', {
      none: true,
      under: 'Comparison',
    }),
  ),
  risk_free: setBy(
    'rf',
    withDefault(RATE, 0, 'risk-free a year, of the Sharpe ratio', { part: 'portfolio risk-free' }),
  ),
  seed: setBy('seed', { ...SEED, under: 'Tests' }),
}

/** A parsed strategy whose number of positions may still be missing. */
type Draft = Values<typeof STRATEGY>
/** A complete strategy, as a backtest runs it and a strategy file has it. */
export type Strategy = Omit<Draft, 'portfolio'> & {
  readonly portfolio: Omit<Draft['portfolio'], 'max_positions'> & { readonly max_positions: number }
}
export type Costs = Strategy['costs']
/** The exits of a trade: the first one counts. null: not used. */
export type Exit = Strategy['exit']

const MAX_POSITIONS = 10

/** One position for each ticker, at most 10, so that one ticker uses all of the equity; 10 if they may overlap. */
export function defaultMaxPositions({ tickers, overlap }: Pick<Strategy, 'tickers' | 'overlap'>): number {
  return overlap === 'allow' ? MAX_POSITIONS : Math.min(MAX_POSITIONS, tickers.length)
}

/** The strategy of a draft: a missing number of positions gets its default, and a lag of 0 is left out. */
export function completeStrategy(draft: Draft): Strategy {
  const max_positions = draft.portfolio.max_positions ?? defaultMaxPositions(draft)
  const { lag, ...withoutLag } = draft
  return { ...(lag === 0 ? withoutLag : draft), portfolio: { ...draft.portfolio, max_positions } }
}

/** The conditions and fields of a strategy: only these can read another ticker. */
export function conditionsOf({ entry, exit }: Pick<Strategy, 'entry' | 'exit'>): (string | undefined)[] {
  return [entry.field, entry.when, exit.on?.field, exit.when]
}

export function eventsFilter({ entry, timeframe, lag }: Pick<Strategy, 'entry' | 'timeframe' | 'lag'>): EventFilter {
  return { ...entry, timeframe, ...(lag !== undefined && { lag }) }
}

type NamedIn<N> =
  | (N extends Named<string> ? N : never)
  | (N extends { readonly rows: infer Rows } ? NamedIn<Rows[keyof Rows]> : never)
type NamedParams = {
  [N in NamedIn<(typeof STRATEGY)[keyof typeof STRATEGY]> as N['param']]?: N extends {
    readonly kind: Kind<unknown, infer W>
  }
    ? W
    : never
}

/** The most redraws of the returns, because each keeps its equity at some dates. */
const MAX_RESAMPLES = 100_000

/** The options of a run that are not part of the strategy. */
export const RUN = {
  split: nullable(DATE, 'report before and after this day separately', {
    under: 'Parts of the data',
    part: 'validate split',
  }),
  embargo: nullable(integerOf(0, 1000, 'BARS'), 'left out before the split', { part: 'validate embargo' }),
  walk_forward: WALK_FORWARD,
  reps: withDefault(
    integerOf(0, MAX_DRAWS),
    DEFAULT_REPS,
    'draws of random entry, where more than 2,000 moves are possible',
    { under: 'Tests', part: 'tests draws' },
  ),
  monte_carlo: nullable(
    integerOf(99, MAX_RESAMPLES),
    'redraw the returns N times in blocks: intervals of CAGR, Sharpe ratio and worst drawdown',
    { part: 'tests monte-carlo' },
  ),
  family: optional(
    FAMILY,
    'ledger deflates the Sharpe ratio by all of the trial log; run leaves the log out of the headline (default: the headline only)',
  ),
  min_trades: withDefault(integerOf(1, MAX_DRAWS), 20, 'fewer are warned of', { part: 'min-n' }),
} as const satisfies Table

export interface RunOptions extends Read<typeof RUN> {
  /** The tier of the caller; null: all loaded data. */
  tier: Tier | null
  /**
   * The training part of each fold chooses one of these strategies by the t statistic of the mean net return per trade.
   * The strategy itself only takes part if it is listed (default: none).
   */
  candidates?: readonly Strategy[]
}

/** The run options among the parameters. Throws InvalidParameter. */
export function readRunOptions(params: Written): Omit<RunOptions, 'tier'> {
  refuseMoreThanOne(params, ['split', 'walk_forward'])
  const run = readParams(RUN, paramsInTable(RUN, params))
  if (run.embargo !== null && run.split === null)
    throw wrong(
      'embargo',
      sentence`${parameter('embargo')} is for a ${parameter('split')}; a ${parameter('walk_forward')} has its own: embargo=5.`,
    )
  return run
}

/** A strategy for each hold, a number of bars. Throws InvalidParameter if no split or walk-forward can choose one. */
export function readCandidates(
  holds: readonly string[],
  { split, walk_forward }: RunOptions,
  read: (hold: string) => Strategy,
): Strategy[] {
  if (split !== null || walk_forward !== null) return holds.map(read)
  const value = holds.join(',')
  const advice = sentence`To compare them give ${parameter('vary', `hold=${value}`)}; to choose one of them give ${ONE_TO_CHOOSE_ON}.`
  throw wrong('hold', sentence`${parameter('hold')} ${quoted(value)} names candidates. ${advice}`, { value })
}

/**
 * The parameters of `bands backtest` and of the library's `backtest()`. Those that are not run options make up the
 * strategy: a strategy document, and overriding values.
 */
export type BacktestParams = NamedParams &
  ParamsOf<typeof RUN> & {
    /** A strategy file: its text (YAML or JSON), or its content as an object. */
    strategy?: Readonly<Record<string, unknown>> | Strategy | string
    tickers?: readonly string[]
  }

/**
 * A key of a strategy, at any depth, that a parameter sets: the path in a file, such as `exit.hold`, and its
 * declaration.
 */
export interface StrategyKey {
  param: string
  path: string
  node: Node
}

/** In the order of a file. */
export const STRATEGY_KEYS: readonly StrategyKey[] = strategyKeysIn(STRATEGY, '')

/**
 * The keys of some rows, and of the parts in them, that a parameter sets.
 * @param prefix the path of the rows, with a dot
 */
function strategyKeysIn(rows: Nodes, prefix: string): StrategyKey[] {
  return Object.entries(rows).flatMap(([key, node]) => {
    const path = `${prefix}${key}`
    const ownKey = node.param === undefined ? [] : [{ param: node.param, path, node }]
    return isSection(node) ? [...ownKey, ...strategyKeysIn(node.rows, `${path}.`)] : ownKey
  })
}

/** The parameters of a strategy and of a run, as the command line and the library name them. */
export const BACKTEST: Table = {
  ...Object.fromEntries(STRATEGY_KEYS.flatMap(({ param, node }) => ('kind' in node ? [[param, node]] : []))),
  ...RUN,
}

export function strategySchema(): JsonSchema {
  return schemaOf(STRATEGY, { needed: ['entry', 'exit'] })
}
