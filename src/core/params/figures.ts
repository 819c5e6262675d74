import { InvalidParameter, invalid } from '../errors.js'
import { formatDay, parseDay } from '../model/day.js'
import { DAY, FIELD, integerOf, listSchema } from './kinds.js'
import { DEFAULT_SCOPE, type JsonSchema, type Kind, type Scope, type Text, type Texts } from './row.js'
import { flagValue, integerValue, listValue, refuse, textOf, tickerValue } from './values.js'

/** Kinds of values for studies, backtests and sweeps. Those of event questions are in kinds.ts. */

/** A seed is a word of 32 bits. */
export const LARGEST_SEED = 4_294_967_295

export const FLAG: Kind<boolean, boolean> = { schema: { type: 'boolean' }, placeholder: '', parse: flagValue }

/** The lag of a context in bars; only conditions look further back. */
export const LAG: Kind<0 | 1, Text> = {
  ...integerOf(0, 1, 'BARS'),
  parse: (param, written) => (integerValue(param, written, 0, 1, LAG_WHY) === 1 ? 1 : 0),
}

const LAG_WHY =
  ': a context is as of its bar on the date of the event, or of the one before; conditions look further back without a context, those of a strategy file by its lag'

/** A day of the calendar, or the present one by this machine's clock: the time of its first moment here. */
export const MOMENT: Kind<{ day: string; time: number }, string> = {
  schema: { anyOf: [{ type: 'string', format: 'date' }, { enum: ['today'] }] },
  placeholder: 'DATE',
  parse: (param, written) => {
    const text = textOf(param, written)
    let midnight = new Date()
    if (text === 'today') midnight.setHours(0, 0, 0, 0)
    else if (parseDay(text) === null) return refuse(param, text, 'today, or a calendar date as YYYY-MM-DD')
    else {
      const [year, month, date] = text.split('-').map(Number)
      midnight = new Date(year!, month! - 1, date)
    }
    const padded = (value: number): string => String(value).padStart(2, '0')
    const day = `${midnight.getFullYear()}-${padded(midnight.getMonth() + 1)}-${padded(midnight.getDate())}`
    return { day, time: midnight.getTime() }
  },
}

/** A day that remains text. */
export const DATE: Kind<string, string> = {
  ...DAY,
  parse: (param, written) => formatDay(DAY.parse(param, written)),
}

/** Which signals: null takes every ticker, or every day. */
export interface SignalChoice {
  ticker: string | null
  date: string | null
}

export const SIGNALS: Kind<SignalChoice, string> = {
  schema: { type: 'string' },
  placeholder: 'WHICH',
  example: 'all',
  parse: (param, written) => {
    const text = textOf(param, written)
    const parts = text === 'all' ? [] : text.split(',')
    const [date, ...dates] = parts.filter(part => parseDay(part) !== null)
    const [ticker, ...tickers] = parts.filter(part => parseDay(part) === null)
    // A ticker may have this shape, and is hardly meant.
    const isWrongDate = ticker !== undefined && /^\d{4}-\d\d?-\d\d?$/.test(ticker)
    if (dates.length > 0 || tickers.length > 0 || isWrongDate)
      return refuse(param, text, 'all, a ticker, a day, or both with a comma between them')
    return { ticker: ticker === undefined ? null : tickerValue(param, ticker), date: date ?? null }
  },
}

/**
 * A list of distinct values, in the written order unless the kind has an order of its own.
 * @param all whether the word `all` means any value
 */
export function listKind<Value>(
  kind: Kind<Value>,
  placeholder: string,
  { all = false, ordered = values => values }: ListOptions<Value> = {},
): Kind<readonly Value[], Texts> {
  return {
    schema: listSchema(kind.schema),
    placeholder,
    ...(kind.example !== undefined && { example: kind.example }),
    several: all ? 'all' : 'some',
    parse: (param, written, scope = DEFAULT_SCOPE) => {
      const values = listValue(param, written).map(item => kind.parse(param, item, scope))
      return ordered([...new Set(values)], scope)
    },
  }
}

interface ListOptions<Value> {
  all?: boolean
  ordered?(values: readonly Value[], scope: Scope): readonly Value[]
}

export const ONE_OF_FIELDS: typeof FIELD = {
  ...FIELD,
  parse: (_, written, scope) => FIELD.parse('field', written, scope),
}

/** Fields in the order of the catalogue. */
export const SOME_FIELDS = listKind(ONE_OF_FIELDS, 'FIELDS', {
  all: true,
  ordered: (chosen, { fields }) => fields.names.filter(name => chosen.includes(name)),
})

interface Bounds {
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  exclusiveMaximum?: number
}

export function numberOf(bounds: Bounds, placeholder: string): Kind<number, Text> {
  const allowed = () => `a number ${inWords(bounds)}`
  return boundedKind(bounds, placeholder, { type: 'number', ...bounds }, readNumber, allowed)
}

const PERCENTAGE = { type: 'string', pattern: '^-?\\d+(\\.\\d+)?%?$' }

/** A fraction: 0.05, or `5%`. */
export function shareOf(bounds: Bounds, placeholder: string): Kind<number, Text> {
  const schema = { anyOf: [{ type: 'number', ...bounds }, PERCENTAGE] }
  const allowed = () => `a fraction ${inWords(bounds)}, such as 0.05 or 5%`
  return { ...boundedKind(bounds, placeholder, schema, readShare, allowed), example: '5%' }
}

