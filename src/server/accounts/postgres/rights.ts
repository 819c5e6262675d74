import type { Queries } from './connection.js'

/** Rights to accounts in PostgreSQL: granted to a role of servers, and carried over to the tables of an update. */

/** Lets a role read accounts and charge them, and nothing else. @param role its name */
export async function grantRights({ query }: Queries, role: string): Promise<void> {
  const name = `"${role.replaceAll('"', '""')}"`
  for (const right of SERVER_RIGHTS) await query(`GRANT ${right} TO ${name}`)
}

const SERVER_RIGHTS = [
  'USAGE ON SCHEMA bands_accounts',
  'SELECT ON ALL TABLES IN SCHEMA bands_accounts',
  'EXECUTE ON ALL FUNCTIONS IN SCHEMA bands_accounts',
]

/** Tables or functions that there were before an update, and the roles that could read accounts or charge them. */
interface Held {
  known: readonly number[]
  /** As SQL. */
  roles: readonly string[]
}

export type Rights = Readonly<Record<keyof typeof KINDS, Held>>

export async function rightsIn({ query }: Queries): Promise<Rights> {
  const held = async ({ right, all, examples }: Kind): Promise<Held> => {
    const known = await query<{ oid: number }>(all)
    const roles = await query<{ role: string }>(
      `SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role
       FROM (${examples}) AS e, aclexplode(acl) WHERE privilege_type = $1 AND grantee <> owner`,
      [right],
    )
    return { known: known.map(({ oid }) => oid), roles: roles.map(({ role }) => role) }
  }
  return { TABLE: await held(KINDS.TABLE), FUNCTION: await held(KINDS.FUNCTION) }
}

/**
 * Gives the same roles the same rights to the tables and functions that an update has added. PostgreSQL lets everyone
 * call a new function; that right is taken away. @param before null for new accounts, which no role may use yet
 */
export async function carryRights({ query }: Queries, before: Rights | null): Promise<void> {
  for (const [kind, { right, all }] of Object.entries(KINDS)) {
    const { known, roles } = before?.[kind as keyof Rights] ?? { known: [], roles: [] }
    const found = await query<{ oid: number; name: string }>(all)
    for (const { name } of found.filter(({ oid }) => !known.includes(oid))) {
      await query(`REVOKE ALL ON ${kind} ${name} FROM PUBLIC`)
      for (const role of roles) await query(`GRANT ${right} ON ${kind} ${name} TO ${role}`)
    }
  }
}

/** Additions of this transaction belong to the owner of a table. Otherwise a superuser would own them. */
export async function actAsOwner({ query }: Queries, table: string): Promise<void> {
  const sql = 'SELECT relowner::regrole::text AS owner FROM pg_class WHERE oid = $1::regclass'
  const [row] = await query<{ owner: string }>(sql, [table])
  await query(`SET LOCAL ROLE ${row!.owner}`)
}

interface Kind {
  right: string
  /** All in the schema, with name and number. */
  all: string
  /** Those with the rights that new ones get. */
  examples: string
}

const KINDS = {
  TABLE: {
    right: 'SELECT',
    all: `SELECT oid, oid::regclass::text AS name FROM pg_class
      WHERE relnamespace = 'bands_accounts'::regnamespace AND relkind IN ('r', 'p', 'v')`,
    examples: `SELECT relacl AS acl, relowner AS owner FROM pg_class WHERE oid = 'bands_accounts.accounts'::regclass`,
  },
  FUNCTION: {
    right: 'EXECUTE',
    all: `SELECT oid, oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = 'bands_accounts'::regnamespace`,
    examples: `SELECT coalesce(proacl, acldefault('f', proowner)) AS acl, proowner AS owner FROM pg_proc
      WHERE pronamespace = 'bands_accounts'::regnamespace AND proname ~ '^charge(_v[0-9]+)?$'`,
  },
} satisfies Record<string, Kind>
