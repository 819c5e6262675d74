import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FileLost, remedy, StorageError } from '../../src/core/errors.js'
import { formatDay } from '../../src/core/model/day.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import type { BandEvent } from '../../src/core/model/event.js'
import { readFile } from '../../src/data/feeds/read.js'
import { Importer } from '../../src/data/load/import.js'
import { type SimulatedTicker, simulatedTicker } from '../../src/data/simulate/simulate.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { openSqliteLists, openSqliteTrials } from '../../src/data/store/sqlite/lists.js'
import { MIGRATIONS } from '../../src/data/store/sqlite/schema.js'
import { type Store, type TickerSheet, UNDERIVED } from '../../src/data/store/store.js'
import { openSqliteAccounts } from '../../src/server/accounts/sqlite/accounts.js'
import { expectEnd, typed } from '../cli/support/run.js'
import { pulledSeries, simulatedRecord, storeContract } from '../contracts/store.js'
import { Database } from '../support/database.js'
import { csv, simulatedRows } from '../support/imports.js'
import { toSchema } from '../support/old-schema.js'
import { pulledIn, type Series } from '../support/pulled.js'
import { emptyImporter, sourced, temporaryFolder } from '../support/store.js'

storeContract('sqlite', async () => {
  const path = join(temporaryFolder(), 'bands.db')
  const open = async () => openSqlite(path, { readonly: false })
  return { store: await open(), again: open }
})

