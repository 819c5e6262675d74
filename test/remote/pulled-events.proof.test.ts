import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { sourcesOfStore } from '../../src/app/open/database.js'
import { FIELDS_WITHOUT_GAPS } from '../../src/app/remote/under-condition.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { Panel } from '../../src/core/fields/panel.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import type { BandEvent, EventsQuery, SeriesKey } from '../../src/core/model/event.js'
import { UNDEFINED } from '../../src/core/model/series.js'
import type { Tier } from '../../src/core/model/terms.js'
import { eventHistory } from '../../src/core/source.js'
import { Random } from '../../src/core/statistics/random.js'
import { PLANS } from '../../src/core/tiers.js'
import { Local } from '../../src/data/local/local.js'
import { type SimulatedTicker, simulatedTickers } from '../../src/data/simulate/simulate.js'
import type { Store } from '../../src/data/store/store.js'
import { now } from '../../src/research/tally/now.js'
import { randomBars, SHAPES } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { draws, FULL } from '../support/full.js'
import { begun, copied, copyAll, isSectorField, pulledIn, URL } from '../support/pulled.js'
import { pick } from '../support/random-facts.js'
import { type Ground, randomEventsQuery } from '../support/random-queries.js'
import { baseIn } from '../support/source.js'
import { loadedStore } from '../support/store.js'
import { compareConditions } from '../support/told-conditions.js'
import { callerOf, emptyStore, RSI } from './pull-source.js'

/** Eight years of bars, longer than any tier's range: no ticker begins within it. */
const SIMULATED: SimulatedTicker[] = [
  ...simulatedTickers({ count: 3, bars: 2_100, seed: 7, end: parseDay('2024-06-28')! }),
]
const TICKERS = SIMULATED.map(({ ticker }) => ticker)
const TODAY = parseDay('2024-06-28')!
const GROUND: Ground = { tickers: TICKERS, sectors: ['Tech'], first: parseDay('2018-06-01')!, last: TODAY }
const WHOLE = { ...RSI, limit: 100 } as const

const folder = mkdtempSync(join(tmpdir(), 'bands-pulled-'))
let market: Store
beforeAll(async () => {
  market = await loadedStore(SIMULATED, folder)
})
afterAll(async () => {
  await market.close()
  rmSync(folder, { recursive: true, force: true })
})

function serverOf(tier: Tier = 'pro', asOf: string | null = null): Local {
  return new Local(market, tier, asOf === null ? null : parseDay(asOf))
}

function openedOf(store: Store, tier: Tier = 'pro', asOf: string | null = null) {
  return sourcesOfStore(store, tier, asOf === null ? null : parseDay(asOf))
}

/** A store with bars of some tickers. */
async function storeWith(tickers: readonly SimulatedTicker[]): Promise<Store> {
  const store = await loadedStore(tickers)
  onTestFinished(() => store.close())
  return store
}

/** A page byte for byte, or which error. */
async function told(ask: () => Promise<object>): Promise<string> {
  try {
    return JSON.stringify(await ask())
  } catch (error) {
    return (error as { code: string }).code
  }
}

/**
 * Whether only the server can know the band of a context somewhere in the range: one that did not change in it, or whose
 * first event ever lies in it.
 */
async function isHidden(key: Tier, { timeframe, context }: EventsQuery): Promise<boolean> {
  if (context === undefined) return false
  const recorded = await market.recorded(context.ticker, timeframe, context.field)
  const days = Array.from(recorded?.field?.bars ?? [], bar => recorded!.calendar.days[bar]!)
  const start = PLANS[key].rangeStart(TODAY)
  return days.some(day => day <= start) !== days.some(day => day > start)
}

interface Compared {
  store: Store
  /** Whose events were pulled, and who asks. */
  key: Tier
  tier: Tier
  searches: number
  suits?: (query: EventsQuery) => boolean
}

