import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Busy } from '../../src/core/errors.js'
import { FIELDS } from '../../src/core/fields/index.js'
import { type Day, parseDay } from '../../src/core/model/day.js'
import type { BandEvent } from '../../src/core/model/event.js'
import { type FieldRecord, marksOf, recordsIn } from '../../src/core/model/series.js'
import { TIMEFRAME_NAMES } from '../../src/core/model/terms.js'
import { sum } from '../../src/core/statistics/moments.js'
import { simulatedTicker } from '../../src/data/simulate/simulate.js'
import type {
  RecordedSeries,
  SeriesQuery,
  SeriesSummary,
  Store,
  TickerRecord,
  TickerSheet,
} from '../../src/data/store/store.js'
import { pulledIn, type Series } from '../support/pulled.js'
import { recordOf } from '../support/store.js'

/** What every store does, whatever lies beneath it. `open` gives an empty one; `again` opens the same once more. */
export function storeContract(name: string, open: () => Promise<{ store: Store; again(): Promise<Store> }>): void {
  const kept = async (opening: Promise<Store>): Promise<Store> => {
    const store = await opening
    onTestFinished(() => store.close())
    return store
  }
  const make = async () => {
    const { store, again } = await open()
    return { store: await kept(Promise.resolve(store)), again: () => kept(again()) }
  }

  describe(`${name}: the store contract`, () => {
    it('gives back bars, calendars, outcomes and events as they were written, after reopening too', async () => {
      const { store, again } = await make()
      const written = simulatedRecord(1)
      await store.write({ records: [written] }, 'v1')
      await store.close()
      const reopened = await again()
      expect(await reopened.definitions()).toBe('v1')
      expect(await reopened.ticker(written.entry.ticker)).toEqual(written.entry)
      expect(await reopened.bars(written.entry.ticker)).toEqual(written.daily.series)
      for (const timeframe of TIMEFRAME_NAMES) {
        const { series, outcomes, fields } = written[timeframe]
        for (const [field, events] of fields) {
          const found = (await reopened.recorded(written.entry.ticker, timeframe, field))!
          expect(found.entry).toEqual(written.entry)
          expect(found.calendar).toEqual({ days: series.days, known: series.known })
          expect(found.outcomes).toEqual(outcomes)
          expect(found.field).toEqual(events)
        }
      }
    })

    it('lists tickers in order and knows the newest day', async () => {
      const { store } = await make()
      expect(await store.tickers()).toEqual([])
      expect(await store.newestDay()).toBeNull()
      await store.write(
        { records: [simulatedRecord(3, 17_000), simulatedRecord(1, 17_100), simulatedRecord(2, 16_000)] },
        'v1',
      )
      expect((await store.tickers()).map(entry => entry.ticker)).toEqual(['SIM0001', 'SIM0002', 'SIM0003'])
      const { last } = simulatedRecord(1, 17_100).entry
      const other = simulatedRecord(3, 17_000).entry.last
      expect(await store.newestDay()).toBe(last)
      expect([await store.newestDay(last), await store.newestDay(other), await store.newestDay(1)]).toEqual([
        last,
        other,
        null,
      ])
    })

    it('tells by its stamp whether what is recorded of a series has changed', async () => {
      const { store } = await make()
      const stamps = async () => [await store.stamp('SIM0001', 'daily'), await store.stamp('SIM0001', 'weekly')]
      await store.write({ records: [simulatedRecord(1), simulatedRecord(2)] }, 'v1')
      const first = await stamps()
      await store.write({ records: [simulatedRecord(1), simulatedRecord(2, 16_500)] }, 'v1')
      expect(await stamps()).toEqual(first)
      const fields = new Map([['macd_state', simulatedRecord(1).daily.fields.get('rsi_zone')!]])
      await store.write({ amendments: [{ ticker: 'SIM0001', timeframe: 'daily', fields }] }, 'v1')
      const amended = await stamps()
      expect([amended[0] === first[0], amended[1]]).toEqual([false, first[1]])
      await store.write({ records: [simulatedRecord(1, 16_500)] }, 'v1')
      for (const stamp of await stamps()) expect([...first, ...amended]).not.toContain(stamp)
      await store.remove('SIM0001')
      expect(await stamps()).toEqual([null, null])
    })

    it('answers null for a ticker that is not there, and no field for one without data', async () => {
      const { store } = await make()
      await store.write({ records: [simulatedRecord(1)] }, 'v1')
      expect(await store.ticker('NONE')).toBeNull()
      expect(await store.bars('NONE')).toBeNull()
      expect(await store.recorded('NONE', 'daily', 'rsi_zone')).toBeNull()
      expect((await store.recorded('SIM0001', 'daily', 'valuation_zone'))?.field).toBeNull()
    })

    it('reads fields of many tickers in one call as it reads each alone, what followed only where it is asked for', async () => {
      const { store } = await make()
      const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 4 })
      const names = fc.shuffledSubarray(['rsi_zone', 'macd_state', 'ma_alignment', 'valuation_zone'])
      const asked = fc.record({ sizes, names, timeframe: fc.constantFrom(...TIMEFRAME_NAMES), outcomes: fc.boolean() })
      await fc.assert(
        fc.asyncProperty(asked, fc.infiniteStream(fc.nat(4)), async ({ sizes, names, ...query }, places) => {
          const records = sizes.map((bars, i) => simulatedRecord(i + 1, 17_000 + i, bars))
          const before = (await store.tickers()).map(({ ticker }) => ticker)
          await store.write({ removed: before, records, unsettled: [`sector ${sizes.length}`] }, 'v1')
          const tickers = Array.from({ length: 5 }, () => `SIM000${places.next().value! + 1}`)
          const found = []
          for await (const series of store.series({ tickers, fields: names, ...query })) found.push(withRecords(series))
          expect(found).toEqual(await Promise.all(tickers.map(ticker => alone(store, ticker, names, query))))
        }),
        { numRuns: 15 },
      )
    })

    it('sums up each ticker as it gives it', async () => {
      const { store } = await make()
      expect(await store.summaries()).toEqual([])
      const fields = new Map([...simulatedRecord(1).daily.fields.keys()].map(name => [name, null] as const))
      await store.write(
        { records: [simulatedRecord(1), simulatedRecord(2, 17_000, 300), simulatedRecord(3, 17_000, 1)] },
        'v1',
      )
      await store.write({ amendments: [{ ticker: 'SIM0001', timeframe: 'daily', fields }] }, 'v1')
      const tickers = ['SIM0001', 'SIM0002', 'SIM0003']
      const summaries = await store.summaries()
      for (const timeframe of TIMEFRAME_NAMES) {
        const all = { tickers, timeframe, fields: FIELDS.map(({ name }) => name), outcomes: false }
        const found: SeriesSummary[] = []
        for await (const series of store.series(all)) {
          const { calendar, fields } = series!
          const records = [...recordsIn(fields).values()]
          const bars = calendar.days.length
          const eventsOnLast = records.filter(record => record.bars.at(-1) === bars - 1).length
          const events = sum(records.map(record => record.bars.length))
          found.push({ bars, final: calendar.known.at(-1)!, events, eventsOnLast })
        }
        expect(summaries.map(summary => summary[timeframe])).toEqual(found)
      }
      expect(summaries.map(({ daily }) => daily.events)).toEqual([0, expect.any(Number), 0])
      expect(summaries.map(({ entry }) => entry)).toEqual(await store.tickers())
      for (const { entry, marks, originDays: stretches } of summaries) {
        expect(marks).toEqual(marksOf((await store.bars(entry.ticker))!))
        expect(stretches).toEqual([[entry.first, entry.last]])
      }
    })

    it('replaces a ticker whole, and the same twice is the same once', async () => {
      const { store } = await make()
      await store.write({ records: [simulatedRecord(1, 17_000, 900), simulatedRecord(2)] }, 'v1')
      await store.write({ records: [simulatedRecord(1, 17_000, 300)] }, 'v1')
      await store.write({ records: [simulatedRecord(1, 17_000, 300)] }, 'v1')
      expect((await store.tickers()).map(entry => entry.bars)).toEqual([300, 700])
      expect((await store.bars('SIM0001'))?.days.length).toBe(300)
      expect(await store.verify()).toEqual([])
    })

    it('writes all or none', async () => {
      const { store } = await make()
      await store.write({ records: [simulatedRecord(1)] }, 'v1')
      const failing = function* (): Generator<TickerRecord> {
        yield simulatedRecord(2)
        throw new Error('in the middle')
      }
      await expect(store.write({ records: failing() }, 'v2')).rejects.toThrow('in the middle')
      expect((await store.tickers()).map(entry => entry.ticker)).toEqual(['SIM0001'])
      expect(await store.definitions()).toBe('v1')
    })

    it('removes a ticker with all that belongs to it', async () => {
      const { store } = await make()
      await store.write({ records: [simulatedRecord(1), simulatedRecord(2)] }, 'v1')
      expect(await store.remove('SIM0001')).toBe(true)
      expect(await store.remove('SIM0001')).toBe(false)
      expect(await store.bars('SIM0001')).toBeNull()
      expect(await store.recorded('SIM0001', 'daily', 'rsi_zone')).toBeNull()
      expect(await store.verify()).toEqual([])
    })

    it('keeps facts of tickers with and without bars, in their order, with their sources, after reopening too', async () => {
      const { store, again } = await make()
      const sheets = [reportsOf('SIM0001'), securityOf('SIM0001'), reportsOf('NOBARS')]
      await store.write({ records: [simulatedRecord(1)], sheets }, 'v1')
      await store.close()
      const reopened = await again()
      expect(await reopened.sheets('SIM0001')).toEqual({ reports: sheets[0]!.sheet, securities: sheets[1]!.sheet })
      expect(await reopened.sheets('NOBARS')).toEqual({ reports: sheets[2]!.sheet })
      expect(await reopened.sheets('NONE')).toEqual({})
      expect([...(await reopened.securities())]).toEqual([['SIM0001', SECURITY]])
      expect((await reopened.ticker('SIM0001'))?.assetClass).toBe('stock')
      expect(await reopened.verify()).toEqual([])
    })

    it('replaces a sheet whole, and lets one without records go', async () => {
      const { store } = await make()
      const whole = reportsOf('SIM0001')
      const one = { ...whole, sheet: { sources: whole.sheet.sources, rows: whole.sheet.rows.slice(0, 1) } }
      await store.write({ sheets: [whole] }, 'v1')
      await store.write({ sheets: [one] }, 'v1')
      expect(await store.sheets('SIM0001')).toEqual({ reports: one.sheet })
      await store.write({ sheets: [{ ...whole, sheet: { sources: [], rows: [] } }] }, 'v1')
      expect(await store.sheets('SIM0001')).toEqual({})
    })

    it('keeps the facts of a ticker whose bars are replaced, and removes both together', async () => {
      const { store } = await make()
      await store.write({ records: [simulatedRecord(1)], sheets: [reportsOf('SIM0001')] }, 'v1')
      await store.write({ records: [simulatedRecord(1, 17_000, 300)] }, 'v1')
      expect(Object.keys(await store.sheets('SIM0001'))).toEqual(['reports'])
      expect(await store.remove('SIM0001')).toBe(true)
      expect(await store.sheets('SIM0001')).toEqual({})
      await store.write({ sheets: [reportsOf('NOBARS')] }, 'v1')
      expect(await store.remove('NOBARS')).toBe(true)
    })

    it('replaces single fields of a series and leaves the others, bars and outcomes alone', async () => {
      const { store } = await make()
      const written = simulatedRecord(1)
      await store.write({ records: [written] }, 'v1')
      const borrowed = written.daily.fields.get('macd_state')!
      const fields = new Map([
        ['rsi_zone', borrowed],
        ['growth_zone', borrowed],
        ['ma_alignment', null],
      ])
      await store.write({ amendments: [{ ticker: 'SIM0001', timeframe: 'daily', fields }] }, 'v1')
      const field = async (name: string) => (await store.recorded('SIM0001', 'daily', name))!.field
      expect(await field('rsi_zone')).toEqual(borrowed)
      expect(await field('growth_zone')).toEqual(borrowed)
      expect(await field('ma_alignment')).toBeNull()
      expect(await field('trend_direction')).toEqual(written.daily.fields.get('trend_direction'))
      expect((await store.recorded('SIM0001', 'weekly', 'rsi_zone'))!.field).toEqual(
        written.weekly.fields.get('rsi_zone'),
      )
      expect((await store.recorded('SIM0001', 'daily', 'rsi_zone'))!.outcomes).toEqual(written.daily.outcomes)
      expect(await store.verify()).toEqual([])
      await store.write({ amendments: [{ ticker: 'NONE', timeframe: 'daily', fields }] }, 'v1')
      expect(await store.ticker('NONE')).toBeNull()
    })

    it('remembers which sectors are behind until it is told otherwise', async () => {
      const { store, again } = await make()
      expect(await store.unsettled()).toEqual([])
      await store.write({ records: [simulatedRecord(1)], unsettled: ['energy', 'materials'] }, 'v1')
      await store.write({ records: [simulatedRecord(2)] }, 'v1')
      await store.close()
      const reopened = await again()
      expect(await reopened.unsettled()).toEqual(['energy', 'materials'])
      await reopened.remove('SIM0001', ['energy'])
      expect(await reopened.unsettled()).toEqual(['energy'])
    })

    it('gives back closes before adjustment where there are such', async () => {
      const { store } = await make()
      const { ticker, bars } = simulatedTicker(1, { count: 1, bars: 300, seed: 7, end: 17_000 })
      const series = { ...bars, unadjustedClose: bars.close.map(close => close * 1.25) }
      await store.write({ records: [recordOf({ ticker, series })] }, 'v1')
      expect(await store.bars(ticker)).toEqual(series)
      expect(await store.verify()).toEqual([])
    })

    it('gives back what was pulled as it was put, after reopening too', async () => {
      const { store, again } = await make()
      const series = [pulledSeries('AAPL'), pulledSeries('AAPL', { timeframe: 'weekly', under_way: UNDER_WAY })]
      const none = pulledSeries('KO', { events: [], total_occurrences: 0, as_of: null, etag: null })
      for (const one of [none, ...series]) await pulledIn(store).put(one)
      await store.close()
      const reopened = await again()
      expect(await pulledIn(reopened).series({ ticker: 'AAPL', timeframe: 'daily', field: 'rsi_zone' })).toEqual(
        series[0],
      )
      expect(await pulledIn(reopened).series({ ticker: 'AAPL', timeframe: 'weekly', field: 'rsi_zone' })).toEqual(
        series[1],
      )
      expect(await pulledIn(reopened).series({ ticker: 'AAPL', timeframe: 'daily', field: 'macd_state' })).toBeNull()
      const entries = await pulledIn(reopened).entries()
      expect(entries.map(({ ticker, timeframe, events }) => [ticker, timeframe, events])).toEqual([
        ['AAPL', 'daily', 2],
        ['AAPL', 'weekly', 2],
        ['KO', 'daily', 0],
      ])
      expect(await pulledIn(reopened).entries('KO')).toEqual(entries.slice(2))
      expect(await reopened.verify()).toEqual([])
    })

    it('replaces a pulled series, and lets go what another server told of the ticker', async () => {
      const { store } = await make()
      await pulledIn(store).put(pulledSeries('AAPL'))
      await pulledIn(store).put(pulledSeries('AAPL', { field: 'macd_state' }))
      await pulledIn(store).put(pulledSeries('KO'))
      await pulledIn(store).put(pulledSeries('AAPL', { events: [], total_occurrences: 0 }))
      expect((await pulledIn(store).entries('AAPL')).map(({ field, events }) => [field, events])).toEqual([
        ['macd_state', 2],
        ['rsi_zone', 0],
      ])
      await pulledIn(store).put(pulledSeries('AAPL', { url: 'https://other.example' }))
      const entries = await pulledIn(store).entries()
      expect(entries.map(({ ticker, field, url }) => [ticker, field, url])).toEqual([
        ['AAPL', 'rsi_zone', 'https://other.example'],
        ['KO', 'rsi_zone', 'https://bands.example'],
      ])
    })

    it('knows the newest day that a server has told of, or of which it was asked', async () => {
      const { store } = await make()
      expect(await pulledIn(store).newestDay()).toBeNull()
      await pulledIn(store).put(pulledSeries('AAPL'))
      await pulledIn(store).put(pulledSeries('KO', { as_of: '2018-05-12' }))
      expect(await pulledIn(store).newestDay()).toBe(parseDay('2018-05-12'))
      await pulledIn(store).put(pulledSeries('PG', { as_of: null, url: 'https://other.example' }))
      expect(await pulledIn(store).newestDay()).toBe(parseDay('2026-11-21'))
      expect(await pulledIn(store).newestDay('https://bands.example')).toBe(parseDay('2018-05-12'))
      expect(await pulledIn(store).newestDay('https://nobody.example')).toBeNull()
      // Of bars alone.
      expect(await store.newestDay()).toBeNull()
    })

    it('never has bars and pulled events of one ticker', async () => {
      const { store } = await make()
      await pulledIn(store).put(pulledSeries('SIM0001'))
      await expect(store.write({ records: [simulatedRecord(2), simulatedRecord(1)] }, 'v1')).rejects.toThrow(
        'takes no bars',
      )
      expect(await store.tickers()).toEqual([])
      await store.write({ records: [simulatedRecord(2), simulatedRecord(1)], replacedPulled: ['SIM0001'] }, 'v1')
      expect(await pulledIn(store).entries()).toEqual([])
      await expect(pulledIn(store).put(pulledSeries('SIM0001'))).rejects.toThrow('takes no pulled events')
      expect((await store.tickers()).map(entry => entry.bars)).toEqual([700, 700])
    })

    it('takes nothing out when the bars in place of pulled events fail to be written', async () => {
      const { store } = await make()
      await pulledIn(store).put(pulledSeries('SIM0001'))
      const failing = function* (): Generator<TickerRecord> {
        yield simulatedRecord(1)
        throw new Error('in the middle')
      }
      await expect(store.write({ records: failing(), replacedPulled: ['SIM0001'] }, 'v1')).rejects.toThrow(
        'in the middle',
      )
      expect(await pulledIn(store).entries()).toHaveLength(1)
      expect(await store.ticker('SIM0001')).toBeNull()
    })

    it('removes what was pulled with the facts of its ticker', async () => {
      const { store } = await make()
      await store.write({ sheets: [reportsOf('AAPL')] }, 'v1')
      for (const ticker of ['AAPL', 'KO']) await pulledIn(store).put(pulledSeries(ticker))
      expect(await store.remove('AAPL')).toBe(true)
      expect(await store.remove('KO')).toBe(true)
      expect(await store.remove('KO')).toBe(false)
      expect(await pulledIn(store).entries()).toEqual([])
      expect(await store.sheets('AAPL')).toEqual({})
    })

    it('has one writing place: a second writer is told who holds it, and a dead one gives it up', async () => {
      const { store, again } = await make()
      const host = (await import('node:os')).hostname()
      const living = { pid: process.pid, host, started: '2026-01-01T00:00:00Z' }
      const dead = { pid: 2 ** 22 + 1, host, started: '2026-01-01T00:00:00Z' }
      await store.lock(dead)
      await store.lock(living)
      const other = await again()
      const refusal = other.lock({ ...living, started: '2026-01-02T00:00:00Z' })
      await expect(refusal).rejects.toThrow(Busy)
      await expect(refusal).rejects.toThrow(new RegExp(`process ${process.pid} on ${host} since 2026-01-01`))
      await store.unlock(living)
      await other.lock(living)
    })
  })
}

