import { BandsError } from '../../errors.js'
import { formatDay } from '../../model/day.js'
import { databasePath } from '../../open.js'
import { addressOf } from '../../remote/address.js'
import type { Command } from '../command.js'
import { type Config, configFolder, configPath, credentialsPath, type Setting } from '../config.js'
import type { Context } from '../context.js'
import { tableOf } from '../draw/table.js'
import { type Chosen, chosenServer, keyFor, readConfigFile } from '../profiles.js'

export const command: Command = {
  examples: ['bands config', 'bands config --json'],
  notes: [
    'Each setting with what told it: an option, otherwise a variable of the environment, otherwise the profile in config.json, otherwise its default. A server is named by --remote, --profile, BANDS_REMOTE, BANDS_PROFILE or "profile" in config.json, the first that is there; --db asks the database here before what only the environment or the file names. A key comes from --key-file, BANDS_API_KEY or bands login.',
    'config.json is JSON with comments: {"profile": "work", "profiles": {"work": {"url": "https://api.example.com", "tier": "pro"}}}',
  ],
  async run(context) {
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
  },
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
    ...PLAIN.map(name => of(name, config[name])),
    { setting: 'config_file', value: configPath(env), origin: folder },
    { setting: 'credentials_file', value: credentialsPath(env), origin: folder },
    ...[...profiles.values()].map(({ name, url, place }) => ({
      setting: `profiles.${name}`,
      value: url,
      origin: place,
    })),
  ]
}

const PLAIN = ['timeout', 'retries', 'allow_plain_http', 'color', 'progress', 'quiet', 'debug'] as const

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
