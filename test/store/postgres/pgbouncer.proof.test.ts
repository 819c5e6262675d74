import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Busy, ConfigError } from '../../../src/core/errors.js'
import { parseAddress } from '../../../src/server/accounts/postgres/address.js'
import { Database, keepPrepared } from '../../../src/server/accounts/postgres/connection.js'
import { FULL } from '../../support/full.js'
import { describePgBouncer, Pooler } from '../../support/pgbouncer.js'
import { clusterForAll } from '../../support/postgres.js'

describePgBouncer('through a real PgBouncer', () => {
  const cluster = clusterForAll({ fsync: false })
  let name = ''
  beforeAll(async () => {
    name = new URL(await cluster.current.createDatabase()).pathname.slice(1)
  })

  const begun = async (settings: Readonly<Record<string, string>> = {}, database = name): Promise<Pooler> => {
    const pooler = await Pooler.begin(cluster.current, database, settings)
    onTestFinished(() => pooler.end())
    return pooler
  }
  const poolers: [name: string, settings: Record<string, string>][] = [
    ['by transaction, of two connections in turn', { default_pool_size: '2', server_round_robin: '1' }],
    ['by transaction, as the page says', {}],
    ['by session', { pool_mode: 'session' }],
  ]
  describe.each(FULL ? poolers : poolers.slice(0, 1))('%s', (_name, settings) => {
    it('a statement that a connection would keep has no name', async () => {
      const pooler = await begun(settings)
      const database = await Database.open(parseAddress('db', pooler.url('bands'), pooler.env))
      onTestFinished(() => database.close())
      const often = keepPrepared('SELECT count(*) AS named FROM pg_prepared_statements')
      const found = await Promise.all(Array.from({ length: 40 }, () => database.query(often)))
      expect(found).toEqual(found.map(() => [{ named: 0 }]))
    })
  })

  it('a refusal by the pooler is one sentence without the password, and not a temporary failure', async () => {
    const pooler = await begun()
    const url = pooler.url('bands')
    const refused = (at: string, env: Record<string, string> = pooler.env): Promise<unknown> =>
      Database.open(parseAddress('db', at, env)).catch((error: unknown) => error)
    const wrong = (await refused(url, { PGPASSWORD: 'hunter2' })) as Error
    expect(wrong).toBeInstanceOf(ConfigError)
    expect(wrong.message).toMatch(/refuses this user/)
    expect(wrong.message).not.toContain('hunter2')
    expect(await refused(url.replace('bands@', 'nobody@'))).toBeInstanceOf(ConfigError)
    const none = (await refused(url.replace(/bands$/, 'none'))) as Error
    expect(none).toBeInstanceOf(ConfigError)
    expect(none.message).toContain('none')
    vi.stubEnv('PGOPTIONS', '-c geqo=off')
    onTestFinished(() => void vi.unstubAllEnvs())
    const options = (await refused(url)) as Error
    expect(options).toBeInstanceOf(ConfigError)
    expect(options.message).toContain(
      'unsupported startup parameter: options; its ignore_startup_parameters may name that',
    )
    const heeding = await begun({ ignore_startup_parameters: 'options' })
    const database = await Database.open(parseAddress('db', heeding.url('bands'), heeding.env))
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
    await database.close()
  })

  it('an unreachable database behind it is reported, and used again once it is back', async () => {
    const pooler = await begun({ server_login_retry: '1', query_wait_timeout: '2' })
    const database = await Database.open(parseAddress('db', pooler.url('bands'), pooler.env))
    onTestFinished(() => database.close())
    await cluster.current.stop()
    await expect(database.query('SELECT 1 AS one')).rejects.toThrow(Busy)
    await cluster.current.start()
    await vi.waitFor(async () => expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]), 60_000)
  })
})
