import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { BandsError, InvalidParameter, invalid, parameter, quoted, remedy, sentence, suggest } from '../../errors.js'
import { formatDay } from '../../model/day.js'
import { databasePath } from '../../open/where.js'
import { optionsOf } from '../../params/row.js'
import { databaseValue, wordValue } from '../../params/values.js'
import { addressOf } from '../../remote/address.js'
import { isPostgresUrl } from '../../store/postgres/address.js'
import type { Command } from '../command.js'
import { type Config, configFolder, configPath, credentialsPath, SETTINGS, type Setting } from '../config.js'
import { KEPT, type KeptSetting, readConfigFile, writeKept } from '../config-file.js'
import type { Context } from '../context.js'
import { tableOf } from '../draw/table.js'
import { oneRow } from '../output.js'
import { type Chosen, chosenServer, keyFor } from '../profiles.js'

const WAYS = ['list', 'get', 'set', 'unset'] as const

export const command: Command = {
  arguments: [
    ['[WAY]', 'list every setting (unless given), get one, set one in config.json, or unset it there', WAYS],
    ['[KEY]', 'which one', Object.keys(KEPT)],
    ['[VALUE...]', 'what it is to be'],
  ],
  examples: ['bands config', 'bands config --json', 'bands config get db'],
  notes: [
    `What can be set: ${optionsOf(KEPT)
      .map(([flags, help]) => `${flags.replace(/^--/, '').replaceAll('-', '_')}, ${help}`)
      .join('. ')}.`,
    'What is set in config.json holds where neither the line nor a variable says otherwise: bands config set tickers AAPL,GSPC.',
    'Each setting with what told it: an option, otherwise a variable of the environment, otherwise config.json, otherwise its default. A server is named by --remote, --profile, BANDS_REMOTE, BANDS_PROFILE or "profile" in config.json, the first that is there; --db asks the database here before what only the environment or the file names. A key comes from --key-file, BANDS_API_KEY or bands login.',
    'config.json is JSON with comments: {"tickers": ["AAPL"], "profile": "work", "profiles": {"work": {"url": "https://api.example.com", "tier": "pro"}}}',
  ],
  withoutFields: true,
  async run(context, given) {
    const way = wordValue('way', given.argument(0) ?? 'list', WAYS)
    const key = given.argument(1)
    const words = given.rest(2)
    if (way === 'list') {
      if (key !== undefined) throw tooMany(`list takes no key; get ${key} tells one.`, ['get', key])
      return list(context)
    }
    if (key === undefined) throw missing(way)
    if (way === 'get') return get(context, key, words)
    return way === 'set' ? set(context, keptName(key), words) : unset(context, keptName(key), words)
  },
}

async function list(context: Context): Promise<void> {
  const settings = await settingsOf(context)
  await context.show({
    document: () => ({ schema: 'bands.config/1', settings }),
    columns: ['setting', 'value', 'origin'],
    rows: () => settings.map(setting => ({ ...setting })),
    blocks: () => [
      {
        table: tableOf(settings, [
          ['SETTING', row => row.setting],
          ['VALUE', row => (row.value === null ? null : String(row.value))],
          [{ title: 'ORIGIN', wraps: true }, row => row.origin],
        ]),
      },
    ],
  })
}

/** The value alone, as a script takes it: empty where there is none. */
async function get(context: Context, key: string, words: readonly string[]): Promise<void> {
  if (words.length > 0) throw tooMany('get takes one key.', ['set', key, ...words])
  const settings = await settingsOf(context)
  const found = settings.find(({ setting }) => setting === key)
  const names = settings.map(({ setting }) => setting)
  if (found === undefined)
    throw invalid('not_allowed', { param: 'key', value: key, allowed: names, suggestions: suggest(key, names) })
  const { setting, value, origin } = found
  const notes = [value === null ? '' : String(value)]
  await context.show(oneRow({ schema: 'bands.setting/1', setting, value, origin }, { notes }))
}

async function set(context: Context, key: KeptSetting, words: readonly string[]): Promise<void> {
  if (words.length === 0) throw missing('set')
  const text = words.join(',')
  // It is to mean the same file wherever a run begins.
  await change(context, key, key === 'db' ? await databaseFile(text) : text)
}

