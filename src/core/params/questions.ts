import { quoted, wrong } from '../errors.js'
import { BUILT_IN_FIELDS, type FieldSet } from '../fields/index.js'
import { type Day, parseDay } from '../model/day.js'
import {
  ASSET_CLASSES,
  type EventsQuery,
  type HistoryQuery,
  MARKET_CAP_TIERS,
  OVERSOLD_ORDERS,
  type OversoldQuery,
  type PoolQuery,
  SEVERITIES,
} from '../model/event.js'
import { FACT_KINDS } from '../model/facts.js'
import { TIMEFRAME_NAMES, type Timeframe } from '../model/terms.js'
import { objectOf, tickersOf } from './arguments.js'
import {
  CONTEXT,
  EVENTS_CONTEXT,
  joinContext,
  joinContextWithBand,
  splitContext,
  splitContextWithOneBand,
} from './context.js'
import { FLAG, listKind, ONE_OF_FIELDS } from './figures.js'
import {
  BAND,
  BANDS,
  CONDITION,
  COUNT,
  DAY,
  FIELD,
  FIELD_OR_CONDITION,
  integerOf,
  oneOf,
  TEXT,
  TICKER,
  TIMEFRAME,
  WORDS,
  wordOf,
} from './kinds.js'
import {
  type Kind,
  optional,
  type ParamsOf,
  readParams,
  required,
  type Table,
  type Text,
  unknownParameterError,
  type Written,
  withDefault,
} from './row.js'
import { refuse, textOf } from './values.js'
import { conditionAsField, conditionForField, LAGGED, type ReadWhen, readLag, WHEN } from './when.js'

/** The parameters of every question about a ticker, several tickers or a market, and their parsers. */

export const DEFAULT_LIMIT = 10
export const MAX_LIMIT = 100
const DEFAULT_MATCHES = 20
export const LIMIT = { ...integerOf(1, MAX_LIMIT), name: 'Limit' }
const SIZE = wordOf(MARKET_CAP_TIERS, 'SIZE', 'MarketCapTier')

export const TIMEFRAME_ROW = withDefault(TIMEFRAME, 'daily', 'the bars that bands are made of: daily or weekly')

/** The parameters of `GET /v1/events`, in the order of the specification. */
export const EVENTS = {
  ticker: required(TICKER, 'a ticker that is loaded, in either case'),
  field: required(FIELD, 'band field; which a caller may ask for depends on the tier'),
  timeframe: TIMEFRAME_ROW,
  band: optional(BAND, 'only events that enter this band'),
  limit: withDefault(LIMIT, DEFAULT_LIMIT, `how many of the newest events, 1 to ${MAX_LIMIT}`),
  before: optional(DAY, 'only events before this day'),
  after: optional(DAY, 'only events after this day'),
  ...EVENTS_CONTEXT,
} as const satisfies Table

/** The parameters of `GET /v1/scan/oversold`. */
export const OVERSOLD = {
  asset_class: withDefault(
    { ...wordOf(ASSET_CLASSES, 'CLASS', 'AssetClass'), example: 'stock' },
    'all',
    'only stock, crypto or etf',
    { part: 'filter class' },
  ),
  sector: optional(
    { ...TEXT, name: 'Sector', example: 'Energy' },
    'only tickers of this sector; case does not matter',
    { part: 'filter sector' },
  ),
  market_cap_tier: optional(SIZE, `only ${MARKET_CAP_TIERS.join(', ')} ones`, { part: 'filter size' }),
  min_market_cap_tier: optional(SIZE, 'only tickers of this size or larger', { part: 'filter min size' }),
  min_severity: withDefault(
    wordOf(SEVERITIES, 'BAND', 'Severity'),
    'oversold',
    `the least that counts: ${SEVERITIES.join(' or ')}`,
    { part: 'filter severity' },
  ),
  sort_by: withDefault(
    wordOf(OVERSOLD_ORDERS, 'ORDER', 'OversoldOrder'),
    'severity',
    `what comes first: ${OVERSOLD_ORDERS.join(', ')}`,
    { part: 'sort' },
  ),
  limit: withDefault(LIMIT, DEFAULT_MATCHES, `how many matches at most, 1 to ${MAX_LIMIT}`),
  timeframe: TIMEFRAME_ROW,
  date: optional(DAY, 'as of that day (default the latest); not in the Free tier'),
} as const satisfies Table

