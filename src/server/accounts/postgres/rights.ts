import type { Queries } from './connection.js'

/** Rights of the servers' role: to the tables and functions of accounts, and to those that an update adds. */

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

/** The tables or functions before an update, and the roles with the right to use them. */
interface RightHolders {
  oids: readonly number[]
  /** Names of roles as SQL. */
  roles: readonly string[]
}

export type Rights = Readonly<Record<keyof typeof KINDS, RightHolders>>

/** The tables and functions of accounts, and the roles, other than their owner, that may use them. */
export async function readRights({ query }: Queries): Promise<Rights> {
  const rightHolders = async ({ right, allSql, examplesSql }: Kind): Promise<RightHolders> => {
    const objects = await query<{ oid: number }>(allSql)
    // A role with rights to these examples gets the same rights to new objects.
    const roles = await query<{ role: string }>(
      `SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role
       FROM (${examplesSql}) AS e, aclexplode(acl) WHERE privilege_type = $1 AND grantee <> owner`,
      [right],
    )
    return { oids: objects.map(({ oid }) => oid), roles: roles.map(({ role }) => role) }
  }
  return { TABLE: await rightHolders(KINDS.TABLE), FUNCTION: await rightHolders(KINDS.FUNCTION) }
}

/**
 * Gives roles the rights to the tables and functions that an update has added. Takes away the right of everyone to call
 * a new function.
 * @param before the rights before the update; null for new accounts, which no role may use yet
 */
export async function grantRightsToNew({ query }: Queries, before: Rights | null): Promise<void> {
  for (const [kind, { right, allSql }] of Object.entries(KINDS)) {
    const { oids: oldIds, roles } = before?.[kind as keyof Rights] ?? { oids: [], roles: [] }
    const objects = await query<{ oid: number; name: string }>(allSql)
    for (const { name } of objects.filter(({ oid }) => !oldIds.includes(oid))) {
      await query(`REVOKE ALL ON ${kind} ${name} FROM PUBLIC`)
      for (const role of roles) await query(`GRANT ${right} ON ${kind} ${name} TO ${role}`)
    }
  }
}

/** Makes the rest of the transaction act as the owner of a table. Otherwise a superuser would own the additions. */
export async function actAsOwner({ query }: Queries, table: string): Promise<void> {
  const sql = 'SELECT relowner::regrole::text AS owner FROM pg_class WHERE oid = $1::regclass'
  const [row] = await query<{ owner: string }>(sql, [table])
  await query(`SET LOCAL ROLE ${row!.owner}`)
}

interface Kind {
  /** SELECT or EXECUTE. */
  right: string
  /** SQL: all of this kind in the schema, with name and number. */
  allSql: string
  /** SQL: existing tables or functions; new ones get the same rights. */
  examplesSql: string
}

const KINDS = {
  TABLE: {
    right: 'SELECT',
    allSql: `SELECT oid, oid::regclass::text AS name FROM pg_class
      WHERE relnamespace = 'bands_accounts'::regnamespace AND relkind IN ('r', 'p', 'v')`,
    examplesSql: `SELECT relacl AS acl, relowner AS owner FROM pg_class WHERE oid = 'bands_accounts.accounts'::regclass`,
  },
  FUNCTION: {
    right: 'EXECUTE',
    allSql: `SELECT oid, oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = 'bands_accounts'::regnamespace`,
    examplesSql: `SELECT coalesce(proacl, acldefault('f', proowner)) AS acl, proowner AS owner FROM pg_proc
      WHERE pronamespace = 'bands_accounts'::regnamespace AND proname ~ '^charge(_v[0-9]+)?$'`,
  },
} satisfies Record<string, Kind>
