import { BUILT_IN_FIELDS } from '../../../src/core/fields/index.js'
import { type Day, parseDay } from '../../../src/core/model/day.js'
import { firstBars, type Series, UNDEFINED } from '../../../src/core/model/series.js'
import type { RunOptions, Strategy } from '../../../src/core/params/strategy.js'
import { parseStrategyDocument } from '../../../src/core/params/strategy-file.js'
import type { MarketBars, PricedSource, States } from '../../../src/core/source.js'
import { fieldStates, marketFrom, pricesFrom, statesFrom } from '../../support/source.js'

/** Open, high, low, close. */
export type MadeBar = readonly [number, number, number, number]

export interface MadeTicker {
  bars: readonly MadeBar[]
  /** Band by bar, by field; `.` is none. One letter a bar, places in the vocabulary: `a` is its first band. */
  bands: Record<string, string>
  /** Date of the first bar; one bar a calendar day, or every so many. */
  start?: string
  every?: number
  delisting?: { day: string; price: number }
  barsAYear?: number
  adjustment?: MarketBars['adjustment']
}

/** A market of a few bars written by hand. */
export function madeMarket(tickers: Record<string, MadeTicker>): PricedSource {
  return marketFrom(
    Object.keys(tickers),
    ticker => barsOf(ticker, tickers[ticker]!),
    (ticker, field) => statesOf(ticker, field, tickers[ticker]!),
    { asOfDay: async () => null },
  )
}

/** The first bars of some daily series as a market: bands as the engine computes them, nothing about stability. */
export function seriesMarket(all: Record<string, Series>, bars = Number.MAX_SAFE_INTEGER): PricedSource {
  const known = new Map(Object.entries(all).map(([name, of]) => [name, firstBars(of, Math.min(bars, of.days.length))]))
  const computed = new Map<string, States>()
  return marketFrom(
    [...known.keys()],
    ticker => pricesFrom(ticker, known.get(ticker)!, { adjustment: 'raw' }),
    (ticker, field) => {
      const name = `${ticker} ${field}`
      const states = computed.get(name) ?? fieldStates(ticker, field, known.get(ticker)!)
      computed.set(name, states)
      return states
    },
  )
}

/** A run without draws or parts. */
export const PLAIN: RunOptions = {
  tier: null,
  reps: 0,
  split: null,
  walk_forward: null,
  embargo: null,
  min_trades: 0,
  monte_carlo: null,
  family: 'run',
}

/** A strategy on rsi_zone = deep_oversold (`a`), without costs, all of the equity in one position, unless told otherwise. */
export function strategyWith(document: Record<string, unknown> = {}): Strategy {
  return parseStrategyDocument({
    tickers: ['A'],
    entry: { field: 'rsi_zone', bands: ['deep_oversold'] },
    exit: { hold: 2 },
    costs: { bps: 0 },
    portfolio: { max_positions: 1 },
    ...document,
  })
}

/** Bars that stay at a price, of which some are replaced by place. */
export function flat(price: number, length: number, others: Record<number, MadeBar> = {}): MadeBar[] {
  return Array.from({ length }, (_, t) => others[t] ?? [price, price, price, price])
}

const START: Day = parseDay('2020-01-01')!

function barsOf(
  ticker: string,
  { bars, start, every = 1, delisting, barsAYear = 365, adjustment = 'adjusted' }: MadeTicker,
): MarketBars {
  const first = start === undefined ? START : parseDay(start)!
  const days = Int32Array.from(bars, (_, t) => first + t * every)
  const column = (place: 0 | 1 | 2 | 3): Float64Array => Float64Array.from(bars, bar => bar[place])
  const open = column(0)
  const high = column(1)
  const low = column(2)
  const close = column(3)
  const volume = new Float64Array(bars.length).fill(1)
  return pricesFrom(
    ticker,
    { timeframe: 'daily', days, known: days, open, high, low, close, volume },
    {
      barsAYear,
      adjustment,
      delisting: delisting === undefined ? null : { day: parseDay(delisting.day)!, price: delisting.price },
    },
  )
}

function statesOf(ticker: string, field: string, { bars, bands }: MadeTicker): States {
  const letters = (bands[field] ?? '').padEnd(bars.length, '.')
  const codes = Uint8Array.from(letters, letter => (letter === '.' ? UNDEFINED : letter.charCodeAt(0) - 97))
  return statesFrom({ ticker, field, timeframe: 'daily', bands: BUILT_IN_FIELDS.named(field)!.bands }, codes)
}

/** Type 7, from its definition: the value at a part of the way from the least to the greatest. */
export function quantileOf(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const place = p * (sorted.length - 1)
  const low = sorted[Math.floor(place)]!
  const high = sorted[Math.ceil(place)]!
  return low + (high - low) * (place - Math.floor(place))
}
