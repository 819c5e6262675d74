import { describeValue, InvalidParameter, invalid, parameter, parameterList, sentence, wrong } from '../errors.js'
import { BUILT_IN_FIELDS, type FieldSet } from '../fields/index.js'
import type { Context } from '../model/event.js'
import { isMapping } from './arguments.js'
import { LAG, listKind } from './figures.js'
import { BAND, BANDS, FIELD, TICKER } from './kinds.js'
import {
  DEFAULT_SCOPE,
  type Kind,
  nullable,
  optional,
  required,
  section,
  sectionSetBy,
  setBy,
  type Table,
  type Written,
  withDefault,
} from './row.js'
import { bandValue, fieldValue, textOf, tickerValue } from './values.js'
import { LAGGED_SIGNALS, someNameTickers, uselessLagError } from './when.js'

/** The context of events: a second ticker, as three parameters or as one word. */

/** A second ticker and its field in one word. */
export interface ShortContext {
  ticker: string
  field: string
  /** In the order of the vocabulary; null: no band is named. */
  bands: string[] | null
}

const CONTEXT_WORD: Kind<ShortContext, string> = {
  schema: { type: 'string', examples: ['GSPC:trend_direction=downtrend'] },
  placeholder: 'T:F=B',
  parse: (param, written, { fields } = DEFAULT_SCOPE) => parseContext(param, textOf(param, written), fields),
}

/**
 * `T:F` or `T:F=B,B` in its parts, cut at the first `:` and at the first `=` after it: a ticker may have `=` in it.
 * Throws InvalidParameter, which names the whole word and the part that is wrong.
 */
function parseContext(param: string, text: string, fields: FieldSet): ShortContext {
  const [, ticker, name, bands] = /^([^:]+):([^:=]+)(?:=([^:=]+))?$/.exec(text) ?? []
  if (ticker === undefined || name === undefined) {
    const allowed = 'TICKER:FIELD or TICKER:FIELD=BAND, such as GSPC:trend_direction=downtrend'
    throw invalid('not_allowed', { param, value: text, allowed })
  }
  if (bands === '(none)') {
    const why = `(none) counts the events before the first band of ${ticker}, which no context can name`
    const offence = { value: text, suggestions: [`${ticker}:${name}`] }
    throw wrong(param, sentence`${parameter(param)} ${describeValue(text)} has no band: ${why}.`, offence)
  }
  /** Reads a part. Its refusal shows the whole word, as the user typed it. @param from where to search the part */
  const readPart = <Value>(word: string, read: () => Value, from = 0): Value => {
    try {
      return read()
    } catch (refusal) {
      if (!(refusal instanceof InvalidParameter)) throw refusal
      const { suggestions = [], ...offence } = refusal.offence
      // Searched from `from` on, because an earlier part may have the same text.
      const at = text.indexOf(word, from)
      const mendedTexts = suggestions.map(mended => text.slice(0, at) + mended + text.slice(at + word.length))
      throw invalid('in_part', { ...offence, param, value: text, suggestions: mendedTexts }, { part: refusal })
    }
  }
  const field = readPart(name, () => fieldValue('field', name, fields), ticker.length)
  let bandsInOrder: string[] | null = null
  if (bands !== undefined) {
    const writtenBands = bands.split(',')
    const from = text.length - bands.length
    for (const band of writtenBands) readPart(band, () => bandValue('band', band, field), from)
    bandsInOrder = field.bands.filter(band => writtenBands.includes(band))
  }
  return { ticker: readPart(ticker, () => tickerValue('ticker', ticker)), field: field.name, bands: bandsInOrder }
}

/** The parameters of `GET /v1/events`. */
export const EVENTS_CONTEXT = {
  context_ticker: optional(
    TICKER,
    'a second ticker, with its field and band on the date of the event; not in the Free tier',
  ),
  context_field: optional(FIELD, 'the field that is looked at there'),
  context_band: optional(BAND, 'the band it was in on the date of the event'),
} as const satisfies Table

