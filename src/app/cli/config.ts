import { statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { InvalidParameter } from '../../core/errors.js'
import { BUILT_IN_FIELDS, type FieldSet } from '../../core/fields/index.js'
import { TIER_NAMES } from '../../core/model/terms.js'
import { FLAG } from '../../core/params/figures.js'
import { CLUSTER, DAY, FILE, integerOf, oneOf, THREADS, WORDS } from '../../core/params/kinds.js'
import { nullable, optional, type Read, readParams, type Written, withDefault } from '../../core/params/row.js'
import { DEFAULT_RETRIES, DEFAULT_TIMEOUT_MS } from '../remote/address.js'
import type { ColourFlag } from './world.js'

const COLOURS: readonly ColourFlag[] = ['auto', 'always', 'never']

/** The settings of every command. */
export const SETTINGS = {
  db: optional(FILE, 'the database to use; sample is the bundled one (BANDS_DB)'),
  tier: nullable(
    oneOf(TIER_NAMES, 'TIER'),
    'answer as a subscriber: free, plus or pro (default everything that is loaded; BANDS_TIER)',
  ),
  as_of: nullable(DAY, 'only data known at the end of that day (BANDS_AS_OF)'),
  remote: optional(WORDS, 'ask the server at this address; local asks the database here (BANDS_REMOTE)', {
    placeholder: 'URL',
  }),
  profile: optional(WORDS, 'ask the server of this profile (bands login, BANDS_PROFILE)', { placeholder: 'NAME' }),
  key_file: optional(WORDS, 'where the API key for it stands; otherwise BANDS_API_KEY, or as bands login keeps it', {
    placeholder: 'FILE',
  }),
  timeout: withDefault(
    integerOf(1, 3600, 'SECONDS'),
    DEFAULT_TIMEOUT_MS / 1000,
    'for each question to it, retries included',
  ),
  retries: withDefault(integerOf(0, 20), DEFAULT_RETRIES, 'further attempts at a question that it did not answer'),
  allow_plain_http: withDefault(FLAG, false, 'send it the key without TLS, for everyone on the way to read'),
  threads: optional(
    THREADS,
    'how many threads share long work, 1 for none (default the number of cores; BANDS_THREADS)',
  ),
  cluster: optional(
    CLUSTER,
    'a Ray cluster that does the work of study, sweep, backtest and rebuild; ray starts one here (BANDS_CLUSTER)',
  ),
  color: withDefault(oneOf(COLOURS, 'WHEN'), 'auto', 'auto, always or never'),
  progress: withDefault(
    oneOf(['auto', 'plain', 'none'] as const, 'HOW'),
    'auto',
    'auto, plain (a line every ten seconds) or none',
  ),
  csv_raw: withDefault(
    FLAG,
    false,
    "leave cells of CSV that a spreadsheet would run (=1+1) as they are, without ' before them",
  ),
  quiet: withDefault(FLAG, false, 'no hints and no progress'),
  fields_file: optional(
    FILE,
    'fields of your own (default fields.yaml in the folder of config.json; BANDS_FIELDS_FILE)',
  ),
  debug: withDefault(FLAG, false, 'show the stack of an error (BANDS_DEBUG)'),
}

export type Setting = keyof typeof SETTINGS

/** Settings with a variable of the environment, used without the option: BANDS_AS_OF sets `as_of`. */
const VARIABLE_SETTINGS = [
  ...(['db', 'tier', 'as_of', 'remote', 'profile'] as const),
  ...(['threads', 'cluster', 'fields_file', 'debug'] as const),
]

/** Every setting: of its option, otherwise of its variable, otherwise of config.json, otherwise its default. */
export interface Config extends Read<typeof SETTINGS> {
  /** The address that sells higher tiers, shown in refusals. */
  upgrade_url: string | undefined
  /** The source of each setting, as typed: an option, a variable, or a position in config.json. Absent for defaults. */
  from: Readonly<Partial<Record<Setting, string>>>
  /** The settings of config.json, with their positions. */
  saved: SavedSettings
}

/** The value of `--remote` and BANDS_REMOTE for the local database. */
export const LOCAL = 'local'

/** The settings of config.json; only those that it contains. */
export interface SavedSettings {
  values: Readonly<Record<string, unknown>> & {
    readonly db?: string
    readonly tickers?: readonly string[]
    readonly upgrade_url?: string
  }
  /** `…/config.json:3` for each present setting. */
  positions: Readonly<Partial<Record<string, string>>>
}

const COLOUR_VARIABLES = ['NO_COLOR', 'FORCE_COLOR', 'CLICOLOR_FORCE', 'CLICOLOR']

const NO_SETTINGS: SavedSettings = { values: {}, positions: {} }

/** The settings of a run. Throws InvalidParameter for an option or variable. @param saved those of config.json */
export function readConfig(options: Written, env: NodeJS.ProcessEnv, saved: SavedSettings = NO_SETTINGS): Config {
  const values = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const from: Partial<Record<string, string>> = {}
  for (const name of Object.keys(values)) from[name] = `--${name.replaceAll('_', '-')}`
  for (const name of VARIABLE_SETTINGS) {
    const variable = `BANDS_${name.toUpperCase()}`
    // An empty variable counts as unset.
    if (name in values || !env[variable]) continue
    values[name] = name === 'debug' ? wantsDebug([], env) : env[variable]
    from[name] = variable
  }
  for (const [name, value] of Object.entries(saved.values)) {
    if (name in values || !(name in SETTINGS)) continue
    if (name === 'color' && COLOUR_VARIABLES.some(variable => env[variable])) continue
    values[name] = value
    from[name] = saved.positions[name]
  }
  try {
    return { ...readParams(SETTINGS, values), upgrade_url: saved.values.upgrade_url, from, saved }
  } catch (error) {
    if (!(error instanceof InvalidParameter)) throw error
    const source = from[error.param]
    throw source?.startsWith('BANDS_') ? error.withParam(source) : error
  }
}

/** Whether the command line itself names a server: questions that only the database here answers are then refused. */
export function isRemoteTyped({ remote, from }: Config): boolean {
  return from.remote === '--remote' ? remote !== LOCAL : from.profile === '--profile'
}

/** Whether --debug among the words of a line, or BANDS_DEBUG, asks for the stack of an error. */
export function wantsDebug(words: readonly string[], env: NodeJS.ProcessEnv): boolean {
  return words.includes('--debug') || (env.BANDS_DEBUG !== undefined && !['', '0', 'false'].includes(env.BANDS_DEBUG))
}

/** The folder of settings and keys, and its origin: the variable that names it, or `default`. */
export function configFolder(env: NodeJS.ProcessEnv): { path: string; origin: string } {
  if (env.BANDS_CONFIG_DIR) return { path: resolve(env.BANDS_CONFIG_DIR), origin: 'BANDS_CONFIG_DIR' }
  // The XDG base directory specification has relative paths ignored.
  const variable = FOLDER_VARIABLES.find(name => isAbsolute(env[name] ?? ''))
  const base = variable === undefined ? join(env.HOME || userInfo().homedir, '.config') : env[variable]!
  return { path: join(base, 'bands'), origin: variable ?? 'default' }
}

const FOLDER_VARIABLES = process.platform === 'win32' ? ['XDG_CONFIG_HOME', 'APPDATA'] : ['XDG_CONFIG_HOME']

export const configPath = (env: NodeJS.ProcessEnv): string => join(configFolder(env).path, 'config.json')
export const credentialsPath = (env: NodeJS.ProcessEnv): string => join(configFolder(env).path, 'credentials.json')
/** The file with the user's own vendors. */
export const providersPath = (env: NodeJS.ProcessEnv): string => join(configFolder(env).path, 'providers.yaml')

/** Whether config.json exists, without loading the code that reads it. An unreadable file counts as present. */
export function hasConfigFile(env: NodeJS.ProcessEnv): boolean {
  try {
    return statSync(configPath(env), { throwIfNoEntry: false }) !== undefined
  } catch {
    return true
  }
}

type FieldsFileChoice = Pick<Config, 'fields_file'>

/** The file of the user's own fields; null if there is none. */
export function ownFieldsPath({ fields_file: chosenPath }: FieldsFileChoice, env: NodeJS.ProcessEnv): string | null {
  if (chosenPath !== undefined) return chosenPath
  const defaultPath = join(configFolder(env).path, 'fields.yaml')
  return statSync(defaultPath, { throwIfNoEntry: false }) === undefined ? null : defaultPath
}

/** The built-in fields, followed by the user's own. Throws BadData at file:line:column. */
export async function loadFields(choice: FieldsFileChoice, env: NodeJS.ProcessEnv): Promise<FieldSet> {
  const path = ownFieldsPath(choice, env)
  // Most users have no own fields, and should not wait for the code that reads them.
  if (path === null) return BUILT_IN_FIELDS
  const [{ ownFieldSet }, { readSmallFile }] = await Promise.all([
    import('../../core/params/fields-file.js'),
    import('./formats.js'),
  ])
  return ownFieldSet(await readSmallFile(path), path)
}

/** All fields, or only the built-in ones if the file of the user's own is broken. For commands without need of them. */
export function fieldsUnlessBroken(choice: FieldsFileChoice, env: NodeJS.ProcessEnv): Promise<FieldSet> {
  return loadFields(choice, env).catch(() => BUILT_IN_FIELDS)
}
