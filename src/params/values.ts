import { InvalidParameter, invalid, parameter, sentence, shown, suggest, type Thing, wrong } from '../errors.js'
import { type AnyField, BUILT_IN, type FieldSet } from '../fields/index.js'
import { type ConditionField, conditionField, isCondition, TRUTHS } from '../language/as-field.js'
import { parseRank, printRank } from '../language/rank.js'
import { fieldsMeant, fieldsWithBand } from '../language/vocabulary.js'
import { type Day, formatDay, isDay, parseDay } from '../model/day.js'
import {
  type BandName,
  type FieldName,
  parseTicker,
  TICKER_SHAPE,
  TIER_NAMES,
  TIMEFRAME_NAMES,
  type Tier,
  type Timeframe,
  type TimeframeName,
} from '../model/terms.js'
import { checkPostgresUrl, isPostgresUrl } from '../store/postgres/address.js'
import { ALONE, type JsonSchema, type Kind, type Scope, type Text, unknownParameter, type Written } from './row.js'

/** A value as written → one that can be trusted; every refusal names the parameter, the value, what is allowed, the nearest. */

export function tickerValue(param: string, text: string): string {
  return parseTicker(text) ?? refuse(param, text, TICKER_SHAPE)
}

export function fieldValue(param: string, text: string, fields: FieldSet): AnyField {
  return fields.named(text) ?? refuseField(param, text, fields)
}

/** A band field, or a condition in its place. */
export function askedFieldValue(param: string, text: string, fields: FieldSet): AnyField {
  if (fields.named(text) === undefined && isCondition(text)) return conditionField(text, fields, { param })
  return fieldValue(param, text, fields)
}

/** One whose name was read. */
export function fieldRead(name: string, fields: FieldSet): AnyField | undefined {
  return fields.named(name) ?? (isCondition(name) ? conditionField(name, fields) : undefined)
}

export function conditionValue(param: string, text: string, fields: FieldSet): ConditionField {
  return conditionField(text, fields, { param })
}

export function bandValue(param: string, text: string, field: Pick<AnyField, 'name' | 'bands'>): string {
  return field.bands.includes(text) ? text : refuseWord(param, text, field.bands, { kind: 'band', field: field.name })
}

/** Bands of some fields. Throws InvalidParameter for one that none of them has. */
export function bandsValue(
  param: string,
  bands: readonly string[],
  fields: readonly Pick<AnyField, 'name' | 'bands'>[],
): string[] {
  const [only, second] = fields
  if (only !== undefined && second === undefined) return bands.map(band => bandValue(param, band, only))
  const words = [...new Set(fields.flatMap(field => field.bands))]
  return bands.map(band => wordValue(param, band, words))
}

export function timeframeValue(param: string, text: string): Timeframe {
  return wordValue(param, text, TIMEFRAME_NAMES)
}

export function tierValue(param: string, text: string): Tier {
  return wordValue(param, text, TIER_NAMES)
}

export function dayValue(param: string, text: string): Day {
  return parseDay(text) ?? refuse(param, text, 'a calendar date as YYYY-MM-DD')
}

/** Plain decimal digits only: `0x10`, `1e1` and `+5` are not what anyone meant by a number of results. */
export function integerValue(param: string, value: unknown, least: number, most: number, why = ''): number {
  const allowed = `an integer from ${least} to ${most}${why}`
  return integerFrom(value, least, most) ?? refuseNumber(param, value, allowed, least, most)
}

