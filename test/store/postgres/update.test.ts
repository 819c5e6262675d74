import { describe, expect, it, onTestFinished } from 'vitest'
import { StorageError } from '../../../src/core/errors.js'
import { openPostgresAccounts, type PostgresAccounts } from '../../../src/server/accounts/postgres/accounts.js'
import { parseAddress } from '../../../src/server/accounts/postgres/address.js'
import { Database } from '../../../src/server/accounts/postgres/connection.js'
import { grantRights } from '../../../src/server/accounts/postgres/rights.js'
import { prepareSchema } from '../../../src/server/accounts/postgres/steps.js'
import { expectRefusal, typed } from '../../cli/support/run.js'
import { chargeOf, NOON } from '../../contracts/accounts.js'
import { draws } from '../../support/full.js'
import { clusterForAll, describePostgres } from '../../support/postgres.js'
import { bundled, type Started, started } from '../../support/processes.js'
import { temporaryFolder } from '../../support/store.js'
import { type Release, tablesOf } from './builds.js'

const LINES = draws(1_000)

describePostgres('an update of accounts in PostgreSQL', () => {
  const cluster = clusterForAll()

  const at = (url: string) => parseAddress('accounts', url, {})
  const opened = async (url: string): Promise<PostgresAccounts> => {
    const accounts = await openPostgresAccounts(at(url))
    onTestFinished(() => accounts.close())
    return accounts
  }
  const connected = async (url: string): Promise<Database> => {
    const database = await Database.open(at(url))
    onTestFinished(() => database.close())
    return database
  }

  /** Accounts as a release makes them. @param user the owner of the tables */
  const made = async (release: Release, user = 'bands'): Promise<{ url: string; database: Database }> => {
    const url = await cluster.current.createDatabase()
    const database = await connected(url)
    if (user !== 'bands') await database.query(`GRANT CREATE ON DATABASE ${new URL(url).pathname.slice(1)} TO ${user}`)
    const owner = await connected(url.replace('bands@', `${user}@`))
    await prepareSchema(owner, tablesOf(release), { create: true })
    await owner.query(`
      INSERT INTO bands_accounts.accounts (account, name, tier, created)
      SELECT name, name, 'free', ${NOON} FROM unnest(ARRAY['alice', 'bob', 'carol']) AS name;
      INSERT INTO bands_accounts.books SELECT account FROM bands_accounts.accounts`)
    return { url, database }
  }
  const updated = (database: Database, release: Release) =>
    prepareSchema(database, tablesOf(release), { create: false })

  describe.each<[before: Release, after: Release]>([
    [1, 2],
    [2, 3],
  ])('from release %i to %i', (before, after) => {
    it('charges each request once while servers of both releases charge, and keeps limits', async () => {
      const { url, database } = await made(before)
      const program = await bundled('test/store/postgres/updating-process.ts', temporaryFolder())
      const ofTest = await cluster.current.sessions(url)
      const all: Started[] = []
      const server = (release: Release, round: number): Started => {
        const name = `r${release}-${all.length}`
        const one = started(program, [url, name, String(release), String(round), String(NOON)])
        all.push(one)
        return one
      }
      onTestFinished(() => {
        for (const { child } of all) child.kill('SIGKILL')
      })
      const old = [server(before, 0), server(before, 0)]
      await Promise.all(old.map(one => untilCharged(one, LINES)))
      await updated(database, after)
      const roundNow = old[0]!.lines().length / 5
      const renewed = [server(after, 0), server(after, Math.round(roundNow))]
      await Promise.all([...old, ...renewed].map(one => untilCharged(one, LINES)))
      // A server of the release before starts again after the update, too.
      for (const { child } of [old[0]!, renewed[0]!]) child.kill('SIGKILL')
      const again = [server(before, 0), server(after, 0)]
      const running = [old[1]!, renewed[1]!, ...again]
      await Promise.all(running.map(one => untilCharged(one, LINES)))
      // Few draws may end before the account with a limit has used it up.
      await Promise.all(running.map(untilLimited))
      for (const { child } of all) child.kill('SIGKILL')
      await Promise.all(all.map(({ ended }) => ended))
      await cluster.current.untilOnly(ofTest, url)

      const ledger = await database.query<{ account: string; request: string }>(
        'SELECT account, request FROM bands_accounts.ledger',
      )
      const written = new Set(ledger.map(({ request }) => request))
      const named = ledger.filter(({ account }) => account !== 'carol').map(({ request }) => request.split('/')[1])
      const names = new Set(named)
      expect(named).toHaveLength(names.size)
      for (const line of all.flatMap(({ lines }) => lines())) {
        const [outcome, request = ''] = line.split(' ')
        if (outcome === 'charged' && !written.has(request)) expect.fail(`lost: ${line}`)
        if (outcome === 'repeated' && !names.has(request.split('/')[1]!))
          expect.fail(`repeated, never charged: ${line}`)
      }
      const accounts = await opened(url)
      expect(await accounts.usedCredits(3, NOON)).toEqual({ day: 300, hour: 300 })
      const { length } = ledger
      expect(await accounts.reconcile()).toEqual({ rows: length, requests: length, credits: length, discrepancies: [] })
    })
  })

  it('is refused by a build of two releases before, at its start and while it charges', async () => {
    const { url, database } = await made(2)
    const accounts = await opened(url)
    const alice = await accounts.account('alice')
    await updated(database, 3)
    expect(await accounts.charge([chargeOf(alice)])).toMatchObject([{ outcome: 'charged' }])
    await accounts.check()
    await opened(url)
    await updated(database, 4)
    const known = url.replace('bands@', '')
    await expect(openPostgresAccounts(at(url))).rejects.toThrow(
      new StorageError(`${known} has the tables of a newer bands (schema 7, this one knows 5); update bands`),
    )
    for (const work of [() => accounts.charge([chargeOf(alice)]), () => accounts.check()])
      await expect(work()).rejects.toThrow(
        /has the tables of a newer bands: .*charge_v2.* does not exist; update bands/,
      )
    expect(await accounts.reconcile()).toMatchObject({ rows: 1, discrepancies: [] })
  })

  it('gives new functions and tables the rights of those before, and the owner of the tables', async () => {
    for (const role of ['keeper', 'server', 'reader', 'stranger'])
      await cluster.current.sql(`CREATE ROLE ${role} LOGIN`)
    const { url, database } = await made(1, 'keeper')
    await grantRights(database, 'server')
    await database.query(
      'GRANT SELECT ON bands_accounts.accounts TO reader; GRANT USAGE ON SCHEMA bands_accounts TO PUBLIC',
    )
    const early = openPostgresAccounts(at(url.replace('bands@', 'server@')))
    await expect(early).rejects.toThrow(
      'has the tables of an earlier bands (schema 3, this one needs 5), and this user may not change them',
    )
    await updated(database, 2)
    const server = await opened(url.replace('bands@', 'server@'))
    const alice = await server.account('alice')
    expect(await server.charge([chargeOf(alice)])).toMatchObject([{ outcome: 'charged' }])
    await server.check()
    const rights = await database.query(`
      SELECT role, has_function_privilege(role, 'bands_accounts.charge_v2'::regproc, 'EXECUTE') AS charges,
        has_table_privilege(role, 'bands_accounts.expanded', 'SELECT') AS reads
      FROM unnest(ARRAY['keeper', 'server', 'reader', 'stranger']) AS role`)
    expect(rights).toEqual([
      { role: 'keeper', charges: true, reads: true },
      { role: 'server', charges: true, reads: true },
      { role: 'reader', charges: false, reads: true },
      { role: 'stranger', charges: false, reads: false },
    ])
    const owner = "SELECT proowner::regrole::text AS owner FROM pg_proc WHERE proname = 'charge_v2'"
    expect(await database.query(owner)).toEqual([{ owner: 'keeper' }])
  })

  it('is planned by a command that changes nothing', async () => {
    const { url, database } = await made(1)
    const plan = async (more = '') => (await typed(`accounts layout --dry-run --accounts ${url} ${more}`)).out
    const place = url.replace('bands@', '')
    for (let time = 0; time < 2; time++)
      expect(JSON.parse(await plan('--json'))).toEqual({
        schema: 'bands.accounts-plan/1',
        accounts: place,
        found: 3,
        known: 5,
        changes: [
          { step: 4, phase: 'expand', change: expect.stringContaining('adds charge_v2'), servers_from: 3 },
          { step: 5, phase: 'expand', change: expect.stringContaining('adds watched'), servers_from: 3 },
        ],
      })
    expect(await plan()).toContain(`${place}: schema 3, this bands knows 5; bands accounts layout as the owner`)
    expect((await typed(`accounts layout --accounts ${url}`)).code).toBe(0)
    expect(await plan()).toContain(`${place}: schema 5, this bands knows 5; no step to take`)
    await updated(database, 3)
    expect(await plan()).toContain(`${place}: schema 6, this bands knows 5; no step to take`)
    await updated(database, 4)
    expectRefusal(
      await typed(`accounts layout --dry-run --accounts ${url}`),
      6,
      'has the tables of a newer bands (schema 7',
    )
    expectRefusal(
      await typed(`accounts layout --dry-run --partitions 2 --accounts ${url}`),
      2,
      '--dry-run does not go with',
    )
  })
})

/** Waits until the limit of an account refuses a request. */
async function untilLimited({ lines, child }: Started): Promise<void> {
  while (!lines().some(line => line.startsWith('limited')) && child.exitCode === null)
    await new Promise(resolve => setTimeout(resolve, 20))
  expect(child.exitCode).toBeNull()
}

/** Waits until so many more requests are charged. */
async function untilCharged({ lines, child }: Started, count: number): Promise<void> {
  const charged = (): number => lines().filter(line => line.startsWith('charged')).length
  const before = charged()
  while (charged() < before + count && child.exitCode === null) await new Promise(resolve => setTimeout(resolve, 20))
  expect(child.exitCode).toBeNull()
}
