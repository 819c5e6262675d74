import { InvalidParameter, listed, parameter, sentence, wrong } from '../errors.js'
import { BUILT_IN, type FieldSet } from '../fields/index.js'
import type { Tier } from '../model/terms.js'
import { isMapping, objectOf, tickersOf, withoutNulls } from './arguments.js'
import { CONDITIONS_LAG, LAGGED_PARTS } from './context.js'
import { checkedNames, itemsOf, type Parameter, typedValue, type Written } from './row.js'
import { COSTS_TEXT } from './short-forms.js'
import { BACKTEST, candidatesOf, LEAVES, type Leaf, type RunOptions, runOf, type Strategy } from './strategy.js'
import { EVERY_TICKER, oldKeys, type PlaceFinder, readYaml, strategyOf } from './strategy-file.js'
import { refuse } from './values.js'
import { namesTicker, uselessLag } from './when.js'

export interface BacktestContext {
  /** The tier of the caller; null: all loaded data. */
  tier: Tier | null
  /** The name of a strategy text in refusals. */
  file?: string
  fields?: FieldSet
  /** The tickers that `tickers: all` of a file means. */
  loaded?: readonly string[]
}

/** Throws InvalidParameter for the first fault; BadData with its position for a fault in a file. */
export function parseBacktest(
  input: object,
  { tier, file = 'strategy', fields = BUILT_IN, loaded }: BacktestContext,
): { strategy: Strategy; run: RunOptions; notes: string[] } {
  const { strategy: written = {}, tickers, ...rest } = objectOf('params', input)
  const { document, places } = located(written, file, fields)
  const params = checkedNames(withoutNulls(rest), Object.keys(BACKTEST))
  const all = document.tickers === EVERY_TICKER && loaded !== undefined ? { tickers: [...loaded] } : {}
  const named = tickers === undefined ? all : { tickers: tickersOf(tickers) }
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
  return { strategy, run, notes: places === undefined ? [] : oldKeys(document, strategy, file) }
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
  for (const { param, place, node } of LEAVES)
    if (
      param in params &&
      'kind' in node &&
      node.kind !== undefined &&
      (param !== LAG || isLagged(whole, place, fields))
    )
      setPath(whole, place, placedValue(param, { ...node, kind: node.kind }, params[param], fields))
  if ('costs' in params) whole.costs = mergedCosts(document.costs, whole.costs)
  // A rule of a parameter replaces all rules of the file.
  if ('exit' in params) for (const key of ['leave', 'on']) delete partOf(whole, 'exit')[key]
  return whole
}

/** The costs of a file, with the parts that a parameter names. A faulty text of the file is reported later. */
function mergedCosts(before: unknown, named: unknown): unknown {
  try {
    const base = typeof before === 'string' ? COSTS_TEXT.parse('costs', before) : before
    return isMapping(base) && isMapping(named) ? { ...base, ...named } : named
  } catch {
    return before
  }
}

const LAG = CONDITIONS_LAG.param
/** The key of the conditions' lag. */
const OWN_LAG = 'lag'

/**
 * Whether the parameter of the lag sets the key at this path. It sets the lag of a context, and that of conditions which
 * name tickers. Throws InvalidParameter if the strategy has neither.
 */
function isLagged(whole: Document, place: string, fields: FieldSet): boolean {
  const entry = partOf(whole, 'entry')
  const exit = partOf(whole, 'exit')
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

function placedValue(
  param: string,
  row: Pick<Parameter, 'kind' | 'none'>,
  written: unknown,
  fields: FieldSet,
): unknown {
  // A whole part, spelled in one word.
  if (row.none && written === 'none') return null
  const value = typedValue(param, row.kind, written, { fields, earlier: {} })
  // The strategy itself uses the first of several holds.
  return param === 'hold' && Array.isArray(value) ? value[0] : value
}

/** The refusal of a value in the words of its parameter; null if no parameter set it. */
function asParameterError(params: Written, refusal: InvalidParameter): InvalidParameter | null {
  const { param } = refusal
  const isGiven = (leaf: Leaf): boolean => leaf.param in params
  const leaf = LEAVES.filter(isGiven).findLast(({ place }) => place === param || param.startsWith(`${place}.`))
  return leaf === undefined ? null : refusal.renamed(leaf.param)
}

/** The exits as parameters spell them, without a file; null for any other refusal. */
function noExitError({ offence }: InvalidParameter): InvalidParameter | null {
  if (offence.param !== 'exit') return null
  const names = sentence`${parameter('hold')}, ${parameter('exit', 'leave')}, ${listed(['stop', 'target', 'trailing'], ', ')}`
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
