import { InvalidParameter, listed, parameter, sentence, wrong } from '../errors.js'
import { BUILT_IN, type FieldSet } from '../fields/index.js'
import type { Tier } from '../model/terms.js'
import { isMapping, objectOf, tickersOf, withoutNulls } from './arguments.js'
import { CONDITIONS_LAG, checkContext, LAGGED_PARTS } from './context.js'
import { checkedNames, itemsOf, type Parameter, typedValue, type Written } from './row.js'
import { BACKTEST, candidatesOf, LEAVES, type Leaf, type RunOptions, runOf, type Strategy } from './strategy.js'
import { type PlaceFinder, readYaml, strategyOf } from './strategy-file.js'
import { refuse } from './values.js'
import { namesTicker, uselessLag } from './when.js'

export interface BacktestContext {
  /** The tier of the caller; null: all loaded data. */
  tier: Tier | null
  /** The name of a strategy text in refusals. */
  file?: string
  fields?: FieldSet
}

/** Throws InvalidParameter for the first fault; BadData with its position for a fault in a file. */
export function parseBacktest(
  input: object,
  { tier, file = 'strategy', fields = BUILT_IN }: BacktestContext,
): { strategy: Strategy; run: RunOptions } {
  const { strategy: written = {}, tickers, ...rest } = objectOf('params', input)
  const { document, places } = located(written, file, fields)
  const params = checkedNames(withoutNulls(rest), Object.keys(BACKTEST))
  checkContext(params)
  const named = tickers === undefined ? {} : { tickers: tickersOf(tickers) }
  const whole = withParams({ ...document, ...named }, params, fields)
  const read = (hold?: string): Strategy => {
    const withOneHold = hold === undefined ? whole : { ...whole, exit: { ...partOf(whole, 'exit'), hold } }
    try {
      return strategyOf(withOneHold, { fields })
    } catch (refusal) {
      if (!(refusal instanceof InvalidParameter)) throw refusal
      const spelled = asParameterError(params, refusal) ?? (places === undefined ? noExitError(refusal) : null)
      if (spelled !== null) throw spelled
      return strategyOf(withOneHold, { fields, ...places })
    }
  }
  const strategy = read()
  const run: RunOptions = { tier, ...runOf(params) }
  const holds = params.hold === undefined ? [] : itemsOf('hold', params.hold)
  if (holds.length > 1) run.candidates = candidatesOf(holds, run, read)
  return { strategy, run }
}

type Document = Record<string, unknown>

function located(written: unknown, file: string, fields: FieldSet): { document: Document; places?: PlaceFinder } {
  if (typeof written !== 'string') return { document: { ...objectOf('strategy', written ?? {}) } }
  const { value, ...places } = readYaml(written, file)
  // A value that is no mapping is refused with its position.
  return { document: isMapping(value) ? value : { ...strategyOf(value, { fields, ...places }) }, places }
}

/** Sets parameters in a document; other values stay. Throws InvalidParameter. */
function withParams(document: Document, params: Written, fields: FieldSet): Document {
  const whole = copied(document)
  whole.exit ??= {}
  checkSizing(whole, params)
  for (const { param, place, node } of LEAVES)
    if (param in params && 'kind' in node && (param !== LAG || isLagged(whole, place, fields)))
      setPath(whole, place, placedValue(param, node, params[param], fields))
  return whole
}

const LAG = CONDITIONS_LAG.param
/** The key of the conditions' lag. */
const OWN_LAG = 'lag'

/**
 * One parameter sets the lag of the context and of conditions that name tickers. It is refused if there are neither.
 */
function isLagged(whole: Document, place: string, fields: FieldSet): boolean {
  const [entry, exit] = [partOf(whole, 'entry'), partOf(whole, 'exit')]
  const hasContext = (entry.context ?? null) !== null
  if (place !== OWN_LAG) return hasContext
  const texts = [entry.field, entry.when, exit.when, partOf(exit, 'on').field].filter(text => typeof text === 'string')
  try {
    if (namesTicker(texts, fields)) return true
  } catch {
    // A faulty condition is reported later, with its position.
    return false
  }
  if (hasContext) return false
  throw uselessLag(LAGGED_PARTS)
}

