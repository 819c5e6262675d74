import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { openForReading, openForWriting } from '../../src/data/store/sqlite/connection.js'
import { schemaOf } from '../../src/data/store/sqlite/migrations.js'
import { Database } from '../support/database.js'
import { notInQuick } from '../support/full.js'
import { bundled, started } from '../support/processes.js'
import { smallDisk, temporaryFolder } from '../support/store.js'
import { NOTES, oldNotes } from './notes.js'

describe('a step that repacks a table', () => {
  it('is taken after the file was copied as it was, and the copy is named', () => {
    const path = join(temporaryFolder(), 'notes.db')
    oldNotes(path, 300)
    const before = contentOf(path)
    const said: string[] = []
    openForWriting(path, NOTES, sentence => said.push(sentence)).close()
    const copy = `${path}.before-schema-3`
    expect(said).toEqual([`${path} has a new schema; as it was before, it is kept as ${copy}, which may be deleted.`])
    expect(contentOf(copy)).toEqual(before)
    expect(statSync(copy).mode & 0o777).toBe(statSync(path).mode & 0o777)
    expect(schemaAt(path)).toBe(4)
    expect(texts(path).slice(0, 2)).toEqual(['NOTE 0', 'NOTE 1'])
    // Once: a file that is up to date is only opened.
    openForWriting(path, NOTES, sentence => said.push(sentence)).close()
    expect(said).toHaveLength(1)
    expect(filesBeside(path)).toEqual(['notes.db.before-schema-3'])
  })

  it('copies nothing of a file that is just being made, or that lacks later steps alone', () => {
    const path = join(temporaryFolder(), 'notes.db')
    openForWriting(path, NOTES).close()
    const db = new Database(path)
    db.exec('DROP INDEX notes_by_text; PRAGMA user_version = 3')
    db.close()
    openForWriting(path, NOTES).close()
    expect(schemaAt(path)).toBe(4)
    expect(filesBeside(path)).toEqual([])
  })

  it('gives a file that can be put in its place again, whose copy is then one more', () => {
    const path = join(temporaryFolder(), 'notes.db')
    oldNotes(path, 10)
    openForWriting(path, NOTES).close()
    copyFileSync(`${path}.before-schema-3`, path)
    const old = new Database(path)
    old.exec("INSERT INTO notes (text) VALUES ('later')")
    old.close()
    openForWriting(path, NOTES).close()
    expect(texts(path)).toContain('LATER')
    expect(texts(`${path}.before-schema-3`)).not.toContain('later')
    expect(texts(`${path}.before-schema-3-2`)).toContain('later')
  })

  it('copies committed data while a reader has the file open and keeps reading', () => {
    const path = join(temporaryFolder(), 'notes.db')
    oldNotes(path, 50)
    const reader = new Database(path, { readonly: true })
    reader.exec('BEGIN')
    const count = reader.prepare('SELECT count(*) AS n FROM notes')
    expect(count.get()).toEqual({ n: 50 })
    openForWriting(path, NOTES).close()
    expect(count.get()).toEqual({ n: 50 })
    expect(reader.prepare('SELECT text FROM notes WHERE id = 1').pluck().get()).toBe('note 0')
    reader.close()
  })

  it('is not taken where the file is damaged', () => {
    const path = join(temporaryFolder(), 'notes.db')
    oldNotes(path, 300)
    const bytes = readFileSync(path)
    bytes.fill(0xff, 40_960, 45_056)
    writeFileSync(path, bytes)
    expect(() => openForWriting(path, NOTES)).toThrow(/damaged|has to be copied/)
    expect(readFileSync(path).equals(bytes)).toBe(true)
    expect(readdirSync(join(path, '..')).filter(name => name.includes('before'))).toEqual([])
  })
})