/** A series with each of its fields by itself. */
function withRecords(series: RecordedSeries | null) {
  return series === null ? null : { ...series, fields: recordsIn(series.fields) }
}

/** Fields of one series, each read by itself; null: unknown ticker. */
async function alone(
  store: Store,
  ticker: string,
  names: readonly string[],
  { timeframe, outcomes }: Pick<SeriesQuery, 'timeframe' | 'outcomes'>,
): Promise<ReturnType<typeof withRecords>> {
  const any = await store.recorded(ticker, timeframe, 'rsi_zone')
  if (any === null) return null
  const { field: _one, ...series } = any
  const fields = new Map<string, FieldRecord>()
  for (const name of names) {
    const { field } = (await store.recorded(ticker, timeframe, name))!
    if (field !== null) fields.set(name, field)
  }
  return { ...series, outcomes: outcomes ? series.outcomes : null, fields }
}

const SOURCES = [
  { file: 'reports.csv', format: 'reports csv', imported_at: '2026-01-02T03:04:05.000Z' },
  { file: 'later.csv', format: 'reports csv', imported_at: '2026-02-02T03:04:05.000Z' },
]

const SECURITY = { sector: 'Energy', asset_class: 'stock', market_cap: 1e9, name: 'Säure & Söhne' } as const

