import { describe, expect, it } from 'vitest'
import { TECHNICAL_FIELDS } from '../../src/core/fields/index.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import type { ExportedEvent } from '../../src/core/model/event.js'
import { TIMEFRAMES } from '../../src/core/model/terms.js'
import type { Cache } from '../../src/data/local/cache.js'
import { type Explanation, explain } from '../../src/data/local/explain.js'
import { exportEvents, exportSeries } from '../../src/data/local/export.js'
import { series as seriesOfCloses } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { drained } from '../support/drain.js'
import { notInQuick } from '../support/full.js'
import { cacheOf, fixture } from '../support/store.js'

describe('an explanation', () => {
  notInQuick('agrees with every label of the events that it explains, daily and weekly', async () => {
    const cache = await simulated()
    const events = await drained(exportEvents(cache))
    for (const event of events.filter((_, i) => i % 23 === 0)) expectAgreement(await explained(cache, event), event)
    for (const field of TECHNICAL_FIELDS) {
      const last = events.findLast(event => event.field === field.name && event.timeframe === 'daily')!
      expectAgreement(await explained(cache, last), last)
    }
  })

  notInQuick(
    'agrees with the exported series on the band of any bar, and with the events on the band in force',
    async () => {
      const cache = await simulated()
      const rows = (await drained(exportSeries(cache))).filter((_, i) => i % 97 === 0)
      const events = await drained(exportEvents(cache))
      for (const { ticker, timeframe, date, ...row } of rows) {
        for (const { name } of TECHNICAL_FIELDS) {
          const query = { ticker, field: name, timeframe, date } as Placed
          const found = await explained(cache, query)
          expect(found.band, `${name} ${date}`).toBe(row[name])
          expect(found.undefined_because === null, `${name} ${date}`).toBe(found.band !== null)
          const own = events.filter(event => event.field === name && event.timeframe === timeframe)
          const before = own.findLast(event => event.date <= String(date))
          if (before !== undefined)
            expect(found).toMatchObject({ in_force: before.band, entered: before.date, initial: false })
          else expect(found.entered === null || found.initial).toBe(true)
          expect(found.event !== null).toBe(before?.date === date)
        }
      }
    },
  )

  it('takes the newest final bar unless a date is given, and says when that date has no bar', async () => {
    const cache = await simulated()
    const newest = await explain(cache, { ticker: 'SIM0001', field: 'rsi_zone', timeframe: 'daily' })
    expect(newest).toMatchObject({ date: '2018-03-28', date_note: null, as_of: '2018-03-28', bars_before: 1_499 })
    const none = (date: string, which: string) => `there is no final daily bar of ${date}; this is ${which}`
    const sunday = none('2018-03-25', 'the last daily bar before it')
    expect(await at(cache, '2018-03-25')).toMatchObject({ date: '2018-03-23', date_note: sunday })
    expect((await at(cache, '2019-01-01')).date_note).toBe(none('2019-01-01', 'the newest final daily bar'))
    const week = await explain(cache, { ticker: 'SIM0001', field: 'rsi_zone', timeframe: 'weekly' })
    expect(week.date).toBe('2018-03-23')
  })

  it('refuses a date before the first bar with the range, and a ticker without a final bar', async () => {
    const cache = await simulated()
    const first = formatDay((await cache.store.ticker('SIM0001'))!.first)
    await expect(at(cache, '1999-12-31')).rejects.toMatchObject({
      code: 'invalid_parameter',
      offence: { param: 'date', value: '1999-12-31', allowed: `${first} to 2018-03-28` },
    })
    const early = await cacheOf([fixture()], { asOf: parseDay('1999-12-31') })
    await expect(at(early, '1999-12-31')).rejects.toMatchObject({ code: 'not_found' })
    await expect(explain(cache, { ticker: 'SIM0002', field: 'rsi_zone', timeframe: 'daily' })).rejects.toMatchObject({
      code: 'not_found',
      suggestions: ['SIM0001'],
    })
  })

  it('says what kind of prices, from which file, and how much history the averages remember', async () => {
    const entry = { prices: 'adjusted', source: 'mine.csv', importedAt: '2026-05-04T03:02:01.000Z' } as const
    const cache = await cacheOf([{ ...fixture(), ...entry }])
    expect(await at(cache, '2018-03-28')).toMatchObject({
      schema: 'bands.explain/1',
      prices: 'adjusted',
      source: 'mine.csv',
      imported_at: '2026-05-04T03:02:01.000Z',
      history_from: formatDay(fixture().series.days[0]!),
      warm_up: { bars: 14, first_date: formatDay(fixture().series.days[14]!) },
    })
  })

  it('shows only what was known on the as-of day', async () => {
    const [event] = await drained(exportEvents(await simulated(), { fields: ['rsi_zone'], timeframes: ['daily'] }))
    const asOf = parseDay(event!.date)!
    const found = await explained(await cacheOf([fixture()], { asOf }), event!)
    expect(found).toMatchObject({ date: event!.date, as_of: event!.date })
    expect(found.event!.duration_days).toBeNull()
    for (const [name, window] of Object.entries(found.event!.windows!)) {
      const because = `pending: ${name.slice(0, -1)} more bars to come`
      expect(window).toMatchObject({ return: null, missing: 'pending', because })
    }
  })

  it('spells its keys as the specification does', async () => {
    const cache = await simulated()
    const [event] = await drained(exportEvents(cache, { fields: ['macd_state'] }))
    const keys = keysOf(await explained(cache, event!))
    for (const key of keys) expect(key).toMatch(/^(\d+[dw]|[a-z]+(_[a-z]+)*)$/)
    expect(keys).toContain('left_band_bars')
  })
})

