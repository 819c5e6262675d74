import pg from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openBands } from '../../../src/client.js'
import { DEFINITIONS_VERSION } from '../../../src/model/definitions.js'
import { openPostgres } from '../../../src/store/postgres/data.js'
import { damageContract, WORLD } from '../../contracts/damage.js'
import { rememberedContract } from '../../contracts/remembered.js'
import { pulledSeries, simulatedRecord, storeContract } from '../../contracts/store.js'
import { clusterForAll, describePostgres } from '../../support/postgres.js'
import { pulledIn } from '../../support/pulled.js'
import { loadedInto } from '../../support/store.js'

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

  let whole: Promise<string> | undefined
  damageContract('postgres', {
    ofFirst: "ticker = 'SIM0001'",
    key: 'ticker',
    withField(path, value) {
      if (value === null) return `(fields::jsonb - '${path[0]}')::text`
      return `jsonb_set(fields::jsonb, '{${path.join(',')}}', '${value}')::text`
    },
    every: 5,
    async edit(sql) {
      whole ??= made()
      const url = await cluster.current.createDatabase(await whole)
      if (sql !== '')
        await cluster.current.sql(`SET search_path = bands_data, public; ${sql}`, new URL(url).pathname.slice(1))
      return url
    },
    open: (url, readonly) => openPostgres(url, { readonly }),
  })

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

  /** @returns the name of a database that is copied */
  async function made(): Promise<string> {
    const url = await cluster.current.createDatabase()
    const name = new URL(url).pathname.slice(1)
    const store = await openPostgres(url, { readonly: false })
    await loadedInto(store, WORLD)
    await pulledIn(store).put(pulledSeries('AAPL'))
    await store.close()
    await cluster.current.sql(EDITED, name)
    return name
  }
})

const EDITED = `CREATE FUNCTION edited(bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE
  RETURN set_byte(bytes, 9, get_byte(bytes, 9) # 17)`
