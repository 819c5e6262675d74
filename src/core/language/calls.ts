import { atr, ema, natr, rawStochastic, rsi, slope, sma, wilder } from '../indicators/averages.js'
import { column, columnWithNaN, highest, laggedValues, lowest } from '../indicators/columns.js'
import { percentile, rollingRanks } from '../indicators/rank.js'
import { volumeRatio } from '../indicators/volume.js'
import type { Series } from '../model/series.js'

/**
 * The functions of expressions, one row each. They make a column of columns, NaN where undefined. A value of bar t uses
 * bars up to t. A window is undefined if one of its values is. Running values skip undefined bars.
 */
export interface Call {
  /** The first arguments: expressions, by the names that the page shows. */
  columns: readonly string[]
  /** The next arguments: integers. */
  lengths: readonly string[]
  /** An optional last number, with its default and maximum. */
  optional?: { name: string; defaultOf: (...lengths: number[]) => number; maximumOf: (...lengths: number[]) => number }
  /** Number of bars by which it starts later than its columns. */
  warmUp: (...lengths: number[]) => number
  values: (columns: readonly Float64Array[], lengths: readonly number[], series: Series) => Float64Array
}

type ColumnFunction = (x: Float64Array, n: number) => Float64Array

/** A function of one column and one length. */
const columnCall = (values: ColumnFunction, warmUp = (n: number): number => n - 1): Call => ({
  columns: ['x'],
  lengths: ['n'],
  warmUp: n => warmUp(n!),
  values: ([x], [n]) => values(x!, n!),
})

/** A function of the bars themselves. */
const barsCall = (values: (series: Series, n: number) => Float64Array): Call => ({
  columns: [],
  lengths: ['n'],
  warmUp: n => n!,
  values: (_, [n], series) => values(series, n!),
})

/** A function of the values on one bar. */
const barByBarCall = (columns: readonly string[], value: (x: number, y: number) => number): Call => ({
  columns,
  lengths: [],
  warmUp: () => 0,
  values: ([x, y = x]) => byBar(x!, y!, value),
})

const CALLS = {
  sma: columnCall((x, n) => applyToRuns(x, run => movingAverages(run, n))),
  ema: columnCall((x, n) => applyToDefined(x, defined => ema(defined, n))),
  wilder: columnCall((x, n) => applyToDefined(x, defined => wilder(defined, n))),
  rsi: columnCall(
    (x, n) => (x.includes(Number.NaN) ? rsiWithGaps(x, n) : rsi(x, n)),
    n => n,
  ),
  atr: barsCall(({ high, low, close }, n) => atr(high, low, close, n)),
  natr: barsCall(({ high, low, close }, n) => natr(atr(high, low, close, n), close)),
  macd: {
    columns: ['x'],
    lengths: ['fast', 'slow'],
    warmUp: (fast, slow) => Math.max(fast!, slow!) - 1,
    values: ([x], [fast, slow]) =>
      applyToDefined(x!, defined => byBar(ema(defined, fast!), ema(defined, slow!), (a, b) => a - b)),
  },
  highest: columnCall((x, n) => applyToRuns(x, run => highest(run, n))),
  lowest: columnCall((x, n) => applyToRuns(x, run => lowest(run, n))),
  volume_ratio: barsCall(({ volume }, n) => volumeRatio(volume, { length: n, minPositive: Math.ceil(n / 2) })),
  slope: columnCall(
    (x, n) => slope(x, n),
    // One bar has no slope.
    n => (n === 1 ? Number.POSITIVE_INFINITY : n - 1),
  ),
  stochastic: {
    columns: [],
    lengths: ['n', 'k'],
    warmUp: (n, k) => n! + k! - 2,
    values: (_, [n, k], { high, low, close }) =>
      applyToRuns(rawStochastic(high, low, close, n!), run => movingAverages(run, k!)),
  },
  ago: columnCall(laggedValues, n => n),
  percentile: {
    columns: ['x'],
    lengths: ['n'],
    optional: { name: 'min', defaultOf: n => Math.ceil(n! / 5), maximumOf: n => n! },
    warmUp: (_, min) => min! - 1,
    values: ([x], [n, min]) => {
      const { rank, size } = rollingRanks(x!, n!, min!)
      return Float64Array.from(rank, (of, t) => percentile(of, size[t]!))
    },
  },
  ln: barByBarCall(['x'], x => Math.log(x)),
  abs: barByBarCall(['x'], x => Math.abs(x)),
  min: barByBarCall(['x', 'y'], (x, y) => Math.min(x, y)),
  max: barByBarCall(['x', 'y'], (x, y) => Math.max(x, y)),
} satisfies Readonly<Record<string, Call>>

const CALLS_BY_NAME: ReadonlyMap<string, Call> = new Map(Object.entries(CALLS))

export const CALL_NAMES: readonly string[] = [...CALLS_BY_NAME.keys()]

export function callNamed(name: string): Call | undefined {
  return CALLS_BY_NAME.get(name)
}

/** `percentile(x, n, min)`, with optional arguments in brackets. */
export function signatureOf(name: string, { columns, lengths, optional }: Call): string {
  const last = optional === undefined ? '' : `[, ${optional.name}]`
  return `${name}(${[...columns, ...lengths].join(', ')}${last})`
}

/** A value for each bar, computed from the values of two columns on it. */
export function byBar(x: Float64Array, y: Float64Array, value: (x: number, y: number) => number): Float64Array {
  const values = column(x.length)
  for (let t = 0; t < values.length; t++) values[t] = value(x[t]!, y[t]!)
  return values
}

/** Computes each run of defined values by itself, so that a window with an undefined value is undefined. */
function applyToRuns(x: Float64Array, compute: (run: Float64Array) => Float64Array): Float64Array {
  if (!x.includes(Number.NaN)) return compute(x)
  const values = columnWithNaN(x.length)
  for (let from = 0; from < x.length; ) {
    let to = from
    while (to < x.length && !Number.isNaN(x[to]!)) to++
    if (to > from) values.set(compute(x.subarray(from, to)), from)
    from = to + 1
  }
  return values
}

/** Computes the defined values as one sequence; undefined values stay undefined. */
function applyToDefined(x: Float64Array, compute: (defined: Float64Array) => Float64Array): Float64Array {
  if (!x.includes(Number.NaN)) return compute(x)
  const computed = compute(x.filter(value => !Number.isNaN(value)))
  const values = columnWithNaN(x.length)
  let next = 0
  for (let t = 0; t < x.length; t++) if (!Number.isNaN(x[t]!)) values[t] = computed[next++]!
  return values
}

/** Simple moving averages; an overflowing sum does not affect the windows after it. */
function movingAverages(run: Float64Array, n: number): Float64Array {
  const values = sma(run, n)
  for (let t = n - 1; t < run.length; t++) {
    if (Number.isFinite(values[t]!)) continue
    let sum = 0
    for (let i = t - n + 1; i <= t; i++) sum += run[i]!
    values[t] = sum / n
  }
  return values
}

/** Relative strength index with missing changes: the known changes are smoothed in sequence. */
function rsiWithGaps(x: Float64Array, n: number): Float64Array {
  const changes = byBar(x, laggedValues(x, 1), (now, before) => now - before)
  return applyToDefined(changes, defined => {
    const gains = defined.map(change => Math.max(change, 0))
    const losses = defined.map(change => Math.max(-change, 0))
    const strength = (gain: number, loss: number): number => (gain + loss === 0 ? 50 : (100 * gain) / (gain + loss))
    return byBar(wilder(gains, n), wilder(losses, n), strength)
  })
}
