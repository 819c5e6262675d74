import { copyFileSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openAccounts } from '../../src/app/open/accounts.js'
import { accountsPath } from '../../src/app/open/paths.js'
import { Busy, NotFound, StorageError } from '../../src/core/errors.js'
import { openForWriting } from '../../src/data/store/sqlite/connection.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { type Accounts, DAY_MS } from '../../src/server/accounts/accounts.js'
import { authenticate, generateKey } from '../../src/server/accounts/key.js'
import { ACCOUNTS, openSqliteAccounts } from '../../src/server/accounts/sqlite/accounts.js'
import { accountsContract, chargeOf, iso, keyOf, NOON, sha256 } from '../contracts/accounts.js'
import { Database } from '../support/database.js'
import { provenInFull } from '../support/full.js'
import { temporaryFolder } from '../support/store.js'

accountsContract('sqlite', async () => {
  const path = join(temporaryFolder(), 'bands.accounts.db')
  return { accounts: openSqliteAccounts(path), again: async () => openSqliteAccounts(path) }
})

describe('the file of the accounts', () => {
  it('is next to the data of any name, and at its usual path while the sample answers', () => {
    expect(accountsPath({ db: '/data/bands.db' })).toBe('/data/bands.accounts.db')
    expect(accountsPath({ db: '/data/my.sqlite' })).toBe('/data/my.sqlite.accounts.db')
    expect(accountsPath({ env: { BANDS_DB: '/data/x.db' } })).toBe('/data/x.accounts.db')
    expect(accountsPath({ env: { HOME: '/home/u' } })).toBe('/home/u/.local/share/bands/bands.accounts.db')
  })

  it('is made only when it is to be', async () => {
    const db = join(temporaryFolder(), 'bands.db')
    const missing = openAccounts({ db, env: {} })
    await expect(missing).rejects.toThrow(NotFound)
    await expect(missing).rejects.toThrow(`there are no accounts at ${accountsPath({ db })}`)
    expect(readdirSync(dirname(db))).toEqual([])
    await (await openAccounts({ db, env: {}, make: true })).close()
    expect(readdirSync(dirname(db))).toEqual(['bands.accounts.db'])
    await (await openAccounts({ db, env: {} })).close()
  })

  it("is readable only by its owner, as are SQLite's companion files and a new folder", async () => {
    const path = join(temporaryFolder(), 'new', 'bands.accounts.db')
    const before = process.umask(0)
    const accounts = openSqliteAccounts(path)
    process.umask(before)
    await accounts.create('alice', 'free', iso(NOON))
    const mode = (file: string) => (statSync(file).mode & 0o777).toString(8)
    expect(mode(dirname(path))).toBe('700')
    for (const file of readdirSync(dirname(path))) expect(mode(join(dirname(path), file)), file).toBe('600')
    expect(readdirSync(dirname(path)).length).toBeGreaterThan(1)
    await accounts.close()
  })

  it('has WAL on, syncs every commit, and keeps strict tables', async () => {
    const path = join(temporaryFolder(), 'bands.accounts.db')
    const db = openForWriting(path, ACCOUNTS)
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal')
    expect(db.pragma('synchronous', { simple: true })).toBe(2)
    const tables = db.pragma('table_list') as { name: string; strict: number }[]
    const own = tables.filter(table => !table.name.startsWith('sqlite_'))
    expect(own.map(table => table.name).sort()).toEqual([
      'accounts',
      'counters',
      'days',
      'keys',
      'ledger',
      'named',
      'secrets',
      'watched',
    ])
    for (const { name, strict } of own) expect(strict, name).toBe(1)
    db.close()
  })

  it('of an older version gets its secret, and takes what it charged under a name for another answer', async () => {
    const path = join(temporaryFolder(), 'bands.accounts.db')
    openForWriting(path, { ...ACCOUNTS, migrations: ACCOUNTS.migrations.slice(0, 1) }).close()
    planted(
      path,
      `INSERT INTO accounts VALUES (1, 'alice', 'alice', 'free', ${NOON});
       INSERT INTO named VALUES (1, 1, x'${sha256('one').toString('hex')}', x'${sha256('AAPL rsi_zone').toString('hex')}', ${NOON})`,
    )
    const accounts = openSqliteAccounts(path)
    expect(await accounts.secret()).toHaveLength(32)
    const named = { idempotency: sha256('one') }
    const alice = await accounts.account('alice')
    const charged = await accounts.charge([chargeOf(alice, named), chargeOf(alice, named)])
    expect(charged.map(({ outcome }) => outcome)).toEqual(['charged', 'repeated'])
    await accounts.close()
  })

  it('is not touched by what another process of the same number has half made', () => {
    const path = join(temporaryFolder(), 'bands.accounts.db')
    const theirs = `${path}.${process.pid}.new`
    writeFileSync(theirs, 'half made')
    void openSqliteAccounts(path).close()
    expect(readFileSync(theirs, 'utf8')).toBe('half made')
  })

  it('is not taken for data, nor data for it', async () => {
    const folder = temporaryFolder()
    const accounts = join(folder, 'a.db')
    const data = join(folder, 'd.db')
    await openSqliteAccounts(accounts).close()
    await openSqlite(data, { readonly: false }).close()
    expect(() => openSqlite(accounts, { readonly: true })).toThrow(StorageError)
    expect(() => openSqlite(accounts, { readonly: false })).toThrow(StorageError)
    expect(() => openSqliteAccounts(data)).toThrow(StorageError)
  })

  it('holds nothing of a key but its identity and its hash', async () => {
    const { path, accounts, id } = await withAlice()
    const keys = Array.from({ length: 20 }, generateKey)
    for (const { identity, hash } of keys) await accounts.addKey(id, keyOf(identity, { hash }))
    const next = generateKey()
    await accounts.roll(keys[0]!.identity, keyOf(next.identity, { hash: next.hash }), iso(NOON))
    for (const { key } of [...keys, next]) await authenticate(accounts, key, NOON)
    await accounts.charge([chargeOf(await accounts.account('alice'), { key: next.identity })])
    const bytes = readdirSync(dirname(path)).map(name => readFileSync(join(dirname(path), name)))
    expect(bytes.length).toBeGreaterThan(1)
    for (const { key, identity } of [...keys, next]) {
      expect(bytes.some(file => file.includes(identity))).toBe(true)
      for (const secret of [key, key.slice(14, 46), key.slice(14, 26), key.slice(34, 46), key.slice(-6)])
        expect(bytes.some(file => file.includes(secret))).toBe(false)
    }
  })
})

