import { expect, it } from 'vitest'
import { FIELDS } from '../../src/core/fields/index.js'
import { PERFORMANCES } from '../../src/core/model/series.js'
import { TIMEFRAMES, type Timeframe, windowNames } from '../../src/core/model/terms.js'
import { type TallyWindow, tally } from '../../src/research/tally/tally.js'
import { firstInQuick } from '../support/full.js'
import type { Event } from '../support/oracle/index.js'
import { type Found, figuresOf, local, NAMES, oracleFinds } from './pool.js'

const RSI = FIELDS.find(field => field.name === 'rsi_zone')!.bands
const TOP = ['slight_gain', 'moderate_gain', 'sharp_gain']

/** Events of one ticker that a group has, beside all that the oracle finds of it. */
type Part = Found & { chosen: Event[] }

for (const [timeframe, tier] of firstInQuick(
  [
    ['weekly', 'pro'],
    ['daily', 'plus'],
    ['daily', 'pro'],
  ] as const,
  2,
)) {
  it(`counts what a plain loop over the oracle's events counts, for one ticker and for a pool, ${timeframe} as ${tier}`, async () => {
    const bands = await local(tier)
    const found = oracleFinds('rsi_zone', timeframe, tier)
    for (const tickers of [[NAMES[0]!], NAMES]) {
      const pool = found.filter(({ ticker }) => tickers.includes(ticker))
      const result = await tally(bands, { tickers, field: 'rsi_zone', timeframe })
      const entered = RSI.filter(band => pool.some(({ events }) => events.some(event => event.band === band)))
      expect(result.groups.map(group => group.group)).toEqual(entered)
      for (const { group, windows } of result.groups) {
        const chosen = pool.map(part => ({ ...part, chosen: part.events.filter(event => event.band === group) }))
        expect(windows.map(row => row.window)).toEqual(windowNames(timeframe))
        for (const row of windows) expectRow(row, chosen, timeframe)
      }
    }
  })
}

function expectRow(row: TallyWindow, pool: Part[], timeframe: Timeframe): void {
  const { window } = row
  const events = pool.flatMap(({ chosen }) => chosen)
  const ranked = events.filter(event => event.aftermath[window] !== null)
  const pending = events.filter(event => event.returns[window] === null).length
  const n = events.length - pending
  expect(row).toMatchObject({ events: events.length, n, pending, no_history: n - ranked.length })
  for (const name of PERFORMANCES) {
    const count = ranked.filter(event => event.aftermath[window] === name).length
    expect(row.counts[name]).toBe(count)
    expect(row.shares[name]).toBe(ranked.length === 0 ? null : count / ranked.length)
  }
  const top = ranked.filter(event => TOP.includes(event.aftermath[window]!)).length
  expect(row.top_share).toBe(ranked.length === 0 ? null : top / ranked.length)
  expectFigures(row.returns, figuresOf(returnsOf(events, window)))
  expectBase(row, pool)
  const length = TIMEFRAMES[timeframe].windows[windowNames(timeframe).indexOf(window)]!
  expect(row.overlapping).toBe(sum(pool.map(part => overlappingOf(part, window, length))))
}

function expectBase({ base, window }: TallyWindow, pool: Part[]): void {
  const alone = pool.length === 1 || pool.filter(({ chosen }) => chosen.length > 0).length === 1
  const parts = pool
    .filter(({ chosen }) => chosen.length > 0)
    .map(({ everyBar, chosen }) => ({
      ranked: everyBar.filter(event => event.aftermath[window] !== null),
      returns: returnsOf(everyBar, window),
      rankedWeight: alone ? 1 : chosen.filter(event => event.aftermath[window] !== null).length,
      weight: alone ? 1 : returnsOf(chosen, window).length,
    }))
  const ranked = parts.filter(part => part.rankedWeight > 0)
  expect(base.n).toBe(sum(ranked.map(part => part.ranked.length)))
  for (const name of PERFORMANCES) {
    const shares = ranked.map(
      part => part.ranked.filter(event => event.aftermath[window] === name).length / part.ranked.length,
    )
    const weights = ranked.map(part => part.rankedWeight)
    expectClose(base.shares[name], weightedMean(shares, weights))
  }
  const ended = parts.filter(part => part.weight > 0)
  const own = ended.map(part => figuresOf(part.returns))
  const of = (name: 'mean' | 'hit_rate' | 'median' | 'p10' | 'p90') => own.map(figures => figures[name]!)
  expect(base.returns.n).toBe(sum(own.map(figures => figures.n)))
  for (const name of ['mean', 'hit_rate'] as const) {
    const weights = ended.map(part => part.weight)
    expectClose(base.returns[name], weightedMean(of(name), weights))
  }
  if (ended.length === 1) expectFigures(base.returns, own[0]!)
  for (const name of ['p10', 'median', 'p90'] as const) {
    if (ended.length === 0) expect(base.returns[name]).toBeNull()
    else expectBetween(base.returns[name]!, of(name))
  }
}

function expectFigures(row: TallyWindow['returns'], expected: ReturnType<typeof figuresOf>): void {
  for (const [name, value] of Object.entries(expected)) {
    expectClose(row[name as keyof typeof expected], value)
  }
}

function expectClose(given: number | null, expected: number | null): void {
  if (given === null || expected === null) expect(given).toBe(expected)
  else expect(given).toBeCloseTo(expected, 12)
}

function expectBetween(value: number, bounds: number[]): void {
  expect(value).toBeGreaterThanOrEqual(Math.min(...bounds) - 1e-12)
  expect(value).toBeLessThanOrEqual(Math.max(...bounds) + 1e-12)
}

/** Places of events by counting the bars between their dates, every pair looked at. */
function overlappingOf({ chosen, everyBar }: Part, window: string, length: number): number {
  const places = chosen
    .filter(event => event.returns[window] !== null)
    .map(event => everyBar.findIndex(bar => bar.date === event.date))
  return places.filter(a => places.some(b => a !== b && Math.abs(a - b) < length)).length
}

function returnsOf(events: Event[], window: string): number[] {
  return events.flatMap(event => event.returns[window] ?? [])
}

function weightedMean(values: number[], weights: number[]): number | null {
  return values.length === 0 ? null : sum(values.map((value, i) => value * weights[i]!)) / sum(weights)
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
