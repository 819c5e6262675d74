import { quoted } from '../errors.js'
import { column } from '../indicators/columns.js'
import type { Series } from '../model/series.js'
import { byBar, CALL_NAMES, type Call, callNamed, signatureOf } from './calls.js'
import { type Origin, Reader } from './reader.js'

/**
 * Expressions: arithmetic over prices and indicators of one ticker and timeframe. A parsed expression is printed as a
 * text that parses to the same. No function looks ahead.
 */
export type Expression =
  | { is: 'number'; value: number }
  | { is: 'price'; price: Price }
  | { is: 'call'; name: string; of: readonly Expression[]; lengths: readonly number[] }
  | { is: 'negative'; of: Expression }
  | Chain

/** Terms from left to right, so that a long sum is not a deep tree. */
export interface Chain {
  is: 'sum' | 'product'
  first: Expression
  /** One or more. */
  rest: readonly { sign: '+' | '-' | '*' | '/'; of: Expression }[]
}

export const PRICES = ['open', 'high', 'low', 'close', 'volume'] as const
export type Price = (typeof PRICES)[number]

/** Parses an expression. An error reports its column, the allowed words, and the nearest of them. */
export function parseExpression(text: string, origin: Origin = { param: 'of' }): Expression {
  return new Grammar(new Reader(text, origin, { hasTickers: false })).parse()
}

class Grammar {
  readonly #reader: Reader
  /** The form of the call that is being parsed, such as `sma(x, n)`, for hints; null outside of calls. */
  #signature: string | null = null

  constructor(reader: Reader) {
    this.#reader = reader
  }

  parse(): Expression {
    const expression = this.#sum()
    this.#reader.expectEnd(printExpression(expression))
    return expression
  }

