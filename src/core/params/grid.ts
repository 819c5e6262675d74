import {
  counted,
  didYouMean,
  formatInteger,
  InvalidParameter,
  type InvalidValue,
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
  itemsOf,
  type JsonSchema,
  type Kind,
  nullable,
  type ParamsOf,
  type Read,
  readParams,
  type Table,
  type Text,
  withDefault,
} from './row.js'
import { type BacktestParams, LEAVES, type Leaf, RUN, type RunOptions, STRATEGY, type Strategy } from './strategy.js'
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
  takes: 'KEY=VALUES',
  several: 'some',
  object: true,
  parse: (_, written) => axesIn(written),
}

/** The parameters of a grid in addition to those of a backtest. */
export const GRID = {
  vary: nullable(VARY, 'a key of the strategy and its values: hold=5,10,20', {
    under: 'A grid of strategies',
  }),
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
  notes: readonly string[]
}

/** As many strategies are tried at once. */
const MOST_CELLS = 1000

/** Throws as parseBacktest does. Throws InvalidParameter for a key that cannot vary, and for too many combinations. */
export function parseGrid(input: object, context: BacktestContext): GridQuery {
  const { vary, statistic, ...params } = objectOf('params', input)
  const axes = axesIn(vary)
  checkCount(axes)
  const by = STATISTIC.parse('statistic', statistic ?? 'sharpe')
  checkHold(params)
  let first: ReturnType<typeof parseBacktest> | null = null
  const strategies = combinations(axes).map(values => {
    const cell = Object.fromEntries(axes.map(({ key }, i) => [key, optionValue(key, values[i]!)]))
    const parsed = spelled(axes, () => parseBacktest({ ...params, ...cell }, context))
    first ??= parsed
    return parsed.strategy
  })
  const { run, notes } = first!
  return { ...distinct(axes, strategies), statistic: by, run, notes }
}

/** Equal values such as 2% and 0.02 make one combination, under the first spelling. */
function distinct(axes: readonly Axis[], strategies: readonly Strategy[]): Pick<GridQuery, 'axes' | 'strategies'> {
  const cells = combinations(axes)
  const texts = strategies.map(strategy => JSON.stringify(strategy))
  const distinctAxes = axes.map(({ key, values }, axis) => {
    const made = new Map<string, string>()
    for (const value of values) {
      const all = texts.filter((_, cell) => cells[cell]![axis] === value).join()
      if (!made.has(all)) made.set(all, value)
    }
    return { key, values: [...made.values()] }
  })
  checkCount(distinctAxes)
  const isKept = (_: Strategy, cell: number): boolean =>
    cells[cell]!.every((value, axis) => distinctAxes[axis]!.values.includes(value))
  return { axes: distinctAxes, strategies: strategies.filter(isKept) }
}

/** The values of each axis in every combination, the last axis changing fastest. */
export function combinations(axes: readonly Pick<Axis, 'values'>[]): string[][] {
  return axes.reduce<string[][]>((all, { values }) => all.flatMap(one => values.map(value => [...one, value])), [[]])
}

function checkCount(axes: readonly Axis[]): void {
  const cells = axes.reduce((product, { values }) => product * values.length, 1)
  const which = axes.map(({ key, values }) => `${key} ${values.length}`).join(', ')
  if (cells > MOST_CELLS) {
    const allowed = `at most ${formatInteger(MOST_CELLS)} combinations`
    const words = ` makes ${formatInteger(cells)} combinations (${which}), and a grid has ${allowed}: give fewer values.`
    throw unvaried(cells, words, { allowed })
  }
  if (cells > 1) return
  const words = sentence` makes ${counted(cells, 'combination')}, and a grid needs several: give a key two values or more, such as ${parameter('vary', 'hold=5,10,20')}.`
  throw unvaried(cells, words, { allowed: 'at least two combinations' })
}

/** @param words the fault in `vary` */
function unvaried(
  value: unknown,
  words: Words,
  more: Pick<InvalidValue, 'allowed' | 'suggestions'> = {},
): InvalidParameter {
  return wrong('vary', sentence`${parameter('vary')}${words}`, { value, ...more })
}

/** Several holds are candidates of one backtest. */
function checkHold({ hold }: Readonly<Record<string, unknown>>): void {
  const holds = hold === undefined || hold === null ? [] : itemsOf('hold', hold)
  if (holds.length < 2) return
  const value = holds.join(',')
  throw wrong(
    'hold',
    sentence`${parameter('hold')} ${quoted(value)} names candidates, which a grid has in ${parameter('vary', `hold=${value}`)}.`,
    { value },
  )
}

/**
 * Keys that change no trade, or that would compare other bars or days. The bands of each field begin on a day of their
 * own.
 */
const FIXED = ['name', 'timeframe', 'benchmark', 'rf', 'before', 'after', 'field']

const KEYS: readonly Leaf[] = LEAVES.filter(({ param }) => !FIXED.includes(param))

/** The keys that can vary, by the names of the options. */
export const VARIED: readonly string[] = KEYS.flatMap(({ param, node }) => ('kind' in node ? [param] : []))

/** A strategy file uses the last part of a path as its key; an option has its own name. */
function keyOf(written: string): string {
  const name = written.trim().replaceAll('-', '_')
  if (FIXED.includes(name) || LEAVES.some(({ place, param }) => place === name && FIXED.includes(param)))
    throw unvaried(
      name,
      ` ${quoted(name)}: no trade becomes another by it, or it changes the bars or days, which cannot be compared; vary other keys.`,
    )
  const others = KEYS.filter(({ place }) => place.endsWith(`.${name}`))
  const found =
    KEYS.find(({ param, node }) => param === name && 'kind' in node) ??
    KEYS.find(({ place }) => place === name) ??
    (others.length === 1 ? others[0] : undefined)
  if (found !== undefined) return found.param
  const names = [...new Set(KEYS.flatMap(({ param, place }) => [param, place]))]
  const suggestions = suggest(name, names)
  const near = didYouMean(suggestions.slice(0, 1))
  const allowed = [...new Set(KEYS.map(({ param }) => param))]
  const words = ` ${quoted(name)} is no key of a strategy that can be varied.${near} They are ${allowed.join(', ')}.`
  throw unvaried(name, words, { allowed, suggestions })
}

