import { InvalidParameter, quoted } from '../errors.js'
import type { EventsQuery, HistoryQuery, PoolQuery } from '../model/event.js'
import type { OversoldQuery } from '../model/oversold.js'
import { apart, inOne, inOneWithBand } from './context.js'
import { EVENTS, OVERSOLD, type OWN_EVENTS, type OWN_OVERSOLD } from './parameters.js'
import { readParams, type Table, type Written } from './row.js'
import { tickerValue } from './values.js'

const { limit: _limit, ...HISTORY } = EVENTS
const { ticker: _ticker, ...POOL } = HISTORY

/**
 * A search as written → a search that can be trusted. Throws InvalidParameter for the first thing wrong.
 * @param table as the specification has it, or without its most of a limit
 */
export function parseEvents(params: object, table: typeof EVENTS | typeof OWN_EVENTS = EVENTS): EventsQuery {
  return inOneWithBand(readParams(table, params))
}

/** The same without a limit; a context may leave its band open. */
export function parseHistory(params: object): HistoryQuery {
  return inOne(readParams(HISTORY, params))
}

/** The same of several tickers; whether none are enough is for the question to say. */
export function parsePool({ tickers, ...params }: Pick<PoolQuery, 'tickers'>): PoolQuery {
  return { tickers: tickers.map(ticker => tickerValue('ticker', ticker)), ...inOne(readParams(POOL, params)) }
}

/** The same of a scan. */
export function parseOversold(params: object, table: typeof OVERSOLD | typeof OWN_OVERSOLD = OVERSOLD): OversoldQuery {
  return readParams(table, params)
}

/** A search as the query of a URL, in the order of the specification; nothing is left to a server's default. */
export function eventsSearch({ context, ...query }: EventsQuery): URLSearchParams {
  return searchOf(EVENTS, { ...query, ...apart(context) })
}

/** A scan as the query of a URL. */
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
    if (name in found) throw new InvalidParameter(`${quoted(name)} is given twice.`, { param: name, value })
    found[name] = value
  }
  return found
}

function decoded(text: string, param: string | null): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    const whose = param === null ? 'a parameter name' : `the value of ${quoted(param)}`
    throw new InvalidParameter(`${whose}, ${quoted(text)}, is not UTF-8 in percent-encoding.`, {
      param: param ?? text,
      value: text,
      allowed: 'UTF-8 in percent-encoding',
    })
  }
}
