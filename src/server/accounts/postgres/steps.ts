import { NotFound, type Remedy, StorageError, type Words } from '../../../core/errors.js'
import { type Database, errorCode, type Queries } from './connection.js'
import { actAsOwner, grantRightsToNew, type Rights, readRights } from './rights.js'

/** Tables of bands for one purpose. They have their own schema, because other programs may share the database. */
export interface SchemaKind {
  schema: string
  /** The message if the tables are missing: a sentence and the command that creates them. */
  missingMessage: (location: string) => Words
  createCommand: Remedy
  steps: readonly SchemaStep[]
}

/**
 * One step of the schema; it is never edited after its release. In a rolling update the servers of two releases use the
 * tables at the same time. So a step removes only what the servers of the release before do not use.
 */
export interface SchemaStep {
  /** What the step adds, in words. Servers of the release before do not notice it. */
  expand: string
  /** What the step removes, in words. */
  contract?: string
  /** The fewest steps that a build must know to use the tables after this step. */
  since: number
  /** One or more statements. */
  sql: string
}

/** How many steps the tables have taken, and the fewest that a build must know to use them. */
export interface SchemaState {
  step: number
  since: number
}

/**
 * Creates the tables if `create` is true, or updates older ones. Each step runs once, even if several processes start
 * together. Tables of a newer bands stay as they are. Throws NotFound without tables, StorageError for tables that are
 * too new for this build, or that this user may not update.
 */
export async function prepareSchema(
  database: Database,
  kind: SchemaKind,
  { create }: { create: boolean },
): Promise<void> {
  const { location } = database
  const before = create ? await readSchemaState(database, kind) : await requireSchema(database, kind)
  refuseNewerSchema(location, kind, before)
  if (before !== null && before.step >= kind.steps.length) return
  try {
    await database.transaction(({ query }) => runMissingSteps({ query }, location, kind), {
      lockMs: STEP_TIMEOUT_MS,
      statementMs: STEP_TIMEOUT_MS,
    })
  } catch (error) {
    if (errorCode(error) !== NO_PRIVILEGE) throw error
    if (before === null) {
      const why = `${location} has no tables of bands, and this user may not make them`
      throw new StorageError(`${why}; make an account as the owner of the database`, { cause: error })
    }
    const state = `${location} has the tables of an earlier bands (schema ${before.step}, this one needs ${kind.steps.length})`
    throw new StorageError(`${state}, and this user may not change them; open it once as their owner`, { cause: error })
  }
}

/** The state of existing tables. Throws NotFound without tables, StorageError if they are too new for this build. */
export async function requireSchema(database: Database, kind: SchemaKind): Promise<SchemaState> {
  const state = await readSchemaState(database, kind)
  if (state === null) throw new NotFound(kind.missingMessage(database.location), [], { remedy: kind.createCommand })
  refuseNewerSchema(database.location, kind, state)
  return state
}

/** Long, because another process may be rewriting a large table. */
const STEP_TIMEOUT_MS = 600_000

/** The SQLSTATE for a missing right. */
const NO_PRIVILEGE = '42501'

/** Runs all missing steps; creates the schema if there is none. Must run inside a transaction. */
async function runMissingSteps({ query }: Queries, location: string, kind: SchemaKind): Promise<void> {
  const { schema, steps } = kind
  await query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`bands ${schema}`])
  // Read again: meanwhile another process may have run them.
  const before = await readSchemaState({ query }, kind)
  refuseNewerSchema(location, kind, before)
  let rightsBefore: Rights | null = null
  if (before === null)
    await query(`CREATE SCHEMA IF NOT EXISTS ${schema};
      CREATE TABLE ${schema}.steps (step int PRIMARY KEY, taken timestamptz NOT NULL DEFAULT now())`)
  else {
    await actAsOwner({ query }, `${schema}.steps`)
    rightsBefore = await readRights({ query })
  }
  for (const [i, { sql, since }] of steps.entries()) {
    const step = i + 1
    if (before !== null && step <= before.step) continue
    await query(sql)
    await query(`INSERT INTO ${schema}.steps (step) VALUES ($1) ON CONFLICT DO NOTHING`, [since])
    // Old builds read only the table "steps", and refuse a step there that they do not know. So "steps" gets `since`,
    // the fewest steps that a build must know, and "expanded" the number of the step itself.
    if (since < step) {
      await query(`CREATE TABLE IF NOT EXISTS ${schema}.expanded (LIKE ${schema}.steps INCLUDING ALL)`)
      await query(`INSERT INTO ${schema}.expanded (step) VALUES ($1)`, [step])
    }
  }
  await grantRightsToNew({ query }, rightsBefore)
}

/**
 * The state of the tables: the last step taken, and the fewest steps that a build must know; null without tables. Steps
 * that a build need not know are rows of `expanded` instead of `steps`.
 */
export async function readSchemaState({ query }: Queries, { schema }: SchemaKind): Promise<SchemaState | null> {
  const tables = await query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 AND tablename IN ('steps', 'expanded')",
    [schema],
  )
  if (!tables.some(({ name }) => name === 'steps')) return null
  const selects = tables.map(({ name }) => `SELECT step, '${name}' AS source FROM ${schema}.${name}`)
  const sql = `SELECT max(step) AS step, max(step) FILTER (WHERE source = 'steps') AS since FROM (${selects.join(' UNION ALL ')}) AS s`
  const [state] = await query<SchemaState>(sql)
  return state!
}

/** Throws StorageError if this build knows too few steps to use the tables. @param state null: there are no tables */
function refuseNewerSchema(location: string, { steps }: SchemaKind, state: SchemaState | null): void {
  if (state === null || state.since <= steps.length) return
  throw new StorageError(
    `${location} has the tables of a newer bands (schema ${state.step}, this one knows ${steps.length}); update bands`,
  )
}
