import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { formatDay, parseDay } from '../../src/model/day.js'
import type { BandEvent, EventsQuery, SeriesKey } from '../../src/model/event.js'
import type { Tier } from '../../src/model/terms.js'
import { firstOpen } from '../../src/remote/pages.js'
import type { NewPage } from '../../src/remote/remote.js'
import type { Named } from '../../src/remote/transport.js'
import { eventHistory } from '../../src/source.js'
import { Random } from '../../src/statistics/random.js'
import { isMixed } from '../../src/store/pages.js'
import { openSqlite } from '../../src/store/sqlite/data.js'
import type { Store } from '../../src/store/store.js'
import { draws } from '../support/full.js'
import { pulledIn } from '../support/pulled.js'
import { type Ground, simulatedGround } from '../support/serve.js'
import { temporaryFolder } from '../support/store.js'
import { Clock, keys, pull, Source } from './pull-source.js'

const RSI: SeriesKey = { ticker: 'SIM0001', timeframe: 'daily', field: 'rsi_zone' }

const grounds: Ground[] = []
/** A server's store: eight years, longer than any tier's range. */
let market: Store
/** One of the same tickers with other prices. */
let otherMarket: Store
beforeAll(async () => {
  for (const seed of [7, 8]) grounds.push(await simulatedGround({ count: 2, bars: 2_100, seed }))
  ;[market, otherMarket] = grounds.map(({ db }) => openSqlite(db, { readonly: true })) as [Store, Store]
})
afterAll(async () => {
  for (const store of [market, otherMarket]) await store.close()
  for (const ground of grounds) ground.remove()
})

function emptyStore(): Store {
  const store = openSqlite(join(temporaryFolder(), 'own.db'), { readonly: false })
  onTestFinished(() => store.close())
  return store
}

/** All events of a series that the server tells, oldest first, as they go over the wire. */
async function toldBy(source: Source, key: SeriesKey) {
  const { events } = await eventHistory(source.local, key)
  return events.map(({ returns, percentiles, missing, ...resource }) => resource)
}

/** Dates of all events of a series, whatever the range. */
async function datesOf({ ticker, timeframe, field }: SeriesKey): Promise<string[]> {
  const { calendar, field: record } = (await market.recorded(ticker, timeframe, field))!
  return Array.from(record?.bars ?? [], bar => formatDay(calendar.days[bar]!))
}

const TIERS: readonly Tier[] = ['free', 'plus', 'pro']

