import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import {
  BandsError,
  type InvalidParameter,
  invalid,
  NotFound,
  parameter,
  quoted,
  remedy,
  sentence,
  suggest,
  Unauthorized,
  wrong,
} from '../../../core/errors.js'
import { formatDay } from '../../../core/model/day.js'
import { whole } from '../../../core/numbers.js'
import { optionsOf } from '../../../core/params/row.js'
import { fileValue, wordValue } from '../../../core/params/values.js'
import { checkKey, originOf as vendorOrigin } from '../../open/fetching.js'
import { databasePath, isSample, SAMPLE } from '../../open/paths.js'
import { column, describeList } from '../../present/description.js'
import { WANTS } from '../../providers/provider.js'
import { addressOf } from '../../remote/address.js'
import type { Command } from '../command.js'
import {
  type Config,
  configFolder,
  configPath,
  credentialsPath,
  LOCAL,
  providersPath,
  SETTINGS,
  type Setting,
} from '../config.js'
import {
  CONFIG_KEYS,
  type ConfigFile,
  type ConfigKey,
  profileName,
  readConfigFile,
  saveSettings,
  writeProfile,
} from '../config-file.js'
import { type Context, Stopped } from '../context.js'
import { oneRow } from '../output.js'
import {
  type ChosenServer,
  chosenServer,
  keyEnd,
  keyFor,
  keyFromInput,
  openServer,
  providerProfile,
  type StoredKey,
  saveKey,
  storedKeys,
} from '../profiles.js'
import type { World } from '../world.js'

const ACTIONS = ['list', 'get', 'set', 'unset'] as const

const configCommand: Command = {
  arguments: [
    ['[WAY]', 'list every setting (default), get one, set one in config.json, or unset it there', ACTIONS],
    ['[KEY]', 'which one', Object.keys(CONFIG_KEYS)],
    ['[VALUE...]', 'the new value'],
  ],
  examples: ['bands config', 'bands config --json', 'bands config get db'],
  notes: [
    `What can be set: ${optionsOf(CONFIG_KEYS)
      .map(([flags, help]) => `${flags.replace(/^--/, '').replaceAll('-', '_')}, ${help}`)
      .join('. ')}.`,
    'A setting in config.json counts unless the line or a variable says otherwise: bands config set tickers AAPL,GSPC.',
    'Each setting, and where it comes from: an option, otherwise a variable of the environment, otherwise config.json, otherwise its default. A server is named by --remote, --profile, BANDS_REMOTE, BANDS_PROFILE or "profile" in config.json, the first that is there; --db asks the database here before what only the environment or the file names. A key comes from --key-file, BANDS_API_KEY or bands login.',
    'config.json is JSON with comments: {"tickers": ["AAPL"], "profile": "work", "profiles": {"work": {"url": "https://api.example.com", "tier": "pro"}}}',
  ],
  withoutFields: true,
  async run(context, args) {
    const action = wordValue('way', args.argument(0) ?? 'list', ACTIONS)
    const key = args.argument(1)
    const words = args.rest(2)
    if (action === 'list') {
      if (key !== undefined) throw tooMany(`list takes no key; get ${key} prints one.`, ['get', key])
      return list(context)
    }
    if (key === undefined) throw missing(action)
    if (action === 'get') return get(context, key, words)
    return action === 'set' ? set(context, configKey(key), words) : unset(context, configKey(key), words)
  },
}

async function list(context: Context): Promise<void> {
  const settings = await settingsOf(context)
  const answer = describeList({ schema: 'bands.config/1', settings }, settings, [
    column('setting'),
    { key: 'value', title: 'value', kind: 'text', value: ({ value }) => (value === null ? null : String(value)) },
    column('origin', 'text', { wraps: true }),
  ])
  await context.show(answer)
}

/** Prints only the value, for scripts; empty if there is none. */
async function get(context: Context, key: string, words: readonly string[]): Promise<void> {
  if (words.length > 0) throw tooMany('get takes one key.', ['set', key, ...words])
  const settings = await settingsOf(context)
  const found = settings.find(({ setting }) => setting === key)
  const names = settings.map(({ setting }) => setting)
  if (found === undefined)
    throw invalid('not_allowed', { param: 'key', value: key, allowed: names, suggestions: suggest(key, names) })
  const { setting, value, origin } = found
  const notes = [value === null ? '' : String(value)]
  await context.show(oneRow({ schema: 'bands.setting/1', setting, value, origin }, notes))
}

async function set(context: Context, key: ConfigKey, words: readonly string[]): Promise<void> {
  if (words.length === 0) throw missing('set')
  const text = words.join(',')
  await change(context, key, key === 'db' ? await databaseFile(text) : text)
}

