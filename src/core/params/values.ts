import {
  describeValue,
  InvalidParameter,
  invalid,
  type NamedThing,
  parameter,
  sentence,
  suggest,
  wrong,
} from '../errors.js'
import type { AnyField, FieldSet } from '../fields/index.js'
import { type ConditionField, conditionField, isCondition } from '../language/as-field.js'
import { fieldsWithBand, likelyFields } from '../language/condition.js'
import { type Day, parseDay } from '../model/day.js'
import { parseTicker, TICKER_SHAPE, TIER_NAMES, TIMEFRAME_NAMES, type Tier, type Timeframe } from '../model/terms.js'
import { isPostgresUrl, settingsIn } from './postgres-url.js'

/** Parsers of values. Every refusal names the parameter, the value, the valid forms and the nearest one. */

export function tickerValue(param: string, text: string): string {
  return parseTicker(text) ?? refuse(param, text, TICKER_SHAPE)
}

export function fieldValue(param: string, text: string, fields: FieldSet): AnyField {
  return fields.named(text) ?? refuseField(param, text, fields)
}

/** A band field, or the field of a condition. Throws InvalidParameter for any other text. */
export function fieldOrConditionValue(param: string, text: string, fields: FieldSet): AnyField {
  if (fields.named(text) === undefined && isCondition(text)) return conditionField(text, fields, { param })
  return fieldValue(param, text, fields)
}

/** A field, or the field of a condition; undefined for any other name. */
export function fieldByName(name: string, fields: FieldSet): AnyField | undefined {
  return fields.named(name) ?? (isCondition(name) ? conditionField(name, fields) : undefined)
}

export function conditionValue(param: string, text: string, fields: FieldSet): ConditionField {
  return conditionField(text, fields, { param })
}

export function bandValue(param: string, text: string, field: Pick<AnyField, 'name' | 'bands'>): string {
  return field.bands.includes(text) ? text : refuseWord(param, text, field.bands, { kind: 'band', field: field.name })
}

