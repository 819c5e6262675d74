import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { firstChangeableEvent } from '../../src/app/remote/pages.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import type { BandEvent } from '../../src/core/model/event.js'
import { TIMEFRAMES } from '../../src/core/model/terms.js'
import { eventHistory } from '../../src/core/source.js'
import type { Store } from '../../src/data/store/store.js'
import { simulatedRecord } from '../contracts/store.js'
import { pulledIn, URL } from '../support/pulled.js'
import { baseIn } from '../support/source.js'
import {
  callerOf,
  clock,
  emptyStore,
  keys,
  killedAt,
  killedAtEnd,
  openMarket,
  pull,
  RSI,
  Source,
  toldBy,
} from './pull-source.js'

const TICKERS = ['SIM0001', 'SIM0002', 'SIM0003']
const LAST = '2024-06-28'

beforeEach(clock.reset)

let market: Store
beforeAll(async () => {
  const opened = await openMarket(3)
  market = opened.market
  return opened.close
})

/** A page each. */
const TWO = keys(['SIM0001', 'SIM0002'], ['growth_zone'], ['daily'])
const WHOLE = { ...RSI, limit: 100 } as const

describe('a first pull', () => {
  it('costs as many credits as there are pages, and at least one', async () => {
    const store = emptyStore()
    const source = new Source(market)
    const series = keys(TICKERS, ['rsi_zone', 'volume_ratio_band', 'insider_activity_zone'])
    const report = await pull(store, source, series)
    let pages = 0
    for (const { ticker, timeframe, field, credits, events } of report.series) {
      const total = (await source.local.events({ ...WHOLE, ticker, timeframe, field })).total_occurrences
      expect([credits, events]).toEqual([Math.max(1, Math.ceil(total / 100)), total])
      pages += credits
    }
    expect(pages).toBeGreaterThan(series.length)
    expect([report.credits, source.cost()]).toEqual([pages, pages])
  })

  it('keeps each page as it comes: gone on with after any of them, it pays nothing twice and ends the same', async () => {
    const whole = emptyStore()
    const series = keys(TICKERS.slice(0, 2), ['volume_ratio_band'], ['daily'])
    const { credits } = await pull(whole, new Source(market), series)
    expect(credits).toBeGreaterThan(5)
    for (let answers = 0; answers < credits; answers++) {
      const store = emptyStore()
      const source = new Source(market)
      source.answers = answers
      const stopped = await pull(store, source, series)
      expect(stopped).toMatchObject({ stopped: 'error', credits: answers })
      expect((stopped.error as Error).message).toBe('the line is dead')
      source.answers = Number.POSITIVE_INFINITY
      const rest = await pull(store, source, series)
      expect(rest).toMatchObject({ stopped: null, credits: credits - answers })
      expect(source.cost()).toBe(credits)
      for (const key of series) expect(await pulledIn(store).series(key)).toEqual(await pulledIn(whole).series(key))
      expect(await pulledIn(store).run()).toBeNull()
    }
  })

  it('asks for a page that was answered and not kept under its old name', async () => {
    const store = emptyStore()
    const source = new Source(market)
    let puts = 0
    const mend = killedAt(store, () => (++puts === 3 ? 'before' : null))
    await pull(store, source, [RSI])
    mend()
    await pull(store, source, [RSI])
    expect(source.names[2]).toBe(source.names[3])
    expect(new Set(source.names).size).toBe(source.names.length - 1)
  })

  it('is answered from only when it is whole', async () => {
    const store = emptyStore()
    const source = new Source(market)
    source.answers = 1
    await pull(store, source, [RSI])
    const total = (await source.local.events(WHOLE)).total_occurrences
    await expect(callerOf(store).events(WHOLE)).rejects.toMatchObject({
      code: 'busy',
      message: `daily rsi_zone of SIM0001 is pulled in part only, 100 of ${total} events; pull it to the end.`,
    })
    source.answers = Number.POSITIVE_INFINITY
    await pull(store, source, [RSI])
    expect(await callerOf(store).events(WHOLE)).toEqual(await source.local.events(WHOLE))
  })

  it('never spends more than it is allowed, finishing one series after the other', async () => {
    const series = keys(TICKERS, ['rsi_zone'], ['daily'])
    const all = (await pull(emptyStore(), new Source(market), series)).credits
    for (const maxCredits of [0, 1, 4, all - 1, all]) {
      const store = emptyStore()
      const source = new Source(market)
      const report = await pull(store, source, series, { maxCredits })
      expect([report.credits, source.cost()]).toEqual([maxCredits, maxCredits])
      expect(report.stopped).toBe(maxCredits < all ? 'credits' : null)
      const complete = report.series.filter(({ outcome }) => outcome === 'pulled')
      expect(complete.length).toBe(maxCredits === all ? 3 : Math.floor(maxCredits / (all / 3)))
    }
  })

  it('leaves out a ticker that is not there and a field above the tier, and pulls the others', async () => {
    const store = emptyStore()
    const source = new Source(market, { tier: 'free' })
    const series = keys(['NOSUCH', 'SIM0001'], ['rsi_zone', 'valuation_zone'])
    const report = await pull(store, source, series)
    expect(report.stopped).toBeNull()
    expect(report.series.filter(({ outcome }) => outcome === 'pulled').map(({ field }) => field)).toEqual([
      'rsi_zone',
      'rsi_zone',
    ])
    expect(report.credits).toBe(2)
    // What was refused once is not asked again: one ticker, one field.
    expect(source.names.length).toBe(4)
  })
})

