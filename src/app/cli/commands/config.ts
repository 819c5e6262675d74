import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { SAMPLE } from '../../../core/built.js'
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
import { numberText } from '../../../core/numbers.js'
import { optionsOf } from '../../../core/params/row.js'
import { fileValue, wordValue } from '../../../core/params/values.js'
import { refuseUnusableKey, vendorOrigin } from '../../open/fetching.js'
import { databasePath, isSample } from '../../open/paths.js'
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
import { oneRowAnswer } from '../output.js'
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
  /** Lists the settings, or prints, sets or removes one of them. */
  async run(context, args) {
    const action = wordValue('way', args.argument(0) ?? 'list', ACTIONS)
    const key = args.argument(1)
    const words = args.argumentList(2)
    if (action === 'list') {
      if (key !== undefined) throw tooManyWords(`list takes no key; get ${key} prints one.`, ['get', key])
      return listSettings(context)
    }
    if (key === undefined) throw missingKey(action)
    if (action === 'get') return printSetting(context, key, words)
    const settableKey = configKey(key)
    if (action === 'set' && words.length === 0) throw missingKey('set')
    if (action === 'unset' && words.length > 0) throw tooManyWords('unset takes one key.', ['set', key, ...words])
    if (action === 'unset') return changeSetting(context, settableKey, undefined)
    const text = words.join(',')
    await changeSetting(context, settableKey, key === 'db' ? await absoluteDatabasePath(text) : text)
  },
}

async function listSettings(context: Context): Promise<void> {
  const settings = await settingsOf(context)
  const answer = describeList({ schema: 'bands.config/1', settings }, settings, [
    column('setting'),
    { key: 'value', title: 'value', kind: 'text', value: ({ value }) => (value === null ? null : String(value)) },
    column('origin', 'text', { wraps: true }),
  ])
  await context.show(answer)
}

/** Prints only the value, for scripts; empty if there is none. */
async function printSetting(context: Context, key: string, words: readonly string[]): Promise<void> {
  if (words.length > 0) throw tooManyWords('get takes one key.', ['set', key, ...words])
  const settings = await settingsOf(context)
  const row = settings.find(({ setting }) => setting === key)
  const names = settings.map(({ setting }) => setting)
  if (row === undefined)
    throw invalid('not_allowed', { param: 'key', value: key, allowed: names, suggestions: suggest(key, names) })
  await showSetting(context, row, row.value === null ? '' : String(row.value))
}

/** Shows one setting. @param note the text that people read */
function showSetting(context: Context, { setting, value, origin }: ShownSetting, note: string): Promise<void> {
  return context.show(oneRowAnswer({ schema: 'bands.setting/1', setting, value, origin }, [note]))
}

/** The absolute path of a database file: runs begin in different folders. Throws InvalidParameter for others. */
async function absoluteDatabasePath(text: string): Promise<string> {
  const path = resolve(fileValue('db', text))
  const allowed = 'the path of a file'
  if (text.trim() === '') throw invalid('not_allowed', { param: 'db', value: text, allowed })
  const file = await stat(path).catch(() => null)
  if (file?.isDirectory() !== true) return path
  const example = join(text, 'bands.db')
  const message = sentence`${parameter('db')} ${quoted(text)} is a folder, and a database is a file: ${example} is one in it.`
  throw wrong('db', message, { value: text, allowed })
}

/** Writes a setting, and shows it and what overrides it. @param text as typed; undefined removes the setting */
async function changeSetting(context: Context, key: ConfigKey, text: string | undefined): Promise<void> {
  const { env } = context.world
  await saveSettings(env, { [key]: text })
  const { saved } = await readConfigFile(env)
  const value = shownValue(saved.values[key])
  const file = configPath(env)
  const changeText = value === null ? `${key} is unset` : `${key} is ${value}`
  const row = { setting: key, value, origin: saved.positions[key] ?? 'default' }
  await showSetting(context, row, `${changeText} in ${file}`)
  const usedSource = key in SETTINGS ? context.config.from[key as Setting] : undefined
  if (value !== null && usedSource !== undefined && !usedSource.startsWith(file))
    await context.remark(`${usedSource} says otherwise, and wins.`)
}

