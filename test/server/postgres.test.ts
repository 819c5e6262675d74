import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { parse } from 'yaml'
import { typed } from '../cli/support/run.js'
import { notInQuick } from '../support/full.js'
import { documented } from '../support/patroni.js'
import { clusterForAll, describePostgres } from '../support/postgres.js'
import { type Ground, type Served, serve, simulatedGround } from '../support/serve.js'
import { temporaryFolder } from '../support/store.js'

const QUESTION = '/v1/events?ticker=SIM0001&field=rsi_zone'
const OTHER_QUESTION = '/v1/events?ticker=SIM0002&field=rsi_zone'

describePostgres('accounts in PostgreSQL', () => {
  const cluster = clusterForAll()
  let ground: Ground
  beforeAll(async () => {
    ground = await simulatedGround()
  })
  afterAll(() => ground.remove())

  const server = async (accounts: string, now?: () => number): Promise<Served> => {
    const served = await serve(ground, { accounts, ...(now && { now }) })
    onTestFinished(() => served.stop())
    return served
  }

  it('let a key ask any of several servers, which charge one account', async () => {
    const url = await cluster.current.createDatabase()
    const one = await server(url)
    const other = await server(url)
    const { id, key, identity } = await one.account('team', 'free')
    const used = async (served: Served) => (await served.get(QUESTION, key)).headers['x-requests-used']
    expect([await used(one), await used(other), await used(one)]).toEqual(['1', '2', '3'])
    expect(await one.accounts.reconcile()).toMatchObject({ rows: 3, requests: 3, credits: 3, discrepancies: [] })
    await other.accounts.revoke(identity, new Date().toISOString())
    expect((await one.get(QUESTION, key)).status).toBe(401)
    expect(await one.accounts.usedCredits(id, Date.now())).toMatchObject({ day: 3 })
  })

  notInQuick('include the charges of other servers, also in free answers', async () => {
    const url = await cluster.current.createDatabase()
    let now = Date.UTC(2024, 6, 1, 12)
    const one = await server(url, () => now)
    const other = await server(url, () => now)
    const { key } = await one.account('team', 'free')
    const first = await other.get(QUESTION, key)
    await one.get(QUESTION, key)
    now += 1_000
    const again = await other.get(QUESTION, key, { 'If-None-Match': first.headers.etag! })
    expect([again.status, again.headers['x-requests-used']]).toEqual([304, '2'])
    await one.get(QUESTION, key)
    now += 1_000
    const missing = await other.get('/v1/events?ticker=NOSUCH&field=rsi_zone', key)
    expect([missing.status, missing.headers['x-requests-used']]).toEqual([404, '3'])
  })

  notInQuick('that let nobody in any more make answers wait, until they do again', async () => {
    const { current } = cluster
    const own = await server(await current.createDatabase())
    const key = await own.key('pro')
    const rules = join(current.data, 'pg_hba.conf')
    const before = readFileSync(rules, 'utf8')
    const restore = async () => {
      writeFileSync(rules, before)
      await current.sql('SELECT pg_reload_conf()')
    }
    onTestFinished(restore)
    // As after a failover to a machine with other rules. Connections that there are stay, so it is started again.
    await current.stop()
    writeFileSync(rules, 'host postgres all 127.0.0.1/32 trust\n')
    await current.start()
    for (const path of [QUESTION, '/readyz']) {
      const answer = await own.get(path, key)
      expect([answer.status, answer.headers['retry-after']], path).toEqual([503, '5'])
    }
    await restore()
    await expect.poll(async () => (await own.get('/readyz')).status).toBe(200)
    expect((await own.get(QUESTION, key)).status).toBe(200)
  })

  notInQuick('are shown by /metrics as connections, and a file has none', async () => {
    const own = await server(await cluster.current.createDatabase())
    expect((await own.get('/metrics')).text).toMatch(/^bands_accounts_connections\{state="idle"\} [1-9]/m)
    expect((await (await serve(ground)).get('/metrics')).text).not.toContain('bands_accounts_connections')
  })

  notInQuick(
    'count by the database’s clock: a machine three days ahead is not ready, and makes nobody pay twice',
    async () => {
      const url = await cluster.current.createDatabase()
      const own = await server(url)
      const key = await own.key('pro')
      const headers = { 'Idempotency-Key': 'one' }
      expect((await own.get(QUESTION, key, headers)).status).toBe(200)
      const real = Date.now
      const fast = vi.spyOn(Date, 'now').mockImplementation(() => real() + 3 * 86_400_000)
      try {
        const ahead = await server(url)
        expect(ahead.logged()).toContain('259200 seconds ahead')
        const ready = await ahead.get('/readyz')
        expect(ready.status).toBe(503)
        expect((await ahead.get('/metrics')).text).toMatch(/^bands_accounts_clock_ahead_seconds 259[12]\d\d/m)
        expect((await ahead.get(OTHER_QUESTION, key)).status).toBe(200)
        const ledger = await cluster.current.sql(
          'SELECT max(at) FROM bands_accounts.ledger',
          new URL(url).pathname.slice(1),
        )
        expect(Math.abs(Number(ledger[0]) - real())).toBeLessThan(60_000)
      } finally {
        fast.mockRestore()
      }
      expect((await own.get('/readyz')).status).toBe(200)
      expect((await own.get(QUESTION, key, headers)).status).toBe(200)
      expect(await own.accounts.reconcile()).toMatchObject({ credits: 2, discrepancies: [] })
    },
  )

  notInQuick(
    'that are away make answers wait, with when to ask again, and are charged once they are back',
    async () => {
      const own = await server(await cluster.current.createDatabase())
      const key = await own.key('pro')
      expect((await own.get(QUESTION, key)).status).toBe(200)
      await cluster.current.stop()
      for (const path of [QUESTION, '/readyz']) {
        const answer = await own.get(path, key)
        expect(answer.status, path).toBe(503)
        expect(answer.headers['retry-after'], path).toBe('5')
        expect(answer.text).not.toContain('127.0.0.1')
      }
      expect((await own.get('/healthz')).status).toBe(200)
      await cluster.current.start()
      expect((await own.get(QUESTION, key)).status).toBe(200)
      expect((await own.get('/readyz')).status).toBe(200)
      expect(await own.accounts.reconcile()).toMatchObject({ rows: 2, discrepancies: [] })
    },
  )

  it('are kept by the same commands as those in a file', async () => {
    const url = await cluster.current.createDatabase()
    const env = { BANDS_DB: ground.db, BANDS_ACCOUNTS: url }
    const none = await typed(`accounts list --accounts ${url}`, { env: { BANDS_DB: ground.db } })
    expect(none.code).toBe(3)
    expect(none.err).toContain(`there are no accounts in ${url.replace('bands@', '')}.`)
    expect(none.err.replace(/\s+/g, ' ')).toContain(`bands accounts create NAME --tier free --accounts ${url}`)
    expect((await typed('accounts create alice --tier plus', { env })).code).toBe(0)
    const made = await typed('keys create ALICE --json', { env })
    const { key } = JSON.parse(made.out) as { key: string }
    const own = await server(url)
    expect((await own.get(QUESTION, key)).status).toBe(200)
    expect(JSON.parse((await typed('accounts list --json', { env })).out)).toMatchObject({
      accounts: [{ name: 'alice', tier: 'plus', keys: 1 }],
    })
    expect(JSON.parse((await typed('accounts usage --reconcile --json', { env })).out)).toMatchObject({ rows: 1 })
    expect((await typed('accounts set-tier alice pro', { env })).code).toBe(0)
    expect((await typed('keys list alice', { env })).out).toContain('alice')
  })

  notInQuick("stand in nobody's way who asks for files, and are told to be in no backup", async () => {
    const env = { BANDS_DB: ground.db, BANDS_ACCOUNTS: cluster.current.url('none') }
    const { code, out, err } = await typed(`backup ${temporaryFolder()}/b`, { env })
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('backed up and checked: data') })
    expect(err).toContain('the accounts in PostgreSQL (BANDS_ACCOUNTS) are not in it; pg_dump copies them.')
    expect((await typed('verify', { env })).err).toContain('bands accounts usage --reconcile looks at them')
    for (const line of ['doctor', 'watch list', 'study SIM0001 rsi_zone --band oversold', 'status'])
      expect(await typed(line, { env }), line).toMatchObject({ code: 0 })
  })
})

