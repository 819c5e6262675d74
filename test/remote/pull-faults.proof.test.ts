import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { firstChangeableEvent } from '../../src/app/remote/pages.js'
import type { NewPage } from '../../src/app/remote/remote.js'
import type { RequestName } from '../../src/app/remote/transport.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import type { BandEvent, EventsQuery, SeriesKey } from '../../src/core/model/event.js'
import type { Tier } from '../../src/core/model/terms.js'
import { Random } from '../../src/core/statistics/random.js'
import { grantedFields } from '../../src/core/tiers.js'
import type { Store } from '../../src/data/store/store.js'
import { draws } from '../support/full.js'
import { pulledIn } from '../support/pulled.js'
import { pick } from '../support/random-facts.js'
import { clock, emptyStore, keys, killedAt, openMarket, pull, RSI, Source, toldBy } from './pull-source.js'

beforeEach(clock.reset)

let market: Store
/** One of the same tickers with other prices. */
let otherMarket: Store
beforeAll(async () => {
  const one = await openMarket(2)
  const other = await openMarket(2, 8)
  ;[market, otherMarket] = [one.market, other.market]
  return async () => void (await Promise.all([one.close(), other.close()]))
})

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
    const source = new Source(market, { tier: TIERS[random.below(3)]! })
    source.tagged = chance(0.5)
    source.silent = chance(0.3)
    const { name } = pick(random, grantedFields(source.tier, BUILT_IN_FIELDS))
    const series = keys(['SIM0001', 'SIM0002'], [...new Set(['volume_ratio_band', name])])
    let day = parseDay('2023-01-10')!
    const spent = { told: 0, asked: 0 }
    const run = async (options: { maxCredits?: number } = {}) => {
      source.asOf = formatDay(day)
      clock.set(source.asOf)
      source.asked.splice(0)
      const report = await pull(store, source, series, { ...options })
      spent.told += report.credits
      spent.asked += source.cost()
      return report
    }
    for (let step = 0; step < 8; step++) {
      if (chance(0.5)) day += random.below(90)
      if (chance(0.1)) source.tier = TIERS[TIERS.indexOf(source.tier) + 1] ?? 'pro'
      const dice = random.uniform()
      if (dice < 0.4) source.answers = random.below(8)
      let left = dice >= 0.4 && dice < 0.6 ? random.below(6) : -1
      const mend = killedAt(store, () => (left-- === 0 ? 'before' : null))
      await run(dice > 0.8 ? { maxCredits: random.below(6) } : {})
      source.answers = Number.POSITIVE_INFINITY
      mend()
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
    const series = keys(['SIM0001'], ['volume_ratio_band', 'rsi_zone'])
    let source = new Source(market, { tier: random.below(2) === 0 ? 'plus' : 'pro', asOf: '2024-02-29' })
    await pull(store, source, series)
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
      await pull(store, source, series)
    }
    clock.pass(30)
    source.answers = Number.POSITIVE_INFINITY
    expect((await pull(store, source, series)).stopped).toBeNull()
    for (const key of series) expect((await pulledIn(store).series(key))!.events).toEqual(await toldBy(source, key))
  })
})

describe('a report', () => {
  it('counts the events that were not there, and those that are other than they were', async () => {
    const store = emptyStore()
    const series = keys(['SIM0001', 'SIM0002'], ['volume_ratio_band', 'rsi_zone', 'macd_state'])
    const seen = { added: 0, changed: 0 }
    for (const asOf of ['2024-01-17', '2024-01-18', '2024-04-02', '2024-04-02']) {
      const before = await Promise.all(series.map(key => pulledIn(store).series(key)))
      const report = await pull(store, new Source(market, { asOf }), series)
      for (const [i, key] of series.entries()) {
        const old = new Map(before[i]?.events.map(event => [event.date, JSON.stringify(event)]))
        const { events } = (await pulledIn(store).series(key))!
        const added = events.filter(({ date }) => !old.has(date)).length
        const changed = events.filter(event => old.has(event.date) && old.get(event.date) !== JSON.stringify(event))
        const found = report.series.find(
          one => one.ticker === key.ticker && one.timeframe === key.timeframe && one.field === key.field,
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

describe('a server that corrects its events', () => {
  /** Tells of one event another outcome than its market had, from now on. */
  class Mended extends Source {
    date = ''

    override async newPage(query: EventsQuery, named: Required<RequestName>): Promise<NewPage> {
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
    const key: SeriesKey = { ticker: 'SIM0001', timeframe, field }
    const source = new Mended(market, { asOf: '2024-02-28' })
    const { credits } = await pull(store, source, [key])
    const { events } = (await pulledIn(store).series(key))!
    // A final one of the newest page: the others of it were told before the windows of the last had ended.
    const final = events.findLast(event => Object.values(event.aftermath!).every(outcome => outcome !== null))!
    expect(events.indexOf(final)).toBeLessThan(firstChangeableEvent(events, timeframe))
    expect(events.length - events.indexOf(final)).toBeLessThan(100)
    source.date = final.date
    clock.pass(24)
    const again = await pull(store, source, [key])
    expect(again.credits).toBe(credits)
    expect(again.series[0]).toMatchObject({ outcome: 'updated', added: 0, changed: 1 })
    expect(again.series[0]!.note).toMatch(/another one on the server/)
    const kept = (await pulledIn(store).series(key))!.events
    expect(kept).toEqual(events.map(event => (event.date === final.date ? mended(event) : event)))
  })
})

function mended(event: BandEvent): BandEvent {
  const [window, outcome] = Object.entries(event.aftermath!).find(([, told]) => told !== null)!
  const performance = outcome!.performance === 'flat' ? 'slight_gain' : 'flat'
  return { ...event, aftermath: { ...event.aftermath, [window]: { performance } } }
}

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
    // A quiet field: find a gap between two events that is longer than what Free is told of.
    const key = await quietSeries()
    const { before, after } = key
    const source = new Source(market, { tier: 'free', asOf: formatDay(before + 80) })
    await pull(store, source, [key.series])
    const first = (await pulledIn(store).series(key.series))!.events
    expect(first.at(-1)!.date).toBe(formatDay(before))
    clock.pass(24 * 20)
    source.asOf = formatDay(Math.min(before + 100, after - 1))
    await pull(store, source, [key.series])
    expect((await pulledIn(store).series(key.series))!.events.map(({ date }) => date)).toEqual(
      first.map(({ date }) => date),
    )
  })

  it('are said to go where events between them and the range are lost', async () => {
    const store = emptyStore()
    const source = new Source(market, { tier: 'free', asOf: '2023-06-01' })
    await pull(store, source, [RSI])
    clock.pass(24 * 200)
    source.asOf = '2023-12-18'
    const { series } = await pull(store, source, [RSI])
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
