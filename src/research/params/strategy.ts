import { InvalidParameter } from '../../errors.js'
import { parseContext } from '../../query/context.js'
import { wordValue } from '../../query/values.js'
import type { StrategyDocument } from '../backtest/strategy.js'
import type { Params } from './read.js'

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
export function overlaid(document: StrategyDocument, params: Params<StrategyName>): StrategyDocument {
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
export function inWordsOf(params: Params<StrategyName>, refusal: InvalidParameter): InvalidParameter | null {
  const { param } = refusal.offence
  const name = PLACED.find(name => params.has(name) && PLACES[name] === param) ?? alias(params, param)
  if (name === undefined) return null
  const last = param.slice(param.lastIndexOf('.') + 1)
  const spelled = (text: string): string =>
    text.startsWith(param) ? name + text.slice(param.length) : text.replace(param, last)
  return new InvalidParameter(spelled(refusal.message), { ...refusal.offence, param: name }, spelled(refusal.brief))
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
  const message = 'max_fraction is for sizing by volatility, and no target_volatility is given.'
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
