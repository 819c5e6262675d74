import { describe, expect, it } from 'vitest'
import { formatDay, parseDay, weekdayOf } from '../../src/core/model/day.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import { firstBars, type Series } from '../../src/core/model/series.js'
import { eventHistory, firstItem } from '../../src/core/source.js'
import { Local } from '../../src/data/local/local.js'
import { status } from '../../src/data/local/status.js'
import { signalsOf } from '../../src/research/study/signals.js'
import { now } from '../../src/research/tally/now.js'
import { drained } from '../support/drain.js'
import { cacheOf, fixture, recordOf } from '../support/store.js'

const WEEKLY = 'weekly' as const
const FIELDS = ['rsi_zone', 'trend_direction', 'macd_state']
const NEWEST = fixture(1, 800)
const FRIDAY = 4

describe('a ticker that stopped in mid-week, next to a newer one', () => {
  const series = firstBars(fixture(2, 800).series, 779)
  const both = [NEWEST, { ticker: 'OLD', series }]

  it('has its last week as soon as today is later, also without an as-of day', async () => {
    const last = series.days.at(-1)!
    expect(weekdayOf(last)).toBeLessThan(FRIDAY)
    const cache = await cacheOf(both)
    expect((await cache.series('OLD', WEEKLY)).days.at(-1)).toBe(last)
    expect((await firstItem(cache.bars({ tickers: ['OLD'], timeframe: WEEKLY }))).series.days.at(-1)).toBe(last)
    const alone = await cacheOf([{ ticker: 'OLD', series }])
    expect((await alone.series('OLD', WEEKLY)).days.at(-1)).toBeLessThan(last)
  })

  it('answers as of the day that is printed as it does without one', async () => {
    const query = { tickers: ['OLD', NEWEST.ticker], fields: FIELDS, timeframe: WEEKLY }
    const cache = await cacheOf(both)
    const found = await now(cache, query)
    expect(found.as_of).toBe(formatDay(NEWEST.series.days.at(-1)!))
    const then = await cacheOf(both, { asOf: parseDay(found.as_of!) })
    expect(await now(then, query)).toEqual(found)
    const counts = async (one: typeof cache) => (await status(one)).tickers
    expect(await counts(then)).toEqual(await counts(cache))
    for (const field of FIELDS) {
      const asked = { ticker: 'OLD', field, timeframe: WEEKLY }
      expect(await eventHistory(then, asked)).toEqual(await eventHistory(cache, asked))
    }
  })
})

describe('a read of many tickers while another import comes', () => {
  it('refuses bars and bands of two imports, and has those of the last one when it is repeated', async () => {
    const [first, second, third] = [1, 2, 3].map(index => fixture(index, 400))
    const cache = await cacheOf([first!, second!, third!])
    const query = {
      tickers: [first!, second!, third!].map(({ ticker }) => ticker),
      fields: FIELDS,
      timeframe: 'daily' as const,
    }
    const reading = cache.states(query)
    await reading.next()
    await reading.next()
    const series = fixture(4, 400).series
    const record = recordOf({ ticker: third!.ticker, series, importedAt: '2026-01-03T00:00:00.000Z' })
    await cache.store.write({ records: [record] }, DEFINITIONS_VERSION)
    await expect(reading.next()).rejects.toMatchObject({ code: 'busy' })
    const again = await drained(cache.states(query))
    expect(again[2]!.prices.series.close).toEqual(series.close)
    expect(again[2]!.states[0]!.bars).toEqual(record.daily.fields.get('rsi_zone')!.bars)
  })
})

describe('the context of a weekly event', () => {
  /** Its weeks end on Thursday, and are final on Saturday: a day after those of the others. */
  const series = where(fixture(3, 1_200).series, day => weekdayOf(day) !== FRIDAY)
  const other = fixture(1, 1_200)
  const { ticker } = other
  const tickers = [other, { ticker: 'LATE', series }]
  const context = { ticker: 'LATE', field: 'rsi_zone' }

  it('is what the context ticker had entered by bars that were final on the day on which the event was', async () => {
    const cache = await cacheOf(tickers)
    const { events } = await eventHistory(cache, { ticker, field: 'rsi_zone', timeframe: WEEKLY, context })
    expect(events.length).toBeGreaterThan(20)
    for (const { date, context_band } of events) {
      const day = parseDay(date)!
      // A week that ends on a Friday is final on it; another is when Saturday comes.
      const final = weekdayOf(day) === FRIDAY ? day : day + FRIDAY - weekdayOf(day) + 1
      const then = await eventHistory(new Local(cache.store, 'pro', final), { ...context, timeframe: WEEKLY })
      expect(context_band, date).toBe(then.events.filter(event => event.date <= date).at(-1)?.band ?? null)
    }
  })

  it('is the same in studies', async () => {
    const cache = await cacheOf(tickers)
    const filter = { field: 'rsi_zone', timeframe: WEEKLY, bands: null, prev_bands: null, stability: null }
    const all = { ...filter, max_flips: null, after: null, before: null, context: { ...context, bands: null, lag: 0 } }
    const { signals } = await firstItem(signalsOf(cache, [ticker], all as Parameters<typeof signalsOf>[2]))
    const { events } = await eventHistory(cache, { ticker, field: 'rsi_zone', timeframe: WEEKLY, context })
    const range = signals.contextBands!.slice(-events.length)
    expect(range).toEqual(events.map(event => event.context_band))
  })
})

/** The bars on some days. */
function where(series: Series, keeps: (day: number) => boolean): Series {
  const columns = Object.entries(series).map(([name, column]) => [
    name,
    ArrayBuffer.isView(column) ? (column as Float64Array).filter((_, t) => keeps(series.days[t]!)) : column,
  ])
  return Object.fromEntries(columns) as Series
}