/** Parses the key of a setting that can be set. Throws InvalidParameter with these keys. */
function configKey(key: string): ConfigKey {
  const names = Object.keys(CONFIG_KEYS) as ConfigKey[]
  const knownKey = names.find(name => name === key)
  if (knownKey !== undefined) return knownKey
  throw invalid('not_allowed', { param: 'key', value: key, allowed: names, suggestions: suggest(key, names) })
}

function missingKey(action: string): InvalidParameter {
  const isSet = action === 'set'
  const usage = `bands config ${action} KEY${isSet ? ' VALUE' : ''}`
  return wrong('key', `${action} needs a key${isSet ? ' and a value' : ''}.`, { allowed: usage })
}

function tooManyWords(message: string, words: readonly string[]): InvalidParameter {
  return wrong('key', message, {}, { remedy: remedy('config', words) })
}

/** A setting with its value and source: an option, a variable, a position in a file, or `default`. */
interface ShownSetting {
  setting: string
  value: string | number | boolean | null
  origin: string
}

/** All settings of a run as rows; of the API key only the source. Throws ConfigError, InvalidParameter. */
async function settingsOf({ config, world: { env } }: Context): Promise<ShownSetting[]> {
  const chosen = await chosenServer(config, env)
  const { profiles } = await readConfigFile(env)
  const folderOrigin = configFolder(env).origin
  const profile = chosen?.profile ?? null
  const settingRow = (setting: Setting, value: ShownSetting['value'], origin = config.from[setting] ?? 'default') => {
    return { setting, value, origin }
  }
  const profileOrigin = profile === null ? 'default' : (config.from.profile ?? chosen!.from)
  let tierRow = settingRow('tier', config.tier)
  // At a server the key decides the tier; the profile has the tier of the last login.
  if (chosen !== null) tierRow = settingRow('tier', null, 'the key decides')
  if (profile?.tier) tierRow = settingRow('tier', profile.tier, profile.position)
  // Throws for an invalid address without repeating it, because it may hold a password.
  const url = chosen === null ? null : addressOf(chosen.url, { allowPlainHttp: true }).base
  return [
    settingRow('remote', url, chosen?.from),
    settingRow('profile', profile?.name ?? null, profileOrigin),
    { setting: 'api_key', ...(await apiKeySetting(chosen, config, env)) },
    settingRow('db', isSample({ db: config.db, env }) ? SAMPLE : databasePath({ db: config.db, env })),
    tierRow,
    settingRow('as_of', config.as_of === null ? null : formatDay(config.as_of)),
    ...CONFIG_SETTINGS.map(name => settingRow(name, config[name] ?? null)),
    ...QUESTION_SETTINGS.map(name => ({
      setting: name,
      value: shownValue(config.saved.values[name] ?? CONFIG_KEYS[name].fallback),
      origin: config.saved.positions[name] ?? 'default',
    })),
    { setting: 'config_file', value: configPath(env), origin: folderOrigin },
    { setting: 'credentials_file', value: credentialsPath(env), origin: folderOrigin },
    ...[...profiles.values()].map(({ name, url, position }) => {
      return { setting: `profiles.${name}`, value: url, origin: position }
    }),
  ]
}

const CONFIG_SETTINGS = [
  ...(['timeout', 'retries', 'allow_plain_http', 'threads'] as const),
  ...(['color', 'progress', 'quiet', 'debug'] as const),
]

/** Defaults for options of questions, which only config.json sets: the keys that are no global option. */
const QUESTION_SETTINGS = (Object.keys(CONFIG_KEYS) as ConfigKey[]).filter(name => !(name in SETTINGS))