/** The events parameters of the command line and programs, which also take several bands, and conditions. */
export const EVENTS_WITH_CONDITIONS = {
  ...EVENTS,
  field: required(FIELD_OR_CONDITION, EVENTS.field.help),
  band: optional(BANDS, 'only events that enter this band, or one of several'),
  context: CONTEXT,
  ...WHEN,
} as const satisfies Table

/** The events parameters for the user's own data, without the limits of a tier. */
export const UNLIMITED_EVENTS = {
  ...EVENTS_WITH_CONDITIONS,
  limit: withDefault(COUNT, DEFAULT_LIMIT, 'how many of the newest events, or all'),
} as const satisfies Table

export const UNLIMITED_OVERSOLD = {
  ...OVERSOLD,
  limit: withDefault(COUNT, DEFAULT_MATCHES, 'how many matches at most, or all'),
} as const satisfies Table

/** A number of the newest bars. */
const BARS = integerOf(1, 2000, 'N')

export interface LastBars {
  last: number
}

/** Overrides for the detection of the layout of an imported file. */
export const HINTS = {
  date_format: optional({ ...WORDS, example: 'DD/MM/YYYY' }, 'YYYY-MM-DD, DD/MM/YYYY, MM/DD/YYYY and others', {
    placeholder: 'FORMAT',
    part: 'layout dates',
  }),
  decimal: optional(WORDS, 'comma or point', { placeholder: 'SIGN', part: 'layout decimal' }),
  delimiter: optional(WORDS, 'comma, semicolon, tab, pipe, or the character', {
    placeholder: 'SIGN',
    part: 'layout delimiter',
  }),
  time_zone: optional(WORDS, 'of the exchange, such as Asia/Tokyo: the day of a time in UTC is the day there', {
    placeholder: 'ZONE',
    part: 'layout zone',
  }),
  header: optional(WORDS, 'names of the columns, with commas, for a file that has none or others', {
    placeholder: 'NAMES',
    part: 'layout columns',
  }),
  format: optional(WORDS, 'the layout by its name', { placeholder: 'NAME', part: 'layout format' }),
  known: optional(DAY, 'the day on which facts without a date became known, such as that of a download', {
    part: 'layout known',
  }),
} as const satisfies Table

export const TICKERS = listKind(TICKER, 'TICKERS')

const SINCE_OR_BARS: Kind<Day | LastBars, Text> = {
  schema: { anyOf: [{ type: 'string', format: 'date' }, BARS.schema] },
  placeholder: 'DATE',
  parse: (param, written) => {
    const text = String(written)
    if (/^\d{1,4}$/.test(text)) return { last: BARS.parse(param, written) }
    return parseDay(text) ?? refuse(param, written, 'a calendar date as YYYY-MM-DD, or a number of bars')
  },
}

/** The parameters of questions about the present, one bar, and the facts of a ticker. */
export const NOW = {
  tickers: required(TICKERS, 'tickers that are loaded'),
  field: optional(listKind(ONE_OF_FIELDS, 'FIELDS'), 'only these fields, in this order (default all that have a band)'),
  timeframe: TIMEFRAME_ROW,
  band: optional(listKind(TEXT, 'BANDS'), 'only fields that are in this band, or in one of several'),
  since: optional(SINCE_OR_BARS, 'only bands that were entered on that day or later, or on one of the last N bars'),
} as const satisfies Table

export const EXPLAIN = {
  ticker: EVENTS.ticker,
  field: required(FIELD_OR_CONDITION, EVENTS.field.help),
  timeframe: TIMEFRAME_ROW,
  ...WHEN,
  date: optional(DAY, 'the bar of that day, or the last before it (default the newest)'),
} as const satisfies Table

export const FACTS = {
  ticker: EVENTS.ticker,
  kind: optional(oneOf(FACT_KINDS, 'KIND'), 'only records of this kind'),
} as const satisfies Table

/** The parameters of an events question; every value may be text. A condition may replace the field. */
export type EventsParams = FieldOrCondition<ParamsOf<typeof EVENTS_WITH_CONDITIONS>>

export type FieldOrCondition<Params extends { field: unknown }> =
  | Params
  | (Omit<Params, 'field' | 'when'> & { field?: undefined; when: string })

/** The parameters of all events of a ticker. */
export type HistoryParams = OmitFromEach<EventsParams, 'limit'>

/** Omits keys from each member of a union. */
type OmitFromEach<Params, Names extends string> = Params extends unknown ? Omit<Params, Names> : never

/** The parameters of the events of several tickers, counted together. */
export type PoolParams = OmitFromEach<HistoryParams, 'ticker'> & { tickers: readonly string[] }

/** The parameters of the newest events of several tickers. */
export type PoolEventsParams = OmitFromEach<EventsParams, 'ticker'> & { tickers: readonly string[] }