describe('a bar without a band', () => {
  it('is in the warm-up, which has a last day or is yet to end', async () => {
    const cache = await simulated()
    const { days } = fixture().series
    const first = formatDay(days[14]!)
    const why = `warm-up: this bar has 9 before it, and the first that can have a band needs 14, on ${first}`
    const none = { band: null, in_force: null, entered: null, undefined_because: why }
    expect(await at(cache, formatDay(days[9]!))).toMatchObject(none)
    const short = await cacheOf([{ ticker: 'ABC', series: seriesOf(seriesOfCloses([1, 2, 3])) }])
    const never = await explain(short, { ticker: 'ABC', field: 'ma_alignment', timeframe: 'daily' })
    expect(never.undefined_because).toContain('needs 199, which is yet to come')
    expect(never.warm_up).toEqual({ bars: 199, first_date: null })
  })

  it('lacks an input, which is named, and keeps the band in force', async () => {
    const series = fixture().series
    series.volume[400] = Number.NaN
    const cache = await cacheOf([{ ticker: 'ABC', series }])
    const day = series.days[400]!
    const ratio = await explain(cache, { ticker: 'ABC', field: 'volume_ratio_band', timeframe: 'daily', date: day })
    const why = 'undefined on this bar: volume, volume_ratio'
    expect(ratio).toMatchObject({ band: null, undefined_because: why, event: null })
    expect(ratio.in_force).not.toBeNull()
    const later = { ticker: 'ABC', field: 'accumulation_state', timeframe: 'daily', date: day + 3 } as const
    const slope = await explain(cache, later)
    expect(slope.undefined_because).toMatch(/^undefined on this bar: adl_slope, adl_pct \(among \d+ defined bars\)$/)
  })

  it('has readings that take no side, as MACD on a flat line', async () => {
    const flat = seriesOf(seriesOfCloses(new Array(100).fill(50)))
    const cache = await cacheOf([{ ticker: 'ABC', series: flat }])
    const found = await explain(cache, { ticker: 'ABC', field: 'macd_state', timeframe: 'daily' })
    expect(found).toMatchObject({ band: null, undefined_because: 'the rule takes no side on these readings yet' })
  })

  it('belongs to a field that uses facts, and there are none', async () => {
    const cache = await simulated()
    const found = await explain(cache, { ticker: 'SIM0001', field: 'valuation_zone', timeframe: 'daily' })
    expect(found).toMatchObject({ band: null, in_force: null, event: null })
    expect(found.undefined_because).toBe(
      'valuation_zone uses dated facts, and none are loaded for SIM0001; import loads them',
    )
  })
})

