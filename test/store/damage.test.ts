import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { remedy } from '../../src/core/errors.js'
import { readFile } from '../../src/data/feeds/read.js'
import { Importer } from '../../src/data/load/import.js'
import { Local } from '../../src/data/local/local.js'
import { status } from '../../src/data/local/status.js'
import { verify } from '../../src/data/local/verify.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { openSqliteLists, openSqliteTrials } from '../../src/data/store/sqlite/lists.js'
import { verifyLists, verifyTrials } from '../../src/data/store/sqlite/verify.js'
import { Damaged, type Store, UNDERIVED } from '../../src/data/store/store.js'
import { generateKey } from '../../src/server/accounts/key.js'
import { openSqliteAccounts } from '../../src/server/accounts/sqlite/accounts.js'
import { verifyAccounts } from '../../src/server/accounts/sqlite/verify.js'
import { typed } from '../cli/support/run.js'
import { chargeOf, iso, NOON } from '../contracts/accounts.js'
import { damageContract, KEY, WORLD, writer } from '../contracts/damage.js'
import { pulledSeries } from '../contracts/store.js'
import { Database } from '../support/database.js'
import { FULL, firstInQuick, notInQuick, QUICK } from '../support/full.js'
import { toDigests, toSchema } from '../support/old-schema.js'
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
  every: QUICK ? 4 : 1,
  edit,
  open: async (path, readonly) => openSqlite(path, { readonly }),
})

