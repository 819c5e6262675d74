import { ConfigError, InvalidParameter, remedy, suggest, Unauthorized, wrong } from '../../core/errors.js'
import { BUILT_IN_FIELDS } from '../../core/fields/index.js'
import { openRemote } from '../open/database.js'
import { refuseSharedSecret } from '../open/paths.js'
import { addressOf } from '../remote/address.js'
import type { Remote } from '../remote/remote.js'
import { type Config, credentialsPath, isRemoteTyped, LOCAL } from './config.js'
import { changeFile, noProfileMessage, type Profile, readConfigFile, readTextFile } from './config-file.js'

/** A stored key, bound to the scheme, host and port of its login, and sent to no other server. */
export interface StoredKey {
  profile: string
  origin: string
  key: string
}

/** The stored keys by profile. Throws ConfigError for a file that others can read, or that has another form. */
export async function storedKeys(env: NodeJS.ProcessEnv): Promise<StoredKey[]> {
  const path = credentialsPath(env)
  const text = await readTextFile(path)
  if (text === null) return []
  await refuseSharedSecret(path)
  return parseKeys(text, path)
}

/** Stores the key of a profile, replacing an older one; null deletes it. Throws ConfigError. */
export async function saveKey(env: NodeJS.ProcessEnv, profile: string, key: StoredKey | null): Promise<void> {
  const path = credentialsPath(env)
  await changeFile(path, text => {
    const earlierKeys = text === null ? [] : parseKeys(text, path)
    const otherKeys = earlierKeys.filter(stored => stored.profile !== profile)
    const newKeys = key === null ? otherKeys : [...otherKeys, key]
    const keys = Object.fromEntries(newKeys.map(({ profile, origin, key }) => [profile, { origin, key }]))
    return `${JSON.stringify({ keys }, null, 2)}\n`
  })
}

/** The stored key of a vendor. Null without one, and if the key was given for another address. Throws ConfigError. */
export async function providerKey(env: NodeJS.ProcessEnv, name: string, origin: string): Promise<string | null> {
  const stored = (await storedKeys(env)).find(({ profile }) => profile === providerProfile(name))
  return stored?.origin === origin ? stored.key : null
}

/** The name under which the key of a vendor is kept; no profile of a server has a blank in it. */
export function providerProfile(name: string): string {
  return `provider ${name}`
}

/** `****` and the last four characters of a key, to distinguish two keys; only `****` for a short key. */
export function keyEnd(key: string): string {
  return `****${key.length < 12 ? '' : key.slice(-4)}`
}