describe('a pull of what is there', () => {
  it('asks a page of each, and goes back only as far as something may have changed', async () => {
    const store = emptyStore()
    const key = { ...RSI, field: 'volume_ratio_band' }
    await pull(store, new Source(market, { asOf: '2022-06-30' }), [key])
    const { events } = (await pulledIn(store).series(key))!
    const open = events[firstChangeableEvent(events, 'daily')]!.date
    expect(open > '2021-12').toBe(true)
    const source = new Source(market)
    const { series } = await pull(store, source, [key])
    expect(source.asked.length).toBeGreaterThan(1)
    const told = (await eventHistory(source.local, key)).events.filter(event => event.date >= open)
    expect(source.asked).toHaveLength(Math.ceil(told.length / 100))
    expect(series[0]).toMatchObject({ outcome: 'updated' })
  })

  it('asks once more when the day has changed between its pages, and answers nothing until then', async () => {
    const store = emptyStore()
    const source = new Source(market, { asOf: '2024-02-29' })
    source.answers = 1
    await pull(store, source, [RSI])
    source.asOf = '2024-06-10'
    while ((await pulledIn(store).series(RSI))!.under_way !== null) {
      source.answers = 1
      await pull(store, source, [RSI])
    }
    expect((await pulledIn(store).series(RSI))!.state).toBe('mixed')
    await expect(callerOf(store).events(WHOLE)).rejects.toMatchObject({ code: 'busy' })
    source.answers = Number.POSITIVE_INFINITY
    source.cost()
    await pull(store, source, [RSI])
    expect(source.cost()).toBe(1)
    expect(await eventHistory(callerOf(store), RSI)).toMatchObject({
      as_of: '2024-06-10',
      source: { as_of: '2024-06-10' },
    })
    const own = (await eventHistory(callerOf(store), RSI)).events
    expect(own.length).toBe((await source.local.events(WHOLE)).total_occurrences)
  })

  it('goes on with a run that was stopped without asking again what that has pulled, unless the day is a new one', async () => {
    const store = emptyStore()
    const series = keys(TICKERS, ['macd_state', 'support_status'])
    const source = new Source(market, { asOf: '2024-02-29' })
    await pull(store, source, series)
    clock.pass(24)
    source.cost()
    expect(await pull(store, source, series, { maxCredits: 5 })).toMatchObject({ stopped: 'credits' })
    clock.pass(1)
    expect(await pull(store, source, series)).toMatchObject({ stopped: null, credits: 7 })
    clock.pass(1)
    expect(await pull(store, source, series, { maxCredits: 5 })).toMatchObject({ stopped: 'credits' })
    source.asOf = '2024-03-01'
    clock.pass(1)
    const { credits, series: found } = await pull(store, source, series)
    expect(credits).toBe(12)
    expect(new Set(found.map(({ as_of }) => as_of))).toEqual(new Set(['2024-03-01']))
  })

  it('asks for each again when a run was through but for its end, and when it is to be replaced', async () => {
    const store = emptyStore()
    const series = keys(TICKERS, ['macd_state'])
    const source = new Source(market)
    await killedAtEnd(store, source, series)
    clock.pass(1)
    const { credits } = await pull(store, source, series)
    expect(credits).toBe(series.length)
    await pull(store, source, series, { maxCredits: 2 })
    source.cost()
    clock.pass(1)
    await pull(store, source, series, { replace: true })
    expect(new Set(source.asked.map(query => JSON.stringify(query))).size).toBe(source.cost())
    expect((await pulledIn(store).entries()).every(({ pulled_at }) => pulled_at === clock.now().toISOString())).toBe(
      true,
    )
  })

  it('ignores additions of a server to the specification', async () => {
    const store = emptyStore()
    const source = new Source(market)
    let asked = 0
    const page = source.newPage.bind(source)
    source.newPage = async (query, named) => {
      const answer = await page(query, named)
      asked++
      const events = answer.page!.events.map(({ date, ...event }) => ({ served: asked, ...event, date }))
      return { ...answer, page: { ...answer.page!, events } }
    }
    await pull(store, source, [RSI])
    source.cost()
    const { series } = await pull(store, source, [RSI])
    expect([series[0]!.note, source.cost()]).toEqual([null, 1])
  })

  it('begins with what is not there, and then with the oldest', async () => {
    const store = emptyStore()
    const source = new Source(market)
    for (const ticker of ['SIM0003', 'SIM0001']) {
      await pull(store, source, keys([ticker], ['macd_state'], ['weekly']))
      clock.pass(1)
    }
    source.cost()
    await pull(store, source, keys(TICKERS, ['macd_state'], ['weekly']))
    expect(source.asked.map(({ ticker }) => ticker)).toEqual(['SIM0002', 'SIM0003', 'SIM0001'])
  })

  it('fetches all of it again with the key of a higher tier, saying why, and leaves it to none of a lower', async () => {
    const store = emptyStore()
    for (const [tier, note] of [
      ['free', null],
      ['plus', expect.stringContaining('range now, 2y')],
      ['pro', expect.stringContaining('range now, 5y')],
    ] as const) {
      const source = new Source(market, { tier })
      expect((await pull(store, source, [RSI])).series).toMatchObject([{ note }])
      expect(await callerOf(store).events(WHOLE)).toEqual(await source.local.events(WHOLE))
      if (tier === 'free') await expect(baseIn(callerOf(store), RSI)).rejects.toMatchObject({ code: 'tier_restricted' })
    }
    const before = await pulledIn(store).series(RSI)
    const free = new Source(market, { tier: 'free' })
    const { series, credits } = await pull(store, free, [RSI, { ...RSI, ticker: 'SIM0002' }])
    expect(series).toMatchObject([{ outcome: 'pulled' }, { outcome: 'refused', refusal: { code: 'tier_restricted' } }])
    expect(credits).toBe(1)
    expect(await pulledIn(store).series(RSI)).toEqual(before)
    await pull(store, free, [RSI], { replace: true })
    expect(await callerOf(store).events(WHOLE)).toEqual(await free.local.events(WHOLE))
  })
})

