import { existsSync } from 'node:fs'
import { InvalidParameter, NotFound, type Remedy, remedy } from '../../core/errors.js'
import { isPostgresUrl } from '../../core/params/postgres-url.js'
import { accountsValue } from '../../core/params/values.js'
import { creatablePath, type Files } from '../../data/store/sqlite/files.js'
import type { VerifiedFile } from '../../data/store/sqlite/verify.js'
import type { Accounts } from '../../server/accounts/accounts.js'
import { parseAddress } from '../../server/accounts/postgres/address.js'
import type { UpdatePlan } from '../../server/accounts/postgres/admin.js'
import { refuseUnfinishedRestore } from './database.js'
import { type AccountsChoice, accountsPath, databasePath, filesOf, refuseSharedSecret } from './paths.js'

/**
 * Opens the accounts of a server. Throws NotFound if they are missing and `make` is false; its remedy makes them with
 * `suggestedAccount`. Throws ConfigError for a file that others can read or change, StorageError for an unusable one.
 */
export async function openAccounts({
  make = false,
  suggestedAccount = 'NAME',
  ...choice
}: AccountsChoice & { make?: boolean; suggestedAccount?: string } = {}): Promise<Accounts> {
  const url = accountsUrl(choice)
  if (url !== null)
    return openAccountsAt(url, { make, createCommand: createCommandFor(url, suggestedAccount), env: choice.env })
  refuseUnfinishedRestore(databasePath(choice))
  const path = accountsPath(choice)
  // Anyone who may write this file can make keys of any tier.
  if (existsSync(path)) await refuseSharedSecret(path)
  else if (!make)
    throw new NotFound(`there are no accounts at ${path}.`, [], {
      remedy: remedy('accounts create', [suggestedAccount], {
        tier: 'free',
        ...(choice.accounts && { accounts: creatablePath(path) }),
      }),
    })
  const { openSqliteAccounts } = await import('../../server/accounts/sqlite/accounts.js')
  return openSqliteAccounts(path, choice.notice)
}

/** The files of a user. Throws Busy or StorageError during an unfinished restore. */
export function restoredFilesOf(choice: AccountsChoice = {}): Files {
  refuseUnfinishedRestore(databasePath(choice))
  return filesOf(choice)
}

/** Verifies the existing files next to the data. Throws StorageError. */
export async function verifyOtherFiles(choice: AccountsChoice = {}): Promise<VerifiedFile[]> {
  const files = restoredFilesOf(choice)
  const { COMPANION_FILES } = await import('../backup/backup.js')
  return COMPANION_FILES.filter(([kind]) => existsSync(files[kind])).map(([kind, verify]) => verify(files[kind]))
}

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

/**
 * The functions that administer accounts in PostgreSQL, the address of the accounts, and the command that makes one.
 * Throws InvalidParameter for accounts in a file. @param refusal the sentence of that error
 */
async function loadAdmin(choice: AccountsChoice, refusal: string) {
  const url = accountsUrl(choice)
  if (url === null)
    throw new InvalidParameter(refusal, { param: 'accounts', allowed: 'postgres://user@host:5432/database' })
  const admin = await import('../../server/accounts/postgres/admin.js')
  return { admin, address: parseAddress(url.param, url.url, choice.env), createCommand: createCommandFor(url) }
}

/**
 * Opens accounts in PostgreSQL. Throws NotFound if they are missing and `make` is false, Busy if the database cannot be
 * reached.
 */
async function openAccountsAt(
  at: Url,
  { make, createCommand, env }: { make: boolean; createCommand: Remedy; env: AccountsChoice['env'] },
): Promise<Accounts> {
  // Loaded here, so that only users of PostgreSQL load its driver.
  const { openPostgresAccounts } = await import('../../server/accounts/postgres/accounts.js')
  return openPostgresAccounts(parseAddress(at.param, at.url, env), { create: make, createCommand })
}

/**
 * The address of accounts in PostgreSQL, and the number of partitions of their tables, 1 for none. Throws
 * InvalidParameter for a file, NotFound for missing accounts, StorageError for existing ones if a number is given.
 * @param partitions makes the accounts with this number
 */
export async function accountsLayoutOf(
  choice: AccountsChoice,
  partitions?: number,
): Promise<{ accounts: string; partitions: number }> {
  const refusal = 'a layout is for accounts in PostgreSQL, and these are a file.'
  const { admin, address, createCommand } = await loadAdmin(choice, refusal)
  const options = partitions === undefined ? { createCommand } : { createCommand, partitions }
  return { accounts: address.location, partitions: await admin.createOrCountPartitions(address, options) }
}

/**
 * The steps that an update of accounts in PostgreSQL would take; takes none of them. Throws InvalidParameter for a
 * file, NotFound for missing accounts.
 */
export async function accountsUpdatePlan(choice: AccountsChoice): Promise<UpdatePlan & { accounts: string }> {
  const refusal = 'a plan is for accounts in PostgreSQL, and these are a file.'
  const { admin, address, createCommand } = await loadAdmin(choice, refusal)
  return { accounts: address.location, ...(await admin.updatePlan(address, { createCommand })) }
}

/**
 * Grants a PostgreSQL role the rights to read and charge the accounts, and returns their address. Throws
 * InvalidParameter for a file, NotFound for an unknown role.
 */
export async function grantAccountsTo(choice: AccountsChoice, role: string): Promise<string> {
  const refusal = 'rights are for accounts in PostgreSQL, and these are a file.'
  const { admin, address } = await loadAdmin(choice, refusal)
  await admin.grantAccounts(address, role)
  return address.location
}

/** The remedy for missing accounts. It names their URL if an option set it; a variable stays set. */
function createCommandFor({ param, url }: Url, account = 'NAME'): Remedy {
  return remedy('accounts create', [account], { tier: 'free', ...(param === 'accounts' && { accounts: url }) })
}
