import type { Accounts } from '../accounts/accounts.js'
import { remedy } from '../errors.js'
import { databaseValue } from '../params/values.js'
import { isPostgresUrl } from '../store/postgres/address.js'

/** Which accounts are meant, as far as that is said, and not left to where the data lies. */
interface Said {
  accounts?: string | undefined
  env?: Readonly<Record<string, string | undefined>> | undefined
}

/** A URL, and as what it was given. */
interface Url {
  param: string
  url: string
}

/** The database of PostgreSQL in which the accounts are; null where they are a file. Throws InvalidParameter. */
export function accountsUrl({ accounts, env = process.env }: Said): Url | null {
  const param = accounts === undefined ? 'BANDS_ACCOUNTS' : 'accounts'
  const text = accounts ?? env.BANDS_ACCOUNTS ?? ''
  return isPostgresUrl(text) ? { param, url: databaseValue(param, text) } : null
}

/** Throws NotFound where there are none and none are to be made, Busy where the database cannot be reached. */
export async function openAccountsAt(
  { param, url }: Url,
  { make, env }: { make: boolean; env: Said['env'] },
): Promise<Accounts> {
  // Whoever has a file loads nothing of this.
  const [{ addressOf }, { openPostgresAccounts }] = await Promise.all([
    import('../store/postgres/address.js'),
    import('../store/postgres/accounts.js'),
  ])
  const made = remedy('accounts create', ['NAME'], { tier: 'free', ...(param === 'accounts' && { accounts: url }) })
  return openPostgresAccounts(addressOf(param, url, env), { make, made })
}

/** The accounts of a server, whose charges are written beside whatever is answered: to a file by a thread of its own. */
export async function charging(accounts: Accounts): Promise<Accounts> {
  if (accounts.pool !== undefined) return accounts
  const { chargedInThread } = await import('../server/ledger.js')
  return chargedInThread(accounts).catch(async error => {
    await accounts.close()
    throw error
  })
}