describe('a pull that is broken off at any place, on any day, with any key', () => {
  it.each(Array.from({ length: draws(40) }, (_, i) => i))('ends as the server has it, schedule %i', async seed => {
    const random = new Random(100 + seed)
    const chance = (part: number): boolean => random.uniform() < part
    const store = emptyStore()
    const put = store.pages.put.bind(store.pages)
    const clock = new Clock()
    const source = new Source(market, { tier: TIERS[random.below(3)]! })
    source.tagged = chance(0.5)
    source.silent = chance(0.3)
    const fields = source.tier === 'free' ? ['volume_ratio_band', 'rsi_zone'] : ['volume_ratio_band', 'growth_zone']
    const series = keys(['SIM0001', 'SIM0002'], fields)
    let day = parseDay('2023-01-10')!
    const spent = { told: 0, asked: 0 }
    const run = async (options: { maxCredits?: number } = {}) => {
      source.asOf = formatDay(day)
      clock.set(source.asOf)
      source.asked.splice(0)
      const report = await pull(store, source, series, { now: clock.now, ...options })
      spent.told += report.credits
      spent.asked += source.cost()
      return report
    }
    for (let step = 0; step < 8; step++) {
      if (chance(0.5)) day += random.below(90)
      if (chance(0.1)) source.tier = TIERS[TIERS.indexOf(source.tier) + 1] ?? 'pro'
      const dice = random.uniform()
      if (dice < 0.4) source.answers = random.below(8)
      else if (dice < 0.6) {
        let left = random.below(6)
        store.pages.put = async kept => {
          if (left-- === 0) throw new Error('killed')
          await put(kept)
        }
      }
      await run(dice > 0.8 ? { maxCredits: random.below(6) } : {})
      source.answers = Number.POSITIVE_INFINITY
      store.pages.put = put
    }
    day += 1
    expect((await run()).stopped).toBeNull()
    expect(spent.told).toBe(spent.asked)
    for (const key of series) {
      const kept = (await pulledIn(store).series(key))!
      const told = await toldBy(source, key)
      expect(kept).toMatchObject({ state: 'complete', under_way: null, as_of: source.silent ? null : formatDay(day) })
      expect(told.length).toBe(kept.total_occurrences)
      expect(kept.events.slice(kept.events.length - told.length)).toEqual(told)
      // What has left the range is a true part of the past, without a hole.
      const past = await datesOf(key)
      const dates = kept.events.map(({ date }) => date)
      if (dates.length > 0) expect(dates).toEqual(past.slice(past.indexOf(dates[0]!)).slice(0, dates.length))
    }
  })

  it.each(Array.from({ length: draws(12) }, (_, i) => i))('ends as another market has it, change %i', async seed => {
    const random = new Random(500 + seed)
    const store = emptyStore()
    const clock = new Clock()
    const series = keys(['SIM0001'], ['volume_ratio_band', 'rsi_zone'])
    let source = new Source(market, { tier: random.below(2) === 0 ? 'plus' : 'pro', asOf: '2024-02-29' })
    await pull(store, source, series, { now: clock.now })
    // Another history, on a day that may be earlier; the pull of it may be broken off.
    source = new Source(otherMarket, {
      tier: source.tier,
      asOf: formatDay(parseDay('2023-10-02')! + random.below(250)),
    })
    source.tagged = random.below(2) === 0
    source.silent = random.below(2) === 0
    for (let step = 0; step < 3; step++) {
      clock.pass(30)
      source.answers = random.below(6)
      await pull(store, source, series, { now: clock.now })
    }
    clock.pass(30)
    source.answers = Number.POSITIVE_INFINITY
    expect((await pull(store, source, series, { now: clock.now })).stopped).toBeNull()
    for (const key of series) expect((await pulledIn(store).series(key))!.events).toEqual(await toldBy(source, key))
  })
})

describe('a report', () => {
  it('counts the events that were not there, and those that are other than they were', async () => {
    const store = emptyStore()
    const clock = new Clock()
    const series = keys(['SIM0001', 'SIM0002'], ['volume_ratio_band', 'rsi_zone', 'macd_state'])
    const seen = { added: 0, changed: 0 }
    for (const asOf of ['2024-01-17', '2024-01-18', '2024-04-02', '2024-04-02']) {
      const before = await Promise.all(series.map(key => pulledIn(store).series(key)))
      const report = await pull(store, new Source(market, { asOf }), series, { now: clock.now })
      for (const [i, key] of series.entries()) {
        const old = new Map(before[i]?.events.map(event => [event.date, JSON.stringify(event)]))
        const { events } = (await pulledIn(store).series(key))!
        const added = events.filter(({ date }) => !old.has(date)).length
        const changed = events.filter(event => old.has(event.date) && old.get(event.date) !== JSON.stringify(event))
        const found = report.series.find(({ timeframe, ticker, field }) =>
          [timeframe, ticker, field].every((word, at) => word === [key.timeframe, key.ticker, key.field][at]),
        )
        expect(found).toMatchObject({ events: events.length, added, changed: changed.length })
        seen.added += added
        seen.changed += changed.length
      }
      clock.pass(48)
    }
    expect(seen.added).toBeGreaterThan(500)
    expect(seen.changed).toBeGreaterThan(20)
  })
})

