import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { BandsError, Busy, InvalidParameter, TierRestricted } from '../../src/core/errors.js'
import { parseDay } from '../../src/core/model/day.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import type { OversoldPage } from '../../src/core/model/event.js'
import { NO_FACTS, type Security } from '../../src/core/model/facts.js'
import { TIER_NAMES, type Tier } from '../../src/core/model/terms.js'
import type { OversoldParams } from '../../src/core/params/questions.js'
import { parseOversold } from '../../src/core/params/questions.js'
import { OVERSOLD_KEYS } from '../../src/core/tiers.js'
import { Cache } from '../../src/data/local/cache.js'
import { scanOversold } from '../../src/data/local/oversold.js'
import { RecentScans } from '../../src/data/local/scan-states.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import type { Store } from '../../src/data/store/store.js'
import { type Bar, day as barOf, dateOf } from '../support/bars.js'
import { temporaryFolder } from '../support/store.js'
import { type Given, marketStore } from './oversold-market.js'

const PAGE = new URL('../../../shared/spec/decisions.md', import.meta.url)
const reason = existsSync(PAGE) ? '' : ' (skipped: the folder of shared pages is absent)'

/** 2018-06-15, a Friday. */
const TODAY = dateOf(119)

/** Falls on every weekday, so that its RSI is 0; `sessions` of them from 2018-01-01 on. */
function falling(ticker: string, security: Partial<Security> | null = null, sessions = 120): Given {
  const told = { name: null, sector: null, asset_class: null, market_cap: null, ...security }
  const bars = Array.from({ length: sessions }, (_, t) => barOf(dateOf(t), 1000 - t))
  return { ticker, bars, security: security === null ? null : told, facts: NO_FACTS }
}

function ask(
  store: Store,
  params: OversoldParams = {},
  { tier = 'pro', asOf = null }: { tier?: Tier; asOf?: string | null } = {},
): Promise<OversoldPage> {
  return scanOversold(new Cache(store, tier, asOf === null ? null : parseDay(asOf)), parseOversold(params))
}

async function refused(store: Store, params: OversoldParams, tier: Tier = 'pro'): Promise<BandsError> {
  try {
    await ask(store, params, { tier })
  } catch (error) {
    if (error instanceof BandsError) return error
    throw error
  }
  return expect.fail(`${JSON.stringify(params)} was not refused`)
}

const tickersOf = ({ matches }: OversoldPage): string[] => matches.map(({ ticker }) => ticker)

describe.skipIf(!existsSync(PAGE))(`the keys of a match${reason}`, () => {
  it('are those of the page, tier by tier and in its order', () => {
    const lines = readFileSync(PAGE, 'utf8').split('\n')
    const added = ['Free', 'Plus adds', 'Pro adds'].map(tier => {
      const row = lines.find(line => line.startsWith(`| ${tier} | `) && line.includes(', '))!
      return row.split('|')[2]!.trim().split(', ')
    })
    expect(OVERSOLD_KEYS.free).toEqual(added[0])
    expect(OVERSOLD_KEYS.plus).toEqual(added.slice(0, 2).flat())
    expect(OVERSOLD_KEYS.pro).toEqual(added.flat())
  })
})

describe('sectors', () => {
  it('that no ticker has are refused with the nearest', async () => {
    const store = await marketStore([falling('A', { sector: 'Energy' }), falling('B', { sector: 'Utilities' })])
    const error = await refused(store, { sector: 'enrgy' })
    expect(error).toBeInstanceOf(InvalidParameter)
    expect(error.message).toBe('sector "enrgy" is not one of Energy, Utilities. Did you mean "Energy"?')
    const allowed = ['Energy', 'Utilities']
    expect(error.payload()).toEqual({ param: 'sector', value: 'enrgy', allowed, suggestions: ['Energy'] })
    const none = await refused(await marketStore([falling('A')]), { sector: 'Energy' })
    expect(none.message).toBe('sector "Energy" cannot be looked for: no sector of any ticker is known.')
  })
})

