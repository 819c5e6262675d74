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
import { simulatedTickers } from '../../src/simulate/simulate.js'
import { openSqliteAccounts } from '../../src/store/sqlite/accounts.js'
import { openSqlite } from '../../src/store/sqlite/data.js'
import { openSqliteTrials } from '../../src/store/sqlite/trials.js'
import { verifyAccounts, verifyTrials } from '../../src/store/sqlite/verify.js'
import { type Damage, Damaged, type Store, UNDERIVED, type Writer } from '../../src/store/store.js'
import { now } from '../../src/tally/now.js'
import { chargeOf, iso, NOON } from '../contracts/accounts.js'
import { pulledSeries } from '../contracts/store.js'
import { Database } from '../support/database.js'
import { toSchema } from '../support/old-schema.js'
import { pulledIn } from '../support/pulled.js'
import { loadedStore, sourced, temporaryFolder } from '../support/store.js'

const KEY = { ticker: 'SIM0001', timeframe: 'daily', field: 'rsi_zone', limit: 10 } as const
const PULLED = { ticker: 'AAPL', timeframe: 'daily', field: 'rsi_zone' } as const
const OF_FIRST = "ticker_id = (SELECT id FROM tickers WHERE ticker = 'SIM0001')"

const DAILY = "timeframe = 'daily'"

/** Those of the other ticker. */
const OTHERS_BARS = `UPDATE chunks SET columns = (SELECT columns FROM chunks other WHERE other.part = 'prices'
  AND other.chunk = chunks.chunk AND other.ticker_id <> chunks.ticker_id) WHERE ${OF_FIRST} AND part = 'prices'`

/** The last chunk of a part, as it was when its ticker had fewer bars. */
function cutShort(part: string): string {
  const of = `${OF_FIRST} AND ${DAILY} AND part = '${part}'`
  return `DELETE FROM chunks WHERE ${of} AND chunk = (SELECT max(chunk) FROM chunks WHERE ${of})`
}

/** One byte of each chunk of a part of the first ticker. */
function ofPart(part: string): string {
  return `UPDATE chunks SET columns = edited(columns) WHERE ${OF_FIRST} AND ${DAILY} AND part = '${part}'`
}

type Question = (store: Store) => Promise<unknown>

const ask: Question = store => new Local(store, 'pro', null).events(KEY)
const whatFollowed: Question = store => store.recorded('SIM0001', 'daily', 'rsi_zone')
const bars: Question = store => store.bars('SIM0001')
const facts: Question = store => store.sheets('SIM0001')
const securities: Question = store => store.securities()
const pulled: Question = store => store.pages.series(PULLED)