it('asks and charges nothing once its file is removed, or another one lies there, until it is back', async () => {
  const { path, accounts, id } = await withAlice()
  const alice = await accounts.account('alice')
  const work = [
    () => accounts.version(),
    () => accounts.key('AAAAAAAA'),
    () => accounts.usedCredits(id, NOON),
    () => accounts.charge([chargeOf(alice)]),
    () => accounts.setTier('alice', 'pro'),
  ]
  const expectRefused = async () => {
    for (const one of work) await expect(one()).rejects.toThrow(StorageError)
    await expect(accounts.version()).rejects.toThrow(
      / was (moved to|replaced by) .* while it was open; start the server/,
    )
  }
  renameSync(path, `${path}.old`)
  await expectRefused()
  copyFileSync(`${path}.old`, path)
  await expectRefused()
  renameSync(`${path}.old`, path)
  expect(await accounts.account('alice')).toEqual(alice)
  expect(await accounts.reconcile()).toMatchObject({ rows: 0, credits: 0 })
})

describe('the ledger', () => {
  it.each([
    [
      'a counter that was raised',
      "UPDATE counters SET credits = credits + 5 WHERE period = 'day'",
      [{ period: 'day', of: 'credits', counter: 8, ledger: 3 }],
    ],
    [
      'requests that were not counted',
      "UPDATE counters SET requests = 1 WHERE period = 'hour'",
      [{ period: 'hour', of: 'requests', counter: 1, ledger: 2 }],
    ],
    [
      'a counter that is gone',
      "DELETE FROM counters WHERE period = 'hour'",
      [
        { period: 'hour', of: 'credits', counter: 0, ledger: 3 },
        { period: 'hour', of: 'requests', counter: 0, ledger: 2 },
      ],
    ],
    [
      'a row that is gone',
      'DELETE FROM ledger WHERE credits = 2',
      [
        { period: 'day', of: 'credits', counter: 3, ledger: 1 },
        { period: 'day', of: 'requests', counter: 2, ledger: 1 },
        { period: 'hour', of: 'credits', counter: 3, ledger: 1 },
        { period: 'hour', of: 'requests', counter: 2, ledger: 1 },
      ],
    ],
  ])('shows %s', async (_, sql, found) => {
    const { path, accounts, id } = await withAlice()
    const alice = await accounts.account('alice')
    const bob = await accounts.create('bob', 'free', iso(NOON))
    await accounts.charge([chargeOf(alice), chargeOf(alice, { credits: 2 })])
    const { discrepancies } = await accounts.reconcile()
    expect(discrepancies).toEqual([])
    planted(path, sql)
    const start = { day: '2026-03-24T00:00:00.000Z', hour: '2026-03-24T12:00:00.000Z' }
    const named = found.map(one => ({ account: 'alice', start: start[one.period as 'day' | 'hour'], ...one }))
    expect((await accounts.reconcile()).discrepancies).toEqual(named)
    expect((await accounts.reconcile(id)).discrepancies).toEqual(named)
    expect((await accounts.reconcile(bob.id)).discrepancies).toEqual([])
  })

  it('forgets the names of requests after 48 hours, more of them than come in', async () => {
    const { path, accounts } = await withAlice()
    const alice = await accounts.account('alice')
    const names = () => {
      const db = new Database(path, { readonly: true })
      const count = db.prepare('SELECT count(*) FROM named').pluck().get()
      db.close()
      return count
    }
    const limits = { day: 10_000, hour: 10_000 }
    const batch = (at: number) =>
      Array.from({ length: 100 }, (_, i) => chargeOf(alice, { idempotency: sha256(`${at} ${i}`), limits, at }))
    await accounts.charge(batch(NOON))
    await accounts.charge(batch(NOON + DAY_MS))
    expect(names()).toBe(200)
    await accounts.charge(batch(NOON + 3 * DAY_MS))
    expect(names()).toBe(100)
  })
})

