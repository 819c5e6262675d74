import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { backUp, backUpInto, readManifest } from '../../src/app/backup/backup.js'
import { restore } from '../../src/app/backup/restore.js'
import { openAccounts, verifyOtherFiles } from '../../src/app/open/accounts.js'
import { openForPlan, openLocal } from '../../src/app/open/database.js'
import { type DatabaseChoice, filesOf } from '../../src/app/open/paths.js'
import { forceUnlock, openImporter } from '../../src/app/open/writing.js'
import { version } from '../../src/core/built.js'
import { BadData, Busy, InvalidParameter, NotFound, remedy } from '../../src/core/errors.js'
import { Local } from '../../src/data/local/local.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import type { Files } from '../../src/data/store/sqlite/files.js'
import { openSqliteTrials, openSqliteTrialsForReading } from '../../src/data/store/sqlite/lists.js'
import { processTable } from '../../src/data/store/sqlite/processes.js'
import { openSqliteAccounts } from '../../src/server/accounts/sqlite/accounts.js'
import { verifyAccounts } from '../../src/server/accounts/sqlite/verify.js'
import { chargeOf, iso, keyOf, NOON } from '../contracts/accounts.js'
import { Database } from '../support/database.js'
import { bundled, started } from '../support/processes.js'
import { loadedStore, temporaryFolder } from '../support/store.js'

/** Three databases that were changed after they were backed up, and what was in them then. */
async function changedSinceBackup() {
  const files = await world()
  const backup = newFolder()
  const before = await everything(files)
  await backUp(files, backup)
  await changeAll(files)
  return { files, backup, before }
}

