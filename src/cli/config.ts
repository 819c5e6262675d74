import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import type { Day } from '../model/day.js'
import type { Tier } from '../model/terms.js'
import { dayValue, integerValue, tierValue, wordValue } from '../params/values.js'
import type { Given } from './given.js'
import type { ColourFlag } from './world.js'

export const PROGRESS = ['auto', 'plain', 'none'] as const
export const COLOURS: readonly ColourFlag[] = ['auto', 'always', 'never']

/** What `--remote` and BANDS_REMOTE say for the database here. */
export const HERE = 'local'

/** What holds for the whole run: an option, otherwise the environment, otherwise the default. */
export interface Config {
  db: string | undefined
  tier: Tier
  asOf: Day | null
  /** The address of a server, or `local`; undefined where a profile may tell (profiles/chosen.ts). */
  remote: string | undefined
  profile: string | undefined
  keyFile: string | undefined
  /** Seconds for one question to a server, and attempts after the first; undefined: as a remote has it. */
  timeout: number | undefined
  retries: number | undefined
  allowPlainHttp: boolean
  colour: ColourFlag
  progress: (typeof PROGRESS)[number]
  quiet: boolean
  debug: boolean
  /** What told a setting, as it is typed: an option, or a variable. Nothing where its default holds. */
  from: Readonly<Partial<Record<Setting, string>>>
}

/** Settings by the name of their option, spelled as parameters are, and the variable that may tell them too. */
const SETTINGS = {
  db: 'BANDS_DB',
  tier: 'BANDS_TIER',
  as_of: 'BANDS_AS_OF',
  remote: 'BANDS_REMOTE',
  profile: 'BANDS_PROFILE',
  key_file: null,
  timeout: null,
  retries: null,
  allow_plain_http: null,
  color: null,
  progress: null,
  quiet: null,
  debug: 'BANDS_DEBUG',
} as const satisfies Record<string, `BANDS_${string}` | null>

export type Setting = keyof typeof SETTINGS
const SETTING_NAMES = Object.keys(SETTINGS) as readonly Setting[]

/** Throws InvalidParameter naming the option or the variable. */
export function readConfig(globals: Given, env: NodeJS.ProcessEnv): Config {
  const tier = either(globals, 'tier', env)
  const asOf = either(globals, 'as_of', env)
  const timeout = globals.text('timeout')
  const retries = globals.text('retries')
  return {
    db: globals.text('db'),
    tier: tier === null ? 'pro' : tierValue(...tier),
    asOf: asOf === null ? null : dayValue(...asOf),
    remote: either(globals, 'remote', env)?.[1],
    profile: either(globals, 'profile', env)?.[1],
    keyFile: globals.text('key-file'),
    timeout: timeout === undefined ? undefined : integerValue('timeout', timeout, 1, 3600),
    retries: retries === undefined ? undefined : integerValue('retries', retries, 0, 20),
    allowPlainHttp: globals.flag('allow-plain-http'),
    colour: wordValue('color', globals.text('color') ?? 'auto', COLOURS),
    progress: wordValue('progress', globals.text('progress') ?? 'auto', PROGRESS),
    quiet: globals.flag('quiet'),
    debug: wantsDebug(globals.flag('debug'), env),
    from: sources(globals, env),
  }
}

/** Whether this very command line asks a server: what only the database here can answer is then refused. */
export function isRemoteTyped({ remote, from }: Config): boolean {
  return from.remote === '--remote' ? remote !== HERE : from.profile === '--profile'
}

export function wantsDebug(flag: boolean, env: NodeJS.ProcessEnv): boolean {
  return flag || (env.BANDS_DEBUG !== undefined && !['', '0', 'false'].includes(env.BANDS_DEBUG))
}

/** The value with the name to blame for it; an empty variable counts as none. */
function either(globals: Given, setting: Setting, env: NodeJS.ProcessEnv): [string, string] | null {
  const given = globals.text(dashed(setting))
  if (given !== undefined) return [setting, given]
  const variable = SETTINGS[setting]
  const value = variable === null ? undefined : env[variable]
  return value ? [variable!, value] : null
}

function sources(globals: Given, env: NodeJS.ProcessEnv): Config['from'] {
  const from: Partial<Record<Setting, string>> = {}
  for (const name of SETTING_NAMES) {
    const variable = SETTINGS[name]
    if (globals.text(dashed(name)) !== undefined || globals.flag(dashed(name))) from[name] = `--${dashed(name)}`
    else if (variable !== null && env[variable]) from[name] = variable
  }
  return from
}

function dashed(setting: Setting): string {
  return setting.replaceAll('_', '-')
}

/** Where settings and keys lie, and the variable that says so, or `default`. */
export function configFolder(env: NodeJS.ProcessEnv): { path: string; origin: string } {
  if (env.BANDS_CONFIG_DIR) return { path: resolve(env.BANDS_CONFIG_DIR), origin: 'BANDS_CONFIG_DIR' }
  // The XDG base directory specification has relative paths ignored.
  const variable = VARIABLES.find(name => isAbsolute(env[name] ?? ''))
  const base = variable === undefined ? join(env.HOME || userInfo().homedir, '.config') : env[variable]!
  return { path: join(base, 'bands'), origin: variable ?? 'default' }
}

const VARIABLES = process.platform === 'win32' ? ['XDG_CONFIG_HOME', 'APPDATA'] : ['XDG_CONFIG_HOME']

export function configPath(env: NodeJS.ProcessEnv): string {
  return join(configFolder(env).path, 'config.json')
}

export function credentialsPath(env: NodeJS.ProcessEnv): string {
  return join(configFolder(env).path, 'credentials.json')
}

/** Asked before anything of profiles is loaded: most users have none. */
export function hasConfigFile(env: NodeJS.ProcessEnv): boolean {
  return existsSync(configPath(env))
}