it('that is rolled up says the same after each step, wherever that is stopped', async () => {
  const { accounts } = await withAlice()
  const alice = await accounts.account('alice')
  const limits = { day: 10_000, hour: 10_000 }
  const later = NOON + 4 * DAY_MS
  const numbered = (i: number) => ({ limits, at: NOON + i, requestId: String(i).padStart(6, '0') })
  await accounts.charge(Array.from({ length: 1200 }, (_, i) => chargeOf(alice, numbered(i))))
  const before = [await accounts.reconcile(), await accounts.usage(alice.id, 0)]
  expect(before[0]).toMatchObject({ rows: 1200, discrepancies: [] })
  for (const rows of [500, 500, 200]) {
    expect(await accounts.rollUp(later)).toEqual({ rows, days: 0, isOver: false })
    expect([await accounts.reconcile(), await accounts.usage(alice.id, 0)]).toEqual(before)
  }
  expect(await accounts.rollUp(later)).toEqual({ rows: 0, days: 0, isOver: true })
})

describe('while another process writes', () => {
  it('lets other work go on while a charge waits, and charges once it can', async () => {
    const { path, accounts } = await withAlice()
    const alice = await accounts.account('alice')
    const other = new Database(path)
    other.exec('BEGIN IMMEDIATE')
    const charging = accounts.charge([chargeOf(alice)])
    // What only reads does not wait at all.
    expect(await accounts.usedCredits(alice.id, NOON)).toEqual({ day: 0, hour: 0 })
    for (let i = 0; i < 20; i++) await new Promise(resolve => setTimeout(resolve, 1))
    other.exec('COMMIT')
    other.close()
    expect(await charging).toEqual([{ outcome: 'charged', usedCredits: { day: 1, hour: 1 } }])
  })

  // A while is five seconds.
  provenInFull('gives up after a while, with nothing written', async () => {
    const { path, accounts } = await withAlice()
    const alice = await accounts.account('alice')
    const other = new Database(path)
    other.exec('BEGIN IMMEDIATE')
    await expect(accounts.charge([chargeOf(alice)])).rejects.toThrow(Busy)
    other.exec('COMMIT')
    other.close()
    expect((await accounts.reconcile()).rows).toBe(0)
  })
})

async function withAlice(): Promise<{ path: string; accounts: Accounts; id: number }> {
  const path = join(temporaryFolder(), 'bands.accounts.db')
  const accounts = openSqliteAccounts(path)
  onTestFinished(() => accounts.close())
  const { id } = await accounts.create('alice', 'free', iso(NOON))
  return { path, accounts, id }
}

function planted(path: string, sql: string): void {
  const db = new Database(path)
  db.exec(sql)
  db.close()
}
