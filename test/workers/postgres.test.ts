import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { exportEventBlocks } from '../../src/local/export.js'
import { openLocal, openService } from '../../src/open.js'
import { parseOversold } from '../../src/params/questions.js'
import { typed } from '../cli/support/run.js'
import { clusterForAll, describePostgres } from '../support/postgres.js'
import { temporaryFolder } from '../support/store.js'

const SECRET = 'hunter2-and-more'

describePostgres('threads', () => {
  const cluster = clusterForAll({ fsync: false })
  let db = ''
  beforeAll(async () => {
    const { current } = cluster
    const url = await current.createDatabase()
    const env = { HOME: current.ownFolder('home') }
    expect(await typed(`simulate 8 --bars 300 --seed 5 --load --db ${url}`, { env })).toMatchObject({ code: 0 })
    await current.sql(`CREATE ROLE ann LOGIN SUPERUSER PASSWORD '${SECRET}'`)
    const rules = join(current.data, 'pg_hba.conf')
    writeFileSync(rules, `host all ann 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, 'utf8')}`)
    await current.sql('SELECT pg_reload_conf()')
    db = url.replace('bands@', 'ann@')
  })

  it('of scans open the data with the password of the environment that was given', async () => {
    const env = { HOME: temporaryFolder(), PGPASSWORD: SECRET }
    const { service } = await openService({ db, env, accounts: join(env.HOME, 'accounts.db') })
    onTestFinished(() => service.close())
    const { signal } = new AbortController()
    expect(JSON.parse(await service.oversold('pro', parseOversold({}), signal))).toHaveProperty('matches')
  })

  it('of exports open them so, too', async () => {
    const env = { HOME: temporaryFolder(), PGPASSWORD: SECRET }
    const { local } = await openLocal({ db, env, threads: 2 })
    onTestFinished(() => local.close())
    let rows = 0
    for await (const block of exportEventBlocks(local, {}, '\n')) rows += block.rows
    expect(rows).toBeGreaterThan(0)
  })
})
