import { FIELD_NAMES, FIELDS, type Field, fieldNamed } from '../fields/index.js'
import { type Day, formatDay } from '../model/day.js'
import { type BandName, type FieldName, TIMEFRAME_NAMES, type Timeframe, type TimeframeName } from '../model/terms.js'
import type { Earlier, Kind, Text } from './row.js'
import {
  bandValue,
  dayValue,
  fieldValue,
  integerValue,
  LONGEST_TEXT,
  textOf,
  textValue,
  tickerValue,
  wordValue,
} from './values.js'

/** The kinds of value that a question of events needs; those of studies and backtests are in figures.ts. */

export const TICKER: Kind<string, string> = {
  schema: { type: 'string', pattern: '^[A-Za-z0-9.^=-]{1,16}$', examples: ['AAPL'] },
  takes: 'TICKER',
  parse: (param, written) => tickerValue(param, textOf(param, written)),
}

export const FIELD: Kind<string, FieldName> = {
  schema: { type: 'string', enum: FIELD_NAMES },
  takes: 'FIELD',
  parse: (param, written) => fieldValue(param, textOf(param, written)).name,
}

/** A band of the field that was read before: of `context_field` for one of the context. */
export const BAND: Kind<string, BandName> = {
  schema: { type: 'string', enum: [...new Set(FIELDS.flatMap(field => field.bands))] },
  takes: 'BAND',
  parse: (param, written, earlier) => {
    const [text, field] = [textOf(param, written), fieldOf(param, earlier)]
    return field === undefined ? text : bandValue(param, text, field)
  },
}

/** undefined where none was given, which is refused in its place. */
export function fieldOf(param: string, earlier: Earlier = {}): Field | undefined {
  const name = param.slice(param.lastIndexOf('.') + 1).startsWith('context_') ? 'context_field' : 'field'
  return fieldNamed(String(earlier[name]))
}

export const TIMEFRAME: Kind<Timeframe, TimeframeName> = wordOf(TIMEFRAME_NAMES, 'NAME')

export const DAY: Kind<Day, string> = {
  schema: { type: 'string', format: 'date' },
  takes: 'DATE',
  parse: (param, written) => dayValue(param, textOf(param, written)),
  text: day => formatDay(Number(day)),
}

/** Not blank, and without control characters. */
const TEXT_PATTERN = '^(?!\\s*$)[^\\u0000-\\u001F\\u007F-\\u009F]+$'

export const TEXT: Kind<string, string> = {
  schema: { type: 'string', minLength: 1, maxLength: LONGEST_TEXT, pattern: TEXT_PATTERN },
  takes: 'NAME',
  parse: (param, written) => textValue(param, textOf(param, written)),
}

/** Text that whoever takes it looks at. */
export const WORDS: Kind<string, string> = { schema: { type: 'string' }, takes: 'TEXT', parse: textOf }

export function integerOf(least: number, most: number, takes = 'N'): Kind<number, Text> {
  return {
    schema: { type: 'integer', minimum: least, maximum: most },
    takes,
    parse: (param, written) => integerValue(param, written, least, most),
  }
}

/** One of some words; the library's type says that it is text. */
export function wordOf<Word extends string>(words: readonly Word[], takes: string): Kind<Word, string> {
  return oneOf<Word, string>(words, takes)
}

/** The same where the library's type names them. */
export function oneOf<Word extends string, Written = Word>(words: readonly Word[], takes: string): Kind<Word, Written> {
  return {
    schema: { type: 'string', enum: words },
    takes,
    parse: (param, written) => wordValue(param, textOf(param, written), words),
  }
}
