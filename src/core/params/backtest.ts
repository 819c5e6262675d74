import { InvalidParameter, parameter, parameterList, sentence, wrong } from '../errors.js'
import { BUILT_IN_FIELDS, type FieldSet } from '../fields/index.js'
import type { Tier } from '../model/terms.js'
import { isMapping, objectOf, tickersOf, withoutNulls } from './arguments.js'
import { CONDITIONS_LAG, LAGGED_PARTS } from './context.js'
import { definedParams, listItems, type Parameter, valueForKind, type Written } from './row.js'
import { COSTS_TEXT } from './short-forms.js'
import { BACKTEST, type RunOptions, readCandidates, readRunOptions, STRATEGY_KEYS, type Strategy } from './strategy.js'
import { EVERY_TICKER, type PlaceFinder, parseStrategyDocument, readYaml } from './strategy-file.js'
import { refuse } from './values.js'
import { someNameTickers, uselessLagError } from './when.js'

export interface BacktestContext {
  /** The tier of the caller; null: all loaded data. */
  tier: Tier | null
  /** The name of a strategy text in refusals. */
  file?: string
  fields?: FieldSet
  /** The tickers that `tickers: all` of a file means. */
  loaded?: readonly string[]
}

/**
 * Parses a backtest: a strategy document, with the values that parameters set in it, and the options of the run. Throws
 * InvalidParameter for the first fault, BadData with its position for a fault in a file.
 */
export function parseBacktest(
  input: object,
  { tier, file = 'strategy', fields = BUILT_IN_FIELDS, loaded }: BacktestContext,
): { strategy: Strategy; run: RunOptions } {
  const { strategy: written = {}, tickers, ...rest } = objectOf('params', input)
  const { document, places } = readDocument(written, file, fields)
  const params = definedParams(withoutNulls(rest), Object.keys(BACKTEST))
  const withTickers = { ...document }
  if (tickers !== undefined) withTickers.tickers = tickersOf(tickers)
  else if (document.tickers === EVERY_TICKER && loaded !== undefined) withTickers.tickers = [...loaded]
  const fullDocument = setParams(withTickers, params, fields)
  const parse = (complete: Document): Strategy => {
    try {
      return parseStrategyDocument(complete, { fields })
    } catch (refusal) {
      if (!(refusal instanceof InvalidParameter)) throw refusal
      // A parameter is to blame if it set the refused value, or if nothing ends a trade and no file was written.
      const parameterError = asParameterError(params, refusal) ?? (places === undefined ? noExitError(refusal) : null)
      if (parameterError !== null) throw parameterError
      // Parsed again for an error that has the position in the file.
      return parseStrategyDocument(complete, { fields, ...places })
    }
  }
  const strategy = parse(fullDocument)
  const run: RunOptions = { tier, ...readRunOptions(params) }
  const holds = params.hold === undefined ? [] : listItems('hold', params.hold)
  // Several holds are candidates: the same strategy with each of them. `strategy` itself has the first.
  const exit = sectionOf(fullDocument, 'exit')
  if (holds.length > 1)
    run.candidates = readCandidates(holds, run, hold => parse({ ...fullDocument, exit: { ...exit, hold } }))
  return { strategy, run }
}

type Document = Record<string, unknown>

/** A strategy as a document, and of a text also the places in it. Throws BadData for a text that is no YAML mapping. */
function readDocument(written: unknown, file: string, fields: FieldSet): { document: Document; places?: PlaceFinder } {
  if (typeof written !== 'string') return { document: { ...objectOf('strategy', written ?? {}) } }
  const { value, ...places } = readYaml(written, file)
  // Parsing a value that is no mapping throws, with its position.
  return { document: isMapping(value) ? value : { ...parseStrategyDocument(value, { fields, ...places }) }, places }
}

/**
 * A copy of a strategy document in which each parameter has set its key. Costs are merged with those of the file; rules
 * of the parameter `exit` replace all of its rules. Throws InvalidParameter.
 */
