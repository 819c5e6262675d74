import type { Accounts } from '../accounts/accounts.js'
import { parseIdentity } from '../accounts/key.js'
import { InvalidParameter } from '../errors.js'
import type { OptionSpec } from '../params/row.js'
import type { Config } from './config.js'
import type { Context } from './context.js'

/** What the commands about accounts and keys share. */

export const ACCOUNT = ['<NAME>', 'the account (bands accounts list); case does not matter'] as const
export const IDENTITY = ['<IDENTITY>', 'the eight characters by which a key is known (bands keys list)'] as const
export const EXPIRES: OptionSpec = [
  '--expires <WHEN>',
  'after so many days, or the last day on which it counts, in UTC; never unless given',
]

/**
 * Lends the accounts beside the chosen data to some work, and closes them whatever becomes of it. Throws InvalidParameter
 * for options of every command that mean nothing here.
 *
 * @param make the accounts, where there are none: for a command that makes one, of a tier
 */
export async function withAccounts<T>(
  context: Context,
  work: (accounts: Accounts) => Promise<T>,
  { make = false } = {},
): Promise<T> {
  const { config } = context
  context.refuseRemote()
  if (!make) refuseTier(config)
  const { openAccounts } = await import('../open.js')
  const accounts = await openAccounts({ ...context.choice, make })
  try {
    return await work(accounts)
  } finally {
    await accounts.close()
  }
}

/** Who types a tier here may believe that a key has one. */
function refuseTier({ from }: Config): void {
  if (from.tier !== '--tier') return
  const message = '--tier does not apply here: a tier belongs to an account (bands accounts set-tier).'
  throw new InvalidParameter(message, { param: 'tier' })
}

/** Throws InvalidParameter that does not repeat what may be a whole key. */
export function identityValue(text: string): string {
  const identity = parseIdentity(text)
  if (identity !== null) return identity
  const allowed = 'the eight letters and digits after bands_ (bands keys list)'
  throw new InvalidParameter(`identity is not ${allowed}; the rest of a key belongs on no command line.`, {
    param: 'identity',
    allowed,
  })
}
