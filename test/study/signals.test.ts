import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rankOutcomes } from '../../src/core/engine/outcomes.js'
import { BUILT_IN_FIELDS, FIELDS } from '../../src/core/fields/index.js'
import { indicesIn, unionCalendar } from '../../src/core/model/calendar.js'
import { type Day, formatDay, parseDay } from '../../src/core/model/day.js'
import { forwardReturns as recordedReturns, STABILITIES, UNDEFINED } from '../../src/core/model/series.js'
import { ANY_EVENT, type ContextFilter, type EventFilter } from '../../src/core/params/studies.js'
import { eventHistory, type MarketBars, type PricedSource, type States } from '../../src/core/source.js'
import { Random } from '../../src/core/statistics/random.js'
import { Local } from '../../src/data/local/local.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import type { Store } from '../../src/data/store/store.js'
import { eligibleBars, forwardReturns, lostWindowsOf } from '../../src/research/study/signals.js'
import { randomBars } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { notInQuick } from '../support/full.js'
import { pick } from '../support/random-facts.js'
import { barsIn, baseIn, signalsFor, sourceOf, statesIn } from '../support/source.js'
import { loadedStore } from '../support/store.js'

const SIMULATED = [...simulatedTickers({ count: 3, bars: 900, seed: 5, end: parseDay('2024-06-28')! })]
const NAMES = SIMULATED.map(({ ticker }) => ticker)
const ANY: EventFilter = { ...ANY_EVENT, field: 'rsi_zone', timeframe: 'daily' }