/** The bands of some fields. Throws InvalidParameter for a band that none of them has. */
export function bandsValue(
  param: string,
  bands: readonly string[],
  fields: readonly Pick<AnyField, 'name' | 'bands'>[],
): string[] {
  if (fields.length === 1) return bands.map(band => bandValue(param, band, fields[0]!))
  const bandsOfFields = [...new Set(fields.flatMap(field => field.bands))]
  return bands.map(band => wordValue(param, band, bandsOfFields))
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

/** Only plain decimal digits: `0x10`, `1e1` and `+5` are refused as a number of results. */
export function integerValue(param: string, value: unknown, least: number, most: number, why = ''): number {
  const allowed = `an integer from ${least} to ${most}${why}`
  return readInteger(value, least, most) ?? refuseNumber(param, value, allowed, least, most)
}

/** Matches a number with an addition that changes nothing: `20d`, `20 bars`, `1,000`. */
const SUPERFLUOUS_UNIT = /^(\d{1,3}(?:[,_']\d{3})+(?= ?[a-z]*$)|\d+(?= ?[a-z])) ?(?:d|days?|b|bars?|s|seconds?)?$/i

/** Refuses a number; the message shows the plain number if that is allowed. */
function refuseNumber(param: string, value: unknown, allowed: string, least: number, most: number): never {
  const [, digits] = typeof value === 'string' ? (SUPERFLUOUS_UNIT.exec(value) ?? []) : []
  const number = digits === undefined ? null : readInteger(digits.replace(/\D/g, ''), least, most)
  if (number === null) return refuse(param, value, allowed)
  const words = sentence`${parameter(param)} ${describeValue(value)} is not ${allowed}: write only ${number}.`
  throw new InvalidParameter(words, { param, value, allowed, suggestions: [String(number)] }, {}, 'not_allowed')
}

/** A number of rows; Infinity for `all`. */
export function countValue(param: string, value: unknown): number {
  if (value === 'all') return Number.POSITIVE_INFINITY
  return readInteger(value, 1, Number.POSITIVE_INFINITY) ?? refuse(param, value, 'an integer from 1, or all')
}

/** An integer, or a text of its digits; null outside the bounds and for anything else. */
function readInteger(value: unknown, least: number, most: number): number | null {
  const number = typeof value === 'string' && /^(0|[1-9]\d{0,9})$/.test(value) ? Number(value) : value
  const isAllowed = typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most
  return isAllowed ? number : null
}

export const MAX_TEXT_LENGTH = 64

/** Free text of some length without control characters. */
export function textValue(param: string, text: string): string {
  if ([...text].length <= MAX_TEXT_LENGTH && text.trim() !== '' && !/\p{Cc}/u.test(text)) return text
  return refuse(param, text, `text of 1 to ${MAX_TEXT_LENGTH} characters`)
}

export function wordValue<Word extends string>(param: string, text: string, words: readonly Word[]): Word {
  return words.find(word => word === text) ?? refuseWord(param, text, words)
}

/** The value if it is text. Throws InvalidParameter for anything else. */
export function textOf(param: string, value: unknown): string {
  return typeof value === 'string' ? value : refuse(param, value, 'text')
}

/** A URL has several letters before its colon, so that a drive letter is none; it may be in quotes. */
const URL_SHAPE = /^\s*[a-z][a-z\d+.-]+:\/|[a-z][a-z\d+.-]+:\/\//i

/** A file of this machine. The URL of a database may hold a password: it is neither repeated nor made a folder of. */
export function fileValue(param: string, value: unknown): string {
  const text = textOf(param, value)
  if (!URL_SHAPE.test(text) && !isPostgresUrl(text)) return text
  const why = 'is a URL, and a database of bands is a file on this machine: give the path of one.'
  throw wrong(param, sentence`${parameter(param)} ${why}`, { allowed: 'the path of a file' })
}

/** The accounts of a server: a file of this machine, or the URL of a PostgreSQL database. */
export function accountsValue(param: string, value: unknown): string {
  const text = textOf(param, value)
  if (!isPostgresUrl(text)) return fileValue(param, text)
  // Throws for a URL that cannot be used, or not without showing a password.
  settingsIn(param, text.trim())
  return text.trim()
}

const CLUSTER_SHAPE = /^ray(:\/\/[^\s/:@]+:\d{1,5})?$/

/** A Ray cluster: the address of its client server, or `ray`. */
export function clusterValue(param: string, value: unknown): string {
  const text = textOf(param, value)
  return CLUSTER_SHAPE.test(text) ? text : refuse(param, value, 'ray, or ray://HOST:PORT')
}

export function flagValue(param: string, value: unknown): boolean {
  return typeof value === 'boolean' ? value : refuse(param, value, 'true or false')
}

/** A list of at least one item; a single value becomes a list. Throws InvalidParameter for an empty list or none. */
export function listValue(param: string, value: unknown): unknown[] {
  if (!Array.isArray(value) && value != null) return [value]
  return Array.isArray(value) && value.length > 0 ? value : refuse(param, value, 'a list of at least one')
}

/** Throws InvalidParameter for a value that is missing or not allowed. @param allowed the valid forms, as a phrase */
export function refuse(param: string, value: unknown, allowed: string): never {
  if (value === undefined || value === null) throw wrong(param, `${param} is missing; it is ${allowed}.`, { allowed })
  throw invalid('not_allowed', { param, value, allowed })
}

/** Refuses a field; suggests fields of a similar name, or with a band of that name. */
function refuseField(param: string, value: string, fields: FieldSet): never {
  const meant = likelyFields(value, fields)
  const suggestions = (meant.length > 0 ? meant : fieldsWithBand(value, fields)).slice(0, 3)
  throw invalid('not_allowed', { param, value, allowed: fields.names, suggestions }, { thing: { kind: 'field' } })
}

function refuseWord(param: string, value: string, allowed: readonly string[], thing?: NamedThing): never {
  const suggestions = suggest(value, allowed)
  throw invalid('not_allowed', { param, value, allowed, suggestions }, thing === undefined ? {} : { thing })
}
