import type { KeyEntry } from './accounts.js'

/** Only an active key counts. */
export type KeyState = 'active' | 'expired' | 'revoked'

/** What a key is at a moment, in milliseconds since 1970. */
export function stateOf({ expires, revoked }: Pick<KeyEntry, 'expires' | 'revoked'>, now: number): KeyState {
  if (revoked !== null) return 'revoked'
  return expires !== null && Date.parse(expires) <= now ? 'expired' : 'active'
}
