import {
  counted,
  didYouMean,
  InvalidParameter,
  type InvalidValue,
  numberText,
  parameter,
  quoted,
  sentence,
  suggest,
  type Words,
  wrong,
} from '../errors.js'
import { listOf, objectOf, withoutNulls } from './arguments.js'
import { type BacktestContext, parseBacktest } from './backtest.js'
import { integerOf, oneOf } from './kinds.js'
import {
  type JsonSchema,
  type Kind,
  listItems,
  nullable,
  type ParamsOf,
  type Read,
  readParams,
  type Table,
  type Text,
  withDefault,
} from './row.js'
import {
  type BacktestParams,
  RUN,
  type RunOptions,
  STRATEGY,
  STRATEGY_KEYS,
  type Strategy,
  type StrategyKey,
} from './strategy.js'
import { SEED, SIGNALS } from './studies.js'
import { refuse, textOf } from './values.js'

/** The statistics that rank combinations; more is better. */
export type GridStatistic = (typeof GRID_STATISTICS)[number]
const GRID_STATISTICS = [
  'sharpe',
  'sortino',
  'calmar',
  'cagr',
  'total_return',
  'max_drawdown',
  'mean',
  'hit_rate',
  'profit_factor',
  'sqn',
] as const

const STATISTIC = oneOf(GRID_STATISTICS, 'NAME')

/** A key of a strategy and its values, as they are written. */
export interface Axis {
  key: string
  values: string[]
}

/** Text such as `hold=5,10,20`; a program passes the values by key. */
type Varied = Readonly<Record<string, Text | readonly Text[]>>
const VARY: Kind<readonly Axis[], string | readonly string[] | Varied> = {
  schema: { type: 'string', examples: ['hold=5,10,20'] } satisfies JsonSchema,
  placeholder: 'KEY=VALUES',
  several: 'some',
  object: true,
  parse: (_, written) => readAxes(written),
}

/** The parameters of a grid in addition to those of a backtest. */
export const GRID = {
  vary: nullable(VARY, 'a key of the strategy and its values: hold=5,10,20', { under: 'A grid of strategies' }),
  statistic: withDefault(
    STATISTIC,
    'sharpe',
    'the statistic that compares the combinations; more is better (default sharpe)',
    { onlyWith: ['vary'], part: 'sort' },
  ),
}

/** A grid as people write it: `bands backtest … --vary`, and `grid()` of the library. */
export type GridParams = Omit<BacktestParams, keyof ParamsOf<typeof GRID>> & {
  vary: string | readonly string[] | Varied
  statistic?: GridStatistic
}

/** Every combination of the values: a strategy each, the last axis changing fastest. */
export interface GridQuery {
  axes: readonly Axis[]
  statistic: GridStatistic
  strategies: readonly Strategy[]
  run: RunOptions
}

const MAX_COMBINATIONS = 1000

/**
 * Parses a grid: a backtest for each combination of values. Throws as parseBacktest does, and InvalidParameter for a
 * key that cannot vary or too many combinations.
 */
export function parseGrid(input: object, context: BacktestContext): GridQuery {
  const { vary, statistic, ...params } = objectOf('params', input)
  const axes = readAxes(vary)
  refuseWrongCount(axes)
  const rankedBy = STATISTIC.parse('statistic', statistic ?? 'sharpe')
  refuseSeveralHolds(params)
  const backtests = combinations(axes).map(values => {
    const varied = Object.fromEntries(axes.map(({ key }, i) => [key, optionValue(key, values[i]!)]))
    return renameRefusals(axes, () => parseBacktest({ ...params, ...varied }, context))
  })
  const strategies = backtests.map(({ strategy }) => strategy)
  // The options of the run do not vary.
  return { ...dropEqualCombinations(axes, strategies), statistic: rankedBy, run: backtests[0]!.run }
}