/** What is done to a database, what is found then, and which question comes upon it. */
const EDITS: readonly [what: string, sql: string, found: string, question: Question][] = [
  ['a ticker that is gone', "DELETE FROM tickers WHERE ticker = 'SIM0001'", 'SIM0001: its bars are missing', ask],
  [
    'a ticker under another name',
    "UPDATE tickers SET ticker = 'SIM0009' WHERE ticker = 'SIM0001'",
    'SIM0001: its bars are missing',
    ask,
  ],
  [
    'another last day',
    "UPDATE tickers SET last_date = '2031-01-01' WHERE ticker = 'SIM0001'",
    'SIM0001: what is said of it (dates, prices, source) is not what was written',
    ask,
  ],
  [
    'another source',
    "UPDATE tickers SET source = 'x.csv' WHERE ticker = 'SIM0001'",
    'SIM0001: what is said of it (dates, prices, source) is not what was written',
    ask,
  ],
  ['bars of another ticker', OTHERS_BARS, 'SIM0001: its bars are not what was written', bars],
  ['a close that is doubled', ofPart('prices'), 'SIM0001: its bars are not what was written', bars],
  ['bars that are gone', `DELETE FROM chunks WHERE ${OF_FIRST}`, 'SIM0001: its bars are missing', bars],
  ['a chunk of bars that is gone', cutShort('prices'), 'SIM0001: its bars are missing', bars],
  [
    'bars that are counted from another one on',
    `UPDATE chunks SET chunk = 7 WHERE ${OF_FIRST} AND part = 'prices' AND chunk = 1`,
    'SIM0001: its bars are not what was written',
    bars,
  ],
  ['other dates of a series', ofPart('calendar'), 'SIM0001: its daily series is not what was written', ask],
  ['a rank of a return', ofPart('outcomes'), 'SIM0001: its daily series is not what was written', whatFollowed],
  ['dates of a series that are gone', cutShort('calendar'), 'SIM0001: its daily series is missing', ask],
  [
    'another number of bars of a series',
    `UPDATE series SET bars = bars + 1 WHERE ${OF_FIRST} AND ${DAILY}`,
    'SIM0001: its daily series is not what was written',
    ask,
  ],
  [
    'a series that is gone',
    `DELETE FROM series WHERE ${OF_FIRST} AND timeframe = 'daily'`,
    'SIM0001: its daily series is missing',
    ask,
  ],
  ['a date of an event', ofPart('events'), 'SIM0001: its daily events are not what was written', ask],
  ['events that are gone', cutShort('events'), 'SIM0001: its daily events are missing', ask],
  [
    'events of another field',
    `UPDATE series SET fields = replace(fields, 'macd_state', 'rsi_zone') WHERE ${OF_FIRST} AND ${DAILY}`,
    'SIM0001: its daily series is not what was written',
    ask,
  ],
  [
    'facts that are gone',
    "DELETE FROM facts WHERE ticker = 'SIM0001' AND kind = 'reports'",
    'SIM0001: its reports are missing',
    facts,
  ],
  [
    'facts of another ticker',
    "UPDATE facts SET ticker = 'SIM0009' WHERE ticker = 'SIM0001' AND kind = 'reports'",
    'SIM0001: its reports are missing',
    facts,
  ],
  [
    'all facts of another ticker',
    "UPDATE facts SET ticker = 'SIM0009' WHERE ticker = 'SIM0001'",
    'SIM0001: its earnings are missing',
    facts,
  ],
  [
    'another sector',
    "UPDATE facts SET sheet = replace(sheet, 'stock', 'crypto') WHERE ticker = 'SIM0001' AND kind = 'securities'",
    'SIM0001: its securities are not what was written',
    securities,
  ],
  [
    'pulled events that are gone',
    "DELETE FROM pulled WHERE ticker = 'AAPL'",
    'AAPL: its pulled daily rsi_zone events are missing',
    pulled,
  ],
  [
    'pulled events of another ticker',
    "UPDATE pulled SET ticker = 'KO' WHERE ticker = 'AAPL'",
    'AAPL: its pulled daily rsi_zone events are missing',
    pulled,
  ],
]

