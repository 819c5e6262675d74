import { appendFileSync, chmodSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { ClientConfig } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type BandsError, Busy, ConfigError, InvalidParameter, StorageError } from '../../../src/core/errors.js'
import { isPostgresUrl } from '../../../src/core/params/postgres-url.js'
import { parseAddress } from '../../../src/server/accounts/postgres/address.js'
import { Database, type DatabaseOptions, keepPrepared } from '../../../src/server/accounts/postgres/connection.js'
import { provenInFull } from '../../support/full.js'
import { clusterForAll, describePostgres } from '../../support/postgres.js'
import { temporaryFolder } from '../../support/store.js'

const SECRET = 'hunter2-and-more'

function failureOf(work: () => unknown): BandsError {
  try {
    work()
  } catch (error) {
    return error as BandsError
  }
  throw new Error('it did not fail')
}

/** What the driver is told when the server asks for one. */
const passwordOf = async ({ password }: ClientConfig): Promise<unknown> =>
  typeof password === 'function' ? password() : password

/** All that a machine or a person may read of an error. */
const everything = (error: BandsError): string => JSON.stringify([error.message, error.words, error.payload()])

describe('the address of a database of PostgreSQL', () => {
  it('is a URL of its own form, however that is spelled', () => {
    for (const url of ['postgres://h/d', 'postgresql://h/d', 'POSTGRES://h/d', 'postgres:/h', 'postgres:h'])
      expect(isPostgresUrl(url), url).toBe(true)
    for (const path of ['postgres.db', './postgres', '/var/postgres/x', 'bands.db', 'http://h/d'])
      expect(isPostgresUrl(path), path).toBe(false)
  })

  it('is read from the URL, then from variables, then from defaults', () => {
    const { config, location } = parseAddress('accounts', 'postgres://ann@db.example:6432/bands?connect_timeout=9', {})
    expect(config).toMatchObject({ host: 'db.example', port: 6432, user: 'ann', database: 'bands' })
    expect(config).toMatchObject({ connectionTimeoutMillis: 9_000, application_name: 'bands' })
    expect(location).toBe('postgres://db.example:6432/bands')
    const env = { PGHOST: 'other', PGPORT: '7', PGUSER: 'bob', PGDATABASE: 'x', PGAPPNAME: 'web' }
    expect(parseAddress('db', 'postgres://', env).config).toMatchObject({
      host: 'other',
      port: 7,
      user: 'bob',
      database: 'x',
      application_name: 'web',
    })
    expect(parseAddress('db', 'postgres://ann@h/d', env).config).toMatchObject({
      host: 'h',
      user: 'ann',
      database: 'd',
    })
    expect(parseAddress('db', 'postgres://', { USER: 'carl' })).toMatchObject({
      config: { host: 'localhost', port: 5432, user: 'carl', database: 'carl', ssl: false },
      location: 'postgres://localhost:5432/carl',
    })
  })

  it('may be a socket, an address of IPv6, and have signs that are escaped', () => {
    expect(parseAddress('db', 'postgres:///bands?host=/run/postgresql', {})).toMatchObject({
      config: { host: '/run/postgresql', database: 'bands', ssl: false },
      location: 'postgres:///bands?host=/run/postgresql',
    })
    for (const url of ['postgres://ann@/bands?host=/run/postgresql', 'postgres://ann@/bands'])
      expect(parseAddress('db', url, { PGHOST: '/run/postgresql' })).toMatchObject({
        config: { host: '/run/postgresql', user: 'ann', database: 'bands' },
      })
    expect(parseAddress('db', 'postgres://a%40b@[::1]:7/my%20data', {})).toMatchObject({
      config: { host: '::1', port: 7, user: 'a@b', database: 'my data' },
      location: 'postgres://[::1]:7/my%20data',
    })
  })

  it('may have an @ in what it sets, also behind a port', () => {
    const file = join(temporaryFolder(), 'services')
    writeFileSync(file, '[a@b]\nuser=ann\n')
    for (const host of ['h', 'me@h', '[::1]', ''])
      for (const port of ['', ':5432'].slice(0, host === '' ? 1 : 2)) {
        const url = `postgres://${host}${port}/db?service=a@b`
        expect(parseAddress('db', url, { PGSERVICEFILE: file }).config, url).toMatchObject({
          port: 5432,
          database: 'db',
          user: host === 'me@h' ? 'me' : 'ann',
        })
      }
  })

  it.each([
    `postgres://ann:${SECRET}@h/d`,
    `postgres://ann:${SECRET}@[h/d`,
    `postgres://me@srv:${SECRET}@h/d`,
    `postgres://me@srv:${SECRET.replace('-', '/')}@h/d`,
    `postgres://me@srv%3A${SECRET}@h/d`,
    `postgres://me@a@b:${SECRET}@h:5432/d?sslmode=require`,
    `postgres://ann:${SECRET.replace('-', '@')}@h/d`,
    `postgres://ann:${SECRET.replace('-', '?')}@h/d`,
    `postgres://ann:${SECRET.replace('-', '/')}@h/d`,
    `postgres://ann%3A${SECRET}@h/d`,
    `postgres://h/d?password=${SECRET}`,
    `postgres://h/d?user=ann&PASSWORD=${SECRET}`,
    `postgres://h/d?sslpassword=${SECRET}`,
  ])('with a password in it is refused, and the password not repeated (%#)', url => {
    const error = failureOf(() => parseAddress('accounts', url, {}))
    expect(error).toBeInstanceOf(InvalidParameter)
    expect(error.message).toMatch(
      /^accounts holds a password,.* PGPASSWORD, in a service file \(PGSERVICE\) or in \.pgpass\.$/,
    )
    for (const part of SECRET.split('-')) expect(everything(error)).not.toContain(part)
  })

  it.each([
    ['postgres:/h/d', 'accounts cannot be read as a URL such as postgres://user@host:5432/database.'],
    ['postgres://h:port/d', 'accounts cannot be read as a URL such as postgres://user@host:5432/database.'],
    ['postgres://h/d#more', 'accounts cannot be read as a URL such as postgres://user@host:5432/database.'],
    ['postgres://h/%zz', 'accounts cannot be read as a URL such as postgres://user@host:5432/database.'],
    ['postgres://h/d?options=-csearch_path', 'accounts sets something that is not known; it may set host, port, user,'],
    ['postgres://h1,h2/d', 'accounts names several hosts;'],
  ])('%s is refused with what is allowed', (url, sentence) => {
    expect(failureOf(() => parseAddress('accounts', url, {})).message).toContain(sentence)
  })

  it('takes a password from a variable, a service file or .pgpass, and shows it nowhere', async () => {
    const file = join(temporaryFolder(), 'services')
    writeFileSync(
      file,
      `# mine\n[other]\nnonsense\n[prod]\nhost=db.prod\nport=6000\npassword=${SECRET}\n\n[prod]\nhost=later\n`,
    )
    const env = { PGSERVICEFILE: file, PGHOST: 'x', PGUSER: 'ann' }
    for (const [url, variables] of [
      ['postgres://?service=prod', env],
      ['postgres://', { ...env, PGSERVICE: 'prod' }],
    ] as const) {
      const { config, location } = parseAddress('db', url, variables)
      expect(config).toMatchObject({ host: 'db.prod', port: 6000, user: 'ann' })
      expect(await passwordOf(config)).toBe(SECRET)
      expect(location).toBe('postgres://db.prod:6000/ann')
    }
    expect(await passwordOf(parseAddress('db', 'postgres://h', { PGPASSWORD: SECRET }).config)).toBe(SECRET)
    const passwords = join(temporaryFolder(), 'pgpass')
    writeFileSync(
      passwords,
      `# all\nh:5432:other:ann:wrong\nh:*:d\\:e:ann:with\\:colon\nlocalhost:*:*:ann:socket\n/srv/own:*:*:ann:own\n`,
      {
        mode: 0o600,
      },
    )
    const inFile = (url: string) => passwordOf(parseAddress('db', url, { PGPASSFILE: passwords }).config)
    expect(await inFile('postgres://ann@h/d%3Ae')).toBe('with:colon')
    expect(await inFile('postgres:///x?user=ann&host=/run/postgresql')).toBe('socket')
    expect(await inFile('postgres://bob@h/other')).toBe('')
    expect(await inFile('postgres:///x?user=ann&host=/srv/own')).toBe('own')
    chmodSync(passwords, 0o644)
    await expect(inFile('postgres://ann@h/other')).rejects.toThrow('can be read or changed by others; chmod 600')
    const unknown = failureOf(() => parseAddress('db', 'postgres://?service=prdo', env))
    expect(unknown).toBeInstanceOf(ConfigError)
    expect(unknown.message).toBe(
      `the service "prdo" of PostgreSQL is not known: it is not in ${file}. Did you mean "prod"?`,
    )
    const broken = failureOf(() => parseAddress('db', 'postgres://?service=other', env))
    expect(broken.message).toMatch(new RegExp(`^${file}:3: may set host, port,`))
    expect(broken.message).not.toContain('nonsense')
  })

  // As passwordFromFile of libpq (fe-connect.c) reads them.
  it.each([
    ['an empty port matches no port', 'h::5432:d:ann:wrong\nh:5432:d:ann:right', 'right'],
    ['an empty host matches no host', ':5432:d:ann:wrong\n*:5432:d:ann:right', 'right'],
    ['an empty database or user matches none', 'h:*::ann:wrong\nh:*:d::wrong\nh:*:d:*:right', 'right'],
    ['an empty password is one', 'h:5432:d:ann::more\nh:5432:d:ann:later', ''],
    ['a password ends at a colon', 'h:5432:d:ann:right:more', 'right'],
    ['a password may have escaped signs', 'h:5432:d:ann:a\\:b\\\\c\\d', 'a:b\\cd'],
    ['a backslash at the end is itself', 'h:5432:d:ann:a\\', 'a\\'],
    ['an escaped star is no wildcard', '\\*:5432:d:ann:wrong\n*:*:*:*:right', 'right'],
    ['a line without a password does not count', 'h:5432:d:ann\nh:5432:d:ann:right\r\n', 'right'],
    ['a comment begins with #', '#h:5432:d:ann:wrong\n#:*:*:*:wrong', ''],
  ])('reads a line of .pgpass as PostgreSQL does: %s', async (_rule, lines, password) => {
    const PGPASSFILE = join(temporaryFolder(), 'pgpass')
    writeFileSync(PGPASSFILE, lines, { mode: 0o600 })
    expect(await passwordOf(parseAddress('db', 'postgres://ann@h/d', { PGPASSFILE }).config)).toBe(password)
  })

  it('is encrypted to other machines unless it is said, and never perhaps', () => {
    const folder = temporaryFolder()
    const root = join(folder, 'root.crt')
    writeFileSync(root, 'a certificate')
    const ssl = (url: string, env = {}) => parseAddress('db', url, env).config.ssl
    expect(ssl('postgres://db.example/d')).toMatchObject({ rejectUnauthorized: false })
    expect(ssl('postgres://db.example/d?sslmode=disable')).toBe(false)
    expect(ssl('postgres://127.0.0.1/d')).toBe(false)
    expect(ssl('postgres://127.0.0.1/d', { PGSSLMODE: 'require' })).toMatchObject({ rejectUnauthorized: false })
    expect(ssl('postgres://h/d?sslmode=verify-full')).toEqual({})
    expect(ssl(`postgres://h/d?sslmode=verify-full&sslrootcert=${root}`)).toEqual({ ca: 'a certificate' })
    expect(ssl(`postgres://h/d?sslmode=verify-ca&sslrootcert=${root}`)).toMatchObject({ rejectUnauthorized: true })
    expect(ssl(`postgres://h/d?sslrootcert=${root}`)).toMatchObject({ rejectUnauthorized: true, ca: 'a certificate' })
    for (const mode of ['prefer', 'allow', 'verify_full']) {
      const error = failureOf(() => ssl(`postgres://h/d?sslmode=${mode}`))
      expect(error.message).toContain(`sslmode "${mode}" is not one of disable, require, verify-ca, verify-full.`)
    }
    expect(failureOf(() => ssl(`postgres://h/d?sslmode=verify-ca&sslrootcert=${folder}/no`)).message).toBe(
      `${folder}/no cannot be read: ENOENT`,
    )
  })
})

