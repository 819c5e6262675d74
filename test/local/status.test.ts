import { statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Cache } from '../../src/local/cache.js'
import { exportBars, exportEvents, exportSeries } from '../../src/local/export.js'
import { status } from '../../src/local/status.js'
import { parseDay } from '../../src/model/day.js'
import { DEFINITIONS_VERSION } from '../../src/model/definitions.js'
import { head, type Series } from '../../src/model/series.js'
import { simulatedTicker } from '../../src/simulate/simulate.js'
import { drained } from '../support/drain.js'
import { cacheOf, storeOf } from '../support/store.js'

describe('the status', () => {
  it.each([null, '2017-05-17', '2017-05-20'])('counts what an export as of %s writes', async date => {
    const cache = await cacheOf([fixture(1), fixture(2)], { asOf: date === null ? null : parseDay(date) })
    const found = await status(cache)
    const events = await drained(exportEvents(cache))
    const bars = await drained(exportBars(cache))
    const weeks = await drained(exportSeries(cache, { timeframes: ['weekly'], fields: ['rsi_zone'] }))
    expect(found).toMatchObject({ bars: bars.length, events: events.length, as_of: date })
    expect(found).toMatchObject({ first: bars[0]!.date, last: bars.at(-1)!.date })
    for (const { ticker, ...counts } of found.tickers) {
      expect(counts.bars).toBe(bars.filter(bar => bar.ticker === ticker).length)
      expect(counts.events).toBe(events.filter(event => event.ticker === ticker).length)
      expect(counts.weekly_bars).toBe(weeks.filter(week => week.ticker === ticker).length)
    }
  })

  it('tells each ticker’s prices, source and age beside the newest', async () => {
    const old = { ticker: 'OLD', series: head(fixture(2).series, 490) }
    const cache = await cacheOf([{ ...fixture(1), prices: 'adjusted', assetClass: 'etf', source: 'a.csv' }, old])
    const { tickers } = await status(cache)
    expect(tickers.map(({ ticker }) => ticker)).toEqual(['OLD', 'SIM0001'])
    expect(tickers[0]).toMatchObject({ prices: 'raw', asset_class: null, bars: 490, behind: 14 })
    expect(tickers[1]).toMatchObject({ prices: 'adjusted', asset_class: 'etf', source: 'a.csv', behind: 0 })
    expect(tickers[1]!.imported_at).toBe('2026-01-02T03:04:05.000Z')
  })

  it('names the gaps that no holiday explains', async () => {
    const { ticker, series } = fixture(1)
    const cache = await cacheOf([{ ticker, series: without(series, 100, 106) }, fixture(2)])
    const [first, second] = (await status(cache)).tickers
    expect(first!.gaps.length).toBe(1)
    expect(first!.gaps[0]!.days).toBe(series.days[106]! - series.days[99]!)
    expect(second!.gaps).toEqual([])
  })

  it('tells file, size, schema and definitions', async () => {
    const cache = await cacheOf([fixture(1)])
    const found = await status(cache)
    expect(found).toMatchObject({ schema: 'bands.status/1', schema_version: 3, definitions: DEFINITIONS_VERSION })
    expect(found.definitions_current).toBe(true)
    expect(found.database).toBe(cache.store.location)
    await cache.store.close()
    expect(statSync(found.database).size).toBe(found.bytes)
  })

  it('answers even where questions are refused: of other definitions, and empty', async () => {
    const store = await storeOf([fixture(1)])
    await store.write({ records: [] }, 'older')
    expect(await status(new Cache(store, 'pro', null))).toMatchObject({
      definitions: 'older',
      definitions_current: false,
    })
    const empty = await status(await cacheOf([]))
    expect(empty).toMatchObject({ bars: 0, events: 0, first: null, last: null, tickers: [] })
    const early = await status(await cacheOf([fixture(1)], { asOf: parseDay('1999-01-01') }))
    expect(early.tickers).toEqual([])
  })
})

function fixture(index: number): { ticker: string; series: Series } {
  const { ticker, bars } = simulatedTicker(index, { count: 1, bars: 500, seed: 7, end: parseDay('2018-03-28')! })
  return { ticker, series: bars }
}

function without(series: Series, from: number, to: number): Series {
  const kept = <Column extends Int32Array | Float64Array>(column: Column): Column =>
    column.filter((_, t) => t < from || t >= to) as Column
  const days = kept(series.days)
  const { open, high, low, close, volume } = series
  return {
    timeframe: 'daily',
    days,
    known: days,
    open: kept(open),
    high: kept(high),
    low: kept(low),
    close: kept(close),
    volume: kept(volume),
  }
}
