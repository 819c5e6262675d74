import { describe, expect, it, onTestFinished } from 'vitest'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import { TIMEFRAME_NAMES } from '../../src/core/model/terms.js'
import { cachedStore } from '../../src/data/store/cached-store.js'
import type { Recorded, Store } from '../../src/data/store/store.js'
import { simulatedRecord } from './store.js'

/** What is kept in memory of a store is what that store tells, whatever others write. `make` gives the way to an empty one. */
export function rememberedContract(name: string, make: () => Promise<(readonly: boolean) => Promise<Store>>): void {
  /** A store with tickers SIM0001 and on, who writes to it, and who reads it. */
  const opened = async (tickers = 2): Promise<{ writer: Store; reader: Store; again(): Promise<Store> }> => {
    const open = await make()
    const writer = await open(false)
    await writer.write(
      { records: Array.from({ length: tickers }, (_, i) => simulatedRecord(i + 1)) },
      DEFINITIONS_VERSION,
    )
    const reader = await open(true)
    onTestFinished(async () => {
      await reader.close()
      await writer.close()
    })
    return { writer, reader, again: () => open(true) }
  }

  describe(`${name}: a store that remembers`, () => {
    it('tells what the store tells, the first time and again', async () => {
      const { reader } = await opened()
      const remembered = cachedStore(reader)
      for (let time = 0; time < 2; time++) {
        for (const ticker of ['SIM0001', 'SIM0002', 'NOSUCH'])
          for (const timeframe of TIMEFRAME_NAMES)
            for (const field of ['rsi_zone', 'macd_state', 'valuation_zone'])
              expect(await remembered.recorded(ticker, timeframe, field)).toEqual(
                await reader.recorded(ticker, timeframe, field),
              )
        expect(await remembered.newestDay()).toBe(await reader.newestDay())
        expect(await remembered.definitions()).toBe(await reader.definitions())
      }
    })

    it('decodes once what is asked for again, and what the fields of a series share once', async () => {
      const remembered = cachedStore((await opened()).reader)
      const first = await ask(remembered, 'SIM0001')
      const again = await ask(remembered, 'SIM0001')
      expect(again.field).toBe(first.field)
      await ask(remembered, 'SIM0001', 'macd_state')
      const other = await ask(remembered, 'SIM0001', 'macd_state')
      expect(other.outcomes).toBe(first.outcomes)
      expect(other.field).not.toBe(first.field)
    })

    it('lists the tickers once, and again once something was written', async () => {
      const { writer, reader, again } = await opened(1)
      let lists = 0
      const tickers: Store['tickers'] = () => {
        lists++
        return reader.tickers()
      }
      const remembered = cachedStore(Object.assign(await again(), { tickers }))
      onTestFinished(() => remembered.close())
      for (let time = 0; time < 3; time++) expect(await remembered.tickers()).toEqual(await reader.tickers())
      expect(lists).toBe(1)
      await writer.write({ records: [simulatedRecord(2)] }, DEFINITIONS_VERSION)
      expect(await remembered.tickers()).toHaveLength(2)
      expect(lists).toBe(2)
    })

    it('reads the newest day once, and again for another bound or another version', async () => {
      const { writer, reader, again } = await opened()
      let reads = 0
      const newestDay: Store['newestDay'] = upTo => {
        reads++
        return reader.newestDay(upTo)
      }
      const remembered = cachedStore(Object.assign(await again(), { newestDay }))
      const newest = (await reader.newestDay())!
      const before = await reader.newestDay(newest - 1)
      for (let time = 0; time < 2; time++) expect(await remembered.newestDay(newest - 1)).toBe(before)
      expect(reads).toBe(1)
      expect([await remembered.newestDay(newest), reads]).toEqual([newest, 2])
      await writer.remove('SIM0002')
      expect([await remembered.newestDay(newest), reads]).toEqual([newest, 3])
      await remembered.close()
    })

    // Of a server, whoever asks at the same time does not hear of its version at the same time.
    it.runIf(name === 'sqlite')(
      'reads once for all who ask at the same time, and again after a read that failed or was overtaken by a write',
      async () => {
        const { writer, reader, again } = await opened()
        let reads = 0
        let before = async () => {}
        const securities: Store['securities'] = async () => {
          reads++
          await before()
          return reader.securities()
        }
        const remembered = cachedStore(Object.assign(await again(), { securities }))
        onTestFinished(() => remembered.close())
        const atOnce = () => Promise.all(Array.from({ length: 5 }, () => remembered.securities()))
        before = () => Promise.reject(new Error('no'))
        await expect(atOnce()).rejects.toThrow('no')
        expect(reads).toBe(1)
        before = async () => void (await writer.remove('SIM0001'))
        await atOnce()
        expect(reads).toBe(2)
        before = async () => {}
        const [first, ...others] = await atOnce()
        for (const found of others) expect(found).toBe(first)
        expect(await remembered.securities()).toBe(first)
        expect(reads).toBe(3)
      },
    )

    it('tells what is new as soon as another connection has written', async () => {
      const { writer, reader } = await opened()
      const remembered = cachedStore(reader)
      const before = await ask(remembered, 'SIM0001')
      const version = await remembered.version()
      expect(await remembered.version()).toBe(version)
      const third = simulatedRecord(3)
      const later = { ...third, entry: { ...third.entry, last: third.entry.last + 7 } }
      await writer.write({ records: [later], unsettled: ['t:SIM0003'] }, DEFINITIONS_VERSION)
      expect(await remembered.version()).not.toBe(version)
      expect(await remembered.newestDay()).toBe(later.entry.last)
      const after = await ask(remembered, 'SIM0001')
      expect(after.field).toBe(before.field)
      expect(after.unsettled).toEqual(['t:SIM0003'])
      await writer.remove('SIM0001')
      expect(await remembered.recorded('SIM0001', 'daily', 'rsi_zone')).toBeNull()
    })

    it('keeps what was not written, with what is new of it, and reads anew what was', async () => {
      const { writer, reader } = await opened()
      const remembered = cachedStore(reader)
      const fields = ['rsi_zone', 'macd_state']
      const all = async () => {
        const found: Recorded[] = []
        for (const ticker of ['SIM0001', 'SIM0002'])
          for (const field of fields) found.push(await ask(remembered, ticker, field))
        return found
      }
      await all()
      const before = await all()
      const record = simulatedRecord(2)
      await writer.write({ records: [simulatedRecord(2, 16_500)], unsettled: ['t:SIM0003'] }, DEFINITIONS_VERSION)
      await all()
      const after = await all()
      expect(after.map(({ field }, i) => field === before[i]!.field)).toEqual([true, true, false, false])
      expect(after.map(({ outcomes }, i) => outcomes === before[i]!.outcomes)).toEqual([true, true, false, false])
      for (const [i, { unsettled }] of after.entries()) expect(unsettled, String(i)).toEqual(['t:SIM0003'])
      // A field alone: the others of its series are read anew, too.
      const amended = new Map([['macd_state', record.daily.fields.get('rsi_zone')!]])
      await writer.write(
        { amendments: [{ ticker: 'SIM0002', timeframe: 'daily', fields: amended }] },
        DEFINITIONS_VERSION,
      )
      const last = await all()
      expect(last.map(({ field }, i) => field === after[i]!.field)).toEqual([true, true, false, false])
      for (const [i, [ticker, field]] of [
        ['SIM0001', 'rsi_zone'],
        ['SIM0002', 'macd_state'],
      ].entries())
        expect(last[3 * i]).toEqual(await reader.recorded(ticker!, 'daily', field!))
    })

    it('does not keep a series that was read before a write and told after it', async () => {
      const { writer, reader, again } = await opened()
      let reads = 0
      const recorded: Store['recorded'] = async (...asked) => {
        const found = await reader.recorded(...asked)
        if (++reads === 1) await writer.remove('SIM0001')
        return found
      }
      const remembered = cachedStore(Object.assign(await again(), { recorded }))
      expect(await ask(remembered, 'SIM0001')).not.toBeNull()
      expect(await remembered.recorded('SIM0001', 'daily', 'rsi_zone')).toBeNull()
      await remembered.close()
    })

    it('reads all of one moment where it is asked to, whatever is written meanwhile', async () => {
      const { writer, reader } = await opened()
      const remembered = cachedStore(reader)
      const tickers = async () => (await remembered.tickers()).length
      await remembered.atOneMoment(async () => {
        const version = await remembered.version()
        expect(await tickers()).toBe(2)
        await writer.remove('SIM0001')
        expect([await tickers(), await remembered.version()]).toEqual([2, version])
        expect(await ask(remembered, 'SIM0001')).toEqual(await reader.recorded('SIM0001', 'daily', 'rsi_zone'))
        expect(await ask(remembered, 'SIM0001')).not.toBeNull()
      })
      expect([await tickers(), await remembered.recorded('SIM0001', 'daily', 'rsi_zone')]).toEqual([1, null])
      await expect(remembered.atOneMoment(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
      expect(await tickers()).toBe(1)
    })

    it('keeps the series that were asked for last, up to its bytes', async () => {
      const { reader } = await opened(3)
      const one = await ask(cachedStore(reader), 'SIM0001')
      const { close, ranks } = one.outcomes
      const bytes = one.calendar.days.byteLength * 2 + close.byteLength + ranks.length * one.calendar.days.byteLength
      const remembered = cachedStore(reader, 2.5 * bytes)
      const field = async (ticker: string) => (await ask(remembered, ticker)).field
      const first = await field('SIM0001')
      const second = await field('SIM0002')
      expect(await field('SIM0001')).toBe(first)
      await field('SIM0003')
      expect(await field('SIM0001')).toBe(first)
      expect(await field('SIM0002')).not.toBe(second)
    })
  })
}

async function ask(store: Store, ticker: string, field = 'rsi_zone') {
  return (await store.recorded(ticker, 'daily', field))!
}
