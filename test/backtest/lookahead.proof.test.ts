import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TECHNICAL_FIELDS } from '../../src/core/fields/index.js'
import { type Day, formatDay, weekdayOf } from '../../src/core/model/day.js'
import { firstBars, type Series, STABILITIES } from '../../src/core/model/series.js'
import { parseStrategyDocument } from '../../src/core/params/strategy-file.js'
import type { PricedSource, States } from '../../src/core/source.js'
import { Random } from '../../src/core/statistics/random.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import type { Backtest } from '../../src/research/backtest/result.js'
import { type Listing, marketOf } from '../study/support/study-market.js'
import { draws, FULL, QUICK } from '../support/full.js'
import { nullMarket } from '../support/null-markets.js'
import { PLAIN } from './support/made-market.js'

const LISTINGS: Listing[] = nullMarket(20261121, { walk: 'garch', tickers: 3, bars: 420 })
const DAYS = LISTINGS[0]!.series.days
const NAMES = LISTINGS.map(({ ticker }) => ticker)

/** What may become of the bars after a day. */
const FUTURES = {
  multiplied: (series: Series, from: number) => changed(series, from, (column, t) => column[t]! * factorOf(t - from)),
  reversed: (series: Series, from: number) =>
    changed(series, from, (column, t) => column[column.length - 1 - (t - from)]!),
  cut: (series: Series, from: number) => firstBars(series, from),
}

describe('a strategy of any rules', () => {
  const found = { trades: 0, open: 0 }

  it('does up to a day what it does whatever comes after it', async () => {
    await fc.assert(
      fc.asyncProperty(strategies(), last(), future(), async (document, bar, kind) => {
        // Which of many draws is shown hangs on the end of all of them: here each strategy makes one.
        const strategy = parseStrategyDocument({
          ...document,
          portfolio: { ...(document.portfolio as object), shuffle: true },
        })
        const t = strategy.timeframe === 'weekly' ? endOfWeek(bar) : bar
        const changedBars = LISTINGS.map(listing => ({ ...listing, series: FUTURES[kind](listing.series, t + 1) }))
        const [now, other] = await Promise.all(
          [LISTINGS, changedBars].map(listings => backtest(marketOf(listings), strategy, PLAIN)),
        )
        const then = doneBy(now!, DAYS[t]!)
        found.trades += then.closed.length
        found.open += then.entries.length - then.closed.length
        expect(doneBy(other!, DAYS[t]!)).toEqual(then)
      }),
      { numRuns: draws(150), seed: 20261121 },
    )
    expect(found.trades).toBeGreaterThan(FULL ? 500 : 0)
    expect(found.open).toBeGreaterThan(FULL ? 50 : 0)
  })

  it('enters only after the close of its signal, at a price of the bar that it waits for', async () => {
    await fc.assert(
      fc.asyncProperty(strategies(), async document => {
        const strategy = parseStrategyDocument({ ...document, timeframe: 'daily' })
        const { trades } = await backtest(marketOf(LISTINGS), strategy, PLAIN)
        for (const { ticker, signal_date, entry_date, entry_price, exit_date } of trades) {
          const { days, open, close } = LISTINGS.find(listing => listing.ticker === ticker)!.series
          const signal = days.findIndex(day => formatDay(day) === signal_date)
          const at = strategy.fill === 'close' ? signal : signal + 1
          expect(formatDay(days[at]!)).toBe(entry_date)
          expect(entry_price).toBe(strategy.fill === 'next-open' ? open[at] : close[at])
          expect(exit_date >= entry_date).toBe(true)
        }
      }),
      { numRuns: draws(40), seed: 20261121 },
    )
  })

  it('has no signal while nothing has happened', async () => {
    const t = 300
    const still = LISTINGS.map(listing => ({ ...listing, series: stillUntil(listing.series, t) }))
    for (const { name, bands } of TECHNICAL_FIELDS) {
      const exit = { hold: 3 }
      const document = { tickers: NAMES, entry: { field: name, bands: [...bands] }, exit, costs: { bps: 0 } }
      const { trades, skipped } = await backtest(marketOf(still), parseStrategyDocument(document), PLAIN)
      const dates = [...trades.map(({ signal_date }) => signal_date), ...skipped.map(({ date }) => date)]
      expect(
        dates.filter(date => date < formatDay(DAYS[t]!)),
        name,
      ).toEqual([])
    }
  })

  it('would be caught if its bands knew the next bar', async () => {
    const document = {
      tickers: NAMES,
      entry: { field: 'rsi_zone' },
      exit: { hold: 2 },
      portfolio: { max_positions: 50 },
    }
    const differences = []
    for (let t = 100; t < 400; t += QUICK ? 30 : 10) {
      const cut = LISTINGS.map(listing => ({ ...listing, series: firstBars(listing.series, t + 1) }))
      const [whole, known] = await Promise.all(
        [LISTINGS, cut].map(listings =>
          backtest(peeking(listings), parseStrategyDocument({ ...document, fill: 'close' }), PLAIN),
        ),
      )
      if (JSON.stringify(doneBy(whole!, DAYS[t]!)) !== JSON.stringify(doneBy(known!, DAYS[t]!))) differences.push(t)
    }
    expect(differences.length).toBeGreaterThan(3)
  })
})

