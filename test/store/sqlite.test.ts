import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { StorageError } from '../../src/errors.js'
import { openSqlite } from '../../src/store/sqlite.js'
import { simulatedRecord, storeContract } from '../contracts/store.js'
import { temporaryFolder } from '../support/folder.js'

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

  it('is not taken for one of bands when another program made it, neither for questions nor for imports', () => {
    const path = join(temporaryFolder(), 'other.db')
    const db = new Database(path)
    db.exec('CREATE TABLE places (name TEXT)')
    db.close()
    const before = readFileSync(path)
    for (const readonly of [true, false])
      expect(() => openSqlite(path, { readonly })).toThrow(
        new StorageError(`${path} is a database of another program; choose another file`),
      )
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('is made of an empty file by an import, and a question says that it has to be', async () => {
    const path = join(temporaryFolder(), 'empty.db')
    writeFileSync(path, '')
    expect(() => openSqlite(path, { readonly: true })).toThrow(/empty\.db is an empty file; bands import FILE --db/)
    const store = openSqlite(path, { readonly: false })
    expect(await store.tickers()).toEqual([])
    await store.close()
  })

  it('tells in words that it is damaged, also when it is to be written', () => {
    const path = join(temporaryFolder(), 'bad.db')
    writeFileSync(path, Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(8192, 7)]))
    for (const readonly of [true, false]) expect(() => openSqlite(path, { readonly })).toThrow(StorageError)
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

  it('answers from a copy in memory where no file may be made beside it', async () => {
    const path = await filled()
    const image = readFileSync(path)
    const folder = dirname(path)
    chmodSync(folder, 0o555)
    // Root may write anywhere, so then the question is asked as nobody.
    const asNobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
    const answer = spawnSync(process.execPath, ['bin/bands.js', 'tickers', '--json', '--db', path], asNobody)
    chmodSync(folder, 0o755)
    expect(answer.stderr.toString()).toBe('')
    expect(JSON.parse(answer.stdout.toString()).tickers).toHaveLength(1)
    expect(readFileSync(path).equals(image)).toBe(true)
    expect(readdirSync(folder)).toEqual(['bands.db'])
  })

  it('reports every kind of changed content that SQLite itself overlooks', async () => {
    const path = await filled()
    for (const [sql, what] of [
      ['UPDATE bars SET columns = zeroblob(length(columns))', 'bars'],
      ["UPDATE series SET outcomes = zeroblob(length(outcomes)) WHERE timeframe = 'weekly'", 'weekly'],
      [
        "UPDATE events SET columns = zeroblob(length(columns)) WHERE timeframe = 'daily' AND field = 'rsi_zone'",
        'daily',
      ],
      ["DELETE FROM events WHERE timeframe = 'weekly' AND field = 'macd_state'", 'weekly'],
    ] as const) {
      const db = new Database(path)
      db.exec(`BEGIN; ${sql}; COMMIT`)
      db.close()
      const store = openSqlite(path, { readonly: true })
      const damages = await store.verify()
      expect(damages.map(damage => damage.what).join(), sql).toContain(what)
      await store.close()
    }
  })

  it('refuses what is no database, what a newer version made, and what is missing', async () => {
    const folder = temporaryFolder()
    const text = join(folder, 'notes.db')
    writeFileSync(text, 'not a database, but long enough to have a header')
    expect(() => openSqlite(text, { readonly: true })).toThrow(/is not a SQLite database/)
    expect(() => openSqlite(text, { readonly: false })).toThrow(/is not a SQLite database/)
    const newer = join(folder, 'newer.db')
    const db = new Database(newer)
    db.pragma('user_version = 999')
    db.close()
    expect(() => openSqlite(newer, { readonly: true })).toThrow(/made by a newer bands/)
    const missing = join(folder, 'missing.db')
    expect(() => openSqlite(missing, { readonly: true })).toThrow(/there is no database at/)
    expect(existsSync(missing)).toBe(false)
  })

  it('runs on the major of better-sqlite3 that Node 20 can load', async () => {
    const { version } = JSON.parse(readFileSync('node_modules/better-sqlite3/package.json', 'utf8')) as {
      version: string
    }
    expect(version.split('.')[0]).toBe('12')
  })
})

/** A database with one ticker, closed. */
async function filled(): Promise<string> {
  const path = join(temporaryFolder(), 'bands.db')
  const store = openSqlite(path, { readonly: false })
  await store.write({ records: [simulatedRecord(1)] }, 'v1')
  await store.close()
  return path
}
