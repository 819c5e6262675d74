import { UNDEFINED } from '../../../src/core/model/series.js'
import type { Listing } from './study-market.js'

/** A cell as its definition reads, bar by bar and without a thought of speed: what the real one is held against. */
export interface PlainTicker {
  ticker: string
  days: number[]
  close: number[]
  /** Bars that count: a band, and a window that has elapsed. */
  base: number[]
  events: number[]
  /** r_h by bar. */
  returns: number[]
  mean: number
}

export const average = (values: readonly number[]): number => values.reduce((sum, x) => sum + x, 0) / values.length

/** Tickers with events into band 2 of `made`, ascending. */
export function plainTickers(listings: readonly Listing[], h: number): PlainTicker[] {
  const all = listings.map(({ ticker, series, codes }) => {
    const close = [...series.close]
    const returns = close.map((price, t) => (close[t + h] ?? Number.NaN) / price - 1)
    const counts = (t: number): boolean => codes![t] !== UNDEFINED && !Number.isNaN(returns[t]!)
    const base = close.map((_, t) => t).filter(counts)
    const events = base.filter(t => codes![t] === 2 && codes![t - 1] !== 2 && codes![t - 1] !== UNDEFINED)
    return { ticker, days: [...series.days], close, base, events, returns, mean: average(base.map(t => returns[t]!)) }
  })
  return all.filter(({ events }) => events.length > 0).sort((a, b) => (a.ticker < b.ticker ? -1 : 1))
}

/** Days on which some ticker has a bar that counts. */
export function plainCalendar(tickers: readonly PlainTicker[]): number[] {
  const days = new Set(tickers.flatMap(({ days, base }) => base.map(t => days[t]!)))
  return [...days].sort((a, b) => a - b)
}

/** Joint circular shift over every shift from h to N - h: p of the mean of what the events land on. */
export function plainShift(tickers: readonly PlainTicker[], h: number): { shifts: number; p: number } {
  const calendar = plainCalendar(tickers)
  const N = calendar.length
  const placed = tickers.map(({ days, base, events, returns, mean }) => {
    const excess = new Map(base.map(t => [days[t]!, returns[t]! - mean]))
    return { excess, indices: events.map(t => calendar.indexOf(days[t]!)) }
  })
  const meanAt = (k: number): number =>
    average(
      placed.flatMap(({ excess, indices }) => indices.flatMap(place => excess.get(calendar[(place + k) % N]!) ?? [])),
    )
  const own = meanAt(0)
  let shifts = 0
  let exceeding = 0
  for (let k = h; k <= N - h; k++) {
    shifts++
    if (Math.abs(meanAt(k)) >= Math.abs(own) - 1e-15) exceeding++
  }
  return { shifts, p: (1 + exceeding) / (1 + shifts) }
}

/** By day of the calendar: events, and the sum of their excess. */
export function plainSeries(tickers: readonly PlainTicker[]): { count: number[]; sum: number[] } {
  const calendar = plainCalendar(tickers)
  const at = (day: number): number[] =>
    tickers.flatMap(({ days, events, returns, mean }) =>
      events.filter(t => days[t] === day).map(t => returns[t]! - mean),
    )
  return {
    count: calendar.map(day => at(day).length),
    sum: calendar.map(day => at(day).reduce((sum, x) => sum + x, 0)),
  }
}

/** t of Σ sum / Σ count with Bartlett weights. */
export function plainNeweyWest({ count, sum }: { count: number[]; sum: number[] }, lag: number): number {
  const n = count.reduce((total, x) => total + x, 0)
  const ratio = sum.reduce((total, x) => total + x, 0) / n
  const left = sum.map((value, i) => value - ratio * count[i]!)
  let variance = 0
  left.forEach((a, i) => {
    for (let j = Math.max(0, i - lag); j <= Math.min(i + lag, left.length - 1); j++)
      variance += (1 - Math.abs(i - j) / (lag + 1)) * a * left[j]!
  })
  return ratio / (Math.sqrt(variance) / n)
}

export function plainClusters(
  { count, sum }: { count: number[]; sum: number[] },
  block: number,
): [t: number, df: number] {
  const n = count.reduce((total, x) => total + x, 0)
  const ratio = sum.reduce((total, x) => total + x, 0) / n
  const blocks = new Map<number, { left: number; events: number }>()
  sum.forEach((value, i) => {
    const cluster = blocks.get(Math.floor(i / block)) ?? { left: 0, events: 0 }
    cluster.left += value - ratio * count[i]!
    cluster.events += count[i]!
    blocks.set(Math.floor(i / block), cluster)
  })
  const some = [...blocks.values()].filter(({ events }) => events > 0)
  const power = (k: number): number => some.reduce((total, { events }) => total + events ** k, 0)
  const equal = power(2) ** 2 / power(4)
  return [ratio / (Math.sqrt(some.reduce((total, { left }) => total + left ** 2, 0)) / n), equal - 1]
}

/** Positions open on each day, as what each earns beyond its ticker's mean one-bar return; days without any left out. */
export function plainHeld(tickers: readonly PlainTicker[], h: number): number[] {
  const held = new Map<number, number[]>()
  for (const { days, close, base, events } of tickers) {
    const moved = (t: number): number => close[t]! / close[t - 1]! - 1
    const usual = average(base.map(t => moved(t + 1)))
    for (const event of events)
      for (let t = event + 1; t <= event + h; t++) held.set(days[t]!, [...(held.get(days[t]!) ?? []), moved(t) - usual])
  }
  return [...held].sort(([a], [b]) => a - b).map(([, excess]) => average(excess))
}
