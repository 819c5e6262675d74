import { randomUUID } from 'node:crypto'
import { mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ConfigError } from '../../errors.js'

/** The text of a file of the configuration; null when there is none. Throws ConfigError. */
export async function textOf(path: string): Promise<string | null> {
  try {
    // Editors of Windows begin a file with a mark of its byte order.
    return (await readFile(path, 'utf8')).replace(/^\ufeff/, '')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new ConfigError(`cannot read ${path}: ${(cause as Error).message}.`, { cause })
  }
}

/**
 * Puts a file in place of what was there, whole or not at all, readable by its owner alone. Where a link stands, what it
 * points to is replaced. Two that change it at once do so one after the other, so that neither undoes the other.
 *
 * @param change what is there, or null → what is to be there
 */
export async function changeFile(path: string, change: (text: string | null) => string): Promise<void> {
  const target = await placeOf(path)
  const lock = `${target}.lock`
  await take(lock, path)
  try {
    await replace(target, change(await textOf(target)))
  } finally {
    await rm(lock, { force: true })
  }
}

/** Where a file lies, or will; its folder is made. */
async function placeOf(path: string): Promise<string> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    return await realpath(path).catch(() => path)
  } catch (cause) {
    throw cannotWrite(path, cause)
  }
}

/** Longer than any change takes, and two looks apart, in milliseconds. */
const PATIENCE = 5_000
const AGAIN = 20

async function take(lock: string, path: string): Promise<void> {
  const deadline = performance.now() + PATIENCE
  for (;;) {
    try {
      return await writeFile(lock, '', { mode: 0o600, flag: 'wx' })
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cannotWrite(path, cause)
    }
    if (performance.now() > deadline)
      throw new ConfigError(`${path} is being changed by another bands; if there is none, remove ${lock}.`)
    await pause(AGAIN)
  }
}

async function replace(path: string, text: string): Promise<void> {
  const beside = `${path}.${randomUUID()}`
  try {
    await writeFile(beside, text, { mode: 0o600, flag: 'wx', flush: true })
    await rename(beside, path)
  } catch (cause) {
    throw cannotWrite(path, cause)
  } finally {
    await rm(beside, { force: true })
  }
}

function cannotWrite(path: string, cause: unknown): ConfigError {
  return new ConfigError(`cannot write ${path}: ${(cause as Error).message}.`, { cause })
}
