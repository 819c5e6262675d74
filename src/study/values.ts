import { InvalidParameter, invalid, type Offence } from '../errors.js'
import type { Field } from '../fields/index.js'
import type { Distance } from '../params/strategy.js'
import { bandValue } from '../params/values.js'

/** Values of a strategy file → trusted ones. `name` is where a value stands, as in `exit.hold`; each throws InvalidParameter. */

/** A seed is a word of 32 bits. */
export const LARGEST_SEED = 4_294_967_295

export function textOf(name: string, value: unknown): string {
  return typeof value === 'string' ? value : refuse(name, value, 'text')
}

/** Plain digits; text, too, since a flag has nothing else. */
export function integerOf(name: string, value: unknown, least: number, most: number): number {
  const number = typeof value === 'string' && /^(0|[1-9]\d{0,9})$/.test(value) ? Number(value) : value
  if (Number.isInteger(number) && (number as number) >= least && (number as number) <= most) return number as number
  return refuse(name, value, `an integer from ${least} to ${most}`)
}

export function flagOf(name: string, value: unknown): boolean {
  return typeof value === 'boolean' ? value : refuse(name, value, 'true or false')
}

/** What a number may be: at least, more than, at most, less than. */
interface Bounds {
  least?: number
  above?: number
  most?: number
  below?: number
}

export function numberOf(name: string, value: unknown, bounds: Bounds): number {
  const number = plainNumber(value)
  return number !== null && within(number, bounds) ? number : refuse(name, value, `a number ${inWords(bounds)}`)
}

/** A fraction: 0.05, or `5%`. */
export function shareOf(name: string, value: unknown, bounds: Bounds): number {
  const share = plainShare(value)
  if (share !== null && within(share, bounds)) return share
  return refuse(name, value, `a fraction ${inWords(bounds)}, such as 0.05 or 5%`)
}

/** 0.05 or `5%` of the entry price; `2atr` or `{ atr: 2 }`: so many times the average true range. */
export function distanceOf(name: string, value: unknown): Distance {
  const fraction = plainShare(value)
  if (fraction !== null && fraction > 0) return { fraction }
  const multiple = plainNumber(multipleIn(value))
  if (multiple !== null && multiple > 0) return { atr: multiple }
  return refuse(name, value, 'a fraction of the entry price (0.05 or 5%) or a multiple of the ATR (2atr) above 0')
}

/** Bands of a field in the order of its vocabulary, each once; one alone may stand without a list. */
export function bandsOf(name: string, value: unknown, field: Field): string[] {
  const chosen = listOf(name, value).map(band => bandValue(name, textOf(name, band), field))
  return field.bands.filter(band => chosen.includes(band))
}

/** A list with something in it; one value alone is a list, too. */
export function listOf(name: string, value: unknown): unknown[] {
  const list = Array.isArray(value) ? value : value == null ? [] : [value]
  return list.length > 0 ? list : refuse(name, value, 'a list of at least one')
}

function refuse(param: string, value: unknown, allowed: Offence['allowed'] & string): never {
  if (value === undefined || value === null)
    throw new InvalidParameter(`${param} is missing; it is ${allowed}.`, { param, allowed })
  throw invalid('not_allowed', { param, value, allowed })
}

function plainNumber(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  return typeof value === 'string' && /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : null
}

function plainShare(value: unknown): number | null {
  if (typeof value !== 'string' || !value.endsWith('%')) return plainNumber(value)
  const percent = plainNumber(value.slice(0, -1))
  return percent === null ? null : percent / 100
}

function multipleIn(value: unknown): unknown {
  if (typeof value === 'string') return value.endsWith('atr') ? value.slice(0, -3) : null
  const isOnlyAtr = typeof value === 'object' && value !== null && Object.keys(value).join() === 'atr'
  return isOnlyAtr ? (value as { atr: unknown }).atr : null
}

function within(number: number, { least, above, most, below }: Bounds): boolean {
  if (least !== undefined && number < least) return false
  if (above !== undefined && number <= above) return false
  if (most !== undefined && number > most) return false
  return below === undefined || number < below
}

function inWords({ least, above, most, below }: Bounds): string {
  const parts = [
    least === undefined ? '' : `from ${least}`,
    above === undefined ? '' : `above ${above}`,
    most === undefined ? '' : `up to ${most}`,
    below === undefined ? '' : `below ${below}`,
  ]
  return parts.filter(part => part !== '').join(', ')
}
