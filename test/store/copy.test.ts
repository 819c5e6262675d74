import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { Busy, InvalidParameter } from '../../src/errors.js'
import { readFile } from '../../src/feeds/read.js'
import { Importer } from '../../src/load/import.js'
import { Local } from '../../src/local/local.js'
import { verify } from '../../src/local/verify.js'
import { DEFINITIONS_VERSION } from '../../src/model/definitions.js'
import { simulatedTickers } from '../../src/simulate/simulate.js'
import { type CopyProgress, copyStore } from '../../src/store/copy.js'
import { openStore } from '../../src/store/opening.js'
import { type Store, takePlace, UNDERIVED } from '../../src/store/store.js'
import { pulledSeries } from '../contracts/store.js'
import { everythingIn, expectAlike } from '../support/copies.js'
import { Database } from '../support/database.js'
import { clusterForAll, describePostgres } from '../support/postgres.js'
import { pulledIn } from '../support/pulled.js'
import { fixture, loadedInto, recordOf, storeOf, temporaryFolder } from '../support/store.js'

const COUNT = 20
const WORLD = [...simulatedTickers({ count: COUNT, bars: 120, seed: 3, end: 17_000 })]
const KEY = { ticker: 'SIM0001', timeframe: 'daily', field: 'rsi_zone', limit: 10 } as const

/** Where a store is, and how it is opened there. */
interface Place {
  open(readonly?: boolean): Promise<Store>
}

function placeAt(address: string): Place {
  return {
    async open(readonly = false) {
      const store = await openStore(address, { readonly })
      onTestFinished(() => store.close())
      return store
    },
  }
}

const newFile = async (): Promise<Place> => placeAt(join(temporaryFolder(), 'bands.db'))

const wholeFolder = mkdtempSync(join(tmpdir(), 'bands-whole-'))
afterAll(() => rmSync(wholeFolder, { recursive: true, force: true }))
let whole: Promise<string> | undefined

/** With one of everything in it. */
async function wholeFile(): Promise<string> {
  whole ??= (async () => {
    const path = join(wholeFolder, 'bands.db')
    await filled(await openStore(path, { readonly: false }))
    return path
  })()
  const path = join(temporaryFolder(), 'bands.db')
  copyFileSync(await whole, path)
  return path
}

/** One of everything: facts with and without bars, an accepted jump, pages, a stopped pull, a stopped import. */
async function filled(empty: Store): Promise<void> {
  const store = await loadedInto(empty, WORLD)
  const { series } = fixture(1, 600)
  const file = { source: 'jump.csv', format: 'bars', importedAt: '2026-01-02T03:04:05.000Z' }
  const origins = [
    { ...file, bars: 500 },
    { ...file, bars: 100, jump: 2 },
  ]
  const { ticker, kind, sheet } = { ...(await securityOf(store, 'SIM0001')), ticker: 'FACTS' }
  await store.write(
    {
      records: [recordOf({ ticker: 'JUMP', series, origins, assetClass: 'etf' })],
      sheets: [{ ticker, kind, sheet }],
      unsettled: ['sector Energy'],
    },
    DEFINITIONS_VERSION,
  )
  // An asset class that the user gave to the bars, beside another one among the facts.
  await store.write({ sheets: [{ ticker: 'GIVEN', kind, sheet }] }, DEFINITIONS_VERSION)
  await store.write({ records: [recordOf({ ticker: 'GIVEN', series, assetClass: 'crypto' })] }, DEFINITIONS_VERSION)
  await pulledIn(store).put(pulledSeries('AAPL'))
  await pulledIn(store).put(pulledSeries('KO', { state: 'mixed', field: 'macd_state' }))
  await store.pages.setRun({ id: 'a', url: 'https://bands.example', asked: 'b', started: '2026-01-02T03:04:05.000Z' })
  await store.close()
}

async function securityOf(store: Store, ticker: string) {
  return { ticker, kind: 'securities' as const, sheet: (await store.sheets(ticker)).securities! }
}

/** Stops a copy as a user does. */
class Stopped extends Error {}

