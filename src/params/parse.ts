import { InvalidParameter, invalid, listed, quoted, sentence, suggest } from '../errors.js'
import type {
  Context,
  EventsParams,
  EventsQuery,
  HistoryParams,
  HistoryQuery,
  PoolParams,
  PoolQuery,
} from '../model/event.js'
import type { OversoldParams, OversoldQuery } from '../model/oversold.js'
import { bandValue, EVENTS, fieldValue, OVERSOLD, type Parameter, tickerValue } from './parameters.js'

export const EVENTS_PARAMETERS = Object.keys(EVENTS) as readonly (keyof EventsParams)[]

const HISTORY_PARAMETERS = EVENTS_PARAMETERS.filter(name => name !== 'limit')
const POOL_PARAMETERS = HISTORY_PARAMETERS.filter(name => name !== 'ticker')

/** Parameters that were given, as text. */
type Texts<Name extends string = keyof EventsParams> = Partial<Record<Name, string>>

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
  const together = listed(['context_ticker', 'context_field', 'context_band'])
  return new InvalidParameter(sentence`${together} go together; missing: ${listed(missing, ', ')}.`, {
    param: missing[0]!,
  })
}

type Table = Readonly<Record<string, Parameter>>
type ValueOf<Row> = Row extends Parameter<infer Value> ? Value : never

/** The value of a parameter, undefined where it was not given. Throws InvalidParameter. */
function given<T extends Table, Name extends keyof T & string>(
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
  if (value === undefined) throw invalid('missing', { param: name })
  return value
}

/** Given values as text; an unknown or empty parameter is refused rather than ignored. */
function textsOf<Name extends string>(params: object, allowed: readonly Name[]): Texts<Name> {
  const texts: Texts<Name> = {}
  for (const [param, value] of Object.entries(params)) {
    if (value === undefined) continue
    if (!isOneOf(param, allowed)) throw unknownParameter(param, allowed)
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw invalid('not_text', { param })
    }
    if (value === '') throw invalid('empty', { param, value })
    texts[param] = String(value)
  }
  return texts
}

function isOneOf<Name extends string>(word: string, words: readonly Name[]): word is Name {
  return (words as readonly string[]).includes(word)
}

/** A name that no question has, and the nearest that this one has. */
export function unknownParameter(param: string, allowed: readonly string[]): InvalidParameter {
  return invalid('unknown', { param, allowed, suggestions: suggest(param, allowed) })
}

/** A second ticker and its field as one word tells them. */
interface ShortContext {
  ticker: string
  field: string
  /** In the order of the vocabulary; null: none is named. */
  bands: string[] | null
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

const OVERSOLD_PARAMETERS = Object.keys(OVERSOLD) as readonly (keyof OversoldParams)[]

/** A scan as written → a scan that can be trusted. Throws InvalidParameter for the first thing wrong. */
export function parseOversold(params: OversoldParams): OversoldQuery {
  const texts = textsOf(params, OVERSOLD_PARAMETERS)
  const query: OversoldQuery = {
    assetClass: given(OVERSOLD, texts, 'asset_class') ?? OVERSOLD.asset_class.fallback,
    minSeverity: given(OVERSOLD, texts, 'min_severity') ?? OVERSOLD.min_severity.fallback,
    sortBy: given(OVERSOLD, texts, 'sort_by') ?? OVERSOLD.sort_by.fallback,
    limit: given(OVERSOLD, texts, 'limit') ?? OVERSOLD.limit.fallback,
    timeframe: given(OVERSOLD, texts, 'timeframe') ?? OVERSOLD.timeframe.fallback,
  }
  const sector = given(OVERSOLD, texts, 'sector')
  const marketCapTier = given(OVERSOLD, texts, 'market_cap_tier')
  const minMarketCapTier = given(OVERSOLD, texts, 'min_market_cap_tier')
  const date = given(OVERSOLD, texts, 'date')
  if (sector !== undefined) query.sector = sector
  if (marketCapTier !== undefined) query.marketCapTier = marketCapTier
  if (minMarketCapTier !== undefined) query.minMarketCapTier = minMarketCapTier
  if (date !== undefined) query.date = date
  return query
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
