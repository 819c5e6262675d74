import { parquetReadObjects } from 'hyparquet'
import { describe, expect, it } from 'vitest'
import { type ExportOutput, writeRows } from '../../src/app/cli/formats.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { parseDay } from '../../src/core/model/day.js'
import type { ExportedEvent, ExportedSeriesBar } from '../../src/core/model/event.js'
import { TIMEFRAME_NAMES, TIMEFRAMES } from '../../src/core/model/terms.js'
import type { Cache } from '../../src/data/local/cache.js'
import {
  BAR_COLUMNS,
  EXPORT_TABLES,
  eventBlock,
  eventColumns,
  exportBars,
  exportEvents,
  exportSeries,
  exportTable,
  seriesColumns,
} from '../../src/data/local/export.js'
import { type TableGroup, tableGroups } from '../../src/data/local/export-columns.js'
import { type ParquetColumn, ParquetFile } from '../../src/data/local/parquet.js'
import { simulatedTicker } from '../../src/data/simulate/simulate.js'
import { expectSame, type Shown } from '../engine/drawn.js'
import { barsOf, seriesOf } from '../support/convert.js'
import { drained, Kept } from '../support/drain.js'
import { firstInQuick, notInQuick } from '../support/full.js'
import {
  type Bar,
  bands as bandsOf,
  barsAsOf,
  type Event,
  eventsOfEveryField,
  FIELDS,
  type FieldName,
  indicators,
  type Timeframe,
  weeklyBars,
} from '../support/oracle/index.js'
import { cacheOf, fixture } from '../support/store.js'

const KEYS = 'ticker,field,timeframe,date,band,prev_band,stability_at_entry,flips_recent_at_entry,flips_lookback'

describe('exported events', () => {
  it.each(firstInQuick([null, '2017-05-17']))('are as texts the JSON of the rows, as of %s too', async date => {
    const asOf = date === null ? null : parseDay(date)
    const cache = await cacheOf([fixture(1, 700), fixture(2, 40), fixture(3, 400)], { asOf })
    for (const filter of [{}, { fields: ['macd_state', 'rsi_zone'], timeframes: ['weekly'] as const }]) {
      const rows = await drained(exportEvents(cache, filter))
      const block = await eventBlock(cache, filter, ' | ')
      expect(block.rows).toBe(rows.length)
      expect(new TextDecoder().decode(block.text)).toBe(rows.map(row => JSON.stringify(row)).join(' | '))
    }
  })

  it.each(firstInQuick([null, '2017-08-15', '2017-08-19']))(
    'of simulated bars are the oracle’s, as of %s too',
    async asOf => {
      await expectOracleEvents(barsOf(simulatedTicker(1, SIMULATED).bars), asOf ?? undefined)
    },
  )

  it('have the keys of the specification in its order, then exact returns and percentiles', async () => {
    const [daily] = await drained(exportEvents(await simulated(1), { timeframes: ['daily'] }))
    expect(Object.keys(daily!).join()).toBe(`${KEYS},duration_days,aftermath,returns,percentiles`)
    expect(Object.keys(daily!.returns).join()).toBe('5d,10d,20d,50d,100d')
    const [weekly] = await drained(exportEvents(await simulated(1), { timeframes: ['weekly'] }))
    expect(Object.keys(weekly!).join()).toBe(`${KEYS},duration_weeks,aftermath,returns,percentiles`)
    expect(Object.keys(weekly!.percentiles).join()).toBe('2w,4w,8w,12w,16w')
  })

  it('come by ticker, timeframe, field in the order of the specification, and date', async () => {
    const events = await drained(exportEvents(await simulated(2, 1)))
    const place = (event: ExportedEvent): string =>
      [event.ticker, event.timeframe, 10 + BUILT_IN_FIELDS.names.indexOf(event.field), event.date].join(' ')
    expect(events.map(place)).toEqual(events.map(place).sort())
    expect(new Set(events.map(event => event.ticker)).size).toBe(2)
  })

  it('are chosen by ticker, field and timeframe, whatever the order and case of the choice', async () => {
    const cache = await simulated(1, 2, 3)
    const all = await drained(exportEvents(cache))
    const filter = { tickers: ['sim0003', 'SIM0001', 'SIM0003'], fields: ['macd_state', 'rsi_zone'] }
    const chosen = await drained(exportEvents(cache, { ...filter, timeframes: ['weekly'] }))
    expect(chosen.length).toBeGreaterThan(0)
    const isChosen = ({ ticker, field, timeframe }: ExportedEvent): boolean =>
      ticker !== 'SIM0002' && filter.fields.includes(field) && timeframe === 'weekly'
    expect(chosen).toEqual(all.filter(isChosen))
    expect(await drained(exportEvents(cache, { fields: ['valuation_zone'] }))).toEqual([])
  })

  it('reach back beyond the range of the tier', async () => {
    const [first] = await drained(exportEvents(await simulated(1), { fields: ['rsi_zone'] }))
    expect(parseDay(first!.date)).toBeLessThan(SIMULATED.end - 5 * 366)
  })
})

