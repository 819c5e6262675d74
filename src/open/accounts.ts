import type { Accounts, Charge, Charged, LedgerTask, RolledUp } from '../accounts/accounts.js'
import { InvalidParameter, type Remedy, remedy } from '../errors.js'
import { accountsValue } from '../params/values.js'
import { addressOf, isPostgresUrl } from '../store/postgres/address.js'
import type { AccountsChoice } from './where.js'

/** A URL, and as what it was given. */
interface Url {
  param: string
  url: string
}

/** The database of PostgreSQL in which the accounts are; null where they are a file. Throws InvalidParameter. */
export function accountsUrl({ accounts, env = process.env }: AccountsChoice): Url | null {
  const param = accounts === undefined ? 'BANDS_ACCOUNTS' : 'accounts'
  const text = accounts ?? env.BANDS_ACCOUNTS ?? ''
  return isPostgresUrl(text) ? { param, url: accountsValue(param, text) } : null
}

/** The same for what a file of accounts has not. Throws InvalidParameter for a file. @param refusal the sentence for it */
function neededUrl(choice: AccountsChoice, refusal: string): Url {
  const at = accountsUrl(choice)
  if (at !== null) return at
  throw new InvalidParameter(refusal, { param: 'accounts', allowed: 'postgres://user@host:5432/database' })
}

/** Throws NotFound where there are none and none are to be made, Busy where the database cannot be reached. */
export async function openAccountsAt(
  at: Url,
  { make, env }: { make: boolean; env: AccountsChoice['env'] },
): Promise<Accounts> {
  // Whoever has a file loads nothing of this.
  const { openPostgresAccounts } = await import('../store/postgres/accounts.js')
  return openPostgresAccounts(addressOf(at.param, at.url, env), { make, made: madeBy(at) })
}

/**
 * Where accounts in PostgreSQL are, and in how many partitions their tables are cut, 1 for whole ones; with a number they are
 * made so. Throws InvalidParameter for a file, NotFound where there are none and none are to be made, StorageError where
 * there are some.
 */
export async function accountsLayoutOf(
  choice: AccountsChoice,
  partitions?: number,
): Promise<{ accounts: string; partitions: number }> {
  const at = neededUrl(choice, 'a layout is for accounts in PostgreSQL, and these are a file.')
  const { accountsLayout } = await import('../store/postgres/accounts.js')
  const address = addressOf(at.param, at.url, choice.env)
  const found = await accountsLayout(address, { made: madeBy(at), ...(partitions && { partitions }) })
  return { accounts: address.location, partitions: found }
}

/**
 * Lets a role of PostgreSQL read and charge the accounts, and returns where they are. Throws InvalidParameter for a file,
 * NotFound for an unknown role.
 */
export async function grantAccountsTo(choice: AccountsChoice, role: string): Promise<string> {
  const at = neededUrl(choice, 'rights are for accounts in PostgreSQL, and these are a file.')
  const { grantAccounts } = await import('../store/postgres/accounts.js')
  const address = addressOf(at.param, at.url, choice.env)
  await grantAccounts(address, role)
  return address.location
}

function madeBy({ param, url }: Url): Remedy {
  return remedy('accounts create', ['NAME'], { tier: 'free', ...(param === 'accounts' && { accounts: url }) })
}

/** The accounts of a server, whose charges are written beside whatever is answered: to a file by a thread of its own. */
export async function charging(accounts: Accounts): Promise<Accounts> {
  if (accounts.pool !== undefined) return accounts
  return chargedInThread(accounts).catch(async error => {
    await accounts.close()
    throw error
  })
}

/**
 * Accounts whose charges a thread of their own writes down, so that one commit and the answers of the next overlap. All
 * else, and what was charged by others, is read here. Which charges share a commit, and that each is on the disk before
 * its answer leaves, is as it was: there is one thread, and it does one batch at a time. Where the program of a thread is
 * missing, as in a bundle, they are the accounts themselves.
 */
async function chargedInThread(accounts: Accounts): Promise<Accounts> {
  const [{ lent }, { Threads }] = await Promise.all([import('../store/remembered.js'), import('../threads.js')])
  const thread = new Threads<LedgerTask, unknown>('ledger', { path: accounts.location }, 1)
  if (!thread.isThere) return accounts
  // Opened now: the file of this name is still the one that is read here.
  await thread.run('check')
  return lent(accounts, {
    async charge(charges: readonly Charge[]): Promise<Charged[]> {
      return charges.length === 0 ? [] : ((await thread.run(charges)) as Charged[])
    },
    async rollUp(at: number): Promise<RolledUp> {
      return (await thread.run(at)) as RolledUp
    },
    async check(): Promise<void> {
      await accounts.check()
      // Whether writing works is known where it is done.
      await thread.run('check')
    },
    async close(): Promise<void> {
      try {
        await thread.run('close')
      } finally {
        await thread.close()
        await accounts.close()
      }
    },
  })
}
