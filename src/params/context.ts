import { InvalidParameter, invalid, listed, parameter, sentence, shown } from '../errors.js'
import type { Kind, Written } from './row.js'
import { bandValue, fieldValue, textOf, tickerValue } from './values.js'

/** A second ticker, looked at on the dates of events: one reader for its word, and one for the three parameters that it stands for. */

/** A second ticker and its field as one word tells them. */
export interface ShortContext {
  ticker: string
  field: string
  /** In the order of the vocabulary; null: none is named. */
  bands: string[] | null
}

export const CONTEXT_WORD: Kind<ShortContext, string> = {
  schema: { type: 'string', examples: ['GSPC:trend_direction=downtrend'] },
  takes: 'T:F=B',
  parse: (param, written) => parseContext(param, textOf(param, written)),
}

/** `T:F` or `T:F=B,B` in its parts. Throws InvalidParameter, which names the whole word and the part that is wrong. */
export function parseContext(param: string, text: string): ShortContext {
  const [, ticker, name, bands] = /^([^:=]+):([^:=]+)(?:=([^:=]+))?$/.exec(text) ?? []
  if (ticker === undefined || name === undefined) {
    const allowed = 'TICKER:FIELD or TICKER:FIELD=BAND, such as GSPC:trend_direction=downtrend'
    throw invalid('not_allowed', { param, value: text, allowed })
  }
  const part = <Value>(word: string, read: () => Value): Value => within(param, text, word, read)
  const field = part(name, () => fieldValue('field', name))
  const chosen = bands?.split(',').map(band => part(band, () => bandValue('band', band, field))) ?? null
  return {
    ticker: part(ticker, () => tickerValue('ticker', ticker)),
    field: field.name,
    bands: chosen && field.bands.filter(band => chosen.includes(band)),
  }
}

/** A refusal of a part, told of the whole word: that is what was typed, and what can be typed instead. */
function within<Value>(param: string, text: string, word: string, read: () => Value): Value {
  try {
    return read()
  } catch (refusal) {
    if (!(refusal instanceof InvalidParameter)) throw refusal
    const { offence } = refusal
    const suggestions = offence.suggestions?.map(meant => text.replace(word, () => meant)) ?? []
    throw invalid('in_part', { ...offence, param, value: text, suggestions }, { part: refusal })
  }
}

const PARTS = ['context_ticker', 'context_field', 'context_band'] as const

/**
 * Parameters with `context` told in the three that it stands for; others as they are. Throws InvalidParameter where it is
 * told twice.
 */
export function withContext({ context, ...others }: Written): Written {
  if (context === undefined || context === null) return others
  checkContext({ context, ...others })
  const { ticker, field, bands } = parseContext('context', textOf('context', context))
  const parts = { ...others, context_ticker: ticker, context_field: field }
  return bands === null ? parts : { ...parts, context_band: bands }
}

/** Throws InvalidParameter where the word and what it stands for are both given. */
export function checkContext(params: Written): void {
  const given = PARTS.filter(name => params[name] !== undefined)
  if (params.context === undefined || given.length === 0) return
  throw new InvalidParameter(sentence`${parameter('context')} says it all; leave ${listed(given)} out.`, {
    param: given[0]!,
  })
}

/** The same of a question that takes one band. Throws InvalidParameter where the word names several. */
export function withOneBand(params: Written): Written {
  const { context_band: bands, ...others } = withContext(params)
  if (bands === undefined || !Array.isArray(bands))
    return bands === undefined ? others : { ...others, context_band: bands }
  if (bands.length === 1) return { ...others, context_band: bands[0] }
  const value = params.context
  throw new InvalidParameter(`context ${shown(value)} names ${bands.length} bands, and this question takes one.`, {
    param: 'context',
    value,
  })
}

/** The parts as they were read. */
interface ReadParts<Bands> {
  context_ticker?: string | null
  context_field?: string | null
  context_band?: Bands | null
}

/** The three as one, null where none is given. Throws InvalidParameter for some without the others; the band may be left out. */
export function contextOf<Bands>(
  read: ReadParts<Bands>,
  parts: readonly (typeof PARTS)[number][] = PARTS,
): { ticker: string; field: string; bands: Bands | null } | null {
  const { context_ticker: ticker = null, context_field: field = null, context_band: bands = null } = read
  if (ticker !== null && field !== null) return { ticker, field, bands }
  if (ticker === null && field === null && bands === null) return null
  throw incomplete(read, parts)
}

/** What is missing of the three. */
export function incomplete(
  read: ReadParts<unknown>,
  parts: typeof PARTS | readonly (typeof PARTS)[number][] = PARTS,
): InvalidParameter {
  const missing = parts.filter(name => (read[name] ?? null) === null)
  return new InvalidParameter(sentence`${listed(parts)} go together; missing: ${listed(missing, ', ')}.`, {
    param: missing[0]!,
  })
}
