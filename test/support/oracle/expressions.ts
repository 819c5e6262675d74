/** Own-field arithmetic (section 3 of questions.md), every value of every bar from scratch; null is undefined. */
import type { Bar } from './bars.js'
import { equal, percentile as percentileOf, rank } from './tolerance.js'

export type Column = (number | null)[]

/** An expression as it is meant, whatever it looks like as a text. */
export type Formula =
  | number
  | 'open'
  | 'high'
  | 'low'
  | 'close'
  | 'volume'
  | { minus: Formula }
  | { left: Formula; sign: '+' | '-' | '*' | '/'; right: Formula }
  | { call: string; of: Formula[]; n: number[] }

export function column(formula: Formula, bars: Bar[]): Column {
  if (typeof formula === 'number') return bars.map(() => formula)
  if (typeof formula === 'string') return bars.map(bar => bar[formula])
  if ('minus' in formula) return column(formula.minus, bars).map(x => (x === null ? null : -x))
  if ('call' in formula) {
    const [x = [], y = []] = formula.of.map(of => column(of, bars))
    return CALLS[formula.call]!({ x, y, n: formula.n, bars }).map(finite)
  }
  const left = column(formula.left, bars)
  const right = column(formula.right, bars)
  return left.map((a, t) => {
    const b = right[t]!
    if (a === null || b === null) return null
    if (formula.sign === '+') return finite(a + b)
    if (formula.sign === '-') return finite(a - b)
    return finite(formula.sign === '*' ? a * b : a / b)
  })
}

/** A result that is not finite is undefined. */
function finite(x: number | null): number | null {
  return x !== null && Number.isFinite(x) ? x : null
}

interface Arguments {
  x: Column
  y: Column
  n: number[]
  bars: Bar[]
}

const CALLS: Record<string, (given: Arguments) => Column> = {
  sma: ({ x, n: [n] }) => windows(x, n!, mean),
  ema: ({ x, n: [n] }) => smoothed(x, n!, 2 / (n! + 1)),
  wilder: ({ x, n: [n] }) => smoothed(x, n!, 1 / n!),
  rsi: ({ x, n: [n] }) => {
    const change = x.map((now, t) => {
      const before = t === 0 ? null : x[t - 1]!
      return now === null || before === null ? null : now - before
    })
    const up = smoothed(
      change.map(c => (c === null ? null : Math.max(c, 0))),
      n!,
      1 / n!,
    )
    const down = smoothed(
      change.map(c => (c === null ? null : Math.max(-c, 0))),
      n!,
      1 / n!,
    )
    return up.map((u, t) => (u === null ? null : u + down[t]! === 0 ? 50 : (100 * u) / (u + down[t]!)))
  },
  atr: ({ bars, n: [n] }) => averageTrueRange(bars, n!),
  natr: ({ bars, n: [n] }) =>
    averageTrueRange(bars, n!).map((range, t) => (range === null ? null : range / bars[t]!.close)),
  macd: ({ x, n: [fast, slow] }) => {
    const one = smoothed(x, fast!, 2 / (fast! + 1))
    const other = smoothed(x, slow!, 2 / (slow! + 1))
    return one.map((value, t) => (value === null || other[t] === null ? null : value - other[t]!))
  },
  highest: ({ x, n: [n] }) => windows(x, n!, window => Math.max(...window)),
  lowest: ({ x, n: [n] }) => windows(x, n!, window => Math.min(...window)),
  volume_ratio: ({ bars, n: [n] }) =>
    bars.map((bar, t) => {
      if (t < n! || bar.volume === null) return null
      const before = bars.slice(t - n!, t).map(one => one.volume)
      if (before.includes(null)) return null
      const known = before as number[]
      return known.filter(volume => volume > 0).length < n! / 2 ? null : bar.volume / mean(known)
    }),
  slope: ({ x, n: [n] }) => windows(x, n!, window => leastSquares(window)),
  stochastic: ({ bars, n: [n, k] }) => {
    const places = bars.map((bar, t) => {
      if (t < n! - 1) return null
      const window = bars.slice(t - n! + 1, t + 1)
      const low = Math.min(...window.map(one => one.low))
      const high = Math.max(...window.map(one => one.high))
      return equal(high, low) ? 50 : (100 * (bar.close - low)) / (high - low)
    })
    return windows(places, k!, mean)
  },
  ago: ({ x, n: [n] }) => x.map((_, t) => (t < n! ? null : x[t - n!]!)),
  percentile: ({ x, n: [n, min = Math.ceil(n! / 5)] }) =>
    x.map((value, t) => {
      const set = x.slice(Math.max(0, t - n! + 1), t + 1).filter(one => one !== null)
      return value === null || set.length < min ? null : percentileOf(rank(value, set))
    }),
  ln: ({ x }) => x.map(value => (value === null ? null : Math.log(value))),
  abs: ({ x }) => x.map(value => (value === null ? null : Math.abs(value))),
  min: ({ x, y }) => x.map((a, t) => (a === null || y[t] === null ? null : Math.min(a, y[t]!))),
  max: ({ x, y }) => x.map((a, t) => (a === null || y[t] === null ? null : Math.max(a, y[t]!))),
}

/** A window is undefined when one of its values is. */
function windows(x: Column, n: number, of: (window: number[]) => number): Column {
  return x.map((_, t) => {
    const window = t < n - 1 ? [null] : x.slice(t - n + 1, t + 1)
    const known = window.filter(value => value !== null)
    return known.length < window.length ? null : of(known)
  })
}

/** Seed: the mean of the first n defined values; undefined on a bar whose input is, going on from the last value. */
function smoothed(x: Column, n: number, weight: number): Column {
  const seed: number[] = []
  let last: number | null = null
  return x.map(value => {
    if (value === null) return null
    if (last !== null) last += weight * (value - last)
    else if (seed.push(value) === n) last = mean(seed)
    return last
  })
}

function averageTrueRange(bars: Bar[], n: number): Column {
  const range = bars.map((bar, t) => {
    if (t === 0) return null
    const before = bars[t - 1]!.close
    return Math.max(bar.high - bar.low, Math.abs(bar.high - before), Math.abs(bar.low - before))
  })
  return smoothed(range, n, 1 / n)
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function leastSquares(y: number[]): number {
  const middle = (y.length - 1) / 2
  const level = mean(y)
  const moment = y.reduce((sum, value, i) => sum + (i - middle) * (value - level), 0)
  return moment / y.reduce((sum, _, i) => sum + (i - middle) ** 2, 0)
}