/** What one ticker's match says. */
async function matchOf(bars: Bar[]): Promise<OversoldPage['matches'][number]> {
  return (await ask(await marketStore([{ ...falling('ABC'), bars }]))).matches[0]!
}

describe('the volume', () => {
  it.each([
    ['below_average', [69]],
    ['normal', [70, 149]],
    ['above_average', [150, 249]],
    ['spike', [250]],
  ])('is %s, of %j after 100 on each of 50 bars', async (volume_context, volumes) => {
    for (const volume of volumes) {
      const { bars } = falling('ABC')
      bars.push({ ...bars.pop()!, volume })
      expect(await matchOf(bars)).toMatchObject({ volume_context })
    }
  })
})

describe('the stochastic zone', () => {
  it.each([
    ['deep_oversold', [9.9]],
    ['oversold', [10, 19.9]],
    ['neutral_low', [20, 34.9]],
    ['neutral', [35, 64.9]],
    ['neutral_high', [65, 79.9]],
    ['overbought', [80, 89.9]],
    ['deep_overbought', [90]],
  ])('is %s, of closes at %j percent of a steady range', async (stochastic_zone, percents) => {
    for (const percent of percents) {
      const fall = Array.from({ length: 100 }, (_, t) => barOf(dateOf(t), 2000 - 10 * t))
      const steady = Array.from({ length: 20 }, (_, i) => barOf(dateOf(100 + i), 900 + percent))
      const bars = [...fall, ...steady.map(bar => ({ ...bar, high: 1000, low: 900 }))]
      expect(await matchOf(bars)).toMatchObject({ rsi_zone: 'deep_oversold', stochastic_zone })
    }
  })
})

describe('the distance to the support level', () => {
  it.each([
    [null, [1005.1]],
    ['at_level', [1005, 1000, 995]],
    ['very_close', [994.9, 985]],
    ['near', [984.9, 970]],
    ['moderate', [969.9, 930]],
    ['far', [929.9, 850]],
    ['very_far', [849.9]],
  ])('is %s, of a close at 1000 from levels at %j', async (nearest_support_distance, levels) => {
    for (const level of levels) expect(await matchOf(above(level))).toMatchObject({ nearest_support_distance })
  })
})

/** Closes that rise and then fall to 1000, over one deep low long before. */
function above(level: number): Bar[] {
  const rise = Array.from({ length: 28 }, (_, t) => 1050 + 5 * Math.max(0, t - 12))
  const fall = Array.from({ length: 10 }, (_, i) => 1125 - 12.5 * (i + 1))
  return [...rise, ...fall].map((close, t) => ({
    date: dateOf(t),
    open: close,
    high: close,
    close,
    volume: 100,
    low: t === 12 ? level : close,
  }))
}