describe('a SQLite file', () => {
  it('is made whole: WAL is on before it has its name, every commit is synced, tables are strict', async () => {
    const path = await filled()
    const db = new Database(path, { readonly: true })
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal')
    const tables = db.pragma('table_list') as { name: string; strict: number }[]
    for (const { name, strict } of tables.filter(table => !table.name.startsWith('sqlite_')))
      expect(strict, name).toBe(1)
    db.close()
    expect(readdirSync(dirname(path)).filter(name => name.endsWith('.new'))).toEqual([])
  })

  it('is never written by a question', async () => {
    const path = await filled()
    const before = readFileSync(path)
    const store = openSqlite(path, { readonly: true })
    await store.recorded('SIM0001', 'daily', 'rsi_zone')
    await expect(store.remove('SIM0001')).rejects.toThrow(StorageError)
    await store.close()
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('is made of an empty file by an import, and a question says that it has to be', async () => {
    const path = join(temporaryFolder(), 'empty.db')
    writeFileSync(path, '')
    expect(() => openSqlite(path, { readonly: true })).toThrow(
      /empty\.db is an empty file; an import makes a database of it/,
    )
    const store = openSqlite(path, { readonly: false })
    expect(await store.tickers()).toEqual([])
    await store.close()
  })

  it('opens for writing while another process is in the middle of a commit: only taking the place has to wait', async () => {
    const path = await filled()
    const other = new Database(path)
    other.exec('BEGIN IMMEDIATE')
    const store = openSqlite(path, { readonly: false })
    expect(await store.tickers()).toHaveLength(1)
    await store.close()
    other.close()
  })

  it('answers from a copy in memory if no file can be created next to it', async () => {
    const path = await filled()
    const image = readFileSync(path)
    const folder = dirname(path)
    chmodSync(folder, 0o555)
    // Root may write anywhere, so then the question is asked as nobody.
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
    // With a home that can be looked at: settings that cannot be read are refused.
    const asNobody = { ...nobody, env: { PATH: process.env.PATH, HOME: folder } }
    const answer = spawnSync(process.execPath, ['bin/bands.js', 'status', '--json', '--db', path], asNobody)
    chmodSync(folder, 0o755)
    expect(answer.stderr.toString()).toBe('')
    expect(JSON.parse(answer.stdout.toString()).tickers).toHaveLength(1)
    expect(readFileSync(path).equals(image)).toBe(true)
    expect(readdirSync(folder)).toEqual(['bands.db'])
  })

  it('reports every kind of changed pulled event, and of what is said of them', async () => {
    const path = await filled()
    const columns = new Database(path).pragma('table_info(pulled)') as { name: string; type: string }[]
    const changes = columns.filter(({ name }) => !['ticker', 'timeframe', 'field'].includes(name))
    expect(changes.length).toBeGreaterThan(9)
    for (const { name, type } of changes) {
      const store = openSqlite(path, { readonly: false })
      await pulledIn(store).put(pulledSeries('AAPL'))
      expect(await store.verify(), name).toEqual([])
      const db = new Database(path)
      const text = name === 'state' ? "'mixed'" : `coalesce(${name}, '') || ' '`
      const changed = { INTEGER: `${name} + 1`, BLOB: `zeroblob(length(${name}))` }[type] ?? text
      db.exec(`UPDATE pulled SET ${name} = ${changed}`)
      db.close()
      const what = 'its pulled daily rsi_zone events are not what was written'
      expect(await store.verify(), name).toEqual([{ ticker: 'AAPL', what, mend: remedy('remove', ['AAPL']) }])
      await store.close()
    }
  })

  it('of an earlier schema is refused by a question, and keeps everything when it is written to', async () => {
    const path = await filled()
    const folder = temporaryFolder()
    const current = openSqlite(path, { readonly: false })
    const old = join(folder, 'old.db')
    await current.write({ sheets: [SHEET], unsettled: ['energy'] }, DEFINITIONS_VERSION)
    const expected = await everything(current)
    await current.close()
    const db = new Database(old)
    db.pragma('journal_mode = WAL')
    for (const step of MIGRATIONS.slice(0, 2)) if (typeof step === 'string') db.exec(step)
    db.pragma('user_version = 2')
    const before = new Database(path)
    toSchema(before, 5)
    before.close()
    db.exec(`ATTACH '${path}' AS current`)
    for (const table of ['meta', 'tickers', 'bars', 'series', 'events', 'facts']) {
      const had = (db.pragma(`main.table_info(${table})`) as { name: string }[]).map(({ name }) => name).join(', ')
      db.exec(`INSERT INTO main.${table} (${had}) SELECT ${had} FROM current.${table}`)
    }
    db.close()
    expect(() => openSqlite(old, { readonly: true })).toThrow(
      'was made by an older bands (schema 2, this one needs 11); a rebuild brings it up to date',
    )
    const store = openSqlite(old, { readonly: false })
    expect(await store.bars('SIM0001')).toEqual(expected.bars)
    expect(await store.definitions()).toBe(UNDERIVED)
    expect(await store.verify()).toEqual([])
    const importer = await Importer.begin(store, readFile, { pid: process.pid, host: 'here', started: 'now' })
    await importer.rebuild()
    await store.write({ unsettled: ['energy'] }, DEFINITIONS_VERSION)
    expect(await everything(store)).toEqual(expected)
    expect(await store.verify()).toEqual([])
    expect(await pulledIn(store).entries()).toEqual([])
    await pulledIn(store).put(pulledSeries('AAPL'))
    await expect(pulledIn(store).put(pulledSeries('SIM0001'))).rejects.toThrow(StorageError)
    await store.close()
    const asked = openSqlite(old, { readonly: true })
    expect(await pulledIn(asked).entries()).toHaveLength(1)
    await asked.close()
  })

  it('takes over what an earlier version pulled, page by page, and keeps the file of before', async () => {
    const path = join(temporaryFolder(), 'old.db')
    const db = new Database(path)
    db.pragma('journal_mode = WAL')
    for (const step of MIGRATIONS.slice(0, 3)) if (typeof step === 'string') db.exec(step)
    db.pragma('user_version = 3')
    const long = pulledSeries('AAPL', { events: daysOfEvents(250), total_occurrences: 240 })
    const stopped = pulledSeries('KO', { state: 'partial', events: [], under_way: underWay(daysOfEvents(100)) })
    const again = pulledSeries('PG', { state: 'mixed', under_way: underWay(daysOfEvents(100)), as_of: null })
    const none = pulledSeries('XOM', { events: [], total_occurrences: 0, etag: null })
    for (const series of [long, stopped, again, none]) insertOld(db, series)
    db.prepare("INSERT INTO meta VALUES ('pull', ?)").run(JSON.stringify(RUN))
    db.close()
    const said: string[] = []
    const store = openSqlite(path, { readonly: false, notice: sentence => said.push(sentence) })
    expect(said).toEqual([expect.stringContaining(`kept as ${path}.before-schema-4`)])
    for (const series of [long, again, none]) expect(await pulledIn(store).series(series)).toEqual(series)
    const { as_of, pulled_at, etag, total_occurrences } = stopped.under_way!
    expect(await pulledIn(store).series(stopped)).toEqual({ ...stopped, as_of, pulled_at, etag, total_occurrences })
    const { kept } = (await store.pages.series(long))!
    expect(kept.map(page => [page.before, page.etag, page.body.events.length, page.body.total_occurrences])).toEqual([
      [null, '"abc"', 100, 240],
      [long.events[150]!.date, null, 150, 140],
    ])
    expect(await store.pages.run()).toEqual(RUN)
    expect(await store.verify()).toEqual([])
    await store.close()
    const copy = new Database(`${path}.before-schema-4`, { readonly: true })
    expect(copy.prepare('SELECT count(*) FROM pulled').pluck().get()).toBe(4)
    copy.close()
  })

  it('says what each of its tables has, also where it is of an earlier version, and then without a copy', async () => {
    const path = await filled()
    const db = new Database(path)
    db.exec('DROP TABLE about; PRAGMA user_version = 8')
    db.close()
    // Until then it answers, for no question reads the table.
    const before = openSqlite(path, { readonly: true })
    expect([(await before.tickers()).length > 0, await before.verify()]).toEqual([true, []])
    await before.close()
    const said: string[] = []
    const store = openSqlite(path, { readonly: false, notice: sentence => said.push(sentence) })
    const file = new Database(path, { readonly: true })
    const names = (sql: string) => file.prepare(sql).pluck().all()
    const tables = names("SELECT name FROM sqlite_schema WHERE type = 'table'")
    const about = names('SELECT name FROM about ORDER BY rowid')
    expect(about[0]).toBe('bands.db')
    expect(about.slice(1).sort()).toEqual(tables.sort())
    for (const sentence of names('SELECT about FROM about')) expect(sentence).toMatch(/^[A-Z].*\.$/)
    file.close()
    expect([said, await store.verify()]).toEqual([[], []])
    await store.close()
  })

  it('takes the steps that it has always taken: one that was released is never edited', () => {
    const digest = (step: unknown): string => createHash('sha256').update(String(step)).digest('hex').slice(0, 16)
    expect(MIGRATIONS.slice(0, 3).map(digest)).toEqual(RELEASED)
  })

  it('is refused and left alone when it is another program’s, of a newer version, damaged, no database, or a folder', () => {
    const folder = temporaryFolder()
    const made = (name: string, sql: string): string => {
      const db = new Database(join(folder, name))
      db.exec(sql)
      db.close()
      return join(folder, name)
    }
    const written = (name: string, content: string | Buffer): string => {
      writeFileSync(join(folder, name), content)
      return join(folder, name)
    }
    mkdirSync(join(folder, 'folder.db'))
    for (const [path, message] of [
      [made('other.db', 'CREATE TABLE places (name TEXT)'), 'is a database of another program; choose another file'],
      [made('newer.db', 'PRAGMA user_version = 999'), 'was made by a newer bands'],
      [written('notes.db', 'no database, but long enough to have a header'), 'is not a SQLite database'],
      [
        written('bad.db', Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(8192, 7)])),
        /damaged|cannot open/,
      ],
      [join(folder, 'folder.db'), 'is a folder, and a database is a file'],
    ] as const) {
      const image = statSync(path).isFile() ? readFileSync(path) : null
      for (const readonly of [true, false]) {
        expect(() => openSqlite(path, { readonly }), path).toThrow(StorageError)
        expect(() => openSqlite(path, { readonly }), path).toThrow(message)
      }
      expect(() => openSqliteAccounts(path), path).toThrow(StorageError)
      if (image !== null) expect(readFileSync(path).equals(image)).toBe(true)
    }
    expect(() => openSqliteAccounts(join(folder, 'bad.db'))).toThrow('put a copy from before in its place')
    const missing = join(folder, 'missing.db')
    expect(() => openSqlite(missing, { readonly: true })).toThrow(/there is no database at/)
    expect(existsSync(missing)).toBe(false)
  })
})

