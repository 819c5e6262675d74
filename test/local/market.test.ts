import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sourcesOfStore } from '../../src/app/open/database.js'
import { BUILT_IN_FIELDS, FIELDS } from '../../src/core/fields/index.js'
import { type Day, formatDay, parseDay } from '../../src/core/model/day.js'
import { STABILITIES, UNDEFINED } from '../../src/core/model/series.js'
import { TIER_NAMES, TIMEFRAME_NAMES, type Tier, type Timeframe } from '../../src/core/model/terms.js'
import type { PricedSource, States } from '../../src/core/source.js'
import { grantedFields, PLANS } from '../../src/core/tiers.js'
import { Cache } from '../../src/data/local/cache.js'
import { exportEvents, exportSeries } from '../../src/data/local/export.js'
import { Local } from '../../src/data/local/local.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import type { Store } from '../../src/data/store/store.js'
import { randomBars, SHAPES } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { drained } from '../support/drain.js'
import { notInQuick } from '../support/full.js'
import { copied, pulledIn } from '../support/pulled.js'
import { barsIn, statesIn } from '../support/source.js'
import { cacheOf, loadedStore, openedForAll, temporaryFolder } from '../support/store.js'

/** Seven years, longer than the widest range; seven tickers of one sector, so that it can be compared with. */
const SIMULATED = [...simulatedTickers({ count: 7, bars: 1_800, seed: 11, end: parseDay('2024-06-28')! })]
const NAMES = SIMULATED.map(({ ticker }) => ticker)

let store: Store
openedForAll(async folder => {
  store = await loadedStore(SIMULATED, folder)
  return store
})

interface Told {
  tier?: Tier
  asOf?: Day | null
  emulate?: boolean
}

function marketOf({ tier = 'pro', asOf = null, emulate = false }: Told = {}, of = store): PricedSource {
  return sourcesOfStore(of, emulate ? tier : null, asOf).local
}

describe('the market of what is loaded', () => {
  it.each(TIMEFRAME_NAMES)(
    '%s, has the bars, bands and events that an export writes, of every field',
    async timeframe => {
      const market = marketOf()
      const cache = new Cache(store, 'pro', null)
      const [ticker] = NAMES
      const filter = { tickers: [ticker!], timeframes: [timeframe] }
      const rows = await drained(exportSeries(cache, filter))
      const { series } = await barsIn(market, ticker!, timeframe)
      expect([...series.days].map(formatDay)).toEqual(rows.map(row => row.date))
      expect([...series.close]).toEqual(rows.map(row => row.close))
      const events = await drained(exportEvents(cache, filter))
      for (const { name } of FIELDS) {
        const states = await statesIn(market, ticker!, name, timeframe)
        expect([states.from, states.to]).toEqual([0, rows.length])
        expect(Array.from(states.codes, code => bandOf(states, code))).toEqual(rows.map(row => row[name]))
        const told = events
          .filter(event => event.field === name)
          .map(({ date, prev_band, band, ...event }) => [
            ...[date, prev_band, band],
            ...[event.stability_at_entry, event.flips_recent_at_entry],
          ])
        expect(eventsOf(states, series.days)).toEqual(told)
        expect(states.earlier).toBeUndefined()
      }
    },
  )

  notInQuick('as of a day is the market of bars that end there, sectors and all', async () => {
    const day = parseDay('2021-03-10')!
    const market = marketOf({ asOf: day })
    const whole = marketOf()
    for (const timeframe of TIMEFRAME_NAMES)
      for (const ticker of NAMES.slice(0, 2)) {
        const { series } = await barsIn(market, ticker, timeframe)
        const all = (await barsIn(whole, ticker, timeframe)).series
        expect(series.known.every(known => known <= day)).toBe(true)
        const bars = series.days.length
        expect(series.close).toEqual(all.close.subarray(0, bars))
        for (const { name } of FIELDS) {
          const then = await statesIn(market, ticker, name, timeframe)
          const now = await statesIn(whole, ticker, name, timeframe)
          expect(then.codes).toEqual(now.codes.subarray(0, bars))
          expect(then.to).toBe(bars)
          expect(eventsOf(then, series.days)).toEqual(eventsOf(now, all.days).slice(0, then.bars.length))
        }
      }
    expect(await market.asOfDay()).toBe(day)
    expect(await whole.asOfDay()).toBe(parseDay('2024-06-28'))
  })

  it('lists the tickers that have bars, ascending', async () => {
    expect(await marketOf().withBars()).toEqual(NAMES)
  })

  it('says how many bars make a year', async () => {
    const bars = (daysAWeek: 5 | 7) => seriesOf(randomBars(5, { ...SHAPES.plain, daysAWeek, length: 80 }))
    const cache = await cacheOf([
      { ticker: 'FIVE', series: bars(5) },
      { ticker: 'SEVEN', series: bars(7) },
      { ticker: 'COIN', series: bars(5), assetClass: 'crypto' },
    ])
    const years = async (ticker: string, timeframe: Timeframe) => (await barsIn(cache, ticker, timeframe)).barsAYear
    expect(await years('FIVE', 'daily')).toBe(252)
    expect(await years('SEVEN', 'daily')).toBe(365)
    expect(await years('COIN', 'daily')).toBe(365)
    for (const ticker of ['FIVE', 'SEVEN', 'COIN']) expect(await years(ticker, 'weekly')).toBe(52)
  })

  it('answers alike however many tickers were asked for in between', async () => {
    const market = marketOf()
    const ask = () => statesIn(market, NAMES[0]!, 'pe_vs_sector', 'weekly')
    const before = await ask()
    for (const timeframe of TIMEFRAME_NAMES)
      for (const ticker of NAMES) await statesIn(market, ticker, 'rsi_zone', timeframe)
    expect(await ask()).toEqual(before)
    expect(await Promise.all([ask(), ask()])).toEqual([before, before])
  })

  it('refuses a missing ticker, and one that has only events', async () => {
    const market = marketOf()
    await expect(barsIn(market, 'SIM0008X', 'daily')).rejects.toThrow(/no bars for "SIM0008X"\. Did you mean/)
    await expect(statesIn(market, 'SIM0008X', 'rsi_zone', 'daily')).rejects.toMatchObject({ code: 'not_found' })
    const pulled = openSqlite(join(temporaryFolder(), 'bands.db'), { readonly: false })
    const key = { ticker: NAMES[0]!, timeframe: 'daily', field: 'rsi_zone' } as const
    await pulledIn(pulled).put(await copied(new Local(store, 'pro', null), key))
    const only = marketOf({}, pulled)
    await expect(barsIn(only, key.ticker, 'daily')).rejects.toThrow(
      `there are no bars of ${key.ticker}, and this needs them`,
    )
    await expect(statesIn(only, key.ticker, key.field, 'daily')).rejects.toThrow('there are no bars of')
    expect(await only.asOfDay()).toBeNull()
    expect(await only.withBars()).toEqual([])
    await pulled.close()
  })
})

