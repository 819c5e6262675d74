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
import { EVENTS, type Parameter } from './parameters.js'
import { bandValue, tickerValue } from './values.js'

export const EVENTS_PARAMETERS = Object.keys(EVENTS) as readonly (keyof EventsParams)[]

const HISTORY_PARAMETERS = EVENTS_PARAMETERS.filter(name => name !== 'limit')
const POOL_PARAMETERS = HISTORY_PARAMETERS.filter(name => name !== 'ticker')

/** Parameters that were given, as text. */
export type Texts<Name extends string = keyof EventsParams> = Partial<Record<Name, string>>

/** A search as written → a search that can be trusted. Throws InvalidParameter for the first thing wrong. */
export function parseEvents(params: EventsParams): EventsQuery {
  const texts = textsOf(params, EVENTS_PARAMETERS)
  const { context, ...query } = historyOf(texts)
  const limit = given(EVENTS, texts, 'limit') ?? EVENTS.limit.fallback
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
  return { ticker: needed(EVENTS, texts, 'ticker'), ...filters }
}

function filtersOf(texts: Texts): Omit<HistoryQuery, 'ticker'> {
  const field = needed(EVENTS, texts, 'field')
  const query: Omit<HistoryQuery, 'ticker'> = {
    field: field.name,
    timeframe: given(EVENTS, texts, 'timeframe') ?? EVENTS.timeframe.fallback,
  }
  if (texts.band !== undefined) query.band = bandValue('band', texts.band, field)
  const before = given(EVENTS, texts, 'before')
  const after = given(EVENTS, texts, 'after')
  if (before !== undefined) query.before = before
  if (after !== undefined) query.after = after
  const context = contextOf(texts)
  if (context !== undefined) query.context = context
  return query
}

function contextOf(texts: Texts): Context | undefined {
  const { context_ticker: ticker, context_field: field, context_band: band } = texts
  if (ticker === undefined && field === undefined && band === undefined) return undefined
  if (ticker === undefined || field === undefined) throw missingContext(texts)
  const known = needed(EVENTS, texts, 'context_field')
  const context: Context = { ticker: needed(EVENTS, texts, 'context_ticker'), field: known.name }
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

type Table = Readonly<Record<string, Parameter>>
type ValueOf<Row> = Row extends Parameter<infer Value> ? Value : never

/** The value of a parameter, undefined where it was not given. Throws InvalidParameter. */
export function given<T extends Table, Name extends keyof T & string>(
  table: T,
  texts: Texts<string>,
  name: Name,
): ValueOf<T[Name]> | undefined {
  const text = texts[name]
  return text === undefined ? undefined : (table[name]!.kind.parse(name, text) as ValueOf<T[Name]>)
}

function needed<T extends Table, Name extends keyof T & string>(
  table: T,
  texts: Texts<string>,
  name: Name,
): ValueOf<T[Name]> {
  const value = given(table, texts, name)
  if (value === undefined) throw new InvalidParameter(`${name} is missing.`, { param: name })
  return value
}

/** Given values as text; an unknown or empty parameter is refused rather than ignored. */
export function textsOf<Name extends string>(params: object, allowed: readonly Name[]): Texts<Name> {
  const texts: Texts<Name> = {}
  for (const [param, value] of Object.entries(params)) {
    if (value === undefined) continue
    if (!isOneOf(param, allowed)) throw unknownParameter(param, allowed)
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new InvalidParameter(`${param} must be text or a number.`, { param })
    }
    if (value === '') throw new InvalidParameter(`${param} is empty.`, { param, value })
    texts[param] = String(value)
  }
  return texts
}

function isOneOf<Name extends string>(word: string, words: readonly Name[]): word is Name {
  return (words as readonly string[]).includes(word)
}

/** A name that no question has, and the nearest that this one has. */
export function unknownParameter(param: string, allowed: readonly string[]): InvalidParameter {
  const suggestions = suggest(param, allowed)
  const what = `there is no parameter ${quoted(param)}`
  const meant = didYouMean(suggestions)
  const offence = { param, allowed, suggestions }
  return new InvalidParameter(`${what}; allowed are ${allowed.join(', ')}.${meant}`, offence, `${what}.${meant}`)
}
