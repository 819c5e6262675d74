import { InvalidParameter, StorageError } from '../../errors.js'
import { DEFINITIONS_VERSION } from '../../model/definitions.js'
import type { PackedRecord } from '../store.js'
import type { Database, Queries } from './connection.js'
import { dataSchema, OF_TICKERS, prepareData } from './schema.js'

/**
 * The tables of tickers, cut into hash partitions by the ticker: on this server, or one partition on each of several other
 * servers (postgres_fdw). A ticker lies in one partition of each table, and these lie together: whatever changes of it, one
 * server commits that, all or nothing.
 *
 * A transaction over several servers is not one: each of them commits by itself, in any order, and this server last. So
 * whatever is said of all tickers, which lies here, is said twice. Before, in a transaction of its own: that the version is
 * being written, what will have to be recorded anew, days that may become the newest. And after, what is so by then. What
 * is cut off between leaves whole tickers, old and new ones, with nothing forgotten of what has to be done; the next who
 * writes makes the rest good.
 */
export interface Layout {
  /** How many there are; 1 for whole tables. */
  partitions: number
  /** Foreign servers, as CREATE SERVER named them, each with the tables of bands in a database of its own. */
  shards: readonly string[]
}

/** The statements that lay out tables that are empty; none for whole ones. */
function statementsFor({ partitions, shards }: Layout): string {
  const count = shards.length || partitions
  if (shards.length === 0 && count === 1) return ''
  const local = shards.length === 0
  const cut = OF_TICKERS.map(table => {
    const name = `bands_data.${table}`
    const parts = Array.from({ length: count }, (_, i) => {
      const part = `PARTITION OF ${name} FOR VALUES WITH (MODULUS ${count}, REMAINDER ${i})`
      if (local) return `CREATE TABLE ${name}_${i} ${part};`
      const options = `OPTIONS (schema_name 'bands_data', table_name '${table}')`
      return `CREATE FOREIGN TABLE ${name}_${i} ${part} SERVER ${quoted(shards[i]!)} ${options};`
    })
    // What is unique across servers no server can tell: each of them looks after its own rows.
    const like = `LIKE ${name}_whole INCLUDING CONSTRAINTS INCLUDING STORAGE${local ? ' INCLUDING INDEXES' : ''}`
    return `ALTER TABLE ${name} RENAME TO ${table}_whole;
      CREATE TABLE ${name} (${like}) PARTITION BY HASH (ticker);
      ${parts.join('\n')}
      DROP TABLE ${name}_whole;`
  })
  const days = local
    ? 'CREATE VIEW bands_data.days AS SELECT * FROM bands_data.tickers;'
    : `CREATE TABLE bands_data.days (LIKE bands_data.tickers INCLUDING CONSTRAINTS, PRIMARY KEY (ticker));
      CREATE INDEX days_by_last_date ON bands_data.days (last_date, ticker);
      -- Locked while a commit goes through to all shards
      CREATE TABLE bands_data.moments ();`
  return ['DROP VIEW bands_data.days;', ...cut, days].join('\n')
}

