import { NotFound, type Remedy, StorageError } from '../../../core/errors.js'
import type { Address } from './address.js'
import { Database } from './connection.js'
import { grantRights } from './rights.js'
import { accountsSchema } from './schema.js'
import { prepareSchema, readSchemaState, requireSchema } from './steps.js'

/** Tasks of an operator of accounts in PostgreSQL: create the tables, plan their update, grant a role its rights. */

interface AdminOptions {
  /** The command that creates the accounts. */
  createCommand?: Remedy
}

/**
 * Returns the number of partitions of the growing tables (1: not partitioned). If `partitions` is set, it first creates
 * the tables with that number, and throws StorageError if they exist. Otherwise throws like openPostgresAccounts.
 */
export function createOrCountPartitions(
  address: Address,
  { partitions, createCommand }: AdminOptions & { partitions?: number } = {},
): Promise<number> {
  return withDatabase(address, async database => {
    const kind = accountsSchema(partitions, createCommand)
    const create = partitions !== undefined
    if (create && (await readSchemaState(database, kind)) !== null)
      throw new StorageError(
        `there are accounts at ${database.location} already, and a layout is chosen when their tables are made: lay out an empty database, and copy into that`,
      )
    await prepareSchema(database, kind, { create })
    const sql = "SELECT count(*) AS count FROM pg_inherits WHERE inhparent = 'bands_accounts.books'::regclass"
    const [row] = await database.query<{ count: number }>(sql)
    return Math.max(1, row!.count)
  })
}

/** The steps that an update of the tables would take. */
export interface UpdatePlan {
  /** How many steps the tables have taken, and how many this build knows. */
  schema: number
  known: number
  changes: PlannedChange[]
}

export interface PlannedChange {
  step: number
  phase: 'expand' | 'contract'
  change: string
  /** Servers that know this schema, or a newer one, continue to charge after it. */
  servers_from: number
}

/** Plans an update. Throws NotFound for missing accounts, StorageError if they are too new for this build. */
export function updatePlan(address: Address, { createCommand }: AdminOptions = {}): Promise<UpdatePlan> {
  return withDatabase(address, async database => {
    const kind = accountsSchema(1, createCommand)
    const { step: schema } = await requireSchema(database, kind)
    const changes = kind.steps.flatMap(({ expand, contract, since }, i): PlannedChange[] => {
      const common = { step: i + 1, servers_from: since }
      const added: PlannedChange = { ...common, phase: 'expand', change: `adds ${expand}` }
      return contract === undefined ? [added] : [added, { ...common, phase: 'contract', change: `removes ${contract}` }]
    })
    return { schema, known: kind.steps.length, changes: changes.filter(({ step }) => step > schema) }
  })
}

/**
 * Lets a role read accounts and charge them, and nothing else. Creates the tables if there are none. An update gives
 * the role the same rights to new tables. Throws NotFound for an unknown role, ConfigError if this user may not grant.
 */
export function grantAccounts(address: Address, role: string): Promise<void> {
  return withDatabase(address, async database => {
    const roles = await database.query<{ name: string }>('SELECT rolname AS name FROM pg_roles ORDER BY 1')
    const names = roles.map(({ name }) => name).filter(name => !name.startsWith('pg_'))
    if (!names.includes(role)) {
      const message = `${database.location} has no role ${role}`
      throw new NotFound(`${message}; its roles are ${names.join(', ')}. CREATE ROLE makes one, by a user who may.`)
    }
    await prepareSchema(database, accountsSchema(), { create: true })
    await database.transaction(session => grantRights(session, role))
  })
}

/** Opens a database, runs `work` on it, and closes it. */
async function withDatabase<T>(address: Address, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await Database.open(address)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}