/** All that was settled by the close of a day: trades closed, entries made, equity. */
function doneBy({ trades, equity }: Backtest, day: Day) {
  const date = formatDay(day)
  return {
    closed: trades.filter(trade => trade.exit !== 'open' && trade.exit_date <= date),
    entries: trades
      .filter(({ entry_date }) => entry_date <= date)
      .map(({ ticker, signal_date, band, prev_band, context_band, entry_date, entry_price, shares, invested }) => {
        return { ticker, signal_date, band, prev_band, context_band, entry_date, entry_price, shares, invested }
      }),
    equity: equity.filter(point => point.date <= date),
  }
}

function strategies(): fc.Arbitrary<Record<string, unknown>> {
  const some = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 1 })
  const banded = fc
    .constantFrom(...TECHNICAL_FIELDS)
    .chain(field =>
      fc.record({ field: fc.constant(field.name), bands: fc.subarray([...field.bands], { minLength: 1 }) }),
    )
  const distance = some(fc.constantFrom<number | string>(0.01, 0.03, '1atr', '2.5atr'))
  return fc.record({
    tickers: fc.subarray(NAMES, { minLength: 1 }),
    timeframe: fc.constantFrom('daily', 'daily', 'daily', 'weekly'),
    side: fc.constantFrom('long', 'short'),
    fill: fc.constantFrom('next-open', 'next-close', 'close'),
    entry: fc
      .tuple(banded, some(fc.subarray([...STABILITIES], { minLength: 2 })), some(fc.nat(4)), some(banded), fc.nat(1))
      .map(([{ field, bands }, stability, max_flips, context, lag]) => ({
        field,
        bands: bands.length > 1 ? bands : undefined,
        stability,
        max_flips,
        context: context && { ...context, ticker: 'MKT', lag },
      })),
    exit: fc.record({
      hold: fc.integer({ min: 2, max: 60 }),
      leave: fc.boolean(),
      on: some(banded),
      stop: distance,
      target: distance,
      trailing: distance,
    }),
    overlap: fc.constantFrom('skip', 'allow', 'extend'),
    costs: fc.record({ bps: fc.nat(20), borrow: fc.constantFrom(0, 0.05), fixed: fc.constantFrom(0, 0.001) }),
    portfolio: fc.record({
      max_positions: fc.integer({ min: 1, max: 6 }),
      shuffle: fc.boolean(),
      size: fc.constantFrom<unknown>(
        'equal',
        { method: 'fixed-fraction', fraction: 0.2 },
        { method: 'vol-target', target: 0.1 },
      ),
      cash_rate: fc.constantFrom(0, 0.03),
    }),
    rank: fc.constantFrom(undefined, 'rsi_zone', '-volatility_regime', 'rsi(close, 5)', '-slope(ln(close), 10)'),
    seed: fc.nat(99),
  })
}

function last(): fc.Arbitrary<number> {
  return fc.integer({ min: 60, max: DAYS.length - 10 })
}

function future(): fc.Arbitrary<keyof typeof FUTURES> {
  return fc.constantFrom(...(Object.keys(FUTURES) as (keyof typeof FUTURES)[]))
}

/** The last bar of a week: later bars of it would change the weekly one. */
function endOfWeek(bar: number): number {
  let t = bar
  while (weekdayOf(DAYS[t]!) !== 4) t++
  return t
}

/** Prices from a bar on replaced; within a bar all by the same. */
function changed(series: Series, from: number, at: (column: Float64Array, t: number) => number): Series {
  const { open, high, low, close, volume } = series
  const column = (values: Float64Array) => values.map((value, t) => (t < from ? value : at(values, t)))
  return { ...series, open: column(open), high: column(high), low: column(low), close: column(close), volume }
}

function factorOf(bar: number): number {
  return Math.exp(0.3 * new Random(bar).normal())
}

/** One price and volume up to a bar. */
function stillUntil(series: Series, t: number): Series {
  const { open, high, low, close, volume } = series
  const column = (values: Float64Array) => values.map((value, i) => (i < t ? close[t]! : value))
  return {
    ...series,
    open: column(open),
    high: column(high),
    low: column(low),
    close: column(close),
    volume: volume.map((value, i) => (i < t ? 1e6 : value)),
  }
}

/** Events a bar before they happen. */
function peeking(listings: readonly Listing[]): PricedSource {
  const market = marketOf(listings)
  return {
    ...market,
    async *states(query) {
      const early = (of: States): States => ({
        ...of,
        codes: ahead(of.codes),
        bars: of.bars.map(bar => Math.max(0, bar - 1)),
      })
      for await (const { prices, states } of market.states(query)) yield { prices, states: states.map(early) }
    },
  }
}

function ahead(codes: Uint8Array): Uint8Array {
  return codes.map((code, t) => codes[t + 1] ?? code)
}
