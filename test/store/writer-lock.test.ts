import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { forceUnlock, openImporter } from '../../src/app/open/writing.js'
import { Busy } from '../../src/core/errors.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { inspect } from '../../src/data/store/sqlite/inspect.js'
import type { Store, Writer } from '../../src/data/store/store.js'
import { BIN, typed } from '../cli/support/run.js'
import { Database } from '../support/database.js'
import { toSchema } from '../support/old-schema.js'
import { bundled, started } from '../support/processes.js'
import { temporaryFolder } from '../support/store.js'

const HERE: Writer = { pid: process.pid, host: hostname(), started: '2026-01-02T03:04:05.000Z' }
/** Of a boot that is not this one's. */
const ELSEWHEN = "UPDATE meta SET value = (SELECT started FROM writer) || ' other-boot' WHERE key = 'writer'"

describe('the writer lock of a killed process is taken over at once', () => {
  it.each([
    ['as it was', ''],
    // In a container that is started again the importer is number 1 again; here it is this very process.
    ['where its number is that of a living process', `UPDATE writer SET pid = ${process.pid}`],
    ['after a reboot, where its number is taken', `${ELSEWHEN}; UPDATE writer SET pid = ${process.ppid}`],
    ['by another container of this machine, whatever its name', "UPDATE writer SET host = '4f2a1c', pid = 1"],
  ])('%s', async (_case, sql) => {
    const path = await killedAtWork(sql)
    expect(inspect(path).writer?.alive).toBe(false)
    const store = opened(path)
    await store.lock(HERE)
    expect(inspect(path).writer).toEqual({ ...HERE, alive: true })
    await store.unlock(HERE)
    expect(inspect(path).writer).toBeNull()
  })
})

describe('the writer lock of a running process is refused', () => {
  it.each([
    ['as it is', ''],
    ['where its number says nothing here', "UPDATE writer SET pid = 4194305, host = '4f2a1c'"],
    ['before it has said who it is', 'DELETE FROM writer'],
  ])('%s', async (_case, sql) => {
    const { path, run } = await atWork()
    changed(path, sql)
    const store = opened(path)
    await expect(store.lock(HERE)).rejects.toThrow(Busy)
    await expect(forceUnlock({ db: path })).rejects.toThrow(Busy)
    const other = join(dirname(path), 'other.db')
    symlinkSync(path, other)
    await expect(opened(other).lock(HERE), 'under another name').rejects.toThrow(Busy)
    run.child.kill('SIGKILL')
    await run.ended
    await store.lock(HERE)
  })
})

describe('the writer lock of a process on another machine', () => {
  it('is refused, and released by a user who knows that the process is gone', async () => {
    const path = await killedAtWork(`${ELSEWHEN}; UPDATE writer SET host = 'elsewhere', pid = 17`)
    expect(inspect(path).writer).toMatchObject({ host: 'elsewhere', alive: true })
    const store = opened(path)
    await expect(store.lock(HERE)).rejects.toThrow('process 17 on elsewhere since')
    const refused = await typed(`simulate 1 --bars 20 --load --db ${path}`)
    expect(refused.code).toBe(8)
    expect(refused.err).toContain(`bands unlock --db ${path}`)
    const freed = await typed(`unlock --json --db ${path}`)
    expect(JSON.parse(freed.out)).toMatchObject({
      schema: 'bands.unlock/1',
      unlocked: true,
      pid: 17,
      host: 'elsewhere',
    })
    expect((await typed(`unlock --db ${path}`)).out).toBe('no process is writing; nothing to unlock\n')
    expect((await typed(`simulate 1 --bars 20 --load --db ${path}`)).code).toBe(0)
  })

  it('of an older bands without a lock is judged by its process number, and released by the user', async () => {
    const path = await killedAtWork("DELETE FROM meta WHERE key = 'writer'")
    const store = opened(path)
    await store.lock(HERE)
    await store.unlock(HERE)
    changed(path, `INSERT INTO writer VALUES (1, ${process.ppid}, '${hostname()}', '2026-01-01T00:00:00Z')`)
    await expect(store.lock(HERE)).rejects.toThrow(`process ${process.ppid} on`)
    await expect(store.lock(HERE)).rejects.toThrow('free it if that process is gone for good')
    expect((await forceUnlock({ db: path })).freed).toMatchObject({ pid: process.ppid })
    await store.lock(HERE)
  })
})