/** The keys in the text of credentials.json. Throws ConfigError, without quoting the text: it may be a key. */
function parseKeys(text: string, path: string): StoredKey[] {
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

export interface ChosenServer {
  url: string
  /** Its source: an option, a variable, or a position in config.json. */
  from: string
  /** The profile that was named, or that the server was taken from. */
  profile: Profile | null
}

/**
 * The first server among --remote, --profile, BANDS_REMOTE, BANDS_PROFILE and the profile of config.json. Returns null
 * for the local database, the default. --db overrides a server that only the environment or a file names. Throws
 * InvalidParameter, ConfigError.
 */
export async function chosenServer(config: Config, env: NodeJS.ProcessEnv): Promise<ChosenServer | null> {
  const { remote, profile: name, from } = config
  const isRemoteOption = from.remote === '--remote'
  const isProfileOption = from.profile === '--profile'
  if (isRemoteOption && remote === LOCAL && isProfileOption) {
    const message = '--remote local asks the database here, and --profile a server; leave one of them out.'
    throw wrong('profile', message)
  }
  if (!isRemoteTyped(config) && from.db === '--db') return null
  // A typed profile overrides BANDS_REMOTE.
  const url = isProfileOption && !isRemoteOption ? undefined : remote
  if (url === LOCAL) return null
  const namedProfile = name === undefined ? null : await profileNamed(name, from.profile, env)
  if (url !== undefined) return { url, from: from.remote!, profile: namedProfile }
  if (namedProfile !== null) return { url: namedProfile.url, from: from.profile!, profile: namedProfile }
  const { profile: defaultProfile, profiles } = await readConfigFile(env)
  if (defaultProfile === null) return null
  const profile = profiles.get(defaultProfile.name)!
  return { url: profile.url, from: defaultProfile.position, profile }
}

/** The profile of that name. Throws InvalidParameter for none. @param from its option or variable */
async function profileNamed(name: string, from: string | undefined, env: NodeJS.ProcessEnv): Promise<Profile> {
  const { profiles } = await readConfigFile(env)
  const profile = profiles.get(name)
  if (profile !== undefined) return profile
  const names = [...profiles.keys()]
  const param = from === 'BANDS_PROFILE' ? from : 'profile'
  const offence = { param, value: name, allowed: names, suggestions: suggest(name, names) }
  throw new InvalidParameter(noProfileMessage(name, names), offence)
}

export interface FoundKey {
  /** Must not be printed. */
  key: string
  /** An option, a variable, or a profile of `bands login`. */
  from: string
  /** The command that replaces it, if there is one. */
  loginLine?: string
}

/** The key for a server: of --key-file, BANDS_API_KEY or a login to its origin. Throws Unauthorized, ConfigError. */
export async function keyFor(chosen: ChosenServer, config: Config, env: NodeJS.ProcessEnv): Promise<FoundKey> {
  const inputKey = await keyFromInput(config, env)
  if (inputKey !== null) return inputKey
  const { base, origin } = addressOf(chosen.url, { allowPlainHttp: true })
  const name = chosen.profile?.name
  const keysOfProfile = (await storedKeys(env)).filter(stored => name === undefined || stored.profile === name)
  const keysForOrigin = keysOfProfile.filter(stored => stored.origin === origin)
  const profiles = keysForOrigin.map(stored => stored.profile)
  if (new Set(keysForOrigin.map(stored => stored.key)).size > 1) {
    const message = `several keys are kept for ${origin}; choose one with --profile: ${profiles.join(', ')}.`
    throw wrong('profile', message, { allowed: profiles })
  }
  const [stored] = keysForOrigin
  if (stored !== undefined) {
    const { key, profile } = stored
    return { key, from: `bands login, profile ${profile}`, loginLine: `bands login --profile ${profile}` }
  }
  const login = { remedy: remedy('login', [], name === undefined ? { remote: base } : { profile: name }) }
  const [otherKey] = name === undefined ? [] : keysOfProfile
  if (otherKey !== undefined)
    throw new Unauthorized(`the key of profile "${name}" was given for ${otherKey.origin}, not for ${origin}.`, login)
  throw new Unauthorized(`no API key for ${base}: set BANDS_API_KEY, or log in (bands login).`, login)
}

/** The source of the run's key, and how to replace it: a login has no effect if a variable overrides it. */
export async function keySource(config: Config, env: NodeJS.ProcessEnv): Promise<Omit<FoundKey, 'key'> | null> {
  const chosen = await chosenServer(config, env)
  if (chosen === null) return null
  const { key: _key, ...source } = await keyFor(chosen, config, env)
  return source
}

/** The key of --key-file or BANDS_API_KEY, which is for this run only; null if there is none. */
export async function keyFromInput({ key_file: keyFile }: Config, env: NodeJS.ProcessEnv): Promise<FoundKey | null> {
  if (keyFile !== undefined) {
    const text = await readTextFile(keyFile)
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

/** Opens the server of a run; null if the database here answers. Throws InvalidParameter, ConfigError, Unauthorized. */
export async function openChosenServer(config: Config, env: NodeJS.ProcessEnv): Promise<Remote | null> {
  const chosen = await chosenServer(config, env)
  if (chosen === null) return null
  // An invalid address is refused first and not repeated, because it may hold a password.
  const { base } = addressOf(chosen.url, { allowPlainHttp: config.allow_plain_http })
  refuseLocalSettings(config, base)
  const { key } = await keyFor(chosen, config, env)
  return openServer(base, key, config, env)
}

export function openServer(url: string, key: string, config: Config, env: NodeJS.ProcessEnv): Promise<Remote> {
  return openRemote({
    url,
    key,
    env,
    allowPlainHttp: config.allow_plain_http,
    timeoutMs: config.timeout * 1000,
    retries: config.retries,
    fields: BUILT_IN_FIELDS.all,
  })
}

/** Refuses settings that the server decides itself: the answer would differ from the requested one. */
function refuseLocalSettings(config: Config, url: string): void {
  const advice = isRemoteTyped(config) ? 'leave it out' : 'leave it out, or say --remote local'
  for (const [param, behaviour] of DECIDED_BY_SERVER) {
    const source = config.from[param]
    // A database from a variable or config.json is no conflict: it is set for every run, not for this one.
    if (source === undefined || (param === 'db' && source !== '--db')) continue
    const remedy = source.startsWith('--') ? advice : advice.replace('leave it out', `unset ${source}`)
    throw wrong(param, `${source} is not for a server: ${url} ${behaviour}; ${remedy}.`)
  }
}

/** The settings that a server decides itself, each with the end of the sentence that refuses it. */
const DECIDED_BY_SERVER = [
  ['tier', 'answers as the tier of the key'],
  ['as_of', 'answers as of its own day'],
  ['db', 'has its own database'],
] as const