/** The context in one word, as the command line takes it: a second ticker, its field and its bands. */
export const CONTEXT = optional(
  CONTEXT_WORD,
  'only events while a second ticker was in a band, or in one of several: GSPC:trend_direction=downtrend',
)

/** The context parameters of studies and backtests. */
export const SIGNALS_CONTEXT = { context: CONTEXT, ...LAGGED_SIGNALS } as const satisfies Table

/** The context of a strategy file: one word, or the same as a mapping. */
const TYPED_CONTEXT: typeof CONTEXT_WORD = {
  ...CONTEXT_WORD,
  parse: (param, written, scope) =>
    isMapping(written) ? (written as unknown as ShortContext) : CONTEXT_WORD.parse(param, written, scope),
  toDocumentForm: CONTEXT_WORD.parse,
}

/** The context as a part of a strategy file. */
export const CONTEXT_PART = sectionSetBy(
  'context',
  { ...CONTEXT, kind: TYPED_CONTEXT },
  section({
    ticker: required(TICKER, 'the second ticker'),
    field: required(FIELD, EVENTS_CONTEXT.context_field.help),
    bands: nullable(BANDS, 'the bands it was in on the date of the event'),
    lag: setBy('context_lag', withDefault(LAG, 0, LAGGED_SIGNALS.context_lag.help)),
  }),
)

/** A context as a file has it: in one word, or as a mapping if it has a lag. */
export function contextForFile<Found extends ShortContextOf & { lag: number }>(
  context: Found | null,
): Found | string | null {
  if (context === null || context.lag > 0) return context
  const { ticker, field, bands } = context
  return `${ticker}:${field}${bands === null ? '' : `=${bands.join(',')}`}`
}

type ShortContextOf = Omit<ShortContext, 'bands'> & { readonly bands: readonly string[] | null }

export const CONDITIONS_LAG = setBy('context_lag', LAGGED_SIGNALS.context_lag)

/** The second ticker of a sweep; each of its bands makes combinations of its own. */
const WHOLE_CONTEXT: Kind<{ ticker: string; field: string }> = {
  ...CONTEXT_WORD,
  parse: (param, written) => {
    const { ticker, field, bands } = CONTEXT_WORD.parse(param, written)
    if (bands === null) return { ticker, field }
    const allowed = 'only TICKER:FIELD'
    const why = 'every band of it makes cells of its own, so the band is left out'
    const offence = { param, value: written, allowed }
    throw new InvalidParameter(`${param} ${describeValue(written)} is not ${allowed}: ${why}.`, offence)
  },
}

export const SWEEP_CONTEXT = {
  context: withDefault(
    { ...listKind(WHOLE_CONTEXT, 'T:F'), example: 'GSPC:trend_direction' },
    [],
    'split combinations by the band of a second ticker, too: GSPC:trend_direction',
  ),
  ...LAGGED_SIGNALS,
} as const satisfies Table

const CONTEXT_PARAMS = ['context_ticker', 'context_field', 'context_band'] as const

/** Replaces `context` by its three parameters; others stay. Throws InvalidParameter if both forms are used. */
function splitContextWord({ context, ...others }: Written, fields: FieldSet = BUILT_IN_FIELDS): Written {
  if (context === undefined || context === null) return others
  const present = CONTEXT_PARAMS.filter(name => others[name] !== undefined)
  if (present.length > 0)
    throw wrong(present[0]!, sentence`${parameter('context')} says it all; leave ${parameterList(present)} out.`)
  const { ticker, field, bands } = parseContext('context', textOf('context', context), fields)
  const parts = { ...others, context_ticker: ticker, context_field: field }
  return bands === null ? parts : { ...parts, context_band: bands }
}

/** Splits the context of a question that takes one band. Throws InvalidParameter if the text names several. */
export function splitContextWithOneBand(params: Written, fields: FieldSet = BUILT_IN_FIELDS): Written {
  const parts = splitContextWord(params, fields)
  const { context_band: bands } = parts
  if (!Array.isArray(bands)) return parts
  if (bands.length === 1) return { ...parts, context_band: bands[0] }
  const value = params.context
  const words = `context ${describeValue(value)} names ${bands.length} bands, and this question takes one.`
  throw wrong('context', words, { value })
}