function setParams(document: Document, params: Written, fields: FieldSet): Document {
  const result = copyDocument(document)
  result.exit ??= {}
  for (const { param, path, node } of STRATEGY_KEYS) {
    if (!(param in params) || !('kind' in node) || node.kind === undefined) continue
    if (param === LAG_PARAM && !lagSetsKey(result, path, fields)) continue
    setAtPath(result, path, valueForKey(param, { ...node, kind: node.kind }, params[param], fields))
  }
  if ('costs' in params) result.costs = mergeCosts(document.costs, result.costs)
  if ('exit' in params) for (const key of ['leave', 'on']) delete sectionOf(result, 'exit')[key]
  return result
}

/** The costs of a file with the parts that a parameter sets. A faulty text in the file is reported later. */
function mergeCosts(costsOfFile: unknown, costsOfParams: unknown): unknown {
  try {
    const base = typeof costsOfFile === 'string' ? COSTS_TEXT.parse('costs', costsOfFile) : costsOfFile
    return isMapping(base) && isMapping(costsOfParams) ? { ...base, ...costsOfParams } : costsOfParams
  } catch {
    return costsOfFile
  }
}

const LAG_PARAM = CONDITIONS_LAG.param
/** The key of the conditions' lag in a strategy file. */
const LAG_KEY = 'lag'

/**
 * Whether the parameter of the lag sets the key at this path. It sets `lag` if conditions name tickers, and the lag of
 * the context if the entry has one. Throws InvalidParameter if the strategy has neither.
 */
function lagSetsKey(document: Document, path: string, fields: FieldSet): boolean {
  const entry = sectionOf(document, 'entry')
  const exit = sectionOf(document, 'exit')
  const hasContext = (entry.context ?? null) !== null
  if (path !== LAG_KEY) return hasContext
  const texts = [entry.field, entry.when, exit.when, sectionOf(exit, 'on').field].filter(
    text => typeof text === 'string',
  )
  try {
    if (someNameTickers(texts, fields)) return true
  } catch {
    // A faulty condition is reported later, with its position.
    return false
  }
  if (hasContext) return false
  throw uselessLagError(LAGGED_PARTS)
}

/** A deep copy of a document. Throws InvalidParameter for values that no file can have, such as functions. */
function copyDocument(document: Document): Document {
  try {
    return structuredClone(document)
  } catch {
    return refuse('strategy', document, 'a document of texts, numbers, lists and mappings')
  }
}

/** The value of a parameter as the key of a strategy file has it; null, for the word `none`, removes a file's value. */
function valueForKey(
  param: string,
  row: Pick<Parameter, 'kind' | 'none'>,
  written: unknown,
  fields: FieldSet,
): unknown {
  if (row.none && written === 'none') return null
  const value = valueForKind(param, row.kind, written, { fields, earlier: {} })
  // The strategy itself uses the first of several holds.
  return param === 'hold' && Array.isArray(value) ? value[0] : value
}

/** The refusal of a document's value in the name of the parameter that set it; null if no parameter did. */
function asParameterError(params: Written, refusal: InvalidParameter): InvalidParameter | null {
  const { param: refusedPath } = refusal
  const keysSet = STRATEGY_KEYS.filter(({ param }) => param in params)
  const blamedKey = keysSet.findLast(({ path }) => path === refusedPath || refusedPath.startsWith(`${path}.`))
  return blamedKey === undefined ? null : refusal.withParam(blamedKey.param)
}

/** The error for a strategy without an exit, with the parameters that set one; null for any other refusal. */
function noExitError({ offence }: InvalidParameter): InvalidParameter | null {
  if (offence.param !== 'exit') return null
  const names = sentence`${parameter('hold')}, ${parameter('exit', 'leave')}, ${parameterList(['stop', 'target', 'trailing'], ', ')}`
  return new InvalidParameter(sentence`${parameter('exit')}: nothing ends a trade; give one of ${names}.`, offence)
}

/** Sets a value at a path such as `exit.hold`, making missing parents; InvalidParameter if one is no mapping. */
function setAtPath(document: Document, path: string, value: unknown): void {
  const [first = '', ...rest] = path.split('.')
  if (rest.length === 0) {
    document[first] = value
    return
  }
  const below = document[first] ?? {}
  if (!isMapping(below)) throw wrong(first, `${first} is not a section of a strategy.`)
  document[first] = below
  setAtPath(below, rest.join('.'), value)
}

/** A section of a document; empty if it has none. */
function sectionOf(document: Document, key: string): Document {
  const value = document[key]
  return isMapping(value) ? value : {}
}
