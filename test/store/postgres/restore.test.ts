import { execFile } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { simulatedTickers } from '../../../src/simulate/simulate.js'
import { openPostgresAccounts } from '../../../src/store/postgres/accounts.js'
import { addressOf } from '../../../src/store/postgres/address.js'
import { openPostgres } from '../../../src/store/postgres/data.js'
import { typed } from '../../cli/support/run.js'
import { chargeOf, iso, NOON } from '../../contracts/accounts.js'
import { everythingIn, expectAlike } from '../../support/copies.js'
import { Cluster, clusterForAll, describePostgres, program } from '../../support/postgres.js'
import { loadedInto } from '../../support/store.js'

const WORLD = [...simulatedTickers({ count: 6, bars: 300, seed: 3, end: 17_000 })]

const contentOf = async (url: string) => {
  const store = await openPostgres(url, { readonly: true })
  try {
    return await everythingIn(store)
  } finally {
    await store.close()
  }
}

/** What a user of the database is told: all events, and whether it is sound. */
async function answersOf(url: string) {
  const [events, verified] = [await typed(`export events --csv --db ${url}`), await typed(`verify --db ${url}`)]
  expect([events.code, verified.code]).toEqual([0, 0])
  expect(verified.out).toContain('all as it was written')
  return events.out
}

async function loaded(url: string, tickers: typeof WORLD): Promise<void> {
  const store = await loadedInto(await openPostgres(url, { readonly: false }), tickers)
  await store.close()
}

describePostgres('a database of PostgreSQL that was lost', () => {
  const cluster = clusterForAll()

  it('comes back as it was at a point in time from a base backup and the log, with the accounts beside it', async () => {
    const primary = await Cluster.begin({
      settings: {
        archive_mode: 'on',
        archive_command: 'test ! -f ../archive/%f && cp %p ../archive/%f',
        archive_timeout: 60,
      },
    })
    onTestFinished(() => primary.end())
    const archive = primary.ownFolder('archive')
    const url = await primary.createDatabase()
    const database = new URL(url).pathname.slice(1)
    const accounts = await openPostgresAccounts(addressOf('accounts', url, {}), { make: true })
    const alice = await accounts.create('alice', 'free', iso(NOON))
    await loaded(url, WORLD.slice(0, 3))
    const backup = await primary.baseBackup()
    // After it: what the log alone has.
    await loaded(url, WORLD.slice(3))
    await accounts.charge([chargeOf(alice), chargeOf(alice)])
    const [expected, answers] = [await contentOf(url), await answersOf(url)]
    const [moment] = await primary.sql('SELECT clock_timestamp()')
    // A mistake, and what is charged after it.
    const store = await openPostgres(url, { readonly: false })
    await store.remove('SIM0001')
    await store.close()
    await accounts.charge([chargeOf(alice)])
    await accounts.close()
    const [last] = await primary.sql('SELECT pg_walfile_name(pg_switch_wal())')
    while (!existsSync(join(archive, last!))) await sleep(50)
    await primary.kill()

    const second = await Cluster.begin({
      backup,
      settings: {
        restore_command: `cp ${archive}/%f %p`,
        recovery_target_time: moment!,
        recovery_target_action: 'promote',
      },
    })
    onTestFinished(() => second.end())
    while ((await second.sql('SELECT pg_is_in_recovery()'))[0] !== 'f') await sleep(50)
    const restored = second.url(database)
    expectAlike(await contentOf(restored), expected)
    expect(expected.damages).toEqual([])
    expect(await answersOf(restored)).toBe(answers)
    const ledger = await openPostgresAccounts(addressOf('accounts', restored, {}))
    expect(await ledger.reconcile()).toMatchObject({ rows: 2, discrepancies: [] })
    await ledger.close()
    // It is written again, too.
    await loaded(restored, WORLD)
    expect(await answersOf(restored)).toBe(answers)
  })

  it('comes back from pg_dump, into another database', async () => {
    const [url, other] = [await cluster.current.createDatabase(), await cluster.current.createDatabase()]
    await loaded(url, WORLD)
    const folder = join(cluster.current.folder, 'dumps')
    mkdirSync(folder)
    const file = join(folder, 'bands.dump')
    await promisify(execFile)(program('pg_dump'), ['--schema', 'bands_data', '-Fc', '-f', file, '-d', url])
    await promisify(execFile)(program('pg_restore'), ['--exit-on-error', '-d', other, file])
    expectAlike(await contentOf(other), await contentOf(url))
    expect(await answersOf(other)).toBe(await answersOf(url))
  })
})