describe('a server that names its pages', () => {
  it('is asked at no cost whether anything has changed', async () => {
    const store = emptyStore()
    const source = new Source(market, { asOf: '2024-02-29' })
    source.tagged = true
    const series = keys(TICKERS, BUILT_IN_FIELDS.names, ['daily'])
    const first = await pull(store, source, series)
    expect(first.credits).toBeGreaterThanOrEqual(series.length)
    clock.pass(1)
    source.cost()
    const again = await pull(store, source, series)
    expect([again.credits, source.cost()]).toEqual([0, 0])
    expect(new Set(again.series.map(({ outcome }) => outcome))).toEqual(new Set(['unchanged']))
    expect(again.series[0]!.pulled_at).toBe('2026-11-21T11:00:00.000Z')
    source.asOf = LAST
    const later = await pull(store, source, series)
    expect(later.credits).toBe(later.series.filter(({ outcome }) => outcome === 'updated').length)
    expect(later.credits).toBeLessThanOrEqual(series.length)
    for (const key of series)
      expect(await callerOf(store).events({ ...key, limit: 100 })).toEqual(
        await source.local.events({ ...key, limit: 100 }),
      )
    expect(new Set((await pulledIn(store).entries()).map(({ as_of }) => as_of))).toEqual(new Set([LAST]))
  })

  it('is asked for all of it with replace', async () => {
    const store = emptyStore()
    const source = new Source(market)
    source.tagged = true
    const { credits } = await pull(store, source, [RSI])
    clock.pass(1)
    const prices: unknown[] = []
    const onPriced = (price: unknown): void => void prices.push(price)
    const again = await pull(store, source, [RSI], { replace: true, onPriced })
    expect(again.credits).toBe(credits)
    expect(prices).toEqual([{ least: credits - 1, most: credits - 1 }])
  })
})

describe('one ticker, one source', () => {
  it('refuses a ticker that has bars before anything is asked', async () => {
    const store = emptyStore()
    await store.write({ records: [simulatedRecord(1)] }, 'x')
    const source = new Source(market)
    await expect(pull(store, source, keys(TICKERS, ['rsi_zone']))).rejects.toMatchObject({
      code: 'invalid_parameter',
      message:
        'SIM0001 has bars here, and the events of one ticker come from one source: pull into another database (db FILE), or remove its bars first.',
    })
    expect(source.names).toEqual([])
  })

  it("refuses another server, and with replace deletes the first one's pages of the ticker", async () => {
    const store = emptyStore()
    await pull(store, new Source(market), keys(TICKERS, ['rsi_zone', 'macd_state']))
    const other = new Source(market)
    other.url = 'https://other.example'
    await expect(pull(store, other, [RSI])).rejects.toMatchObject({
      code: 'invalid_parameter',
      message: `SIM0001 was pulled from ${URL} before, not from https://other.example: replace begins again and drops the copy, db FILE keeps both apart.`,
    })
    expect(other.names).toEqual([])
    await pull(store, other, [RSI], { replace: true })
    const entries = await pulledIn(store).entries('SIM0001')
    expect(entries.map(({ url, field, timeframe }) => [url, field, timeframe])).toEqual([
      ['https://other.example', 'rsi_zone', 'daily'],
    ])
    expect(await pulledIn(store).entries('SIM0002')).toHaveLength(4)
  })
})