describe('the market of a tier', () => {
  it('has its range, and what was before only to be looked back at', async () => {
    const today = parseDay('2024-06-28')!
    for (const tier of ['plus', 'pro'] as const) {
      const start = PLANS[tier].rangeStart(today)
      const market = marketOf({ tier, emulate: true })
      const whole = marketOf()
      for (const ticker of NAMES)
        for (const timeframe of TIMEFRAME_NAMES) {
          const { days, known } = (await barsIn(market, ticker, timeframe)).series
          const seen = await statesIn(market, ticker, 'rsi_zone', timeframe)
          const all = await statesIn(whole, ticker, 'rsi_zone', timeframe)
          expect(days[seen.from]!).toBeGreaterThan(start)
          expect(days[seen.from - 1]!).toBeLessThanOrEqual(start)
          expect(seen.to).toBe(days.length)
          expect(seen.codes).toEqual(all.codes)
          const inRange = eventsOf(all, days).filter(([date]) => date! > formatDay(start))
          expect(eventsOf(seen, days)).toEqual(inRange)
          const older = all.bars.filter(bar => bar < seen.from).length
          const entry = all.bars[older - 1]!
          expect(seen.earlier).toEqual({ band: all.entered[older - 1]!, since: days[entry]!, known: known[entry]! })
        }
    }
  })

  it('has its fields', async () => {
    for (const tier of TIER_NAMES) {
      const market = marketOf({ tier, emulate: true })
      const granted = new Set(grantedFields(tier, BUILT_IN_FIELDS).map(field => field.name))
      for (const { name } of FIELDS) {
        const asked = statesIn(market, NAMES[0]!, name, 'daily')
        if (tier !== 'free' && granted.has(name)) expect((await asked).field).toBe(name)
        else await expect(asked).rejects.toMatchObject({ code: 'tier_restricted' })
      }
    }
  })

  it('refuses Free, which shows no later returns, before any other error', async () => {
    const market = marketOf({ tier: 'free', emulate: true })
    await expect(barsIn(market, 'NONE', 'daily')).rejects.toThrow('aftermath needs the Plus tier; you asked as Free.')
    await expect(statesIn(market, 'NONE', 'rsi_zone', 'daily')).rejects.toMatchObject({ feature: 'aftermath' })
    expect((await statesIn(marketOf({ tier: 'free' }), NAMES[0]!, 'rsi_zone', 'daily')).from).toBe(0)
  })
})

function bandOf({ bands }: States, code: number): string | null {
  return code === UNDEFINED ? null : bands[code]!
}

function eventsOf(states: States, days: Int32Array): unknown[][] & (string | undefined)[][] {
  return Array.from(states.bars, (bar, i) => [
    formatDay(days[bar]!),
    bandOf(states, states.left[i]!),
    bandOf(states, states.entered[i]!),
    STABILITIES[states.stability[i]!],
    states.flips[i],
  ]) as unknown[][] & (string | undefined)[][]
}
