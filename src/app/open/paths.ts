import { stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { SAMPLE } from '../../core/built.js'
import { ConfigError, NotFound, remedy, wrong } from '../../core/errors.js'
import { objectOf } from '../../core/params/arguments.js'
import { isPostgresUrl } from '../../core/params/postgres-url.js'
import { fileValue, textOf } from '../../core/params/values.js'
import { openSqlite } from '../../data/store/sqlite/data.js'
import { creatablePath, type Files } from '../../data/store/sqlite/files.js'
import type { Store } from '../../data/store/store.js'

/** The paths of the database and of the files next to it. */

export interface DatabaseChoice {
  /** The database's file, or `sample`, the bundled one; else BANDS_DB, else `bands/bands.db` in the XDG data folder. */
  db?: string | undefined
  env?: Readonly<Record<string, string | undefined>>
  /** Called with a sentence after a file was copied before a migration. */
  notice?: ((sentence: string) => void) | undefined
}

export interface AccountsChoice extends DatabaseChoice {
  /** Their file, or a PostgreSQL URL (default: BANDS_ACCOUNTS, otherwise the file next to the database). */
  accounts?: string | undefined
}

/** The path of the file. Throws InvalidParameter for a URL, and for the sample, which nothing changes. */
export function databasePath(choice: DatabaseChoice = {}): string {
  const name = namedDatabase(choice)
  if (name === null) return defaultPath(choice)
  const [param, named] = name
  if (named === SAMPLE) {
    const words = `this command does not use the bundled sample; write ./${SAMPLE} for a file of that name.`
    throw wrong(param, words, { value: named })
  }
  return resolve(fileValue(param, named))
}

/** The path of the database of a user who names none, in the XDG data folder. */
function defaultPath({ env = process.env }: DatabaseChoice): string {
  const data = env.XDG_DATA_HOME
  // The XDG base directory specification has relative paths ignored.
  const folder = data !== undefined && isAbsolute(data) ? data : join(env.HOME || userInfo().homedir, '.local', 'share')
  return join(folder, 'bands', 'bands.db')
}

/** The error for a database that is missing; its remedy makes one there. */
export function noDatabase(path: string): NotFound {
  return new NotFound(`there is no database at ${path}; an import makes one.`, [], {
    remedy: remedy('import', ['FILE'], { db: creatablePath(path) }),
  })
}

export function isSample(choice: DatabaseChoice): boolean {
  return namedDatabase(choice)?.[1] === SAMPLE
}

/** The named database, and the option or variable that names it; null if nothing does. */
export function namedDatabase(choice: DatabaseChoice): [param: string, named: string] | null {
  objectOf('choice', choice)
  const { db, env = process.env } = choice
  objectOf('env', env)
  if (db !== undefined) return ['db', textOf('db', db)]
  return env.BANDS_DB ? ['BANDS_DB', env.BANDS_DB] : null
}

/** Opens the database read-only. Throws NotFound, StorageError for a file that cannot be read. */
export function openForReading(choice: DatabaseChoice): Store {
  return openSqlite(databasePath(choice), { readonly: true, notice: choice.notice })
}

/**
 * The path of the accounts, which may not exist: the named file, or `bands.accounts.db` next to `bands.db`. Throws
 * InvalidParameter for a URL.
 */
export function accountsPath(choice: AccountsChoice = {}): string {
  const { accounts, env = process.env } = choice
  if (accounts !== undefined) return resolve(fileValue('accounts', accounts))
  // The variable is for a server with accounts in PostgreSQL, and does not matter to a command about files.
  if (env.BANDS_ACCOUNTS && !isPostgresUrl(env.BANDS_ACCOUNTS))
    return resolve(fileValue('BANDS_ACCOUNTS', env.BANDS_ACCOUNTS))
  return `${withoutExtension(databasePath(choice))}.accounts.db`
}

/** `bands.db` → `bands`, the prefix of the files next to it. */
function withoutExtension(path: string): string {
  return path.replace(/\.db$/, '')
}

/** The path of the watch lists. With the sample, a user has the lists of the default database. */
export function listsPath(choice: DatabaseChoice = {}): string {
  return `${withoutExtension(isSample(choice) ? defaultPath(choice) : databasePath(choice))}.lists.db`
}

/** The files of a user, whether or not they exist. */
export function filesOf(choice: AccountsChoice = {}): Files {
  const data = databasePath(choice)
  const stem = withoutExtension(data)
  return { data, accounts: accountsPath(choice), trials: `${stem}.trials.db`, lists: listsPath(choice) }
}

/** Throws ConfigError for a secret file that others can read or change. */
export async function refuseSharedSecret(path: string): Promise<void> {
  // Windows does not store access rights in the mode.
  if (process.platform === 'win32') return
  const stats = await stat(path)
  const mode = stats.mode & 0o777
  // The reader refuses anything that is not a file.
  if (!stats.isFile() || (mode & 0o077) === 0) return
  const access = (mode & 0o022) === 0 ? 'read' : 'read or changed'
  throw new ConfigError(`${path} can be ${access} by others (mode 0${mode.toString(8)}); chmod 600 ${path}`)
}
