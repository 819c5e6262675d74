import type * as fs from 'node:fs'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { synced } from '../../src/store/sqlite/migrations.js'
import { temporaryFolder } from '../support/store.js'

const files = vi.hoisted(() => ({ reading: new Set<number>(), synced: 0 }))

/** As on Windows, which syncs only what is open for writing. */
vi.mock('node:fs', async actual => {
  const real = await actual<typeof fs>()
  const openSync: typeof real.openSync = (path, flags, mode) => {
    const file = real.openSync(path, flags, mode)
    if (flags === 'r') files.reading.add(file)
    else files.reading.delete(file)
    return file
  }
  const fsyncSync: typeof real.fsyncSync = file => {
    if (files.reading.has(file)) throw Object.assign(new Error('EPERM: operation not permitted'), { code: 'EPERM' })
    real.fsyncSync(file)
    files.synced++
  }
  return { ...real, openSync, fsyncSync }
})

it('syncs a file where a system asks that it is open for writing, and does without the folder', () => {
  const folder = temporaryFolder()
  const file = join(folder, 'a.db')
  writeFileSync(file, 'x')
  synced(file)
  expect(files.synced).toBe(1)
  synced(folder)
  expect(files.synced).toBe(1)
})

it('still tells of a file that cannot be synced', () => {
  expect(() => synced(join(temporaryFolder(), 'missing.db'))).toThrow('ENOENT')
})
