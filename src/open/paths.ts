import { userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { objectOf } from '../params/arguments.js'
import { fileValue, textOf } from '../params/values.js'
import { isPostgresUrl } from '../store/postgres/address.js'
import type { Files } from '../store/sqlite/backup.js'
import { openSqlite } from '../store/sqlite/data.js'
import type { Store } from '../store/store.js'

/** Where the database is, and what lies beside it. */

/** Which database is meant. */
export interface DatabaseChoice {
  /** The file of the database; otherwise BANDS_DB, otherwise `bands/bands.db` in the user's XDG data folder. */
  db?: string | undefined
  env?: Readonly<Record<string, string | undefined>>
  /** Told, in a sentence, where a file was copied to before its schema changed. */
  notice?: ((sentence: string) => void) | undefined
}

/** Which accounts are meant. */
export interface AccountsChoice extends DatabaseChoice {
  /** Their file, or the URL of a database of PostgreSQL; otherwise BANDS_ACCOUNTS, otherwise the file beside the database. */
  accounts?: string | undefined
}

/** The path of the file. Throws InvalidParameter for a URL. */
export function databasePath(choice: DatabaseChoice = {}): string {
  const name = namedDatabase(choice)
  if (name === null) return join(dataFolder(choice), 'bands.db')
  return resolve(fileValue(...name))
}

/** What was given as the name of the database, and by what; null: nothing was. */
export function namedDatabase(choice: DatabaseChoice): [param: string, named: string] | null {
  objectOf('choice', choice)
  const { db, env = process.env } = choice
  objectOf('env', env)
  if (db !== undefined) return ['db', textOf('db', db)]
  return env.BANDS_DB ? ['BANDS_DB', env.BANDS_DB] : null
}

/** Throws NotFound, StorageError for a file that cannot be read. */
export function openForReading(choice: DatabaseChoice): Store {
  return openSqlite(databasePath(choice), { readonly: true, notice: choice.notice })
}

/** Where a user's data are, unless another place is named. */
function dataFolder({ env = process.env }: DatabaseChoice): string {
  const data = env.XDG_DATA_HOME
  // The XDG base directory specification has relative paths ignored.
  const folder = data !== undefined && isAbsolute(data) ? data : join(env.HOME || userInfo().homedir, '.local', 'share')
  return join(folder, 'bands')
}

/**
 * `bands.db` → `bands.accounts.db`, unless another file was named: where the user's own database is or would be, also
 * while the sample answers. Throws InvalidParameter for a URL.
 */
export function accountsPath(choice: AccountsChoice = {}): string {
  const { accounts, env = process.env } = choice
  if (accounts !== undefined) return resolve(fileValue('accounts', accounts))
  // Of a server with its accounts elsewhere, which concerns nobody who asks for files.
  if (env.BANDS_ACCOUNTS && !isPostgresUrl(env.BANDS_ACCOUNTS))
    return resolve(fileValue('BANDS_ACCOUNTS', env.BANDS_ACCOUNTS))
  return `${stemOf(databasePath(choice))}.accounts.db`
}

/** The files beside `bands.db` begin with `bands`. */
function stemOf(path: string): string {
  return path.replace(/\.db$/, '')
}

/** The files of a user, there or not. */
export function filesOf(choice: AccountsChoice = {}): Files {
  const data = databasePath(choice)
  const stem = stemOf(data)
  return { data, accounts: accountsPath(choice), trials: `${stem}.trials.db`, lists: `${stem}.lists.db` }
}
