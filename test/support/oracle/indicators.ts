/** Section 1: every indicator by the names of the export, each mean from scratch, null where undefined. */
import { type Bar, SETTINGS, type Timeframe } from './bars.js'
import { levels } from './levels.js'
import { equal, percentile, type Rank, rank } from './tolerance.js'

export type Column = (number | null)[]

export const INDICATOR_NAMES = [
  'rsi',
  'atr',
  'natr',
  'natr_pct',
  'macd',
  'signal',
  'sma20',
  'sma50',
  'sma200',
  'slope20',
  'volume_ratio',
  'adl_slope',
  'adl_pct',
  'support_level',
  'resistance_level',
] as const

export type Indicators = Record<(typeof INDICATOR_NAMES)[number], Column>

/** The bars are already of that timeframe. One value a bar. */
export function indicators(bars: Bar[], timeframe: Timeframe): Indicators {
  const close = bars.map(bar => bar.close)
  const atr = smoothed(trueRange(bars), 14, wilder(14))
  const natr = atr.map((value, t) => (value === null ? null : value / close[t]!))
  const macd = minus(smoothed(close, 12, ema(12)), smoothed(close, 26, ema(26)))
  const adlSlope = bars.map((_, t) => adlSlopeAt(bars, t))
  return {
    rsi: rsi(close),
    atr,
    natr,
    natr_pct: rollingRanks(natr, timeframe).map(of => (of === null ? null : percentile(of))),
    macd,
    signal: smoothed(macd, 9, ema(9)),
    sma20: sma(close, 20),
    sma50: sma(close, 50),
    sma200: sma(close, 200),
    slope20: close.map((_, t) => (t < 19 ? null : slope(close.slice(t - 19, t + 1).map(Math.log)))),
    volume_ratio: bars.map((_, t) => volumeRatioAt(bars, t)),
    adl_slope: adlSlope,
    adl_pct: rollingRanks(adlSlope, timeframe).map(of => (of === null ? null : percentile(of))),
    support_level: levels(bars, atr, timeframe, 'support').map(state => state.level),
    resistance_level: levels(bars, atr, timeframe, 'resistance').map(state => state.level),
  }
}

/** x(t) among the defined values of the last `hist` bars, itself included, as a rank. */
export function rollingRanks(x: Column, timeframe: Timeframe): (Rank | null)[] {
  const { hist, minHist } = SETTINGS[timeframe]
  return x.map((value, t) => {
    if (value === null) return null
    const set = x.slice(Math.max(0, t - hist + 1), t + 1).filter(other => other !== null)
    return set.length < minHist ? null : rank(value, set)
  })
}

/** Least-squares slope of y on 0, 1, 2, … */
export function slope(y: number[]): number {
  const middle = (y.length - 1) / 2
  const level = mean(y)
  let above = 0
  let beneath = 0
  for (let i = 0; i < y.length; i += 1) {
    above += (i - middle) * (y[i]! - level)
    beneath += (i - middle) * (i - middle)
  }
  return above / beneath
}

function mean(x: number[]): number {
  let sum = 0
  for (const value of x) sum += value
  return sum / x.length
}

function sma(close: number[], n: number): Column {
  return close.map((_, t) => (t < n - 1 ? null : mean(close.slice(t - n + 1, t + 1))))
}

type Step = (previous: number, x: number) => number

const wilder =
  (n: number): Step =>
  (previous, x) =>
    previous + (x - previous) / n

const ema =
  (n: number): Step =>
  (previous, x) =>
    previous + (2 / (n + 1)) * (x - previous)

/** Seed: the mean of the first n defined values; then step by step. */
function smoothed(x: Column, n: number, step: Step): Column {
  const seeds: number[] = []
  let previous: number | null = null
  return x.map(value => {
    if (value === null) return null
    if (previous !== null) previous = step(previous, value)
    else if (seeds.push(value) === n) previous = mean(seeds)
    return previous
  })
}

function minus(a: Column, b: Column): Column {
  return a.map((value, t) => (value === null || b[t] === null ? null : value - b[t]!))
}

function rsi(close: number[]): Column {
  const up = close.map((c, t) => (t === 0 ? null : Math.max(c - close[t - 1]!, 0)))
  const down = close.map((c, t) => (t === 0 ? null : Math.max(close[t - 1]! - c, 0)))
  const u = smoothed(up, 14, wilder(14))
  const d = smoothed(down, 14, wilder(14))
  return u.map((value, t) => {
    if (value === null) return null
    return value + d[t]! === 0 ? 50 : (100 * value) / (value + d[t]!)
  })
}

export function trueRange(bars: Bar[]): Column {
  return bars.map(({ high, low }, t) => {
    if (t === 0) return null
    const before = bars[t - 1]!.close
    return Math.max(high - low, Math.abs(high - before), Math.abs(low - before))
  })
}

/** The volumes of bars from..to, or null when one is unknown. */
function volumes(bars: Bar[], from: number, to: number): number[] | null {
  const known = bars.slice(from, to + 1).flatMap(bar => (bar.volume === null ? [] : [bar.volume]))
  return known.length === to - from + 1 ? known : null
}

function fewerThanHalfPositive(volume: number[]): boolean {
  return volume.filter(v => v > 0).length < volume.length / 2
}

function volumeRatioAt(bars: Bar[], t: number): number | null {
  const today = bars[t]!.volume
  const before = t < 50 ? null : volumes(bars, t - 50, t - 1)
  if (today === null || before === null || fewerThanHalfPositive(before)) return null
  return today / mean(before)
}

function adlSlopeAt(bars: Bar[], t: number): number | null {
  const volume = t < 19 ? null : volumes(bars, t - 19, t)
  if (volume === null || fewerThanHalfPositive(volume)) return null
  const y = [0]
  for (let s = t - 18; s <= t; s += 1) y.push(y.at(-1)! + moneyFlowVolume(bars[s]!))
  return slope(y) / mean(volume)
}

function moneyFlowVolume({ high, low, close, volume }: Bar): number {
  return equal(high, low) ? 0 : ((close - low - (high - close)) / (high - low)) * volume!
}
