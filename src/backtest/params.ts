import { InvalidParameter, listed, parameter, quoted, sentence } from '../errors.js'
import type { Tier } from '../model/terms.js'
import { parseContext } from '../params/context.js'
import type { RunOptions, Strategy, StrategyDocument } from '../params/strategy.js'
import { tickerValue, wordValue } from '../params/values.js'
import {
  DEFAULT_REPS,
  FILTER_NAMES,
  type FilterParams,
  MOST_DRAWS,
  Params,
  type Text,
  type Texts,
} from '../study/params.js'
import { onlyOne, walkForwardOf } from '../sweep/params.js'
import { type Located, readYaml, strategyOf } from './schema.js'

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
    throw new InvalidParameter(
      sentence`${parameter('embargo')} is for a ${parameter('split')}; a ${parameter('walk_forward')} has its own: embargo=5.`,
      { param: 'embargo' },
    )
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
  const others = listed(['exit_on', 'stop', 'target', 'trailing'], ', ')
  const names = sentence`${parameter('hold')}, ${parameter('exit', 'leave')}, ${others}`
  return new InvalidParameter(sentence`${parameter('exit')}: nothing ends a trade; give one of ${names}.`, offence)
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
    sentence`${parameter('hold')} ${quoted(value)} names candidates, and nothing is there to choose one on; give a ${parameter('split')} or a ${parameter('walk_forward')}.`,
    { param: 'hold', value },
  )
}

/** Where the value of a parameter stands in a strategy file. */
const PLACES = {
  name: 'name',
  timeframe: 'timeframe',
  side: 'side',
  entry: 'fill',
  field: 'entry.field',
  band: 'entry.bands',
  prev_band: 'entry.prev_bands',
  stability: 'entry.stability',
  max_flips: 'entry.max_flips',
  context_ticker: 'entry.context.ticker',
  context_field: 'entry.context.field',
  context_band: 'entry.context.bands',
  context_lag: 'entry.context.lag',
  after: 'entry.after',
  before: 'entry.before',
  hold: 'exit.hold',
  stop: 'exit.stop',
  target: 'exit.target',
  trailing: 'exit.trailing',
  overlap: 'overlap',
  costs_bps: 'costs.bps',
  slippage_bps: 'costs.slippage_bps',
  cost_per_share: 'costs.per_share',
  cost_fixed: 'costs.fixed',
  borrow: 'costs.borrow',
  sizing: 'portfolio.sizing.method',
  fraction: 'portfolio.sizing.fraction',
  target_volatility: 'portfolio.sizing.target',
  max_fraction: 'portfolio.sizing.cap',
  max_positions: 'portfolio.max_positions',
  capital: 'portfolio.capital',
  whole_shares: 'portfolio.whole_shares',
  cash_rate: 'portfolio.cash_rate',
  shuffle: 'portfolio.shuffle',
  benchmark: 'benchmark',
  rf: 'risk_free',
  seed: 'seed',
} as const

type Placed = keyof typeof PLACES
/** Parameters that a strategy is made of. */
type StrategyName = Placed | 'context' | 'exit' | 'exit_on'
const PLACED = Object.keys(PLACES) as readonly Placed[]

const LISTS: readonly Placed[] = ['band', 'prev_band', 'stability', 'context_band']
const SIZING: readonly Placed[] = ['sizing', 'fraction', 'target_volatility', 'max_fraction']
const FLAGS: readonly Placed[] = ['whole_shares', 'shuffle']
/** What a file has and a run may be without. */
const LEFT_OUT: readonly Placed[] = ['hold', 'stop', 'target', 'trailing', 'benchmark']

