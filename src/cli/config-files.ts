import { randomUUID } from 'node:crypto'
import { mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { applyEdits, modify, type Node, type ParseError, parseTree } from 'jsonc-parser'
import { ConfigError, didYouMean, InvalidParameter, quoted, suggest } from '../errors.js'
import { TIER_NAMES, type Tier } from '../model/terms.js'
import { addressOf } from '../remote/address.js'
import { configPath, credentialsPath } from './config.js'

/** What config.json says. */
export interface ConfigFile {
  path: string
  /** The profile that answers where nothing else is said, and the place that says so. */
  profile: { name: string; place: string } | null
  profiles: ReadonlyMap<string, Profile>
}

/** A server that has a name. */
export interface Profile {
  name: string
  url: string
  /** What its key may ask, as it was told at the login. */
  tier: Tier | null
  /** `…/config.json:3` */
  place: string
}

/** JSON with comments; empty where there is no file. Throws ConfigError with file:line:column and the nearest right word. */
export async function readConfigFile(env: NodeJS.ProcessEnv): Promise<ConfigFile> {
  const path = configPath(env)
  const text = await textOf(path)
  if (text === null || text.trim() === '') return { path, profile: null, profiles: new Map() }
  const file = new Source(path, text)
  const members = file.members(file.tree(), ['profile', 'profiles'], 'setting')
  const profiles = new Map<string, Profile>()
  const listed = members.get('profiles')
  if (listed !== undefined)
    for (const [name, node] of file.members(listed, null, 'profile')) profiles.set(name, profileOf(file, name, node))
  const chosen = members.get('profile')
  if (chosen === undefined) return { path, profile: null, profiles }
  const name = file.text(chosen, 'profile')
  if (!profiles.has(name)) throw file.fault(chosen, noProfile(name, [...profiles.keys()]))
  return { path, profile: { name, place: file.line(chosen) }, profiles }
}

export function noProfile(name: string, names: readonly string[]): string {
  const known = names.length === 0 ? 'none is set up' : `there are ${names.join(', ')}`
  return `there is no profile ${quoted(name)}; ${known}.${didYouMean(suggest(name, names))}`
}

/** Writes a profile into config.json, made if it is missing; comments and everything else stay. Throws ConfigError. */
export async function writeProfile(
  env: NodeJS.ProcessEnv,
  { name, url, tier }: Pick<Profile, 'name' | 'url' | 'tier'>,
): Promise<void> {
  const style = { formattingOptions: { insertSpaces: true, tabSize: 2, eol: '\n' } }
  const set = (text: string, key: string, value: unknown): string =>
    applyEdits(text, modify(text, ['profiles', name, key], value, style))
  await changeFile(configPath(env), before => {
    const text = set(set(before?.trim() ? before : '{}', 'url', url), 'tier', tier ?? undefined)
    return text.endsWith('\n') ? text : `${text}\n`
  })
}

function profileOf(file: Source, name: string, node: Node): Profile {
  if (!NAME.test(name)) throw file.fault(node, `${quoted(name)} cannot be the name of a profile: ${NAME_SHAPE}.`)
  const members = file.members(node, ['url', 'tier'], 'setting of a profile')
  const address = members.get('url')
  if (address === undefined) throw file.fault(node, `profile ${quoted(name)} has no url.`)
  const url = file.text(address, 'url')
  try {
    addressOf(url, { allowPlainHttp: true })
  } catch (error) {
    if (!(error instanceof InvalidParameter)) throw error
    throw file.fault(address, error.message)
  }
  const told = members.get('tier')
  return { name, url, tier: told === undefined ? null : tierOf(file, told), place: file.line(address) }
}

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/
const NAME_SHAPE = 'letters, digits, _ . and -, at most 64'

/** Throws InvalidParameter for a name that was typed. */
export function profileName(text: string): string {
  if (NAME.test(text)) return text
  const offence = { param: 'profile', value: text, allowed: NAME_SHAPE }
  throw new InvalidParameter(`profile ${quoted(text)} is not ${NAME_SHAPE}.`, offence)
}

function tierOf(file: Source, node: Node): Tier {
  const text = file.text(node, 'tier')
  const tier = TIER_NAMES.find(name => name === text)
  if (tier !== undefined) return tier
  const meant = didYouMean(suggest(text, TIER_NAMES))
  throw file.fault(node, `tier ${quoted(text)} is not one of ${TIER_NAMES.join(', ')}.${meant}`)
}

/** A text of JSON with comments that can say where in it something stands. */
class Source {
  readonly #path: string
  readonly #text: string

  constructor(path: string, text: string) {
    this.#path = path
    this.#text = text
  }

  tree(): Node {
    const errors: ParseError[] = []
    const root = parseTree(this.#text, errors, { allowTrailingComma: true })
    const [first] = errors
    if (first === undefined && root !== undefined) return root
    const sign = this.#text.slice(first?.offset, (first?.offset ?? 0) + 20).split('\n')[0] ?? ''
    const what = sign === '' ? 'the JSON ends here, unfinished.' : `JSON does not allow ${quoted(sign)} here.`
    throw this.#at(first?.offset ?? 0, what)
  }

  /** The members of an object; of known names only, where those are given. */
  members(node: Node, allowed: readonly string[] | null, what: string): Map<string, Node> {
    if (node.type !== 'object') throw this.fault(node, 'here should be an object: { … }.')
    const members = new Map<string, Node>()
    for (const { children } of node.children ?? []) {
      const [key, value] = children as [Node, Node]
      const name = String(key.value)
      if (members.has(name)) throw this.fault(key, `${what} ${quoted(name)} is there twice.`)
      if (allowed !== null && !allowed.includes(name)) {
        const known = `there is no ${what} ${quoted(name)}; allowed are ${allowed.join(', ')}.`
        throw this.fault(key, known + didYouMean(suggest(name, allowed)))
      }
      members.set(name, value)
    }
    return members
  }

  text(node: Node, what: string): string {
    if (node.type === 'string') return String(node.value)
    throw this.fault(node, `${what} should be a text in quotes.`)
  }

  fault({ offset }: Node, what: string): ConfigError {
    return this.#at(offset, what)
  }

  line({ offset }: Node): string {
    return `${this.#path}:${this.#text.slice(0, offset).split('\n').length}`
  }

  #at(offset: number, what: string): ConfigError {
    const lines = this.#text.slice(0, offset).split('\n')
    return new ConfigError(`${this.#path}:${lines.length}:${lines.at(-1)!.length + 1}: ${what}`)
  }
}

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
async function changeFile(path: string, change: (text: string | null) => string): Promise<void> {
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
