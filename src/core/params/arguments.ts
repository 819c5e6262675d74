import { isDay } from '../model/day.js'
import { TICKER } from './kinds.js'
import { unknownParameterError, type Written } from './row.js'
import { refuse } from './values.js'

/** Arguments of the library's functions, checked before use: every refusal names the argument. */

/** The value as an object with names and values. Throws InvalidParameter for a list, a function, and other values. */
export function objectOf(param: string, value: unknown): Written {
  return isObject(value) && !isList(value) ? value : refuse(param, value, 'an object')
}

function isObject(value: unknown): value is Written {
  return typeof value === 'object' && value !== null
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value)
}

export function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The items of a list or another iterable. Throws InvalidParameter for a text and other values. */
export function listOf(param: string, value: unknown): unknown[] {
  return isList(value) ? [...value] : refuse(param, value, 'a list')
}

export function tickersOf(value: unknown): string[] {
  return listOf('tickers', value).map(ticker => TICKER.parse('ticker', ticker))
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

/** The check of each option, by its name. */
export type Checks<Name extends string = string> = Readonly<Record<Name, (param: string, value: unknown) => unknown>>

/** Checks the options that are set. Throws InvalidParameter for unknown names, too. */
export function checkOptions(param: string, value: unknown, checks: Checks): void {
  const names = Object.keys(checks)
  for (const [name, option] of Object.entries(objectOf(param, value))) {
    if (!names.includes(name)) throw unknownParameterError(name, names)
    if (option !== undefined) checks[name]!(name, option)
  }
}

/** The parameters that are neither null nor undefined. */
export function withoutNulls(params: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null && value !== undefined))
}