function shownValue(value: unknown): ShownSetting['value'] {
  if (value === undefined || value === null) return null
  return typeof value === 'number' || typeof value === 'boolean' ? value : [value].flat().join(',')
}

/** Value and origin of the setting `api_key`, not the key itself. Without a usable one, the origin is the reason. */
async function apiKeySetting(chosen: ChosenServer | null, config: Config, env: NodeJS.ProcessEnv) {
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
  /** Checks and saves the key of a server, or with --from that of a vendor; shows the profile, never the whole key. */
  async run(context, args) {
    const provider = args.text('from')
    if (provider !== undefined) return providerLogin(context, provider)
    const { credits, ...savedLogin } = await logIn(context)
    const { profile, url, tier, key } = savedLogin
    const limit = credits?.day?.limit ?? null
    const remaining = credits?.day?.remaining ?? null
    const tierText = tier === null ? '' : `, tier ${tier}`
    const creditsText =
      remaining === null ? '' : `, ${numberText(remaining)} of ${numberText(limit ?? 0)} credits left today`
    const document = { schema: 'bands.login/1', ...savedLogin, credits }
    const row = { schema: document.schema, ...savedLogin, credits_limit: limit, credits_remaining: remaining }
    const notes = [`profile ${profile}: ${url}${tierText}, key ${key}${creditsText}`]
    await context.show({ ...oneRowAnswer(row, notes), document })
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
    const { profile, origin } = await forgetKey(context, args.text('from'))
    const keyOwner = profile.startsWith('provider ') ? profile : `profile ${profile}`
    const notes = [`the key of ${keyOwner} for ${origin} is forgotten`]
    await context.show(oneRowAnswer({ schema: 'bands.logout/1', profile, origin }, notes))
  },
}

/** Reads a key, checks it at the server, and stores both. Throws Unauthorized for a wrong key, which is not stored. */
async function logIn(context: Context) {
  const { config, world } = context
  const { env } = world
  const file = await readConfigFile(env)
  // An unusable file is reported before the user types a key.
  await storedKeys(env)
  const { name, url } = loginServer(config, file)
  const { base, origin } = addressOf(url, { allowPlainHttp: config.allow_plain_http })
  const key = await readKey(context, `API key for ${base}: `, 'API key')
  const server = context.closeAtEnd(await openServer(base, key, config, env))
  await server.checkKey().catch(error => {
    throw error instanceof Unauthorized ? new Unauthorized(`${base} refuses this key: ${error.message}`) : error
  })
  const { tier, credits } = server
  await saveKey(env, name, { profile: name, origin, key })
  await writeProfile(env, { name, url: base, tier })
  return { profile: name, url: base, tier, key: keyEnd(key), credits }
}

/** Reads the key of a vendor, and saves it only for its address. It is not tried: that would use one of its calls. */
async function providerLogin(context: Context, name: string): Promise<void> {
  const { world } = context
  const { env } = world
  const { allProviders, providerNamed } = await import('../../providers/file.js')
  const provider = providerNamed(name, await allProviders(providersPath(env)))
  if (provider.needs === 'nothing')
    throw wrong('provider', `${name} needs no key: bands fetch TICKER --from ${name}.`, { value: name })
  // An unusable file is reported before the user types a key.
  await storedKeys(env)
  const key = await readKey(context, `${WANTS[provider.needs]} for ${name}: `, 'key')
  refuseUnusableKey(provider, key)
  const profile = providerProfile(name)
  const origin = vendorOrigin(provider)
  await saveKey(env, profile, { profile, origin, key })
  const row = { schema: 'bands.provider-login/1', provider: name, origin, key: keyEnd(key) }
  await context.show(oneRowAnswer(row, [`key ${keyEnd(key)} for ${name} is kept, only for ${origin}`]))
  await context.hint(`next: bands fetch AAPL --from ${name}`)
}

/**
 * The server to log in to, and the name of the profile that will have its key. The name is that of --profile, otherwise
 * the default profile of config.json, otherwise `default`. The address is that of --remote, otherwise the stored one of
 * the profile. Throws InvalidParameter without an address, and if a profile that is not typed is of another server.
 */