/** Random searches, equal byte for byte; returns how many were compared, and how many of them found events. */
async function compare({ store, key, tier, searches, suits = () => true }: Compared) {
  const random = new Random(23)
  const seen = { equal: 0, found: 0 }
  const first = tier === 'free' ? parseDay('2024-03-01')! : GROUND.first
  for (let draw = 0; draw < searches; draw++) {
    const query = randomEventsQuery(random, { ...GROUND, first })
    const offline = callerOf(store, tier)
    const server = serverOf(tier)
    if (!suits(query) || (await isHidden(key, query))) continue
    const [mine, theirs] = await Promise.all([told(() => offline.events(query)), told(() => server.events(query))])
    // Where it says what it cannot know, the server may.
    if (offline.sourceNotes.some(mark => mark.includes('is not known'))) continue
    expect(mine, JSON.stringify(query)).toBe(theirs)
    seen.equal++
    seen.found += mine.includes('"date"') ? 1 : 0
  }
  return seen
}

it('fields whose band is taken to last between two events have one on every bar from their first one on', () => {
  for (const shape of Object.values(SHAPES))
    for (let seed = 1; seed <= draws(200); seed++) {
      const panel = new Panel(seriesOf(randomBars(seed, { ...shape, length: 400, start: '2015-01-01' })))
      for (const name of FIELDS_WITHOUT_GAPS) {
        const codes = BUILT_IN_FIELDS.named(name)!.classify(panel)
        const first = codes.findIndex(code => code !== UNDEFINED)
        expect(codes.subarray(Math.max(0, first)).includes(UNDEFINED), name).toBe(first < 0)
      }
    }
})