describePostgres('a database of PostgreSQL', () => {
  const cluster = clusterForAll()
  const opened = async (url: string, options: DatabaseOptions = {}, env = {}): Promise<Database> => {
    const database = await Database.open(parseAddress('db', url, env), options)
    onTestFinished(() => database.close())
    return database
  }
  const fresh = async (options: DatabaseOptions = {}) => opened(await cluster.current.createDatabase(), options)

  it('stops waiting at its time limit, and uses another connection then', async () => {
    const database = await fresh()
    const silent = database.query('SELECT pg_sleep(20)', [], 200)
    await expect(silent).rejects.toMatchObject({
      code: new Busy('').code,
      message: expect.stringContaining('does not answer'),
    })
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  // What cuts off a shorter limit comes after five seconds.
  provenInFull('lets a transaction take longer than other statements may, where that is said', async () => {
    const database = await fresh({ statementMs: 100 })
    await expect(database.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }])
    const long = database.transaction(({ query }) => query('SELECT 2 AS two FROM pg_sleep(5.5)'), {
      statementMs: 60_000,
    })
    await expect(long).resolves.toEqual([{ two: 2 }])
  })

  it('makes as many connections as its address says, and the others wait', async () => {
    const url = `${cluster.current.url()}?connections=2`
    const database = await opened(url)
    await Promise.all(Array.from({ length: 6 }, () => database.query('SELECT pg_sleep(0.05)')))
    expect(database.pool).toMatchObject({ total: 2, idle: 2, waiting: 0 })
    expect(database.pool.waitedSeconds).toBeGreaterThan(0.1)
    expect(parseAddress('db', 'postgres://h/d', { BANDS_CONNECTIONS: '9' }).maxConnections).toBe(9)
    for (const connections of ['1', '101', 'x'])
      expect(() => parseAddress('db', `postgres://h/d?connections=${connections}`, {})).toThrow(
        'connections of the connection to PostgreSQL must be an integer from 2 to 100',
      )
  })

  it('gives whole numbers as numbers, bytes as bytes, and refuses a number that would be rounded', async () => {
    const database = await fresh()
    const [row] = await database.query(`SELECT $1::int8 AS n, $2::bytea AS b, NULL::int8 AS none`, [
      2 ** 40,
      Buffer.from([0, 255]),
    ])
    expect(row).toEqual({ n: 2 ** 40, b: Buffer.from([0, 255]), none: null })
    await expect(database.query('SELECT 9007199254740993::int8')).rejects.toThrow(StorageError)
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it('keeps all of a transaction or nothing, and its limits to it', async () => {
    const database = await fresh({ maxConnections: 1 })
    await database.query('CREATE TABLE t (n int8 PRIMARY KEY)')
    await database.transaction(({ query }) => query('INSERT INTO t VALUES (1)'))
    const failing = database.transaction(async ({ query }) => {
      await query('INSERT INTO t VALUES (2)')
      await query('INSERT INTO t VALUES (1)')
    })
    await expect(failing).rejects.toThrow(StorageError)
    expect(await database.query('SELECT n FROM t')).toEqual([{ n: 1 }])
    expect(await database.query(`SELECT current_setting('statement_timeout') AS s`)).toEqual([{ s: '0' }])
    // What the database has refused costs no connection.
    expect(database.pool.total).toBe(1)
    await expect(
      database.transaction(({ query }) => query('INSERT INTO t VALUES (3)'), { snapshot: true }),
    ).rejects.toThrow(Busy)
    expect(await database.query('SELECT n FROM t')).toEqual([{ n: 1 }])
  })

  it('keeps a statement that is asked often, and asks without a name where it is lost', async () => {
    const named = 'SELECT name, statement FROM pg_prepared_statements'
    const often = keepPrepared('SELECT n FROM t WHERE n = $1')
    const database = await fresh()
    await database.query('CREATE TABLE t AS SELECT n, 1 AS other FROM generate_series(1, 3) AS n')
    const answered = async (): Promise<void> => expect(await database.query(often, [2])).toEqual([{ n: 2 }])
    await answered()
    expect(await database.query(named)).toEqual([{ name: expect.stringMatching(/^bands_/), statement: often }])
    await answered()
    await database.query('DEALLOCATE ALL')
    await answered()
    expect(await database.query(named)).toEqual([])
    await answered()

    const other = await fresh()
    await other.query('CREATE TABLE t AS SELECT 2 AS n')
    expect(await other.query(often, [2])).toEqual([{ n: 2 }])
    await other.query('ALTER TABLE t ALTER n TYPE int8')
    expect(await other.query(often, [2])).toEqual([{ n: 2 }])
    expect(other.pool.total).toBe(1)
  })

  it('does two transactions that lock each other out one after the other', async () => {
    const database = await fresh()
    await database.query('CREATE TABLE t AS SELECT n, 0 AS times FROM generate_series(1, 2) AS n')
    const inOrder = (numbers: readonly number[]) =>
      database.transaction(async ({ query }) => {
        for (const n of numbers) {
          await query('UPDATE t SET times = times + 1 WHERE n = $1', [n])
          await query('SELECT pg_sleep(0.02)')
        }
      })
    await Promise.all([inOrder([1, 2]), inOrder([2, 1]), inOrder([1, 2]), inOrder([2, 1])])
    expect(await database.query('SELECT times FROM t')).toEqual([{ times: 4 }, { times: 4 }])
  })

  it('says "try later" of a row that another has, and of a statement that takes too long', async () => {
    const database = await fresh()
    await database.query('CREATE TABLE t AS SELECT 1 AS n')
    await database.transaction(async ({ query }) => {
      await query('UPDATE t SET n = 2')
      const second = database.transaction(other => other.query('UPDATE t SET n = 3'), { lockMs: 50 })
      await expect(second).rejects.toThrow(Busy)
      const slow = database.transaction(other => other.query('SELECT pg_sleep(100)'), { statementMs: 50 })
      await expect(slow).rejects.toThrow(Busy)
    })
    expect(await database.query('SELECT n FROM t')).toEqual([{ n: 2 }])
  })

  it('is asked again after a connection was ended by another hand, and after the server was killed', async () => {
    const database = await fresh()
    await database.query('SELECT 1')
    const ended = database.query('SELECT pg_terminate_backend(pg_backend_pid())')
    await expect(ended).rejects.toThrow(Busy)
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
    const asking = database.query('SELECT pg_sleep(100)')
    const lost = expect(asking).rejects.toThrow(Busy)
    await cluster.current.kill()
    await lost
    const away = database.query('SELECT 1')
    await expect(away).rejects.toThrow(Busy)
    await expect(away).rejects.toThrow(`${database.location} cannot be reached: connect ECONNREFUSED`)
    await cluster.current.start()
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it('reports a missing database, a refused login and a missing answer differently', async () => {
    const { port } = cluster.current
    await expect(opened(cluster.current.url('none'))).rejects.toThrow(
      `postgres://127.0.0.1:${port}/none is not there: database "none" does not exist; createdb makes a database`,
    )
    await expect(opened(`postgres://nobody@127.0.0.1:${port}/postgres`)).rejects.toThrow(ConfigError)
    await expect(opened(`${cluster.current.url()}?sslmode=require`)).rejects.toThrow(ConfigError)
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    onTestFinished(() => void silent.close())
    await new Promise(resolve => silent.once('listening', resolve))
    const { port: other } = silent.address() as { port: number }
    const waiting = opened(`postgres://127.0.0.1:${other}/d?connect_timeout=1`)
    await expect(waiting).rejects.toThrow(Busy)
    await expect(waiting).rejects.toThrow(`postgres://127.0.0.1:${other}/d does not answer, or the connection broke`)
  })

  it('takes its password only from the environment or .pgpass, and no error shows it', async () => {
    const { current } = cluster
    await current.sql(`CREATE ROLE ann LOGIN PASSWORD '${SECRET}'`)
    const rules = join(current.data, 'pg_hba.conf')
    writeFileSync(rules, `host all ann 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n`)
    await current.sql('SELECT pg_reload_conf()')
    const url = `postgres://ann@127.0.0.1:${current.port}/postgres`
    const without = opened(url)
    await expect(without).rejects.toThrow(ConfigError)
    await expect(without).rejects.toThrow('asks for a password: PGPASSWORD, a service file or .pgpass has none')
    const wrong = await opened(url, {}, { PGPASSWORD: `${SECRET}x` }).catch((error: BandsError) => error)
    expect(wrong).toBeInstanceOf(ConfigError)
    expect(everything(wrong as BandsError)).not.toContain(SECRET)
    const database = await opened(url, {}, { PGPASSWORD: SECRET })
    expect(await database.query('SELECT current_user::text AS who')).toEqual([{ who: 'ann' }])
    expect(JSON.stringify(database)).not.toContain(SECRET)
    const file = join(temporaryFolder(), 'pgpass')
    appendFileSync(file, `127.0.0.1:${current.port}:*:ann:${SECRET}\n`)
    chmodSync(file, 0o600)
    expect(await (await opened(url, {}, { PGPASSFILE: file })).query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })
})
