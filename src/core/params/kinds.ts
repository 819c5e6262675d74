import { type AnyField, BUILT_IN_FIELDS } from '../fields/index.js'
import { TRUTHS } from '../language/as-field.js'
import { parseRank, printRank } from '../language/rank.js'
import { type Day, formatDay } from '../model/day.js'
import { type BandName, type FieldName, TIMEFRAME_NAMES, type Timeframe, type TimeframeName } from '../model/terms.js'
import { DEFAULT_SCOPE, type JsonSchema, type Kind, type Scope, type Text } from './row.js'
import {
  accountsValue,
  bandValue,
  clusterValue,
  conditionValue,
  countValue,
  dayValue,
  fieldByName,
  fieldOrConditionValue,
  fieldValue,
  fileValue,
  integerValue,
  listValue,
  MAX_TEXT_LENGTH,
  textOf,
  textValue,
  tickerValue,
  wordValue,
} from './values.js'

/** Kinds of values for event questions; those of studies and backtests are in figures.ts. */

/** A kind whose values are written as text. @param read makes the value of the text */
function textKind<Value, Written = string>(
  schema: JsonSchema,
  placeholder: string,
  read: (param: string, text: string, scope: Scope) => Value,
): Kind<Value, Written> {
  return {
    schema: { type: 'string', ...schema },
    placeholder,
    parse: (param, written, scope = DEFAULT_SCOPE) => read(param, textOf(param, written), scope),
  }
}

export const TICKER: Kind<string, string> = {
  ...textKind({ pattern: '^[A-Za-z0-9.^=-]{1,16}$', examples: ['AAPL'] }, 'TICKER', tickerValue),
  name: 'Ticker',
}

export const FIELD: Kind<string, FieldName> = {
  ...textKind(
    { enum: BUILT_IN_FIELDS.names },
    'FIELD',
    (param, text, { fields }) => fieldValue(param, text, fields).name,
  ),
  name: 'Field',
}

/** A band field, or a condition: its name is its text as it is printed. */
export const FIELD_OR_CONDITION: typeof FIELD = {
  ...FIELD,
  parse: (param, written, { fields } = DEFAULT_SCOPE) =>
    fieldOrConditionValue(param, textOf(param, written), fields).name,
}

/** A condition, as it is printed. */
export const CONDITION: Kind<string, string> = textKind(
  { examples: ['rsi_zone = oversold'] },
  'CONDITION',
  (param, text, { fields }) => conditionValue(param, text, fields).name,
)

/** The ranking of signals in its printed form: an expression such as a price, an indicator or a field. */
export const RANK: Kind<string, string> = textKind(
  { examples: ['rsi(close, 14)', '-rsi_zone'] },
  'RANK',
  (param, text, { fields }) => printRank(parseRank(param, text, fields)),
)

const BAND_NAMES = [...new Set(BUILT_IN_FIELDS.all.flatMap(field => field.bands))]

/** A band of the field that was read before; for a parameter of the context, of the context's field. */
export const BAND: Kind<string, BandName> = {
  ...textKind({ enum: BAND_NAMES }, 'BAND', (param, text, scope) => {
    const field = fieldOf(param, scope)
    return field === undefined ? text : bandValue(param, text, field)
  }),
  name: 'Band',
  example: 'oversold',
}

/** Several bands of that field, in the order of its vocabulary: a list, or one text with commas. */
export const BANDS: Kind<readonly string[], BandName | readonly BandName[]> = {
  schema: listSchema(BAND.schema),
  placeholder: 'BANDS',
  example: 'oversold',
  several: 'all',
  parse: (param, written, scope = DEFAULT_SCOPE) => {
    const list = listValue(param, written)
    const field = fieldOf(param, scope)
    if (field === undefined) return list.map(String)
    // YAML has true and false as the bands of a condition.
    const bandText = (band: unknown): string => (typeof band === 'boolean' ? String(band) : textOf(param, band))
    const bands = list.map(band => bandValue(param, bandText(band), field))
    return field.bands.filter(band => bands.includes(band))
  },
}

export const CONDITION_BANDS: typeof BANDS = {
  ...BANDS,
  schema: listSchema({ anyOf: [{ ...BAND.schema, enum: [...BAND_NAMES, ...TRUTHS] }, { type: 'boolean' }] }),
}

/** One value of a kind, or a list. */
export function listSchema(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { type: 'array', items: schema, minItems: 1 }] }
}

/**
 * The field whose bands a parameter takes: `field`, or for a band of the context `context_field`, as parsed before.
 * undefined if it is missing, which is refused elsewhere.
 */
export function fieldOf(param: string, { fields, earlier }: Scope): AnyField | undefined {
  const [, prefix = ''] = /(?:^|\.)(context_)[^.]*$/.exec(param) ?? []
  return fieldByName(String(earlier[`${prefix}field`]), fields)
}

export const TIMEFRAME: Kind<Timeframe, TimeframeName> = wordOf(TIMEFRAME_NAMES, 'NAME', 'Timeframe')

export const DAY: Kind<Day, string> = {
  ...textKind({ format: 'date' }, 'DATE', dayValue),
  name: 'Date',
  text: day => formatDay(Number(day)),
}

/** Not blank, and without control characters. */
const TEXT_PATTERN = '^(?!\\s*$)[^\\u0000-\\u001F\\u007F-\\u009F]+$'

export const TEXT = textKind({ minLength: 1, maxLength: MAX_TEXT_LENGTH, pattern: TEXT_PATTERN }, 'NAME', textValue)

/** A path on this machine; a URL is refused. */
export const FILE: Kind<string, string> = { schema: { type: 'string' }, placeholder: 'FILE', parse: fileValue }

/** The accounts of a server: a file, or the URL of a PostgreSQL database. */
export const ACCOUNTS_AT: Kind<string, string> = {
  schema: { type: 'string' },
  placeholder: 'FILE',
  parse: accountsValue,
}

export const CLUSTER: Kind<string, string> = {
  schema: { type: 'string' },
  placeholder: 'ray://HOST:PORT',
  parse: clusterValue,
}

export const WORDS: Kind<string, string> = { schema: { type: 'string' }, placeholder: 'TEXT', parse: textOf }

export function integerOf(least: number, most: number, placeholder = 'N'): Kind<number, Text> {
  return {
    schema: { type: 'integer', minimum: least, maximum: most },
    placeholder,
    parse: (param, written) => integerValue(param, written, least, most),
  }
}

/** The number of threads; 1: only the calling thread. */
export const THREADS = integerOf(1, 256)

/** A number of rows, or `all`. */
export const COUNT: Kind<number, Text> = {
  schema: { anyOf: [{ type: 'integer', minimum: 1 }, { enum: ['all'] }] },
  placeholder: 'N',
  parse: countValue,
}

/** One of some words; the library's type is text. */
export function wordOf<Word extends string>(
  words: readonly Word[],
  placeholder: string,
  name: string,
): Kind<Word, string> {
  return { ...oneOf<Word, string>(words, placeholder), name }
}

/** One of some words; the library's type lists them. */
export function oneOf<Word extends string, Written = Word>(
  words: readonly Word[],
  placeholder: string,
): Kind<Word, Written> {
  return textKind({ enum: words }, placeholder, (param, text) => wordValue(param, text, words))
}
