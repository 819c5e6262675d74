import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openBands } from '../../../src/client.js'
import { Busy } from '../../../src/errors.js'
import type { Importer } from '../../../src/load/import.js'
import { Local } from '../../../src/local/local.js'
import { parseDay } from '../../../src/model/day.js'
import { head } from '../../../src/model/series.js'
import { simulatedTickers } from '../../../src/simulate/simulate.js'
import { laidOut, openPostgres } from '../../../src/store/postgres/data.js'
import { remembering } from '../../../src/store/remembered.js'
import { openSqlite } from '../../../src/store/sqlite/data.js'
import type { Store } from '../../../src/store/store.js'
import { expectEnd, expectRefusal, typed } from '../../cli/support/run.js'
import { damageContract, KEY } from '../../contracts/damage.js'
import { storeContract } from '../../contracts/store.js'
import { FULL, provenInFull } from '../../support/full.js'
import { type Cluster, clusterForAll, describePostgres } from '../../support/postgres.js'
import { damagedIn } from '../../support/postgres-damage.js'
import { serve } from '../../support/serve.js'
import { SHARDS, shardsForAll } from '../../support/shards.js'
import { importerOf, loadedInto, sourced, temporaryFolder } from '../../support/store.js'

const WORLD = [...simulatedTickers({ count: 8, bars: 700, seed: 21, end: parseDay('2024-06-28')! })]
const NAMES = WORLD.map(({ ticker }) => ticker)

if (FULL)
  describePostgres('a store whose tables are cut into partitions', () => {
    const cluster = clusterForAll({ fsync: false })
    const made = async () => {
      const url = await cluster.current.createDatabase()
      await laidOut(url, { layout: { partitions: 4, shards: [] } })
      return url
    }
    storeContract('postgres in 4 partitions', async () => {
      const url = await made()
      const open = () => openPostgres(url, { readonly: false })
      return { store: await open(), again: open }
    })
    damageContract(
      'postgres in 4 partitions',
      damagedIn(() => ({ front: cluster.current, made, copy: name => cluster.current.createDatabase(name) })),
    )
  })