/** The parameters of transitions, which count every band. */
export type TransitionsParams = OmitFromEach<PoolParams, 'band' | 'context_band'>

export type ExplainParams = FieldOrCondition<ParamsOf<typeof EXPLAIN>>

/** A scan as people write it; every value may also be text. */
export type OversoldParams = ParamsOf<typeof OVERSOLD>

const { timeframe, band, before, after } = EVENTS_WITH_CONDITIONS

/** The filters of a search on the command line. */
export const FILTERS = {
  timeframe,
  band,
  before,
  after,
  ...WHEN,
  context: CONTEXT,
} as const satisfies Table

const { limit: _limit, ...HISTORY } = EVENTS_WITH_CONDITIONS
const { ticker: _ticker, ...POOL } = HISTORY

/** A table of a search: the specified one, the one with bands and conditions, or the one without a highest limit. */
type EventsTable = typeof EVENTS | typeof EVENTS_WITH_CONDITIONS | typeof UNLIMITED_EVENTS

/**
 * Parses a search. Throws InvalidParameter for the first fault.
 * @param fields the fields that it may name: those built in, and the user's own
 */
export function parseEvents(
  params: object,
  table: EventsTable = EVENTS,
  fields: FieldSet = BUILT_IN_FIELDS,
): EventsQuery {
  // Only the tables of programs have conditions, and a context in one word.
  const written = 'when' in table ? programParams(params, fields) : params
  return withBandList(joinContextWithBand(readParams(table, written, fields)), fields)
}

/** A program's parameters as specified: a condition becomes the field, and a context three parameters. */
function programParams(params: object, fields: FieldSet): object {
  const named = conditionForField(objectOf('params', params), fields)
  return 'context' in named ? splitContextWithOneBand({ ...named }, fields) : named
}

/** Parses a search without a limit; its context may have no band. */
export function parseHistory(params: object, fields: FieldSet = BUILT_IN_FIELDS): HistoryQuery {
  const read = readParams(HISTORY, programParams(params, fields), fields)
  return withBandList(joinContext(read), fields)
}

/** Parses a search over several tickers; the question checks whether there are any. */
export function parsePool(written: object, fields: FieldSet = BUILT_IN_FIELDS): PoolQuery {
  const { tickers, ...params } = objectOf('params', written)
  const names = tickersOf(tickers)
  const read = readParams(POOL, programParams(params, fields), fields)
  return { tickers: names, ...withBandList(joinContext(read), fields) }
}

/** Parses a search for the newest events of several tickers. @param table the parameters of a search for one ticker */
export function parsePoolEvents(written: object, table: EventsTable, fields: FieldSet = BUILT_IN_FIELDS) {
  const { tickers, ...params } = objectOf('params', written)
  if ('ticker' in params) throw unknownParameterError('ticker', ['tickers'])
  const names = tickersOf(tickers)
  // Parsed as the search of the first ticker, whose parameters are the same.
  const { ticker: _first, ...query } = parseEvents({ ...params, ticker: names[0] }, table, fields)
  return { ...query, tickers: names }
}

/** Parses a search for every change of a field or a condition. */
export function parseTransitions(written: object, fields: FieldSet = BUILT_IN_FIELDS): PoolQuery {
  const params = conditionAsField(objectOf('params', written), 'transitions count every change of a field', fields)
  return parsePool(params, fields)
}

/** Parses a question about one bar. Throws InvalidParameter for the first fault. */
export function parseExplain(params: object, fields: FieldSet = BUILT_IN_FIELDS) {
  const why = 'a bar is explained of a field or of a condition'
  const written = conditionAsField(objectOf('params', params), why, fields)
  return readLag(readParams(EXPLAIN, written, fields), fields)
}

interface ReadEvents extends ReadWhen {
  band?: string | readonly string[]
}

/** A query with its bands as a list, and with the lag of its conditions. */
function withBandList<Query extends ReadEvents>(read: Query, fields: FieldSet) {
  const { band, ...query } = readLag(read, fields)
  return band === undefined ? query : { ...query, bands: typeof band === 'string' ? [band] : band }
}

export function parseOversold(
  params: object,
  table: typeof OVERSOLD | typeof UNLIMITED_OVERSOLD = OVERSOLD,
): OversoldQuery {
  return readParams(table, params)
}

/** The query string of a search, in the specified order, with one band. Every default is written out. */
export function eventsSearch({ context, bands: [band] = [], ...query }: EventsQuery): URLSearchParams {
  return toSearchParams(EVENTS, { ...query, band, ...splitContext(context) })
}

