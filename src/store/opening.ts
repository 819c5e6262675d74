import { existsSync } from 'node:fs'
import { InvalidParameter } from '../errors.js'
import { isPostgresUrl } from './postgres/address.js'
import type { Notice } from './sqlite/connection.js'
import { freePlace, openSqlite } from './sqlite/data.js'
import type { Store, Writer } from './store.js'

/**
 * Which stores there are: a path is that of a SQLite file, and a URL that of a database of PostgreSQL, whose code is loaded
 * only for it.
 */

interface Opening {
  /** Questions only: nothing is written. */
  readonly: boolean
  /** Told of a copy that was made before the schema changed. */
  notice?: Notice | undefined
  /** What the address was given as, for messages. */
  param?: string | undefined
  env?: Readonly<Record<string, string | undefined>> | undefined
}

/** Throws StorageError, Busy, and for a URL that cannot be used InvalidParameter and ConfigError. */
export async function openStore(address: string, { readonly, notice, param, env }: Opening): Promise<Store> {
  if (!isPostgresUrl(address)) return openSqlite(address, { readonly, notice })
  const { openPostgres } = await import('./postgres/data.js')
  return openPostgres(address, { readonly, param, env })
}

/** Whether there is something that can be asked, or was made for it. */
export async function isStoreThere(address: string, { param, env }: Omit<Opening, 'readonly'> = {}): Promise<boolean> {
  if (!isPostgresUrl(address)) return existsSync(address)
  const { hasTables } = await import('./postgres/data.js')
  return hasTables(address, { param, env })
}

/** Frees the writing place of a holder that is gone; null where nobody has it. Throws Busy where the holder is at work. */
export function freePlaceOf(address: string): Writer | null {
  if (isPostgresUrl(address))
    throw notAFile(
      'unlock',
      'there the writing place goes with the connection that has it; pg_terminate_backend ends one',
    )
  return freePlace(address)
}

/** What is refused for a database that is no file, and what does it there. */
export function notAFile(what: string, instead: string): InvalidParameter {
  return new InvalidParameter(`${what} is for a database in a file, and this one is in PostgreSQL: ${instead}.`, {
    param: 'db',
    allowed: 'the path of a file',
  })
}