describe('a backup', () => {
  it('is a folder that only its owner can read, and restores data, accounts and trials as they were', async () => {
    const files = await world()
    const backup = newFolder()
    const before = await everything(files)
    const manifest = await backUp(files, backup)
    expect(manifest.files.map(({ kind }) => kind)).toEqual(['data', 'accounts', 'trials'])
    const names = ['bands.accounts.db', 'bands.db', 'bands.trials.db', 'manifest.json']
    expect(readdirSync(backup).sort()).toEqual(names)
    expect(statSync(backup).mode & 0o777).toBe(0o700)
    for (const name of names) expect(statSync(join(backup, name)).mode & 0o777, name).toBe(0o600)
    expect(readdirSync(dirname(backup))).toEqual([basename(backup)])
    const other = filesIn(temporaryFolder())
    const restored = await restore(backup, other)
    expect(restored.files.map(({ replaced }) => replaced)).toEqual([false, false, false])
    expect(await everything(other)).toEqual(before)
    expect(statSync(other.accounts).mode & 0o777).toBe(0o600)
    expect(left(other)).toEqual([])
  })

  it('has a manifest with schema numbers, sizes and SHA-256 of its files, the time and the version', async () => {
    const files = await world()
    const backup = newFolder()
    const made = new Date('2026-11-01T00:00:00Z')
    const manifest = await backUp(files, backup, made)
    expect(JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8'))).toEqual(manifest)
    expect(readManifest(backup)).toEqual(manifest)
    expect(manifest).toMatchObject({ bands: version(), made: made.toISOString() })
    for (const { kind, name, path, schema, bytes, sha256 } of manifest.files) {
      const content = readFileSync(join(backup, name))
      expect([bytes, sha256]).toEqual([content.length, createHash('sha256').update(content).digest('hex')])
      expect(path).toBe(files[kind])
      expect(rowsOf(join(backup, name), 'PRAGMA user_version')).toEqual([{ user_version: schema }])
    }
  })

  it('has what was committed, which a copy of the file has not, and nothing of what is being written', async () => {
    const files = await world()
    const backup = newFolder()
    const writer = openSqliteAccounts(files.accounts)
    onTestFinished(() => writer.close())
    await writer.create('bob', 'pro', iso(NOON))
    const copy = join(temporaryFolder(), 'copy.db')
    const other = new Database(files.accounts)
    other.exec("BEGIN IMMEDIATE; UPDATE accounts SET tier = 'pro'")
    onTestFinished(() => void other.close())
    copyFileSync(files.accounts, copy)
    await backUp(files, backup)
    other.exec('COMMIT')
    const restored = filesIn(temporaryFolder())
    await restore(backup, restored)
    expect(tiersIn(restored.accounts)).toEqual({ alice: 'free', bob: 'pro' })
    // The copy is sound, and does not know of bob.
    expect(tiersIn(copy)).toEqual({ alice: 'free' })
  })

  it('runs while another process charges, and has each charge reported before it began', async () => {
    const files = await world()
    const program = await bundled('test/store/charging-process.ts', temporaryFolder())
    const run = started(program, [files.data, 'charger', '1000000', String(NOON)])
    for (let told = 0, i = 0; i < 3; i++) {
      while (run.lines().length === told) await sleep(10)
      const before = run.lines()
      told = before.length
      const backup = newFolder()
      await backUp(files, backup)
      const restored = filesIn(temporaryFolder())
      await restore(backup, restored)
      const charged = new Set(ledgerIn(restored.accounts))
      expect(before.filter(request => !charged.has(request))).toEqual([])
      expect(verifyAccounts(restored.accounts).damages).toEqual([])
    }
    run.child.kill()
    await run.ended
  })

  it('is not made of a damaged database, and leaves those that there are', async () => {
    const files = await world()
    const folder = temporaryFolder()
    await backUpInto(files, folder, { keep: 1, now: new Date('2026-11-01T00:00:00Z') })
    const db = new Database(files.data)
    db.exec("UPDATE tickers SET last_date = '2031-01-01' WHERE ticker = 'SIM0001'")
    db.close()
    const refusal = backUpInto(files, folder, { keep: 1, now: new Date('2026-11-02T00:00:00Z') })
    await expect(refusal).rejects.toThrow(BadData)
    await expect(refusal).rejects.toThrow('it is damaged (SIM0001: what is said of it')
    expect(readdirSync(folder)).toEqual(['bands-20261101T000000.000Z'])
  })

  it.each<[string, (target: string) => void]>([
    ['a file', target => writeFileSync(target, 'mine')],
    [
      'a folder',
      target => {
        mkdirSync(target)
        writeFileSync(join(target, 'file'), 'mine')
      },
    ],
  ])('replaces nothing: %s of that name stays, also one that appears meanwhile', async (_what, make) => {
    const files = await world()
    const there = newFolder()
    const meanwhile = newFolder()
    make(there)
    await expect(backUp(files, there)).rejects.toThrow(InvalidParameter)
    const late = backUp(files, meanwhile)
    make(meanwhile)
    await expect(late).rejects.toThrow(InvalidParameter)
    for (const target of [there, meanwhile]) {
      expect(readdirSync(dirname(target))).toEqual([basename(target)])
      expect(readFileSync(statSync(target).isFile() ? target : join(target, 'file'), 'utf8')).toBe('mine')
    }
  })

  it('replaces no backup, and is not made of nothing', async () => {
    const files = await world()
    const backup = newFolder()
    await backUp(files, backup)
    await expect(backUp(files, backup)).rejects.toThrow('is there already, and a backup replaces nothing')
    await expect(backUp(filesIn(temporaryFolder()), newFolder())).rejects.toThrow(NotFound)
  })
})

describe('a backup after a restore that was stopped', () => {
  it('is of what was restored, and is not made before that is all in its place', async () => {
    const { files, backup, before } = await changedSinceBackup()
    const [first] = await stopped(files, backup)
    renameSync(first!.from, first!.to)
    const next = newFolder()
    await expect(backUp(files, next)).rejects.toThrow('is not finished, and no backup was made')
    expect(readdirSync(dirname(next))).toEqual([])
    await forceUnlock({ db: files.data, env: {} })
    await backUp(files, next)
    const other = filesIn(temporaryFolder())
    await restore(next, other)
    expect(await everything(other)).toEqual(before)
  })
})

describe('backups in a folder', () => {
  it('go by age, but for as many as are to be kept, and for what is no backup of this database', async () => {
    const files = await world()
    const others = filesIn(temporaryFolder())
    const folder = temporaryFolder()
    const at = (day: number) => new Date(Date.UTC(2026, 10, day))
    await restore((await backUpInto(files, temporaryFolder())).folder, others)
    await backUpInto(others, folder, { now: at(1) })
    const foreign = ['bands-20200101T000000Z', 'bands-20200102T000000Z.tar', 'bands-old', 'notes.txt']
    for (const name of foreign) writeFileSync(join(folder, name), '')
    const mine = await backUpInto(files, folder, { now: new Date('2020-01-03T00:00:00Z') })
    writeFileSync(join(mine.folder, 'notes.txt'), '')
    const half = join(folder, 'bands-20200104T000000.000Z')
    mkdirSync(half)
    copyFileSync(files.data, join(half, 'bands.db'))
    for (let day = 2; day <= 5; day++) {
      const { removed } = await backUpInto(files, folder, { keep: 2, now: at(day) })
      expect(removed.map(path => basename(path))).toEqual(day < 4 ? [] : [`bands-2026110${day - 2}T000000.000Z`])
    }
    const kept = [mine.folder, half].map(path => basename(path))
    for (const day of [1, 4, 5]) kept.push(`bands-2026110${day}T000000.000Z`)
    expect(readdirSync(folder).sort()).toEqual([...foreign, ...kept].sort())
  })

  it('remove the leftovers of a killed backup of any name', async () => {
    const files = await world()
    const folder = temporaryFolder()
    const dead = join(folder, `bands.backup.${2 ** 22 + 1}-${processTable()}-x.new`)
    mkdirSync(dead)
    writeFileSync(join(dead, 'bands.db'), 'half of it')
    await backUpInto(files, folder, { now: new Date('2026-11-01T00:00:00Z') })
    expect(readdirSync(folder)).toEqual(['bands-20261101T000000.000Z'])
  })
})

describe('a restore', () => {
  it('puts nothing in the place of what there is, unless it may, and then all of it', async () => {
    const { files, backup, before } = await changedSinceBackup()
    const changed = await everything(files)
    expect(changed).not.toEqual(before)
    await expect(restore(backup, files)).rejects.toThrow(InvalidParameter)
    expect(await everything(files)).toEqual(changed)
    const { files: restored } = await restore(backup, files, { replace: true })
    expect(restored.every(({ replaced }) => replaced)).toBe(true)
    expect(await everything(files)).toEqual(before)
    expect(left(files)).toEqual([])
  })

  it('mends a database that is too damaged to be opened', async () => {
    const files = await world()
    const backup = newFolder()
    const before = await everything(files)
    await backUp(files, backup)
    writeFileSync(files.data, 'no database at all')
    writeFileSync(files.accounts, readFileSync(files.accounts).fill(7, 0, 9_000))
    chmodSync(files.accounts, 0o600)
    await restore(backup, files, { replace: true })
    expect(await everything(files)).toEqual(before)
  })

  it('is free to be written, though an import on another machine wrote while it was backed up', async () => {
    const files = await world()
    const backup = newFolder()
    const store = openSqlite(files.data, { readonly: false })
    await store.lock({ pid: 4711, host: 'elsewhere', started: iso(NOON) })
    await backUp(files, backup)
    await store.close()
    const other = filesIn(temporaryFolder())
    await restore(backup, other)
    expect(rowsOf(other.data, "SELECT 1 FROM writer UNION SELECT 1 FROM meta WHERE key = 'writer'")).toEqual([])
    const restored = openSqlite(other.data, { readonly: false })
    await restored.lock({ pid: process.pid, host: 'here', started: iso(NOON) })
    await restored.close()
  })

  it('leaves alone what is not in the backup, and says so', async () => {
    const files = await world()
    const backup = newFolder()
    const bare = { ...files, accounts: `${files.accounts}-none`, trials: `${files.trials}-none` }
    await backUp(bare, backup)
    const { kept } = await restore(backup, files, { replace: true })
    expect(kept).toEqual([files.accounts, files.trials])
    expect(tiersIn(files.accounts)).toEqual({ alice: 'free' })
  })

  it('never waits: while a server has a file open, or an import writes, it changes nothing', async () => {
    const files = await world()
    const backup = newFolder()
    await backUp(files, backup)
    const program = await bundled('test/store/opening-process.ts', temporaryFolder())
    for (const kind of ['data', 'accounts'] as const) {
      const run = started(program, [kind, files[kind]])
      while (run.lines().length === 0) await sleep(10)
      const before = readFileSync(files.accounts)
      await expect(restore(backup, files, { replace: true })).rejects.toThrow(Busy)
      expect(readFileSync(files.accounts).equals(before)).toBe(true)
      run.child.kill()
      await run.ended
    }
    const store = openSqlite(files.data, { readonly: false })
    await store.lock({ pid: process.pid, host: 'here', started: iso(NOON) })
    await expect(restore(backup, files, { replace: true })).rejects.toThrow('is being written by another process')
    await store.close()
    expect(left(files)).toEqual([])
  })

  it('takes no backup with a changed, shortened, longer or missing file, and changes nothing', async () => {
    const { files, backup } = await changedSinceBackup()
    const changed = await everything(files)
    const manifest = readManifest(backup)
    for (const { name } of manifest.files) {
      const path = join(backup, name)
      const whole = readFileSync(path)
      const flipped = (at: number): Buffer => {
        const bad = Buffer.from(whole)
        bad[at]! ^= 0x20
        return bad
      }
      const places = Array.from({ length: 12 }, (_, i) => Math.floor((whole.length * i) / 12) + (i % 7))
      const bad = [...places.map(flipped), whole.subarray(0, -1), Buffer.alloc(0), Buffer.concat([whole, whole])]
      for (const [i, content] of bad.entries()) {
        writeFileSync(path, content)
        await expect(restore(backup, files, { replace: true }), `${name} ${i}`).rejects.toThrow(
          `its ${name} is damaged`,
        )
      }
      rmSync(path)
      await expect(restore(backup, files, { replace: true })).rejects.toThrow(`its ${name} is missing`)
      mkdirSync(path)
      await expect(restore(backup, files, { replace: true })).rejects.toThrow(BadData)
      rmSync(path, { recursive: true })
      writeFileSync(path, whole)
    }
    expect(await everything(files)).toEqual(changed)
    expect(left(files)).toEqual([])
    await restore(backup, files, { replace: true })
  })

  it('takes no backup of a sound hash whose database is damaged', async () => {
    const { files, backup } = await changedSinceBackup()
    const changed = await everything(files)
    const path = join(backup, 'bands.db')
    const db = new Database(path)
    db.exec("UPDATE tickers SET last_date = '2031-01-01' WHERE ticker = 'SIM0001'")
    db.close()
    const manifest = readManifest(backup)
    const content = readFileSync(path)
    const sha256 = createHash('sha256').update(content).digest('hex')
    const [data, ...others] = manifest.files
    writeManifest(backup, { ...manifest, files: [{ ...data, bytes: content.length, sha256 }, ...others] })
    await expect(restore(backup, files, { replace: true })).rejects.toThrow('its bands.db is damaged')
    expect(await everything(files)).toEqual(changed)
    expect(left(files)).toEqual([])
  })

  it('takes no folder whose manifest is missing, is not one of a backup, or is too large', async () => {
    const files = await world()
    const backup = newFolder()
    const sound = await backUp(files, backup)
    const [first, ...others] = sound.files
    const strange: unknown[] = [
      { ...sound, schema: 'bands.backup-file/9' },
      { ...sound, schema: undefined },
      { ...sound, made: 'yesterday' },
      { ...sound, files: [] },
      { ...sound, files: [...sound.files, first] },
      { ...sound, more: true },
      { ...sound, bands: 'x'.repeat(2 ** 20) },
      ...[{ kind: 'settings' }, { name: '../bands.db' }, { bytes: -1 }, { sha256: '' }, { schema: 1.5 }, { x: 1 }].map(
        change => ({ ...sound, files: [{ ...first, ...change }, ...others] }),
      ),
    ]
    for (const manifest of strange) {
      writeManifest(backup, manifest)
      expect(() => readManifest(backup), JSON.stringify(manifest).slice(0, 200)).toThrow(
        'this is no backup of bands, or not a whole one',
      )
    }
    rmSync(join(backup, 'manifest.json'))
    expect(() => readManifest(backup)).toThrow('this is no backup of bands, or not a whole one')
    mkdirSync(join(backup, 'manifest.json'))
    expect(() => readManifest(backup)).toThrow(BadData)
  })

  it('of a folder of backups names the newest', async () => {
    const files = await world()
    const folder = temporaryFolder()
    for (const day of [1, 2]) await backUpInto(files, folder, { now: new Date(Date.UTC(2026, 10, day)) })
    expect(() => readManifest(folder)).toThrow(
      expect.objectContaining({
        message: `${folder}: this folder holds 2 backups; restore one of them`,
        remedy: remedy('restore', [join(folder, 'bands-20261102T000000.000Z')]),
      }),
    )
  })

  it('refuses a tar archive with the line that unpacks it, and restores what that unpacks', async ({ skip }) => {
    if (spawnSync('tar', ['--version']).status !== 0) return skip('there is no tar here')
    const { files, backup, before } = await changedSinceBackup()
    const archive = join(temporaryFolder(), 'bands.tar')
    spawnSync('tar', ['-cf', archive, '--format=ustar', '-C', backup, ...readdirSync(backup)])
    const refusal = await restore(archive, files, { replace: true }).catch((error: BadData) => error)
    const { message } = refusal as BadData
    const [, line] = /a tar archive is unpacked by (.*), then restore/.exec(message)!
    const folder = newFolder()
    const typed = line!.replace('FILE', archive).replaceAll('DIR', folder)
    expect(spawnSync('sh', ['-c', typed]).status).toBe(0)
    await restore(folder, files, { replace: true })
    expect(await everything(files)).toEqual(before)
  })

  it('that was stopped before its last note has changed nothing', async () => {
    const { files, backup } = await changedSinceBackup()
    const changed = await everything(files)
    await stopped(files, backup)
    rmSync(`${files.data}.restore`)
    await (await openAccounts({ db: files.data, env: {} })).close()
    await (await openLocal({ db: files.data, env: {} })).local.close()
    await forceUnlock({ db: files.data, env: {} })
    expect(await everything(files)).toEqual(changed)
    expect(existsSync(`${files.accounts}.restore`)).toBe(false)
  })

  it('that was stopped after its last note is finished by who writes, which says so, and by no question', async () => {
    const writers: ((choice: DatabaseChoice) => Promise<unknown>)[] = [
      forceUnlock,
      async choice => (await openImporter(choice)).close(),
    ]
    const questions: ((choice: DatabaseChoice) => Promise<unknown>)[] = [
      openLocal,
      openForPlan,
      verifyOtherFiles,
      openAccounts,
    ]
    for (const write of writers) {
      const { files, backup, before } = await changedSinceBackup()
      await stopped(files, backup)
      const said: string[] = []
      const choice = { db: files.data, env: {}, notice: (sentence: string) => said.push(sentence) }
      const bytes = readdirSync(dirname(files.data)).sort()
      for (const ask of questions) await expect(ask(choice)).rejects.toThrow('was stopped before its end')
      expect(readdirSync(dirname(files.data)).sort()).toEqual(bytes)
      expect(said).toEqual([])
      await write(choice)
      expect(said).toEqual([`the restore of ${files.data} that was stopped is finished now.`])
      expect(await everything(files)).toEqual(before)
      expect(left(files)).toEqual([])
    }
  })

  it.each<[string, (note: Note, folder: string) => unknown]>([
    ['another file of the folder', note => first(note, { from: 'victim' })],
    ['a file elsewhere', (note, folder) => first(note, { from: join(folder, 'victim') })],
    ['a file of another folder', note => first(note, { from: `../${note.moves[0]!.from}` })],
    ['one of another database', note => first(note, { from: note.moves[1]!.from })],
    ['the same file twice', note => ({ ...note, moves: [note.moves[0], ...note.moves] })],
    ['where a file goes', (note, folder) => first(note, { to: join(folder, 'victim') })],
    ['a file that is not what was restored', note => first(note, { sha256: '0'.repeat(64) })],
    ['nothing', () => ({})],
  ])('moves nothing by a note that names %s', async (_what, change) => {
    const { files, backup } = await changedSinceBackup()
    const folder = dirname(files.data)
    writeFileSync(join(folder, 'victim'), 'mine')
    await stopped(files, backup)
    const path = `${files.data}.restore`
    const note = JSON.parse(readFileSync(path, 'utf8')) as Note
    writeFileSync(path, JSON.stringify(change(note, folder)))
    const before = contentsOf(folder)
    await expect(forceUnlock({ db: files.data, env: {} })).rejects.toThrow(`${path}: this restore cannot be finished`)
    await expect(openLocal({ db: files.data, env: {} })).rejects.toThrow('was stopped before its end')
    expect(contentsOf(folder)).toEqual(before)
  })

  it('moves nothing by a note of another user', async ({ skip }) => {
    if (process.getuid?.() !== 0) return skip('only root gives a file to another user')
    const { files, backup } = await changedSinceBackup()
    await stopped(files, backup)
    chownSync(`${files.data}.restore`, 65_534, 65_534)
    const before = contentsOf(dirname(files.data))
    await expect(forceUnlock({ db: files.data, env: {} })).rejects.toThrow('it belongs to another user')
    expect(contentsOf(dirname(files.data))).toEqual(before)
  })

  it('that was stopped protects its files from cleaning up, and does not finish without one of them', async () => {
    const { files, backup } = await changedSinceBackup()
    const moves = await stopped(files, backup)
    await openSqlite(files.data, { readonly: false }).close()
    expect(moves.filter(({ from }) => !existsSync(from))).toEqual([])
    rmSync(moves[0]!.from)
    const accounts = readFileSync(files.accounts)
    await expect(forceUnlock({ db: files.data, env: {} })).rejects.toThrow(
      `cannot be finished: ${moves[0]!.from} is missing`,
    )
    expect(readFileSync(files.accounts).equals(accounts)).toBe(true)
  })

  it('that was stopped is finished by the next, which may then fail', async () => {
    const { files, backup, before } = await changedSinceBackup()
    await stopped(files, backup)
    const bad = readFileSync(join(backup, 'bands.accounts.db'))
    bad[5_000]! ^= 0x20
    writeFileSync(join(backup, 'bands.accounts.db'), bad)
    await expect(restore(backup, files, { replace: true })).rejects.toThrow(BadData)
    expect(await everything(files)).toEqual(before)
    expect(left(files)).toEqual([])
  })

  it('that was stopped and has lost a file is mended by the same again, and by nothing that has less', async () => {
    const files = await world()
    const backup = newFolder()
    const less = newFolder()
    const before = await everything(files)
    await backUp(files, backup)
    await backUp({ ...files, accounts: `${files.accounts}-none` }, less)
    await changeAll(files)
    const moves = await stopped(files, backup)
    rmSync(moves[1]!.from)
    await expect(restore(backup, files)).rejects.toThrow('cannot be finished')
    await expect(restore(less, files, { replace: true })).rejects.toThrow('cannot be finished')
    const held = openSqlite(files.data, { readonly: true })
    await expect(restore(backup, files, { replace: true })).rejects.toThrow(Busy)
    await held.close()
    await restore(backup, files, { replace: true })
    expect(await everything(files)).toEqual(before)
    await openSqlite(files.data, { readonly: false }).close()
    expect(existsSync(`${files.data}.restore`)).toBe(false)
  })

  it('that takes long keeps what it has written from a process that opens the file', async () => {
    const files = await world()
    const partial = `${files.data}.${process.pid}-${processTable()}-x.new`
    writeFileSync(partial, 'half of it')
    utimesSync(partial, 0, 0)
    await openSqlite(files.data, { readonly: false }).close()
    expect(existsSync(partial)).toBe(true)
  })
})

/** A restore that was killed after its notes: what is to come lies beside what there is. */
async function stopped(files: Files, backup: string): Promise<{ from: string; to: string }[]> {
  const prepared = filesIn(temporaryFolder())
  await restore(backup, prepared)
  const moves = (['data', 'accounts', 'trials'] as const).map(kind => {
    const to = files[kind]
    const from = `${files[kind]}.${2 ** 22 + 1}-${processTable()}-x.new`
    copyFileSync(prepared[kind], from)
    const sha256 = createHash('sha256').update(readFileSync(from)).digest('hex')
    return { kind, from, to, sha256 }
  })
  const names = moves.map(({ kind, from, sha256 }) => ({ kind, from: basename(from), sha256 }))
  const text = JSON.stringify({ schema: 'bands.restore-note/1', moves: names })
  for (const { to } of moves) writeFileSync(`${to}.restore`, text)
  return moves
}

/** What a stopped restore leaves. */
interface Note {
  schema: string
  moves: { kind: string; from: string; sha256: string }[]
}

/** With something else about its first file. */
function first(note: Note, change: object): unknown {
  const [one, ...others] = note.moves
  return { ...note, moves: [{ ...one, ...change }, ...others] }
}

/** All files of a folder but empty ones, by their names. */
function contentsOf(folder: string): Record<string, string> {
  const digest = (name: string): string =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
  const names = readdirSync(folder).filter(name => statSync(join(folder, name)).size > 0)
  return Object.fromEntries(names.map(name => [name, digest(name)]))
}

const SIMULATED = [...simulatedTickers({ count: 2, bars: 300, seed: 3, end: 17_000 })]

function filesIn(folder: string): Files {
  return filesOf({ db: join(folder, 'bands.db'), env: {} })
}

/** Data with facts, an account with a key and charges, and a trial log. */
async function world(): Promise<Files> {
  const folder = temporaryFolder()
  const files = filesIn(folder)
  await (await loadedStore(SIMULATED, folder)).close()
  const accounts = openSqliteAccounts(files.accounts)
  const alice = await accounts.create('alice', 'free', iso(NOON))
  await accounts.addKey(alice.id, keyOf('Identity'))
  await accounts.charge([chargeOf(alice), chargeOf(alice)])
  await accounts.close()
  await note(files, 1)
  return files
}

async function note({ trials: path }: Files, n: number): Promise<void> {
  const trials = openSqliteTrials(path)
  await trials.note('cell', [
    { hash: String(n).padStart(64, '0'), spec: `cell ${n}`, p: 0.5, test: null, sharpe: null },
  ])
  await trials.close()
}

/** Something else in each of them. */
async function changeAll(files: Files): Promise<void> {
  const store = openSqlite(files.data, { readonly: false })
  await store.remove('SIM0001')
  await store.close()
  const accounts = openSqliteAccounts(files.accounts)
  await accounts.setTier('alice', 'pro')
  await accounts.close()
  await note(files, 2)
}

/** All that the three are asked for. */
async function everything({ data, accounts: accountsFile, trials: trialsFile }: Files): Promise<unknown> {
  const store = openSqlite(data, { readonly: true })
  const local = new Local(store, 'pro', null)
  const told = []
  for (const { ticker } of await store.tickers())
    told.push(
      await local.events({ ticker, timeframe: 'daily', field: 'rsi_zone', limit: 100 }),
      await store.sheets(ticker),
    )
  expect(await store.verify()).toEqual([])
  await store.close()
  const accounts = openSqliteAccounts(accountsFile)
  const owned = { accounts: await accounts.accounts(), keys: await accounts.keys(), ledger: await accounts.reconcile() }
  const secret = (await accounts.secret()).toString('hex')
  await accounts.close()
  const trials = openSqliteTrialsForReading(trialsFile)
  const looks = await trials.of('cell')
  await trials.close()
  return { told, owned, secret, looks }
}

function tiersIn(path: string): Record<string, string> {
  const rows = rowsOf(path, 'SELECT name, tier FROM accounts') as { name: string; tier: string }[]
  return Object.fromEntries(rows.map(({ name, tier }) => [name, tier]))
}

function ledgerIn(path: string): string[] {
  return (rowsOf(path, 'SELECT request FROM ledger') as { request: string }[]).map(({ request }) => request)
}

function rowsOf(path: string, sql: string): unknown[] {
  const db = new Database(path, { readonly: true })
  try {
    return db.prepare(sql).all()
  } finally {
    db.close()
  }
}

/** What a restore would leave behind if it did. */
function left({ data }: Files): string[] {
  return readdirSync(dirname(data)).filter(name => /\.(new|restore)/.test(name))
}

/** A path in a folder of its own, where nothing is yet. */
function newFolder(): string {
  return join(temporaryFolder(), 'backup')
}

function writeManifest(backup: string, manifest: unknown): void {
  writeFileSync(join(backup, 'manifest.json'), JSON.stringify(manifest))
}
