import { closeSync, constants, openSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { StorageError } from '../../src/core/errors.js'
import { doctor } from '../../src/data/local/doctor.js'
import { openForReading, Session } from '../../src/data/store/sqlite/connection.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { DATA } from '../../src/data/store/sqlite/schema.js'
import { verifySession } from '../../src/data/store/sqlite/verify.js'
import { openSqliteAccounts } from '../../src/server/accounts/sqlite/accounts.js'
import { simulatedRecord } from '../contracts/store.js'
import { remount, smallDisk, temporaryFolder } from '../support/store.js'

const onLinux = process.platform === 'linux'

describe.skipIf(!onLinux)('a system that fails to read', () => {
  it('is named as that by a question: nothing is called damaged, and nothing is to be thrown away', async () => {
    const store = openSqlite(await filled(), { readonly: true })
    unreadable(store.location)
    const error = await store.bars('SIM0001').catch(thrown => thrown)
    expect(error).toBeInstanceOf(StorageError)
    expect(error.message).toMatch(/could not be read \(SQLITE_IOERR\w*\): .* this does not mean that it is damaged/)
    expect(error.message).not.toContain('import the files again')
    await store.close()
  })

  it('is no damage that a verification finds', async () => {
    const path = await filled()
    const session = new Session(path, openForReading(path, DATA), DATA)
    unreadable(path)
    expect(() => verifySession(session)).toThrow('could not be read')
    session.close()
  })
})

describe('a read-only file system', () => {
  it('is called that by who would write, and answers questions', async ({ skip }) => {
    const disk = smallDisk('8m')
    if (disk === null) return skip('no disk of its own can be had here')
    const path = await filled(disk)
    remount(disk, 'ro')
    expect(() => openSqlite(path, { readonly: false })).toThrow(
      `${path} is on a read-only file system: it can be asked, and not be written`,
    )
    expect(() => openSqliteAccounts(join(disk, 'bands.accounts.db'))).toThrow('it is on a read-only file system')
    const store = openSqlite(path, { readonly: true })
    expect(await store.tickers()).toHaveLength(1)
    await store.close()
    const { checks } = await doctor({ database: path, node: '24.0.0', abi: '137' })
    expect(checks.find(({ name }) => name === 'permissions')?.detail).toContain('is on a read-only file system')
    remount(disk, 'rw')
  })
})

async function filled(folder = temporaryFolder()): Promise<string> {
  const path = join(folder, 'bands.db')
  const store = openSqlite(path, { readonly: false })
  await store.write({ records: [simulatedRecord(1)] }, 'v1')
  await store.close()
  return path
}

/** Makes the system refuse every read of an open file: its number becomes one that may only write. */
function unreadable(path: string): void {
  const links = readdirSync('/proc/self/fd').map(Number)
  const file = links.find(fd => linkOf(fd) === path)!
  closeSync(file)
  // The lowest number that is free.
  expect(openSync(path, constants.O_WRONLY)).toBe(file)
}

function linkOf(fd: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return ''
  }
}
