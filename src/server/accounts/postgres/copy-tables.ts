import {
  ACCOUNT_TABLE_NAMES,
  ACCOUNT_TABLES,
  type AccountTable,
  type ColumnValue,
  ROWS_PER_BATCH,
  type TakeRows,
} from '../accounts.js'
import { type KeyedRow, readTablesInBatches } from '../rows.js'
import type { Queries } from './connection.js'
import { insertBatchesSql } from './schema.js'

/** The columns that sort a table when it is read in batches, and the types of the columns that a copy has. */
const TABLES: Record<AccountTable, { sortColumns: readonly string[]; types: string }> = {
  accounts: { sortColumns: ['id'], types: 'text text text bigint' },
  keys: { sortColumns: ['made'], types: 'text text text text bigint bigint bigint bigint' },
  secrets: { sortColumns: ['use'], types: 'text bytea' },
  ledger: { sortColumns: ['account', 'hour', 'batch', 'place'], types: 'text text text text bigint bigint' },
  days: { sortColumns: ['account', 'start'], types: 'text bigint bigint bigint' },
  counters: { sortColumns: ['account', 'period', 'start'], types: 'text text bigint bigint bigint' },
  // Other databases forget them in the order in which they were written.
  named: { sortColumns: ['at', 'account', 'name'], types: 'text bytea bytea bytea bigint' },
  watched: { sortColumns: ['account', 'place'], types: 'text bigint text' },
}

/** Passes all rows of all tables to `take`, in batches. Must run inside a transaction that sees one state. */
export function readTables({ query }: Queries, take: TakeRows): Promise<void> {
  return readTablesInBatches(take, (table, after) => {
    const { sortColumns } = TABLES[table]
    const columns = [...ACCOUNT_TABLES[table], ...sortColumns.map((column, i) => `${column} AS key_${i}`)].join(', ')
    const where = after === null ? '' : `WHERE ${isAfterSql(sortColumns)}`
    const from = `FROM bands_accounts.${table} ${where} ORDER BY ${sortColumns.join(', ')}`
    return query<KeyedRow>(`SELECT ${columns} ${from} LIMIT ${ROWS_PER_BATCH}`, after ?? [])
  })
}

/** SQL: whether a row comes after the sort key that the parameters $1, $2, … have. */
function isAfterSql(sortColumns: readonly string[]): string {
  const placeholders = sortColumns.map((_, i) => `$${i + 1}`)
  const isAfter = `(${sortColumns.join(', ')}) > (${placeholders.join(', ')})`
  if (sortColumns.length === 1) return isAfter
  // The last column of the ledger is computed and not indexed, so an index can only find rows by the columns before it.
  return `(${sortColumns.slice(0, -1).join(', ')}) >= (${placeholders.slice(0, -1).join(', ')}) AND ${isAfter}`
}

/** Deletes all rows. Charges wait until the transaction ends. */
export async function clearTables({ query }: Queries): Promise<void> {
  await query('LOCK TABLE bands_accounts.books IN EXCLUSIVE MODE')
  const tables = ACCOUNT_TABLE_NAMES.toReversed().map(table => (table === 'ledger' ? 'batches' : table))
  for (const table of [...tables, 'books']) await query(`DELETE FROM bands_accounts.${table}`)
}

/** Inserts rows of a copy in one statement, which gets one array per column. */
export async function insertRows(
  { query }: Queries,
  table: AccountTable,
  rows: readonly (readonly ColumnValue[])[],
): Promise<void> {
  const columns = ACCOUNT_TABLES[table].join(', ')
  const types = TABLES[table].types.split(' ')
  const columnValues = types.map((_, i) => rows.map(row => row[i]))
  const arrays = types.map((type, i) => `$${i + 1}::${type}[]`).join(', ')
  const source = `unnest(${arrays}) AS l(${columns})`
  const sql = `INSERT INTO bands_accounts.${table} (${columns}) SELECT * FROM ${source}`
  // The ledger is stored in batches: a row has all charges of one account and hour.
  await query(table === 'ledger' ? insertBatchesSql(source) : sql, columnValues)
  // Each account needs the row that a charge locks.
  if (table === 'accounts') await query('INSERT INTO bands_accounts.books SELECT unnest($1::text[])', [columnValues[0]])
}
