import fc from 'fast-check'
import { expect, it } from 'vitest'
import { record } from '../../src/core/engine/record.js'
import { BUILT_IN_FIELDS, TECHNICAL_FIELDS } from '../../src/core/fields/index.js'
import { type Day, parseDay } from '../../src/core/model/day.js'
import type { HistoricEvent } from '../../src/core/model/event.js'
import { type AssetClass, barsKnownBy, type SeriesRecord } from '../../src/core/model/series.js'
import { TIMEFRAMES, type Timeframe } from '../../src/core/model/terms.js'
import { historicEvents, type View, viewOf } from '../../src/data/local/view.js'
import type { TickerEntry } from '../../src/data/store/store.js'
import { loadPrices, loadUniverse, randomBars, SHAPES, SHARED } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { draws, FULL, QUICK } from '../support/full.js'
import { type Bar, type Event, eventsOfEveryField, type Options } from '../support/oracle/index.js'

/** What a random series is made from; a failure prints it. */
export interface Draw {
  shape: string
  seed: number
  length: number
}

export function barsOfDraw({ shape, seed, length }: Draw): Bar[] {
  return randomBars(seed, { ...SHAPES[shape]!, length })
}

/** Runs a check on random series of all shapes, always the same ones; fast-check prints and shrinks what fails. */
export function forRandomBars(
  { runs, longest, shortest = 1 }: { runs: number; longest: number; shortest?: number },
  check: (bars: Bar[], draw: Draw) => void,
): void {
  const drawn = fc.record({
    shape: fc.constantFrom(...Object.keys(SHAPES)),
    seed: fc.nat(1_000_000),
    length: fc.integer({ min: shortest, max: longest }),
  })
  fc.assert(
    fc.property(drawn, draw => check(barsOfDraw(draw), draw)),
    { numRuns: draws(runs), seed: 20_240_229 },
  )
}

/** Registers a check on every real stretch, and one on random series; `seed` is for the check's own choices. */
export function everywhere(
  check: (bars: Bar[], what: string, seed: number) => void,
  { runs = 26, longest = 1_000 } = {},
): void {
  onRealBars((bars, name) => check(bars, name, 1))
  it('random bars', () => {
    forRandomBars({ runs, longest }, (bars, { shape, seed }) => check(bars, `shape ${shape}, seed ${seed}`, seed))
  })
}

/**
 * Registers a check on real stretches that each bring a trouble: seven days a week, a crash of 98 %, no volume for two
 * years, highs equal to lows, holes, a short listing. A smoke takes the shortest.
 */
export function onRealBars(check: (bars: Bar[], name: string) => void): void {
  if (SHARED === null) it.skip('real bars (skipped: the folder of shared data is absent)')
  else
    it.each(FULL ? STRETCHES : STRETCHES.slice(0, 1))('%s', (name, load) => {
      const bars = load()!
      check(QUICK ? bars.slice(-LAST_IN_QUICK) : bars, name)
    })
}

const LAST_IN_QUICK = 400

const STRETCHES: [string, () => Bar[] | null][] = [
  ['APTV', () => loadUniverse('APTV')],
  ['MSFT 1990-1995', () => loadPrices('MSFT')?.slice(0, 1_400) ?? null],
  ['AAPL', () => loadPrices('AAPL')],
  ['BTCUSD', () => loadPrices('BTCUSD')],
  ['AIG 2005-2011', () => loadPrices('AIG')?.slice(1_800, 3_400) ?? null],
  ['GSPC 1958-1966', () => loadPrices('GSPC_1950_2012')?.slice(2_200, 4_200) ?? null],
  ['BMY', () => loadUniverse('BMY')],
]

/** Compares the engine with the oracle on one ticker, event by event; returns how many events there were. */
export function expectOracle(bars: Bar[], timeframe: Timeframe, what: string, options: Options = {}): number {
  const own = shown(recording(bars, options.assetClass), timeframe, options.asOf)
  const theirs: Shown = eventsOfEveryField(bars, timeframe, options)
  expectSame(own, theirs, `${what}, ${timeframe}`)
  return count(theirs)
}

export function count(events: Shown): number {
  return Object.values(events).reduce((sum, list) => sum + list.length, 0)
}

