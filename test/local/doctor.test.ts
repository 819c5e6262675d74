import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { type Check, type DoctorFacts, doctor } from '../../src/local/doctor.js'
import { parseDay } from '../../src/model/day.js'
import { simulatedTicker } from '../../src/simulate/simulate.js'
import { openSqlite } from '../../src/store/sqlite/data.js'
import { DRIVER_MAJOR, installedDriver } from '../../src/store/sqlite/inspect.js'
import { storeOf, temporaryFolder } from '../support/store.js'

describe('the doctor', () => {
  it('finds nothing on a sound machine with a sound database, and changes nothing', async () => {
    const database = await filled()
    const before = readFileSync(database)
    const { schema, outcome, checks } = await doctor({ database, node: '22.12.0', abi: '127' })
    expect(schema).toBe('bands.doctor/1')
    expect(checks.filter(check => check.outcome !== 'ok')).toEqual([])
    expect(outcome).toBe('ok')
    expect(checks.map(check => check.name)).toEqual([
      'node',
      'driver',
      'sqlite',
      'database',
      'permissions',
      'space',
      'file system',
      'structure',
      'schema',
      'definitions',
      'journal',
      'imports',
      'writer',
    ])
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
    ['18.20.4', 'fail'],
    ['20.18.1', 'fail'],
    ['20.19.0', 'warn'],
    ['21.7.0', 'fail'],
    ['22.11.0', 'fail'],
    ['22.12.0', 'ok'],
    ['23.5.0', 'fail'],
    ['24.0.0', 'ok'],
  ])('judges Node %s: %s', async (node, outcome) => {
    expect(await check('node', { node })).toMatchObject({ outcome })
  })

  it('knows the driver that the tests run on', async () => {
    expect(Number.parseInt(installedDriver(), 10)).toBe(DRIVER_MAJOR)
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
    const database = await changed("UPDATE meta SET value = 'older' WHERE key = 'definitions'")
    expect(await check('definitions', { database })).toMatchObject({
      outcome: 'fail',
      remedy: [{ command: 'rebuild' }],
    })
  })

  it('warns of a database that has left WAL', async () => {
    const database = await changed('PRAGMA journal_mode = DELETE')
    expect(await check('journal', { database })).toMatchObject({ outcome: 'warn' })
  })

  it('tells a living writer from one that died at work', async () => {
    const { pid } = spawnSync(process.execPath, ['-e', '0'])
    const started = '2026-01-01T00:00:00Z'
    const dead = await lockedBy({ pid, host: hostname(), started })
    expect(await check('writer', { database: dead })).toMatchObject({
      outcome: 'warn',
      detail: `process ${pid} on ${hostname()} since ${started} has died at work`,
    })
    const living = await lockedBy({ pid: process.pid, host: hostname(), started })
    expect((await check('writer', { database: living })).detail).toContain('is importing')
    const elsewhere = await lockedBy({ pid, host: 'elsewhere', started })
    expect((await check('writer', { database: elsewhere })).detail).toContain('on elsewhere')
  })

  it.skipIf(process.platform === 'win32')('warns of a file that others may write', async () => {
    const database = await filled()
    chmodSync(database, 0o666)
    expect(await check('permissions', { database })).toMatchObject({
      outcome: 'warn',
      remedy: `chmod go-w ${database}`,
    })
  })

  it('repeats what it is told of the terminal', async () => {
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
  const { ticker, bars } = simulatedTicker(1, { count: 1, bars: 300, seed: 7, end: parseDay('2018-03-28')! })
  const store = await storeOf([{ ticker, series: bars }])
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