/** What people write after a number, or in it, that says nothing more: `20d`, `20 bars`, `1,000`. */
const SUPERFLUOUS = /^(\d{1,3}(?:[,_']\d{3})+(?= ?[a-z]*$)|\d+(?= ?[a-z])) ?(?:d|days?|b|bars?|s|seconds?)?$/i

/** With the number alone, where that is allowed. */
function refuseNumber(param: string, value: unknown, allowed: string, least: number, most: number): never {
  const [, digits] = typeof value === 'string' ? (SUPERFLUOUS.exec(value) ?? []) : []
  const number = digits === undefined ? null : integerFrom(digits.replace(/\D/g, ''), least, most)
  if (number === null) return refuse(param, value, allowed)
  const suggestions = [String(number)]
  throw new InvalidParameter(
    sentence`${parameter(param)} ${shown(value)} is not ${allowed}: write ${number} alone.`,
    { param, value, allowed, suggestions },
    {},
    'not_allowed',
  )
}

function countValue(param: string, value: unknown): number {
  if (value === 'all') return Number.POSITIVE_INFINITY
  return integerFrom(value, 1, Number.POSITIVE_INFINITY) ?? refuse(param, value, 'an integer from 1, or all')
}

function integerFrom(value: unknown, least: number, most: number): number | null {
  const number = typeof value === 'string' && /^(0|[1-9]\d{0,9})$/.test(value) ? Number(value) : value
  const isAllowed = typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most
  return isAllowed ? number : null
}

const LONGEST_TEXT = 64

/** Free text of some length without control characters. */
function textValue(param: string, text: string): string {
  if ([...text].length <= LONGEST_TEXT && text.trim() !== '' && !/\p{Cc}/u.test(text)) return text
  return refuse(param, text, `text of 1 to ${LONGEST_TEXT} characters`)
}

export function wordValue<Word extends string>(param: string, text: string, words: readonly Word[]): Word {
  return words.find(word => word === text) ?? refuseWord(param, text, words)
}

/** What a program or a file has for a text must be one. */
export function textOf(param: string, value: unknown): string {
  return typeof value === 'string' ? value : refuse(param, value, 'text')
}

/** A URL of several letters before its colon, so that a drive is none; also one that was put in quotes. */
const URL_SHAPE = /^\s*[a-z][a-z\d+.-]+:\/|[a-z][a-z\d+.-]+:\/\//i

/** A file of this machine. The URL of a database may hold a password: it is neither repeated nor made a folder of. */
export function fileValue(param: string, value: unknown): string {
  const text = textOf(param, value)
  if (!URL_SHAPE.test(text)) return text
  const lack = 'is a URL, and a database of bands is a file on this machine: give the path of one.'
  throw wrong(param, sentence`${parameter(param)} ${lack}`, { allowed: 'the path of a file' })
}

/** A database: a file of this machine, or the URL of one of PostgreSQL. */
export function databaseValue(param: string, value: unknown): string {
  const text = textOf(param, value)
  if (!isPostgresUrl(text)) return fileValue(param, text)
  checkPostgresUrl(param, text)
  return text.trim()
}

export function flagValue(param: string, value: unknown): boolean {
  return typeof value === 'boolean' ? value : refuse(param, value, 'true or false')
}

/** A list with something in it; one value alone is a list, too. */
export function listValue(param: string, value: unknown): unknown[] {
  const list = Array.isArray(value) ? value : value == null ? [] : [value]
  return list.length > 0 ? list : refuse(param, value, 'a list of at least one')
}

export function refuse(param: string, value: unknown, allowed: string): never {
  if (value === undefined || value === null) throw wrong(param, `${param} is missing; it is ${allowed}.`, { allowed })
  throw invalid('not_allowed', { param, value, allowed })
}

/** With the fields that may be meant: one that is called so, or one that has a band of that name. */
function refuseField(param: string, value: string, fields: FieldSet): never {
  const meant = fieldsMeant(value, fields)
  const suggestions = (meant.length > 0 ? meant : fieldsWithBand(value, fields)).slice(0, 3)
  throw invalid('not_allowed', { param, value, allowed: fields.names, suggestions }, { thing: { kind: 'field' } })
}

function refuseWord(param: string, value: string, allowed: readonly string[], thing?: Thing): never {
  const suggestions = suggest(value, allowed)
  throw invalid('not_allowed', { param, value, allowed, suggestions }, thing === undefined ? {} : { thing })
}

/** What a program hands over, before anything looks into it: every refusal names the argument. */

/** An object with names and values; a list and a function are none. */
export function objectOf(param: string, value: unknown): Written {
  return isObject(value) && !isList(value) ? value : refuse(param, value, 'an object')
}

function isObject(value: unknown): value is Written {
  return typeof value === 'object' && value !== null
}

/** Everything of a list, or of what is walked through like one; a text is none. */
export function listOf(param: string, value: unknown): unknown[] {
  return isList(value) ? [...value] : refuse(param, value, 'a list')
}

function isList(value: unknown): value is Iterable<unknown> {
  return isObject(value) && Symbol.iterator in value
}

export const DAYS = 'a day, counted from 1970-01-01'

export function checkDay(param: string, value: unknown): void {
  if (!isDay(value)) refuse(param, value, DAYS)
}

export function checkFunction(param: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') refuse(param, value, 'a function')
}

/** How each of some options is looked at; what is not given is not. Throws InvalidParameter for others, too. */
export type Checks<Name extends string = string> = Readonly<Record<Name, (param: string, value: unknown) => unknown>>

export function checkOptions(param: string, value: unknown, checks: Checks): void {
  const names = Object.keys(checks)
  for (const [name, one] of Object.entries(objectOf(param, value))) {
    if (!names.includes(name)) throw unknownParameter(name, names)
    if (one !== undefined) checks[name]!(name, one)
  }
}

export function withoutNulls(params: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null && value !== undefined))
}

/** The kinds of value that a question of events needs, each with how it is read; those of studies and backtests are in figures.ts. */

/** A kind that is read from text. */
function inText<Value, Written = string>(
  schema: JsonSchema,
  takes: string,
  read: (param: string, text: string, scope: Scope) => Value,
): Kind<Value, Written> {
  return {
    schema: { type: 'string', ...schema },
    takes,
    parse: (param, written, scope = ALONE) => read(param, textOf(param, written), scope),
  }
}

export const TICKER: Kind<string, string> = {
  ...inText({ pattern: '^[A-Za-z0-9.^=-]{1,16}$', examples: ['AAPL'] }, 'TICKER', tickerValue),
  name: 'Ticker',
}

export const FIELD: Kind<string, FieldName> = {
  ...inText({ enum: BUILT_IN.names }, 'FIELD', (param, text, { fields }) => fieldValue(param, text, fields).name),
  name: 'Field',
}

/** A band field, or a condition: its name is its text as it is printed. */
export const ASKED_FIELD: typeof FIELD = {
  ...FIELD,
  parse: (param, written, { fields } = ALONE) => askedFieldValue(param, textOf(param, written), fields).name,
}

/** A condition, as it is printed. */
export const CONDITION: Kind<string, string> = {
  ...inText({ examples: ['rsi_zone = oversold'] }, 'CONDITION', (param, text, { fields }) => {
    return conditionValue(param, text, fields).name
  }),
}

/** What ranks signals, as it is printed; a price, an indicator or a field alone is one, too. */
export const RANK: Kind<string, string> = inText(
  { examples: ['rsi(close, 14)', '-rsi_zone'] },
  'RANK',
  (param, text, { fields }) => printRank(parseRank(param, text, fields)),
)

const BAND_NAMES = [...new Set(BUILT_IN.all.flatMap(field => field.bands))]

/** A band of the field that was read before: of that of the context for one of the context. */
export const BAND: Kind<string, BandName> = {
  ...inText({ enum: BAND_NAMES }, 'BAND', (param, text, scope) => {
    const field = fieldOf(param, scope)
    return field === undefined ? text : bandValue(param, text, field)
  }),
  name: 'Band',
}

/** Several bands of that field, in the order of its vocabulary; of a program also in one text, with commas between. */
export const BANDS: Kind<readonly string[], BandName | readonly BandName[]> = {
  schema: listSchema(BAND.schema),
  takes: 'BANDS',
  several: 'all',
  parse: (param, written, scope = ALONE) => {
    const [list, field] = [listValue(param, written), fieldOf(param, scope)]
    if (field === undefined) return list.map(String)
    // Of a condition a file writes them as YAML has them: true and false.
    const text = (band: unknown): string => (typeof band === 'boolean' ? String(band) : textOf(param, band))
    const chosen = list.map(band => bandValue(param, text(band), field))
    return field.bands.filter(band => chosen.includes(band))
  },
}

/** The same where a condition may stand in place of the field. */
export const ASKED_BANDS: typeof BANDS = {
  ...BANDS,
  schema: listSchema({ anyOf: [{ ...BAND.schema, enum: [...BAND_NAMES, ...TRUTHS] }, { type: 'boolean' }] }),
}

/** One of a kind, or a list of some. */
export function listSchema(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { type: 'array', items: schema, minItems: 1 }] }
}