describe('a run that was killed', () => {
  it('after its last page does not keep the next day from being asked for', async () => {
    const store = emptyStore()
    const clock = new Clock()
    const source = new Source(market, { asOf: '2024-02-28' })
    const setRun = store.pages.setRun.bind(store.pages)
    store.pages.setRun = async run => {
      if (run === null) throw new Error('killed')
      await setRun(run)
    }
    await expect(pull(store, source, [RSI], { now: clock.now })).rejects.toThrow('killed')
    store.pages.setRun = setRun
    clock.pass(20)
    source.asOf = '2024-02-29'
    source.cost()
    const { credits } = await pull(store, source, [RSI], { now: clock.now })
    expect(credits).toBe(1)
    expect((await pulledIn(store).series(RSI))!.as_of).toBe('2024-02-29')
  })

  it('is gone on with by the same request alone: a part of it, asked for by itself, is asked for anew', async () => {
    const store = emptyStore()
    const clock = new Clock()
    const source = new Source(market, { asOf: '2024-02-28' })
    const series = keys(['SIM0001', 'SIM0002'], ['growth_zone'])
    await pull(store, source, series, { now: clock.now, maxCredits: 2 })
    clock.pass(6)
    source.asOf = '2024-02-29'
    await pull(store, source, [series[0]!], { now: clock.now })
    expect((await pulledIn(store).series(series[0]!))!.as_of).toBe('2024-02-29')
  })

  it('is another one when it is asked for more, or a day later', async () => {
    const clock = new Clock()
    const two = keys(['SIM0001', 'SIM0002'], ['growth_zone'], ['daily'])
    for (const [hours, series] of [
      [1, [...two, RSI]],
      [25, two],
    ] as const) {
      const store = emptyStore()
      const source = new Source(market, { asOf: '2024-02-28' })
      await pull(store, source, two, { now: clock.now, maxCredits: 1 })
      clock.pass(hours)
      const report = await pull(store, source, series, { now: clock.now })
      expect(report.series.find(({ ticker, field }) => ticker === 'SIM0001' && field === 'growth_zone')).toMatchObject({
        outcome: 'updated',
        credits: 1,
      })
    }
  })

  it('goes on with a series whose pages were of two days', async () => {
    const store = emptyStore()
    const source = new Source(market, { asOf: '2024-02-28' })
    // The second is not reached: the run is not over.
    const both = [RSI, { ...RSI, field: 'macd_state' }]
    source.answers = 1
    await pull(store, source, both, { maxCredits: 100 })
    source.asOf = '2024-02-29'
    source.answers = Number.POSITIVE_INFINITY
    const put = store.pages.put.bind(store.pages)
    store.pages.put = async kept => {
      await put(kept)
      if (isMixed(kept.kept)) throw new Error('killed')
    }
    await pull(store, source, both, { maxCredits: 100 })
    expect(await pulledIn(store).series(RSI)).toMatchObject({ state: 'mixed' })
    store.pages.put = put
    const { series } = await pull(store, source, both)
    expect(series.find(({ field }) => field === 'rsi_zone')).toMatchObject({ outcome: 'updated', credits: 1 })
    expect(await pulledIn(store).series(RSI)).toMatchObject({ state: 'complete', as_of: '2024-02-29' })
  })

  it('is forgotten by one that replaces: it begins with the newest page', async () => {
    const store = emptyStore()
    const clock = new Clock()
    const source = new Source(market, { asOf: '2022-02-28' })
    await pull(store, source, [RSI], { now: clock.now })
    source.asOf = '2024-02-29'
    source.answers = 1
    await pull(store, source, [RSI], { now: clock.now })
    expect((await pulledIn(store).series(RSI))!.under_way).not.toBeNull()
    source.answers = Number.POSITIVE_INFINITY
    source.cost()
    clock.pass(1)
    await pull(store, source, [RSI], { now: clock.now, replace: true })
    expect(source.asked[0]).not.toHaveProperty('before')
    expect((await pulledIn(store).series(RSI))!.events).toEqual(await toldBy(source, RSI))
  })

  it('is no older answer to one that replaces', async () => {
    const store = emptyStore()
    const clock = new Clock()
    const source = new Source(market, { asOf: '2024-02-28' })
    const series = keys(['SIM0001', 'SIM0002'], ['growth_zone'])
    await pull(store, source, series, { now: clock.now, maxCredits: 2 })
    source.answers = 0
    clock.pass(1)
    await pull(store, source, series, { now: clock.now })
    source.answers = Number.POSITIVE_INFINITY
    const names = source.names.splice(0)
    clock.pass(6)
    await pull(store, source, series, { now: clock.now, replace: true })
    expect(source.names.filter(name => names.includes(name))).toEqual([])
  })
})