const PULLED_EVENTS: readonly BandEvent[] = [
  { date: '2018-02-06', band: 'oversold', prev_band: 'neutral_low', duration_days: 4, aftermath: null },
  { date: '2018-02-12', band: 'neutral_low', prev_band: 'oversold', duration_days: null, aftermath: { '5d': null } },
]

const UNDER_WAY: Series['under_way'] = {
  pulled_at: '2026-11-22T10:00:00.000Z',
  etag: null,
  as_of: '2018-05-12',
  query_range: '5y',
  total_occurrences: 7,
  events: PULLED_EVENTS.slice(1),
  before: '2018-02-12',
}

/** What a server told of the daily rsi_zone of a ticker, unless something else is given. */
export function pulledSeries(ticker: string, given: Partial<Series> = {}): Series {
  return {
    ticker,
    timeframe: 'daily',
    field: 'rsi_zone',
    url: 'https://bands.example',
    pulled_at: '2026-11-21T10:00:00.000Z',
    as_of: '2018-05-11',
    state: 'complete',
    etag: '"abc"',
    query_range: '5y',
    total_occurrences: 2,
    events: PULLED_EVENTS,
    under_way: null,
    ...given,
  }
}

function reportsOf(ticker: string): TickerSheet {
  const report = {
    period_end: 16_900,
    known: 16_930,
    session: 'pre',
    eps: 0.1,
    revenue: null,
    book_value_ps: 1 / 3,
  } as const
  const rows = [
    { source: 0, record: { ...report, basis: 'bars' } as const },
    { source: 1, record: { ...report, known: 16_940, session: null, basis: 'filed' } as const },
    { source: 0, record: { ...report, known: 16_935, basis: 'bars' } as const },
  ]
  return { ticker, kind: 'reports', sheet: { sources: SOURCES, rows } }
}

function securityOf(ticker: string): TickerSheet {
  return {
    ticker,
    kind: 'securities',
    sheet: { sources: SOURCES.slice(0, 1), rows: [{ source: 0, record: SECURITY }] },
  }
}

/** A simulated ticker with all that is derived from it. */
export function simulatedRecord(index: number, end: Day = 17_000, bars = 700): TickerRecord {
  const { ticker, bars: series } = simulatedTicker(index, { count: 1, bars, seed: 7, end })
  return recordOf({ ticker, series })
}
