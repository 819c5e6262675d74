import { Unauthorized } from '../../errors/service.js'
import { InvalidParameter } from '../../errors.js'
import type { Tier } from '../../model/tier.js'
import { addressOf } from '../../remote/address.js'
import type { Credits } from '../../remote/index.js'
import { HERE } from '../config.js'
import type { Context } from '../context.js'
import { readSecret } from '../secret.js'
import { givenKey } from './chosen.js'
import { type ConfigFile, profileName, readConfigFile, writeProfile } from './config-file.js'
import { keyEnd, storedKeys, storeKey } from './credentials.js'
import { openServer } from './open.js'

/** A login that went well. */
export interface Login {
  profile: string
  url: string
  /** null where the server does not tell its plans */
  tier: Tier | null
  /** `****wxyz` */
  key: string
  credits: Credits | null
}

/** A profile that nobody has named. */
const DEFAULT_PROFILE = 'default'

/**
 * Reads a key, asks the server whether it counts, and keeps both. Nothing is kept of a key that is refused. Throws
 * Unauthorized for that, InvalidParameter, ConfigError, and what a server throws that cannot be asked.
 */
export async function login(context: Context): Promise<Login> {
  const { config, world } = context
  const { env } = world
  const file = await readConfigFile(env)
  // Looked at now, so that a file that cannot be used is told before anyone types a key.
  await storedKeys(env)
  const { name, url } = target(context, file)
  const { base, origin } = addressOf(url, { allowPlainHttp: config.allowPlainHttp })
  const key =
    config.keyFile === undefined
      ? await readSecret(world, `API key for ${base}: `, 'API key')
      : (await givenKey(config, env))!.key
  const server = await openServer(base, key, config, env)
  try {
    await server.checkKey().catch(error => {
      throw error instanceof Unauthorized ? new Unauthorized(`${base} refuses this key: ${error.message}`) : error
    })
    const { tier, credits } = server
    await storeKey(env, { profile: name, origin, key })
    await writeProfile(env, { name, url: base, tier })
    return { profile: name, url: base, tier, key: keyEnd(key), credits }
  } finally {
    await server.close()
  }
}

/** Which profile is meant, and the address of its server: the one that is said, otherwise the one it has. */
function target({ config: { remote, profile } }: Context, { profile: chosen, profiles }: ConfigFile) {
  const name = profile === undefined ? (chosen?.name ?? DEFAULT_PROFILE) : profileName(profile)
  const known = profiles.get(name)
  const url = remote === HERE ? undefined : (remote ?? known?.url)
  if (url === undefined)
    throw new InvalidParameter(`which server is the key for? bands login --remote URL.`, { param: 'remote' })
  if (profile === undefined && known !== undefined && addressOf(known.url, ANY).origin !== addressOf(url, ANY).origin)
    throw new InvalidParameter(
      `profile "${name}" is of ${known.url}; give this server a name of its own: --profile NAME.`,
      {
        param: 'profile',
        value: name,
      },
    )
  return { name, url }
}

const ANY = { allowPlainHttp: true }
