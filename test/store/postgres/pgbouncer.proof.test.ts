import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Busy, ConfigError } from '../../../src/errors.js'
import { openPostgresAccounts } from '../../../src/store/postgres/accounts.js'
import { addressOf } from '../../../src/store/postgres/address.js'
import { Database, kept } from '../../../src/store/postgres/connection.js'
import { type Ran, typed } from '../../cli/support/run.js'
import { chargeOf, iso, NOON } from '../../contracts/accounts.js'
import { draws, FULL } from '../../support/full.js'
import { describePgBouncer, Pooler } from '../../support/pgbouncer.js'
import { clusterForAll } from '../../support/postgres.js'

const WORLD = '--bars 500 --seed 5 --load --json'
/** Of one ticker, of all of them by one thread and by several, as lists, in one transaction. */
const QUESTIONS = [
  'events SIM0001 rsi_zone --json',
  'tally rsi_zone --all --json',
  'scan oversold --json',
  'tickers --json',
  'transitions rsi_zone --all --json',
  'study rsi_zone --band oversold --all --json',
  'export events --ndjson',
  'export bars --ticker SIM0002 --csv',
]
const LOCKS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"

describePgBouncer('through a real PgBouncer', () => {
  const cluster = clusterForAll({ fsync: false })
  let HOME = ''
  let direct = ''
  let copied = ''
  let name = ''
  beforeAll(async () => {
    HOME = cluster.current.ownFolder('home')
    direct = await cluster.current.createDatabase()
    name = new URL(direct).pathname.slice(1)
    expect((await typed(`simulate 6 ${WORLD} --db ${direct}`, { env: { HOME } })).code).toBe(0)
    copied = new URL(await cluster.current.createDatabase(name)).pathname.slice(1)
  })

  const begun = async (settings: Readonly<Record<string, string>> = {}, database = name): Promise<Pooler> => {
    const pooler = await Pooler.begin(cluster.current, database, settings)
    onTestFinished(() => pooler.end())
    return pooler
  }
  const through = (pooler: Pooler, line: string): Promise<Ran> => typed(line, { env: { HOME, ...pooler.env } })
  const version = async (): Promise<string[]> =>
    cluster.current.sql("SELECT value FROM bands_data.meta WHERE key = 'version'", name)

  const poolers: [name: string, settings: Record<string, string>][] = [
    ['by transaction, of two connections in turn', { default_pool_size: '2', server_round_robin: '1' }],
    ['by transaction, as the page says', {}],
    ['by session', { pool_mode: 'session' }],
  ]
  describe.each(FULL ? poolers : poolers.slice(0, 1))('%s', (_name, settings) => {
    it('every question is answered with the bytes of the database itself, also while others ask', async () => {
      const pooler = await begun(settings)
      const answered = async (line: string): Promise<void> => {
        const [found, expected] = [
          await through(pooler, `${line} --db ${pooler.url('bands')}`),
          await typed(`${line} --db ${direct}`, { env: { HOME } }),
        ]
        expect(found.code, found.err).toBe(0)
        expect(found.out, line).toBe(expected.out)
      }
      await Promise.all((FULL ? QUESTIONS : QUESTIONS.slice(0, 3)).map(answered))
    })

    it('a statement that a connection would keep has no name', async () => {
      const pooler = await begun(settings)
      const database = await Database.open(addressOf('db', pooler.url('bands'), pooler.env))
      onTestFinished(() => database.close())
      const often = kept('SELECT count(*) AS named FROM pg_prepared_statements')
      const found = await Promise.all(Array.from({ length: 40 }, () => database.query(often)))
      expect(found).toEqual(found.map(() => [{ named: 0 }]))
    })

    it('three nodes charge accounts exactly', async () => {
      const pooler = await begun(settings, new URL(await cluster.current.createDatabase()).pathname.slice(1))
      const address = addressOf('accounts', pooler.url('bands'), pooler.env)
      const first = await openPostgresAccounts(address, { make: true })
      const nodes = [first, await openPostgresAccounts(address), await openPostgresAccounts(address)]
      onTestFinished(async () => void (await Promise.all(nodes.map(node => node.close()))))
      const owners = await Promise.all(['ann', 'bob', 'cy'].map(owner => first.create(owner, 'pro', iso(NOON))))
      const rounds = draws(40)
      await Promise.all(
        nodes.map(async node => {
          for (let round = 0; round < rounds; round++)
            await node.charge(owners.flatMap(owner => [chargeOf(owner, PLENTY), chargeOf(owner, PLENTY)]))
        }),
      )
      for (const owner of owners) expect((await first.used(owner.id, NOON)).day).toBe(6 * rounds)
      expect(await first.reconcile()).toEqual({
        ...{ rows: 18 * rounds, requests: 18 * rounds, credits: 18 * rounds, discrepancies: [] },
      })
    })
  })

  it.each([
    ['that is idle', {}],
    ['that lends its connections in turn', { server_round_robin: '1' }],
    ['that has one connection', { default_pool_size: '1' }],
  ])(
    'an import by transaction is refused at once by one %s, and nothing is written or stays locked',
    async (_name, settings) => {
      const pooler = await begun(settings)
      const before = await version()
      for (const line of [`simulate 7 ${WORLD}`, 'remove SIM0002']) {
        const { code, err } = await through(pooler, `${line} --db ${pooler.url('bands')}`)
        expect(err.replace(/\s+/g, ' ')).toContain(
          'lends a connection for one transaction, and an import needs one of its own',
        )
        expect(err.replace(/\s+/g, ' ')).toContain('pool_mode=session')
        expect(code).toBe(6)
      }
      expect(await version()).toEqual(before)
      expect(await cluster.current.sql(LOCKS, name)).toEqual(['0'])
    },
  )

  it('an import by the name that keeps its connection is whole, and alone', async () => {
    const pooler = await begun({}, copied)
    const lines = [`simulate 9 ${WORLD}`, `simulate 8 ${WORLD}`].map(
      line => `${line} --db ${pooler.url('bands_import')}`,
    )
    const ran = await Promise.all(lines.map(line => through(pooler, line)))
    for (const { code, err } of ran)
      if (code !== 0) expect([code, err]).toEqual([8, expect.stringContaining('is being written by process')])
    expect(ran.some(({ code }) => code === 0)).toBe(true)
    expect(JSON.parse((await through(pooler, `verify --json --db ${pooler.url('bands')}`)).out)).toMatchObject({
      damages: [],
    })
  })

  it('by statement one ticker is answered, and what takes a transaction is refused as such', async () => {
    const pooler = await begun({ pool_mode: 'statement' })
    const asked = `${QUESTIONS[0]} --db`
    expect((await through(pooler, `${asked} ${pooler.url('bands')}`)).out).toBe(
      (await typed(`${asked} ${direct}`, { env: { HOME } })).out,
    )
    for (const line of ['status --json', 'verify --json', `simulate 7 ${WORLD}`]) {
      const { code, out, err } = await through(pooler, `${line} --db ${pooler.url('bands')}`)
      expect(out).toBe('')
      expect(err).toMatch(/lends a connection for one (statement|transaction)/)
      expect(code).toBe(6)
    }
  })

  it('what the pooler itself refuses is told in one sentence, without the password, and not as something that passes', async () => {
    const pooler = await begun()
    const url = pooler.url('bands')
    const refused = (at: string, env: Record<string, string> = pooler.env): Promise<unknown> =>
      Database.open(addressOf('db', at, env)).catch((error: unknown) => error)
    const wrong = (await refused(url, { PGPASSWORD: 'hunter2' })) as Error
    expect(wrong).toBeInstanceOf(ConfigError)
    expect(wrong.message).toMatch(/does not let one in/)
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
    const database = await Database.open(addressOf('db', heeding.url('bands'), heeding.env))
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
    await database.close()
  })

  it('a database behind it that is away is told as such, and asked again once it is back', async () => {
    const pooler = await begun({ server_login_retry: '1', query_wait_timeout: '2' })
    const database = await Database.open(addressOf('db', pooler.url('bands'), pooler.env))
    onTestFinished(() => database.close())
    await cluster.current.stop()
    await expect(database.query('SELECT 1 AS one')).rejects.toThrow(Busy)
    await cluster.current.start()
    await vi.waitFor(async () => expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]), 60_000)
  })
})

const PLENTY = { limits: { day: 1e6, hour: 1e6 } }