export function oversoldSearch(query: OversoldQuery): URLSearchParams {
  return toSearchParams(OVERSOLD, { ...query })
}

/** A query string with the parameters of a table, in its order. Other values of the query are left out. */
function toSearchParams(table: Table, query: Written): URLSearchParams {
  const search = new URLSearchParams()
  for (const [name, { kind }] of Object.entries(table)) {
    const value = query[name]
    if (value !== undefined) search.set(name, kind.text?.(value) ?? String(value))
  }
  return search
}

/**
 * The parameters of a URL's query (without its question mark), exactly as they were sent. Throws InvalidParameter for a
 * repeated one, and for percent signs that decode to invalid UTF-8.
 */
export function parametersOf(search: string): Record<string, string> {
  // Without a prototype, so that a parameter may be called __proto__ and be refused like any other.
  const params: Record<string, string> = Object.create(null) as Record<string, string>
  for (const part of search.split('&')) {
    if (part === '') continue
    const at = part.indexOf('=')
    const name = decodePart(at < 0 ? part : part.slice(0, at), null)
    const value = at < 0 ? '' : decodePart(part.slice(at + 1), name)
    if (name in params) throw wrong(name, `${quoted(name)} is given twice.`, { value })
    params[name] = value
  }
  return params
}

/** Decodes a name or a value of a query string. @param param the parameter of a value; null for a name */
function decodePart(text: string, param: string | null): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    const part = param === null ? 'a parameter name' : `the value of ${quoted(param)}`
    const allowed = 'UTF-8 in percent-encoding'
    throw wrong(param ?? text, `${part}, ${quoted(text)}, is not ${allowed}.`, { value: text, allowed })
  }
}

/** The parameters of a screen in addition to its tickers (default: all loaded ones). */

export const SCREEN = {
  when: required(CONDITION, 'what must hold, in the language of conditions'),
  timeframe: TIMEFRAME_ROW,
  since: optional(BARS, 'what became true on one of the last N bars, whether or not it still holds'),
  as_of: optional(DAY, 'as of that day (default the latest)'),
  ...LAGGED,
  tally: withDefault(FLAG, false, 'with the returns after such onsets in the past, and after any bar'),
} as const satisfies Table

export type ScreenParams = ParamsOf<typeof SCREEN> & { tickers?: readonly string[] }

/** Parses a screen. Throws InvalidParameter for the first fault. */
export function parseScreen(params: object, fields: FieldSet) {
  const { when, since = null, ...read } = readParams(SCREEN, params, fields)
  // readLag takes a condition as the field of a query.
  const { field, ...query } = readLag({ field: when, ...read }, fields)
  return { condition: field, since, ...query }
}

/** After a day, or after the last shown answer to the same question. */
const SINCE: Kind<Day | 'last', string> = {
  schema: { anyOf: [{ type: 'string', format: 'date' }, { enum: ['last'] }] },
  placeholder: 'DATE',
  example: 'last',
  parse: (param, written) => {
    const text = textOf(param, written)
    if (text === 'last') return 'last'
    return parseDay(text) ?? refuse(param, text, 'a calendar date as YYYY-MM-DD, or last')
  },
}

export const CHANGES = {
  since: optional(SINCE, 'on bars that became final after this day, or last: since this list was last asked about'),
  field: optional(listKind(ONE_OF_FIELDS, 'FIELDS'), 'only these fields'),
  timeframe: optional(TIMEFRAME, 'only daily or weekly (default both)'),
  when: optional(CONDITION, 'only where this condition holds on the bar'),
  ...LAGGED,
} as const satisfies Table

export type ChangesParams = ParamsOf<typeof CHANGES> & { tickers?: readonly string[] }

/** Parses a question about changes. Throws InvalidParameter for the first fault. */
export function parseChanges(params: object, fields: FieldSet) {
  const { field: names, timeframe, since, ...read } = readParams(CHANGES, params, fields)
  // readLag also looks for tickers in a field. The fields of changes never name one, so it gets an empty field.
  const { field: _emptyField, ...query } = readLag({ field: '', ...read }, fields)
  const timeframes: readonly Timeframe[] = timeframe === undefined ? TIMEFRAME_NAMES : [timeframe]
  type Optional = { fields?: readonly string[]; since?: Day | 'last' }
  const changes: typeof query & { timeframes: readonly Timeframe[] } & Optional = { ...query, timeframes }
  if (names !== undefined) changes.fields = names
  if (since !== undefined) changes.since = since
  return changes
}
