import { NotFound, type Remedy, StorageError, type Words } from '../../../core/errors.js'
import { codeOf, type Database, type Queries } from './connection.js'

/** Tables of bands for one purpose, in a schema of their own: other programs may share the database. */
export interface SchemaKind {
  schema: string
  /** The message if the tables are missing: a sentence and the command that creates them. */
  none: (location: string) => Words
  made: Remedy
  /** Released steps are never edited. Each may have many statements; all missing steps run in one transaction. */
  steps: readonly string[]
  /** Runs on the newly created, empty tables in the same transaction. */
  laidOut?: (session: Queries) => Promise<void>
}

/**
 * Creates the tables if requested, or upgrades older ones. Each step runs once, even if several processes start
 * together. Throws NotFound; throws StorageError for tables of a newer bands, or for older ones that this user cannot
 * change.
 */
export async function prepareSchema(database: Database, kind: SchemaKind, { make }: { make: boolean }): Promise<void> {
  const { location } = database
  const found = await stepsTaken(database, kind)
  if (found === null && !make) throw new NotFound(kind.none(location), [], { remedy: kind.made })
  if (found === kind.steps.length) return
  refuseNewer(location, kind, found)
  try {
    await database.transaction(({ query }) => takeSteps({ query }, location, kind), {
      lock: PATIENCE,
      statement: PATIENCE,
    })
  } catch (error) {
    if (codeOf(error) !== FORBIDDEN || found === null) throw error
    const state = `${location} has the tables of an earlier bands (schema ${found}, this one needs ${kind.steps.length})`
    throw new StorageError(`${state}, and this user may not change them; open it once as their owner`, { cause: error })
  }
}

/** Another may be rewriting a large table. */
const PATIENCE = 600_000

/** SQLSTATE of what a user has no right to. */
const FORBIDDEN = '42501'

async function takeSteps({ query }: Queries, location: string, kind: SchemaKind): Promise<void> {
  await query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`bands ${kind.schema}`])
  // By now another may have taken them.
  const found = await stepsTaken({ query }, kind)
  refuseNewer(location, kind, found)
  if (found === null)
    await query(`CREATE SCHEMA IF NOT EXISTS ${kind.schema};
      CREATE TABLE ${kind.schema}.steps (step int PRIMARY KEY, taken timestamptz NOT NULL DEFAULT now())`)
  for (const [i, step] of kind.steps.entries()) {
    if (i < (found ?? 0)) continue
    await query(step)
    await query(`INSERT INTO ${kind.schema}.steps (step) VALUES ($1)`, [i + 1])
  }
  if (found === null && kind.laidOut !== undefined) await kind.laidOut({ query })
}

/** null: there are no such tables */
export async function stepsTaken({ query }: Queries, { schema }: SchemaKind): Promise<number | null> {
  const [there] = await query<{ found: boolean }>(
    'SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = $2) AS found',
    [schema, 'steps'],
  )
  if (!there!.found) return null
  const [taken] = await query<{ step: number | null }>(`SELECT max(step) AS step FROM ${schema}.steps`)
  return taken!.step
}

function refuseNewer(location: string, { steps }: SchemaKind, found: number | null): void {
  if (found === null || found <= steps.length) return
  throw new StorageError(
    `${location} was made by a newer bands (schema ${found}, this one knows ${steps.length}); update bands`,
  )
}
