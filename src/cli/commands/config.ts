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
  const folder = configFolder(env).origin
  const { profile } = chosen ?? {}
  const of = (name: Setting, value: ShownSetting['value'], origin = config.from[name] ?? 'default'): ShownSetting => ({
    setting: name,
    value,
    origin,
  })
  return [
    of('remote', chosen && shownAddress(chosen.url), chosen?.from),
    of('profile', profile?.name ?? null, profile ? (config.from.profile ?? chosen!.from) : 'default'),
    await keyShown(chosen, config, env),
    of('db', databasePath({ db: config.db, env })),
    // At a server the key decides; what is known of that stands in its profile.
    chosen === null
      ? of('tier', config.tier)
      : of('tier', profile?.tier ?? null, profile?.tier ? profile.place : 'the key decides'),
    of('as_of', config.asOf === null ? null : formatDay(config.asOf)),
    of('timeout', config.timeout ?? DEFAULT_TIMEOUT_MS / 1000),
    of('retries', config.retries ?? DEFAULT_RETRIES),
    of('allow_plain_http', config.allowPlainHttp),
    of('color', config.colour),
    of('progress', config.progress),
    of('quiet', config.quiet),
    of('debug', config.debug),
    { setting: 'config_file', value: configPath(env), origin: folder },
    { setting: 'credentials_file', value: credentialsPath(env), origin: folder },
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

/** Throws InvalidParameter for what is none: it may hold a password, and is not to be repeated. */
function shownAddress(url: string): string {
  return addressOf(url, { allowPlainHttp: true }).base
}
