import { chmodSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openTrials, openTrialsForReading } from '../../src/app/open/database.js'
import type { Trial, Trials } from '../../src/core/source.js'
import { openForWriting } from '../../src/data/store/sqlite/connection.js'
import { openSqliteTrials, openSqliteTrialsForReading, TRIALS } from '../../src/data/store/sqlite/lists.js'
import { verifyTrials } from '../../src/data/store/sqlite/verify.js'
import { Database } from '../support/database.js'
import { notInQuick } from '../support/full.js'
import { bundled, started } from '../support/processes.js'
import { simulatedGround } from '../support/serve.js'
import { temporaryFolder } from '../support/store.js'

const asRoot = process.getuid?.() === 0

function ledgerIn(folder: string, now?: () => number): Trials {
  const trials = openSqliteTrials(join(folder, 'bands.trials.db'), now)
  onTestFinished(() => trials.close())
  return trials
}

function trial(n: number, more: Partial<Trial> = {}): Trial {
  return {
    hash: n.toString(16).padStart(64, '0'),
    spec: `cell ${n}`,
    p: n / 1000,
    test: 'newey_west',
    sharpe: null,
    ...more,
  }
}

describe('the trial ledger', () => {
  it('counts each trial once, even if it is repeated, and by kind', async () => {
    const trials = ledgerIn(temporaryFolder())
    expect(await trials.note('cell', [trial(1), trial(2), trial(1)])).toEqual({ ofKind: 2, all: 2 })
    expect(await trials.note('strategy', [trial(3, { p: null, sharpe: 0.05 })])).toEqual({ ofKind: 1, all: 3 })
    expect(await trials.note('cell', [trial(2), trial(4)])).toEqual({ ofKind: 3, all: 4 })
    expect(await trials.note('cell', [])).toEqual({ ofKind: 3, all: 4 })
  })

  it('keeps them in the order in which they came, as they were first seen, after reopening too', async () => {
    const folder = temporaryFolder()
    const first = ledgerIn(folder)
    await first.note('cell', [trial(9), trial(5, { p: null })])
    await first.note('cell', [trial(7), trial(9, { p: 0.5, spec: 'another look' })])
    const expected = [trial(9), trial(5, { p: null }), trial(7)]
    expect(await first.of('cell')).toEqual(expected)
    expect(await first.of('strategy')).toEqual([])
    expect(await ledgerIn(folder).of('cell')).toEqual(expected)
  })

  it('has the p of the newest test of a look, which is counted once all the same', async () => {
    const trials = ledgerIn(temporaryFolder())
    await trials.note('cell', [trial(1, { test: 'shift' }), trial(2)])
    expect(await trials.note('cell', [trial(1, { p: 0.4 }), trial(2, { p: 0.5 })])).toEqual({ ofKind: 2, all: 2 })
    expect(await trials.of('cell')).toEqual([trial(1, { p: 0.4 }), trial(2)])
    await trials.note('cell', [trial(1, { p: null, test: null })])
    expect(await trials.of('cell')).toEqual([trial(1, { p: 0.4 }), trial(2)])
  })

  it('of an older version knows no test of its p-values until they are looked at again', async () => {
    const path = join(temporaryFolder(), 'bands.trials.db')
    const db = openForWriting(path, { ...TRIALS, migrations: TRIALS.migrations.slice(0, 1) })
    const old = trial(1, { test: null })
    db.prepare("INSERT INTO trials VALUES (1, ?, 'cell', ?, ?, NULL, 1000)").run(old.hash, old.spec, old.p)
    db.close()
    const reading = openSqliteTrialsForReading(path)
    expect(await reading.of('cell')).toEqual([old])
    await reading.close()
    const trials = openSqliteTrials(path)
    onTestFinished(() => trials.close())
    expect(await trials.of('cell')).toEqual([old])
    expect(await trials.note('cell', [trial(1, { p: 0.7 })])).toEqual({ ofKind: 1, all: 1 })
    expect(await trials.of('cell')).toEqual([trial(1, { p: 0.7 })])
    expect(verifyTrials(path).damages).toEqual([])
  })

  it('of an older version with a p that is none is found damaged', () => {
    const path = join(temporaryFolder(), 'bands.trials.db')
    const db = openForWriting(path, { ...TRIALS, migrations: TRIALS.migrations.slice(0, 1) })
    const { hash, spec } = trial(1)
    db.prepare("INSERT INTO trials VALUES (1, ?, 'cell', ?, 1.5, NULL, 1000)").run(hash, spec)
    db.close()
    openForWriting(path, TRIALS).close()
    expect(verifyTrials(path).damages.map(({ what }) => what)).toEqual(['the trial 1 is not what was written'])
  })

  it('knows the question of each trial, of one noted before as soon as it is asked again, and those since a moment', async () => {
    const asked = { question: 'q', timeframe: 'weekly', first: 10, last: null } as const
    let now = 1_000
    const trials = ledgerIn(temporaryFolder(), () => now)
    await trials.note('cell', [trial(1), trial(2, { asked })])
    expect(await trials.of('cell')).toEqual([trial(1), trial(2, { asked })])
    now = 2_000
    await trials.note('cell', [trial(1, { p: null, test: null, asked }), trial(3)])
    expect(await trials.of('cell')).toEqual([trial(1, { asked }), trial(2, { asked }), trial(3)])
    expect(await trials.of('cell', 1_001)).toEqual([trial(3)])
  })

  it('keeps when each was first seen', async () => {
    const folder = temporaryFolder()
    let now = 1_000
    const trials = ledgerIn(folder, () => now)
    await trials.note('cell', [trial(1)])
    now = 2_000
    await trials.note('cell', [trial(1), trial(2)])
    const db = new Database(join(folder, 'bands.trials.db'), { readonly: true })
    expect(db.prepare('SELECT seen FROM trials ORDER BY id').pluck().all()).toEqual([1_000, 2_000])
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal')
    db.close()
  })

  it('adds all of a run or none', async () => {
    const trials = ledgerIn(temporaryFolder())
    await trials.note('cell', [trial(1)])
    await expect(trials.note('cell', [trial(2), trial(3, { hash: 'short' })])).rejects.toMatchObject({
      code: 'storage',
    })
    expect(await trials.of('cell')).toEqual([trial(1)])
  })

  notInQuick('loses none of what several processes note at once', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'bands.trials.db')
    const program = await bundled('test/store/noting-process.ts', folder)
    // Each notes 40 runs of ten trials, half of them the same as the others'.
    const writers = [1, 2, 3].map(n => started(program, [path, String(n)]))
    expect(await Promise.all(writers.map(({ ended }) => ended))).toEqual([0, 0, 0])
    const found = await ledgerIn(folder).of('cell')
    expect(found).toHaveLength(3 * 200 + 200)
    expect(new Set(found.map(({ hash }) => hash)).size).toBe(800)
  })
})

