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

/** How a backtest is read. */
export interface BacktestContext {
  /** As which it is asked for; null: everything that is loaded. */
  tier: Tier | null
  /** What a strategy that is given as text is called in a refusal. */
  file?: string
  /** What can be asked for. */
  fields?: FieldSet
}

/** Throws InvalidParameter for the first thing wrong; for what stands in a file BadData at its place. */
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
    const asked = hold === undefined ? whole : { ...whole, exit: { ...partOf(whole, 'exit'), hold } }
    try {
      return strategyOf(asked, { fields })
    } catch (refusal) {
      if (!(refusal instanceof InvalidParameter)) throw refusal
      const spelled = asParameterError(params, refusal) ?? (places === undefined ? noExitError(refusal) : null)
      if (spelled !== null) throw spelled
      return strategyOf(asked, { fields, ...places })
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
  // What is no mapping at all is refused with its place.
  return { document: isMapping(value) ? value : { ...strategyOf(value, { fields, ...places }) }, places }
}

/** A document with parameters put in their places; what is not given stays as it is. Throws InvalidParameter. */
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
/** Where that of the conditions stands. */
const OWN_LAG = 'lag'

/** One parameter is for the context and for conditions that name tickers: whichever are there; where neither is, it is refused. */
function isLagged(whole: Document, place: string, fields: FieldSet): boolean {
  const [entry, exit] = [partOf(whole, 'entry'), partOf(whole, 'exit')]
  const hasContext = (entry.context ?? null) !== null
  if (place !== OWN_LAG) return hasContext
  const texts = [entry.field, entry.when, exit.when, partOf(exit, 'on').field].filter(text => typeof text === 'string')
  try {
    if (namesTicker(texts, fields)) return true
  } catch {
    // What is wrong with a condition is told in its place.
    return false
  }
  if (hasContext) return false
  throw uselessLag(LAGGED_PARTS)
}

/** Programs hand over anything, such as functions, which no file could hold. */
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
  // Of several holds the first is the strategy's own.
  return param === 'hold' && Array.isArray(value) ? value[0] : value
}

/** The place of the method of sizing, and what is said of one. */
const SIZING = 'portfolio.sizing'

/** Where no method of sizing is named, what is said of one names it. */
function checkSizing(whole: Document, params: Written): void {
  const portfolio = partOf(whole, 'portfolio')
  // In a file the name of the method may stand alone.
  const named = typeof portfolio.sizing === 'string' ? { method: portfolio.sizing } : partOf(portfolio, 'sizing')
  const sizing: Document = 'sizing' in params ? {} : { ...named }
  const implied = LEAVES.filter(({ param, place }) => place.startsWith(`${SIZING}.`) && param in params)
  if (implied.length === 0) return
  if (!('sizing' in params)) sizing.method ??= 'fraction' in params ? 'fixed-fraction' : 'vol-target'
  whole.portfolio = { ...portfolio, sizing }
  // A cap alone means volatility, too, and that needs a target.
  const isTargetMissing = sizing.method === 'vol-target' && (sizing.target ?? null) === null
  if (!('max_fraction' in params) || !isTargetMissing || 'target_volatility' in params) return
  const message = sentence`${parameter('max_fraction')} is for sizing by volatility, and no ${parameter('target_volatility')} is given.`
  throw wrong('max_fraction', message, { value: params.max_fraction })
}

/** What was said of a document in the words of the parameter that put it there; null where none did. */
function asParameterError(params: Written, refusal: InvalidParameter): InvalidParameter | null {
  const { param } = refusal
  const isGiven = (leaf: Leaf): boolean => leaf.param in params
  const sized = LEAVES.filter(({ place }) => place.startsWith(`${SIZING}.`))
  // What a way of sizing that was asked for lacks was not given by anyone.
  const found = sized.some(isGiven) ? sized.find(({ place }) => place === param) : undefined
  const matches = LEAVES.filter(isGiven).filter(({ place }) => place === param || param.startsWith(`${place}.`))
  const leaf = found ?? matches.at(-1)
  return leaf === undefined ? null : refusal.renamed(leaf.param)
}

/** The ways out as parameters spell them, where no file does; null for any other refusal. */
function noExitError({ offence }: InvalidParameter): InvalidParameter | null {
  if (offence.param !== 'exit') return null
  const others = listed(['exit_on', 'exit_when', 'stop', 'target', 'trailing'], ', ')
  const names = sentence`${parameter('hold')}, ${parameter('exit', 'leave')}, ${others}`
  return new InvalidParameter(sentence`${parameter('exit')}: nothing ends a trade; give one of ${names}.`, offence)
}

/** Parts on the way are made where they are missing. */
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