describePostgres('the metrics of a server with accounts in PostgreSQL', () => {
  const cluster = clusterForAll({ fsync: false })

  notInQuick('show the age of the data, the connections, and each name that the page warns of', async () => {
    const home = temporaryFolder()
    const db = join(home, 'bands.db')
    const imported = async (bars: number): Promise<void> =>
      void expect(
        (await typed(`simulate 2 --bars ${bars} --seed 3 --load --json --db ${db}`, { env: { HOME: home } })).code,
      ).toBe(0)
    await imported(300)
    const own = await serve({ db, remove() {} }, { accounts: await cluster.current.createDatabase() })
    onTestFinished(() => own.stop())
    const metrics = async (): Promise<string> => (await own.get('/metrics')).text
    const value = async (name: string): Promise<number> =>
      Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await metrics())?.[1])

    expect(await value('bands_data_up')).toBe(1)
    expect(await value('bands_data_newest_day_timestamp_seconds')).toBe(Date.parse('2025-12-31') / 1000)
    expect(await metrics()).toMatch(/^bands_accounts_connections\{state="idle"\} [1-9]/m)
    expect(await value('bands_accounts_connection_wait_seconds_total')).toBeGreaterThan(0)
    const seen = await value('bands_data_version_timestamp_seconds')
    expect(await value('bands_data_version_timestamp_seconds')).toBe(seen)
    await imported(310)
    expect(await value('bands_data_version_timestamp_seconds')).toBeGreaterThan(seen)

    const { groups } = parse(documented('bands.rules.yml')['bands.rules.yml']) as {
      groups: { rules: { expr: string }[] }[]
    }
    const named = groups.flatMap(({ rules }) => rules).flatMap(({ expr }) => expr.match(/\bbands_[a-z_]+/g) ?? [])
    expect(named.length).toBeGreaterThan(5)
    const text = await metrics()
    for (const name of named) expect(text, name).toMatch(new RegExp(`^${name}(\\{.*\\})? `, 'm'))
  })
})