/** Fails at the first event that differs; raw returns and percentiles may differ by rounding (1e-12). */
export function expectSame(own: Shown, theirs: Shown, what: string): void {
  expect(Object.keys(own), what).toEqual(Object.keys(theirs))
  for (const [field, events] of Object.entries(theirs)) {
    for (const [i, event] of events.entries()) {
      const mine = own[field]![i]
      if (mine === undefined || !sameEvent(mine, event)) expect(mine, `${what}, ${field}, event ${i}`).toEqual(event)
    }
    expect(own[field]!.length, `${what}, ${field}: number of events`).toBe(events.length)
  }
}

function sameEvent(a: Event, b: Event): boolean {
  return (
    a.date === b.date &&
    a.band === b.band &&
    a.prev_band === b.prev_band &&
    a.stability_at_entry === b.stability_at_entry &&
    a.flips_recent_at_entry === b.flips_recent_at_entry &&
    a.flips_lookback === b.flips_lookback &&
    a.duration === b.duration &&
    sameWindows(a.aftermath, b.aftermath, (x, y) => x === y) &&
    sameWindows(a.returns, b.returns, near) &&
    sameWindows(a.percentiles, b.percentiles, near)
  )
}

function sameWindows<T>(a: Record<string, T>, b: Record<string, T>, same: (x: T, y: T) => boolean): boolean {
  const windows = Object.keys(b)
  return (
    windows.length === Object.keys(a).length && windows.every(window => window in a && same(a[window]!, b[window]!))
  )
}

function near(x: number | null, y: number | null): boolean {
  if (x === null || y === null) return x === y
  return Math.abs(x - y) <= 1e-12 * Math.max(1, Math.abs(x), Math.abs(y))
}

/** All that was recorded of one ticker, ready to be viewed as of any day without a store. */
export interface Recording {
  entry: TickerEntry
  daily: SeriesRecord
  weekly: SeriesRecord
}

/** Field → its events as a view shows them, oldest first. */
export type Shown = Record<string, Event[]>

/** Runs the engine over daily bars, which are at least one. */
export function recording(bars: readonly Bar[], assetClass?: AssetClass): Recording {
  const series = seriesOf(bars)
  const entry: TickerEntry = {
    ticker: 'SIM0001',
    assetClass: assetClass ?? null,
    prices: 'raw',
    bars: bars.length,
    first: series.days[0]!,
    last: series.days.at(-1)!,
    source: 'a test',
    format: 'rows',
    importedAt: '2024-01-01T00:00:00.000Z',
  }
  return { entry, ...record(series, assetClass) }
}

/** One field of a recording as it stood on a day; without one, as its own last bar shows it. */
export function viewIn(recorded: Recording, timeframe: Timeframe, field: string, asOf: Day | null = null): View {
  const { series, outcomes, fields } = recorded[timeframe]
  const { days, known } = series
  const one = {
    entry: recorded.entry,
    calendar: { days, known },
    outcomes,
    field: fields.get(field) ?? null,
    unsettled: [],
  }
  const bars = barsKnownBy(series, asOf ?? recorded.entry.last)
  return viewOf(one, timeframe, BUILT_IN_FIELDS.named(field)!.bands, bars)
}

/** Every technical field's events of a recording as it stood on a date, in the words of the oracle. */
export function shown(recorded: Recording, timeframe: Timeframe, asOf?: string): Shown {
  const day = asOf === undefined ? null : parseDay(asOf)
  const events: Shown = {}
  for (const { name: field } of TECHNICAL_FIELDS) {
    const view = viewIn(recorded, timeframe, field, day)
    events[field] = historicEvents(view).map(event => inOracleWords(event, timeframe))
  }
  return events
}

function inOracleWords(event: HistoricEvent, timeframe: Timeframe): Event {
  const performances = Object.entries(event.aftermath!).map(([window, found]) => [window, found?.performance ?? null])
  return {
    date: event.date,
    band: event.band,
    prev_band: event.prev_band,
    stability_at_entry: event.stability_at_entry!,
    flips_recent_at_entry: event.flips_recent_at_entry!,
    flips_lookback: event.flips_lookback!,
    duration: event[TIMEFRAMES[timeframe].duration]!,
    aftermath: Object.fromEntries(performances) as Event['aftermath'],
    returns: event.returns!,
    percentiles: event.percentiles!,
  }
}
