import { InvalidParameter, invalid, parameter, sentence, suggest, type Thing } from '../errors.js'
import { FIELD_NAMES, type Field, fieldNamed } from '../fields/index.js'
import { type Day, parseDay } from '../model/day.js'
import { parseTicker, TICKER_SHAPE, TIER_NAMES, TIMEFRAME_NAMES, type Tier, type Timeframe } from '../model/terms.js'

/** A value as written → one that can be trusted; every refusal names the parameter, the value, what is allowed, the nearest. */

export function tickerValue(param: string, text: string): string {
  return parseTicker(text) ?? refuse(param, text, TICKER_SHAPE)
}

export function fieldValue(param: string, text: string): Field {
  return fieldNamed(text) ?? refuseWord(param, text, FIELD_NAMES, { kind: 'field' })
}

export function bandValue(param: string, text: string, field: Field): string {
  return field.bands.includes(text) ? text : refuseWord(param, text, field.bands, { kind: 'band', field: field.name })
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
export function integerValue(param: string, value: unknown, least: number, most: number): number {
  return integerFrom(value, least, most) ?? refuse(param, value, `an integer from ${least} to ${most}`)
}

/** How many, or `all`. */
export function countValue(param: string, value: unknown): number {
  if (value === 'all') return Number.POSITIVE_INFINITY
  return integerFrom(value, 1, Number.POSITIVE_INFINITY) ?? refuse(param, value, 'an integer from 1, or all')
}

function integerFrom(value: unknown, least: number, most: number): number | null {
  const number = typeof value === 'string' && /^(0|[1-9]\d{0,9})$/.test(value) ? Number(value) : value
  const isAllowed = typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most
  return isAllowed ? number : null
}

export const LONGEST_TEXT = 64

/** Free text of some length without control characters. */
export function textValue(param: string, text: string): string {
  if ([...text].length <= LONGEST_TEXT && text.trim() !== '' && !/\p{Cc}/u.test(text)) return text
  return refuse(param, text, `text of 1 to ${LONGEST_TEXT} characters`)
}

/** One of a list of words. */
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
  throw new InvalidParameter(sentence`${parameter(param)} ${lack}`, { param, allowed: 'the path of a file' })
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
  if (value === undefined || value === null)
    throw new InvalidParameter(`${param} is missing; it is ${allowed}.`, { param, allowed })
  throw invalid('not_allowed', { param, value, allowed })
}

function refuseWord(param: string, value: string, allowed: readonly string[], thing?: Thing): never {
  const suggestions = suggest(value, allowed)
  throw invalid('not_allowed', { param, value, allowed, suggestions }, thing === undefined ? {} : { thing })
}