describe('pulled events', () => {
  it.each([
    ['pro', 'pro', draws(2_000)],
    ['pro', 'plus', draws(2_000)],
    ['pro', 'free', draws(1_000)],
    ['plus', 'plus', draws(1_000)],
    ['plus', 'free', draws(1_000)],
    ['free', 'free', draws(500)],
  ] as const)('of a %s key answer a caller of %s as that server answers %s', async (key, tier, searches) => {
    const store = emptyStore()
    await copyAll(serverOf(key), TICKERS, store)
    const { equal, found } = await compare({ store, key, tier, searches })
    expect(equal).toBeGreaterThan(searches * 0.7)
    expect(found).toBeGreaterThan(searches * 0.05)
  })

  it('keep the events under a condition that the server keeps, or refuse what events cannot tell', async () => {
    const store = emptyStore()
    await copyAll(serverOf(), TICKERS, store)
    const asked = { random: new Random(29), draws: draws(1_000), first: parseDay('2020-06-01')! }
    const seen = await compareConditions({ far: callerOf(store, 'pro'), near: serverOf() }, TICKERS, asked)
    expect(seen.answered).toBeGreaterThan(asked.draws / 5)
    expect(seen.events).toBeGreaterThan(seen.answered)
  })

  it('are not asked under a condition that names a ticker with bars, nor under one that counts bars', async () => {
    const store = await storeWith(SIMULATED.slice(0, 1))
    await copyAll(serverOf(), TICKERS.slice(1), store)
    const [own, pulled] = TICKERS
    const asked = (ticker: string, when: string) =>
      told(() => openedOf(store).bands.events({ ...WHOLE, ticker, when, field: 'rsi_zone', timeframe: 'daily' }))
    expect(await asked(pulled!, `${own}:rsi_zone = neutral`)).toBe('not_found')
    expect(await asked(own!, `${pulled}:rsi_zone = neutral`)).toBe('not_found')
    expect(await asked(pulled!, 'rsi_zone = neutral for 2')).toBe('invalid_parameter')
    expect(await asked(own!, 'trend_direction != neutral for 2')).toContain('"date"')
  })

  it.each([
    ['does not tell its day', null, null],
    ['does not tell its day, asked as of a later one', null, '2024-07-31'],
    ['tells its day', '2024-01-31', null],
    ['tells its day, asked as of a later one', '2024-01-31', '2024-07-31'],
  ])('know no band after the pull of what a condition names, of a server that %s', async (_what, earlier, asOf) => {
    const store = emptyStore()
    const series = { ticker: 'SIM0002', timeframe: 'daily', field: 'trend_direction' } as const
    const pulled = '2024-01-31T10:00:00.000Z'
    const now = '2024-06-28T10:00:00.000Z'
    await pulledIn(store).put(
      await copied(serverOf('pro', '2024-01-31'), series, { as_of: earlier, pulled_at: pulled }),
    )
    const as_of = earlier === null ? null : '2024-06-28'
    await pulledIn(store).put(await copied(serverOf(), RSI, { as_of, pulled_at: now }))
    const query = { ...WHOLE, when: 'SIM0002:trend_direction = uptrend', after: parseDay('2023-06-01')! }
    await expect(callerOf(store, 'pro', asOf).events(query)).rejects.toMatchObject({
      code: 'invalid_parameter',
      message: expect.stringContaining('SIM0002 trend_direction is known up to 2024-01-31, and an event is of 2024-0'),
    })
    const before = parseDay('2024-02-01')!
    const found = await callerOf(store, 'pro', asOf).events({ ...query, before })
    expect(found).toEqual(await serverOf().events({ ...query, before }))
    expect(found.total_occurrences).toBeGreaterThan(0)
  })

  it('answer next to bars of another ticker like one server with bars of both, a context from the same source', async () => {
    const store = await storeWith(SIMULATED.slice(0, 1))
    await copyAll(serverOf(), TICKERS.slice(1), store)
    // Its peers have no bars here.
    const needsPeers = ({ ticker, field }: { ticker: string; field: string }): boolean =>
      ticker === 'SIM0001' && isSectorField(field)
    const isOwn = (ticker: string): boolean => ticker === 'SIM0001'
    const isApart = ({ ticker, context }: EventsQuery): boolean =>
      context !== undefined && isOwn(ticker) !== isOwn(context.ticker)
    const suits = (query: EventsQuery): boolean =>
      !needsPeers(query) && !isApart(query) && !(query.context !== undefined && needsPeers(query.context))
    const { equal, found } = await compare({ store, key: 'pro', tier: 'pro', searches: draws(2_000), suits })
    expect(equal).toBeGreaterThan(draws(1_000))
    expect(found).toBeGreaterThan(draws(160))
    const [own, other] = ['SIM0001', 'SIM0002'].map(ticker => ({ ticker, field: 'rsi_zone', band: 'neutral' }))
    for (const [asked, context] of [
      [own!, other!],
      [other!, own!],
    ])
      await expect(
        callerOf(store).events({ ...WHOLE, ticker: asked!.ticker, context: context! }),
      ).rejects.toMatchObject({
        code: 'invalid_parameter',
        message:
          'SIM0001 has bars here and SIM0002 was pulled from a server: a ticker and its context need one source.',
      })
  })

  it('of a key without a wider range keep that range, regardless of the caller', async () => {
    const store = emptyStore()
    await copyAll(serverOf('plus'), ['SIM0001'], store)
    const page = await callerOf(store, 'pro').events(WHOLE)
    expect(JSON.stringify(page)).toBe(JSON.stringify(await serverOf('plus').events(WHOLE)))
    expect(page.query_range).toBe('2y')
  })

  it('of a server without an as-of day are those that it counted, also when it was years old', async () => {
    const store = emptyStore()
    const silent = { as_of: null, pulled_at: '2033-01-02T03:04:05.000Z' }
    await copyAll(serverOf('plus'), TICKERS, store, silent)
    const { equal, found } = await compare({ store, key: 'plus', tier: 'plus', searches: draws(500) })
    expect(equal).toBeGreaterThan(draws(160))
    expect(found).toBeGreaterThan(draws(50))
    const history = await eventHistory(callerOf(store), RSI)
    expect(history).toMatchObject({ after: null, as_of: null, source: { as_of: null, pulled_at: silent.pulled_at } })
    const older = { ...history.events[0]!, date: '2021-01-04' }
    const kept = (await pulledIn(store).series(RSI))!
    await pulledIn(store).put({ ...kept, events: [older, ...kept.events] })
    expect((await eventHistory(callerOf(store), RSI)).events).toEqual(history.events)
  })

  it('have their source in a history, and no figures that servers do not send', async () => {
    const store = emptyStore()
    await copyAll(serverOf(), ['SIM0001'], store)
    const own = await eventHistory(callerOf(store), RSI)
    const theirs = await eventHistory(serverOf(), RSI)
    const resources = theirs.events.map(({ returns, percentiles, missing, ...resource }) => resource)
    const { source, ...rest } = own
    expect(source).toEqual({ url: URL, pulled_at: '2026-11-21T10:00:00.000Z', as_of: '2024-06-28' })
    expect(rest).toEqual({ ...theirs, events: resources, present: { ...theirs.present, bars: null } })
    expect(await baseIn(callerOf(store), RSI)).toBeNull()
    expect(theirs).not.toHaveProperty('source')
  })

  it('keep unknown keys, and the order of keys', async () => {
    const store = emptyStore()
    const series = await copied(serverOf(), RSI)
    const [first, ...others] = series.events
    const event = { confidence: 0.5, ...first!, x: [{ y: null }], aftermath: { ...first!.aftermath, '3d': null } }
    await pulledIn(store).put({ ...series, events: [event as BandEvent, ...others] })
    const found = (await eventHistory(callerOf(store), RSI)).events[0]
    expect(JSON.stringify(found)).toBe(JSON.stringify(event))
    const free = (await callerOf(store, 'free').events({ ...WHOLE, limit: 1 })).events
    expect(free[0]).toMatchObject({ aftermath: null })
    expect(free[0]).not.toHaveProperty('flips_lookback')
  })
})