describePostgres('a store whose partitions lie on three other servers', () => {
  const clusters = shardsForAll({ fsync: false })
  const made = () => clusters.current.createDatabase()

  if (FULL) {
    storeContract('postgres in three shards', async () => {
      const url = await made()
      const open = () => openPostgres(url, { readonly: false })
      return { store: await open(), again: open }
    })
    damageContract(
      'postgres in three shards',
      damagedIn(() => ({ front: clusters.current.front, made, copy: name => clusters.current.createDatabase(name) })),
    )
  }

  const opened = async (url: string): Promise<Store> => {
    const store = await openPostgres(url, { readonly: false })
    onTestFinished(() => store.close())
    return store
  }

  it('sends each of them what is asked or changed of its tickers as a whole, and the others nothing', async () => {
    const url = await made()
    await (await loadedInto(await opened(url), WORLD)).close()
    const texts = vi.spyOn(pg.Client.prototype, 'query')
    onTestFinished(() => texts.mockRestore())
    const bands = await openBands({ db: url, ledger: false, cacheBytes: 0 })
    onTestFinished(() => bands.close())
    const statements = async (work: () => Promise<unknown>): Promise<{ text: string; values: unknown[] }[]> => {
      texts.mockClear()
      await work()
      const asked = texts.mock.calls.map(([one]) => one as unknown as { text: string; values?: unknown[] })
      return asked.flatMap(({ text, values = [] }) =>
        /^(SELECT|INSERT|UPDATE|DELETE)/.test(text) ? [{ text, values }] : [],
      )
    }
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    onTestFinished(() => client.end())
    const sent = async ({
      text,
      values,
    }: {
      text: string
      values: unknown[]
    }): Promise<{ tables: string[]; sql: string[] }> => {
      const { rows } = await client.query({ text: `EXPLAIN (VERBOSE) ${text}`, values })
      const lines = rows.map(row => (row as Record<string, string>)['QUERY PLAN']!)
      const of = (form: RegExp): string[] => lines.flatMap(line => form.exec(line)?.[1] ?? [])
      return { tables: of(/Foreign (?:Scan|Delete|Update) on bands_data\.(\w+)/), sql: of(/Remote SQL: (.*)/) }
    }
    const [question, ...more] = await statements(() => bands.events({ ticker: 'SIM0001', field: 'rsi_zone' }))
    expect(more).toEqual([])
    const { tables, sql } = await sent(question!)
    const [place] = tables.map(name => name.split('_')[1])
    expect([...tables].sort()).toEqual(['chunks', 'listed', 'series', 'tickers'].map(name => `${name}_${place}`))
    for (const one of sql) expect(one).toMatch(/WHERE .*ticker = ANY/)
    expect(sql.filter(one => one.includes('.chunks'))).toEqual([
      expect.stringMatching(/timeframe = 'daily'.*part = ANY/),
    ])
    // And so by a plan that a connection made for any ticker.
    await client.query(`SET plan_cache_mode = force_generic_plan; PREPARE question AS ${question!.text}`)
    const values = question!.values.map(one => (Array.isArray(one) ? `'{${one.join()}}'` : `'${String(one)}'`))
    const planned = await sent({ text: `EXECUTE question (${values.join()})`, values: [] })
    expect(planned.tables).toEqual(tables)
    for (const one of planned.sql) expect(one).toMatch(/WHERE .*ticker = ANY \(ARRAY\[\$1/)
    await client.query('RESET plan_cache_mode')
    const store = await opened(url)
    const changing = await statements(async () => {
      await (await importerOf(store)).put([sourced({ ...WORLD[0]!, bars: head(WORLD[0]!.bars, 600) })], {
        replace: true,
      })
    })
    const scans: string[] = []
    for (const one of changing) if (/^(UPDATE|DELETE)/.test(one.text)) scans.push(...(await sent(one)).sql)
    expect(scans.length).toBeGreaterThan(3)
    for (const one of scans) expect(one).toMatch(/^(UPDATE|DELETE FROM) .* WHERE .*ticker = /)
  })

  it('answers of the others while one is dead, refuses what needs that one, and comes back by itself', async () => {
    const url = await made()
    await (await loadedInto(await opened(url), WORLD)).close()
    const folder = temporaryFolder()
    const server = await serve({ db: url, remove() {} }, { accounts: join(folder, 'accounts.db') })
    onTestFinished(() => server.stop())
    const key = await server.key('pro')
    const asked = (ticker: string, field: string) => server.get(`/v1/events?ticker=${ticker}&field=${field}`, key)
    const before = new Map<string, string>()
    for (const name of NAMES) before.set(name, (await asked(name, 'rsi_zone')).text)
    const dead = await clusters.current.shardOf('SIM0001', url)
    const lost: string[] = []
    for (const name of NAMES) if ((await clusters.current.shardOf(name, url)) === dead) lost.push(name)
    expect(NAMES.length - lost.length).toBeGreaterThan(0)
    const named = SHARDS[clusters.current.shards.indexOf(dead)]!
    await dead.kill()
    try {
      const away = `cannot reach one of its shards: could not connect to server "${named}"`
      for (let time = 0; time < 2; time++)
        for (const name of NAMES) {
          const answer = await asked(name, 'macd_state')
          expect([name, answer.status]).toEqual([name, lost.includes(name) ? 503 : 200])
          if (lost.includes(name)) expect(answer.headers['retry-after']).toBe('5')
          // What was read before is known to be as it was.
          expect((await asked(name, 'rsi_zone')).text).toBe(before.get(name))
        }
      const env = { HOME: folder }
      const living = NAMES.find(name => !lost.includes(name))!
      expectEnd(await typed(`events ${living} rsi_zone --json --db ${url}`, { env }), 0, '')
      for (const line of [
        'events SIM0001 rsi_zone',
        'now --all',
        'tally rsi_zone --all',
        'scan oversold',
        'tickers',
        'verify',
        'remove SIM0001',
      ])
        expectRefusal(await typed(`${line} --db ${url}`, { env }), 8, away)
      const store = await opened(url)
      await expect(store.atOneMoment(() => store.tickers())).rejects.toThrow(Busy)
      await expect(loadedInto(store, WORLD)).rejects.toThrow(Busy)
    } finally {
      await dead.start()
    }
    for (const name of NAMES) {
      expect((await asked(name, 'macd_state')).status, name).toBe(200)
      expect((await asked(name, 'rsi_zone')).text, name).toBe(before.get(name))
    }
    const store = await opened(url)
    expect(await store.verify()).toEqual([])
  })

  provenInFull('is made good by the next import where a commit came through to some of them alone', async () => {
    const file = openSqlite(join(temporaryFolder(), 'bands.db'), { readonly: false })
    const importer = await filledBefore(file)
    await importer.put(WORLD.map(sourced))
    const expected = await contentsOf(file)
    let parts = 0
    for (const shard of clusters.current.shards) {
      const url = await made()
      const database = new URL(url).pathname.slice(1)
      await (await filledBefore(await opened(url))).close()
      const kept = remembering(await opened(url))
      const asked = (store: Store) =>
        Promise.all(NAMES.map(ticker => new Local(store, 'pro', null).events({ ...KEY, ticker })))
      await asked(kept)
      const newest = (await (await opened(url)).tickers()).length
      await refusing(shard, database, true)
      const importer = await importerOf(await opened(url))
      await expect(importer.put(WORLD.map(sourced))).rejects.toThrow('not today')
      await importer.close()
      await refusing(shard, database, false)
      const store = await opened(url)
      const entries = await store.tickers()
      const bars = entries.map(entry => entry.bars)
      expect(entries).toHaveLength(newest)
      // Whole ones, old and new.
      expect(await store.verify()).toEqual([])
      for (const count of bars) expect([600, 700]).toContain(count)
      if (bars.includes(700)) parts++
      // Whatever came through is seen at once, by who keeps what it has read.
      expect(await asked(kept)).toEqual(await asked(store))
      for (const { last } of entries) expect((await store.newestDay())!).toBeGreaterThanOrEqual(last)
      await store.close()
      const next = await importerOf(await opened(url))
      await next.put(WORLD.map(sourced))
      await next.close()
      const again = await opened(url)
      expect(await again.verify()).toEqual([])
      expect(await again.version()).toBe(await again.version())
      expect(await contentsOf(again)).toEqual(expected)
    }
    expect(parts).toBeGreaterThan(0)
  })

  it('has a rename that was cut off between two shards finished by the same command', async () => {
    const url = await made()
    await (await filledBefore(await opened(url))).close()
    const home = await clusters.current.shardOf('SIM0001', url)
    let to = 'OTHER1'
    for (let i = 2; (await clusters.current.shardOf(to, url)) === home; i++) to = `OTHER${i}`
    const database = new URL(url).pathname.slice(1)
    const env = { HOME: temporaryFolder() }
    const rename = () => typed(`rename SIM0001 ${to} --db ${url} --json`, { env })
    await refusing(home, database, true, 'DELETE')
    expectRefusal(await rename(), 6, 'not today')
    await refusing(home, database, false)
    expect(await (await opened(url)).names()).toEqual([to, ...NAMES].sort())
    // Another name is as free or taken as before.
    expectRefusal(
      await typed(`rename SIM0001 SIM0002 --db ${url}`, { env }),
      2,
      'there is something of SIM0002 already',
    )
    expect(await rename()).toMatchObject({ code: 0 })
    const store = await opened(url)
    expect(await store.names()).toEqual([to, ...NAMES.slice(1)].sort())
    expect(await store.verify()).toEqual([])
  })

  it('tells whose rows lie where no question finds them, and how to take them away, by verify and by doctor', async () => {
    const url = await made()
    await (await loadedInto(await opened(url), WORLD)).close()
    const env = { HOME: temporaryFolder(), PGUSER: 'bands_admin' }
    expect((await typed(`doctor --db ${url} --json`, { env })).out).toContain('each ticker lies where it belongs')
    const home = clusters.current.shards.indexOf(await clusters.current.shardOf('SIM0001', url))
    const other = clusters.current.shards[(home + 1) % SHARDS.length]!
    const [own, its] = [SHARDS[(home + 1) % SHARDS.length]!, SHARDS[home]!]
    // Somebody has imported into a shard itself.
    const itself = `postgres://127.0.0.1:${other.port}${new URL(url).pathname}`
    const direct = await opened(itself.replace('127.0.0.1', 'bands_admin@127.0.0.1'))
    await (await loadedInto(direct, WORLD.slice(0, 1))).close()
    const what = `rows of it lie on ${own}, where no question finds them; it belongs on ${its}`
    const { code, out } = await typed(`verify --db ${url} --json`, { env })
    expect([code, JSON.parse(out).damages]).toEqual([
      5,
      [{ file: expect.anything(), ticker: 'SIM0001', what, try: `bands remove SIM0001 --db ${itself}` }],
    ])
    expect((await typed(`doctor --db ${url} --json`, { env })).out).toContain('where no question finds them: 1')
    expect(await typed(`remove SIM0001 --db ${itself}`, { env })).toMatchObject({ code: 0 })
    expect(await typed(`verify --db ${url} --json`, { env })).toMatchObject({ code: 0 })
    // Two servers with each other's address.
    const ports = [other.port, clusters.current.shards[home]!.port]
    const exchange = (a: number, b: number) =>
      clusters.current.front.sql(
        `ALTER SERVER ${its} OPTIONS (SET port '${a}'); ALTER SERVER ${own} OPTIONS (SET port '${b}')`,
        new URL(url).pathname.slice(1),
      )
    await exchange(ports[0]!, ports[1]!)
    const exchanged = JSON.parse((await typed(`verify --db ${url} --json`, { env })).out).damages as { what: string }[]
    expect(exchanged.map(({ what }) => what)).toEqual(
      expect.arrayContaining([
        expect.stringContaining(`${own} has the tickers of ${its}, where no question finds them: give each server`),
        expect.stringContaining(`${its} has the tickers of ${own}, where no question finds them: give each server`),
      ]),
    )
    await exchange(ports[1]!, ports[0]!)
    expect(await typed(`verify --db ${url} --json`, { env })).toMatchObject({ code: 0 })
  })

  describe('a layout', () => {
    it('over servers that are not there, are one and the same, or hold data, is refused and makes nothing', async () => {
      const url = await made()
      const lay = (shards: string[], at = url) => laidOut(at, { layout: { partitions: shards.length, shards } })
      await expect(lay([...SHARDS])).rejects.toThrow('has its tables already')
      const empty = await clusters.current.front.createDatabase()
      await expect(lay(['nosuch'], empty)).rejects.toThrow('there is no foreign server nosuch')
      expect((await typed(`store layout --db ${url} --json`)).out).toContain('"shards":"shard1 shard2 shard3"')
    })
  })
})

/** Has the next commits of a server fail, whatever was done before them. */
async function refusing(shard: Cluster, database: string, is: boolean, what = 'INSERT'): Promise<void> {
  await shard.sql(
    is
      ? `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$;
        CREATE CONSTRAINT TRIGGER refusal AFTER ${what} ON bands_data.tickers DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION refuse()`
      : 'DROP FUNCTION refuse() CASCADE',
    database,
  )
}

/** Most of the bars, and the facts. */
async function filledBefore(store: Store): Promise<Importer> {
  const importer = await importerOf(store)
  await importer.put(WORLD.map(one => sourced({ ...one, bars: head(one.bars, 600) })))
  await importer.putFacts(
    WORLD.flatMap(({ facts }) => facts),
    { file: 'simulate', format: 'simulated' },
  )
  return importer
}

/** Hashes of what is derived, which name neither file nor time. */
async function contentsOf(store: Store): Promise<string[]> {
  const found = (await store.contents()).filter(({ what }) => what === 'daily' || what === 'weekly')
  await store.close()
  return found.map(({ ticker, what, hash }) => `${ticker} ${what} ${hash}`).sort()
}
