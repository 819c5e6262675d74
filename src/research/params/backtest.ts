import { InvalidParameter, quoted } from '../../errors.js'
import type { Tier } from '../../model/tier.js'
import { tickerValue } from '../../query/values.js'
import { strategyOf } from '../backtest/schema.js'
import type { RunOptions, Strategy, StrategyDocument } from '../backtest/strategy.js'
import { type Located, readYaml } from '../backtest/yaml.js'
import { FILTER_NAMES, type FilterParams } from './filter.js'
import { Params, type Text, type Texts } from './read.js'
import { inWordsOf, overlaid } from './strategy.js'
import { DEFAULT_REPS, MOST_DRAWS } from './study.js'
import { onlyOne, walkForwardOf } from './sweep.js'

/**
 * A backtest as people write it: `bands backtest`, and `backtest()` of the library. Everything but the last six makes up
 * the strategy: a document in the form of a strategy file, and what overrides it.
 */
export interface BacktestParams extends Partial<FilterParams> {
  /** The contents of a strategy file: its text (YAML or JSON), or what it says as an object. */
  strategy?: StrategyDocument | string
  tickers?: readonly string[]
  name?: string
  side?: 'long' | 'short'
  /** When an entry is filled. */
  entry?: 'next-open' | 'next-close' | 'close'
  /** Bars after the signal at whose close a trade ends. Several: the training part of each fold chooses one. */
  hold?: Texts
  /** `leave`: out when the band is left. */
  exit?: 'leave' | 'none'
  /** `FIELD=BAND,BAND`: out when one of them is entered. */
  exit_on?: string
  stop?: Text
  target?: Text
  trailing?: Text
  overlap?: 'skip' | 'allow' | 'extend'
  costs_bps?: Text
  slippage_bps?: Text
  cost_per_share?: Text
  cost_fixed?: Text
  borrow?: Text
  sizing?: 'equal' | 'fixed-fraction' | 'vol-target'
  fraction?: Text
  target_volatility?: Text
  max_fraction?: Text
  max_positions?: Text
  capital?: Text
  whole_shares?: boolean
  cash_rate?: Text
  shuffle?: boolean
  benchmark?: string
  /** Risk-free rate a year. */
  rf?: Text
  seed?: Text
  split?: string
  walk_forward?: string | { train: number; test: number; step?: number; embargo?: number; anchored?: boolean }
  /** Bars left out before the split date. */
  embargo?: Text
  /** Random entries drawn to compare with. */
  reps?: Text
  min_trades?: Text
  /** What the Sharpe ratio is deflated by: the strategies of this run, or all that the ledger of trials knows. */
  family?: 'run' | 'ledger'
}

export const BACKTEST_NAMES = [
  ...FILTER_NAMES,
  'name',
  'side',
  'entry',
  'hold',
  'exit',
  'exit_on',
  'stop',
  'target',
  'trailing',
  'overlap',
  'costs_bps',
  'slippage_bps',
  'cost_per_share',
  'cost_fixed',
  'borrow',
  'sizing',
  'fraction',
  'target_volatility',
  'max_fraction',
  'max_positions',
  'capital',
  'whole_shares',
  'cash_rate',
  'shuffle',
  'benchmark',
  'rf',
  'seed',
  'split',
  'walk_forward',
  'embargo',
  'reps',
  'min_trades',
  'family',
] as const satisfies readonly (keyof BacktestParams)[]

export type BacktestName = (typeof BACKTEST_NAMES)[number]

/**
 * Throws InvalidParameter for the first thing wrong; for what stands in a file BadData at its place.
 * @param tier as which the run is asked for; null: everything that is loaded
 * @param file what a strategy that is given as text is called in a refusal
 */
export function parseBacktest(
  { strategy: written = {}, tickers, ...rest }: BacktestParams,
  { tier, file = 'strategy' }: { tier: Tier | null; file?: string },
): { strategy: Strategy; run: RunOptions } {
  const { document, placeOf } = locatedIn(written, file)
  const params = new Params(rest, BACKTEST_NAMES)
  onlyOne(params, ['split', 'walk_forward'])
  const named = tickers === undefined ? {} : { tickers: tickers.map(ticker => tickerValue('ticker', String(ticker))) }
  const whole = overlaid({ ...document, ...named }, params)
  const read = (hold?: string): Strategy => {
    const asked = hold === undefined ? whole : { ...whole, exit: { ...(whole.exit as object), hold } }
    try {
      return strategyOf(asked)
    } catch (refusal) {
      if (!(refusal instanceof InvalidParameter)) throw refusal
      const said = inWordsOf(params, refusal) ?? (placeOf === undefined ? ofNoEnd(refusal) : null)
      if (said !== null) throw said
      return strategyOf(asked, placeOf)
    }
  }
  const strategy = read()
  const run: RunOptions = {
    tier,
    reps: params.integer('reps', 0, MOST_DRAWS) ?? DEFAULT_REPS,
    split: params.date('split'),
    walkForward: walkForwardOf(params),
    minTrades: params.integer('min_trades', 1, MOST_DRAWS) ?? DEFAULT_MIN_TRADES,
    family: params.word('family', ['run', 'ledger'] as const) ?? 'run',
  }
  const embargo = params.integer('embargo', 0, 1000)
  if (embargo !== undefined) run.embargo = embargo
  if (embargo !== undefined && run.split === null)
    throw new InvalidParameter('embargo is for a split; a walk_forward has its own: embargo=5.', { param: 'embargo' })
  const holds = params.items('hold')
  if (holds.length > 1) run.candidates = candidatesOf(holds, run, read)
  return { strategy, run }
}

const DEFAULT_MIN_TRADES = 20

function locatedIn(
  written: StrategyDocument | string,
  file: string,
): { document: StrategyDocument; placeOf?: Located['placeOf'] } {
  if (typeof written !== 'string') return { document: written }
  const { value, placeOf } = readYaml(written, file)
  // What is no mapping at all is refused with its place.
  if (typeof value !== 'object' || value === null || Array.isArray(value)) strategyOf(value, placeOf)
  return { document: value as StrategyDocument, placeOf }
}

/** The ways out as parameters spell them, where no file does; null for any other refusal. */
function ofNoEnd({ offence }: InvalidParameter): InvalidParameter | null {
  if (offence.param !== 'exit') return null
  const ways = (names: readonly string[]): string => `nothing ends a trade; give one of ${names.join(', ')}.`
  const names = ['hold', 'exit leave', 'exit_on', 'stop', 'target', 'trailing']
  const typed = names.map(name => `--${name.replace('_', '-')}`)
  return new InvalidParameter(`exit: ${ways(names)}`, offence, ways(typed))
}

/** One strategy a hold; they need data to be chosen on, apart from those that they are judged by. */
function candidatesOf(
  holds: readonly string[],
  { split, walkForward }: RunOptions,
  read: (hold: string) => Strategy,
): Strategy[] {
  if (split !== null || walkForward !== null) return holds.map(read)
  const value = holds.join(',')
  throw new InvalidParameter(
    `hold ${quoted(value)} names candidates, and nothing is there to choose one on; give a split or a walk_forward.`,
    { param: 'hold', value },
  )
}
