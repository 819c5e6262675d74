import { InvalidParameter, NotFound } from '../../errors.js'
import { addressOf } from '../../remote/address.js'
import { suggest } from '../../suggest.js'
import { HERE } from '../config.js'
import type { Context } from '../context.js'
import { readConfigFile } from './config-file.js'
import { forgetKey, type StoredKey, storedKeys } from './credentials.js'

/** Forgets a key: of the profile or the server that is said, otherwise the only one. Throws NotFound where there is none. */
export async function logout({ config, world: { env } }: Context): Promise<Pick<StoredKey, 'profile' | 'origin'>> {
  const kept = await storedKeys(env)
  const { remote } = config
  const name = config.profile ?? (remote === undefined ? (await readConfigFile(env)).profile?.name : undefined)
  const meant = kept.filter(({ profile, origin }) => {
    if (name !== undefined) return profile === name
    return remote === undefined || remote === HERE || origin === addressOf(remote, { allowPlainHttp: true }).origin
  })
  const [only, other] = meant
  if (other !== undefined) {
    const names = meant.map(({ profile }) => profile)
    const message = `several keys are kept; choose the one to forget with --profile: ${names.join(', ')}.`
    throw new InvalidParameter(message, { param: 'profile', allowed: names })
  }
  if (only === undefined) {
    const whose = name === undefined ? '' : ` of profile "${name}"`
    const names = kept.map(({ profile }) => profile)
    throw new NotFound(`no key${whose} is kept.`, name === undefined ? [] : suggest(name, names))
  }
  await forgetKey(env, only.profile)
  return { profile: only.profile, origin: only.origin }
}