/**
 * Drops combinations that only differ in spelling: of 2% and 0.02 the first one stays. Two values of an axis are equal
 * if each makes the same strategies, one for every combination of the other axes.
 * @param strategies one for each of the combinations of the axes, in their order
 */
function dropEqualCombinations(
  axes: readonly Axis[],
  strategies: readonly Strategy[],
): Pick<GridQuery, 'axes' | 'strategies'> {
  const valuesOfEach = combinations(axes)
  const strategyTexts = strategies.map(strategy => JSON.stringify(strategy))
  const distinctAxes = axes.map(({ key, values }, axis) => {
    const valueByStrategies = new Map<string, string>()
    for (const value of values) {
      const strategiesWithValue = strategyTexts.filter((_, i) => valuesOfEach[i]![axis] === value).join()
      if (!valueByStrategies.has(strategiesWithValue)) valueByStrategies.set(strategiesWithValue, value)
    }
    return { key, values: [...valueByStrategies.values()] }
  })
  refuseWrongCount(distinctAxes)
  const distinctStrategies = strategies.filter((_, i) =>
    valuesOfEach[i]!.every((value, axis) => distinctAxes[axis]!.values.includes(value)),
  )
  return { axes: distinctAxes, strategies: distinctStrategies }
}

/** Every combination of the axes' values, one value of each axis in it; the last axis changes fastest. */
export function combinations(axes: readonly Pick<Axis, 'values'>[]): string[][] {
  let combined: string[][] = [[]]
  for (const { values } of axes) combined = combined.flatMap(earlier => values.map(value => [...earlier, value]))
  return combined
}

/** Throws InvalidParameter for too many combinations, and for a single one. */
function refuseWrongCount(axes: readonly Axis[]): void {
  const count = axes.reduce((product, { values }) => product * values.length, 1)
  if (count > MAX_COMBINATIONS) {
    const factors = axes.map(({ key, values }) => `${key} ${values.length}`).join(', ')
    const allowed = `at most ${numberText(MAX_COMBINATIONS)} combinations`
    const words = ` makes ${numberText(count)} combinations (${factors}), and a grid has ${allowed}: give fewer values.`
    throw varyError(count, words, { allowed })
  }
  if (count > 1) return
  const words = sentence` makes ${counted(count, 'combination')}, and a grid needs several: give a key two values or more, such as ${parameter('vary', 'hold=5,10,20')}.`
  throw varyError(count, words, { allowed: 'at least two combinations' })
}

/** The error for `vary`. @param words the rest of its sentence, beginning with a blank */
function varyError(
  value: unknown,
  words: Words,
  more: Pick<InvalidValue, 'allowed' | 'suggestions'> = {},
): InvalidParameter {
  return wrong('vary', sentence`${parameter('vary')}${words}`, { value, ...more })
}

/** Throws InvalidParameter for several holds, which are candidates of one backtest. */
function refuseSeveralHolds({ hold }: Readonly<Record<string, unknown>>): void {
  const holds = hold === undefined || hold === null ? [] : listItems('hold', hold)
  if (holds.length < 2) return
  const value = holds.join(',')
  const varied = parameter('vary', `hold=${value}`)
  const words = sentence`${parameter('hold')} ${quoted(value)} names candidates, which a grid has in ${varied}.`
  throw wrong('hold', words, { value })
}

/** Keys that change no trade, or that would compare other bars or days, such as those of another field's bands. */
const FIXED_KEYS = ['name', 'timeframe', 'benchmark', 'rf', 'before', 'after', 'field']

const KEYS_TO_VARY: readonly StrategyKey[] = STRATEGY_KEYS.filter(({ param }) => !FIXED_KEYS.includes(param))

/** The keys that can vary, by the names of the options. */
export const VARIABLE_KEYS: readonly string[] = KEYS_TO_VARY.flatMap(({ param, node }) =>
  'kind' in node ? [param] : [],
)

/**
 * The parameter of a key as people write it: the name of the option, the path in a strategy file, or the last part of
 * the path. Throws InvalidParameter for any other, and for keys that cannot vary.
 */
