import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { makeKey } from '../../src/accounts/key.js'
import { readFile } from '../../src/feeds/read.js'
import { Importer } from '../../src/load/import.js'
import { Local } from '../../src/local/local.js'
import { status } from '../../src/local/status.js'
import { verify } from '../../src/local/verify.js'
import { openSqliteAccounts } from '../../src/store/sqlite/accounts.js'
import { openSqlite } from '../../src/store/sqlite/data.js'
import { openSqliteTrials } from '../../src/store/sqlite/lists.js'
import { verifyAccounts, verifyTrials } from '../../src/store/sqlite/verify.js'
import { type Store, UNDERIVED } from '../../src/store/store.js'
import { chargeOf, iso, NOON } from '../contracts/accounts.js'
import { damageContract, KEY, WORLD, writer } from '../contracts/damage.js'
import { pulledSeries } from '../contracts/store.js'
import { Database } from '../support/database.js'
import { toSchema } from '../support/old-schema.js'
import { pulledIn } from '../support/pulled.js'
import { loadedStore, temporaryFolder } from '../support/store.js'

const OF_FIRST = "ticker_id = (SELECT id FROM tickers WHERE ticker = 'SIM0001')"

damageContract('sqlite', {
  ofFirst: OF_FIRST,
  key: 'ticker_id',
  withField(path, value) {
    const place = `'$.${path[0]}${path[1] === undefined ? '' : `[${path[1]}]`}'`
    return value === null ? `json_remove(fields, ${place})` : `json_set(fields, ${place}, json('${value}'))`
  },
  every: 1,
  edit,
  open: async (path, readonly) => openSqlite(path, { readonly }),
})

describe('a database of before', () => {
  it.each([5, 6] as const)('of schema %i stays damaged where it was, and is derived anew', async schema => {
    for (const [sql, found] of [
      ['', []],
      [`UPDATE bars SET columns = edited(columns) WHERE ${OF_FIRST}`, ['SIM0001']],
      [`DELETE FROM bars WHERE ${OF_FIRST}`, ['SIM0001']],
      ["UPDATE tickers SET last_date = '2031-01-01' WHERE ticker = 'SIM0001'", ['SIM0001']],
      ["UPDATE facts SET sheet = replace(sheet, 'stock', 'crypto') WHERE ticker = 'SIM0002'", ['SIM0002']],
    ] as const) {
      const path = await edit('')
      const db = databaseAt(path)
      toSchema(db, schema)
      db.exec(sql)
      db.close()
      const store = openSqlite(path, { readonly: false })
      expect([...new Set((await store.verify()).map(({ ticker }) => ticker))], sql).toEqual(found)
      await expect(new Local(store, 'pro', null).events(KEY), sql).rejects.toThrow(
        `${path} has bars whose events are not made yet; a rebuild makes them`,
      )
      const importer = await Importer.begin(store, readFile, writer())
      if (sql === '') {
        expect((await verify({ store })).map(({ what }) => what)).toEqual([
          'its events are not made yet; a rebuild makes them',
        ])
        const told = await status(new Local(store, 'pro', null))
        expect(told).toMatchObject({ definitions: UNDERIVED, definitions_current: false, events: 0 })
        expect(told.tickers.map(({ bars }) => bars)).toEqual((await store.tickers()).map(({ bars }) => bars))
        await importer.rebuild()
        expect((await new Local(store, 'pro', null).events(KEY)).events).toEqual(await expectedEvents())
        expect(await store.verify()).toEqual([])
      }
      await importer.close()
    }
  })
})