describe('a place where no ledger can be', () => {
  // Root may write everywhere.
  it.skipIf(asRoot)('is refused: a file or a folder that cannot be written', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'bands.trials.db')
    await openSqliteTrials(path).close()
    chmodSync(path, 0o400)
    expect(() => openSqliteTrials(path)).toThrow(expect.objectContaining({ code: 'storage' }))
    chmodSync(folder, 0o500)
    expect(() => openSqliteTrials(join(folder, 'other.db'))).toThrow(expect.objectContaining({ code: 'storage' }))
    chmodSync(folder, 0o700)
  })
})

describe('opened next to a database', () => {
  it('lies there under its name', async () => {
    const ground = await simulatedGround({ count: 1, bars: 60 })
    onTestFinished(() => ground.remove())
    const trials = (await openTrials({ db: ground.db, env: {} }))!
    await trials.note('cell', [trial(1)])
    await trials.close()
    const again = openSqliteTrials(ground.db.replace('.db', '.trials.db'))
    expect(await again.of('cell')).toEqual([trial(1)])
    await again.close()
  })

  it('is read without being made', async () => {
    const ground = await simulatedGround({ count: 1, bars: 60 })
    onTestFinished(() => ground.remove())
    const beside = { db: ground.db, env: {} }
    expect(await openTrialsForReading(beside)).toBe('none')
    expect(existsSync(ground.db.replace('.db', '.trials.db'))).toBe(false)
    const trials = (await openTrials(beside))!
    await trials.note('cell', [trial(1)])
    const reading = await openTrialsForReading(beside)
    if (reading === null || reading === 'none') throw new Error('there is a ledger')
    expect(await reading.of('cell')).toEqual([trial(1)])
    await reading.close()
    await trials.close()
  })

  it('is none, and nothing is written, while the sample answers', async () => {
    const folder = temporaryFolder()
    expect(await openTrials({ env: { XDG_DATA_HOME: folder } })).toBeNull()
    expect(await openTrialsForReading({ env: { XDG_DATA_HOME: folder } })).toBeNull()
    expect(readdirSync(folder)).toEqual([])
  })

  it('is refused if its database is missing', async () => {
    const db = join(temporaryFolder(), 'none.db')
    await expect(openTrials({ db, env: {} })).rejects.toMatchObject({ code: 'not_found' })
  })
})