describe('a database of before', () => {
  it.each(firstInQuick([6, 5]))('of schema %i stays damaged in the same rows, and is derived again', async schema => {
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

describe('a database of schema 10, whose rows and chunks have SHA-256 digests', () => {
  const atDigests = async (sql = ''): Promise<string> => {
    const path = await edit('')
    const db = databaseAt(path)
    toDigests(db)
    db.exec(sql)
    db.close()
    return path
  }

  it('answers and is as it was written, before and after its schema is raised', async () => {
    const path = await atDigests()
    for (const readonly of [true, false]) {
      const store = openSqlite(path, { readonly })
      expect((await new Local(store, 'pro', null).events(KEY)).events).toEqual(await expectedEvents())
      expect(await store.verify()).toEqual([])
      await store.close()
    }
  })

  it.each([
    `UPDATE chunks SET columns = edited(columns) WHERE ${OF_FIRST} AND part = 'prices'`,
    `UPDATE chunks SET columns = edited(columns) WHERE ${OF_FIRST} AND part = 'events'`,
    "UPDATE tickers SET bars = bars + 1 WHERE ticker = 'SIM0001'",
    `UPDATE series SET events = events + 1 WHERE ${OF_FIRST}`,
    "UPDATE tickers SET hash = 'x' || substr(hash, 2) WHERE ticker = 'SIM0001'",
  ])('names what is damaged: %s', async sql => {
    const store = openSqlite(await atDigests(sql), { readonly: true })
    expect([...new Set((await store.verify()).map(({ ticker }) => ticker))]).toEqual(['SIM0001'])
  })

  it('gets checksums where it is written again, and stays as it was written', async () => {
    const path = await atDigests()
    const importer = await Importer.begin(openSqlite(path, { readonly: false }), readFile, writer())
    await importer.rebuild()
    await importer.close()
    const store = openSqlite(path, { readonly: true })
    expect(await store.verify()).toEqual([])
    const db = databaseAt(path)
    const first = (column: string, table: string): unknown[] =>
      db.prepare(`SELECT DISTINCT substr(${column}, 1, 1) FROM ${table}`).pluck().all()
    expect(first('hash', 'series')).toEqual(['x'])
    expect(first("chunks ->> '$.events'", 'series')).toEqual(['x'])
    expect(first("chunks ->> '$.prices'", 'tickers')).toEqual(['x'])
    db.close()
  })
})

describe('a flipped bit in a row about the whole database', () => {
  it('is named by verify with its remedy, stops every question, and is mended by the next writer', async () => {
    const path = await edit('')
    const other = databaseAt(path)
    const store = await opened(path)
    await notedRun(path)
    const flips = flipsOf(other, 'meta').filter(({ bit }) => bit % (QUICK ? 43 : 5) === 0)
    expect(flips.length).toBeGreaterThan(QUICK ? 10 : 100)
    for (const { row, column, flip, undo, what } of flips) {
      flip()
      expect(
        (await store.verify()).map(({ mend }) => mend?.command),
        what,
      ).toContain('rebuild')
      const isOfWriter = row.key === 'writer' && column !== 'key'
      if (!isOfWriter) await expect(store.unsettled(), what).rejects.toThrow(Damaged)
      undo()
    }
    expect(await store.verify()).toEqual([])
    for (const key of ['definitions', 'unsettled', 'pull']) {
      other.exec(`UPDATE meta SET value = value || ' ' WHERE key = '${key}'`)
      const importer = await Importer.begin(openSqlite(path, { readonly: false }), readFile, writer())
      await importer.rebuild()
      await importer.close()
      expect(await store.verify(), key).toEqual([])
      expect((await new Local(store, 'pro', null).events(KEY)).events).toEqual(await expectedEvents())
    }
    other.close()
  })

  it('is named in the table about, and is mended by a rebuild', async () => {
    const path = await edit('')
    const store = openSqlite(path, { readonly: false })
    const other = databaseAt(path)
    const flips = flipsOf(other, 'about').filter(({ bit }) => bit % (QUICK ? 173 : 29) === 0)
    expect(flips.length).toBeGreaterThan(QUICK ? 10 : 100)
    for (const { flip, undo, what } of flips) {
      flip()
      expect(
        (await store.verify()).map(({ mend }) => mend?.command),
        what,
      ).toEqual(['rebuild'])
      undo()
    }
    other.exec('DELETE FROM about')
    const importer = await Importer.begin(store, readFile, writer())
    await importer.rebuild()
    expect(await store.verify()).toEqual([])
    await importer.close()
    other.close()
  })

  it('is named in the row of a writer', async () => {
    const path = await edit('')
    const store = openSqlite(path, { readonly: false })
    await store.lock(writer())
    const other = databaseAt(path)
    for (const { flip, undo, what } of flipsOf(other, 'writer').filter(
      ({ column, bit }) => column !== 'place' && bit % (QUICK ? 17 : 1) === 0,
    )) {
      flip()
      expect(
        (await store.verify()).map(({ mend }) => mend?.command),
        what,
      ).toEqual(['unlock'])
      undo()
    }
    other.close()
    await store.close()
  })

  notInQuick('and in lists, trials and accounts never makes a command say that bands is at fault', async () => {
    const folder = temporaryFolder()
    const say = (line: string) => typed(line, { env: { BANDS_DB: join(folder, 'bands.db'), HOME: folder } })
    for (const line of MADE) expect((await say(line)).code, line).toBe(0)
    for (const [file, { tables, lines }] of Object.entries(TABLES_ASIDE)) {
      const path = join(folder, file)
      const sound = readFileSync(path)
      for (const table of tables) {
        // A prime number apart, so that bits of each place of a byte are among them.
        const flips = readingFlips(path, table).filter((_flip, i) => i % (FULL ? 101 : 1_009) === 0)
        for (const { what, change } of flips) {
          if (!change()) continue
          const verified = await say('verify')
          expect([0, 5], what).toContain(verified.code)
          for (const line of lines) expect((await say(line)).code, `${what}: ${line}`).not.toBe(1)
          for (const ending of ['-wal', '-shm']) rmSync(path + ending, { force: true })
          writeFileSync(path, sound)
        }
      }
    }
  })
})

/** One of everything that the rows below are about. */
const MADE = [
  'simulate 2 --bars 300 --load',
  'watch add mine SIM0001',
  "conditions add cond 'rsi_zone = neutral'",
  'changes --since last --watch mine',
  'study SIM0001 rsi_zone',
  'accounts create alice --tier free',
  'keys create alice',
]

/** Tables outside the bars and events, and commands that read or change them. */
const TABLES_ASIDE: Record<string, { tables: readonly string[]; lines: readonly string[] }> = {
  'bands.db': {
    tables: ['meta', 'listed', 'about'],
    lines: ['status', 'doctor', 'events SIM0001 rsi_zone', 'now SIM0001', 'simulate 2 --bars 300 --load'],
  },
  'bands.lists.db': {
    tables: ['lists', 'list_tickers', 'seen', 'seen_fields'],
    lines: [
      'watch',
      'watch show mine',
      'now --watch mine',
      'now --watch cond',
      'screen @cond',
      'changes --since last --watch mine',
    ],
  },
  'bands.trials.db': {
    tables: ['trials'],
    lines: ['trials', 'study SIM0001 rsi_zone --family ledger'],
  },
  'bands.accounts.db': {
    tables: ['accounts', 'keys', 'secrets'],
    lines: ['accounts list', 'keys list', 'accounts usage alice --reconcile', 'accounts set-tier alice plus'],
  },
}

/** A pull that has not come to its end. */
async function notedRun(path: string): Promise<void> {
  const store = openSqlite(path, { readonly: false })
  await store.pages.setRun({ id: 'run', url: 'https://bands.example', asked: 'x', started: '2026-01-02T03:04:05.000Z' })
  await store.close()
}

type Cell = string | number | Buffer | null
type Bits = number | bigint | Buffer

/** Every bit of every value of a table, each to be flipped and put back. */
function flipsOf(db: Database, table: string) {
  const rows = db.prepare(`SELECT * FROM ${table}`).all() as Record<string, Cell>[]
  return rows.flatMap(row =>
    Object.keys(row).flatMap(column => {
      const value = row[column]!
      const bytes = bytesOf(value)
      return Array.from({ length: bytes.length * 8 }, (_, bit) => {
        const changed = Buffer.from(bytes)
        changed[bit >> 3]! ^= 1 << (bit & 7)
        const put = (from: Bits, to: Bits): void => {
          const of = (name: string) => (typeof value === 'string' ? `CAST(@${name} AS TEXT)` : `@${name}`)
          const where = Object.keys(row).map(name => `${name} IS ${name === column ? of('from') : `@${name}`}`)
          const sql = `UPDATE ${table} SET ${column} = ${of('to')} WHERE ${where.join(' AND ')}`
          expect(db.prepare(sql).run({ ...row, from, to }).changes).toBe(1)
        }
        const [before, after]: Bits[] = typeof value === 'number' ? [value, numberIn(value, changed)] : [bytes, changed]
        const flip = (): void => put(before!, after!)
        const undo = (): void => put(after!, before!)
        return { row, column, bit, flip, undo, what: `${table} ${column} ${JSON.stringify(value)}, bit ${bit}` }
      })
    }),
  )
}

function bytesOf(value: Cell): Buffer {
  if (value === null) return Buffer.alloc(0)
  if (typeof value !== 'number') return Buffer.from(value as string)
  const bytes = Buffer.alloc(8)
  if (Number.isInteger(value)) bytes.writeBigInt64BE(BigInt(value))
  else bytes.writeDoubleBE(value)
  return bytes
}

function numberIn(before: number, bytes: Buffer): number | bigint {
  return Number.isInteger(before) ? bytes.readBigInt64BE() : bytes.readDoubleBE()
}

/** The same, each made through a connection of its own, so that commands see it. */
function readingFlips(path: string, table: string) {
  const db = new Database(path, { readonly: true })
  const all = flipsOf(db, table).map(({ what }) => what)
  db.close()
  return all.map((what, i) => ({
    what,
    change: () => {
      const own = new Database(path)
      own.pragma('foreign_keys = OFF')
      own.pragma('ignore_check_constraints = ON')
      try {
        flipsOf(own, table)[i]!.flip()
        return true
      } catch (error) {
        // The key of another row cannot be written by way of SQL.
        if ((error as { code?: string }).code?.startsWith('SQLITE_CONSTRAINT')) return false
        throw error
      } finally {
        own.close()
      }
    },
  }))
}

describe('the files next to the data', () => {
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
    ["UPDATE accounts SET name = 'mallory'", /^the account mallory is filed under another name$/],
    ['DELETE FROM secrets', /^the secret of the tags is not what was made$/],
    ["UPDATE ledger SET key = 'nobody00' WHERE request = 'r1'", /^1 rows of the ledger name a key that is not there/],
    ['PRAGMA foreign_keys = OFF; DELETE FROM accounts', /^rows of (keys|ledger) belong to none of accounts$/],
    [
      "PRAGMA ignore_check_constraints = ON; UPDATE accounts SET tier = 'gold'",
      /^the account alice has the unknown tier gold$/,
    ],
  ])('are found damaged after %s', async (sql, what) => {
    const { accounts } = await filesBeside()
    changed(accounts, sql)
    const { damages } = verifyAccounts(accounts)
    expect(damages.map(damage => damage.what)).toContainEqual(expect.stringMatching(what))
  })

  it.each([
    ["UPDATE trials SET hash = replace(hash, '0', 'x') WHERE id = 2", /^the trial 2 is not what was written$/],
    ['UPDATE trials SET p = 0.25 WHERE id = 1', /^the trial 1 is not what was written$/],
    ["PRAGMA ignore_check_constraints = ON; UPDATE trials SET kind = 'look'", /^the trial 1 is not what was written$/],
  ])('are found damaged after %s', async (sql, what) => {
    const { trials } = await filesBeside()
    changed(trials, sql)
    expect(verifyTrials(trials).damages.map(damage => damage.what)).toContainEqual(expect.stringMatching(what))
  })

  it('name a flipped bit in any row of lists, trials, accounts and keys', async () => {
    const { accounts, lists, trials } = await filesBeside()
    for (const [path, look, tables] of [
      [lists, verifyLists, ['lists', 'list_tickers', 'seen', 'seen_fields']],
      [trials, verifyTrials, ['trials']],
      [accounts, verifyAccounts, ['accounts', 'keys']],
    ] as const) {
      const other = new Database(path)
      other.pragma('foreign_keys = OFF')
      other.pragma('ignore_check_constraints = ON')
      for (const table of tables) {
        // An id only says in which order rows came, and every answer may change last_used.
        const flips = flipsOf(other, table).filter(
          ({ column, bit }) => !['id', 'last_used'].includes(column) && bit % (QUICK ? 35 : 7) === 0,
        )
        expect(flips.length).toBeGreaterThan(QUICK ? 4 : 20)
        for (const { flip, undo, what } of flips) {
          flip()
          expect(look(path).damages, what).not.toEqual([])
          undo()
        }
      }
      expect(look(path).damages).toEqual([])
      other.close()
    }
  })

  it('name the command that takes a damaged list, ticker or mark out', async () => {
    const { lists: path } = await filesBeside()
    changed(
      path,
      "UPDATE lists SET condition = 'rsi_zone = deep' WHERE name = 'cond'; UPDATE list_tickers SET ticker = 'AAPM'",
    )
    changed(path, 'UPDATE seen SET day = day + 64')
    expect(verifyLists(path).damages).toEqual([
      { ticker: '', what: 'the list "cond" is not what was written', mend: remedy('watch remove', ['cond']) },
      {
        ticker: '',
        what: '"AAPM" in the list "mine" is not what was written',
        mend: remedy('watch remove', ['mine', 'AAPM']),
      },
      {
        ticker: '',
        what: 'the day up to which changes of "AAPL" ("daily") were reported for "mine" is not what was written',
        mend: remedy('watch remove', ['mine']),
      },
    ])
    const lists = openSqliteLists(path)
    // A day moved on would leave out changes in silence.
    await expect(lists.readMarks('mine')).rejects.toThrow(Damaged)
    await expect(lists.saveMarks('mine', [{ ticker: 'AAPL', timeframe: 'daily', day: 20_000 }])).rejects.toThrow(
      Damaged,
    )
    await lists.renameTicker('AAPM', 'AAPN')
    await lists.renameTicker('AAPL', 'AAPK')
    expect(verifyLists(path).damages).toHaveLength(3)
    for (const { mend } of verifyLists(path).damages) {
      const [name, ...tickers] = mend!.words as [string, ...string[]]
      await (tickers.length > 0 ? lists.removeTickers(name, ['AAPN']) : lists.remove(name))
    }
    expect(verifyLists(path).damages).toEqual([])
    expect(await lists.readMarks('mine')).toEqual([])
    await lists.close()
  })

  it('keep a key damaged whose revocation was undone, and stay sound after each change of accounts and keys', async () => {
    const { accounts: path } = await filesBeside()
    const accounts = openSqliteAccounts(path)
    const [key] = await accounts.keys()
    await accounts.setTier('alice', 'pro')
    await accounts.roll(key!.identity, { ...generateKey(), name: 'next', created: iso(NOON), expires: null }, iso(NOON))
    await accounts.revoke(key!.identity, iso(NOON))
    expect(verifyAccounts(path).damages).toEqual([])
    changed(path, `UPDATE keys SET revoked = NULL WHERE identity = '${key!.identity}'`)
    await accounts.revoke(key!.identity, iso(NOON + 1))
    expect(verifyAccounts(path).damages.map(({ what }) => what)).toEqual([
      `the key ${key!.identity} is not what was written`,
    ])
    await accounts.close()
  })

  it('keep a damaged trial damaged when it is noted again', async () => {
    const { trials: path } = await filesBeside()
    changed(path, "UPDATE trials SET spec = 'cell 3' WHERE id = 1")
    const trials = openSqliteTrials(path)
    const hash = '1'.padStart(64, '0')
    await trials.note('cell', [{ hash, spec: 'cell 1', p: 0.4, test: 'shift', sharpe: null }])
    await trials.close()
    expect(verifyTrials(path).damages.map(({ what }) => what)).toEqual(['the trial 1 is not what was written'])
  })

  it.each(["tier = 'gree'", 'created = 9007199254740993'])('say so where an account has %s', async set => {
    const { accounts: path } = await filesBeside()
    changed(path, `PRAGMA ignore_check_constraints = ON; UPDATE accounts SET ${set}`)
    expect(verifyAccounts(path).damages).toHaveLength(1)
    const accounts = openSqliteAccounts(path)
    await expect(accounts.accounts()).rejects.toThrow('the accounts are damaged: the account "alice" has')
    await accounts.close()
  })

  it('are found damaged where SQLite cannot read them', async () => {
    const { accounts } = await filesBeside()
    writeFileSync(accounts, readFileSync(accounts).subarray(0, 9_000))
    expect(verifyAccounts(accounts).damages).not.toEqual([])
  })
})

/** Accounts with a key and three charges, a ledger of two trials, and two lists with marks. */
async function filesBeside(): Promise<{ accounts: string; trials: string; lists: string }> {
  const folder = temporaryFolder()
  const fileOf = (name: string): string => join(folder, `bands.${name}.db`)
  const files = { accounts: fileOf('accounts'), trials: fileOf('trials'), lists: fileOf('lists') }
  const accounts = openSqliteAccounts(files.accounts)
  const alice = await accounts.create('alice', 'free', iso(NOON))
  const { identity, hash } = generateKey()
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
  const lists = openSqliteLists(files.lists)
  await lists.add('mine', ['AAPL'])
  await lists.addCondition('cond', 'rsi_zone = neutral')
  const mark = { ticker: 'AAPL', timeframe: 'daily' } as const
  await lists.saveMarks('mine', [
    { ...mark, day: 19_000 },
    { ...mark, day: 18_000, field: 'growth_zone' },
  ])
  await lists.close()
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
