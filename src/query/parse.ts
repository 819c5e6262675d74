import { InvalidParameter, quoted } from '../errors.js'
import type {
  Context,
  EventsParams,
  EventsQuery,
  HistoryParams,
  HistoryQuery,
  PoolParams,
  PoolQuery,
} from '../model/query.js'
import { didYouMean, suggest } from '../suggest.js'
import { bandValue, dayValue, fieldValue, integerValue, tickerValue, timeframeValue } from './values.js'

export const DEFAULT_LIMIT = 10
export const MAX_LIMIT = 100

/** The parameters of `GET /v1/events`, in the order of the specification. */
export const EVENTS_PARAMETERS = [
  'ticker',
  'field',
  'timeframe',
  'band',
  'limit',
  'before',
  'after',
  'context_ticker',
  'context_field',
  'context_band',
] as const

const HISTORY_PARAMETERS = EVENTS_PARAMETERS.filter(name => name !== 'limit')
const POOL_PARAMETERS = HISTORY_PARAMETERS.filter(name => name !== 'ticker')

type Texts = Partial<Record<(typeof EVENTS_PARAMETERS)[number], string>>

/** A search as written → a search that can be trusted. Throws InvalidParameter for the first thing wrong. */
export function parseEvents(params: EventsParams): EventsQuery {
  const texts = textsOf(params, EVENTS_PARAMETERS)
  const { context, ...query } = historyOf(texts)
  const limit = texts.limit === undefined ? DEFAULT_LIMIT : integerValue('limit', texts.limit, 1, MAX_LIMIT)
  if (context === undefined) return { ...query, limit }
  if (context.band === undefined) throw missingContext(texts)
  return { ...query, limit, context: { ...context, band: context.band } }
}

/** The same without a limit; a context may leave its band open. */
export function parseHistory(params: HistoryParams): HistoryQuery {
  return historyOf(textsOf(params, HISTORY_PARAMETERS))
}

/** The same of several tickers; whether none are enough is for the question to say. */
export function parsePool({ tickers, ...params }: PoolParams): PoolQuery {
  const filters = filtersOf(textsOf(params, POOL_PARAMETERS))
  return { tickers: tickers.map(ticker => tickerValue('ticker', ticker)), ...filters }
}

function historyOf(texts: Texts): HistoryQuery {
  const filters = filtersOf(texts)
  return { ticker: tickerValue('ticker', required('ticker', texts.ticker)), ...filters }
}

function filtersOf(texts: Texts): Omit<HistoryQuery, 'ticker'> {
  const field = fieldValue('field', required('field', texts.field))
  const query: Omit<HistoryQuery, 'ticker'> = {
    field: field.name,
    timeframe: texts.timeframe === undefined ? 'daily' : timeframeValue('timeframe', texts.timeframe),
  }
  if (texts.band !== undefined) query.band = bandValue('band', texts.band, field)
  if (texts.before !== undefined) query.before = dayValue('before', texts.before)
  if (texts.after !== undefined) query.after = dayValue('after', texts.after)
  const context = contextOf(texts)
  if (context !== undefined) query.context = context
  return query
}

function contextOf(texts: Texts): Context | undefined {
  const { context_ticker: ticker, context_field: field, context_band: band } = texts
  if (ticker === undefined && field === undefined && band === undefined) return undefined
  if (ticker === undefined || field === undefined) throw missingContext(texts)
  const known = fieldValue('context_field', field)
  const context: Context = { ticker: tickerValue('context_ticker', ticker), field: known.name }
  if (band !== undefined) context.band = bandValue('context_band', band, known)
  return context
}

function missingContext(texts: Texts): InvalidParameter {
  const missing = (['context_ticker', 'context_field', 'context_band'] as const).filter(
    name => texts[name] === undefined,
  )
  const message = `context_ticker, context_field and context_band go together; missing: ${missing.join(', ')}.`
  return new InvalidParameter(message, { param: missing[0]! })
}

function required(param: string, text: string | undefined): string {
  if (text === undefined) throw new InvalidParameter(`${param} is missing.`, { param })
  return text
}

/** Given values as text; an unknown or empty parameter is refused rather than ignored. */
function textsOf(params: object, allowed: readonly string[]): Texts {
  const texts: Record<string, string> = {}
  for (const [param, value] of Object.entries(params)) {
    if (value === undefined) continue
    if (!allowed.includes(param)) throw unknownParameter(param, allowed)
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new InvalidParameter(`${param} must be text or a number.`, { param })
    }
    if (value === '') throw new InvalidParameter(`${param} is empty.`, { param, value })
    texts[param] = String(value)
  }
  return texts
}

function unknownParameter(param: string, allowed: readonly string[]): InvalidParameter {
  const suggestions = suggest(param, allowed)
  const what = `there is no parameter ${quoted(param)}`
  const meant = didYouMean(suggestions)
  const offence = { param, allowed, suggestions }
  return new InvalidParameter(`${what}; allowed are ${allowed.join(', ')}.${meant}`, offence, `${what}.${meant}`)
}
