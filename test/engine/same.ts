import { expect } from 'vitest'
import { type Bar, type Event, eventsOfEveryField, type Options, type Timeframe } from '../support/oracle/index.js'
import { recording, type Shown, shown } from './shown.js'

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