function stoppedAfter(groups: number): (progress: CopyProgress) => void {
  let seen = 0
  return () => {
    if (seen++ === groups) throw new Stopped()
  }
}

function copiesBetween(name: string, from: () => Promise<Place>, to: () => Promise<Place>): void {
  describe(name, () => {
    it('answers everything as the source does, and says how much went', async () => {
      const source = await (await from()).open()
      const place = await to()
      const target = await place.open()
      const expected = await everythingIn(source)
      const report = await copyStore(source, target)
      expectAlike(await everythingIn(await place.open(true)), { ...expected, damages: [] })
      const bars = expected.entries.reduce((sum, entry) => sum + entry.bars, 0)
      const events = expected.summaries.reduce((sum, found) => sum + found.daily.events + found.weekly.events, 0)
      expect(report).toMatchObject({ copied: { tickers: COUNT + 5, bars, events }, there: { tickers: 0 }, removed: 0 })
      expect(report.hashes).toBe(expected.contents.length)
      expect(await copyStore(source, target)).toMatchObject({ copied: { tickers: 0, bars: 0 }, there: report.copied })
    })

    it('goes on where it was stopped, and until it is through is neither asked nor changed', async () => {
      const source = await (await from()).open()
      const [sourceless, place] = [await storeOf([fixture(2)]), await to()]
      // In the middle; at the verification.
      for (const groups of [1, 1]) {
        await expect(copyStore(source, await place.open(), { onProgress: stoppedAfter(groups) })).rejects.toThrow(
          Stopped,
        )
        const part = await place.open(true)
        await expect(new Local(part, 'pro', null).events(KEY)).rejects.toThrow(
          `${part.location} holds a part of ${source.location}, which is copied there; try again when that is through`,
        )
        const writer = { pid: process.pid, host: 'here', started: new Date().toISOString() }
        const writable = await place.open()
        await expect(Importer.begin(writable, readFile, writer)).rejects.toThrow(Busy)
        expect(await verify({ store: part })).toMatchObject([{ what: `it is a part of a copy of ${source.location}` }])
        await expect(copyStore(sourceless, writable)).rejects.toThrow(InvalidParameter)
        await expect(copyStore(part, sourceless)).rejects.toThrow(Busy)
      }
      // What changes meanwhile is brought along.
      await source.remove('SIM0002')
      const { copied, there, removed } = await copyStore(source, await place.open())
      expect([copied.tickers + there.tickers, removed]).toEqual([COUNT + 4, 1])
      expect(there.tickers).toBeGreaterThanOrEqual(16)
      expectAlike(await everythingIn(await place.open(true)), await everythingIn(source))
    })

    it('takes the place of other data only when that is said', async () => {
      const [source, place] = [await (await from()).open(), await to()]
      const target = await place.open()
      const records = [recordOf(fixture(3)), recordOf({ ...fixture(4), ticker: 'SIM0004' })]
      await target.write({ records: [...records, recordOf({ ...fixture(5), ticker: 'OTHER' })] }, DEFINITIONS_VERSION)
      const before = await everythingIn(target)
      await expect(copyStore(source, target)).rejects.toThrow(
        `${target.location} holds other data; copy into an empty database, or put it in the place of that (replace).`,
      )
      expectAlike(await everythingIn(target), before)
      expect((await copyStore(source, target, { replace: true })).removed).toBe(1)
      expectAlike(await everythingIn(target), await everythingIn(source))
    })
  })
}

const fullFile = async (): Promise<Place> => placeAt(await wholeFile())

copiesBetween('a copy of a file into a file', fullFile, newFile)

