import { access, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StorageError } from '../errors.js'
import type { Sink } from '../export/sink.js'

/**
 * A file that is there is whole: it is written under another name and renamed. A link stays one. A device or a pipe is
 * written to, because renaming would put a file in its place.
 */
export async function intoFile(named: string, write: (sink: Sink) => Promise<void>): Promise<void> {
  await checkFolder(named)
  const file = await realpath(named).catch(() => named)
  // A link that leads nowhere yet is itself what is there.
  const there = await stat(file).catch(() => lstat(file).catch(() => null))
  if (there !== null && !there.isFile()) return fill(file, named, write)
  const partial = `${file}.${process.pid}.partial`
  try {
    await fill(partial, named, write)
    await rename(partial, file).catch(cause => refuse(named, cause))
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

/** For work that takes long before it has anything to write. Throws StorageError. */
export async function checkFolder(named: string): Promise<void> {
  await access(dirname(named)).catch(() => {
    throw new StorageError(`cannot write ${named}: there is no folder ${dirname(named)}.`)
  })
}

async function fill(path: string, named: string, write: (sink: Sink) => Promise<void>): Promise<void> {
  const handle = await open(path, 'w').catch(cause => refuse(named, cause))
  try {
    await write({
      write: async chunk => {
        await handle.writeFile(chunk).catch(cause => refuse(named, cause))
      },
    })
  } finally {
    await handle.close()
  }
}

function refuse(file: string, cause: unknown): never {
  const { code = '', message } = cause as NodeJS.ErrnoException
  throw new StorageError(`cannot write ${file}: ${REASONS[code] ?? message}`, { cause })
}

/** What a system says in capitals. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'that is not allowed.',
  EPERM: 'that is not allowed.',
  EROFS: 'the disk is read-only.',
  ENOSPC: 'the disk is full.',
  EISDIR: 'it is a folder.',
  ENOENT: 'its folder takes no files.',
}
