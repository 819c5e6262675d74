import type { MarketBars } from '../../market.js'
import { PERFORMANCES, UNDEFINED } from '../../model/record.js'
import { TIMEFRAMES } from '../../model/timeframe.js'
import { type GTestMember, gTestShift } from '../../statistics/g-test.js'
import type { ShiftOptions } from '../../statistics/shift.js'
import { placesIn, unionCalendar } from '../calendar.js'
import { performances } from './aftermath.js'

/** Aftermath bands after events and after any bar, in the order of PERFORMANCES. */
export interface AftermathTally {
  counts: number[]
  /** Bars of all tickers that have events. */
  base: number[]
  /** Share after events / share after any bar, each ticker counting in the latter as its events do. */
  lift: (number | null)[]
  g: number | null
  p: number | null
  /** Why there is no p. */
  reason: string | null
}

/** One ticker's bars that are looked at, and its events among them. */
export interface Tallied {
  prices: MarketBars
  eligible: Int32Array
  signals: Int32Array
}

/**
 * @param tooFew why there is to be no test; null where there may be one
 * @returns null where no event has an aftermath band
 */
export function aftermathTally(
  tickers: readonly Tallied[],
  horizon: number,
  tooFew: string | null,
  options: ShiftOptions,
): AftermathTally | null {
  const some = tickers.filter(({ signals }) => signals.length > 0)
  const members = some.map(ticker => ranked(ticker, horizon)).filter(({ events }) => events.length > 0)
  if (members.length === 0) return null
  const calendar = unionCalendar(members.map(({ days }) => days))
  const placed = members.map(member => ({ ...member, places: placesIn(calendar, member.days) }))
  const counts = PERFORMANCES.map(() => 0)
  for (const { codes, events } of placed) for (const i of events) counts[codes[i]!]!++
  const expected = expectedCounts(placed)
  const found = {
    counts,
    base: PERFORMANCES.map((_, band) => placed.reduce((sum, { codes }) => sum + countOf(codes, band), 0)),
    lift: counts.map((count, band) => (expected[band] === 0 ? null : count / expected[band]!)),
  }
  if (tooFew !== null) return { ...found, g: null, p: null, reason: tooFew }
  const test = gTestShift(placed, calendar.length, horizon, PERFORMANCES.length, options)
  if ('reason' in test) return { ...found, g: null, p: null, reason: test.reason }
  return { ...found, g: test.g, p: test.p, reason: null }
}

/** The bars of a ticker that have an aftermath band. */
function ranked({ prices, eligible, signals }: Tallied, horizon: number) {
  const { close, days, timeframe } = prices.series
  const codes = performances(close, horizon, TIMEFRAMES[timeframe].minReference)
  const bars = eligible.filter(bar => codes[bar] !== UNDEFINED)
  return {
    codes: Uint8Array.from(bars, bar => codes[bar]!),
    days: Int32Array.from(bars, bar => days[bar]!),
    events: placesIn(bars, signals).filter(index => index >= 0),
  }
}

function expectedCounts(members: readonly GTestMember[]): number[] {
  return PERFORMANCES.map((_, band) =>
    members.reduce((sum, { codes, events }) => sum + (events.length * countOf(codes, band)) / codes.length, 0),
  )
}

function countOf(codes: Uint8Array, band: number): number {
  let count = 0
  for (const code of codes) if (code === band) count++
  return count
}