describe('without room for the copy', () => {
  it('the step is refused, saying how much is needed, and nothing is changed', ({ skip }) => {
    const small = smallDisk('3m')
    if (small === null) return skip('no disk of its own can be had here')
    const path = join(small, 'notes.db')
    oldNotes(path, 1_500)
    const before = contentOf(path)
    expect(() => openForWriting(path, NOTES)).toThrow(
      /has to be copied to .*notes\.db\.before-schema-3 before its schema changes, and cannot be \(\d\.\d MB are free\); the copy needs \d\.\d MB in .*\. Nothing was changed\.$/,
    )
    expect(contentOf(path)).toEqual(before)
    expect(schemaAt(path)).toBe(2)
    expect(readdirSync(small).filter(name => name.includes('before'))).toEqual([])
  })

  notInQuick('a copy that cannot be finished is taken away, and nothing is changed', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'notes.db')
    oldNotes(path, 1_500)
    const program = await bundled('test/store/migrating-process.ts', folder)
    // A limit on the size of files stands for a disk that is full sooner than it said.
    const words = ['-c', `ulimit -f 600; exec "$0" "$@"`, process.execPath, program, path, '0']
    const ran = spawnSync('bash', words, { env: { ...process.env, NODE_PATH: join(process.cwd(), 'node_modules') } })
    expect(ran.status).not.toBe(0)
    expect(ran.stderr.toString()).toMatch(/has to be copied to .* the copy needs \d\.\d MB/)
    expect(schemaAt(path)).toBe(2)
    expect(readdirSync(folder).filter(name => name.includes('before'))).toEqual([])
  })
})

notInQuick(
  'a run that is killed while it copies or repacks leaves the file as it was, and the next does it again',
  async () => {
    const folder = temporaryFolder()
    const program = await bundled('test/store/migrating-process.ts', folder)
    for (const [name, waitsFor] of [
      ['copying.db', '.before-schema-3.partial'],
      ['repacking.db', '.before-schema-3'],
    ] as const) {
      const path = join(folder, name)
      oldNotes(path, 10_000)
      const before = contentOf(path)
      const run = started(program, [path, '60000'])
      // A machine with other work may see the copy only once it is whole.
      while (![waitsFor, '.before-schema-3'].some(end => existsSync(path + end))) await sleep(1)
      run.child.kill('SIGKILL')
      expect(await run.ended).toBeNull()
      expect([schemaAt(path), contentOf(path)], name).toEqual([2, before])
      const again = started(program, [path, '0'])
      expect(await again.ended).toBe(0)
      expect(again.lines(), name).toEqual([expect.stringContaining(`kept as ${path}.before-schema-3, which`)])
      expect(contentOf(`${path}.before-schema-3`)).toEqual(before)
      expect(schemaAt(path)).toBe(4)
      expect(filesBeside(path)).toEqual([`${name}.before-schema-3`])
    }
  },
)

/** Files whose names begin with that of a database, without those of SQLite. */
function filesBeside(path: string): string[] {
  const own = readdirSync(dirname(path)).filter(file => file.startsWith(`${basename(path)}.`))
  return own.filter(file => !/-(wal|shm)$/.test(file)).sort()
}

function schemaAt(path: string): number {
  const db = openForReading(path, NOTES)
  try {
    return schemaOf(db)
  } finally {
    db.close()
  }
}

function texts(path: string): unknown[] {
  return rows(path, 'SELECT text FROM notes ORDER BY id').map(row => (row as { text: string }).text)
}

/** A digest of all rows of all tables, and of how they are declared. */
function contentOf(path: string): string {
  const hash = createHash('sha256')
  const tables = rows(path, 'SELECT name, sql FROM sqlite_master ORDER BY name') as { name: string; sql: string }[]
  for (const { name, sql } of tables) {
    hash.update(`${name} ${sql}`)
    if (sql !== null) for (const row of rows(path, `SELECT * FROM ${name}`)) hash.update(JSON.stringify(row))
  }
  return hash.digest('hex')
}

function rows(path: string, sql: string): unknown[] {
  const db = new Database(path, { readonly: true })
  try {
    return db.prepare(sql).all()
  } finally {
    db.close()
  }
}