describe('a date', () => {
  it('comes with Plus, as far back as the range of the tier', async () => {
    const store = await marketStore([falling('ABC')])
    const back = (years: number, day: string): string => `${2018 - years}-06-${day}`
    for (const tier of TIER_NAMES) expect((await ask(store, {}, { tier })).total_scanned).toBe(1)
    expect((await ask(store, { date: TODAY }, { tier: 'plus' })).total_scanned).toBe(1)
    expect((await ask(store, { date: back(2, '16') }, { tier: 'plus' })).total_scanned).toBe(0)
    expect((await ask(store, { date: back(5, '16') }, { tier: 'pro' })).total_scanned).toBe(0)
    const free = await refused(store, { date: TODAY }, 'free')
    expect(free).toBeInstanceOf(TierRestricted)
    expect(free.message).toBe('date needs the Plus tier; you asked as Free.')
    expect((await refused(store, { date: back(2, '15') }, 'free')).payload()).toMatchObject({ required_tier: 'pro' })
    const plus = await refused(store, { date: back(2, '15') }, 'plus')
    expect(plus.message).toBe('a date outside of the last 2y needs the Pro tier; you asked as Plus.')
  })

  it.each(['free', 'plus', 'pro'] as const)(
    'after today, or before every range, is refused whoever asks: %s',
    async tier => {
      const store = await marketStore([falling('ABC')])
      for (const date of ['2018-06-16', '2013-06-15', '0001-01-01', '9999-12-31']) {
        const error = await refused(store, { date }, tier)
        const allowed = 'a date from 2013-06-16 to 2018-06-15'
        expect(error.message).toBe(`date "${date}" is not ${allowed}.`)
        expect(error.payload()).toMatchObject({ param: 'date', value: date, allowed })
      }
    },
  )

  it('is counted back from the as-of day, or the clock of a server', async () => {
    const store = await marketStore([falling('ABC')])
    const query = parseOversold({ date: '2018-06-01' })
    const asOf = (text: string): Cache => new Cache(store, 'plus', parseDay(text))
    await expect(scanOversold(asOf('2018-05-31'), query)).rejects.toBeInstanceOf(InvalidParameter)
    expect((await scanOversold(asOf('2018-06-01'), query)).match_count).toBe(1)
    const clock = (text: string): Cache => new Cache(store, 'plus', null, { clock: () => parseDay(text)! })
    await expect(scanOversold(clock('2020-06-01'), query)).rejects.toBeInstanceOf(TierRestricted)
    expect((await scanOversold(clock('2018-06-22'), parseOversold({}))).total_scanned).toBe(1)
    expect((await scanOversold(clock('2018-06-23'), parseOversold({}))).total_scanned).toBe(0)
  })
})

describe('while an import is not finished', () => {
  it('is busy where a fundamental band that waits would be shown, and answers otherwise', async () => {
    const store = await marketStore([
      falling('COIN', { asset_class: 'crypto' }),
      falling('WAIT', { asset_class: 'stock', sector: 'Energy' }),
    ])
    await store.write({ unsettled: ['sector energy'] }, DEFINITIONS_VERSION)
    await expect(ask(store)).rejects.toBeInstanceOf(Busy)
    await expect(ask(store, {}, { tier: 'free' })).rejects.toBeInstanceOf(Busy)
    expect(tickersOf(await ask(store, { asset_class: 'crypto' }))).toEqual(['COIN'])
    expect((await ask(store, { limit: 1 })).match_count).toBe(2)
    await store.write({ unsettled: [] }, DEFINITIONS_VERSION)
    expect(tickersOf(await ask(store))).toEqual(['COIN', 'WAIT'])
  })
})

describe('scans that follow each other', () => {
  it('look at each ticker once for each date and timeframe, until something is written', async () => {
    const writer = await marketStore([falling('ABC', { sector: 'Energy' }), falling('DEF')], temporaryFolder())
    const reader = openSqlite(writer.location, { readonly: true })
    const looked: string[] = []
    const bars: Store['bars'] = ticker => {
      looked.push(ticker)
      return reader.bars(ticker)
    }
    const store: Store = Object.assign(openSqlite(writer.location, { readonly: true }), { bars })
    const recent = new RecentScans()
    const scan = (params: OversoldParams): Promise<OversoldPage> =>
      scanOversold(new Cache(store, 'pro', null), parseOversold(params), { recent })
    for (const params of [{}, { sort_by: 'days_oversold' }, { sector: 'Energy' }, { limit: 1 }] as const)
      expect(await scan(params)).toEqual(await ask(reader, params))
    expect(looked).toEqual(['ABC', 'DEF'])
    expect(tickersOf(await scan({ timeframe: 'weekly' }))).toEqual(['ABC', 'DEF'])
    expect(looked).toEqual(['ABC', 'DEF', 'ABC', 'DEF'])
    await writer.remove('ABC')
    expect(tickersOf(await scan({}))).toEqual(['DEF'])
    for (const each of [reader, store, writer]) await each.close()
  })

  it('are given up at a signal', async () => {
    const store = await marketStore([falling('ABC')])
    const signal = AbortSignal.abort(new Error('nobody waits'))
    const query = parseOversold({})
    await expect(scanOversold(new Cache(store, 'pro', null), query, { signal })).rejects.toThrow('nobody waits')
  })
})
