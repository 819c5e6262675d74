import { column } from '../indicators/columns.js'
import type { Series } from '../model/series.js'
import { byBar, callNamed } from './calls.js'
import { type Chain, type Expression, partsOf, printExpression } from './expression.js'

/** The value of an expression on each bar, NaN where it is undefined; a value of bar t uses bars up to t. */
export function valuesOf(expression: Expression, series: Series): Float64Array {
  return new Evaluation(series).of(expression)
}

/** What a price or a call in an expression is on one bar. */
export interface TermReading {
  /** As printed. */
  term: string
  /** null where undefined */
  value: number | null
}

/** The prices and calls of an expression on bar `t`, each once, in the order of the text. */
export function termReadings(expression: Expression, series: Series, t: number): TermReading[] {
  const evaluation = new Evaluation(series)
  const readings = new Map<string, TermReading>()
  for (const part of partsOf(expression)) {
    if (part.is !== 'call' && part.is !== 'price') continue
    const value = evaluation.of(part)[t]!
    const term = printExpression(part)
    readings.set(term, { term, value: Number.isNaN(value) ? null : value })
  }
  return [...readings.values()]
}

const OPERATIONS: Readonly<Record<Chain['rest'][number]['sign'], (x: number, y: number) => number>> = {
  '+': (x, y) => x + y,
  '-': (x, y) => x - y,
  '*': (x, y) => x * y,
  '/': (x, y) => x / y,
}

class Evaluation {
  readonly #series: Series
  /** Calls by their text: the same one is made once. */
  readonly #calls = new Map<string, Float64Array>()

  constructor(series: Series) {
    this.#series = series
  }

  /** A column that nobody may change. */
  of(expression: Expression): Float64Array {
    switch (expression.is) {
      case 'number':
        return column(this.#series.close.length).fill(expression.value)
      case 'price':
        return this.#series[expression.price]
      case 'call':
        return this.#call(expression)
      case 'negative':
        return this.of(expression.of).map(value => -value)
      default:
        return this.#chain(expression)
    }
  }

  #chain({ first, rest }: Chain): Float64Array {
    let values = this.of(first)
    for (const { sign, of } of rest) values = finite(byBar(values, this.of(of), OPERATIONS[sign]))
    return values
  }

  #call(call: Extract<Expression, { is: 'call' }>): Float64Array {
    const text = printExpression(call)
    let values = this.#calls.get(text)
    if (values === undefined) {
      const columns = call.of.map(one => this.of(one))
      values = finite(callNamed(call.name)!.values(columns, call.lengths, this.#series))
      this.#calls.set(text, values)
    }
    return values
  }
}

/** In place: a result that is not finite is undefined. */
function finite(values: Float64Array): Float64Array {
  for (let t = 0; t < values.length; t++) if (!Number.isFinite(values[t]!)) values[t] = Number.NaN
  return values
}