const folder = mkdtempSync(join(tmpdir(), 'bands-signals-'))
let store: Store
let local: Local
let market: PricedSource
let whole: PricedSource
beforeAll(async () => {
  store = await loadedStore(SIMULATED, folder)
  local = new Local(store, 'plus', null)
  market = local
  whole = new Local(store, null, null)
})
afterAll(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

interface Seen {
  date: string
  band: string
  prev_band: string
  stability: string | undefined
  flips: number
  context: string | null | undefined
}

/** Signals as people read them. */
async function seen(ticker: string, filter: EventFilter, from = market): Promise<Seen[]> {
  const { prices, states, signals } = await signalsFor(from, ticker, filter)
  return Array.from(signals.bars, (bar, i) => ({
    date: formatDay(prices.series.days[bar]!),
    band: states.bands[signals.entered[i]!]!,
    prev_band: states.bands[signals.left[i]!]!,
    stability: STABILITIES[signals.stability[i]!],
    flips: signals.flips[i]!,
    context: signals.contextBands?.[i],
  }))
}

describe('signals', () => {
  notInQuick(
    'are the events that a search of the same tier finds, one filter after the other, for 400 random filters',
    async () => {
      const random = new Random(3)
      let found = 0
      for (let run = 0; run < 400; run++) {
        const filter = randomFilter(random)
        const { field, timeframe, context } = filter
        const ticker = pick(random, NAMES)
        const history = await eventHistory(local, {
          ticker,
          field,
          timeframe,
          ...boundsOf(filter),
          ...(context === null ? {} : { context: { ticker: context.ticker, field: context.field } }),
        })
        const has = (allowed: readonly unknown[] | null, value: unknown): boolean => allowed?.includes(value) ?? true
        const expected = history.events
          .filter(event => has(filter.bands, event.band) && has(filter.prev_bands, event.prev_band))
          .filter(event => has(filter.stability, event.stability_at_entry))
          .filter(event => event.flips_recent_at_entry! <= (filter.max_flips ?? 99))
          .filter(event => has(context?.bands ?? null, event.context_band))
          .map(event => ({
            date: event.date,
            band: event.band,
            prev_band: event.prev_band,
            stability: event.stability_at_entry,
            flips: event.flips_recent_at_entry,
            context: context === null ? undefined : event.context_band,
          }))
        found += expected.length
        expect(await seen(ticker, filter), JSON.stringify(filter)).toEqual(expected)
      }
      expect(found).toBeGreaterThan(4_000)
    },
  )

  it('with a lag see the context as it was on the day before, which is not its bar before where it does not trade', async () => {
    const context: ContextFilter = { ticker: NAMES[2]!, field: 'macd_state', bands: null, lag: 1 }
    const other = await seen(NAMES[2]!, { ...ANY, field: 'macd_state' }, whole)
    for (const event of await seen(NAMES[0]!, { ...ANY, context }, whole)) {
      const before = other.filter(({ date }) => date < event.date).at(-1)
      expect(event.context).toBe(before?.band ?? null)
    }
  })

  it('have no context before the first transition of the other ticker, though it has a band', async () => {
    const context: ContextFilter = { ticker: NAMES[1]!, field: 'ma_alignment', bands: null, lag: 0 }
    const [first] = await seen(NAMES[1]!, { ...ANY, field: 'ma_alignment' }, whole)
    const early = (await seen(NAMES[0]!, { ...ANY, context }, whole)).filter(({ date }) => date < first!.date)
    expect(early.length).toBeGreaterThan(0)
    for (const event of early) expect(event.context).toBeNull()
  })

  it('know nothing of stability that nobody tells', async () => {
    const free = sourceOf({
      async *states(query) {
        for await (const { prices, states } of market.states(query)) {
          const none = (of: States): Uint8Array => new Uint8Array(of.bars.length).fill(UNDEFINED)
          yield { prices, states: states.map(of => ({ ...of, stability: none(of), flips: none(of) })) }
        }
      },
    })
    expect(await seen(NAMES[0]!, ANY, free)).toHaveLength((await seen(NAMES[0]!, ANY)).length)
    await expect(seen(NAMES[0]!, { ...ANY, stability: ['fresh'] }, free)).rejects.toThrow(
      'stability_at_entry needs the Plus tier; you asked as Free.',
    )
    await expect(seen(NAMES[0]!, { ...ANY, max_flips: 3 }, free)).rejects.toMatchObject({ code: 'tier_restricted' })
  })

  it('of a tier that has not the field are refused before a ticker that is not there', async () => {
    const filter = { ...ANY, field: 'insider_activity_zone' }
    await expect(signalsFor(market, 'NONE', filter)).rejects.toMatchObject({ code: 'tier_restricted' })
    await expect(signalsFor(market, 'NONE', ANY)).rejects.toMatchObject({ code: 'not_found' })
    const context: ContextFilter = { ticker: 'NONE', field: 'rsi_zone', bands: null, lag: 0 }
    await expect(signalsFor(market, NAMES[0]!, { ...ANY, context })).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('the bars that events are held against', () => {
  it('are those of a baseline: in range, between the dates, with a band', async () => {
    const random = new Random(8)
    for (let run = 0; run < 60; run++) {
      const { field, timeframe, after, before } = randomFilter(random)
      const ticker = pick(random, NAMES)
      const bounds = boundsOf({ after, before })
      const baseline = await baseIn(local, { ticker, field, timeframe, ...bounds })
      const states = await statesIn(market, ticker, field, timeframe)
      const prices = await barsIn(market, ticker, timeframe)
      expect(eligibleBars(prices, states, { after, before })).toHaveLength(baseline!.bars)
    }
  })

  it('hold every event', async () => {
    const { prices, states, signals } = await signalsFor(market, NAMES[0]!, ANY)
    const eligible = new Set(eligibleBars(prices, states, ANY))
    for (const bar of signals.bars) expect(eligible.has(bar)).toBe(true)
  })
})

const GRANTED = FIELDS.filter(field => field.tier !== 'pro').map(field => field.name)
const FIRST = parseDay('2021-06-01')!

/** The dates of a filter as a search has them. */
function boundsOf({ after, before }: Pick<EventFilter, 'after' | 'before'>): { after?: Day; before?: Day } {
  const bounds = {
    ...(after !== null && { after: parseDay(after)! }),
    ...(before !== null && { before: parseDay(before)! }),
  }
  return bounds
}

function randomFilter(random: Random): EventFilter {
  const field = pick(random, GRANTED)
  const some = <Word>(words: readonly Word[]): readonly Word[] | null =>
    random.below(3) > 0 ? null : words.filter(() => random.below(2) === 0)
  const day = (): string | null => (random.below(3) > 0 ? null : formatDay(FIRST + random.below(1_150)))
  const other = pick(random, GRANTED)
  const context: ContextFilter = {
    ticker: pick(random, NAMES),
    field: other,
    bands: some(BUILT_IN_FIELDS.named(other)!.bands),
    lag: 0,
  }
  const { bands } = BUILT_IN_FIELDS.named(field)!
  return {
    field,
    timeframe: pick(random, ['daily', 'weekly'] as const),
    bands: some(bands),
    prev_bands: some(bands),
    stability: some(STABILITIES),
    max_flips: random.below(3) > 0 ? null : random.below(6),
    context: random.below(2) === 0 ? null : context,
    after: day(),
    before: day(),
  }
}

describe('the calendar of several tickers', () => {
  it('has every day of each once, ascending, and says where each lies', () => {
    const random = new Random(1)
    for (let run = 0; run < 200; run++) {
      const columns = Array.from({ length: random.below(5) }, () => someDays(random))
      const calendar = unionCalendar(columns)
      const expected = [...new Set(columns.flatMap(column => [...column]))].sort((a, b) => a - b)
      expect([...calendar]).toEqual(expected)
      for (const column of columns)
        expect([...indicesIn(calendar, column)]).toEqual([...column].map(day => expected.indexOf(day)))
    }
  })

  it('is empty without tickers, and without bars', () => {
    expect(unionCalendar([])).toHaveLength(0)
    expect(unionCalendar([new Int32Array(), new Int32Array()])).toHaveLength(0)
  })
})

/** Ascending days, before 1970 too. */
function someDays(random: Random): Int32Array {
  const days = new Set(Array.from({ length: random.below(40) }, () => random.below(60) - 30))
  return Int32Array.from(days).sort()
}

function pricesOf(closes: readonly number[], delisting: MarketBars['delisting'] = null): MarketBars {
  const bars = randomBars(3, { length: closes.length }).map((bar, t) => ({ ...bar, close: closes[t]! }))
  const series = seriesOf(bars)
  return { ticker: 'A', assetClass: null, adjustment: 'raw', series, barsAYear: 252, delisting }
}

describe('a forward return', () => {
  it('is the one that the engine records, for each of its windows', () => {
    const series = seriesOf(randomBars(4))
    const { close } = rankOutcomes(series)
    for (const horizon of [5, 10, 20, 50, 100])
      expect(forwardReturns({ ...pricesOf([]), series }, horizon)).toEqual(recordedReturns(close, horizon))
  })

  it('is unknown while the window has not elapsed, and everywhere when there are fewer bars', () => {
    expect([...forwardReturns(pricesOf([100, 110, 121]), 2)]).toEqual([0.21, Number.NaN, Number.NaN].map(close))
    expect([...forwardReturns(pricesOf([100, 110]), 5)]).toEqual([Number.NaN, Number.NaN])
    expect(forwardReturns(pricesOf([]), 5)).toHaveLength(0)
  })

  it('over a delisting is the return to the final price, then 0: (1 + return) (1 + delisting return) - 1', () => {
    const delisting = { day: 20_000, price: 55 }
    const returns = forwardReturns(pricesOf([100, 120, 110], delisting), 2)
    expect(returns[0]).toBeCloseTo(0.1, 12)
    expect(returns[1]).toBeCloseTo((110 / 120) * (1 - 0.5) - 1, 12)
    expect(returns[2]).toBeCloseTo(-0.5, 12)
    // However far the window reaches: nothing is earned after the end.
    expect(forwardReturns(pricesOf([100, 120, 110], delisting), 100)[1]).toBe(returns[1])
  })

  it('over a total loss is -1', () => {
    expect([...forwardReturns(pricesOf([100, 50], { day: 20_000, price: 0 }), 5)]).toEqual([-1, -1])
  })
})

describe('a window without a return', () => {
  const bars = pricesOf([1, 2, 3, 4, 5, 6])
  const last = bars.series.days.at(-1)!
  const all = [0, 1, 2, 3, 4, 5]

  it('has not elapsed while the ticker is traded', () => {
    expect(lostWindowsOf(bars, 2, all, last)).toEqual({ notElapsed: 2, delisted: 0, settled: 0 })
    expect(lostWindowsOf(bars, 9, all, last + 14)).toEqual({ notElapsed: 6, delisted: 0, settled: 0 })
    expect(lostWindowsOf(bars, 2, [0, 4], null)).toEqual({ notElapsed: 1, delisted: 0, settled: 0 })
  })

  it('is lost where the bars of the ticker end and the market goes on', () => {
    expect(lostWindowsOf(bars, 2, all, last + 15)).toEqual({ notElapsed: 0, delisted: 2, settled: 0 })
  })

  it('is none where a delisting tells what became of it', () => {
    const settled = pricesOf([1, 2, 3, 4, 5, 6], { day: last + 1, price: 2 })
    expect(lostWindowsOf(settled, 2, all, last + 400)).toEqual({ notElapsed: 0, delisted: 0, settled: 2 })
    expect(forwardReturns(settled, 2).every(Number.isFinite)).toBe(true)
  })
})

function close(value: number): unknown {
  return Number.isNaN(value) ? Number.NaN : expect.closeTo(value, 12)
}
