import { ConfigError, InvalidParameter, suggest, Unauthorized, wrong } from '../errors.js'
import { BUILT_IN } from '../fields/index.js'
import { checkPrivate, openRemote } from '../open.js'
import { addressOf } from '../remote/address.js'
import type { Remote } from '../remote/remote.js'
import { type Config, credentialsPath, isRemoteTyped, LOCAL } from './config.js'
import { changeFile, noProfile, type Profile, readConfigFile, textOf } from './config-file.js'

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
export async function saveKey(env: NodeJS.ProcessEnv, profile: string, key: StoredKey | null): Promise<void> {
  const path = credentialsPath(env)
  await changeFile(path, text => {
    const others = (text === null ? [] : keysIn(text, path)).filter(stored => stored.profile !== profile)
    const stored = key === null ? others : [...others, key]
    const keys = Object.fromEntries(stored.map(({ profile, origin, key }) => [profile, { origin, key }]))
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

/** The server that a run asks. */
export interface ChosenServer {
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
export async function chosenServer(config: Config, env: NodeJS.ProcessEnv): Promise<ChosenServer | null> {
  const { remote, profile: name, from } = config
  const [typedRemote, typedProfile] = [from.remote === '--remote', from.profile === '--profile']
  if (typedRemote && remote === LOCAL && typedProfile) {
    const message = '--remote local asks the database here, and --profile a server; leave one of them out.'
    throw wrong('profile', message)
  }
  if (!isRemoteTyped(config) && from.db === '--db') return null
  const url = typedProfile && !typedRemote ? undefined : remote
  if (url === LOCAL) return null
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
export async function keyFor(chosen: ChosenServer, config: Config, env: NodeJS.ProcessEnv): Promise<FoundKey> {
  const found = await keyFromInput(config, env)
  if (found !== null) return found
  const { base, origin } = addressOf(chosen.url, { allowPlainHttp: true })
  const name = chosen.profile?.name
  const matching = (await storedKeys(env)).filter(stored => name === undefined || stored.profile === name)
  const own = matching.filter(stored => stored.origin === origin)
  const profiles = own.map(stored => stored.profile)
  if (new Set(own.map(stored => stored.key)).size > 1) {
    const message = `several keys are kept for ${origin}; choose one with --profile: ${profiles.join(', ')}.`
    throw wrong('profile', message, { allowed: profiles })
  }
  const [only] = own
  if (only !== undefined) {
    const { key, profile } = only
    return { key, from: `bands login, profile ${profile}`, login: `bands login --profile ${profile}` }
  }
  const login = name === undefined ? `bands login --remote ${base}` : `bands login --profile ${name}`
  if (name !== undefined && matching[0] !== undefined)
    throw new Unauthorized(
      `the key of profile "${name}" was given for ${matching[0].origin}, not for ${origin}; ${login}`,
    )
  throw new Unauthorized(`no API key for ${base}; set BANDS_API_KEY, or ${login}`)
}

/** Where the key of a run is from, and how another is put there: a login is of no use where a variable counts first. */
export async function keySource(config: Config, env: NodeJS.ProcessEnv): Promise<Omit<FoundKey, 'key'> | null> {
  const chosen = await chosenServer(config, env)
  if (chosen === null) return null
  const { key: _key, ...where } = await keyFor(chosen, config, env)
  return where
}

/** A key that is told for this run alone; null where none is. */
export async function keyFromInput({ key_file: keyFile }: Config, env: NodeJS.ProcessEnv): Promise<FoundKey | null> {
  if (keyFile !== undefined) {
    const text = await textOf(keyFile)
    const key = text?.trim()
    if (!key) {
      const what = text === null ? `there is no file ${keyFile}` : `${keyFile} is empty`
      throw wrong('key_file', `${what}; --key-file names a file that holds a key.`, { value: keyFile })
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
    fields: BUILT_IN.all,
  })
}

/** What a server decides by itself is not passed over in silence: the answer would not be the one that was asked for. */
function refuseLocalSettings(config: Config, url: string): void {
  const way = isRemoteTyped(config) ? 'leave it out' : 'leave it out, or say --remote local'
  for (const [param, does] of DECIDED) {
    const source = config.from[param]
    // The database that a variable or a file names is another matter: it is always there.
    if (source === undefined || (param === 'db' && source !== '--db')) continue
    const remedy = source.startsWith('--') ? way : way.replace('leave it out', `unset ${source}`)
    throw wrong(param, `${source} is not for a server: ${url} ${does}; ${remedy}.`)
  }
}

const DECIDED = [
  ['tier', 'answers as the tier of the key'],
  ['as_of', 'answers as of its own day'],
  ['db', 'has its own database'],
] as const
