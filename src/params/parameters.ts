import { invalid, suggest } from '../errors.js'
import { FIELD_NAMES, FIELDS, type Field, fieldNamed } from '../fields/index.js'
import { type Day, parseDay } from '../model/day.js'
import type { EventsParams } from '../model/event.js'
import { ASSET_CLASSES, MARKET_CAP_TIERS, OVERSOLD_ORDERS, type OversoldParams, SEVERITIES } from '../model/oversold.js'
import { parseTicker, TICKER_SHAPE, TIER_NAMES, TIMEFRAME_NAMES, type Tier, type Timeframe } from '../model/terms.js'

/** Text → value, one kind of parameter each; every refusal names the parameter, the value, what is allowed, the nearest. */

export function tickerValue(param: string, text: string): string {
  const ticker = parseTicker(text)
  if (ticker !== null) return ticker
  throw invalid('not_allowed', { param, value: text, allowed: TICKER_SHAPE })
}

export function fieldValue(param: string, text: string): Field {
  return fieldNamed(text) ?? refuse(param, text, FIELD_NAMES)
}

export function bandValue(param: string, text: string, field: Field): string {
  if (field.bands.includes(text)) return text
  return refuse(param, text, field.bands, field.name)
}

export function timeframeValue(param: string, text: string): Timeframe {
  return wordValue(param, text, TIMEFRAME_NAMES)
}

export function tierValue(param: string, text: string): Tier {
  return wordValue(param, text, TIER_NAMES)
}

export function dayValue(param: string, text: string): Day {
  const day = parseDay(text)
  if (day !== null) return day
  const allowed = 'a calendar date as YYYY-MM-DD'
  throw invalid('not_allowed', { param, value: text, allowed })
}

/** Plain decimal digits only: `0x10`, `1e1` and `+5` are not what anyone meant by a number of results. */
export function integerValue(param: string, text: string, least: number, most: number): number {
  const value = /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  const allowed = `an integer from ${least} to ${most}`
  throw invalid('not_allowed', { param, value: text, allowed })
}

/** Free text of some length without control characters. */
export function textValue(param: string, text: string): string {
  const allowed = `text of 1 to ${LONGEST_TEXT} characters`
  if ([...text].length <= LONGEST_TEXT && text.trim() !== '' && !/\p{Cc}/u.test(text)) return text
  throw invalid('not_allowed', { param, value: text, allowed })
}

const LONGEST_TEXT = 64

/** One of a list of words. */
export function wordValue<Word extends string>(param: string, text: string, words: readonly Word[]): Word {
  return words.find(word => word === text) ?? refuse(param, text, words)
}

/** @param of the field whose bands are meant */
function refuse(param: string, value: string, allowed: readonly string[], of?: string): never {
  const suggestions = suggest(value, allowed)
  throw invalid('not_allowed', { param, value, allowed, suggestions }, of === undefined ? {} : { of })
}

/**
 * One kind of value: how its text is read, and the same rule as a JSON Schema of that text, which the server's OpenAPI
 * document is made of. test/server/openapi.test.ts holds the two against each other.
 */
export interface Kind<Value> {
  schema: Readonly<Record<string, unknown>>
  /** Throws InvalidParameter naming the parameter, the text, and what is allowed. */
  parse(param: string, text: string): Value
}

export interface Parameter<Value = unknown> {
  kind: Kind<Value>
  about: string
  required?: true
  /** What holds where it is not given. */
  fallback?: string | number
}

export const DEFAULT_LIMIT = 10
export const MAX_LIMIT = 100
const DEFAULT_MATCHES = 20

const TICKER: Kind<string> = {
  schema: { type: 'string', pattern: '^[A-Za-z0-9.^=-]{1,16}$', examples: ['AAPL'] },
  parse: tickerValue,
}
const FIELD: Kind<Field> = { schema: { type: 'string', enum: FIELD_NAMES }, parse: fieldValue }
/** Which bands there are depends on the field; query/parse.ts checks that. */
const BAND: Kind<string> = {
  schema: { type: 'string', enum: [...new Set(FIELDS.flatMap(field => field.bands))] },
  parse: (_param, text) => text,
}
const TIMEFRAME: Kind<Timeframe> = { schema: { type: 'string', enum: TIMEFRAME_NAMES }, parse: timeframeValue }
const DATE: Kind<Day> = { schema: { type: 'string', format: 'date' }, parse: dayValue }
const LIMIT: Kind<number> = {
  schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT },
  parse: (param, text) => integerValue(param, text, 1, MAX_LIMIT),
}
/** Not blank, and without control characters. */
const TEXT_PATTERN = '^(?!\\s*$)[^\\u0000-\\u001F\\u007F-\\u009F]+$'
const SECTOR: Kind<string> = {
  schema: { type: 'string', minLength: 1, maxLength: LONGEST_TEXT, pattern: TEXT_PATTERN },
  parse: textValue,
}

/** The parameters of `GET /v1/events`, in the order of the specification. */
export const EVENTS = {
  ticker: { kind: TICKER, required: true, about: 'Asset ticker symbol, in either case.' },
  field: { kind: FIELD, required: true, about: 'Band field; which a caller may ask for depends on the tier.' },
  timeframe: { kind: TIMEFRAME, fallback: 'daily', about: 'The bars on which bands are told.' },
  band: { kind: BAND, about: 'Only events that entered this band of the field.' },
  limit: { kind: LIMIT, fallback: DEFAULT_LIMIT, about: 'At most so many events, the newest.' },
  before: { kind: DATE, about: 'Only events before this date.' },
  after: { kind: DATE, about: 'Only events after this date.' },
  context_ticker: {
    kind: TICKER,
    about: 'Second ticker to correlate against, with context_field and context_band; Plus and Pro.',
  },
  context_field: { kind: FIELD, about: 'Band field of the context ticker.' },
  context_band: { kind: BAND, about: 'Only events on whose date the context ticker was in this band.' },
} as const satisfies Record<keyof EventsParams, Parameter>

/** The parameters of `GET /v1/scan/oversold`. */
export const OVERSOLD = {
  asset_class: { kind: words(ASSET_CLASSES), fallback: 'all', about: 'Only tickers of this class.' },
  sector: { kind: SECTOR, about: 'Only tickers of this sector, case aside.' },
  market_cap_tier: { kind: words(MARKET_CAP_TIERS), about: 'Only tickers of this size.' },
  min_market_cap_tier: { kind: words(MARKET_CAP_TIERS), about: 'Only tickers of this size or larger.' },
  min_severity: { kind: words(SEVERITIES), fallback: 'oversold', about: 'The least that counts as a match.' },
  sort_by: { kind: words(OVERSOLD_ORDERS), fallback: 'severity', about: 'What comes first.' },
  limit: { kind: LIMIT, fallback: DEFAULT_MATCHES, about: 'At most so many matches.' },
  timeframe: { kind: TIMEFRAME, fallback: 'daily', about: 'The bars on which bands are told.' },
  date: { kind: DATE, about: "The scan as of this date, within the tier's range; Plus and Pro. The latest otherwise." },
} as const satisfies Record<keyof OversoldParams, Parameter>

function words<Word extends string>(allowed: readonly Word[]): Kind<Word> {
  return { schema: { type: 'string', enum: allowed }, parse: (param, text) => wordValue(param, text, allowed) }
}
