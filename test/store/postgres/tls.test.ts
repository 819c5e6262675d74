import { execFileSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { ConfigError } from '../../../src/core/errors.js'
import { parseAddress } from '../../../src/server/accounts/postgres/address.js'
import { Database } from '../../../src/server/accounts/postgres/connection.js'
import { clusterForAll, describePostgres, own } from '../../support/postgres.js'

const SECRET = 'of-the-key'
const ASKED = ['req', '-newkey', 'rsa:2048', '-nodes']

describePostgres('a database of PostgreSQL with a certificate', () => {
  const cluster = clusterForAll({ fsync: false })
  const file = (name: string): string => join(cluster.current.data, '..', name)
  const openssl = (...words: string[]): void => void execFileSync('openssl', words, { stdio: 'pipe' })

  /** A root: a key and a certificate that it signs itself. */
  const rooted = (name: string): void => openssl(...ASKED, ...named(name), '-x509', '-out', file(`${name}.crt`))

  /** A key and a certificate of a name that a root has signed, for some names of hosts. */
  const certified = (name: string, root: string, { days = 30, hosts = '' } = {}): void => {
    const asked = file(`${name}.csr`)
    const rules = file(`${name}.ext`)
    openssl(...ASKED, ...named(name), '-out', asked)
    writeFileSync(rules, hosts === '' ? '' : `subjectAltName=${hosts}\n`)
    const by = ['-CA', file(`${root}.crt`), '-CAkey', file(`${root}.key`), '-CAcreateserial', '-days', `${days}`]
    openssl('x509', '-req', '-in', asked, '-out', file(`${name}.crt`), '-extfile', rules, ...by)
  }
  const named = (name: string): string[] => ['-keyout', file(`${name}.key`), '-subj', `/CN=${name}`]

  /** Has the server show a certificate from now on. */
  const shown = async (name: string): Promise<void> => {
    const { current } = cluster
    await current.sql(`ALTER SYSTEM SET ssl_cert_file = '${file(`${name}.crt`)}'`)
    await current.sql(`ALTER SYSTEM SET ssl_key_file = '${file(`${name}.key`)}'`)
    await current.sql(`ALTER SYSTEM SET ssl_ca_file = '${file('root.crt')}'`)
    await current.sql('ALTER SYSTEM SET ssl = on')
    await current.stop()
    await current.start()
  }

  beforeAll(async () => {
    for (const name of ['root', 'stranger']) rooted(name)
    certified('server', 'root', { hosts: 'DNS:localhost' })
    certified('expired', 'root', { hosts: 'DNS:localhost', days: -1 })
    certified('ann', 'root')
    certified('foreign', 'stranger')
    for (const name of ['server.key', 'expired.key']) {
      chmodSync(file(name), 0o600)
      own(file(name))
    }
    await shown('server')
  })

  const at = (settings: Record<string, string>, { host = 'localhost', user = 'bands' } = {}): string =>
    `postgres://${user}@${host}:${cluster.current.port}/postgres?${new URLSearchParams(settings)}`
  /** Whether the connection is encrypted, and by which certificate the caller is known. */
  const opened = async (url: string): Promise<unknown> => {
    const database = await Database.open(parseAddress('db', url, { PGPASSWORD: SECRET }))
    onTestFinished(() => database.close())
    const [found] = await database.query('SELECT ssl, client_dn AS dn FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
    return found
  }
  const refused = async (url: string): Promise<string> => {
    const error = await opened(url).then(
      () => new Error('it was let in'),
      (thrown: unknown) => thrown as Error,
    )
    expect(error, error.message).toBeInstanceOf(ConfigError)
    expect(error.message).not.toContain(SECRET)
    return error.message.slice(error.message.indexOf(' ') + 1)
  }
  const root = (): { sslrootcert: string } => ({ sslrootcert: file('root.crt') })
  const stranger = (): { sslrootcert: string } => ({ sslrootcert: file('stranger.crt') })

  it('is asked in the clear, encrypted, or encrypted by who it is, as is said', async () => {
    const plain = { ssl: false, dn: null }
    const encrypted = { ssl: true, dn: null }
    expect(await opened(at({}))).toEqual(plain)
    expect(await opened(at({ sslmode: 'disable' }))).toEqual(plain)
    expect(await opened(at({ sslmode: 'require' }))).toEqual(encrypted)
    expect(await opened(at({ sslmode: 'verify-ca', ...root() }))).toEqual(encrypted)
    expect(await opened(at({ sslmode: 'verify-ca', ...root() }, { host: '127.0.0.1' }))).toEqual(encrypted)
    expect(await opened(at({ sslmode: 'verify-full', ...root() }))).toEqual(encrypted)
  })

  it('reports a certificate of another name, root or time', async () => {
    expect(await refused(at({ sslmode: 'verify-full', ...root() }, { host: '127.0.0.1' }))).toMatch(
      /^has a certificate of another name: .*127\.0\.0\.1.*; the URL must name it as the certificate does$/,
    )
    const unknown = /^has a certificate that is not trusted: .*; sslrootcert names the root to be trusted$/
    for (const settings of [stranger(), {}])
      for (const sslmode of ['verify-ca', 'verify-full'])
        expect(await refused(at({ sslmode, ...settings }))).toMatch(unknown)
    expect(await refused(at({ sslmode: 'require', ...stranger() }))).toMatch(unknown)
    await shown('expired')
    onTestFinished(() => shown('server'))
    for (const sslmode of ['verify-ca', 'verify-full'])
      expect(await refused(at({ sslmode, ...root() }))).toMatch(/^has a certificate that has expired/)
    expect(await opened(at({ sslmode: 'require' }))).toEqual({ ssl: true, dn: null })
  })

  it('lets in by a certificate of the caller, and by its own root alone', async () => {
    const { current } = cluster
    await current.sql('CREATE ROLE ann LOGIN')
    writeFileSync(join(current.data, 'pg_hba.conf'), 'hostssl all ann all cert\nhost all all all trust\n')
    await current.sql('SELECT pg_reload_conf()')
    const by = (cert: string, key = cert): Record<string, string> => ({
      sslmode: 'verify-full',
      ...root(),
      sslcert: file(`${cert}.crt`),
      sslkey: file(`${key}.key`),
    })
    expect(await opened(at(by('ann'), { user: 'ann' }))).toEqual({ ssl: true, dn: '/CN=ann' })
    expect(await refused(at({ sslmode: 'require' }, { user: 'ann' }))).toMatch(/^refuses this user: .*certificate/)
    expect(await refused(at(by('server'), { user: 'ann' }))).toMatch(/^refuses this user: .*certificate/)
    expect(await refused(at(by('foreign'), { user: 'ann' }))).toMatch(/certificate/)
    expect(await refused(at(by('ann', 'server'), { user: 'ann' }))).toMatch(/sslcert and sslkey/)
    expect(await refused(at({ sslmode: 'require', sslcert: file('ann.crt') }, { user: 'ann' }))).toMatch(/sslkey/)
    writeFileSync(file('no.crt'), 'none\n')
    expect(await refused(at({ ...by('ann'), sslcert: file('no.crt') }, { user: 'ann' }))).toMatch(/sslcert and sslkey/)
    expect(await refused(at({ ...by('ann'), sslrootcert: file('gone.crt') }))).toMatch(/cannot be read/)
  })
})
