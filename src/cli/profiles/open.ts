import { InvalidParameter } from '../../errors.js'
import { fieldNamed } from '../../fields/index.js'
import { openRemote } from '../../open.js'
import { addressOf } from '../../remote/address.js'
import type { Remote } from '../../remote/index.js'
import { type Config, isRemoteTyped } from '../config.js'
import { chosenServer, keyFor } from './chosen.js'

/** The server that a run asks, ready to be asked; null where the database here answers. Throws what those below throw. */
export async function openChosen(config: Config, env: NodeJS.ProcessEnv): Promise<Remote | null> {
  const chosen = await chosenServer(config, env)
  if (chosen === null) return null
  // First: what is no address may hold a password, and is not to be repeated.
  const { base } = addressOf(chosen.url, { allowPlainHttp: config.allowPlainHttp })
  refuseLocalSettings(config, base)
  const { key } = await keyFor(chosen, config, env)
  return openServer(base, key, config, env)
}

/** A server with a key, as the command line wants it asked. */
export function openServer(url: string, key: string, config: Config, env: NodeJS.ProcessEnv): Promise<Remote> {
  return openRemote({
    url,
    key,
    env,
    allowPlainHttp: config.allowPlainHttp,
    ...(config.timeout === undefined ? {} : { timeoutMs: config.timeout * 1000 }),
    ...(config.retries === undefined ? {} : { retries: config.retries }),
    bandsOf: field => fieldNamed(field)?.bands ?? [],
  })
}

/** What a server decides by itself is not passed over in silence: the answer would not be the one that was asked for. */
function refuseLocalSettings(config: Config, url: string): void {
  const { from } = config
  const way = isRemoteTyped(config) ? 'leave it out' : 'leave it out, or say --remote local'
  const refuse = (param: string, source: string, why: string): never => {
    const remedy = source.startsWith('--') ? way : way.replace('leave it out', `unset ${source}`)
    throw new InvalidParameter(`${source} is not for a server: ${url} ${why}; ${remedy}.`, { param })
  }
  if (from.tier !== undefined) refuse('tier', from.tier, 'answers as the tier of the key')
  if (from.as_of !== undefined) refuse('as_of', from.as_of, 'answers as of its own day')
  if (from.db === '--db') refuse('db', from.db, 'has its own database')
}
