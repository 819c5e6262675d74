import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openBands } from '../../../src/client.js'
import { StorageError } from '../../../src/errors.js'
import { DEFINITIONS_VERSION } from '../../../src/model/definitions.js'
import { laidOut, openPostgres } from '../../../src/store/postgres/data.js'
import { NEWEST } from '../../../src/store/postgres/read.js'
import type { Store } from '../../../src/store/store.js'
import { damageContract } from '../../contracts/damage.js'
import { rememberedContract } from '../../contracts/remembered.js'
import { simulatedRecord, storeContract } from '../../contracts/store.js'
import { clusterForAll, describePostgres } from '../../support/postgres.js'
import { damagedIn } from '../../support/postgres-damage.js'

describePostgres('the data store on PostgreSQL', () => {
  const cluster = clusterForAll({ fsync: false })

  storeContract('postgres', async () => {
    const url = await cluster.current.createDatabase()
    const open = () => openPostgres(url, { readonly: false })
    return { store: await open(), again: open }
  })

  rememberedContract('postgres', async () => {
    const url = await cluster.current.createDatabase()
    return readonly => openPostgres(url, { readonly })
  })

  const made = () => cluster.current.createDatabase()
  damageContract(
    'postgres',
    damagedIn(() => ({ front: cluster.current, made, copy: name => cluster.current.createDatabase(name) })),
  )

  describe('a question', () => {
    it.each([
      ['of an open library', undefined, [2, 1]],
      ['of one that keeps nothing', 0, [1, 1]],
    ])('%s is one statement, and sees what was written before it', async (_name, cacheBytes, [first, then]) => {
      const url = await cluster.current.createDatabase()
      const writer = await openPostgres(url, { readonly: false })
      onTestFinished(() => writer.close())
      await writer.write({ records: [simulatedRecord(1), simulatedRecord(2)] }, DEFINITIONS_VERSION)
      const bands = await openBands({ db: url, ledger: false, ...(cacheBytes === undefined ? {} : { cacheBytes }) })
      onTestFinished(() => bands.close())
      const statements = vi.spyOn(pg.Client.prototype, 'query')
      onTestFinished(() => statements.mockRestore())
      const asked = async (ticker: string) => {
        const before = statements.mock.calls.length
        const page = await bands.events({ ticker, field: 'rsi_zone' })
        return { page, count: statements.mock.calls.length - before }
      }
      const found = await asked('SIM0001')
      expect(found.page.events.length).toBeGreaterThan(0)
      // What is kept of the newest day is held against the version once more.
      expect(found.count).toBe(first)
      const again = await asked('SIM0001')
      expect(again).toEqual({ page: found.page, count: then })
      expect((await asked('SIM0002')).count).toBe(1)
      await writer.write({ records: [simulatedRecord(1, 16_500)] }, DEFINITIONS_VERSION)
      expect((await asked('SIM0001')).page).not.toEqual(found.page)
      await writer.remove('SIM0001')
      await expect(asked('SIM0001')).rejects.toThrow('no bars for "SIM0001"')
    })
  })

  it.each([
    ['whole', 1],
    ['cut into partitions', 2],
  ])(
    'looks for the newest bar without sorting all tickers, in tables of an earlier bands too: %s',
    async (_, partitions) => {
      const url = await cluster.current.createDatabase()
      const name = new URL(url).pathname.slice(1)
      await laidOut(url, { layout: { partitions, shards: [] } })
      const sql = (text: string) => cluster.current.sql(text, name)
      const plan = () => sql(`SET enable_sort = off; EXPLAIN ${NEWEST} LIMIT 1`)
      const sorts = async () => (await plan()).some(line => line.includes('Sort  ('))
      const index = partitions === 1 ? 'tickers_by_last_date' : 'tickers_last_date_ticker_idx'
      await sql(`DELETE FROM bands_data.steps WHERE step = 3; DROP INDEX bands_data.${index}`)
      await sql('CREATE INDEX tickers_by_last_date ON bands_data.tickers (last_date)')
      expect(await sorts()).toBe(true)
      const store = await openPostgres(url, { readonly: true })
      await store.close()
      expect(await sorts()).toBe(false)
    },
  )

  describe('a writing place', () => {
    const writer = { pid: 17, host: 'here', started: '2026-01-02T03:04:05Z' }
    const taken = async () => {
      const url = await cluster.current.createDatabase()
      const name = new URL(url).pathname.slice(1)
      await cluster.current.sql(`ALTER DATABASE ${name} SET idle_session_timeout = 100`)
      const store = await openPostgres(url, { readonly: false })
      onTestFinished(() => store.close())
      await store.lock(writer)
      return { store, name }
    }
    const write = (store: Store) => store.write({ records: [simulatedRecord(1)] }, DEFINITIONS_VERSION)

    it('is kept by who thinks for longer than the database lets a session be idle', async () => {
      const { store } = await taken()
      await setTimeout(500)
      await write(store)
      expect(await store.tickers()).toHaveLength(1)
    })

    it('is lost where another took it by the same session, as through a pooler', async () => {
      const { store, name } = await taken()
      await write(store)
      await cluster.current.sql('UPDATE bands_data.writer SET pid = 18', name)
      await expect(write(store)).rejects.toThrow('needs a connection of its own')
      await cluster.current.sql('UPDATE bands_data.writer SET pid = 17', name)
      await write(store)
      await cluster.current.sql('UPDATE bands_data.writer SET session = session + 1', name)
      await expect(write(store)).rejects.toThrow('needs a connection of its own')
    })
  })

  it('reads at two moments at once, each of its own', async () => {
    const url = await cluster.current.createDatabase()
    const store = await openPostgres(url, { readonly: false })
    onTestFinished(() => store.close())
    await store.write({ records: [simulatedRecord(1)] }, DEFINITIONS_VERSION)
    const count = async () => (await store.tickers()).length
    const seen = await store.atOneMoment(async () => {
      const before = await count()
      const within = await store.atOneMoment(count)
      return [before, within, await count()]
    })
    expect(seen).toEqual([1, 1, 1])
    let written = () => {}
    const isWritten = new Promise<void>(resolve => (written = resolve))
    let begun = () => {}
    const hasBegun = new Promise<void>(resolve => (begun = resolve))
    const older = store.atOneMoment(async () => {
      const before = await count()
      begun()
      await isWritten
      return [before, await count()]
    })
    await hasBegun
    await store.write({ records: [simulatedRecord(2)] }, DEFINITIONS_VERSION)
    expect([await store.atOneMoment(count), await count()]).toEqual([2, 2])
    written()
    expect(await older).toEqual([1, 1])
  })

  it('says in words of bands what the database refuses, at one moment as anywhere', async () => {
    const url = await cluster.current.createDatabase()
    const store = await openPostgres(url, { readonly: false })
    onTestFinished(() => store.close())
    await cluster.current.sql('DROP TABLE bands_data.series', new URL(url).pathname.slice(1))
    await expect(store.summaries()).rejects.toBeInstanceOf(StorageError)
    await expect(store.verify()).rejects.toBeInstanceOf(StorageError)
    await expect(store.atOneMoment(() => store.summaries())).rejects.toBeInstanceOf(StorageError)
  })

  it('throws what goes wrong in the work as it is, and goes on', async () => {
    const url = await cluster.current.createDatabase()
    const store = await openPostgres(url, { readonly: false })
    onTestFinished(() => store.close())
    const slip = new TypeError('a slip of ours')
    function* records() {
      yield simulatedRecord(1)
      throw slip
    }
    await expect(store.write({ records: records() }, DEFINITIONS_VERSION)).rejects.toBe(slip)
    await expect(store.atOneMoment(() => Promise.reject(slip))).rejects.toBe(slip)
    const wrong = {
      get sheet(): never {
        throw slip
      },
      ticker: 'SIM0001',
      kind: 'splits' as const,
    }
    await expect(store.write({ sheets: [wrong] }, DEFINITIONS_VERSION)).rejects.toBe(slip)
    expect(await store.tickers()).toEqual([])
    await store.write({ records: [simulatedRecord(1)] }, DEFINITIONS_VERSION)
    expect(await store.tickers()).toHaveLength(1)
  })
})