function axesIn(written: unknown): Axis[] {
  const pairs = pairsIn(written)
  const axes: Axis[] = []
  for (const [name, values] of pairs) {
    const key = keyOf(name)
    if (axes.some(axis => axis.key === key))
      throw unvaried(key, ` ${quoted(key)} is given twice; put its values together.`)
    if (values.length === 0) throw unvaried(name, ` ${quoted(name)} has no values: ${USAGE}.`, { allowed: USAGE })
    axes.push({ key, values: [...new Set(values)] })
  }
  return axes
}

const USAGE = 'a key of the strategy and its values, such as hold=5,10,20 or stop=none,2atr'

function pairsIn(written: unknown): [name: string, values: string[]][] {
  if (typeof written === 'string') return pairsIn([written])
  if (Array.isArray(written))
    return written.map(item => {
      const text = typeof item === 'string' ? item : ''
      const at = text.indexOf('=')
      return at < 1 ? refuse('vary', item, USAGE) : [text.slice(0, at), itemsIn(text.slice(at + 1))]
    })
  const entries = Object.entries(objectOf('vary', written ?? {}))
  return entries.map(([name, values]) => [name, [values].flat().map(value => String(value ?? 'none'))])
}

/** Commas within parentheses part no values. */
function itemsIn(text: string): string[] {
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
  const { node } = KEYS.find(({ param }) => param === key)!
  if (!('kind' in node)) return text
  const { kind } = node
  if (kind.schema.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  // A plus is only a separator in lists.
  return kind.several === undefined && kind.typed === undefined ? text : text.replaceAll('+', ',')
}

function spelled<Done>(axes: readonly Axis[], work: () => Done): Done {
  try {
    return work()
  } catch (refusal) {
    if (!(refusal instanceof InvalidParameter) || !axes.some(({ key }) => key === refusal.param)) throw refusal
    throw refusal.renamed(`vary ${refusal.param}`)
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

/** The settings shared by all strategies. */
export const SHARED = {
  after: { ...SIGNALS.after, under: 'In all strategies' },
  before: SIGNALS.before,
  rf: STRATEGY.risk_free,
} as const satisfies Table

/** A comparison as people write it: `bands compare`, and `compare()` of the library. */
export type CompareParams = ParamsOf<typeof COMPARE> &
  ParamsOf<typeof SHARED> & {
    /** Two or more contents of strategy files, as text or as objects. */
    strategies: readonly (Readonly<Record<string, unknown>> | Strategy | string)[]
    /** The name of each strategy (default: the name in its file). */
    names?: readonly string[]
    tickers?: readonly string[]
  }

/** The parsed query of a comparison. */
export interface CompareQuery extends Read<typeof COMPARE> {
  /** Each once. */
  names: readonly string[]
  strategies: readonly Strategy[]
  notes: readonly string[]
}

/** A page can show this number of distinguishable curves. */
const MOST_STRATEGIES = 12

/** Throws as parseBacktest does, and InvalidParameter for fewer than two strategies, too many, and other bars. */
export function parseCompare(input: object, context: BacktestContext): CompareQuery {
  const { strategies: written, names, tickers, after, before, rf, ...rest } = objectOf('params', input)
  const documents = listOf('strategies', written ?? [])
  checkStrategies(documents.length)
  const files = names === undefined ? [] : listOf('names', names).map(name => textOf('names', name))
  const alike = withoutNulls({ after, before, rf, ...(tickers === undefined ? {} : { tickers }) })
  const parsed = documents.map((strategy, i) => {
    const file = files[i]
    return parseBacktest({ ...alike, strategy }, { ...context, ...(file === undefined ? {} : { file }) })
  })
  const strategies = parsed.map(({ strategy }) => strategy)
  const [first] = strategies
  const other = strategies.find(({ timeframe }) => timeframe !== first!.timeframe)
  if (other !== undefined)
    throw wrong(
      'timeframe',
      `timeframe: strategies are compared on the same bars, and these have ${first!.timeframe} and ${other.timeframe} ones.`,
      { value: other.timeframe, allowed: first!.timeframe },
    )
  const notes = parsed.flatMap(one => one.notes)
  return { ...readParams(COMPARE, withoutNulls(rest)), names: namesOf(strategies, files), strategies, notes }
}

function checkStrategies(n: number): void {
  if (n >= 2 && n <= MOST_STRATEGIES) return
  const allowed = `2 to ${MOST_STRATEGIES} strategy files`
  const words = sentence`${parameter('strategies')}: ${n === 1 ? 'one has nothing to be compared with' : n === 0 ? 'there are none' : `${n} are too many`}; it takes ${allowed}.`
  throw wrong('strategies', words, { value: n, allowed })
}

/** The name in the file, or of the file; two equal names get a number. */
function namesOf(strategies: readonly Strategy[], files: readonly string[]): string[] {
  const called = strategies.map(
    ({ name }, i) => name ?? files[i]?.replace(/^.*[\\/]|\.(ya?ml|json)$/gi, '') ?? `strategy ${i + 1}`,
  )
  return called.map((name, i) => (called.indexOf(name) === called.lastIndexOf(name) ? name : `${name} (${i + 1})`))
}