function loginServer({ remote, profile: typedName }: Config, { profile: defaultProfile, profiles }: ConfigFile) {
  const name = typedName === undefined ? (defaultProfile?.name ?? 'default') : profileName(typedName)
  const storedProfile = profiles.get(name)
  const url = remote === LOCAL ? undefined : (remote ?? storedProfile?.url)
  if (url === undefined) throw wrong('remote', `which server is the key for? bands login --remote URL.`)
  if (typedName === undefined && storedProfile !== undefined && originOf(storedProfile.url) !== originOf(url)) {
    const message = `profile "${name}" is of ${storedProfile.url}; give this server a name of its own: --profile NAME.`
    throw wrong('profile', message, { value: name })
  }
  return { name, url }
}

function originOf(url: string): string {
  return addressOf(url, { allowPlainHttp: true }).origin
}

/** Deletes and returns the key of the named vendor, profile or server, otherwise the default or the only key. */
async function forgetKey({ config, world: { env } }: Context, provider: string | undefined): Promise<StoredKey> {
  const keys = await storedKeys(env)
  const { remote } = config
  const vendorProfile = provider === undefined ? undefined : providerProfile(provider)
  const defaultName = async () => (remote === undefined ? (await readConfigFile(env)).profile?.name : undefined)
  const name = vendorProfile ?? config.profile ?? (await defaultName())
  const matching = keys.filter(({ profile, origin }) => {
    if (name !== undefined) return profile === name
    // `local` names no server: then any key matches, too.
    return remote === undefined || remote === LOCAL || origin === originOf(remote)
  })
  const [matchingKey] = matching
  if (matchingKey === undefined) {
    if (name === undefined) throw new NotFound('no key is kept.')
    const names = keys.map(({ profile }) => profile)
    throw new NotFound(`no key of profile "${name}" is kept.`, suggest(name, names))
  }
  if (matching.length > 1) {
    const names = matching.map(({ profile }) => profile)
    const message = `several keys are kept; choose the one to forget with --profile: ${names.join(', ')}.`
    throw wrong('profile', message, { allowed: names })
  }
  await saveKey(env, matchingKey.profile, null)
  return matchingKey
}

/** In characters; no API key is as long. */
const MAX_KEY_LENGTH = 4_096

/** The key of --key-file, otherwise a typed one (not shown), otherwise that of standard input. Throws Stopped. */
async function readKey({ config, world }: Context, prompt: string, what: string): Promise<string> {
  const keyOfFile = config.key_file === undefined ? null : await keyFromInput(config, world.env)
  if (keyOfFile !== null) return keyOfFile.key
  const input = world.stdin()
  const isTerminal = (input as NodeJS.ReadStream).isTTY
  const key = (await (isTerminal ? readHiddenLine(world, input, prompt) : readPipedLine(input))).trim()
  if (key !== '') return key
  throw wrong('key', `no ${what} on standard input; type it, or pipe it: bands login < FILE.`)
}

/** Reads a line at a terminal without showing it; empty at Ctrl-D. Throws Stopped at Ctrl-C. */
async function readHiddenLine(world: World, input: NodeJS.ReadableStream, prompt: string): Promise<string> {
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() })
  const line = createInterface({ input, output: discard, terminal: true, historySize: 0 })
  try {
    // The echo is off before the prompt, so that an early input is not shown either.
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

/** Reads the only line of standard input. Throws InvalidParameter for a long text, or for several lines. */
async function readPipedLine(input: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of input) {
    text += String(chunk)
    if (text.length > MAX_KEY_LENGTH) throw wrong('key', 'standard input is longer than any API key.')
  }
  const [line = '', ...otherLines] = text.trim().split(/\r?\n/)
  if (otherLines.length > 0) throw wrong('key', 'standard input has several lines; a key is one.')
  return line
}

export const commands = { config: configCommand, login, logout }
