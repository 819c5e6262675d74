import type { Day } from '../model/day.js'
import type { Tier } from '../model/tier.js'
import { dayValue, tierValue, wordValue } from '../query/values.js'
import type { ColourFlag } from './colour.js'
import type { Given } from './given.js'

export const PROGRESS = ['auto', 'plain', 'none'] as const
const COLOURS: readonly ColourFlag[] = ['auto', 'always', 'never']

/** What holds for the whole run: an option, otherwise the environment, otherwise the default. */
export interface Config {
  db: string | undefined
  tier: Tier
  asOf: Day | null
  colour: ColourFlag
  progress: (typeof PROGRESS)[number]
  quiet: boolean
  debug: boolean
}

/** Throws InvalidParameter naming the option or the variable. */
export function readConfig(globals: Given, env: NodeJS.ProcessEnv): Config {
  const tier = either(globals, 'tier', env, 'BANDS_TIER')
  const asOf = either(globals, 'as-of', env, 'BANDS_AS_OF')
  return {
    db: globals.text('db'),
    tier: tier === null ? 'pro' : tierValue(...tier),
    asOf: asOf === null ? null : dayValue(...asOf),
    colour: wordValue('color', globals.text('color') ?? 'auto', COLOURS),
    progress: wordValue('progress', globals.text('progress') ?? 'auto', PROGRESS),
    quiet: globals.flag('quiet'),
    debug: wantsDebug(globals.flag('debug'), env),
  }
}

export function wantsDebug(flag: boolean, env: NodeJS.ProcessEnv): boolean {
  return flag || (env.BANDS_DEBUG !== undefined && !['', '0', 'false'].includes(env.BANDS_DEBUG))
}

/** The value with the name to blame for it; an empty variable counts as none. */
function either(globals: Given, option: string, env: NodeJS.ProcessEnv, variable: string): [string, string] | null {
  const given = globals.text(option)
  if (given !== undefined) return [option.replaceAll('-', '_'), given]
  const value = env[variable]
  return value ? [variable, value] : null
}