describe('a row that is not what was written', () => {
  it.each(EDITS)('is found by a verification and answers no question: %s', async (_what, sql, found, question) => {
    const path = await edit(sql)
    const store = await opened(path)
    expect((await store.verify()).map(({ ticker, what }) => `${ticker}: ${what}`)).toContain(found)
    const error = await question(store).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Damaged)
    expect((error as Damaged).message).toContain(
      `${path} is damaged: ${found}; mend that, or put a backup in its place`,
    )
    expect((error as Damaged).remedy).not.toBeNull()
  })

  it.each(EDITS.filter(([, , , question]) => question === ask))(
    'is found by a question of many series at once, of whose outcomes nothing is asked: %s',
    async (_what, sql, found) => {
      const local = new Local(await opened(await edit(sql)), 'pro', null)
      const tickers = WORLD.map(({ ticker }) => ticker).sort()
      const asked = now(local, { tickers, fields: ['rsi_zone', 'macd_state'], timeframe: 'daily' })
      await expect(asked).rejects.toThrow(found)
    },
  )

  it.each([
    [
      'a number of events',
      `UPDATE series SET events = events + 1 WHERE ${DAILY}`,
      'daily series is not what was written',
    ],
    [
      'a number of events of a field',
      `UPDATE series SET fields = json_set(fields, '$.rsi_zone[2]', 7) WHERE ${DAILY}`,
      'daily series is not what was written',
    ],
    [
      'a field that is gone',
      `UPDATE series SET fields = json_remove(fields, '$.rsi_zone') WHERE ${DAILY}`,
      'daily series is not what was written',
    ],
    [
      'a field too many',
      `UPDATE series SET fields = json_set(fields, '$.x', json('[0,0,0]')) WHERE ${DAILY}`,
      'daily series is not what was written',
    ],
    ['a series that is gone', "DELETE FROM series WHERE timeframe = 'daily'", 'daily series is missing'],
  ])('is found where its events are counted: %s', async (_what, sql, found) => {
    const store = await opened(await edit(sql))
    await expect(store.summaries()).rejects.toThrow(found)
  })

  it('is no reason to refuse what does not stand on it', async () => {
    const store = await opened(await edit(ofPart('prices')))
    const local = new Local(store, 'pro', null)
    for (const key of [KEY, { ...KEY, ticker: 'SIM0002' }]) expect((await local.events(key)).events).not.toEqual([])
    await expect(store.bars('SIM0002')).resolves.not.toBeNull()
  })

  it('of one ticker changes nothing about the others, nor about which day it is', async () => {
    const sound = await opened(await edit(''))
    for (const day of ['2031-01-01', '2001-01-01']) {
      const store = await opened(await edit(`UPDATE tickers SET last_date = '${day}' WHERE ticker = 'SIM0001'`))
      expect(await store.newestDay()).toBe(await sound.newestDay())
      const key = { ...KEY, ticker: 'SIM0002' }
      const [told, expected] = [new Local(store, 'pro', null), new Local(sound, 'pro', null)]
      expect(await told.events(key)).toEqual(await expected.events(key))
      await expect(store.tickers()).rejects.toThrow(Damaged)
      expect(await told.tickers()).toEqual(await expected.tickers())
    }
    const lacking = await opened(await edit("DELETE FROM tickers WHERE ticker = 'SIM0001'"))
    await expect(lacking.tickers()).rejects.toThrow('SIM0001: its bars are missing')
  })

  it('tells of many tickers what is damaged in its turn, after those before it', async () => {
    const tickers = ['SIM0002', 'SIM0002', 'SIM0001', 'SIM0002']
    for (const [what, sql, found] of EDITS.filter(([, , , question]) => question === ask)) {
      const store = await opened(await edit(sql))
      const read: string[] = []
      const reading = async (): Promise<void> => {
        const query = { tickers, timeframe: 'daily', fields: ['rsi_zone'], outcomes: true } as const
        for await (const series of store.series(query)) read.push(series!.entry.ticker)
      }
      await expect(reading(), what).rejects.toThrow(found)
      expect(read, what).toEqual(tickers.slice(0, 2))
    }
  })

  it.each(EDITS)('is mended by what the message names: %s', async (_what, sql) => {
    const path = await edit(sql)
    const importer = await Importer.begin(openSqlite(path, { readonly: false }), readFile, writer())
    onTestFinished(() => importer.close())
    const { store } = importer
    for (let left = 4, found = await store.verify(); found.length > 0; found = await store.verify()) {
      await mended(importer, found[0]!).catch(ofAnother)
      expect(left--, JSON.stringify(found)).toBeGreaterThan(0)
    }
    if (sql.includes('pulled')) return
    expect((await new Local(store, 'pro', null).events(KEY)).events).toEqual(await expectedEvents())
  })
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

/** Does what is said to mend a damage. */
async function mended(importer: Importer, { ticker, mend }: Damage): Promise<unknown> {
  const [one, two] = WORLD
  const facts = [one!, two!].flatMap(of => of.facts).filter(of => of.ticker === ticker)
  if (mend?.command === 'remove') return importer.remove(mend.words![0]!)
  if (mend?.command === 'rebuild') return importer.rebuild()
  if (mend?.command === 'import-facts') return importer.putFacts(facts, SOURCE, { replace: true })
  return importer.put([sourced(one!)], { replace: true })
}

/** What was mended is written; what stands on it waits until everything else is. */
function ofAnother(error: unknown): void {
  expect(error).toBeInstanceOf(Damaged)
}

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

const WORLD = [...simulatedTickers({ count: 2, bars: 300, seed: 3, end: 17_000 })]
const SOURCE = { file: 'simulate', format: 'simulated' }

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

function writer(): Writer {
  return { pid: process.pid, host: 'here', started: new Date().toISOString() }
}

async function expectedEvents(): Promise<unknown> {
  const store = await opened(await edit(''))
  return (await new Local(store, 'pro', null).events(KEY)).events
}