/** The whole path, because runs begin in different folders. Throws InvalidParameter for a path that cannot be a database. */
async function databaseFile(text: string): Promise<string> {
  const named = fileValue('db', text)
  const path = resolve(named)
  const param = 'db'
  const allowed = 'the path of a file'
  if (text.trim() === '') throw invalid('not_allowed', { param, value: text, allowed })
  const found = await stat(path).catch(() => null)
  if (found?.isDirectory() !== true) return path
  const advice = join(text, 'bands.db')
  throw wrong(
    param,
    sentence`${parameter(param)} ${quoted(text)} is a folder, and a database is a file: ${advice} is one in it.`,
    { value: text, allowed },
  )
}

async function unset(context: Context, key: ConfigKey, words: readonly string[]): Promise<void> {
  if (words.length > 0) throw tooMany('unset takes one key.', ['set', key, ...words])
  await change(context, key, undefined)
}

/** Writes a setting, and shows its effective value and its source. */
async function change(context: Context, key: ConfigKey, written: string | undefined): Promise<void> {
  const { env } = context.world
  await saveSettings(env, { [key]: written })
  const { saved } = await readConfigFile(env)
  const value = shownValue(saved.values[key])
  const file = configPath(env)
  const done = value === null ? `${key} is unset` : `${key} is ${value}`
  const row = { schema: 'bands.setting/1', setting: key, value, origin: saved.places[key] ?? 'default' }
  await context.show(oneRow(row, [`${done} in ${file}`]))
  const winner = key in SETTINGS ? context.config.from[key as Setting] : undefined
  if (value !== null && winner !== undefined && !winner.startsWith(file))
    await context.remark(`${winner} says otherwise, and wins.`)
}

/** Throws InvalidParameter with the keys that can be set. */
function configKey(key: string): ConfigKey {
  const names = Object.keys(CONFIG_KEYS) as ConfigKey[]
  const found = names.find(name => name === key)
  if (found !== undefined) return found
  throw invalid('not_allowed', { param: 'key', value: key, allowed: names, suggestions: suggest(key, names) })
}

function missing(action: string): InvalidParameter {
  const usage = `bands config ${action} KEY${action === 'set' ? ' VALUE' : ''}`
  return wrong('key', `${action} needs a key${action === 'set' ? ' and a value' : ''}.`, { allowed: usage })
}

function tooMany(message: string, words: readonly string[]): InvalidParameter {
  return wrong('key', message, {}, { remedy: remedy('config', words) })
}

/** A setting with its value and source: an option, a variable, a position in a file, or `default`. */
interface ShownSetting {
  setting: string
  value: string | number | boolean | null
  origin: string
}

/** All settings of a run. It never contains a key, only the source of the key. Throws ConfigError, InvalidParameter. */
async function settingsOf({ config, world: { env } }: Context): Promise<ShownSetting[]> {
  const chosen = await chosenServer(config, env)
  const { profiles } = await readConfigFile(env)
  const folder = configFolder(env).origin
  const { profile } = chosen ?? {}
  const of = (setting: Setting, value: ShownSetting['value'], origin = config.from[setting] ?? 'default') => {
    return { setting, value, origin }
  }
  // Throws for an invalid address without repeating it, because it may hold a password.
  const url = chosen && addressOf(chosen.url, { allowPlainHttp: true }).base
  return [
    of('remote', url, chosen?.from),
    of('profile', profile?.name ?? null, profile ? (config.from.profile ?? chosen!.from) : 'default'),
    { setting: 'api_key', ...(await keyShown(chosen, config, env)) },
    of('db', isSample({ db: config.db, env }) ? SAMPLE : databasePath({ db: config.db, env })),
    // At a server the key decides; its profile has the known tier.
    chosen === null
      ? of('tier', config.tier)
      : of('tier', profile?.tier ?? null, profile?.tier ? profile.place : 'the key decides'),
    of('as_of', config.as_of === null ? null : formatDay(config.as_of)),
    ...PLAIN.map(name => of(name, config[name] ?? null)),
    ...OF_QUESTIONS.map(name => ({
      setting: name,
      value: shownValue(config.saved.values[name] ?? CONFIG_KEYS[name].fallback),
      origin: config.saved.places[name] ?? 'default',
    })),
    { setting: 'config_file', value: configPath(env), origin: folder },
    { setting: 'credentials_file', value: credentialsPath(env), origin: folder },
    ...[...profiles.values()].map(({ name, url, place }) => ({
      setting: `profiles.${name}`,
      value: url,
      origin: place,
    })),
  ]
}

