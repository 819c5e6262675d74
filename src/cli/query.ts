import { InvalidParameter, quoted } from '../errors.js'
import { fieldNamed } from '../fields/index.js'
import type { EventsQuery, HistoryQuery, PoolQuery } from '../model/query.js'
import { parseContext } from '../query/context.js'
import { parseEvents, parseHistory, parsePool } from '../query/parse.js'
import type { Given } from './given.js'
import { FILTER_PARAMETERS } from './options.js'

/** TICKER, FIELD and the filters as typed → a search that can be trusted. Throws InvalidParameter. */
export function eventsQuery(given: Given): EventsQuery {
  const params = paramsOf(given)
  const short = given.text('context')
  if (short !== undefined && params.context_band === undefined)
    throw new InvalidParameter(`context ${quoted(short)} names no band: write ${short}=BAND.`, {
      param: 'context',
      value: short,
      allowed: fieldNamed(params.context_field!)!.bands,
    })
  return parseEvents(params)
}

/** The same for questions that have no limit. */
export function historyQuery(given: Given): HistoryQuery {
  return parseHistory(paramsOf(given))
}

/** The filters as typed, for tickers and a field that stand elsewhere on the line. */
export function poolQuery(given: Given, tickers: readonly string[], field: string): PoolQuery {
  const { ticker: _place, ...filters } = paramsOf(given)
  return parsePool({ ...filters, tickers, field })
}

type Typed = Record<string, string> & { ticker: string; field: string }

function paramsOf(given: Given): Typed {
  const params: Record<string, string> = {}
  for (const name of FILTER_PARAMETERS) {
    const value = given.text(name.replaceAll('_', '-'))
    if (value !== undefined) params[name] = value
  }
  return { ...params, ...shortContext(given), ticker: given.argument(0)!, field: given.argument(1)! }
}

const PARTS = ['context-ticker', 'context-field', 'context-band']

/** `--context GSPC:trend_direction=downtrend` in the three parameters that the specification has for it. */
function shortContext(given: Given): Record<string, string> {
  const short = given.text('context')
  if (short === undefined) return {}
  const more = PARTS.filter(name => given.text(name) !== undefined).map(name => `--${name}`)
  if (more.length > 0)
    throw new InvalidParameter(`--context says it all; leave ${more.join(' and ')} out.`, { param: 'context' })
  const { ticker, field, bands } = parseContext('context', short)
  if (bands !== null && bands.length > 1)
    throw new InvalidParameter(`context ${quoted(short)} names ${bands.length} bands, and this question takes one.`, {
      param: 'context',
      value: short,
    })
  const [band] = bands ?? []
  return { context_ticker: ticker, context_field: field, ...(band === undefined ? {} : { context_band: band }) }
}