describe('a file that is deleted, moved or replaced while it is written', () => {
  it.each(WRITERS)('ends %s with an error', async (_writer, begin) => {
    const [path, write] = await begin(temporaryFolder())
    rmSync(path)
    await expect(write()).rejects.toThrow(FileLost)
  })

  it.each(HAPPENINGS)('ends a command with exit code 6: %s', async (_what, happens, said) => {
    const db = join(temporaryFolder(), 'bands.db')
    const text = csv(simulatedRows(1, 60))
    const load = (stdin: string | Readable) => typed(`import - --ticker ABC --db ${db}`, { stdin })
    expect((await load(text)).code).toBe(0)
    // The same rows again: there is nothing to be written.
    const rows = (function* () {
      yield text
      happens(db)
    })()
    expectEnd(await load(Readable.from(rows)), 6, said)
  })
})

/** Digests of the schema's steps that users have databases of. */
const RELEASED = ['038ef9a184fbc5ea', '6c74116cf2afc1a2', '75c70739c9cc2f04']

const SHEET: TickerSheet = {
  ticker: 'SIM0001',
  kind: 'securities',
  sheet: {
    sources: [{ file: 'securities.csv', format: 'securities csv', imported_at: '2026-01-02T03:04:05.000Z' }],
    rows: [{ source: 0, record: { sector: 'Energy', asset_class: 'stock', market_cap: 1e9, name: null } }],
  },
}

/** All that a store with SIM0001 can be asked for. */
async function everything(store: Store) {
  return {
    definitions: await store.definitions(),
    tickers: await store.tickers(),
    bars: await store.bars('SIM0001'),
    sheets: await store.sheets('SIM0001'),
    unsettled: await store.unsettled(),
    daily: await store.recorded('SIM0001', 'daily', 'rsi_zone'),
    weekly: await store.recorded('SIM0001', 'weekly', 'macd_state'),
  }
}