describe('a window without a performance band', () => {
  it('says how many returns it was short of', async () => {
    const cache = await simulated()
    const [event] = await drained(exportEvents(cache, { fields: ['rsi_zone'], timeframes: ['daily'] }))
    const { windows } = (await explained(cache, event!)).event!
    const window = windows!['5d']!
    expect(window).toMatchObject({ missing: 'no_history', percentile: null, performance: null, sample_needed: 252 })
    expect(window.return).toBe(event!.returns['5d'])
    expect(window.because).toBe(`no history: ${window.sample} of the 252 earlier returns that a rank needs`)
  })
})

describe('a tier', () => {
  it('below Plus sees neither stability nor flips nor what followed', async () => {
    const events = await drained(exportEvents(await simulated(), { fields: ['macd_state'], timeframes: ['daily'] }))
    const event = events.findLast(event => event.date > '2018-01-01' && event.duration_days !== null)!
    const found = await explained(await cacheOf([fixture()], { tier: 'free' }), event)
    const { prev_band, duration_days } = event
    expect(found.event).toEqual({ prev_band, duration_days, windows: null })
    const plus = await explained(await cacheOf([fixture()], { tier: 'plus' }), event)
    expectAgreement(plus, event)
  })

  it('explains its own range; the highest any bar', async () => {
    const free = await cacheOf([fixture()], { tier: 'free' })
    await expect(at(free, '2017-12-28')).rejects.toMatchObject({ code: 'tier_restricted', requiredTier: 'plus' })
    expect((await at(free, '2017-12-29')).date).toBe('2017-12-29')
    await expect(at(free, '2016-03-01')).rejects.toMatchObject({ code: 'tier_restricted', requiredTier: 'pro' })
    expect((await at(await simulated(), '2012-12-31')).date).toBe('2012-12-31')
  })

  it('needs to have the field', async () => {
    const free = await cacheOf([fixture()], { tier: 'free' })
    const query = { ticker: 'SIM0001', field: 'valuation_zone', timeframe: 'daily' } as const
    await expect(explain(free, query)).rejects.toMatchObject({ code: 'tier_restricted', requiredTier: 'plus' })
  })
})

function simulated(): Promise<Cache> {
  return cacheOf([fixture()])
}

function at(cache: Cache, date: string): Promise<Explanation> {
  return explain(cache, { ticker: 'SIM0001', field: 'rsi_zone', timeframe: 'daily', date: parseDay(date)! })
}

type Placed = Pick<ExportedEvent, 'ticker' | 'field' | 'timeframe' | 'date'>

function explained(cache: Cache, { ticker, field, timeframe, date }: Placed): Promise<Explanation> {
  return explain(cache, { ticker, field, timeframe, date: parseDay(date)! })
}

function expectAgreement(found: Explanation, event: ExportedEvent): void {
  const what = `${event.field} ${event.timeframe} ${event.date}`
  const { prev_band, stability_at_entry, flips_recent_at_entry, flips_lookback } = event
  expect(found, what).toMatchObject({ date: event.date, band: event.band, in_force: event.band, bars_in_force: 0 })
  const own = found.event!
  expect(own, what).toMatchObject({ prev_band, stability_at_entry, flips_recent_at_entry, flips_lookback })
  const { duration } = TIMEFRAMES[event.timeframe]
  expect(own[duration], what).toBe(event[duration])
  expect(own.flips!.length, what).toBe(flips_recent_at_entry)
  expect(own.flips!.at(-1), what).toBe(event.date)
  expect(own.stability!.because.endsWith(`: ${stability_at_entry}`), `${what}: ${own.stability!.because}`).toBe(true)
  for (const [name, window] of Object.entries(own.windows!)) {
    expect(window.return, what).toBe(event.returns[name])
    expect(window.percentile, what).toBe(event.percentiles[name])
    expect(window.performance, what).toBe(event.aftermath![name]?.performance ?? null)
    expect(window.because === null, what).toBe(window.performance !== null)
    expect(window.ends === null, what).toBe(window.return === null)
  }
}

function keysOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(keysOf)
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner)])
}
