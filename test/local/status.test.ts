import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseDay } from '../../src/core/model/day.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import { firstBars, type Series } from '../../src/core/model/series.js'
import { Cache } from '../../src/data/local/cache.js'
import { type Check, type DoctorFacts, doctor } from '../../src/data/local/doctor.js'
import { exportBars, exportEvents, exportSeries } from '../../src/data/local/export.js'
import { status } from '../../src/data/local/status.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { Database } from '../support/database.js'
import { drained } from '../support/drain.js'
import { cacheOf, fixture, storeOf, temporaryFolder } from '../support/store.js'

describe('the status', () => {
  it.each([null, '2017-05-17', '2017-05-20'])('counts what an export as of %s writes', async date => {
    const cache = await cacheOf([fixture(1, 500), fixture(2, 500)], { asOf: date === null ? null : parseDay(date) })
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

  it('shows each ticker’s prices, source and age relative to the newest', async () => {
    const old = { ticker: 'OLD', series: firstBars(fixture(2, 500).series, 490) }
    const cache = await cacheOf([{ ...fixture(1, 500), prices: 'adjusted', assetClass: 'etf', source: 'a.csv' }, old])
    const { tickers } = await status(cache)
    expect(tickers.map(({ ticker }) => ticker)).toEqual(['OLD', 'SIM0001'])
    expect(tickers[0]).toMatchObject({ prices: 'raw', asset_class: null, bars: 490, behind: 14 })
    expect(tickers[1]).toMatchObject({ prices: 'adjusted', asset_class: 'etf', source: 'a.csv', behind: 0 })
    expect(tickers[1]!.imported_at).toBe('2026-01-02T03:04:05.000Z')
  })

  it('names the gaps that no holiday explains', async () => {
    const { ticker, series } = fixture(1, 500)
    const cache = await cacheOf([{ ticker, series: without(series, 100, 106) }, fixture(2, 500)])
    const [first, second] = (await status(cache)).tickers
    expect(first!.gaps.length).toBe(1)
    expect(first!.gaps[0]!.days).toBe(series.days[106]! - series.days[99]!)
    expect(second!.gaps).toEqual([])
  })

  it('shows file, size, schema and definitions', async () => {
    const cache = await cacheOf([fixture(1, 500)])
    const found = await status(cache)
    expect(found).toMatchObject({ schema: 'bands.status/1', schema_version: 11, definitions: DEFINITIONS_VERSION })
    expect(found.definitions_current).toBe(true)
    expect(found.database).toBe(cache.store.location)
    await cache.store.close()
    expect(statSync(found.database).size).toBe(found.bytes)
  })

  it('answers even where questions are refused: of other definitions, and empty', async () => {
    const store = await storeOf([fixture(1, 500)])
    await store.write({ records: [] }, 'older')
    expect(await status(new Cache(store, 'pro', null))).toMatchObject({
      definitions: 'older',
      definitions_current: false,
    })
    const empty = await status(await cacheOf([]))
    expect(empty).toMatchObject({ bars: 0, events: 0, first: null, last: null, tickers: [] })
    const early = await status(await cacheOf([fixture(1, 500)], { asOf: parseDay('1999-01-01') }))
    expect(early.tickers).toEqual([])
  })
})

function without(series: Series, from: number, to: number): Series {
  const kept = <Column extends Int32Array | Float64Array>(column: Column): Column =>
    column.filter((_, t) => t < from || t >= to) as Column
  const { timeframe, unadjustedClose: _none, ...columns } = series
  const left = Object.entries(columns).map(([name, column]) => [name, kept(column)])
  return { timeframe, ...Object.fromEntries(left) } as Series
}

describe('the doctor', () => {
  it('finds nothing on a sound machine with a sound database, and changes nothing', async () => {
    const database = await filled()
    const before = readFileSync(database)
    const { schema, outcome, checks } = await doctor({ database, node: '22.14.0', abi: '127' })
    expect(schema).toBe('bands.doctor/1')
    expect(checks.filter(check => check.outcome !== 'ok')).toEqual([])
    expect(outcome).toBe('ok')
    expect(checks.map(check => check.name).join()).toBe(
      'node,sqlite,database,permissions,space,file system,structure,schema,definitions,journal,imports,writer,bars',
    )
    expect(readFileSync(database).equals(before)).toBe(true)
  })

  it('works without a database, and says how to make one', async () => {
    const folder = temporaryFolder()
    const database = join(folder, 'not', 'yet', 'bands.db')
    expect(await check('database', { database })).toMatchObject({
      outcome: 'warn',
      remedy: [{ command: 'import', words: ['FILE'] }],
    })
    expect(await check('space', { database })).toMatchObject({ outcome: 'ok' })
    expect((await doctor(facts({ database }))).outcome).toBe('warn')
  })

  it.each([
    ['fail', ['18.20.4', '20.19.0', '21.7.0', '22.13.1', '23.5.0']],
    ['ok', ['22.14.0', '24.0.0']],
  ])('judges versions of Node: %s', async (outcome, versions) => {
    for (const node of versions) expect(await check('node', { node }), node).toMatchObject({ outcome })
  })

  it('shows the version of SQLite', async () => {
    expect((await check('sqlite', {})).detail).toMatch(/^3\.\d+\.\d+, /)
  })

  it('fails a file that is no database, a damaged one, and one of a newer bands', async () => {
    const text = join(temporaryFolder(), 'bands.db')
    writeFileSync(text, 'date,open,high,low,close,volume\n')
    expect(await check('database', { database: text })).toMatchObject({
      outcome: 'fail',
      detail: expect.stringContaining('is not a SQLite database'),
    })
    const damaged = await filled()
    const bytes = readFileSync(damaged)
    writeFileSync(damaged, bytes.fill(0, 8192, bytes.length - 4096))
    const { outcome, checks } = await doctor(facts({ database: damaged }))
    expect(outcome).toBe('fail')
    expect(checks.some(({ name, outcome }) => ['structure', 'database'].includes(name) && outcome === 'fail')).toBe(
      true,
    )
    const newer = await changed('PRAGMA user_version = 99')
    expect((await check('database', { database: newer })).detail).toContain('newer bands')
  })

  it('fails other definitions, and says how to mend them', async () => {
    const database = await filled()
    const store = openSqlite(database, { readonly: false })
    await store.write({}, 'older')
    await store.close()
    expect(await check('definitions', { database })).toMatchObject({
      outcome: 'fail',
      remedy: [{ command: 'rebuild' }],
    })
  })

  it('warns of a database that has left WAL', async () => {
    const database = await changed('PRAGMA journal_mode = DELETE')
    expect(await check('journal', { database })).toMatchObject({ outcome: 'warn' })
  })

  it('distinguishes a running writer from a dead one', async () => {
    const { pid } = spawnSync(process.execPath, ['-e', '0'])
    const started = '2026-01-01T00:00:00Z'
    const dead = await lockedBy({ pid, host: hostname(), started })
    expect(await check('writer', { database: dead })).toMatchObject({
      outcome: 'warn',
      detail: `process ${pid} on ${hostname()} since ${started} has died at work`,
    })
    const living = openSqlite(await filled(), { readonly: false })
    onTestFinished(() => living.close())
    await living.lock({ pid: process.pid, host: hostname(), started })
    expect((await check('writer', { database: living.location })).detail).toContain('is importing')
    const elsewhere = await changed(`INSERT INTO writer VALUES (1, ${pid}, 'elsewhere', '${started}')`)
    expect(await check('writer', { database: elsewhere })).toMatchObject({
      detail: `process ${pid} on elsewhere since ${started} is importing`,
      remedy: ['wait for it; if it is gone for good: ', { command: 'unlock' }],
    })
  })

  it.skipIf(process.platform === 'win32')('warns of a file that others may write', async () => {
    const database = await filled()
    chmodSync(database, 0o666)
    expect(await check('permissions', { database })).toMatchObject({
      outcome: 'warn',
      remedy: `chmod go-w ${database}`,
    })
  })

  it('repeats the settings of the terminal', async () => {
    const terminal = [{ name: 'colour', detail: 'off: NO_COLOR is set' }]
    expect(await check('colour', { terminal })).toEqual({
      name: 'colour',
      outcome: 'ok',
      detail: 'off: NO_COLOR is set',
      remedy: null,
    })
  })

  it('has a remedy exactly where something is wrong', async () => {
    const { checks } = await doctor(facts({ database: await changed('PRAGMA journal_mode = DELETE'), node: '18.0.0' }))
    for (const { name, outcome, remedy } of checks) expect(remedy === null, name).toBe(outcome === 'ok')
  })
})

function facts(some: Partial<DoctorFacts>): DoctorFacts {
  return { database: '/nowhere/bands.db', node: '24.0.0', abi: '137', ...some }
}

async function check(name: string, some: Partial<DoctorFacts>): Promise<Check> {
  return (await doctor(facts(some))).checks.find(found => found.name === name)!
}

async function filled(): Promise<string> {
  const store = await storeOf([fixture(1, 300)])
  await store.close()
  return store.location
}

async function changed(sql: string): Promise<string> {
  const path = await filled()
  const db = new Database(path)
  db.exec(sql)
  db.close()
  return path
}

async function lockedBy(writer: { pid: number; host: string; started: string }): Promise<string> {
  const path = await filled()
  const store = openSqlite(path, { readonly: false })
  await store.lock(writer)
  await store.close()
  return path
}