describe('exported series', () => {
  it.each(firstInQuick([null, '2017-08-15']))('of simulated bars are the oracle’s, as of %s too', async asOf => {
    await expectOracleSeries(barsOf(simulatedTicker(4, { ...SIMULATED, bars: 700 }).bars), asOf ?? undefined)
  })

  it('name every field and leave those without data empty', async () => {
    const [bar] = await drained(exportSeries(await simulated(1)))
    expect(Object.keys(bar!).slice(-BUILT_IN_FIELDS.names.length)).toEqual(BUILT_IN_FIELDS.names)
    expect(bar!.valuation_zone).toBeNull()
    const [chosen] = await drained(exportSeries(await simulated(1), { fields: ['rsi_zone'] }))
    expect(Object.keys(chosen!).at(-1)).toBe('rsi_zone')
    expect(Object.keys(chosen!)).not.toContain('macd_state')
  })

  it('say null, never 0 or NaN, where volume is unknown', async () => {
    const { bars } = simulatedTicker(1, { ...SIMULATED, bars: 300 })
    bars.volume.fill(Number.NaN, 100)
    const rows = await drained(exportSeries(await cacheOf([{ ticker: 'SIM0001', series: bars }])))
    expect(rows[200]).toMatchObject({ volume: null, volume_ratio: null, adl_slope: null, volume_ratio_band: null })
    expect(rows[200]!.rsi).toBeTypeOf('number')
  })
})

describe('exported bars', () => {
  it('are the stored ones, by ticker and date, up to the as-of day', async () => {
    const { bars } = simulatedTicker(1, { ...SIMULATED, bars: 50 })
    const fixtures = [{ ticker: 'SIM0001', series: bars }]
    expect(await drained(exportBars(await cacheOf(fixtures)))).toEqual(
      barsOf(bars).map(bar => ({ ticker: 'SIM0001', ...bar })),
    )
    const asOf = bars.days[19]!
    expect((await drained(exportBars(await cacheOf(fixtures, { asOf })))).length).toBe(20)
  })
})

describe('every export', () => {
  it.each(['free', 'plus'] as const)('needs Pro; asked as %s it is refused before the first row', async tier => {
    const cache = await cacheOf([fixture(1)], { tier })
    for (const rows of [exportEvents(cache), exportSeries(cache), exportBars(cache)])
      await expect(rows.next()).rejects.toMatchObject({ code: 'tier_restricted', requiredTier: 'pro' })
  })

  it('refuses an unknown ticker or field before the first row, with the nearest', async () => {
    const cache = await simulated(1)
    await expect(exportEvents(cache, { tickers: ['SIM0001', 'SIM0002'] }).next()).rejects.toMatchObject({
      code: 'not_found',
      suggestions: ['SIM0001'],
    })
    await expect(exportSeries(cache, { fields: ['rsi_zon'] }).next()).rejects.toMatchObject({
      code: 'invalid_parameter',
      offence: { param: 'field', suggestions: ['rsi_zone'] },
    })
  })

  notInQuick('says the same in NDJSON, CSV and Parquet', async () => {
    const cache = await simulated(1)
    const events = await drained(exportEvents(cache))
    const columns = eventColumns()
    const flat = events.map(event => Object.fromEntries(columns.map(({ name, of }) => [name, of(event)])))
    expect(flat[0]).toHaveProperty('percentile_100d')
    expect(lines(await written(cache, 'ndjson')).map(line => JSON.parse(line))).toEqual(events)
    const [header, ...cells] = lines(await written(cache, 'csv'))
    expect(header).toBe(columns.map(({ name }) => name).join())
    const cellOf = (value: unknown): unknown => value ?? ''
    expect(cells).toEqual(flat.map(row => Object.values(row).map(cellOf).join()))
    const file = new Uint8Array((await written(cache, 'parquet')).bytes).buffer
    const read = await parquetReadObjects({ file })
    expect(read).toEqual(flat.map(row => ({ ...row, date: new Date(String(row.date)) })))
  })

  it.each(EXPORT_TABLES)('has in the row groups of %s what its rows have', async table => {
    const cache = await simulated(1, 2)
    for (const filter of [{}, { fields: ['rsi_zone'], bands: ['oversold'], after: parseDay('2016-01-04')! }]) {
      if (table === 'bars' && 'fields' in filter) continue
      const { rows, columns } = exportTable(cache, table, filter)
      const expected = (await drained(rows)).map(row =>
        Object.fromEntries(columns.map(({ name, kind, of }) => [name, kind === 'date' ? new Date(of(row)!) : of(row)])),
      )
      const groups = await tableGroups(cache, { table, filter, byYear: false }, ['SIM0001', 'SIM0002'])
      expect(groups.map(({ year }) => year)).toEqual([null])
      expect(await read(groups, columns)).toEqual(expected)
      const byYear = await tableGroups(cache, { table, filter, byYear: true }, ['SIM0001', 'SIM0002'])
      for (const [year, own] of Map.groupBy(byYear, group => group.year!)) {
        const isOwn = ({ date }: Record<string, unknown>): boolean => (date as Date).getUTCFullYear() === Number(year)
        expect(await read(own, columns), year).toEqual(expected.filter(isOwn))
      }
      const counted = byYear.reduce((sum, { group }) => sum + group.rows, 0)
      expect(counted).toBe(expected.length)
      expect(counted).toBeGreaterThan(0)
    }
  })

  it('has a column for every key of its rows', async () => {
    const cache = await simulated(1)
    const [bar] = await drained(exportBars(cache))
    expect(BAR_COLUMNS.map(({ name }) => name)).toEqual(Object.keys(bar!))
    const [row] = await drained(exportSeries(cache))
    expect(seriesColumns({}, BUILT_IN_FIELDS).map(({ name }) => name)).toEqual(Object.keys(row!))
    expect(seriesColumns({}, BUILT_IN_FIELDS).map(({ of }) => of(row!))).toEqual(Object.values(row!))
    expect(eventColumns({ timeframes: ['weekly'] }).map(({ name }) => name)).not.toContain('duration_days')
  })
})