/** A kind of number within bounds. @param read null for no number @param allowed the valid numbers in words */
function boundedKind(
  bounds: Bounds,
  placeholder: string,
  schema: JsonSchema,
  read: (written: unknown) => number | null,
  allowed: () => string,
): Kind<number, Text> {
  const parse = (param: string, written: unknown): number => {
    const number = read(written)
    return number !== null && isWithin(number, bounds) ? number : refuse(param, written, allowed())
  }
  return { schema, placeholder, parse }
}

/** A rate a year that is not a percentage by mistake. */
export const RATE = shareOf({ exclusiveMinimum: -1, exclusiveMaximum: 1 }, 'RATE')

/** A distance from the entry price: a fraction of it, or a multiple of the ATR at the signal's bar. */
export type Distance = number | { readonly atr: number }

/** 0.05 or `5%` of the entry price; `2atr` or `{ atr: 2 }`: a multiple of the average true range. */
export const DISTANCE: Kind<Distance, Text> = {
  schema: {
    anyOf: [
      { type: 'number', exclusiveMinimum: 0 },
      { type: 'string', pattern: '^\\d+(\\.\\d+)?(%|atr)?$' },
      { type: 'object', properties: { atr: { type: 'number', exclusiveMinimum: 0 } }, required: ['atr'] },
    ],
  },
  placeholder: 'DISTANCE',
  example: '5%',
  parse: (param, written) => {
    const fraction = readShare(written)
    if (fraction !== null && fraction > 0) return fraction
    const multiple = readNumber(atrMultipleIn(written))
    if (multiple !== null && multiple > 0) return { atr: multiple }
    return refuse(param, written, 'a fraction of the entry price (0.05 or 5%) or a multiple of the ATR (2atr) above 0')
  },
}

/** The form of a text such as `train=756,test=252,anchored`: whole numbers by name, and flags without a value. */
export interface Pairs {
  /** The least value of each number, by its name. */
  minimums: Readonly<Record<string, number>>
  /** The required numbers. */
  needed: readonly string[]
  flags?: readonly string[]
  /** The form in words, for messages. */
  usage: string
  /** A text that is allowed. */
  example: string
}

/** A kind for a text such as `train=756,test=252`. @param finish makes the value of the numbers by name */
export function pairsOf<Value, Written = Partial<Value>>(
  placeholder: string,
  shape: Pairs,
  finish: (found: Readonly<Record<string, number | undefined>>) => Value,
): Kind<Value, string | Written> {
  return {
    schema: { type: 'string', examples: [shape.usage] },
    placeholder,
    example: shape.example,
    object: true,
    parse: (param, written) => finish(readPairs(param, pairsAsText(written), shape)),
  }
}

const MAX_PAIR_NUMBER = 1_000_000

/** The numbers of a text such as `train=756,anchored`, by name; a flag is 1. Throws InvalidParameter for any other. */
function readPairs(
  param: string,
  value: string,
  { minimums, needed, flags = [], usage }: Pairs,
): Record<string, number> {
  const offence = { param, value, allowed: usage }
  const numbers: Record<string, number> = {}
  for (const item of value.split(',')) {
    const [key = '', text, secondText] = item.split('=')
    const isFlag = flags.includes(key)
    const isKnown = isFlag ? text === undefined : Object.hasOwn(minimums, key)
    if (!isKnown || secondText !== undefined || numbers[key] !== undefined) throw invalid('not_allowed', offence)
    numbers[key] = isFlag ? 1 : integerValue(`${param} ${key}`, text ?? '', minimums[key]!, MAX_PAIR_NUMBER)
  }
  const missing = needed.filter(key => numbers[key] === undefined)
  if (missing.length > 0)
    throw new InvalidParameter(`${param} lacks ${missing.join(' and ')}: it is ${usage}.`, offence)
  return numbers
}

/** An object of pairs as its text: true is a flag, and false or undefined is left out. Other values become text. */
function pairsAsText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Object.entries(value).filter(([, item]) => item !== false && item !== undefined)
  return parts.map(([key, item]) => (item === true ? key : `${key}=${item}`)).join(',')
}

/** A number, or a text of plain digits; null for anything else. */
function readNumber(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  return typeof value === 'string' && /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : null
}

/** A fraction from a number or from a percentage such as `5%`; null for anything else. */
function readShare(value: unknown): number | null {
  if (typeof value !== 'string' || !value.endsWith('%')) return readNumber(value)
  const percents = readNumber(value.slice(0, -1))
  return percents === null ? null : percents / 100
}

/** The multiple in `2atr` or `{ atr: 2 }`, not checked yet; null for anything else. */
function atrMultipleIn(value: unknown): unknown {
  if (typeof value === 'string') return value.endsWith('atr') ? value.slice(0, -3) : null
  const isAtr = typeof value === 'object' && value !== null && 'atr' in value && Object.keys(value).length === 1
  return isAtr ? value.atr : null
}

function isWithin(number: number, bounds: Bounds): boolean {
  const { minimum = -Infinity, exclusiveMinimum = -Infinity, maximum = Infinity, exclusiveMaximum = Infinity } = bounds
  return number >= minimum && number > exclusiveMinimum && number <= maximum && number < exclusiveMaximum
}

const BOUNDS_IN_WORDS = { minimum: 'from', exclusiveMinimum: 'above', maximum: 'up to', exclusiveMaximum: 'below' }

/** The bounds as people read them: `above 0, up to 1`. */
function inWords(bounds: Bounds): string {
  const stated = Object.entries(BOUNDS_IN_WORDS).map(([name, word]) => [word, bounds[name as keyof Bounds]])
  return stated.flatMap(([word, bound]) => (bound === undefined ? [] : `${word} ${bound}`)).join(', ')
}
