import {
  ACCOUNT_TABLE_NAMES,
  ACCOUNT_TABLES,
  type AccountTable,
  type ColumnValue,
  ROWS_PER_BATCH,
  type TakeRows,
} from '../accounts.js'
import { type KeyedRow, readTablesInBatches } from '../rows.js'
import { putBatches } from './books.js'
import type { Queries } from './connection.js'

/** The key for reading a table in batches, and the types of its columns. */
const TABLES: Record<AccountTable, { key: readonly string[]; types: string }> = {
  accounts: { key: ['id'], types: 'text text text bigint' },
  keys: { key: ['made'], types: 'text text text text bigint bigint bigint bigint' },
  secrets: { key: ['use'], types: 'text bytea' },
  ledger: { key: ['account', 'hour', 'batch', 'place'], types: 'text text text text bigint bigint' },
  days: { key: ['account', 'start'], types: 'text bigint bigint bigint' },
  counters: { key: ['account', 'period', 'start'], types: 'text text bigint bigint bigint' },
  // Other databases forget them in the order in which they were written.
  named: { key: ['at', 'account', 'name'], types: 'text bytea bytea bytea bigint' },
  watched: { key: ['account', 'place'], types: 'text bigint text' },
}

/** All rows, inside a transaction that sees one state. */
export function readBooks({ query }: Queries, each: TakeRows): Promise<void> {
  return readTablesInBatches(each, (book, last) => {
    const { key } = TABLES[book]
    const columns = [...ACCOUNT_TABLES[book], ...key.map((name, i) => `${name} AS key_${i}`)].join(', ')
    const places = key.map((_, i) => `$${i + 1}`)
    // The last key column may be an expression over a row; the columns before it find the row.
    const rowsFrom =
      key.length > 1 ? `(${key.slice(0, -1).join(', ')}) >= (${places.slice(0, -1).join(', ')}) AND ` : ''
    const after = last === null ? '' : `WHERE ${rowsFrom}(${key.join(', ')}) > (${places.join(', ')})`
    const from = `FROM bands_accounts.${book} ${after}`
    return query<KeyedRow>(`SELECT ${columns} ${from} ORDER BY ${key.join(', ')} LIMIT ${ROWS_PER_BATCH}`, last ?? [])
  })
}

/** Deletes all rows. Charges wait until the transaction ends. */
export async function clearBooks({ query }: Queries): Promise<void> {
  await query('LOCK TABLE bands_accounts.books IN EXCLUSIVE MODE')
  const tables = ACCOUNT_TABLE_NAMES.toReversed().map(book => (book === 'ledger' ? 'batches' : book))
  for (const table of [...tables, 'books']) await query(`DELETE FROM bands_accounts.${table}`)
}

export async function putBooks(
  { query }: Queries,
  book: AccountTable,
  rows: readonly (readonly ColumnValue[])[],
): Promise<void> {
  const columns = ACCOUNT_TABLES[book]
  const types = TABLES[book].types.split(' ')
  const lists = columns.map((_, i) => rows.map(row => row[i]))
  const arrays = types.map((type, i) => `$${i + 1}::${type}[]`).join(', ')
  const unnested = `unnest(${arrays}) AS l(${columns.join(', ')})`
  const into = `INSERT INTO bands_accounts.${book} (${columns.join(', ')}) SELECT * FROM ${unnested}`
  await query(book === 'ledger' ? putBatches(unnested) : into, lists)
  if (book === 'accounts') await query('INSERT INTO bands_accounts.books SELECT unnest($1::text[])', [lists[0]])
}