/** undefined where none was given, which is refused in its place. */
export function fieldOf(param: string, { fields, earlier }: Scope): AnyField | undefined {
  const [, prefix = ''] = /(?:^|\.)(context_)[^.]*$/.exec(param) ?? []
  return fieldRead(String(earlier[`${prefix}field`]), fields)
}

export const TIMEFRAME: Kind<Timeframe, TimeframeName> = wordOf(TIMEFRAME_NAMES, 'NAME', 'Timeframe')

export const DAY: Kind<Day, string> = {
  ...inText({ format: 'date' }, 'DATE', dayValue),
  name: 'Date',
  text: day => formatDay(Number(day)),
}

/** Not blank, and without control characters. */
const TEXT_PATTERN = '^(?!\\s*$)[^\\u0000-\\u001F\\u007F-\\u009F]+$'

export const TEXT = inText({ minLength: 1, maxLength: LONGEST_TEXT, pattern: TEXT_PATTERN }, 'NAME', textValue)

/** A path on this machine; a URL is none. */
export const FILE: Kind<string, string> = { schema: { type: 'string' }, takes: 'FILE', parse: fileValue }

/** Such a path, or the URL of a database of PostgreSQL. */
export const DATABASE: Kind<string, string> = { schema: { type: 'string' }, takes: 'FILE', parse: databaseValue }

export const WORDS: Kind<string, string> = { schema: { type: 'string' }, takes: 'TEXT', parse: textOf }

export function integerOf(least: number, most: number, takes = 'N'): Kind<number, Text> {
  return {
    schema: { type: 'integer', minimum: least, maximum: most },
    takes,
    parse: (param, written) => integerValue(param, written, least, most),
  }
}

/** How many threads may work; 1: none beside the one that asks. */
export const THREADS = integerOf(1, 256)

/** How many of what there is, or `all`. */
export const COUNT: Kind<number, Text> = {
  schema: { anyOf: [{ type: 'integer', minimum: 1 }, { enum: ['all'] }] },
  takes: 'N',
  parse: countValue,
}

/** One of some words; the library's type says that it is text. */
export function wordOf<Word extends string>(words: readonly Word[], takes: string, name: string): Kind<Word, string> {
  return { ...oneOf<Word, string>(words, takes), name }
}

/** The same where the library's type names them. */
export function oneOf<Word extends string, Written = Word>(words: readonly Word[], takes: string): Kind<Word, Written> {
  return inText({ enum: words }, takes, (param, text) => wordValue(param, text, words))
}