/** A document with parameters put in their places; what is not given stays as it is. Throws InvalidParameter. */
function overlaid(document: StrategyDocument, params: Params<StrategyName>): StrategyDocument {
  const whole = structuredClone(document)
  const portfolio = whole.portfolio
  // In a file the name of the method may stand alone.
  if (isSection(portfolio) && typeof portfolio.sizing === 'string') portfolio.sizing = { method: portfolio.sizing }
  if (params.has('sizing') && isSection(portfolio)) portfolio.sizing = {}
  const method = impliedSizing(whole, params)
  if (method !== null) put(whole, PLACES.sizing, method)
  for (const name of PLACED) if (params.has(name)) put(whole, PLACES[name], placedValue(params, name))
  checkCap(whole, params)
  const context = params.text('context')
  if (context !== undefined) {
    const lag = params.has('context_lag') ? { lag: params.text('context_lag') } : {}
    put(whole, 'entry.context', { ...parseContext('context', context), ...lag })
  }
  const exit = params.text('exit')
  if (exit !== undefined) put(whole, 'exit.leave', wordValue('exit', exit, ['leave', 'none']) === 'leave')
  whole.exit ??= {}
  const on = params.text('exit_on')
  if (on !== undefined) put(whole, 'exit.on', on === 'none' ? null : bandsOn(on))
  return whole
}

/** What was said of a document in the words of the parameter that put it there; null where none did. */
function inWordsOf(params: Params<StrategyName>, refusal: InvalidParameter): InvalidParameter | null {
  const { param } = refusal.offence
  const name = PLACED.find(name => params.has(name) && PLACES[name] === param) ?? alias(params, param)
  if (name === undefined) return null
  return refusal.renamed(name)
}

/** Where no method of sizing is named, what is said of one names it. */
function impliedSizing({ portfolio }: StrategyDocument, params: Params<StrategyName>): string | null {
  const named = isSection(portfolio) && isSection(portfolio.sizing) && portfolio.sizing.method !== undefined
  if (named || params.has('sizing')) return null
  if (params.has('fraction')) return 'fixed-fraction'
  return params.has('target_volatility') || params.has('max_fraction') ? 'vol-target' : null
}

/** A cap alone means volatility, too, and that needs a target. */
function checkCap({ portfolio }: StrategyDocument, params: Params<StrategyName>): void {
  const sizing = isSection(portfolio) ? portfolio.sizing : null
  const isLacking = isSection(sizing) && sizing.method === 'vol-target' && (sizing.target ?? null) === null
  if (!params.has('max_fraction') || params.has('sizing') || !isLacking) return
  const message = sentence`${parameter('max_fraction')} is for sizing by volatility, and no ${parameter('target_volatility')} is given.`
  throw new InvalidParameter(message, { param: 'max_fraction', value: params.text('max_fraction') })
}

function alias(params: Params<StrategyName>, param: string): StrategyName | undefined {
  const isSized = SIZING.some(name => params.has(name))
  // What a way of sizing that was asked for lacks was not given by anyone.
  if (isSized && param.startsWith('portfolio.sizing')) return SIZING.find(name => PLACES[name] === param)
  if (param.startsWith('exit.on') && params.has('exit_on')) return 'exit_on'
  return param.startsWith('entry.context') && params.has('context') ? 'context' : undefined
}

function placedValue(params: Params<StrategyName>, name: Placed): unknown {
  if (FLAGS.includes(name)) return params.flag(name)
  if (LISTS.includes(name)) return params.list(name)
  // Of several holds the first is the strategy's own.
  const text = name === 'hold' ? params.items(name)[0] : params.text(name)
  return text === 'none' && LEFT_OUT.includes(name) ? null : text
}

/** `FIELD=BAND,BAND`, or bands of the entry's field alone. */
function bandsOn(text: string): StrategyDocument {
  const at = text.indexOf('=')
  const bands = text.slice(at + 1).split(',')
  return at < 0 ? { bands } : { field: text.slice(0, at), bands }
}

/** Sections on the way are made where they are missing. */
function put(document: StrategyDocument, place: string, value: unknown): void {
  const [first = '', ...rest] = place.split('.')
  if (rest.length === 0) {
    document[first] = value
    return
  }
  const section = document[first] ?? {}
  if (!isSection(section)) throw new InvalidParameter(`${first} is not a section of a strategy.`, { param: first })
  document[first] = section
  put(section, rest.join('.'), value)
}

function isSection(value: unknown): value is StrategyDocument {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