const SIMULATED = { count: 1, bars: 1_500, seed: 7, end: parseDay('2018-03-28')! }

function simulated(...indexes: number[]): Promise<Cache> {
  return cacheOf(indexes.map(index => fixture(index)))
}

async function written(cache: Cache, output: ExportOutput): Promise<Kept> {
  const out = new Kept()
  await writeRows(output, exportEvents(cache), eventColumns(), out)
  return out
}

function read(groups: readonly TableGroup[], columns: readonly ParquetColumn[]): Promise<Record<string, unknown>[]> {
  const file = new ParquetFile(columns)
  const bytes = Buffer.concat([...groups.map(({ group }) => file.add(group)), file.end()])
  return parquetReadObjects({ file: new Uint8Array(bytes).buffer })
}

function lines(out: Kept): string[] {
  return out.text.trimEnd().split('\n')
}

async function expectOracleEvents(bars: Bar[], asOf?: string): Promise<void> {
  const day = asOf === undefined ? null : parseDay(asOf)
  const cache = await cacheOf([{ ticker: 'ABC', series: seriesOf(bars) }], { asOf: day })
  const events = await drained(exportEvents(cache))
  for (const timeframe of TIMEFRAME_NAMES) {
    const own: Shown = Object.fromEntries(Object.keys(FIELDS).map(field => [field, []]))
    for (const event of events) if (event.timeframe === timeframe) own[event.field]!.push(inOracleWords(event))
    expectSame(own, eventsOfEveryField(bars, timeframe, { asOf }), timeframe)
  }
}

function inOracleWords(event: ExportedEvent): Event {
  const { ticker: _ticker, field: _field, timeframe, duration_days: _days, duration_weeks: _weeks, ...kept } = event
  const aftermath = Object.entries(event.aftermath!).map(([window, found]) => [window, found?.performance ?? null])
  const duration = event[TIMEFRAMES[timeframe].duration]
  return { ...kept, duration, aftermath: Object.fromEntries(aftermath) } as Event
}

async function expectOracleSeries(bars: Bar[], asOf?: string): Promise<void> {
  const day = asOf === undefined ? null : parseDay(asOf)
  const cache = await cacheOf([{ ticker: 'ABC', series: seriesOf(bars) }], { asOf: day })
  const rows = await drained(exportSeries(cache))
  for (const timeframe of TIMEFRAME_NAMES) {
    const own = rows.filter(row => row.timeframe === timeframe)
    const theirs = oracleRows(bars, timeframe, asOf)
    expect(own.length, timeframe).toBe(theirs.length)
    for (const [t, row] of theirs.entries()) expectRow(own[t]!, row, `${timeframe} bar ${t}`)
  }
}

function oracleRows(daily: Bar[], timeframe: Timeframe, asOf?: string): Record<string, string | number | null>[] {
  const bars = timeframe === 'weekly' ? weeklyBars(daily, { asOf }) : barsAsOf(daily, asOf)
  const known = indicators(bars, timeframe)
  const fields = (Object.keys(FIELDS) as FieldName[]).map(
    field => [field, bandsOf(bars, timeframe, field, known)] as const,
  )
  return bars.map((bar, t) => ({
    ...bar,
    ...Object.fromEntries(Object.entries(known).map(([name, column]) => [name, column[t]!])),
    ...Object.fromEntries(fields.map(([field, codes]) => [field, codes[t]!])),
  }))
}

function expectRow(own: ExportedSeriesBar, theirs: Record<string, string | number | null>, what: string): void {
  for (const [name, value] of Object.entries(theirs)) {
    const mine = own[name]
    const near = typeof value === 'number' && typeof mine === 'number' && close(mine, value, name)
    if (!near) expect(mine, `${what}, ${name}`).toBe(value)
  }
}

/** Sums in another order differ in the last digits; a difference of averages does so on the scale of the price. */
function close(a: number, b: number, name: string): boolean {
  const scale = name === 'macd' || name === 'signal' ? 100 : 1
  return Math.abs(a - b) <= 1e-11 * Math.max(scale, Math.abs(a), Math.abs(b))
}
