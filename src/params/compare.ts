import { InvalidParameter, parameter, sentence } from '../errors.js'
import { listOf, objectOf, withoutNulls } from './arguments.js'
import { type BacktestWays, parseBacktest } from './backtest.js'
import { integerOf } from './kinds.js'
import { given, type ParamsOf, type Read, readParams, type Table } from './row.js'
import { RUN, STRATEGY, type Strategy } from './strategy.js'
import { SEED, SIGNALS } from './studies.js'
import { textOf } from './values.js'

/** What a comparison is asked for beside its strategies. */
export const COMPARE = {
  resamples: given(integerOf(99, 100_000), 1999, 'draws of the joint days', { under: 'Tests' }),
  seed: SEED,
  family: RUN.family,
  min_trades: RUN.min_trades,
} as const satisfies Table

/** What is set in all strategies alike. */
export const SHARED = {
  after: { ...SIGNALS.after, under: 'In all strategies' },
  before: SIGNALS.before,
  rf: STRATEGY.risk_free,
} as const satisfies Table

/** A comparison as people write it: `bands compare`, and `compare()` of the library. */
export type CompareParams = ParamsOf<typeof COMPARE> &
  ParamsOf<typeof SHARED> & {
    /** Two or more: the contents of strategy files, as text or as what they say. */
    strategies: readonly (Readonly<Record<string, unknown>> | Strategy | string)[]
    /** What each is called; the name in its file unless given. */
    names?: readonly string[]
    tickers?: readonly string[]
  }

/** What a comparison is asked, parsed and complete. */
export interface CompareQuery extends Read<typeof COMPARE> {
  /** Each once. */
  names: readonly string[]
  strategies: readonly Strategy[]
}

/** As many curves are told apart on a page. */
const MOST_STRATEGIES = 12

/** Throws as parseBacktest does, and InvalidParameter for fewer than two strategies, too many, and other bars. */
export function parseCompare(asked: object, ways: BacktestWays): CompareQuery {
  const { strategies: written, names, tickers, after, before, rf, ...rest } = objectOf('params', asked)
  const documents = listOf('strategies', written ?? [])
  checkCount(documents.length)
  const files = names === undefined ? [] : listOf('names', names).map(name => textOf('names', name))
  const alike = withoutNulls({ after, before, rf, ...(tickers === undefined ? {} : { tickers }) })
  const strategies = documents.map((strategy, i) => {
    const file = files[i]
    return parseBacktest({ ...alike, strategy }, { ...ways, ...(file === undefined ? {} : { file }) }).strategy
  })
  const [first] = strategies
  const other = strategies.find(({ timeframe }) => timeframe !== first!.timeframe)
  if (other !== undefined)
    throw new InvalidParameter(
      `timeframe: strategies are compared on the same bars, and these have ${first!.timeframe} and ${other.timeframe} ones.`,
      { param: 'timeframe', value: other.timeframe, allowed: first!.timeframe },
    )
  return { ...readParams(COMPARE, withoutNulls(rest)), names: distinct(strategies, files), strategies }
}

function checkCount(n: number): void {
  if (n >= 2 && n <= MOST_STRATEGIES) return
  const allowed = `2 to ${MOST_STRATEGIES} strategy files`
  const words = sentence`${parameter('strategies')}: ${n === 1 ? 'one alone has nothing to be compared with' : n === 0 ? 'there are none' : `${n} are too many`}; it takes ${allowed}.`
  throw new InvalidParameter(words, { param: 'strategies', value: n, allowed })
}

/** The name in the file, or that of the file; with its place where two are the same. */
function distinct(strategies: readonly Strategy[], files: readonly string[]): string[] {
  const called = strategies.map(
    ({ name }, i) => name ?? files[i]?.replace(/^.*[\\/]|\.(ya?ml|json)$/gi, '') ?? `strategy ${i + 1}`,
  )
  return called.map((name, i) => (called.indexOf(name) === called.lastIndexOf(name) ? name : `${name} (${i + 1})`))
}