/** Throws InvalidParameter for what no database can be in. */
async function databaseFile(text: string): Promise<string> {
  const named = databaseValue('db', text)
  if (isPostgresUrl(named)) return named
  const [path, param, allowed] = [resolve(named), 'db', 'the path of a file']
  if (text.trim() === '') throw invalid('not_allowed', { param, value: text, allowed })
  const found = await stat(path).catch(() => null)
  if (found?.isDirectory() !== true) return path
  const advice = join(text, 'bands.db')
  throw new InvalidParameter(
    sentence`${parameter(param)} ${quoted(text)} is a folder, and a database is a file: ${advice} is one in it.`,
    { param, value: text, allowed },
  )
}

async function unset(context: Context, key: KeptSetting, words: readonly string[]): Promise<void> {
  if (words.length > 0) throw tooMany('unset takes one key.', ['set', key, ...words])
  await change(context, key, undefined)
}

/** Writes it, and tells what holds now, and what wins over it. */
async function change(context: Context, key: KeptSetting, written: string | undefined): Promise<void> {
  const { env } = context.world
  await writeKept(env, { [key]: written })
  const { kept } = await readConfigFile(env)
  const value = shownValue(kept.values[key])
  const file = configPath(env)
  const done = value === null ? `${key} is unset` : `${key} is ${value}`
  const row = { schema: 'bands.setting/1', setting: key, value, origin: kept.places[key] ?? 'default' }
  await context.show(oneRow(row, { notes: [`${done} in ${file}`] }))
  const winner = key in SETTINGS ? context.config.from[key as Setting] : undefined
  if (value !== null && winner !== undefined && !winner.startsWith(file))
    await context.remark(`${winner} says otherwise, and wins.`)
}

/** Throws InvalidParameter with the keys that can be set. */
function keptName(key: string): KeptSetting {
  return wordValue('key', key, Object.keys(KEPT) as KeptSetting[])
}

function missing(way: string): InvalidParameter {
  const usage = `bands config ${way} KEY${way === 'set' ? ' VALUE' : ''}`
  return new InvalidParameter(`${way} needs a key${way === 'set' ? ' and a value' : ''}.`, {
    param: 'key',
    allowed: usage,
  })
}

function tooMany(message: string, words: readonly string[]): InvalidParameter {
  return new InvalidParameter(message, { param: 'key' }, { remedy: remedy('config', words) })
}

/** One setting: what holds, and what told it: an option, a variable, a place in a file, or `default`. */
interface ShownSetting {
  setting: string
  value: string | number | boolean | null
  origin: string
}

/** All settings of a run. A key is never among them, only where one is from. Throws ConfigError, InvalidParameter. */
async function settingsOf({ config, world: { env } }: Context): Promise<ShownSetting[]> {
  const chosen = await chosenServer(config, env)
  const { profiles } = await readConfigFile(env)
  const folder = configFolder(env).origin
  const { profile } = chosen ?? {}
  const of = (setting: Setting, value: ShownSetting['value'], origin = config.from[setting] ?? 'default') => {
    return { setting, value, origin }
  }
  // Throws for what is no address: it may hold a password, and is not to be repeated.
  const url = chosen && addressOf(chosen.url, { allowPlainHttp: true }).base
  return [
    of('remote', url, chosen?.from),
    of('profile', profile?.name ?? null, profile ? (config.from.profile ?? chosen!.from) : 'default'),
    { setting: 'api_key', ...(await keyShown(chosen, config, env)) },
    of('db', databasePath({ db: config.db, env })),
    // At a server the key decides; what is known of that stands in its profile.
    chosen === null
      ? of('tier', config.tier)
      : of('tier', profile?.tier ?? null, profile?.tier ? profile.place : 'the key decides'),
    of('as_of', config.as_of === null ? null : formatDay(config.as_of)),
    ...PLAIN.map(name => of(name, config[name] ?? null)),
    ...OF_QUESTIONS.map(name => ({
      setting: name,
      value: shownValue(config.kept.values[name] ?? KEPT[name].fallback),
      origin: config.kept.places[name] ?? 'default',
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

/** What can be set, and is no option of every command. */
const OF_QUESTIONS = (Object.keys(KEPT) as KeptSetting[]).filter(name => !(name in SETTINGS))

function shownValue(value: unknown): ShownSetting['value'] {
  if (value === undefined || value === null) return null
  return typeof value === 'number' || typeof value === 'boolean' ? value : [value].flat().join(',')
}

/** Whether there is a key, and what keeps one from being used; never the key. */
async function keyShown(chosen: Chosen | null, config: Config, env: NodeJS.ProcessEnv) {
  if (chosen === null) return { value: null, origin: 'default' }
  try {
    return { value: '****', origin: (await keyFor(chosen, config, env)).from }
  } catch (error) {
    if (!(error instanceof BandsError)) throw error
    return { value: null, origin: error.message }
  }
}
