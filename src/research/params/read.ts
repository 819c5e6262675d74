import { InvalidParameter, quoted } from '../../errors.js'
import { type Day, parseDay } from '../../model/day.js'
import { unknownParameter } from '../../query/parse.js'
import { dayValue, wordValue } from '../../query/values.js'
import { integerOf } from '../backtest/values.js'

/** A value as people write it: text, or what a program has instead. */
export type Text = string | number

/** One, several, or several in one text with commas between. */
export type Texts = Text | readonly Text[]

/**
 * Parameters as written, read one by one. What is unknown or empty is refused, not passed over; so is a number in any
 * form but plain decimal digits. Every refusal names the parameter, the value and what is allowed.
 */
export class Params<Name extends string> {
  readonly #values: Readonly<Record<string, unknown>>

  /** Throws InvalidParameter for a name that is not one of `allowed`. */
  constructor(params: object, allowed: readonly Name[]) {
    const entries = Object.entries(params).filter(([, value]) => value !== undefined && value !== null)
    for (const [name, value] of entries) {
      if (!(allowed as readonly string[]).includes(name)) throw unknownParameter(name, allowed)
      if (value === '') throw new InvalidParameter(`${name} is empty.`, { param: name, value })
    }
    this.#values = Object.fromEntries(entries)
  }

  has(name: Name): boolean {
    return this.#values[name] !== undefined
  }

  text(name: Name): string | undefined {
    const value = this.#values[name]
    if (value === undefined || typeof value === 'string') return value
    if (typeof value === 'number' && Number.isFinite(value)) return plain(value)
    throw new InvalidParameter(`${name} must be text or a number.`, { param: name })
  }

  /** Values in the order given, each once; null where there are none, or where the one is `all`. */
  list(name: Name): string[] | null {
    const items = this.items(name)
    return items.length === 0 || (items.length === 1 && items[0] === 'all') ? null : items
  }

  /** The same of what has no `all`; none where nothing is given. */
  items(name: Name): string[] {
    const value = this.#values[name]
    if (value === undefined) return []
    const texts = (Array.isArray(value) ? value : [value]).flatMap(item => itemsOf(name, item))
    if (texts.length === 0) throw new InvalidParameter(`${name} is empty.`, { param: name, value: [] })
    return [...new Set(texts)]
  }

  flag(name: Name): boolean {
    const value = this.#values[name] ?? false
    if (typeof value === 'boolean') return value
    throw new InvalidParameter(`${name} must be true or false.`, { param: name })
  }

  integer(name: Name, least: number, most: number): number | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : integerOf(name, text, least, most)
  }

  word<Word extends string>(name: Name, words: readonly Word[]): Word | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : wordValue(name, text, words)
  }

  day(name: Name): Day | null {
    const text = this.text(name)
    return text === undefined ? null : dayValue(name, text)
  }

  /** A date as text. */
  date(name: Name): string | null {
    const text = this.text(name)
    if (text !== undefined && parseDay(text) === null) dayValue(name, text)
    return text ?? null
  }

  /** Whole numbers, ascending, each once. */
  integers(name: Name, least: number, most: number): number[] | null {
    const items = this.items(name)
    if (items.length === 0) return null
    return [...new Set(items.map(text => integerOf(name, text, least, most)))].sort((a, b) => a - b)
  }

  /**
   * `train=756,test=252,anchored`, or the same as an object: whole numbers by name, and words that stand alone.
   * Throws InvalidParameter for a name that is not there, is there twice, or is needed and missing.
   */
  pairs<Key extends string>(name: Name, shape: PairShape<Key>): Partial<Record<Key, number>> | null {
    const value = this.#values[name]
    if (value === undefined) return null
    const { least, needed, words = [] } = shape
    const usage = { param: name, value: pairText(value), allowed: shape.usage }
    const found: Partial<Record<string, number>> = {}
    for (const item of pairText(value).split(',')) {
      const [key = '', text, more] = item.split('=')
      const isWord = (words as readonly string[]).includes(key)
      if (
        more !== undefined ||
        found[key] !== undefined ||
        (isWord ? text !== undefined : least[key as Key] === undefined)
      )
        throw new InvalidParameter(`${name} ${quoted(pairText(value))} is not ${shape.usage}.`, usage)
      found[key] = isWord ? 1 : integerOf(`${name} ${key}`, text ?? '', least[key as Key]!, MOST)
    }
    const missing = needed.filter(key => found[key] === undefined)
    if (missing.length > 0)
      throw new InvalidParameter(`${name} lacks ${missing.join(' and ')}: it is ${shape.usage}.`, usage)
    return found as Partial<Record<Key, number>>
  }
}

export interface PairShape<Key extends string> {
  /** Least value of each number. */
  least: Readonly<Partial<Record<Key, number>>>
  needed: readonly Key[]
  /** Those that stand without a value. */
  words?: readonly Key[]
  /** How it is written. */
  usage: string
}

const MOST = 1_000_000

function itemsOf(name: string, item: unknown): string[] {
  if (typeof item === 'number') return [plain(item)]
  if (typeof item !== 'string') throw new InvalidParameter(`${name} must be text or a list of texts.`, { param: name })
  return item
    .split(',')
    .map(text => text.trim())
    .filter(text => text !== '')
}

/** Digits without an exponent, which a text would not be allowed either. */
function plain(value: number): string {
  const text = String(value)
  return text.includes('e-') ? value.toFixed(20).replace(/0+$/, '') : text
}

function pairText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Object.entries(value).filter(([, item]) => item !== false && item !== undefined)
  return parts.map(([key, item]) => (item === true ? key : `${key}=${item}`)).join(',')
}