function parameterOfKey(written: string): string {
  const name = written.trim().replaceAll('-', '_')
  if (
    FIXED_KEYS.includes(name) ||
    STRATEGY_KEYS.some(({ path, param }) => path === name && FIXED_KEYS.includes(param))
  ) {
    const why = 'it changes no trade, or it changes the bars or days, and then results cannot be compared'
    throw varyError(name, ` ${quoted(name)}: ${why}; vary other keys.`)
  }
  const endingInName = KEYS_TO_VARY.filter(({ path }) => path.endsWith(`.${name}`))
  const strategyKey =
    KEYS_TO_VARY.find(({ param, node }) => param === name && 'kind' in node) ??
    KEYS_TO_VARY.find(({ path }) => path === name) ??
    (endingInName.length === 1 ? endingInName[0] : undefined)
  if (strategyKey !== undefined) return strategyKey.param
  const names = [...new Set(KEYS_TO_VARY.flatMap(({ param, path }) => [param, path]))]
  const suggestions = suggest(name, names)
  const near = didYouMean(suggestions.slice(0, 1))
  const allowed = [...new Set(KEYS_TO_VARY.map(({ param }) => param))]
  const words = ` ${quoted(name)} is no key of a strategy that can be varied.${near} They are ${allowed.join(', ')}.`
  throw varyError(name, words, { allowed, suggestions })
}

/** The keys that vary, with the values of each. Throws InvalidParameter for a wrong key, or one that comes twice. */
function readAxes(written: unknown): Axis[] {
  const pairs = readPairs(written)
  const axes: Axis[] = []
  for (const [name, values] of pairs) {
    const key = parameterOfKey(name)
    if (axes.some(axis => axis.key === key))
      throw varyError(key, ` ${quoted(key)} is given twice; put its values together.`)
    if (values.length === 0) throw varyError(name, ` ${quoted(name)} has no values: ${USAGE}.`, { allowed: USAGE })
    axes.push({ key, values: [...new Set(values)] })
  }
  return axes
}

const USAGE = 'a key of the strategy and its values, such as hold=5,10,20 or stop=none,2atr'

/** The keys and values of `KEY=VALUES` texts, or of an object; null as a value is `none`. */
function readPairs(written: unknown): [name: string, values: string[]][] {
  if (typeof written === 'string') return readPairs([written])
  if (Array.isArray(written))
    return written.map(item => {
      const text = typeof item === 'string' ? item : ''
      const at = text.indexOf('=')
      return at < 1 ? refuse('vary', item, USAGE) : [text.slice(0, at), splitOutsideBrackets(text.slice(at + 1))]
    })
  const entries = Object.entries(objectOf('vary', written ?? {}))
  return entries.map(([name, values]) => [name, [values].flat().map(value => String(value ?? 'none'))])
}

/** The items of a text with commas; commas within parentheses separate nothing. */
function splitOutsideBrackets(text: string): string[] {
  let depth = 0
  const items = ['']
  for (const letter of text) {
    depth += Number(letter === '(') - Number(letter === ')')
    if (letter === ',' && depth <= 0) items.push('')
    else items[items.length - 1] += letter
  }
  return items.map(item => item.trim()).filter(item => item !== '')
}

/** The value of one combination as its option would take it: a list is written `a+b`, a switch `true` or `false`. */
function optionValue(key: string, text: string): unknown {
  const { node } = KEYS_TO_VARY.find(({ param }) => param === key)!
  if (!('kind' in node)) return text
  const { kind } = node
  if (kind.schema.type === 'boolean') {
    if (text === 'true') return true
    return text === 'false' ? false : text
  }
  // The text of a part of a strategy may have commas, too: `2bp,slip 1bp`.
  const mayBeList = kind.several !== undefined || kind.toDocumentForm !== undefined
  return mayBeList ? text.replaceAll('+', ',') : text
}