describe('a server that mends what it told', () => {
  /** Tells of one event another outcome than its market had, from now on. */
  class Mended extends Source {
    date = ''

    override async newPage(query: EventsQuery, named: Required<Named>): Promise<NewPage> {
      const answer = await super.newPage(query, named)
      const events = answer.page?.events.map(event => (event.date === this.date ? mended(event) : event))
      return { ...answer, page: answer.page === null ? null : { ...answer.page, events: events! } }
    }
  }

  it.each([
    ['many pages', 'volume_ratio_band', 'daily'],
    ['one page', 'macd_state', 'weekly'],
  ] as const)('is asked for all of %s again, and that is said', async (_, field, timeframe) => {
    const store = emptyStore()
    const clock = new Clock()
    const key: SeriesKey = { ticker: 'SIM0001', timeframe, field }
    const source = new Mended(market, { asOf: '2024-02-28' })
    const { credits } = await pull(store, source, [key], { now: clock.now })
    const { events } = (await pulledIn(store).series(key))!
    // A final one of the newest page: the others of it were told before the windows of the last had ended.
    const final = events.findLast(event => Object.values(event.aftermath!).every(outcome => outcome !== null))!
    expect(events.indexOf(final)).toBeLessThan(firstOpen(events, timeframe))
    expect(events.length - events.indexOf(final)).toBeLessThan(100)
    source.date = final.date
    clock.pass(24)
    const again = await pull(store, source, [key], { now: clock.now })
    expect(again.credits).toBe(credits)
    expect(again.series[0]).toMatchObject({ outcome: 'updated', added: 0, changed: 1 })
    expect(again.series[0]!.note).toMatch(/another one on the server/)
    const kept = (await pulledIn(store).series(key))!.events
    expect(kept).toEqual(events.map(event => (event.date === final.date ? mended(event) : event)))
  })

  it('is asked once more when it counts otherwise from page to page, though the day is the same', async () => {
    const store = emptyStore()
    const clock = new Clock()
    const source = new Source(market, { asOf: '2024-02-28' })
    source.answers = 1
    await pull(store, source, [RSI], { now: clock.now })
    // The same day of another market.
    const other = new Source(otherMarket, { asOf: '2024-02-28' })
    await pull(store, other, [RSI], { now: clock.now })
    expect((await pulledIn(store).series(RSI))!.events).toEqual(await toldBy(other, RSI))
  })
})

function mended(event: BandEvent): BandEvent {
  const [window, outcome] = Object.entries(event.aftermath!).find(([, told]) => told !== null)!
  const performance = outcome!.performance === 'flat' ? 'slight_gain' : 'flat'
  return { ...event, aftermath: { ...event.aftermath, [window]: { performance } } }
}

describe('a key of another tier', () => {
  it('that is higher brings all that it may see, and says why', async () => {
    const store = emptyStore()
    const key: SeriesKey = { ...RSI, field: 'macd_state', timeframe: 'weekly' }
    for (const [tier, note] of [
      ['free', null],
      ['plus', /range now, 2y/],
      ['pro', /range now, 5y/],
    ] as const) {
      const source = new Source(market, { tier })
      const { series } = await pull(store, source, [key])
      if (note === null) expect(series[0]!.note).toBeNull()
      else expect(series[0]!.note).toMatch(note)
      expect((await pulledIn(store).series(key))!.events).toEqual(await toldBy(source, key))
    }
  })

  it('that is lower takes nothing away, also where nothing has told so before', async () => {
    const store = emptyStore()
    await pull(store, new Source(market), [RSI])
    const before = await pulledIn(store).series(RSI)
    const { series } = await pull(store, new Source(market, { tier: 'free' }), [RSI])
    expect(series[0]).toMatchObject({ outcome: 'refused', refusal: { code: 'tier_restricted' } })
    expect(await pulledIn(store).series(RSI)).toEqual(before)
  })
})