describe('what pulled events do not cover', () => {
  it('is what was known before the day that they stand on', async () => {
    const store = emptyStore()
    await copyAll(serverOf('pro', '2024-03-01'), ['SIM0001'], store)
    await expect(callerOf(store, 'pro', '2024-02-29').events(WHOLE)).rejects.toMatchObject({
      code: 'invalid_parameter',
      param: 'as_of',
      message:
        'as_of 2024-02-29 is before 2024-03-01, the day of the copy of daily rsi_zone of SIM0001: pulled events do not show earlier knowledge.',
    })
    expect(JSON.stringify(await callerOf(store, 'pro', '2024-03-01').events(WHOLE))).toBe(
      JSON.stringify(await serverOf('pro', '2024-03-01').events(WHOLE)),
    )
    // Later, the range has moved on, and what was pulled has not.
    const later = await eventHistory(callerOf(store, 'free', '2024-04-01'), RSI)
    expect(later).toMatchObject({ after: '2024-01-02', as_of: '2024-04-01' })
    expect(later.events.every(({ date }) => date > '2024-01-02' && date <= '2024-03-01')).toBe(true)
  })

  it('is the band of a context before the range that was pulled: nothing matches there, and that is said', async () => {
    const store = emptyStore()
    await copyAll(serverOf(), ['SIM0001'], store)
    await copyAll(serverOf('plus'), ['SIM0002'], store)
    const caller = callerOf(store)
    const context = { ticker: 'SIM0002', field: 'rsi_zone' }
    const { events } = await eventHistory(caller, { ...RSI, context })
    const start = formatDay(PLANS.plus.rangeStart(TODAY))
    const theirs = await eventHistory(serverOf(), { ...RSI, context })
    expect(events.map(event => event.context_band)).toEqual(
      theirs.events.map(event => (event.date <= start ? null : event.context_band)),
    )
    const hidden = events.filter(({ date }) => date <= start).length
    expect(hidden).toBeGreaterThan(10)
    expect(caller.sourceNotes).toContain(
      `daily rsi_zone of SIM0002 was pulled from 2022-06-29 on: its band on ${hidden} dates before is not known.`,
    )
  })

  it('is the band of a context after the day of its pull', async () => {
    const store = emptyStore()
    await copyAll(serverOf(), ['SIM0001'], store)
    await copyAll(serverOf('pro', '2024-03-01'), ['SIM0002'], store)
    const caller = callerOf(store)
    const { events } = await eventHistory(caller, { ...RSI, context: { ticker: 'SIM0002', field: 'rsi_zone' } })
    const later = events.filter(({ date }) => date > '2024-03-01')
    expect(later.length).toBeGreaterThan(1)
    expect(events.every(({ date, context_band: band }) => (band === null) === date > '2024-03-01')).toBe(true)
    expect(caller.sourceNotes.join()).toContain(
      `was pulled as of 2024-03-01: its band on ${later.length} dates after that`,
    )
  })

  it('is the band of a context that did not change, which is said', async () => {
    const store = emptyStore()
    await copyAll(serverOf(), ['SIM0001', 'SIM0002'], store)
    const other = (await pulledIn(store).series({ ...RSI, ticker: 'SIM0002' }))!
    await pulledIn(store).put({ ...other, events: [], total_occurrences: 0 })
    const caller = callerOf(store)
    const context = { ticker: 'SIM0002', field: 'rsi_zone', band: 'neutral' }
    expect((await caller.events({ ...WHOLE, context })).total_occurrences).toBe(0)
    expect(caller.sourceNotes.join()).toMatch(
      /daily rsi_zone of SIM0002 has no change in the pulled data, so its band on \d+ dates is not known\./,
    )
  })

  it('is said of every series that an answer stood on, once', async () => {
    const store = emptyStore()
    await copyAll(serverOf(), ['SIM0001', 'SIM0002'], store)
    const caller = callerOf(store)
    expect(caller.sourceNotes).toEqual([])
    await caller.events(WHOLE)
    await eventHistory(caller, RSI)
    expect(caller.sourceNotes).toEqual([`SIM0001 rsi_zone: pulled from ${URL} on 2026-11-21, as of 2024-06-28`])
    await caller.events({ ...WHOLE, context: { ticker: 'SIM0002', field: 'macd_state', band: 'bullish' } })
    expect(caller.sourceNotes[0]).toBe(
      `SIM0001, SIM0002 rsi_zone, macd_state: pulled from ${URL} on 2026-11-21, as of 2024-06-28`,
    )
  })
})

