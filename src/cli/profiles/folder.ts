import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'

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