describe('the files beside the data', () => {
  it('are sound as they are written', async () => {
    const { accounts, trials } = await filesBeside()
    expect(verifyAccounts(accounts)).toMatchObject({ rows: 3, damages: [] })
    expect(verifyTrials(trials)).toMatchObject({ rows: 2, damages: [] })
  })

  it.each([
    [
      'UPDATE counters SET credits = credits + 1',
      /^alice: the counter of the (day|hour) .* says 7 credits, and the ledger 6$/,
    ],
    [
      "DELETE FROM ledger WHERE request = 'r2'",
      /^alice: the counter of the (day|hour) .* says 6 credits, and the ledger 4$/,
    ],
    ['DELETE FROM counters', /^alice: the counter of the (day|hour) .* says 0 credits, and the ledger 6$/],
    ['UPDATE keys SET hash = upper(hash)', /^the key .{8} is not formed like one$/],
    ["UPDATE keys SET identity = 'short'", /^the key short is not formed like one$/],
    ["UPDATE accounts SET name = 'mallory'", /^the account mallory is filed wrongly$/],
    ['DELETE FROM secrets', /^the secret of the tags is not what was made$/],
    ["UPDATE ledger SET key = 'nobody00' WHERE request = 'r1'", /^1 rows of the ledger name a key that is not there/],
    ['PRAGMA foreign_keys = OFF; DELETE FROM accounts', /^rows of (keys|ledger) belong to none of accounts$/],
    [
      "PRAGMA ignore_check_constraints = ON; UPDATE accounts SET tier = 'gold'",
      /^the account alice is of no tier, but of gold$/,
    ],
  ])('are found damaged after %s', async (sql, what) => {
    const { accounts } = await filesBeside()
    changed(accounts, sql)
    const { damages } = verifyAccounts(accounts)
    expect(damages.map(damage => damage.what)).toContainEqual(expect.stringMatching(what))
  })

  it.each([
    ["UPDATE trials SET hash = replace(hash, '0', 'x') WHERE id = 2", /^the trial 2 is not like one$/],
    ['UPDATE trials SET p = 1.5 WHERE id = 1', /^the trial 1 is not like one$/],
    ["PRAGMA ignore_check_constraints = ON; UPDATE trials SET kind = 'look'", /^the trial 1 is not like one$/],
  ])('are found damaged after %s', async (sql, what) => {
    const { trials } = await filesBeside()
    changed(trials, sql)
    expect(verifyTrials(trials).damages.map(damage => damage.what)).toContainEqual(expect.stringMatching(what))
  })

  it('are found damaged where SQLite cannot read them', async () => {
    const { accounts } = await filesBeside()
    writeFileSync(accounts, readFileSync(accounts).subarray(0, 9_000))
    expect(verifyAccounts(accounts).damages).not.toEqual([])
  })
})

/** Accounts with a key and three charges, and a ledger of two trials. */
async function filesBeside(): Promise<{ accounts: string; trials: string }> {
  const folder = temporaryFolder()
  const files = { accounts: join(folder, 'bands.accounts.db'), trials: join(folder, 'bands.trials.db') }
  const accounts = openSqliteAccounts(files.accounts)
  const alice = await accounts.create('alice', 'free', iso(NOON))
  const { identity, hash } = makeKey()
  await accounts.addKey(alice.id, { identity, hash, name: 'default', created: iso(NOON), expires: null })
  const charges = ['r1', 'r2', 'r3'].map(requestId => chargeOf(alice, { requestId, key: identity, credits: 2 }))
  await accounts.charge(charges)
  await accounts.close()
  const trials = openSqliteTrials(files.trials)
  const trial = (n: number) => ({
    hash: String(n).padStart(64, '0'),
    spec: `cell ${n}`,
    p: 0.5,
    test: null,
    sharpe: null,
  })
  await trials.note('cell', [trial(1), trial(2)])
  await trials.close()
  return files
}

function changed(path: string, sql: string): void {
  const db = new Database(path)
  db.exec(sql)
  db.close()
}

let whole: Promise<string> | undefined

/** A database with bars and facts of two tickers and pulled events of a third, to which something is done. */
async function edit(sql: string): Promise<string> {
  const path = join(temporaryFolder(), 'bands.db')
  whole ??= made()
  copyFileSync(await whole, path)
  const db = databaseAt(path)
  db.exec(sql)
  db.close()
  return path
}

function databaseAt(path: string): Database {
  const db = new Database(path)
  db.function('edited', (blob: unknown) => {
    const copy = Buffer.from(blob as Buffer)
    copy[9]! ^= 0x11
    return copy
  })
  return db
}

async function made(): Promise<string> {
  const store = await loadedStore(WORLD)
  await pulledIn(store).put(pulledSeries('AAPL'))
  const copy = join(mkdtempSync(join(tmpdir(), 'bands-')), 'bands.db')
  await store.close()
  copyFileSync(store.location, copy)
  return copy
}

afterAll(async () => {
  if (whole !== undefined) rmSync(dirname(await whole), { recursive: true })
})

async function opened(path: string): Promise<Store> {
  const store = openSqlite(path, { readonly: true })
  onTestFinished(() => store.close())
  return store
}

async function expectedEvents(): Promise<unknown> {
  const store = await opened(await edit(''))
  return (await new Local(store, 'pro', null).events(KEY)).events
}
