import { expect, it } from 'vitest'
import { eventStudy } from '../../src/study/event-study.js'
import { draws, FULL, NIGHT } from '../support/full.js'
import { marketOf, queryOf, randomWalks, type WalkForm } from './support/study-market.js'

/** On tickers that go nowhere every p-value below .05 is a false alarm (property B6). */
const RUNS = draws(60)

/** Of those that are to hold: at most so many of 60 or of 600 may alarm, which 5 % of them would exceed once in 1,000 times. */
const MOST = NIGHT ? 0.085 : 0.15

/** With few windows these lean towards alarm and with many they do not; the shift is the default because it never does. */
const LARGE_SAMPLE = ['newey_west', 'hansen_hodrick']

const ONE: WalkForm = { tickers: 1, bars: 2500, garch: true, chance: 0.02, again: 0.5 }
const MANY: WalkForm = { tickers: 6, bars: 1250, garch: true, common: 0.5, chance: 0.02 }

it.each([
  ['one ticker, bands of prices', ONE, 'rsi_zone', ['oversold']],
  ['one ticker, bands that know nothing', ONE, 'made', ['high']],
  ['tickers that move together, bands of prices', MANY, 'rsi_zone', ['oversold']],
  ['tickers that move together, bands that know nothing', MANY, 'made', ['high']],
])('false alarms of windows that overlap are one in twenty of each test: %s', async (_, form, field, bands) => {
  const alarms = new Map<string, { alarms: number; of: number }>()
  const count = (test: string, p: number | null): void => {
    if (p === null) return
    const found = alarms.get(test) ?? { alarms: 0, of: 0 }
    alarms.set(test, { alarms: found.alarms + Number(p < 0.05), of: found.of + 1 })
  }
  for (let run = 0; run < RUNS; run++) {
    const listings = randomWalks(1000 + run, form)
    const tickers = listings.map(({ ticker }) => ticker)
    const asked = { tickers, field, bands, horizons: [20], path: { before: 0, after: 1 }, seed: run, minEvents: 10 }
    const more = { naive: true, hansenHodrick: true, reps: 199, resamples: 19, abnormal: 'mean' as const }
    const [window] = (await eventStudy(marketOf(listings), queryOf({ ...asked, ...more }))).windows
    for (const { test, p } of window!.tests) count(test, p)
    for (const { test, p } of field === 'made' ? window!.abnormal!.tests : []) count(test, p)
    count('random_entry', window!.random_entry.p)
    count('aftermath', window!.aftermath?.p ?? null)
  }
  expect(alarms.get('shift')!.of).toBeGreaterThan(RUNS / 2)
  if (!FULL) return
  const share = (test: string): number => alarms.get(test)!.alarms / alarms.get(test)!.of
  for (const [test, { of }] of alarms) {
    if (of < RUNS / 2 || test === 'naive') continue
    expect(share(test), `${test}: ${alarms.get(test)!.alarms} of ${of}`).toBeLessThanOrEqual(
      LARGE_SAMPLE.includes(test) ? MOST + 0.04 : MOST,
    )
  }
  // A test of the test: what takes overlapping windows for independent alarms too often.
  if (form.tickers > 1 && field === 'rsi_zone') expect(share('naive')).toBeGreaterThan(MOST)
})