const PLAIN = ['timeout', 'retries', 'allow_plain_http', 'threads', 'color', 'progress', 'quiet', 'debug'] as const

/** The settings that are no global option. */
const OF_QUESTIONS = (Object.keys(CONFIG_KEYS) as ConfigKey[]).filter(name => !(name in SETTINGS))

function shownValue(value: unknown): ShownSetting['value'] {
  if (value === undefined || value === null) return null
  return typeof value === 'number' || typeof value === 'boolean' ? value : [value].flat().join(',')
}

/** Whether there is a key, and what prevents its use; never the key itself. */
async function keyShown(chosen: ChosenServer | null, config: Config, env: NodeJS.ProcessEnv) {
  if (chosen === null) return { value: null, origin: 'default' }
  try {
    return { value: '****', origin: (await keyFor(chosen, config, env)).from }
  } catch (error) {
    if (!(error instanceof BandsError)) throw error
    return { value: null, origin: error.message }
  }
}

const VENDOR = ['--from <PROVIDER>', 'the key of a vendor of prices (bands providers)'] as const

const login: Command = {
  options: [VENDOR],
  examples: [
    'bands login --remote https://api.example.com',
    'bands login --from tiingo',
    'cat key.txt | bands login --profile work --remote https://api.example.com',
  ],
  notes: [
    'The key is read from standard input, at a terminal without showing it; never from the command line, which others can see. It is checked with a free request, and kept for that server in credentials.json in the configuration folder (bands config). Only its owner can read the file.',
    'Queries still use the database here until --profile, BANDS_PROFILE or "profile" in config.json names the profile; --remote local returns to it.',
  ],
  async run(context, args) {
    const provider = args.text('from')
    if (provider !== undefined) return providerLogin(context, provider)
    const { credits, ...login } = await loggedIn(context)
    const { profile, url, tier, key } = login
    const limit = credits?.day?.limit ?? null
    const remaining = credits?.day?.remaining ?? null
    const plan = tier === null ? '' : `, tier ${tier}`
    const left = remaining === null ? '' : `, ${whole(remaining)} of ${whole(limit ?? 0)} credits left today`
    const row = { schema: 'bands.login/1', ...login, credits_limit: limit, credits_remaining: remaining }
    await context.show({
      ...oneRow(row, [`profile ${profile}: ${url}${plan}, key ${key}${left}`]),
      document: { schema: 'bands.login/1', ...login, credits },
    })
    await context.hint(
      `next: bands events AAPL rsi_zone --profile ${profile}`,
      `to ask it always: BANDS_PROFILE=${profile}, or "profile": "${profile}" in ${configPath(context.world.env)}`,
    )
  },
}

const logout: Command = {
  options: [VENDOR],
  examples: ['bands logout', 'bands logout --profile work', 'bands logout --from tiingo'],
  notes: [
    'Forgets the key of a profile; the profile stays in config.json. Revoking a key is the business of its server.',
  ],
  async run(context, args) {
    const { profile, origin } = await forgottenKey(context, args.text('from'))
    const notes = [
      `the key of ${profile.startsWith('provider ') ? '' : 'profile '}${profile} for ${origin} is forgotten`,
    ]
    await context.show(oneRow({ schema: 'bands.logout/1', profile, origin }, notes))
  },
}

/**
 * Reads a key, checks it at the server, and stores both. A refused key is not stored. Throws Unauthorized for that,
 * InvalidParameter, ConfigError, and the errors of an unreachable server.
 */
async function loggedIn(context: Context) {
  const { config, world } = context
  const { env } = world
  const file = await readConfigFile(env)
  // An unusable file is reported before the user types a key.
  await storedKeys(env)
  const { name, url } = serverOf(config, file)
  const { base, origin } = addressOf(url, { allowPlainHttp: config.allow_plain_http })
  const typed = config.key_file === undefined ? null : await keyFromInput(config, env)
  const key = typed?.key ?? (await readSecret(world, `API key for ${base}: `, 'API key'))
  const server = context.closing(await openServer(base, key, config, env))
  await server.checkKey().catch(error => {
    throw error instanceof Unauthorized ? new Unauthorized(`${base} refuses this key: ${error.message}`) : error
  })
  const { tier, credits } = server
  await saveKey(env, name, { profile: name, origin, key })
  await writeProfile(env, { name, url: base, tier })
  return { profile: name, url: base, tier, key: keyEnd(key), credits }
}

