import { quoted, wrong } from '../errors.js'
import { BUILT_IN, type FieldSet } from '../fields/index.js'
import type { EventsQuery, HistoryQuery, OversoldQuery, PoolQuery } from '../model/event.js'
import { listOf, objectOf } from './arguments.js'
import { apart, inOne, inOneWithBand } from './context.js'
import { ASKED_EVENTS, EVENTS, EXPLAIN, OVERSOLD, type OWN_EVENTS, type OWN_OVERSOLD } from './parameters.js'
import { readParams, type Table, unknownParameter, type Written } from './row.js'
import { textOf, tickerValue } from './values.js'
import { inPlaceOfField, lagged, type ReadWhen, withField } from './when.js'

const { limit: _limit, ...HISTORY } = ASKED_EVENTS
const { ticker: _ticker, ...POOL } = HISTORY

/** The parameters of a search: as the specification has them, of several bands, and without a most of the limit. */
type EventsTable = typeof EVENTS | typeof ASKED_EVENTS | typeof OWN_EVENTS

/**
 * A search as written → a search that can be trusted. Throws InvalidParameter for the first thing wrong.
 * @param fields what can be asked for, here as below
 */
export function parseEvents(params: object, table: EventsTable = EVENTS, fields: FieldSet = BUILT_IN): EventsQuery {
  return entering(
    inOneWithBand(readParams(table, 'when' in table ? withField(params, fields) : params, fields)),
    fields,
  )
}

/** The same without a limit; a context may leave its band open. */
export function parseHistory(params: object, fields: FieldSet = BUILT_IN): HistoryQuery {
  return entering(inOne(readParams(HISTORY, withField(params, fields), fields)), fields)
}

/** The same of several tickers; whether none are enough is for the question to say. */
export function parsePool(written: object, fields: FieldSet = BUILT_IN): PoolQuery {
  const { tickers, ...params } = objectOf('params', written)
  const names = listOf('tickers', tickers).map(ticker => tickerValue('ticker', textOf('ticker', ticker)))
  return { tickers: names, ...entering(inOne(readParams(POOL, withField(params, fields), fields)), fields) }
}

/** The newest events of several tickers. @param table as for one of them */
export function parsePoolEvents(written: object, table: EventsTable, fields: FieldSet = BUILT_IN) {
  const { tickers, ...params } = objectOf('params', written)
  if ('ticker' in params) throw unknownParameter('ticker', ['tickers'])
  const names = listOf('tickers', tickers).map(ticker => tickerValue('ticker', textOf('ticker', ticker)))
  const { ticker: _first, ...query } = parseEvents({ ...params, ticker: names[0] }, table, fields)
  return { ...query, tickers: names }
}

/** The same of every change of a field: a condition stands in its place. */
export function parseTransitions(written: object, fields: FieldSet = BUILT_IN): PoolQuery {
  return parsePool(
    inPlaceOfField(objectOf('params', written), 'transitions count every change of a field', fields),
    fields,
  )
}

/** One bar of one field, or of a condition. */
export function parseExplain(params: object, fields: FieldSet = BUILT_IN) {
  const written = inPlaceOfField(objectOf('params', params), 'a bar is explained of a field or of a condition', fields)
  return lagged(readParams(EXPLAIN, written, fields), fields)
}

interface ReadEvents extends ReadWhen {
  band?: string | readonly string[]
}

/** A query of the bands that were read, one or several. */
function entering<Query extends ReadEvents>(read: Query, fields: FieldSet) {
  const { band, ...query } = lagged(read, fields)
  return band === undefined ? query : { ...query, bands: typeof band === 'string' ? [band] : band }
}

/** The same of a scan. */
export function parseOversold(params: object, table: typeof OVERSOLD | typeof OWN_OVERSOLD = OVERSOLD): OversoldQuery {
  return readParams(table, params)
}

/**
 * A search as the query of a URL, in the order of the specification, which knows one band; nothing is left to a server's
 * default.
 */
export function eventsSearch({ context, bands: [band] = [], ...query }: EventsQuery): URLSearchParams {
  return searchOf(EVENTS, { ...query, band, ...apart(context) })
}

export function oversoldSearch(query: OversoldQuery): URLSearchParams {
  return searchOf(OVERSOLD, { ...query })
}

function searchOf(table: Table, query: Written): URLSearchParams {
  const search = new URLSearchParams()
  for (const [name, { kind }] of Object.entries(table)) {
    const value = query[name]
    if (value !== undefined) search.set(name, kind.text?.(value) ?? String(value))
  }
  return search
}

/**
 * The parameters of a URL's query (without its question mark), exactly as they were sent: nothing is coerced, dropped or
 * merged. Throws InvalidParameter for one that is repeated, or that is no UTF-8 once its percent signs are decoded.
 */
export function parametersOf(search: string): Record<string, string> {
  // Without a prototype, so that a parameter may be called __proto__ and be refused like any other.
  const found: Record<string, string> = Object.create(null) as Record<string, string>
  for (const part of search.split('&')) {
    if (part === '') continue
    const at = part.indexOf('=')
    const name = decoded(at < 0 ? part : part.slice(0, at), null)
    const value = at < 0 ? '' : decoded(part.slice(at + 1), name)
    if (name in found) throw wrong(name, `${quoted(name)} is given twice.`, { value })
    found[name] = value
  }
  return found
}

function decoded(text: string, param: string | null): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    const whose = param === null ? 'a parameter name' : `the value of ${quoted(param)}`
    throw wrong(param ?? text, `${whose}, ${quoted(text)}, is not UTF-8 in percent-encoding.`, {
      value: text,
      allowed: 'UTF-8 in percent-encoding',
    })
  }
}
