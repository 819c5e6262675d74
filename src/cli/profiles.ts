import { type FileHandle, mkdir, open, readFile, realpath, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { applyEdits, modify, type Node, type ParseError, parseTree } from 'jsonc-parser'
import { ConfigError, didYouMean, InvalidParameter, quoted, suggest, Unauthorized } from '../errors.js'
import { FIELDS } from '../fields/index.js'
import type { Tier } from '../model/terms.js'
import { checkPrivate, openRemote } from '../open.js'
import { tierValue } from '../params/values.js'
import { addressOf } from '../remote/address.js'
import type { Remote } from '../remote/remote.js'
import { type Config, configPath, credentialsPath, HERE, isRemoteTyped } from './config.js'

/** What config.json says. */
export interface ConfigFile {
  /** The profile that answers where nothing else is said, and the place that says so. */
  profile: { name: string; place: string } | null
  profiles: ReadonlyMap<string, Profile>
}

/** A server that has a name. */
interface Profile {
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
  if (text === null || text.trim() === '') return { profile: null, profiles: new Map() }
  const file = new Source(path, text)
  const members = file.members(file.tree(), ['profile', 'profiles'], 'setting')
  const profiles = new Map<string, Profile>()
  const listed = members.get('profiles')
  if (listed !== undefined)
    for (const [name, node] of file.members(listed, null, 'profile')) profiles.set(name, profileOf(file, name, node))
  const chosen = members.get('profile')
  if (chosen === undefined) return { profile: null, profiles }
  const name = file.text(chosen, 'profile')
  if (!profiles.has(name)) throw file.fault(chosen, noProfile(name, [...profiles.keys()]))
  return { profile: { name, place: file.line(chosen) }, profiles }
}

function noProfile(name: string, names: readonly string[]): string {
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
  file.check(address, () => addressOf(url, { allowPlainHttp: true }))
  const plan = members.get('tier')
  const tier = plan === undefined ? null : file.check(plan, () => tierValue('tier', file.text(plan, 'tier')))
  return { name, url, tier, place: file.line(address) }
}

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/
const NAME_SHAPE = 'letters, digits, _ . and -, at most 64'

/** Throws InvalidParameter for a name that was typed. */
export function profileName(text: string): string {
  if (NAME.test(text)) return text
  const offence = { param: 'profile', value: text, allowed: NAME_SHAPE }
  throw new InvalidParameter(`profile ${quoted(text)} is not ${NAME_SHAPE}.`, offence)
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
    const [first = { offset: 0 }] = errors
    if (errors.length === 0 && root !== undefined) return root
    const [sign = ''] = this.#text.slice(first.offset, first.offset + 20).split('\n')
    throw this.fault(
      first,
      sign === '' ? 'the JSON ends here, unfinished.' : `JSON does not allow ${quoted(sign)} here.`,
    )
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

  /** What is wrong with a value by the rules of parameters, with its place. */
  check<Value>(node: Node, read: () => Value): Value {
    try {
      return read()
    } catch (error) {
      throw error instanceof InvalidParameter ? this.fault(node, error.message) : error
    }
  }

  fault({ offset }: { offset: number }, what: string): ConfigError {
    const column = offset - this.#text.lastIndexOf('\n', offset - 1)
    return new ConfigError(`${this.line({ offset })}:${column}: ${what}`)
  }

  line({ offset }: { offset: number }): string {
    return `${this.#path}:${this.#text.slice(0, offset).split('\n').length}`
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

/** Keeps a key in place of one that its profile had, or of null forgets that one. Throws ConfigError. */
export async function keepKey(env: NodeJS.ProcessEnv, profile: string, key: StoredKey | null): Promise<void> {
  const path = credentialsPath(env)
  await changeFile(path, text => {
    const others = (text === null ? [] : keysIn(text, path)).filter(stored => stored.profile !== profile)
    const kept = key === null ? others : [...others, key]
    const keys = Object.fromEntries(kept.map(({ profile, origin, key }) => [profile, { origin, key }]))
    return `${JSON.stringify({ keys }, null, 2)}\n`
  })
}

/** As much of a key as is shown: enough to tell two apart. */
export function keyEnd(key: string): string {
  return `****${key.length < 12 ? '' : key.slice(-4)}`
}

/** Nothing of a file that is not ours is ever told, because what is wrong with it may stand beside a key. */
function keysIn(text: string, path: string): StoredKey[] {
  try {
    const { keys } = JSON.parse(text) as { keys: Record<string, { origin: unknown; key: unknown }> }
    if (typeof keys !== 'object' || Array.isArray(keys)) throw new TypeError('no keys')
    return Object.entries(keys).map(([profile, { origin, key }]) => {
      if (typeof origin !== 'string' || typeof key !== 'string') throw new TypeError('no key')
      return { profile, origin, key }
    })
  } catch {
    throw new ConfigError(`${path} is not as bands login writes it; remove it, and log in again.`)
  }
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
 * points to is replaced. The new text is written into a lock beside it and renamed, so that of two that change a file at
 * once neither undoes the other.
 *
 * @param change what is there, or null → what is to be there
 */
async function changeFile(path: string, change: (text: string | null) => string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const target = await realpath(path).catch(() => path)
    const lock = `${target}.lock`
    const file = await locked(lock, path)
    try {
      await file.writeFile(change(await textOf(target)))
      await file.sync()
      await file.close()
      await rename(lock, target)
    } catch (error) {
      await file.close()
      await rm(lock, { force: true })
      throw error
    }
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause
    throw new ConfigError(`cannot write ${path}: ${(cause as Error).message}.`, { cause })
  }
}

/** Longer than any change takes, and two looks apart, in milliseconds. */
const PATIENCE = 5_000
const AGAIN = 20

/** A file that nobody else has made. */
async function locked(lock: string, path: string): Promise<FileHandle> {
  const deadline = performance.now() + PATIENCE
  for (;;) {
    try {
      return await open(lock, 'wx', 0o600)
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
    }
    if (performance.now() > deadline)
      throw new ConfigError(`${path} is being changed by another bands; if there is none, remove ${lock}.`)
    await pause(AGAIN)
  }
}

/** The server that a run asks. */
export interface Chosen {
  url: string
  /** What names it: an option, a variable, or a place in config.json. */
  from: string
  /** The profile that was named, or that the server was taken from. */
  profile: Profile | null
}

/**
 * The server that answers: of --remote, --profile, BANDS_REMOTE, BANDS_PROFILE and the profile of config.json the first
 * that says something; null where that is the database here, or nothing is said. A database that is named with --db
 * answers before what only the environment or a file says. Throws InvalidParameter, ConfigError.
 */
export async function chosenServer(config: Config, env: NodeJS.ProcessEnv): Promise<Chosen | null> {
  const { remote, profile: name, from } = config
  const [typedRemote, typedProfile] = [from.remote === '--remote', from.profile === '--profile']
  if (typedRemote && remote === HERE && typedProfile) {
    const message = '--remote local asks the database here, and --profile a server; leave one of them out.'
    throw new InvalidParameter(message, { param: 'profile' })
  }
  if (!isRemoteTyped(config) && from.db === '--db') return null
  const url = typedProfile && !typedRemote ? undefined : remote
  if (url === HERE) return null
  const named = name === undefined ? null : await namedProfile(name, from.profile, env)
  if (url !== undefined) return { url, from: from.remote!, profile: named }
  if (named !== null) return { url: named.url, from: from.profile!, profile: named }
  const { profile: chosen, profiles } = await readConfigFile(env)
  if (chosen === null) return null
  const profile = profiles.get(chosen.name)!
  return { url: profile.url, from: chosen.place, profile }
}

async function namedProfile(name: string, from: string | undefined, env: NodeJS.ProcessEnv): Promise<Profile> {
  const { profiles } = await readConfigFile(env)
  const found = profiles.get(name)
  if (found !== undefined) return found
  const names = [...profiles.keys()]
  const param = from === 'BANDS_PROFILE' ? from : 'profile'
  const offence = { param, value: name, allowed: names, suggestions: suggest(name, names) }
  throw new InvalidParameter(noProfile(name, names), offence)
}

/** Where a key is from, and the key itself, which nobody is to print. */
export interface FoundKey {
  key: string
  from: string
  /** How another is put in its place, where that is a command. */
  login?: string
}

/**
 * The key for a server: of --key-file, BANDS_API_KEY and those that `bands login` keeps for just this origin. Throws
 * Unauthorized where there is none, ConfigError for a file that cannot be used.
 */
export async function keyFor(chosen: Chosen, config: Config, env: NodeJS.ProcessEnv): Promise<FoundKey> {
  const found = await givenKey(config, env)
  if (found !== null) return found
  const { base, origin } = addressOf(chosen.url, { allowPlainHttp: true })
  const name = chosen.profile?.name
  const kept = (await storedKeys(env)).filter(stored => name === undefined || stored.profile === name)
  const own = kept.filter(stored => stored.origin === origin)
  const profiles = own.map(stored => stored.profile)
  if (new Set(own.map(stored => stored.key)).size > 1) {
    const message = `several keys are kept for ${origin}; choose one with --profile: ${profiles.join(', ')}.`
    throw new InvalidParameter(message, { param: 'profile', allowed: profiles })
  }
  const [only] = own
  if (only !== undefined) {
    const { key, profile } = only
    return { key, from: `bands login, profile ${profile}`, login: `bands login --profile ${profile}` }
  }
  const login = name === undefined ? `bands login --remote ${base}` : `bands login --profile ${name}`
  if (name !== undefined && kept[0] !== undefined)
    throw new Unauthorized(`the key of profile "${name}" was given for ${kept[0].origin}, not for ${origin}; ${login}`)
  throw new Unauthorized(`no API key for ${base}; set BANDS_API_KEY, or ${login}`)
}

/** Where the key of a run is from, and how another is put there: a login is of no use where a variable counts first. */
export async function whereKeyIs(config: Config, env: NodeJS.ProcessEnv): Promise<Omit<FoundKey, 'key'> | null> {
  const chosen = await chosenServer(config, env)
  if (chosen === null) return null
  const { key: _key, ...where } = await keyFor(chosen, config, env)
  return where
}

/** A key that is told for this run alone; null where none is. */
export async function givenKey({ key_file: keyFile }: Config, env: NodeJS.ProcessEnv): Promise<FoundKey | null> {
  if (keyFile !== undefined) {
    const text = await textOf(keyFile)
    const key = text?.trim()
    if (!key) {
      const what = text === null ? `there is no file ${keyFile}` : `${keyFile} is empty`
      throw new InvalidParameter(`${what}; --key-file names a file that holds a key.`, {
        param: 'key_file',
        value: keyFile,
      })
    }
    return { key, from: `--key-file ${keyFile}` }
  }
  const key = env.BANDS_API_KEY?.trim()
  return key ? { key, from: 'BANDS_API_KEY' } : null
}

/** The server that a run asks, ready to be asked; null where the database here answers. Throws what those below throw. */
export async function openChosen(config: Config, env: NodeJS.ProcessEnv): Promise<Remote | null> {
  const chosen = await chosenServer(config, env)
  if (chosen === null) return null
  // First: what is no address may hold a password, and is not to be repeated.
  const { base } = addressOf(chosen.url, { allowPlainHttp: config.allow_plain_http })
  refuseLocalSettings(config, base)
  const { key } = await keyFor(chosen, config, env)
  return openServer(base, key, config, env)
}

/** A server with a key, as the command line wants it asked. */
export function openServer(url: string, key: string, config: Config, env: NodeJS.ProcessEnv): Promise<Remote> {
  return openRemote({
    url,
    key,
    env,
    allowPlainHttp: config.allow_plain_http,
    timeoutMs: config.timeout * 1000,
    retries: config.retries,
    fields: FIELDS,
  })
}

/** What a server decides by itself is not passed over in silence: the answer would not be the one that was asked for. */
function refuseLocalSettings(config: Config, url: string): void {
  const way = isRemoteTyped(config) ? 'leave it out' : 'leave it out, or say --remote local'
  for (const [param, does] of DECIDED) {
    const source = config.from[param]
    // The database that a variable names is another matter: it is always there.
    if (source === undefined || source === 'BANDS_DB') continue
    const remedy = source.startsWith('--') ? way : way.replace('leave it out', `unset ${source}`)
    throw new InvalidParameter(`${source} is not for a server: ${url} ${does}; ${remedy}.`, { param })
  }
}

const DECIDED = [
  ['tier', 'answers as the tier of the key'],
  ['as_of', 'answers as of its own day'],
  ['db', 'has its own database'],
] as const