it('pages that time may still change are asked for again under their names, and final ones are not', async () => {
  const store = emptyStore()
  const source = new Source(market)
  source.tagged = true
  const { credits } = await pull(store, source, [RSI])
  expect(credits).toBeGreaterThan(2)
  const series = (await store.pages.series(RSI))!
  const [newest, second, ...others] = series.kept
  const events = second!.body.events.map(event => ({ ...event, duration_days: null }))
  await store.pages.put({ ...series, kept: [newest!, { ...second!, body: { ...second!.body, events } }, ...others] })
  source.names.splice(0)
  const again = await pull(store, source, [RSI])
  expect([again.credits, source.names.length]).toEqual([0, 2])
  expect(again.series[0]).toMatchObject({ outcome: 'unchanged', note: null })
})

describe('events that leave the range', () => {
  it('stay, also where the newest of them is older than the range, as long as nothing lies between', async () => {
    const store = emptyStore()
    const clock = new Clock()
    // A quiet field: find a gap between two events that is longer than what Free is told of.
    const key = await quietSeries()
    const { before, after } = key
    const source = new Source(market, { tier: 'free', asOf: formatDay(before + 80) })
    await pull(store, source, [key.series], { now: clock.now })
    const first = (await pulledIn(store).series(key.series))!.events
    expect(first.at(-1)!.date).toBe(formatDay(before))
    clock.pass(24 * 20)
    source.asOf = formatDay(Math.min(before + 100, after - 1))
    await pull(store, source, [key.series], { now: clock.now })
    expect((await pulledIn(store).series(key.series))!.events.map(({ date }) => date)).toEqual(
      first.map(({ date }) => date),
    )
  })

  it('are said to go where events between them and the range are lost', async () => {
    const store = emptyStore()
    const clock = new Clock()
    const source = new Source(market, { tier: 'free', asOf: '2023-06-01' })
    await pull(store, source, [RSI], { now: clock.now })
    clock.pass(24 * 200)
    source.asOf = '2023-12-18'
    const { series } = await pull(store, source, [RSI], { now: clock.now })
    const kept = (await pulledIn(store).series(RSI))!
    expect(kept.events).toEqual(await toldBy(source, RSI))
    expect(series[0]!.note).toMatch(/range/)
  })
})

const QUIET = ['ma_alignment', 'trend_direction', 'volatility_regime', 'rsi_zone']

/** A series with two events that lie more than a hundred days apart, and the days of both. */
async function quietSeries(): Promise<{ series: SeriesKey; before: number; after: number }> {
  const source = new Source(market)
  for (const series of keys(['SIM0001', 'SIM0002'], QUIET, ['daily'])) {
    const days = (await toldBy(source, series)).map(({ date }) => parseDay(date)!)
    const at = days.findIndex((day, i) => days[i + 1] !== undefined && days[i + 1]! - day > 110)
    if (at >= 0) return { series, before: days[at]!, after: days[at + 1]! }
  }
  throw new Error('no quiet series')
}

describe('a server of others', () => {
  /** Tells more of each event than the specification has, and other than yesterday. */
  class Talkative extends Source {
    override async newPage(query: EventsQuery, named: Required<Named>): Promise<NewPage> {
      const answer = await super.newPage(query, named)
      const events = answer.page?.events.map(event => ({ asked: this.names.length, ...event }))
      return { ...answer, page: answer.page === null ? null : { ...answer.page, events: events! } }
    }
  }

  it('may tell of an event what nobody here knows, as it likes: that is no other past', async () => {
    const store = emptyStore()
    const clock = new Clock()
    const source = new Talkative(market, { asOf: '2024-02-28' })
    await pull(store, source, [RSI], { now: clock.now })
    expect(source.cost()).toBeGreaterThan(1)
    clock.pass(24)
    source.asOf = '2024-02-29'
    const { series } = await pull(store, source, [RSI], { now: clock.now })
    expect([source.cost(), series[0]!.note]).toEqual([1, null])
  })
})
