import { stat } from 'node:fs/promises'
import { ConfigError } from '../../errors.js'
import { changeFile, textOf } from './files.js'
import { credentialsPath } from './folder.js'

/** A key as it is kept: bound to the scheme, host and port that it was given for, and sent to no other. */
export interface StoredKey {
  profile: string
  origin: string
  key: string
}

/** The keys that are kept, by profile. Throws ConfigError for a file that others can read, or that nobody here wrote. */
export async function storedKeys(env: NodeJS.ProcessEnv): Promise<StoredKey[]> {
  const path = credentialsPath(env)
  const text = await textOf(path)
  if (text === null) return []
  await checkPrivate(path)
  return keysIn(text, path)
}

/** Keeps a key in place of one that its profile had. Throws ConfigError. */
export async function storeKey(env: NodeJS.ProcessEnv, key: StoredKey): Promise<void> {
  await change(env, keys => [...keys.filter(({ profile }) => profile !== key.profile), key])
}

/** Forgets the key of a profile. Throws ConfigError. */
export async function forgetKey(env: NodeJS.ProcessEnv, profile: string): Promise<void> {
  await change(env, keys => keys.filter(stored => stored.profile !== profile))
}

/** As much of a key as is shown: enough to tell two apart. */
export function keyEnd(key: string): string {
  return `****${key.length < 12 ? '' : key.slice(-4)}`
}

async function change(env: NodeJS.ProcessEnv, work: (keys: StoredKey[]) => StoredKey[]): Promise<void> {
  const path = credentialsPath(env)
  await changeFile(path, text => {
    const keys = work(text === null ? [] : keysIn(text, path))
    const document = Object.fromEntries(keys.map(({ profile, origin, key }) => [profile, { origin, key }]))
    return `${JSON.stringify({ keys: document }, null, 2)}\n`
  })
}

function keysIn(text: string, path: string): StoredKey[] {
  const keys = keysOf(text)
  if (keys === null) throw new ConfigError(`${path} is not as bands login writes it; remove it, and log in again.`)
  return keys
}

async function checkPrivate(path: string): Promise<void> {
  // Windows keeps who may read what elsewhere than in the mode.
  if (process.platform === 'win32') return
  const mode = (await stat(path)).mode & 0o777
  if ((mode & 0o077) === 0) return
  throw new ConfigError(`${path} can be read by others (mode 0${mode.toString(8)}); chmod 600 ${path}`)
}

/** null: not a file of ours. Nothing of it is ever told, because what is wrong with it may stand beside a key. */
function keysOf(text: string): StoredKey[] | null {
  const keys = membersOf(membersOf(parsed(text))?.keys)
  if (keys === null) return null
  const stored = Object.entries(keys).map(([profile, value]) => ({ profile, ...membersOf(value) }))
  return stored.every(isStoredKey) ? stored : null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function membersOf(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

function isStoredKey(value: { profile: string; origin?: unknown; key?: unknown }): value is StoredKey {
  return typeof value.origin === 'string' && typeof value.key === 'string'
}
