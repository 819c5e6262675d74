import { describeValue, invalid, parameter, sentence, suggest, wrong } from '../errors.js'
import { type Series, UNDEFINED } from '../model/series.js'
import { isCompleteCondition, likelyFields, type Vocabulary } from './condition.js'
import { type Expression, PRICES, parseExpression, partsOf, printExpression, valuesOf } from './expression.js'

/**
 * The rank of signals on their own bars: a band field (in the order of its bands) or an expression. The highest comes
 * first; a minus reverses that. An expression cannot look ahead; later adjustments of prices affect only levels
 * (`dependsOnLevels`).
 */
export interface Rank {
  isLowestFirst: boolean
  of: { is: 'field'; field: string } | { is: 'expression'; expression: Expression }
}

const ALLOWED = 'a field, a price, or an expression such as rsi(close, 14)'

/** Parses a rank. Throws InvalidParameter with the column of the error for any other text. */
export function parseRank(param: string, text: string, fields: Vocabulary): Rank {
  const word = singleWord(text)
  if (word !== null) {
    if (fields.named(word.name) !== undefined || isPrice(word.name)) return readRank(text)
    const near = [...likelyFields(word.name, fields), ...suggest(word.name, PRICES)].slice(0, 3)
    const suggestions = near.map(name => `${word.minus}${name}`)
    throw invalid('not_allowed', { param, value: text, allowed: ALLOWED, suggestions })
  }
  if (isCompleteCondition(text, fields)) {
    const words = sentence`${parameter(param)} ${describeValue(text)} is a condition, and ranks nothing by itself: define a field of your own by it, and name that.`
    throw wrong(param, words, { value: text, allowed: ALLOWED })
  }
  const field = text.match(/[a-z]\w*/gi)?.find(name => fields.named(name) !== undefined)
  if (field !== undefined) {
    const words = sentence`${parameter(param)} ${describeValue(text)}: the field ${field} ranks only by itself, not within an expression.`
    throw wrong(param, words, { value: text, allowed: ALLOWED, suggestions: [field] })
  }
  const rank = readRank(text, param)
  const parts = rank.of.is === 'field' ? [] : [...partsOf(rank.of.expression)]
  if (parts.some(({ is }) => is === 'price' || is === 'call')) return rank
  const words = sentence`${parameter(param)} ${describeValue(text)} is the same of every signal: it names no price and no indicator.`
  throw wrong(param, words, { value: text, allowed: ALLOWED })
}

/** The only word of a text, and the minus before it; null for a longer text. */
function singleWord(text: string): { minus: '' | '-'; name: string } | null {
  const [, minus, name] = /^\s*(-?)\s*([a-z]\w*)\s*$/i.exec(text) ?? []
  return name === undefined ? null : { minus: minus === '-' ? '-' : '', name }
}

function isPrice(word: string): boolean {
  return PRICES.some(price => price === word.toLowerCase())
}

/** Reads a rank from a text that was checked before. The name of a price is never a field. */
export function readRank(text: string, param = 'rank'): Rank {
  const word = singleWord(text)
  if (word !== null && !isPrice(word.name))
    return { isLowestFirst: word.minus === '-', of: { is: 'field', field: word.name } }
  const expression = parseExpression(text, { param })
  const isNegative = expression.is === 'negative'
  return { isLowestFirst: isNegative, of: { is: 'expression', expression: isNegative ? expression.of : expression } }
}

/** The text that parses to the same rank. */
export function printRank({ isLowestFirst, of }: Rank): string {
  if (of.is === 'field') return `${isLowestFirst ? '-' : ''}${of.field}`
  const { expression } = of
  return printExpression(isLowestFirst ? { is: 'negative', of: expression } : expression)
}

/** The text of a rank without its minus, which `isLowestFirst` has. */
export function rankedText({ of }: Rank): string {
  return of.is === 'field' ? of.field : printExpression(of.expression)
}

/**
 * The ranking value of each bar, NaN if it has none; for a field the index of its band.
 * @param codes the band codes of that field; null for an expression
 */
export function rankValues({ of }: Rank, series: Series, codes: Uint8Array | null): Float64Array {
  if (of.is === 'expression') return valuesOf(of.expression, series)
  return Float64Array.from(codes!, code => (code === UNDEFINED ? Number.NaN : code))
}

/**
 * Whether a split after the last bar changes the values of an expression on some of the bars. Prices are adjusted for
 * later splits. So such a value was another one at the time, and may then have ranked the tickers in another order.
 */
export function dependsOnLevels({ of }: Rank, series: Series, bars: Int32Array): boolean {
  if (of.is === 'field') return false
  const { open, high, low, close, volume } = series
  // Two old shares for a new one: prices double, volumes halve.
  const scale = (column: Float64Array, factor: number): Float64Array => column.map(value => value * factor)
  const afterSplit = {
    ...series,
    open: scale(open, 2),
    high: scale(high, 2),
    low: scale(low, 2),
    close: scale(close, 2),
    volume: scale(volume, 1 / 2),
  }
  const before = valuesOf(of.expression, series)
  const after = valuesOf(of.expression, afterSplit)
  return bars.some(bar => !isNearlyEqual(before[bar]!, after[bar]!))
}

/** Whether two values are equal up to rounding. */
function isNearlyEqual(a: number, b: number): boolean {
  return Object.is(a, b) || Math.abs(a - b) <= 1e-12 + 1e-9 * Math.max(Math.abs(a), Math.abs(b))
}

/** The order of two values by a rank; NaN comes last. */
export function rankOrder({ isLowestFirst }: Rank): (a: number, b: number) => number {
  return (a, b) => {
    if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
    return isLowestFirst ? a - b : b - a
  }
}