describe('a target', () => {
  it.each([
    `UPDATE chunks SET columns = x'00' WHERE part = 'outcomes' AND chunk = 0
      AND ticker_id = (SELECT id FROM tickers WHERE ticker = 'SIM0004')`,
    "UPDATE facts SET sheet = sheet || ' ' WHERE ticker = 'SIM0003'",
    "UPDATE pulled SET as_of = NULL WHERE ticker = 'AAPL'",
  ])('that is damaged by %s is mended by the same copy, and the rest is not sent', async sql => {
    const path = await wholeFile()
    const [source, place] = [await placeAt(path).open(true), placeAt(join(temporaryFolder(), 'bands.db'))]
    const target = await place.open()
    await copyStore(source, target)
    const db = new Database(target.location)
    expect(db.prepare(sql).run().changes).toBeGreaterThan(0)
    db.close()
    expect(new Set((await target.verify()).map(({ ticker }) => ticker)).size).toBe(1)
    expect(await copyStore(source, target)).toMatchObject({ copied: { tickers: 1 }, there: { tickers: COUNT + 4 } })
    expect(await everythingIn(target)).toEqual(await everythingIn(source))
  })
})

describe('a source', () => {
  it.each([
    ["UPDATE chunks SET columns = x'00' WHERE part = 'outcomes' AND chunk = 0", 'GIVEN: its daily series is not'],
    [
      "UPDATE facts SET sheet = sheet || ' ' WHERE ticker = 'SIM0003'",
      'SIM0003: its earnings are not what was written',
    ],
    ["DELETE FROM tickers WHERE ticker = 'SIM0005'", 'SIM0005: its bars are missing'],
    [
      "DELETE FROM listed WHERE ticker = 'SIM0005' AND what = 'bars'",
      'SIM0005: its bars were written under another name',
    ],
    ["UPDATE pulled SET as_of = NULL WHERE ticker = 'AAPL'", 'AAPL: its pulled daily rsi_zone events are not'],
  ])('that is damaged by %s is refused with the name of the ticker', async (sql, damage) => {
    const path = await wholeFile()
    const db = new Database(path)
    db.exec(sql)
    db.close()
    const target = await (await newFile()).open()
    await expect(copyStore(await placeAt(path).open(true), target)).rejects.toThrow(`${path} is damaged: ${damage}`)
    expect(await target.definitions()).not.toBe(DEFINITIONS_VERSION)
  })

  it('whose events are not made is refused, and one of other definitions is copied with these', async () => {
    const source = await storeOf([fixture(1)])
    await source.write({}, UNDERIVED)
    const target = await (await newFile()).open()
    await expect(copyStore(source, target)).rejects.toThrow('has bars whose events are not made yet')
    await source.write({}, 'older')
    await copyStore(source, target)
    expect(await target.definitions()).toBe('older')
  })
})

describePostgres('between a file and PostgreSQL', () => {
  const cluster = clusterForAll({ fsync: false })
  const newDatabase = async (): Promise<Place> => placeAt(await cluster.current.createDatabase())
  let template: Promise<string> | undefined
  const fullDatabase = async (): Promise<Place> => {
    template ??= (async () => {
      const url = await cluster.current.createDatabase()
      await filled(await openStore(url, { readonly: false }))
      return new URL(url).pathname.slice(1)
    })()
    return placeAt(await cluster.current.createDatabase(await template))
  }

  it('waits for a writing place that is held up by a lock of the database, as for any other', async () => {
    const url = await cluster.current.createDatabase()
    const [name, writer] = [new URL(url).pathname.slice(1), { pid: 1, host: 'here', started: '2026-01-02' }]
    await (await openStore(url, { readonly: false })).close()
    await cluster.current.sql(`ALTER DATABASE ${name} SET lock_timeout = '20ms'`)
    const store = await placeAt(url).open()
    const held = cluster.current.sql('BEGIN; LOCK TABLE bands_data.writer; SELECT pg_sleep(1); COMMIT', name)
    const isHeld =
      "SELECT FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock' AND relation::regclass::text = 'bands_data.writer'"
    while ((await cluster.current.sql(`SELECT 1 WHERE EXISTS (${isHeld})`, name)).length === 0);
    await expect(takePlace(store, writer)).rejects.toThrow('is being written by another process')
    await takePlace(store, writer, { wait: true })
    await held
    await store.unlock(writer)
  })

  copiesBetween('a copy of a file into PostgreSQL', fullFile, newDatabase)
  copiesBetween('a copy of PostgreSQL into a file', fullDatabase, newFile)
  copiesBetween('a copy of PostgreSQL into PostgreSQL', fullDatabase, newDatabase)
})