/** Keeps the key of a vendor, only for its address. It is not checked: a check would be a call. */
async function providerLogin(context: Context, name: string): Promise<void> {
  const { config, world } = context
  const { env } = world
  const { allProviders, providerNamed } = await import('../../providers/file.js')
  const provider = providerNamed(name, await allProviders(providersPath(env)))
  if (provider.needs === 'nothing')
    throw wrong('provider', `${name} needs no key: bands fetch TICKER --from ${name}.`, { value: name })
  await storedKeys(env)
  const typed = config.key_file === undefined ? null : await keyFromInput(config, env)
  const key = typed?.key ?? (await readSecret(world, `${WANTS[provider.needs]} for ${name}: `, 'key'))
  checkKey(provider, key)
  const profile = providerProfile(name)
  const origin = vendorOrigin(provider)
  await saveKey(env, profile, { profile, origin, key })
  const row = { schema: 'bands.provider-login/1', provider: name, origin, key: keyEnd(key) }
  await context.show(oneRow(row, [`key ${keyEnd(key)} for ${name} is kept, only for ${origin}`]))
  await context.hint(`next: bands fetch AAPL --from ${name}`)
}

/** The chosen profile and the address of its server: the typed one, otherwise the stored one. */
function serverOf({ remote, profile }: Config, { profile: chosen, profiles }: ConfigFile) {
  const name = profile === undefined ? (chosen?.name ?? 'default') : profileName(profile)
  const known = profiles.get(name)
  const url = remote === LOCAL ? undefined : (remote ?? known?.url)
  if (url === undefined) throw wrong('remote', `which server is the key for? bands login --remote URL.`)
  if (profile === undefined && known !== undefined && originOf(known.url) !== originOf(url)) {
    const message = `profile "${name}" is of ${known.url}; give this server a name of its own: --profile NAME.`
    throw wrong('profile', message, { value: name })
  }
  return { name, url }
}

function originOf(url: string): string {
  return addressOf(url, { allowPlainHttp: true }).origin
}

/** Deletes the key of the chosen profile or server, otherwise the only key. Throws NotFound if there is none. */
async function forgottenKey({ config, world: { env } }: Context, provider: string | undefined): Promise<StoredKey> {
  const stored = await storedKeys(env)
  const { remote } = config
  const vendor = provider === undefined ? undefined : providerProfile(provider)
  const name =
    vendor ?? config.profile ?? (remote === undefined ? (await readConfigFile(env)).profile?.name : undefined)
  const meant = stored.filter(({ profile, origin }) => {
    if (name !== undefined) return profile === name
    return remote === undefined || remote === LOCAL || origin === originOf(remote)
  })
  const [only] = meant
  if (only === undefined) {
    const whose = name === undefined ? '' : ` of profile "${name}"`
    const names = stored.map(({ profile }) => profile)
    throw new NotFound(`no key${whose} is kept.`, name === undefined ? [] : suggest(name, names))
  }
  if (meant.length > 1) {
    const names = meant.map(({ profile }) => profile)
    const message = `several keys are kept; choose the one to forget with --profile: ${names.join(', ')}.`
    throw wrong('profile', message, { allowed: names })
  }
  await saveKey(env, only.profile, null)
  return only
}

/** More than any key has. */
const MOST = 4_096

/**
 * Reads a secret line: at a terminal with a prompt and without echo, otherwise the first line of standard input. Throws
 * Stopped at Ctrl-C, InvalidParameter for an empty line.
 */
async function readSecret(world: World, prompt: string, what: string): Promise<string> {
  const input = world.stdin()
  const text = (input as NodeJS.ReadStream).isTTY ? await typed(world, input, prompt) : await piped(input)
  const secret = text.trim()
  if (secret !== '') return secret
  throw wrong('key', `no ${what} on standard input; type it, or pipe it: bands login < FILE.`)
}

async function typed(world: World, input: NodeJS.ReadableStream, prompt: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const line = createInterface({ input, output: nowhere, terminal: true, historySize: 0 })
  try {
    // The prompt comes after the echo is off, so that typing ahead is not shown either.
    await world.err.write(prompt)
    return await new Promise<string>((resolve, reject) => {
      line.once('line', resolve)
      line.once('SIGINT', () => reject(new Stopped('SIGINT')))
      // Ctrl-D on an empty line.
      line.once('close', () => resolve(''))
    })
  } finally {
    line.close()
    await world.err.write('\n')
  }
}

async function piped(input: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of input) {
    text += String(chunk)
    if (text.length > MOST) throw wrong('key', 'standard input is longer than any API key.')
  }
  const [first = '', ...more] = text.trim().split(/\r?\n/)
  if (more.length > 0) throw wrong('key', 'standard input has several lines; a key is one.')
  return first
}

export const commands = { config: configCommand, login, logout }
