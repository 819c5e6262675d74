import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { StorageError } from '../../src/core/errors.js'
import { openForWriting } from '../../src/data/store/sqlite/connection.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { openSqliteTrials } from '../../src/data/store/sqlite/lists.js'
import { openSqliteAccounts } from '../../src/server/accounts/sqlite/accounts.js'
import { Database } from '../support/database.js'
import { bundled, started } from '../support/processes.js'
import { remount, smallDisk, temporaryFolder } from '../support/store.js'
import { NOTES } from './notes.js'

/** Every kind of database, as it is opened for writing. */
const KINDS = {
  data: (path: string) => openSqlite(path, { readonly: false }),
  accounts: (path: string) => openSqliteAccounts(path),
  trials: (path: string) => openSqliteTrials(path),
}

describe.each(Object.entries(KINDS))('a disk that is full while a file of %s is made', (_name, open) => {
  it('leaves a sound file or none, whatever its size, and with room one is made', async ({ skip }) => {
    const disk = smallDisk('32k')
    if (disk === null) return skip('no disk of its own can be had here')
    let refused = 0
    for (let kilobytes = 32; kilobytes <= 320; kilobytes += 8) {
      const path = join(disk, `at-${kilobytes}.db`)
      remount(disk, `size=${kilobytes}k`)
      refused += (await refusedFor(open, path)) ? 1 : 0
      expect(existsSync(path) ? faultsOf(path) : 'ok', `${kilobytes} kB`).toBe('ok')
      remount(disk, 'size=4m')
      await open(path).close()
      expect(faultsOf(path), `${kilobytes} kB, then room`).toBe('ok')
      removeAllIn(disk)
    }
    expect(refused).toBeGreaterThan(3)
  })
})

describe('a process that is killed while it makes a database', () => {
  it('leaves nothing that the next one that writes does not take away', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'notes.db')
    const program = await bundled('test/store/migrating-process.ts', temporaryFolder())
    const run = started(program, [path, '60000'])
    while (partials(path).length < 3) await sleep(5)
    openForWriting(path, NOTES).close()
    // It is at work yet.
    expect(partials(path)).not.toEqual([])
    run.child.kill('SIGKILL')
    await run.ended
    openForWriting(path, NOTES).close()
    expect(readdirSync(folder)).toEqual(['notes.db'])
  })

  it('in another container is taken for dead after ten minutes', () => {
    const path = join(temporaryFolder(), 'notes.db')
    const names = [
      '1-0123456789ab-x7.new',
      '1-0123456789ab-x7.new-wal',
      '1-0123456789ab-y8.new',
      '4711-z9.new',
      'my.new',
    ]
    for (const name of names) writeFileSync(`${path}.${name}`, '')
    const old = new Date(Date.now() - 660_000)
    for (const name of names.filter(name => !name.includes('y8'))) utimesSync(`${path}.${name}`, old, old)
    openForWriting(path, NOTES).close()
    expect(readdirSync(dirname(path)).sort()).toEqual(['notes.db', 'notes.db.1-0123456789ab-y8.new', 'notes.db.my.new'])
  })
})

/** Whether it was refused, which then left nothing behind. */
async function refusedFor(open: (path: string) => { close(): Promise<void> }, path: string): Promise<boolean> {
  try {
    await open(path).close()
    return false
  } catch (error) {
    expect(error).toBeInstanceOf(StorageError)
    expect(partials(path)).toEqual([])
    return true
  }
}

function faultsOf(path: string): unknown {
  const db = new Database(path)
  try {
    return db.pragma('integrity_check(1)', { simple: true })
  } finally {
    db.close()
  }
}

function partials(path: string): string[] {
  return readdirSync(dirname(path)).filter(name => name.startsWith(`${basename(path)}.`))
}

function removeAllIn(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name))
}