/** Programs may pass anything, such as functions, which no file could hold. */
function copied(document: Document): Document {
  try {
    return structuredClone(document)
  } catch {
    return refuse('strategy', document, 'a document of texts, numbers, lists and mappings')
  }
}

function placedValue(param: string, row: Parameter, written: unknown, fields: FieldSet): unknown {
  // A whole part, spelled in one word.
  if (row.none && written === 'none') return null
  const value = typedValue(param, row.kind, written, { fields, earlier: {} })
  // The strategy itself uses the first of several holds.
  return param === 'hold' && Array.isArray(value) ? value[0] : value
}

/** The key of the sizing method and its options. */
const SIZING = 'portfolio.sizing'

/** If no sizing method is named, its options imply one. */
function checkSizing(whole: Document, params: Written): void {
  const portfolio = partOf(whole, 'portfolio')
  // A file may have only the name of the method.
  const named = typeof portfolio.sizing === 'string' ? { method: portfolio.sizing } : partOf(portfolio, 'sizing')
  const sizing: Document = 'sizing' in params ? {} : { ...named }
  const implied = LEAVES.filter(({ param, place }) => place.startsWith(`${SIZING}.`) && param in params)
  if (implied.length === 0) return
  if (!('sizing' in params)) sizing.method ??= 'fraction' in params ? 'fixed-fraction' : 'vol-target'
  whole.portfolio = { ...portfolio, sizing }
  // A cap alone also implies volatility, which needs a target.
  const isTargetMissing = sizing.method === 'vol-target' && (sizing.target ?? null) === null
  if (!('max_fraction' in params) || !isTargetMissing || 'target_volatility' in params) return
  const message = sentence`${parameter('max_fraction')} is for sizing by volatility, and no ${parameter('target_volatility')} is given.`
  throw wrong('max_fraction', message, { value: params.max_fraction })
}

/** The refusal of a value in the words of its parameter; null if no parameter set it. */
function asParameterError(params: Written, refusal: InvalidParameter): InvalidParameter | null {
  const { param } = refusal
  const isGiven = (leaf: Leaf): boolean => leaf.param in params
  const sized = LEAVES.filter(({ place }) => place.startsWith(`${SIZING}.`))
  // A missing part of a chosen sizing method was not set by any parameter.
  const found = sized.some(isGiven) ? sized.find(({ place }) => place === param) : undefined
  const matches = LEAVES.filter(isGiven).filter(({ place }) => place === param || param.startsWith(`${place}.`))
  const leaf = found ?? matches.at(-1)
  return leaf === undefined ? null : refusal.renamed(leaf.param)
}

/** The exits as parameters spell them, without a file; null for any other refusal. */
function noExitError({ offence }: InvalidParameter): InvalidParameter | null {
  if (offence.param !== 'exit') return null
  const others = listed(['exit_on', 'exit_when', 'stop', 'target', 'trailing'], ', ')
  const names = sentence`${parameter('hold')}, ${parameter('exit', 'leave')}, ${others}`
  return new InvalidParameter(sentence`${parameter('exit')}: nothing ends a trade; give one of ${names}.`, offence)
}

/** Missing parents are made on the way. */
function setPath(document: Document, place: string, value: unknown): void {
  const [first = '', ...rest] = place.split('.')
  if (rest.length === 0) {
    document[first] = value
    return
  }
  const part = document[first] ?? {}
  if (!isMapping(part)) throw wrong(first, `${first} is not a section of a strategy.`)
  document[first] = part
  setPath(part, rest.join('.'), value)
}

function partOf(document: Document, key: string): Document {
  const part = document[key]
  return isMapping(part) ? part : {}
}