describe('a series with missing pages', () => {
  it('answers what lies wholly in the pages that have come, and nothing else', async () => {
    const store = emptyStore()
    await copyAll(serverOf(), TICKERS, store)
    const random = new Random(5)
    const seen = { equal: 0, busy: 0 }
    const parts: (SeriesKey | null)[] = [null]
    for (const ticker of ['SIM0001', 'SIM0002']) {
      for (const field of ['rsi_zone', 'macd_state', 'volume_ratio_band']) {
        const key: SeriesKey = { ticker, timeframe: 'daily', field }
        const series = (await pulledIn(store).series(key))!
        await pulledIn(store).put(begun(series, 1 + random.below(series.events.length - 1)))
        parts.push(key)
      }
    }
    for (let draw = 0; draw < draws(800); draw++) {
      const { bands: _bands, ...drawn } = randomEventsQuery(random, GROUND)
      const query: EventsQuery = { ...drawn, ...pick(random, parts) }
      if (await isHidden('pro', query)) continue
      const mine = await told(() => callerOf(store).events(query))
      const theirs = await told(() => serverOf().events(query))
      if (mine === 'busy') expect(await isBeyond(store, query), JSON.stringify(query)).toBe(true)
      else expect(mine, JSON.stringify(query)).toBe(theirs)
      const isBegun = (await pulledIn(store).series(query))?.state === 'partial'
      if (mine === 'busy') seen.busy++
      else if (isBegun && theirs !== 'not_found') seen.equal++
    }
    expect(seen.busy).toBeGreaterThan(draws(160))
    expect(seen.equal).toBeGreaterThan(FULL ? 50 : 0)
  })

  /** Whether a question goes back beyond the first event that has come, of the ticker or of its context. */
  async function isBeyond(store: Store, query: EventsQuery): Promise<boolean> {
    const from = async (key: SeriesKey): Promise<string> => (await pulledIn(store).series(key))?.under_way?.before ?? ''
    const asked = formatDay(Math.max(PLANS.pro.rangeStart(TODAY), query.after ?? 0) + 1)
    if (asked < (await from(query))) return true
    if (query.context === undefined) return false
    const { context, limit: _limit, ...plain } = query
    const first = (await eventHistory(serverOf(), plain)).events[0]
    return first !== undefined && first.date < (await from({ ...context, timeframe: query.timeframe }))
  }
})

