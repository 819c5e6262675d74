import type { Random } from '../../src/core/statistics/random.js'
import type { Formula } from './oracle/expressions.js'
import { chance, pick } from './random-facts.js'

/** Columns, and the lengths that a call takes, by its name; `min` may be left out. */
const TAKES: Readonly<Record<string, readonly [columns: number, lengths: number, optional?: boolean]>> = {
  sma: [1, 1],
  ema: [1, 1],
  wilder: [1, 1],
  rsi: [1, 1],
  atr: [0, 1],
  natr: [0, 1],
  macd: [1, 2],
  highest: [1, 1],
  lowest: [1, 1],
  volume_ratio: [0, 1],
  slope: [1, 1],
  stochastic: [0, 2],
  ago: [1, 1],
  percentile: [1, 1, true],
  ln: [1, 0],
  abs: [1, 0],
  min: [2, 0],
  max: [2, 0],
}

export const CALLED: readonly string[] = Object.keys(TAKES)

export const PRICES = ['open', 'high', 'low', 'close', 'volume'] as const

/** A call with random lengths up to `longest`, of columns that `of` draws. */
export function randomCall(random: Random, call: string, longest: number, of: () => Formula): Formula {
  const [columns, lengths, optional] = TAKES[call]!
  const n = Array.from({ length: lengths }, () => pick(random, [1, 2, 3, 1 + random.below(longest)]))
  if (optional && chance(random, 0.5)) n.push(1 + random.below(n[0]!))
  return { call, of: Array.from({ length: columns }, of), n }
}

/** Any expression of at most so many levels. */
export function randomFormula(random: Random, levels: number, longest: number): Formula {
  const inner = (): Formula => randomFormula(random, levels - 1, longest)
  if (levels === 0 || chance(random, 0.15))
    return chance(random, 0.2) ? pick(random, [1, 2, 0.5, 100, 1e-9, 3]) : pick(random, PRICES)
  const kind = random.uniform()
  if (kind < 0.1) return { minus: inner() }
  if (kind < 0.5) return { left: inner(), sign: pick(random, ['+', '-', '*', '/'] as const), right: inner() }
  return randomCall(random, pick(random, CALLED), longest, inner)
}

/** As somebody might write it. */
export function spelledOut(formula: Formula, random: Random): string {
  const gap = (): string => pick(random, ['', ' ', ' ', '\n'])
  if (typeof formula === 'number') return pick(random, [String(formula), formula.toExponential()])
  if (typeof formula === 'string') return chance(random, 0.1) ? formula.toUpperCase() : formula
  const part = (one: Formula, tight: boolean): string => {
    const text = spelledOut(one, random)
    const isCompound = typeof one === 'object' && !('call' in one)
    return (tight && isCompound) || chance(random, 0.1) ? `(${gap()}${text}${gap()})` : text
  }
  if ('minus' in formula) return `-${gap()}${part(formula.minus, true)}`
  if ('call' in formula) {
    const given = [...formula.of.map(one => part(one, false)), ...formula.n.map(String)]
    return `${formula.call}${gap()}(${given.map(one => `${gap()}${one}${gap()}`).join(',')})`
  }
  const { left, sign, right } = formula
  const isSum = sign === '+' || sign === '-'
  const leftIsLoose = typeof left === 'object' && 'sign' in left && (isSum || left.sign === '*' || left.sign === '/')
  const rightIsLoose =
    typeof right === 'object' && 'sign' in right && isSum && (right.sign === '*' || right.sign === '/')
  return `${part(left, !leftIsLoose)}${gap()}${sign}${gap()}${part(right, !rightIsLoose)}`
}