describe('a lock that cannot be taken is no other process', () => {
  const root = process.getuid?.() === 0
  const other = root ? { uid: 65_534, gid: 65_534 } : {}
  const canRun = spawnSync(process.execPath, [BIN, '--version'], other).status === 0
  if (!canRun) process.stderr.write('skipped: the rights of a lock, as another user cannot run the program here\n')

  it.skipIf(process.platform === 'win32' || !canRun).each([0o000, 0o444])('for its rights (mode %o)', mode => {
    const path = made()
    writeFileSync(`${path}-writer`, '')
    chmodSync(dirname(path), 0o777)
    chmodSync(path, 0o666)
    chmodSync(`${path}-writer`, mode)
    const words = ['simulate', '1', '--bars', '20', '--load', '--db', path]
    const env = { PATH: process.env.PATH, HOME: dirname(path) }
    const { status, stderr } = spawnSync(process.execPath, [BIN, ...words], { ...other, env, encoding: 'utf8' })
    expect(stderr.replace(/\s+/g, ' ')).toContain(`this user may not read and write ${path}-writer, the lock of`)
    expect(stderr).toContain('EACCES')
    expect(status).toBe(6)
  })

  // SQLite reports a file system without locks as busy, whatever file it is to lock. Here others hold both files.
  it('for a file system without locks, where even the lock of a new file is busy', async () => {
    const path = made()
    const store = opened(path)
    for (const file of [`${path}-writer`, `${path}-writer.${process.pid}.trial`]) {
      const other = new Database(file)
      onTestFinished(() => void other.close())
      other.exec('PRAGMA journal_mode = OFF; BEGIN EXCLUSIVE')
    }
    await expect(store.lock(HERE)).rejects.toThrow(
      /the file system of \S+-writer, the lock of .*has no locks \(ENOLCK\)/,
    )
    expect(readdirSync(dirname(path)).filter(name => name.endsWith('.trial'))).toEqual([])
  })
})

describe('the schema of a file stays as it is', () => {
  it('while a process is writing, and is brought up to date once that has ended', async () => {
    const { path, run } = await atWork()
    madeOlder(path)
    expect(() => opened(path)).toThrow(Busy)
    expect(() => opened(path)).toThrow(`${path} is being written by process ${run.child.pid} on ${hostname()} since`)
    const waiting = openImporter({ db: path, wait: true })
    await sleep(300)
    expect(inspect(path).schema).toBe(5)
    run.child.kill('SIGKILL')
    await (await waiting).close()
    expect(inspect(path)).toMatchObject({ schema: 11, writer: null })
  })

  it('while a process on another machine is writing, until the user releases the lock', async () => {
    const path = await killedAtWork(`${ELSEWHEN}; UPDATE writer SET host = 'elsewhere', pid = 17`)
    madeOlder(path)
    expect(() => opened(path)).toThrow('is being written by process 17 on elsewhere since')
    expect(inspect(path).schema).toBe(5)
    expect((await forceUnlock({ db: path })).freed).toMatchObject({ host: 'elsewhere', pid: 17 })
    // What is derived stays, too: only an importer makes it again.
    expect(inspect(path)).toMatchObject({ schema: 5, writer: null })
    await (await openImporter({ db: path })).close()
    expect(inspect(path)).toMatchObject({ schema: 11, writer: null })
  })
})

it('every user who may write the database can take the lock', async () => {
  const path = made()
  chmodSync(path, 0o664)
  const store = opened(path)
  await store.lock(HERE)
  expect(statSync(`${path}-writer`).size).toBe(0)
  expect(statSync(`${path}-writer`).mode & 0o777).toBe(0o664)
})

const programs = mkdtempSync(join(tmpdir(), 'bands-'))
let program = ''
beforeAll(async () => {
  program = await bundled('test/store/writing-process.ts', programs)
})
afterAll(() => rmSync(programs, { recursive: true, force: true }))

function made(): string {
  const path = join(temporaryFolder(), 'bands.db')
  void openSqlite(path, { readonly: false }).close()
  return path
}

function opened(path: string): Store {
  const store = openSqlite(path, { readonly: false })
  onTestFinished(() => store.close())
  return store
}

/** A database in which a process has the writing place. */
async function atWork() {
  const path = made()
  const run = started(program, [path])
  onTestFinished(() => void run.child.kill('SIGKILL'))
  while (run.lines().length === 0) await sleep(5)
  return { path, run }
}

/** One whose writer was killed, and what the row says of it changed. */
async function killedAtWork(sql: string): Promise<string> {
  const { path, run } = await atWork()
  run.child.kill('SIGKILL')
  await run.ended
  changed(path, sql)
  return path
}

function madeOlder(path: string): void {
  const db = new Database(path)
  toSchema(db, 5)
  db.close()
}

function changed(path: string, sql: string): void {
  const db = new Database(path)
  db.exec(sql)
  db.close()
}
