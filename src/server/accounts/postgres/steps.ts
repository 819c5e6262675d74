import { NotFound, type Remedy, StorageError, type Words } from '../../../core/errors.js'
import { codeOf, type Database, type Queries } from './connection.js'
import { actAsOwner, carryRights, type Rights, rightsIn } from './rights.js'

/** Tables of bands for one purpose, in a schema of their own: other programs may share the database. */
export interface SchemaKind {
  schema: string
  /** The message if the tables are missing: a sentence and the command that creates them. */
  none: (location: string) => Words
  createCommand: Remedy
  /** All missing steps run in one transaction. */
  steps: readonly SchemaStep[]
}

/**
 * A released step is never edited. In a rolling update the servers of two releases use the tables at the same time. So
 * a step removes only those parts which the servers of the release before do not use.
 */
export interface SchemaStep {
  /** The additions, in words. Servers of the release before do not notice them. */
  expand: string
  /** The removals, in words. */
  contract?: string
  /** Builds that know this many steps, or more, can use the tables after this step. */
  since: number
  /** One or more statements. */
  sql: string
}

/** How many steps the tables have taken, and how many steps a build must know to use them. */
export interface SchemaState {
  step: number
  since: number
}

/**
 * Creates the tables if requested, or updates older ones. Each step runs once, even if several processes start
 * together. Tables of a newer bands are used as they are, as long as this build can. Throws NotFound; throws
 * StorageError for tables that are too new, or for older ones that this user cannot change.
 */
export async function prepareSchema(
  database: Database,
  kind: SchemaKind,
  { create }: { create: boolean },
): Promise<void> {
  const { location } = database
  const found = create ? await schemaState(database, kind) : await existingSchema(database, kind)
  refuseNewer(location, kind, found)
  if (found !== null && found.step >= kind.steps.length) return
  try {
    await database.transaction(({ query }) => takeSteps({ query }, location, kind), {
      lock: PATIENCE,
      statement: PATIENCE,
    })
  } catch (error) {
    if (codeOf(error) !== FORBIDDEN || found === null) throw error
    const state = `${location} has the tables of an earlier bands (schema ${found.step}, this one needs ${kind.steps.length})`
    throw new StorageError(`${state}, and this user may not change them; open it once as their owner`, { cause: error })
  }
}

/** Throws NotFound if there are no tables, StorageError if they are too new for this build. */
export async function existingSchema(database: Database, kind: SchemaKind): Promise<SchemaState> {
  const found = await schemaState(database, kind)
  if (found === null) throw new NotFound(kind.none(database.location), [], { remedy: kind.createCommand })
  refuseNewer(database.location, kind, found)
  return found
}

/** Another may be rewriting a large table. */
const PATIENCE = 600_000

/** SQLSTATE of what a user has no right to. */
const FORBIDDEN = '42501'

async function takeSteps({ query }: Queries, location: string, kind: SchemaKind): Promise<void> {
  const { schema, steps } = kind
  await query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`bands ${schema}`])
  // By now another may have taken them.
  const found = await schemaState({ query }, kind)
  refuseNewer(location, kind, found)
  let before: Rights | null = null
  if (found === null)
    await query(`CREATE SCHEMA IF NOT EXISTS ${schema};
      CREATE TABLE ${schema}.steps (step int PRIMARY KEY, taken timestamptz NOT NULL DEFAULT now())`)
  else {
    await actAsOwner({ query }, `${schema}.steps`)
    before = await rightsIn({ query })
  }
  for (const [i, { sql, since }] of steps.entries()) {
    const step = i + 1
    if (step <= (found?.step ?? 0)) continue
    await query(sql)
    await query(`INSERT INTO ${schema}.steps (step) VALUES ($1) ON CONFLICT DO NOTHING`, [since])
    // Builds of three steps read only the table "steps": its last row is the step that a build must know.
    if (since < step) {
      await query(`CREATE TABLE IF NOT EXISTS ${schema}.expanded (LIKE ${schema}.steps INCLUDING ALL)`)
      await query(`INSERT INTO ${schema}.expanded (step) VALUES ($1)`, [step])
    }
  }
  await carryRights({ query }, before)
}

/** How many steps the tables have taken, and how many a build must know; null if there are no tables. */
export async function schemaState({ query }: Queries, { schema }: SchemaKind): Promise<SchemaState | null> {
  const tables = await query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 AND tablename IN ('steps', 'expanded')",
    [schema],
  )
  if (!tables.some(({ name }) => name === 'steps')) return null
  const all = tables.map(({ name }) => `SELECT step, '${name}' AS source FROM ${schema}.${name}`).join(' UNION ALL ')
  const sql = `SELECT max(step) AS step, max(step) FILTER (WHERE source = 'steps') AS since FROM (${all}) AS s`
  const [state] = await query<SchemaState>(sql)
  return state!
}

function refuseNewer(location: string, { steps }: SchemaKind, found: SchemaState | null): void {
  if (found === null || found.since <= steps.length) return
  throw new StorageError(
    `${location} has the tables of a newer bands (schema ${found.step}, this one knows ${steps.length}); update bands`,
  )
}
