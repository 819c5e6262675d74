import { BandsError } from '../../errors.js'
import { formatDay } from '../../model/day.js'
import { databasePath } from '../../open.js'
import { addressOf, DEFAULT_RETRIES, DEFAULT_TIMEOUT_MS } from '../../remote/address.js'
import type { Command } from '../command.js'
import { configFolder, configPath, credentialsPath, type Setting } from '../config.js'
import { readConfigFile } from '../config-files.js'
import type { Context } from '../context.js'
import type { Answer } from '../output.js'
import { type Chosen, chosenServer, keyFor } from '../profiles.js'

export const command: Command = {
  examples: ['bands config', 'bands config --json'],
  notes: [
    'Each setting with what told it: an option, otherwise a variable of the environment, otherwise the profile in config.json, otherwise its default. A server is named by --remote, --profile, BANDS_REMOTE, BANDS_PROFILE or "profile" in config.json, the first that is there; --db asks the database here before what only the environment or the file names. A key comes from --key-file, BANDS_API_KEY or bands login.',
    'config.json is JSON with comments: {"profile": "work", "profiles": {"work": {"url": "https://api.example.com", "tier": "pro"}}}',
  ],
  async run(context) {
    await context.show(configAnswer(await settingsOf(context)))
  },
}

/** Every setting with its value and what told it. */
function configAnswer(settings: readonly ShownSetting[]): Answer {
  return {
    document: () => ({ schema: 'bands.config/1', settings }),
    columns: ['setting', 'value', 'origin'],
    rows: () => settings.map(setting => ({ ...setting })),
    blocks: () => [
      {
        table: {
          columns: [{ title: 'SETTING' }, { title: 'VALUE' }, { title: 'ORIGIN', wraps: true }],
          rows: settings.map(({ setting, value, origin }) => [setting, value === null ? '-' : String(value), origin]),
        },
      },
    ],
  }
}

/** One setting: what holds, and what told it. */
interface ShownSetting {
  setting: string
  value: string | number | boolean | null
  /** An option, a variable, a place in a file, or `default`. */
  origin: string
}

/** All settings of a run. A key is never among them, only where one is from. Throws ConfigError, InvalidParameter. */
async function settingsOf({ config, world: { env } }: Context): Promise<ShownSetting[]> {
  const chosen = await chosenServer(config, env)
  const { profiles } = await readConfigFile(env)
  const of = (setting: Setting): string => config.from[setting] ?? 'default'
  const shown = (setting: Setting, value: ShownSetting['value']): ShownSetting => ({
    setting,
    value,
    origin: of(setting),
  })
  return [
    { setting: 'remote', value: chosen && shownAddress(chosen.url), origin: chosen?.from ?? of('remote') },
    {
      setting: 'profile',
      value: chosen?.profile?.name ?? null,
      origin: chosen?.profile ? (config.from.profile ?? chosen.from) : 'default',
    },
    await keyShown(chosen, config, env),
    { setting: 'db', value: databasePath({ db: config.db, env }), origin: of('db') },
    tierShown(chosen, shown('tier', config.tier)),
    shown('as_of', config.asOf === null ? null : formatDay(config.asOf)),
    shown('timeout', config.timeout ?? DEFAULT_TIMEOUT_MS / 1000),
    shown('retries', config.retries ?? DEFAULT_RETRIES),
    shown('allow_plain_http', config.allowPlainHttp),
    shown('color', config.colour),
    shown('progress', config.progress),
    shown('quiet', config.quiet),
    shown('debug', config.debug),
    { setting: 'config_file', value: configPath(env), origin: configFolder(env).origin },
    { setting: 'credentials_file', value: credentialsPath(env), origin: configFolder(env).origin },
    ...[...profiles.values()].map(({ name, url, place }) => ({
      setting: `profiles.${name}`,
      value: url,
      origin: place,
    })),
  ]
}

/** Whether there is a key, and what keeps one from being used; never the key. */
async function keyShown(
  chosen: Chosen | null,
  config: Context['config'],
  env: NodeJS.ProcessEnv,
): Promise<ShownSetting> {
  const setting = 'api_key'
  if (chosen === null) return { setting, value: null, origin: 'default' }
  try {
    return { setting, value: '****', origin: (await keyFor(chosen, config, env)).from }
  } catch (error) {
    if (!(error instanceof BandsError)) throw error
    return { setting, value: null, origin: error.message }
  }
}

/** At a server the key decides; what is known of that stands in its profile. */
function tierShown(chosen: Chosen | null, local: ShownSetting): ShownSetting {
  if (chosen === null) return local
  const tier = chosen.profile?.tier ?? null
  return { setting: 'tier', value: tier, origin: tier === null ? 'the key decides' : chosen.profile!.place }
}

/** Throws InvalidParameter for what is none: it may hold a password, and is not to be repeated. */
function shownAddress(url: string): string {
  return addressOf(url, { allowPlainHttp: true }).base
}