describe('a pulled ticker', () => {
  it('is listed, is no part of a scan, and says of other fields what is there', async () => {
    const store = await storeWith(SIMULATED.slice(2))
    await pulledIn(store).put(await copied(serverOf(), RSI))
    await pulledIn(store).put(await copied(serverOf(), { ...RSI, timeframe: 'weekly' }))
    const caller = callerOf(store)
    expect(await caller.tickers()).toEqual(['SIM0001', 'SIM0003'])
    const scan = await caller.oversold({
      asset_class: 'all',
      min_severity: 'oversold',
      sort_by: 'severity',
      limit: 100,
      timeframe: 'daily',
    })
    expect(scan.total_scanned).toBe(1)
    await expect(caller.events({ ...WHOLE, field: 'macd_state' })).rejects.toMatchObject({
      code: 'not_found',
      message: 'daily macd_state of SIM0001 was not pulled; of SIM0001 there is daily rsi_zone, weekly rsi_zone.',
    })
    await expect(caller.events({ ...WHOLE, ticker: 'SIM0004' })).rejects.toMatchObject({
      code: 'not_found',
      suggestions: expect.arrayContaining(['SIM0001']),
    })
  })

  it('stands in for today where there are no bars, and does not where there are', async () => {
    const store = emptyStore()
    await pulledIn(store).put(await copied(serverOf('pro', '2024-03-01'), RSI))
    expect(await openedOf(store).local.today()).toBe(parseDay('2024-03-01'))
    await pulledIn(store).put(await copied(serverOf(), { ...RSI, ticker: 'SIM0002' }, { as_of: null }))
    expect(await openedOf(store).local.today()).toBe(parseDay('2026-11-21'))
    const other = await storeWith(SIMULATED.slice(2))
    await pulledIn(other).put(await copied(serverOf(), RSI, { as_of: '2025-01-01' }))
    expect(await openedOf(other).local.today()).toBe(TODAY)
  })

  it('does not keep `now` from showing everything else', async () => {
    const store = await storeWith(SIMULATED.slice(2))
    await pulledIn(store).put(await copied(serverOf(), RSI))
    await pulledIn(store).put(begun(await copied(serverOf(), { ...RSI, field: 'macd_state' }), 5))
    const caller = callerOf(store)
    const tickers = await caller.tickers()
    const fields = BUILT_IN_FIELDS.names
    const query = { tickers, fields, timeframe: 'daily' as const }
    await expect(now(caller, query)).rejects.toMatchObject({ code: 'not_found' })
    const { states } = await now(caller, { ...query, skip: await caller.missing() })
    const server = await now(serverOf(), { tickers: ['SIM0001'], fields: ['rsi_zone'], timeframe: 'daily' })
    const [own, ...others] = states
    expect(others.map(({ ticker }) => ticker)).toEqual(fields.map(() => 'SIM0003'))
    const { bars: _bars, reasons: _reasons, ...rest } = server.states[0]!
    expect(own).toMatchObject(rest)
    // One of which nothing can be told is asked for, so that the refusal says why.
    const weekly = { ...query, timeframe: 'weekly' as const, skip: await caller.missing() }
    await expect(now(caller, weekly)).rejects.toMatchObject({ code: 'not_found' })
  })
})
