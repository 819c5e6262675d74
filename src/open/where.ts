import { userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { InvalidParameter } from '../errors.js'
import { objectOf } from '../params/arguments.js'
import { fileValue, textOf } from '../params/values.js'
import { isStoreThere, openStore } from '../store/opening.js'
import { addressOf, isPostgresUrl, variablesOf } from '../store/postgres/address.js'
import type { Layout } from '../store/postgres/shards.js'
import type { Files } from '../store/sqlite/backup.js'
import type { Store } from '../store/store.js'

/** Where the database is, and what lies beside it. */

/** Which database is meant. */
export interface DatabaseChoice {
  /** The database, a file or the URL of one of PostgreSQL; otherwise BANDS_DB, otherwise `bands/bands.db` in the user's XDG data folder. */
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

/** The path of the file; of one of PostgreSQL where it is, for messages. Throws InvalidParameter, ConfigError for another URL. */
export function databasePath(choice: DatabaseChoice = {}): string {
  const name = namedDatabase(choice)
  if (name === null) return join(dataFolder(choice), 'bands.db')
  const [param, named] = name
  if (!isPostgresUrl(named)) return resolve(fileValue(param, named))
  return addressOf(param, named, choice.env).location
}

/** What was given as the name of the database, and by what; null: nothing was. */
export function namedDatabase(choice: DatabaseChoice): [param: string, named: string] | null {
  objectOf('choice', choice)
  const { db, env = process.env } = choice
  objectOf('env', env)
  if (db !== undefined) return ['db', textOf('db', db)]
  return env.BANDS_DB ? ['BANDS_DB', env.BANDS_DB] : null
}

/** null: it is a file */
export function postgresUrl(choice: DatabaseChoice = {}): string | null {
  const [, named] = namedDatabase(choice) ?? []
  return named !== undefined && isPostgresUrl(named) ? named : null
}

/** What opens it. */
export function addressed(choice: DatabaseChoice, readonly: boolean): Parameters<typeof openStore> {
  const [param] = namedDatabase(choice) ?? []
  return [postgresUrl(choice) ?? databasePath(choice), { readonly, notice: choice.notice, param, env: choice.env }]
}

/** With what of the given environment threads open it, too. Held in memory alone: there may be a password in it. */
export function forThreads(choice: DatabaseChoice): DatabaseChoice['env'] {
  return choice.env && postgresUrl(choice) !== null ? variablesOf(choice.env) : undefined
}

export function openForReading(choice: DatabaseChoice): Promise<Store> {
  return openStore(...addressed(choice, true))
}

/** Whether there is a database, with or without something in it. Throws as the opening does. */
export function isDatabaseThere(choice: DatabaseChoice = {}): Promise<boolean> {
  return isStoreThere(...addressed(choice, true))
}

/**
 * How the tables of a database are laid out: in how many partitions, and on which servers where they lie on others. With a
 * layout they are made. Throws InvalidParameter for a file and for servers that cannot be shards, NotFound where there are
 * none and none are to be made, StorageError where there are some already.
 */
export async function layoutOf(choice: DatabaseChoice, layout?: Layout): Promise<Layout> {
  const [url, param] = [postgresUrl(choice), namedDatabase(choice)?.[0]]
  if (url === null && layout !== undefined)
    throw new InvalidParameter('a layout is for a database in PostgreSQL, and this one is a file.', {
      param: 'db',
      allowed: 'postgres://user@host:5432/database',
    })
  if (url === null) {
    await (await openForReading(choice)).close()
    return { partitions: 1, shards: [] }
  }
  const { laidOut } = await import('../store/postgres/data.js')
  return laidOut(url, { param, env: choice.env, layout })
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
  return `${stemOf(choice)}.accounts.db`
}

/** How the files beside the data begin: beside that of the data, or in the user's folder by the name of the database. */
function stemOf(choice: DatabaseChoice): string {
  const path = databasePath(choice)
  if (postgresUrl(choice) === null) return path.replace(/\.db$/, '')
  return join(dataFolder(choice), path.replace(/^postgres:\/+/, '').replace(/[^\w.-]+/g, '_'))
}

/** The files of a user, there or not. */
export function filesOf(choice: AccountsChoice = {}): Files {
  const data = databasePath(choice)
  const stem = stemOf(choice)
  return { data, accounts: accountsPath(choice), trials: `${stem}.trials.db`, lists: `${stem}.lists.db` }
}
