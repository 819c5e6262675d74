import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Accounts, KeyEntry } from './accounts.js'
import { hashOf, parseKey } from './key.js'
import { stateOf } from './state.js'

/**
 * Whose key this is; null when it is malformed, unknown, wrong, expired or revoked. All of these do the same work, so
 * that the time of the answer tells nothing about the keys that there are.
 *
 * @param now milliseconds since 1970
 */
export async function authenticate(accounts: Accounts, token: string, now: number): Promise<KeyEntry | null> {
  const found = await accounts.key(parseKey(token)?.identity ?? NOBODY)
  const right = timingSafeEqual(hashOf(token), found?.hash ?? NOBODYS_HASH)
  if (found === null || !right || stateOf(found, now) !== 'active') return null
  const { hash: _hash, ...entry } = found
  return entry
}

/** No key has this identity, and no text this hash. */
const NOBODY = '--------'
const NOBODYS_HASH = randomBytes(32)
