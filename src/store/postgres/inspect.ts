import { unsettledIn } from '../content.js'
import type { Inspection } from '../sqlite/inspect.js'
import { addressOf } from './address.js'
import { Database } from './connection.js'
import { holderIn } from './place.js'
import { dataSchema, STEPS, sizeOf } from './schema.js'
import { placementIn } from './verify.js'

/** A database as it is, with or without tables of bands; what a file has beyond that is none here. */
export interface PostgresInspection extends Omit<Inspection, 'journal' | 'faults'> {
  location: string
  /** That of the server. */
  version: string
  bytes: number
  /** Where partitions lie on other servers: their names, and how many tickers lie where no question finds them. */
  shards: { names: readonly string[]; misplaced: number } | null
}

/** Looks into a database without changing it. Throws as its opening does, and StorageError for tables of others. */
export async function inspectPostgres(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<PostgresInspection> {
  const database = await Database.open(addressOf('db', url, env))
  try {
    const [server] = await database.query<{ version: string }>("SELECT current_setting('server_version') AS version")
    const about = { location: database.location, version: server!.version, newestSchema: STEPS.length }
    const schema = await dataSchema(database)
    if (schema === null)
      return { ...about, schema: 0, bytes: 0, definitions: '', tickers: 0, unsettled: [], writer: null, shards: null }
    const [found] = await database.query<{ definitions: string | null; unsettled: string | null; tickers: number }>(
      `SELECT (SELECT value FROM bands_data.meta WHERE key = 'definitions') AS definitions,
        (SELECT value FROM bands_data.meta WHERE key = 'unsettled') AS unsettled,
        (SELECT count(*) FROM (SELECT ticker FROM bands_data.tickers UNION SELECT ticker FROM bands_data.pulled) named) AS tickers`,
    )
    const writer = await holderIn(database)
    const { shards: names, misplaced } = await placementIn(database, ['listed'])
    return {
      ...{ ...about, schema, bytes: await sizeOf(database), tickers: found!.tickers },
      definitions: found!.definitions ?? '',
      unsettled: unsettledIn(found!.unsettled),
      writer: writer && { ...writer, alive: true },
      shards: names.length === 0 ? null : { names, misplaced: misplaced.size },
    }
  } finally {
    await database.close()
  }
}