/** A database with one ticker, closed. */
async function filled(): Promise<string> {
  const path = join(temporaryFolder(), 'bands.db')
  const store = openSqlite(path, { readonly: false })
  await store.write({ records: [simulatedRecord(1)] }, 'v1')
  await store.close()
  return path
}

const RUN = { id: 'run', url: 'https://bands.example', asked: 'digest', started: '2026-11-22T09:00:00.000Z' }

function daysOfEvents(count: number): BandEvent[] {
  return Array.from({ length: count }, (_, i) => {
    const [band, prev_band] = i % 2 === 0 ? ['neutral', 'oversold'] : ['oversold', 'neutral']
    return { date: formatDay(17_000 + i), band: band!, prev_band: prev_band!, duration_days: 1, aftermath: null }
  })
}

function underWay(events: BandEvent[]): Series['under_way'] {
  const told = { pulled_at: '2026-11-22T10:00:00.000Z', as_of: '2018-05-12', query_range: '5y', etag: '"new"' }
  return { ...told, total_occurrences: 180, events, before: events[0]!.date }
}

/** A row as version 3 of the schema had it. */
function insertOld(db: Database, { events, under_way, ...series }: Series): void {
  const row = {
    ...series,
    known: series.as_of ?? series.pulled_at.slice(0, 10),
    events: events.length,
    hash: 'not looked at',
    told: JSON.stringify(events),
    under_way: under_way === null ? null : JSON.stringify({ ...under_way, whole: false, mixed: false }),
  }
  const columns = Object.keys(row)
  db.prepare(`INSERT INTO pulled (${columns.join(', ')}) VALUES (${columns.map(name => `@${name}`).join(', ')})`).run(
    row,
  )
}

/** What may happen to a file while it is written, and what is then said of it. */
const HAPPENINGS = [
  ['deleted', rmSync, 'was deleted while it was written; what was written is lost'],
  ['moved', (path: string) => renameSync(path, `${path}.old`), 'was moved to'],
  ['replaced', (path: string) => replaced(path), 'was replaced by another file while it was written'],
] as const

function replaced(path: string): void {
  renameSync(path, `${path}.old`)
  writeFileSync(path, '')
}

/** Everyone who writes, begun; each then goes on to its end. */
const WRITERS: readonly [
  string,
  (folder: string) => Promise<readonly [path: string, write: () => Promise<unknown>]>,
][] = [
  ['an import of bars', folder => importing(folder, importer => importer.put([sourced(ANOTHER)]))],
  [
    'an import of bars that are there already',
    folder => importing(folder, importer => importer.put([sourced(LOADED)])),
  ],
  ['an import of facts', folder => importing(folder, importer => importer.putFacts(ANOTHER.facts, FROM))],
  ['an import of known facts', folder => importing(folder, importer => importer.putFacts(LOADED.facts, FROM))],
  ['a rebuild', folder => importing(folder, importer => importer.rebuild())],
  ['the removal of a ticker', folder => importing(folder, importer => importer.remove(LOADED.ticker))],
  ['the end of the writing', folder => importing(folder, importer => importer.close())],
  [
    'a list',
    async folder => {
      const lists = openSqliteLists(join(folder, 'bands.lists.db'))
      onTestFinished(() => lists.close())
      return [join(folder, 'bands.lists.db'), () => lists.add('mine', ['AAPL'])]
    },
  ],
  [
    'the trial log',
    async folder => {
      const trials = openSqliteTrials(join(folder, 'bands.trials.db'))
      onTestFinished(() => trials.close())
      return [join(folder, 'bands.trials.db'), () => trials.note('cell', [])]
    },
  ],
  [
    'the accounts',
    async folder => {
      const accounts = openSqliteAccounts(join(folder, 'bands.accounts.db'))
      onTestFinished(() => accounts.close())
      return [accounts.location, () => accounts.create('alice', 'free', '2026-01-02T03:04:05.000Z')]
    },
  ],
]

const [LOADED, ANOTHER] = [1, 2].map(index => simulatedTicker(index, { count: 2, bars: 60, seed: 3, end: 17_000 })) as [
  SimulatedTicker,
  SimulatedTicker,
]
const FROM = { file: 'simulate', format: 'simulated' }

async function importing(folder: string, write: (importer: Importer) => Promise<unknown>) {
  const importer = await emptyImporter(folder)
  onTestFinished(() => importer.close().catch(() => {}))
  await importer.put([sourced(LOADED)])
  await importer.putFacts(LOADED.facts, FROM)
  return [importer.store.location, () => write(importer)] as const
}