/** Makes the tables in a layout. Throws StorageError where there are some, and as checkShards and checkEmpty do. */
export async function layOut(database: Database, layout: Layout): Promise<void> {
  const { location } = database
  if ((await dataSchema(database)) !== null)
    throw new StorageError(`${location} has its tables already; lay out an empty database, and copy into that`)
  await checkShards(database, layout.shards)
  const laidOut = async (session: Queries): Promise<void> => {
    const statements = statementsFor(layout)
    if (statements !== '') await session.query(statements)
    await checkEmpty(session, location)
  }
  await prepareData(database, { make: true, laidOut })
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Throws InvalidParameter for servers that are not there or are one and the same, StorageError for one that is in use. */
async function checkShards({ query }: Queries, shards: readonly string[]): Promise<void> {
  const found = await query<{ name: string; place: string }>(
    `SELECT srvname AS name, (SELECT string_agg(option, ' ' ORDER BY option) FROM unnest(srvoptions) AS option
        WHERE split_part(option, '=', 1) IN ('host', 'hostaddr', 'port', 'dbname', 'service')) AS place
      FROM pg_foreign_server ORDER BY srvname`,
  )
  const allowed =
    found.length === 0 ? 'none is there: CREATE SERVER makes one' : found.map(({ name }) => name).join(', ')
  const places = new Map<string, string>()
  for (const shard of shards) {
    const about = { param: 'shards', value: shard }
    const server = found.find(({ name }) => name === shard)
    if (server === undefined)
      throw new InvalidParameter(`there is no foreign server ${shard}; allowed: ${allowed}.`, about)
    const same = places.get(server.place)
    if (same !== undefined)
      throw new InvalidParameter(`${same} and ${shard} are one database; each shard needs one of its own.`, about)
    places.set(server.place, shard)
  }
}

/** A partition of each table of tickers, as the catalogue has it. */
export interface Partition {
  /** The remainder of the hashes of its tickers. */
  number: number
  /** That of one table. */
  name: string
  /** As CREATE SERVER named the one that has it, and what was told of that; null: it lies here. */
  server: string | null
  options: readonly string[] | null
}

/** In the order of their numbers; none of whole tables. */
export function partitionsIn({ query }: Queries): Promise<Partition[]> {
  return query<Partition>(
    `SELECT substring(pg_get_expr(relpartbound, pg_class.oid) FROM 'remainder (\\d+)')::int AS number,
      relname AS name, srvname AS server, srvoptions AS options
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid LEFT JOIN pg_foreign_table ON ftrelid = inhrelid
      LEFT JOIN pg_foreign_server ON pg_foreign_server.oid = ftserver
    WHERE inhparent = 'bands_data.listed'::regclass ORDER BY number`,
  )
}

/** As the tables are. */
export async function layoutIn(db: Queries): Promise<Layout> {
  const parts = await partitionsIn(db)
  return { partitions: parts.length || 1, shards: parts.flatMap(({ server }) => server ?? []) }
}

/** The partitions of one table that lie on other servers; none where all lie here. */
export async function partsElsewhere(db: Queries): Promise<readonly string[]> {
  const parts = await partitionsIn(db)
  return parts.flatMap(({ name, server }) => (server === null ? [] : `bands_data.${quoted(name)}`))
}

/** Throws StorageError for servers that hold rows already. */
async function checkEmpty({ query }: Queries, location: string): Promise<void> {
  for (const part of await partsElsewhere({ query }))
    if ((await query(`SELECT 1 FROM ${part} LIMIT 1`)).length > 0)
      throw new StorageError(
        `${location} cannot be laid out over a database that has tickers already (${part}); each shard must be empty`,
      )
}

/**
 * Has a transaction that reads one state see that of all servers: each takes its own when it is first asked, so that all are
 * asked at once, while no commit is on its way through them.
 */
export async function beginMoment({ query }: Queries, parts: readonly string[]): Promise<void> {
  if (parts.length === 0) return
  await query('SAVEPOINT moment; LOCK TABLE bands_data.moments IN ACCESS SHARE MODE')
  await query(`SELECT ${parts.map(part => `(SELECT 1 FROM ${part} LIMIT 1)`).join(', ')}`)
  // Gives the lock back, and keeps what all have seen.
  await query('ROLLBACK TO SAVEPOINT moment; RELEASE SAVEPOINT moment')
}

/** How long a commit waits for those who are just beginning to read, in milliseconds: one may be waiting for a dead shard. */
const PATIENCE = 60_000

/** The last statements of a transaction that writes to other servers. */
export async function endWriting({ query }: Queries, mark: string): Promise<void> {
  await query('DELETE FROM bands_data.meta WHERE key = $1', [`writing ${mark}`])
  await query(`SET LOCAL lock_timeout = ${PATIENCE}; LOCK TABLE bands_data.moments IN ACCESS EXCLUSIVE MODE`)
}

/** What is to be said of all tickers by a transaction that is about to begin. */
export interface Announced {
  definitions?: string
  unsettled?: readonly string[] | undefined
  records?: readonly PackedRecord[]
}

/** Says before that something is written what would be missing if that were cut off. @param mark of this one write */
export async function announce(
  { query }: Queries,
  mark: string,
  { definitions, unsettled, records = [] }: Announced,
): Promise<void> {
  await query("INSERT INTO bands_data.meta VALUES ($1, '')", [`writing ${mark}`])
  if (definitions !== undefined) {
    // Those of a whole store are said once it is whole; that it is not, at once.
    const then = definitions === DEFINITIONS_VERSION ? "WHERE meta.value = ''" : ''
    await query(
      `INSERT INTO bands_data.meta VALUES ('definitions', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value ${then}`,
      [definitions],
    )
  }
  if (unsettled !== undefined)
    // How far a file is through counts only once that is written.
    await query(
      `INSERT INTO bands_data.meta SELECT 'unsettled', json_agg(one)::text FROM unnest($1::text[]) AS one HAVING count(*) > 0
        ON CONFLICT (key) DO UPDATE SET value = (SELECT json_agg(DISTINCT one)::text
          FROM jsonb_array_elements_text(meta.value::jsonb || excluded.value::jsonb) AS one)`,
      [unsettled.filter(key => !key.startsWith('file '))],
    )
  if (records.length > 0) {
    const { putDays } = await import('./write.js')
    await putDays({ query }, records)
  }
}

/** Has what is said here of some tickers be what the shards have of them. */
export async function settleDays({ query }: Queries, tickers: readonly string[]): Promise<void> {
  await query('DELETE FROM bands_data.days WHERE ticker = ANY ($1)', [tickers])
  await query('INSERT INTO bands_data.days SELECT * FROM bands_data.tickers WHERE ticker = ANY ($1)', [tickers])
}

/** The same of all of them, where a write was cut off; by who writes alone. */
export async function makeGood(session: Queries): Promise<void> {
  if (!(await isCutOff(session))) return
  await session.query('DELETE FROM bands_data.days')
  // One that lies on two shards must not keep everyone from writing; verify tells it.
  await session.query('INSERT INTO bands_data.days SELECT * FROM bands_data.tickers ON CONFLICT DO NOTHING')
  await session.query("UPDATE bands_data.meta SET value = gen_random_uuid() WHERE key = 'version'")
  await session.query("DELETE FROM bands_data.meta WHERE key LIKE 'writing %'")
}

/** Whether somebody is writing, or was cut off while writing. */
export async function isCutOff({ query }: Queries): Promise<boolean> {
  return (await query("SELECT FROM bands_data.meta WHERE key LIKE 'writing %' LIMIT 1")).length > 0
}