/** Does some work, and returns its result. Refusals of a varied key name it as `vary KEY`. */
function renameRefusals<Done>(axes: readonly Axis[], work: () => Done): Done {
  try {
    return work()
  } catch (refusal) {
    if (!(refusal instanceof InvalidParameter) || !axes.some(({ key }) => key === refusal.param)) throw refusal
    throw refusal.withParam(`vary ${refusal.param}`)
  }
}

/** The parameters of a comparison in addition to its strategies. */
export const COMPARE = {
  resamples: withDefault(integerOf(99, 100_000), 1999, 'draws of the joint days', {
    under: 'Tests',
    part: 'tests bootstrap',
  }),
  seed: SEED,
  family: RUN.family,
  min_trades: RUN.min_trades,
} as const satisfies Table

export const SHARED_SETTINGS = {
  after: { ...SIGNALS.after, under: 'In all strategies' },
  before: SIGNALS.before,
  rf: STRATEGY.risk_free,
} as const satisfies Table

/** A comparison as people write it: `bands compare`, and `compare()` of the library. */
export type CompareParams = ParamsOf<typeof COMPARE> &
  ParamsOf<typeof SHARED_SETTINGS> & {
    /** Two or more contents of strategy files, as text or as objects. */
    strategies: readonly (Readonly<Record<string, unknown>> | Strategy | string)[]
    /** The name of each strategy (default: the name in its file). */
    names?: readonly string[]
    tickers?: readonly string[]
  }

export interface CompareQuery extends Read<typeof COMPARE> {
  /** The display name of each strategy, all different. */
  names: readonly string[]
  strategies: readonly Strategy[]
}

/** A page can show this number of distinguishable curves. */
const MAX_STRATEGIES = 12

/**
 * Parses a comparison of strategies. Throws as parseBacktest does, and InvalidParameter for fewer than two strategies,
 * for too many, and for different timeframes.
 */
export function parseCompare(input: object, context: BacktestContext): CompareQuery {
  const { strategies: written, names, tickers, after, before, rf, ...rest } = objectOf('params', input)
  const documents = listOf('strategies', written ?? [])
  refuseWrongStrategyCount(documents.length)
  const files = names === undefined ? [] : listOf('names', names).map(name => textOf('names', name))
  const sharedParams = withoutNulls({ after, before, rf, tickers })
  const strategies = documents.map((strategy, i) => {
    const file = files[i] ?? context.file
    return parseBacktest({ ...sharedParams, strategy }, file === undefined ? context : { ...context, file }).strategy
  })
  const { timeframe } = strategies[0]!
  const other = strategies.find(strategy => strategy.timeframe !== timeframe)
  if (other !== undefined) {
    const words = `timeframe: strategies are compared on the same bars, and these have ${timeframe} and ${other.timeframe} ones.`
    throw wrong('timeframe', words, { value: other.timeframe, allowed: timeframe })
  }
  return { ...readParams(COMPARE, withoutNulls(rest)), names: displayNames(strategies, files), strategies }
}

/** Throws InvalidParameter for fewer than two strategies, and for too many. */
function refuseWrongStrategyCount(n: number): void {
  if (n >= 2 && n <= MAX_STRATEGIES) return
  const allowed = `2 to ${MAX_STRATEGIES} strategy files`
  let fault = `${n} are too many`
  if (n === 0) fault = 'there are none'
  if (n === 1) fault = 'one has nothing to be compared with'
  const words = sentence`${parameter('strategies')}: ${fault}; it takes ${allowed}.`
  throw wrong('strategies', words, { value: n, allowed })
}

/** The name of each strategy: the one in its file, or the file's own name. Equal names get a number. */
function displayNames(strategies: readonly Strategy[], files: readonly string[]): string[] {
  const names = strategies.map(
    ({ name }, i) => name ?? files[i]?.replace(/^.*[\\/]|\.(ya?ml|json)$/gi, '') ?? `strategy ${i + 1}`,
  )
  return names.map((name, i) => (names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (${i + 1})`))
}