  #sum(): Expression {
    return this.#chain('sum', ['+', '-'], () => this.#chain('product', ['*', '/'], () => this.#factor()))
  }

  /** Reads terms with signs between them. A single term is returned unchanged; a first of the same kind is joined. */
  #chain(kind: Chain['is'], signs: readonly ('+' | '-' | '*' | '/')[], readTerm: () => Expression): Expression {
    const first = readTerm()
    const rest: Chain['rest'][number][] = []
    for (let sign = this.#acceptSign(signs); sign !== undefined; sign = this.#acceptSign(signs))
      rest.push({ sign, of: readTerm() })
    if (rest.length === 0) return first
    if (first.is === kind) return { ...first, rest: [...first.rest, ...rest] }
    return { is: kind, first, rest }
  }

  /** Passes one of some signs, and returns it; undefined if the current word is none of them. */
  #acceptSign<Sign extends string>(signs: readonly Sign[]): Sign | undefined {
    // All signs are checked, so that an error names all of them.
    const [sign] = signs.filter(candidate => this.#reader.isNext(candidate))
    if (sign !== undefined) this.#reader.advance()
    return sign
  }

  #factor(): Expression {
    return this.#reader.accept('-') ? { is: 'negative', of: this.#atom() } : this.#atom()
  }

  /** A number, a price, a call, or an expression in brackets. */
  #atom(): Expression {
    const reader = this.#reader
    const { word } = reader
    const { kind, text, written } = word
    reader.allow('a number')
    reader.allow('a price', PRICES)
    reader.allow('a call', CALL_NAMES)
    if (reader.accept('(')) {
      // Within brackets an error does not show the signature of the call around them.
      const outer = this.#signature
      this.#signature = null
      const inner = reader.readNested(() => this.#sum(), word)
      reader.expect(')')
      this.#signature = outer
      return inner
    }
    if (kind === 'number') return this.#number()
    const price = PRICES.find(name => name === text)
    const call = kind === 'word' ? callNamed(text) : undefined
    if (kind === 'word' && price !== undefined) {
      reader.advance()
      return { is: 'price', price }
    }
    if (call === undefined) {
      const what = `there is no price and no call ${quoted(written)}`
      return reader.fail(kind === 'word' ? { what, ...this.#hint() } : this.#hint())
    }
    reader.advance()
    return reader.readNested(() => this.#arguments(text, call), word)
  }

  #number(): Expression {
    const value = Number(this.#reader.word.text)
    if (!Number.isFinite(value))
      return this.#reader.fail({ what: `${quoted(this.#reader.word.written)} is too great a number` })
    this.#reader.advance()
    return { is: 'number', value }
  }

  /** The arguments of a call, in brackets: columns, lengths, and an optional last number. */
  #arguments(name: string, call: Call): Expression {
    const reader = this.#reader
    const outer = this.#signature
    this.#signature = signatureOf(name, call)
    reader.expect('(', this.#hint())
    const of: Expression[] = []
    const lengths: number[] = []
    for (let i = 0; i < call.columns.length + call.lengths.length; i++) {
      if (i > 0) reader.expect(',', this.#hint())
      if (i < call.columns.length) of.push(this.#sum())
      else lengths.push(reader.readCount({ remarks: this.#hint() }))
    }
    if (call.optional !== undefined) {
      const defaultValue = call.optional.defaultOf(...lengths)
      const most = call.optional.maximumOf(...lengths)
      lengths.push(reader.accept(',') ? reader.readCount({ most, remarks: this.#hint() }) : defaultValue)
    }
    reader.expect(')', this.#hint())
    this.#signature = outer
    return { is: 'call', name, of, lengths }
  }

  /** The signature of the call that is being parsed, for an error message. */
  #hint(): { hint?: string } {
    return this.#signature === null ? {} : { hint: `The call is ${this.#signature}.` }
  }
}

/** The canonical text of an expression: lower case, one space around signs, no unnecessary brackets. */
export function printExpression(expression: Expression): string {
  switch (expression.is) {
    case 'number':
      return String(expression.value)
    case 'price':
      return expression.price
    case 'call':
      return printCall(expression)
    case 'negative':
      return `-${printAsPart(expression.of, ['negative', 'sum', 'product'])}`
    default: {
      const { is, first, rest } = expression
      // After a sign, a nested sum or product stays in brackets, so that the order of additions remains.
      const inBrackets: readonly Expression['is'][] = is === 'sum' ? ['sum'] : ['sum', 'product']
      const others = rest.map(({ sign, of }) => ` ${sign} ${printAsPart(of, inBrackets)}`)
      return `${printAsPart(first, inBrackets)}${others.join('')}`
    }
  }
}

/** The text of a part of an expression. @param inBrackets the kinds of parts that are put in brackets */
function printAsPart(expression: Expression, inBrackets: readonly Expression['is'][]): string {
  const text = printExpression(expression)
  return inBrackets.includes(expression.is) ? `(${text})` : text
}

/** The canonical text of a call. An optional last number that equals its default is left out. */
function printCall({ name, of, lengths }: Extract<Expression, { is: 'call' }>): string {
  const { optional } = callNamed(name)!
  let printedLengths = lengths
  if (optional !== undefined) {
    const required = lengths.slice(0, -1)
    const isDefault = lengths.at(-1) === optional.defaultOf(...required)
    if (isDefault) printedLengths = required
  }
  return `${name}(${[...of.map(printExpression), ...printedLengths].join(', ')})`
}

/** The parts of an expression, itself first, in the order of the text. */
export function* partsOf(expression: Expression): Generator<Expression> {
  yield expression
  for (const part of directPartsOf(expression)) yield* partsOf(part)
}

/** The operands or arguments of an expression. */
function directPartsOf(expression: Expression): readonly Expression[] {
  switch (expression.is) {
    case 'number':
    case 'price':
      return []
    case 'call':
      return expression.of
    case 'negative':
      return [expression.of]
    default:
      return [expression.first, ...expression.rest.map(({ of }) => of)]
  }
}

/** The first bar, from 0, on which an expression can have a value. */
export function warmUpOf(expression: Expression): number {
  const ownWarmUp = expression.is === 'call' ? callNamed(expression.name)!.warmUp(...expression.lengths) : 0
  return ownWarmUp + Math.max(0, ...directPartsOf(expression).map(warmUpOf))
}

/** The value of an expression on each bar, NaN where undefined; a value of bar t uses bars up to t. */
export function valuesOf(expression: Expression, series: Series): Float64Array {
  return new Evaluation(series).evaluate(expression)
}

/** The prices and calls of an expression on bar `t`, by canonical text, in their order; NaN where undefined. */
export function termReadings(expression: Expression, series: Series, t: number): Map<string, number> {
  const evaluation = new Evaluation(series)
  const terms = [...partsOf(expression)].filter(({ is }) => is === 'call' || is === 'price')
  return new Map(terms.map(term => [printExpression(term), evaluation.evaluate(term)[t]!]))
}

const OPERATIONS: Readonly<Record<Chain['rest'][number]['sign'], (x: number, y: number) => number>> = {
  '+': (x, y) => x + y,
  '-': (x, y) => x - y,
  '*': (x, y) => x * y,
  '/': (x, y) => x / y,
}

class Evaluation {
  readonly #series: Series
  /** Calls by their text; equal calls are computed once. */
  readonly #calls = new Map<string, Float64Array>()

  constructor(series: Series) {
    this.#series = series
  }

  /** The value of an expression on each bar. The caller must not change the array. */
  evaluate(expression: Expression): Float64Array {
    switch (expression.is) {
      case 'number':
        return column(this.#series.close.length).fill(expression.value)
      case 'price':
        return this.#series[expression.price]
      case 'call':
        return this.#evaluateCall(expression)
      case 'negative':
        return this.evaluate(expression.of).map(value => -value)
      default:
        return this.#evaluateChain(expression)
    }
  }

  #evaluateChain({ first, rest }: Chain): Float64Array {
    let values = this.evaluate(first)
    for (const { sign, of } of rest) values = undefineNonFinite(byBar(values, this.evaluate(of), OPERATIONS[sign]))
    return values
  }

  /** The value of a call on each bar. Equal calls are computed once. */
  #evaluateCall(call: Extract<Expression, { is: 'call' }>): Float64Array {
    const text = printExpression(call)
    let values = this.#calls.get(text)
    if (values === undefined) {
      const columns = call.of.map(argument => this.evaluate(argument))
      values = undefineNonFinite(callNamed(call.name)!.values(columns, call.lengths, this.#series))
      this.#calls.set(text, values)
    }
    return values
  }
}

/** Sets every value that is not finite to NaN, in place. */
function undefineNonFinite(values: Float64Array): Float64Array {
  for (let t = 0; t < values.length; t++) if (!Number.isFinite(values[t]!)) values[t] = Number.NaN
  return values
}