interface ReadParts<Bands> {
  context_ticker?: string | null
  context_field?: string | null
  context_band?: Bands | null
}

/** Joins the three parameters; null if all are missing. Throws InvalidParameter if more than the band is missing. */
function joinParts<Bands>(read: ReadParts<Bands>): { ticker: string; field: string; bands: Bands | null } | null {
  const { context_ticker: ticker = null, context_field: field = null, context_band: bands = null } = read
  if (ticker !== null && field !== null) return { ticker, field, bands }
  if (ticker === null && field === null && bands === null) return null
  throw incompleteContextError(read)
}

function incompleteContextError(read: ReadParts<unknown>): InvalidParameter {
  const missing = CONTEXT_PARAMS.filter(name => (read[name] ?? null) === null)
  const words = sentence`${parameterList(CONTEXT_PARAMS)} go together; missing: ${parameterList(missing, ', ')}.`
  return wrong(missing[0]!, words)
}

/** Replaces the three parameters of a search by one value `context`; without them, none. The band may be missing. */
export function joinContext<Query extends ReadParts<string> & { context?: unknown }>(
  read: Query,
): Omit<Query, (typeof CONTEXT_PARAMS)[number] | 'context'> & { context?: Context } {
  const { context_ticker: _1, context_field: _2, context_band: _3, context: _4, ...query } = read
  const context = joinParts(read)
  if (context === null) return query
  const { bands, ...tickerAndField } = context
  return { ...query, context: bands === null ? tickerAndField : { ...tickerAndField, band: bands } }
}

/** Replaces the three parameters of a search by `context`, too. Throws InvalidParameter if only the band is missing. */
export function joinContextWithBand<Query extends ReadParts<string> & { context?: unknown }>(read: Query) {
  const { context, ...query } = joinContext(read)
  if (context === undefined) return query
  if (context.band === undefined) throw incompleteContextError(read)
  return { ...query, context: { ...context, band: context.band } }
}

export function splitContext({ ticker, field, band }: Partial<Context> = {}): Written {
  return { context_ticker: ticker, context_field: field, context_band: band }
}

/** The parts of signals that read other tickers, and the number of bars they look back. */
interface ReadLagged {
  field: string
  context?: ShortContext
  when?: string | null
  context_lag?: number
}

/**
 * Reads the lag of signals: of their context, at or before the event's date, and of conditions on other tickers. Throws
 * InvalidParameter for a lag that applies to neither.
 */
export function readSignalLag({ field, context, when, context_lag: lag }: ReadLagged, fields: FieldSet) {
  const contexts = context === undefined ? [] : [context]
  const { contexts: laggedContexts, ...conditionsLag } = addLag(contexts, lag, [field, when], fields)
  return { context: laggedContexts[0] ?? null, ...conditionsLag }
}

export const LAGGED_PARTS = 'a context, or a condition that names another ticker'

/**
 * Adds the lag, 0 by default, to each context. The result also has `lag`, for conditions that name tickers, if there
 * are any and it is above 0. Throws InvalidParameter for a lag if there are neither contexts nor such conditions.
 */
export function addLag<OneContext extends object>(
  contexts: readonly OneContext[],
  lag: number | undefined,
  conditions: readonly (string | null | undefined)[],
  fields: FieldSet,
) {
  const namesTickers = someNameTickers(conditions, fields)
  if (lag !== undefined && contexts.length === 0 && !namesTickers) throw uselessLagError(LAGGED_PARTS)
  const contextLag = contexts.length === 0 ? 0 : LAG.parse('context_lag', lag ?? 0)
  const laggedContexts = contexts.map(context => ({ ...context, lag: contextLag }))
  const conditionsUseLag = namesTickers && lag !== undefined && lag > 0
  return conditionsUseLag ? { contexts: laggedContexts, lag } : { contexts: laggedContexts }
}
