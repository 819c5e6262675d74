import { InvalidParameter, type Remedy, remedy } from '../../core/errors.js'
import { isPostgresUrl } from '../../core/params/postgres-url.js'
import { accountsValue } from '../../core/params/values.js'
import type { Accounts } from '../../server/accounts/accounts.js'
import { addressOf } from '../../server/accounts/postgres/address.js'
import type { AccountsChoice } from './paths.js'

/** A URL, and the name of the option or variable that set it. */
interface Url {
  param: string
  url: string
}

/** The PostgreSQL database of the accounts; null if they are a file. Throws InvalidParameter. */
export function accountsUrl({ accounts, env = process.env }: AccountsChoice): Url | null {
  const param = accounts === undefined ? 'BANDS_ACCOUNTS' : 'accounts'
  const text = accounts ?? env.BANDS_ACCOUNTS ?? ''
  return isPostgresUrl(text) ? { param, url: accountsValue(param, text) } : null
}

/** The PostgreSQL URL of the accounts. Throws InvalidParameter for a file. @param refusal the sentence for it */
function neededUrl(choice: AccountsChoice, refusal: string): Url {
  const at = accountsUrl(choice)
  if (at !== null) return at
  throw new InvalidParameter(refusal, { param: 'accounts', allowed: 'postgres://user@host:5432/database' })
}

/** Throws NotFound if the accounts are missing and not to be made, Busy if the database cannot be reached. */
export async function openAccountsAt(
  at: Url,
  { make, env }: { make: boolean; env: AccountsChoice['env'] },
): Promise<Accounts> {
  // This module is only loaded for PostgreSQL.
  const { openPostgresAccounts } = await import('../../server/accounts/postgres/accounts.js')
  return openPostgresAccounts(addressOf(at.param, at.url, env), { make, made: madeBy(at) })
}

/**
 * The place of accounts in PostgreSQL, and the number of partitions of their tables, 1 for none. A number makes the
 * accounts. Throws InvalidParameter for a file, NotFound for missing accounts, StorageError if they exist already.
 */
export async function accountsLayoutOf(
  choice: AccountsChoice,
  partitions?: number,
): Promise<{ accounts: string; partitions: number }> {
  const at = neededUrl(choice, 'a layout is for accounts in PostgreSQL, and these are a file.')
  const { accountsLayout } = await import('../../server/accounts/postgres/accounts.js')
  const address = addressOf(at.param, at.url, choice.env)
  const found = await accountsLayout(address, { made: madeBy(at), ...(partitions && { partitions }) })
  return { accounts: address.location, partitions: found }
}

/**
 * Grants a PostgreSQL role the rights to read and charge the accounts, and returns their place. Throws InvalidParameter
 * for a file, NotFound for an unknown role.
 */
export async function grantAccountsTo(choice: AccountsChoice, role: string): Promise<string> {
  const at = neededUrl(choice, 'rights are for accounts in PostgreSQL, and these are a file.')
  const { grantAccounts } = await import('../../server/accounts/postgres/accounts.js')
  const address = addressOf(at.param, at.url, choice.env)
  await grantAccounts(address, role)
  return address.location
}

function madeBy({ param, url }: Url): Remedy {
  return remedy('accounts create', ['NAME'], { tier: 'free', ...(param === 'accounts' && { accounts: url }) })
}
