import { InvalidParameter, quoted } from '../errors.js'
import { FIELD_NAMES, type Field, fieldNamed } from '../fields/index.js'
import { type Day, parseDay } from '../model/day.js'
import { parseTicker, TICKER_SHAPE } from '../model/ticker.js'
import { TIER_NAMES, type Tier } from '../model/tier.js'
import { TIMEFRAME_NAMES, type Timeframe } from '../model/timeframe.js'
import { didYouMean, suggest } from '../suggest.js'

/** Text → value, one kind of parameter each; every refusal names the parameter, the value, what is allowed, the nearest. */

export function tickerValue(param: string, text: string): string {
  const ticker = parseTicker(text)
  if (ticker !== null) return ticker
  const offence = { param, value: text, allowed: TICKER_SHAPE }
  throw new InvalidParameter(`${param} ${quoted(text)} is not ${TICKER_SHAPE}.`, offence)
}

export function fieldValue(param: string, text: string): Field {
  return fieldNamed(text) ?? refuse(param, text, FIELD_NAMES, `there is no ${param} ${quoted(text)}.`)
}

export function bandValue(param: string, text: string, field: Field): string {
  if (field.bands.includes(text)) return text
  return refuse(param, text, field.bands, `${field.name} has no band ${quoted(text)}.`)
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
  throw new InvalidParameter(`${param} ${quoted(text)} is not ${allowed}.`, { param, value: text, allowed })
}

/** Plain decimal digits only: `0x10`, `1e1` and `+5` are not what anyone meant by a number of results. */
export function integerValue(param: string, text: string, least: number, most: number): number {
  const value = /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  const allowed = `an integer from ${least} to ${most}`
  throw new InvalidParameter(`${param} ${quoted(text)} is not ${allowed}.`, { param, value: text, allowed })
}

/** Free text of some length without control characters. */
export function textValue(param: string, text: string): string {
  const allowed = `text of 1 to ${LONGEST_TEXT} characters`
  if ([...text].length <= LONGEST_TEXT && text.trim() !== '' && !/\p{Cc}/u.test(text)) return text
  throw new InvalidParameter(`${param} ${quoted(text)} is not ${allowed}.`, { param, value: text, allowed })
}

export const LONGEST_TEXT = 64

/** One of a list of words. */
export function wordValue<Word extends string>(param: string, text: string, words: readonly Word[]): Word {
  return words.find(word => word === text) ?? refuse(param, text, words)
}

function refuse(param: string, value: string, allowed: readonly string[], what?: string): never {
  const suggestions = suggest(value, allowed)
  const meant = didYouMean(suggestions)
  const message = `${param} ${quoted(value)} is not one of ${allowed.join(', ')}.${meant}`
  const offence = { param, value, allowed, suggestions }
  throw new InvalidParameter(message, offence, what === undefined ? message : `${what}${meant}`)
}
