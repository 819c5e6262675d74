import { describe, expect, it } from 'vitest'
import { parseDay } from '../../src/core/model/day.js'
import type { EventHistory } from '../../src/core/model/event.js'
import { UNDEFINED } from '../../src/core/model/series.js'
import { TIMEFRAMES as SPANS, TIMEFRAME_NAMES } from '../../src/core/model/terms.js'
import { parseHistory } from '../../src/core/params/questions.js'
import { parseStudy } from '../../src/core/params/studies.js'
import { eventHistory, firstItem } from '../../src/core/source.js'
import { Random } from '../../src/core/statistics/random.js'
import { exportEvents, exportSeries } from '../../src/data/local/export.js'
import { Local } from '../../src/data/local/local.js'
import type { Store } from '../../src/data/store/store.js'
import { eventStudy } from '../../src/research/study/event-study.js'
import { run } from '../cli/support/run.js'
import { drained } from '../support/drain.js'
import { asOf, exported, LISTED, namesTicker, onsets, TECHNICAL } from '../support/exported-shelves.js'
import { draws } from '../support/full.js'
import { type Asked, truth } from '../support/oracle/conditions.js'
import { randomClaim, TICKERS, TIMEFRAMES, written } from '../support/random-conditions.js'
import { pick } from '../support/random-facts.js'
import { openedForAll, storeOf } from '../support/store.js'

let store: Store
openedForAll(async folder => {
  store = await storeOf(LISTED, folder)
  return store
})

it('entering a band is an event of the condition when it is one of the field, followed by the same; it lasts one bar', async () => {
  const local = new Local(store, null, null)
  let events = 0
  for (const ticker of TICKERS) {
    for (const timeframe of TIMEFRAME_NAMES) {
      const { days } = await local.series(ticker, timeframe)
      const { duration } = SPANS[timeframe]
      for (const [field, bands] of Object.entries(TECHNICAL)) {
        for (const band of bands) {
          const entered = await eventHistory(local, parseHistory({ ticker, timeframe, field, band }))
          const held = await eventHistory(local, parseHistory({ ticker, timeframe, when: `${field} enters ${band}` }))
          expect(datesOf(held)).toEqual(datesOf(entered))
          expect(held.events.map(followed)).toEqual(entered.events.map(followed))
          for (const { date, band: now, prev_band: before, [duration]: lasted } of held.events)
            expect([now, before, lasted]).toEqual(['true', 'false', parseDay(date) === days.at(-1) ? null : 1])
          events += held.events.length
        }
      }
    }
  }
  expect(events).toBeGreaterThan(500)
})

function datesOf({ events }: Pick<EventHistory, 'events'>): string[] {
  return events.map(({ date }) => date)
}

function followed({ aftermath, returns, percentiles, missing }: EventHistory['events'][number]) {
  return { aftermath, returns, percentiles, missing }
}

describe('Q1: a random condition', () => {
  it('has on every bar the truth that brute force finds in the exported series, and events where that changes', async () => {
    const local = new Local(store, null, null)
    const shelves = await exported(local)
    const seen = { true: 0, false: 0, null: 0, events: 0 }
    for (let seed = 1; seed <= draws(400); seed++) {
      const random = new Random(new Random(seed).word())
      const claim = randomClaim(random, TECHNICAL, seed % 3)
      const text = written(claim, random)
      const names = namesTicker(claim)
      const asked: Asked = {
        ticker: pick(random, TICKERS),
        timeframe: pick(random, TIMEFRAMES),
        lag: names ? pick(random, [0, 1, 2, 7, 60]) : 0,
      }
      const { ticker, timeframe, lag } = asked
      const truths = shelves[ticker]![timeframe].dates.map((_, t) => truth(claim, shelves, asked, t))
      const what = `seed ${seed}: ${text} of ${JSON.stringify(asked)}`
      const { field } = parseHistory({ ticker, when: text })
      const { states } = await firstItem(local.states({ tickers: [ticker], timeframe, fields: [field], lag }))
      const ours = Array.from(states[0]!.codes, code => (code === UNDEFINED ? null : code === 1))
      expect(ours, what).toEqual(truths)
      const words = ['events', ticker, '--when', text, '--timeframe', timeframe, '--limit', 'all', '--json']
      if (names) words.push('--context-lag', String(lag))
      const { code, out, err } = await run(words, { env: { BANDS_DB: store.location } })
      expect(code, `${what}\n${err}`).toBe(0)
      const expected = onsets(truths).map(t => shelves[ticker]![timeframe].dates[t]!)
      expect(datesOf(JSON.parse(out)).toReversed(), what).toEqual(expected)
      const dates = shelves[ticker]![timeframe].dates
      const holds = (date: string): boolean => truths[dates.indexOf(date)] === true
      const all = { tickers: [ticker], timeframes: [timeframe] }
      const kept = { ...all, when: text, ...(names ? { context_lag: lag } : {}) }
      const own = await drained(exportEvents(local, kept))
      expect(
        own.map(({ date }) => date),
        what,
      ).toEqual(expected)
      const fields = Object.keys(TECHNICAL)
      const beside = await drained(exportEvents(local, { ...kept, fields }))
      expect(beside, what).toEqual((await drained(exportEvents(local, { ...all, fields }))).filter(e => holds(e.date)))
      const series = await drained(exportSeries(local, { ...kept, fields: ['rsi_zone'] }))
      expect(
        series.map(({ date }) => date),
        what,
      ).toEqual(dates.filter(holds))
      if (seed % 4 === 0) expect(await studied(local, text, asked, names), what).toEqual(expected)
      for (const one of truths) seen[`${one}`]++
      seen.events += expected.length
    }
    expect(Math.min(seen.true, seen.false, seen.null)).toBeGreaterThan(50)
    expect(seen.events).toBeGreaterThan(5)
  })
})

/** The dates of the events that a study of a condition has. */
async function studied(local: Local, when: string, { ticker, timeframe, lag }: Asked, names: boolean) {
  const told = { timeframe, horizon: [1], reps: 99, resamples: 99, ...(names && { context_lag: lag }) }
  const { occurrences } = await eventStudy(local, parseStudy({ tickers: [ticker], when, ...told }))
  return occurrences.map(({ date }) => date)
}

describe('Q2: as of a day', () => {
  it('a condition has the events that it has on data cut at that day, and every later day shows the same of them', async () => {
    const local = new Local(store, null, null)
    for (const date of ['2017-12-29', '2018-01-04', '2018-02-10', '2018-04-02']) {
      const [then, alone] = await asOf(store, date)
      for (let seed = 1; seed <= draws(200); seed++) {
        const random = new Random(new Random(seed).word())
        const text = written(randomClaim(random, TECHNICAL, 2), random)
        const query = parseHistory({ ticker: pick(random, TICKERS), timeframe: pick(random, TIMEFRAMES), when: text })
        const found = await eventHistory(then, query)
        expect(found, `${date}, seed ${seed}: ${text}`).toEqual(await eventHistory(alone, query))
        const later = await eventHistory(local, query)
        expect(datesOf(found)).toEqual(datesOf(later).filter(one => datesOf(found).includes(one)))
      }
    }
  })
})
