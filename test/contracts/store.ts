import { describe, expect, it } from 'vitest'
import { Busy } from '../../src/errors.js'
import { simulatedTicker } from '../../src/feeds/simulate.js'
import type { Day } from '../../src/model/day.js'
import { TIMEFRAME_NAMES } from '../../src/model/timeframe.js'
import type { Store, TickerRecord } from '../../src/store/store.js'
import { recordOf } from '../support/store.js'

/** What every store does, whatever lies beneath it. `make` gives an empty one; `again` opens the same once more. */
export function storeContract(name: string, make: () => Promise<{ store: Store; again(): Promise<Store> }>): void {
  describe(`${name}: the store contract`, () => {
    it('gives back bars, calendars, outcomes and events as they were written, after reopening too', async () => {
      const { store, again } = await make()
      const written = simulatedRecord(1)
      await store.write([written], 'v1')
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
      await reopened.close()
    })

    it('lists tickers in order and knows the newest day', async () => {
      const { store } = await make()
      expect(await store.tickers()).toEqual([])
      expect(await store.newestDay()).toBeNull()
      await store.write([simulatedRecord(3, 17_000), simulatedRecord(1, 17_100), simulatedRecord(2, 16_000)], 'v1')
      expect((await store.tickers()).map(entry => entry.ticker)).toEqual(['SIM0001', 'SIM0002', 'SIM0003'])
      expect(await store.newestDay()).toBe(simulatedRecord(1, 17_100).entry.last)
      await store.close()
    })

    it('answers null for a ticker that is not there, and no field for one without data', async () => {
      const { store } = await make()
      await store.write([simulatedRecord(1)], 'v1')
      expect(await store.ticker('NONE')).toBeNull()
      expect(await store.bars('NONE')).toBeNull()
      expect(await store.recorded('NONE', 'daily', 'rsi_zone')).toBeNull()
      expect((await store.recorded('SIM0001', 'daily', 'valuation_zone'))?.field).toBeNull()
      await store.close()
    })

    it('replaces a ticker whole, and the same twice is the same once', async () => {
      const { store } = await make()
      await store.write([simulatedRecord(1, 17_000, 900), simulatedRecord(2)], 'v1')
      await store.write([simulatedRecord(1, 17_000, 300)], 'v1')
      await store.write([simulatedRecord(1, 17_000, 300)], 'v1')
      expect((await store.tickers()).map(entry => entry.bars)).toEqual([300, 700])
      expect((await store.bars('SIM0001'))?.days.length).toBe(300)
      expect(await store.verify()).toEqual([])
      await store.close()
    })

    it('writes all or none', async () => {
      const { store } = await make()
      await store.write([simulatedRecord(1)], 'v1')
      const failing = function* (): Generator<TickerRecord> {
        yield simulatedRecord(2)
        throw new Error('in the middle')
      }
      await expect(store.write(failing(), 'v2')).rejects.toThrow('in the middle')
      expect((await store.tickers()).map(entry => entry.ticker)).toEqual(['SIM0001'])
      expect(await store.definitions()).toBe('v1')
      await store.close()
    })

    it('removes a ticker with all that belongs to it', async () => {
      const { store } = await make()
      await store.write([simulatedRecord(1), simulatedRecord(2)], 'v1')
      expect(await store.remove('SIM0001')).toBe(true)
      expect(await store.remove('SIM0001')).toBe(false)
      expect(await store.bars('SIM0001')).toBeNull()
      expect(await store.recorded('SIM0001', 'daily', 'rsi_zone')).toBeNull()
      expect(await store.verify()).toEqual([])
      await store.close()
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
      await store.close()
      await other.close()
    })
  })
}

/** A simulated ticker with all that is derived from it. */
export function simulatedRecord(index: number, end: Day = 17_000, bars = 700): TickerRecord {
  const { ticker, bars: series } = simulatedTicker(index, { count: 1, bars, seed: 7, end })
  return recordOf({ ticker, series })
}
