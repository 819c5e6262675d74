import { NotFound, type Remedy, StorageError } from '../../../core/errors.js'
import type { Address } from './address.js'
import { booksIn } from './books.js'
import { Database } from './connection.js'
import { grantRights } from './rights.js'
import { existingSchema, prepareSchema, type SchemaKind, schemaState } from './steps.js'

/** What the operator of accounts in PostgreSQL does to their tables: lay them out, update them, grant a role its rights. */

interface AdminOptions {
  /** The command that creates the accounts. */
  createCommand?: Remedy
}

/**
 * The number of partitions of the growing tables (1: whole tables), or creates the tables with that number. Throws
 * StorageError if they already exist; otherwise like openPostgresAccounts.
 */
export function accountsLayout(
  address: Address,
  { partitions, createCommand }: AdminOptions & { partitions?: number } = {},
): Promise<number> {
  return withDatabase(address, async database => {
    const kind = schemaKind(createCommand, partitions)
    const isNew = partitions !== undefined
    if (isNew && (await schemaState(database, kind)) !== null)
      throw new StorageError(
        `there are accounts at ${database.location} already, and a layout is chosen when their tables are made: lay out an empty database, and copy into that`,
      )
    await prepareSchema(database, kind, { create: isNew })
    const parts = "SELECT count(*) AS parts FROM pg_inherits WHERE inhparent = 'bands_accounts.books'::regclass"
    const [found] = await database.query<{ parts: number }>(parts)
    return Math.max(1, found!.parts)
  })
}

/** The steps that an update of the tables would take. */
export interface UpdatePlan {
  /** Steps that the tables have taken, and steps that this build knows. */
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

/** Changes nothing. Throws NotFound for missing accounts, StorageError if they are too new for this build. */
export function updatePlan(address: Address, { createCommand }: AdminOptions = {}): Promise<UpdatePlan> {
  return withDatabase(address, async database => {
    const kind = schemaKind(createCommand)
    const { step: schema } = await existingSchema(database, kind)
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
      const found = `${database.location} has no role ${role}`
      throw new NotFound(`${found}; its roles are ${names.join(', ')}. CREATE ROLE makes one, by a user who may.`)
    }
    await prepareSchema(database, booksIn(0), { create: true })
    await database.transaction(session => grantRights(session, role))
  })
}

function schemaKind(createCommand: Remedy | undefined, partitions = 1): SchemaKind {
  return { ...booksIn(partitions === 1 ? 0 : partitions), ...(createCommand && { createCommand }) }
}

async function withDatabase<T>(address: Address, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await Database.open(address)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}