describe('a run that was stopped', () => {
  it.each([false, true])(
    'lets what was there answer until its last page, and is gone on with, replacing: %s',
    async replace => {
      const store = emptyStore()
      const key = { ...RSI, field: 'volume_ratio_band' }
      const query = { ...WHOLE, ...key }
      await pull(store, new Source(market, { asOf: '2021-06-30' }), [key])
      const before = await callerOf(store).events(query)
      clock.pass(1)
      const source = new Source(market)
      source.answers = 2
      await pull(store, source, [key], { replace })
      expect((await pulledIn(store).series(key))!.under_way).not.toBeNull()
      expect(await callerOf(store).events(query)).toEqual(before)
      source.answers = Number.POSITIVE_INFINITY
      await pull(store, source, [key], { replace })
      const theirs = await source.local.events(query)
      expect(await callerOf(store).events(query)).toEqual(theirs)
      if (replace) expect(source.cost()).toBe(Math.ceil(theirs.total_occurrences / 100))
    },
  )

  it.each([
    ['for more', 1, [...TWO, RSI]],
    ['for a part of it', 6, TWO.slice(0, 1)],
    ['a day later', 25, TWO],
  ] as const)('is not gone on with when it is asked %s', async (_, hours, series) => {
    const store = emptyStore()
    const source = new Source(market, { asOf: '2024-02-28' })
    await pull(store, source, TWO, { maxCredits: 1 })
    clock.pass(hours)
    const report = await pull(store, source, series)
    const own = report.series.find(({ ticker, field }) => ticker === 'SIM0001' && field === 'growth_zone')
    expect(own).toMatchObject({ outcome: 'updated', credits: 1 })
  })

  it('is forgotten by one that replaces: it begins with the newest page, under a new name', async () => {
    const store = emptyStore()
    const source = new Source(market, { asOf: '2022-02-28' })
    await pull(store, source, [RSI])
    source.asOf = '2024-02-29'
    source.answers = 1
    await pull(store, source, [RSI])
    expect((await pulledIn(store).series(RSI))!.under_way).not.toBeNull()
    source.answers = Number.POSITIVE_INFINITY
    source.cost()
    const names = source.names.splice(0)
    clock.pass(1)
    await pull(store, source, [RSI], { replace: true })
    expect(source.asked[0]).not.toHaveProperty('before')
    expect(source.names.filter(name => names.includes(name))).toEqual([])
    expect((await pulledIn(store).series(RSI))!.events).toEqual(await toldBy(source, RSI))
  })
})

describe('the first event that time may change', () => {
  const event = (date: string, duration_days: number | null, ...ended: number[]): BandEvent => ({
    date,
    band: 'oversold',
    prev_band: 'neutral',
    duration_days,
    aftermath: Object.fromEntries(
      TIMEFRAMES.daily.windows.map(bars => [`${bars}d`, ended.includes(bars) ? { performance: 'flat' } : null]),
    ),
  })

  it('is the active one, or one with a window that later events do not prove to have ended', () => {
    expect(firstChangeableEvent([], 'daily')).toBe(0)
    expect(firstChangeableEvent([event('2020-01-02', null)], 'daily')).toBe(0)
    const all = [5, 10, 20, 50, 100]
    expect(firstChangeableEvent([event('2020-01-02', 3, ...all), event('2020-01-07', null, 5)], 'daily')).toBe(1)
    expect(firstChangeableEvent([event('2020-01-02', 3, 5, 10), event('2020-01-07', null, 5, 10)], 'daily')).toBe(0)
    // Its windows lack the history to be ranked in: 60 + 50 bars have followed.
    expect(firstChangeableEvent([event('2020-01-02', 60), event('2020-04-07', null, 50)], 'daily')).toBe(1)
    expect(firstChangeableEvent([event('2020-01-02', 60), event('2020-04-07', null, 20)], 'daily')).toBe(0)
    expect(
      firstChangeableEvent([event('2020-01-02', 60), event('2020-04-07', 30), event('2020-05-27', null, 10)], 'daily'),
    ).toBe(1)
    // A server may count stays in calendar days: 90 of them are no 90 bars.
    expect(firstChangeableEvent([event('2020-01-02', 90), event('2020-04-01', null, 20)], 'daily')).toBe(0)
  })
})
